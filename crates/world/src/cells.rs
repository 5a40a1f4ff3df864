//! Positions sorted into cells, so that the rows within a radius are found without a look at all others.
//!
//! The cells only choose candidates. Whether a row is within the radius is computed from the positions, in their own
//! bits.
//!
//! Where the rows are dense, the cells are the places of an array, and the rows are counted into them. Where a few rows
//! are far from the others, such an array would have no bound: the rows are sorted, and a cell is found by bisection.

use std::ops::Range;

/// A position, of 32 or 64 bits; if it has less than three coordinates, they are the last ones, and the others are 0.
pub(crate) type Point<T> = [T; 3];

/// A coordinate.
pub(crate) trait Real: Copy + Default + PartialOrd + Into<f64> {
    /// The square of a distance, in the bits of the positions. A missing coordinate is 0 in both, and adds nothing.
    fn square(here: &Point<Self>, there: &Point<Self>) -> Self;

    /// The square of a radius.
    fn square_of(radius: f64) -> Self;
}

macro_rules! real {
    ($($type:ident)*) => {$(
        impl Real for $type {
            fn square(here: &Point<Self>, there: &Point<Self>) -> Self {
                let offsets = here.iter().zip(there).map(|(here, there)| there - here);
                offsets.fold(0.0, |sum, offset| sum + offset * offset)
            }

            fn square_of(radius: f64) -> Self {
                let radius = radius as Self;
                radius * radius
            }
        }
    )*};
}
real!(f32 f64);

/// The number of a cell along each axis.
type Cell = [i32; 3];

/// Rows sorted by the cell of their position, and within a cell by their number.
#[derive(Debug, Default)]
pub(crate) struct Cells<T> {
    /// 1 / the edge of a cell.
    per_edge: f64,
    rows: Vec<Row<T>>,
    /// The first and the last cell that has a row, along each axis.
    low: Cell,
    high: Cell,
    /// How many cells that are, along each axis.
    size: [u64; 3],
    /// The place of the first row of each cell, from the lowest cell to the highest one, and then the end of all rows.
    /// It is empty if the cells are too many for an array.
    starts: Vec<u32>,
    /// By row, where there is no array: its cell and its number.
    sorted: Vec<(Cell, u32)>,
    /// Memory of [`Self::count`]: the places of the rows, in the order of their numbers.
    places: Vec<u32>,
}

/// A position and the number of its row.
#[derive(Clone, Copy, Debug)]
struct Row<T> {
    position: Point<T>,
    number: u32,
}

/// Cells are numbered up to here; the outermost ones contain all that is farther away.
const CELL_MAX: f64 = 1_000_000_000.0;

/// No place: that of a position that is not a number.
const NOWHERE: u32 = u32::MAX;

/// More than this many lines of cells are no faster than a look at all rows.
const LINES_MAX: u64 = 4_096;

/// Candidates that are compared at once.
const CHOSEN_MAX: usize = 32;

/// An array has at most this many cells for each row, which take half of the memory of the row.
const CELLS_PER_ROW: u64 = 4;

impl<T: Real> Cells<T> {
    /// Takes so many rows by the positions of their numbers. A position that is not a number has no neighbour.
    pub(crate) fn fill(&mut self, edge: f64, count: u32, position: impl Fn(u32) -> Point<T>) {
        self.per_edge = 1.0 / edge;
        self.find_range((0..count).map(&position));
        let size = self.size.iter().fold(1, |cells: u64, size| cells.saturating_mul(*size));
        if (1..=CELLS_PER_ROW * u64::from(count)).contains(&size) {
            self.count(count, size as usize, position);
        } else {
            self.sort(count, position);
        }
    }

