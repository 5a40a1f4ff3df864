//! Units as WebAssembly: what a module must export, and the thread of the decision process that prepares them.
//!
//! A sandboxed unit has no process. The decision module calls its function `step` in every cycle. Everything before the
//! first call allocates, so a thread of ordinary priority does it: it compiles the module that the runner sends, makes
//! two instances, and puts the unit into the cell of its slot. The loop takes a cell only if it is free at once, and it
//! is: the thread touches it before the unit is added and after it has left. Decision 0036 has the reasons.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, TryLockError};

use serde::{Deserialize, Serialize};

use hemiola_bus::{Handle, Receiver, Sender, open_receiver, open_sender};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_sandbox::{Engine, Fault, Function, Instance, Limits, LoadError};
use hemiola_simplex::{Answer, Command, Decision, SLOTS, Sensors, UnitId};
use hemiola_units::{Instant, Span};

/// Bytes of an [`Order`] with its module.
pub(crate) const ORDER_SIZE: usize = ORDER_LEN_MAX + (256 << 10);
/// Bytes of a [`Report`].
pub(crate) const REPORT_SIZE: usize = 2 << 10;
/// Orders and reports that may be queued.
pub(crate) const ORDERS_MAX: u32 = 4;
/// Bytes of an order without its module.
const ORDER_LEN_MAX: usize = 1 << 10;
/// Bytes of a refusal's sentence; a longer one is cut.
const REFUSAL_LEN: usize = 1 << 10;

/// Fuel for a microsecond of budget: 5 ns for each unit. `crates/sandbox/benches/call.rs` measures programs that take
/// long for their fuel; the slowest, loads that miss the cache, took 4.6 ns on a loaded machine, an empty loop 1.3 ns.
const FUEL_PER_US: i64 = 200;
/// Fuel of each function that prepares a unit: some tenths of a second.
const PREPARE_FUEL: u64 = 100_000_000;
/// How often the thread looks whether there is an order.
const LOOK_EVERY: Span = Span::from_millis(200);

/// Position, angle and applied voltage in; the voltage out.
type Step = Function<(f64, f64, f64), f64>;

/// An order of the runner to the thread. The module follows in the same message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Prepare this unit.
    Prepare {
        id: UnitId,
        /// The name of the module's file, for messages.
        file: String,
        /// Processor time that it may use in a cycle.
        budget: Span,
    },
    /// Drop this unit.
    Drop { id: UnitId },
}

/// The thread's report on an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The unit can be added.
    Prepared(UnitId),
    /// The unit cannot be prepared, for this reason.
    Refused(UnitId, String),
    /// Nothing of the unit remains.
    Dropped(UnitId),
}

impl Order {
    /// The message with its module.
    ///
    /// # Errors
    /// If the two are too long for a message.
    pub(crate) fn to_bytes(&self, module: &[u8]) -> Result<Vec<u8>, String> {
        let mut bytes = serde_json::to_vec(self).expect("plain data has a JSON form");
        bytes.push(b'\n');
        bytes.extend_from_slice(module);
        if bytes.len() <= ORDER_SIZE { Ok(bytes) } else { Err("its name is too long".into()) }
    }

    fn from_bytes(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        Some((serde_json::from_slice(&bytes[..end]).ok()?, &bytes[end + 1..]))
    }
}

impl Report {
    fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data has a JSON form")
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// Reads the file of a module.
///
/// # Errors
/// If it cannot be read, or is longer than a module may be.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, String> {
    let limit = Limits::default().module;
    let mut module = Vec::new();
    let opened = File::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let read = opened.take(limit as u64 + 1).read_to_end(&mut module);
    read.map_err(|error| format!("{}: {error}", file.display()))?;
    if module.len() > limit {
        let found = module.len();
        return Err(LoadError::TooLong { found, limit }.to_string());
    }
    Ok(module)
}

/// Checks that a file is a module that can be a unit, by preparing it.
///
/// # Errors
/// If it is not: the sentence says why, and what to change.
pub fn check_module(file: &Path) -> Result<(), String> {
    let module = read(file)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let period = Span::from_millis(20);
    Prepared::new(&module, &name, period, Span::ZERO).map(drop).map_err(|error| error.to_string())
}

/// A unit that is ready to be called.
struct Prepared {
    generation: u32,
    acting: Acting,
    /// The same code with a memory of its own, for calls that only warm the caches.
    rehearsing: Option<Acting>,
    fuel: u64,
    budget: Span,
}

