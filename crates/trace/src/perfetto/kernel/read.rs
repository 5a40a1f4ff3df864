//! Bundles to the kernel's events.

use hemiola_units::Instant;

use super::{States, bundle, compact, context, event, generic, priority};
use crate::recording::{Process, Stream, Told};
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
    /// Adds the events of a bundle, which was looked at when the file was opened. From where it is malformed there is
    /// a gap.
    pub(crate) fn decode(&self, bytes: &[u8], stream: &mut Stream) {
        let mut parts = Parts::default();
        let whole = self.split(bytes, &mut parts, &mut |_| ());
        if whole.is_err() || self.merge(&parts, stream).is_err() {
            stream.gap();
        }
    }

    /// Looks at a bundle: whether it is whole, what it tells besides events, and the moments of its first and its last
    /// event, if it has any. With `names`, it tells the names of the threads in its lists as well.
    pub(super) fn look(
        &self,
        bytes: &[u8],
        names: bool,
        told: &mut impl FnMut(Told<'_>),
    ) -> Result<Option<(u64, u64)>, Malformed> {
        let mut parts = Parts::default();
        self.split(bytes, &mut parts, told)?;
        let Parts { lists, events, .. } = &parts;
        if !lists.wakes.times.0.is_empty() {
            told(Told::Waking);
        }
        let mut span: Option<(u64, u64)> = None;
        let mut add = |(first, last): (u64, u64)| {
            let (low, high) = span.unwrap_or((first, last));
            span = Some((low.min(first), high.max(last)));
        };
        lists.switches.check()?.map(&mut add);
        lists.wakes.check(lists.has_flags)?.map(&mut add);
        if let ([first, ..], [.., last]) = (&events[..], &events[..]) {
            add((first.at, last.at));
        }
        if let Some(step) = events.windows(2).find(|pair| pair[1].at < pair[0].at) {
            told(Told::StepBack(step[0].at - step[1].at));
        }
        if names {
            let Switches { times, pids, comms, .. } = lists.switches;
            lists.tell_names([times, pids, comms], told)?;
            let Wakes { times, pids, comms, .. } = lists.wakes;
            lists.tell_names([times, pids, comms], told)?;
        }
        Ok(span)
    }

    /// Takes a bundle apart.
    fn split<'a>(
        &self,
        bytes: &'a [u8],
        parts: &mut Parts<'a>,
        told: &mut impl FnMut(Told<'_>),
    ) -> Result<(), Malformed> {
        let mut wire = Wire(bytes);
        while let Some(field) = wire.field() {
            match field? {
                (bundle::EVENT, value) => self.event(value.bytes(), &mut parts.events, told)?,
                (bundle::LOST_EVENTS, value) => parts.lost = value.number() != 0,
                (bundle::COMPACT_SCHED, value) => parts.lists = Lists::new(value.bytes())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The three lists of a bundle by time; at one moment events of their own come first, then wake-ups.
    fn merge(&self, parts: &Parts<'_>, stream: &mut Stream) -> Result<(), Malformed> {
        let Parts { lists, events, lost } = parts;
        let mut switches = lists.switches;
        let mut wakes = lists.wakes;
        let mut switch = switches.time();
        let mut wake = wakes.time();
        let mut events = events.iter().peekable();
        let time = |at| Instant::from_nanos(self.clock.monotonic(at));
        if *lost && !parts.events.iter().any(|own| matches!(own.what, What::Lost(_))) {
            let first = switch.min(wake).min(events.peek().map_or(u64::MAX, |own| own.at));
            if first < u64::MAX {
                stream.push(time(first), What::Lost(0));
            }
        }
        // A list of times is longer than the number of its events.
        stream.events.reserve((switches.times.0.len() + wakes.times.0.len()) / 2);
        loop {
            if let Some(own) = events.next_if(|own| own.at <= switch && own.at <= wake) {
                stream.push(time(own.at), own.what);
            } else if wake <= switch && wake < u64::MAX {
                let tid = tid(wakes.pids.varint().ok_or(UNEQUAL)?);
                let target = wakes.targets.varint().ok_or(UNEQUAL)? as u16;
                let context = match lists.has_flags {
                    true => context(wakes.flags.varint().ok_or(UNEQUAL)?),
                    false => Context::Unknown,
                };
                stream.wake(time(wake), tid, context, target);
                wake = wakes.time();
            } else if switch < u64::MAX {
                let left = self.states.left(switches.states.varint().ok_or(UNEQUAL)?);
                let next = tid(switches.pids.varint().ok_or(UNEQUAL)?);
                let priority = priority(switches.priorities.varint().ok_or(UNEQUAL)?);
                stream.switch(time(switch), left, next, priority);
                switch = switches.time();
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
                told(Told::Named(at, tid(switch.number[2]), switch.text[1]));
                told(Told::Named(at, tid(switch.number[6]), switch.text[5]));
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
                told(Told::Named(at, tid(wake.number[2]), wake.text[1]));
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
                let thread = task.number[3] & super::CLONE_THREAD != 0;
                let process = if thread { Process::Of(tid(by)) } else { Process::Own };
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

/// A bundle taken apart.
#[derive(Default)]
struct Parts<'a> {
    lists: Lists<'a>,
    /// Events of their own.
    events: Vec<Own>,
    lost: bool,
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

    /// Tells the names of the threads in lists of times, threads and places in the table.
    fn tell_names(
        &self,
        [mut times, mut pids, mut comms]: [Wire<'a>; 3],
        told: &mut impl FnMut(Told<'_>),
    ) -> Result<(), Malformed> {
        let mut at = 0_u64;
        while let (Some(step), Some(pid), Some(comm)) =
            (times.varint(), pids.varint(), comms.varint())
        {
            at = at.wrapping_add(step);
            told(Told::Named(at, tid(pid), self.name(comm)?));
        }
        Ok(())
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

impl Switches<'_> {
    /// The time of the next one; `u64::MAX` at the end.
    #[inline]
    fn time(&mut self) -> u64 {
        next_time(&mut self.times, &mut self.at)
    }

    /// The moments of the first and the last one, if the lists are equally long and whole.
    fn check(&self) -> Result<Option<(u64, u64)>, Malformed> {
        let others = [self.states, self.pids, self.priorities, self.comms];
        check(self.times, &others)
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

impl Wakes<'_> {
    /// The time of the next one; `u64::MAX` at the end.
    #[inline]
    fn time(&mut self) -> u64 {
        next_time(&mut self.times, &mut self.at)
    }

    /// The moments of the first and the last one, if the lists are equally long and whole.
    fn check(&self, has_flags: bool) -> Result<Option<(u64, u64)>, Malformed> {
        let others = [self.pids, self.targets, self.comms, self.flags];
        check(self.times, &others[..if has_flags { 4 } else { 3 }])
    }
}

#[inline]
fn next_time(times: &mut Wire<'_>, at: &mut u64) -> u64 {
    match times.varint() {
        Some(step) => {
            *at = at.wrapping_add(step);
            *at
        }
        None => u64::MAX,
    }
}

/// The moments of the first and the last of a list, if those beside it are equally long and all are whole.
fn check(mut times: Wire<'_>, others: &[Wire<'_>]) -> Result<Option<(u64, u64)>, Malformed> {
    let count = times.varints().ok_or(UNEQUAL)?;
    for other in others {
        if other.varints() != Some(count) {
            return Err(UNEQUAL);
        }
    }
    let Some(first) = times.varint() else {
        return if count == 0 { Ok(None) } else { Err(UNEQUAL) };
    };
    let mut last = first;
    for _ in 1..count {
        let step = times.varint().ok_or(UNEQUAL)?;
        last = last.checked_add(step).ok_or(Malformed("a time is beyond what a clock can say"))?;
    }
    Ok(Some((first, last)))
}

/// A thread's number as Perfetto writes an `int32`.
#[inline]
const fn tid(number: u64) -> Tid {
    Tid(number as u32)
}
