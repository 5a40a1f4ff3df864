//! The period of a thread, found in its wake-ups.
//!
//! A thread that is released periodically may wake more than once in a period, when it waits for a lock or an answer
//! within its job. Wake-ups in the first half of T after a release therefore belong to the job that the release began.
//! A period T explains the wake-ups when the distances between the remaining releases are T, or 2 T or 3 T where
//! releases were skipped. The shortest such T counts.
//!
//! Two threads that wake each other continuously have regular distances too, as long as nothing interrupts them, but no
//! period. The mean distance of wake-ups must therefore not exceed T by much, except for a thread that timers wake,
//! which may pause.

/// The number of wake-ups examined together.
const KEPT: usize = 64;
/// The minimum number of wake-ups for a period to be found.
const NEEDED: u64 = 12;
/// After the first [`KEPT`] wake-ups, the search is repeated each time this many more have come.
const AGAIN: u64 = 2048;
/// How far a distance of releases may be off, as a share of T.
const TOLERANCE: f64 = 0.2;
/// Distances that must be about T.
const SINGLE: f64 = 0.6;
/// Distances that must be about T, 2 T or 3 T.
const EXPLAINED: f64 = 0.8;

/// How much longer than T the mean distance of wake-ups may be.
const RARER: f64 = 1.3;
/// Of a thread that timers wake, so many of its wake-ups are done by interrupts.
const BY_TIMERS: f64 = 0.9;

/// A period this close to a multiple of that of a reservation is that multiple, as a part of the reservation's period.
const NEAR: u64 = 20;

/// Looks for the period of one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    /// The last wake-ups, the oldest at `count % KEPT` once there are so many.
    wakes: Vec<u64>,
    count: u64,
    /// The first of those that are counted.
    first: u64,
    /// All wake-ups, and those by interrupts.
    all: u64,
    by_interrupts: u64,
    /// The period found last, ns.
    pub(super) period: Option<u64>,
    /// Wake-ups were counted as releases before the period showed that they are not.
    pub(super) late: bool,
    /// Nobody asks at the end, so only those wake-ups are kept that are examined next.
    is_for_next: bool,
}

impl Finder {
    /// Of which the last look is not wanted.
    pub(super) fn without_end() -> Self {
        Self { is_for_next: true, ..Self::default() }
    }

    /// A wake-up, done by an interrupt or not.
    #[inline]
    pub(super) fn wake(&mut self, at: u64, by_interrupt: bool) {
        self.all += 1;
        self.by_interrupts += u64::from(by_interrupt);
        if self.count == 0 {
            self.first = at;
        }
        if self.is_for_next && !self.is_examined() {
            self.wakes = Vec::new();
        } else if self.wakes.len() < KEPT {
            self.wakes.push(at);
        } else {
            self.wakes[self.count as usize % KEPT] = at;
        }
        self.count += 1;
        let look = match self.count {
            12 | 24 | 64 => true,
            count => count.is_multiple_of(AGAIN),
        };
        if look {
            self.look();
        }
    }

    /// Whether the next wake-up is among those that the next look examines.
    const fn is_examined(&self) -> bool {
        let kept = KEPT as u64;
        self.count < kept || self.count % AGAIN >= AGAIN - kept
    }

    /// Looks once more if that is wanted, and frees the wake-ups, because no more follow. `reserved` is the period of
    /// the thread's reservation under `SCHED_DEADLINE`, which is the thread's own unless its wake-ups show another one
    /// or none.
    pub(super) fn finish(&mut self, reserved: Option<u64>) {
        if !self.is_for_next {
            self.look();
            self.period = reserved.map_or(self.period, |reserved| self.beside(reserved));
        }
        self.wakes = Vec::new();
    }

    /// T of a thread that has a reservation with that period.
    fn beside(&self, reserved: u64) -> Option<u64> {
        let wakes = self.in_order();
        let few = self.count < NEEDED;
        // A thread that is often late skips wake-ups, but all are multiples of its period apart. One that is late in
        // each fourth job wakes up twice or three times in four periods, which looks like a period four times as long.
        let by_reservation = releases(&wakes, reserved);
        let is_grid = is_grid(&by_reservation, reserved);
        let single = mean_single(&by_reservation, reserved).map(|period| near(period, reserved));
        if !few && is_grid && single == Some(reserved) {
            return Some(reserved);
        }
        let Some(found) = self.period else {
            return (few || is_grid).then_some(reserved);
        };
        if few {
            return Some(near(found, reserved));
        }
        // The mean is closer than the median under jitter.
        let mean = mean_single(&releases(&wakes, found), found);
        Some(near(mean.unwrap_or(found), reserved))
    }

