//! The compact form of switches and wake-ups: a list for each of their fields.

use hemiola_wire::WireReader;

use super::{Malformed, compact, tid};
use crate::recording::Fact;

/// The compact form: a list for each field.
#[derive(Default)]
pub(super) struct Lists<'a> {
    pub(super) names: Vec<&'a [u8]>,
    pub(super) switches: Switches<'a>,
    pub(super) wakes: Wakes<'a>,
    /// Whether wake-ups have flags; writers before 2020 had none.
    pub(super) has_flags: bool,
}

impl<'a> Lists<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut lists = Self::default();
        let mut wire = WireReader::new(bytes);
        while let Some((field, value)) = wire.field()? {
            let list = WireReader::new(value.bytes());
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

    /// Reports the names of the threads in lists of times, threads and indices into the table.
    pub(super) fn tell_names(
        &self,
        [mut times, mut pids, mut comms]: [WireReader<'a>; 3],
        fact: &mut impl FnMut(Fact<'_>),
    ) -> Result<(), Malformed> {
        let mut at = 0_u64;
        while let (Ok(step), Ok(pid), Ok(comm)) = (times.varint(), pids.varint(), comms.varint()) {
            at = at.wrapping_add(step);
            fact(Fact::Named(at, tid(pid), self.name(comm)?));
        }
        Ok(())
    }

    #[inline]
    pub(super) fn name(&self, index: u64) -> Result<&'a [u8], Malformed> {
        let name = usize::try_from(index).ok().and_then(|index| self.names.get(index));
        name.copied().ok_or(Malformed::Bundle("a thread's name is not in the bundle's table"))
    }
}

pub(super) const UNEQUAL: Malformed =
    Malformed::Bundle("the lists of a bundle are not equally long");

/// The lists of switches.
#[derive(Clone, Copy, Default)]
pub(super) struct Switches<'a> {
    pub(super) at: u64,
    pub(super) times: WireReader<'a>,
    pub(super) states: WireReader<'a>,
    pub(super) pids: WireReader<'a>,
    pub(super) priorities: WireReader<'a>,
    pub(super) comms: WireReader<'a>,
}

impl Switches<'_> {
    /// Returns the time of the next one; `u64::MAX` at the end.
    #[inline]
    pub(super) fn time(&mut self) -> u64 {
        next_time(&mut self.times, &mut self.at)
    }

    /// Returns the times of the first and the last one; an error unless all lists are complete and equally long.
    pub(super) fn check(&self) -> Result<Option<(u64, u64)>, Malformed> {
        let others = [self.states, self.pids, self.priorities, self.comms];
        check(self.times, &others)
    }
}

/// The lists of wake-ups.
#[derive(Clone, Copy, Default)]
pub(super) struct Wakes<'a> {
    pub(super) at: u64,
    pub(super) times: WireReader<'a>,
    pub(super) pids: WireReader<'a>,
    pub(super) targets: WireReader<'a>,
    pub(super) comms: WireReader<'a>,
    pub(super) flags: WireReader<'a>,
}

impl Wakes<'_> {
    /// Returns the time of the next one; `u64::MAX` at the end.
    #[inline]
    pub(super) fn time(&mut self) -> u64 {
        next_time(&mut self.times, &mut self.at)
    }

    /// Returns the times of the first and the last one; an error unless all lists are complete and equally long.
    pub(super) fn check(&self, has_flags: bool) -> Result<Option<(u64, u64)>, Malformed> {
        let others = [self.pids, self.targets, self.comms, self.flags];
        check(self.times, &others[..if has_flags { 4 } else { 3 }])
    }
}

#[inline]
fn next_time(times: &mut WireReader<'_>, at: &mut u64) -> u64 {
    match times.varint() {
        Ok(step) => {
            *at = at.wrapping_add(step);
            *at
        }
        Err(_) => u64::MAX,
    }
}

/// Returns the times of the first and the last of a list; an error unless all lists are complete and equally long.
fn check(
    mut times: WireReader<'_>,
    others: &[WireReader<'_>],
) -> Result<Option<(u64, u64)>, Malformed> {
    let count = times.count_varints().ok_or(UNEQUAL)?;
    for other in others {
        if other.count_varints() != Some(count) {
            return Err(UNEQUAL);
        }
    }
    let Ok(first) = times.varint() else {
        return if count == 0 { Ok(None) } else { Err(UNEQUAL) };
    };
    let mut last = first;
    for _ in 1..count {
        let step = times.varint().map_err(|_| UNEQUAL)?;
        last = last
            .checked_add(step)
            .ok_or(Malformed::Bundle("a time is beyond the range of a clock"))?;
    }
    Ok(Some((first, last)))
}
