//! The verdict: whether the result is inside the expectation, by which factor it is outside, and what would explain it.

use std::collections::BTreeMap;

use hemiola_model::expression::Expression;
use hemiola_model::uncertain::Contribution;
use serde::{Deserialize, Serialize};

/// A value with its range: the middle 95 %, or the whole if it is a stated range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The best single value.
    pub value: f64,
    /// Lower end, systematic part included.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The comparison of a result with the expectation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum ExpectationVerdict {
    /// The whole interval of the value is inside the expected range.
    Inside,
    /// The interval is inside in part: more accuracy would decide.
    Undecided {
        /// Whether the interval reaches below the range.
        below: bool,
        /// Whether it reaches above the range.
        above: bool,
    },
    /// The whole interval is outside.
    Outside {
        /// Whether the value is above the range.
        above: bool,
        /// The ratio between the value and the nearest end of the range, at least 1; `None` unless both are positive.
        factor: Option<f64>,
        /// Measured over expected value; `None` unless both are positive.
        factor_to_expected: Option<f64>,
    },
}

/// An input as a possible cause of a difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Its name.
    pub input: String,
    /// The expectation with this input alone at the lower end of its range, in the figure's unit.
    pub at_low: f64,
    /// The same at the upper end.
    pub at_high: f64,
    /// The factor on this input that alone would explain the difference; `None` if no factor up to `FACTOR_MAX` does.
    pub factor: Option<f64>,
    /// Whether the input's range contains the resulting value.
    pub possible: bool,
}

/// A greater factor explains nothing.
const FACTOR_MAX: f64 = 1e4;

/// Compares a measured value with the expected range.
pub(super) fn verdict(measured: Range, expected: Range) -> ExpectationVerdict {
    let (below, above) = (measured.low < expected.low, measured.high > expected.high);
    if !below && !above {
        return ExpectationVerdict::Inside;
    }
    if measured.low <= expected.high && measured.high >= expected.low {
        return ExpectationVerdict::Undecided { below, above };
    }
    let ratio = |numerator: f64, denominator: f64| {
        (numerator > 0.0 && denominator > 0.0).then(|| numerator / denominator)
    };
    ExpectationVerdict::Outside {
        above,
        factor: if above {
            ratio(measured.value, expected.high)
        } else {
            ratio(expected.low, measured.value)
        },
        factor_to_expected: ratio(measured.value, expected.value),
    }
}

/// The possible causes of an expectation of `target` instead of its value at the `nominal` inputs: the contributing
/// inputs, the largest swing first. All in base units; `ranges` has the 95 % range of each input.
pub(crate) fn causes(
    expectation: &Expression,
    nominal: &BTreeMap<String, f64>,
    ranges: &BTreeMap<String, [f64; 2]>,
    contributions: &[Contribution],
    target: f64,
) -> Vec<Cause> {
    let cause = |contribution: &Contribution| {
        let input = &contribution.input;
        let value = *nominal.get(input)?;
        let factor = factor(|factor| {
            let mut changed = nominal.clone();
            changed.insert(input.clone(), value * factor);
            expectation.evaluate(&changed).map_or(f64::NAN, |found: f64| found - target)
        });
        let holds = |[low, high]: &[f64; 2], needed: f64| (*low..=*high).contains(&needed);
        Some(Cause {
            input: input.clone(),
            at_low: contribution.at_low,
            at_high: contribution.at_high,
            factor,
            possible: factor
                .zip(ranges.get(input))
                .is_some_and(|(factor, range)| holds(range, value * factor)),
        })
    };
    contributions.iter().filter_map(cause).collect()
}

/// The factor nearest to 1 at which `difference` changes sign: outwards in steps of 10 %, then by bisection.
fn factor(difference: impl Fn(f64) -> f64) -> Option<f64> {
    const STEP: f64 = 1.1;
    let start = difference(1.0);
    if start == 0.0 {
        return Some(1.0);
    }
    let passed = |value: f64| value.is_finite() && value.signum() != start.signum();
    let (mut up, mut down) = ([1.0, STEP], [1.0, 1.0 / STEP]);
    while start.is_finite() && up[1] <= FACTOR_MAX * STEP {
        for bracket in [&mut up, &mut down] {
            if passed(difference(bracket[1])) {
                return Some(bisect(*bracket, |factor| passed(difference(factor))));
            }
        }
        up = [up[1], up[1] * STEP];
        down = [down[1], down[1] / STEP];
    }
    None
}

