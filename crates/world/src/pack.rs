//! The row of one entity as bytes, and back.
//!
//! The bytes are the scalars of the row in the order of its columns, without gaps, in a stated byte order: `boolean`
//! one byte, `integer` and `real32` four, `real` eight, the count of a list four, followed by all items that the list
//! can have. A text has one byte for its length, then its UTF-8. The reader knows the structure; the bytes do not
//! contain it.

use std::sync::Arc;

use hemiola_world_code::Scalar;
use hemiola_world_lang::limits::STRING_LEN_MAX;
use thiserror::Error;

use crate::structure::{Field, Structure};
use crate::table::Table;
use crate::world::{Accepted, ENTITIES_MAX, EntityId, Refused, World};

const _: () = assert!(STRING_LEN_MAX <= u8::MAX as u32, "the length of a text is one byte");

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The least significant byte first.
    Little,
    /// The most significant byte first, as in the encodings of the HLA whose names end in `BE`.
    Big,
}

/// Why a row is not packed or unpacked. The world stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PackError {
    /// The definition has changed since the structure was made.
    #[error("the definition has changed since the structure of `{0}` was made; make it again")]
    Outdated(String),
    /// The entity does not exist, or is one of another element.
    #[error("no entity of `{element}` has the number {number}")]
    NoSuchEntity {
        /// The element of the structure.
        element: String,
        /// The number.
        number: u64,
    },
    /// The bytes are not a row of the element.
    #[error("byte {at} is no row of `{element}`: {reason}")]
    Content {
        /// The element of the structure.
        element: String,
        /// Where the wrong scalar starts.
        at: usize,
        /// The reason.
        reason: &'static str,
    },
    /// The world refuses the entity.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl World {
    /// Bytes of the packed row of an entity.
    ///
    /// # Errors
    /// If the structure is outdated, or no entity of its element has the number.
    pub fn packed_len(&self, structure: &Structure, entity: EntityId) -> Result<usize, PackError> {
        let (table, row) = self.place(structure, entity)?;
        let fixed = *structure.packed_len().start() as usize;
        let is_text = |field: &Field| matches!(field, Field::Text(_));
        let fields = structure.fields.iter().zip(&table.columns);
        let texts = fields.filter(|(field, _)| is_text(field)).map(|(_, column)| column.get(row));
        Ok(fixed + texts.map(|scalar| self.text(scalar).len()).sum::<usize>())
    }

    /// Appends the packed row of an entity to `to`.
    ///
    /// # Errors
    /// If the structure is outdated, or no entity of its element has the number.
    pub fn pack(
        &self,
        structure: &Structure,
        entity: EntityId,
        order: ByteOrder,
        to: &mut Vec<u8>,
    ) -> Result<(), PackError> {
        let (table, row) = self.place(structure, entity)?;
        for column in &table.columns {
            match column.get(row) {
                Scalar::Boolean(value) => to.push(value.into()),
                Scalar::Integer(value) => to.extend(ordered(value.to_be_bytes(), order)),
                Scalar::Single(value) => to.extend(ordered(value.to_be_bytes(), order)),
                Scalar::Double(value) => to.extend(ordered(value.to_be_bytes(), order)),
                text @ Scalar::Text(_) => {
                    let text = self.text(text);
                    to.push(text.len() as u8);
                    to.extend(text.as_bytes());
                }
            }
        }
        Ok(())
    }

    /// Accepts a new entity with the row that starts these bytes, like [`Change::Construct`](crate::Change::Construct),
    /// and returns how many bytes the row has.
    ///
    /// # Errors
    /// If the structure is outdated, the bytes are not a row of its element, or the world is full.
    pub fn unpack(
        &mut self,
        structure: &Structure,
        order: ByteOrder,
        bytes: &[u8],
    ) -> Result<usize, PackError> {
        self.check_structure(structure)?;
        if self.entities_to_come >= ENTITIES_MAX {
            return Err(Refused::TooManyEntities.into());
        }
        let mut reader = Reader { bytes, at: 0, order, texts: Vec::new() };
        let fields = structure.fields.iter();
        let scalars: Result<Vec<Scalar>, _> = fields.map(|field| reader.scalar(*field)).collect();
        let Reader { at, texts, .. } = reader;
        let mut scalars = scalars.map_err(|reason| PackError::Content {
            element: name(structure),
            at,
            reason,
        })?;
        // Only now, so that a refused row leaves no texts behind.
        for scalar in &mut scalars {
            if let Scalar::Text(number) = scalar {
                *number = self.texts.number(texts[*number as usize]);
            }
        }
        self.entities_to_come += 1;
        self.changes.push(Accepted::Construct(structure.element, scalars));
        Ok(at)
    }

    /// The table and the row of an entity.
    fn place(&self, structure: &Structure, entity: EntityId) -> Result<(&Table, usize), PackError> {
        self.check_structure(structure)?;
        match self.places.get(&entity) {
            Some((element, row)) if *element == structure.element => {
                Ok((&self.tables[element.index()], *row))
            }
            _ => Err(PackError::NoSuchEntity { element: name(structure), number: entity.0 }),
        }
    }

    fn check_structure(&self, structure: &Structure) -> Result<(), PackError> {
        let is_present = Arc::ptr_eq(&self.universe, &structure.universe);
        if is_present { Ok(()) } else { Err(PackError::Outdated(name(structure))) }
    }

    fn text(&self, scalar: Scalar) -> &str {
        match scalar {
            Scalar::Text(number) => self.texts.text(number),
            _ => unreachable!("the structure says that it is a text"),
        }
    }
}

