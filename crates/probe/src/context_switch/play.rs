//! What the two processes do.

use std::io;

use hemiola_rt::clock::Clock;
use hemiola_rt::sys::timer::sleep_until;
use hemiola_units::{Bytes, Granted, Policy, Span};
use serde::{Deserialize, Serialize};

use super::Mechanism;
use super::ends::{Description, Ends};
use crate::peer::Player;
use crate::stage::{REST, SPELL, pair};
use crate::{Overhead, ProbeError};

/// Which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Asks, and decides when it is over.
    Near,
    /// Answers.
    Far,
}

/// What a process is told.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) mechanism: Mechanism,
    pub(crate) ends: Description,
    pub(crate) role: Role,
    pub(crate) walked: Bytes,
    /// Readings.
    pub(crate) count: u32,
    /// Round trips in a reading. With more than one the far process reads no clock and walks nothing.
    pub(crate) batch: u64,
}

/// Rounds before the first that counts, from cache and walked: the walks are slow and warm nothing.
const WARM_UP: [u32; 2] = [100, 5];
/// Rounds after a rest that do not count.
const AFTER_REST: u32 = 3;

/// How long the near process sleeps at the beginning, so that whoever starts the two on its processor is
/// not kept from it by a process that spins.
const START: Span = Span::from_millis(5);

/// Both rest after this round.
const REST_BIT: u32 = 1;
/// This round is the last.
pub(crate) const LAST_BIT: u32 = 2;
/// What makes a token differ from the last.
pub(crate) const STEP: u32 = 4;

/// What one of the two hands in.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    Near(Near),
    Far(Far),
}

/// What the near process found, in nanoseconds on its clock.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Near {
    pub(crate) granted: Granted,
    /// What a pair of clock readings costs.
    pub(crate) pair: Overhead,
    /// Before and after each round.
    rounds: Vec<(u64, u64)>,
    /// Which rounds count.
    counted: Vec<usize>,
}

/// What the far process found: after its turn came and before it gave it back, round by round.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Far {
    turns: Vec<(u64, u64)>,
}

impl Near {
    /// Half round trips, without the far process's own time; nothing when the two differ in the rounds.
    pub(crate) fn one_by_one(&self, far: &Far) -> Option<Vec<f64>> {
        let each = |round: &usize| {
            let ((start, end), (came, gave)) = (self.rounds.get(*round)?, far.turns.get(*round)?);
            let whole = end.checked_sub(*start)?.checked_sub(gave.checked_sub(*came)?)?;
            Some(whole as f64 / 2.0)
        };
        self.counted.iter().map(each).collect()
    }

    /// Half round trips, as the mean over `batch` of them.
    pub(crate) fn in_batches(&self, batch: u64) -> Option<Vec<f64>> {
        let each = |round: &usize| {
            let (start, end) = self.rounds.get(*round)?;
            Some(end.checked_sub(*start)? as f64 / (2 * batch) as f64)
        };
        self.counted.iter().map(each).collect()
    }
}

/// Plays one of the two.
pub(crate) fn play(mut player: Player, orders: Orders) -> Result<(), ProbeError> {
    let failed = || ProbeError::doing("hand over to the other process");
    let ends = orders.ends.open(orders.mechanism, orders.role);
    let mut ends = ends.map_err(failed())?;
    let mut walk = Walk(vec![0; usize::try_from(orders.walked.0 / 8).unwrap_or(usize::MAX)]);
    let granted = player.settle();
    walk.all();
    player.ready()?;
    match orders.role {
        Role::Near => {
            let near = ask(&player, &orders, &mut *ends, &mut walk, granted).map_err(failed())?;
            player.report(&Report::Near(near))
        }
        Role::Far => {
            let far = answer(&player, &orders, &mut *ends, &mut walk).map_err(failed())?;
            player.report(&Report::Far(far))
        }
    }
}

/// Memory of a process's own.
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
    player: &Player,
    orders: &Orders,
    ends: &mut dyn Ends,
    walk: &mut Walk,
    granted: Granted,
) -> io::Result<Near> {
    let clock = &player.clock;
    let limited = !matches!(granted.scheduling, Policy::Other { .. });
    let pair = pair(clock);
    let count = orders.count as usize;
    let mut near = Near {
        granted,
        pair,
        rounds: Vec::with_capacity(count),
        counted: Vec::with_capacity(count),
    };
    let mut token = 0u32;
    let mut uncounted = WARM_UP[usize::from(orders.walked > Bytes(0))];
    sleep_until(clock.now() + START);
    let mut rested = clock.now();
    loop {
        // The far process ends such a round in another way than the others, so neither is counted.
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
    player: &Player,
    orders: &Orders,
    ends: &mut dyn Ends,
    walk: &mut Walk,
) -> io::Result<Far> {
    let clock = &player.clock;
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
        Near { granted, pair: Overhead::default(), rounds, counted }
    }

    #[test]
    fn the_far_process_s_own_time_is_not_in_a_hand_over() {
        let far = Far { turns: vec![(0, 0), (130, 180)] };
        let near = near(&[(0, 9), (100, 250)], &[1]);
        assert_eq!(near.one_by_one(&far), Some(vec![50.0]));
        assert_eq!(near.in_batches(5), Some(vec![15.0]));
    }

    #[test]
    fn processes_that_disagree_give_no_readings() {
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