struct Acting {
    instance: Instance,
    step: Step,
}

impl Prepared {
    fn new(module: &[u8], name: &str, period: Span, budget: Span) -> Result<Self, LoadError> {
        let module = Engine::new(Limits::default())?.compile(module, name)?;
        let make = || Acting::new(module.instantiate(PREPARE_FUEL)?, period);
        let fuel = u64::try_from(budget.nanos() * FUEL_PER_US / 1000).unwrap_or(0);
        let (acting, mut rehearsing) = (make()?, make()?);
        rehearsing.try_out()?;
        Ok(Self { generation: 0, acting, rehearsing: Some(rehearsing), fuel, budget })
    }

    /// Warms the caches for the next call. A rehearsal that fails is the last one.
    fn rehearse(&mut self, sensors: &Sensors) {
        if let Some(rehearsing) = &mut self.rehearsing
            && rehearsing.call(sensors, self.fuel).is_err()
        {
            self.rehearsing = None;
        }
        std::hint::black_box(self.acting.instance.memory().first());
    }
}

impl Acting {
    fn new(mut instance: Instance, period: Span) -> Result<Self, LoadError> {
        let step = instance.function("step")?;
        if let Some(begin) = instance.optional_function::<f64, ()>("begin")? {
            let begun = instance.call(&begin, period.secs_f64(), PREPARE_FUEL);
            begun.map_err(|fault| LoadError::Preparation { function: "begin".into(), fault })?;
        }
        instance.seal();
        Ok(Self { instance, step })
    }

    /// Calls `step` once, so that a module that cannot answer at all is refused before it is a unit.
    fn try_out(&mut self) -> Result<(), LoadError> {
        let answered = self.instance.call(&self.step, (0.0, 0.0, 0.0), PREPARE_FUEL);
        answered
            .map(drop)
            .map_err(|fault| LoadError::Preparation { function: "step".into(), fault })
    }

    fn call(&mut self, sensors: &Sensors, fuel: u64) -> Result<f64, Fault> {
        let Sensors { position, angle, applied, .. } = *sensors;
        self.instance.call(&self.step, (position, angle, applied), fuel)
    }
}

/// The cells of the slots.
type Cells = [Mutex<Option<Prepared>>; SLOTS];

/// The channels between the runner and the thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lines {
    pub(crate) orders: Handle,
    pub(crate) reports: Handle,
}

/// The sandboxed units of a decision module, as its loop sees them.
pub(crate) struct Sandboxed {
    cells: Arc<Cells>,
    /// Generation and budget of the unit that is called for a slot.
    seated: [Option<(u32, Span)>; SLOTS],
}

impl Sandboxed {
    /// Starts the thread, and prepares this thread for calls. Without lines, there can be no units.
    ///
    /// # Errors
    /// If a channel cannot be opened, or the thread cannot be started.
    pub(crate) fn prepare(lines: Option<&Lines>, period: Span) -> Result<Self, String> {
        let cells: Arc<Cells> = Arc::default();
        if let Some(lines) = lines {
            Host::start(&cells, lines, period)
                .map_err(|error| format!("sandboxed units: {error}"))?;
            hemiola_sandbox::prepare_thread();
        }
        Ok(Self { cells, seated: [None; SLOTS] })
    }

    /// Calls a unit from the next cycle on. Returns whether it is there.
    pub(crate) fn seat(&mut self, unit: UnitId) -> bool {
        let slot = usize::from(unit.slot);
        self.seated[slot] = with_cell(&self.cells[slot], |prepared| {
            (prepared.generation == unit.generation).then_some((unit.generation, prepared.budget))
        })
        .flatten();
        self.seated[slot].is_some()
    }

    /// Calls no unit in this slot any more.
    pub(crate) const fn unseat(&mut self, slot: usize) {
        self.seated[slot] = None;
    }

    /// Time that all calls of a cycle may take together: their budgets.
    pub(crate) fn reserve(&self) -> Span {
        self.seated.iter().flatten().fold(Span::ZERO, |sum, (_, budget)| sum + *budget)
    }

