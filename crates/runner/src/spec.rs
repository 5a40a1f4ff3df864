//! The specification of a child, one line of JSON: its part of the plan as it is, and the kernel objects made for it.

use hemiola_bus::Handle;
use hemiola_plant::{Nominal, Settings as PlantSettings, Wiring};
use hemiola_rt::clock::Calibration;
use hemiola_scenario::{CardSettings, Plan, Process, Variant};
use hemiola_simplex::{Model, Region, SafetyController};
use hemiola_units::{Bytes, Rate, Span};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::RunId;

/// Everything a child must know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeSpec {
    /// Its process in the plan.
    pub(crate) process: Process,
    /// The run it takes part in.
    pub(crate) run: RunSpec,
    /// Facts for its task alone; read by [`NodeSpec::facts`].
    pub(crate) facts: serde_json::Value,
    /// The outgoing channel.
    pub(crate) sends: Option<Port>,
    /// The incoming channel.
    pub(crate) receives: Option<Port>,
    /// The latest-value channel whose first message ends the run.
    pub(crate) stop: Handle,
    /// Descriptor of the recorder's log.
    pub(crate) log: i32,
    /// Limits at which the kernel stops it.
    pub(crate) limits: Option<Limits>,
}

/// One run of one variant, as all its processes know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunSpec {
    /// The name of the whole run.
    pub(crate) id: String,
    /// Which run of the variant, from 1.
    pub(crate) number: u32,
    /// The variant, with all its processes.
    pub(crate) variant: Variant,
    /// The simulated apparatus, if there is one.
    pub(crate) plant: Option<PlantSettings>,
    /// The converter card.
    pub(crate) card: CardSettings,
    /// The seed of all randomness in this run.
    pub(crate) seed: u64,
    /// The part before the counted one.
    pub(crate) warmup: Span,
    /// The counted part.
    pub(crate) duration: Span,
    /// The clock as the runner calibrated it, the same for all.
    pub(crate) calibration: Calibration,
}

/// A channel as a child uses it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Port {
    /// Its number in the variant, for the record.
    pub(crate) index: u16,
    /// How to open it.
    pub(crate) handle: Handle,
}

/// Limits at which the kernel stops a process that takes more than its share.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Processor time at a real-time priority without ever waiting (setrlimit(2), `RLIMIT_RTTIME`).
    pub(crate) unbroken: Span,
    /// Address space (setrlimit(2), `RLIMIT_AS`).
    pub(crate) memory: Bytes,
    /// The user id that it gets; `None` for the run's.
    pub(crate) user: Option<OwnUser>,
}

/// A user id that no other process on the machine has.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct OwnUser {
    pub(crate) id: u32,
    /// Whether the process must not start without it.
    pub(crate) is_required: bool,
}

impl NodeSpec {
    /// The facts that [`TaskKind::equip`](crate::tasks::TaskKind) gave this process.
    pub(crate) fn facts<T: DeserializeOwned>(&self) -> Result<T, String> {
        T::deserialize(&self.facts).map_err(|error| format!("the facts for its task: {error}"))
    }
}

impl RunSpec {
    /// The plant as every controller of the run knows it, sampled at this period.
    pub(crate) fn model(&self, period: Span) -> Result<Model, String> {
        let nominal =
            self.plant.as_ref().map_or_else(Nominal::pendulum, |plant| plant.model.nominal());
        Model::of(nominal, period).map_err(|error| error.to_string())
    }

    /// The region whose V the run records: that of its decision module, if it has one.
    pub(crate) fn region(&self) -> Result<Region, String> {
        let model = self.model(self.variant.rate.period())?;
        let Some(settings) = &self.variant.decision else { return Ok(Region::without_law(&model)) };
        let safety = SafetyController::of(settings, &model).map_err(|error| error.to_string())?;
        Ok(*safety.region())
    }

    /// The converters of the card.
    pub(crate) fn wiring(&self) -> Wiring {
        self.plant.as_ref().map_or_else(Wiring::default, |plant| plant.wiring)
    }

    pub(crate) fn new(
        id: &RunId,
        plan: &Plan,
        variant: &Variant,
        number: u32,
        (warmup, duration): (Span, Span),
        calibration: Calibration,
    ) -> Self {
        Self {
            id: id.to_string(),
            number,
            variant: variant.clone(),
            plant: plan.plant.clone(),
            card: plan.card,
            seed: plan.seed.wrapping_add(u64::from(number)),
            warmup,
            duration,
            calibration,
        }
    }

    /// Warm-up and counted part together.
    pub(crate) fn length(&self) -> Span {
        self.warmup + self.duration
    }

    /// Releases in the whole run at this rate.
    pub(crate) fn releases(&self, rate: Rate) -> u64 {
        cycles(self.length(), rate).max(1)
    }
}

/// Whole and begun cycles in a length of time.
pub(crate) fn cycles(length: Span, rate: Rate) -> u64 {
    (length.nanos().max(0) as u64).div_ceil(rate.period().nanos() as u64)
}
