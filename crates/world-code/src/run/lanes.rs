//! The values of all rows of a block, and loops over them that a compiler turns into vector instructions.

use super::BLOCK_ROWS;
use crate::column::{Column, Rows};
use crate::scalar::Scalar;

/// Registers by type; each holds one value for each row of a block.
#[derive(Debug, Default)]
pub(super) struct Banks {
    booleans: Vec<Vec<bool>>,
    integers: Vec<Vec<i32>>,
    singles: Vec<Vec<f32>>,
    doubles: Vec<Vec<f64>>,
    texts: Vec<Vec<u64>>,
}

impl Banks {
    /// Has at least so many registers of each type.
    pub(super) fn grow(&mut self, counts: &[u32; 5]) {
        grow(&mut self.booleans, counts[0]);
        grow(&mut self.integers, counts[1]);
        grow(&mut self.singles, counts[2]);
        grow(&mut self.doubles, counts[3]);
        grow(&mut self.texts, counts[4]);
    }
}

fn grow<T: Lane>(bank: &mut Vec<Vec<T>>, count: u32) {
    if bank.len() < count as usize {
        bank.resize_with(count as usize, || vec![T::default(); BLOCK_ROWS]);
    }
}

/// A type of the values in registers and columns.
pub(super) trait Lane: Copy + Default {
    fn bank(banks: &Banks) -> &[Vec<Self>];
    fn bank_mut(banks: &mut Banks) -> &mut [Vec<Self>];
    fn column(column: &Column) -> &[Self];
    fn rows<'r>(rows: &'r Rows<'_>) -> &'r [Self];
    fn of(scalar: Scalar) -> Self;
    /// Bytes in a window.
    const WIDTH: usize;
    /// Writes it to so many bytes.
    fn write(self, to: &mut [u8]);
    /// Reads it from so many bytes.
    fn read(from: &[u8]) -> Self;
    /// Writes values one behind the other, in a loop that becomes a copy.
    fn write_all(from: &[Self], to: &mut [u8]);
    /// The reverse of [`Self::write_all`].
    fn read_all(from: &[u8], to: &mut [Self]);
}

macro_rules! lane {
    ($type:ty, $bank:ident, $variant:ident, $write:expr, $read:expr) => {
        impl Lane for $type {
            const WIDTH: usize = size_of::<$type>();

            fn write(self, to: &mut [u8]) {
                to.copy_from_slice(&$write(self));
            }

            fn read(from: &[u8]) -> Self {
                $read(from.try_into().expect("a value has its bytes"))
            }

            fn write_all(from: &[Self], to: &mut [u8]) {
                let (to, _) = to.as_chunks_mut();
                to.iter_mut().zip(from).for_each(|(to, from)| *to = $write(*from));
            }

            fn read_all(from: &[u8], to: &mut [Self]) {
                let (from, _) = from.as_chunks();
                to.iter_mut().zip(from).for_each(|(to, from)| *to = $read(*from));
            }

            fn bank(banks: &Banks) -> &[Vec<Self>] {
                &banks.$bank
            }

            fn bank_mut(banks: &mut Banks) -> &mut [Vec<Self>] {
                &mut banks.$bank
            }

            fn column(column: &Column) -> &[Self] {
                let Column::$variant(rows) = column else { panic!("a column of another type") };
                rows
            }

            fn rows<'r>(rows: &'r Rows<'_>) -> &'r [Self] {
                let Rows::$variant(rows) = rows else { panic!("rows of another type") };
                rows
            }

            fn of(scalar: Scalar) -> Self {
                let Scalar::$variant(value) = scalar else { panic!("a scalar of another type") };
                value
            }
        }
    };
}
lane!(bool, booleans, Boolean, |value| [u8::from(value)], |[byte]: [u8; 1]| byte != 0);
lane!(i32, integers, Integer, i32::to_le_bytes, i32::from_le_bytes);
lane!(f32, singles, Single, f32::to_le_bytes, f32::from_le_bytes);
lane!(f64, doubles, Double, f64::to_le_bytes, f64::from_le_bytes);
lane!(u64, texts, Text, u64::to_le_bytes, u64::from_le_bytes);

/// The values of an operand.
#[derive(Clone, Copy)]
pub(super) enum Lanes<'l, T> {
    /// One for each row.
    Each(&'l [T]),
    /// The same for all rows.
    All(T),
}

impl<T: Copy> Lanes<'_, T> {
    /// The value of a row.
    pub(super) fn at(&self, row: usize) -> T {
        match self {
            Self::Each(values) => values[row],
            Self::All(value) => *value,
        }
    }

    /// The values of two operands side by side.
    pub(super) fn pairs(self, other: Self, count: usize) -> impl Iterator<Item = (T, T)> {
        (0..count).map(move |row| (self.at(row), other.at(row)))
    }
}

pub(super) fn map<A: Copy, T>(out: &mut [T], of: Lanes<'_, A>, f: impl Fn(A) -> T)
where
    T: Copy,
{
    match of {
        Lanes::Each(of) => out.iter_mut().zip(of).for_each(|(out, of)| *out = f(*of)),
        Lanes::All(of) => out.fill(f(of)),
    }
}

pub(super) fn map2<A: Copy, T: Copy>(
    out: &mut [T],
    left: Lanes<'_, A>,
    right: Lanes<'_, A>,
    f: impl Fn(A, A) -> T,
) {
    match (left, right) {
        (Lanes::Each(left), Lanes::Each(right)) => {
            for ((out, left), right) in out.iter_mut().zip(left).zip(right) {
                *out = f(*left, *right);
            }
        }
        (Lanes::Each(left), Lanes::All(right)) => {
            out.iter_mut().zip(left).for_each(|(out, left)| *out = f(*left, right));
        }
        (Lanes::All(left), Lanes::Each(right)) => {
            out.iter_mut().zip(right).for_each(|(out, right)| *out = f(left, *right));
        }
        (Lanes::All(left), Lanes::All(right)) => out.fill(f(left, right)),
    }
}

/// `then` where the condition holds, `otherwise` elsewhere.
pub(super) fn map3<T: Copy>(
    out: &mut [T],
    condition: Lanes<'_, bool>,
    then: Lanes<'_, T>,
    otherwise: Lanes<'_, T>,
) {
    let condition = match condition {
        Lanes::Each(condition) => condition,
        Lanes::All(true) => return map(out, then, |value| value),
        Lanes::All(false) => return map(out, otherwise, |value| value),
    };
    let rows = out.iter_mut().zip(condition);
    match (then, otherwise) {
        (Lanes::Each(one), Lanes::Each(two)) => {
            rows.zip(one.iter().zip(two)).for_each(|((out, chosen), (one, two))| {
                *out = if *chosen { *one } else { *two };
            });
        }
        (Lanes::Each(one), Lanes::All(two)) => {
            rows.zip(one).for_each(|((out, chosen), one)| *out = if *chosen { *one } else { two });
        }
        (Lanes::All(one), Lanes::Each(two)) => {
            rows.zip(two).for_each(|((out, chosen), two)| *out = if *chosen { one } else { *two });
        }
        (Lanes::All(one), Lanes::All(two)) => {
            rows.for_each(|(out, chosen)| *out = if *chosen { one } else { two });
        }
    }
}
