//! A table of a document whose shape was checked: values as types, each with its place.

use std::num::NonZeroU32;
use std::ops::Range;
use std::str::FromStr;

use hemiola_simplex::Gain;
use hemiola_units::Delivery;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and the bytes of the source that state it.
#[derive(Clone, Debug)]
pub struct At<T> {
    /// What it says.
    pub value: T,
    /// Where it says so.
    pub at: Range<usize>,
}

/// One table.
///
/// Values of the wrong shape read as absent: the check of the shape has complained about them already.
#[derive(Clone, Debug)]
pub struct Section<'s> {
    table: &'s DeTable<'s>,
    /// Where to point when something is missing from it.
    pub at: Range<usize>,
}

type Item<'s> = Spanned<DeValue<'s>>;

impl<'s> Section<'s> {
    pub(crate) fn new(table: &'s DeTable<'s>, at: Range<usize>) -> Self {
        Self { table, at }
    }

    /// Whether the key is there, whatever its value.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether the key's value is an array.
    #[must_use]
    pub fn is_array(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|item| item.get_ref().is_array())
    }

    /// Where the key is written; the table itself when it is not.
    #[must_use]
    pub fn key_at(&self, key: &str) -> Range<usize> {
        self.table.get_key_value(key).map_or_else(|| self.at.clone(), |(key, _)| key.span())
    }

    fn read<T>(&self, key: &str, read: impl FnOnce(&'s DeValue<'s>) -> Option<T>) -> Option<At<T>> {
        let item = self.table.get(key)?;
        Some(At { value: read(item.get_ref())?, at: item.span() })
    }

    /// A string.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<At<&'s str>> {
        self.read(key, DeValue::as_str)
    }

    /// A text that means something.
    #[must_use]
    pub fn parsed<T: FromStr>(&self, key: &str) -> Option<At<T>> {
        self.read(key, |value| value.as_str()?.parse().ok())
    }

    /// The items of an array, each as `read` understands it; empty when there is none.
    fn list<T>(&self, key: &str, read: impl Fn(&'s DeValue<'s>) -> Option<T>) -> Vec<At<T>> {
        let items = self.table.get(key).and_then(|item| item.get_ref().as_array());
        let item = |item: &'s Item<'s>| Some(At { value: read(item.get_ref())?, at: item.span() });
        items.into_iter().flat_map(|array| array.iter()).filter_map(item).collect()
    }

    /// A string, or the strings of an array.
    pub(crate) fn words(&self, key: &str) -> Vec<&'s str> {
        match self.text(key) {
            Some(text) => vec![text.value],
            None => self.texts(key).into_iter().map(|text| text.value).collect(),
        }
    }

    /// The texts of an array that mean something.
    pub(crate) fn parsed_list<T: FromStr>(&self, key: &str) -> Vec<At<T>> {
        self.list(key, |value| value.as_str()?.parse().ok())
    }

    /// The numbers of an array.
    pub(crate) fn numbers(&self, key: &str) -> Vec<At<f64>> {
        self.list(key, number)
    }

    /// `true` or `false`.
    #[must_use]
    pub fn boolean(&self, key: &str) -> Option<bool> {
        self.read(key, DeValue::as_bool).map(|found| found.value)
    }

    /// An integer that fits the type.
    #[must_use]
    pub fn whole<T: TryFrom<i64>>(&self, key: &str) -> Option<At<T>> {
        self.read(key, |value| T::try_from(whole(value)?).ok())
    }

    /// A finite number, written with or without a point.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<At<f64>> {
        self.read(key, number)
    }

    /// A gain, or the name of one that does not exist.
    pub(crate) fn gain(&self, key: &str) -> Option<At<Result<Gain, &'s str>>> {
        self.read(key, gain)
    }

    pub(crate) fn delivery(&self, key: &str) -> Option<At<Delivery>> {
        self.read(key, |value| match value {
            DeValue::String(word) => (word.as_ref() == "latest").then_some(Delivery::Latest),
            _ => {
                let queue = whole(value.as_table()?.get("queue")?.get_ref())?;
                NonZeroU32::new(u32::try_from(queue).ok()?).map(Delivery::Queue)
            }
        })
    }

    /// The strings of an array; empty when there is none.
    #[must_use]
    pub fn texts(&self, key: &str) -> Vec<At<&'s str>> {
        self.list(key, DeValue::as_str)
    }

    /// A formula: a string, or a bare number, with the place of its first character.
    #[must_use]
    pub fn formula(&self, key: &str) -> Option<At<String>> {
        self.table.get(key).and_then(formula)
    }

    /// The formulas of a table from names of the user's to formulas, in the order written.
    #[must_use]
    pub fn formulas(&self, key: &str) -> Vec<(At<&'s str>, At<String>)> {
        let Some(table) = self.table.get(key).and_then(|item| item.get_ref().as_table()) else {
            return Vec::new();
        };
        let mut found: Vec<_> = table
            .iter()
            .filter_map(|(name, item)| {
                Some((At { value: name.get_ref().as_ref(), at: name.span() }, formula(item)?))
            })
            .collect();
        found.sort_by_key(|(name, _)| name.at.start);
        found
    }

    /// The formulas of an array.
    #[must_use]
    pub fn formula_list(&self, key: &str) -> Vec<At<String>> {
        let items = self.table.get(key).and_then(|item| item.get_ref().as_array());
        items.into_iter().flat_map(|array| array.iter()).filter_map(formula).collect()
    }

    /// The table under this key.
    #[must_use]
    pub fn section(&self, key: &str) -> Option<Section<'s>> {
        let (key, item) = self.table.get_key_value(key)?;
        Some(Section::new(item.get_ref().as_table()?, key.span()))
    }

    /// The tables of an array of tables.
    #[must_use]
    pub fn sections(&self, key: &str) -> Vec<Section<'s>> {
        let items = self.table.get(key).and_then(|item| item.get_ref().as_array());
        let section =
            |item: &'s Item<'s>| Some(Section::new(item.get_ref().as_table()?, item.span()));
        items.into_iter().flat_map(|array| array.iter()).filter_map(section).collect()
    }

    /// The tables under names of the user's, in the order written.
    #[must_use]
    pub fn named(&self, key: &str) -> Vec<(At<&'s str>, Section<'s>)> {
        let Some(table) = self.table.get(key).and_then(|item| item.get_ref().as_table()) else {
            return Vec::new();
        };
        let mut named: Vec<_> = table
            .iter()
            .filter_map(|(name, item)| {
                let at = name.span();
                let section = Section::new(item.get_ref().as_table()?, at.clone());
                Some((At { value: name.get_ref().as_ref(), at }, section))
            })
            .collect();
        // The table keeps its keys sorted; their places say how they were written.
        named.sort_by_key(|(name, _)| name.at.start);
        named
    }
}

