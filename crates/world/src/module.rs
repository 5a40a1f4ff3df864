//! Modules of users: code that somebody else wrote computes the update of an element.
//!
//! A module computes a block of rows in each call, never a single row. The columns of the block are copied into its
//! memory and, if the call returns and every value is one of its type, copied back. Otherwise the block keeps its rows
//! and the module gets a strike ([`Next`]); the step goes on. Modules are called behind the updates of the language,
//! one block after the other, so a module sees its own block only and no other row depends on the order.
//!
//! Time is counted as fuel, as decision 0036 has it: the same steps give the same rows on every machine.

mod conduct;
mod interface;
mod text;

use std::fmt;

use hemiola_units::Span;
use hemiola_world_code::BLOCK_ROWS;
use hemiola_world_lang::definition::{ElementId, Universe};
use thiserror::Error;

use crate::step::StepReport;
use crate::world::{Accepted, World};
use conduct::Conduct;
use interface::WrongValue;

pub use conduct::{Next, RESTARTS_PER_STEP, Then};
pub use interface::{Interface, InterfaceError, MODULE_BLOCK_MAX};
pub use text::ModuleText;

/// The time that one unit of fuel stands for: that of a slow instruction in a cold cache, see decision 0036.
const FUEL_TIME: Span = Span::from_nanos(5);

/// An instance of a module, made by somebody else.
pub trait ModuleCode: fmt::Debug + Send {
    /// The block in its memory, with [`Interface::len`] bytes.
    fn block(&mut self) -> &mut [u8];

    /// Computes the update of the first rows of the block, for a step of so many seconds, with this much fuel. Returns
    /// the fuel that it took.
    ///
    /// # Errors
    /// If it does not return. It is not called again before [`Self::restart`].
    fn update(&mut self, rows: u32, seconds: f64, fuel: u64) -> Result<u64, Stop>;

    /// Makes a fresh instance take the place of this one.
    ///
    /// # Errors
    /// If there is none. It is not called again before it was restarted.
    fn restart(&mut self) -> Result<(), Stop>;
}

/// Why code did not return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its fuel was consumed.
    OutOfFuel,
    /// Something else, in words.
    Fault(String),
}

/// Why a block keeps its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It consumed the fuel of a block.
    Budget,
    /// The blocks of the step consumed the fuel of the step.
    Deadline,
    /// Its code stopped.
    Stopped(String),
    /// A value in its block is none of its type.
    Value(String),
    /// No fresh instance could be made.
    NoInstance(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget => f.write_str("it computed for longer than the budget of a block"),
            Self::Deadline => f.write_str("its blocks took longer than the deadline of a step"),
            Self::Stopped(reason) | Self::Value(reason) => f.write_str(reason),
            Self::NoInstance(reason) => write!(f, "no fresh instance could be made: {reason}"),
        }
    }
}

/// Why a module does not become part of a world.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The element has no block for it.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Another module computes the element.
    #[error("two modules compute `{0}`; name one for each element")]
    Twice(String),
    /// The checkpoint was written with another module.
    #[error(
        "`{file}` has changed since the checkpoint was written; the run needs the former module"
    )]
    OtherCode {
        /// The file.
        file: String,
    },
}

/// How a module is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleStatus {
    /// The text that states it.
    pub text: String,
    /// Its element.
    pub element: String,
    /// Blocks that it computed.
    pub blocks: u64,
    /// Blocks that kept their rows.
    pub kept: u64,
    /// Fresh instances.
    pub restarts: u64,
    /// Its strikes.
    pub strikes: u32,
    /// The step in which it was evicted.
    pub evicted: Option<u64>,
    /// The last verdict, in words.
    pub last: Option<String>,
    /// The fuel that its blocks took.
    pub fuel: u64,
}

/// A module in a world.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) text: ModuleText,
    /// Of the bytes of its file.
    pub(crate) digest: u64,
    pub(crate) deadline: Span,
    element: ElementId,
    interface: Interface,
    conduct: Conduct,
    pub(crate) status: ModuleStatus,
    /// Absent behind a checkpoint, until it is attached again.
    code: Option<Box<dyn ModuleCode>>,
    needs_restart: bool,
}

