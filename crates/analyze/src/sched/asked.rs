//! The releases of a thread that says until when it sleeps: clock_nanosleep(2) with `TIMER_ABSTIME`.
//!
//! The time that it asks for is the release of its next job, whether the job before was done by then or not. If that
//! time has passed, the thread goes on without sleeping, or sleeps for an instant, and the next job begins at once.
//! Any other sleep is part of the job, unless the thread does not ask again in time: then the job had ended at the
//! first of these sleeps, and the thread has done something else since.

use super::DELAYS_MAX;
use super::culprits::Culprits;
use super::threads::{Invocation, JOBS_MAX, Late};

/// The figures of a thread may be free of guesses if it asked for so many releases at least.
const ASKED_MIN: u64 = 4;

/// They are if it asked for all but this part of its releases, or all but so few.
const UNASKED_PART: u64 = 50;
const UNASKED_FEW: u64 = 2;

/// Times that are closer than its period by more than this part of it may be within jobs.
const CLOSER_PART: u64 = 20;

/// A job may have slept beyond so many releases and still be the one that ends when its thread asks again.
const RELEASES_MAX: u64 = 8;

/// The processor time until the kernel lets a thread sleep for an instant, although the time it asked for has passed.
const AT_ONCE_NS: u64 = 20_000;

/// What a thread has asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Its last request, if neither a wake-up nor its time has come since.
    pending: Option<Pending>,
    /// The time for which it had asked that released the job under way.
    due: Option<u64>,
    /// The last release that it had asked for.
    last: Option<u64>,
    /// The shortest distance between two that it had asked for, ns.
    distance: Option<u64>,
    /// The jobs of the open invocation that are over.
    pub(super) over: Vec<Over>,
    /// Whether the sleep under way began with the request of a time that had passed.
    is_instant: bool,
    /// The thread's processor time at the end of the invocation, if it has run since.
    pub(super) ended_at: Option<u64>,
    /// The first sleep of the job for anything else.
    pub(super) doubt: Option<Box<Doubt>>,
    /// How many releases it had asked for.
    pub(super) releases: u64,
    /// How many it had not, since it first asked, and how many times it asked for within its jobs.
    otherwise: u64,
    /// How often it asked for an earlier time than that of the release before: that one was a sleep within a job.
    pub(super) disordered: u64,
    /// The greatest delay of a wake-up after the time asked for, ns.
    pub(super) late_max: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    until: u64,
    /// When it asked, and its processor time then.
    at: u64,
    running: u64,
}

/// The end of a job that another one follows without a sleep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Over {
    pub(super) finish: u64,
    /// The thread's processor time then.
    pub(super) running: u64,
    /// The release of the next job.
    pub(super) next: u64,
}

/// A moment at which the job may have ended.
#[derive(Clone, Debug)]
pub(super) struct Doubt {
    pub(super) finish: u64,
    /// The thread's processor time then.
    pub(super) running: u64,
    /// The delays of the job until then.
    pub(super) delays: Culprits<DELAYS_MAX>,
}

/// What a wake-up means to a thread that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// It had not asked to be woken then: the usual rules decide.
    Anything,
    /// The time has come for which it had asked.
    Due(u64),
    /// That time has not come yet: its job is over, and a signal woke it, maybe in order to end it.
    Early,
    /// The next job had begun before it slept for an instant.
    Instant,
    /// It waited within its job.
    Within,
    /// It waited within its job, if it asks for the release of the next one in time.
    Doubtful,
}

impl Asked {
    /// It asks to sleep until a time.
    pub(super) fn ask(&mut self, at: u64, running: u64, until: u64) {
        self.disordered += u64::from(self.due.is_some_and(|due| until < due));
        self.pending = Some(Pending { until, at, running });
    }

    /// Returns the release of the job that has begun because the time for which it asked has come while it ran, if
    /// there is one. A time in the first half of the period after a release belongs to the job that was released then.
    pub(super) fn settle(&mut self, now: u64, running: u64, period: Option<u64>) -> Option<u64> {
        self.is_instant = false;
        let Pending { until, at, running: before } =
            self.pending.take_if(|pending| pending.until <= now)?;
        self.is_instant = running.saturating_sub(before) < AT_ONCE_NS;
        if !self.is_release(until, period) {
            self.otherwise += 1;
            return None;
        }
        // If the time came after it had asked, it ran until then.
        let (finish, running) = (at.max(until), before + until.saturating_sub(at));
        self.over.push(Over { finish, running, next: until });
        self.is_released(until);
        Some(until)
    }

