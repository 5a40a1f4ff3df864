//! A compiled program and its window: values go in, a call computes, values come out.

use std::fmt::Debug;
use std::sync::Arc;

use hemiola_world_lang::definition::ElementId;

use super::lanes::Lane;
use super::neighbours::{NearLists, Neighbour, own_places};
use super::{BLOCK_ROWS, Block, Neighbours, RowMask, is_faultless};
use crate::cells::Room;
use crate::code::{Program, Site};
use crate::column::Rows;
use crate::scalar::{Scalar, ScalarType};
use crate::wasm::{
    Area, Emitted, Export, GROUP, ListAreas, Module, NotCompiled, SiteAreas, Window, emit,
};

/// Makes WebAssembly run. Implementations are shells; `hemiola-world-sandbox` has one.
pub trait Engine {
    /// Compiles a module and makes an instance of it.
    ///
    /// # Errors
    /// Why it has none, as one sentence.
    fn instantiate(&mut self, module: &Module) -> Result<Box<dyn Instance>, String>;

    /// Memory for columns that all its instances reach, if it has such. Columns in other memory are copied.
    fn room(&self) -> Option<Arc<dyn Room>> {
        None
    }
}

/// An instance of a module.
pub trait Instance: Debug + Send {
    /// The window: so many bytes of the linear memory as the module asks for ([`Module::window`]), at least.
    fn window(&self) -> &[u8];

    /// The window, for writing.
    fn window_mut(&mut self) -> &mut [u8];

    /// The address of the window in the linear memory.
    fn address(&self) -> u32 {
        0
    }

    /// The address in the linear memory of what stands at an address of the process; `None` if it is not in there.
    fn address_of(&self, _place: usize) -> Option<u32> {
        None
    }

    /// Calls a function by its number in [`Module::functions`] with a number of rows and the address of the window;
    /// `None` if it did not return.
    fn call(&mut self, function: usize, rows: i32) -> Option<i32>;
}

/// A program that an engine runs.
#[derive(Debug)]
pub(super) struct Compiled {
    instance: Box<dyn Instance>,
    exports: Vec<Export>,
    window: Window,
    may_fault: bool,
    lists: NearLists,
    /// Memory for the addresses of columns.
    addresses: Vec<u32>,
}

/// Columns that a call writes, by their numbers, and which of their rows is the first one of the block.
type Written<'w, 'r> = (&'w mut [(u32, Rows<'r>)], usize);

/// Where a column of a call stands.
enum Place {
    /// In the linear memory, at this address.
    There(u32),
    /// It was copied to its area of the window.
    Window,
}

impl Compiled {
    pub(super) fn of(program: &Program, engine: &mut dyn Engine) -> Result<Self, NotCompiled> {
        let Emitted { module, exports, window } = emit(program)?;
        let refused = |reason| NotCompiled::Engine(program.name.clone(), reason);
        let instance = engine.instantiate(&module).map_err(refused)?;
        let (may_fault, lists, addresses) = (program.may_fault(), NearLists::default(), Vec::new());
        Ok(Self { instance, exports, window, may_fault, lists, addresses })
    }

    /// Runs the program for the rows of a block and notes their faults. False if the engine did not return.
    pub(super) fn run(&mut self, program: &Program, block: &Block<'_>, faults: &mut [u8]) -> bool {
        self.locate(program, block, (&mut [], 0), false);
        self.call(program, block, faults)
    }

    /// Runs an update for the rows of a block, notes their faults, and changes the rows that stand apart. They stay
    /// where they are if they stand in the memory of the engine and `in_place` allows it. The engine writes whole
    /// groups.
    ///
    /// # Errors
    /// How many rows are done, if the engine did not return.
    pub(super) fn update(
        &mut self,
        program: &Program,
        block: &Block<'_>,
        (written, first): Written<'_, '_>,
        in_place: bool,
        faults: &mut [u8],
    ) -> Result<(), usize> {
        self.locate(program, block, (&mut *written, first), in_place);
        let returned = self.call(program, block, faults);
        let memory = self.instance.window();
        let done =
            if returned { block.count } else { value::<i32>(memory, self.window.done, 0) as usize };
        let done = done.min(block.count);
        if !returned && self.may_fault {
            let found = values::<i32>(memory, self.window.faults).take(done);
            faults.iter_mut().zip(found).for_each(|(to, fault)| *to = fault as u8);
        }
        for ((at, _), (_, rows)) in program.changed().zip(written) {
            let mut rows = rows.part(first..first + done);
            if !(in_place && self.instance.address_of(rows.place()).is_some()) {
                self.store(at, &faults[..done], &mut rows);
            }
        }
        if returned { Ok(()) } else { Err(done) }
    }

    fn call(&mut self, program: &Program, block: &Block<'_>, faults: &mut [u8]) -> bool {
        for (areas, site) in self.window.sites.iter().zip(&program.sites) {
            if let ListAreas::Shared { .. } = areas.lists {
                let all = block.neighbours().all(site.element);
                share(areas, self.instance.window_mut(), block, all, site.at_most as usize);
            }
        }
        self.exports.iter().enumerate().all(|(number, export)| {
            let Some(result) = self.instance.call(number, block.count as i32) else { return false };
            match *export {
                Export::Near(site) => {
                    let areas = &self.window.sites[site as usize];
                    let site = &program.sites[site as usize];
                    find(areas, self.instance.window_mut(), block, site, &mut self.lists);
                }
                Export::Block if result == 0 || !self.may_fault => {}
                Export::Block => {
                    let found = values::<i32>(self.instance.window(), self.window.faults);
                    faults.iter_mut().zip(found).for_each(|(to, fault)| *to = fault as u8);
                }
            }
            true
        })
    }

