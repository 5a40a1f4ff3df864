//! A quantity as text: three significant digits and a prefix, such as `72 ms`.

use std::fmt;
use std::str::FromStr;

use super::dimension::{BASE, OWN, fraction};
use super::{Dimension, Quantity, QuantityError, Units, number_at_start};

/// A number and a built-in unit: `"80 µs"`, `"-1.5 GiB/s"`, `"5 %"`, `"500/s"`, `"0.5"`.
impl FromStr for Quantity {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Units::built_in().quantity(text)
    }
}

impl Units {
    /// A number and a unit, such as `"80 µs"` or, where it is declared, `"-0.02 EUR/s"`.
    ///
    /// # Errors
    /// The number is missing, or the unit is unknown.
    pub fn quantity(&self, text: &str) -> Result<Quantity, QuantityError> {
        let trimmed = text.trim();
        let unsigned = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
        let (number, taken) = number_at_start(unsigned)
            .filter(|(number, _)| number.is_finite())
            .ok_or_else(|| QuantityError::NoNumber { at: 0..text.len(), text: text.to_owned() })?;
        let number = if trimmed.starts_with('-') { -number } else { number };
        let unit = &unsigned[taken..];
        // `5 1/s` is five per second; `5 12/s` is not a quantity.
        let start = unit.as_ptr() as usize - text.as_ptr() as usize;
        Ok(Quantity::of(number, &self.unit(unit).map_err(|error| error.after(start))?))
    }

    /// The quantity as text, in the format of [`Quantity`], with these units.
    #[must_use]
    pub fn show(&self, quantity: Quantity) -> ShownQuantity<'_> {
        ShownQuantity { quantity, units: self }
    }

    /// The dimension as text: `energy/requests`, `a number`.
    #[must_use]
    pub fn name(&self, dimension: Dimension) -> String {
        if dimension == Dimension::NONE {
            return dimension.to_string();
        }
        let powers: Vec<_> =
            self.powers(dimension).into_iter().map(|base| (base.name, base.power)).collect();
        fraction(&powers, "*")
    }

    /// The unit of values in base units, such as `s`, `J/req` or `1/s`; `1` for a pure number.
    #[must_use]
    pub fn base_unit(&self, dimension: Dimension) -> String {
        let text = fraction(&self.unit_powers(dimension), "·");
        if text.is_empty() { "1".to_owned() } else { text }
    }

    fn unit_powers(&self, dimension: Dimension) -> Vec<(&str, i8)> {
        self.powers(dimension).into_iter().map(|base| (base.unit, base.power)).collect()
    }

    /// The factors of a dimension. Its built-in part is one factor if it has a unit of its own, such as the joule.
    fn powers(&self, dimension: Dimension) -> Vec<Factor<'_>> {
        let built_in = dimension.built_in();
        let derived = |of: Dimension, power: i8| {
            let known = DERIVED.iter().find(|(.., exponents)| Dimension::of(*exponents) == of);
            known.map(|&(name, unit, _)| Factor { name, unit, power, prefixes: true })
        };
        // 1/J is shown so only beside another quantity.
        let below = || derived(built_in.pow(-1), -1).filter(|_| built_in != dimension);
        let mut found: Vec<Factor<'_>> = match derived(built_in, 1).or_else(below) {
            Some(factor) => vec![factor],
            None => {
                let all = BASE.iter().zip(built_in.exponents()).filter(|(_, power)| *power != 0);
                all.map(|(&(name, unit), power)| Factor {
                    name,
                    unit,
                    power,
                    prefixes: unit != "kg",
                })
                .collect()
            }
        };
        found.extend(dimension.own_exponents().map(
            |(index, power)| match self.own_quantity(index) {
                Some((name, unit, prefixes)) => Factor { name, unit, power, prefixes },
                None => {
                    let (name, unit) = OWN[index];
                    Factor { name, unit, power, prefixes: false }
                }
            },
        ));
        found
    }
}

/// A power of a quantity in a dimension.
struct Factor<'u> {
    name: &'u str,
    unit: &'u str,
    power: i8,
    /// Whether the unit takes prefixes.
    prefixes: bool,
}

const DECIMAL: [(&str, i32); 8] =
    [("p", -12), ("n", -9), ("µ", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9)];