    /// A job that it had asked for is released, whether it sleeps or not.
    pub(super) fn is_released(&mut self, due: u64) {
        let distance = self.last.map(|last| due.saturating_sub(last)).filter(|ns| *ns > 0);
        self.distance = self.distance.into_iter().chain(distance).min();
        (self.due, self.last) = (Some(due), Some(due));
        self.releases += 1;
    }

    /// The release of the job under way, if it was asked for.
    pub(super) const fn due(&self) -> Option<u64> {
        self.due
    }

    /// The job under way was released by anything else.
    pub(super) fn is_released_otherwise(&mut self) {
        self.due = None;
        self.otherwise += 1;
    }

    /// Whether a time asked for is the release of a job, and not within the one that was released before.
    fn is_release(&self, until: u64, period: Option<u64>) -> bool {
        let half = period.map_or(0, |period| period / 2);
        self.due.is_none_or(|due| until >= due.saturating_add(half.max(1)))
    }

    /// What a wake-up means, and forgets what was asked for.
    pub(super) fn wake(&mut self, at: u64, period: Option<u64>) -> Means {
        let is_instant = std::mem::take(&mut self.is_instant);
        match self.pending.take() {
            Some(Pending { until, .. }) if at < until => Means::Early,
            Some(Pending { until, .. }) if self.is_release(until, period) => Means::Due(until),
            Some(_) => {
                self.otherwise += 1;
                Means::Within
            }
            None if is_instant => Means::Instant,
            None if self.due.is_some() => Means::Doubtful,
            None => Means::Anything,
        }
    }

    /// The job that it had asked for is released.
    pub(super) fn release(&mut self, due: u64, at: u64) {
        self.is_released(due);
        self.late_max = self.late_max.max(at.saturating_sub(due));
    }

    /// Whether its jobs are known without a guess.
    pub(super) fn is_certain(&self, period: Option<u64>) -> bool {
        let most = (self.releases / UNASKED_PART).max(UNASKED_FEW);
        let is_apart = |period: u64| {
            self.distance.is_none_or(|distance| distance >= period - period / CLOSER_PART)
        };
        self.releases >= ASKED_MIN
            && self.otherwise <= most
            && self.disordered == 0
            && period.is_none_or(is_apart)
    }

    /// Whether the job that was in doubt went on until now, when the thread asks for a time again.
    pub(super) fn is_confirmed(&self, until: u64) -> bool {
        let most = self.distance.map_or(u64::MAX, |distance| distance.saturating_mul(RELEASES_MAX));
        self.due.is_some_and(|due| until <= due.saturating_add(most))
    }

    /// Of an invocation that has not ended, leaves the jobs that are over. Returns the last of them: the one that it
    /// released has not ended.
    pub(super) fn end_over(&mut self, invocation: &mut Invocation) -> Option<Over> {
        let last = self.over.pop()?;
        invocation.finish = last.finish;
        self.ended_at = Some(last.running);
        Some(last)
    }

    /// Whether it has asked to sleep until a later time.
    pub(super) fn sleeps_beyond(&self, at: u64) -> bool {
        self.pending.is_some_and(|pending| pending.until > at)
    }

    /// Forgets everything but the counts, because something was lost.
    pub(super) fn cut(&mut self) {
        (self.pending, self.due, self.last) = (None, None, None);
        (self.doubt, self.ended_at, self.is_instant) = (None, None, false);
        self.over.clear();
    }

    /// How many jobs of an invocation are over, and another one has begun.
    pub(super) fn count_over(&self) -> u64 {
        self.over.len() as u64
    }

    /// Whether it is time to end the invocation, so that it does not grow without bound.
    pub(super) fn is_full(&self) -> bool {
        self.count_over() + 1 >= JOBS_MAX
    }

    /// Of the jobs that are over, how many were not at the release of the next one.
    pub(super) fn overran(&self) -> u64 {
        self.over.iter().filter(|over| over.finish > over.next).count() as u64
    }

