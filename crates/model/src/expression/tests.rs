//! Formulas, their errors with places, and their arithmetic over numbers and intervals.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The value and dimension of a formula over a time `t` of 2 s, a size `b` of 6 bytes and a number `n` of 3.
fn value(text: &str) -> (f64, Dimension) {
    let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let values = BTreeMap::from([("t", 2.0), ("b", 6.0), ("n", 3.0), ("cache.hit@load", 0.5)]);
    let dimensions = BTreeMap::from([
        ("t", Dimension::TIME),
        ("b", Dimension::INFORMATION),
        ("n", Dimension::NONE),
        ("cache.hit@load", Dimension::NONE),
    ]);
    let dimension = expression
        .dimension(&dimensions, Units::built_in())
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    (expression.evaluate(&values).unwrap(), dimension)
}

#[test]
fn formulas_are_computed_by_the_rules_of_arithmetic() {
    let rate = Dimension::INFORMATION / Dimension::TIME;
    for (text, number, dimension) in [
        ("1 + 2 * 3", 7.0, Dimension::NONE),
        ("(1 + 2) * 3", 9.0, Dimension::NONE),
        ("10 - 4 - 3", 3.0, Dimension::NONE),
        ("12 / 3 / 2", 2.0, Dimension::NONE),
        ("2 ^ 3 ^ 2", 512.0, Dimension::NONE),
        ("-2 ^ 2", -4.0, Dimension::NONE),
        ("2 ^ -1", 0.5, Dimension::NONE),
        ("--n", 3.0, Dimension::NONE),
        ("t * n", 6.0, Dimension::TIME),
        ("b / t", 3.0, rate),
        ("b / 3 B/s", 2.0, Dimension::TIME),
        ("1 GiB/s * t", 2_147_483_648.0, Dimension::INFORMATION),
        ("500/s * t", 1000.0, Dimension::NONE),
        ("6 / t", 3.0, Dimension::RATE),
        ("500 ms/n", 0.5 / 3.0, Dimension::TIME),
        ("1 min/min(n, 2)", 30.0, Dimension::TIME),
        ("t ^ 2", 4.0, Dimension::TIME.pow(2)),
        ("(t^2) ^ (1/2)", 2.0, Dimension::TIME),
        ("sqrt(t * t)", 2.0, Dimension::TIME),
        ("max(t, 1 s, 5000 ms)", 5.0, Dimension::TIME),
        ("min(b, 1 KiB)", 6.0, Dimension::INFORMATION),
        ("ceil(b / 4 B)", 2.0, Dimension::NONE),
        ("floor(n / 2) + round(2.5)", 4.0, Dimension::NONE),
        ("ln(exp(n))", 3.0, Dimension::NONE),
        ("abs(-t)", 2.0, Dimension::TIME),
        ("sin(0) + cos(0)", 1.0, Dimension::NONE),
        ("5 % * cache.hit@load", 0.025, Dimension::NONE),
        ("9.81 m/s^2 * t^2", 39.24, Dimension::LENGTH),
    ] {
        let (found, of) = value(text);
        assert!((found - number).abs() <= number.abs() * 1e-12, "{text}: {found}");
        assert_eq!(of, dimension, "{text}");
    }
}

/// The place and the message of the error in a formula.
fn refused(text: &str) -> String {
    let known = BTreeMap::from([
        ("call.cost", Dimension::TIME),
        ("page.size", Dimension::INFORMATION),
        ("count", Dimension::NONE),
    ]);
    let error = match Expression::parse(text) {
        Ok(expression) => expression.dimension(&known, Units::built_in()).expect_err(text),
        Err(error) => error,
    };
    let at = error.at();
    assert!(text.is_char_boundary(at.start) && text.is_char_boundary(at.end), "{text}");
    format!("[{}] {error}", &text[at])
}

#[test]
fn an_error_in_a_formula_is_reported_with_its_place() {
    for (text, expected) in [
        ("", "[] expected a number, a name or \"(\", found the end"),
        ("2 +", "[] expected a number, a name or \"(\", found the end"),
        ("2 + * 3", "[*] expected a number, a name or \"(\", found '*'"),
        ("(2 + 3", "[] expected an operator or \")\", found the end"),
        ("2 ) 3", "[)] expected an operator or the end, found ')'"),
        ("count count", "[c] expected an operator or the end, found 'c'"),
        ("2 − 1", "[−] expected an operator or the end, found '−'"),
        ("1e999 * 2", "[1] expected a number below 1.8e308, found '1'"),
        ("3 msec + 1 s", "[msec] unknown unit \"msec\"; did you mean \"ms\"?"),
        ("1 s + maxx(1, 2)", "[maxx] unknown function \"maxx\"; did you mean \"max\"?"),
        ("1 + max(2)", "[max(2)] max takes two arguments or more, found 1"),
        ("exp()", "[exp()] exp takes one argument, found 0"),
        ("exp(1, 2)", "[exp(1, 2)] exp takes one argument, found 2"),
        ("min(1,)", "[)] expected a number, a name or \"(\", found ')'"),
        ("2 * cal.cost", "[cal.cost] nothing is named \"cal.cost\"; did you mean \"call.cost\"?"),
    ] {
        assert_eq!(refused(text), expected, "{text}");
    }
}

