//! Bundles to the kernel's events.

use hemiola_units::Instant;

use super::{States, bundle, compact, context, event, generic, priority};
use crate::recording::Stream;
use crate::sched::{Context, Interrupt, Tid, What};
use crate::wire::{Malformed, Value, Wire};

/// What has to be known of a file to understand its bundles.
#[derive(Debug)]
pub(crate) struct Bundles {
    pub(super) states: States,
    pub(super) clock: Clock,
    /// Whether `sched_wakeup` is all that is known of wake-ups: there is no `sched_waking`.
    pub(super) wakeups_only: bool,
}

/// How the file's clock is put on the monotonic one.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// From the first of its readings on, by time: from when, and what to add (wrapping).
    pub(super) steps: Vec<(u64, u64)>,
}

impl Clock {
    #[inline]
    pub(super) fn monotonic(&self, at: u64) -> u64 {
        match *self.steps {
            [] => at,
            [(_, add)] => at.wrapping_add(add),
            _ => {
                let after = self.steps.partition_point(|&(from, _)| from <= at);
                at.wrapping_add(self.steps[after.saturating_sub(1)].1)
            }
        }
    }
}

impl Bundles {
    /// Adds the events of a bundle that was found well formed when the file was opened.
    pub(crate) fn decode(&self, bytes: &[u8], stream: &mut Stream) {
        // What is malformed was said then; what comes before it is kept.
        let _ = self.decode_all(bytes, stream, &mut |_| ());
    }

