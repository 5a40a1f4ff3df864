//! Intervals of statistics without a formula, by drawing from the readings again.

use hemiola_units::Random;

use super::dependence::autocorrelation;
use super::value::Value;

/// The interval of `statistic` over readings in the order they were taken, at `level`: `resamples`
/// series are drawn and the middle of their results is kept (percentile method: Efron, "Bootstrap
/// Methods: Another Look at the Jackknife", 1979). Nothing for no readings.
///
/// Series are drawn in stretches of random length that begin anywhere and run around the end (the
/// stationary bootstrap: Politis and Romano, 1994), so readings that depend on their neighbours keep
/// them; the mean length comes from the readings, and is 1 for independent ones. The seed of `random`
/// belongs in the result.
#[must_use]
pub fn bootstrap<V: Value>(
    readings: &[V],
    statistic: impl Fn(&[V]) -> f64,
    random: &mut Random,
    resamples: u32,
    level: f64,
) -> Option<[f64; 2]> {
    let n = readings.len();
    if n == 0 || resamples == 0 {
        return None;
    }
    let break_off = 1.0 / stretch(readings);
    let mut drawn = readings.to_vec();
    let mut results: Vec<f64> = (0..resamples)
        .map(|_| {
            let mut at = 0;
            for (index, value) in drawn.iter_mut().enumerate() {
                at = if index == 0 || random.uniform() < break_off {
                    random.below(n as u64) as usize
                } else {
                    (at + 1) % n
                };
                *value = readings[at];
            }
            statistic(&drawn)
        })
        .collect();
    results.sort_unstable_by(f64::total_cmp);
    let at = |q: f64| results[((q * results.len() as f64) as usize).min(results.len() - 1)];
    let tail = (1.0 - level) / 2.0;
    Some([at(tail), at(1.0 - tail)])
}

/// The mean length of stretches that suits the dependence of the readings: Politis and White,
/// "Automatic Block-Length Selection for the Dependent Bootstrap", 2004, as corrected by Patton,
/// Politis and White, 2009: (G / g)^⅔ n^⅓, with G = Σ λ |k| r(k) and g = Σ λ r(k) over all lags k,
/// where λ falls to 0 at twice the last lag that matters.
fn stretch<V: Value>(readings: &[V]) -> f64 {
    /// So many insignificant correlations in a row end the search.
    const QUIET: usize = 5;
    let n = readings.len() as f64;
    let lag_max = n.sqrt().ceil() as usize;
    let correlations = autocorrelation(readings, lag_max + QUIET);
    let noise = 2.0 * (n.log10() / n).sqrt();
    let significant = |lag: usize| correlations.get(lag).is_some_and(|r| r.abs() >= noise);
    let last = (0..lag_max)
        .find(|last| (1..=QUIET).all(|further| !significant(last + further)))
        .unwrap_or(lag_max);
    let window = 2 * last;
    let (mut slope, mut level) = (0.0, 1.0);
    for (lag, r) in correlations.iter().enumerate().take(window + 1).skip(1) {
        let weight = (2.0 * (1.0 - lag as f64 / window as f64)).min(1.0);
        slope += 2.0 * weight * lag as f64 * r;
        level += 2.0 * weight * r;
    }
    if level <= 0.0 {
        return 1.0;
    }
    let length = (slope.abs() / level).powf(2.0 / 3.0) * n.cbrt();
    length.clamp(1.0, (3.0 * n.sqrt()).min(n / 3.0).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn bootstrap_repeats_with_its_seed_and_covers_the_mean() {
        let values: Vec<i64> = (0..100).map(|n| n * 37 % 100).collect();
        let mean = |v: &[i64]| v.iter().sum::<i64>() as f64 / v.len() as f64;
        let run = |seed| bootstrap(&values, mean, &mut Random::from_seed(seed), 500, 0.95).unwrap();
        assert_eq!(run(1), run(1));
        let [low, high] = run(1);
        assert!(low < 49.5 && 49.5 < high && high - low < 15.0, "{low} {high}");
        assert_eq!(bootstrap(&[], mean, &mut Random::from_seed(1), 500, 0.95), None);
    }

    #[test]
    fn independent_readings_are_drawn_one_by_one() {
        let mut random = Random::from_seed(3);
        let values: Vec<f64> = (0..500).map(|_| random.normal()).collect();
        assert_eq!(stretch(&values), 1.0);
        assert_eq!(stretch(&[5; 20]), 1.0);
        assert_eq!(stretch(&[5]), 1.0);
    }

    #[test]
    fn dependent_readings_are_drawn_in_stretches_and_the_interval_is_as_wide_as_it_must_be() {
        let mut random = Random::from_seed(4);
        let mut state = 0.0;
        let values: Vec<f64> = (0..2000)
            .map(|_| {
                state = 0.8 * state + random.normal();
                state
            })
            .collect();
        // G = 2ρ / (1 − ρ)² = 40 and g = (1 + ρ) / (1 − ρ) = 9 give 34.
        let length = stretch(&values);
        assert!((17.0..68.0).contains(&length), "{length}");
        // ± 1.96 × (1 / 0.2) / sqrt(2000) = 0.219 by theory, 0.073 if they were independent.
        let [low, high] = bootstrap(&values, mean, &mut random, 1000, 0.95).unwrap();
        assert!((0.3..0.55).contains(&(high - low)), "{low} {high}");
    }
}