/// Dimensions with a name and a unit of their own: exponents of s, m, kg, A, K, B.
const DERIVED: [(&str, &str, [i8; 6]); 6] = [
    ("force", "N", [-2, 1, 1, 0, 0, 0]),
    ("pressure", "Pa", [-2, -1, 1, 0, 0, 0]),
    ("energy", "J", [-2, 2, 1, 0, 0, 0]),
    ("power", "W", [-3, 2, 1, 0, 0, 0]),
    ("voltage", "V", [-3, 2, 1, -1, 0, 0]),
    ("resistance", "Ω", [-3, 2, 1, -2, 0, 0]),
];

/// A quantity to be shown with the units of a text. See [`Units::show`].
#[derive(Clone, Copy, Debug)]
pub struct ShownQuantity<'u> {
    quantity: Quantity,
    units: &'u Units,
}

/// In built-in units, as [`Units::show`] shows it.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Units::built_in().show(*self).fmt(f)
    }
}

/// Uses the prefix that leaves 1 to 999 in front of it, if there is one. `{:.6}` asks for six significant
/// digits instead of three. Whole multiples of 1024 bytes use binary prefixes: `64 KiB`.
impl fmt::Display for ShownQuantity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(3).clamp(1, 17);
        let text = binary(self.quantity).unwrap_or_else(|| {
            let Quantity { value, dimension } = self.quantity;
            if let Some((value, unit)) = per_many(value, dimension, self.units) {
                return decimal(value, &unit, false, digits);
            }
            let (unit, prefixes) = unit(dimension, self.units);
            decimal(value, &unit, prefixes, digits)
        });
        // Not `pad`: the precision would cut the text.
        match f.width() {
            Some(width) if f.align() == Some(fmt::Alignment::Left) => write!(f, "{text:<width$}"),
            Some(width) => write!(f, "{text:>width$}"),
            None => f.write_str(&text),
        }
    }
}

/// `64 KiB`, if the quantity is a whole number of such a unit.
fn binary(quantity: Quantity) -> Option<String> {
    if quantity.dimension != Dimension::INFORMATION {
        return None;
    }
    let whole = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)].into_iter().find_map(
        |(unit, power)| {
            let number = quantity.value / f64::from(power).exp2();
            (number.fract() == 0.0 && (1.0..1024.0).contains(&number.abs()))
                .then_some((number, unit))
        },
    );
    whole.map(|(number, unit)| format!("{number} {unit}"))
}

/// The unit without a prefix (`/s` if the numerator is empty), and whether it can take a prefix.
fn unit(dimension: Dimension, units: &Units) -> (String, bool) {
    let text = fraction(&units.unit_powers(dimension), "·");
    let powers = units.powers(dimension);
    let first = powers.iter().find(|factor| factor.power > 0);
    let prefixes = first.is_some_and(|factor| factor.power == 1 && factor.prefixes);
    // No symbol starts with a digit.
    match text.strip_prefix('1') {
        Some(below) => (below.to_owned(), prefixes),
        None => (text, prefixes),
    }
}

/// A small amount of a declared quantity that takes no prefixes, per a thousand or more of something that does:
/// 0.00003 EUR/req is 30 EUR/Mreq.
fn per_many(value: f64, dimension: Dimension, units: &Units) -> Option<(f64, String)> {
    /// Smaller values are shown so.
    const LEAST: f64 = 1e-3;
    let has_own = dimension != dimension.built_in();
    if !(has_own && value != 0.0 && value.abs() < LEAST) {
        return None;
    }
    let mut powers = units.powers(dimension);
    if powers.iter().find(|factor| factor.power > 0)?.prefixes {
        return None;
    }
    // Kiloseconds are not in use.
    let takes =
        |factor: &&mut Factor<'_>| factor.power == -1 && factor.prefixes && factor.unit != "s";
    let below = powers.iter_mut().find(takes)?;
    let (prefix, power) = [("k", 3), ("M", 6), ("G", 9), ("T", 12)]
        .into_iter()
        .find(|(_, power)| *power == 12 || value.abs() * 10_f64.powi(*power) >= 1.0)?;
    let unit = format!("{prefix}{}", below.unit);
    below.unit = &unit;
    let powers: Vec<_> = powers.iter().map(|factor| (factor.unit, factor.power)).collect();
    Some((value * 10_f64.powi(power), fraction(&powers, "·")))
}

