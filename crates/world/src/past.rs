//! The world as it was before the step, as neighbours see it.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_world_code::code::Instruction;
use hemiola_world_code::{Column, Neighbour, Neighbours, Program, ScalarType, scalar_count};
use hemiola_world_lang::definition::{ElementId, FunctionId, Universe};

use crate::cells::{Cells, Point};
use crate::table::Table;
use crate::world::EntityId;

/// What the loops of a universe look at, found once, and their rows, found in each step.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// By element: whether a loop goes through its rows.
    visited: Vec<bool>,
    /// By element: whether a loop goes through its rows within a radius.
    searched: Vec<bool>,
    /// By element: the first column and the number of columns of its position.
    positions: Vec<Option<(u32, u32)>>,
    /// Columns that are read as they were before the step although an update of their table writes them.
    kept: Vec<(ElementId, u32)>,
    /// By element: its rows and those of derived elements, in the order of ids.
    rows: Vec<Vec<Neighbour>>,
    /// By element: these rows in cells.
    cells: Vec<Cells>,
    /// Whether entities were constructed or destructed since `rows` were found.
    pub(crate) is_stale: bool,
    order: Vec<(EntityId, Neighbour)>,
}

impl Past {
    /// `updates` are the programs of all updates.
    pub(crate) fn new(universe: &Universe, updates: &BTreeMap<FunctionId, Program>) -> Self {
        let by_element = universe.elements.iter();
        let updates: Vec<Option<&Program>> =
            by_element.map(|element| element.update.map(|id| &updates[&id])).collect();
        let count = universe.elements.len();
        let mut past = Self {
            visited: vec![false; count],
            searched: vec![false; count],
            positions: (0..count as u32).map(|id| position(universe, ElementId(id))).collect(),
            rows: vec![Vec::new(); count],
            is_stale: true,
            ..Self::default()
        };
        past.cells.resize_with(count, Cells::default);
        let mut read: BTreeSet<(ElementId, u32)> = BTreeSet::new();
        for (own, program) in (0..).map(ElementId).zip(&updates) {
            let Some(program) = program else { continue };
            for site in &program.sites {
                past.visited[site.element.index()] = true;
                if site.within {
                    past.searched[site.element.index()] = true;
                    read.extend(
                        [own, site.element].iter().flat_map(|id| past.position_columns(*id)),
                    );
                }
            }
            for instruction in &program.code {
                if let Instruction::Gather { site, column, .. } = instruction {
                    read.insert((program.sites[*site as usize].element, *column));
                }
            }
        }
        past.keep(universe, &updates, &read);
        past
    }

    fn position_columns(&self, element: ElementId) -> Vec<(ElementId, u32)> {
        let (first, count) = self.positions[element.index()].expect("a radius needs a position");
        (first..first + count).map(|column| (element, column)).collect()
    }

    /// Chooses the columns that an update writes and a neighbour reads, also in tables of derived elements.
    fn keep(
        &mut self,
        universe: &Universe,
        updates: &[Option<&Program>],
        read: &BTreeSet<(ElementId, u32)>,
    ) {
        for (element, program) in (0..).map(ElementId).zip(updates) {
            let Some(program) = program else { continue };
            let written = program.outputs.iter().filter_map(|output| output.column);
            let own_position: Vec<u32> = match self.positions[element.index()] {
                Some(_) => {
                    self.position_columns(element).iter().map(|(_, column)| *column).collect()
                }
                None => Vec::new(),
            };
            for column in written {
                let is_read = read.iter().any(|(base, of)| {
                    universe.is_a(element, *base)
                        && (*of == column || own_position.contains(&column))
                });
                if is_read {
                    self.kept.push((element, column));
                }
            }
        }
    }

    /// Notes the state before a step.
    pub(crate) fn note(&mut self, universe: &Universe, tables: &mut [Table]) {
        for (element, column) in &self.kept {
            let table = &mut tables[element.index()];
            let from = &table.columns[*column as usize];
            match &mut table.before[*column as usize] {
                Some(before) => before.copy_from(from),
                none => *none = Some(from.clone()),
            }
        }
        if std::mem::take(&mut self.is_stale) {
            self.find_rows(universe, tables);
        }
        self.sort_positions(universe, tables);
    }

    fn find_rows(&mut self, universe: &Universe, tables: &[Table]) {
        for base in (0..tables.len() as u32).map(ElementId).filter(|id| self.visited[id.index()]) {
            self.order.clear();
            for (element, table) in (0..).map(ElementId).zip(tables) {
                if universe.is_a(element, base) {
                    let rows = (0..).map(|row| Neighbour { element, row });
                    self.order.extend(table.ids.iter().copied().zip(rows));
                }
            }
            self.order.sort_unstable_by_key(|(id, _)| *id);
            let rows = &mut self.rows[base.index()];
            rows.clear();
            rows.extend(self.order.iter().map(|(_, row)| *row));
        }
    }

