//! Tables of a document as typed values, each with its place in the source.

use std::num::NonZeroU32;
use std::ops::Range;

use hemiola_plant::STATES_MAX;
use hemiola_simplex::Gain;
use hemiola_units::{Bytes, Delivery, Endpoint, Rate, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::schema::Table;

/// A value and its place in the source.
#[derive(Clone, Debug)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its bytes in the source.
    pub at: Range<usize>,
}

/// One table of a document.
#[derive(Clone, Debug, Default)]
pub struct Section<'s> {
    /// `None` if the document does not have the table.
    table: Option<&'s DeTable<'s>>,
    /// The place to mark when something is missing from it.
    pub at: Range<usize>,
}

impl<'s> Section<'s> {
    /// Returns the value as a table, if it is one; `at` is the place to mark when something is missing from it.
    #[must_use]
    pub fn of(item: &'s Spanned<DeValue<'s>>, at: &Range<usize>) -> Option<Self> {
        Some(Self::new(item.get_ref().as_table()?, at.clone()))
    }

    pub(crate) fn new(table: &'s DeTable<'s>, at: Range<usize>) -> Self {
        Self { table: Some(table), at }
    }

    /// The entry of a key.
    #[must_use]
    pub fn entry<T: Read<'s>>(&self, key: &'static str) -> Entry<T> {
        let found = self.table.and_then(|table| table.get_key_value(key));
        Entry {
            key,
            stated: found.and_then(|(key, item)| {
                Some(At { value: T::read(item, &key.span())?, at: item.span() })
            }),
            is_present: found.is_some(),
            is_array: found.is_some_and(|(_, item)| item.get_ref().is_array()),
            key_at: found.map_or_else(|| self.at.clone(), |(key, _)| key.span()),
            default: (),
        }
    }
}

/// The entry of a table under one key. `D` is the type of the default: `T`, or `()` without one.
///
/// A value of the wrong shape reads as absent, because the check of the shape has already reported it.
#[derive(Clone, Debug)]
pub struct Entry<T, D = ()> {
    /// The key.
    pub key: &'static str,
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
        let Self { key, stated, is_present, is_array, key_at, default: () } = self;
        Entry { key, stated, is_present, is_array, key_at, default }
    }
}

impl<T, D> Entry<T, D> {
    /// The stated value.
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.stated.as_ref().map(|stated| &stated.value)
    }

    /// The place of the value, or else that of the key.
    #[must_use]
    pub fn at(&self) -> &Range<usize> {
        self.stated.as_ref().map_or(&self.key_at, |stated| &stated.at)
    }
}

impl<'s, T: Declared<'s> + Clone> Entry<T> {
    /// The stated table, or one without keys.
    #[must_use]
    pub fn or_empty(&self) -> T {
        self.get().cloned().unwrap_or_else(T::empty)
    }
}

impl<T: Copy> Entry<T, T> {
    /// The stated value, or the default.
    #[must_use]
    pub fn value(&self) -> T {
        self.get().copied().unwrap_or(self.default)
    }
}

impl Entry<&str> {
    /// The stated text; empty if nothing is stated.
    #[must_use]
    pub fn text(&self) -> String {
        self.get().copied().unwrap_or_default().to_owned()
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
    /// Returns the value, or `None` if it has another shape. `key_at` is the place of its key, or of its item in an
    /// array.
    fn read(item: &'s Spanned<DeValue<'s>>, key_at: &Range<usize>) -> Option<Self>;
}

/// A table whose keys are declared with [`sections!`](crate::sections).
pub trait Declared<'s>: Sized {
    /// Its keys.
    const TABLE: &'static Table;

    /// Reads all keys.
    fn from_section(section: Section<'s>) -> Self;

    /// The table with no key: its defaults.
    fn empty() -> Self {
        Self::from_section(Section::default())
    }
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
    fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
        let text = item.get_ref().as_str()?;
        T::WORDS.iter().position(|word| *word == text).map(|at| T::ALL[at])
    }
}

impl<'s> Read<'s> for &'s str {
    fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
        item.get_ref().as_str()
    }
}

impl<'s> Read<'s> for bool {
    fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
        item.get_ref().as_bool()
    }
}

impl<'s> Read<'s> for f64 {
    fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
        number(item.get_ref())
    }
}