fn decimal(value: f64, unit: &str, prefixes: bool, digits: usize) -> String {
    let joined = |number: &str, prefix: &str| match unit.chars().next() {
        None | Some('/') => format!("{number}{unit}"),
        Some(_) => format!("{number} {prefix}{unit}"),
    };
    if !value.is_finite() {
        return joined(&value.to_string(), "");
    }
    // Rounds first: 999.6 µs is 1 ms in three digits, not 1000 µs.
    let rounded = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = rounded.split_once('e').expect("written by {:e}");
    let exponent: i32 = exponent.parse().expect("written by {:e}");
    // Kiloseconds are not in use.
    let largest = if unit == "s" { 0 } else { 9 };
    let group =
        if prefixes && value != 0.0 { (exponent.div_euclid(3) * 3).clamp(-12, largest) } else { 0 };
    let shift = exponent - group;
    if !(-4..9).contains(&shift) {
        return joined(&format!("{}e{shift}", trimmed(mantissa)), prefix(group));
    }
    joined(&trimmed(&moved(mantissa, shift)), prefix(group))
}

fn prefix(group: i32) -> &'static str {
    DECIMAL.iter().find(|(_, power)| *power == group).map_or("", |(prefix, _)| prefix)
}

/// `"7.20"` with its point moved by one place to the right is `"72.0"`.
fn moved(mantissa: &str, places: i32) -> String {
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let before = usize::try_from(1 + places).unwrap_or(0);
    let text = if before == 0 {
        format!("0.{}{digits}", "0".repeat(places.unsigned_abs() as usize - 1))
    } else if before >= digits.len() {
        format!("{digits}{}", "0".repeat(before - digits.len()))
    } else {
        format!("{}.{}", &digits[..before], &digits[before..])
    };
    format!("{sign}{text}")
}

/// The number without trailing zeros of a fraction.
fn trimmed(number: &str) -> String {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        number.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantities_are_shown_in_three_digits() {
        for (text, shown) in [
            ("72 ms", "72 ms"),
            ("4608 ms", "4.61 s"),
            ("0.0001234567 s", "123 µs"),
            ("999.6 µs", "1 ms"),
            ("86400 s", "86400 s"),
            ("-1.5 ns", "-1.5 ns"),
            ("0 s", "0 s"),
            ("5 fs", "0.005 ps"),
            ("1e-20 s", "1e-8 ps"),
            ("64 KiB", "64 KiB"),
            ("1.5 MB", "1.5 MB"),
            ("100 B", "100 B"),
            ("1 GiB/s", "1.07 GB/s"),
            ("50 kHz", "50000/s"),
            ("2 GHz", "2e9/s"),
            ("5 %", "0.05"),
            ("4608", "4610"),
            ("0.25 ns/B", "250 ps/B"),
            ("127.732 Ω", "128 Ω"),
            ("3 kg", "3 kg"),
            ("20 g", "0.02 kg"),
            ("9.81 m/s^2", "9.81 m/s^2"),
            ("12 mV", "12 mV"),
        ] {
            assert_eq!(text.parse::<Quantity>().unwrap().to_string(), shown, "{text}");
        }
        let time: Quantity = "4608 ms".parse().unwrap();
        assert_eq!(format!("{time:.6}|{time:>8}|{time:<8}|"), "4.608 s|  4.61 s|4.61 s  |");
    }

    #[test]
    fn text_that_is_not_a_quantity_is_rejected() {
        for text in ["", "ms", "--1 s", "1e999 s", "1 s 2", "nan", "inf s", "5 12/s", "1 0.5"] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
        let error = " -3 msec".parse::<Quantity>().unwrap_err();
        assert_eq!(
            (error.at(), error.to_string().as_str()),
            (4..8, "unknown unit \"msec\"; did you mean \"ms\"?")
        );
    }

    proptest! {
        #[test]
        fn a_shown_quantity_is_read_back_unchanged(
            mantissa in -9.999_f64..9.999,
            exponent in -14..14,
            powers in prop::array::uniform6(-3_i8..=3),
        ) {
            let quantity = Quantity {
                value: mantissa * 10_f64.powi(exponent),
                dimension: Dimension::of(powers),
            };
            let back: Quantity = format!("{quantity:.17}").parse().unwrap();
            prop_assert_eq!(back.dimension, quantity.dimension);
            prop_assert!((back.value - quantity.value).abs() <= quantity.value.abs() * 1e-14);
            let short: Quantity = quantity.to_string().parse().unwrap();
            prop_assert_eq!(short.dimension, quantity.dimension);
            prop_assert!((short.value - quantity.value).abs() <= quantity.value.abs() * 0.006);
        }
    }
}
