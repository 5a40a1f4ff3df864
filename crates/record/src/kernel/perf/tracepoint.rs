//! The contents of a tracepoint's perf record: where its fields are, and what they mean.
//!
//! Source: the files `events/GROUP/NAME/format` of tracefs.

use std::fs;

use hemiola_trace::sched::{Context, Interrupt, Left, PRIORITY_UNKNOWN, Tid, What};

use crate::kernel::Options;

/// Where tracefs is mounted, the usual place first.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// `common_flags`: in a device's interrupt, or in a soft one (`enum trace_flag_type`).
const FLAG_INTERRUPT: u8 = 0x08 | 0x10;
const COMMON_FLAGS: usize = 2;

/// The meaning of a tracepoint's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Switch,
    Wake,
    HardEntry,
    HardExit,
    SoftEntry,
    SoftExit,
    PageFault(bool),
    CallEntry,
    CallExit,
}

/// A tracepoint of this kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tracepoint {
    /// Its number, which also begins its records.
    pub(super) id: u16,
    meaning: Meaning,
    /// Offset and length of each field, in the order of [`Meaning::fields`].
    fields: Vec<(usize, usize)>,
}

impl Meaning {
    const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Switch => &["prev_pid", "prev_state", "next_pid", "next_prio"],
            Self::Wake => &["pid", "target_cpu"],
            Self::HardEntry | Self::HardExit => &["irq"],
            Self::SoftEntry | Self::SoftExit => &["vec"],
            Self::PageFault(_) => &[],
            Self::CallEntry | Self::CallExit => &["id"],
        }
    }
}

/// Returns the tracepoints that `options` request; `None` if tracefs cannot be read.
pub(super) fn find(options: &Options) -> Option<Vec<Tracepoint>> {
    let wanted = [
        (true, "sched/sched_switch", Meaning::Switch),
        (options.wakes, "sched/sched_waking", Meaning::Wake),
        (options.wakes, "sched/sched_wakeup_new", Meaning::Wake),
        (options.interrupts, "irq/irq_handler_entry", Meaning::HardEntry),
        (options.interrupts, "irq/irq_handler_exit", Meaning::HardExit),
        (options.interrupts, "irq/softirq_entry", Meaning::SoftEntry),
        (options.interrupts, "irq/softirq_exit", Meaning::SoftExit),
        (options.page_faults, "exceptions/page_fault_user", Meaning::PageFault(false)),
        (options.page_faults, "exceptions/page_fault_kernel", Meaning::PageFault(true)),
        (options.calls, "raw_syscalls/sys_enter", Meaning::CallEntry),
        (options.calls, "raw_syscalls/sys_exit", Meaning::CallExit),
    ];
    let wanted = wanted.into_iter().filter(|(asked, ..)| *asked);
    wanted
        .map(|(_, name, meaning)| {
            let read = |folder| fs::read_to_string(format!("{folder}/events/{name}/format")).ok();
            parse(&FOLDERS.iter().find_map(read)?, meaning)
        })
        .collect()
}

/// Parses `ID: 372` and lines such as `field:pid_t prev_pid; offset:24; size:4; signed:1;`.
fn parse(format: &str, meaning: Meaning) -> Option<Tracepoint> {
    let id = format.lines().find_map(|line| line.strip_prefix("ID: "))?.trim().parse().ok()?;
    let place = |wanted: &&str| {
        format.lines().find_map(|line| {
            let mut parts = line.trim().strip_prefix("field:")?.split(';');
            let name = parts.next()?.rsplit(' ').next()?;
            let offset = parts.next()?.trim().strip_prefix("offset:")?.parse().ok()?;
            let len = parts.next()?.trim().strip_prefix("size:")?.parse().ok()?;
            (name == *wanted).then_some((offset, len))
        })
    };
    let fields = meaning.fields().iter().map(place).collect::<Option<_>>()?;
    Some(Tracepoint { id, meaning, fields })
}

impl Tracepoint {
    /// Decodes a record of this tracepoint, without the waker; `None` if it is too short.
    pub(super) fn decode(&self, raw: &[u8]) -> Option<What> {
        let field = |index: usize| {
            let (offset, len) = *self.fields.get(index)?;
            let bytes = raw.get(offset..offset + len)?;
            match len {
                4 => Some(i64::from(i32::from_ne_bytes(*bytes.first_chunk()?))),
                8 => Some(i64::from_ne_bytes(*bytes.first_chunk()?)),
                _ => None,
            }
        };
        let number = || Some(field(0)? as u16);
        Some(match self.meaning {
            Meaning::Switch => What::Switch {
                prev: Tid(field(0)? as u32),
                left: left(field(1)?),
                next: Tid(field(2)? as u32),
                priority: i16::try_from(field(3)?).unwrap_or(PRIORITY_UNKNOWN),
            },
            Meaning::Wake => {
                let interrupt = raw.get(COMMON_FLAGS)? & FLAG_INTERRUPT != 0;
                let context = if interrupt { Context::Interrupt } else { Context::Thread };
                What::Wake {
                    tid: Tid(field(0)? as u32),
                    waker: Tid::UNKNOWN,
                    context,
                    target: field(1)? as u16,
                }
            }
            Meaning::HardEntry => What::InterruptEntry(Interrupt::Hard(number()?)),
            Meaning::HardExit => What::InterruptExit(Interrupt::Hard(number()?)),
            Meaning::SoftEntry => What::InterruptEntry(Interrupt::Soft(number()?)),
            Meaning::SoftExit => What::InterruptExit(Interrupt::Soft(number()?)),
            Meaning::PageFault(kernel) => What::PageFault(kernel),
            Meaning::CallEntry => What::CallEntry(number()?),
            Meaning::CallExit => What::CallExit(number()?),
        })
    }
}

/// Decodes `prev_state` of the tracepoint: one bit for each state of `print fmt`, and one more for preempted.
const fn left(state: i64) -> Left {
    match state {
        0 => Left::Yielded,
        _ if state & 0x100 != 0 => Left::Preempted,
        _ if state & 0x30 != 0 => Left::Dead,
        _ if state & 0xc0 != 0 => Left::Idle,
        _ if state & 0x0c != 0 => Left::Stopped,
        _ if state & 0x02 != 0 => Left::Uninterruptible,
        _ if state & 0x01 != 0 => Left::Sleeping,
        _ => Left::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
        \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\nprint fmt: \"prev_pid=%d\"\n";

    #[test]
    fn fields_are_where_the_format_says() {
        let tracepoint = parse(SWITCH, Meaning::Switch).unwrap();
        assert_eq!(tracepoint.id, 372);
        let mut raw = [0_u8; 64];
        raw[24..28].copy_from_slice(&7_i32.to_ne_bytes());
        raw[32..40].copy_from_slice(&0x100_i64.to_ne_bytes());
        raw[56..60].copy_from_slice(&9_i32.to_ne_bytes());
        raw[60..64].copy_from_slice(&(-1_i32).to_ne_bytes());
        let switch =
            What::Switch { prev: Tid(7), left: Left::Preempted, next: Tid(9), priority: -1 };
        assert_eq!(tracepoint.decode(&raw), Some(switch));
        assert_eq!(tracepoint.decode(&raw[..63]), None);
    }

    #[test]
    fn a_format_without_a_field_is_refused() {
        assert_eq!(parse(SWITCH, Meaning::Wake), None);
        assert_eq!(parse("", Meaning::Switch), None);
    }
}
