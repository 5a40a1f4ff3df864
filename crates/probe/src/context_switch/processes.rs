//! The two processes of a context switch.

use std::io;

use hemiola_rt::clock::Clock;
use hemiola_rt::sys::timer::sleep_until;
use hemiola_units::{Bytes, Granted, Policy, Span};
use serde::{Deserialize, Serialize};

use super::Mechanism;
use super::ends::{Description, Ends};
use crate::peer::PeerProcess;
use crate::stage::{REST, SPELL, pair};
use crate::{Overhead, ProbeError};

/// One of the two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Starts each round, and decides when to stop.
    Near,
    /// Answers.
    Far,
}

/// The orders for one process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) mechanism: Mechanism,
    pub(crate) ends: Description,
    pub(crate) role: Role,
    /// Memory that this process walks in its turn.
    pub(crate) walked: Bytes,
    /// How often the near process walks its memory after each round, with the clock read after each walk.
    pub(crate) passes: usize,
    /// Number of readings.
    pub(crate) count: u32,
    /// Round trips in a reading. With more than one, the far process neither reads the clock nor walks.
    pub(crate) batch: u64,
}

/// Uncounted first rounds, warm and walked; walks are slow and warm nothing up.
const WARM_UP: [u32; 2] = [100, 5];
/// Uncounted rounds after a rest.
const AFTER_REST: u32 = 3;

/// The near process sleeps this long at the start, so that the program that starts both on its processor is not blocked
/// by a spinning process.
const START: Span = Span::from_millis(5);

/// Both rest after this round.
const REST_BIT: u32 = 1;
/// This round is the last.
pub(crate) const LAST_BIT: u32 = 2;
/// The increment that makes a token differ from the previous one.
pub(crate) const STEP: u32 = 4;

/// The report of one of the two processes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    Near(Near),
    Far(Far),
}

/// The result of the near process, in nanoseconds of its clock.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Near {
    pub(crate) granted: Granted,
    /// The cost of a pair of clock readings.
    pub(crate) pair: Overhead,
    /// The times before and after each round.
    rounds: Vec<(u64, u64)>,
    /// The times of the walks after each round, all rounds in a row.
    passes: Vec<u64>,
    /// The indices of the counted rounds.
    counted: Vec<usize>,
}

/// The result of the far process: the times when each turn came and when it was handed back.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Far {
    turns: Vec<(u64, u64)>,
}

impl Near {
    /// Half round trips without the far process's own time; `None` if the two disagree about the rounds.
    pub(crate) fn one_by_one(&self, far: &Far) -> Option<Vec<f64>> {
        let each = |round: &usize| {
            let ((start, end), (came, gave)) = (self.rounds.get(*round)?, far.turns.get(*round)?);
            let whole = end.checked_sub(*start)?.checked_sub(gave.checked_sub(*came)?)?;
            Some(whole as f64 / 2.0)
        };
        self.counted.iter().map(each).collect()
    }

    /// Half round trips, each the mean over `batch` of them.
    pub(crate) fn in_batches(&self, batch: u64) -> Option<Vec<f64>> {
        let each = |round: &usize| {
            let (start, end) = self.rounds.get(*round)?;
            Some(end.checked_sub(*start)? as f64 / (2 * batch) as f64)
        };
        self.counted.iter().map(each).collect()
    }

    /// The times of the walks after each counted round; `None` if there are fewer than `passes` for each.
    pub(crate) fn walks(&self, passes: usize) -> Option<Vec<&[u64]>> {
        let of = |round: &usize| self.passes.get(round * passes..(round + 1) * passes);
        self.counted.iter().map(of).collect()
    }
}

/// Runs one of the two processes.
pub(crate) fn run_peer(mut process: PeerProcess, orders: Orders) -> Result<(), ProbeError> {
    let failed = || ProbeError::doing("hand over to the other process");
    let ends = orders.ends.open(orders.mechanism, orders.role);
    let mut ends = ends.map_err(failed())?;
    let mut walk = Walk(vec![0; usize::try_from(orders.walked.0 / 8).unwrap_or(usize::MAX)]);
    let granted = process.apply_profile();
    walk.all();
    process.ready()?;
    match orders.role {
        Role::Near => {
            let near = ask(&process, &orders, &mut *ends, &mut walk, granted).map_err(failed())?;
            process.report(&Report::Near(near))
        }
        Role::Far => {
            let far = answer(&process, &orders, &mut *ends, &mut walk).map_err(failed())?;
            process.report(&Report::Far(far))
        }
    }
}

/// The memory that a process walks.
struct Walk(Vec<u64>);

