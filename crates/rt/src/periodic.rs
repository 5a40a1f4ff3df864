//! Absolute periodic releases, with a stated policy for late tasks.

use hemiola_units::{Instant, Overrun, Rate, Span};
use thiserror::Error;

use crate::clock::FastClock;
use crate::sys::timer;

/// One release of a periodic task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Counted from 0 at the epoch, including dropped ones: `at` is always `epoch + number · period`.
    pub number: u64,
    /// The nominal instant.
    pub at: Instant,
    /// The instant at which the job could begin.
    pub start: Instant,
    /// Releases dropped between the previous job and this one.
    pub skipped: u64,
}

/// A late task under [`Overrun::Stop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("release {number} was missed by {by}, and the task stops when late")]
pub struct Stopped {
    /// The release that was missed.
    pub number: u64,
    /// Its nominal instant.
    pub at: Instant,
    /// How late the task was when it checked.
    pub by: Span,
}

/// Decides which release comes next. It has no clock: callers pass the time.
///
/// A job is *late for a release* when it asks for the release after its instant. Under [`Overrun::Skip`] such
/// releases are dropped, and the task sleeps until the first one in the future. A task that the kernel *wakes
/// late*, by a period or more, was not at fault: its newest release is served at once, and those before it are
/// dropped. [`Overrun::CatchUp`] drops nothing in either case; [`Overrun::Stop`] ends the task in both.
#[derive(Clone, Debug)]
pub struct Schedule {
    epoch: Instant,
    rate: Rate,
    overrun: Overrun,
    next: u64,
    skipped: u64,
    skipped_total: u64,
}

impl Schedule {
    /// Releases at `epoch`, `epoch + period`, and so on.
    #[must_use]
    pub fn new(epoch: Instant, rate: Rate, overrun: Overrun) -> Self {
        Self { epoch, rate, overrun, next: 0, skipped: 0, skipped_total: 0 }
    }

    /// Returns the nominal instant of the next release, as planned so far.
    #[must_use]
    pub fn next_release(&self) -> Instant {
        self.rate.release(self.epoch, self.next)
    }

    /// Returns how many releases were dropped since the epoch.
    #[must_use]
    pub fn skipped_total(&self) -> u64 {
        self.skipped_total
    }

    /// Called when the previous job has ended, at `now`. Returns the time to sleep until; a time in the past
    /// means no sleep.
    ///
    /// # Errors
    /// [`Stopped`] under [`Overrun::Stop`] when the release has passed.
    pub fn plan(&mut self, now: Instant) -> Result<Instant, Stopped> {
        let by = now - self.next_release();
        if by.is_positive() {
            match self.overrun {
                Overrun::Skip => {
                    let period = self.rate.period().nanos();
                    self.skip((by.nanos() / period + i64::from(by.nanos() % period != 0)) as u64);
                }
                Overrun::CatchUp => {}
                Overrun::Stop => return Err(self.stopped(by)),
            }
        }
        Ok(self.next_release())
    }

    /// Called when the sleep has ended, at `start`. Returns the release that is served.
    ///
    /// # Errors
    /// [`Stopped`] under [`Overrun::Stop`] when the sleep ended a period or more too late.
    pub fn begin(&mut self, start: Instant) -> Result<Release, Stopped> {
        let by = start - self.next_release();
        let periods = by.nanos() / self.rate.period().nanos();
        if periods > 0 {
            match self.overrun {
                Overrun::Skip => self.skip(periods as u64),
                Overrun::CatchUp => {}
                Overrun::Stop => return Err(self.stopped(by)),
            }
        }
        let skipped = std::mem::take(&mut self.skipped);
        let release = Release { number: self.next, at: self.next_release(), start, skipped };
        self.next += 1;
        Ok(release)
    }

    fn skip(&mut self, releases: u64) {
        self.next += releases;
        self.skipped += releases;
        self.skipped_total += releases;
    }

    fn stopped(&self, by: Span) -> Stopped {
        Stopped { number: self.next, at: self.next_release(), by }
    }
}

/// A [`Schedule`] that reads a real clock and really sleeps.
#[derive(Clone, Debug)]
pub struct Periodic {
    schedule: Schedule,
    lead: Span,
    /// The release that [`approach`](Self::approach) slept for: waking late for it differs from asking for it late.
    approached: Option<Instant>,
}

