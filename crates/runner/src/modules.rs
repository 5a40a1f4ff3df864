//! Modules of users in worlds: files, checked and compiled, that become the code of elements.
//!
//! `world` says what a module sees and what becomes of one that fails; here are its file and its sandbox. A module is
//! read once, before the first step. Decision 0069 has the reasons.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use hemiola_sandbox::{
    Engine, Fault, Function, Instance, Limits, LoadError, Module, prepare_thread,
};
use hemiola_trace::result::ModuleRun;
use hemiola_units::{Checksum, Span};
use hemiola_world::{
    AttachError, Interface, InterfaceError, MODULE_BLOCK_MAX, ModuleCode, ModuleStatus, ModuleText,
    Stop, World,
};
use hemiola_world_lang::definition::Universe;
use thiserror::Error;

/// The time for the blocks of a step of a run without a period, if the text of a module states none.
pub const MODULE_DEADLINE: Span = Span::from_millis(1000);

/// What an instance may use. Its memory has room for the longest block, and as much again.
const LIMITS: Limits =
    Limits { module: 4 << 20, memory: 2 * MODULE_BLOCK_MAX, table: 4096, stack: 256 << 10 };

/// Fuel of each function that prepares an instance: some tenths of a second.
const PREPARE_FUEL: u64 = 100_000_000;

/// Why a module cannot be used.
#[derive(Debug, Error)]
#[error("module '{text}': {reason}")]
pub struct ModuleError {
    /// The text that states it.
    pub text: String,
    /// The reason.
    pub reason: ModuleProblem,
}

/// The defect of a module.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModuleProblem {
    /// Its text.
    #[error("{0}; the form is {form}", form = ModuleText::FORM)]
    Text(String),
    /// Its file.
    #[error("{file} cannot be read: {error}")]
    File {
        /// The file.
        file: String,
        /// The reason.
        error: io::Error,
    },
    /// Its element.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// It cannot be compiled, or lacks a function.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It was written for another element, or for the element as it was.
    #[error(
        "it was written for interface {found:#010x}, and `{element}` has {expected:#010x}: build it again with what \
         `hemiola universe interface` prints"
    )]
    OtherInterface {
        /// The element.
        element: String,
        /// What the module returns.
        found: u32,
        /// What the element has.
        expected: u32,
    },
    /// Its block is not in its memory.
    #[error(
        "its block of {len} bytes at address {start} lies outside of its exported memory of {memory} bytes: return the \
         address of a static block"
    )]
    Block {
        /// The address.
        start: u32,
        /// Bytes of the block.
        len: usize,
        /// Bytes of the memory.
        memory: usize,
    },
    /// A function that is called before the first step did not return.
    #[error("its function \"{function}\" failed: {fault}")]
    Function {
        /// Its name.
        function: &'static str,
        /// What happened.
        fault: Fault,
    },
    /// The world refuses it.
    #[error(transparent)]
    Attach(#[from] AttachError),
}

/// Modules that can become part of a world.
#[derive(Debug, Default)]
pub struct Modules(Vec<(ModuleText, u64, UserModule)>);

impl Modules {
    /// Reads and compiles the modules that these texts state; relative paths start in `folder`.
    ///
    /// # Errors
    /// The first module that cannot be used.
    pub fn read(universe: &Universe, texts: &[String], folder: &Path) -> Result<Self, ModuleError> {
        let mut modules = Self::default();
        for text in texts {
            let problem = |reason| ModuleError { text: text.clone(), reason };
            let stated = ModuleText::read(text).map_err(|e| problem(ModuleProblem::Text(e)))?;
            if modules.0.iter().any(|(other, ..)| other.element == stated.element) {
                let twice = AttachError::Twice(stated.element);
                return Err(problem(twice.into()));
            }
            let (digest, module) = load(universe, &stated, folder).map_err(problem)?;
            modules.0.push((stated, digest, module));
        }
        Ok(modules)
    }

