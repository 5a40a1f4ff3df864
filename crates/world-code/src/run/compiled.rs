//! A compiled program and its window: values go in, a call computes, values come out.

use std::fmt::Debug;

use hemiola_world_lang::definition::ElementId;

use super::lanes::Lane;
use super::neighbours::{NearLists, Neighbour, own_places};
use super::{BLOCK_ROWS, Block, Neighbours, RowMask, is_faultless};
use crate::code::{Program, Site};
use crate::column::Rows;
use crate::scalar::{Scalar, ScalarType};
use crate::wasm::{
    Area, Emitted, Export, GROUP, ListAreas, NotCompiled, SiteAreas, Window, emit, width,
};

/// Makes WebAssembly run. Implementations are shells; `hemiola-world-sandbox` has one.
pub trait Engine {
    /// Compiles a module and makes an instance of it. The module exports its memory and these functions, each of the
    /// type `i32 -> i32`.
    ///
    /// # Errors
    /// Why it has none, as one sentence.
    fn instantiate(
        &mut self,
        module: &[u8],
        functions: &[String],
    ) -> Result<Box<dyn Instance>, String>;
}

/// An instance of a module with its linear memory.
pub trait Instance: Debug + Send {
    /// The memory.
    fn memory(&self) -> &[u8];

    /// The memory, for writing.
    fn memory_mut(&mut self) -> &mut [u8];

    /// Calls a function by its number in the list of [`Engine::instantiate`]; `None` if it did not return.
    fn call(&mut self, function: usize, rows: i32) -> Option<i32>;
}

/// A program that an engine runs.
#[derive(Debug)]
pub(super) struct Compiled {
    instance: Box<dyn Instance>,
    exports: Vec<Export>,
    window: Window,
    lists: NearLists,
}

impl Compiled {
    pub(super) fn of(program: &Program, engine: &mut dyn Engine) -> Result<Self, NotCompiled> {
        let Emitted { bytes, exports, window } = emit(program)?;
        let names: Vec<String> = exports.iter().map(|export| export.name()).collect();
        let refused = |reason| NotCompiled::Engine(program.name.clone(), reason);
        let instance = engine.instantiate(&bytes, &names).map_err(refused)?;
        Ok(Self { instance, exports, window, lists: NearLists::default() })
    }

    /// Runs the program for the rows of a block and notes their faults. False if the engine did not return.
    pub(super) fn run(&mut self, program: &Program, block: &Block<'_>, faults: &mut [u8]) -> bool {
        self.copy_in(block);
        for (areas, site) in self.window.sites.iter().zip(&program.sites) {
            if let ListAreas::Shared { .. } = areas.lists {
                let all = block.neighbours().all(site.element);
                share(areas, self.instance.memory_mut(), block, all, site.at_most as usize);
            }
        }
        self.exports.iter().enumerate().all(|(number, export)| {
            let Some(result) = self.instance.call(number, block.count as i32) else { return false };
            match *export {
                Export::Near(site) => {
                    let areas = &self.window.sites[site as usize];
                    let site = &program.sites[site as usize];
                    find(areas, self.instance.memory_mut(), block, site, &mut self.lists);
                }
                Export::Block if result == 0 => {}
                Export::Block => {
                    let found = values::<i32>(self.instance.memory(), self.window.faults);
                    faults.iter_mut().zip(found).for_each(|(to, fault)| *to = fault as u8);
                }
            }
            true
        })
    }

    fn copy_in(&mut self, block: &Block<'_>) {
        let memory = self.instance.memory_mut();
        for (column, area) in &self.window.own {
            let to = bytes(memory, *area);
            match area.ty {
                ScalarType::Boolean => bool::write_all(block.own(*column), to),
                ScalarType::Integer => i32::write_all(block.own(*column), to),
                ScalarType::Single => f32::write_all(block.own(*column), to),
                ScalarType::Double => f64::write_all(block.own(*column), to),
                ScalarType::Text => u64::write_all(block.own(*column), to),
            }
        }
        for (at, area) in &self.window.last_sent {
            let to = bytes(memory, *area);
            match area.ty {
                ScalarType::Boolean => bool::write_all(block.last_sent(*at), to),
                ScalarType::Integer => i32::write_all(block.last_sent(*at), to),
                ScalarType::Single => f32::write_all(block.last_sent(*at), to),
                ScalarType::Double => f64::write_all(block.last_sent(*at), to),
                ScalarType::Text => u64::write_all(block.last_sent(*at), to),
            }
        }
        for (scalar, area) in block.arguments.iter().zip(&self.window.arguments) {
            match *scalar {
                Scalar::Boolean(value) => put(memory, *area, [value]),
                Scalar::Integer(value) => put(memory, *area, [value]),
                Scalar::Single(value) => put(memory, *area, [value]),
                Scalar::Double(value) => put(memory, *area, [value]),
                Scalar::Text(value) => put(memory, *area, [value]),
            }
        }
    }

    /// The rows of the last block for which a constraint holds, and perhaps some with a fault.
    pub(super) fn holding(&self, block: &Block<'_>) -> RowMask {
        let mut truths = [false; BLOCK_ROWS];
        let truths = &mut truths[..block.count];
        bool::read_all(&self.instance.memory()[self.window.outputs[0].address as usize..], truths);
        RowMask::of(truths)
    }