impl Periodic {
    /// Releases at `epoch`, `epoch + period`, and so on. Choose an epoch in the future.
    #[must_use]
    pub fn new(epoch: Instant, rate: Rate, overrun: Overrun) -> Self {
        Self { schedule: Schedule::new(epoch, rate, overrun), lead: Span::ZERO, approached: None }
    }

    /// Wakes `lead` before each release: [`approach`](Self::approach) sleeps until then, and
    /// [`wait`](Self::wait) keeps the processor busy for the rest. This costs `lead` of processor time per
    /// period. In return the release is met to a fraction of a microsecond, and the job can bring its data into
    /// the caches beforehand.
    #[must_use]
    pub fn with_lead(self, lead: Span) -> Self {
        Self { lead, ..self }
    }

    /// Sleeps until `lead` before the next release; without a lead, returns at once.
    ///
    /// # Errors
    /// [`Stopped`] under [`Overrun::Stop`].
    pub fn approach(&mut self, clock: &mut FastClock) -> Result<(), Stopped> {
        if self.lead.is_positive() {
            let now = clock.anchor();
            let until = self.schedule.plan(now)?;
            self.approached = Some(until);
            let wake = until - self.lead;
            if wake > now {
                timer::sleep_until(wake);
                clock.anchor();
            }
        }
        Ok(())
    }

    /// Sleeps until the next release and anchors `clock` there. The call ends the previous job.
    ///
    /// # Errors
    /// [`Stopped`] under [`Overrun::Stop`].
    pub fn wait(&mut self, clock: &mut FastClock) -> Result<Release, Stopped> {
        let now = clock.anchor();
        let until = match self.approached.take() {
            Some(until) => until,
            None => self.schedule.plan(now)?,
        };
        if until <= now {
            return self.schedule.begin(now);
        }
        if self.lead.is_positive() && until - now <= self.lead {
            clock.spin_for(until - now);
        } else {
            timer::sleep_until(until);
        }
        self.schedule.begin(clock.anchor())
    }

    /// Returns the nominal instant of the next release, as planned so far: the deadline of a job whose deadline
    /// is its period.
    #[must_use]
    pub fn next_release(&self) -> Instant {
        self.schedule.next_release()
    }

