//! The kernel's tracepoints in its ring buffers: records whose layout the file itself describes.
//!
//! Both `trace.dat` and `perf.data` contain the text of each event's `format` file in tracefs, which gives the place
//! of each field in a record (Linux, Documentation/trace/events.rst, "Event formats").

mod format;
mod head;

use std::collections::BTreeMap;

use hemiola_units::Instant;

use crate::perfetto::kernel::{States, context};
use crate::recording::{Fact, Process, Sink};
use crate::sched::{Interrupt, PRIORITY_UNKNOWN, Tid, What};

use format::Field;

pub(crate) use format::Format;
pub(crate) use head::{Cursor, Head, PageLayout, formats, head, page_layout};

/// The description needed to read the records of a file.
#[derive(Debug)]
pub(crate) struct Tracepoints {
    /// By the event's number.
    plans: Vec<Option<Plan>>,
    pub(crate) big_endian: bool,
    pub(crate) states: States,
    /// Whether wake-ups are known only from `sched_wakeup`.
    pub(crate) wakeups_only: bool,
    /// Whether each processor's events are in order. Then a switch from another thread than the one last switched to
    /// shows that events are missing.
    pub(crate) in_turn: bool,
}

/// The places of the needed fields in the records of one event.
#[derive(Clone, Copy, Debug)]
struct Plan {
    event: Known,
    flags: Option<Field>,
    tid: Option<Field>,
    fields: [Option<Field>; FIELDS_MAX],
}

const FIELDS_MAX: usize = 6;

/// The largest event number that is kept; the kernel has some thousand events.
const EVENTS_MAX: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Switch,
    Waking,
    Wakeup,
    WakeupNew,
    IrqEntry,
    IrqExit,
    SoftirqEntry,
    SoftirqExit,
    FaultUser,
    FaultKernel,
    CallEntry,
    CallExit,
    NewTask,
    Rename,
    Fork,
}

/// The supported events, their names, and the names of their fields.
const KNOWN: [(Known, &str, &[&str]); 15] = [
    (
        Known::Switch,
        "sched_switch",
        &["prev_pid", "prev_state", "next_pid", "next_prio", "prev_comm", "next_comm"],
    ),
    (Known::Waking, "sched_waking", WAKE),
    (Known::Wakeup, "sched_wakeup", WAKE),
    (Known::WakeupNew, "sched_wakeup_new", WAKE),
    (Known::IrqEntry, "irq_handler_entry", &["irq"]),
    (Known::IrqExit, "irq_handler_exit", &["irq"]),
    (Known::SoftirqEntry, "softirq_entry", &["vec"]),
    (Known::SoftirqExit, "softirq_exit", &["vec"]),
    (Known::FaultUser, "page_fault_user", &[]),
    (Known::FaultKernel, "page_fault_kernel", &[]),
    (Known::CallEntry, "sys_enter", &["id"]),
    (Known::CallExit, "sys_exit", &["id"]),
    (Known::NewTask, "task_newtask", &["pid", "clone_flags", "comm"]),
    (Known::Rename, "task_rename", &["pid", "newcomm"]),
    (Known::Fork, "sched_process_fork", &["child_pid", "child_comm"]),
];

const WAKE: &[&str] = &["pid", "target_cpu", "comm"];

/// `CLONE_THREAD` of clone(2).
const CLONE_THREAD: u64 = 0x1_0000;

impl Tracepoints {
    /// Creates a reader of these events.
    pub(crate) fn new(formats: &[Format], big_endian: bool, release: Option<&str>) -> Self {
        let mut plans = BTreeMap::new();
        for format in formats {
            let Some(&(event, _, names)) = KNOWN.iter().find(|(_, name, _)| *name == format.name)
            else {
                continue;
            };
            let mut fields = [None; FIELDS_MAX];
            for (place, name) in fields.iter_mut().zip(names) {
                *place = format.field(name);
            }
            let plan = Plan {
                event,
                flags: format.field("common_flags"),
                tid: format.field("common_pid"),
                fields,
            };
            // An event without one of its numbers cannot be decoded; the processor and names may be missing.
            let needed = match event {
                Known::Switch => 3,
                Known::FaultUser | Known::FaultKernel => 0,
                _ => 1,
            };
            if plan.fields[..needed].iter().all(Option::is_some)
                && usize::from(format.id) < EVENTS_MAX
            {
                plans.insert(usize::from(format.id), plan);
            }
        }
        // A fork says less about the same thread.
        if plans.values().any(|plan| plan.event == Known::NewTask) {
            plans.retain(|_, plan| plan.event != Known::Fork);
        }
        let mut by_number = vec![None; plans.last_key_value().map_or(0, |(&id, _)| id + 1)];
        for (id, plan) in plans {
            by_number[id] = Some(plan);
        }
        let states = release.map_or(States::NOW, States::of);
        Self { plans: by_number, big_endian, states, wakeups_only: true, in_turn: true }
    }