impl Module {
    pub(crate) fn new(
        universe: &Universe,
        text: ModuleText,
        digest: u64,
        deadline: Span,
    ) -> Result<Self, AttachError> {
        let interface = Interface::of(universe, &text.element)?;
        let status = ModuleStatus {
            text: text.text.clone(),
            element: text.element.clone(),
            blocks: 0,
            kept: 0,
            restarts: 0,
            strikes: 0,
            evicted: None,
            last: None,
            fuel: 0,
        };
        let conduct = Conduct::new(text.strikes_max, text.then);
        let element = element(universe, &text.element);
        Ok(Self {
            text,
            digest,
            deadline,
            element,
            interface,
            conduct,
            status,
            code: None,
            needs_restart: false,
        })
    }

    /// Goes on with the counts of a checkpoint.
    pub(crate) fn resume(&mut self, status: ModuleStatus) {
        self.conduct.strikes = status.strikes;
        self.conduct.is_evicted = status.evicted.is_some();
        self.status = status;
    }

    /// Whether it computes the same block in another definition.
    pub(crate) fn fits(&self, universe: &Universe) -> bool {
        Interface::of(universe, &self.text.element)
            .is_ok_and(|interface| interface.code() == self.interface.code())
    }

    fn fail(&mut self, verdict: &Verdict, step: u64) -> Next {
        let next = self.conduct.fail();
        self.needs_restart = true;
        self.status.strikes = self.conduct.strikes;
        self.status.last = Some(format!("step {step}: {verdict}"));
        if let Next::Evict(_) = next {
            self.status.evicted = Some(step);
            self.code = None;
        }
        next
    }

    fn restart(&mut self) -> Result<(), Verdict> {
        let code = self.code.as_mut().expect("a module that is called has code");
        self.status.restarts += 1;
        code.restart().map_err(|stop| {
            Verdict::NoInstance(match stop {
                Stop::OutOfFuel => "it computed for too long".into(),
                Stop::Fault(reason) => reason,
            })
        })?;
        self.needs_restart = false;
        Ok(())
    }

    /// Computes a block of rows in its memory, with at most this much fuel. Returns the fuel that it took.
    fn compute(&mut self, count: usize, seconds: f64, fuel_of_step: u64) -> Result<u64, Verdict> {
        let fuel_of_block = fuel(self.text.budget);
        let granted = fuel_of_block.min(fuel_of_step);
        let code = self.code.as_mut().expect("a module that is called has code");
        let used = code.update(count as u32, seconds, granted).map_err(|stop| match stop {
            Stop::OutOfFuel if granted < fuel_of_block => Verdict::Deadline,
            Stop::OutOfFuel => Verdict::Budget,
            Stop::Fault(reason) => Verdict::Stopped(reason),
        })?;
        match self.interface.wrong_value(code.block(), count) {
            None => Ok(used),
            Some(WrongValue { path, row, what }) => {
                Err(Verdict::Value(format!("`{path}` in row {row} of a block became {what}")))
            }
        }
    }
}

fn element(universe: &Universe, name: &str) -> ElementId {
    let at = universe.elements.iter().position(|element| element.name == name);
    ElementId(at.expect("its interface was found") as u32)
}

fn fuel(time: Span) -> u64 {
    (time.nanos() / FUEL_TIME.nanos()).max(0) as u64
}

