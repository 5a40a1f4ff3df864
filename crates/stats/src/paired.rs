//! Two things measured in turns, so that what the machine does meanwhile meets both alike.

use serde::{Deserialize, Serialize};

use crate::interval::Estimate;
use crate::value::{Value, finite};

/// One of two things compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Side {
    /// The first: the old, the floor.
    A,
    /// The second: the new, what is judged.
    B,
}

/// The order in which to take readings: A B B A, that many times over. Whatever rises or falls evenly
/// during a round adds as much to both sides and drops out of their difference.
///
/// ```
/// use hemiola_stats::{Paired, Side, abba};
/// // Takes 100 ns and 130 ns on a machine that slows down all the time.
/// let mut slower = 0.0;
/// let mut read = |side| {
///     slower += 1.0;
///     if side == Side::A { 100.0 + slower } else { 130.0 + slower }
/// };
/// let readings: Vec<f64> = abba(10).map(&mut read).collect();
/// let difference = Paired::of(&readings).unwrap().difference.unwrap();
/// assert_eq!((difference.low, difference.high), (30.0, 30.0));
/// ```
pub fn abba(rounds: usize) -> impl ExactSizeIterator<Item = Side> {
    const ORDER: [Side; 4] = [Side::A, Side::B, Side::B, Side::A];
    // Far more readings than anyone waits for; the bound keeps the length within its type.
    let rounds = rounds.min(1 << 20);
    (0..4 * rounds).map(|index| ORDER[index % 4])
}

/// What readings in the order of [`abba`] say about B beside A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// The median over the rounds of B − A, each side the mean of its two readings; nothing when the
    /// difference drifts so much that the rounds are worth fewer than 6 independent ones.
    pub difference: Option<Estimate>,
    /// The median over the rounds of B / A, each side the geometric mean of its two readings; nothing
    /// in the same case, or when a reading is not positive. Where a machine slows down as a whole, the
    /// ratio stays.
    pub ratio: Option<Estimate>,
}

impl Paired {
    /// Compares readings in the order of [`abba`], a last round that is not whole left out; nothing
    /// below 6 rounds, when a reading is not finite, or when neither part can be said.
    #[must_use]
    pub fn of<V: Value>(readings: &[V]) -> Option<Self> {
        let readings = finite(readings)?;
        let rounds = || readings.as_chunks::<4>().0.iter();
        let differences: Vec<f64> =
            rounds().map(|[a, b, c, d]| f64::midpoint(*b, *c) - f64::midpoint(*a, *d)).collect();
        let ratios: Option<Vec<f64>> = rounds()
            .map(|round| {
                let [a, b, c, d] = *round;
                round.iter().all(|v| *v > 0.0).then(|| ((b / a) * (c / d)).sqrt())
            })
            .collect();
        let paired = Self {
            difference: Estimate::of_median(&differences),
            ratio: ratios.and_then(|ratios| Estimate::of_median(&ratios)),
        };
        (paired.difference.is_some() || paired.ratio.is_some()).then_some(paired)
    }
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;

    use super::*;

    #[test]
    fn what_both_share_drops_out() {
        // It slows down by half, far more than the difference, and the difference with it.
        let mut random = Random::from_seed(1);
        let mut mood = 1.0;
        let readings: Vec<f64> = abba(100)
            .map(|side| {
                mood *= 1.001;
                let noise = 1.0 + 0.001 * random.normal();
                mood * noise * if side == Side::A { 1000.0 } else { 1100.0 }
            })
            .collect();
        let paired = Paired::of(&readings).unwrap();
        let ratio = paired.ratio.unwrap();
        assert!(ratio.holds(1.1) && ratio.high - ratio.low < 0.001, "{ratio:?}");
        assert_eq!(ratio.samples, 100);
    }

    #[test]
    fn too_little_is_not_judged() {
        let readings: Vec<i64> = abba(5).map(|side| i64::from(side == Side::B)).collect();
        assert_eq!(Paired::of(&readings), None);
        assert_eq!(Paired::of(&[f64::NAN; 40]), None);
        // Six rounds and a broken one; a reading of 0 has no ratio.
        let readings: Vec<i64> = abba(7).map(|side| i64::from(side == Side::B)).collect();
        let paired = Paired::of(&readings[..27]).unwrap();
        let difference = paired.difference.unwrap();
        assert_eq!((difference.samples, difference.value), (6, 1.0));
        assert_eq!(paired.ratio, None);
    }
}
