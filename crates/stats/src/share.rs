//! The probability of an event from its count in independent trials.

use statrs::function::gamma::ln_gamma;

/// The interval that contains the probability of an event with at least the confidence `level`, if `hits` of `trials`
/// independent trials had it: from the tails of the binomial distribution (Clopper and Pearson, "The Use of Confidence
/// or Fiducial Limits Illustrated in the Case of the Binomial", 1934). Each end alone holds with (1 + level) / 2. From
/// 0 to 1 for no trial.
///
/// ```
/// use hemiola_stats::share_interval;
/// // Of 10 trials, all hit: 0.025^(1/10).
/// assert!((share_interval(10, 10, 0.95)[0] - 0.6915).abs() < 1e-4);
/// assert_eq!(share_interval(10, 10, 0.95)[1], 1.0);
/// ```
#[must_use]
pub fn share_interval(hits: u64, trials: u64, level: f64) -> [f64; 2] {
    let tail = (1.0 - level) / 2.0;
    let misses = trials - hits;
    // The mirror image of the upper end for the misses; each is computed from its own small number.
    [1.0 - upper(misses, trials, tail), upper(hits, trials, tail)]
}

/// The probability at which so few hits have the probability `tail`.
fn upper(hits: u64, trials: u64, tail: f64) -> f64 {
    if hits == trials {
        return 1.0;
    }
    /// Enough to reach the accuracy of the tails, whatever the steps.
    const STEPS: u32 = 80;
    /// A share of this width is as accurate as the tails.
    const ACCURACY: f64 = 1e-15;
    let excess = |probability: f64| (at_most(hits, trials, probability) / tail).ln();
    // With steps from the share on that double, since the end is a few standard deviations away.
    let mut low = hits as f64 / trials as f64;
    let mut step = (low * (1.0 - low) / trials as f64).sqrt() + (trials as f64).recip();
    let mut at_low = -tail.ln();
    let (mut high, mut at_high) = loop {
        let next = (low + step).min(1.0);
        let found = if next < 1.0 { excess(next) } else { f64::NEG_INFINITY };
        if found <= 0.0 {
            break (next, found);
        }
        (low, at_low, step) = (next, found, 2.0 * step);
    };
    // Regula falsi in the logarithm of the tail, which is nearly straight. An end that stays twice counts half (the
    // Illinois method: Dowell and Jarratt, "A modified regula falsi method", 1971).
    let mut was_above = None;
    for _ in 0..STEPS {
        if high - low <= ACCURACY * high {
            break;
        }
        let straight = low + (high - low) * at_low / (at_low - at_high);
        let inside = low < straight && straight < high;
        let middle = if inside { straight } else { f64::midpoint(low, high) };
        let found = excess(middle);
        let is_above = found > 0.0;
        let stays = was_above.replace(is_above) == Some(is_above);
        let weight = if stays { 0.5 } else { 1.0 };
        if is_above {
            (low, at_low, at_high) = (middle, found, at_high * weight);
        } else {
            (high, at_high, at_low) = (middle, found, at_low * weight);
        }
    }
    high
}

/// The probability of at most so many hits.
fn at_most(hits: u64, trials: u64, probability: f64) -> f64 {
    let (n, k) = (trials as f64, hits as f64);
    let odds = (1.0 - probability) / probability;
    let choices = ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
    let log = choices + k * probability.ln() + (n - k) * (-probability).ln_1p();
    // From the last term downwards: below the mean each is smaller than the one before it.
    let (mut term, mut sum, mut k) = (log.exp(), 0.0, k);
    while term > sum * 1e-12 {
        sum += term;
        term *= k / (n - k + 1.0) * odds;
        k -= 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_those_of_the_published_tables() {
        // Clopper and Pearson's limits for 95 %: 1 of 10, 5 of 10, 0 of 20, 98 of 100.
        for (hits, trials, low, high) in [
            (1, 10, 0.0025, 0.4450),
            (5, 10, 0.1871, 0.8129),
            (0, 20, 0.0, 0.1684),
            (98, 100, 0.9296, 0.9976),
        ] {
            let [from, to] = share_interval(hits, trials, 0.95);
            assert!((from - low).abs() < 1e-4 && (to - high).abs() < 1e-4, "{hits}: {from} {to}");
        }
        assert_eq!(share_interval(0, 0, 0.95), [0.0, 1.0]);
    }

    #[test]
    fn the_probability_of_what_was_counted_or_more_is_the_tail() {
        // By summation in another order, in logarithms.
        for (hits, trials) in [(3_u64, 50_u64), (40, 1_000), (900, 1_000)] {
            let [low, _] = share_interval(hits, trials, 0.999);
            let term = |k: u64| {
                let choices = (1..=k).map(|at| ((trials - k + at) as f64 / at as f64).ln());
                let choices: f64 = choices.sum();
                (choices + k as f64 * low.ln() + (trials - k) as f64 * (1.0 - low).ln()).exp()
            };
            let tail: f64 = (hits..=trials).map(term).sum();
            assert!((tail / 0.0005 - 1.0).abs() < 1e-6, "{hits} of {trials}: {tail}");
        }
    }

    #[test]
    fn many_trials_have_the_interval_of_the_normal_distribution() {
        let (hits, trials) = (1_950_000, 2_000_000);
        let [low, high] = share_interval(hits, trials, 0.95);
        let half = 1.96 * (0.975_f64 * 0.025 / trials as f64).sqrt();
        assert!((low - (0.975 - half)).abs() < 0.01 * half, "{low}");
        assert!((high - (0.975 + half)).abs() < 0.01 * half, "{high}");
    }
}