    /// Finds the first and the last cell that has a row: those of the least and of the greatest coordinate.
    fn find_range(&mut self, positions: impl Iterator<Item = Point<T>>) {
        let mut range: Option<(Point<T>, Point<T>)> = None;
        for position in positions.filter(|position| !is_nan(position)) {
            let (low, high) = range.get_or_insert((position, position));
            for (axis, x) in position.into_iter().enumerate() {
                low[axis] = if x < low[axis] { x } else { low[axis] };
                high[axis] = if x > high[axis] { x } else { high[axis] };
            }
        }
        (self.low, self.high) = match range {
            Some((low, high)) => (self.cell_of(&low), self.cell_of(&high)),
            None => ([i32::MAX; 3], [i32::MIN; 3]),
        };
        self.size = std::array::from_fn(|axis| distance(self.low[axis], self.high[axis]));
    }

    fn cell_of(&self, position: &Point<T>) -> Cell {
        position.map(|x| self.cell(x.into()))
    }

    /// The place of a position in the array; [`NOWHERE`] if it is not a number.
    fn place_of(&self, position: &Point<T>) -> u32 {
        if is_nan(position) {
            return NOWHERE;
        }
        // Along many an axis, there is one cell.
        let at = |axis: usize| match self.size[axis] {
            1 => 0,
            _ => (self.cell(position[axis].into()) - self.low[axis]) as usize,
        };
        ((at(0) * self.size[1] as usize + at(1)) * self.size[2] as usize + at(2)) as u32
    }

    /// Counts the rows into an array of so many cells.
    fn count(&mut self, count: u32, size: usize, position: impl Fn(u32) -> Point<T>) {
        let (mut starts, mut places) =
            (std::mem::take(&mut self.starts), std::mem::take(&mut self.places));
        starts.clear();
        starts.resize(size + 1, 0);
        places.clear();
        places.extend((0..count).map(|number| {
            let place = self.place_of(&position(number));
            if let Some(rows) = starts.get_mut((place as usize).wrapping_add(1)) {
                *rows += 1;
            }
            place
        }));
        let mut start = 0;
        for next in &mut starts[1..] {
            start += std::mem::replace(next, start);
        }
        // Each row is written to its place. The start of a cell moves to its end, where the next one starts.
        self.rows.resize(start as usize, Row { position: Point::default(), number: 0 });
        for (number, place) in (0..).zip(&places) {
            if let Some(next) = starts.get_mut((*place as usize).wrapping_add(1)) {
                self.rows[*next as usize] = Row { position: position(number), number };
                *next += 1;
            }
        }
        (self.starts, self.places) = (starts, places);
    }

    /// Sorts the rows by their cells.
    fn sort(&mut self, count: u32, position: impl Fn(u32) -> Point<T>) {
        let mut sorted = std::mem::take(&mut self.sorted);
        self.starts.clear();
        sorted.clear();
        let positions = (0..count).map(|number| (position(number), number));
        let known = positions.filter(|(position, _)| !is_nan(position));
        sorted.extend(known.map(|(position, number)| (self.cell_of(&position), number)));
        sorted.sort_unstable();
        let numbers = sorted.iter().map(|(_, number)| *number);
        self.rows.clear();
        self.rows.extend(numbers.map(|number| Row { position: position(number), number }));
        self.sorted = sorted;
    }

    /// The place of a cell in the array.
    fn place(&self, cell: Cell) -> usize {
        let at = |axis: usize| (cell[axis] - self.low[axis]) as usize;
        (at(0) * self.size[1] as usize + at(1)) * self.size[2] as usize + at(2)
    }

    /// The number of the cell along one axis: about the quotient rounded down. Only one thing matters: a greater `x`
    /// never has a lower number.
    fn cell(&self, x: f64) -> i32 {
        let quotient = (x * self.per_edge).clamp(-CELL_MAX, CELL_MAX);
        let whole = quotient as i32;
        whole - i32::from(f64::from(whole) > quotient)
    }

