//! Units as text: `µs`, `GiB/s`, `1/s`, `%`, `m/s^2`.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use hemiola_diagnostic::nearest;
use thiserror::Error;

use super::{Dimension, Quantity, Units};

/// A unit and its value in base units.
///
/// Symbols: `s min h d Hz m g A K B bit N Pa J W C V Ω F H rad ° % ppm`, most with the prefixes `f p n µ m c k M G
/// T` (`u` for `µ`), the byte and the bit also with `Ki Mi Gi Ti`. Symbols are joined by `·` and `/` and raised
/// by `^`, without blanks: `kg·m^2/s^3`. A text can declare further symbols ([`Units`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    text: String,
    scale: Scale,
    dimension: Dimension,
}

/// `up` / `down`: two factors, because 80 / 10⁶ is 8·10⁻⁵ and 80 · 10⁻⁶ is not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    up: f64,
    down: f64,
}

impl Scale {
    pub(crate) const ONE: Self = Self { up: 1.0, down: 1.0 };

    /// The scale of a unit of this value.
    pub(crate) fn of(value: f64) -> Self {
        let inverse = value.recip().round();
        if value < 1.0 && inverse.recip() == value {
            Self { up: 1.0, down: inverse }
        } else {
            Self { up: value, down: 1.0 }
        }
    }

    /// The value of the unit.
    pub(crate) fn one(self) -> f64 {
        self.up / self.down
    }
}

/// Why a text is not a quantity or a unit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// The number is missing or not finite.
    #[error("\"{text}\" is not a number with a unit, such as \"80 µs\" or \"5 %\"")]
    NoNumber {
        /// Where the number was expected.
        at: Range<usize>,
        /// The text.
        text: String,
    },
    /// An unknown unit.
    #[error("unknown unit \"{unit}\"{}", did_you_mean(nearest))]
    UnknownUnit {
        /// Where.
        at: Range<usize>,
        /// The unknown symbol.
        unit: String,
        /// The nearest known symbol.
        nearest: Option<String>,
    },
}

impl QuantityError {
    /// The byte range in the text.
    #[must_use]
    pub fn at(&self) -> Range<usize> {
        match self {
            Self::NoNumber { at, .. } | Self::UnknownUnit { at, .. } => at.clone(),
        }
    }

    /// The same error in a longer text that contains this one from `start`.
    pub(crate) fn after(mut self, start: usize) -> Self {
        let (Self::NoNumber { at, .. } | Self::UnknownUnit { at, .. }) = &mut self;
        *at = start + at.start..start + at.end;
        self
    }
}

/// The end of a message about an unknown word: `; did you mean "…"?`, or nothing.
#[must_use]
pub fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default()
}

/// Which prefixes a symbol takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefixes {
    None,
    Decimal,
    /// Decimal and binary.
    Both,
}
use Prefixes::{Both, Decimal, None as Alone};

/// Symbol, factor up, factor down, exponents of s, m, kg, A, K, B.
type Symbol = (&'static str, f64, f64, [i8; 6], Prefixes);

static SYMBOLS: [Symbol; 24] = [
    ("s", 1.0, 1.0, [1, 0, 0, 0, 0, 0], Decimal),
    ("min", 60.0, 1.0, [1, 0, 0, 0, 0, 0], Alone),
    ("h", 3600.0, 1.0, [1, 0, 0, 0, 0, 0], Alone),
    ("d", 86_400.0, 1.0, [1, 0, 0, 0, 0, 0], Alone),
    ("Hz", 1.0, 1.0, [-1, 0, 0, 0, 0, 0], Decimal),
    ("m", 1.0, 1.0, [0, 1, 0, 0, 0, 0], Decimal),
    ("g", 1.0, 1e3, [0, 0, 1, 0, 0, 0], Decimal),
    ("A", 1.0, 1.0, [0, 0, 0, 1, 0, 0], Decimal),
    ("K", 1.0, 1.0, [0, 0, 0, 0, 1, 0], Decimal),
    ("B", 1.0, 1.0, [0, 0, 0, 0, 0, 1], Both),
    ("bit", 1.0, 8.0, [0, 0, 0, 0, 0, 1], Both),
    ("N", 1.0, 1.0, [-2, 1, 1, 0, 0, 0], Decimal),
    ("Pa", 1.0, 1.0, [-2, -1, 1, 0, 0, 0], Decimal),
    ("J", 1.0, 1.0, [-2, 2, 1, 0, 0, 0], Decimal),
    ("W", 1.0, 1.0, [-3, 2, 1, 0, 0, 0], Decimal),
    ("C", 1.0, 1.0, [1, 0, 0, 1, 0, 0], Decimal),
    ("V", 1.0, 1.0, [-3, 2, 1, -1, 0, 0], Decimal),
    ("Ω", 1.0, 1.0, [-3, 2, 1, -2, 0, 0], Decimal),
    ("F", 1.0, 1.0, [4, -2, -1, 2, 0, 0], Decimal),
    ("H", 1.0, 1.0, [-2, 2, 1, -2, 0, 0], Decimal),
    ("rad", 1.0, 1.0, [0; 6], Decimal),
    ("°", std::f64::consts::PI, 180.0, [0; 6], Alone),
    ("%", 1.0, 1e2, [0; 6], Alone),
    ("ppm", 1.0, 1e6, [0; 6], Alone),
];

/// A unit that texts can use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownUnit<'u> {
    /// Its symbol.
    pub symbol: &'u str,
    /// The prefixes that it takes: `"f p n µ u m c k M G T"`; empty if none.
    pub prefixes: &'static str,
    /// One of it.
    pub one: Quantity,
}