    /// Whether the file contains switches of threads.
    pub(crate) fn has_switches(&self) -> bool {
        self.plans.iter().flatten().any(|plan| plan.event == Known::Switch)
    }

    /// Whether the file may report a wake-up twice. Which of the two counts is known at its end.
    pub(crate) fn wakes_twice(&self) -> bool {
        let has = |event| self.plans.iter().flatten().any(|plan| plan.event == event);
        has(Known::Waking) && has(Known::Wakeup)
    }

    /// Processes a record, which begins with the event's number.
    pub(crate) fn record(
        &self,
        record: &[u8],
        at: u64,
        sink: &mut impl Sink,
        fact: &mut impl FnMut(Fact<'_>),
    ) {
        let Some(&[low, high]) = record.get(..2) else { return };
        let id = if self.big_endian { [high, low] } else { [low, high] };
        let Some(Some(plan)) = self.plans.get(usize::from(u16::from_le_bytes(id))) else { return };
        let number =
            |field: Option<Field>| field.map_or(0, |field| field.get(record, self.big_endian));
        let value = |index: usize| number(plan.fields[index]);
        let text = |index: usize| plan.fields[index].map_or(&[][..], |field| field.bytes(record));
        let tid = |number: u64| Tid(number as u32);
        let small = |number: u64| u16::try_from(number).unwrap_or(u16::MAX);

        let what = match plan.event {
            Known::Switch => {
                fact(Fact::Named(at, tid(value(0)), text(4)));
                fact(Fact::Named(at, tid(value(2)), text(5)));
                if self.in_turn {
                    sink.follows(Instant::from_nanos(at), tid(value(0)));
                }
                let priority = plan.fields[3].and_then(|field| {
                    i16::try_from(field.get(record, self.big_endian).cast_signed()).ok()
                });
                What::Switch {
                    prev: tid(value(0)),
                    left: self.states.left(value(1)),
                    next: tid(value(2)),
                    priority: priority.unwrap_or(PRIORITY_UNKNOWN),
                }
            }
            Known::Waking | Known::Wakeup | Known::WakeupNew => {
                if plan.event == Known::Waking {
                    fact(Fact::Waking);
                } else if plan.event == Known::Wakeup && !self.wakeups_only {
                    return;
                }
                fact(Fact::Named(at, tid(value(0)), text(2)));
                let target = plan.fields[1].map_or(sink.cpu(), |_| value(1) as u16);
                let context = context(number(plan.flags));
                What::Wake { tid: tid(value(0)), waker: tid(number(plan.tid)), context, target }
            }
            Known::IrqEntry => What::InterruptEntry(Interrupt::Hard(small(value(0)))),
            Known::IrqExit => What::InterruptExit(Interrupt::Hard(small(value(0)))),
            Known::SoftirqEntry => What::InterruptEntry(Interrupt::Soft(small(value(0)))),
            Known::SoftirqExit => What::InterruptExit(Interrupt::Soft(small(value(0)))),
            Known::FaultUser => What::PageFault(false),
            Known::FaultKernel => What::PageFault(true),
            Known::CallEntry => What::CallEntry(small(value(0))),
            Known::CallExit => What::CallExit(small(value(0))),
            Known::NewTask => {
                let thread = value(1) & CLONE_THREAD != 0;
                let process =
                    if thread { Process::Of(tid(number(plan.tid))) } else { Process::Own };
                return fact(Fact::Began(at, tid(value(0)), process, text(2)));
            }
            Known::Rename => return fact(Fact::Renamed(at, tid(value(0)), text(1))),
            Known::Fork => {
                return fact(Fact::Began(at, tid(value(0)), Process::Unknown, text(1)));
            }
        };
        sink.push(Instant::from_nanos(at), what);
    }
}
