//! Monitors: which rows somebody is sent, and which they were sent last.

use hemiola_world_code::{Column, Program, Scalar};
use hemiola_world_lang::Value;
use hemiola_world_lang::definition::{ElementId, FunctionId};

use crate::table::Table;

/// The number of a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MonitorId(pub u32);

/// What a monitor wants to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Interest {
    /// Entities of this element and of those derived from it.
    pub element: ElementId,
    /// The properties that it is sent, by number; at least one.
    pub properties: Vec<u32>,
    /// A constraint of the element and its arguments: a row is sent only if it holds. Without one, every row is sent in
    /// every step.
    pub constraint: Option<(FunctionId, Vec<Value>)>,
}

/// What became of the rows of a monitor, over all steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonitorCounts {
    /// Sent.
    pub sent: u64,
    /// Not sent, because the constraint did not hold.
    pub suppressed: u64,
    /// Not sent, because the constraint had a fault.
    pub faults: u64,
}

/// A monitor in a world.
#[derive(Debug)]
pub(crate) struct Monitor {
    pub(crate) interest: Interest,
    /// The columns that it is sent.
    pub(crate) columns: Vec<u32>,
    /// The scalars of the arguments of the constraint.
    pub(crate) arguments: Vec<Scalar>,
    pub(crate) counts: MonitorCounts,
    /// By element: the rows as they were last sent, in the columns that the constraint reads.
    pub(crate) last_sent: Vec<Vec<Column>>,
}

impl Monitor {
    /// A new row of a table is known to the monitor from its birth.
    pub(crate) fn push(&mut self, program: Option<&Program>, element: ElementId, row: &[Scalar]) {
        let Some(program) = program else { return };
        let columns = &mut self.last_sent[element.index()];
        if columns.is_empty() {
            let types = program.last_sent.iter().map(|column| row[*column as usize].ty());
            *columns = types.map(Column::new).collect();
        }
        for (to, column) in columns.iter_mut().zip(&program.last_sent) {
            to.push(row[*column as usize]);
        }
    }

    pub(crate) fn swap_remove(&mut self, element: ElementId, row: usize) {
        self.last_sent[element.index()].iter_mut().for_each(|column| column.swap_remove(row));
    }

    /// Notes that a row was sent as it is now.
    pub(crate) fn sent(
        &mut self,
        program: &Program,
        element: ElementId,
        table: &Table,
        row: usize,
    ) {
        let columns = self.last_sent[element.index()].iter_mut();
        for (to, column) in columns.zip(&program.last_sent) {
            to.set(row, table.columns[*column as usize].get(row));
        }
    }
}
