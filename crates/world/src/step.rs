//! A step and its phases.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hemiola_world_code::{BLOCK_ROWS, Block, Column, Scalar};
use hemiola_world_lang::definition::ElementId;
use hemiola_world_lang::evaluate::Fault;

use crate::monitor::MonitorId;
use crate::past::PastView;
use crate::workers::locked;
use crate::world::{EntityId, World};

/// A part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The state that neighbours see is kept, and positions are sorted.
    Begin,
    /// Every entity is updated.
    Update,
    /// The constraints of the monitors choose the rows that are sent.
    Filter,
    /// Births and deaths, and changes that were submitted, are carried out.
    Apply,
    /// The step is counted.
    Close,
}

impl Phase {
    /// All of them, in their order.
    pub const ALL: [Self; 5] = [Self::Begin, Self::Update, Self::Filter, Self::Apply, Self::Close];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Update => "update",
            Self::Filter => "filter",
            Self::Apply => "apply",
            Self::Close => "close",
        }
    }
}

/// What a step tells. The rows stand in memory of the world, which is used again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Output<'o> {
    /// A monitor is told of an entity that is new to it.
    Born {
        /// The monitor.
        monitor: MonitorId,
        /// The entity.
        entity: EntityId,
        /// Its element.
        element: ElementId,
        /// The scalars of the properties that the monitor is sent.
        scalars: &'o [Scalar],
    },
    /// A monitor is told that an entity ended.
    Died {
        /// The monitor.
        monitor: MonitorId,
        /// The entity.
        entity: EntityId,
    },
    /// Rows for a monitor, all of one element.
    Rows {
        /// The monitor.
        monitor: MonitorId,
        /// Their element.
        element: ElementId,
        /// The entities.
        entities: &'o [EntityId],
        /// The columns of the properties that the monitor is sent, with one scalar for each of the entities.
        columns: &'o [Column],
        /// The texts whose numbers the columns have.
        texts: &'o [String],
    },
    /// A monitor with a room that ends is told of entities that are new to it, all of one element.
    Births {
        /// The monitor.
        monitor: MonitorId,
        /// Their element.
        element: ElementId,
        /// The entities.
        entities: &'o [EntityId],
        /// As those of [`Self::Rows`].
        columns: &'o [Column],
        /// The texts whose numbers the columns have.
        texts: &'o [String],
    },
    /// A monitor with a room that ends is told that entities ended.
    Deaths {
        /// The monitor.
        monitor: MonitorId,
        /// The entities.
        entities: &'o [EntityId],
    },
    /// The update of an entity had a fault; the entity keeps the row of before the step.
    Fault {
        /// The entity.
        entity: EntityId,
        /// The fault.
        fault: Fault,
        /// Its faults so far.
        strikes: u32,
    },
}

/// The counts of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepReport {
    /// The number of the step, from 1.
    pub step: u64,
    /// Entities after it.
    pub entities: u64,
    /// Entities whose update had a fault.
    pub faults: u64,
    /// Failures of modules.
    pub module_faults: u64,
    /// Entities constructed.
    pub births: u64,
    /// Births for which there was no room.
    pub unborn: u64,
    /// Entities destructed.
    pub deaths: u64,
    /// Rows that entities offered: each row once for each choice of properties that somebody monitors.
    pub collected: u64,
    /// Rows sent to monitors.
    pub sent: u64,
}

impl World {
    /// Makes a step of so many seconds. Calls `ended` at the end of each phase, and `out` with what happens, when it
    /// happens.
    pub fn step(
        &mut self,
        seconds: f64,
        ended: &mut dyn FnMut(Phase),
        out: &mut dyn FnMut(Output<'_>),
    ) -> StepReport {
        let mut report = StepReport::default();
        self.past.note(&self.universe, &mut self.tables);
        ended(Phase::Begin);
        self.update(seconds, &mut report, out);
        self.run_modules(seconds, &mut report);
        ended(Phase::Update);
        self.filter(&mut report, out);
        ended(Phase::Filter);
        self.take_effect(&mut report, out);
        let (births, deaths) = self.apply(out);
        report.births += births;
        report.deaths += deaths;
        self.tell_what_is_owed(out);
        ended(Phase::Apply);
        self.steps += 1;
        self.version += 1;
        report.step = self.steps;
        report.entities = self.places.len() as u64;
        ended(Phase::Close);
        report
    }

    fn update(&mut self, seconds: f64, report: &mut StepReport, out: &mut dyn FnMut(Output<'_>)) {
        for at in 0..self.tables.len() {
            let element = ElementId(at as u32);
            let Some(function) = self.universe.elements[at].update else { continue };
            if self.has_module(element) {
                continue;
            }
            let program = &self.updates[&function];
            // An update has one argument at most (`check_parameters`).
            let argument = program.arguments.first().map(|ty| match Scalar::zero(*ty) {
                Scalar::Single(_) => Scalar::Single(seconds as f32),
                _ => Scalar::Double(seconds),
            });
            let arguments = argument.as_slice();
            // No row reads what another one writes: neighbours read such columns as they were before the step.
            let written = program.outputs.iter().filter_map(|output| output.column);
            self.apart.take(&mut self.tables[at].columns, written);
            let table = &self.tables[at];
            let past = PastView { past: &self.past, tables: &self.tables };
            let queue = Mutex::new(self.apart.blocks(table.len()));
            self.crew.run(table.len().div_ceil(BLOCK_ROWS), &|seat| {
                let mut apart = seat.apart();
                while let Some(rows) = { locked(&queue).next(&mut apart) } {
                    let block = Block {
                        own: &table.columns,
                        apart: &[],
                        start: rows.start,
                        count: rows.len(),
                        arguments,
                        last_sent: &[],
                        neighbours: Some(&past),
                        element,
                    };
                    seat.machine.update(program, &block, &mut apart);
                    seat.note_faults(rows.start);
                }
                seat.give_back(apart);
            });
            let memory = queue.into_inner().unwrap_or_else(PoisonError::into_inner).memory();
            self.apart.keep(memory);
            self.apart.put_back(&mut self.tables[at].columns);
            report.faults += self.strike(at, out);
        }
    }

    /// Tells the faults of an update in the order of the rows, and returns how many there are.
    fn strike(&mut self, at: usize, out: &mut dyn FnMut(Output<'_>)) -> u64 {
        let table = &mut self.tables[at];
        let mut faults = std::mem::take(&mut self.faults);
        self.crew.seats().for_each(|seat| faults.append(&mut seat.faults));
        faults.sort_unstable_by_key(|(row, _)| *row);
        let count = faults.len() as u64;
        for (row, fault) in faults.drain(..) {
            let strikes = &mut table.strikes[row];
            *strikes = strikes.saturating_add(1);
            out(Output::Fault { entity: table.ids[row], fault, strikes: *strikes });
        }
        self.faults = faults;
        count
    }
}

/// Where each entity stands: the table of its element, and the row.
pub(crate) type Places = BTreeMap<EntityId, (ElementId, usize)>;