/// A string or a finite number as text.
fn formula(item: &Item<'_>) -> Option<At<String>> {
    let at = item.span();
    match item.get_ref() {
        // Behind the opening quote; a multi-line string begins two characters later still, and a caret
        // there is near enough.
        DeValue::String(text) => Some(At { value: text.to_string(), at: at.start + 1..at.end - 1 }),
        value => number(value).map(|number| At { value: number.to_string(), at }),
    }
}

/// An integer, if the value is one that fits.
pub(crate) fn whole(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A finite number, written with or without a point.
pub(crate) fn number(value: &DeValue<'_>) -> Option<f64> {
    let number = match value {
        DeValue::Float(float) => float.as_str().parse().ok()?,
        _ => whole(value)? as f64,
    };
    f64::is_finite(number).then_some(number)
}

/// A gain, or the name of one that does not exist.
pub(crate) fn gain<'s>(value: &'s DeValue<'_>) -> Option<Result<Gain, &'s str>> {
    match value {
        DeValue::String(name) => Some(Gain::named(name).ok_or(name.as_ref())),
        DeValue::Array(array) => {
            let numbers: Option<Vec<f64>> =
                array.iter().map(|item| number(item.get_ref())).collect();
            numbers?.try_into().ok().map(|numbers| Ok(Gain(numbers)))
        }
        _ => None,
    }
}
