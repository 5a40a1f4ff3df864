//! Live upgrade against a decision module and simulated processes: every pair of changes with every disturbance at
//! every step, and long seeded sequences. A failure prints the seed, and the seed alone repeats it.
//! `HEMIOLA_UPGRADE_SEEDS` sets the number of seeds.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hemiola_simplex::{
    Answer, Change, ChangeError, Command, Decision, Effect, Outcome, Replacement, Request, Role,
    SLOTS, Sensors, Settings, Share, Ticket, UnitId, UnitState, Upgrades,
};
use hemiola_units::{Instant, Random, Span};

const PERIOD: Span = Span::from_millis(20);

/// The length of the queue to the decision module.
const ASKS_MAX: usize = 8;

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conduct {
    Good,
    Silent,
    /// It never reports that it is prepared.
    Hangs,
    /// It cannot be started.
    Absent,
}

/// A process of a unit.
#[derive(Clone, Debug)]
struct Process {
    name: String,
    conduct: Conduct,
    started: bool,
    alive: bool,
    /// After its end, a process that it started may still write to the slot.
    has_child: bool,
}

/// A run without a plant: the pendulum stands still.
#[derive(Clone)]
struct World {
    decision: Decision,
    upgrades: Upgrades,
    now: Instant,
    cycle: u64,
    angle: f64,
    asks: VecDeque<(u32, Request)>,
    replies: Vec<(u32, Result<(), String>)>,
    served: u32,
    /// The decision module carries out no request until then.
    hangs_until: u64,
    /// Every process that runs or whose child does.
    processes: BTreeMap<UnitId, Process>,
    open: BTreeMap<Ticket, Change>,
    answers: Vec<(Change, Outcome)>,
    /// Units that a change may end: those that it names, and those that it starts.
    condemned: BTreeSet<UnitId>,
    conduct: Conduct,
    with_child: bool,
}

fn name(text: &str) -> String {
    text.to_owned()
}

fn replace(pairs: &[(&str, &str)]) -> Change {
    let pairs = pairs.iter().map(|(old, new)| Replacement {
        old: name(old),
        new: name(new),
        share: Share::default(),
    });
    Change::Replace { pairs: pairs.collect() }
}

fn new_names(change: &Change) -> Vec<&str> {
    match change {
        Change::Add { name, .. } => vec![name],
        Change::Replace { pairs } => pairs.iter().map(|pair| pair.new.as_str()).collect(),
        _ => Vec::new(),
    }
}

fn old_names(change: &Change) -> Vec<&str> {
    match change {
        Change::Remove { name } => vec![name],
        Change::Replace { pairs } => pairs.iter().map(|pair| pair.old.as_str()).collect(),
        _ => Vec::new(),
    }
}

impl World {
    /// A run with `experimental` in control and `baseline` in shadow, both proven.
    fn new() -> Self {
        let settings = Settings {
            promote_after: 3,
            give_up_after: 3,
            return_after: 2,
            strikes: 2,
            performance: None,
            ..Settings::default()
        };
        let upgrades = Upgrades::new(
            &Settings { promote_after: 3, ..Settings::default() },
            PERIOD,
            BTreeSet::from([name("plant")]),
        );
        let mut world = Self {
            decision: Decision::new(settings, PERIOD).unwrap(),
            upgrades,
            now: Instant::ZERO,
            cycle: 0,
            angle: 0.0,
            asks: VecDeque::new(),
            replies: Vec::new(),
            served: 0,
            hangs_until: 0,
            processes: BTreeMap::new(),
            open: BTreeMap::new(),
            answers: Vec::new(),
            condemned: BTreeSet::new(),
            conduct: Conduct::Good,
            with_child: false,
        };
        for (unit, role) in [("experimental", Role::Active), ("baseline", Role::Shadow)] {
            let id = world.upgrades.first(unit, role, Share::default()).unwrap();
            world.launch(id, unit, Conduct::Good);
            world.processes.get_mut(&id).unwrap().started = true;
        }
        world.upgrades.announce();
        world.run(10);
        assert_eq!(world.active().as_deref(), Some("experimental"));
        world
    }