impl KnownUnit<'static> {
    /// Every built-in unit.
    pub fn all() -> impl Iterator<Item = Self> {
        SYMBOLS.iter().map(|&(symbol, up, down, exponents, prefixes)| Self {
            symbol,
            prefixes: prefixes.text(),
            one: Quantity { value: up / down, dimension: Dimension::of(exponents) },
        })
    }
}

impl Prefixes {
    /// All of them, with blanks between.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Alone => "",
            Decimal => "f p n µ u m c k M G T",
            Both => "f p n µ u m c k M G T Ki Mi Gi Ti",
        }
    }
}

/// Prefix, factor up, factor down.
static DECIMAL: [(&str, f64, f64); 11] = [
    ("f", 1.0, 1e15),
    ("p", 1.0, 1e12),
    ("n", 1.0, 1e9),
    ("µ", 1.0, 1e6),
    ("u", 1.0, 1e6),
    ("m", 1.0, 1e3),
    ("c", 1.0, 1e2),
    ("k", 1e3, 1.0),
    ("M", 1e6, 1.0),
    ("G", 1e9, 1.0),
    ("T", 1e12, 1.0),
];

static BINARY: [(&str, f64); 4] =
    [("Ki", 1024.0), ("Mi", 1_048_576.0), ("Gi", 1_073_741_824.0), ("Ti", 1_099_511_627_776.0)];

/// A symbol of a text, with or without a prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'u> {
    /// The prefix; empty if there is none.
    pub(crate) prefix: &'static str,
    /// The symbol without it.
    pub(crate) symbol: &'u str,
    pub(crate) scale: Scale,
    pub(crate) dimension: Dimension,
    /// Whether a text declares it.
    pub(crate) is_own: bool,
}

impl Found<'_> {
    fn with(self, prefix: &'static str, up: f64, down: f64) -> Self {
        let scale = Scale { up: self.scale.up * up, down: self.scale.down * down };
        Self { prefix, scale, ..self }
    }
}

/// The built-in symbol with its prefix.
pub(crate) fn built_in(text: &str) -> Option<Found<'static>> {
    // The Greek letter and the ohm sign have other code points than the micro sign and the capital omega.
    let text = text.replace('\u{3bc}', "µ").replace('\u{2126}', "Ω");
    with_prefix(&text, |name| {
        let known = SYMBOLS.iter().find(|(symbol, ..)| *symbol == name);
        known.map(|&(symbol, up, down, exponents, prefixes)| {
            let (scale, dimension) = (Scale { up, down }, Dimension::of(exponents));
            (Found { prefix: "", symbol, scale, dimension, is_own: false }, prefixes)
        })
    })
}

/// The symbol of a text among those that `find` knows: the whole text, or what follows a prefix that the symbol takes.
pub(crate) fn with_prefix<'u>(
    text: &str,
    find: impl Fn(&str) -> Option<(Found<'u>, Prefixes)>,
) -> Option<Found<'u>> {
    if let Some((found, _)) = find(text) {
        return Some(found);
    }
    let decimal = DECIMAL.iter().map(|&(prefix, up, down)| (prefix, up, down, false));
    let binary = BINARY.iter().map(|&(prefix, up)| (prefix, up, 1.0, true));
    decimal.chain(binary).find_map(|(prefix, up, down, binary)| {
        let (found, prefixes) = find(text.strip_prefix(prefix)?)?;
        let taken = if binary { prefixes == Both } else { prefixes != Alone };
        taken.then(|| found.with(prefix, up, down))
    })
}

