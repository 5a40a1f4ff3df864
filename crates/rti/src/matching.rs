//! Which regions overlap (IEEE 1516.1-2025, clause 9.1): an index of boxes that finds the neighbours of a box.
//!
//! Regions with the same dimensions form a group. Within a group, regions of similar extents form a grid whose cells
//! are at least as large as the regions, so each region is in one cell: that of its lower bounds. A search looks at the
//! cells from the greatest extent before the box up to its end. If these are more than the regions of the grid, it
//! looks at the regions.
//!
//! A *row* is a line of cells along the last dimension, which follow each other in the tree. Along the other
//! dimensions, cells are twice as long: a search then looks at two rows instead of three, and at a third more regions,
//! which cost less. A region that moves within its cell stays where it is in the tree, and a short move is one search
//! around both places.
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

/// For each dimension of a cell, the power of two that the extents of its regions do not exceed.
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
type Grid = BTreeMap<Key, Entry>;

/// A cell and a region in it: the numbers of both in their order, so that comparing keys is comparing two integers.
type Key = u128;

fn key(cell: Cell, region: RegionHandle) -> Key {
    let numbers = cell.into_iter().chain([region.number()]);
    numbers.fold(0, |key, number| (key << u32::BITS) | Key::from(number))
}

/// The region of a key.
const fn region_of(key: Key) -> RegionHandle {
    RegionHandle::new(key as u32)
}

/// Ranges in the dimensions that decide about the cell, in the same places. In the others, they overlap all.
type Box3 = [RangeBounds; CELL_DIMENSIONS];

/// A region in a grid.
#[derive(Debug)]
struct Entry {
    /// A part of the ranges. Most regions that a search looks at are seen here not to overlap.
    part: Box3,
    ranges: Ranges,
}

/// Whether a region overlaps a box, and the other of two boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    /// It overlaps the first one.
    pub first: bool,
    /// It overlaps the second one.
    pub second: bool,
}

impl Index {
    /// Inserts a region, which is not in the index, with these ranges: ordered by dimension, none of them empty.
    pub fn insert(&mut self, region: RegionHandle, ranges: &Ranges) {
        let dimensions = ranges.iter().map(|(dimension, _)| *dimension).collect();
        let sizes = sizes_of(ranges);
        let grid = self.groups.entry(dimensions).or_default().grids.entry(sizes).or_default();
        let entry = Entry::new(ranges);
        let before = grid.insert(key(cell_of(&entry.part, sizes), region), entry);
        assert!(before.is_none(), "a region is inserted once");
    }

    /// Gives a region other ranges than those it was inserted with.
    pub fn relocate(&mut self, region: RegionHandle, before: &Ranges, now: &Ranges) {
        match self.entry_mut(region, before, now) {
            Some(entry) => *entry = Entry::new(now),
            None => {
                self.remove(region, before);
                self.insert(region, now);
            }
        }
    }

    /// Returns the entry of a region if it is the same with both ranges.
    fn entry_mut(
        &mut self,
        region: RegionHandle,
        before: &Ranges,
        now: &Ranges,
    ) -> Option<&mut Entry> {
        let sizes = sizes_of(now);
        let cell = cell_of(&part_of(now), sizes);
        let stays = have_same_dimensions(before, now)
            && sizes_of(before) == sizes
            && cell_of(&part_of(before), sizes) == cell;
        if !stays {
            return None;
        }
        // A search looks at every group anyway.
        let has_its_dimensions = |dimensions: &[DimensionHandle]| {
            dimensions.iter().eq(now.iter().map(|(dimension, _)| dimension))
        };
        let mut groups = self.groups.iter_mut();
        let (_, group) = groups.find(|(dimensions, _)| has_its_dimensions(dimensions))?;
        group.grids.get_mut(&sizes)?.get_mut(&key(cell, region))
    }

