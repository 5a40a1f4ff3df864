//! Datagrams at a steady rate, and what became of each.

use hemiola_stats::{Estimate, bound_of_none};
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

/// A train of datagrams that the other host returns. Numbers count from 0.
#[derive(Clone, Debug)]
pub struct Train {
    /// When each was sent, and its round trip.
    datagrams: Vec<(Instant, Option<Span>)>,
    /// The highest number that has returned.
    highest: Option<usize>,
    counts: Counts,
}

/// What became of the datagrams of a part of the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Datagrams that were sent.
    pub sent: u64,
    /// Of these, those that the other host received, according to it.
    pub arrived: u64,
    /// Those that came back.
    pub returned: u64,
    /// Those that came back after one that had been sent later.
    pub late: u64,
    /// Copies that came back besides: the network made them, on either way.
    pub repeated: u64,
}

impl Counts {
    /// The counts of both.
    #[must_use]
    pub const fn and(&self, other: &Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            arrived: self.arrived + other.arrived,
            returned: self.returned + other.returned,
            late: self.late + other.late,
            repeated: self.repeated + other.repeated,
        }
    }
}

impl Train {
    /// A train of no datagrams yet.
    #[must_use]
    pub fn new() -> Self {
        Self { datagrams: Vec::new(), highest: None, counts: Counts::default() }
    }

    /// The next datagram was sent.
    pub fn sent(&mut self, at: Instant) {
        self.datagrams.push((at, None));
        self.counts.sent += 1;
    }

    /// A datagram has come back. Numbers that were not sent are ignored.
    pub fn returned(&mut self, number: u64, at: Instant) {
        let Ok(number) = usize::try_from(number) else { return };
        let Some((sent, round_trip)) = self.datagrams.get_mut(number) else { return };
        if round_trip.is_some() {
            self.counts.repeated += 1;
            return;
        }
        *round_trip = Some(at.since(*sent));
        self.counts.returned += 1;
        self.counts.late += u64::from(self.highest > Some(number));
        self.highest = self.highest.max(Some(number));
    }

    /// Whether all have come back.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.counts.returned == self.counts.sent
    }

    /// The mean change of the round trip from one datagram to the next, ns, of neighbours that both came back; not a
    /// number if there are none.
    ///
    /// RFC 3550, section 6.4.1, has the same difference for one way and smooths it.
    #[must_use]
    pub fn jitter_ns(&self) -> f64 {
        let changes: Vec<f64> = self
            .datagrams
            .windows(2)
            .filter_map(|pair| Some((pair[1].1? - pair[0].1?).nanos().unsigned_abs() as f64))
            .collect();
        changes.iter().sum::<f64>() / changes.len() as f64
    }

    /// The counts, with the number that the other host says it received; `None` if that cannot be.
    #[must_use]
    pub fn counts(&self, arrived: u64) -> Option<Counts> {
        let Counts { sent, returned, .. } = self.counts;
        (returned..=sent).contains(&arrived).then_some(Counts { arrived, ..self.counts })
    }
}

impl Default for Train {
    fn default() -> Self {
        Self::new()
    }
}

/// The losses of a whole measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// What became of all datagrams.
    pub all: Counts,
    /// The share that did not reach the other host; `None` if none was sent.
    pub to: Option<Share>,
    /// The share of those that reached it that did not come back; `None` if none reached it.
    pub from: Option<Share>,
}

/// A share with the interval in which a repeat falls in 95 of 100 cases, from the differences between blocks; where
/// losses come in bursts that few blocks have, in some 90 of 100. If there was none, the upper end is the share that
/// would have shown itself in 95 of 100 cases if losses were independent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The share.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Losses {
    /// The losses of all blocks; `None` if they sent nothing.
    #[must_use]
    pub fn of(blocks: &[Counts]) -> Option<Self> {
        let all = blocks.iter().fold(Counts::default(), |sum, block| sum.and(block));
        (all.sent > 0).then(|| Self {
            all,
            to: share(blocks, |block| (block.sent - block.arrived, block.sent)),
            from: share(blocks, |block| (block.arrived - block.returned, block.arrived)),
        })
    }
}