impl World {
    /// Has a module compute the update of its element from now on, in place of the update of the language. `deadline`
    /// holds if the text states none; `digest` tells the bytes of the module from others.
    ///
    /// Behind [`World::resume`], the modules of [`World::modules_to_attach`] go on with their strikes.
    ///
    /// # Errors
    /// If the element has no block for it or another module, or the code is not that of the checkpoint.
    ///
    /// # Panics
    /// If the block of the code has another length than [`Interface::len`].
    pub fn attach(
        &mut self,
        text: ModuleText,
        deadline: Span,
        digest: u64,
        mut code: Box<dyn ModuleCode>,
    ) -> Result<(), AttachError> {
        let place = self.modules.iter_mut().find(|module| module.text.element == text.element);
        if let Some(module) = place {
            if module.code.is_some() || module.text != text || module.conduct.is_evicted {
                return Err(AttachError::Twice(text.element));
            }
            if module.digest != digest {
                return Err(AttachError::OtherCode { file: text.file });
            }
            module.code = Some(code);
            return Ok(());
        }
        let deadline = text.deadline.unwrap_or(deadline);
        let mut module = Module::new(&self.universe, text, digest, deadline)?;
        assert_eq!(
            code.block().len(),
            module.interface.len(),
            "a block has the length of its interface"
        );
        module.code = Some(code);
        self.modules.push(module);
        Ok(())
    }

    /// The modules of a checkpoint that have no code yet.
    #[must_use]
    pub fn modules_to_attach(&self) -> Vec<ModuleText> {
        let waiting = |module: &&Module| module.code.is_none() && !module.conduct.is_evicted;
        self.modules.iter().filter(waiting).map(|module| module.text.clone()).collect()
    }

    /// How the modules are, in the order in which they were attached.
    pub fn modules(&self) -> impl Iterator<Item = &ModuleStatus> {
        self.modules.iter().map(|module| &module.status)
    }

    /// Whether a module computes the update of an element, or did before it was evicted.
    pub(crate) fn has_module(&self, element: ElementId) -> bool {
        self.modules.iter().any(|module| module.element == element)
    }

    /// Finds elements and columns again, in a definition in which every module [fits](Module::fits).
    pub(crate) fn place_modules(&mut self) {
        for module in &mut self.modules {
            module.element = element(&self.universe, &module.text.element);
            module.interface = Interface::of(&self.universe, &module.text.element)
                .expect("a definition that a module does not fit was refused");
        }
    }

    /// Has modules compute the rows of their elements.
    pub(crate) fn run_modules(&mut self, seconds: f64, report: &mut StepReport) {
        let mut modules = std::mem::take(&mut self.modules);
        let step = self.steps + 1;
        for module in &mut modules {
            let strikes = module.status.strikes;
            if !module.conduct.is_evicted {
                self.run_module(module, seconds, step);
            }
            report.module_faults += u64::from(module.status.strikes - strikes);
            if module.conduct.ends_entities() {
                let ids = &self.tables[module.element.index()].ids;
                self.changes.extend(ids.iter().map(|id| Accepted::Destruct(*id)));
            }
        }
        self.modules = modules;
    }

    fn run_module(&mut self, module: &mut Module, seconds: f64, step: u64) {
        assert!(module.code.is_some(), "a module of a checkpoint is attached before a step");
        module.conduct.begin_step();
        let table = &mut self.tables[module.element.index()];
        let mut fuel_of_step = fuel(module.deadline);
        let rows = table.len();
        for start in (0..rows).step_by(BLOCK_ROWS) {
            let count = BLOCK_ROWS.min(rows - start);
            let mut compute = || {
                if module.needs_restart {
                    module.restart()?;
                }
                let code = module.code.as_mut().expect("a module that is called has code");
                module.interface.write(&table.columns, start, count, code.block());
                module.compute(count, seconds, fuel_of_step)
            };
            match compute() {
                Ok(used) => {
                    fuel_of_step = fuel_of_step.saturating_sub(used);
                    module.status.blocks += 1;
                    module.status.fuel += used;
                    let code = module.code.as_mut().expect("a module that is called has code");
                    module.interface.read(code.block(), &mut table.columns, start, count);
                }
                Err(verdict) => {
                    let granted = fuel(module.text.budget).min(fuel_of_step);
                    fuel_of_step -= granted;
                    let is_late = verdict == Verdict::Deadline;
                    let next = module.fail(&verdict, step);
                    module.status.kept += 1;
                    if next != Next::Restart || is_late {
                        let rest = (rows - start - count).div_ceil(BLOCK_ROWS);
                        module.status.kept += rest as u64;
                        return;
                    }
                }
            }
        }
    }
}
