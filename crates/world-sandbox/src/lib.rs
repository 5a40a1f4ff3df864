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
//! Wasmtime is behind the feature `engine` of `hemiola_sandbox`: without it, [`ColumnEngine::new`] refuses, and every
//! function stays interpreted. Decision 0044 has the reasons.

use hemiola_sandbox::{Engine, Function, Limits, LoadError, Module};
use hemiola_world_code::WINDOW_MAX;

/// Compiles the modules of programs for this machine.
#[derive(Clone, Debug)]
pub struct ColumnEngine(Engine);

impl ColumnEngine {
    /// Makes an engine.
    ///
    /// # Errors
    /// If this build has none, or the system refuses memory.
    pub fn new() -> Result<Self, LoadError> {
        let limits =
            Limits { module: 16 << 20, memory: WINDOW_MAX as usize, table: 0, ..Limits::default() };
        Engine::unmetered(limits).map(Self)
    }

    fn instance(&self, module: &[u8], functions: &[String]) -> Result<Instance, LoadError> {
        let module: Module = self.0.compile(module, "program")?;
        let mut instance = module.instantiate(0)?;
        let functions: Result<Vec<_>, _> =
            functions.iter().map(|name| instance.function(name)).collect();
        instance.seal();
        Ok(Instance { functions: functions?, instance })
    }
}

impl hemiola_world_code::Engine for ColumnEngine {
    fn instantiate(
        &mut self,
        module: &[u8],
        functions: &[String],
    ) -> Result<Box<dyn hemiola_world_code::Instance>, String> {
        let instance = self.instance(module, functions).map_err(|error| error.to_string())?;
        Ok(Box::new(instance))
    }
}

/// An instance of the module of a program.
#[derive(Debug)]
struct Instance {
    instance: hemiola_sandbox::Instance,
    functions: Vec<Function<i32, i32>>,
}

impl hemiola_world_code::Instance for Instance {
    fn memory(&self) -> &[u8] {
        self.instance.memory()
    }

    fn memory_mut(&mut self) -> &mut [u8] {
        self.instance.memory_mut()
    }

    fn call(&mut self, function: usize, rows: i32) -> Option<i32> {
        self.instance.call(&self.functions[function], rows, 0).ok()
    }
}
