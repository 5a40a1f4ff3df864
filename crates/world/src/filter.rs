//! The filter phase: which rows each monitor is sent.
//!
//! The first part of every constraint runs over a block of rows while the block is in the cache, for one monitor after
//! the other. The rows for which it holds are few as a rule. The second part, which compares them with what was sent
//! last, runs over these rows only, gathered from all blocks.
//!
//! Workers share the blocks of the first part, and the monitors of the second one. The caller is told in the order of
//! the monitors afterwards.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Mutex;

use hemiola_world_code::{BLOCK_ROWS, Block, Column, Constraint, Program, RowMask, Scalar};
use hemiola_world_lang::definition::{ElementId, FunctionId};

use crate::monitor::{Monitor, MonitorCounts, MonitorId, Watched};
use crate::step::{Output, StepReport};
use crate::table::Table;
use crate::workers::{Crew, Seat, locked};
use crate::world::{EntityId, World};

/// Monitors whose rows are chosen together. It bounds the memory of the filter: 4 bytes for each row of the largest
/// table, and the rows that these monitors are sent.
const TOGETHER_MAX: usize = 32;

/// Memory of the filter, which is kept from step to step.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    /// Monitors that are handled together.
    together: Vec<MonitorId>,
    /// The rows for which the first parts hold: of the first block for each of these monitors, then of the next block.
    masks: Vec<RowMask>,
    /// For each of these monitors, what it is sent.
    parcels: Vec<Parcel>,
}

/// The rows that a monitor is sent of a table.
#[derive(Debug, Default)]
pub(crate) struct Parcel {
    /// The rows for which the first part of the constraint holds.
    chosen: Vec<u32>,
    /// The rows that are sent.
    rows: Vec<u32>,
    /// Faults of the first part.
    faults: u64,
    entities: Vec<EntityId>,
    columns: Vec<Column>,
    /// How many of the columns it is sent.
    sent: usize,
}

impl World {
    pub(crate) fn filter(&mut self, report: &mut StepReport, out: &mut dyn FnMut(Output<'_>)) {
        self.tell_what_is_owed(out);
        self.note_room();
        let collected = self.collected.iter();
        report.collected = collected.map(|(id, _)| self.tables[id.index()].len() as u64).sum();
        for (element, table) in (0..).map(ElementId).zip(&self.tables) {
            let mut behind = Bound::Unbounded;
            while table.len() > 0 {
                let others = self.monitors.range((behind, Bound::Unbounded));
                let watching = others.filter(|(_, monitor)| {
                    monitor.watched.contains_key(&element) && !monitor.rests()
                });
                let together = &mut self.filter.together;
                together.clear();
                together.extend(watching.map(|(id, _)| *id).take(TOGETHER_MAX));
                let Some(last) = together.last() else { break };
                behind = Bound::Excluded(*last);
                let mut choice = Choice {
                    table,
                    element,
                    constraints: &self.constraints,
                    crew: &mut self.crew,
                    filter: &mut self.filter,
                };
                choice.first_parts(&self.monitors);
                choice.second_parts(&mut self.monitors);
                for (id, parcel) in self.filter.together.iter().zip(&self.filter.parcels) {
                    report.sent += parcel.rows.len() as u64;
                    if !parcel.rows.is_empty() {
                        parcel.tell(*id, element, self.texts.all(), out);
                        let effect = &self.monitors[id].interest.effect;
                        self.fates.note(*id, effect, parcel.entities.iter().copied());
                    }
                }
            }
        }
    }
}

/// The choice of the rows of a table for some monitors.
struct Choice<'w> {
    table: &'w Table,
    element: ElementId,
    constraints: &'w BTreeMap<FunctionId, Constraint>,
    crew: &'w mut Crew,
    filter: &'w mut Filter,
}

