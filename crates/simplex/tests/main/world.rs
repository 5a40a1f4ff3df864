//! Experiments shared by the tests.

use hemiola_plant::{Settings as PlantSettings, State};
use hemiola_simplex::fault::FaultKind;
use hemiola_simplex::simulate::{Experiment, UnitSetup};
use hemiola_simplex::{Gain, Settings};
use hemiola_units::Span;

pub(crate) fn gain(name: &str) -> Gain {
    Gain::named(name).unwrap()
}

/// Returns the default loop of 50 Hz with these units, without faults.
pub(crate) fn experiment(units: &[&str]) -> Experiment {
    Experiment {
        plant: PlantSettings { step: Span::from_millis(2), ..PlantSettings::default() },
        period: Span::from_millis(20),
        delay: Span::from_millis(4),
        decision: Some(Settings::default()),
        units: units
            .iter()
            .map(|name| UnitSetup {
                name: (*name).into(),
                gain: gain(name),
                fault: FaultKind::None,
            })
            .collect(),
        loop_fault: FaultKind::None,
        fault_from: Span::ZERO,
    }
}

pub(crate) fn starting_at(mut experiment: Experiment, start: [f64; 4], seed: u64) -> Experiment {
    experiment.plant.start = State::from_array(start);
    experiment.plant.seed = seed;
    experiment
}
