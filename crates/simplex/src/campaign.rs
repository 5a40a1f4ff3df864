//! The fault campaign: every kind of fault many times, with and without the decision module.

use hemiola_plant::{Settings as PlantSettings, State};
use hemiola_units::{Random, Span};
use serde::{Deserialize, Serialize};

use crate::fault::FaultKind;
use crate::simulate::{Experiment, ExperimentError, Outcome, UnitSetup, simulate};
use crate::{Gain, Settings};

/// The settings of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Campaign {
    /// The apparatus; initial state and seed are drawn anew for each run.
    pub plant: PlantSettings,
    /// The period of the loop.
    pub period: Span,
    /// Time from the sample to the output.
    pub delay: Span,
    /// The decision rule for the runs that use it.
    pub decision: Settings,
    /// Gain of the failing unit.
    pub gain: Gain,
    /// Gain of a healthy second unit in shadow.
    pub second: Gain,
    /// When the fault begins.
    pub fault_from: Span,
    /// How long each run lasts.
    pub duration: Span,
    /// Seed of all randomness.
    pub seed: u64,
}

impl Default for Campaign {
    fn default() -> Self {
        let named = |name| Gain::named(name).expect("the table of gains has it");
        Self {
            plant: PlantSettings { step: Span::from_millis(2), ..PlantSettings::default() },
            period: Span::from_millis(20),
            delay: Span::from_millis(4),
            decision: Settings::default(),
            gain: named("experimental"),
            second: named("baseline"),
            fault_from: Span::from_millis(2000),
            duration: Span::from_millis(14_000),
            seed: 2000,
        }
    }
}

/// The result of the runs of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The number of runs.
    pub runs: u32,
    /// The number of runs that lost the pendulum.
    pub lost: u32,
    /// The shortest time from the fault to the loss.
    pub earliest_loss: Option<Span>,
    /// The largest true V in any run.
    pub peak_v: f64,
    /// Cycles from the fault until the decision module found it, averaged over the runs in which it did.
    pub detection_cycles: Option<f64>,
    /// Switches away from a healthy unit, over all runs.
    pub false_switches: u64,
    /// Switches to safety per run.
    pub switches: f64,
    /// Runs in which the performance monitor reported poor performance.
    pub poor_performance: u32,
    /// Runs that ended in the fail-safe.
    pub failed_safe: u32,
}

impl Campaign {
    /// Runs one kind of fault `runs` times. The same campaign, kind and number of runs give the same figures. All
    /// kinds share initial states and noise, so that their figures can be compared.
    ///
    /// # Errors
    /// If the parts of the campaign do not fit together.
    pub fn run(
        &self,
        kind: FaultKind,
        with_decision: bool,
        runs: u32,
    ) -> Result<Figures, ExperimentError> {
        let mut figures = Figures {
            runs,
            lost: 0,
            earliest_loss: None,
            peak_v: 0.0,
            detection_cycles: None,
            false_switches: 0,
            switches: 0.0,
            poor_performance: 0,
            failed_safe: 0,
        };
        let (mut detected, mut cycles, mut switches) = (0u32, 0u64, 0u64);
        for run in 0..runs {
            let outcome = self.run_once(kind, with_decision, run)?;
            figures.peak_v = figures.peak_v.max(outcome.peak_v);
            if let Some(at) = outcome.lost_at {
                figures.lost += 1;
                let after = at - self.fault_from;
                figures.earliest_loss = Some(figures.earliest_loss.map_or(after, |e| e.min(after)));
            }
            if let Some((_, after)) = outcome.found {
                detected += 1;
                cycles += after;
            }
            switches += outcome.switches;
            figures.false_switches += outcome.false_switches;
            figures.poor_performance += u32::from(outcome.poor_performance > 0);
            figures.failed_safe += u32::from(outcome.failed_safe);
        }
        figures.detection_cycles = (detected > 0).then(|| cycles as f64 / f64::from(detected));
        figures.switches = switches as f64 / f64::from(runs.max(1));
        Ok(figures)
    }

    /// Runs one kind of fault once.
    ///
    /// # Errors
    /// If the parts of the campaign do not fit together.
    pub fn run_once(
        &self,
        kind: FaultKind,
        with_decision: bool,
        run: u32,
    ) -> Result<Outcome, ExperimentError> {
        let mut random = Random::from_seed(self.seed).fork(u64::from(run));
        let start = State {
            position: random.between(-0.02, 0.02),
            angle: random.between(-1.0, 1.0).to_radians(),
            ..State::default()
        };
        let plant = PlantSettings { start, seed: random.bits(), ..self.plant.clone() };
        let (unit_fault, loop_fault) =
            if kind.is_covered() { (kind, FaultKind::None) } else { (FaultKind::None, kind) };
        let second = if kind == FaultKind::TwoTogether { kind } else { FaultKind::None };
        let mut units =
            vec![UnitSetup { name: "first".into(), gain: self.gain, fault: unit_fault }];
        if with_decision {
            units.push(UnitSetup { name: "second".into(), gain: self.second, fault: second });
        }
        let experiment = Experiment {
            plant,
            period: self.period,
            delay: self.delay,
            decision: with_decision.then(|| self.decision.clone()),
            units,
            loop_fault,
            fault_from: self.fault_from,
        };
        simulate(experiment, self.duration)
    }
}