macro_rules! read_whole {
    ($($type:ty)*) => {$(
        impl<'s> Read<'s> for $type {
            fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
                Self::try_from(whole(item.get_ref())?).ok()
            }
        }
    )*};
}
read_whole!(u8 u16 u32 u64 usize i8 i64);

macro_rules! read_parsed {
    ($($type:ty)*) => {$(
        impl<'s> Read<'s> for $type {
            fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
                item.get_ref().as_str()?.parse().ok()
            }
        }
    )*};
}
read_parsed!(Bytes Endpoint Rate Span);

impl<'s> Read<'s> for Delivery {
    fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
        let value = item.get_ref();
        if let DeValue::String(word) = value {
            return (word.as_ref() == "latest").then_some(Self::Latest);
        }
        let queue = whole(value.as_table()?.get("queue")?.get_ref())?;
        NonZeroU32::new(u32::try_from(queue).ok()?).map(Self::Queue)
    }
}

/// One number or more; absent if one of them is none.
#[derive(Clone, Debug)]
pub(crate) struct Numbers(pub(crate) Vec<f64>);

impl<'s> Read<'s> for Numbers {
    fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
        let items = item.get_ref().as_array().filter(|items| !items.is_empty())?.iter();
        Some(Self(items.map(|item| number(item.get_ref())).collect::<Option<_>>()?))
    }
}

/// The rows of a matrix; absent if one of them is none.
#[derive(Clone, Debug)]
pub(crate) struct Rows(pub(crate) Vec<At<Numbers>>);

impl<'s> Read<'s> for Rows {
    fn read(item: &'s Spanned<DeValue<'s>>, at: &Range<usize>) -> Option<Self> {
        let items = item.get_ref().as_array()?.iter();
        Some(Self(items.map(|item| At::read(item, at)).collect::<Option<_>>()?))
    }
}

/// A gain as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum GainText<'s> {
    /// A name, not yet looked up.
    Name(&'s str),
    /// A number for each state.
    Numbers {
        /// The gain, 0 for the states that are not written.
        gain: Gain,
        /// How many numbers are written.
        count: usize,
    },
}

impl<'s> Read<'s> for GainText<'s> {
    fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
        gain(item.get_ref())
    }
}

/// The gain, if the value has its shape.
pub(crate) fn gain<'s>(value: &'s DeValue<'_>) -> Option<GainText<'s>> {
    match value {
        DeValue::String(name) => Some(GainText::Name(name)),
        DeValue::Array(array) if (1..=STATES_MAX).contains(&array.len()) => {
            let mut gain = Gain([0.0; STATES_MAX]);
            for (place, item) in gain.0.iter_mut().zip(array.iter()) {
                *place = number(item.get_ref())?;
            }
            Some(GainText::Numbers { gain, count: array.len() })
        }
        _ => None,
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
    fn read(item: &'s Spanned<DeValue<'s>>, key_at: &Range<usize>) -> Option<Self> {
        if item.get_ref().is_array() {
            Vec::read(item, key_at).map(Self::Many)
        } else {
            T::read(item, key_at).map(Self::One)
        }
    }
}

/// A formula: a string, or a bare number as text.
#[derive(Clone, Debug)]
pub struct FormulaText {
    /// The formula.
    pub text: String,
    /// The place of `text` in the source: after the opening quote. A multi-line string starts two characters later,
    /// which is close enough for a caret.
    pub at: Range<usize>,
}

impl<'s> Read<'s> for FormulaText {
    fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
        let at = item.span();
        match item.get_ref() {
            DeValue::String(text) => {
                Some(Self { text: text.to_string(), at: at.start + 1..at.end - 1 })
            }
            value => number(value).map(|number| Self { text: number.to_string(), at }),
        }
    }
}

impl<'s, T: Read<'s>> Read<'s> for At<T> {
    fn read(item: &'s Spanned<DeValue<'s>>, key_at: &Range<usize>) -> Option<Self> {
        Some(Self { value: T::read(item, key_at)?, at: item.span() })
    }
}

/// The items of an array that have the right shape.
impl<'s, T: Read<'s>> Read<'s> for Vec<T> {
    fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
        let items = item.get_ref().as_array()?.iter();
        Some(items.filter_map(|item| T::read(item, &item.span())).collect())
    }
}

