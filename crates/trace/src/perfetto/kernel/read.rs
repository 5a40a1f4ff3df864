//! Decodes bundles into the kernel's events.

use hemiola_units::Instant;
use hemiola_wire::{Value, WireReader};

use super::lists::{Lists, Switches, UNEQUAL, Wakes};
use super::{Malformed, States, bundle, context, event, generic, priority, tid};
use crate::perfetto::clocks::Clock;
use crate::recording::{Fact, Process, Sink, Stream};
use crate::sched::{Context, Interrupt, What};

/// The information about a file that is needed to decode its bundles.
#[derive(Debug)]
pub(crate) struct Bundles {
    pub(super) states: States,
    /// The conversion of the file's clock to the monotonic one.
    pub(super) clock: Clock,
    /// Whether wake-ups are known only from `sched_wakeup`, without `sched_waking`.
    pub(super) wakeups_only: bool,
}

impl Bundles {
    /// Appends the events of a bundle, which was checked when the file was opened. If it has become malformed, a gap
    /// follows.
    pub(crate) fn decode(&self, bytes: &[u8], stream: &mut Stream) {
        let mut parts = Parts::default();
        let whole = self.split(bytes, &mut parts, &mut |_| ());
        if whole.is_err() || self.merge(&parts, stream).is_err() {
            stream.gap();
        }
    }