impl Choice<'_> {
    /// Runs the first parts of the constraints over all blocks.
    fn first_parts(&mut self, monitors: &BTreeMap<MonitorId, Monitor>) {
        let Self { table, element, constraints, .. } = *self;
        let Filter { together, masks, parcels } = &mut *self.filter;
        let blocks = table.len().div_ceil(BLOCK_ROWS);
        masks.resize(blocks * together.len(), RowMask::default());
        parcels.resize_with(together.len().max(parcels.len()), Parcel::default);
        parcels.iter_mut().for_each(|parcel| parcel.faults = 0);
        let queue = Mutex::new(masks.chunks_mut(together.len()).enumerate());
        self.crew.run(blocks, &|seat| {
            while let Some((at, masks)) = { locked(&queue).next() } {
                let start = at * BLOCK_ROWS;
                for ((number, id), mask) in together.iter().enumerate().zip(masks) {
                    let monitor = &monitors[id];
                    let Some(constraint) = monitor.constraint(constraints) else { continue };
                    let block = Block {
                        own: &table.columns,
                        apart: &[],
                        start,
                        count: BLOCK_ROWS.min(table.len() - start),
                        arguments: &monitor.arguments,
                        last_sent: &monitor.watched[&element].last_sent,
                        neighbours: None,
                        element,
                    };
                    seat.machine.run(&constraint.first, &block);
                    *mask = seat.machine.holding(&constraint.first, &block);
                    if !seat.machine.is_faultless() {
                        seat.constraint_faults.push((number, faults(seat)));
                    }
                }
            }
        });
        for (number, faults) in self.crew.seats().flat_map(|seat| seat.constraint_faults.drain(..))
        {
            parcels[number].faults += faults;
        }
    }

    /// Gathers the rows of each monitor, runs the second part of its constraint over them, and notes what it is sent.
    fn second_parts(&mut self, monitors: &mut BTreeMap<MonitorId, Monitor>) {
        let Self { table, element, constraints, .. } = *self;
        let Filter { together, masks, parcels } = &mut *self.filter;
        let (masks, count) = (&*masks, together.len());
        let range = together[0]..=together[count - 1];
        let watching = monitors.range_mut(range).filter_map(|(_, monitor)| {
            (monitor.watched.contains_key(&element) && !monitor.rests()).then_some(monitor)
        });
        let queue = Mutex::new(watching.zip(parcels).enumerate());
        self.crew.run(count, &|seat| {
            while let Some((number, (monitor, parcel))) = { locked(&queue).next() } {
                let constraint = monitor.constraint(constraints);
                parcel.chosen.clear();
                match constraint {
                    Some(_) => {
                        let masks = masks.iter().skip(number).step_by(count);
                        for (start, mask) in (0..).step_by(BLOCK_ROWS).zip(masks) {
                            mask.append(start, &mut parcel.chosen);
                        }
                    }
                    None => parcel.chosen.extend(0..table.len() as u32),
                }
                let Monitor { watched, counts, arguments, columns, paced, .. } = monitor;
                let Some(watched) = watched.get_mut(&element) else { continue };
                parcel.begin(columns, table);
                if let Some(constraint) = constraint {
                    parcel.count_others(constraint, table, counts);
                }
                let chosen = std::mem::take(&mut parcel.chosen);
                for block in chosen.chunks(BLOCK_ROWS) {
                    let start = parcel.rows.len();
                    let data = Compared { arguments, table, element };
                    match constraint {
                        Some(Constraint { then: Some(then), then_reads, .. }) => {
                            parcel.compare(seat, (then, then_reads), block, watched, counts, data);
                        }
                        _ => parcel.rows.extend_from_slice(block),
                    }
                    // Its rows are in the cache.
                    if paced.is_none() {
                        parcel.send(constraint, columns, watched, table, start);
                    }
                }
                parcel.chosen = chosen;
                if let Some(paced) = paced {
                    counts.held += paced.keep_what_fits(&mut watched.standing, &mut parcel.rows);
                    parcel.send(constraint, columns, watched, table, 0);
                }
                counts.sent += parcel.rows.len() as u64;
            }
        });
    }
}

/// What a comparison reads besides the rows.
#[derive(Clone, Copy)]
struct Compared<'w> {
    arguments: &'w [Scalar],
    table: &'w Table,
    element: ElementId,
}

fn faults(seat: &Seat) -> u64 {
    seat.machine.faults().iter().map(|fault| u64::from(*fault != 0)).sum()
}

