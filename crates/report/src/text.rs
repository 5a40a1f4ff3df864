//! How figures are written for people.

use hemiola_stats::Difference;

/// Stands in a table where there is no figure.
pub const NONE: &str = "–";

/// Nanoseconds in the unit that leaves one to three digits before the point, with three digits in
/// all: `"950 ns"`, `"4.21 µs"`, `"20.0 ms"`.
///
/// ```
/// use hemiola_report::text::duration;
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

/// A round length of time without the zeros that show its precision, as an axis wants it: `"10 ms"`.
#[must_use]
pub fn round_duration(nanos: f64) -> String {
    let text = duration(nanos);
    let Some((number, unit)) = text.split_once(' ') else { return text };
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    format!("{number} {unit}")
}

/// Bytes in the unit of 1024 that leaves the least number of 1 or more: `"64 KiB"`, `"1.5 MiB"`.
///
/// ```
/// use hemiola_report::text::size;
/// assert_eq!([size(512.0), size(65_536.0), size(1.5e6)], ["512 B", "64 KiB", "1.43 MiB"]);
/// ```
#[must_use]
pub fn size(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut units = UNITS.iter();
    let mut unit = units.next().expect("there are five");
    while value.abs() >= 1024.0
        && let Some(larger) = units.next()
    {
        value /= 1024.0;
        unit = larger;
    }
    if value == value.trunc() {
        format!("{value} {unit}")
    } else {
        format!("{} {unit}", digits3(value))
    }
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

/// A difference in ns as cells of a table: its value, with its share of `whole`, and its interval.
pub fn difference_cells(difference: Option<Difference>, whole: f64) -> [String; 2] {
    let Some(Difference { value, low, high, .. }) = difference else {
        return [NONE; 2].map(Into::into);
    };
    let share = percent(value / whole.max(1.0));
    [format!("{} ({share})", duration(value)), format!("{} … {}", duration(low), duration(high))]
}

/// A number that a program marked, in at most six decimals or as a power of ten: `"0.25"`, `"1.50e9"`.
#[must_use]
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if !(1e-3..1e6).contains(&size) => format!("{value:.2e}"),
        _ => ((value * 1e6).round() / 1e6).to_string(),
    }
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

/// A count with its noun, which is in the plural unless there is exactly one: `"1 entity"`, `"2 000 switches"`.
///
/// ```
/// use hemiola_report::text::counted;
/// assert_eq!(counted(1, "figure"), "1 figure");
/// assert_eq!(counted(0, "kernel event"), "0 kernel events");
/// assert_eq!(counted(3, "switch"), "3 switches");
/// assert_eq!(counted(2, "entity"), "2 entities");
/// ```
#[must_use]
pub fn counted(value: u64, noun: &str) -> String {
    let hisses = ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end));
    let consonant_y =
        noun.ends_with('y') && !["ay", "ey", "oy"].iter().any(|end| noun.ends_with(end));
    let number = count(value);
    match noun {
        _ if value == 1 => format!("{number} {noun}"),
        _ if consonant_y => format!("{number} {}ies", &noun[..noun.len() - 1]),
        _ if hisses => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// A number of things as the subject of a sentence in the past: [`counted`], and `was` or `were`.
///
/// ```
/// # use hemiola_report::text::were;
/// assert_eq!(were(1, "mark"), "1 mark was");
/// assert_eq!(were(2, "mark"), "2 marks were");
/// ```
#[must_use]
pub fn were(value: u64, noun: &str) -> String {
    let verb = if value == 1 { "was" } else { "were" };
    format!("{} {verb}", counted(value, noun))
}

/// A text that a stranger chose, safe to print in one line: control characters, line separators, and invisible
/// characters that change the direction of text are written as escapes such as `\u{202e}`.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) { safe.extend(c.escape_unicode()) } else { safe.push(c) }
    }
    safe
}

/// A text of several lines, each of them [`printable`].
///
/// ```
/// use hemiola_report::text::printable_lines;
/// assert_eq!(printable_lines("a\x1b[2J\nb\n"), "a\\u{1b}[2J\nb\n");
/// ```
#[must_use]
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<String>>().join("\n")
}

/// Control characters, the line and paragraph separators, and the characters of the bidirectional algorithm (Unicode
/// Standard Annex 9, section 2) with other invisible ones.
const fn is_unsafe(c: char) -> bool {
    matches!(c, '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{61c}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
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

/// Seconds since 1970 as year, month, day, hour, minute and second, UTC, by the days of the Gregorian
/// calendar counted from March (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
#[must_use]
pub fn calendar(unix_s: u64) -> [u64; 6] {
    let (days, seconds) = (unix_s / 86_400 + 719_468, unix_s % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    [year, month, day, seconds / 3600, seconds / 60 % 60, seconds % 60]
}

/// Seconds since 1970 as date and time for people: `"2023-11-14 22:13 UTC"`.
#[must_use]
pub fn date(unix_s: u64) -> String {
    let [year, month, day, hour, minute, _] = calendar(unix_s);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_s_text_moves_neither_the_cursor_nor_the_direction() {
        let text = "caf\u{e9} \u{202e}evil\n\x1b[2J\u{2066}\u{85}\u{5d0}";
        let safe = "caf\u{e9} \\u{202e}evil\\u{a}\\u{1b}[2J\\u{2066}\\u{85}\u{5d0}";
        assert_eq!(printable(text), safe);
    }

    #[test]
    fn dates_are_right_around_leap_days() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_700_000_000, "2023-11-14 22:13 UTC"),
            (4_107_542_399, "2100-02-28 23:59 UTC"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }

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
