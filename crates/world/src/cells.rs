//! Positions sorted into cells, so that the rows within a radius are found without a look at all others.
//!
//! The cells only choose candidates. Whether a row is within the radius is computed from the positions, in their own
//! bits.
//!
//! Where the rows are dense, the cells are the places of an array, and the rows are counted into them. Where a few rows
//! are far from the others, such an array would have no bound: the rows are sorted, and a cell is found by bisection.

use std::ops::Range;

/// A position; if it has less than three coordinates, they are the last ones, and the others are 0.
pub(crate) type Point = [f64; 3];

/// The number of a cell along each axis.
type Cell = [i32; 3];

/// Rows sorted by the cell of their position, and within a cell by their number.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    edge: f64,
    rows: Vec<Row>,
    /// The first and the last cell that has a row, along each axis.
    low: Cell,
    high: Cell,
    /// How many cells that are, along each axis.
    size: [u64; 3],
    /// By cell, from the lowest one to the highest one: the end of its rows, which begin at the end of those before. It
    /// is empty if the cells are too many for an array.
    ends: Vec<u32>,
    /// By row, where there is no array: its cell and its number.
    sorted: Vec<(Cell, u32)>,
    /// Memory of [`Self::fill`]: the cells of the rows, in the order of their numbers.
    cells: Vec<Cell>,
}

/// A position and the number of its row.
#[derive(Clone, Copy, Debug)]
struct Row {
    position: Point,
    number: u32,
}

/// Cells are numbered up to here; the outermost ones contain all that is farther away.
const CELL_MAX: f64 = 1_000_000_000.0;

/// No cell: that of a position that is not a number.
const NOWHERE: Cell = [i32::MIN; 3];

/// More than this many lines of cells are no faster than a look at all rows.
const LINES_MAX: u64 = 4_096;

/// An array has at most this many cells for each row, which take half of the memory of the row.
const CELLS_PER_ROW: u64 = 4;

impl Cells {
    /// Takes so many rows by the positions of their numbers. A position that is not a number has no neighbour.
    pub(crate) fn fill(&mut self, edge: f64, count: u32, position: impl Fn(u32) -> Point) {
        self.edge = edge;
        (self.low, self.high) = ([i32::MAX; 3], [i32::MIN; 3]);
        let mut cells = std::mem::take(&mut self.cells);
        cells.clear();
        cells.extend((0..count).map(|number| self.noted(position(number))));
        self.size = std::array::from_fn(|axis| distance(self.low[axis], self.high[axis]));
        let size = self.size.iter().fold(1, |cells: u64, size| cells.saturating_mul(*size));
        if (1..=CELLS_PER_ROW * u64::from(count)).contains(&size) {
            self.count(&cells, size as usize, position);
        } else {
            self.sort(&cells, position);
        }
        self.cells = cells;
    }

    /// The cell of a position, which is noted as one that has a row; [`NOWHERE`] if it is not a number.
    fn noted(&mut self, position: Point) -> Cell {
        if position.iter().any(|x| x.is_nan()) {
            return NOWHERE;
        }
        let cell = position.map(|x| self.cell(x));
        self.low = std::array::from_fn(|axis| self.low[axis].min(cell[axis]));
        self.high = std::array::from_fn(|axis| self.high[axis].max(cell[axis]));
        cell
    }

    /// Counts the rows into an array of so many cells.
    fn count(&mut self, cells: &[Cell], size: usize, position: impl Fn(u32) -> Point) {
        let mut ends = std::mem::take(&mut self.ends);
        ends.clear();
        ends.resize(size, 0);
        let known = || (0..).zip(cells).filter(|(_, cell)| **cell != NOWHERE);
        known().for_each(|(_, cell)| ends[self.place(*cell)] += 1);
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        // Each row is written to its place.
        self.rows.resize(start as usize, Row { position: [0.0; 3], number: 0 });
        for (number, cell) in known() {
            let end = &mut ends[self.place(*cell)];
            self.rows[*end as usize] = Row { position: position(number), number };
            *end += 1;
        }
        self.ends = ends;
    }

    /// Sorts the rows by their cells.
    fn sort(&mut self, cells: &[Cell], position: impl Fn(u32) -> Point) {
        self.ends.clear();
        self.sorted.clear();
        self.sorted.extend(cells.iter().copied().zip(0..).filter(|(cell, _)| *cell != NOWHERE));
        self.sorted.sort_unstable();
        let numbers = self.sorted.iter().map(|(_, number)| *number);
        self.rows.clear();
        self.rows.extend(numbers.map(|number| Row { position: position(number), number }));
    }

    /// The place of a cell in the array.
    fn place(&self, cell: Cell) -> usize {
        let at = |axis: usize| (cell[axis] - self.low[axis]) as usize;
        (at(0) * self.size[1] as usize + at(1)) * self.size[2] as usize + at(2)
    }

