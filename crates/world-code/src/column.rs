//! Columns: one scalar of every row of a table.

use std::ops::Range;
use std::sync::Arc;

use crate::cells::{Cells, Room};
use crate::scalar::{Scalar, ScalarType};

/// One scalar of every row.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Truth values.
    Boolean(Vec<bool>),
    /// Whole numbers.
    Integer(Cells<i32>),
    /// `real32`
    Single(Cells<f32>),
    /// `real`
    Double(Cells<f64>),
    /// Texts by their numbers.
    Text(Cells<u64>),
}

/// Rows of a column that stand apart from it while somebody writes them.
#[derive(Debug)]
pub enum Rows<'r> {
    /// Truth values.
    Boolean(&'r mut [bool]),
    /// Whole numbers.
    Integer(&'r mut [i32]),
    /// `real32`
    Single(&'r mut [f32]),
    /// `real`
    Double(&'r mut [f64]),
    /// Texts by their numbers.
    Text(&'r mut [u64]),
}

impl Rows<'_> {
    /// Some of the rows, borrowed.
    ///
    /// # Panics
    /// If there are no such rows.
    #[must_use]
    pub fn part(&mut self, part: Range<usize>) -> Rows<'_> {
        match self {
            Self::Boolean(rows) => Rows::Boolean(&mut rows[part]),
            Self::Integer(rows) => Rows::Integer(&mut rows[part]),
            Self::Single(rows) => Rows::Single(&mut rows[part]),
            Self::Double(rows) => Rows::Double(&mut rows[part]),
            Self::Text(rows) => Rows::Text(&mut rows[part]),
        }
    }

    /// The address of the first row in the process.
    pub(crate) fn place(&mut self) -> usize {
        match self {
            Self::Boolean(rows) => rows.as_mut_ptr() as usize,
            Self::Integer(rows) => rows.as_mut_ptr() as usize,
            Self::Single(rows) => rows.as_mut_ptr() as usize,
            Self::Double(rows) => rows.as_mut_ptr() as usize,
            Self::Text(rows) => rows.as_mut_ptr() as usize,
        }
    }

    /// Splits off the first rows.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn split_front(&mut self, count: usize) -> Self {
        const ENOUGH: &str = "a column has the rows of its table";
        match self {
            Self::Boolean(rows) => Self::Boolean(rows.split_off_mut(..count).expect(ENOUGH)),
            Self::Integer(rows) => Self::Integer(rows.split_off_mut(..count).expect(ENOUGH)),
            Self::Single(rows) => Self::Single(rows.split_off_mut(..count).expect(ENOUGH)),
            Self::Double(rows) => Self::Double(rows.split_off_mut(..count).expect(ENOUGH)),
            Self::Text(rows) => Self::Text(rows.split_off_mut(..count).expect(ENOUGH)),
        }
    }
}

/// Does the same with the vector of any column.
macro_rules! each {
    ($column:expr, $vector:ident => $work:expr) => {
        match $column {
            Column::Boolean($vector) => $work,
            Column::Integer($vector) => $work,
            Column::Single($vector) => $work,
            Column::Double($vector) => $work,
            Column::Text($vector) => $work,
        }
    };
}

impl Column {
    /// A column without rows.
    #[must_use]
    pub fn new(ty: ScalarType) -> Self {
        match ty {
            ScalarType::Boolean => Self::Boolean(Vec::new()),
            ScalarType::Integer => Self::Integer(Cells::default()),
            ScalarType::Single => Self::Single(Cells::default()),
            ScalarType::Double => Self::Double(Cells::default()),
            ScalarType::Text => Self::Text(Cells::default()),
        }
    }

    /// A column with the same scalar in every row, in the memory of a room if there is one.
    #[must_use]
    pub fn filled(scalar: Scalar, rows: usize, room: Option<&Arc<dyn Room>>) -> Self {
        match scalar {
            Scalar::Boolean(value) => Self::Boolean(vec![value; rows]),
            Scalar::Integer(value) => Self::Integer(Cells::filled(value, rows, room)),
            Scalar::Single(value) => {
                Self::Single(Cells::filled(canonical_single(value), rows, room))
            }
            Scalar::Double(value) => {
                Self::Double(Cells::filled(canonical_double(value), rows, room))
            }
            Scalar::Text(value) => Self::Text(Cells::filled(value, rows, room)),
        }
    }

    /// A copy, perhaps of a wider number type.
    ///
    /// # Panics
    /// If scalars would lose something.
    #[must_use]
    pub fn widened(&self, ty: ScalarType) -> Self {
        match (self, ty) {
            (Self::Integer(rows), ScalarType::Double) => {
                Self::Double(rows.iter().copied().map(f64::from).collect::<Vec<_>>().into())
            }
            (Self::Single(rows), ScalarType::Double) => {
                let wide = rows.iter().map(|x| canonical_double(f64::from(*x)));
                Self::Double(wide.collect::<Vec<_>>().into())
            }
            (column, ty) => {
                assert_eq!(column.ty(), ty, "scalars of another type");
                column.clone()
            }
        }
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        each!(self, rows => rows.len())
    }

    /// Some of its rows, for writing.
    ///
    /// # Panics
    /// If there are no such rows.
    #[must_use]
    pub fn rows_mut(&mut self, rows: Range<usize>) -> Rows<'_> {
        match self {
            Self::Boolean(column) => Rows::Boolean(&mut column[rows]),
            Self::Integer(column) => Rows::Integer(&mut column[rows]),
            Self::Single(column) => Rows::Single(&mut column[rows]),
            Self::Double(column) => Rows::Double(&mut column[rows]),
            Self::Text(column) => Rows::Text(&mut column[rows]),
        }
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves its rows to memory of a room, where they stay when they become more. Truth values stay where they are, and
    /// so do all others if the room is full.
    pub fn move_to(&mut self, room: &Arc<dyn Room>) {
        match self {
            Self::Boolean(_) => {}
            Self::Integer(rows) => rows.move_to(room),
            Self::Single(rows) => rows.move_to(room),
            Self::Double(rows) => rows.move_to(room),
            Self::Text(rows) => rows.move_to(room),
        }
    }

    /// The scalar of a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn get(&self, row: usize) -> Scalar {
        match self {
            Self::Boolean(rows) => Scalar::Boolean(rows[row]),
            Self::Integer(rows) => Scalar::Integer(rows[row]),
            Self::Single(rows) => Scalar::Single(rows[row]),
            Self::Double(rows) => Scalar::Double(rows[row]),
            Self::Text(rows) => Scalar::Text(rows[row]),
        }
    }

    /// Changes the scalar of a row. A value that is not a number gets its one bit pattern.
    ///
    /// # Panics
    /// If there is no such row, or the scalar has another type.
    pub fn set(&mut self, row: usize, scalar: Scalar) {
        match (self, scalar) {
            (Self::Boolean(rows), Scalar::Boolean(value)) => rows[row] = value,
            (Self::Integer(rows), Scalar::Integer(value)) => rows[row] = value,
            (Self::Single(rows), Scalar::Single(value)) => rows[row] = canonical_single(value),
            (Self::Double(rows), Scalar::Double(value)) => rows[row] = canonical_double(value),
            (Self::Text(rows), Scalar::Text(value)) => rows[row] = value,
            (column, scalar) => panic!("{scalar:?} is not of the type of {column:?}"),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the scalar has another type.
    pub fn push(&mut self, scalar: Scalar) {
        let row = self.len();
        each!(&mut *self, rows => rows.push(Default::default()));
        self.set(row, scalar);
    }

    /// Removes a row and puts the last one in its place.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn swap_remove(&mut self, row: usize) {
        each!(self, rows => drop(rows.swap_remove(row)));
    }

    /// Loses all rows; memory is kept.
    pub fn clear(&mut self) {
        match self {
            Self::Boolean(rows) => rows.clear(),
            Self::Integer(rows) => rows.clear(),
            Self::Single(rows) => rows.clear(),
            Self::Double(rows) => rows.clear(),
            Self::Text(rows) => rows.clear(),
        }
    }

    /// Adds some rows of another column. A column without rows takes its type.
    ///
    /// # Panics
    /// If there is no such row, or it has rows of another type.
    pub fn gather(&mut self, from: &Self, rows: &[u32]) {
        match (self, from) {
            (Self::Boolean(to), Self::Boolean(from)) => {
                to.extend(rows.iter().map(|row| from[*row as usize]));
            }
            (Self::Integer(to), Self::Integer(from)) => to.gather(from, rows),
            (Self::Single(to), Self::Single(from)) => to.gather(from, rows),
            (Self::Double(to), Self::Double(from)) => to.gather(from, rows),
            (Self::Text(to), Self::Text(from)) => to.gather(from, rows),
            (to, from) => {
                assert_eq!(to.len(), 0, "rows of another type");
                *to = Self::new(from.ty());
                to.gather(from, rows);
            }
        }
    }

    /// Copies some rows of another column to the same places.
    ///
    /// # Panics
    /// If there is no such row in one of them, or the other one has another type.
    pub fn copy_rows(&mut self, from: &Self, rows: &[u32]) {
        match (self, from) {
            (Self::Boolean(to), Self::Boolean(from)) => copy_rows(to, from, rows),
            (Self::Integer(to), Self::Integer(from)) => copy_rows(to, from, rows),
            (Self::Single(to), Self::Single(from)) => copy_rows(to, from, rows),
            (Self::Double(to), Self::Double(from)) => copy_rows(to, from, rows),
            (Self::Text(to), Self::Text(from)) => copy_rows(to, from, rows),
            (to, from) => panic!("{:?} and {:?} are different types", to.ty(), from.ty()),
        }
    }

    /// The type of its scalars.
    #[must_use]
    pub const fn ty(&self) -> ScalarType {
        match self {
            Self::Boolean(_) => ScalarType::Boolean,
            Self::Integer(_) => ScalarType::Integer,
            Self::Single(_) => ScalarType::Single,
            Self::Double(_) => ScalarType::Double,
            Self::Text(_) => ScalarType::Text,
        }
    }

    /// Becomes a copy of another column; memory is kept.
    pub fn copy_from(&mut self, other: &Self) {
        match (self, other) {
            (Self::Boolean(to), Self::Boolean(from)) => to.clone_from(from),
            (Self::Integer(to), Self::Integer(from)) => to.copy_from(from),
            (Self::Single(to), Self::Single(from)) => to.copy_from(from),
            (Self::Double(to), Self::Double(from)) => to.copy_from(from),
            (Self::Text(to), Self::Text(from)) => to.copy_from(from),
            (to, from) => *to = from.clone(),
        }
    }
}

fn copy_rows<T: Copy>(to: &mut [T], from: &[T], rows: &[u32]) {
    rows.iter().for_each(|row| to[*row as usize] = from[*row as usize]);
}

/// The quiet "not a number" without sign and payload for all of them, as `Value::canonical` has it.
pub(crate) const fn canonical_single(value: f32) -> f32 {
    if value.is_nan() { f32::from_bits(0x7fc0_0000) } else { value }
}

/// As [`canonical_single`], in 64 bits.
pub(crate) const fn canonical_double(value: f64) -> f64 {
    if value.is_nan() { f64::from_bits(0x7ff8_0000_0000_0000) } else { value }
}