    /// Checks a bundle, reports its facts other than events, and returns the times of its first and last event, if it
    /// has any. With `names`, it also reports the names of the threads in its lists.
    pub(super) fn look(
        &self,
        bytes: &[u8],
        names: bool,
        fact: &mut impl FnMut(Fact<'_>),
    ) -> Result<Option<(u64, u64)>, Malformed> {
        let mut parts = Parts::default();
        self.split(bytes, &mut parts, fact)?;
        let Parts { lists, events, .. } = &parts;
        if !lists.wakes.times.rest().is_empty() {
            fact(Fact::Waking);
            if !lists.has_flags {
                fact(Fact::WithoutFlags);
            }
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
            fact(Fact::StepBack(step[0].at - step[1].at));
        }
        if names {
            let Switches { times, pids, comms, .. } = lists.switches;
            lists.tell_names([times, pids, comms], fact)?;
            let Wakes { times, pids, comms, .. } = lists.wakes;
            lists.tell_names([times, pids, comms], fact)?;
        }
        Ok(span)
    }

    /// Splits a bundle into its parts.
    fn split<'a>(
        &self,
        bytes: &'a [u8],
        parts: &mut Parts<'a>,
        fact: &mut impl FnMut(Fact<'_>),
    ) -> Result<(), Malformed> {
        let mut wire = WireReader::new(bytes);
        while let Some(field) = wire.field()? {
            match field {
                (bundle::EVENT, value) => self.event(value.bytes(), &mut parts.events, fact)?,
                (bundle::LOST_EVENTS, value) => parts.lost = value.number() != 0,
                (bundle::COMPACT_SCHED, value) => parts.lists = Lists::new(value.bytes())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Merges the three lists of a bundle by time. At the same time, individual events come first, then wake-ups.
    fn merge(&self, parts: &Parts<'_>, stream: &mut Stream) -> Result<(), Malformed> {
        let Parts { lists, events, lost } = parts;
        let mut switches = lists.switches;
        let mut wakes = lists.wakes;
        let mut switch = switches.time();
        let mut wake = wakes.time();
        let mut events = events.iter().peekable();
        let time = |at| Instant::from_nanos(self.clock.convert(at));
        if *lost && !parts.events.iter().any(|own| matches!(own.what, What::Lost(_))) {
            let first = switch.min(wake).min(events.peek().map_or(u64::MAX, |own| own.at));
            if first < u64::MAX {
                stream.push(time(first), What::Lost(0));
            }
        }
        // A list of times has more bytes than events.
        stream.events.reserve((switches.times.rest().len() + wakes.times.rest().len()) / 2);
        loop {
            if let Some(own) = events.next_if(|own| own.at <= switch && own.at <= wake) {
                let what = match own.what {
                    What::SleepUntil(until) => {
                        What::SleepUntil(time(until.instant().nanos()).into())
                    }
                    what => what,
                };
                stream.push(time(own.at), what);
            } else if wake <= switch && wake < u64::MAX {
                let tid = tid(wakes.pids.varint().map_err(|_| UNEQUAL)?);
                let target = wakes.targets.varint().map_err(|_| UNEQUAL)? as u16;
                let context = match lists.has_flags {
                    true => context(wakes.flags.varint().map_err(|_| UNEQUAL)?),
                    false => Context::Unknown,
                };
                stream.wake(time(wake), tid, context, target);
                wake = wakes.time();
            } else if switch < u64::MAX {
                let left = self.states.left(switches.states.varint().map_err(|_| UNEQUAL)?);
                let next = tid(switches.pids.varint().map_err(|_| UNEQUAL)?);
                let priority = priority(switches.priorities.varint().map_err(|_| UNEQUAL)?);
                stream.switch(time(switch), left, next, priority);
                switch = switches.time();
            } else {
                return Ok(());
            }
        }
    }

    /// Decodes an individual event.
    fn event(
        &self,
        bytes: &[u8],
        events: &mut Vec<Own>,
        fact: &mut impl FnMut(Fact<'_>),
    ) -> Result<(), Malformed> {
        let (mut at, mut by, mut flags, mut body) = (None, 0, None, None);
        let mut wire = WireReader::new(bytes);
        while let Some(field) = wire.field()? {
            match field {
                (event::TIMESTAMP, value) => at = Some(value.number()),
                (event::PID, value) => by = value.number(),
                (event::COMMON_FLAGS, value) => flags = Some(value.number()),
                (field, Value::Bytes(bytes)) => body = body.or(Some((field, bytes))),
                _ => {}
            }
        }
        let at = at.ok_or(Malformed::Bundle("an event without its time"))?;
        let Some((field, body)) = body else { return Ok(()) };
        let what = match field {
            event::SCHED_SWITCH => {
                let switch = Fields::of(body)?;
                fact(Fact::Named(at, tid(switch.number[2]), switch.text[1]));
                fact(Fact::Named(at, tid(switch.number[6]), switch.text[5]));
                What::Switch {
                    prev: tid(switch.number[2]),
                    left: self.states.left(switch.number[4]),
                    next: tid(switch.number[6]),
                    priority: priority(switch.number[7]),
                }
            }
            event::SCHED_WAKING | event::SCHED_WAKEUP | event::SCHED_WAKEUP_NEW => {
                if field == event::SCHED_WAKING {
                    fact(Fact::Waking);
                } else if field == event::SCHED_WAKEUP && !self.wakeups_only {
                    return Ok(());
                }
                let wake = Fields::of(body)?;
                fact(Fact::Named(at, tid(wake.number[2]), wake.text[1]));
                if flags.is_none() {
                    fact(Fact::WithoutFlags);
                }
                What::Wake {
                    tid: tid(wake.number[2]),
                    waker: tid(by),
                    // Our own events omit the flags if they are 0; those of other programs always or never have them.
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
                fact(Fact::Began(at, tid(task.number[1]), process, task.text[2]));
                return Ok(());
            }
            event::TASK_RENAME => {
                let task = Fields::of(body)?;
                fact(Fact::Renamed(at, tid(task.number[1]), task.text[3]));
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

/// The parts of a bundle.
#[derive(Default)]
struct Parts<'a> {
    lists: Lists<'a>,
    /// Individual events.
    events: Vec<Own>,
    lost: bool,
}

/// An individual event.
#[derive(Clone, Copy, Debug)]
struct Own {
    at: u64,
    what: What,
}

/// The fields of an event's body with numbers below 8.
struct Fields<'a> {
    number: [u64; 8],
    text: [&'a [u8]; 8],
}

impl<'a> Fields<'a> {
    fn of(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Self { number: [0; 8], text: [&[]; 8] };
        let mut wire = WireReader::new(body);
        while let Some((field, value)) = wire.field()? {
            if let Some(place) = fields.number.get_mut(field as usize) {
                *place = value.number();
                fields.text[field as usize] = value.bytes();
            }
        }
        Ok(fields)
    }

    /// Returns the first field, as the number of an interrupt or a system call.
    fn small(&self) -> u16 {
        u16::try_from(self.number[1]).unwrap_or(u16::MAX)
    }
}

/// Decodes a generic event; `None` if it is unknown.
fn generic_event(body: &[u8]) -> Result<Option<What>, Malformed> {
    let (mut name, mut number) = (&[][..], 0);
    let mut wire = WireReader::new(body);
    while let Some(field) = wire.field()? {
        match field {
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
        _ if name == generic::SLEEP_UNTIL.as_bytes() => {
            Some(What::SleepUntil(Instant::from_nanos(number).into()))
        }
        _ => None,
    })
}
