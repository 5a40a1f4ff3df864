//! Which regions overlap (IEEE 1516.1-2025, clause 9.1): an index of boxes that finds the neighbours of a box.
//!
//! Regions with the same dimensions form a group. Within a group, regions of similar extents form a grid whose cells
//! are at least as large as the regions, so each region is in one cell: that of its lower bounds. A search looks at the
//! cells from one before the box up to its end. If these are more than the regions of the grid, it looks at the
//! regions.
//!
//! Inserting, removing and finding cost a few tree look-ups for each grid. There is one grid for each combination of
//! powers of two that the extents round up to, so regions of a few sizes make a few grids.
//!
//! The module is public for its benchmark and for tests that compare it with all pairs.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use hemiola_hla::data::RangeBounds;
use hemiola_hla::{DimensionHandle, RegionHandle};

/// The ranges of a region, by dimension. Shared by all that keep them.
pub type Ranges = Arc<[(DimensionHandle, RangeBounds)]>;

/// Dimensions that decide about the cell. The others are only compared.
const CELL_DIMENSIONS: usize = 3;

/// The numbers of a cell in the dimensions that decide about it, in order, after 0 for those that a group lacks. So the
/// cells that differ in the last dimension alone follow each other.
type Cell = [u32; CELL_DIMENSIONS];

/// For each dimension of a cell, the power of two that is its length.
type Sizes = [u8; CELL_DIMENSIONS];

/// An index of regions by their ranges.
#[derive(Debug, Default)]
pub struct Index {
    /// By the regions' dimensions. No group is empty.
    groups: BTreeMap<Vec<DimensionHandle>, Group>,
}

/// The regions with the same dimensions, by the sizes of their cells. No grid is empty.
#[derive(Debug, Default)]
struct Group {
    grids: BTreeMap<Sizes, Grid>,
}

/// Regions by their cell.
type Grid = BTreeMap<(Cell, RegionHandle), Ranges>;

impl Index {
    /// Inserts a region, which is not in the index, with these ranges: ordered by dimension, none of them empty.
    pub fn insert(&mut self, region: RegionHandle, ranges: &Ranges) {
        let dimensions = ranges.iter().map(|(dimension, _)| *dimension).collect();
        let sizes = sizes_of(ranges);
        let grid = self.groups.entry(dimensions).or_default().grids.entry(sizes).or_default();
        let before = grid.insert((cell_of(ranges, sizes), region), Arc::clone(ranges));
        assert!(before.is_none(), "a region is inserted once");
    }

    /// Removes a region that was inserted with these ranges.
    pub fn remove(&mut self, region: RegionHandle, ranges: &Ranges) {
        let dimensions: Vec<DimensionHandle> =
            ranges.iter().map(|(dimension, _)| *dimension).collect();
        let sizes = sizes_of(ranges);
        let group = self.groups.get_mut(&dimensions).expect("the region was inserted");
        let grid = group.grids.get_mut(&sizes).expect("the region was inserted");
        grid.remove(&(cell_of(ranges, sizes), region)).expect("the region was inserted");
        if grid.is_empty() {
            group.grids.remove(&sizes);
        }
        if group.grids.is_empty() {
            self.groups.remove(&dimensions);
        }
    }

