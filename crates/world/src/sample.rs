//! Samples of the rows of a world that runs: some columns of some rows, copied between two steps.
//!
//! An element may have millions of entities, and no step may wait for a copy of them all. So a sample has two limits:
//!
//! * It has at most as many rows as its user wants ([`Slices::of`]): of each `stride` rows, one, chosen at random but
//!   always the same one, so that a user who asks again sees the same entities.
//! * It is taken in slices of at most [`SCALARS_MAX`] scalars. Each slice is a request of its own, so a step waits for
//!   one slice at most, and other requests come between two of them.
//!
//! The values of a slice are those of one step; different slices are from different steps. Entities that die between
//! two slices may leave their row to another one, so a sample may miss an entity or have it twice.

use hemiola_units::Random;
use hemiola_world_code::Column;
use hemiola_world_lang::definition::ElementId;
use thiserror::Error;

use crate::world::World;

/// Scalars in a slice at most: 64 KiB.
pub const SCALARS_MAX: usize = 8192;

/// A slice of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceRequest {
    /// The number of the definition that `element` and `columns` belong to ([`World::definition`]).
    pub definition: u64,
    /// The element; entities of derived elements are not among its rows.
    pub element: ElementId,
    /// Columns, by their place among the leaves of the element.
    pub columns: Vec<u32>,
    /// The first of the rows to choose, in strides from the first row.
    pub first: u64,
    /// Rows to choose; none asks how many rows there are.
    pub count: u32,
    /// One row is chosen of each so many rows.
    pub stride: u32,
}

/// Why there is no slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SampleError {
    /// It would have too many scalars, or its stride is 0.
    #[error(
        "a slice has at most {SCALARS_MAX} scalars and a stride of at least 1; ask for fewer rows or columns"
    )]
    TooLarge,
    /// The world has another definition.
    #[error("the universe was redefined; ask for its present definition")]
    Redefined,
    /// The element has no such column, or it has texts.
    #[error("the universe has no such element with such columns of numbers or truth values")]
    NoSuchColumn,
}

/// The rows and columns that a slice copies.
#[derive(Debug)]
pub struct Slice {
    definition: u64,
    element: ElementId,
    columns: Vec<u32>,
    /// In rising order.
    rows: Vec<u32>,
    /// The memory of the copy, which is allocated beside the steps.
    values: Vec<f64>,
}

/// The scalars of a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// Rows of the element.
    pub rows: u64,
    /// Rows that were chosen; those beyond the last row are left out.
    pub chosen: u32,
    /// The chosen rows of the first column, then those of the others. A truth value is 0 or 1.
    pub values: Vec<f64>,
}

impl SliceRequest {
    /// The rows to copy.
    ///
    /// # Errors
    /// If the slice is too large.
    pub fn prepare(self) -> Result<Slice, SampleError> {
        let Self { definition, element, columns, first, count, stride } = self;
        let scalars = columns.len().saturating_mul(count as usize);
        if scalars > SCALARS_MAX || count as usize > SCALARS_MAX || stride == 0 {
            return Err(SampleError::TooLarge);
        }
        let chosen = (first..first.saturating_add(count.into())).map(|at| {
            let within = if stride == 1 { 0 } else { Random::from_seed(at).below(stride.into()) };
            u32::try_from(at.saturating_mul(stride.into()).saturating_add(within))
        });
        let rows = chosen.map_while(Result::ok).collect();
        Ok(Slice { definition, element, columns, rows, values: Vec::with_capacity(scalars) })
    }
}

/// How a sample is divided into slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// One row is chosen of each so many rows.
    pub stride: u32,
    /// Rows to choose of all slices.
    pub chosen: u64,
    /// Rows to choose of one slice at most.
    pub in_slice: u32,
}

