//! Deterministic simulation of live upgrade in the closed loop: seeded sequences of changes, crashes and faults, with
//! invariants checked after every cycle. A failure prints the seed, and the seed alone repeats it.
//! `HEMIOLA_UPGRADE_SEEDS` sets the number of seeds.

use hemiola_simplex::fault::{Class, FaultKind};
use hemiola_simplex::simulate::Simulation;
use hemiola_simplex::{
    CLIP_VOLTS, Change, ChangeError, CommandSource, Decided, Event, GAINS, Replacement, SLOTS,
    Share, UnitState,
};
use hemiola_units::Random;

use crate::world::{experiment, starting_at};

const CYCLES: u64 = 1500;

/// The state against which the module is checked.
struct Judge {
    active: Option<u8>,
    source: CommandSource,
}

impl Judge {
    /// Follows the units' states through events alone, like a reader of the record.
    fn follow(&mut self, events: &[Event]) {
        for event in events {
            if let Event::UnitState { slot, state, .. } = *event {
                if state == UnitState::Active {
                    assert_eq!(self.active, None, "two active units");
                    self.active = Some(slot);
                } else if self.active == Some(slot) {
                    self.active = None;
                }
            }
        }
    }

    fn check(&mut self, decided: &Decided) {
        self.follow(&decided.events);
        assert!(decided.volts.is_finite() && decided.volts.abs() <= CLIP_VOLTS);
        if let CommandSource::Unit(slot) = decided.source {
            assert_eq!(Some(slot), self.active, "a unit that is not active actuated");
            assert!(decided.v_predicted <= 0.6);
        }
        let switch = decided.events.iter().find_map(|event| match *event {
            Event::Switch { from, to, .. } => Some((from, to)),
            _ => None,
        });
        let wanted = (self.source != decided.source).then_some((self.source, decided.source));
        assert_eq!(switch, wanted, "every change of source is recorded, and nothing else");
        self.source = decided.source;
        assert_ne!(decided.source, CommandSource::FailSafe, "{decided:?}");
    }
}

fn random_change(random: &mut Random, simulation: &mut Simulation) {
    let gain = GAINS[random.below(GAINS.len() as u64) as usize].1;
    let covered: Vec<FaultKind> =
        FaultKind::ALL.iter().copied().filter(|kind| kind.class() != Class::Sensor).collect();
    let kind = if random.below(2) == 0 {
        FaultKind::None
    } else {
        covered[random.below(covered.len() as u64) as usize]
    };
    let units: Vec<(u8, String)> =
        simulation.upgrades().units().map(|(id, name, ..)| (id.slot, name.to_owned())).collect();
    let new = format!("unit-{}", random.bits());
    let change = match (random.below(6), units.get(random.below(SLOTS as u64) as usize)) {
        (0, _) => Change::Add { name: new, share: Share::default() },
        (1 | 2, Some((_, name))) => Change::Promote { name: name.clone() },
        (3, Some((_, name))) if random.below(3) == 0 => Change::Remove { name: name.clone() },
        (4, Some((_, old))) => Change::Replace {
            pairs: vec![Replacement { old: old.clone(), new, share: Share::default() }],
        },
        (5, Some((slot, _))) if random.below(3) == 0 => return simulation.kill(*slot),
        _ => return,
    };
    // Refusals are expected, but only these.
    match simulation.change(change, &[(gain, kind)]) {
        Ok(_) | Err(ChangeError::Full { .. } | ChangeError::Busy { .. } | ChangeError::TooMany) => {
        }
        Err(error) => panic!("{error}"),
    }
}

fn live_through(seed: u64) {
    let mut random = Random::from_seed(seed);
    let start = [random.between(-0.05, 0.05), 0.0, random.between(-0.02, 0.02), 0.0];
    let world = starting_at(experiment(&["experimental", "baseline"]), start, seed);
    let mut simulation = Simulation::new(world).unwrap();
    let mut judge = Judge { active: None, source: CommandSource::Held };
    for cycle in 0..CYCLES {
        if random.below(20) == 0 {
            random_change(&mut random, &mut simulation);
        }
        simulation.decision().unwrap().check_invariants();
        let decided = simulation.cycle().expect("no cycle passes without an actuation");
        judge.follow(&simulation.take_request_events());
        judge.check(&decided);
        let outcome = simulation.outcome();
        assert!(outcome.peak_v < 1.0 && outcome.lost_at.is_none(), "cycle {cycle}: {outcome:?}");
    }
}

#[test]
fn any_sequence_of_upgrades_and_faults_keeps_the_pendulum() {
    let seeds = std::env::var("HEMIOLA_UPGRADE_SEEDS").map_or(150, |text| text.parse().unwrap());
    for seed in 0..seeds {
        if std::panic::catch_unwind(|| live_through(seed)).is_err() {
            panic!("seed {seed} repeats the failure above");
        }
    }
}