fn name(structure: &Structure) -> String {
    structure.universe.elements[structure.element.index()].name.clone()
}

/// Big-endian bytes in this order, and the reverse.
fn ordered<const N: usize>(mut bytes: [u8; N], order: ByteOrder) -> [u8; N] {
    if order == ByteOrder::Little {
        bytes.reverse();
    }
    bytes
}

struct Reader<'b> {
    bytes: &'b [u8],
    /// Where the next scalar starts.
    at: usize,
    order: ByteOrder,
    /// Those found so far; `Scalar::Text` is a number of them.
    texts: Vec<&'b str>,
}

impl<'b> Reader<'b> {
    /// The next scalar. With an error, `at` stays where the scalar starts.
    fn scalar(&mut self, field: Field) -> Result<Scalar, &'static str> {
        let start = self.at;
        let scalar = match field {
            Field::Boolean => match self.take(1)? {
                [0] => Ok(Scalar::Boolean(false)),
                [1] => Ok(Scalar::Boolean(true)),
                _ => Err("a truth value is 0 or 1"),
            },
            Field::Integer => self.number().map(|bytes| Scalar::Integer(i32::from_be_bytes(bytes))),
            Field::Count(most) => self.number().and_then(|bytes| {
                let count = i32::from_be_bytes(bytes);
                let fits = u32::try_from(count).is_ok_and(|count| count <= most);
                if fits { Ok(Scalar::Integer(count)) } else { Err("a list is too long") }
            }),
            Field::Single => self.number().map(|bytes| Scalar::Single(f32::from_be_bytes(bytes))),
            Field::Double => self.number().map(|bytes| Scalar::Double(f64::from_be_bytes(bytes))),
            Field::Text(most) => self.text(most),
        };
        scalar.inspect_err(|_| self.at = start)
    }

    fn take(&mut self, count: usize) -> Result<&'b [u8], &'static str> {
        let rest = &self.bytes[self.at..];
        let (taken, _) = rest.split_at_checked(count).ok_or("it ends early")?;
        self.at += count;
        Ok(taken)
    }

    /// Bytes of a number as big-endian ones.
    fn number<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(ordered(bytes, self.order))
    }

    fn text(&mut self, most: u32) -> Result<Scalar, &'static str> {
        let length = self.take(1)?[0];
        if u32::from(length) > most {
            return Err("a text is too long");
        }
        let text = self.take(length.into())?;
        self.texts.push(std::str::from_utf8(text).map_err(|_| "a text is not UTF-8")?);
        Ok(Scalar::Text(self.texts.len() as u64 - 1))
    }
}