impl Slices {
    /// The slices of a sample with at most `rows_max` of so many rows, at least one, in so many columns.
    #[must_use]
    pub fn of(rows: u64, rows_max: u64, columns: usize) -> Self {
        let stride = rows.div_ceil(rows_max.max(1)).max(1);
        let in_slice = (SCALARS_MAX / columns.max(1)) as u32;
        let stride = u32::try_from(stride).unwrap_or(u32::MAX);
        Self { stride, chosen: rows.div_ceil(stride.into()), in_slice }
    }

    /// First row and number of rows of each slice.
    pub fn iter(self) -> impl Iterator<Item = (u64, u32)> {
        let Self { chosen, in_slice, .. } = self;
        let firsts = (0..chosen).step_by(in_slice.max(1) as usize);
        firsts.map(move |first| (first, (chosen - first).min(in_slice.into()) as u32))
    }
}

impl World {
    /// The number of the present definition: redefinitions and returns so far.
    #[must_use]
    pub const fn definition(&self) -> u64 {
        self.definitions
    }

    /// Copies a slice.
    pub(crate) fn sample(&self, slice: Slice) -> Result<Sampled, SampleError> {
        let Slice { definition, element, columns, mut rows, mut values } = slice;
        if definition != self.definitions {
            return Err(SampleError::Redefined);
        }
        let table = self.tables.get(element.index()).ok_or(SampleError::NoSuchColumn)?;
        rows.truncate(rows.partition_point(|row| (*row as usize) < table.len()));
        for column in columns {
            let column = table.columns.get(column as usize).ok_or(SampleError::NoSuchColumn)?;
            copy(column, &rows, &mut values)?;
        }
        Ok(Sampled { rows: table.len() as u64, chosen: rows.len() as u32, values })
    }
}

