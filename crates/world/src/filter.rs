//! The filter phase: which rows each monitor is sent.
//!
//! The first part of every constraint runs over a block of rows while the block is in the cache, for one monitor after
//! the other. The rows for which it holds are few as a rule. The second part, which compares them with what was sent
//! last, runs over these rows only, gathered from all blocks.

use hemiola_world_code::{BLOCK_ROWS, Block, Column, Constraint, Machine, Program};
use hemiola_world_lang::definition::ElementId;

use crate::monitor::{Monitor, MonitorId, Watched};
use crate::step::{Output, StepReport};
use crate::table::Table;
use crate::world::{EntityId, World};

/// Memory of the filter, which is kept from step to step.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// By column of the own table: gathered rows, in the columns that are read.
    own: Vec<Column>,
    last_sent: Vec<Column>,
    /// Rows of the gathered columns for which the second part holds.
    holding: Vec<u32>,
    entities: Vec<EntityId>,
    columns: Vec<Column>,
}

impl World {
    pub(crate) fn filter(&mut self, report: &mut StepReport, out: &mut dyn FnMut(Output<'_>)) {
        let collected = self.collected.iter();
        report.collected = collected.map(|(id, _)| self.tables[id.index()].len() as u64).sum();
        for (element, table) in (0..).map(ElementId).zip(&self.tables) {
            for start in (0..table.len()).step_by(BLOCK_ROWS) {
                for monitor in self.monitors.values_mut() {
                    if let Some(constraint) = monitor.constraint(&self.constraints) {
                        choose(&mut self.machine, constraint, monitor, (element, table), start);
                    }
                }
            }
            for (id, monitor) in &mut self.monitors {
                let constraint = monitor.constraint(&self.constraints);
                let (counts, arguments) = (&mut monitor.counts, &monitor.arguments);
                let Some(watched) = monitor.watched.get_mut(&element) else { continue };
                let parts = constraint.and_then(|both| Some((both.then.as_ref()?, both)));
                if let Some((then, Constraint { then_reads, .. })) = parts {
                    let chosen = watched.rows.len() as u64;
                    let faults = self.buffers.compare(
                        &mut self.machine,
                        (then, then_reads),
                        arguments,
                        watched,
                        (element, table),
                    );
                    counts.faults += faults;
                    counts.unchanged += chosen - watched.rows.len() as u64 - faults;
                }
                match constraint {
                    Some(constraint) => watched.note_sent(constraint, table),
                    None => watched.rows.extend(0..table.len() as u32),
                }
                let sent = watched.rows.len() as u64;
                counts.sent += sent;
                report.sent += sent;
                if sent > 0 {
                    let columns = &monitor.columns;
                    self.buffers.tell((*id, element), columns, &watched.rows, table, out);
                    let entities = watched.rows.iter().map(|row| table.ids[*row as usize]);
                    self.fates.note(*id, &monitor.interest.effect, entities);
                }
                watched.rows.clear();
            }
        }
    }
}

/// Runs the first part of a constraint over a block.
fn choose(
    machine: &mut Machine,
    constraint: &Constraint,
    monitor: &mut Monitor,
    (element, table): (ElementId, &Table),
    start: usize,
) {
    let Some(watched) = monitor.watched.get_mut(&element) else { return };
    let block = Block {
        own: &table.columns,
        start,
        count: BLOCK_ROWS.min(table.len() - start),
        arguments: &monitor.arguments,
        last_sent: &watched.last_sent,
        neighbours: None,
        element,
    };
    let before = watched.rows.len();
    machine.run(&constraint.first, &block);
    machine.holding(&constraint.first, &block, &mut watched.rows);
    let faults = faults(machine);
    let others = (block.count - (watched.rows.len() - before)) as u64 - faults;
    monitor.counts.faults += faults;
    // The first of two parts does not, and a look at its code would take long beside a block.
    if constraint.then.is_none() && constraint.first.reads_last_sent() {
        monitor.counts.unchanged += others;
    } else {
        monitor.counts.outside += others;
    }
}

fn faults(machine: &Machine) -> u64 {
    machine.faults().iter().map(|fault| u64::from(*fault != 0)).sum()
}

impl Watched {
    fn note_sent(&mut self, constraint: &Constraint, table: &Table) {
        for (to, column) in self.last_sent.iter_mut().zip(constraint.last_sent()) {
            to.copy_rows(&table.columns[*column as usize], &self.rows);
        }
    }
}

impl Buffers {
    /// Keeps the chosen rows for which the second part of a constraint holds, and returns the number of faults.
    fn compare(
        &mut self,
        machine: &mut Machine,
        (then, read): (&Program, &[u32]),
        arguments: &[hemiola_world_code::Scalar],
        watched: &mut Watched,
        (element, table): (ElementId, &Table),
    ) -> u64 {
        let (mut faults_found, mut kept) = (0, 0);
        for start in (0..watched.rows.len()).step_by(BLOCK_ROWS) {
            let end = watched.rows.len().min(start + BLOCK_ROWS);
            let rows = &watched.rows[start..end];
            let own =
                read.iter().map(|column| (*column as usize, &table.columns[*column as usize]));
            gather(&mut self.own, own, rows);
            gather(&mut self.last_sent, (0..).zip(&watched.last_sent), rows);
            let block = Block {
                own: &self.own,
                start: 0,
                count: rows.len(),
                arguments,
                last_sent: &self.last_sent,
                neighbours: None,
                element,
            };
            machine.run(then, &block);
            faults_found += faults(machine);
            self.holding.clear();
            machine.holding(then, &block, &mut self.holding);
            for at in &self.holding {
                watched.rows[kept] = watched.rows[start + *at as usize];
                kept += 1;
            }
        }
        watched.rows.truncate(kept);
        faults_found
    }

    /// Gathers what the monitor is sent and tells it.
    pub(crate) fn tell(
        &mut self,
        (monitor, element): (MonitorId, ElementId),
        columns: &[u32],
        rows: &[u32],
        table: &Table,
        out: &mut dyn FnMut(Output<'_>),
    ) {
        self.entities.clear();
        self.entities.extend(rows.iter().map(|row| table.ids[*row as usize]));
        gather(
            &mut self.columns,
            (0..).zip(columns.iter().map(|column| &table.columns[*column as usize])),
            rows,
        );
        let (entities, columns) = (&self.entities, &self.columns[..columns.len()]);
        out(Output::Rows { monitor, element, entities, columns });
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
        to[at].gather(column, rows);
    }
}
