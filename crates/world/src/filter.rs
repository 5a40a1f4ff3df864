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

use hemiola_world_code::{
    BLOCK_ROWS, Block, Column, Constraint, NO_PLACE, Program, RowMask, Scalar,
};
use hemiola_world_lang::definition::{ElementId, FunctionId};

use crate::monitor::{Monitor, MonitorCounts, MonitorId, Recent, Watched};
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
                let mut next = 0;
                for block in chosen.chunks(BLOCK_ROWS) {
                    let start = parcel.rows.len();
                    let data = Compared { arguments, table, element };
                    match constraint {
                        Some(Constraint { then: Some(then), then_reads, .. }) => {
                            gather_last_sent(seat, watched, &mut next, block);
                            parcel.compare(seat, (then, then_reads), block, counts, data);
                            if paced.is_none() {
                                let Seat { own, kept, .. } = &*seat;
                                let gathered = Gathered { numbers: then_reads, own, kept };
                                parcel.send(constraint, columns, watched, table, start, gathered);
                                note_recent(seat, (then, then_reads), block, table);
                            }
                        }
                        _ => {
                            parcel.rows.extend_from_slice(block);
                            if paced.is_none() {
                                let gathered = Gathered::default();
                                parcel.send(constraint, columns, watched, table, start, gathered);
                            }
                        }
                    }
                }
                std::mem::swap(&mut watched.recent, &mut seat.recent);
                seat.recent.clear();
                parcel.chosen = chosen;
                if let Some(paced) = paced {
                    counts.held += paced.keep_what_fits(&mut watched.standing, &mut parcel.rows);
                    parcel.send(constraint, columns, watched, table, 0, Gathered::default());
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

/// Gathers rows as they were last sent: those of the last step from where they stand side by side, from this one on.
fn gather_last_sent(seat: &mut Seat, watched: &Watched, next: &mut usize, rows: &[u32]) {
    let Recent { rows: known, columns } = &watched.recent;
    let Seat { last_sent, places, .. } = seat;
    places.clear();
    places.extend(rows.iter().map(|row| {
        *next += known[*next..].iter().take_while(|known| *known < row).count();
        if known.get(*next) == Some(row) { *next as u32 } else { NO_PLACE }
    }));
    for (at, column) in watched.last_sent.iter().enumerate() {
        if last_sent.len() <= at {
            last_sent.push(Column::new(column.ty()));
        }
        last_sent[at].clear();
        match columns.get(at).filter(|_| !known.is_empty()) {
            Some(recent) => last_sent[at].gather_either(recent, places, column, rows),
            None => last_sent[at].gather(column, rows),
        }
    }
}

/// Notes the rows of a block as they were last sent, now that those that it kept are sent.
fn note_recent(
    seat: &mut Seat,
    (then, then_reads): (&Program, &[u32]),
    block: &[u32],
    table: &Table,
) {
    let Seat { own, last_sent, recent, places, kept, sent, .. } = seat;
    let start = recent.rows.len() as u32;
    recent.rows.extend_from_slice(block);
    places.clear();
    places.extend(kept.iter().map(|at| start + at));
    sent.clear();
    sent.extend(kept.iter().map(|at| block[*at as usize]));
    let gathered = Gathered { numbers: then_reads, own, kept };
    for (at, (number, last_sent)) in then.last_sent.iter().zip(&*last_sent).enumerate() {
        if recent.columns.len() <= at {
            recent.columns.push(Column::new(last_sent.ty()));
        }
        let (from, rows) = gathered.or(*number, table, sent);
        recent.columns[at].append(last_sent);
        recent.columns[at].copy_rows_to(places, from, rows);
    }
}

/// Rows of a block that stand side by side in gathered columns: nearer than in their table.
#[derive(Clone, Copy, Default)]
struct Gathered<'g> {
    /// The numbers of these columns, in ascending order.
    numbers: &'g [u32],
    /// By number.
    own: &'g [Column],
    /// The rows.
    kept: &'g [u32],
}

impl<'g> Gathered<'g> {
    /// The column of this number, and where the rows stand in it: gathered, or in the table.
    fn or(self, number: u32, table: &'g Table, rows: &'g [u32]) -> (&'g Column, &'g [u32]) {
        match self.numbers.binary_search(&number) {
            Ok(_) => (&self.own[number as usize], self.kept),
            Err(_) => (&table.columns[number as usize], rows),
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
        counts: &mut MonitorCounts,
        Compared { arguments, table, element }: Compared<'_>,
    ) {
        let own = then_reads.iter().map(|at| (*at as usize, &table.columns[*at as usize]));
        gather(&mut seat.own, own, rows);
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
        seat.kept.clear();
        mask.append(0, &mut seat.kept);
        self.rows.extend(seat.kept.iter().map(|at| rows[*at as usize]));
        let faults = faults(seat);
        counts.faults += faults;
        counts.unchanged += (rows.len() - seat.kept.len()) as u64 - faults;
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

    /// Sends the rows from this one on: adds their entities and columns, and notes them as sent. They may be gathered.
    fn send(
        &mut self,
        constraint: Option<&Constraint>,
        columns: &[u32],
        watched: &mut Watched,
        table: &Table,
        start: usize,
        gathered: Gathered<'_>,
    ) {
        let rows = &self.rows[start..];
        let read = constraint.map_or(&[][..], Constraint::last_sent);
        for (to, number) in watched.last_sent.iter_mut().zip(read) {
            let (from, places) = gathered.or(*number, table, rows);
            to.copy_rows_to(rows, from, places);
        }
        self.entities.extend(rows.iter().map(|row| table.ids[*row as usize]));
        for (to, number) in self.columns.iter_mut().zip(columns) {
            let (from, places) = gathered.or(*number, table, rows);
            to.gather(from, places);
        }
    }

    /// All rows of a table for a monitor that is sent these columns.
    pub(crate) fn of_all(columns: &[u32], table: &Table) -> Self {
        let mut parcel = Self::default();
        parcel.begin(columns, table);
        parcel.rows.extend(0..table.len() as u32);
        parcel.send(None, columns, &mut Watched::default(), table, 0, Gathered::default());
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
