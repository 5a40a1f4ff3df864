//! Scalars, and how values of the language consist of them.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use hemiola_world_lang::Value;
use hemiola_world_lang::definition::{Type, Universe, Width};

/// The type of a scalar: of a column, a register, a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScalarType {
    /// A truth value.
    Boolean,
    /// 32 bits, signed.
    Integer,
    /// 32 bits, IEEE 754.
    Single,
    /// 64 bits, IEEE 754.
    Double,
    /// A number of [`Texts`].
    Text,
}

impl ScalarType {
    /// Bytes of a scalar of this type in a column.
    #[must_use]
    pub const fn width(self) -> usize {
        match self {
            Self::Boolean => 1,
            Self::Integer | Self::Single => 4,
            Self::Double | Self::Text => 8,
        }
    }
}

/// A scalar. Equality compares bits.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// A truth value.
    Boolean(bool),
    /// A whole number.
    Integer(i32),
    /// A `real32`.
    Single(f32),
    /// A `real`.
    Double(f64),
    /// A text by its number.
    Text(u64),
}

impl Scalar {
    /// Zero, false, or the empty text.
    #[must_use]
    pub const fn zero(ty: ScalarType) -> Self {
        match ty {
            ScalarType::Boolean => Self::Boolean(false),
            ScalarType::Integer => Self::Integer(0),
            ScalarType::Single => Self::Single(0.0),
            ScalarType::Double => Self::Double(0.0),
            ScalarType::Text => Self::Text(0),
        }
    }

    /// Its type.
    #[must_use]
    pub const fn ty(self) -> ScalarType {
        match self {
            Self::Boolean(_) => ScalarType::Boolean,
            Self::Integer(_) => ScalarType::Integer,
            Self::Single(_) => ScalarType::Single,
            Self::Double(_) => ScalarType::Double,
            Self::Text(_) => ScalarType::Text,
        }
    }

    /// The number as an `f64`; `None` of a truth value or a text.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(number.into()),
            Self::Single(number) => Some(number.into()),
            Self::Double(number) => Some(number),
            Self::Boolean(_) | Self::Text(_) => None,
        }
    }

    pub(crate) const fn bits(self) -> u64 {
        match self {
            Self::Boolean(value) => value as u64,
            Self::Integer(value) => value as u64,
            Self::Single(value) => value.to_bits() as u64,
            Self::Double(value) => value.to_bits(),
            Self::Text(value) => value,
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        (self.ty(), self.bits()) == (other.ty(), other.bits())
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.ty(), self.bits()).hash(state);
    }
}

/// The texts of a world by number, so that a text is a scalar: equal texts have equal numbers. Number 0 is the empty
/// text.
///
/// Texts are never forgotten. They come from definitions and from new entities only; no function makes one.
#[derive(Clone, Debug)]
pub struct Texts {
    numbers: BTreeMap<String, u64>,
    texts: Vec<String>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { numbers: BTreeMap::from([(String::new(), 0)]), texts: vec![String::new()] }
    }
}

impl Texts {
    /// The number of a text, which gets one if it has none.
    pub fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u64;
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    /// Whether there is no text but the empty one.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.texts.len() == 1
    }

    /// The texts of these numbers, from 0; `None` if the first one is not empty, or two are equal.
    #[must_use]
    pub fn of(texts: Vec<String>) -> Option<Self> {
        let numbers: BTreeMap<String, u64> = texts.iter().cloned().zip(0..).collect();
        let is_sound = texts.first().is_some_and(String::is_empty) && numbers.len() == texts.len();
        is_sound.then_some(Self { numbers, texts })
    }

    /// All of them, in the order of their numbers.
    #[must_use]
    pub fn all(&self) -> &[String] {
        &self.texts
    }

    /// The text of a number.
    ///
    /// # Panics
    /// If no text has the number.
    #[must_use]
    pub fn text(&self, number: u64) -> &str {
        &self.texts[number as usize]
    }
}

/// The scalars of a value of this type, in the order of [`Universe::leaves`].
#[must_use]
pub fn scalar_types(universe: &Universe, ty: &Type) -> Vec<ScalarType> {
    let mut types = Vec::new();
    collect_types(universe, ty, &mut types);
    types
}

fn collect_types(universe: &Universe, ty: &Type, types: &mut Vec<ScalarType>) {
    let mut repeat = |of: &Type, count: u32| {
        let start = types.len();
        if count > 0 {
            collect_types(universe, of, types);
        }
        let end = types.len();
        (1..count).for_each(|_| types.extend_from_within(start..end));
    };
    match ty {
        Type::Boolean => types.push(ScalarType::Boolean),
        Type::Integer => types.push(ScalarType::Integer),
        Type::Real(Width::Single, _) => types.push(ScalarType::Single),
        Type::Real(Width::Double, _) => types.push(ScalarType::Double),
        Type::String(_) => types.push(ScalarType::Text),
        Type::Array(of, length) => repeat(of, *length),
        Type::List(of, most) => {
            types.push(ScalarType::Integer);
            let start = types.len();
            collect_types(universe, of, types);
            let end = types.len();
            (1..*most).for_each(|_| types.extend_from_within(start..end));
        }
        Type::Element(id) => {
            for property in &universe.elements[id.index()].properties {
                collect_types(universe, &property.ty, types);
            }
        }
    }
}

