//! What the samples of a value do not tell about its mean: the end of a long tail that a formula makes.
//!
//! The standard deviations of the inputs are known, so samples that lack the tail of an input are noticed. The tail of
//! `exp(x)`, `1 / x` or `x ^ 4` is that of the formula: the inputs are ordinary, and the standard deviation of the
//! samples is as much too small as their mean. Three things tell:
//!
//! * The greatest samples fall like a power of their rank. Hill, "A simple general approach to inference about the tail
//!   of a distribution" (1975), estimates the power, and a tail of that power has a known mean, or none. The logarithm
//!   of a log-normal value grows ever more slowly beyond the samples, so that its estimate is at the safe side.
//! * A divisor that can be 0 makes a tail without a mean, wherever it begins: also beyond the samples.
//! * A value far beyond all samples may be rare, not impossible: `floor(u + 0.000001)` is 1 once in a million times.
//!   Interval arithmetic shows how great it can be, and the number of samples how often it may be missing in them.

use super::distribution::{Distribution, Input};
use super::network::{Network, SCORE_GREATEST};
use super::predicted::{CONFIDENCE, MEAN_SCORE};
use super::program::Program;
use crate::expression::Interval;

/// How many of the greatest samples show the tail. Few are nearer to its end, many tell their power better; both are
/// estimates of a mean that is not below the true one.
const GREATEST: [usize; 2] = [32, 128];

/// The share of the samples that are no tail any more.
const TAIL_MOST: usize = 4;

/// The share of the values of an input that may lie beyond a bound without effect: one of a million on both sides.
const BEYOND: f64 = 2.9e-7;

/// The most by which the mean can lie above that of these samples, in rising order, because they end before their tail
/// does; infinite if the tail may have no mean.
pub(super) fn unseen(sorted: &[f64]) -> f64 {
    let few = sorted.len() / TAIL_MOST;
    let counts = GREATEST.map(|count| count.min(few));
    counts.into_iter().map(|count| beyond(sorted, count)).fold(f64::INFINITY, f64::min)
}

/// The same by so many of the greatest samples.
fn beyond(sorted: &[f64], count: usize) -> f64 {
    let (Some(first), Some(greatest)) = (sorted.len().checked_sub(count), sorted.last()) else {
        return f64::INFINITY;
    };
    // A tail is one of the distances from the bulk of the values: a constant in front of it does not make it shorter.
    let middle = sorted[sorted.len() / 2];
    if *greatest <= middle {
        return 0.0;
    }
    if count == 0 || sorted[first - 1] <= middle {
        return f64::INFINITY;
    }
    let start = sorted[first - 1] - middle;
    let distances = || sorted[first..].iter().map(|value| value - middle);
    let counted = count as f64;
    let power = distances().map(|distance| (distance / start).ln()).sum::<f64>() / counted;
    let power = power * underestimated(counted);
    if power >= 1.0 {
        return f64::INFINITY;
    }
    let mean = distances().sum::<f64>() / counted;
    // The mean of the values beyond a start is start / (1 − power).
    (start / (1.0 - power) - mean).max(0.0) * counted / sorted.len() as f64
}

/// The factor by which the power that so many samples show may be too small, with the confidence of [`MEAN_SCORE`]. Its
/// distribution is that of χ² with twice as many degrees of freedom (Wilson and Hilferty, 1931).
fn underestimated(count: f64) -> f64 {
    let share = 1.0 / (9.0 * count);
    let least = (1.0 - share - MEAN_SCORE * share.sqrt()).powi(3);
    if least > 0.0 { least.recip() } else { f64::INFINITY }
}

/// The greatest value for inputs within five standard scores; infinite if it grows without bound there, because a
/// divisor can be 0.
pub(super) fn reach(network: &Network, program: &Program) -> f64 {
    let value: Interval = program.value(|index| reach_of(&network.inputs()[index]));
    if value.high.is_nan() { f64::INFINITY } else { value.high }
}

/// The most by which values up to this reach can add to the mean of so many samples, because none of them happened to
/// be among these. With the confidence of a mean, their share is at most this logarithm over the number of samples
/// ("rule of three", Hanley and Lippman-Hand, 1983).
pub(super) fn missed(reach: f64, greatest: f64, count: usize) -> f64 {
    (reach - greatest).max(0.0) * -(1.0 - CONFIDENCE).ln() / count as f64
}

