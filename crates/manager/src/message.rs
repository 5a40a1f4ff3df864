//! The messages of a manager's queue, version 1, as `docs/guide/managers.md` draws them.
//!
//! A message is checked before anything of it is used: no content makes a program panic.

use std::collections::BTreeMap;

use thiserror::Error;

/// The version of the messages.
pub const VERSION: u16 = 1;
/// Bytes before the body.
const HEADER_LEN: usize = 40;

/// Why a message is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageError {
    /// It has another version.
    #[error("it has version {0}, and this program reads version {VERSION}")]
    Version(u16),
    /// It has an unknown kind.
    #[error("it has the unknown kind {0}")]
    Kind(u16),
    /// It is shorter than its own numbers say.
    #[error("it ends too early")]
    Short,
    /// A name is not text, or a type unknown.
    #[error("a name or a type in it is invalid")]
    Name,
}

/// What a manager is told.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Told<'m> {
    /// Entities that are new to it, with their values.
    Births(Rows<'m>),
    /// Entities whose values are sent.
    Rows(Rows<'m>),
    /// Entities that ended.
    Deaths(Deaths<'m>),
    /// A step is complete.
    Step {
        /// Its number, from 1.
        step: u64,
        /// Births, rows and deaths of this step and those before that wait until the manager has read more.
        left: u64,
    },
}

/// Entities of one element with their values.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'m> {
    /// The step that they belong to.
    pub step: u64,
    /// The name of their element.
    pub element: &'m str,
    count: usize,
    body: &'m [u8],
    columns: &'m [Column],
}

/// Entities that ended.
#[derive(Clone, Copy, Debug)]
pub struct Deaths<'m> {
    /// The step in which they ended, or a later one if the manager was slow.
    pub step: u64,
    body: &'m [u8],
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'m> {
    /// A truth value.
    Boolean(bool),
    /// A whole number.
    Integer(i32),
    /// A `real32`, in SI units.
    Real32(f32),
    /// A `real`, in SI units.
    Real(f64),
    /// A text.
    Text(&'m str),
}

impl<'m> Rows<'m> {
    /// How many entities there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of an entity.
    ///
    /// # Panics
    /// If `row` is [`Self::len`] or more.
    #[must_use]
    pub fn entity(&self, row: usize) -> u64 {
        assert!(row < self.count, "row {row} of {}", self.count);
        number(self.body, 8 * row)
    }

    /// The value of an entity in a column; `None` if there is no such column or row, or its text is no UTF-8.
    #[must_use]
    pub fn value(&self, column: usize, row: usize) -> Option<Value<'m>> {
        let Column { ty, width, .. } = *self.columns.get(column)?;
        if row >= self.count {
            return None;
        }
        let before = self.columns[..column].iter().map(|of| of.len(self.count)).sum::<usize>();
        let bytes = self.body.get(8 * self.count + before + row * width..)?.get(..width)?;
        Some(match ty {
            Type::Boolean => Value::Boolean(bytes[0] != 0),
            Type::Integer => Value::Integer(i32::from_le_bytes(bytes.try_into().ok()?)),
            Type::Real32 => Value::Real32(f32::from_le_bytes(bytes.try_into().ok()?)),
            Type::Real => Value::Real(f64::from_le_bytes(bytes.try_into().ok()?)),
            Type::Text => {
                let text = bytes.get(1..)?.get(..bytes[0].into())?;
                Value::Text(std::str::from_utf8(text).ok()?)
            }
        })
    }
}

impl Deaths<'_> {
    /// The numbers of the entities.
    pub fn entities(&self) -> impl Iterator<Item = u64> {
        (0..self.body.len() / 8).map(|at| number(self.body, 8 * at))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Boolean,
    Integer,
    Real32,
    Real,
    Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    name: String,
    ty: Type,
    width: usize,
}

impl Column {
    const fn len(&self, count: usize) -> usize {
        (self.width * count).next_multiple_of(8)
    }
}

/// What messages have said about columns and elements.
#[derive(Debug, Default)]
pub(crate) struct Names {
    columns: Vec<Column>,
    elements: BTreeMap<u32, String>,
    definition: Option<u64>,
}

impl Names {
    pub(crate) fn columns(&self) -> Vec<&str> {
        self.columns.iter().map(|column| &*column.name).collect()
    }

