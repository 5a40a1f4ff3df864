//! The bare timer: a process that only sleeps, on each processor that it may use, with a higher priority than all
//! others.

use std::sync::atomic::{AtomicI64, Ordering};

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::{sched, timer};
use hemiola_units::{CpuSet, Span};

use super::process::{Orders, PATIENCE, Process, next_order, report};

/// Far shorter than the limit of the pair's latency. A pause of the machine is found but for one period of it: at the
/// pair's own period, a pause of 5 ms could pass between two releases.
const PERIOD: Span = Span::from_millis(1);

static WORST: AtomicI64 = AtomicI64::new(0);

/// The role: upon an order, reports the worst lateness in nanoseconds since the previous order. A timer runs on each
/// processor, because the pair and the RTI use all of them.
pub(crate) fn bare_timer(_: &Orders) {
    for processor in sched::affinity(None).expect("it concerns this thread").iter() {
        std::thread::spawn(move || tick(processor));
    }
    while next_order().is_some() {
        report(WORST.swap(0, Ordering::Relaxed));
    }
}

fn tick(processor: u16) {
    let processor = CpuSet::one(processor).expect("it is one of a set");
    sched::set_affinity(None, &processor).expect("this process may use it");
    let mut release = MonotonicClock.now();
    loop {
        release += PERIOD;
        timer::sleep_until(release);
        let late = (MonotonicClock.now() - release).nanos();
        WORST.fetch_max(late, Ordering::Relaxed);
        if late > PERIOD.nanos() {
            release = MonotonicClock.now();
        }
    }
}

/// The running timer.
pub(crate) struct BareTimer(Process);

impl BareTimer {
    pub(crate) fn start(orders: &[String]) -> Self {
        Self(Process::start("timer", orders))
    }

    /// Returns its worst lateness since the previous call.
    ///
    /// # Errors
    /// It does not run any more.
    pub(crate) fn worst(&mut self) -> Result<Span, String> {
        self.0.tell("worst");
        let worst = self.0.line(PATIENCE)?;
        let worst = worst.parse().map_err(|_| format!("the timer says {worst}"))?;
        Ok(Span::from_nanos(worst))
    }
}
