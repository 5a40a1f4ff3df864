//! The releases of a thread that says until when it sleeps: clock_nanosleep(2) with `TIMER_ABSTIME`.
//!
//! The time that it asks for is the release of its next job, whether the job before was done by then or not. If that
//! time has passed, the thread goes on without sleeping, or sleeps for an instant, and the next job begins at once.
//! Any other sleep is part of the job, unless the thread does not ask again in time: then the job had ended at the
//! first of these sleeps, and the thread has done something else since.

mod others;

use super::DELAYS_MAX;
use super::culprits::Culprits;
use super::threads::{Invocation, JOBS_MAX, Late};
use others::{Requests, Turns};

/// The figures of a thread may be free of guesses if it asked for so many releases at least.
const ASKED_MIN: u64 = 4;

/// They are if it asked for all but this part of its releases, or all but so few.
const UNASKED_PART: u64 = 50;
const UNASKED_FEW: u64 = 2;

/// Times that are closer than its period by more than this part of it may be within jobs.
const CLOSER_PART: u64 = 20;

/// A job may have slept beyond so many releases and still be the one that ends when its thread asks again.
const RELEASES_MAX: u64 = 8;

/// A thread that woke up so often, over so many periods, since the last release that it had asked for, was released by
/// anything else meanwhile.
const LEFT_OUT_MIN: u64 = 4;

/// Two distances are equal if they differ by this part at most.
const EQUAL_PART: u64 = 1_000;

/// A time is off those a period apart if it differs from them by more than this part of the period.
const STRAY_PART: u64 = 200;

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
    /// The sum of these distances, ns.
    covered: u64,
    spacing: Spacing,
    requests: Requests,
    turns: Turns,
    /// How long after its last request it woke up for anything else, ns, and when it made that.
    doubtful_for: u64,
    asked_at: u64,
    /// How often it woke up for anything else since the last release that it had asked for.
    doubtful: u64,
    /// How many releases it left out while it woke up for other things.
    left_out: u64,
    /// The delays of the job until the thread made the request that stands.
    pub(super) delays: Culprits<DELAYS_MAX>,
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
    /// How many it had not, since it first asked.
    unasked: u64,
    /// How many times it asked for within its jobs, and whether it did after its first release.
    within: u64,
    is_within: bool,
    /// How often it asked for no later time than that of the release before: that one was a sleep within a job.
    pub(super) disordered: u64,
    /// The greatest delay of a wake-up after the time asked for, ns.
    pub(super) late_max: u64,
}

/// T of a thread as far as it is known, and as the caller or a reservation states it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub(super) period: Option<u64>,
    pub(super) stated: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    until: u64,
    /// When it asked, and its processor time then.
    at: u64,
    running: u64,
}

/// How the times lie for which a thread asks.
#[derive(Clone, Debug, Default)]
struct Spacing {
    /// The last two distances between them, the newer one first, ns.
    before: [Option<u64>; 2],
    /// The distance that is equal to the one before it, or half of two that take turns, ns.
    usual: Option<u64>,
    /// How many times lay off those before and after, which are a multiple of that distance apart.
    strayed: u64,
    /// It may have asked for times before, which are not in the recording.
    is_resumed: bool,
}

impl Spacing {
    /// The usual distance: the period that the caller states; without one, that of others, or the one found in the
    /// wake-ups.
    fn usual(&self, known: Known) -> Option<u64> {
        known.stated.or(self.usual).or(known.period)
    }

    /// So long after the last one, it asked for another time.
    fn add(&mut self, distance: u64, known: Known) {
        let is_equal = |to: u64| distance.abs_diff(to) <= distance / EQUAL_PART;
        let usual = self.usual(known);
        let is_first = std::mem::take(&mut self.is_resumed);
        if is_first && usual.is_some_and(|usual| is_off(distance, usual)) {
            self.strayed += 1;
            self.before = [None; 2];
            return;
        }
        if let Some(before) = self.before[0] {
            let both = distance.saturating_add(before);
            if usual.is_some_and(|usual| is_off(before, usual) && !is_off(both, usual)) {
                self.strayed += 1;
                self.before = [None; 2];
                return;
            }
            let takes_turns = || self.before[1].is_some_and(is_equal) && distance > before / 2;
            if is_equal(before) {
                self.usual = Some(distance);
            } else if self.usual.is_none() && takes_turns() {
                self.usual = Some(both / 2);
            }
        }
        self.before = [Some(distance), self.before[0]];
    }