    fn sort_positions(&mut self, universe: &Universe, tables: &[Table]) {
        let mut cells = std::mem::take(&mut self.cells);
        for (at, cells) in cells.iter_mut().enumerate().filter(|(at, _)| self.searched[*at]) {
            let index = universe.elements[at].index.as_ref().expect("a radius needs an index");
            let view = PastView { past: self, tables };
            let rows = &self.rows[at];
            cells.fill(index.cell, rows.len() as u32, |number| view.point(rows[number as usize]));
        }
        self.cells = cells;
    }
}

fn position(universe: &Universe, element: ElementId) -> Option<(u32, u32)> {
    let data = &universe.elements[element.index()];
    let property = data.index.as_ref()?.property as usize;
    let count = |at: usize| scalar_count(universe, &data.properties[at].ty);
    Some(((0..property).map(count).sum(), count(property)))
}

/// The state before the step, for the machine.
pub(crate) struct PastView<'p> {
    pub(crate) past: &'p Past,
    pub(crate) tables: &'p [Table],
}

impl PastView<'_> {
    /// The columns of the position in the table of an element.
    fn position(&self, element: ElementId) -> impl Iterator<Item = &Column> {
        let (first, count) =
            self.past.positions[element.index()].expect("a radius needs a position");
        (first..first + count).map(move |column| self.column(element, column))
    }

    /// The last axis always has a coordinate, because cells are contiguous along it. One of 32 bits loses nothing.
    fn point(&self, row: Neighbour) -> Point {
        let mut point = [0.0; 3];
        let (_, count) =
            self.past.positions[row.element.index()].expect("a radius needs a position");
        let free = point[3 - count as usize..].iter_mut();
        for (to, column) in free.zip(self.position(row.element)) {
            *to = match column {
                Column::Double(rows) => rows[row.row as usize],
                Column::Single(rows) => rows[row.row as usize].into(),
                _ => unreachable!("a position consists of reals"),
            };
        }
        point
    }

    /// Whether positions have 32 bits. Those of one loop have one type.
    fn is_single(&self, element: ElementId) -> bool {
        self.position(element).next().is_some_and(|column| column.ty() == ScalarType::Single)
    }
}

/// The square of the distance in 64 bits. A missing coordinate is 0 in both, and adds nothing.
fn square(here: Point, there: Point) -> f64 {
    let terms = here.iter().zip(there).map(|(here, there)| (there - here) * (there - here));
    terms.fold(0.0, |sum, term| sum + term)
}

/// As [`square`], in 32 bits, of positions of 32 bits.
fn square32(here: Point, there: Point) -> f32 {
    let offsets = here.iter().zip(there).map(|(here, there)| there as f32 - *here as f32);
    offsets.fold(0.0, |sum, offset| sum + offset * offset)
}

impl Neighbours for PastView<'_> {
    fn column(&self, element: ElementId, column: u32) -> &Column {
        let table = &self.tables[element.index()];
        table.before[column as usize].as_ref().unwrap_or(&table.columns[column as usize])
    }

    fn all(&self, element: ElementId) -> &[Neighbour] {
        &self.past.rows[element.index()]
    }

    fn near(
        &self,
        element: ElementId,
        own: Neighbour,
        radius: f64,
        at_most: u32,
        found: &mut Vec<Neighbour>,
    ) {
        let here = self.point(own);
        if radius.is_nan() || here.iter().any(|x| x.is_nan()) {
            return;
        }
        let (rows, cells) = (self.all(element), &self.past.cells[element.index()]);
        let start = found.len();
        // While rows are chosen, they stand there by their numbers, which are in the order of ids.
        let mut choose = |number| found.push(Neighbour { element, row: number });
        // Where the square of the radius has no limit, cells say nothing.
        let reach = |is_bounded| if is_bounded { radius.abs() } else { f64::INFINITY };
        if self.is_single(own.element) {
            let limit = radius as f32 * radius as f32;
            cells.near(here, reach(limit.is_finite()), |there, number| {
                if square32(here, there) <= limit {
                    choose(number);
                }
            });
        } else {
            let limit = radius * radius;
            cells.near(here, reach(limit.is_finite()), |there, number| {
                if square(here, there) <= limit {
                    choose(number);
                }
            });
        }
        // In a crowd, most of them are not sorted. The own row may be among the first ones.
        let most = at_most as usize;
        let chosen = &mut found[start..];
        if chosen.len() > most + 1 {
            chosen.select_nth_unstable_by_key(most, |chosen| chosen.row);
            found.truncate(start + most + 1);
        }
        found[start..].sort_unstable_by_key(|chosen| chosen.row);
        let mut end = start;
        for at in start..found.len() {
            let row = rows[found[at].row as usize];
            if row != own && end - start < most {
                found[end] = row;
                end += 1;
            }
        }
        found.truncate(end);
    }
}
