//! The entities of one element.

use std::sync::Arc;

use hemiola_world_code::{Column, Room, Scalar, ScalarType};

use crate::world::EntityId;

/// The entities of one element; those of derived elements have tables of their own.
#[derive(Debug)]
pub(crate) struct Table {
    /// By row.
    pub(crate) ids: Vec<EntityId>,
    /// By leaf.
    pub(crate) columns: Vec<Column>,
    /// Columns as they were before the step, of those that an update writes and a neighbour reads.
    pub(crate) before: Vec<Option<Column>>,
    /// Faults of each row so far.
    pub(crate) strikes: Vec<u32>,
}

impl Table {
    /// A table without rows, whose columns have the memory of a room if there is one.
    pub(crate) fn new(types: &[ScalarType], room: Option<&Arc<dyn Room>>) -> Self {
        let column = |ty: &ScalarType| Column::filled(Scalar::zero(*ty), 0, room);
        Self {
            ids: Vec::new(),
            columns: types.iter().map(column).collect(),
            before: vec![None; types.len()],
            strikes: Vec::new(),
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn push(&mut self, id: EntityId, row: &[Scalar]) {
        self.ids.push(id);
        self.strikes.push(0);
        self.columns.iter_mut().zip(row).for_each(|(column, scalar)| column.push(*scalar));
    }

    /// Removes a row and returns the entity that took its place.
    pub(crate) fn swap_remove(&mut self, row: usize) -> Option<EntityId> {
        self.ids.swap_remove(row);
        self.strikes.swap_remove(row);
        self.columns.iter_mut().for_each(|column| column.swap_remove(row));
        self.ids.get(row).copied()
    }

    pub(crate) fn row(&self, row: usize) -> Vec<Scalar> {
        self.columns.iter().map(|column| column.get(row)).collect()
    }
}
