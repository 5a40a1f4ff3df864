//! Runs the compiled functions of worlds in the sandbox.
//!
//! [`ColumnEngine`] is the engine that `World::compile` and `Machine::compile` ask for. Its modules are made by
//! `world_code`: a call is bounded by the rows of its block, so it counts no fuel.
//!
//! ```
//! use hemiola_sandbox::LoadError;
//! use hemiola_world::World;
//! use hemiola_world_lang::{Sources, check};
//! use hemiola_world_sandbox::ColumnEngine;
//!
//! let text = "universe orbit {
//!   element body {
//!     property position : real<m>;
//!     property velocity : real<m/s> = 2<m/s>;
//!     update(dt : real<s>) { position += velocity * dt; }
//!   }
//!   entity first : body;
//! }";
//! let mut definition = check(&Sources::of("orbit.uml", text).unwrap(), None).unwrap();
//! let mut world = World::new(definition.universes.remove(0)).unwrap();
//! match ColumnEngine::new() {
//!     Ok(mut engine) => assert_eq!(world.compile(&mut engine), []),
//!     Err(error) => assert_eq!(error, LoadError::NotBuilt),
//! }
//! world.step(0.5, &mut |_| {}, &mut |_| {});
//! ```
//!
//! Its instances and the columns of a world stand in one memory of 4 GiB, so a function works on columns where they
//! are.
//!
//! Wasmtime is behind the feature `engine` of `hemiola_sandbox`: without it, [`ColumnEngine::new`] refuses, and every
//! function stays interpreted. Decisions 0044 and 0067 have the reasons.

mod shared;

use std::sync::Arc;

use hemiola_rt::sys::arena::{Arena, Block};
pub use hemiola_sandbox::LoadError;
use hemiola_sandbox::{Engine, Function, Limits, reserve};
use hemiola_world_code::{Module, Room, WINDOW_MAX};
use shared::ArenaRoom;

/// Compiles the modules of programs for this machine.
#[derive(Clone, Debug)]
pub struct ColumnEngine {
    engine: Engine,
    arena: Arc<Arena>,
    /// The last module, of which the next worker needs an instance, too.
    last: Option<(Vec<u8>, hemiola_sandbox::Module)>,
}

impl ColumnEngine {
    /// Makes an engine and reserves its memory. Clones share both.
    ///
    /// # Errors
    /// If this build has none, or the system refuses the addresses or memory.
    pub fn new() -> Result<Self, LoadError> {
        let arena = reserve()?;
        let limits =
            Limits { module: 16 << 20, memory: WINDOW_MAX as usize, table: 0, ..Limits::default() };
        Ok(Self { engine: shared::engine(&arena, limits)?, arena, last: None })
    }

    fn instance(&mut self, module: &Module) -> Result<Instance, LoadError> {
        let refused = |error: std::io::Error| LoadError::System(error.to_string());
        let window = self.arena.take(module.window()).map_err(refused)?;
        let mut instance = self.compiled(module)?.instantiate(0)?;
        let functions: Result<Vec<_>, _> =
            module.functions().iter().map(|name| instance.function(name)).collect();
        instance.seal();
        Ok(Instance { functions: functions?, instance, window, arena: Arc::clone(&self.arena) })
    }

    fn compiled(&mut self, module: &Module) -> Result<hemiola_sandbox::Module, LoadError> {
        match &self.last {
            Some((bytes, compiled)) if bytes == module.bytes() => Ok(compiled.clone()),
            _ => {
                let compiled = self.engine.compile(module.bytes(), "program")?;
                self.last = Some((module.bytes().to_vec(), compiled.clone()));
                Ok(compiled)
            }
        }
    }
}

impl hemiola_world_code::Engine for ColumnEngine {
    fn instantiate(
        &mut self,
        module: &Module,
    ) -> Result<Box<dyn hemiola_world_code::Instance>, String> {
        let instance = self.instance(module).map_err(|error| error.to_string())?;
        Ok(Box::new(instance))
    }

    fn room(&self) -> Option<Arc<dyn Room>> {
        Some(Arc::new(ArenaRoom(Arc::clone(&self.arena))))
    }
}

/// An instance of the module of a program.
#[derive(Debug)]
struct Instance {
    instance: hemiola_sandbox::Instance,
    functions: Vec<Function<(i32, i32), i32>>,
    window: Block,
    arena: Arc<Arena>,
}

impl hemiola_world_code::Instance for Instance {
    fn window(&self) -> &[u8] {
        self.window.items()
    }

    fn window_mut(&mut self) -> &mut [u8] {
        self.window.items_mut()
    }

    fn address(&self) -> u32 {
        self.window.offset() as u32
    }

    fn address_of(&self, place: usize) -> Option<u32> {
        self.arena.offset(place).map(|offset| offset as u32)
    }

    fn call(&mut self, function: usize, rows: i32) -> Option<i32> {
        let parameters = (rows, self.window.offset() as i32);
        self.instance.call(&self.functions[function], parameters, 0).ok()
    }
}
