//! Loops over the neighbours of rows.

use hemiola_world_lang::definition::ElementId;

use super::lanes::{Lane, Lanes};
use super::{Block, Call, Operand};
use crate::code::{Instruction, Program, Site};
use crate::column::Column;

/// A row of some table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The element whose table has it.
    pub element: ElementId,
    /// Its row there.
    pub row: u32,
}

/// The rows of all tables as they were before the step.
pub trait Neighbours {
    /// A column of the table of an element.
    fn column(&self, element: ElementId, column: u32) -> &Column;

    /// All rows of an element and of those derived from it, in the order of their ids.
    fn all(&self, element: ElementId) -> &[Neighbour];

    /// Finds the neighbours of the rows of a block that have a radius: of the rows of [`Self::all`] but the own one,
    /// those whose position is at most the radius away from its position, and of these the first ones by id. The square
    /// of the distance is compared with that of the radius, both computed in the bits of the position
    /// (`world_lang::evaluate`). Ends each row in `lists`, in their order.
    fn near_each(&self, search: &Search<'_>, lists: &mut NearLists);
}

/// A search for the neighbours of the rows of a block.
pub struct Search<'s> {
    /// The element whose rows are searched, and those of elements derived from it.
    pub element: ElementId,
    /// The first row of the block.
    pub first: Neighbour,
    /// How many rows it has.
    pub count: usize,
    /// The radius of a row of the block; `None` if it needs no neighbours.
    pub radius: &'s dyn Fn(usize) -> Option<f64>,
    /// Neighbours of a row at most.
    pub at_most: u32,
}

impl Search<'_> {
    /// The rows of the block with their radius.
    pub fn rows(&self) -> impl Iterator<Item = (Neighbour, Option<f64>)> {
        (0..self.count).map(|at| {
            let row = self.first.row + at as u32;
            (Neighbour { row, ..self.first }, (self.radius)(at))
        })
    }
}

/// The state of a loop.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The position of the loop in the code.
    begin: usize,
    active: u32,
    turn: usize,
    /// Most neighbours of a row of the block.
    turns: usize,
    lists: Lists,
    /// The present neighbour of each row, or any row where there is none.
    present: Vec<Neighbour>,
    /// The element of all present neighbours, if it is the same.
    element: Option<ElementId>,
}

/// The neighbours of the rows of a block.
#[derive(Debug)]
enum Lists {
    /// A list for each row.
    Each(NearLists),
    /// All rows of the element but the own one, whose place among them this is; rows that take no part have none.
    Shared { own: Vec<Option<usize>> },
}

impl Default for Lists {
    fn default() -> Self {
        Self::Shared { own: Vec::new() }
    }
}

/// The neighbours of the rows of a block within a radius: those of row `r` are from `starts[r]` to `starts[r + 1]`.
#[derive(Debug, Default)]
pub struct NearLists {
    pub(super) starts: Vec<usize>,
    /// The neighbours of all rows so far.
    pub items: Vec<Neighbour>,
    /// Memory for a search, which leaves in it what it likes.
    pub numbers: Vec<u32>,
}

impl NearLists {
    /// Finds them for the rows of the mask.
    pub(super) fn find(
        &mut self,
        block: &Block<'_>,
        site: &Site,
        mask: impl Fn(usize) -> bool,
        radius: impl Fn(usize) -> f64,
    ) {
        self.starts.clear();
        self.items.clear();
        self.end_row();
        let search = Search {
            element: site.element,
            first: Neighbour { element: block.element, row: block.start as u32 },
            count: block.count,
            radius: &|row| mask(row).then(|| radius(row)),
            at_most: site.at_most,
        };
        block.neighbours().near_each(&search, self);
    }

    /// Notes that all neighbours of the next row are among the items.
    pub fn end_row(&mut self) {
        self.starts.push(self.items.len());
    }

    /// How many a row has.
    pub(super) fn count(&self, row: usize) -> usize {
        self.starts[row + 1] - self.starts[row]
    }
}

/// The place of each row of a block among all rows; their number for a row that is not among them, so that it skips
/// none.
pub(super) fn own_places(all: &[Neighbour], block: &Block<'_>) -> Vec<usize> {
    let rows = block.start..block.start + block.count;
    let mut places = vec![all.len(); block.count];
    for (at, neighbour) in all.iter().enumerate() {
        let row = neighbour.row as usize;
        if neighbour.element == block.element && rows.contains(&row) {
            places[row - rows.start] = at;
        }
    }
    places
}

impl<'b> Block<'b> {
    pub(super) fn neighbours(&self) -> &'b dyn Neighbours {
        self.neighbours.expect("a program with loops over rows gets them")
    }
}

