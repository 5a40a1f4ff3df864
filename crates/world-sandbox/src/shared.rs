//! The memory that columns and compiled functions share.

#![expect(unsafe_code, reason = "the engine is given memory that the host uses too")]

use std::sync::Arc;

use hemiola_rt::sys::arena::{Arena, Block};
use hemiola_sandbox::{Engine, Limits, LoadError};
use hemiola_world_code::{Room, Slab};

/// Makes an engine over an arena.
pub(crate) fn engine(arena: &Arc<Arena>, limits: Limits) -> Result<Engine, LoadError> {
    // SAFETY: the engine is private to `ColumnEngine`, which compiles only modules of `world_code`; nobody else can
    // make a `world_code::Module`. Such a module has no data segments. A call reads and writes its window, which
    // belongs to the instance and is borrowed with it. It reads the columns whose addresses it is given, and up to
    // three rows behind them, which it drops; and it writes rows that the machine has borrowed for writing for this
    // call. The machine takes the addresses from these borrows.
    unsafe { Engine::over(arena, limits) }
}

/// The arena as a room for columns.
#[derive(Debug)]
pub(crate) struct ArenaRoom(pub(crate) Arc<Arena>);

/// A block of the arena as a slab of a column.
#[derive(Debug)]
struct ArenaSlab(Block);

impl Room for ArenaRoom {
    fn take(&self, bytes: usize) -> Option<Box<dyn Slab>> {
        Some(Box::new(ArenaSlab(self.0.take(bytes).ok()?)))
    }
}

impl Slab for ArenaSlab {
    fn integers(&self) -> &[i32] {
        self.0.items()
    }

    fn singles(&self) -> &[f32] {
        self.0.items()
    }

    fn doubles(&self) -> &[f64] {
        self.0.items()
    }

    fn texts(&self) -> &[u64] {
        self.0.items()
    }

    fn integers_mut(&mut self) -> &mut [i32] {
        self.0.items_mut()
    }

    fn singles_mut(&mut self) -> &mut [f32] {
        self.0.items_mut()
    }

    fn doubles_mut(&mut self) -> &mut [f64] {
        self.0.items_mut()
    }

    fn texts_mut(&mut self) -> &mut [u64] {
        self.0.items_mut()
    }
}