    /// Removes a region that was inserted with these ranges.
    pub fn remove(&mut self, region: RegionHandle, ranges: &Ranges) {
        let dimensions: Vec<DimensionHandle> =
            ranges.iter().map(|(dimension, _)| *dimension).collect();
        let sizes = sizes_of(ranges);
        let group = self.groups.get_mut(&dimensions).expect("the region was inserted");
        let grid = group.grids.get_mut(&sizes).expect("the region was inserted");
        grid.remove(&key(cell_of(&part_of(ranges), sizes), region))
            .expect("the region was inserted");
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
            let part = part_in(ranges, dimensions);
            for (sizes, grid) in &group.grids {
                let (first, last) = cells_near(&part, *sizes);
                visit_cells(grid, first, last, |region, entry| {
                    if entry.is_near(&part, ranges) {
                        visitor(region, &entry.ranges)
                    } else {
                        ControlFlow::Continue(())
                    }
                })?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Visits each region whose ranges overlap one of two boxes, once.
    pub fn visit_either(
        &self,
        first: &Ranges,
        second: &Ranges,
        mut visitor: impl FnMut(RegionHandle, &Ranges, Near),
    ) {
        for (dimensions, group) in &self.groups {
            let parts = [first, second].map(|ranges| part_in(ranges, dimensions));
            for (sizes, grid) in &group.grids {
                let [one, other] = parts.each_ref().map(|part| cells_near(part, *sizes));
                let mut visit = |(from, to), is_wanted: fn(Near) -> bool| {
                    let _ = visit_cells(grid, from, to, |region, entry| {
                        let near = Near {
                            first: entry.is_near(&parts[0], first),
                            second: entry.is_near(&parts[1], second),
                        };
                        if is_wanted(near) {
                            visitor(region, &entry.ranges, near);
                        }
                        ControlFlow::<()>::Continue(())
                    });
                };
                if let Some(both) = cells_of_both(one, other) {
                    visit(both, |near| near.first || near.second);
                } else {
                    visit(one, |near| near.first);
                    visit(other, |near| near.second && !near.first);
                }
            }
        }
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
        let entry = grid.and_then(|grid| grid.get(&key(cell_of(&part_of(ranges), sizes), region)));
        entry.is_some_and(|entry| entry.ranges == *ranges)
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

/// A range that overlaps all others.
const WHOLE: RangeBounds = RangeBounds { lower: 0, upper: u32::MAX };

/// A range in the first cell only.
const FIRST: RangeBounds = RangeBounds { lower: 0, upper: 1 };

fn part_of(ranges: &Ranges) -> Box3 {
    let mut part = [WHOLE; CELL_DIMENSIONS];
    cell_ranges(ranges).for_each(|(place, range)| part[place] = range);
    part
}

/// The part of a region's ranges for comparisons with regions that have these dimensions.
fn part_in(ranges: &Ranges, dimensions: &[DimensionHandle]) -> Box3 {
    // In places that these dimensions do not need, there is one cell.
    let mut part = [FIRST; CELL_DIMENSIONS];
    for (place, dimension) in (places_without(dimensions.len())..CELL_DIMENSIONS).zip(dimensions) {
        part[place] = range_in(ranges, *dimension).unwrap_or(WHOLE);
    }
    part
}

impl Entry {
    fn new(ranges: &Ranges) -> Self {
        Self { part: part_of(ranges), ranges: Arc::clone(ranges) }
    }

    /// Whether it overlaps a region with these ranges, of which `part` is the part in its dimensions.
    fn is_near(&self, part: &Box3, ranges: &Ranges) -> bool {
        let may_be = self.part.iter().zip(part).all(|(one, other)| one.overlaps(*other));
        may_be && (self.ranges.len() <= CELL_DIMENSIONS || is_near(&self.ranges, ranges))
    }
}

/// The cell of a region, from the part of its ranges.
fn cell_of(part: &Box3, sizes: Sizes) -> Cell {
    std::array::from_fn(|place| number_of(part[place].lower, place, sizes))
}

/// The number of the cell that has the point, in the dimension at this place.
fn number_of(point: u32, place: usize, sizes: Sizes) -> u32 {
    let is_along_rows = place == CELL_DIMENSIONS - 1;
    let exponent = sizes[place] + u8::from(!is_along_rows);
    point.checked_shr(exponent.into()).unwrap_or(0)
}

/// The first and the last cell that a region near a box may have, in each dimension.
fn cells_near(part: &Box3, sizes: Sizes) -> Cells {
    let longest = |place: usize| 1_u32.checked_shl(sizes[place].into()).unwrap_or(u32::MAX);
    let earliest = |place: usize| part[place].lower.saturating_sub(longest(place) - 1);
    let first = std::array::from_fn(|place| number_of(earliest(place), place, sizes));
    let last = std::array::from_fn(|place| number_of(part[place].upper - 1, place, sizes));
    (first, last)
}

/// The number of rows from one cell to another.
fn rows(first: Cell, last: Cell) -> u64 {
    let rows = u64::from(last[0] - first[0]).saturating_add(1);
    rows.saturating_mul(u64::from(last[1] - first[1]).saturating_add(1))
}

/// The cells from a first one to a last one, in each dimension.
type Cells = (Cell, Cell);

/// The cells near both of two boxes, if they are so close together that this takes less than two searches.
fn cells_of_both(one: Cells, other: Cells) -> Option<Cells> {
    let first = std::array::from_fn(|place| one.0[place].min(other.0[place]));
    let last = std::array::from_fn(|place| one.1[place].max(other.1[place]));
    (rows(first, last) <= rows(one.0, one.1).saturating_add(1)).then_some((first, last))
}

fn visit_cells<B>(
    grid: &Grid,
    first: Cell,
    last: Cell,
    mut visitor: impl FnMut(RegionHandle, &Entry) -> ControlFlow<B>,
) -> ControlFlow<B> {
    if rows(first, last) > grid.len() as u64 {
        return grid.iter().try_for_each(|(key, entry)| visitor(region_of(*key), entry));
    }
    for x in first[0]..=last[0] {
        for y in first[1]..=last[1] {
            let from = key([x, y, first[2]], RegionHandle::INVALID);
            let to = key([x, y, last[2]], RegionHandle::new(u32::MAX));
            // To look for the end of the row in the tree would cost as much as to look for its beginning.
            let mut row = grid.range(from..).take_while(|(key, _)| **key <= to);
            row.try_for_each(|(key, entry)| visitor(region_of(*key), entry))?;
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

/// Whether two regions have the same dimensions.
pub(crate) fn have_same_dimensions(one: &Ranges, other: &Ranges) -> bool {
    one.iter().map(|(dimension, _)| dimension).eq(other.iter().map(|(dimension, _)| dimension))
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