/// The scalars of a value of this type that count the items of a list, each with the greatest count.
#[must_use]
pub fn list_counts(universe: &Universe, ty: &Type) -> Vec<(u32, u32)> {
    let (mut at, mut counts) = (0, Vec::new());
    collect_counts(universe, ty, &mut at, &mut counts);
    counts
}

fn collect_counts(universe: &Universe, ty: &Type, at: &mut u32, counts: &mut Vec<(u32, u32)>) {
    match ty {
        Type::Array(of, length) => {
            (0..*length).for_each(|_| collect_counts(universe, of, at, counts));
        }
        Type::List(of, most) => {
            counts.push((*at, *most));
            *at += 1;
            (0..*most).for_each(|_| collect_counts(universe, of, at, counts));
        }
        Type::Element(id) => {
            for property in &universe.elements[id.index()].properties {
                collect_counts(universe, &property.ty, at, counts);
            }
        }
        _ => *at += 1,
    }
}

/// How many scalars a value of this type has.
#[must_use]
pub fn scalar_count(universe: &Universe, ty: &Type) -> u32 {
    universe.size(ty).0 as u32
}

/// The scalars of a value. Items that a list does not have are zeros.
///
/// # Panics
/// If the value does not have the type.
#[must_use]
pub fn scalars_of(universe: &Universe, ty: &Type, value: &Value, texts: &mut Texts) -> Vec<Scalar> {
    let mut scalars = Vec::new();
    collect_scalars(universe, ty, value, texts, &mut scalars);
    scalars
}

fn collect_scalars(
    universe: &Universe,
    ty: &Type,
    value: &Value,
    texts: &mut Texts,
    scalars: &mut Vec<Scalar>,
) {
    match (ty, value) {
        (Type::Boolean, Value::Boolean(value)) => scalars.push(Scalar::Boolean(*value)),
        (Type::Integer, Value::Integer(value)) => scalars.push(Scalar::Integer(*value)),
        (Type::Real(Width::Single, _), Value::Single(value)) => {
            scalars.push(Scalar::Single(*value));
        }
        (Type::Real(Width::Double, _), Value::Double(value)) => {
            scalars.push(Scalar::Double(*value));
        }
        (Type::String(_), Value::String(text)) => scalars.push(Scalar::Text(texts.number(text))),
        (Type::Array(of, length), Value::Items(items)) => {
            assert_eq!(items.len(), *length as usize, "an array has all of its items");
            items.iter().for_each(|item| collect_scalars(universe, of, item, texts, scalars));
        }
        (Type::List(of, most), Value::Items(items)) => {
            assert!(items.len() <= *most as usize, "a list has at most {most} items");
            scalars.push(Scalar::Integer(items.len() as i32));
            items.iter().for_each(|item| collect_scalars(universe, of, item, texts, scalars));
            let missing = *most as usize - items.len();
            let types = scalar_types(universe, of);
            let zeros = types.iter().map(|ty| Scalar::zero(*ty));
            scalars.extend(zeros.cycle().take(missing * types.len()));
        }
        (Type::Element(id), Value::Row(values)) => {
            let properties = &universe.elements[id.index()].properties;
            assert_eq!(values.len(), properties.len(), "a row has all of its properties");
            for (property, value) in properties.iter().zip(values) {
                collect_scalars(universe, &property.ty, value, texts, scalars);
            }
        }
        _ => panic!("{value:?} is no value of the type {}", universe.type_text(ty)),
    }
}

/// The value that consists of these scalars: the reverse of [`scalars_of`].
///
/// # Panics
/// If the scalars are not those of the type.
#[must_use]
pub fn value_of(
    universe: &Universe,
    ty: &Type,
    scalars: &mut dyn Iterator<Item = Scalar>,
    texts: &Texts,
) -> Value {
    match ty {
        Type::Array(of, length) => {
            Value::Items((0..*length).map(|_| value_of(universe, of, scalars, texts)).collect())
        }
        Type::List(of, most) => {
            let count = scalars.next().and_then(Scalar::number).expect("a list has a count");
            let mut items: Vec<Value> =
                (0..*most).map(|_| value_of(universe, of, scalars, texts)).collect();
            items.truncate(count as usize);
            Value::Items(items)
        }
        Type::Element(id) => {
            let properties = &universe.elements[id.index()].properties;
            let values =
                properties.iter().map(|property| value_of(universe, &property.ty, scalars, texts));
            Value::Row(values.collect())
        }
        _ => match scalars.next().expect("the type has so many scalars") {
            Scalar::Boolean(value) => Value::Boolean(value),
            Scalar::Integer(value) => Value::Integer(value),
            Scalar::Single(value) => Value::Single(value),
            Scalar::Double(value) => Value::Double(value),
            Scalar::Text(number) => Value::String(texts.text(number).to_owned()),
        },
    }
}