#[test]
fn incompatible_units_are_reported_with_their_place() {
    for (text, expected) in [
        (
            "2 * (call.cost + page.size) * count",
            "[call.cost + page.size] units do not fit: time + information",
        ),
        ("1 ms - 5", "[1 ms - 5] units do not fit: time - a number"),
        ("max(1, 2, 3 B)", "[max(1, 2, 3 B)] units do not fit: max of a number and information"),
        (
            "exp(call.cost)",
            "[exp(call.cost)] units do not fit: exp of time; divide it by a unit first, as in x / (1 ms)",
        ),
        (
            "2 ^ call.cost",
            "[2 ^ call.cost] units do not fit: the exponent is time; it must be a number",
        ),
        (
            "call.cost ^ count",
            "[call.cost ^ count] units do not fit: time to a power that is not constant",
        ),
        (
            "call.cost ^ 0.3",
            "[call.cost ^ 0.3] units do not fit: time to the power of 0.3 has no unit",
        ),
        ("sqrt(call.cost)", "[sqrt(call.cost)] units do not fit: the root of time has no unit"),
    ] {
        assert_eq!(refused(text), expected, "{text}");
    }
}

#[test]
fn only_a_formula_beyond_the_limits_is_rejected() {
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Expression::parse(&nested(60)).is_ok());
    for text in [nested(100_000), nested(200), "-".repeat(200) + "1", "1^".repeat(200) + "1"] {
        let error = Expression::parse(&text).unwrap_err();
        assert!(matches!(error, ExpressionError::TooLarge { .. }), "{error}");
    }
    assert!(Expression::parse(&("1+".repeat(5000) + "1")).is_ok());
}

#[test]
fn names_are_listed_in_text_order_with_their_places() {
    let expression = Expression::parse("a.b * (c + a.b)").unwrap();
    let names: Vec<_> = expression.names().collect();
    assert_eq!(names, [("a.b", 0..3), ("c", 7..8), ("a.b", 11..14)]);
}

fn interval(text: &str, x: (f64, f64)) -> (f64, f64) {
    let expression = Expression::parse(text).unwrap();
    let of = BTreeMap::from([("x", Interval { low: x.0, high: x.1 })]);
    let result = expression.evaluate(&of).unwrap();
    (result.low, result.high)
}

#[test]
fn intervals_cover_the_worst_case() {
    const ALL: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
    for (text, x, expected) in [
        ("x + 1", (1.0, 2.0), (2.0, 3.0)),
        ("3 - x", (1.0, 2.0), (1.0, 2.0)),
        ("x * x", (-1.0, 2.0), (-2.0, 4.0)),
        ("x ^ 2", (-1.0, 2.0), (0.0, 4.0)),
        ("x ^ 3", (-1.0, 2.0), (-1.0, 8.0)),
        ("x ^ -2", (-2.0, 1.0), (0.25, f64::INFINITY)),
        ("x ^ 0.5", (-1.0, 4.0), (0.0, 2.0)),
        ("2 ^ x", (-1.0, 2.0), (0.5, 4.0)),
        ("10 / x", (2.0, 5.0), (2.0, 5.0)),
        ("1 / x", (-1.0, 1.0), ALL),
        ("1 / x", (0.0, 2.0), (0.5, f64::INFINITY)),
        ("1 / x", (-2.0, 0.0), (f64::NEG_INFINITY, -0.5)),
        ("x / x", (1.0, f64::INFINITY), (0.0, f64::INFINITY)),
        ("sqrt(x)", (-1.0, 4.0), (0.0, 2.0)),
        ("ln(x)", (0.0, 1.0), (f64::NEG_INFINITY, 0.0)),
        ("abs(x)", (-3.0, 2.0), (0.0, 3.0)),
        ("ceil(x / 2)", (10.0, 11.0), (5.0, 6.0)),
        ("min(x, 1)", (0.0, 2.0), (0.0, 1.0)),
        ("cos(x)", (-1.0, 7.0), (-1.0, 1.0)),
        ("cos(x)", (0.5, 1.0), (1_f64.cos(), 0.5_f64.cos())),
    ] {
        assert_eq!(interval(text, x), expected, "{text} over {x:?}");
    }
    let (low, high) = interval("sin(x)", (0.0, 2.0));
    assert!(low.abs() < 1e-12 && high == 1.0);
    assert!(interval("sqrt(x)", (-2.0, -1.0)).0.is_nan());
    assert!(interval("sqrt(x) + 1", (-2.0, -1.0)).0.is_nan());
}