    pub(super) fn decode_all(
        &self,
        bytes: &[u8],
        stream: &mut Stream,
        told: &mut impl FnMut(Told<'_>),
    ) -> Result<(), Malformed> {
        let mut lists = Lists::default();
        let mut events = Vec::new();
        let mut lost = false;
        let mut wire = Wire(bytes);
        while let Some(field) = wire.field() {
            match field? {
                (bundle::EVENT, value) => self.event(value.bytes(), &mut events, told)?,
                (bundle::LOST_EVENTS, value) => lost = value.number() != 0,
                (bundle::COMPACT_SCHED, value) => lists = Lists::new(value.bytes())?,
                _ => {}
            }
        }
        let lost = lost && !events.iter().any(|own| matches!(own.what, What::Lost(_)));
        self.merge(&lists, &events, lost, stream, told)
    }

    /// The three lists of a bundle by time; at one moment events of their own come first, then wake-ups.
    fn merge(
        &self,
        lists: &Lists<'_>,
        events: &[Own],
        lost: bool,
        stream: &mut Stream,
        told: &mut impl FnMut(Told<'_>),
    ) -> Result<(), Malformed> {
        let mut switches = lists.switches;
        let mut wakes = lists.wakes;
        let mut switch = switches.next()?;
        let mut wake = wakes.next(lists.has_flags)?;
        let mut events = events.iter().peekable();
        let time = |at| Instant::from_nanos(self.clock.monotonic(at));
        if lost {
            let firsts =
                [switch.map(|one| one.at), wake.map(|one| one.at), events.peek().map(|one| one.at)];
            if let Some(at) = firsts.into_iter().flatten().min() {
                stream.push(time(at), What::Lost(0));
            }
        }
        loop {
            let switch_at = switch.map_or(u64::MAX, |one| one.at);
            let wake_at = wake.map_or(u64::MAX, |one| one.at);
            if let Some(own) = events.next_if(|own| own.at <= switch_at && own.at <= wake_at) {
                stream.push(time(own.at), own.what);
            } else if let Some(one) = wake.filter(|one| one.at <= switch_at) {
                told(Told::Waking);
                let context = if lists.has_flags { context(one.flags) } else { Context::Unknown };
                stream.wake(time(one.at), tid(one.pid), context, one.target as u16);
                told(Told::Text(one.at, tid(one.pid), lists.name(one.comm)?));
                wake = wakes.next(lists.has_flags)?;
            } else if let Some(one) = switch {
                let left = self.states.left(one.state);
                stream.switch(time(one.at), left, tid(one.pid), priority(one.priority));
                told(Told::Text(one.at, tid(one.pid), lists.name(one.comm)?));
                switch = switches.next()?;
            } else {
                return Ok(());
            }
        }
    }

    /// Decodes an event of its own.
    fn event(
        &self,
        bytes: &[u8],
        events: &mut Vec<Own>,
        told: &mut impl FnMut(Told<'_>),
    ) -> Result<(), Malformed> {
        let (mut at, mut by, mut flags, mut body) = (None, 0, None, None);
        let mut wire = Wire(bytes);
        while let Some(field) = wire.field() {
            match field? {
                (event::TIMESTAMP, value) => at = Some(value.number()),
                (event::PID, value) => by = value.number(),
                (event::COMMON_FLAGS, value) => flags = Some(value.number()),
                (field, Value::Bytes(bytes)) => body = body.or(Some((field, bytes))),
                _ => {}
            }
        }
        let at = at.ok_or(Malformed("an event without its time"))?;
        let Some((field, body)) = body else { return Ok(()) };
        let what = match field {
            event::SCHED_SWITCH => {
                let switch = Fields::of(body)?;
                told(Told::Text(at, tid(switch.number[2]), switch.text[1]));
                told(Told::Text(at, tid(switch.number[6]), switch.text[5]));
                What::Switch {
                    prev: tid(switch.number[2]),
                    left: self.states.left(switch.number[4]),
                    next: tid(switch.number[6]),
                    priority: priority(switch.number[7]),
                }
            }
            event::SCHED_WAKING | event::SCHED_WAKEUP | event::SCHED_WAKEUP_NEW => {
                if field == event::SCHED_WAKING {
                    told(Told::Waking);
                } else if field == event::SCHED_WAKEUP && !self.wakeups_only {
                    return Ok(());
                }
                let wake = Fields::of(body)?;
                told(Told::Text(at, tid(wake.number[2]), wake.text[1]));
                What::Wake {
                    tid: tid(wake.number[2]),
                    waker: tid(by),
                    // Our own events leave the flags out when they are 0; others' say them always, or never did.
                    context: context(flags.unwrap_or(0)),
                    target: wake.number[5] as u16,
                }
            }
            event::SOFTIRQ_ENTRY => {
                What::InterruptEntry(Interrupt::Soft(Fields::of(body)?.small()))
            }
            event::SOFTIRQ_EXIT => What::InterruptExit(Interrupt::Soft(Fields::of(body)?.small())),
            event::IRQ_ENTRY => What::InterruptEntry(Interrupt::Hard(Fields::of(body)?.small())),
            event::IRQ_EXIT => What::InterruptExit(Interrupt::Hard(Fields::of(body)?.small())),
            event::SYS_ENTER => What::CallEntry(Fields::of(body)?.small()),
            event::SYS_EXIT => What::CallExit(Fields::of(body)?.small()),
            event::TASK_NEWTASK => {
                let task = Fields::of(body)?;
                let process = (task.number[3] & super::CLONE_THREAD != 0).then_some(tid(by));
                told(Told::Began(at, tid(task.number[1]), process, task.text[2]));
                return Ok(());
            }
            event::TASK_RENAME => {
                let task = Fields::of(body)?;
                told(Told::Renamed(at, tid(task.number[1]), task.text[3]));
                return Ok(());
            }
            event::GENERIC => match generic_event(body)? {
                Some(what) => what,
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        events.push(Own { at, what });
        Ok(())
    }
}

/// What a bundle tells besides events.
pub(super) enum Told<'a> {
    /// The thread has that name.
    Text(u64, Tid, &'a [u8]),
    /// The thread began, in the process of another or as one of its own, and has that name.
    Began(u64, Tid, Option<Tid>, &'a [u8]),
    /// The thread has that name from now on.
    Renamed(u64, Tid, &'a [u8]),
    /// There is a `sched_waking`.
    Waking,
}

/// An event of its own.
#[derive(Clone, Copy, Debug)]
struct Own {
    at: u64,
    what: What,
}

/// The fields of an event's body, those below 8.
struct Fields<'a> {
    number: [u64; 8],
    text: [&'a [u8]; 8],
}

impl<'a> Fields<'a> {
    fn of(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Self { number: [0; 8], text: [&[]; 8] };
        let mut wire = Wire(body);
        while let Some(field) = wire.field() {
            let (field, value) = field?;
            if let Some(place) = fields.number.get_mut(field as usize) {
                *place = value.number();
                fields.text[field as usize] = value.bytes();
            }
        }
        Ok(fields)
    }

    /// The first field, as the number of an interrupt or a system call.
    fn small(&self) -> u16 {
        u16::try_from(self.number[1]).unwrap_or(u16::MAX)
    }
}

/// What a generic event says, if it is one we know.
fn generic_event(body: &[u8]) -> Result<Option<What>, Malformed> {
    let (mut name, mut number) = (&[][..], 0);
    let mut wire = Wire(body);
    while let Some(field) = wire.field() {
        match field? {
            (1, value) => name = value.bytes(),
            (2, value) => number = Fields::of(value.bytes())?.number[5],
            _ => {}
        }
    }
    let name = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
    Ok(match name {
        _ if name == generic::FAULT_USER.as_bytes() => Some(What::PageFault(false)),
        _ if name == generic::FAULT_KERNEL.as_bytes() => Some(What::PageFault(true)),
        _ if name == generic::LOST.as_bytes() => {
            Some(What::Lost(u32::try_from(number).unwrap_or(u32::MAX)))
        }
        _ if name == generic::ONLINE.as_bytes() => Some(What::Online(number != 0)),
        _ => None,
    })
}

/// The compact form: a list for each field.
#[derive(Default)]
struct Lists<'a> {
    names: Vec<&'a [u8]>,
    switches: Switches<'a>,
    wakes: Wakes<'a>,
    /// Whether wake-ups have flags: writers before 2020 had none.
    has_flags: bool,
}

impl<'a> Lists<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut lists = Self::default();
        let mut wire = Wire(bytes);
        while let Some(field) = wire.field() {
            let (field, value) = field?;
            let list = Wire(value.bytes());
            match field {
                compact::INTERN_TABLE => lists.names.push(value.bytes()),
                compact::SWITCH_TIMESTAMP => lists.switches.times = list,
                compact::SWITCH_PREV_STATE => lists.switches.states = list,
                compact::SWITCH_NEXT_PID => lists.switches.pids = list,
                compact::SWITCH_NEXT_PRIO => lists.switches.priorities = list,
                compact::SWITCH_NEXT_COMM => lists.switches.comms = list,
                compact::WAKING_TIMESTAMP => lists.wakes.times = list,
                compact::WAKING_PID => lists.wakes.pids = list,
                compact::WAKING_TARGET_CPU => lists.wakes.targets = list,
                compact::WAKING_PRIO => {}
                compact::WAKING_COMM => lists.wakes.comms = list,
                compact::WAKING_COMMON_FLAGS => {
                    lists.wakes.flags = list;
                    lists.has_flags = true;
                }
                _ => {}
            }
        }
        Ok(lists)
    }

    #[inline]
    fn name(&self, index: u64) -> Result<&'a [u8], Malformed> {
        let name = usize::try_from(index).ok().and_then(|index| self.names.get(index));
        name.copied().ok_or(Malformed("a thread's name is not in the bundle's table"))
    }
}

const UNEQUAL: Malformed = Malformed("the lists of a bundle are not equally long");

/// The lists of switches.
#[derive(Clone, Copy, Default)]
struct Switches<'a> {
    at: u64,
    times: Wire<'a>,
    states: Wire<'a>,
    pids: Wire<'a>,
    priorities: Wire<'a>,
    comms: Wire<'a>,
}

#[derive(Clone, Copy)]
struct Switch {
    at: u64,
    state: u64,
    pid: u64,
    priority: u64,
    comm: u64,
}

impl Switches<'_> {
    #[inline]
    fn next(&mut self) -> Result<Option<Switch>, Malformed> {
        if self.times.0.is_empty() {
            let rest = [self.states, self.pids, self.priorities, self.comms];
            return if rest.iter().all(|list| list.0.is_empty()) { Ok(None) } else { Err(UNEQUAL) };
        }
        self.at = self.at.wrapping_add(self.times.varint().ok_or(UNEQUAL)?);
        Ok(Some(Switch {
            at: self.at,
            state: self.states.varint().ok_or(UNEQUAL)?,
            pid: self.pids.varint().ok_or(UNEQUAL)?,
            priority: self.priorities.varint().ok_or(UNEQUAL)?,
            comm: self.comms.varint().ok_or(UNEQUAL)?,
        }))
    }
}

/// The lists of wake-ups.
#[derive(Clone, Copy, Default)]
struct Wakes<'a> {
    at: u64,
    times: Wire<'a>,
    pids: Wire<'a>,
    targets: Wire<'a>,
    comms: Wire<'a>,
    flags: Wire<'a>,
}

#[derive(Clone, Copy)]
struct Wake {
    at: u64,
    pid: u64,
    target: u64,
    comm: u64,
    flags: u64,
}

impl Wakes<'_> {
    #[inline]
    fn next(&mut self, has_flags: bool) -> Result<Option<Wake>, Malformed> {
        if self.times.0.is_empty() {
            let rest = [self.pids, self.targets, self.comms, self.flags];
            return if rest.iter().all(|list| list.0.is_empty()) { Ok(None) } else { Err(UNEQUAL) };
        }
        self.at = self.at.wrapping_add(self.times.varint().ok_or(UNEQUAL)?);
        Ok(Some(Wake {
            at: self.at,
            pid: self.pids.varint().ok_or(UNEQUAL)?,
            target: self.targets.varint().ok_or(UNEQUAL)?,
            comm: self.comms.varint().ok_or(UNEQUAL)?,
            flags: if has_flags { self.flags.varint().ok_or(UNEQUAL)? } else { 0 },
        }))
    }
}

/// A thread's number as Perfetto writes an `int32`.
#[inline]
const fn tid(number: u64) -> Tid {
    Tid(number as u32)
}
