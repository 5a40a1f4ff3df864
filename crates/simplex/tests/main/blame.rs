//! Blame for missing answers: units of every kind on one simulated processor with fixed priorities, with and
//! without foreign load. Only culprits may be blamed, and no shadow may delay an active unit.

use hemiola_simplex::{
    Answer, Command, Decided, Decision, Event, Fault, Request, Role, SLOTS, Sensors, Settings,
    Standing, UnitId, UnitState, Usage, policy_for,
};
use hemiola_units::{Instant, Policy, Priority, Random, Span};

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

struct Task {
    kind: Kind,
    wanted: Policy,
    /// Work left for the answer to this cycle.
    work: Option<(u64, i64)>,
    /// The newest cycle answered, and whether the decision module has read that.
    published: Option<u64>,
    used: i64,
}

struct World {
    decision: Decision,
    tasks: Vec<Task>,
    random: Random,
    cycle: u64,
}

fn fifo(priority: u8) -> Policy {
    Policy::Fifo { priority: Priority::try_from(priority).unwrap() }
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
        let task = |(kind, priority): &(Kind, u8)| Task {
            kind: *kind,
            wanted: fifo(*priority),
            work: None,
            published: None,
            used: 0,
        };
        let tasks = kinds.iter().map(task).collect();
        Self { decision, tasks, random: Random::from_seed(seed), cycle: 0 }
    }

    /// The rank of a task, higher first; tasks without real-time priority have 0.
    fn rank(&self, slot: usize) -> Option<u8> {
        let standing = self.decision.standing(slot as u8)?;
        Some(match policy_for(standing, self.tasks[slot].wanted, fifo(75)) {
            Policy::Fifo { priority } => priority.get(),
            _ => 0,
        })
    }

    /// Ends the processes of units that are gone, as the runner does.
    fn end_the_gone(&mut self) {
        for slot in 0..self.tasks.len() {
            if self.decision.standing(slot as u8).is_none() {
                self.tasks[slot].work = Some((self.cycle, 0));
            }
        }
    }

    /// Gives each task its work for this cycle. One that still works on an earlier answer finishes that first.
    fn release(&mut self) {
        for task in &mut self.tasks {
            if task.work.is_none() {
                task.work = Some((self.cycle, demand(task.kind, &mut self.random)));
            }
        }
    }

    /// Lets the tasks use this much time: real-time tasks by rank, the others in slices.
    fn run(&mut self, mut time: i64) {
        let mut order: Vec<usize> = (0..self.tasks.len()).collect();
        order.sort_by_key(|slot| std::cmp::Reverse(self.rank(*slot)));
        let (urgent, others): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|slot| self.rank(*slot) > Some(0));
        for slot in urgent {
            while time > 0 && self.is_busy(slot) {
                time -= self.work(slot, time);
            }
        }
        while time > 0 && others.iter().any(|slot| self.is_busy(*slot)) {
            for slot in &others {
                time -= self.work(*slot, time.min(100));
            }
        }
    }

    fn is_busy(&self, slot: usize) -> bool {
        self.tasks[slot].work.is_some_and(|(_, left)| left > 0)
    }

    /// Works for at most this time; returns the time used.
    fn work(&mut self, slot: usize, time: i64) -> i64 {
        let task = &mut self.tasks[slot];
        let Some((cycle, left)) = &mut task.work else { return 0 };
        let used = time.min(*left);
        *left -= used;
        task.used += used;
        if *left == 0 {
            task.published = Some(*cycle);
            // It was late: the newest sample is waiting already.
            let late = *cycle < self.cycle;
            task.work = late.then(|| (self.cycle, demand(task.kind, &mut self.random)));
        }
        used
    }

    /// One cycle, in which something outside takes `foreign` of the time for answers.
    fn step(&mut self, foreign: i64) -> Decided {
        self.release();
        self.run(WITHIN - foreign);
        let mut answers = [Answer::None; SLOTS];
        let mut usage = [Usage::default(); SLOTS];
        for slot in 0..self.tasks.len() {
            let runnable = self.is_busy(slot);
            let task = &mut self.tasks[slot];
            usage[slot] = Usage { used: Span::from_micros(task.used), runnable };
            task.used = 0;
            answers[slot] = match task.published.take() {
                Some(sequence) => {
                    Answer::Command(Command { sequence, unit: 1, ..Command::default() })
                }
                None => Answer::Missing,
            };
        }
        let sensors = Sensors { sequence: self.cycle, ..Sensors::default() };
        self.decision.sense(&sensors);
        self.decision.meter(usage);
        let decided = self.decision.decide(&answers, Instant::ZERO);
        self.decision.check_invariants();
        self.end_the_gone();
        self.run(PERIOD - WITHIN);
        self.cycle += 1;
        decided
    }
}

/// The processor time of a task's next answer.
fn demand(kind: Kind, random: &mut Random) -> i64 {
    let honest = random.between(10.0, BUDGET as f64) as i64;
    match kind {
        Kind::Honest => honest,
        Kind::Slow(time) => time,
        Kind::Spinning => i64::MAX,
        Kind::Asleep => 0,
        Kind::Moody if random.between(0.0, 1.0) < 0.1 => random.between(0.0, WITHIN as f64) as i64,
        Kind::Moody => honest,
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
            let proven = in_control.filter(|slot| world.rank(*slot) > Some(0));
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
            world.tasks[2].kind = Kind::Slow(time);
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
    world.tasks[1].kind = Kind::Slow(3_990);
    world.step(0);
    assert_eq!(world.decision.standing(1), Some(Standing::HeldBack));
    assert_eq!(world.decision.unit(1).unwrap().strikes, 1);
    world.tasks[1].kind = Kind::Honest;
    for _ in 0..7 {
        world.step(0);
        assert_eq!(world.decision.standing(1), Some(Standing::HeldBack));
    }
    world.step(0);
    assert_eq!(world.decision.standing(1), Some(Standing::Behind));
}
