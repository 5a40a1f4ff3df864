//! Blame for missing answers: units of every kind on one simulated processor with fixed priorities, with and
//! without foreign load. Only culprits may be blamed, and no shadow may delay an active unit.

use hemiola_simplex::{
    Answer, Command, Decided, Decision, Event, Fault, Request, Role, SLOTS, Sensors, Settings,
    Standing, UnitId, UnitState,
};
use hemiola_units::{Instant, Random, Span};

use crate::processor::{Processor, Program};

const PERIOD: i64 = 20_000;
/// Time for answers, µs.
const WITHIN: i64 = 4_000;
/// Budget of each unit, µs.
const BUDGET: i64 = 500;
const CYCLES: u64 = 150;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Answers with at most its budget.
    Honest,
    /// Answers, after this much processor time.
    Slow(i64),
    /// Does not answer and does not stop computing.
    Spinning,
    /// Does not answer and sleeps.
    Asleep,
    /// Exceeds its budget now and then by up to the time for answers.
    Moody,
}

struct World {
    decision: Decision,
    processor: Processor<Kind>,
    cycle: u64,
}

impl World {
    fn new(kinds: &[(Kind, u8)], active: usize, seed: u64) -> Self {
        let settings = Settings {
            give_up_after: 20,
            return_after: 8,
            performance: None,
            ..Settings::default()
        };
        let mut decision = Decision::new(settings, Span::from_micros(PERIOD)).unwrap();
        for (slot, _) in kinds.iter().enumerate() {
            let role = if slot == active { Role::Active } else { Role::Shadow };
            let unit = UnitId { slot: slot as u8, generation: 1 };
            let budget = Span::from_micros(BUDGET);
            decision.request(Request::Add { unit, role, budget }).unwrap();
        }
        Self { decision, processor: Processor::new(kinds.iter().copied(), seed), cycle: 0 }
    }

    /// One cycle, in which something outside takes `foreign` of the time for answers.
    fn step(&mut self, foreign: i64) -> Decided {
        self.processor.release(self.cycle);
        self.processor.run(&self.decision, WITHIN - foreign);
        self.decide(WITHIN)
    }

    /// One cycle, in which the whole machine pauses after a part of the time for answers.
    fn step_with_pause(&mut self, after: i64, pause: i64) -> Decided {
        self.processor.release(self.cycle);
        self.processor.run(&self.decision, after);
        self.processor.pause(&self.decision, pause);
        let decided = self.decide(after + pause);
        // It has slept through the samples of the pause.
        self.cycle += (pause / PERIOD) as u64;
        decided
    }

    /// One cycle, in which the host takes the processor from the units, but not from the decision module, after a part
    /// of the time for answers. Returns the unit that was running.
    fn step_with_steal(&mut self, after: i64) -> (Option<usize>, Decided) {
        self.processor.release(self.cycle);
        self.processor.run(&self.decision, after);
        let running = self.processor.pause(&self.decision, WITHIN - after);
        (running, self.decide(WITHIN))
    }

    /// Decides this long after the sample.
    fn decide(&mut self, after: i64) -> Decided {
        let count = self.processor.tasks.len();
        let done = self.processor.take();
        let answers = std::array::from_fn(|slot| match done[slot].1 {
            _ if slot >= count => Answer::None,
            Some(sequence) => Answer::Command(Command { sequence, unit: 1, ..Command::default() }),
            None => Answer::Missing,
        });
        let sampled = Instant::ZERO + Span::from_micros(self.cycle as i64 * PERIOD);
        // Noise below the resolution, so that no channel looks stuck.
        let position = if self.cycle.is_multiple_of(2) { 1e-4 } else { -1e-4 };
        let sensors = Sensors { sequence: self.cycle, sampled, position, ..Sensors::default() };
        self.decision.sense(&sensors);
        self.decision.meter(done.map(|(usage, _)| usage));
        let now = self.cycle as i64 * PERIOD + after;
        let decided = self.decision.decide(&answers, Instant::ZERO + Span::from_micros(now));
        self.decision.check_invariants();
        self.processor.end_the_gone(&self.decision);
        self.processor.run(&self.decision, PERIOD - WITHIN);
        self.cycle += 1;
        decided
    }
}

impl Program for Kind {
    fn demand(&mut self, random: &mut Random) -> i64 {
        let honest = random.between(10.0, BUDGET as f64) as i64;
        match *self {
            Self::Honest => honest,
            Self::Slow(time) => time,
            Self::Spinning => i64::MAX,
            Self::Asleep => 0,
            Self::Moody if random.between(0.0, 1.0) < 0.1 => {
                random.between(0.0, WITHIN as f64) as i64
            }
            Self::Moody => honest,
        }
    }
}

