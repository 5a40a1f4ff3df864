//! The second method for a context switch: the processor time that a background task loses to it.
//!
//! A thread of the lowest real-time priority counts as fast as it can on a processor where two processes of a higher
//! priority hand over to each other by a pipe at a known rate, alternately a few times and many times in each period.
//! The count lost in a window with many is processor time spent on switching, including the parts that clock readings
//! in the switching processes cannot see. This validates the direct measurement (Muller, "Modeling and Analysis: Inputs
//! and Uncertainties", 3.2.10).

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::timer::sleep_until;
use hemiola_units::{Bytes, Granted, Instant, Policy, Priority, Span};
use serde::{Deserialize, Serialize};

use crate::catalogue::Probe;
use crate::context_switch::Mechanism;
use crate::context_switch::ends::{Description, Objects};
use crate::context_switch::processes::{self, LAST_BIT, Role, STEP};
use crate::peer::{Part, Peer, PeerProcess, gather, place};
use crate::stage::Stage;
use crate::{Overhead, ProbeError, Readings, Setting, Unit};

const NAME: &str = "idle.context_switch";

/// The period in which the processes switch a few times or many times.
const PERIOD: Span = Span::from_millis(1);
/// Round trips in a period of a window of few and of many: enough to lose a quarter or less of the processor at 2.5 µs,
/// and more than other disturbances of a window.
const TRIPS: [u32; 2] = [1, 51];
/// Periods in a window.
const PERIODS: u32 = 25;
/// The windows of one reading: few, many, many, few, which cancels a drift.
const PATTERN: [usize; 4] = [0, 1, 1, 0];
/// Uncounted first readings.
const WARM_UP: u32 = 1;
/// The rest between two readings, which the kernel demands of real-time threads.
const REST: Span = Span::from_millis(15);
/// The background task also counts this long before and after the windows.
const MARGIN: Span = Span::from_millis(1);
/// The time for the processes to start.
const START: Span = Span::from_millis(500);
/// Time allowed beyond the schedule.
const TIMEOUT_MARGIN: Span = Span::from_millis(20_000);
/// Counts between two clock readings.
const STRIDE: u32 = 500;
/// The interval at which the count is recorded.
const KEPT: Span = Span::from_micros(250);

/// The orders for the switching process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    ends: Description,
    schedule: Schedule,
}

/// The schedule of all processes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Schedule {
    epoch: Instant,
    readings: u32,
}

impl Schedule {
    /// The start of the first window of reading `number`.
    fn start(self, number: u32) -> Instant {
        self.epoch + (window() * PATTERN.len() as i64 + REST) * i64::from(number)
    }

    /// The end of its last window.
    fn end(self, number: u32) -> Instant {
        self.start(number) + window() * PATTERN.len() as i64
    }
}

/// The length of a window.
fn window() -> Span {
    PERIOD * i64::from(PERIODS)
}

/// The background task's count at a time.
type Sample = (Instant, u64);

pub(crate) fn probes() -> Vec<Probe> {
    let title = "processor time a background task loses to a context switch";
    vec![Probe::time(NAME, title, false, |_, setting, count| context_switch(setting, count))]
}

/// Takes `count` readings of the processor time lost in a hand-over by pipe between two processes on one processor;
/// each takes 100 ms. The timer at the start of each period costs the same with few and with many, some 0.3 % in total,
/// which is the possible error of the figure.
///
/// # Errors
/// `Lacking` when the processes are refused a real-time priority, without which the background task would not yield.
/// `Peer` also when they do not start within half a second. `System` as it occurs.
fn context_switch(setting: &Setting, count: u32) -> Result<Readings, ProbeError> {
    let objects = Objects::create(Mechanism::Pipe).map_err(ProbeError::doing("make a pipe"))?;
    let place = place(setting.cpu, setting.scheduling, false);
    let far = processes::Orders {
        mechanism: Mechanism::Pipe,
        ends: objects.description(Role::Far),
        role: Role::Far,
        walked: Bytes(0),
        passes: 0,
        count: 0,
        // More than one, so that it answers without reading the clock.
        batch: 2,
    };
    let mut far = Peer::start(setting, place.clone(), Part::ContextSwitch(far))?;
    let epoch = MonotonicClock.now() + START;
    let schedule = Schedule { epoch, readings: count.saturating_add(WARM_UP) };
    let near = Orders { ends: objects.description(Role::Near), schedule };
    let mut near = Peer::start(setting, place, Part::Idle(near))?;
    far.begin()?;
    near.begin()?;
    if MonotonicClock.now() > epoch {
        return Err(ProbeError::Peer("started too late for the schedule".into()));
    }

    let over = AtomicBool::new(false);
    let (granted, (background, samples)) = thread::scope(|scope| {
        let counting = scope.spawn(|| counted(setting, schedule, &over));
        let until = schedule.start(schedule.readings) + TIMEOUT_MARGIN;
        let granted = gather::<Granted>(&mut [&mut near], &[], until);
        over.store(granted.is_err(), Ordering::Relaxed);
        let samples = counting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, ProbeError>((granted?.remove(0), samples?))
    })?;

    if matches!(granted.scheduling, Policy::Other { .. }) {
        let refusal = granted.refusals.first().map(|refusal| format!(": {refusal}"));
        let what = format!("a real-time priority{}", refusal.unwrap_or_default());
        return Err(ProbeError::lacking(NAME, what));
    }
    let values = (WARM_UP..schedule.readings)
        .map(|number| lost(&samples, schedule.start(number)))
        .collect::<Option<Vec<f64>>>()
        .ok_or_else(|| {
            ProbeError::Peer("switched while the background task did not count".into())
        })?;
    let (length, background) = (window(), background.scheduling);
    let method =
        format!("count of a {background} task, few and many switches in windows of {length}");
    let circumstances = [("placement", "same core"), ("by", "pipe"), ("method", method.as_str())];
    let batch = hand_overs(1) - hand_overs(0);
    let taken = (values, Overhead::default());
    let place = (setting, granted);
    Ok(Readings::new(NAME, Unit::Nanoseconds, taken, batch, place, &circumstances))
}

