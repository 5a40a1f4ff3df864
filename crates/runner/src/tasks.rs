//! The tasks of the built-in processes: a core of another crate plus its ports.

mod benchmark;
mod controller;
mod decision;
mod io;
mod monolithic;
mod plant;
mod timer;
mod workload;

use serde::{Deserialize, Serialize};

use hemiola_rt::clock::Calibration;
use hemiola_rt::sys::descriptor::duplicate;
use hemiola_scenario::Order;
use hemiola_simplex::Gain;
use hemiola_units::Span;

use crate::card::Card;
use crate::federation::{FederateTask, FederateWork, RtiWork};
use crate::task::Task;

pub(crate) use benchmark::BenchmarkWork;
pub(crate) use controller::{ControllerWork, Fault};
pub(crate) use decision::DecisionWork;
pub(crate) use plant::PlantWork;
pub(crate) use workload::compute;

/// What a child does, with everything its task needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Work {
    /// The apparatus.
    Plant(PlantWork),
    /// Samples, computes and actuates.
    Monolithic {
        /// The card.
        card: CardWork,
        /// The control law.
        gain: Gain,
    },
    /// Samples and actuates.
    Io {
        /// The card.
        card: CardWork,
        /// What comes first.
        order: Order,
    },
    /// Answers sensors with a command.
    Controller(ControllerWork),
    /// The decision module.
    Decision(DecisionWork),
    /// Load.
    Workload {
        /// Processor time of one job.
        compute: Span,
    },
    /// Work in several threads, counted by turns.
    Benchmark(BenchmarkWork),
    /// The RTI of a federation.
    Rti(RtiWork),
    /// A federate.
    Federate(Box<FederateWork>),
    /// Nothing, at every release.
    Timer,
    /// Another program in this process's place.
    Foreign(Foreign),
}

/// The card's registers as inherited descriptors.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct CardWork {
    /// Input register, read only.
    pub(crate) inputs: i32,
    /// Output register.
    pub(crate) outputs: i32,
    /// Of each conversion.
    pub(crate) conversion_time: Span,
}

/// A program that is not ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Foreign {
    /// Path, or a name to look up.
    pub(crate) program: String,
    /// What follows it.
    pub(crate) arguments: Vec<String>,
    /// Added to the environment.
    pub(crate) environment: Vec<(String, String)>,
}

impl CardWork {
    fn open(self, calibration: Calibration) -> Result<Card, String> {
        let take = |fd| duplicate(fd).map_err(|e| format!("the card's registers: {e}"));
        Card::open(
            take(self.inputs)?,
            take(self.outputs)?,
            self.conversion_time,
            calibration.into(),
        )
    }
}

/// Makes the task: everything that may allocate or fail happens here.
pub(crate) fn prepare(
    work: Work,
    period: Span,
    calibration: Calibration,
) -> Result<Box<dyn Task>, String> {
    Ok(match work {
        Work::Plant(work) => Box::new(plant::Plant::prepare(work)?),
        Work::Monolithic { card, gain } => {
            Box::new(monolithic::Monolithic::prepare(card.open(calibration)?, gain, period)?)
        }
        Work::Io { card, order } => {
            Box::new(io::IoTask::prepare(card.open(calibration)?, order, period))
        }
        Work::Controller(work) => Box::new(controller::ControllerTask::prepare(work, period)?),
        Work::Decision(work) => Box::new(decision::DecisionTask::prepare(work, period)?),
        Work::Benchmark(work) => Box::new(benchmark::Benchmark::prepare(work, period)),
        Work::Workload { compute } => Box::new(workload::Workload { compute }),
        Work::Federate(work) => Box::new(FederateTask::prepare(&work)?),
        Work::Timer => Box::new(timer::Timer),
        Work::Rti(_) => return Err("an RTI serves, and has no task here".into()),
        Work::Foreign(foreign) => {
            return Err(format!("{} is another program and has no task here", foreign.program));
        }
    })
}