    /// Adds the numbers of all rows but one within the radius of a position, in any order. A row is within it if the
    /// square of its distance is at most that of the radius, both in the bits of the positions.
    pub(crate) fn near(
        &self,
        position: &Point<T>,
        radius: f64,
        except: Option<u32>,
        found: &mut Vec<u32>,
    ) {
        if radius.is_nan() || is_nan(position) {
            return;
        }
        let limit = T::square_of(radius);
        let mut tell = |rows: Range<usize>| {
            for rows in self.rows[rows].chunks(CHOSEN_MAX) {
                // Which of the candidates are near cannot be predicted, so nothing branches on it.
                let (mut chosen, mut count) = ([0; CHOSEN_MAX], 0);
                for row in rows {
                    chosen[count % CHOSEN_MAX] = row.number;
                    let is_near = T::square(position, &row.position) <= limit;
                    count += usize::from(is_near & (Some(row.number) != except));
                }
                found.extend_from_slice(&chosen[..count]);
            }
        };
        let Some((low, high)) = self.range(position, radius.abs()) else { return };
        let lines = [0, 1].map(|axis| distance(low[axis], high[axis]));
        let lines = lines[0].saturating_mul(lines[1]);
        // Where the square of the radius has no limit, cells say nothing.
        if !limit.into().is_finite() || lines > LINES_MAX.min(self.rows.len() as u64) {
            return tell(0..self.rows.len());
        }
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                tell(self.line([x, y, low[2]], [x, y, high[2]]));
            }
        }
    }

    /// The first and the last cell that may have rows within a radius.
    fn range(&self, position: &Point<T>, radius: f64) -> Option<(Cell, Cell)> {
        let (mut low, mut high) = (self.low, self.high);
        for axis in 0..3 {
            // Nothing is to be chosen from one cell.
            if self.size[axis] > 1 {
                let x = position[axis].into();
                let reach = reach(x, radius);
                low[axis] = low[axis].max(self.cell(x - reach));
                high[axis] = high[axis].min(self.cell(x + reach));
            }
        }
        // An axis without a common cell has no line, or a line without cells.
        low.iter().zip(&high).all(|(low, high)| low <= high).then_some((low, high))
    }

    /// The rows from one cell to another one along the last axis.
    fn line(&self, from: Cell, to: Cell) -> Range<usize> {
        if self.starts.is_empty() {
            let start = self.sorted.partition_point(|(cell, _)| *cell < from);
            return start..start + self.sorted[start..].partition_point(|(cell, _)| *cell <= to);
        }
        let first = self.place(from);
        let last = first + (to[2] - from[2]) as usize;
        self.starts[first] as usize..self.starts[last + 1] as usize
    }
}

fn is_nan<T: Real>(position: &Point<T>) -> bool {
    position.iter().any(|x| Into::<f64>::into(*x).is_nan())
}

/// The cells from one to another one along an axis.
fn distance(low: i32, high: i32) -> u64 {
    (i64::from(high) - i64::from(low) + 1).max(0) as u64
}