/// The background task: returns its counts, reading by reading, until `over`.
fn counted(
    setting: &Setting,
    schedule: Schedule,
    over: &AtomicBool,
) -> Result<(Granted, Vec<Sample>), ProbeError> {
    let lowest = Priority::try_from(1).expect("1 is a valid priority");
    let scheduling = match setting.scheduling {
        Policy::Other { .. } => Policy::Other { nice: 0 },
        // Other ordinary tasks would take an unknown share of the processor from an ordinary one.
        _ => Policy::Fifo { priority: lowest },
    };
    Stage::run(&Setting { scheduling, ..setting.clone() }, setting.cpu, |stage| {
        let mut samples = Vec::new();
        let mut count = 0u64;
        for number in 0..schedule.readings {
            sleep_until(schedule.start(number) + -MARGIN);
            let end = schedule.end(number) + MARGIN;
            let mut next = stage.clock.anchor();
            while next < end && !over.load(Ordering::Relaxed) {
                for _ in 0..STRIDE {
                    count = black_box(count) + 1;
                }
                if stage.clock.now() >= next {
                    let now = stage.clock.anchor();
                    samples.push((now, count));
                    next = now + KEPT;
                }
            }
        }
        Ok((stage.granted.clone(), samples))
    })
}

/// The switching process: hands over a few times or many times in each period, by windows.
pub(crate) fn run_peer(mut process: PeerProcess, orders: Orders) -> Result<(), ProbeError> {
    let failed = || ProbeError::doing("hand over to the other process");
    let mut ends = orders.ends.open(Mechanism::Pipe, Role::Near).map_err(failed())?;
    let granted = process.apply_profile();
    process.ready()?;
    let mut token = 0u32;
    let mut trip = |bits: u32| -> io::Result<()> {
        token = (token & !(STEP - 1)).wrapping_add(STEP) | bits;
        ends.hand_over(token)?;
        ends.wait().map(drop)
    };
    for number in 0..orders.schedule.readings {
        let mut due = orders.schedule.start(number);
        for kind in PATTERN {
            for _ in 0..PERIODS {
                sleep_until(due);
                due += PERIOD;
                for _ in 0..TRIPS[kind] {
                    trip(0).map_err(failed())?;
                }
            }
        }
    }
    sleep_until(orders.schedule.end(orders.schedule.readings - 1) + MARGIN);
    trip(LAST_BIT).map_err(failed())?;
    process.report(&granted)
}

/// Hand-overs in the windows of one kind in one reading.
fn hand_overs(kind: usize) -> u64 {
    let windows = PATTERN.iter().filter(|each| **each == kind).count() as u64;
    windows * u64::from(PERIODS) * u64::from(TRIPS[kind]) * 2
}

/// Nanoseconds lost in a hand-over, from the windows starting at `start`.
///
/// With s counts per undisturbed nanosecond, n hand-overs of length x in the time T give the count s (T − n x). The
/// ratio r of two such counts does not contain s: x = T (1 − r) / (n_many − r n_few).
fn lost(samples: &[Sample], start: Instant) -> Option<f64> {
    let mut counts = [0.0, 0.0];
    let mut begin = start;
    for kind in PATTERN {
        let end = begin + window();
        counts[kind] += at(samples, end)? - at(samples, begin)?;
        begin = end;
    }
    let time = window().nanos() as f64 * PATTERN.len() as f64 / 2.0;
    let ratio = counts[1] / counts[0];
    let (few, many) = (hand_overs(0) as f64, hand_overs(1) as f64);
    Some(time * (1.0 - ratio) / (many - ratio * few))
}

/// The count at `instant`, interpolated between the samples around it.
fn at(samples: &[Sample], instant: Instant) -> Option<f64> {
    let after = samples.partition_point(|(when, _)| *when <= instant);
    let ((before, low), (after, high)) = (samples.get(after.checked_sub(1)?)?, samples.get(after)?);
    let share = (instant - *before).nanos() as f64 / (*after - *before).nanos() as f64;
    Some(*low as f64 + share * (high - low) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter with one count per nanosecond, disturbed for `cost` ns in each hand-over.
    fn samples(cost: u64) -> Vec<Sample> {
        let mut count = 0;
        let mut samples = vec![(Instant::ZERO, 0)];
        for period in 0..PERIODS * 4 {
            let kind = PATTERN[(period / PERIODS) as usize];
            count += 1_000_000 - 2 * u64::from(TRIPS[kind]) * cost;
            samples.push((Instant::ZERO + PERIOD * i64::from(period + 1), count));
        }
        samples.push((Instant::ZERO + PERIOD * i64::from(PERIODS * 4 + 1), count));
        samples
    }

    #[test]
    fn the_lost_count_gives_the_cost_of_a_switch() {
        for cost in [0, 100, 2500] {
            let found = lost(&samples(cost), Instant::ZERO).unwrap();
            assert!((found - cost as f64).abs() < 1e-6, "{cost}: {found}");
        }
    }

    #[test]
    fn windows_without_samples_have_no_result() {
        assert_eq!(lost(&samples(100), Instant::ZERO + PERIOD * 2), None);
        assert_eq!(at(&[], Instant::ZERO), None);
        assert_eq!(at(&samples(0), Instant::from_nanos(1_500_000)), Some(1_500_000.0));
    }
}