    /// The recording does not have what it asked for before.
    fn resume(&mut self) {
        (self.before, self.is_resumed) = ([None; 2], true);
    }

    /// How many times lay off the others if it asks for no more: the last one has none after it.
    fn strayed_until_end(&self, known: Known) -> u64 {
        let usual = self.usual(known);
        let last = self.before[0].zip(usual).is_some_and(|(last, usual)| is_off(last, usual));
        self.strayed + u64::from(last)
    }
}

/// Whether a distance is no multiple of the usual one.
const fn is_off(distance: u64, usual: u64) -> bool {
    let beyond = distance % usual;
    let short = usual - beyond;
    (if beyond < short { beyond } else { short }) > usual / STRAY_PART
}

/// The end of a job that another one follows without a sleep.
#[derive(Clone, Debug)]
pub(super) struct Over {
    pub(super) finish: u64,
    /// The thread's processor time then.
    pub(super) running: u64,
    /// The release of the next job.
    pub(super) next: u64,
    /// The delays of the job.
    pub(super) delays: Culprits<DELAYS_MAX>,
}

/// A job of an invocation that consists of several.
pub(super) struct Each<'a> {
    pub(super) release: u64,
    /// When it first ran.
    pub(super) start: u64,
    pub(super) finish: u64,
    pub(super) execution: u64,
    /// Its delays from its start on; those of the first one, from its release on.
    pub(super) delays: &'a Culprits<DELAYS_MAX>,
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
    pub(super) fn ask(&mut self, at: u64, running: u64, until: u64, period: Option<u64>) {
        // The time of the first release may be asked for twice: to begin with it, and as that of the first job.
        let again =
            if self.releases > 1 { period.map_or(0, |period| period / STRAY_PART) } else { 0 };
        let is_disordered =
            |due: u64| until < due || (again > 0 && until <= due.saturating_add(again));
        self.disordered += u64::from(self.due.is_some_and(is_disordered));
        self.requests.add();
        self.pending = Some(Pending { until, at, running });
        (self.asked_at, self.doubtful_for) = (at, 0);
    }

    /// Returns the release of the job that has begun because the time for which it asked has come while it ran, if
    /// there is one. A time in the first half of the period after a release belongs to the job that was released then.
    pub(super) fn settle(&mut self, now: u64, running: u64, known: Known) -> Option<u64> {
        self.is_instant = false;
        let Pending { until, at, running: before } =
            self.pending.take_if(|pending| pending.until <= now)?;
        self.is_instant = running.saturating_sub(before) < AT_ONCE_NS;
        if !self.is_release(until, known.period) {
            self.waits_within();
            return None;
        }
        // If the time came after it had asked, it ran until then.
        let (finish, running) = (at.max(until), before + until.saturating_sub(at));
        let delays = std::mem::take(&mut self.delays);
        self.over.push(Over { finish, running, next: until, delays });
        self.is_released(until, known);
        Some(until)
    }

    /// A job that it had asked for is released, whether it sleeps or not.
    pub(super) fn is_released(&mut self, due: u64, known: Known) {
        let distance = self.last.map(|last| due.saturating_sub(last)).filter(|ns| *ns > 0);
        if let Some(distance) = distance {
            self.distance = Some(self.distance.map_or(distance, |least| least.min(distance)));
            self.covered += distance;
            self.spacing.add(distance, known);
            self.leaves_out(known.period.or(self.distance).map_or(0, |period| distance / period));
        }
        self.turns.released();
        (self.doubtful, self.doubtful_for) = (0, 0);
        (self.due, self.last) = (Some(due), Some(due));
        self.releases += 1;
    }

    /// The release of the job under way, if it was asked for.
    pub(super) const fn due(&self) -> Option<u64> {
        self.due
    }

    /// The last release that it had asked for was so many periods ago. A job that was late by a few of them may have
    /// left the others out.
    fn leaves_out(&mut self, periods: u64) {
        if periods >= LEFT_OUT_MIN && self.doubtful + 1 >= LEFT_OUT_MIN {
            self.left_out += periods - 1;
        }
    }

    /// The job under way was released by anything else.
    pub(super) fn is_released_otherwise(&mut self) {
        self.due = None;
        self.unasked += 1;
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
                self.waits_within();
                Means::Within
            }
            None if is_instant => Means::Instant,
            None if let Some(due) = self.due => {
                self.turns.wake(at.saturating_sub(due), period);
                self.doubtful_for = at.saturating_sub(self.asked_at);
                self.doubtful += 1;
                Means::Doubtful
            }
            None => Means::Anything,
        }
    }

    fn waits_within(&mut self) {
        self.within += 1;
        // The first release may be where its loop begins to count from.
        self.is_within |= self.releases > 1;
    }

    /// Whether it asked for a time soon after a release: within the job that began then, or within the one before,
    /// which had slept until then.
    pub(super) const fn asks_within_jobs(&self) -> bool {
        self.is_within
    }

    /// The job that it had asked for is released.
    pub(super) fn release(&mut self, due: u64, at: u64, known: Known) {
        self.is_released(due, known);
        self.late_max = self.late_max.max(at.saturating_sub(due));
    }

    /// Whether its jobs are known without a guess.
    pub(super) fn is_certain(&self, known: Known) -> bool {
        let period = known.period;
        let most = (self.releases / UNASKED_PART).max(UNASKED_FEW);
        let is_apart = |period: u64| {
            self.distance.is_none_or(|distance| distance >= period - period / CLOSER_PART)
        };
        self.releases >= ASKED_MIN
            && self.unasked + self.within <= most
            && self.disordered == 0
            && self.strayed(known) == 0
            && period.is_none_or(is_apart)
    }

    /// Whether it asks for its releases, and not at times for something within jobs that anything else releases.
    pub(super) fn asks_for_releases(&self, period: Option<u64>) -> bool {
        let periods = |ns: u64| period.or(self.distance).map_or(0, |period| ns / period);
        let since = periods(self.doubtful_for);
        let passed = periods(self.covered + self.doubtful_for);
        let left_out = self.left_out + if self.doubtful + 1 >= LEFT_OUT_MIN { since } else { 0 };
        let is_most = |part: u64| 2 * part >= passed.saturating_sub(self.releases);
        let leaves_out = 4 * self.releases < 3 * passed && is_most(left_out);
        !leaves_out && self.releases >= self.unasked
    }

    /// How many times it asked for that are no multiple of its period from the others: they may be within jobs.
    pub(super) fn strayed(&self, known: Known) -> u64 {
        self.spacing.strayed_until_end(known)
    }

    /// The recording does not have the times for which it asked before.
    pub(super) fn resumed() -> Self {
        let mut asked = Self::default();
        asked.spacing.resume();
        asked
    }

    /// It asks for the first time, before any job of it, or not.
    pub(super) fn first(is_before_jobs: bool) -> Self {
        Self { requests: Requests::first(is_before_jobs), ..Self::default() }
    }

    /// Whether it asked for one time before its loop, which something else releases.
    pub(super) const fn asks_before_loop(&self) -> bool {
        self.requests.is_before_loop(self.doubtful + self.unasked)
    }

    /// Whether it is not known if the job under way has lasted until it asks for that time, or ended before. If not, no
    /// job is known to be under way.
    pub(super) fn is_unclear_until(&mut self, until: u64, period: Option<u64>) -> bool {
        let after = self.due.filter(|_| self.doubt.is_some()).map(|due| until.saturating_sub(due));
        let is_unclear = after.is_some_and(|after| self.turns.ask(after, period));
        if is_unclear {
            self.due = None;
        }
        is_unclear
    }

    /// How many jobs may have ended before they seem to have.
    pub(super) const fn unclear(&self) -> u64 {
        self.turns.unclear
    }

    /// Whether it may be in the job that it had asked for when it asks to sleep until then. Else it has done something
    /// else since.
    pub(super) fn is_due_until(&self, at: u64, period: Option<u64>) -> bool {
        let most = self.distance.or(period).map_or(u64::MAX, |ns| ns.saturating_mul(RELEASES_MAX));
        self.due.is_some_and(|due| at <= due.saturating_add(most))
    }

    /// Of an invocation that has not ended, leaves the jobs that are over. Returns the last of them: the one that it
    /// released has not ended.
    pub(super) fn end_over(&mut self, invocation: &mut Invocation) -> Option<Over> {
        let last = self.over.pop()?;
        invocation.finish = last.finish;
        self.ended_at = Some(last.running);
        Some(last)
    }

    /// Whether it has asked for a time, and nothing has come of that yet.
    pub(super) const fn is_pending(&self) -> bool {
        self.pending.is_some()
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
        self.spacing.resume();
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

    /// Each job of an invocation that has ended, in order. `last` are the delays of the last one, and `running` is the
    /// thread's processor time at its end.
    pub(super) fn each<'a>(
        &'a self,
        invocation: &Invocation,
        last: &'a Culprits<DELAYS_MAX>,
        running: u64,
    ) -> impl Iterator<Item = Each<'a>> {
        let next = self.over.iter().map(|over| over.finish.max(over.next));
        let starts = std::iter::once(invocation.start).chain(next);
        let over = self.over.iter().map(|over| (over.finish, &over.delays));
        let ends = over.chain(std::iter::once((invocation.finish, last)));
        let times = self.times(invocation, running).zip(starts).zip(ends);
        times.map(|(((response, execution), start), (finish, delays))| {
            let release = finish.saturating_sub(response);
            Each { release, start, finish, execution, delays }
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

    fn of(period: u64) -> Known {
        Known { period: Some(period), stated: None }
    }

    #[test]
    fn what_it_asked_for_is_due_and_other_sleeps_are_within_the_job() {
        let mut asked = Asked::default();
        asked.ask(0, 0, T, Some(T));
        assert_eq!(asked.settle(10, 10, Known::default()), None);
        assert_eq!(asked.wake(T + 50, None), Means::Due(T));
        asked.release(T, T + 50, Known::default());
        // It waits for something, and then asks for the next release.
        assert_eq!(asked.settle(T + 200_000, 150_000, Known::default()), None);
        assert_eq!(asked.wake(T + 300_000, None), Means::Doubtful);
        assert!(asked.is_due_until(2 * T, None));
        asked.ask(T + 400_000, 250_000, 2 * T, Some(T));
        assert_eq!(asked.settle(T + 400_010, 250_010, Known::default()), None);
        // A signal came before.
        assert_eq!(asked.wake(2 * T - 5, None), Means::Early);
        assert_eq!((asked.releases, asked.late_max), (1, 50));
    }

    #[test]
    fn a_thread_that_asks_twice_for_a_release_slept_within_a_job() {
        let mut asked = Asked::default();
        for due in [T, 2 * T, 3 * T] {
            asked.release(due, due, of(T));
        }
        // Until just before the release, or until the release, and then until it again.
        for (until, disordered) in
            [(3 * T, 1), (3 * T + T / 250, 2), (3 * T + T / 100, 2), (4 * T, 2)]
        {
            asked.ask(3 * T + 500, 0, until, Some(T));
            assert_eq!(asked.disordered, disordered, "{until}");
        }
        // A thread begins with a release, and asks for it again as that of its first job.
        let mut first = Asked::default();
        first.release(T, T, of(T));
        first.ask(T + 500, 0, T, Some(T));
        assert_eq!(first.disordered, 0);
    }

    #[test]
    fn a_time_that_has_passed_begins_the_next_job_without_a_sleep_or_with_one_of_an_instant() {
        let mut asked = Asked::default();
        asked.is_released(T, Known::default());
        for n in 2..5 {
            let at = n * T + 700_000;
            asked.ask(at, n, n * T, Some(T));
            // The kernel lets it sleep for an instant.
            assert_eq!(asked.settle(at + 5, n + 5, of(T)), Some(n * T));
            assert_eq!(asked.wake(at + 3_000, Some(T)), Means::Instant);
        }
        assert_eq!((asked.count_over(), asked.overran(), asked.due()), (3, 3, Some(4 * T)));
        assert!(asked.intervals(Some(T)).eq([T; 3]));
        assert!(asked.intervals(None).eq([T; 2]));
        // A sleep later in the job is another one.
        asked.ask(5 * T + 1, 9, 5 * T, Some(T));
        assert_eq!(asked.settle(5 * T + 100_000, 90_000, of(T)), Some(5 * T));
        assert_eq!(asked.wake(5 * T + 200_000, Some(T)), Means::Doubtful);
    }

    #[test]
    fn each_job_of_an_invocation_has_its_times() {
        let mut asked = Asked::default();
        asked.is_released(T, Known::default());
        for (finish, running, next) in [(2_500_000, 900_000, 2 * T), (3_100_000, 1_400_000, 3 * T)]
        {
            asked.ask(finish, running, next, Some(T));
            assert_eq!(asked.settle(finish, running, of(T)), Some(next));
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
        asked.is_released(10 * T, Known::default());
        asked.ask(10 * T + 100_000, 0, 10 * T + 300_000, Some(T));
        assert_eq!(asked.wake(10 * T + 310_000, Some(T)), Means::Within);
        asked.ask(10 * T + 400_000, 0, 10 * T + 350_000, Some(T));
        assert_eq!(asked.settle(10 * T + 400_010, 10, of(T)), None);
        // Without a period, it is another release.
        asked.ask(10 * T + 500_000, 0, 10 * T + 600_000, Some(T));
        assert_eq!(asked.wake(10 * T + 610_000, None), Means::Due(10 * T + 600_000));
    }

    #[test]
    fn figures_are_certain_if_nearly_all_releases_were_asked_for() {
        let mut asked = Asked::default();
        (0..100).for_each(|n| asked.release(n * T, n * T, Known::default()));
        (0..2).for_each(|_| asked.is_released_otherwise());
        assert!(asked.is_certain(of(T)));
        asked.is_released_otherwise();
        assert!(!asked.is_certain(of(T)));
        // A release after less than its period.
        let mut uneven = Asked::default();
        [0, 10, 20, 30, 36, 46, 56]
            .iter()
            .for_each(|n| uneven.release(n * T, n * T, Known::default()));
        assert!(!uneven.is_certain(of(10 * T)) && uneven.is_certain(Known::default()));
        let mut few = Asked::default();
        (0..3).for_each(|n| few.release(n * T, n * T, Known::default()));
        assert!(!few.is_certain(of(T)));
    }

    #[test]
    fn times_within_jobs_make_its_jobs_uncertain() {
        let mut regular = Asked::default();
        let mut disordered = Asked::default();
        for n in 1..50 {
            for asked in [&mut regular, &mut disordered] {
                asked.ask(n * T - 100_000, 0, n * T, Some(T));
                assert_eq!(asked.wake(n * T, Some(T)), Means::Due(n * T));
                asked.release(n * T, n * T, Known::default());
            }
        }
        // It sleeps in the job until after the next release, and then asks for that.
        disordered.ask(49 * T + 100_000, 0, 50 * T + 450_000, Some(T));
        assert!(regular.is_certain(of(T)) && disordered.is_certain(of(T)));
        assert!(matches!(disordered.wake(50 * T + 450_000, Some(T)), Means::Due(_)));
        disordered.release(50 * T + 450_000, 50 * T + 450_000, Known::default());
        disordered.ask(50 * T + 700_000, 0, 50 * T, Some(T));
        assert_eq!((disordered.disordered, disordered.is_certain(of(T))), (1, false));
        // Or until soon after the release, in more than a few jobs.
        for _ in 0..3 {
            assert!(regular.is_certain(of(T)));
            regular.ask(49 * T + 200_000, 0, 49 * T + 300_000, Some(T));
            assert_eq!(regular.settle(49 * T + 400_000, 0, of(T)), None);
        }
        assert!(!regular.is_certain(of(T)));
        assert!(regular.asks_within_jobs());
    }

    #[test]
    fn a_job_in_doubt_goes_on_if_it_asks_again_in_time() {
        let mut asked = Asked::default();
        asked.is_released(10 * T, Known::default());
        assert!(asked.is_due_until(500 * T, None));
        asked.is_released(11 * T, Known::default());
        assert!(asked.is_due_until(19 * T, None));
        assert!(!asked.is_due_until(19 * T + 1, None));
        asked.cut();
        assert!(!asked.is_due_until(12 * T, None));
    }

    /// A thread that asked for these times, in hundredths of T.
    fn asking(times: impl IntoIterator<Item = u64>, stated: Option<u64>) -> Asked {
        let mut asked = Asked::default();
        for due in times.into_iter().map(|at| at * T / 100) {
            asked.release(due, due, Known { period: None, stated });
        }
        asked
    }

    #[test]
    fn a_time_between_two_that_are_periods_apart_is_a_stray() {
        let strays = |times: &[u64], stated| {
            asking(times.iter().copied(), stated).strayed(Known { stated, ..Known::default() })
        };
        // A sleep in a job until after the next release, for which it does not ask; until before it; and two of them.
        assert_eq!(strays(&[0, 100, 200, 305, 400, 500], None), 1);
        assert_eq!(strays(&[0, 100, 200, 295, 400, 500], None), 1);
        assert_eq!(strays(&[0, 100, 200, 305, 400, 505, 600], None), 2);
        // Each job, and each second one.
        assert!(strays(&[0, 105, 200, 305, 400, 505, 600, 705, 800], None) > 2);
        assert_eq!(strays(&[5, 100, 205, 300], Some(T)), 2);
        // No two distances that follow each other are equal, but the period was found.
        let found = Known { period: Some(T * 1001 / 1000), stated: None };
        let mut third = Asked::default();
        for due in [0, 100, 204, 300, 400, 504, 600].map(|at| at * T / 100) {
            third.release(due, due, found);
        }
        assert_eq!(third.strayed(Known::default()), 2);
        // Late releases that are left out, another beginning, a period of more digits, and one that follows a clock.
        assert_eq!(strays(&[0, 100, 200, 500, 600, 700], None), 0);
        assert_eq!(strays(&[0, 100, 200, 345, 445, 545, 645], None), 0);
        assert_eq!(strays(&[0, 333, 667, 1000, 1333, 1667, 2000], None), 0);
        // The last one has none after it. The recording may not have the first.
        assert_eq!(strays(&[0, 100, 200, 305], None), 1);
        let resumed = |times: &[u64]| {
            let mut asked = Asked::resumed();
            let known = Known { period: None, stated: Some(T) };
            times.iter().for_each(|at| asked.release(at * T / 100, at * T / 100, known));
            asked.strayed(known)
        };
        assert_eq!((resumed(&[45, 100, 200, 300]), resumed(&[0, 100, 300, 400])), (1, 0));
        let steps = (0..50).map(|n| 1000 * n + (n * n) % 5);
        assert_eq!(asking(steps, None).strayed(Known::default()), 0);
    }

    #[test]
    fn requests_that_leave_out_most_releases_are_within_jobs() {
        let all = asking((0..50).map(|n| 100 * n), None);
        assert!(all.asks_for_releases(Some(T)) && all.asks_for_releases(None));
        // It does not wake up for anything else, but is late.
        let third = asking((0..50).map(|n| 300 * n), None);
        assert!(third.asks_for_releases(Some(T)));
        // The shortest distance tells without a period that other wake-ups are releases.
        let mut some = Asked::default();
        let mut last = 0;
        for at in [0, 7, 10, 11, 19, 27, 32, 40] {
            (last + 1..at).for_each(|n| assert_eq!(some.wake(n * T, None), Means::Doubtful));
            some.release(at * T, at * T, Known::default());
            last = at;
        }
        assert!(!some.asks_for_releases(None) && !some.asks_for_releases(Some(T)));
        assert!(some.asks_for_releases(Some(8 * T)));
        let before = || asking((0..10).map(|n| 100 * n), None);
        let (mut otherwise, mut waiting) = (before(), before());
        (0..11).for_each(|_| otherwise.is_released_otherwise());
        (10..40).for_each(|n| assert_eq!(waiting.wake(n * T, Some(T)), Means::Doubtful));
        assert!(!otherwise.asks_for_releases(Some(T)) && !waiting.asks_for_releases(Some(T)));
    }
}
