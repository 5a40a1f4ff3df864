//! The safety controller recovers from every state of its region, and not from every state outside.

use hemiola_plant::{Apparatus, Model as PlantModel, Settings as PlantSettings, State, Wiring};
use hemiola_simplex::simulate::{ExperimentError, Outcome, Simulation, simulate};
use hemiola_simplex::{Region, Settings};
use hemiola_units::{Random, Span};

use crate::world::{experiment, gain, starting_at};

/// Whether the estimate starts with the true speeds or with zero.
#[derive(Clone, Copy, PartialEq)]
enum Speeds {
    Known,
    Unknown,
}

/// Runs the safety controller through the whole chain from states of this level; `None` for a state that is lost
/// before it starts, beyond the end of the track.
fn full_chain(safety: &str, level: f64, states: u32, speeds: Speeds) -> Vec<Option<Outcome>> {
    let mut random = Random::from_seed(20_000);
    let settings = Settings { safety: gain(safety), performance: None, ..Settings::default() };
    let model = settings.model(Span::from_millis(20)).unwrap();
    let region = Region::of(&model, &settings.safety).unwrap();
    let mut base = experiment(&[]);
    base.decision = Some(settings);
    (0..states)
        .map(|seed| {
            let start = region.state_at(level, &[(); 4].map(|()| random.normal()));
            let experiment = starting_at(base.clone(), start, u64::from(seed));
            let mut simulation = match Simulation::new(experiment) {
                Err(ExperimentError::Plant(_)) => return None,
                sound => sound.unwrap(),
            };
            if speeds == Speeds::Known {
                simulation.decision().unwrap().assume(start);
            }
            Some(simulation.run(Span::from_millis(2000)))
        })
        .collect()
}

fn lost(outcomes: &[Option<Outcome>]) -> usize {
    outcomes.iter().filter(|o| o.is_none_or(|outcome| outcome.lost_at.is_some())).count()
}

fn peak(outcomes: &[Option<Outcome>]) -> f64 {
    outcomes.iter().flatten().fold(0.0, |peak, outcome| outcome.peak_v.max(peak))
}

#[test]
fn twenty_thousand_boundary_states_all_recover() {
    let outcomes = full_chain("safety", 1.0, 20_000, Speeds::Known);
    assert_eq!(lost(&outcomes), 0);
    assert!(outcomes.iter().flatten().all(|o| o.end_v < 0.05 && !o.failed_safe));
    let peak = peak(&outcomes);

    assert!((1.01..1.06).contains(&peak), "computed independently: 1.032; here {peak}");
}

#[test]
fn boundary_states_recover_even_with_unknown_speeds() {
    let outcomes = full_chain("safety", 1.0, 5_000, Speeds::Unknown);
    assert_eq!(lost(&outcomes), 0);
    assert!(outcomes.iter().flatten().all(|o| o.end_v < 0.05 && !o.failed_safe));
}

#[test]
fn the_lqr_gain_recovers_from_its_boundary_too() {
    let outcomes = full_chain("lqr", 1.0, 5_000, Speeds::Known);
    assert_eq!(lost(&outcomes), 0);
    let peak = peak(&outcomes);
    // Computed independently: 1.008. Here V is evaluated every 2 ms, including before the first output.
    assert!(peak < 1.06, "{peak}");
}

#[test]
fn outside_the_region_some_states_are_lost() {
    // Of 1000 states, computed independently: 24, 188, 574.
    for (level, wanted) in [(1.2, 10..=45), (2.0, 140..=240), (4.0, 510..=640)] {
        let lost = lost(&full_chain("safety", level, 1000, Speeds::Known));
        assert!(wanted.contains(&lost), "{lost} at {level}");
    }
}

#[test]
fn another_plant_recovers_as_well() {
    let mut random = Random::from_seed(7);
    for seed in 0..300 {
        let start = Region::SAFETY.state_at(1.0, &[(); 4].map(|()| random.normal()));
        let mut other = starting_at(experiment(&[]), start, seed);
        other.plant.model = PlantModel::Ip01;
        let outcome = simulate(other, Span::from_millis(2000)).unwrap();
        assert_eq!(outcome.lost_at, None);
    }
}

/// With the exact state and without converters, noise and delay, V never rises above 1.
#[test]
fn with_the_exact_state_v_never_exceeds_one() {
    let mut random = Random::from_seed(1);
    let wiring = Wiring::default();
    let safety = gain("safety");
    let settings = PlantSettings { noise_v_rms: 0.0, ..PlantSettings::default() };
    for _ in 0..1000 {
        let start = Region::SAFETY.state_at(1.0, &[(); 4].map(|()| random.normal()));
        let start = State::from_array(start);
        let mut apparatus = Apparatus::new(&PlantSettings { start, ..settings.clone() }).unwrap();
        let mut peak: f64 = 0.0;
        for step in 0..1500 {
            let x = apparatus.state().to_array();
            peak = peak.max(Region::SAFETY.value(&x));
            let code = wiring.output.code(safety.command(&x));
            // A loop of 50 Hz: 20 steps with the code held.
            if step % 20 == 0 {
                for _ in 0..20 {
                    apparatus.step(code);
                }
            }
        }
        assert!(apparatus.fall().is_none() && peak < 1.002, "{peak} from {start:?}");
    }
}

#[test]
fn the_same_experiment_has_the_same_outcome_bit_for_bit() {
    let run = || {
        let start =
            starting_at(experiment(&["experimental", "baseline"]), [0.1, 0.0, 0.02, 0.0], 9);
        simulate(start, Span::from_millis(20_000)).unwrap()
    };
    let (first, second) = (run(), run());
    assert_eq!(first, second);
    assert_eq!(first.peak_v.to_bits(), second.peak_v.to_bits());
    assert_eq!(first.cycles, 1000);
}