    /// The number of the cell along one axis: the quotient rounded down.
    fn cell(&self, x: f64) -> i32 {
        let quotient = (x / self.edge).clamp(-CELL_MAX, CELL_MAX);
        let whole = quotient as i32;
        whole - i32::from(f64::from(whole) > quotient)
    }

    /// Calls `found` for all rows that may be within the radius of a position, and for others, in any order.
    pub(crate) fn near(&self, position: Point, radius: f64, mut found: impl FnMut(Point, u32)) {
        let mut tell = |rows: Range<usize>| {
            self.rows[rows].iter().for_each(|row| found(row.position, row.number));
        };
        let low: Cell = std::array::from_fn(|axis| {
            self.cell(position[axis] - reach(position[axis], radius)).max(self.low[axis])
        });
        let high: Cell = std::array::from_fn(|axis| {
            self.cell(position[axis] + reach(position[axis], radius)).min(self.high[axis])
        });
        let lines = [0, 1].map(|axis| distance(low[axis], high[axis]));
        let lines = lines[0].saturating_mul(lines[1]);
        if !radius.is_finite() || lines > LINES_MAX.min(self.rows.len() as u64) {
            return tell(0..self.rows.len());
        }
        // An axis without a common cell has no line, or a line without cells.
        if low[2] > high[2] {
            return;
        }
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                tell(self.line([x, y, low[2]], [x, y, high[2]]));
            }
        }
    }

    /// The rows from one cell to another one along the last axis.
    fn line(&self, from: Cell, to: Cell) -> Range<usize> {
        if self.ends.is_empty() {
            let start = self.sorted.partition_point(|(cell, _)| *cell < from);
            return start..start + self.sorted[start..].partition_point(|(cell, _)| *cell <= to);
        }
        let before = self.place(from).checked_sub(1);
        before.map_or(0, |place| self.ends[place] as usize)..self.ends[self.place(to)] as usize
    }
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

    fn fill(cells: &mut Cells, edge: f64, positions: &[Point]) {
        cells.fill(edge, positions.len() as u32, |number| positions[number as usize]);
    }

    fn cells(positions: &[Point], edge: f64) -> Cells {
        let mut cells = Cells::default();
        fill(&mut cells, edge, positions);
        cells
    }

    /// The numbers that the cells choose.
    fn near(cells: &Cells, at: Point, radius: f64) -> Vec<u32> {
        let mut found = Vec::new();
        cells.near(at, radius, |_, number| found.push(number));
        found.sort_unstable();
        found
    }

    #[test]
    fn far_rows_are_left_out() {
        let line: Vec<Point> = (0..100).rev().map(|x| [0.0, 0.0, f64::from(x)]).collect();
        assert_eq!(near(&cells(&line, 1.0), [0.0, 0.0, 50.0], 1.5), [48, 49, 50, 51]);
        assert_eq!(near(&cells(&line, 10.0), [0.0, 0.0, 5.0], 1.0), (90..100).collect::<Vec<_>>());
    }

    #[test]
    fn positions_far_beyond_the_cells_are_found() {
        let far = [[0.0, 0.0, 1e30], [0.0, 0.0, f64::INFINITY], [0.0, 0.0, f64::NAN]];
        assert_eq!(near(&cells(&far, 1.0), [0.0, 0.0, 1e30], 5.0), [0, 1]);
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
        let near: Vec<Point> = (0..9).map(|x| [0.0, 0.0, f64::from(x)]).collect();
        let far = near.iter().map(|[x, y, z]| [*x, *y, z * 1e6]).collect::<Vec<_>>();
        let mut cells = cells(&near, 1.0);
        fill(&mut cells, 1.0, &far);
        assert!(cells.ends.is_empty() && cells.ends.capacity() >= near.len());
        fill(&mut cells, 1.0, &near);
        assert!(!cells.ends.is_empty() && cells.sorted.capacity() >= near.len());
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
            let mut positions: Vec<Point> = (0..60).map(|_| point(axes)).collect();
            positions[7][2] = if case % 4 == 0 { f64::NAN } else { positions[7][2] };
            let at = if case % 2 == 0 { positions[0] } else { point(axes) };
            let radius = random.between(0.0, side.min(20.0));
            fill(&mut cells, random.between(0.5, 3.0), &positions);
            forms[usize::from(cells.ends.is_empty())] += 1;
            let is_near = |position: &Point| {
                let squares = position.iter().zip(at).map(|(there, here)| (there - here).powi(2));
                squares.sum::<f64>() <= radius * radius
            };
            let mut chosen = Vec::new();
            cells.near(at, radius, |position, number| {
                assert_eq!(position, positions[number as usize], "case {case}");
                chosen.extend(is_near(&position).then_some(number));
            });
            chosen.sort_unstable();
            let all = (0..).zip(&positions).filter(|(_, position)| is_near(position));
            let all: Vec<u32> = all.map(|(number, _)| number).collect();
            assert_eq!(chosen, all, "case {case}");
        }
        assert!(forms.iter().all(|count| *count > 50), "{forms:?}");
    }
}
