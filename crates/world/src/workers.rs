//! Workers: what carries out a step: one worker, or several at the same time.
//!
//! Workers take blocks of rows, or monitors, from a queue until it is empty. Which worker takes which of them has no
//! influence on the result: each block has rows of its own, and what workers note is put in order after them.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hemiola_world_code::{BLOCK_ROWS, Column, Machine, Rows};
use hemiola_world_lang::evaluate::Fault;

/// Calls the function with the numbers below a count, once each, perhaps at the same time and in any order. Returns
/// when all calls have returned.
pub type Run = dyn FnMut(usize, &(dyn Fn(usize) + Sync)) + Send;

/// Workers that carry out the steps of a world together. The caller provides the threads; this crate starts none.
pub struct Workers {
    count: usize,
    run: Box<Run>,
}

impl Workers {
    /// So many workers at most. `run` may make its calls one after the other: the result of a step does not depend on
    /// it.
    ///
    /// # Panics
    /// If there are none.
    #[must_use]
    pub fn new(count: usize, run: Box<Run>) -> Self {
        assert!(count > 0, "a step needs a worker");
        Self { count, run }
    }

    /// How many there are at most.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }
}

impl Default for Workers {
    /// One worker: the caller of the step.
    fn default() -> Self {
        Self::new(1, Box::new(|count, work| (0..count).for_each(work)))
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("count", &self.count).finish_non_exhaustive()
    }
}

/// The workers of a world with what each of them keeps from step to step.
#[derive(Debug)]
pub(crate) struct Crew {
    workers: Workers,
    seats: Vec<Mutex<Seat>>,
}

/// What belongs to one worker.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    pub(crate) machine: Machine,
    /// Gathered rows, by column of the own table, in the columns that the second part of a constraint reads.
    pub(crate) own: Vec<Column>,
    /// Gathered rows as they were last sent.
    pub(crate) last_sent: Vec<Column>,
    /// Memory of [`Self::apart`].
    apart: Vec<(u32, Rows<'static>)>,
    /// Rows whose update had a fault.
    pub(crate) faults: Vec<(usize, Fault)>,
    /// Faults of constraints in blocks that had any, with the place of the monitor among those of the filter.
    pub(crate) constraint_faults: Vec<(usize, u64)>,
}

impl Seat {
    /// An empty vector for rows of a block. It is given back with [`Self::give_back`], to keep its memory.
    pub(crate) fn apart<'r>(&mut self) -> Vec<(u32, Rows<'r>)> {
        std::mem::take(&mut self.apart)
    }

    /// Notes the rows of the last block whose update had a fault.
    pub(crate) fn note_faults(&mut self, start: usize) {
        if !self.machine.is_faultless() {
            let rows = 0..self.machine.faults().len();
            let faults = rows.filter_map(|row| Some((start + row, self.machine.fault(row)?)));
            self.faults.extend(faults);
        }
    }

    pub(crate) fn give_back(&mut self, apart: Vec<(u32, Rows<'_>)>) {
        self.apart = emptied(apart);
    }
}

/// The memory of a vector of rows, for rows that live for another time. The standard library collects the iterator of a
/// vector into the memory of the vector.
fn emptied<'r>(mut rows: Vec<(u32, Rows<'_>)>) -> Vec<(u32, Rows<'r>)> {
    rows.clear();
    rows.into_iter().map(|_| unreachable!("it is empty")).collect()
}

impl Default for Crew {
    fn default() -> Self {
        Self::of(Workers::default())
    }
}

impl Crew {
    pub(crate) fn of(workers: Workers) -> Self {
        let seats = (0..workers.count).map(|_| Mutex::default()).collect();
        Self { workers, seats }
    }

    pub(crate) fn seats(&mut self) -> impl Iterator<Item = &mut Seat> {
        self.seats.iter_mut().map(|seat| seat.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many workers there are.
    pub(crate) const fn count(&self) -> usize {
        self.workers.count
    }

    /// Looks at the first seat.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&Seat) -> R) -> R {
        look(&locked(&self.seats[0]))
    }

    /// The first seat, which always exists.
    pub(crate) fn first(&mut self) -> &mut Seat {
        self.seats().next().expect("a step needs a worker")
    }

    /// Has workers do the same work until nothing is left of it; `parts` is how many of them can be of use.
    pub(crate) fn run(&mut self, parts: usize, work: &(dyn Fn(&mut Seat) + Sync)) {
        let count = parts.min(self.workers.count);
        let work = |number: usize| work(&mut locked(&self.seats[number]));
        match count {
            0 => {}
            1 => work(0),
            _ => (self.workers.run)(count, &work),
        }
    }
}

/// Locks what only this worker uses, or uses for a moment. A worker that panics ends the step, not the lock.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Blocks of columns that workers write, one after the other.
#[derive(Debug)]
pub(crate) struct Blocks<'r> {
    /// The rows of each column that nobody has taken yet.
    rest: Vec<(u32, Rows<'r>)>,
    start: usize,
    end: usize,
}

/// Columns that stand apart from their table while they are written, and memory for [`Blocks`].
#[derive(Debug, Default)]
pub(crate) struct Apart {
    columns: Vec<(u32, Column)>,
    rest: Vec<(u32, Rows<'static>)>,
}

impl Apart {
    /// Takes columns out of a table.
    pub(crate) fn take(&mut self, table: &mut [Column], columns: impl Iterator<Item = u32>) {
        self.columns.clear();
        self.columns.extend(columns.map(|number| {
            let column = &mut table[number as usize];
            let empty = Column::new(column.ty());
            (number, std::mem::replace(column, empty))
        }));
    }

    /// The blocks of the columns that were taken, which have so many rows.
    pub(crate) fn blocks(&mut self, rows: usize) -> Blocks<'_> {
        let mut rest = emptied(std::mem::take(&mut self.rest));
        let columns = self.columns.iter_mut();
        rest.extend(columns.map(|(number, column)| (*number, column.rows_mut(0..rows))));
        Blocks { rest, start: 0, end: rows }
    }

    pub(crate) fn keep(&mut self, memory: Vec<(u32, Rows<'static>)>) {
        self.rest = memory;
    }

    /// Puts the columns back.
    pub(crate) fn put_back(&mut self, table: &mut [Column]) {
        self.columns.drain(..).for_each(|(number, column)| table[number as usize] = column);
    }
}

impl<'r> Blocks<'r> {
    /// The rows of the next block, whose columns go to `to`.
    pub(crate) fn next(&mut self, to: &mut Vec<(u32, Rows<'r>)>) -> Option<std::ops::Range<usize>> {
        let start = self.start;
        self.start = self.end.min(start + BLOCK_ROWS);
        let count = self.start - start;
        to.clear();
        to.extend(self.rest.iter_mut().map(|(number, rows)| (*number, rows.split_front(count))));
        (count > 0).then_some(start..self.start)
    }

    /// The memory that [`Apart`] keeps.
    pub(crate) fn memory(self) -> Vec<(u32, Rows<'static>)> {
        emptied(self.rest)
    }
}
