//! Tables of a document as typed values, each with its place in the source.

use std::num::NonZeroU32;
use std::ops::Range;

use hemiola_simplex::{GAINS, Gain};
use hemiola_units::{Bytes, Delivery, Endpoint, Rate, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place in the source.
#[derive(Clone, Debug)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its bytes in the source.
    pub at: Range<usize>,
}

/// One table of a document.
#[derive(Clone, Debug)]
pub struct Section<'s> {
    table: &'s DeTable<'s>,
    /// The place to mark when something is missing from it.
    pub at: Range<usize>,
}

impl<'s> Section<'s> {
    /// Returns the value as a table, if it is one; `at` is the place to mark when something is missing from it.
    #[must_use]
    pub fn of(value: &'s DeValue<'s>, at: &Range<usize>) -> Option<Self> {
        Some(Self::new(value.as_table()?, at.clone()))
    }

    pub(crate) fn new(table: &'s DeTable<'s>, at: Range<usize>) -> Self {
        Self { table, at }
    }

    /// The place of the key; `None` if the table does not have it.
    pub(crate) fn find(&self, key: &str) -> Option<Range<usize>> {
        self.table.get_key_value(key).map(|(key, _)| key.span())
    }

    /// The entry of a key.
    #[must_use]
    pub fn entry<T: Read<'s>>(&self, key: &str) -> Entry<T> {
        let found = self.table.get_key_value(key);
        Entry {
            stated: found.and_then(|(key, item)| {
                let value = T::read(item.get_ref(), &key.span())?;
                Some(At { value, at: item.span() })
            }),
            is_present: found.is_some(),
            is_array: found.is_some_and(|(_, item)| item.get_ref().is_array()),
            key_at: found.map_or_else(|| self.at.clone(), |(key, _)| key.span()),
            default: (),
        }
    }
}

/// Access to values by key, for files whose tables are not declared with [`sections!`](crate::sections).
impl<'s> Section<'s> {
    fn stated<T: Read<'s>>(&self, key: &str) -> Option<At<T>> {
        self.entry(key).stated
    }

    /// Whether the table has the key, even with a value of the wrong shape.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether the key's value is an array.
    #[must_use]
    pub fn is_array(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|item| item.get_ref().is_array())
    }

    /// The place of the key, or of the table if it does not have the key.
    #[must_use]
    pub fn key_at(&self, key: &str) -> Range<usize> {
        self.find(key).unwrap_or_else(|| self.at.clone())
    }

    /// A string.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<At<&'s str>> {
        self.stated(key)
    }

    /// A duration.
    #[must_use]
    pub fn length(&self, key: &str) -> Option<At<Span>> {
        self.stated(key)
    }

    /// An integer that fits the type.
    #[must_use]
    pub fn whole<T: Read<'s> + TryFrom<i64>>(&self, key: &str) -> Option<At<T>> {
        self.stated(key)
    }

    /// A finite number, written with or without a point.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<At<f64>> {
        self.stated(key)
    }

    /// A formula: a string, or a bare number, with the place of its first character.
    #[must_use]
    pub fn formula(&self, key: &str) -> Option<At<String>> {
        self.table.get(key).and_then(formula)
    }

    /// The formulas under names that the user chooses, in the order written.
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
        self.entry(key).stated.map(|stated| stated.value)
    }

    /// The tables of an array of tables.
    #[must_use]
    pub fn sections(&self, key: &str) -> Vec<Section<'s>> {
        self.entry(key).stated.map_or_else(Vec::new, |stated| stated.value)
    }

    /// The tables under names that the user chooses, in the order written.
    #[must_use]
    pub fn named(&self, key: &str) -> Vec<(At<&'s str>, Section<'s>)> {
        self.entry(key).stated.map_or_else(Vec::new, |stated| stated.value)
    }
}

impl<'s> FromSection<'s> for Section<'s> {
    fn from_section(section: Section<'s>) -> Self {
        section
    }

    fn section(&self) -> &Section<'s> {
        self
    }
}