    fn launch(&mut self, id: UnitId, name: &str, conduct: Conduct) {
        let writes = |other: &&UnitId| other.slot == id.slot;
        assert_eq!(self.processes.keys().find(writes), None, "its slot has another writer");
        let (started, alive) = (false, conduct != Conduct::Absent);
        let has_child = self.with_child;
        let process = Process { name: name.into(), conduct, started, alive, has_child };
        self.processes.insert(id, process);
        match conduct {
            Conduct::Absent => {
                self.processes.remove(&id);
                self.upgrades.ended(id, "it does not exist");
            }
            Conduct::Hangs => {}
            Conduct::Good | Conduct::Silent => self.upgrades.ready(id),
        }
    }

    /// Begins a change, whose new units behave as `conduct` says.
    fn change(&mut self, change: &Change) -> Result<(), ChangeError> {
        let named: Vec<UnitId> =
            old_names(change).into_iter().filter_map(|unit| self.find(unit)).collect();
        let begun = self.upgrades.begin(change.clone(), self.now)?;
        self.condemned.extend(named.iter().chain(&begun.launches));
        self.open.insert(begun.ticket, change.clone());
        for (id, new) in begun.launches.into_iter().zip(new_names(change)) {
            self.launch(id, new, self.conduct);
        }
        self.carry_out();
        Ok(())
    }

    /// Ends a process, as SIGKILL does.
    fn kill(&mut self, unit: &str) {
        let Some(id) = self.find(unit) else { return };
        if let Some(process) = self.processes.get_mut(&id).filter(|process| process.alive) {
            process.alive = false;
            self.condemned.insert(id);
            self.upgrades.ended(id, "killed by SIGKILL");
        }
    }

    fn find(&self, unit: &str) -> Option<UnitId> {
        self.upgrades.units().find(|(_, name, ..)| *name == unit).map(|(id, ..)| id)
    }

    fn is_listed(&self, unit: &str) -> bool {
        self.find(unit).is_some()
    }

    fn active(&self) -> Option<String> {
        let slot = self.decision.active()?;
        self.upgrades.name(slot).map(str::to_owned)
    }

    /// A cycle of the decision module, then a look of the runner at everything.
    fn cycle(&mut self) {
        let mut answers = [Answer::None; SLOTS];
        for (id, process) in &self.processes {
            let writes = process.alive && process.started && process.conduct == Conduct::Good;
            let (unit, stamp) = (id.generation, Instant::ZERO);
            let command = Command { sequence: self.cycle, unit, volts: 0.01, stamp };
            answers[usize::from(id.slot)] =
                if writes { Answer::Command(command) } else { Answer::Missing };
        }
        let sampled = Instant::ZERO + PERIOD * self.cycle as i64;
        self.decision.sense(&Sensors {
            sequence: self.cycle,
            sampled,
            position: if self.cycle.is_multiple_of(2) { 1e-4 } else { -1e-4 },
            angle: self.angle,
            ..Sensors::default()
        });
        self.decision.decide(&answers, sampled);
        if self.cycle >= self.hangs_until
            && let Some((id, request)) = self.asks.pop_front()
        {
            let reply = self.decision.request(request).map(drop).map_err(|e| e.to_string());
            self.replies.push((id, reply));
            self.served = id;
        }
        self.decision.check_invariants();
        self.cycle += 1;
        self.now += PERIOD;
        self.look();
    }

    /// What the runner does in a tick.
    fn look(&mut self) {
        let views = std::array::from_fn(|slot| self.decision.unit(slot as u8));
        self.upgrades.observe(self.served, &views);
        for (id, reply) in std::mem::take(&mut self.replies) {
            self.upgrades.replied(id, reply);
        }
        self.upgrades.tick(self.now);
        self.carry_out();
    }

    fn carry_out(&mut self) {
        while let Some(effect) = self.upgrades.poll() {
            match effect {
                Effect::Start(id) => self.processes.get_mut(&id).unwrap().started = true,
                Effect::Ask { id, request } => {
                    if let Request::Remove { units } = request {
                        units.iter().for_each(|unit| self.check_condemned(unit));
                    }
                    // A full queue loses a request.
                    if self.asks.len() < ASKS_MAX {
                        self.asks.push_back((id, request));
                    }
                }
                Effect::End(id) => {
                    self.check_condemned(id);
                    let child = self.processes.get_mut(&id).is_some_and(|process| {
                        process.alive = false;
                        process.has_child
                    });
                    if !child {
                        self.vacate(id);
                    }
                }
                Effect::Answer { ticket, outcome } => {
                    let change = self.open.remove(&ticket).expect("one answer for each change");
                    self.check_answer(&change, &outcome);
                    self.answers.push((change, outcome));
                }
                Effect::Note(_) => {}
            }
        }
    }