/// A formula over `x` and `y`, and a function that computes the same.
fn formulas() -> impl Strategy<Value = (String, fn(f64, f64) -> f64)> {
    type Formula = (&'static str, fn(f64, f64) -> f64);
    const FORMULAS: [Formula; 14] = [
        ("x + y", |x, y| x + y),
        ("x - y * 2", |x, y| x - y * 2.0),
        ("x * y", |x, y| x * y),
        ("x / y", |x, y| x / y),
        ("(x + y) / (x - y)", |x, y| (x + y) / (x - y)),
        ("x ^ 2 - y ^ 3", |x, y| x.powi(2) - y.powi(3)),
        ("abs(x) ^ (y / 10)", |x, y| x.abs().powf(y / 10.0)),
        ("sqrt(x) + ln(y)", |x, y| x.sqrt() + y.ln()),
        ("exp(x / 10) * cos(y)", |x, y| (x / 10.0).exp() * y.cos()),
        ("min(x, y) * max(x, y, 1)", |x, y| x.min(y) * x.max(y).max(1.0)),
        ("ceil(x) + floor(y) * round(x)", |x, y| x.ceil() + y.floor() * x.round()),
        ("abs(x - y) / (1 + x ^ 2)", |x, y| (x - y).abs() / (1.0 + x.powi(2))),
        ("sin(x * y) ^ 2", |x, y| (x * y).sin().powi(2)),
        ("-x ^ -2", |x, _| -x.powi(-2)),
    ];
    prop::sample::select(&FORMULAS[..]).prop_map(|(text, direct)| (text.to_owned(), direct))
}

fn near(found: f64, expected: f64) -> bool {
    found == expected
        || found.is_nan() && expected.is_nan()
        || (found - expected).abs() <= 1e-9 * expected.abs().max(1e-9)
}

proptest! {
    #[test]
    fn a_formula_has_the_value_of_the_same_rust_code(
        (text, direct) in formulas(), x in -20.0..20.0, y in -20.0..20.0,
    ) {
        let values = BTreeMap::from([("x", x), ("y", y)]);
        let found: f64 = Expression::parse(&text).unwrap().evaluate(&values).unwrap();
        // `f64::min` and `f64::max` ignore NaN; those of a formula do not.
        prop_assert!(near(found, direct(x, y)), "{} at {}, {}: {}", text, x, y, found);
    }

    #[test]
    fn an_interval_holds_every_value_at_points_inside(
        (text, direct) in formulas(),
        ends in prop::array::uniform4(-20.0..20.0),
        place in prop::array::uniform2(0.0..=1.0),
    ) {
        let [x, y] = [(ends[0], ends[1]), (ends[2], ends[3])].map(|(a, b)| Interval::between(a, b));
        let at = |interval: Interval, place: f64| {
            (interval.low + interval.width() * place).clamp(interval.low, interval.high)
        };
        let value = direct(at(x, place[0]), at(y, place[1]));
        let all = Expression::parse(&text).unwrap();
        let all: Interval = all.evaluate(&BTreeMap::from([("x", x), ("y", y)])).unwrap();
        let slack = 1e-9 * value.abs().max(1e-9);
        let held = all.low - slack <= value && value <= all.high + slack;
        prop_assert!(value.is_nan() || held, "{} is {}, not in {:?}", text, value, all);
    }

    #[test]
    fn any_text_is_parsed_or_rejected_at_a_place_within_it(text in "[-+*/^() ,.a-z0-9%µ]{0,40}") {
        match Expression::parse(&text) {
            Ok(expression) => {
                let again = Expression::parse(&expression.to_string());
                prop_assert_eq!(again, Ok(expression));
            }
            Err(error) => prop_assert!(text.get(error.at()).is_some()),
        }
    }

    #[test]
    fn the_dimension_of_a_product_is_the_sum_of_its_factors(
        a in prop::array::uniform3(-3_i32..=3), b in prop::array::uniform3(-3_i32..=3),
    ) {
        let of = |[t, l, i]: [i32; 3]| {
            Dimension::TIME.pow(t) * Dimension::LENGTH.pow(l) * Dimension::INFORMATION.pow(i)
        };
        let expression = Expression::parse("a * b").unwrap();
        let known = BTreeMap::from([("a", of(a)), ("b", of(b))]);
        let sum: [i32; 3] = std::array::from_fn(|at| a[at] + b[at]);
        prop_assert_eq!(expression.dimension(&known, Units::built_in()), Ok(of(sum)));
        let quotient = Expression::parse("a * b / b").unwrap();
        prop_assert_eq!(quotient.dimension(&known, Units::built_in()), Ok(of(a)));
    }
}