impl<'s> Read<'s> for Section<'s> {
    fn read(value: &'s DeValue<'s>, key_at: &Range<usize>) -> Option<Self> {
        Self::of(value, key_at)
    }
}

/// A string or a finite number as text.
fn formula(item: &Spanned<DeValue<'_>>) -> Option<At<String>> {
    let at = item.span();
    match item.get_ref() {
        // After the opening quote. A multi-line string starts two characters later, which is close enough for a
        // caret.
        DeValue::String(text) => Some(At { value: text.to_string(), at: at.start + 1..at.end - 1 }),
        value => number(value).map(|number| At { value: number.to_string(), at }),
    }
}

/// The entry of a table under one key. `D` is the type of the default: `T`, or `()` without one.
///
/// A value of the wrong shape reads as absent, because the check of the shape has already reported it.
#[derive(Clone, Debug)]
pub struct Entry<T, D = ()> {
    /// The value, if the table states one.
    pub stated: Option<At<T>>,
    /// Whether the table has the key, even with a value of the wrong shape.
    pub is_present: bool,
    /// Whether the value is an array.
    pub is_array: bool,
    /// The place of the key, or of the table if it does not have the key.
    pub key_at: Range<usize>,
    default: D,
}

impl<T> Entry<T> {
    /// The same entry with a default.
    #[must_use]
    pub fn or(self, default: T) -> Entry<T, T> {
        let Self { stated, is_present, is_array, key_at, default: () } = self;
        Entry { stated, is_present, is_array, key_at, default }
    }
}

impl<T, D> Entry<T, D> {
    /// The stated value.
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.stated.as_ref().map(|stated| &stated.value)
    }
}

impl<T: Copy> Entry<T, T> {
    /// The stated value, or the default.
    #[must_use]
    pub fn value(&self) -> T {
        self.get().copied().unwrap_or(self.default)
    }
}

impl<T> Entry<Vec<T>> {
    /// The stated items; empty if nothing is stated.
    #[must_use]
    pub fn items(&self) -> &[T] {
        self.get().map_or(&[], Vec::as_slice)
    }
}

/// A type that can be read from a value of a document.
pub trait Read<'s>: Sized {
    /// Returns the value, or `None` if it has another shape. `key_at` is the place of its key.
    fn read(value: &'s DeValue<'s>, key_at: &Range<usize>) -> Option<Self>;
}

/// A table whose keys are declared with [`sections!`](crate::sections).
pub trait FromSection<'s> {
    /// Reads all keys.
    fn from_section(section: Section<'s>) -> Self;

    /// The table that was read.
    fn section(&self) -> &Section<'s>;
}

/// One of several words.
pub trait Word: Copy + 'static {
    /// All values, in the order of `WORDS`.
    const ALL: &'static [Self];
    /// The word for each value.
    const WORDS: &'static [&'static str];

    /// The word for it.
    fn word(self) -> &'static str
    where
        Self: PartialEq,
    {
        let at = Self::ALL.iter().position(|one| *one == self);
        Self::WORDS[at.expect("every value has a word")]
    }
}

impl<'s, T: Word> Read<'s> for T {
    fn read(value: &'s DeValue<'s>, _: &Range<usize>) -> Option<Self> {
        let text = value.as_str()?;
        T::WORDS.iter().position(|word| *word == text).map(|at| T::ALL[at])
    }
}

impl<'s> Read<'s> for &'s str {
    fn read(value: &'s DeValue<'s>, _: &Range<usize>) -> Option<Self> {
        value.as_str()
    }
}

impl<'s> Read<'s> for bool {
    fn read(value: &'s DeValue<'s>, _: &Range<usize>) -> Option<Self> {
        value.as_bool()
    }
}

impl<'s> Read<'s> for f64 {
    fn read(value: &'s DeValue<'s>, _: &Range<usize>) -> Option<Self> {
        number(value)
    }
}