    /// Takes a message about names; false for another one.
    pub(crate) fn learn(&mut self, message: &[u8]) -> Result<bool, MessageError> {
        let Header { kind, count, definition, .. } = Header::of(message)?;
        let mut rest = &message[HEADER_LEN..];
        match kind {
            1 => {
                self.columns.clear();
                for _ in 0..count {
                    let ([ty, _, low, high], name) = entry(&mut rest)?;
                    let (ty, sound) = match ty {
                        1 => (Type::Boolean, 1..=1),
                        2 => (Type::Integer, 4..=4),
                        3 => (Type::Real32, 4..=4),
                        4 => (Type::Real, 8..=8),
                        5 => (Type::Text, 1..=256),
                        _ => return Err(MessageError::Name),
                    };
                    let width = usize::from(u16::from_le_bytes([low, high]));
                    if !sound.contains(&width) {
                        return Err(MessageError::Name);
                    }
                    self.columns.push(Column { name, ty, width });
                }
            }
            2 => {
                if self.definition != Some(definition) {
                    self.elements.clear();
                    self.definition = Some(definition);
                }
                for _ in 0..count {
                    let (number, name) = entry(&mut rest)?;
                    self.elements.insert(u32::from_le_bytes(number), name);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What another message tells.
    pub(crate) fn told<'m>(&'m self, message: &'m [u8]) -> Result<Told<'m>, MessageError> {
        let Header { kind, count, step, element, left, .. } = Header::of(message)?;
        let body = &message[HEADER_LEN..];
        let ids = count.checked_mul(8).ok_or(MessageError::Short)?;
        let rows = || {
            let columns = self.columns.iter().map(|column| column.len(count)).sum::<usize>();
            let body = body.get(..ids + columns).ok_or(MessageError::Short)?;
            let name = self.elements.get(&element).map_or("", String::as_str);
            Ok(Rows { step, element: name, count, body, columns: &self.columns })
        };
        Ok(match kind {
            3 => Told::Births(rows()?),
            4 => Told::Rows(rows()?),
            5 => Told::Deaths(Deaths { step, body: body.get(..ids).ok_or(MessageError::Short)? }),
            6 => Told::Step { step, left },
            kind => return Err(MessageError::Kind(kind)),
        })
    }
}

struct Header {
    kind: u16,
    count: usize,
    step: u64,
    element: u32,
    definition: u64,
    left: u64,
}

impl Header {
    fn of(message: &[u8]) -> Result<Self, MessageError> {
        if message.len() < HEADER_LEN {
            return Err(MessageError::Short);
        }
        let first = number(message, 0);
        let version = (first >> 16) as u16;
        if version != VERSION {
            return Err(MessageError::Version(version));
        }
        Ok(Self {
            kind: first as u16,
            count: (first >> 32) as usize,
            step: number(message, 8),
            element: number(message, 16) as u32,
            definition: number(message, 24),
            left: number(message, 32),
        })
    }
}

/// The next four bytes and the name behind them.
fn entry(rest: &mut &[u8]) -> Result<([u8; 4], String), MessageError> {
    let (&first, behind) = rest.split_first_chunk::<4>().ok_or(MessageError::Short)?;
    let (&len, behind) = behind.split_first_chunk::<4>().ok_or(MessageError::Short)?;
    let len = usize::from(u16::from_le_bytes([len[0], len[1]]));
    let (name, behind) =
        behind.split_at_checked(len.next_multiple_of(8)).ok_or(MessageError::Short)?;
    *rest = behind;
    let name = std::str::from_utf8(&name[..len]).map_err(|_| MessageError::Name)?;
    Ok((first, name.to_owned()))
}

/// The number in eight bytes that are there.
fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;

    use super::*;

    fn message(kind: u16, count: u32, body: &[u8]) -> Vec<u8> {
        let mut message = vec![0; HEADER_LEN];
        message[..2].copy_from_slice(&kind.to_le_bytes());
        message[2..4].copy_from_slice(&VERSION.to_le_bytes());
        message[4..8].copy_from_slice(&count.to_le_bytes());
        message[8] = 7;
        message.extend(body);
        message
    }

    fn columns() -> Vec<u8> {
        let mut body = vec![4, 0, 8, 0, 1, 0, 0, 0];
        body.extend(b"x\0\0\0\0\0\0\0");
        body.extend([5, 0, 4, 0, 1, 0, 0, 0]);
        body.extend(b"t\0\0\0\0\0\0\0");
        message(1, 2, &body)
    }

    #[test]
    fn rows_have_the_values_of_the_drawing() {
        let mut names = Names::default();
        assert_eq!(names.learn(&columns()), Ok(true));
        assert_eq!(names.columns(), ["x", "t"]);
        let mut elements = vec![3, 0, 0, 0, 4, 0, 0, 0];
        elements.extend(b"bird\0\0\0\0");
        assert_eq!(names.learn(&message(2, 1, &elements)), Ok(true));
        let mut body = Vec::new();
        [10_u64, 11].iter().for_each(|id| body.extend(id.to_le_bytes()));
        [1.5_f64, -2.0].iter().for_each(|x| body.extend(x.to_le_bytes()));
        body.extend(b"\x02ab\0\x00\0\0\0");
        let mut births = message(3, 2, &body);
        births[16] = 3;
        assert_eq!(names.learn(&births), Ok(false));
        let Ok(Told::Births(rows)) = names.told(&births) else { panic!("births") };
        assert_eq!((rows.step, rows.element, rows.len()), (7, "bird", 2));
        assert_eq!((rows.entity(0), rows.entity(1)), (10, 11));
        assert_eq!(rows.value(0, 1), Some(Value::Real(-2.0)));
        assert_eq!(
            (rows.value(1, 0), rows.value(1, 1)),
            (Some(Value::Text("ab")), Some(Value::Text("")))
        );
        assert_eq!((rows.value(2, 0), rows.value(0, 2)), (None, None));
        for len in 0..births.len() {
            assert!(names.told(&births[..len]).is_err(), "{len} bytes are too few");
        }
    }

    #[test]
    fn random_messages_are_refused_or_read_and_never_panic() {
        let mut random = Random::from_seed(1);
        for _ in 0..20_000 {
            let mut names = Names::default();
            for _ in 0..3 {
                let len = random.below(120) as usize;
                let mut message: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
                if len >= 8 && random.below(4) > 0 {
                    message[..8].copy_from_slice(&[0, 0, 1, 0, 0, 0, 0, 0]);
                    message[0] = random.below(8) as u8;
                    message[4] = random.below(5) as u8;
                }
                if random.below(3) == 0 {
                    message = columns();
                }
                let _ = names.learn(&message);
                match names.told(&message) {
                    Ok(Told::Births(rows) | Told::Rows(rows)) => {
                        for row in 0..rows.len() {
                            let _ = (rows.entity(row), rows.value(0, row), rows.value(1, row));
                        }
                    }
                    Ok(Told::Deaths(deaths)) => drop(deaths.entities().count()),
                    Ok(Told::Step { .. }) | Err(_) => {}
                }
            }
        }
    }
}