    /// Visits each region whose ranges overlap these ones in every dimension that both have, until the visitor breaks.
    /// Regions without a common dimension are visited too.
    ///
    /// # Errors
    ///
    /// The value with which the visitor broke.
    pub fn visit<B>(
        &self,
        ranges: &Ranges,
        mut visitor: impl FnMut(RegionHandle, &Ranges) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for (dimensions, group) in &self.groups {
            for (sizes, grid) in &group.grids {
                let (first, last) = cells_near(ranges, dimensions, *sizes);
                visit_cells(grid, first, last, |region, other| {
                    if is_near(ranges, other) {
                        visitor(region, other)
                    } else {
                        ControlFlow::Continue(())
                    }
                })?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The number of regions.
    #[must_use]
    pub fn len(&self) -> usize {
        let grids = self.groups.values().flat_map(|group| group.grids.values());
        grids.map(BTreeMap::len).sum()
    }

    /// Whether it has no regions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Whether it has this region with these ranges.
    #[must_use]
    pub fn contains(&self, region: RegionHandle, ranges: &Ranges) -> bool {
        let dimensions: Vec<DimensionHandle> =
            ranges.iter().map(|(dimension, _)| *dimension).collect();
        let sizes = sizes_of(ranges);
        let grid = self.groups.get(&dimensions).and_then(|group| group.grids.get(&sizes));
        grid.is_some_and(|grid| grid.get(&(cell_of(ranges, sizes), region)) == Some(ranges))
    }
}

/// The ranges that decide about the cell, with their places in it.
fn cell_ranges(ranges: &Ranges) -> impl Iterator<Item = (usize, RangeBounds)> + '_ {
    (places_without(ranges.len())..CELL_DIMENSIONS).zip(ranges.iter().map(|(_, range)| *range))
}

/// The number of places in a cell that regions of so many dimensions do not need.
const fn places_without(dimensions: usize) -> usize {
    CELL_DIMENSIONS.saturating_sub(dimensions)
}

/// Cells are at least as long as the region in every dimension.
fn sizes_of(ranges: &Ranges) -> Sizes {
    let mut sizes = [0; CELL_DIMENSIONS];
    for (place, RangeBounds { lower, upper }) in cell_ranges(ranges) {
        sizes[place] = exponent_above(upper - lower);
    }
    sizes
}

/// The exponent of the least power of two that is not less than this length.
fn exponent_above(len: u32) -> u8 {
    let bits = u32::BITS - len.saturating_sub(1).leading_zeros();
    u8::try_from(bits).expect("at most 32")
}

fn cell_of(ranges: &Ranges, sizes: Sizes) -> Cell {
    let mut cell = [0; CELL_DIMENSIONS];
    for (place, RangeBounds { lower, .. }) in cell_ranges(ranges) {
        cell[place] = number_of(lower, sizes[place]);
    }
    cell
}

/// The number of the cell of this length that has the point.
fn number_of(point: u32, size: u8) -> u32 {
    point.checked_shr(size.into()).unwrap_or(0)
}

/// The first and the last cell that a region near these ranges may have, in each dimension.
fn cells_near(ranges: &Ranges, dimensions: &[DimensionHandle], sizes: Sizes) -> (Cell, Cell) {
    let (mut first, mut last) = ([0; CELL_DIMENSIONS], [0; CELL_DIMENSIONS]);
    for (place, dimension) in (places_without(dimensions.len())..CELL_DIMENSIONS).zip(dimensions) {
        last[place] = u32::MAX;
        if let Some(RangeBounds { lower, upper }) = range_in(ranges, *dimension) {
            // A region is no longer than a cell, so it begins in the cell before at the earliest.
            first[place] = number_of(lower, sizes[place]).saturating_sub(1);
            last[place] = number_of(upper - 1, sizes[place]);
        }
    }
    (first, last)
}

fn visit_cells<B>(
    grid: &Grid,
    first: Cell,
    last: Cell,
    mut visitor: impl FnMut(RegionHandle, &Ranges) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let rows = u64::from(last[0] - first[0]).saturating_add(1);
    let rows = rows.saturating_mul(u64::from(last[1] - first[1]).saturating_add(1));
    if rows > grid.len() as u64 {
        return grid.iter().try_for_each(|((_, region), ranges)| visitor(*region, ranges));
    }
    for x in first[0]..=last[0] {
        for y in first[1]..=last[1] {
            let from = ([x, y, first[2]], RegionHandle::INVALID);
            let to = ([x, y, last[2]], RegionHandle::new(u32::MAX));
            grid.range(from..=to).try_for_each(|((_, region), ranges)| visitor(*region, ranges))?;
        }
    }
    ControlFlow::Continue(())
}

/// Returns the range in a dimension, if there is one.
#[must_use]
pub fn range_in(ranges: &Ranges, dimension: DimensionHandle) -> Option<RangeBounds> {
    let place = ranges.binary_search_by_key(&dimension, |(one, _)| *one).ok()?;
    Some(ranges[place].1)
}

/// Whether two regions overlap in every dimension that both have.
#[must_use]
pub fn is_near(one: &Ranges, other: &Ranges) -> bool {
    let (mut left, mut right) = (&one[..], &other[..]);
    while let ([(dimension, range), rest @ ..], [(in_other, other), others @ ..]) = (left, right) {
        match dimension.cmp(in_other) {
            std::cmp::Ordering::Less => left = rest,
            std::cmp::Ordering::Greater => right = others,
            std::cmp::Ordering::Equal if range.overlaps(*other) => (left, right) = (rest, others),
            std::cmp::Ordering::Equal => return false,
        }
    }
    true
}
