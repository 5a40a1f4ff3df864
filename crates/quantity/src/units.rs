//! The units that a text can use: the built-in ones, and those that it declares.

use thiserror::Error;

use super::dimension::BASE;
use super::unit::{Found, Prefixes, Scale, built_in, with_prefix};
use super::{Dimension, KnownUnit, OWN_MAX, Quantity};

/// The longest symbol of a declared unit.
const SYMBOL_LEN_MAX: usize = 16;

/// Units by symbol: the built-in ones, and those that a text declares. A declared unit is the base unit of a quantity
/// of the text's own, up to [`OWN_MAX`] of them, or has a value in other units.
///
/// ```
/// use hemiola_quantity::Units;
///
/// let mut units = Units::default();
/// units.add_quantity("money", "EUR", false).unwrap();
/// units.add_unit("cent", units.quantity("0.01 EUR").unwrap(), false).unwrap();
/// let rate = units.quantity("250 cent/s").unwrap();
/// assert_eq!(units.show(rate).to_string(), "2.5 EUR/s");
/// assert_eq!(units.name(rate.dimension), "money/time");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units {
    /// The declared quantities, in the order of their exponents: name, and the index of the base unit.
    quantities: Vec<(String, usize)>,
    /// The declared units, in the order declared.
    own: Vec<OwnUnit>,
}

/// A declared unit.
#[derive(Clone, Debug, PartialEq)]
struct OwnUnit {
    symbol: String,
    scale: Scale,
    dimension: Dimension,
    prefixes: Prefixes,
}

/// Why a quantity or a unit cannot be declared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeclarationError {
    /// A quantity whose name has other characters than letters, digits and `_`.
    #[error("\"{name}\" cannot be the name of a quantity")]
    Name {
        /// The name.
        name: String,
    },
    /// A symbol that texts cannot contain behind a number.
    #[error("\"{symbol}\" cannot be the symbol of a unit")]
    Symbol {
        /// The symbol.
        symbol: String,
    },
    /// A quantity that has a base unit: a built-in one, or one that is declared.
    #[error("{quantity} has the base unit {unit} already")]
    Quantity {
        /// The quantity.
        quantity: String,
        /// Its base unit.
        unit: String,
    },
    /// A symbol that is another unit already, or would be with one of its prefixes.
    #[error("\"{text}\" is already {meaning}")]
    Taken {
        /// The symbol with its prefix, if it has one.
        text: String,
        /// The other unit, in words.
        meaning: String,
    },
    /// A unit without a positive finite value.
    #[error("the unit {symbol} is {value} of its base unit; it must be above zero")]
    Value {
        /// The symbol.
        symbol: String,
        /// The value, in base units.
        value: String,
    },
    /// More quantities than a dimension has room for.
    #[error("{quantity} is one quantity too many: a text can declare up to {OWN_MAX}")]
    TooMany {
        /// The quantity.
        quantity: String,
    },
}

static BUILT_IN: Units = Units { quantities: Vec::new(), own: Vec::new() };

impl Units {
    /// The table of a text that declares nothing.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Declares a quantity and its base unit, with decimal prefixes if wanted.
    ///
    /// # Errors
    /// The name or the symbol is not one or is taken, or there are [`OWN_MAX`] quantities already.
    pub fn add_quantity(
        &mut self,
        quantity: &str,
        symbol: &str,
        prefixes: bool,
    ) -> Result<(), DeclarationError> {
        if !is_word(quantity) {
            return Err(DeclarationError::Name { name: quantity.to_owned() });
        }
        if let Some(unit) = self.unit_of(quantity) {
            let (quantity, unit) = (quantity.to_owned(), unit.to_owned());
            return Err(DeclarationError::Quantity { quantity, unit });
        }
        if self.quantities.len() == OWN_MAX {
            return Err(DeclarationError::TooMany { quantity: quantity.to_owned() });
        }
        let dimension = Dimension::own(self.quantities.len());
        self.add(symbol, Scale::ONE, dimension, prefixes)?;
        self.quantities.push((quantity.to_owned(), self.own.len() - 1));
        Ok(())
    }

    /// Declares a unit by its value, with decimal prefixes if wanted.
    ///
    /// # Errors
    /// The symbol is not one or is taken, or the value is not above zero and finite.
    pub fn add_unit(
        &mut self,
        symbol: &str,
        one: Quantity,
        prefixes: bool,
    ) -> Result<(), DeclarationError> {
        if !(one.value > 0.0 && one.value.is_finite()) {
            let (symbol, value) = (symbol.to_owned(), one.value.to_string());
            return Err(DeclarationError::Value { symbol, value });
        }
        self.add(symbol, Scale::of(one.value), one.dimension, prefixes)
    }