/// The share of lost datagrams; `None` if there were none that could be lost.
fn share(blocks: &[Counts], of: impl Fn(&Counts) -> (u64, u64)) -> Option<Share> {
    let parts: Vec<(u64, u64)> = blocks.iter().map(of).filter(|(_, all)| *all > 0).collect();
    let (lost, all) = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let bound = bound_of_none(all)?;
    if lost == 0 {
        return Some(Share { value: 0.0, low: 0.0, high: bound });
    }
    let value = lost as f64 / all as f64;
    let shares: Vec<f64> = parts.iter().map(|(lost, all)| *lost as f64 / *all as f64).collect();
    // The mean of a repeat differs from this one by the deviations of both.
    let half = Estimate::of_mean(&shares)
        .map_or(1.0, |mean| std::f64::consts::SQRT_2 * (mean.high - mean.low) / 2.0);
    Some(Share { value, low: (value - half).max(0.0), high: (value + half).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_units::Random;

    fn at(micros: i64) -> Instant {
        Instant::ZERO + Span::from_micros(micros)
    }

    #[test]
    fn each_datagram_is_lost_late_repeated_or_whole() {
        let mut train = Train::new();
        (0..6).for_each(|number| train.sent(at(1000 * number)));
        // Round trips of 100, 130, –, 100, 100 (after 3), 90 µs.
        for (number, micros) in
            [(0, 100), (1, 1130), (4, 4100), (3, 4200), (3, 4300), (5, 5090), (9, 9)]
        {
            train.returned(number, at(micros));
        }
        let counts = train.counts(6).unwrap();
        assert_eq!(counts, Counts { sent: 6, arrived: 6, returned: 5, late: 1, repeated: 1 });
        assert!(!train.is_whole());
        // 0→1: 30, 3→4: 1100, 4→5: 10.
        assert!((train.jitter_ns() - (30.0 + 1100.0 + 10.0) * 1e3 / 3.0).abs() < 1e-6);
        assert!(Train::new().jitter_ns().is_nan());
    }

    #[test]
    fn a_host_that_received_less_than_it_returned_lies() {
        let mut train = Train::new();
        (0..4).for_each(|number| train.sent(at(number)));
        (0..3).for_each(|number| train.returned(number, at(10)));
        let arrived: Vec<bool> = (0..7).map(|arrived| train.counts(arrived).is_some()).collect();
        assert_eq!(arrived, [false, false, false, true, true, false, false]);
    }

    /// How many of 2000 repeats fall into the interval of a first measurement of ten blocks. `share` draws the
    /// probability of a loss in a block.
    fn covered(seed: u64, share: fn(&mut Random) -> f64) -> usize {
        let mut random = Random::from_seed(seed);
        let mut losses = || {
            let block = |_| {
                let share = share(&mut random);
                let arrived = (0..400).filter(|_| random.uniform() > share).count() as u64;
                Counts { sent: 400, arrived, returned: arrived, ..Counts::default() }
            };
            Losses::of(&(0..10).map(block).collect::<Vec<_>>()).unwrap().to.unwrap()
        };
        (0..2_000)
            .filter(|_| {
                let (first, repeat) = (losses(), losses());
                (first.low..=first.high).contains(&repeat.value)
            })
            .count()
    }

    #[test]
    fn a_repeat_falls_into_the_interval_of_a_loss() {
        let even = covered(3, |random| 0.005 + 0.03 * random.uniform());
        assert!((1_860..=1_960).contains(&even), "{even} of 2000");
        // Most losses in one block of five: a measurement that meets few such blocks takes the link for a better one.
        let bursts = covered(4, |random| if random.uniform() < 0.2 { 0.06 } else { 0.01 });
        assert!((1_700..=1_860).contains(&bursts), "{bursts} of 2000");
    }

    #[test]
    fn without_a_loss_the_number_of_datagrams_bounds_it() {
        let block = Counts { sent: 500, arrived: 500, returned: 500, ..Counts::default() };
        let to = Losses::of(&[block; 6]).unwrap().to.unwrap();
        assert!(to.value == 0.0 && (to.high - 1e-3).abs() < 2e-5, "{to:?}");
        assert_eq!(Losses::of(&[]), None);
        let none_arrived = Counts { sent: 500, ..Counts::default() };
        assert_eq!(Losses::of(&[none_arrived]).unwrap().from, None);
    }
}