/// The point between the two where `passed` becomes true.
fn bisect([mut before, mut behind]: [f64; 2], passed: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = f64::midpoint(before, behind);
        if passed(middle) { behind = middle } else { before = middle }
    }
    behind
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(value: f64, half: f64) -> Range {
        Range { value, low: value - half, high: value + half }
    }

    #[test]
    fn a_value_is_inside_only_with_its_whole_interval() {
        let of = |value, half| verdict(range(value, half), range(10.0, 2.0));
        let undecided = |below, above| ExpectationVerdict::Undecided { below, above };
        assert_eq!(of(11.0, 1.0), ExpectationVerdict::Inside);
        assert_eq!(of(10.0, 5.0), undecided(true, true));
        assert_eq!(of(11.0, 2.0), undecided(false, true));
        assert_eq!(of(13.0, 2.0), undecided(false, true));
        assert_eq!(of(7.0, 2.0), undecided(true, false));
        // 13.0 µs ± 12.3, expected from 10.5 to 29.5 µs.
        let expected = Range { value: 20.0, low: 10.5, high: 29.5 };
        assert_eq!(verdict(range(13.0, 12.3), expected), undecided(true, false));
    }

    #[test]
    fn the_papers_switch_is_outside_by_a_factor_of_five() {
        // Expected 1640 ns, rounded up to 2 µs; measured 10 µs.
        let expected = Range { value: 1640.0, low: 1300.0, high: 2000.0 };
        let ExpectationVerdict::Outside {
            above: true,
            factor: Some(factor),
            factor_to_expected: Some(whole),
        } = verdict(range(10_000.0, 1_000.0), expected)
        else {
            panic!()
        };
        assert_eq!(factor, 5.0);
        assert!((whole - 6.1).abs() < 0.01);
        let below = verdict(range(650.0, 10.0), expected);
        assert!(
            matches!(below, ExpectationVerdict::Outside { above: false, factor: Some(2.0), .. }),
            "{below:?}"
        );
    }

    #[test]
    fn each_cause_has_the_factor_that_explains_the_difference() {
        // 100 instructions of 5 ns and 6 accesses of 190 ns, measured as 10 µs.
        let expectation = Expression::parse("instructions * 5 ns + accesses * 190 ns").unwrap();
        let nominal = BTreeMap::from([("instructions".into(), 100.0), ("accesses".into(), 6.0)]);
        let ranges = BTreeMap::from([
            ("instructions".into(), [50.0, 400.0]),
            ("accesses".into(), [3.0, 60.0]),
        ]);
        let contribution = |input: &str, low: f64, high: f64| Contribution {
            input: input.into(),
            share: 0.5,
            effect: 1e-9,
            systematic: 0.0,
            at_low: low,
            at_high: high,
        };
        let contributions =
            [contribution("accesses", 1e-6, 12e-6), contribution("instructions", 1.4e-6, 3.1e-6)];
        let causes = causes(&expectation, &nominal, &ranges, &contributions, 10e-6);
        // (10 000 − 500) / 1140 and (10 000 − 1140) / 500.
        assert!(
            (causes[0].factor.unwrap() - 8.333).abs() < 0.001 && causes[0].possible,
            "{causes:?}"
        );
        assert!((causes[1].factor.unwrap() - 17.72).abs() < 0.001 && !causes[1].possible);
    }

    #[test]
    fn an_unexplainable_difference_has_no_factor() {
        assert_eq!(factor(|_| 5.0), None);
        assert_eq!(factor(|_| f64::NAN), None);
        assert_eq!(factor(|_| 0.0), Some(1.0));
    }

    proptest! {
        #[test]
        fn the_factor_of_a_proportional_input_is_the_ratio(ratio in 0.001f64..1000.0) {
            let found = factor(|factor| factor - ratio).unwrap();
            prop_assert!((found / ratio - 1.0).abs() < 1e-6);
        }

        #[test]
        fn a_verdict_is_certain_exactly_if_all_values_of_the_interval_have_it(
            value in -10f64..10.0,
            half in 0f64..5.0,
            low in -5f64..0.0,
            high in 0f64..5.0,
        ) {
            let expected = Range { value: (low + high) / 2.0, low, high };
            let found = verdict(range(value, half), expected);
            let inside = (0..=100).map(|part| value + half * f64::from(part - 50) / 50.0);
            let inside: Vec<bool> = inside.map(|value| low <= value && value <= high).collect();
            let (all, any) = (inside.iter().all(|is| *is), inside.iter().any(|is| *is));
            prop_assert_eq!(found == ExpectationVerdict::Inside, all);
            let is_outside = matches!(found, ExpectationVerdict::Outside { .. });
            // A range between two of these values touches the interval, too.
            prop_assert!(!(is_outside && any) && (is_outside || any || high - low < half / 20.0));
        }
    }
}