    /// The distances between the releases of an invocation, whose first one may not be known.
    pub(super) fn intervals(&self, first: Option<u64>) -> impl Iterator<Item = u64> {
        let next = self.over.iter().map(|over| Some(over.next));
        let before = std::iter::once(first).chain(next.clone());
        let known = next.zip(before).filter_map(|(next, before)| next.zip(before));
        known.map(|(next, before)| next.saturating_sub(before))
    }

    /// The response time and the execution time of each job of an invocation that has ended, in order. `running` is the
    /// thread's processor time at its end.
    pub(super) fn times(
        &self,
        invocation: &Invocation,
        running: u64,
    ) -> impl Iterator<Item = (u64, u64)> + Clone {
        let next = self.over.iter().map(|over| (over.next, over.running));
        let begins = std::iter::once((invocation.release, invocation.running_before)).chain(next);
        let over = self.over.iter().map(|over| (over.finish, over.running));
        let ends = over.chain(std::iter::once((invocation.finish, running)));
        begins.zip(ends).map(|((release, before), (finish, after))| {
            (finish.saturating_sub(release), after.saturating_sub(before))
        })
    }

    /// How late the jobs of an invocation were if each was due so long after its release; nothing if none was.
    pub(super) fn late(&self, invocation: &Invocation, deadline: u64) -> Option<Late> {
        let lateness = |response: u64| response as i64 - deadline as i64;
        let all = self.times(invocation, 0).map(|(response, _)| lateness(response));
        let (greatest, last_ns) = (all.clone().max()?, all.clone().last()?);
        let missed = all.filter(|late| *late > 0).count() as u64;
        let jobs = self.count_over() + 1;
        let ns = u64::try_from(greatest).ok()?;
        (ns > 0).then_some(Late { ns, jobs, missed, last_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: u64 = 1_000_000;

    #[test]
    fn what_it_asked_for_is_due_and_other_sleeps_are_within_the_job() {
        let mut asked = Asked::default();
        asked.ask(0, 0, T);
        assert_eq!(asked.settle(10, 10, None), None);
        assert_eq!(asked.wake(T + 50, None), Means::Due(T));
        asked.release(T, T + 50);
        // It waits for something, and then asks for the next release.
        assert_eq!(asked.settle(T + 200_000, 150_000, None), None);
        assert_eq!(asked.wake(T + 300_000, None), Means::Doubtful);
        assert!(asked.is_confirmed(2 * T));
        asked.ask(T + 400_000, 250_000, 2 * T);
        assert_eq!(asked.settle(T + 400_010, 250_010, None), None);
        // A signal came before.
        assert_eq!(asked.wake(2 * T - 5, None), Means::Early);
        assert_eq!((asked.releases, asked.late_max), (1, 50));
    }

    #[test]
    fn a_time_that_has_passed_begins_the_next_job_without_a_sleep_or_with_one_of_an_instant() {
        let mut asked = Asked::default();
        asked.is_released(T);
        for n in 2..5 {
            let at = n * T + 700_000;
            asked.ask(at, n, n * T);
            // The kernel lets it sleep for an instant.
            assert_eq!(asked.settle(at + 5, n + 5, Some(T)), Some(n * T));
            assert_eq!(asked.wake(at + 3_000, Some(T)), Means::Instant);
        }
        assert_eq!((asked.count_over(), asked.overran(), asked.due()), (3, 3, Some(4 * T)));
        assert!(asked.intervals(Some(T)).eq([T; 3]));
        assert!(asked.intervals(None).eq([T; 2]));
        // A sleep later in the job is another one.
        asked.ask(5 * T + 1, 9, 5 * T);
        assert_eq!(asked.settle(5 * T + 100_000, 90_000, Some(T)), Some(5 * T));
        assert_eq!(asked.wake(5 * T + 200_000, Some(T)), Means::Doubtful);
    }

    #[test]
    fn each_job_of_an_invocation_has_its_times() {
        let mut asked = Asked::default();
        asked.is_released(T);
        for (finish, running, next) in [(2_500_000, 900_000, 2 * T), (3_100_000, 1_400_000, 3 * T)]
        {
            asked.ask(finish, running, next);
            assert_eq!(asked.settle(finish, running, Some(T)), Some(next));
        }
        let finish = 3_900_000;
        let (release, running_before) = (T, 100_000);
        let invocation = Invocation { release, running_before, finish, ..Invocation::default() };
        let times: Vec<_> = asked.times(&invocation, 2_000_000).collect();
        assert_eq!(times, [(1_500_000, 800_000), (1_100_000, 500_000), (900_000, 600_000)]);
        let late = asked.late(&invocation, T).unwrap();
        assert_eq!((late.ns, late.jobs, late.missed, late.last_ns), (500_000, 3, 2, -100_000));
        assert_eq!(asked.late(&invocation, 2 * T), None);
    }

    #[test]
    fn a_time_soon_after_the_release_is_within_the_job() {
        let mut asked = Asked::default();
        asked.is_released(10 * T);
        asked.ask(10 * T + 100_000, 0, 10 * T + 300_000);
        assert_eq!(asked.wake(10 * T + 310_000, Some(T)), Means::Within);
        asked.ask(10 * T + 400_000, 0, 10 * T + 350_000);
        assert_eq!(asked.settle(10 * T + 400_010, 10, Some(T)), None);
        // Without a period, it is another release.
        asked.ask(10 * T + 500_000, 0, 10 * T + 600_000);
        assert_eq!(asked.wake(10 * T + 610_000, None), Means::Due(10 * T + 600_000));
    }

    #[test]
    fn figures_are_certain_if_nearly_all_releases_were_asked_for() {
        let mut asked = Asked::default();
        (0..100).for_each(|n| asked.release(n * T, n * T));
        (0..2).for_each(|_| asked.is_released_otherwise());
        assert!(asked.is_certain(Some(T)));
        asked.is_released_otherwise();
        assert!(!asked.is_certain(Some(T)));
        // A sleep in a job until after the next release, for which it does not ask then.
        let mut uneven = Asked::default();
        [0, 10, 20, 30, 45, 50, 60].iter().for_each(|n| uneven.release(n * T, n * T));
        assert!(!uneven.is_certain(Some(10 * T)) && uneven.is_certain(None));
        let mut few = Asked::default();
        (0..3).for_each(|n| few.release(n * T, n * T));
        assert!(!few.is_certain(Some(T)));
    }

    #[test]
    fn times_within_jobs_make_its_jobs_uncertain() {
        let mut regular = Asked::default();
        let mut disordered = Asked::default();
        for n in 1..50 {
            for asked in [&mut regular, &mut disordered] {
                asked.ask(n * T - 100_000, 0, n * T);
                assert_eq!(asked.wake(n * T, Some(T)), Means::Due(n * T));
                asked.release(n * T, n * T);
            }
        }
        // It sleeps in the job until after the next release, and then asks for that.
        disordered.ask(49 * T + 100_000, 0, 50 * T + 450_000);
        assert!(regular.is_certain(Some(T)) && disordered.is_certain(Some(T)));
        assert!(matches!(disordered.wake(50 * T + 450_000, Some(T)), Means::Due(_)));
        disordered.release(50 * T + 450_000, 50 * T + 450_000);
        disordered.ask(50 * T + 700_000, 0, 50 * T);
        assert_eq!((disordered.disordered, disordered.is_certain(Some(T))), (1, false));
        // Or until soon after the release, in more than a few jobs.
        for _ in 0..3 {
            assert!(regular.is_certain(Some(T)));
            regular.ask(49 * T + 200_000, 0, 49 * T + 300_000);
            assert_eq!(regular.settle(49 * T + 400_000, 0, Some(T)), None);
        }
        assert!(!regular.is_certain(Some(T)));
    }

    #[test]
    fn a_job_in_doubt_goes_on_if_it_asks_again_in_time() {
        let mut asked = Asked::default();
        asked.is_released(10 * T);
        assert!(asked.is_confirmed(500 * T));
        asked.is_released(11 * T);
        assert!(asked.is_confirmed(19 * T));
        assert!(!asked.is_confirmed(19 * T + 1));
        asked.cut();
        assert!(!asked.is_confirmed(12 * T));
    }
}