/// Values under names that the user chooses, in the order written.
pub type Named<'s, T> = Vec<(At<&'s str>, T)>;

impl<'s, T: Read<'s>> Read<'s> for Named<'s, T> {
    fn read(item: &'s Spanned<DeValue<'s>>, _: &Range<usize>) -> Option<Self> {
        let mut named: Vec<_> = (item.get_ref().as_table()?.iter())
            .filter_map(|(name, item)| {
                let at = name.span();
                let value = T::read(item, &at)?;
                Some((At { value: name.get_ref().as_ref(), at }, value))
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
written!(bool: "{}", f64: "{}", u8: "{}", u32: "{}", u64: "{}", usize: "{}", i32: "{}", &str: "{:?}");
written!(Span: "\"{}\"", Bytes: "\"{}\"", Rate: "\"{}\"");

impl Written for GainText<'_> {
    fn written(&self) -> String {
        match self {
            Self::Name(name) => name.written(),
            Self::Numbers { gain, count } => format!("{:?}", &gain.0[..*count]),
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
        $vis enum $name { $(#[doc = $word] $variant),* }
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
/// use hemiola_scenario::document::{Declared, Shape};
/// use hemiola_scenario::sections;
///
/// sections! {
///     /// A note.
///     pub struct Note<'s> = "a note" {
///         must title: &'s str, Shape::Text, "One line.";
///         may weight: u32 = 1, Shape::Whole(1, 9), "How heavy it is.";
///     }
/// }
/// assert_eq!((Note::TABLE.keys[1].word, Note::empty().weight.value()), ("weight", 1));
/// ```
///
/// A key states whether it is required, its type, its default if that is a constant, its shape, the words of
/// another key (`by task`) that permit it (`of ["io"]`), a default that depends on others (`else "the period"`), and
/// its meaning.
#[macro_export]
macro_rules! sections {
    ($(
        $(#[$doc:meta])*
        $vis:vis struct $name:ident<$s:lifetime> = $noun:literal $(by $by:ident)? {
            $(
                $need:ident $key:ident: $type:ty $(= $default:expr)?,
                $shape:expr, $(of $of:expr,)? $(else $otherwise:literal,)? $text:literal;
            )*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        $vis struct $name<$s> {
            /// The table itself.
            #[allow(dead_code, reason = "some tables have no key that another one forbids or requires")]
            $vis section: $crate::document::Section<$s>,
            $(#[doc = $text] $vis $key: $crate::sections!(@entry $type $(, $default)?),)*
        }

        impl<$s> $crate::document::Declared<$s> for $name<$s> {
            const TABLE: &'static $crate::document::Table = &$crate::document::Table {
                noun: $noun,
                by: $crate::sections!(@by $($by)?),
                keys: &[$($crate::document::Key {
                    word: stringify!($key),
                    required: $crate::sections!(@$need),
                    shape: $shape,
                    of: $crate::sections!(@of $($of)?),
                    default: $crate::sections!(@default $(= $default)? $(else $otherwise)?),
                    doc: $text,
                }),*],
            };

            fn from_section(section: $crate::document::Section<$s>) -> Self {
                Self {
                    $($key: section.entry::<$type>(stringify!($key))$(.or($default))?,)*
                    section,
                }
            }
        }

        impl<$s> $crate::document::Read<$s> for $name<$s> {
            fn read(
                item: &$s $crate::document::Spanned<$crate::document::DeValue<$s>>,
                key_at: &::std::ops::Range<usize>,
            ) -> Option<Self> {
                let section = $crate::document::Section::of(item, key_at)?;
                Some(<Self as $crate::document::Declared<$s>>::from_section(section))
            }
        }
    )*};
    (@by) => { None };
    (@by $by:ident) => { Some(stringify!($by)) };
    (@must) => { true };
    (@may) => { false };
    (@entry $type:ty) => { $crate::document::Entry<$type> };
    (@entry $type:ty, $default:expr) => { $crate::document::Entry<$type, $type> };
    (@of) => { &[] };
    (@of $of:expr) => { &$of };
    (@default) => { $crate::document::DefaultValue::None };
    (@default else $words:literal) => { $crate::document::DefaultValue::Words($words) };
    (@default = $default:expr) => {
        $crate::document::DefaultValue::Constant(|| $crate::document::Written::written(&$default))
    };
}