    /// Calls every unit, the active one first, and puts their answers in place.
    pub(crate) fn answer(
        &mut self,
        sensors: &Sensors,
        decision: &Decision,
        answers: &mut [Answer; SLOTS],
        mut now: impl FnMut() -> Instant,
    ) {
        let active = decision.active().map(usize::from);
        for slot in active.into_iter().chain((0..SLOTS).filter(|slot| Some(*slot) != active)) {
            let Some((generation, _)) = self.seated[slot] else { continue };
            let called = with_cell(&self.cells[slot], |unit| unit.acting.call(sensors, unit.fuel));
            answers[slot] = match called {
                Some(Ok(volts)) => Answer::Command(Command {
                    sequence: sensors.sequence,
                    unit: generation,
                    volts,
                    stamp: now(),
                }),
                Some(Err(Fault::OutOfFuel)) => Answer::OutOfFuel,
                Some(Err(_)) => Answer::Trapped,
                None => Answer::Missing,
            };
            if matches!(called, Some(Err(_))) {
                self.unseat(slot);
            }
        }
    }

    /// Brings the code of every unit into the caches.
    pub(crate) fn rehearse(&self, sensors: &Sensors) {
        for (cell, _) in self.cells.iter().zip(self.seated).filter(|(_, seated)| seated.is_some()) {
            with_cell(cell, |unit| unit.rehearse(sensors));
        }
    }
}

/// Uses the unit in a cell, if there is one and the thread does not use it now.
fn with_cell<T>(
    cell: &Mutex<Option<Prepared>>,
    action: impl FnOnce(&mut Prepared) -> T,
) -> Option<T> {
    match cell.try_lock() {
        Ok(mut cell) => cell.as_mut().map(action),
        Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => None,
    }
}

/// The thread that prepares units.
struct Host {
    cells: Arc<Cells>,
    orders: Box<dyn Receiver>,
    reports: Box<dyn Sender>,
    period: Span,
}

impl Host {
    /// Starts the thread; returns when it has opened its channels.
    fn start(cells: &Arc<Cells>, lines: &Lines, period: Span) -> Result<(), String> {
        let (cells, lines) = (Arc::clone(cells), lines.clone());
        let (opened, is_open) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("sandbox".into());
        let spawned = thread.spawn(move || match Self::open(cells, &lines, period) {
            Ok(host) => {
                let _ = opened.send(Ok(()));
                host.run();
            }
            Err(error) => {
                let _ = opened.send(Err(error));
            }
        });
        spawned.map_err(|error| error.to_string())?;
        is_open.recv().map_err(|error| error.to_string())?
    }

    fn open(cells: Arc<Cells>, lines: &Lines, period: Span) -> Result<Self, String> {
        let orders = open_receiver(&lines.orders).map_err(|error| error.to_string())?;
        let reports = open_sender(&lines.reports).map_err(|error| error.to_string())?;
        Ok(Self { cells, orders, reports, period })
    }

    /// Carries out orders until the process ends.
    fn run(mut self) {
        let mut buffer = vec![0; ORDER_SIZE];
        loop {
            let _ = self.orders.wait(MonotonicClock.now() + LOOK_EVERY);
            let Ok(Some(message)) = self.orders.receive(&mut buffer) else { continue };
            let Some((order, module)) = Order::from_bytes(message) else { continue };
            let report = carry_out(&self.cells, order, module, self.period);
            // The runner reads all the time; a full queue means that it is gone.
            let _ = self.reports.send(&report.to_bytes());
        }
    }
}

fn carry_out(cells: &Cells, order: Order, module: &[u8], period: Span) -> Report {
    match order {
        Order::Prepare { id, file, budget } => match Prepared::new(module, &file, period, budget) {
            Ok(unit) => {
                put(cells, id, Some(Prepared { generation: id.generation, ..unit }));
                Report::Prepared(id)
            }
            Err(error) => {
                let refusal: String = error.to_string().chars().take(REFUSAL_LEN / 4).collect();
                Report::Refused(id, refusal)
            }
        },
        Order::Drop { id } => {
            put(cells, id, None);
            Report::Dropped(id)
        }
    }
}

/// Changes a cell; what was in it is dropped after it is free again.
fn put(cells: &Cells, id: UnitId, unit: Option<Prepared>) {
    let Some(cell) = cells.get(usize::from(id.slot)) else { return };
    let _before = {
        let mut cell = cell.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_older = |present: &Prepared| present.generation > id.generation;
        if cell.as_ref().is_some_and(is_older) { unit } else { std::mem::replace(&mut *cell, unit) }
    };
}
