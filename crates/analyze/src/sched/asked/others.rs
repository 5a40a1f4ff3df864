//! What a thread that asks for times does for other things: it may ask before its loop only, or in turn with other
//! sleeps.

/// A thread that woke up so often for other things, and asked for one time before all of them, has a loop that
/// something else releases.
const OTHERS_MIN: u64 = 3;

/// A wake-up belongs to a release if it comes within this part of the period around it, or within a time.
const AROUND_PART: u64 = 20;
const AROUND_NS: u64 = 100_000;

/// How near to a release a wake-up belongs to it, ns.
fn around(period: u64) -> u64 {
    (period / AROUND_PART).max(AROUND_NS)
}

/// Where a thread made its first request, and how many it made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Requests {
    /// The first one was made in its start-up, of which the recording has everything.
    starts_up: bool,
    count: u64,
}

impl Requests {
    /// Of a thread that has not asked before, in its start-up or not.
    pub(super) const fn first(starts_up: bool) -> Self {
        Self { starts_up, count: 0 }
    }

    pub(super) const fn add(&mut self) {
        self.count += 1;
    }

    /// Whether it asked once before its loop: in its start-up, before any job of it, and since then it woke up so often
    /// for other things. Nothing of its loop is in what it asked for then, so its jobs follow from its wake-ups, as
    /// those of a thread that never asks.
    pub(super) const fn is_before_loop(self, woken: u64) -> bool {
        self.starts_up && self.count == 1 && woken >= OTHERS_MIN
    }
}

/// The wake-ups for other things within a job, as far as they may have released the next one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turns {
    /// Such a wake-up came at a later release.
    is_at_release: bool,
    /// How many jobs had one, and were followed by another release than the next one.
    pub(super) unclear: u64,
}

impl Turns {
    /// It wakes up for other things so long after the release of its job, ns.
    pub(super) fn wake(&mut self, after: u64, period: Option<u64>) {
        self.is_at_release |= period.is_some_and(|period| {
            let around = around(period);
            after.saturating_add(around) >= period
                && (after % period <= around || period - after % period <= around)
        });
    }

    /// It asks for a release so long after that of its job, ns. Returns whether it is not known to which job the
    /// wake-ups for other things belong: it asks for a later release than the next one, and woke up at that one. The
    /// sleep before may have been within a job that was late, or have ended a job that was in time.
    pub(super) fn ask(&mut self, after: u64, period: Option<u64>) -> bool {
        let is_later = period.is_some_and(|period| after > period.saturating_add(around(period)));
        let is_unclear = self.is_at_release && is_later;
        self.unclear += u64::from(is_unclear);
        is_unclear
    }

    /// Another job is released.
    pub(super) const fn released(&mut self) {
        self.is_at_release = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: u64 = 10_000_000;

    #[test]
    fn one_request_in_the_start_up_is_before_the_loop() {
        let asked = |starts_up, times| {
            let mut requests = Requests::first(starts_up);
            (0..times).for_each(|_| requests.add());
            requests
        };
        assert!(asked(true, 1).is_before_loop(3));
        // It may still be in its first job.
        assert!(!asked(true, 1).is_before_loop(2));
        // In a job, or more than once.
        assert!(!asked(false, 1).is_before_loop(100));
        assert!(!asked(true, 2).is_before_loop(100));
        assert!(!asked(true, 0).is_before_loop(100));
    }

    #[test]
    fn a_wake_up_at_a_release_that_was_not_asked_for_may_be_the_next_job() {
        // When it woke up for other things, and which release it then asked for, in hundredths of T.
        let is_unclear = |woken: &[u64], until: u64| {
            let mut turns = Turns::default();
            woken.iter().for_each(|after| turns.wake(after * T / 100, Some(T)));
            let is_unclear = turns.ask(until * T / 100, Some(T));
            assert_eq!(turns.unclear, u64::from(is_unclear));
            is_unclear
        };
        // Each second release is one of a relative sleep, or a time is asked for within each job.
        assert!(is_unclear(&[101], 200) && is_unclear(&[20, 100], 200) && is_unclear(&[98], 140));
        assert!(is_unclear(&[100, 200], 300) && is_unclear(&[202], 300));
        // It asks for the next release, whether that has passed or not: all before was in the job.
        assert!(!is_unclear(&[101], 100) && !is_unclear(&[20], 100));
        // It woke up at no release, so it was in the job.
        assert!(!is_unclear(&[130], 200) && !is_unclear(&[3, 50], 200) && !is_unclear(&[], 200));
        let mut unknown = Turns::default();
        unknown.wake(T, None);
        assert!(!unknown.ask(2 * T, None));
        let mut turns = Turns::default();
        turns.wake(T, Some(T));
        turns.released();
        assert!(!turns.ask(2 * T, Some(T)));
    }
}