fn faults(decided: &Decided) -> impl Iterator<Item = (usize, Fault)> {
    decided.events.iter().filter_map(|event| match event {
        Event::Fault { slot: Some(slot), fault } => Some((usize::from(*slot), *fault)),
        _ => None,
    })
}

fn drawn(random: &mut Random) -> Kind {
    match random.between(0.0, 8.0) as u8 {
        0 => Kind::Slow(3_990),
        1 => Kind::Slow(random.between(600.0, 5_000.0) as i64),
        2 => Kind::Spinning,
        3 => Kind::Asleep,
        4 => Kind::Moody,
        _ => Kind::Honest,
    }
}

#[test]
fn only_culprits_are_blamed_in_thousands_of_draws() {
    let (mut blamed, mut starved) = (0, 0);
    for seed in 0..1500 {
        let mut random = Random::from_seed(seed);
        let count = random.between(1.0, 9.0) as usize;
        let kinds: Vec<(Kind, u8)> =
            (0..count).map(|_| (drawn(&mut random), random.between(1.0, 75.0) as u8)).collect();
        let active = random.between(0.0, count as f64) as usize;
        let has_load = random.between(0.0, 1.0) < 0.3;
        let mut world = World::new(&kinds, active, seed);
        for _ in 0..CYCLES {
            let loaded = has_load && random.between(0.0, 1.0) < 0.2;
            let foreign = if loaded { random.between(0.0, WITHIN as f64) as i64 } else { 0 };
            let in_control = world.decision.active().map(usize::from);
            let proven =
                in_control.filter(|slot| world.processor.rank(&world.decision, *slot) > Some(0));
            for (slot, fault) in faults(&world.step(foreign)) {
                let of = format!("seed {seed}, slot {slot} of {kinds:?}: {fault:?}");
                match fault {
                    Fault::Starved => {
                        starved += 1;
                        assert!(has_load || proven != Some(slot), "an active unit waited: {of}");
                    }
                    _ => {
                        blamed += 1;
                        assert!(kinds[slot].0 != Kind::Honest, "{of}");
                    }
                }
            }
        }
        for (slot, (kind, _)) in kinds.iter().enumerate() {
            let unit = world.decision.unit(slot as u8).unwrap();
            let of = format!("seed {seed}, slot {slot} of {kinds:?}: {unit:?}");
            match kind {
                Kind::Honest => assert!(unit.state.is_live() && unit.strikes == 0, "{of}"),
                // A starting unit has ten times as long.
                Kind::Spinning | Kind::Asleep => {
                    assert!(matches!(unit.state, UnitState::Starting | UnitState::Failed), "{of}");
                }
                Kind::Slow(_) | Kind::Moody => {}
            }
        }
    }
    assert!(blamed > 1000 && starved > 1000, "{blamed} {starved}");
}

#[test]
fn a_shadow_that_spins_at_any_priority_fails_and_nobody_else() {
    for priority in 1..=74 {
        for time in [i64::MAX, 5_000, 3_990, 3_600] {
            let kinds = [(Kind::Honest, 70), (Kind::Honest, 69), (Kind::Honest, priority)];
            let mut world = World::new(&kinds, 0, priority.into());
            for _ in 0..10 {
                world.step(0);
            }
            world.processor.tasks[2].program = Kind::Slow(time);
            for _ in 0..CYCLES * 2 {
                for (slot, fault) in faults(&world.step(0)) {
                    let innocent = slot == 1 && fault == Fault::Starved;
                    assert!(slot == 2 || innocent, "{priority} {time}: {slot} {fault:?}");
                }
            }
            for slot in 0..2 {
                let unit = world.decision.unit(slot).unwrap();
                assert_eq!((unit.faults, unit.strikes), (0, 0), "{priority} {time}: {slot}");
            }
            let culprit = world.decision.unit(2).unwrap();
            // One that answers after all harms nobody from behind.
            if time > WITHIN {
                assert_eq!(culprit.state, UnitState::Failed, "{priority} {time}");
                assert_eq!(culprit.last_fault, Some(Fault::OverBudget));
            }
        }
    }
}

