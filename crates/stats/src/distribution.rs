//! Points and tails of the normal and of Student's distribution.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Above this many degrees of freedom the inverse of the incomplete beta function loses digits, and the
/// first terms of the expansion around the normal distribution are accurate enough.
const FREEDOM_MAX: f64 = 1e3;

/// The point below which Student's t of that many degrees of freedom (fractions too, 1 at least)
/// lies with the probability `p`: the coverage factor of a two-sided interval is that of
/// `(1 + level) / 2`. Infinitely many degrees give the normal distribution.
///
/// ```
/// use hemiola_stats::student_quantile;
/// assert!((student_quantile(0.975, 10.0) - 2.228).abs() < 5e-4);
/// assert!((student_quantile(0.975, f64::INFINITY) - 1.960).abs() < 5e-4);
/// ```
///
/// # Panics
/// When `p` is not above 0 and below 1, or `freedom` is not a number.
#[must_use]
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a quantile lies between 0 and 1");
    match student(freedom) {
        Some(student) => student.inverse_cdf(p),
        None => {
            // Abramowitz and Stegun 26.7.5, two terms.
            let z = Normal::standard().inverse_cdf(p);
            let first = (z.powi(3) + z) / 4.0;
            let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
            z + first / freedom + second / (freedom * freedom)
        }
    }
}

/// The probability that Student's t of that many degrees of freedom (1 at least) lies farther from 0
/// than `t`, on either side.
///
/// # Panics
/// When `freedom` is not a number.
pub(crate) fn student_tails(t: f64, freedom: f64) -> f64 {
    let beyond = match student(freedom) {
        Some(student) => student.sf(t.abs()),
        // Abramowitz and Stegun 26.7.8.
        None if freedom.is_finite() => {
            let square = t * t;
            let z = t.abs() * (1.0 - 0.25 / freedom) / (1.0 + square / (2.0 * freedom)).sqrt();
            Normal::standard().sf(z)
        }
        None => Normal::standard().sf(t.abs()),
    };
    (2.0 * beyond).clamp(0.0, 1.0)
}

fn student(freedom: f64) -> Option<StudentsT> {
    assert!(!freedom.is_nan(), "degrees of freedom are not NaN");
    (freedom <= FREEDOM_MAX)
        .then(|| StudentsT::new(0.0, 1.0, freedom.max(1.0)).expect("1 or more is positive"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_those_of_the_published_table() {
        // Abramowitz and Stegun, table 26.10.
        for (p, freedom, expected) in [
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.303),
            (0.975, 4.0, 2.776),
            (0.975, 9.0, 2.262),
            (0.975, 30.0, 2.042),
            (0.975, 120.0, 1.980),
            (0.995, 5.0, 4.032),
            (0.95, 16.0, 1.746),
            (0.975, f64::INFINITY, 1.960),
        ] {
            let found = student_quantile(p, freedom);
            assert!((found - expected).abs() < 5.1e-4, "{p} {freedom}: {found}");
        }
    }

    proptest! {
        #[test]
        fn the_tails_beyond_a_quantile_are_what_it_leaves(
            p in 0.5001f64..0.9999,
            freedom in 1.0f64..1e6,
        ) {
            let tails = student_tails(student_quantile(p, freedom), freedom);
            prop_assert!((tails - 2.0 * (1.0 - p)).abs() < 1e-6, "{}", tails);
        }

        #[test]
        fn less_freedom_reaches_farther(p in 0.6f64..0.999, a in 1.0f64..1e6, b in 1.0f64..1e6) {
            let (less, more) = (a.min(b), a.max(b));
            prop_assert!(student_quantile(p, less) >= student_quantile(p, more) - 1e-5);
        }
    }
}