    /// Has the modules compute their elements in a world. `deadline` holds for those whose text states none.
    ///
    /// # Errors
    /// The first module that the world refuses.
    pub fn attach(self, world: &mut World, deadline: Span) -> Result<(), ModuleError> {
        if !self.0.is_empty() {
            prepare_thread();
        }
        for (stated, digest, module) in self.0 {
            let text = stated.text.clone();
            let attached = world.attach(stated, deadline, digest, Box::new(module));
            attached.map_err(|reason| ModuleError { text, reason: reason.into() })?;
        }
        Ok(())
    }

    /// Bytes of the memory of each instance.
    pub fn memory_lens(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|(.., module)| module.live.instance.memory().len() as u64)
    }
}

/// How a module is, as the result folder keeps it.
#[must_use]
pub fn module_run(status: &ModuleStatus) -> ModuleRun {
    let ModuleStatus { text, blocks, kept, restarts, strikes, evicted, last, fuel, .. } = status;
    ModuleRun {
        module: text.clone(),
        blocks: *blocks,
        kept: *kept,
        restarts: *restarts,
        strikes: *strikes,
        evicted: *evicted,
        last: last.clone(),
        fuel: *fuel,
    }
}

fn load(
    universe: &Universe,
    stated: &ModuleText,
    folder: &Path,
) -> Result<(u64, UserModule), ModuleProblem> {
    let interface = Interface::of(universe, &stated.element)?;
    // Before the file: a build without the sandbox says so first.
    let engine = Engine::new(LIMITS)?;
    let file = |error| ModuleProblem::File { file: stated.file.clone(), error };
    let bytes = bytes(&folder.join(&stated.file)).map_err(file)?;
    let module = engine.compile(&bytes, &stated.file)?;
    let user = UserModule { live: Live::new(&module, &interface)?, module, interface };
    Ok((Checksum::of(&bytes).value(), user))
}

/// The bytes of a file, but not many more than a module may have.
fn bytes(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(LIMITS.module as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A module of a user, and the instance that is called.
#[derive(Debug)]
struct UserModule {
    module: Module,
    interface: Interface,
    live: Live,
}

/// An instance whose block was found.
#[derive(Debug)]
struct Live {
    instance: Instance,
    update: Function<(i32, f64), ()>,
    /// The address of the block.
    start: usize,
    len: usize,
}

impl Live {
    fn new(module: &Module, interface: &Interface) -> Result<Self, ModuleProblem> {
        const INTERFACE: &str = "hemiola_interface";
        const BLOCK: &str = "hemiola_block";
        let mut instance = module.instantiate(PREPARE_FUEL)?;
        let mut asked = |function: &'static str| {
            let called = instance.function::<(), i32>(function)?;
            let answer = instance.call(&called, (), PREPARE_FUEL);
            let answer = answer.map_err(|fault| ModuleProblem::Function { function, fault })?;
            Ok::<u32, ModuleProblem>(answer.cast_unsigned())
        };
        let (found, expected) = (asked(INTERFACE)?, interface.code());
        if found != expected {
            let element = interface.element().to_owned();
            return Err(ModuleProblem::OtherInterface { element, found, expected });
        }
        let (start, len) = (asked(BLOCK)?, interface.len());
        let memory = instance.memory().len();
        if start as usize + len > memory {
            return Err(ModuleProblem::Block { start, len, memory });
        }
        let update = instance.function("hemiola_update")?;
        instance.seal();
        Ok(Self { instance, update, start: start as usize, len })
    }
}

impl ModuleCode for UserModule {
    fn block(&mut self) -> &mut [u8] {
        let Live { instance, start, len, .. } = &mut self.live;
        &mut instance.memory_mut()[*start..*start + *len]
    }

    fn update(&mut self, rows: u32, seconds: f64, fuel: u64) -> Result<u64, Stop> {
        let Live { instance, update, .. } = &mut self.live;
        match instance.call(update, (rows.cast_signed(), seconds), fuel) {
            Ok(()) => Ok(fuel.saturating_sub(instance.fuel_left())),
            Err(Fault::OutOfFuel) => Err(Stop::OutOfFuel),
            Err(fault) => Err(Stop::Fault(fault.to_string())),
        }
    }

    fn restart(&mut self) -> Result<(), Stop> {
        let live = Live::new(&self.module, &self.interface);
        self.live = live.map_err(|problem| Stop::Fault(problem.to_string()))?;
        Ok(())
    }
}
