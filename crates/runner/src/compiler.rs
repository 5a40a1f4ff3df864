//! Compiles the functions of a universe beside its steps, where this build can.

use hemiola_sandbox::LoadError;
use hemiola_world::{Code, Order, Uncompiled};
use hemiola_world_sandbox::ColumnEngine;

/// An engine for one universe. Clones share its memory.
#[derive(Clone, Debug)]
pub struct Compiler {
    engine: ColumnEngine,
    workers: usize,
}

impl Compiler {
    /// An engine for a universe whose steps so many threads make; `None` if this build has none.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn new(workers: usize) -> Result<Option<Self>, LoadError> {
        match ColumnEngine::new() {
            Ok(engine) => Ok(Some(Self { engine, workers })),
            Err(LoadError::NotBuilt) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Code for functions of the universe. It takes milliseconds for each.
    pub fn compile(&mut self, uncompiled: &Uncompiled) -> Code {
        uncompiled.compile(&mut self.engine)
    }

    /// Adds to an order the code for the functions that it brings, as far as they are known before it.
    pub fn complete(&mut self, order: &mut Order) {
        if let Order::Redefine { revision, code, .. } = order {
            *code = Some(self.compile(&revision.uncompiled(self.workers)));
        }
    }

    /// Code for the first steps.
    pub fn compile_all(&mut self, world: &hemiola_world::World) -> Code {
        let uncompiled = world.uncompiled().for_workers(self.workers);
        self.compile(&uncompiled)
    }
}