    fn vacate(&mut self, id: UnitId) {
        self.processes.remove(&id);
        self.upgrades.vacated(id);
    }

    /// The children of processes that have ended, end too.
    fn children_end(&mut self) {
        let dead: Vec<UnitId> =
            self.processes.iter().filter(|(_, it)| !it.alive).map(|(id, _)| *id).collect();
        dead.into_iter().for_each(|id| self.vacate(id));
    }

    /// No unit is ended that nobody named, unless it failed by itself.
    fn check_condemned(&self, id: UnitId) {
        let view = self.decision.unit(id.slot).filter(|view| view.generation == id.generation);
        let failed = |state| matches!(state, UnitState::Failed | UnitState::Retired);
        let failed = view.is_some_and(|view| failed(view.state));
        let name = self.processes.get(&id).map(|process| &process.name);
        assert!(failed || self.condemned.contains(&id), "{id:?} {name:?} is ended unasked");
    }

    /// A change is carried out completely or not at all.
    fn check_answer(&self, change: &Change, outcome: &Outcome) {
        let gone = if outcome.is_ok() { old_names(change) } else { new_names(change) };
        for unit in gone {
            assert!(!self.is_listed(unit), "{unit} is left after {change:?}: {outcome:?}");
        }
    }

    fn run(&mut self, cycles: u32) {
        (0..cycles).for_each(|_| self.cycle());
    }

    /// Lets every change come to its end, and checks that nothing is left over.
    fn settle(&mut self) {
        self.hangs_until = 0;
        self.run(40);
        // Only time limits are left to wait for: the longest of them all, one after the other.
        for _ in 0..8 {
            if !self.upgrades.is_idle() {
                self.now += Span::from_millis(11_000);
                self.run(40);
            }
        }
        assert!(self.upgrades.is_idle() && self.open.is_empty(), "{:?}", self.open);
        self.children_end();
        // A starting unit whose removal was lost is given up after thirty cycles.
        self.run(60);
        assert!(self.asks.is_empty());
        let listed: BTreeSet<UnitId> = self.upgrades.units().map(|(id, ..)| id).collect();
        let alive: BTreeSet<UnitId> = self.processes.keys().copied().collect();
        assert!(alive.is_subset(&listed), "orphans: {alive:?} {listed:?}");
        for slot in 0..SLOTS as u8 {
            let Some(unit) = self.decision.unit(slot).filter(|unit| unit.state.is_live()) else {
                continue;
            };
            let id = UnitId { slot, generation: unit.generation };
            assert!(alive.contains(&id), "{id:?} is judged without a process");
        }
    }

    fn last(&self) -> &Outcome {
        &self.answers.last().unwrap().1
    }
}

#[test]
fn a_unit_added_during_a_replacement_is_never_taken_for_the_old_one() {
    for (remove_at, add_at) in (0..16).flat_map(|k| (k..16).map(move |l| (k, l))) {
        let mut world = World::new();
        world.change(&replace(&[("experimental", "new")])).unwrap();
        world.run(remove_at);
        let removed = world.change(&Change::Remove { name: name("experimental") }).is_ok();
        world.run(add_at - remove_at);
        world.change(&Change::Add { name: name("precious"), share: Share::default() }).unwrap();
        world.settle();
        assert!(world.is_listed("precious"), "{remove_at} {add_at}");
        assert!(world.is_listed("new") && !world.is_listed("experimental"));
        assert_eq!(world.active().as_deref(), Some("new"), "{remove_at} {add_at} {removed}");
    }
}

#[test]
fn a_second_replacement_of_a_unit_is_refused_while_the_first_is_under_way() {
    let mut world = World::new();
    world.change(&replace(&[("experimental", "new")])).unwrap();
    for (change, wanted) in [
        (replace(&[("experimental", "newer")]), "experimental is being replaced by new"),
        (replace(&[("new", "newer")]), "experimental is being replaced by new"),
        (replace(&[("baseline", "a"), ("baseline", "b")]), "baseline is to be replaced twice"),
        (replace(&[("baseline", "a"), ("nobody", "b")]), "there is no unit \"nobody\""),
        (replace(&[("baseline", "a"), ("baseline", "a")]), "\"a\" has been used"),
        (replace(&[]), "the request names no unit"),
        (Change::Promote { name: name("new") }, "experimental is being replaced by new"),
        (Change::Add { name: name("plant"), share: Share::default() }, "\"plant\" has been used"),
        (Change::Add { name: name("ä"), share: Share::default() }, "\"ä\" is not a valid name"),
    ] {
        let refusal = world.change(&change).unwrap_err().to_string();
        assert!(refusal.starts_with(wanted), "{refusal}");
    }
    world.settle();
    assert_eq!(*world.last(), Ok(name("new has replaced experimental")));
    assert_eq!(world.upgrades.units().count(), 2);
}