    fn look(&mut self) {
        if self.count < NEEDED {
            return;
        }
        let wakes = self.in_order();
        let mean =
            wakes.last().map_or(0, |last| last - self.first) as f64 / (self.count - 1) as f64;
        let found = period(&wakes).filter(|period| self.bears_out(*period, mean));
        let several = found.is_some_and(|found| releases(&wakes, found).len() < wakes.len());
        self.late |= several && self.period.is_none();
        self.period = found;
    }

    /// The wake-ups that are kept, the oldest first.
    fn in_order(&self) -> Vec<u64> {
        let mut wakes = self.wakes.clone();
        if self.count > KEPT as u64 {
            wakes.rotate_left(self.count as usize % KEPT);
        }
        wakes
    }

    /// Whether releases with that mean distance may have that period.
    pub(super) fn bears_out(&self, period: u64, mean: f64) -> bool {
        mean <= RARER * period as f64 || self.by_interrupts as f64 >= BY_TIMERS * self.all as f64
    }

    /// Forgets the wake-ups before a gap, because they cannot be compared with those after it.
    pub(super) fn forget(&mut self) {
        self.wakes.clear();
        self.count = 0;
    }
}

/// Whether a distance is about the period, by [`TOLERANCE`].
pub(super) fn is_about(distance: u64, period: u64) -> bool {
    (distance as f64 - period as f64).abs() <= TOLERANCE * period as f64
}

/// The ends of what [`is_about`] the period.
pub(super) fn about(period: u64) -> (u64, u64) {
    let off = (TOLERANCE * period as f64) as u64;
    (period - off, period + off)
}

/// A multiple of the period of a reservation that is close to a period, or else that period.
pub(super) fn near(period: u64, reserved: u64) -> u64 {
    let times = (period.saturating_add(reserved / 2) / reserved.max(1)).max(1);
    let multiple = times.saturating_mul(reserved);
    if multiple.abs_diff(period) <= reserved / NEAR { multiple } else { period }
}

/// The mean of the distances of releases that are about one period.
fn mean_single(releases: &[u64], period: u64) -> Option<u64> {
    let distances = releases.windows(2).map(|pair| pair[1] - pair[0]);
    let single: Vec<u64> = distances.filter(|distance| is_about(*distance, period)).collect();
    let sum: u64 = single.iter().sum();
    sum.checked_div(single.len() as u64)
}

/// Whether the distances of releases are multiples of a period.
fn is_grid(releases: &[u64], period: u64) -> bool {
    let off = |pair: &&[u64]| {
        let rest = (pair[1] - pair[0]) % period;
        rest.min(period - rest) as f64 <= TOLERANCE * period as f64
    };
    let all = releases.len().saturating_sub(1);
    let fitting = releases.windows(2).filter(off).count();
    all as u64 >= NEEDED / 2 && fitting as f64 >= EXPLAINED * all as f64
}

/// The releases among wake-ups, by the rule above.
fn releases(wakes: &[u64], period: u64) -> Vec<u64> {
    let mut releases: Vec<u64> = Vec::with_capacity(wakes.len());
    for &wake in wakes {
        if releases.last().is_none_or(|last| wake.saturating_sub(*last) >= period / 2) {
            releases.push(wake);
        }
    }
    releases
}

/// The shortest period that explains the wake-ups.
fn period(wakes: &[u64]) -> Option<u64> {
    let mut candidates: Vec<u64> = Vec::new();
    for lag in 1..=4_usize.min(wakes.len() - 1) {
        let mut distances: Vec<u64> =
            wakes.windows(lag + 1).map(|pair| pair[lag].saturating_sub(pair[0])).collect();
        distances.sort_unstable();
        candidates.push(distances[distances.len() / 2]);
        if lag == 1 {
            candidates.push(distances[distances.len() * 3 / 4]);
            candidates.push(distances[distances.len() * 9 / 10]);
        }
    }
    candidates.sort_unstable();
    candidates
        .into_iter()
        .filter(|candidate| *candidate > 0)
        .find_map(|candidate| explained_by(wakes, candidate))
}