fn copy(column: &Column, rows: &[u32], values: &mut Vec<f64>) -> Result<(), SampleError> {
    let rows = rows.iter().map(|row| *row as usize);
    match column {
        Column::Boolean(of) => values.extend(rows.map(|row| f64::from(u8::from(of[row])))),
        Column::Integer(of) => values.extend(rows.map(|row| f64::from(of[row]))),
        Column::Single(of) => values.extend(rows.map(|row| f64::from(of[row]))),
        Column::Double(of) => values.extend(rows.map(|row| of[row])),
        Column::Text(_) => return Err(SampleError::NoSuchColumn),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hemiola_world_lang::{Sources, Value, check};

    use super::*;
    use crate::world::Change;

    fn world(rows: u64) -> World {
        let text = "universe u {
          element e {
            property x : real; property n : integer; property yes : boolean; property name : string;
            property narrow : real32;
          }
        }";
        let mut definition = check(&Sources::of("u.uml", text).unwrap(), None).unwrap();
        let mut world = World::new(definition.universes.remove(0)).unwrap();
        for row in 0..rows {
            let values = vec![
                Value::Double(row as f64 / 2.0),
                Value::Integer(row as i32),
                Value::Boolean(row % 2 == 1),
                Value::String("<b>".into()),
                Value::Single(-1.5),
            ];
            world.submit(Change::Construct(ElementId(0), Value::Row(values))).unwrap();
        }
        world.apply(&mut |_| {});
        world
    }

    fn request(columns: &[u32]) -> SliceRequest {
        let (definition, element, columns) = (0, ElementId(0), columns.to_vec());
        SliceRequest { definition, element, columns, first: 0, count: 10, stride: 1 }
    }

    /// All slices of a sample of the column `n`, whose value is the number of the row.
    fn rows_of_sample(world: &World, rows_max: u64) -> Vec<u64> {
        let slices = Slices::of(world.len() as u64, rows_max, 1);
        let mut all = Vec::new();
        for (first, count) in slices.iter() {
            assert!(count > 0 && count as usize <= SCALARS_MAX);
            let request = SliceRequest { first, count, stride: slices.stride, ..request(&[1]) };
            let sampled = world.sample(request.prepare().unwrap()).unwrap();
            assert_eq!(sampled.values.len(), sampled.chosen as usize);
            all.extend(sampled.values.iter().map(|value| *value as u64));
        }
        all
    }

    #[test]
    fn a_sample_with_room_for_all_rows_has_each_row_once() {
        for rows in [0, 1, 2, SCALARS_MAX as u64, SCALARS_MAX as u64 + 1, 20_000] {
            let expected: Vec<u64> = (0..rows).collect();
            assert_eq!(rows_of_sample(&world(rows), 20_000), expected);
        }
    }

    #[test]
    fn a_smaller_sample_has_one_row_of_each_stride_and_the_same_ones_again() {
        let world = world(20_001);
        let sample = rows_of_sample(&world, 1000);
        let strides: Vec<u64> = sample.iter().map(|row| row / 21).collect();
        let last = 20_001 / 21;
        assert!(
            strides == (0..last).collect::<Vec<_>>() || strides == (0..=last).collect::<Vec<_>>()
        );
        // Not at the same place of each stride, which a pattern in the table could follow.
        let places: std::collections::BTreeSet<u64> = sample.iter().map(|row| row % 21).collect();
        assert_eq!(places.len(), 21);
        assert_eq!(rows_of_sample(&world, 1000), sample);
    }

    #[test]
    fn no_slice_is_larger_than_the_limit_for_any_number_of_rows_and_columns() {
        for rows in [0, 1, 99_999, 100_000, 1_000_000, 1 << 28] {
            for columns in [1, 2, 3, 7, SCALARS_MAX] {
                let slices = Slices::of(rows, 100_000, columns);
                assert!(slices.chosen <= 100_000, "{slices:?}");
                assert!(slices.chosen * u64::from(slices.stride) >= rows, "{slices:?}");
                assert_eq!(
                    slices.iter().map(|(_, count)| u64::from(count)).sum::<u64>(),
                    slices.chosen
                );
                assert!(slices.iter().all(|(_, count)| count as usize * columns <= SCALARS_MAX));
            }
        }
    }

    #[test]
    fn numbers_and_truth_values_are_copied_column_after_column() {
        let world = world(3);
        let sampled = world.sample(request(&[0, 1, 2, 4]).prepare().unwrap()).unwrap();
        let values = vec![0.0, 0.5, 1.0, 0.0, 1.0, 2.0, 0.0, 1.0, 0.0, -1.5, -1.5, -1.5];
        assert_eq!(sampled, Sampled { rows: 3, chosen: 3, values });
        let none = SliceRequest { count: 0, ..request(&[]) };
        let sampled = world.sample(none.prepare().unwrap()).unwrap();
        assert_eq!(sampled, Sampled { rows: 3, chosen: 0, values: Vec::new() });
    }

    #[test]
    fn requests_that_do_not_fit_are_refused() {
        let world = world(3);
        let sample = |request: SliceRequest| world.sample(request.prepare()?);
        for column in [3, 5, u32::MAX] {
            assert_eq!(sample(request(&[0, column])), Err(SampleError::NoSuchColumn));
        }
        let other = SliceRequest { element: ElementId(1), ..request(&[0]) };
        assert_eq!(sample(other), Err(SampleError::NoSuchColumn));
        let old = SliceRequest { definition: 7, ..request(&[0]) };
        assert_eq!(sample(old), Err(SampleError::Redefined));
        let count = SCALARS_MAX as u32;
        let large = [
            SliceRequest { count, ..request(&[0, 1]) },
            SliceRequest { count: u32::MAX, ..request(&[]) },
            SliceRequest { stride: 0, ..request(&[0]) },
        ];
        for large in large {
            assert_eq!(sample(large), Err(SampleError::TooLarge));
        }
        let beyond = SliceRequest { first: u64::MAX - 3, stride: u32::MAX, ..request(&[0]) };
        assert_eq!(sample(beyond).map(|sampled| sampled.chosen), Ok(0));
    }
}