/// The known symbol, with or without a prefix, nearest to this one.
fn nearest_symbol(text: &str, units: &Units) -> Option<String> {
    let common = [
        "ns", "µs", "ms", "kB", "MB", "GB", "KiB", "MiB", "GiB", "kbit", "Mbit", "Gbit", "kHz",
        "MHz", "GHz", "kg", "mm", "cm", "km", "nm", "mA", "mV", "kΩ",
    ];
    let built_in = || SYMBOLS.iter().map(|(symbol, ..)| *symbol).chain(common);
    let known = || units.own().map(|unit| unit.symbol).chain(built_in());
    let case = known().find(|symbol| symbol.to_lowercase() == text.to_lowercase());
    case.or_else(|| nearest(text, known())).map(str::to_owned)
}

/// Whether the character can be part of a symbol. Unknown symbols may include digits, `_` and `.`.
fn in_symbol(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '%' | '°' | '_' | '.')
}

impl Units {
    /// Parses a unit: `"1/s"` and `"/s"` are equal; an empty text is the unit of pure numbers.
    ///
    /// # Errors
    /// A symbol is unknown.
    pub fn unit(&self, text: &str) -> Result<Unit, QuantityError> {
        let whole = text.trim();
        let symbols = whole.strip_prefix('1').unwrap_or(whole).trim_start();
        let start = symbols.as_ptr() as usize - text.as_ptr() as usize;
        let found = self.unit_at_start(symbols, true).map_err(|error| error.after(start))?;
        let (unit, taken) = found.unwrap_or((Unit::ONE, 0));
        match symbols[taken..].trim_start_matches(['/', '·']) {
            "" if taken == symbols.len() => Ok(Unit { text: whole.to_owned(), ..unit }),
            "" => Err(self.unknown(text, &symbols[taken..])),
            rest => Err(self.unknown(text, &rest[..rest.find(['/', '·']).unwrap_or(rest.len())])),
        }
    }

    /// Parses the unit at the start of a text and returns it with its length in bytes; `None` if no unit
    /// starts there. With `per`, the unit may also start with a slash, as in `500/s`.
    ///
    /// # Errors
    /// When the symbol at the start is unknown.
    pub fn unit_at_start(
        &self,
        text: &str,
        per: bool,
    ) -> Result<Option<(Unit, usize)>, QuantityError> {
        let word = |from: &str| from.find(|c: char| !in_symbol(c)).unwrap_or(from.len());
        let mut unit = Unit::ONE;
        let mut taken = 0;
        let starts =
            text.chars().next().is_some_and(|c| c.is_alphabetic() || matches!(c, '%' | '°'));
        if starts {
            let length = word(text);
            let found =
                self.find(&text[..length]).ok_or_else(|| self.unknown(text, &text[..length]))?;
            taken = length;
            let power = power(text, &mut taken);
            unit = unit.joined(found.scale, found.dimension, power);
        } else if !per {
            return Ok(None);
        }
        while let Some(sign) = text[taken..].chars().next().filter(|c| matches!(c, '/' | '·')) {
            let from = taken + sign.len_utf8();
            let end = from + word(&text[from..]);
            // `2 ms/steps` divides by a name and `2 ms/min(a, b)` by the result of a function.
            let called = text[end..].starts_with('(');
            let Some(found) = self.find(&text[from..end]).filter(|_| !called) else { break };
            if taken == 0 && sign == '·' {
                break;
            }
            taken = end;
            let power = power(text, &mut taken) * if sign == '/' { -1 } else { 1 };
            unit = unit.joined(found.scale, found.dimension, power);
        }
        unit.text = text[..taken].to_owned();
        Ok((taken > 0).then_some((unit, taken)))
    }

    /// The error for the unknown symbol `unit`, which is a slice of `text`.
    fn unknown(&self, text: &str, unit: &str) -> QuantityError {
        let start = unit.as_ptr() as usize - text.as_ptr() as usize;
        let at = start..start + unit.len();
        let nearest = nearest_symbol(unit, self);
        QuantityError::UnknownUnit { at, unit: unit.to_owned(), nearest }
    }
}

impl Unit {
    /// A unit without a symbol: a pure number.
    const ONE: Self = Self { text: String::new(), scale: Scale::ONE, dimension: Dimension::NONE };

    fn joined(self, scale: Scale, dimension: Dimension, power: i32) -> Self {
        let (up, down) = if power < 0 { (scale.down, scale.up) } else { (scale.up, scale.down) };
        let times = power.abs();
        Self {
            scale: Scale {
                up: self.scale.up * up.powi(times),
                down: self.scale.down * down.powi(times),
            },
            dimension: self.dimension * dimension.pow(power),
            ..self
        }
    }