#[test]
fn several_units_are_replaced_together_or_not_at_all() {
    let both = replace(&[("experimental", "first"), ("baseline", "second")]);
    let mut world = World::new();
    world.change(&both).unwrap();
    world.run(30);
    let done = "first has replaced experimental, second has replaced baseline";
    assert_eq!(*world.last(), Ok(name(done)));
    assert_eq!(world.active().as_deref(), Some("first"));

    // One new unit fails at any time before the old ones leave: all new ones go.
    let mut undone = 0;
    for at in 0..16 {
        let mut world = World::new();
        world.change(&both).unwrap();
        world.run(at);
        world.kill("second");
        world.settle();
        if let Err(reason) = world.last() {
            undone += 1;
            assert_eq!(
                reason,
                "second failed and was taken out: its process ended: killed by SIGKILL, and first with it; \
                 experimental, baseline stay"
            );
            assert_eq!(world.active().as_deref(), Some("experimental"), "{at}");
            assert!(world.is_listed("baseline"));
        }
    }
    assert!((8..16).contains(&undone), "{undone}");
}

#[test]
fn old_units_of_one_replacement_leave_between_the_same_two_cycles() {
    let mut world = World::new();
    world.change(&replace(&[("experimental", "first"), ("baseline", "second")])).unwrap();
    loop {
        world.cycle();
        let old = |slot: u8| world.decision.unit(slot).map(|unit| unit.state.is_live());
        assert_eq!(old(0), old(1));
        if old(0) == Some(false) {
            break;
        }
    }
}

#[test]
fn a_slot_is_not_used_again_while_a_process_of_its_last_unit_remains() {
    let mut world = World::new();
    world.with_child = true;
    for unit in 0..6 {
        world
            .change(&Change::Add { name: format!("unit-{unit}"), share: Share::default() })
            .unwrap();
        world.run(4);
    }
    world.change(&Change::Remove { name: name("unit-0") }).unwrap();
    world.run(4);
    assert_eq!(*world.last(), Ok(name("unit-0 is removed")));
    let refusal =
        world.change(&Change::Add { name: name("late"), share: Share::default() }).unwrap_err();
    assert_eq!(refusal, ChangeError::Full { ending: 1 });
    world.children_end();
    world.change(&Change::Add { name: name("late"), share: Share::default() }).unwrap();
    world.settle();
}

/// A run in which `other` has taken over the slot of `baseline`; the unit that had it before and the one that has it.
fn with_a_new_unit_in_the_slot() -> (World, UnitId, UnitId) {
    let mut world = World::new();
    let old = world.find("baseline").unwrap();
    world.change(&Change::Remove { name: name("baseline") }).unwrap();
    world.settle();
    world.change(&Change::Add { name: name("other"), share: Share::default() }).unwrap();
    world.run(10);
    let new = world.find("other").unwrap();
    assert_eq!((new.slot, new.generation > old.generation), (old.slot, true));
    (world, old, new)
}

fn state_of(world: &World, unit: UnitId) -> &'static str {
    world.upgrades.units().find(|(id, ..)| *id == unit).unwrap().2
}

#[test]
fn late_reports_about_the_last_unit_of_a_slot_do_not_reach_the_next_one() {
    let (mut world, old, new) = with_a_new_unit_in_the_slot();
    world.upgrades.ended(old, "killed by SIGKILL");
    assert_eq!(state_of(&world, new), "shadow");
    world.upgrades.vacated(old);
    assert_eq!(world.upgrades.name(new.slot), Some("other"));
    // Its process is prepared only now: it must not be started in the place of the other.
    world.upgrades.ready(old);
    assert_eq!(world.upgrades.poll(), None);
    world.run(5);
    assert_eq!(state_of(&world, new), "shadow");
}