/// The median of the distances of releases near the candidate, if that explains the wake-ups.
fn explained_by(wakes: &[u64], candidate: u64) -> Option<u64> {
    let releases = releases(wakes, candidate);
    let distances: Vec<u64> = releases.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if (distances.len() as u64) < NEEDED / 2 {
        return None;
    }
    let mut single: Vec<u64> =
        distances.iter().copied().filter(|distance| is_about(*distance, candidate)).collect();
    let skipped = |distance: &&u64| {
        (2..=3).any(|times| {
            distance.abs_diff(times * candidate) as f64 <= TOLERANCE * candidate as f64
        })
    };
    let skipped = distances.iter().filter(skipped).count();
    let all = distances.len() as f64;
    let enough =
        single.len() as f64 >= SINGLE * all && (single.len() + skipped) as f64 >= EXPLAINED * all;
    single.sort_unstable();
    enough.then(|| single[single.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_units::Random;

    fn found(wakes: impl IntoIterator<Item = u64>) -> Option<u64> {
        let mut finder = Finder::default();
        wakes.into_iter().for_each(|wake| finder.wake(wake, false));
        finder.finish(None);
        finder.period
    }

    #[test]
    fn a_period_is_found_under_jitter_and_skipped_releases() {
        let mut random = Random::from_seed(1);
        let wakes: Vec<u64> = (0..200)
            .filter(|n| n % 13 != 5)
            .map(|n| n * 1_000_000 + (random.uniform() * 60_000.0) as u64)
            .collect();
        let period = found(wakes).unwrap();
        assert!(period.abs_diff(1_000_000) < 10_000, "{period}");
    }

    #[test]
    fn wake_ups_within_a_job_are_no_releases() {
        // Each second job waits for a lock after 0.2 ms; and one that always waits twice.
        let some = (0..100)
            .flat_map(|n| [Some(n * 5_000_000), (n % 2 == 0).then_some(n * 5_000_000 + 200_000)]);
        assert_eq!(found(some.flatten()), Some(5_000_000));
        let twice = (0..100).flat_map(|n| [0, 300_000, 900_000].map(|after| n * 5_000_000 + after));
        assert_eq!(found(twice), Some(5_000_000));
    }

    #[test]
    fn two_threads_that_wake_each_other_have_no_period_and_a_timer_that_pauses_has() {
        let often = (0..5000_u64).map(|n| n * 5_000 + n / 100 * 2_000_000);
        assert_eq!(found(often.clone()), None);
        let mut finder = Finder::default();
        often.for_each(|wake| finder.wake(wake, true));
        finder.finish(None);
        assert_eq!(finder.period, Some(5_000));
    }

    #[test]
    fn without_the_last_look_the_same_periods_are_found_on_the_way() {
        let mut random = Random::from_seed(3);
        let (mut all, mut next) = (Finder::default(), Finder::without_end());
        let (mut at, mut mean, mut found) = (0, 1e6, 0);
        for number in 0..20_000_u64 {
            if random.uniform() < 1e-3 {
                mean = 1e5 + 1e6 * random.uniform();
            }
            if random.uniform() < 1e-4 {
                all.forget();
                next.forget();
            }
            at += (mean * (1.0 + 0.1 * random.uniform())) as u64;
            for finder in [&mut all, &mut next] {
                finder.wake(at, number % 3 == 0);
            }
            assert_eq!((all.period, all.late), (next.period, next.late), "{number}");
            found += u64::from(all.period.is_some());
            let before = next.count - 1;
            let is_between = before >= KEPT as u64 && before % AGAIN < AGAIN - KEPT as u64;
            assert_eq!(next.wakes.is_empty(), is_between, "{number}");
        }
        assert!((5_000..20_000).contains(&found), "{found}");
        let period = next.period;
        next.finish(None);
        assert_eq!((next.period, next.wakes.capacity()), (period, 0));
    }

    #[test]
    fn a_thread_that_is_late_in_each_fourth_job_has_the_period_of_its_reservation() {
        // Without a rest of its budget, its next job is late, too.
        for busy in [&[0][..], &[0, 1]] {
            let wakes = (0..120).filter(|n| !busy.contains(&(n % 4))).map(|n| n * 20_000_000);
            let mut finder = Finder::default();
            wakes.for_each(|wake| finder.wake(wake, false));
            let mut alone = finder.clone();
            alone.finish(None);
            finder.finish(Some(20_000_000));
            assert_ne!(alone.period, Some(20_000_000));
            assert_eq!(finder.period, Some(20_000_000));
        }
        // Jobs of twice the period have their own.
        let mut finder = Finder::default();
        (0..60).for_each(|n| finder.wake(n * 40_000_000, false));
        finder.finish(Some(20_000_000));
        assert_eq!(finder.period, Some(40_000_000));
    }

    #[test]
    fn wake_ups_at_random_have_no_period() {
        let mut random = Random::from_seed(2);
        let mut at = 0;
        let exponential = std::iter::repeat_with(|| {
            at += (-(1.0 - random.uniform()).ln() * 1e6) as u64;
            at
        });
        assert_eq!(found(exponential.take(2000)), None);
        assert_eq!(found([5, 9, 11]), None);
        assert_eq!(found([7; 40]), None);
    }
}