    fn add(
        &mut self,
        symbol: &str,
        scale: Scale,
        dimension: Dimension,
        prefixes: bool,
    ) -> Result<(), DeclarationError> {
        if !is_symbol(symbol) {
            return Err(DeclarationError::Symbol { symbol: symbol.to_owned() });
        }
        let prefixes = if prefixes { Prefixes::Decimal } else { Prefixes::None };
        let texts = prefixes.text().split_whitespace().map(|prefix| format!("{prefix}{symbol}"));
        for text in std::iter::once(symbol.to_owned()).chain(texts) {
            if let Some(other) = self.find(&text) {
                return Err(DeclarationError::Taken { meaning: meaning(&other), text });
            }
        }
        self.own.push(OwnUnit { symbol: symbol.to_owned(), scale, dimension, prefixes });
        Ok(())
    }

    /// The declared units, in the order declared.
    pub fn own(&self) -> impl Iterator<Item = KnownUnit<'_>> {
        self.own.iter().map(|unit| KnownUnit {
            symbol: &unit.symbol,
            prefixes: unit.prefixes.text(),
            one: Quantity { value: unit.scale.one(), dimension: unit.dimension },
        })
    }

    /// The base unit of a quantity, if it has one.
    fn unit_of(&self, quantity: &str) -> Option<&str> {
        let built_in = BASE.iter().find(|(name, _)| *name == quantity).map(|(_, unit)| *unit);
        built_in.or_else(|| {
            let (_, unit) = self.quantities.iter().find(|(name, _)| name == quantity)?;
            Some(self.own[*unit].symbol.as_str())
        })
    }

    /// The declared quantity at this index: its name, the symbol of its base unit, and whether that takes prefixes.
    pub(crate) fn own_quantity(&self, index: usize) -> Option<(&str, &str, bool)> {
        let (name, unit) = self.quantities.get(index)?;
        let unit = &self.own[*unit];
        Some((name, &unit.symbol, unit.prefixes != Prefixes::None))
    }

    /// The unit of a symbol with its prefix.
    pub(crate) fn find(&self, text: &str) -> Option<Found<'_>> {
        built_in(text).or_else(|| {
            with_prefix(text, |name| {
                let own = self.own.iter().find(|own| own.symbol == name)?;
                let (scale, dimension) = (own.scale, own.dimension);
                let symbol = own.symbol.as_str();
                Some((Found { prefix: "", symbol, scale, dimension, is_own: true }, own.prefixes))
            })
        })
    }
}

