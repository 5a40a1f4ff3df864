//! The clocks of a trace, and how they relate to the clock of the recording.
//!
//! A clock snapshot contains readings of several clocks at one moment (`clock_snapshot.proto`). The recording's clock
//! is `CLOCK_MONOTONIC` if any snapshot contains it, then `CLOCK_BOOTTIME`, then the clock of the trace. A clock that
//! shares no snapshot with it is converted by way of one that does.

use std::collections::BTreeMap;

use super::packet::ClockSnapshot;
use super::{CLOCK_BOOTTIME, CLOCK_MONOTONIC};

/// The clock of the file itself in recent traces (`builtin_clock.proto`).
const CLOCK_TRACE_FILE: u32 = 11;

/// The clocks with these numbers belong to one sequence of packets.
const OF_SEQUENCE: std::ops::Range<u32> = 64..128;

/// The least disagreement of two readings of the boot clock that counts as a suspension, rather than the time between
/// the readings.
const SUSPENDED_NS: u64 = 1_000_000;

/// A clock of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClockKey {
    /// Its number.
    pub(super) id: u32,
    /// The sequence it belongs to; 0 for a clock that all have.
    pub(super) sequence: u32,
}

impl ClockKey {
    const BOOTTIME: Self = Self { id: CLOCK_BOOTTIME, sequence: 0 };
    const MONOTONIC: Self = Self { id: CLOCK_MONOTONIC, sequence: 0 };
    /// That of time stamps without a clock.
    const OF_TRACE: Self = Self { id: 0, sequence: 0 };

    /// The clock in words.
    pub(super) fn words(self) -> String {
        match self {
            Self::OF_TRACE => "that of the trace".into(),
            Self { id, sequence: 0 } => format!("number {id}"),
            Self { id, sequence } => format!("number {id} of sequence {sequence}"),
        }
    }

    fn new(id: u32, sequence: u32) -> Self {
        match id {
            CLOCK_TRACE_FILE => Self::OF_TRACE,
            _ => Self { id, sequence: if OF_SEQUENCE.contains(&id) { sequence } else { 0 } },
        }
    }
}

/// The conversion of a clock to that of the recording.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// By time: the start of each interval, and the number to add in it (wrapping).
    pub(super) steps: Vec<(u64, u64)>,
}

impl Clock {
    #[inline]
    pub(super) fn convert(&self, at: u64) -> u64 {
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

/// The readings of all clocks.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Readings of the same moment, ns.
    snapshots: Vec<Vec<(ClockKey, u64)>>,
    counted: BTreeMap<ClockKey, Counted>,
    /// The clock of the trace, if it is stated.
    primary: Option<u32>,
}

/// How the time stamps of a clock count.
#[derive(Clone, Copy, Debug)]
struct Counted {
    /// What one more means, ns.
    unit_ns: u64,
    /// For time stamps that are differences: the sum of all until now.
    sum: Option<u64>,
}

impl Clocks {
    pub(super) fn snapshot(&mut self, snapshot: &ClockSnapshot, sequence: u32) {
        let mut readings = Vec::with_capacity(snapshot.clocks.len());
        for clock in &snapshot.clocks {
            let (Some(id), Some(ticks)) = (clock.clock_id, clock.timestamp) else { continue };
            let unit_ns = clock.unit_multiplier_ns.filter(|unit| *unit > 0).unwrap_or(1);
            let sum = (clock.is_incremental == Some(true)).then_some(ticks);
            let key = ClockKey::new(id, sequence);
            self.counted.insert(key, Counted { unit_ns, sum });
            readings.push((key, ticks.wrapping_mul(unit_ns)));
        }
        self.primary = self.primary.or(snapshot.primary_trace_clock);
        self.snapshots.push(readings);
    }

    /// The clock and the reading that a time stamp means, ns.
    pub(super) fn reading(&mut self, id: u32, sequence: u32, ticks: u64) -> (ClockKey, u64) {
        let key = ClockKey::new(id, sequence);
        let Some(Counted { unit_ns, sum }) = self.counted.get_mut(&key) else {
            return (key, ticks);
        };
        let ticks = match sum {
            Some(sum) => {
                *sum = sum.wrapping_add(ticks);
                *sum
            }
            None => ticks,
        };
        (key, ticks.wrapping_mul(*unit_ns))
    }

    /// The conversions of all clocks that can be converted. `has_kernel`: the trace has events of the kernel, which are
    /// on the boot clock.
    pub(super) fn relations(&self, has_kernel: bool) -> Relations {
        let of_trace = match self.primary {
            None | Some(0 | CLOCK_TRACE_FILE) => ClockKey::BOOTTIME,
            Some(id) => ClockKey { id, sequence: 0 },
        };
        let is_read = |key: ClockKey| self.counted.contains_key(&key);
        let own = match () {
            () if is_read(ClockKey::MONOTONIC) => ClockKey::MONOTONIC,
            () if has_kernel || is_read(ClockKey::BOOTTIME) => ClockKey::BOOTTIME,
            () => of_trace,
        };
        let mut known = BTreeMap::from([(own, Clock::default())]);
        loop {
            let found = self.next_to(own, &known);
            if found.is_empty() {
                return Relations { known, of_trace };
            }
            known.extend(found);
        }
    }

    /// The conversions of clocks by way of those that are known.
    fn next_to(
        &self,
        own: ClockKey,
        known: &BTreeMap<ClockKey, Clock>,
    ) -> BTreeMap<ClockKey, Clock> {
        let mut found = BTreeMap::<ClockKey, Clock>::new();
        for snapshot in &self.snapshots {
            let direct = snapshot.iter().find(|(key, _)| *key == own);
            let known_one = || snapshot.iter().find(|(key, _)| known.contains_key(key));
            let Some(&(via, reading)) = direct.or_else(known_one) else { continue };
            let now = known[&via].convert(reading);
            for &(key, reading) in snapshot.iter().filter(|(key, _)| !known.contains_key(key)) {
                let add = now.wrapping_sub(reading);
                let steps = &mut found.entry(key).or_default().steps;
                let least = if key == ClockKey::BOOTTIME { SUSPENDED_NS } else { 0 };
                let differs = |(_, before): &(u64, u64)| {
                    add.wrapping_sub(*before).cast_signed().unsigned_abs() > least
                };
                if steps.last().is_none_or(differs) {
                    steps.push((reading, add));
                }
            }
        }
        found.values_mut().for_each(|clock| clock.steps.sort_unstable());
        found
    }
}

/// The conversions of the clocks of a trace to that of the recording.
pub(super) struct Relations {
    known: BTreeMap<ClockKey, Clock>,
    of_trace: ClockKey,
}

impl Relations {
    /// The conversion of a clock, if there is one.
    pub(super) fn of(&self, key: ClockKey) -> Option<&Clock> {
        let stated = self.known.get(&key);
        stated.or_else(|| self.known.get(&self.of_trace).filter(|_| key == ClockKey::OF_TRACE))
    }

    /// The conversion of the boot clock, on which the kernel's events are; without steps if the trace does not relate
    /// it to the monotonic clock.
    pub(super) fn into_boot_clock(mut self) -> Clock {
        self.known.remove(&ClockKey::BOOTTIME).unwrap_or_default()
    }
}