    /// A scalar of the result for a row of the last block.
    pub(super) fn scalar(&self, output: usize, row: usize) -> Scalar {
        let (area, memory) = (self.window.outputs[output], self.instance.memory());
        match area.ty {
            ScalarType::Boolean => Scalar::Boolean(value(memory, area, row)),
            ScalarType::Integer => Scalar::Integer(value(memory, area, row)),
            ScalarType::Single => Scalar::Single(value(memory, area, row)),
            ScalarType::Double => Scalar::Double(value(memory, area, row)),
            ScalarType::Text => Scalar::Text(value(memory, area, row)),
        }
    }

    /// Writes an output to the rows of the last block, except to those with a fault.
    pub(super) fn store(&self, output: usize, faults: &[u8], to: &mut Rows<'_>) {
        let (memory, area) = (self.instance.memory(), self.window.outputs[output]);
        match to {
            Rows::Boolean(to) => take(memory, area, to, faults),
            Rows::Integer(to) => take(memory, area, to, faults),
            Rows::Single(to) => take(memory, area, to, faults),
            Rows::Double(to) => take(memory, area, to, faults),
            Rows::Text(to) => take(memory, area, to, faults),
        }
    }
}

/// Everything behind the beginning of an area.
fn bytes(memory: &mut [u8], area: Area) -> &mut [u8] {
    &mut memory[area.address as usize..]
}

fn values<T: Lane>(memory: &[u8], area: Area) -> impl Iterator<Item = T> {
    memory[area.address as usize..].chunks_exact(T::WIDTH).map(T::read)
}

fn value<T: Lane>(memory: &[u8], area: Area, row: usize) -> T {
    let start = area.address as usize + row * T::WIDTH;
    T::read(&memory[start..start + T::WIDTH])
}

fn put<T: Lane>(memory: &mut [u8], area: Area, values: impl IntoIterator<Item = T>) {
    let to = bytes(memory, area).chunks_exact_mut(T::WIDTH);
    to.zip(values).for_each(|(to, value)| value.write(to));
}

fn take<T: Lane>(memory: &[u8], area: Area, to: &mut [T], faults: &[u8]) {
    if is_faultless(faults) {
        return T::read_all(&memory[area.address as usize..], to);
    }
    let found = values::<T>(memory, area);
    for ((to, value), _) in to.iter_mut().zip(found).zip(faults).filter(|(_, fault)| **fault == 0) {
        *to = value;
    }
}

/// Writes the list that all rows share.
fn share(areas: &SiteAreas, memory: &mut [u8], block: &Block<'_>, all: &[Neighbour], most: usize) {
    let ListAreas::Shared { length, own, limit } = areas.lists else { return };
    let items = &all[..all.len().min(most + 1)];
    let places = own_places(all, block);
    put(memory, length, [items.len() as i32]);
    put(memory, own, places.iter().map(|place| *place as i32));
    // A row that skips itself sees one more.
    put(memory, limit, places.iter().map(|place| (most + usize::from(*place < most)) as i32));
    gather(areas, memory, block.neighbours(), items);
}

/// Finds the neighbours of each row and writes their lists.
fn find(
    areas: &SiteAreas,
    memory: &mut [u8],
    block: &Block<'_>,
    site: &Site,
    lists: &mut NearLists,
) {
    let ListAreas::Each { mask, radius, first, count } = areas.lists else { return };
    lists.find(block, site, |row| value(memory, mask, row), |row| value(memory, radius, row));
    put(memory, first, lists.starts[..block.count].iter().map(|start| *start as i32));
    // Rows of the last group that are not in the block have no list.
    let beyond = (block.count..block.count.next_multiple_of(GROUP)).map(|_| 0);
    let counts = (0..block.count).map(|row| lists.count(row) as i32);
    put(memory, count, counts.chain(beyond));
    gather(areas, memory, block.neighbours(), &lists.items);
}

/// Writes the values of the items that a loop reads.
fn gather(areas: &SiteAreas, memory: &mut [u8], rows: &dyn Neighbours, items: &[Neighbour]) {
    for (column, area) in &areas.columns {
        let to = &mut bytes(memory, *area)[..items.len() * width(area.ty) as usize];
        match area.ty {
            ScalarType::Boolean => gather_column::<bool>(to, rows, items, *column),
            ScalarType::Integer => gather_column::<i32>(to, rows, items, *column),
            ScalarType::Single => gather_column::<f32>(to, rows, items, *column),
            ScalarType::Double => gather_column::<f64>(to, rows, items, *column),
            ScalarType::Text => gather_column::<u64>(to, rows, items, *column),
        }
    }
}

fn gather_column<T: Lane>(to: &mut [u8], rows: &dyn Neighbours, items: &[Neighbour], column: u32) {
    let mut known: Option<(ElementId, &[T])> = None;
    for (to, item) in to.chunks_exact_mut(T::WIDTH).zip(items) {
        let values = match known {
            Some((element, values)) if element == item.element => values,
            _ => T::column(rows.column(item.element, column)),
        };
        known = Some((item.element, values));
        values[item.row as usize].write(to);
    }
}