macro_rules! read_whole {
    ($($type:ty)*) => {$(
        impl<'s> Read<'s> for $type {
            fn read(value: &'s DeValue<'s>, _: &Range<usize>) -> Option<Self> {
                Self::try_from(whole(value)?).ok()
            }
        }
    )*};
}
read_whole!(u8 u16 u32 u64 usize i8 i64);

macro_rules! read_parsed {
    ($($type:ty)*) => {$(
        impl<'s> Read<'s> for $type {
            fn read(value: &'s DeValue<'s>, _: &Range<usize>) -> Option<Self> {
                value.as_str()?.parse().ok()
            }
        }
    )*};
}
read_parsed!(Bytes Endpoint Rate Span);

impl<'s> Read<'s> for Delivery {
    fn read(value: &'s DeValue<'s>, _: &Range<usize>) -> Option<Self> {
        if let DeValue::String(word) = value {
            return (word.as_ref() == "latest").then_some(Self::Latest);
        }
        let queue = whole(value.as_table()?.get("queue")?.get_ref())?;
        NonZeroU32::new(u32::try_from(queue).ok()?).map(Self::Queue)
    }
}

/// A gain, or an unknown name.
impl<'s> Read<'s> for Result<Gain, &'s str> {
    fn read(value: &'s DeValue<'s>, _: &Range<usize>) -> Option<Self> {
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
}

/// One value, or a list of them.
#[derive(Clone, Debug)]
pub enum OneOrMany<T> {
    /// One value.
    One(T),
    /// A list.
    Many(Vec<At<T>>),
}

impl<'s, T: Read<'s>> Read<'s> for OneOrMany<T> {
    fn read(value: &'s DeValue<'s>, key_at: &Range<usize>) -> Option<Self> {
        if value.is_array() {
            Vec::read(value, key_at).map(Self::Many)
        } else {
            T::read(value, key_at).map(Self::One)
        }
    }
}

/// The items of an array that have the right shape.
impl<'s, T: Read<'s>> Read<'s> for Vec<At<T>> {
    fn read(value: &'s DeValue<'s>, key_at: &Range<usize>) -> Option<Self> {
        let item = |item: &'s Spanned<DeValue<'s>>| {
            Some(At { value: T::read(item.get_ref(), key_at)?, at: item.span() })
        };
        Some(value.as_array()?.iter().filter_map(item).collect())
    }
}

/// The tables of an array of tables.
impl<'s, T: FromSection<'s>> Read<'s> for Vec<T> {
    fn read(value: &'s DeValue<'s>, _: &Range<usize>) -> Option<Self> {
        let item = |item: &'s Spanned<DeValue<'s>>| {
            Some(T::from_section(Section::new(item.get_ref().as_table()?, item.span())))
        };
        Some(value.as_array()?.iter().filter_map(item).collect())
    }
}

/// The tables under names that the user chooses, in the order written.
impl<'s, T: FromSection<'s>> Read<'s> for Vec<(At<&'s str>, T)> {
    fn read(value: &'s DeValue<'s>, _: &Range<usize>) -> Option<Self> {
        let mut named: Vec<_> = value
            .as_table()?
            .iter()
            .filter_map(|(name, item)| {
                let at = name.span();
                let section = Section::new(item.get_ref().as_table()?, at.clone());
                Some((At { value: name.get_ref().as_ref(), at }, T::from_section(section)))
            })
            .collect();
        // The table sorts its keys; restore the order written.
        named.sort_by_key(|(name, _)| name.at.start);
        Some(named)
    }
}

/// The integer, if the value is one that fits `i64`.
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

/// A default value as TOML.
pub trait Written {
    /// The TOML text.
    fn written(&self) -> String;
}