/// What a unit is, in words.
fn meaning(unit: &Found<'_>) -> String {
    let kind = if unit.is_own { "declared" } else { "built-in" };
    match unit.prefix {
        "" => format!("a {kind} unit"),
        prefix => format!("the {kind} unit {} with the prefix {prefix}", unit.symbol),
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a text can follow a number as the symbol of a unit. `2e3` is a number.
fn is_symbol(text: &str) -> bool {
    let exponent = |text: &str| {
        let rest = text.strip_prefix(['e', 'E']);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    is_word(text) && text.len() <= SYMBOL_LEN_MAX && !exponent(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Money in EUR and cent, requests in req with prefixes, a page of 4 KiB, the watt-hour with prefixes.
    fn shop() -> Units {
        let mut units = Units::default();
        units.add_quantity("money", "EUR", false).unwrap();
        units.add_quantity("requests", "req", true).unwrap();
        for (symbol, value, prefixes) in
            [("cent", "0.01 EUR", false), ("page", "4 KiB", false), ("Wh", "3600 J", true)]
        {
            units.add_unit(symbol, units.quantity(value).unwrap(), prefixes).unwrap();
        }
        units
    }

    #[test]
    fn declared_units_are_read_and_shown() {
        let units = shop();
        for (text, shown) in [
            ("3 EUR", "3 EUR"),
            ("7 cent", "0.07 EUR"),
            ("-250 cent/s", "-2.5 EUR/s"),
            ("1.5e12 EUR", "1.5e12 EUR"),
            ("12000 EUR", "12000 EUR"),
            ("2e-6 EUR/req", "2 EUR/Mreq"),
            ("-0.00014 EUR/req", "-140 EUR/Mreq"),
            ("5 cent/GB", "50 EUR/TB"),
            ("0.02 EUR/req", "0.02 EUR/req"),
            ("2e-5 EUR/s", "2e-5 EUR/s"),
            ("12000 req", "12 kreq"),
            ("0.2 kreq/s", "200 req/s"),
            ("3e15 req/s", "3000000 Greq/s"),
            ("0.3 J/req", "300 mJ/req"),
            ("30 req/J", "30 req/J"),
            ("-2 W/EUR", "-2 W/EUR"),
            ("5 ms/req", "5 ms/req"),
            ("2 page", "8 KiB"),
            ("2 kWh", "7.2 MJ"),
            ("4 page/s", "16.4 kB/s"),
            ("3 /EUR", "3/EUR"),
            ("2 EUR^2/req", "2 EUR^2/req"),
            ("80 µs", "80 µs"),
        ] {
            let quantity = units.quantity(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(units.show(quantity).to_string(), shown, "{text}");
        }
        assert_eq!(units.quantity("7 cent").unwrap().value, 0.07);
        let speed = units.quantity("1 EUR/req/s").unwrap().dimension;
        assert_eq!(units.name(speed), "money/time/requests");
        assert_eq!(units.base_unit(speed), "EUR/s/req");
        assert_eq!(units.name(units.quantity("1 J/req").unwrap().dimension), "energy/requests");
        assert_eq!(units.base_unit(Dimension::RATE), "1/s");
        assert_eq!(units.base_unit(Dimension::NONE), "1");
    }

    #[test]
    fn declared_units_keep_their_dimension() {
        let units = shop();
        let [money, cents, time] =
            ["1 EUR", "50 cent", "1 s"].map(|text| units.quantity(text).unwrap());
        assert_eq!(money.checked_add(cents).unwrap().value, 1.5);
        let error = money.checked_add(time).unwrap_err();
        assert_eq!(
            (units.name(error.first), units.name(error.second)),
            ("money".into(), "time".into())
        );
        let per = money / units.quantity("50 req").unwrap() * units.quantity("100 req/s").unwrap();
        assert_eq!(units.show(per).to_string(), "2 EUR/s");
        assert_eq!((money * money).dimension.sqrt(), Some(money.dimension));
    }

    #[test]
    fn another_text_does_not_know_declared_units() {
        assert!("3 EUR".parse::<Quantity>().is_err());
        let error = shop().quantity("3 eur").unwrap_err();
        assert_eq!(error.to_string(), "unknown unit \"eur\"; did you mean \"EUR\"?");
        let money = shop().quantity("3 EUR").unwrap();
        assert_eq!(
            (money.to_string(), money.dimension.to_string()),
            ("3 unit1".into(), "quantity 1".into())
        );
    }

    #[test]
    fn declarations_that_clash_are_refused() {
        let with = |quantity: &str, symbol: &str, prefixes| {
            shop().add_quantity(quantity, symbol, prefixes).unwrap_err().to_string()
        };
        assert_eq!(with("hours", "h", false), "\"h\" is already a built-in unit");
        assert_eq!(
            with("things", "ms", false),
            "\"ms\" is already the built-in unit s with the prefix m"
        );
        assert_eq!(with("inches", "in", true), "\"min\" is already a built-in unit");
        assert_eq!(with("things", "EUR", false), "\"EUR\" is already a declared unit");
        assert_eq!(
            with("things", "kreq", false),
            "\"kreq\" is already the declared unit req with the prefix k"
        );
        assert_eq!(with("money", "USD", false), "money has the base unit EUR already");
        assert_eq!(with("time", "tick", false), "time has the base unit s already");
        for symbol in ["", "1x", "a-b", "a.b", "€", "e3", "E3x", "_x", "a_symbol_that_is_too_long"]
        {
            let text = with("things", symbol, false);
            assert_eq!(text, format!("\"{symbol}\" cannot be the symbol of a unit"));
        }
        assert_eq!(with("my money", "USD", false), "\"my money\" cannot be the name of a quantity");
        let zero = shop().add_unit("nil", Quantity::number(0.0), false).unwrap_err().to_string();
        assert_eq!(zero, "the unit nil is 0 of its base unit; it must be above zero");
        let mut units = Units::default();
        for index in 0..OWN_MAX {
            units.add_quantity(&format!("q{index}"), &format!("unit{index}"), false).unwrap();
        }
        let text = units.add_quantity("more", "other", false).unwrap_err().to_string();
        assert_eq!(text, "more is one quantity too many: a text can declare up to 6");
    }

    proptest! {
        #[test]
        fn a_shown_quantity_is_read_back_unchanged(
            mantissa in -9.999_f64..9.999,
            exponent in -14..14,
            powers in prop::array::uniform6(-2_i8..=2),
            own in prop::array::uniform2(-2_i32..=2),
        ) {
            let units = shop();
            let dimension = Dimension::of(powers)
                * Dimension::own(0).pow(own[0])
                * Dimension::own(1).pow(own[1]);
            let quantity = Quantity { value: mantissa * 10_f64.powi(exponent), dimension };
            let text = format!("{:.17}", units.show(quantity));
            let back = units.quantity(&text).unwrap();
            prop_assert_eq!(back.dimension, quantity.dimension);
            prop_assert!((back.value - quantity.value).abs() <= quantity.value.abs() * 1e-14);
        }
    }
}