    /// Tells the module where the columns of a block are. Those that it cannot reach are copied to the window, and so
    /// are those that it changes but must not change where they are.
    fn locate(
        &mut self,
        program: &Program,
        block: &Block<'_>,
        (written, first): Written<'_, '_>,
        in_place: bool,
    ) {
        let Self { instance, window, addresses, .. } = self;
        let instance = instance.as_mut();
        let base = instance.address();
        addresses.clear();
        for (column, area) in &window.own {
            let is_changed = program.changed().any(|(_, changed)| changed == *column);
            let apart = written.iter_mut().find(|(number, _)| number == column);
            let apart = apart.map(|(_, rows)| rows.part(first..first + block.count));
            let place = match (apart, area.ty) {
                (Some(rows), _) => changed(instance, *area, rows, in_place),
                (_, ScalarType::Boolean) => {
                    own::<bool>(instance, *area, block, *column, is_changed)
                }
                (_, ScalarType::Integer) => own::<i32>(instance, *area, block, *column, is_changed),
                (_, ScalarType::Single) => own::<f32>(instance, *area, block, *column, is_changed),
                (_, ScalarType::Double) => own::<f64>(instance, *area, block, *column, is_changed),
                (_, ScalarType::Text) => own::<u64>(instance, *area, block, *column, is_changed),
            };
            addresses.push(place.address(base, *area));
        }
        for (at, area) in &window.last_sent {
            let place = match area.ty {
                ScalarType::Boolean => find_or_copy::<bool>(instance, *area, block.last_sent(*at)),
                ScalarType::Integer => find_or_copy::<i32>(instance, *area, block.last_sent(*at)),
                ScalarType::Single => find_or_copy::<f32>(instance, *area, block.last_sent(*at)),
                ScalarType::Double => find_or_copy::<f64>(instance, *area, block.last_sent(*at)),
                ScalarType::Text => find_or_copy::<u64>(instance, *area, block.last_sent(*at)),
            };
            addresses.push(place.address(base, *area));
        }
        let memory = instance.window_mut();
        put(memory, window.addresses, addresses.iter().map(|address| *address as i32));
        if program.changes_own {
            put(memory, window.done, [0]);
        }
        for (scalar, area) in block.arguments.iter().zip(&window.arguments) {
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
        bool::read_all(&self.instance.window()[self.window.outputs[0].address as usize..], truths);
        RowMask::of(truths)
    }

    /// A scalar of the result for a row of the last block.
    pub(super) fn scalar(&self, output: usize, row: usize) -> Scalar {
        let (area, memory) = (self.window.outputs[output], self.instance.window());
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
        let (memory, area) = (self.instance.window(), self.window.outputs[output]);
        match to {
            Rows::Boolean(to) => take(memory, area, to, faults),
            Rows::Integer(to) => take(memory, area, to, faults),
            Rows::Single(to) => take(memory, area, to, faults),
            Rows::Double(to) => take(memory, area, to, faults),
            Rows::Text(to) => take(memory, area, to, faults),
        }
    }
}

impl Place {
    fn address(self, window: u32, area: Area) -> u32 {
        match self {
            Self::There(address) => address,
            Self::Window => window + area.address,
        }
    }
}

fn copy<T: Lane>(instance: &mut dyn Instance, area: Area, rows: &[T]) -> Place {
    T::write_all(rows, bytes(instance.window_mut(), area));
    Place::Window
}

/// Rows that the program changes.
fn changed(instance: &mut dyn Instance, area: Area, mut rows: Rows<'_>, in_place: bool) -> Place {
    let address = instance.address_of(rows.place());
    match (address.filter(|_| in_place), rows) {
        (Some(address), _) => Place::There(address),
        (None, Rows::Boolean(rows)) => copy(instance, area, rows),
        (None, Rows::Integer(rows)) => copy(instance, area, rows),
        (None, Rows::Single(rows)) => copy(instance, area, rows),
        (None, Rows::Double(rows)) => copy(instance, area, rows),
        (None, Rows::Text(rows)) => copy(instance, area, rows),
    }
}

/// Rows that are only read. The module also reads, and drops, what stands behind them up to a whole group.
fn find_or_copy<T: Lane>(instance: &mut dyn Instance, area: Area, rows: &[T]) -> Place {
    match instance.address_of(rows.as_ptr() as usize) {
        Some(address) => Place::There(address),
        None => copy(instance, area, rows),
    }
}

/// Rows of the own table, which are copied if the program changes them.
fn own<T: Lane>(
    instance: &mut dyn Instance,
    area: Area,
    block: &Block<'_>,
    column: u32,
    is_changed: bool,
) -> Place {
    let rows = block.own::<T>(column);
    if is_changed { copy(instance, area, rows) } else { find_or_copy(instance, area, rows) }
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
        let to = &mut bytes(memory, *area)[..items.len() * area.ty.width()];
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
