//! Monitors: which rows somebody is sent, and which they were sent last.

use std::collections::BTreeMap;

use hemiola_world_code::{Column, Constraint, Scalar};
use hemiola_world_lang::Value;
use hemiola_world_lang::definition::{ElementId, FunctionId};

use crate::birth::Effect;
use crate::room::{Paced, Standing};
use crate::world::EntityId;

/// The number of a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MonitorId(pub u32);

/// What a monitor wants to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Interest {
    /// Entities of this element and of those derived from it.
    pub element: ElementId,
    /// The properties that it is sent, by number; at least one, unless the monitor has an effect.
    pub properties: Vec<u32>,
    /// A constraint of the element and its arguments: a row is sent only if it holds. Without one, every row is sent in
    /// every step.
    pub constraint: Option<(FunctionId, Vec<Value>)>,
    /// What happens to an entity whose row it is sent in a step.
    pub effect: Effect,
}

impl Interest {
    /// What decides, apart from arguments, which monitors are like each other: element, properties and constraint.
    pub(crate) fn view(&self) -> (ElementId, &[u32], Option<FunctionId>) {
        let constraint = self.constraint.as_ref().map(|(function, _)| *function);
        (self.element, &self.properties, constraint)
    }
}

/// What became of the rows of a monitor, over all steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonitorCounts {
    /// Sent.
    pub sent: u64,
    /// Not sent, because a leading condition of the constraint did not hold that does not read `last_sent`, such as a
    /// box.
    pub outside: u64,
    /// Not sent, because another condition of the constraint did not hold, such as a threshold.
    pub unchanged: u64,
    /// Not sent, because the constraint had a fault.
    pub faults: u64,
    /// Not sent, because there was no room for more. Only a monitor with room that ends has such rows, see
    /// [`World::attach_monitor`](crate::World::attach_monitor).
    pub held: u64,
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
    /// The tables of its element and of those derived from it.
    pub(crate) watched: BTreeMap<ElementId, Watched>,
    /// Its room, if that ends.
    pub(crate) paced: Option<Paced>,
}

/// A table as a monitor sees it.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// The rows as they were last sent, in the columns that the constraint reads ([`Constraint::last_sent`]).
    pub(crate) last_sent: Vec<Column>,
    /// What its reader knows of each row, if the monitor has a room that ends.
    pub(crate) standing: Standing,
}

impl Monitor {
    pub(crate) fn constraint<'c>(
        &self,
        constraints: &'c BTreeMap<FunctionId, Constraint>,
    ) -> Option<&'c Constraint> {
        self.interest.constraint.as_ref().map(|(function, _)| &constraints[function])
    }

    /// Of the scalars of a row, those that the monitor is sent.
    pub(crate) fn told(&self, row: &[Scalar]) -> Vec<Scalar> {
        self.columns.iter().map(|column| row[*column as usize]).collect()
    }

    /// A new row of a table is known to the monitor from its birth. False if it is not told of it at once, because it
    /// does not watch the table or has a room that ends.
    pub(crate) fn push(
        &mut self,
        constraints: &BTreeMap<FunctionId, Constraint>,
        element: ElementId,
        row: &[Scalar],
    ) -> bool {
        let columns = self.constraint(constraints).map_or(&[][..], Constraint::last_sent);
        let Some(watched) = self.watched.get_mut(&element) else { return false };
        if watched.last_sent.is_empty() {
            let types = columns.iter().map(|column| row[*column as usize].ty());
            watched.last_sent = types.map(Column::new).collect();
        }
        for (to, column) in watched.last_sent.iter_mut().zip(columns) {
            to.push(row[*column as usize]);
        }
        if self.paced.is_some() {
            watched.standing.push();
        }
        self.paced.is_none()
    }

    /// Whether the monitor is told of the death of the entity in the row that is removed at once.
    pub(crate) fn swap_remove(&mut self, element: ElementId, row: usize, entity: EntityId) -> bool {
        let Some(watched) = self.watched.get_mut(&element) else { return false };
        watched.last_sent.iter_mut().for_each(|column| column.swap_remove(row));
        if let Some(paced) = &mut self.paced
            && watched.standing.swap_remove(row)
        {
            paced.owe_death(entity);
        }
        self.paced.is_none()
    }
}