    /// The dimension of its values.
    #[must_use]
    pub const fn dimension(&self) -> Dimension {
        self.dimension
    }

    /// `number` of this unit, in base units.
    #[must_use]
    pub fn to_base(&self, number: f64) -> f64 {
        number * self.scale.up / self.scale.down
    }

    /// A value in base units, in this unit.
    #[must_use]
    pub fn count(&self, value: f64) -> f64 {
        value * self.scale.down / self.scale.up
    }
}

/// Parses the exponent at `taken` (`^2`, `^-1`) and moves `taken` behind it; 1 if there is none.
fn power(text: &str, taken: &mut usize) -> i32 {
    let rest = &text[*taken..];
    let Some(raised) = rest.strip_prefix('^') else { return 1 };
    let digits = raised.strip_prefix('-').unwrap_or(raised);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let end = raised.len() - digits.len() + count;
    match raised[..end].parse() {
        // No unit needs three digits.
        Ok(power) if (1..=2).contains(&count) => {
            *taken += 1 + end;
            power
        }
        _ => 1,
    }
}

/// A built-in unit, as [`Units::unit`] reads it.
impl FromStr for Unit {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Units::built_in().unit(text)
    }
}

/// The text that the unit was read from.
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, one: f64, dimension: Dimension) {
        let unit: Unit = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((unit.to_base(1.0), unit.dimension()), (one, dimension), "{text}");
        assert_eq!(unit.to_string(), text);
    }

    #[test]
    fn units_are_read_with_their_prefixes() {
        let rate = Dimension::INFORMATION / Dimension::TIME;
        check("µs", 1e-6, Dimension::TIME);
        check("\u{3bc}s", 1e-6, Dimension::TIME);
        check("us", 1e-6, Dimension::TIME);
        check("ms", 1e-3, Dimension::TIME);
        check("min", 60.0, Dimension::TIME);
        check("GiB/s", 1_073_741_824.0, rate);
        check("MB/s", 1e6, rate);
        check("Mbit/s", 125_000.0, rate);
        check("1/s", 1.0, Dimension::RATE);
        check("/s", 1.0, Dimension::RATE);
        check("kHz", 1000.0, Dimension::RATE);
        check("%", 0.01, Dimension::NONE);
        check("", 1.0, Dimension::NONE);
        check("kg", 1.0, Dimension::MASS);
        check("m/s^2", 1.0, Dimension::LENGTH / Dimension::TIME.pow(2));
        check("kg·m^2/s^3", 1.0, Dimension::of([-3, 2, 1, 0, 0, 0]));
        check("mm^-1", 1000.0, Dimension::LENGTH.pow(-1));
        check("\u{2126}", 1.0, Dimension::of([-3, 2, 1, -2, 0, 0]));
    }

    #[test]
    fn every_listed_unit_can_be_read_with_its_prefixes() {
        for known in KnownUnit::all() {
            for prefix in known.prefixes.split_whitespace().chain([""]) {
                let text = format!("{prefix}{}", known.symbol);
                let unit: Unit = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
                // With a prefix a symbol may be another unit: min is the minute.
                assert!(prefix.is_empty() || unit.to_base(1.0) > 0.0);
                assert!(!prefix.is_empty() || Quantity::of(1.0, &unit) == known.one, "{text}");
            }
        }
        for (prefix, ..) in DECIMAL {
            assert!(KnownUnit::all().next().unwrap().prefixes.contains(prefix), "{prefix}");
        }
    }

    #[test]
    fn unknown_unit_is_named_with_the_nearest_known_one() {
        let refused = |text: &str| text.parse::<Unit>().unwrap_err().to_string();
        assert_eq!(refused("KB"), "unknown unit \"KB\"; did you mean \"kB\"?");
        assert_eq!(refused("GB/sec"), "unknown unit \"sec\"");
        assert_eq!(" GB/sec/m".parse::<Unit>().unwrap_err().at(), 4..7);
        assert_eq!(" 1 /sec".parse::<Unit>().unwrap_err().at(), 4..7);
        assert_eq!(refused("msec"), "unknown unit \"msec\"; did you mean \"ms\"?");
        assert_eq!(refused("Kimin"), "unknown unit \"Kimin\"; did you mean \"min\"?");
        for text in
            ["s/", "s·", "·s", "2", "1 1/s", "s s", "s^", "s^x", "s^999", "kmin", "Kim", "/"]
        {
            assert!(text.parse::<Unit>().is_err(), "{text}");
        }
    }
}