impl Watched {
    fn note_sent(&mut self, constraint: &Constraint, table: &Table, rows: &[u32]) {
        for (to, column) in self.last_sent.iter_mut().zip(constraint.last_sent()) {
            to.copy_rows(&table.columns[*column as usize], rows);
        }
    }
}

impl Parcel {
    /// Counts the rows for which the first part of the constraint does not hold.
    fn count_others(&self, constraint: &Constraint, table: &Table, counts: &mut MonitorCounts) {
        let others = (table.len() - self.chosen.len()) as u64 - self.faults;
        counts.faults += self.faults;
        // The first of two parts does not, and a look at its code would take long beside a block.
        if constraint.then.is_none() && constraint.first.reads_last_sent() {
            counts.unchanged += others;
        } else {
            counts.outside += others;
        }
    }

    /// Adds the rows of a block for which the second part of the constraint holds.
    fn compare(
        &mut self,
        seat: &mut Seat,
        (then, then_reads): (&Program, &[u32]),
        rows: &[u32],
        watched: &Watched,
        counts: &mut MonitorCounts,
        Compared { arguments, table, element }: Compared<'_>,
    ) {
        let own = then_reads.iter().map(|at| (*at as usize, &table.columns[*at as usize]));
        gather(&mut seat.own, own, rows);
        gather(&mut seat.last_sent, (0..).zip(&watched.last_sent), rows);
        let block = Block {
            own: &seat.own,
            apart: &[],
            start: 0,
            count: rows.len(),
            arguments,
            last_sent: &seat.last_sent,
            neighbours: None,
            element,
        };
        seat.machine.run(then, &block);
        let mask = seat.machine.holding(then, &block);
        let before = self.rows.len();
        self.rows.extend(mask.rows(0).map(|at| rows[at as usize]));
        let faults = faults(seat);
        counts.faults += faults;
        counts.unchanged += (rows.len() + before - self.rows.len()) as u64 - faults;
    }

    /// Forgets what was sent before.
    fn begin(&mut self, columns: &[u32], table: &Table) {
        self.rows.clear();
        self.entities.clear();
        self.columns.iter_mut().for_each(Column::clear);
        self.sent = columns.len();
        for column in columns.iter().skip(self.columns.len()) {
            self.columns.push(Column::new(table.columns[*column as usize].ty()));
        }
    }

    /// Sends the rows from this one on: adds their entities and columns, and notes them as sent.
    fn send(
        &mut self,
        constraint: Option<&Constraint>,
        columns: &[u32],
        watched: &mut Watched,
        table: &Table,
        start: usize,
    ) {
        let rows = &self.rows[start..];
        if let Some(constraint) = constraint {
            watched.note_sent(constraint, table, rows);
        }
        self.entities.extend(rows.iter().map(|row| table.ids[*row as usize]));
        for (to, column) in self.columns.iter_mut().zip(columns) {
            to.gather(&table.columns[*column as usize], rows);
        }
    }

    /// All rows of a table for a monitor that is sent these columns.
    pub(crate) fn of_all(columns: &[u32], table: &Table) -> Self {
        let mut parcel = Self::default();
        parcel.begin(columns, table);
        parcel.rows.extend(0..table.len() as u32);
        parcel.send(None, columns, &mut Watched::default(), table, 0);
        parcel
    }

    pub(crate) fn tell(
        &self,
        monitor: MonitorId,
        element: ElementId,
        texts: &[String],
        out: &mut dyn FnMut(Output<'_>),
    ) {
        let (entities, columns) = (&self.entities, &self.columns[..self.sent]);
        out(Output::Rows { monitor, element, entities, columns, texts });
    }
}

/// Gathers rows of columns into the places that are named.
fn gather<'c>(
    to: &mut Vec<Column>,
    columns: impl Iterator<Item = (usize, &'c Column)>,
    rows: &[u32],
) {
    for (at, column) in columns {
        if to.len() <= at {
            to.resize_with(at + 1, || Column::new(column.ty()));
        }
        to[at].clear();
        to[at].gather(column, rows);
    }
}