#[test]
fn a_report_that_the_last_unit_of_a_slot_is_prepared_does_not_start_the_next_one() {
    let (mut world, old, _) = with_a_new_unit_in_the_slot();
    world.change(&Change::Remove { name: name("other") }).unwrap();
    world.settle();
    world.conduct = Conduct::Hangs;
    world.change(&Change::Add { name: name("hangs"), share: Share::default() }).unwrap();
    let hangs = world.find("hangs").unwrap();
    assert_eq!(hangs.slot, old.slot);
    world.upgrades.ready(old);
    assert_eq!(world.upgrades.poll(), None);
    assert_eq!(state_of(&world, hangs), "starting");
}

#[test]
fn a_stale_status_of_the_last_unit_of_a_slot_does_not_fail_the_next_one() {
    let (mut world, old, new) = with_a_new_unit_in_the_slot();
    let mut views = std::array::from_fn(|slot| world.decision.unit(slot as u8));
    let stale = views[usize::from(new.slot)].as_mut().unwrap();
    (stale.generation, stale.state) = (old.generation, UnitState::Failed);
    world.upgrades.observe(world.served, &views);
    // Without a status of its own it has not failed.
    assert_eq!(state_of(&world, new), "starting");
    world.run(1);
    assert_eq!(state_of(&world, new), "shadow");
}

#[test]
fn a_unit_that_is_late_is_taken_out_and_the_old_one_stays() {
    for (conduct, reason) in [
        (Conduct::Hangs, "it took too long"),
        (Conduct::Absent, "its process ended: it does not exist"),
        (Conduct::Silent, "it is failed, last fault: missing"),
    ] {
        let mut world = World::new();
        world.conduct = conduct;
        world.change(&replace(&[("experimental", "new")])).unwrap();
        world.settle();
        let text = format!("new failed and was taken out: {reason}; experimental stays");
        assert_eq!(*world.last(), Err(text));
        assert!(!world.is_listed("new"));
    }
}

#[test]
fn a_refused_promotion_undoes_the_replacement_and_resume_lifts_the_refusal() {
    let mut world = World::new();
    world.angle = 0.6;
    world.run(6);
    world.angle = 0.0;
    world.run(6);
    world.change(&replace(&[("experimental", "new")])).unwrap();
    world.settle();
    assert_eq!(
        *world.last(),
        Err(
            "new failed and was taken out: the decision module is in its fail-safe; resume first; \
             experimental stays"
                .into()
        )
    );
    world.change(&Change::Resume).unwrap();
    world.run(10);
    assert!(world.last().as_ref().unwrap().starts_with("the safety controller has the plant"));
    assert_eq!(world.decision.status().fail_safe, None);
    world.change(&Change::Resume).unwrap();
    world.run(2);
    assert_eq!(*world.last(), Err(name("the decision module is not in its fail-safe")));
}

#[test]
fn a_replacement_of_a_unit_that_dies_meanwhile_takes_its_place() {
    for at in 0..6 {
        let mut world = World::new();
        world.change(&Change::Remove { name: name("baseline") }).unwrap();
        world.run(4);
        world.change(&replace(&[("experimental", "new")])).unwrap();
        world.run(at);
        world.kill("experimental");
        world.settle();
        assert_eq!(*world.last(), Ok(name("new has replaced experimental")), "{at}");
        assert_eq!(world.active().as_deref(), Some("new"), "{at}");
        assert!(!world.is_listed("experimental"), "{at}");
    }
}

#[test]
fn requests_beyond_the_limit_are_refused() {
    let mut world = World::new();
    world.hangs_until = u64::MAX;
    let resumed = (0..40).filter(|_| world.change(&Change::Resume).is_ok()).count();
    assert_eq!(resumed, hemiola_simplex::TRANSACTIONS_MAX);
    assert_eq!(world.change(&Change::Resume), Err(ChangeError::TooMany));
    world.run(300);
    assert!(world.answers.iter().all(|(_, outcome)| {
        *outcome == Err(name("resume: the decision module did not answer in time"))
    }));
    world.settle();
}

/// A disturbance of a run.
type Disturbance = fn(&mut World);

const DISTURBANCES: &[(&str, Disturbance)] = &[
    ("nothing", |_| {}),
    ("death of the active unit", |world| world.kill("experimental")),
    ("death of the shadow", |world| world.kill("baseline")),
    ("death of a new unit", |world| world.kill("new-0")),
    ("silence of a new unit", |world| {
        let id = world.find("new-0");
        if let Some(process) = id.and_then(|id| world.processes.get_mut(&id)) {
            process.conduct = Conduct::Silent;
        }
    }),
    ("fail-safe", |world| world.angle = 0.6),
    ("a decision module that hangs", |world| world.hangs_until = world.cycle + 400),
    ("children that hold slots", |world| {
        world.with_child = true;
        world.processes.values_mut().for_each(|process| process.has_child = true);
    }),
];

