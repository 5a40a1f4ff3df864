//! Tests that the intervals of medians keep their promise for few readings too, whatever the distribution.

use hemiola_units::Random;

use crate::{Covers, Estimate, NORMAL_975, in_blocks, mean_and_std, median, median_of_times};

/// Enough that chance moves a share by half a percent only.
const REPEATS: usize = 2000;

/// Readings whose distribution is known.
struct Readings {
    name: &'static str,
    median: f64,
    draw: fn(&mut Random, usize) -> f64,
}

const ALL: [Readings; 5] = [
    Readings { name: "normal", median: 20.0, draw: |random, _| 20.0 + 4.0 * random.normal() },
    Readings {
        name: "exponential",
        median: 20.0 * std::f64::consts::LN_2,
        draw: |random, _| -20.0 * (1.0 - random.uniform()).ln(),
    },
    Readings {
        name: "bimodal",
        median: 20.0,
        draw: |random, _| mode(random.uniform() < 0.5, random),
    },
    Readings {
        name: "bimodal, one in three",
        // Three quarters of the lower mode lie below.
        median: 10.0 + 0.674_49 * 0.05,
        draw: |random, _| mode(random.uniform() < 1.0 / 3.0, random),
    },
    Readings { name: "alternating", median: 20.0, draw: |random, at| mode(at % 2 == 1, random) },
];

/// A reading of the upper or the lower of two modes.
fn mode(is_upper: bool, random: &mut Random) -> f64 {
    (if is_upper { 30.0 } else { 10.0 }) + 0.05 * random.normal()
}

/// What many measurements of `count` readings have shown.
struct Shown {
    /// How often the interval contained the true median, and the median of the next measurement.
    truth: f64,
    repeat: f64,
    /// How far the middle of all medians is from the truth, in their standard deviations.
    bias: f64,
    /// The middle half width of the intervals of a repeat, beside that which normal medians would need.
    width: f64,
    needed: f64,
}

fn measured(of: &Readings, count: usize) -> Shown {
    let mut random = Random::from_seed(20_261_127);
    let (mut truth, mut repeat) = (0, 0);
    let (mut values, mut widths) = (Vec::new(), Vec::new());
    let mut before: Option<Estimate> = None;
    for _ in 0..REPEATS {
        let readings: Vec<f64> = (0..count).map(|at| (of.draw)(&mut random, at)).collect();
        let blocks = in_blocks(&readings);
        let now = median_of_times(&blocks, Covers::Truth).unwrap();
        assert_eq!(Some(now.value), median(&readings));
        truth += usize::from(now.contains(of.median));
        repeat += usize::from(before.is_none_or(|before| before.contains(now.value)));
        values.push(now.value);
        let next = median_of_times(&blocks, Covers::Repeat).unwrap();
        widths.push((next.high - next.low) / 2.0);
        before = Some(next);
    }
    let share = |held: usize| held as f64 / REPEATS as f64;
    let (_, std) = mean_and_std(&values).unwrap();
    Shown {
        truth: share(truth),
        repeat: share(repeat),
        bias: (median(&values).unwrap() - of.median) / std,
        width: median(&widths).unwrap(),
        needed: NORMAL_975 * std * f64::sqrt(2.0),
    }
}

#[test]
fn few_readings_have_an_unbiased_median_and_an_interval_that_holds_it() {
    println!("{:<24} count    truth   repeat  bias  half width  needed", "readings");
    for of in &ALL {
        for count in [5, 10, 12, 20, 24, 40, 100, 200, 1000] {
            let Shown { truth, repeat, bias, width, needed } = measured(of, count);
            println!(
                "{:<24} {count:>5} {:>6.1} % {:>6.1} % {bias:>5.2} {width:>11.2} {needed:>7.2}",
                of.name,
                100.0 * truth,
                100.0 * repeat,
            );
            assert!(truth.min(repeat) >= 0.93, "{} of {count}: {truth} {repeat}", of.name);
            // Readings of two kinds have no middle.
            if matches!(of.name, "normal" | "exponential") {
                assert!(bias.abs() < 0.1, "{} of {count}: {bias}", of.name);
                assert!(count < 10 || width < 2.5 * needed, "{} of {count}: {width}", of.name);
            }
        }
    }
}
