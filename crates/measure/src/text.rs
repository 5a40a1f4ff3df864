//! Values of figures as text.

use hemiola_report::text::{duration, size};

/// A figure's value in the most readable unit: `"2.31 µs"`, `"32 KiB"`, `"1.20 GiB/s"`.
pub(crate) fn value(value: f64, unit: &str) -> String {
    match unit {
        "ns" => duration(value),
        "B" => size(value),
        "B/s" => format!("{}/s", size(value)),
        "1/s" => {
            let (scale, prefix) = [(1e9, " G"), (1e6, " M"), (1e3, " k")]
                .into_iter()
                .find(|(scale, _)| value.abs() >= *scale)
                .unwrap_or((1.0, " "));
            format!("{:.2}{prefix}/s", value / scale).replace(" /s", "/s")
        }
        unit => format!("{value} {unit}"),
    }
}

/// An interval: `"2.10 µs … 2.40 µs"`.
pub(crate) fn interval(low: f64, high: f64, unit: &str) -> String {
    format!("{} … {}", value(low, unit), value(high, unit))
}

/// A waiting time: `"4 s"`, `"12 min"`.
pub(crate) fn wait(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{:.0} s", s.max(1.0)),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_most_readable_unit() {
        for (number, unit, text) in [
            (0.38, "ns", "0.38 ns"),
            (2310.0, "ns", "2.31 µs"),
            (32768.0, "B", "32 KiB"),
            (1.5e9, "B/s", "1.40 GiB/s"),
            (12.0, "1/s", "12.00/s"),
            (2.5e6, "1/s", "2.50 M/s"),
        ] {
            assert_eq!(value(number, unit), text);
        }
        assert_eq!([wait(0.2), wait(70.0), wait(600.0)], ["1 s", "70 s", "10 min"]);
    }
}
