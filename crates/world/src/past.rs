//! The world as it was before the step, as neighbours see it.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_world_code::code::Instruction;
use hemiola_world_code::{
    Column, NearLists, Neighbour, Neighbours, Program, ScalarType, Search, scalar_count,
    scalar_types,
};
use hemiola_world_lang::definition::{ElementId, FunctionId, Universe};

use crate::cells::{Cells, Point, Real};
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
    /// By element: whether these are the rows of its own table, in their order.
    is_own_order: Vec<bool>,
    /// By element: these rows in cells.
    cells: Vec<AnyCells>,
    /// Whether entities were constructed or destructed since `rows` were found.
    pub(crate) is_stale: bool,
    order: Vec<(EntityId, Neighbour)>,
}

/// Cells of positions of either width.
#[derive(Debug)]
enum AnyCells {
    Single(Cells<f32>),
    Double(Cells<f64>),
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
            is_own_order: vec![false; count],
            is_stale: true,
            ..Self::default()
        };
        let cells = (0..count as u32).map(|id| {
            let element = &universe.elements[id as usize];
            let is_single = element.index.as_ref().is_some_and(|index| {
                let ty = &element.properties[index.property as usize].ty;
                scalar_types(universe, ty).first() == Some(&ScalarType::Single)
            });
            if is_single {
                AnyCells::Single(Cells::default())
            } else {
                AnyCells::Double(Cells::default())
            }
        });
        past.cells = cells.collect();
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
            let own = (0..).map(|row| Neighbour { element: base, row });
            self.is_own_order[base.index()] = rows.iter().copied().eq(own.take(rows.len()));
        }
    }

    fn sort_positions(&mut self, universe: &Universe, tables: &[Table]) {
        let mut cells = std::mem::take(&mut self.cells);
        for (at, cells) in cells.iter_mut().enumerate().filter(|(at, _)| self.searched[*at]) {
            let index = universe.elements[at].index.as_ref().expect("a radius needs an index");
            let (view, element) = (PastView { past: self, tables }, ElementId(at as u32));
            match cells {
                AnyCells::Single(cells) => view.fill(cells, element, index.cell),
                AnyCells::Double(cells) => view.fill(cells, element, index.cell),
            }
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

/// A coordinate in a column.
trait Coordinate: Real {
    fn column(column: &Column) -> &[Self];
}

impl Coordinate for f32 {
    fn column(column: &Column) -> &[Self] {
        match column {
            Column::Single(rows) => rows,
            _ => unreachable!("positions of one loop have one type"),
        }
    }
}

impl Coordinate for f64 {
    fn column(column: &Column) -> &[Self] {
        match column {
            Column::Double(rows) => rows,
            _ => unreachable!("positions of one loop have one type"),
        }
    }
}

/// The positions of the rows of a table.
struct Positions<'p, T> {
    columns: [&'p [T]; 3],
    /// Its coordinates are those from this one on.
    first: usize,
}

impl<T: Coordinate> Positions<'_, T> {
    fn of(&self, row: u32) -> Point<T> {
        let at = |axis: usize| self.columns[axis][row as usize];
        match self.first {
            0 => [at(0), at(1), at(2)],
            1 => [T::default(), at(1), at(2)],
            _ => [T::default(), T::default(), at(2)],
        }
    }
}

impl PastView<'_> {
    /// The positions in the table of an element. The last axis always has a coordinate, because cells are contiguous
    /// along it.
    fn positions<T: Coordinate>(&self, element: ElementId) -> Positions<'_, T> {
        let (start, count) =
            self.past.positions[element.index()].expect("a radius needs a position");
        let (mut columns, first) = ([&[][..]; 3], 3 - count as usize);
        for (to, column) in columns[first..].iter_mut().zip(start..) {
            *to = T::column(self.column(element, column));
        }
        Positions { columns, first }
    }

    /// Sorts the rows of an element, and of those derived from it, into cells.
    fn fill<T: Coordinate>(&self, cells: &mut Cells<T>, element: ElementId, edge: f64) {
        let rows = self.all(element);
        let count = rows.len() as u32;
        if self.past.is_own_order[element.index()] {
            let positions = self.positions(element);
            cells.fill(edge, count, |number| positions.of(number));
        } else {
            cells.fill(edge, count, |number| {
                let row = rows[number as usize];
                self.positions(row.element).of(row.row)
            });
        }
    }

    /// Finds the neighbours of each row of a block.
    fn search<T: Coordinate>(&self, cells: &Cells<T>, search: &Search<'_>, lists: &mut NearLists) {
        let positions = self.positions(search.first.element);
        let (element, most) = (search.element, search.at_most as usize);
        // Rows are chosen by their numbers, which are in the order of ids. In this case they are also their own.
        let is_own_order = self.past.is_own_order[element.index()];
        let all = self.all(element);
        let mut chosen = std::mem::take(&mut lists.numbers);
        for (own, radius) in search.rows() {
            let Some(radius) = radius else {
                lists.end_row();
                continue;
            };
            let own_number = (is_own_order && own.element == element).then_some(own.row);
            chosen.clear();
            cells.near(&positions.of(own.row), radius, own_number, &mut chosen);
            // The own row may still be among the first ones. In a crowd, the others are not sorted.
            let first = most + usize::from(own_number.is_none());
            if chosen.len() > first {
                chosen.select_nth_unstable(first);
                chosen.truncate(first);
            }
            sort(&mut chosen);
            let found = &mut lists.items;
            let start = found.len();
            if is_own_order {
                found.extend(chosen.iter().map(|row| Neighbour { element, row: *row }));
            } else {
                found.extend(chosen.iter().map(|number| all[*number as usize]));
            }
            if own_number.is_none()
                && let Some(at) = found[start..].iter().position(|chosen| *chosen == own)
            {
                found.remove(start + at);
            }
            found.truncate(start + most);
            lists.end_row();
        }
        lists.numbers = chosen;
    }
}

/// Sorts numbers. Most lists are short: with `sort_unstable`, a step of flockers takes 2 % longer.
fn sort(numbers: &mut [u32]) {
    if numbers.len() > 16 {
        return numbers.sort_unstable();
    }
    for end in 1..numbers.len() {
        let mut at = end;
        while at > 0 && numbers[at - 1] > numbers[at] {
            numbers.swap(at - 1, at);
            at -= 1;
        }
    }
}

impl Neighbours for PastView<'_> {
    fn column(&self, element: ElementId, column: u32) -> &Column {
        let table = &self.tables[element.index()];
        table.before[column as usize].as_ref().unwrap_or(&table.columns[column as usize])
    }

    fn all(&self, element: ElementId) -> &[Neighbour] {
        &self.past.rows[element.index()]
    }

    fn near_each(&self, search: &Search<'_>, lists: &mut NearLists) {
        match &self.past.cells[search.element.index()] {
            AnyCells::Single(cells) => self.search(cells, search, lists),
            AnyCells::Double(cells) => self.search(cells, search, lists),
        }
    }
}