macro_rules! written {
    ($($type:ty: $format:literal),*) => {$(
        impl Written for $type {
            fn written(&self) -> String {
                format!($format, self)
            }
        }
    )*};
}
written!(bool: "{}", f64: "{}", u8: "{}", u32: "{}", u64: "{}", i32: "{}", &str: "{:?}");
written!(Span: "\"{}\"", Bytes: "\"{}\"", Rate: "\"{}\"");

impl Written for Result<Gain, &str> {
    fn written(&self) -> String {
        let named = GAINS.iter().find(|(_, known)| Ok(*known) == *self);
        match (named, self) {
            (Some((name, _)), _) | (None, Err(name)) => name.written(),
            (None, Ok(gain)) => format!("{:?}", gain.0),
        }
    }
}

impl<T: Word + PartialEq> Written for T {
    fn written(&self) -> String {
        self.word().written()
    }
}

/// Declares the words for the values of an existing or a new type.
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($variant:ident $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($variant),* }
        $crate::words!($name { $($variant $word),* });
    };
    ($name:ty { $($variant:ident $word:literal),* $(,)? }) => {
        impl $crate::document::Word for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),*];
            const WORDS: &'static [&'static str] = &[$($word),*];
        }
    };
}

/// Declares the types that tables are read into, each with its [`Table`](crate::document::Table) of keys.
///
/// ```
/// use hemiola_scenario::document::Shape;
/// use hemiola_scenario::sections;
///
/// sections! {
///     /// A note.
///     pub struct Note<'s> = "a note" {
///         must title: &'s str, Shape::Text, "One line.";
///         may weight: u32 = 1, Shape::Whole(1, 9), "How heavy it is.";
///     }
/// }
/// assert_eq!(Note::TABLE.keys[1].default.unwrap()(), "1");
/// ```
///
/// A key states whether it is required, its type, its default if that is a constant, its shape, the words of
/// another key that permit it (`of ["io"]`), and its meaning.
#[macro_export]
macro_rules! sections {
    ($(
        $(#[$doc:meta])*
        $vis:vis struct $name:ident<$s:lifetime> = $noun:literal {
            $($need:ident $key:ident: $type:ty $(= $default:expr)?, $shape:expr, $(of $of:expr,)? $text:literal;)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        $vis struct $name<$s> {
            /// The table itself.
            $vis section: $crate::document::Section<$s>,
            $(#[doc = $text] $vis $key: $crate::sections!(@entry $type $(, $default)?),)*
        }

        impl<$s> $crate::document::FromSection<$s> for $name<$s> {
            fn from_section(section: $crate::document::Section<$s>) -> Self {
                Self {
                    $($key: section.entry::<$type>(stringify!($key))$(.or($default))?,)*
                    section,
                }
            }

            fn section(&self) -> &$crate::document::Section<$s> {
                &self.section
            }
        }

        impl<$s> $crate::document::Read<$s> for $name<$s> {
            fn read(
                value: &$s $crate::document::DeValue<$s>,
                key_at: &::std::ops::Range<usize>,
            ) -> Option<Self> {
                $crate::document::Section::of(value, key_at)
                    .map(<Self as $crate::document::FromSection<$s>>::from_section)
            }
        }

        impl $name<'_> {
            /// Its keys.
            $vis const TABLE: &'static $crate::document::Table = &$crate::document::Table {
                noun: $noun,
                keys: &[$($crate::document::Key {
                    word: stringify!($key),
                    required: $crate::sections!(@$need),
                    shape: $shape,
                    of: $crate::sections!(@of $($of)?),
                    default: $crate::sections!(@default $($default)?),
                    doc: $text,
                }),*],
            };
        }
    )*};
    (@must) => { true };
    (@may) => { false };
    (@entry $type:ty) => { $crate::document::Entry<$type> };
    (@entry $type:ty, $default:expr) => { $crate::document::Entry<$type, $type> };
    (@of) => { &[] };
    (@of $of:expr) => { &$of };
    (@default) => { None };
    (@default $default:expr) => { Some(|| $crate::document::Written::written(&$default)) };
}