/// A bound of the distance along one axis of rows within a radius. Distances are computed with rounding, perhaps in 32
/// bits, so this is a little more than the radius. The last term covers squares that are too small for their type.
fn reach(x: f64, radius: f64) -> f64 {
    radius * 1.000_01 + x.abs() * 1e-12 + 1e-18
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;

    use super::*;

    fn fill(cells: &mut Cells<f64>, edge: f64, positions: &[Point<f64>]) {
        cells.fill(edge, positions.len() as u32, |number| positions[number as usize]);
    }

    fn cells(positions: &[Point<f64>], edge: f64) -> Cells<f64> {
        let mut cells = Cells::default();
        fill(&mut cells, edge, positions);
        cells
    }

    /// The numbers that the cells choose.
    fn near(cells: &Cells<f64>, at: Point<f64>, radius: f64) -> Vec<u32> {
        let mut found = Vec::new();
        cells.near(&at, radius, None, &mut found);
        found.sort_unstable();
        found
    }

    #[test]
    fn far_rows_are_left_out() {
        let line: Vec<Point<f64>> = (0..100).rev().map(|x| [0.0, 0.0, f64::from(x)]).collect();
        assert_eq!(near(&cells(&line, 1.0), [0.0, 0.0, 50.0], 1.5), [48, 49, 50]);
        assert_eq!(near(&cells(&line, 10.0), [0.0, 0.0, 5.0], 1.0), [93, 94, 95]);
    }

    #[test]
    fn positions_far_beyond_the_cells_are_found() {
        let far = [[0.0, 0.0, 1e30], [0.0, 0.0, f64::INFINITY], [0.0, 0.0, f64::NAN]];
        assert_eq!(near(&cells(&far, 1.0), [0.0, 0.0, 1e30], 5.0), [0]);
        assert_eq!(near(&cells(&far, 1.0), [0.0, 0.0, 1e30], 1e200), [0, 1]);
    }

    #[test]
    fn a_radius_of_many_cells_finds_all_rows() {
        let corners = [[-1e5, 0.0, 0.0], [0.0, 1e5, 0.0], [0.0, 0.0, 1e5], [3.0; 3]];
        let cells = cells(&corners, 1.0);
        assert_eq!(near(&cells, [0.0; 3], 1e6), [0, 1, 2, 3]);
        assert_eq!(near(&cells, [0.0; 3], f64::INFINITY), [0, 1, 2, 3]);
        assert_eq!(near(&cells, [f64::INFINITY; 3], f64::INFINITY), [0, 1, 2, 3]);
    }

    #[test]
    fn no_rows_are_near_to_nothing() {
        let mut cells = cells(&[[1.0; 3]], 1.0);
        fill(&mut cells, 1.0, &[]);
        assert_eq!(near(&cells, [1.0; 3], 5.0), []);
        assert_eq!(near(&cells, [1.0; 3], f64::INFINITY), []);
    }

    #[test]
    fn memory_is_kept_where_rows_spread_and_gather() {
        let near: Vec<Point<f64>> = (0..9).map(|x| [0.0, 0.0, f64::from(x)]).collect();
        let far = near.iter().map(|[x, y, z]| [*x, *y, z * 1e6]).collect::<Vec<_>>();
        let mut cells = cells(&near, 1.0);
        fill(&mut cells, 1.0, &far);
        assert!(cells.starts.is_empty() && cells.starts.capacity() >= near.len());
        fill(&mut cells, 1.0, &near);
        assert!(!cells.starts.is_empty() && cells.sorted.capacity() >= near.len());
    }

    #[test]
    fn a_look_at_all_rows_finds_no_more_neighbours() {
        let mut random = Random::from_seed(7);
        // One value serves all cases: nothing of a case before may remain.
        let (mut cells, mut forms) = (Cells::default(), [0; 2]);
        for case in 0..400 {
            let axes = 1 + case % 3;
            // Wide rows are sparse, narrow ones dense.
            let side = [1.0, 4.0, 30.0, 1e6, 1e12][random.below(5) as usize];
            let mut point = |count: u32| {
                let mut point = [0.0; 3];
                point[3 - count as usize..].fill_with(|| random.between(-side, side));
                point
            };
            let mut positions: Vec<Point<f64>> = (0..60).map(|_| point(axes)).collect();
            positions[7][2] = if case % 4 == 0 { f64::NAN } else { positions[7][2] };
            let at = if case % 2 == 0 { positions[0] } else { point(axes) };
            let radius = random.between(0.0, side.min(20.0));
            fill(&mut cells, random.between(0.5, 3.0), &positions);
            forms[usize::from(cells.starts.is_empty())] += 1;
            let is_near = |position: &Point<f64>| {
                let squares = position.iter().zip(at).map(|(there, here)| (there - here).powi(2));
                squares.sum::<f64>() <= radius * radius
            };
            let mut chosen = Vec::new();
            let except = (case % 3 == 0).then_some(case % 60);
            cells.near(&at, radius, except, &mut chosen);
            chosen.sort_unstable();
            let all = (0..)
                .zip(&positions)
                .filter(|(number, position)| is_near(position) && Some(*number) != except);
            let all: Vec<u32> = all.map(|(number, _)| number).collect();
            assert_eq!(chosen, all, "case {case}");
        }
        assert!(forms.iter().all(|count| *count > 50), "{forms:?}");
    }
}