/// The values of an input within five standard scores, and all up to its end where values near the end are not rare.
fn reach_of(input: &Input) -> Interval {
    let Interval { low, high } = input.at_scores(SCORE_GREATEST);
    let [below, upto] = input.cut().unwrap_or([0.0, 1.0]);
    let is_flat = |distribution: &Distribution| match distribution {
        Distribution::Uniform { .. } => [true; 2],
        Distribution::Weibull { shape } => [*shape <= 1.0, false],
        _ => [false; 2],
    };
    let [flat_below, flat_above] = is_flat(&input.distribution);
    let support = input.support();
    let end =
        |is_end: bool, end: f64, inner: f64| if is_end && end.is_finite() { end } else { inner };
    let own = Interval {
        low: low.min(end(flat_below || below > BEYOND, support.low, low)),
        high: high.max(end(flat_above || upto < 1.0 - BEYOND, support.high, high)),
    };
    let parts = input.parts().iter().map(|(_, part)| reach_of(part));
    parts.fold(own, |all, part| Interval {
        low: all.low.min(part.low),
        high: all.high.max(part.high),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Expression;
    use crate::uncertain::Definition;
    use crate::uncertain::predicted::{SampleMean, Samples};
    use hemiola_quantity::Quantity;
    use hemiola_units::Random;

    fn mean_of(samples: impl Iterator<Item = f64>) -> SampleMean {
        Samples::new(samples.collect(), 0).mean()
    }

    /// Of how many sets of samples the mean is open, and the largest share by which the upper ends of the others exceed
    /// it. As many as the confidence allows are below the true mean.
    fn check(count: usize, mean: f64, mut draw: impl FnMut(&mut Random) -> f64) -> (usize, f64) {
        let (mut open, mut wrong, mut most) = (0, 0, 0.0_f64);
        for seed in 0..sets(count) {
            let mut random = Random::from_seed(seed as u64);
            let upper = mean_of((0..count).map(|_| draw(&mut random))).most();
            wrong += usize::from(upper < mean);
            if upper.is_finite() {
                most = most.max(upper / mean - 1.0);
            } else {
                open += 1;
            }
        }
        assert!(wrong <= 1, "{count} samples, mean {mean}: {wrong}");
        (open, most)
    }

    fn sets(count: usize) -> usize {
        if count < 100_000 { 100 } else { 20 }
    }

    #[test]
    fn no_tail_of_a_formula_has_a_longer_mean_than_its_samples_allow() {
        for count in [1_000, 10_000, 100_000] {
            for sigma in [0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0] {
                let mean = (sigma * sigma / 2.0_f64).exp();
                let (open, most) = check(count, mean, |random| (sigma * random.normal()).exp());
                assert!(
                    count < 100_000 || sigma > 1.0 || open == 0 && most < 0.1,
                    "{sigma}: {most}"
                );
                assert!(sigma < 3.0 || open > sets(count) / 2, "{count}, {sigma}: {open}");
            }
            // The moments of a normal value, and of one over a uniform value.
            check(count, 3.0, |random| random.normal().powi(4));
            check(count, 15.0, |random| random.normal().powi(6));
            for least in [1e-6, 1e-3, 0.1_f64] {
                let mean = -least.ln() / (1.0 - least);
                check(count, mean, |random| (least + (1.0 - least) * random.uniform()).recip());
            }
            // Two kinds of values do not look like a tail, if there are enough of the greater ones.
            let rare = |random: &mut Random| if random.below(100) == 0 { 50.0 } else { 1.0 };
            let (open, most) = check(count, 1.49, rare);
            assert!(count == 1_000 || open == 0 && most < 0.5, "{count}: {open} {most}");
        }
    }

    #[test]
    fn a_divisor_that_can_be_zero_leaves_no_mean() {
        let pole = |formula: &str, distribution: Distribution| {
            let input = Input::exact("x", "10 s".parse::<Quantity>().unwrap()).physical();
            let expression = Expression::parse(formula).unwrap();
            let definition = Definition { name: "value".into(), expression };
            let network =
                Network::new(vec![input.varying(distribution)], &[], vec![definition]).unwrap();
            let program = Program::of(&network, network.index("value").unwrap());
            reach(&network, &program) == f64::INFINITY
        };
        let over = "1 s * (1 s / x)";
        assert!(pole(over, Distribution::Normal { std: 2.5 }));
        assert!(pole(over, Distribution::Uniform { low: 0.0, high: 20.0 }));
        assert!(pole(over, Distribution::Weibull { shape: 1.0 }));
        assert!(pole("1 s / (x / 1 s - 8)", Distribution::Normal { std: 1.0 }));
        assert!(!pole(over, Distribution::Normal { std: 1.5 }));
        assert!(!pole(over, Distribution::Uniform { low: 0.1, high: 20.0 }));
        assert!(!pole(over, Distribution::Weibull { shape: 2.0 }));
        assert!(!pole(over, Distribution::LogNormal { sigma: 3.0 }));
        assert!(!pole("1 s * exp(x / 1 s)", Distribution::Normal { std: 10.0 }));
    }
}
