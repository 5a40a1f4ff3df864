//! How figures are written for people.

/// Nanoseconds in the unit that leaves one to three digits before the point, with three digits in
/// all: `"950 ns"`, `"4.21 µs"`, `"20.0 ms"`.
///
/// ```
/// use hemiola_analyze::text::duration;
/// assert_eq!(duration(4_214.0), "4.21 µs");
/// assert_eq!(duration(-20e6), "-20.0 ms");
/// assert_eq!(duration(0.0), "0 ns");
/// ```
#[must_use]
pub fn duration(nanos: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    // 999.6 ns is nearer to 1.00 µs than to 999 ns.
    let (scale, unit) =
        UNITS.into_iter().find(|(scale, _)| nanos.abs() >= 0.9995 * scale).unwrap_or((1.0, "ns"));
    let value = nanos / scale;
    if value == value.trunc() && unit == "ns" {
        return format!("{value} ns");
    }
    format!("{} {unit}", digits3(value))
}

/// Microseconds with three digits, as a table column under a µs heading wants them.
#[must_use]
pub fn micros(nanos: f64) -> String {
    digits3(nanos / 1e3)
}

/// A ratio: `"1.32 ×"`.
#[must_use]
pub fn ratio(value: f64) -> String {
    format!("{} ×", digits3(value))
}

/// A share as a percentage: `"4.2 %"`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Whole numbers in groups of three, as `"15 617"`.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            // A no-break space, so that a number stays on one line.
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits, never fewer than the whole part has.
fn digits3(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_keep_three_digits() {
        for (nanos, text) in [
            (1.0, "1 ns"),
            (22.5, "22.5 ns"),
            (999.6, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (123_456.0, "123 µs"),
            (20_000_000.0, "20.0 ms"),
            (61e9, "61.0 s"),
        ] {
            assert_eq!(duration(nanos), text);
        }
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1\u{a0}234\u{a0}567");
    }
}