impl Walk {
    /// Changes one word of each cache line.
    fn all(&mut self) {
        const WORDS_PER_LINE: usize = 8;
        for line in self.0.chunks_mut(WORDS_PER_LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        std::hint::black_box(&mut self.0);
    }
}

fn ask(
    process: &PeerProcess,
    orders: &Orders,
    ends: &mut dyn Ends,
    walk: &mut Walk,
    granted: Granted,
) -> io::Result<Near> {
    let clock = &process.clock;
    let limited = !matches!(granted.scheduling, Policy::Other { .. });
    let pair = pair(clock);
    let count = orders.count as usize;
    let mut near = Near {
        granted,
        pair,
        rounds: Vec::with_capacity(count),
        passes: Vec::with_capacity(count * orders.passes),
        counted: Vec::with_capacity(count),
    };
    let mut token = 0u32;
    let mut uncounted = WARM_UP[usize::from(orders.walked > Bytes(0))];
    sleep_until(clock.now() + START);
    let mut rested = clock.now();
    loop {
        // The far process ends such a round differently, so it is not counted.
        let rest = limited && clock.now() - rested >= SPELL;
        let last = near.counted.len() >= count;
        walk.all();
        let start = clock.now();
        for remaining in (0..orders.batch).rev() {
            let end = remaining == 0;
            let bits = REST_BIT * u32::from(rest && end) + LAST_BIT * u32::from(last && end);
            token = (token & !(STEP - 1)).wrapping_add(STEP) | bits;
            ends.hand_over(token)?;
            ends.wait()?;
        }
        let end = clock.now();
        let mut before = end;
        for _ in 0..orders.passes {
            walk.all();
            let after = clock.now();
            near.passes.push((after - before).nanos().unsigned_abs());
            before = after;
        }
        if uncounted == 0 && !rest && !last {
            near.counted.push(near.rounds.len());
        }
        uncounted = uncounted.saturating_sub(1);
        near.rounds.push((start.nanos(), end.nanos()));
        if last {
            return Ok(near);
        }
        if rest {
            sleep_until(end + REST);
            rested = clock.now();
            uncounted = uncounted.max(AFTER_REST);
        }
    }
}

fn answer(
    process: &PeerProcess,
    orders: &Orders,
    ends: &mut dyn Ends,
    walk: &mut Walk,
) -> io::Result<Far> {
    let clock = &process.clock;
    let mut far = Far { turns: Vec::with_capacity(orders.count as usize) };
    loop {
        let token = ends.wait()?;
        if orders.batch == 1 {
            let came = clock.now();
            walk.all();
            let gave = clock.now();
            ends.hand_over(token)?;
            far.turns.push((came.nanos(), gave.nanos()));
        } else {
            ends.hand_over(token)?;
        }
        if token & LAST_BIT != 0 {
            return Ok(far);
        }
        if token & REST_BIT != 0 {
            sleep_until(clock.now() + REST);
        }
    }
}

#[cfg(test)]
mod tests {
    use hemiola_units::Profile;

    use super::*;

    fn near(rounds: &[(u64, u64)], counted: &[usize]) -> Near {
        let profile = Profile::ordinary();
        let granted = hemiola_rt::profile::apply(&profile);
        let (rounds, counted) = (rounds.to_vec(), counted.to_vec());
        let passes = (0..rounds.len() as u64 * 2).collect();
        Near { granted, pair: Overhead::default(), rounds, passes, counted }
    }

    #[test]
    fn the_far_process_s_own_time_is_excluded() {
        let far = Far { turns: vec![(0, 0), (130, 180)] };
        let near = near(&[(0, 9), (100, 250)], &[1]);
        assert_eq!(near.one_by_one(&far), Some(vec![50.0]));
        assert_eq!(near.in_batches(5), Some(vec![15.0]));
    }

    #[test]
    fn walks_are_those_after_the_counted_rounds() {
        let near = near(&[(0, 9), (10, 19), (20, 29)], &[0, 2]);
        assert_eq!(near.walks(2), Some(vec![&[0, 1][..], &[4, 5]]));
        assert_eq!(near.walks(3), None);
    }

    #[test]
    fn processes_that_disagree_have_no_readings() {
        assert_eq!(near(&[(100, 250)], &[0]).one_by_one(&Far { turns: vec![] }), None);
        assert_eq!(near(&[(100, 250)], &[0]).one_by_one(&Far { turns: vec![(0, 900)] }), None);
    }

    #[test]
    fn a_walk_changes_one_word_of_each_line() {
        let mut walk = Walk(vec![0; 17]);
        walk.all();
        let changed: Vec<usize> = (0..17).filter(|at| walk.0[*at] != 0).collect();
        assert_eq!(changed, [0, 8, 16]);
    }
}