#[test]
fn a_unit_held_back_recovers_once_it_keeps_its_budget() {
    let kinds = [(Kind::Honest, 70), (Kind::Honest, 73), (Kind::Honest, 69)];
    let mut world = World::new(&kinds, 0, 1);
    for _ in 0..10 {
        world.step(0);
    }
    world.processor.tasks[1].program = Kind::Slow(3_990);
    world.step(0);
    assert_eq!(world.decision.standing(1), Some(Standing::HeldBack));
    assert_eq!(world.decision.unit(1).unwrap().strikes, 1);
    world.processor.tasks[1].program = Kind::Honest;
    for _ in 0..7 {
        world.step(0);
        assert_eq!(world.decision.standing(1), Some(Standing::HeldBack));
    }
    world.step(0);
    assert_eq!(world.decision.standing(1), Some(Standing::Behind));
    for _ in 8..Settings::default().forgive_after {
        assert_eq!(world.decision.unit(1).unwrap().strikes, 1);
        world.step(0);
    }
    assert_eq!(world.decision.unit(1).unwrap().strikes, 0, "it has kept its budget for long");
}

#[test]
fn a_unit_held_back_beside_ordinary_load_waits_and_gets_another_try() {
    let mut world = World::new(&[(Kind::Honest, 70), (Kind::Honest, 69)], 0, 1);
    for _ in 0..10 {
        world.step(0);
    }
    world.processor.load = 4;
    // The host takes the processor once the active unit has answered, until it hits the shadow while that works.
    while world.step_with_steal(BUDGET).0.is_none() {}
    let strikes = world.decision.unit(1).unwrap().strikes;
    for _ in 0..8 {
        assert_eq!(world.decision.standing(1), Some(Standing::HeldBack));
        let starved = (1, Fault::Starved);
        assert!(faults(&world.step(0)).all(|fault| fault == starved));
    }
    assert_eq!(world.decision.standing(1), Some(Standing::Behind));
    for _ in 0..CYCLES {
        assert_eq!(faults(&world.step(0)).count(), 0);
    }
    let unit = world.decision.unit(1).unwrap();
    assert_eq!((unit.state, unit.strikes), (UnitState::Shadow, strikes));
}

#[test]
fn beside_ordinary_load_and_pauses_honest_units_work_again_and_runaways_fail() {
    let (mut waited, mut stolen) = (0, 0);
    for seed in 0..600 {
        let mut random = Random::from_seed(seed);
        let count = random.between(1.0, 9.0) as usize;
        // They answer before the load begins; then some of them run away.
        let kinds = vec![(Kind::Honest, 70); count];
        let active = random.between(0.0, count as f64) as usize;
        let mut world = World::new(&kinds, active, seed);
        for _ in 0..10 {
            world.step(0);
        }
        world.processor.load = random.between(1.0, 9.0) as i64;
        let runaways: Vec<bool> = (0..count).map(|_| random.between(0.0, 1.0) < 0.2).collect();
        for (task, runaway) in world.processor.tasks.iter_mut().zip(&runaways) {
            task.program = if *runaway { Kind::Spinning } else { Kind::Honest };
        }
        let mut steals = [0; SLOTS];
        for _ in 0..CYCLES * 4 {
            let after = random.between(0.0, WITHIN as f64) as i64;
            let decided = match random.between(0.0, 100.0) as u8 {
                0..3 => world.step_with_pause(after, random.between(10_000.0, 100_000.0) as i64),
                // One strike each: with five, a unit fails.
                3 if steals.iter().all(|steals| *steals < 4) => {
                    let (unit, decided) = world.step_with_steal(after);
                    if let Some(unit) = unit {
                        steals[unit] += 1;
                        stolen += 1;
                    }
                    decided
                }
                _ => world.step(0),
            };
            for (slot, fault) in faults(&decided).filter(|(slot, _)| !runaways[*slot]) {
                waited +=
                    usize::from(world.decision.standing(slot as u8) == Some(Standing::HeldBack));
                let of = format!("seed {seed}, slot {slot}: {fault:?}, stolen {steals:?}");
                assert!(fault == Fault::Starved || steals[slot] > 0, "{of}");
            }
        }
        for _ in 0..CYCLES {
            world.step(0);
        }
        for (slot, runaway) in runaways.iter().enumerate() {
            let unit = world.decision.unit(slot as u8).unwrap();
            let of = format!("seed {seed}, slot {slot}, runaway {runaway}: {unit:?}");
            if *runaway {
                assert_eq!(unit.state, UnitState::Failed, "{of}");
                continue;
            }
            assert!(unit.state.is_live(), "{of}");
            assert_ne!(world.decision.standing(slot as u8), Some(Standing::HeldBack), "{of}");
            assert!(u64::from(unit.clean) >= CYCLES / 2, "{of}");
        }
    }
    assert!(waited > 1000 && stolen > 500, "{waited} {stolen}");
}