fn changes(number: u32) -> Vec<Change> {
    let new = |n: u32| format!("new-{}", 2 * number + n);
    let pair = |old: &str, n| Replacement { old: name(old), new: new(n), share: Share::default() };
    vec![
        Change::Add { name: new(0), share: Share::default() },
        Change::Replace { pairs: vec![pair("experimental", 0)] },
        Change::Replace { pairs: vec![pair("baseline", 0)] },
        Change::Replace { pairs: vec![pair("baseline", 0), pair("experimental", 1)] },
        Change::Remove { name: name("experimental") },
        Change::Remove { name: name("new-0") },
        Change::Promote { name: name("baseline") },
        Change::Resume,
    ]
}

#[test]
fn every_pair_of_changes_with_every_disturbance_ends_complete_or_undone() {
    let steps = 14;
    let proven = World::new();
    for ((what, disturb), first, second) in DISTURBANCES.iter().flat_map(|disturbance| {
        let pairs = changes(0)
            .into_iter()
            .flat_map(|first| changes(1).into_iter().map(move |second| (first.clone(), second)));
        pairs.map(move |(first, second)| (*disturbance, first, second))
    }) {
        for (second_at, disturbed_at) in
            (0..steps).flat_map(|second| (0..steps).map(move |at| (second, at)))
        {
            let mut world = proven.clone();
            let _ = world.change(&first);
            for step in 0..steps {
                if step == second_at {
                    let _ = world.change(&second);
                }
                if step == disturbed_at {
                    disturb(&mut world);
                }
                world.cycle();
            }
            let settled = std::panic::catch_unwind(move || {
                world.settle();
            });
            assert!(
                settled.is_ok(),
                "{first:?}, {second:?} at {second_at}, {what} at {disturbed_at}"
            );
        }
    }
}

fn random_change(random: &mut Random, world: &World, number: u64) -> Change {
    let units: Vec<String> = world.upgrades.units().map(|(_, name, ..)| name.to_owned()).collect();
    let mut some = || match units.len() {
        0 => name("nobody"),
        count => units[random.below(count as u64) as usize].clone(),
    };
    let (one, two, three) = (some(), some(), some());
    let pair = |old: &String, n: u32| Replacement {
        old: old.clone(),
        new: format!("u{number}-{n}"),
        share: Share::default(),
    };
    match random.below(8) {
        0 | 1 => Change::Add { name: format!("u{number}"), share: Share::default() },
        2 | 3 => Change::Replace { pairs: vec![pair(&one, 0)] },
        4 => Change::Replace { pairs: vec![pair(&one, 0), pair(&two, 1), pair(&three, 2)] },
        5 => Change::Remove { name: one },
        6 => Change::Promote { name: one },
        _ => Change::Resume,
    }
}

fn live_through(seed: u64) {
    let mut random = Random::from_seed(seed);
    let mut world = World::new();
    for number in 0..400 {
        world.conduct = match random.below(12) {
            0 => Conduct::Silent,
            1 => Conduct::Hangs,
            2 => Conduct::Absent,
            _ => Conduct::Good,
        };
        world.with_child = random.below(4) == 0;
        match random.below(40) {
            0..6 => {
                let change = random_change(&mut random, &world, number);
                let _ = world.change(&change);
            }
            6 | 7 => {
                let units: Vec<String> =
                    world.upgrades.units().map(|(_, name, ..)| name.to_owned()).collect();
                if let Some(unit) = units.get(random.below(SLOTS as u64) as usize) {
                    world.kill(unit);
                }
            }
            8 => world.angle = if random.below(3) == 0 { 0.6 } else { 0.0 },
            9 => world.hangs_until = world.cycle + random.below(300),
            10 | 11 => world.children_end(),
            12 => world.now += Span::from_millis(random.below(6_000) as i64),
            _ => {}
        }
        world.cycle();
    }
    world.settle();
}

#[test]
fn any_sequence_of_changes_ends_with_every_process_accounted_for() {
    let seeds = std::env::var("HEMIOLA_UPGRADE_SEEDS").map_or(200, |text| text.parse().unwrap());
    for seed in 0..seeds {
        if std::panic::catch_unwind(|| live_through(seed)).is_err() {
            panic!("seed {seed} repeats the failure above");
        }
    }
}
