//! Positions sorted into cells, so that the rows within a radius are found without a look at all others.
//!
//! The cells only choose candidates. Whether a row is within the radius is computed from the positions, in their own
//! bits.

/// A position; if it has less than three coordinates, they are the last ones, and the others are 0.
pub(crate) type Point = [f64; 3];

/// Rows sorted by the cell of their position.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    edge: f64,
    /// The first axis that positions have.
    first: usize,
    /// The cell and the number of each row.
    entries: Vec<([i32; 3], u32)>,
}

/// Cells are numbered up to here; the outermost ones contain all that is farther away.
const CELL_MAX: f64 = 1_000_000_000.0;

/// More than this many rows of cells are no faster than a look at all rows.
const LINES_MAX: u64 = 4_096;

impl Cells {
    /// Takes the rows, whose numbers are their places in `positions`. A position that is not a number has no neighbour.
    pub(crate) fn fill(&mut self, edge: f64, axes: u32, positions: impl Iterator<Item = Point>) {
        (self.edge, self.first) = (edge, 3 - axes as usize);
        self.entries.clear();
        for (number, position) in (0..).zip(positions) {
            if !position.iter().any(|x| x.is_nan()) {
                self.entries.push((position.map(|x| self.cell(x)), number));
            }
        }
        self.entries.sort_unstable();
    }

    fn cell(&self, x: f64) -> i32 {
        (x / self.edge).floor().clamp(-CELL_MAX, CELL_MAX) as i32
    }

    /// Appends the numbers of all rows that may be within the radius of a position, and of others, in order. False if
    /// the caller should look at all rows.
    pub(crate) fn near(&self, position: Point, radius: f64, found: &mut Vec<u32>) -> bool {
        let bound = |side: f64| {
            let mut cells = position.map(|x| self.cell(x + side * reach(x, radius)));
            cells[..self.first].fill(0);
            cells
        };
        let (low, high) = (bound(-1.0), bound(1.0));
        let lines = [0, 1].map(|axis| (i64::from(high[axis]) - i64::from(low[axis]) + 1) as u64);
        let lines = lines[0].saturating_mul(lines[1]);
        if lines > LINES_MAX.min(self.entries.len() as u64) {
            return false;
        }
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                let start = self.entries.partition_point(|(cell, _)| *cell < [x, y, low[2]]);
                let line = self.entries[start..].iter();
                let line = line.take_while(|(cell, _)| *cell <= [x, y, high[2]]);
                found.extend(line.map(|(_, number)| *number));
            }
        }
        found.sort_unstable();
        true
    }
}

/// A bound of the distance along one axis of rows within a radius. Distances are computed with rounding, perhaps in 32
/// bits, so this is a little more than the radius. The last term covers squares that are too small for their type.
fn reach(x: f64, radius: f64) -> f64 {
    radius * 1.000_01 + x.abs() * 1e-12 + 1e-18
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that the cells choose, or all of them.
    fn near(positions: &[Point], edge: f64, at: Point, radius: f64) -> Vec<u32> {
        let mut cells = Cells::default();
        cells.fill(edge, 1, positions.iter().copied());
        let mut found = Vec::new();
        if cells.near(at, radius, &mut found) {
            found
        } else {
            (0..positions.len() as u32).collect()
        }
    }

    #[test]
    fn far_rows_are_left_out_and_near_ones_come_in_order() {
        let line: Vec<Point> = (0..100).rev().map(|x| [0.0, 0.0, f64::from(x)]).collect();
        assert_eq!(near(&line, 1.0, [0.0, 0.0, 50.0], 1.5), [48, 49, 50, 51]);
        assert_eq!(near(&line, 10.0, [0.0, 0.0, 5.0], 1.0), (90..100).collect::<Vec<_>>());
    }

    #[test]
    fn positions_far_beyond_the_cells_are_found() {
        let far = [[0.0, 0.0, 1e30], [0.0, 0.0, f64::INFINITY], [0.0, 0.0, f64::NAN]];
        assert_eq!(near(&far, 1.0, [0.0, 0.0, 1e30], 5.0), [0, 1]);
    }

    #[test]
    fn a_radius_of_many_cells_asks_for_all_rows() {
        let mut cells = Cells::default();
        cells.fill(1.0, 3, [[0.0; 3]; 4].into_iter());
        assert!(!cells.near([0.0; 3], 1e6, &mut Vec::new()));
        assert!(!cells.near([0.0; 3], f64::INFINITY, &mut Vec::new()));
    }
}