    /// Returns how many releases were dropped since the epoch.
    #[must_use]
    pub fn skipped_total(&self) -> u64 {
        self.schedule.skipped_total()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_release_that_was_approached_is_served_even_after_a_late_wake() {
        let mut clock = FastClock::calibrate();
        let rate = Rate::from_period(Span::from_millis(50)).unwrap();
        let epoch = clock.anchor() + Span::from_millis(5);
        let mut periodic =
            Periodic::new(epoch, rate, Overrun::Skip).with_lead(Span::from_millis(1));
        periodic.approach(&mut clock).unwrap();
        // A delay that lasts beyond the release.
        clock.spin_for(Span::from_millis(4));
        let release = periodic.wait(&mut clock).unwrap();
        assert_eq!((release.number, release.skipped), (0, 0));
        assert!(release.start > release.at);
    }

    #[test]
    fn with_a_lead_every_release_is_served_and_none_early() {
        let mut clock = FastClock::calibrate();
        let rate = Rate::from_period(Span::from_millis(2)).unwrap();
        let epoch = clock.anchor() + Span::from_millis(5);
        let mut periodic =
            Periodic::new(epoch, rate, Overrun::CatchUp).with_lead(Span::from_micros(300));
        for number in 0..10 {
            periodic.approach(&mut clock).unwrap();
            let release = periodic.wait(&mut clock).unwrap();
            assert_eq!((release.number, release.at), (number, rate.release(epoch, number)));
            assert!(release.start >= release.at);
        }
    }

    use crate::clock::{Clock, ManualClock, MonotonicClock};

    const MS: i64 = 1_000_000;

    fn at(ms: f64) -> Instant {
        Instant::from_nanos((ms * 1e6) as u64)
    }

    /// Runs a 10 ms task from 100 ms on; job `i` takes `jobs[i]` ms and wakes `late[i]` ms late. Returns number
    /// and skipped count of each release.
    fn run(overrun: Overrun, late: &[f64], jobs: &[f64]) -> Vec<Result<(u64, u64), Span>> {
        let mut schedule = Schedule::new(at(100.0), "10ms".parse().unwrap(), overrun);
        let clock = ManualClock::new(at(95.0));
        let mut releases = vec![];
        for (late, job) in late.iter().zip(jobs) {
            let until = match schedule.plan(clock.now()) {
                Ok(until) => until,
                Err(stopped) => {
                    releases.push(Err(stopped.by));
                    break;
                }
            };
            clock.set(clock.now().max(until) + Span::from_secs_f64(late * 1e-3));
            match schedule.begin(clock.now()) {
                Ok(release) => {
                    assert_eq!(release.at, at(100.0 + 10.0 * release.number as f64));
                    assert!(release.start >= release.at);
                    releases.push(Ok((release.number, release.skipped)));
                }
                Err(stopped) => {
                    releases.push(Err(stopped.by));
                    break;
                }
            }
            clock.advance(Span::from_secs_f64(job * 1e-3));
        }
        releases
    }

    #[test]
    fn a_punctual_task_gets_every_release() {
        for overrun in [Overrun::Skip, Overrun::CatchUp, Overrun::Stop] {
            // The third job ends exactly at the next release, so it is not late.
            let releases = run(overrun, &[0.0, 1.0, 0.0, 0.0], &[9.0, 1.0, 10.0, 1.0]);
            assert_eq!(releases, [Ok((0, 0)), Ok((1, 0)), Ok((2, 0)), Ok((3, 0))]);
        }
    }

    #[test]
    fn skip_drops_the_releases_that_a_long_job_overran_and_keeps_the_grid() {
        let releases = run(Overrun::Skip, &[0.0; 4], &[10.1, 35.0, 1.0, 1.0]);
        assert_eq!(releases, [Ok((0, 0)), Ok((2, 1)), Ok((6, 3)), Ok((7, 0))]);
    }

    #[test]
    fn skip_serves_the_newest_release_after_a_late_wake() {
        let releases = run(Overrun::Skip, &[0.0, 25.0, 0.0], &[1.0, 1.0, 1.0]);
        assert_eq!(releases, [Ok((0, 0)), Ok((3, 2)), Ok((4, 0))]);
    }

    #[test]
    fn catch_up_runs_every_release_until_it_is_back_on_the_grid() {
        let releases =
            run(Overrun::CatchUp, &[0.0, 0.0, 0.0, 0.0, 30.0], &[35.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(releases, [Ok((0, 0)), Ok((1, 0)), Ok((2, 0)), Ok((3, 0)), Ok((4, 0))]);
    }

    #[test]
    fn stop_ends_at_the_missed_release() {
        let late_job = run(Overrun::Stop, &[0.0; 3], &[1.0, 12.0, 1.0]);
        assert_eq!(late_job, [Ok((0, 0)), Ok((1, 0)), Err(Span::from_millis(2))]);
        let late_wake = run(Overrun::Stop, &[0.0, 11.0], &[1.0, 1.0]);
        assert_eq!(late_wake, [Ok((0, 0)), Err(Span::from_millis(11))]);
    }

    proptest! {
        #[test]
        fn every_release_is_served_or_counted(
            late in proptest::collection::vec(0i64..40 * MS, 1..40),
            jobs in proptest::collection::vec(0i64..40 * MS, 1..40),
        ) {
            let mut schedule = Schedule::new(at(1.0), "10ms".parse().unwrap(), Overrun::Skip);
            let mut now = Instant::ZERO;
            let mut expected = 0;
            for (late, job) in late.iter().zip(&jobs) {
                let until = schedule.plan(now).unwrap();
                prop_assert!(until >= now);
                now = until + Span::from_nanos(*late);
                let release = schedule.begin(now).unwrap();
                prop_assert_eq!(release.number, expected + release.skipped);
                prop_assert!((now - release.at).nanos() < 10 * MS);
                expected = release.number + 1;
                now += Span::from_nanos(*job);
            }
            prop_assert_eq!(schedule.skipped_total() + late.len().min(jobs.len()) as u64, expected);
        }
    }

    #[test]
    fn a_real_task_never_starts_before_its_release() {
        let mut clock = FastClock::calibrate();
        let epoch = MonotonicClock.now() + Span::from_millis(2);
        let mut periodic = Periodic::new(epoch, "1kHz".parse().unwrap(), Overrun::Skip);
        let mut served = 0;
        for _ in 0..20 {
            let release = periodic.wait(&mut clock).unwrap();
            assert!(release.start >= release.at);
            assert_eq!(periodic.next_release(), release.at + Span::from_millis(1));
            served = release.number + 1;
        }
        assert_eq!(served, 20 + periodic.skipped_total());
    }
}