impl Turn {
    /// The instruction behind the end of the loop.
    pub(super) fn end(&self, program: &Program, begin: usize) -> usize {
        let mut depth = 0;
        for (at, instruction) in program.code.iter().enumerate().skip(begin) {
            match instruction {
                Instruction::Loop { .. } => depth += 1,
                Instruction::EndLoop { .. } if depth == 1 => return at + 1,
                Instruction::EndLoop { .. } => depth -= 1,
                _ => {}
            }
        }
        unreachable!("a loop has an end")
    }

    pub(super) const fn first_instruction(&self) -> usize {
        self.begin + 1
    }
}

impl Call<'_, '_> {
    /// Finds the neighbours of the rows of the mask.
    pub(super) fn begin(
        &mut self,
        at: usize,
        site: u32,
        mask: Operand,
        radius: Option<Operand>,
        active: u32,
    ) {
        let mut turn = std::mem::take(&mut self.machine.turns[site as usize]);
        (turn.begin, turn.active, turn.turn) = (at, active, 0);
        let mask = self.lanes(mask);
        match radius {
            Some(radius) => self.near(&mut turn, site, mask, self.lanes(radius)),
            None => self.all(&mut turn, site, mask),
        }
        self.machine.turns[site as usize] = turn;
    }

    fn near(&self, turn: &mut Turn, site: u32, mask: Lanes<'_, bool>, radius: Lanes<'_, f64>) {
        let site = &self.program.sites[site as usize];
        let mut lists = match std::mem::take(&mut turn.lists) {
            Lists::Each(lists) => lists,
            Lists::Shared { .. } => NearLists::default(),
        };
        lists.find(self.block, site, |row| mask.at(row), |row| radius.at(row));
        turn.turns = (0..self.block.count).map(|row| lists.count(row)).max().unwrap_or(0);
        turn.lists = Lists::Each(lists);
    }

    fn all(&self, turn: &mut Turn, site: u32, mask: Lanes<'_, bool>) {
        let site = &self.program.sites[site as usize];
        let all = self.block.neighbours().all(site.element);
        let places = own_places(all, self.block).into_iter().enumerate();
        let own: Vec<Option<usize>> =
            places.map(|(row, place)| mask.at(row).then_some(place)).collect();
        let any = own.iter().any(Option::is_some);
        turn.turns = if any { all.len().min(site.at_most as usize) } else { 0 };
        turn.lists = Lists::Shared { own };
    }

    /// Goes to the next neighbour of each row; false if no row has one left.
    pub(super) fn turn(&mut self, site: u32) -> bool {
        let mut turn = std::mem::take(&mut self.machine.turns[site as usize]);
        let goes_on = turn.turn < turn.turns;
        if goes_on {
            self.compute(turn.active, |call, active| call.present(&mut turn, site, active));
            turn.turn += 1;
        }
        self.machine.turns[site as usize] = turn;
        goes_on
    }

    fn present(&self, turn: &mut Turn, site: u32, active: &mut [bool]) {
        let element = self.program.sites[site as usize].element;
        let all = match &turn.lists {
            Lists::Shared { .. } => self.block.neighbours().all(element),
            Lists::Each(lists) => &lists.items,
        };
        turn.present.clear();
        for (row, active) in active.iter_mut().enumerate() {
            let at = match &turn.lists {
                Lists::Each(NearLists { starts, .. }) => {
                    Some(starts[row] + turn.turn).filter(|at| *at < starts[row + 1])
                }
                Lists::Shared { own } => own[row]
                    .map(|own| turn.turn + usize::from(turn.turn >= own))
                    .filter(|at| *at < all.len()),
            };
            *active = at.is_some();
            // Any row serves where there is none: the mask keeps its values out.
            turn.present.push(all[at.unwrap_or(0)]);
        }
        let first = turn.present[0].element;
        let same = turn.present.iter().all(|neighbour| neighbour.element == first);
        turn.element = same.then_some(first);
    }

    pub(super) fn gather<T: Lane>(&mut self, to: u32, site: u32, column: u32) {
        self.compute(to, |call, out| {
            let turn = &call.machine.turns[site as usize];
            let neighbours = call.block.neighbours();
            let rows = out.iter_mut().zip(&turn.present);
            match turn.element {
                Some(element) => {
                    let values = T::column(neighbours.column(element, column));
                    rows.for_each(|(out, neighbour)| *out = values[neighbour.row as usize]);
                }
                None => rows.for_each(|(out, neighbour)| {
                    let values = T::column(neighbours.column(neighbour.element, column));
                    *out = values[neighbour.row as usize];
                }),
            }
        });
    }
}
