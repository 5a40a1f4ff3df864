//! The fault campaign: every kind many times, with the decision module and without.

use hemiola_plant::{Settings as PlantSettings, State};
use hemiola_units::{Random, Span};
use serde::{Deserialize, Serialize};

use crate::fault::FaultKind;
use crate::simulate::{Experiment, ExperimentError, Outcome, UnitSetup, simulate};
use crate::{Gain, Settings};

/// What a campaign does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Campaign {
    /// The apparatus; start and seed are drawn anew for each run.
    pub plant: PlantSettings,
    /// The period of the loop.
    pub period: Span,
    /// Time from sample to write.
    pub delay: Span,
    /// The decision rule of the runs with it.
    pub decision: Settings,
    /// Gain of the unit that fails.
    pub gain: Gain,
    /// Gain of a healthy second unit in shadow.
    pub second: Gain,
    /// When the fault begins.
    pub fault_from: Span,
    /// How long each run lasts.
    pub duration: Span,
    /// Seed of everything.
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

/// What came of the runs of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// How many runs.
    pub runs: u32,
    /// In how many the pendulum was lost.
    pub lost: u32,
    /// The shortest time from the fault to the loss.
    pub earliest_loss: Option<Span>,
    /// The largest true V of any run.
    pub peak_v: f64,
    /// Cycles from the fault to the first switch, averaged over the runs that had one.
    pub detection_cycles: Option<f64>,
    /// Switches away from a healthy unit, all runs together.
    pub false_switches: u64,
    /// Switches to safety per run.
    pub switches: f64,
    /// Runs in which the performance monitor spoke.
    pub poor_performance: u32,
    /// Runs that ended in the fail-safe.
    pub failed_safe: u32,
}

impl Campaign {
    /// Runs one kind `runs` times. The same campaign, kind and number of runs give the same figures;
    /// different kinds share starts and noise, so their figures compare.
    ///
    /// # Errors
    /// When the campaign's parts do not fit.
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
            if let Some(after) = outcome.detection_cycles {
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

    /// One run of one kind.
    ///
    /// # Errors
    /// When the campaign's parts do not fit.
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
