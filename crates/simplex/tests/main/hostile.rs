//! Hostile units beside honest ones, all on one simulated processor with a simulated pendulum: what the units of
//! `crates/cli/tests/hostile.c` do to the decision module, and units that ask for harmful voltages within the range.
//! `HEMIOLA_CAMPAIGN_RUNS` sets the number of runs per kind.

use hemiola_plant::{Apparatus, Settings as PlantSettings, State};
use hemiola_simplex::{
    Answer, CLIP_VOLTS, Command, CommandSource, Controller, Decided, Decision, Event, Fault, Model,
    Request, Role, SLOTS, Sensors, Settings, StateFeedback, UnitId, UnitState, clipped,
};
use hemiola_units::{Random, Span};

use crate::campaign::runs;
use crate::processor::{Processor, Program};
use crate::world::gain;

const STEP: i64 = 2_000;
const PERIOD: i64 = 20_000;
/// Time for answers, which is also when the voltage is written, µs.
const WITHIN: i64 = 4_000;
/// Budget of each unit, µs.
const BUDGET: i64 = 500;
/// The cycle in which half of the hostile units get the plant, and the first one in which a unit may be hostile.
const PROMOTED: u64 = 60;
const HOSTILE_FROM: u64 = 80;
/// Hostile cycles: more than a unit has until it is given up.
const CYCLES: u64 = 150;
const GENERATION: u32 = 7;

type Bytes = [u8; Command::SIZE];

/// What a hostile unit does instead of answering.
#[derive(Clone, Copy)]
enum Attack {
    /// It uses this much processor time for each answer, µs; with 0 it sleeps.
    Time(i64),
    /// It computes without end on a processor of its own.
    Elsewhere,
    /// It computes without end, and publishes its first hostile answer all the time.
    Storm,
    /// It asks for a voltage that depends on the right one, the seconds since the attack began, and chance.
    Volts(fn(f64, f64, &mut Random) -> f64),
    /// It changes a field under a right checksum.
    Field(fn(&mut Command)),
    /// It changes bytes under the checksum of the right ones.
    Bytes(fn(&mut Bytes, &mut Random)),
    /// It publishes only so many bytes.
    Short(usize),
    /// Its process ends.
    Ends,
}

use Attack::{Bytes as Damage, Elsewhere, Ends, Field, Short, Storm, Time, Volts};

/// How it must end.
#[derive(Clone, Copy)]
enum Outcome {
    /// It is taken out in every run, and this is its last fault.
    Fails(Fault),
    /// It may be taken out, or only lose control.
    Harmless,
}

use Outcome::{Fails, Harmless};

const KINDS: &[(&str, Attack, Outcome)] = &[
    // Time.
    ("spins", Time(i64::MAX), Fails(Fault::OverBudget)),
    ("spins-5ms", Time(5_000), Fails(Fault::OverBudget)),
    ("spins-3.9ms", Time(3_900), Harmless),
    ("spins-1ms", Time(1_000), Harmless),
    ("moves", Elsewhere, Fails(Fault::OverBudget)),
    ("storms", Storm, Fails(Fault::OverBudget)),
    ("sleeps", Time(0), Fails(Fault::Missing)),
    // Voltages that no unit may ask for.
    ("nan", Volts(|_, _, _| f64::NAN), Fails(Fault::NotFinite)),
    ("minus-nan", Volts(|_, _, _| -f64::NAN), Fails(Fault::NotFinite)),
    ("infinite", Volts(|_, _, _| f64::INFINITY), Fails(Fault::NotFinite)),
    ("minus-infinite", Volts(|_, _, _| f64::NEG_INFINITY), Fails(Fault::NotFinite)),
    ("above-range", Volts(|_, _, _| 100.0), Fails(Fault::OutOfRange)),
    ("below-range", Volts(|_, _, _| -4.951), Fails(Fault::OutOfRange)),
    ("greatest", Volts(|_, _, _| f64::MAX), Fails(Fault::OutOfRange)),
    // Voltages that it may ask for.
    ("least", Volts(|_, _, _| 4.9e-324), Harmless),
    ("full", Volts(|_, _, _| CLIP_VOLTS), Harmless),
    ("sign", Volts(|good, _, _| -good), Harmless),
    ("drift", Volts(|good, seconds, _| clipped(good + 2.0 * seconds)), Harmless),
    ("tenfold", Volts(|good, _, _| clipped(10.0 * good)), Harmless),
    ("random", Volts(|_, _, random| random.between(-CLIP_VOLTS, CLIP_VOLTS)), Harmless),
    ("alternates", Volts(|_, seconds, _| CLIP_VOLTS.copysign((25.0 * seconds).sin())), Harmless),
    // Fields. One cycle behind is an answer that came after its limit.
    ("stale", Field(|it| it.sequence -= 1), Fails(Fault::Late)),
    ("older", Field(|it| it.sequence -= 2), Fails(Fault::Stale)),
    ("first-sequence", Field(|it| it.sequence = 0), Fails(Fault::Stale)),
    ("ahead", Field(|it| it.sequence += 1000), Fails(Fault::Ahead)),
    ("last-sequence", Field(|it| it.sequence = u64::MAX), Fails(Fault::Ahead)),
    ("wrong-unit", Field(|it| it.unit += 1), Fails(Fault::WrongUnit)),
    ("no-unit", Field(|it| it.unit = 0), Fails(Fault::WrongUnit)),
    // Bytes.
    ("wrong-magic", Damage(|it, _| it[0] ^= 1), Fails(Fault::Malformed)),
    ("wrong-version", Damage(|it, _| it[4] = 2), Fails(Fault::Malformed)),
    ("wrong-length", Damage(|it, _| it[6] = 64), Fails(Fault::Malformed)),
    ("flips-a-bit", Damage(flip), Fails(Fault::Malformed)),
    ("garbage", Damage(|it, _| *it = [0xA5; 48]), Fails(Fault::Malformed)),
    (
        "noise",
        Damage(|it, random| *it = std::array::from_fn(|_| random.bits() as u8)),
        Fails(Fault::Malformed),
    ),
    ("zeros", Damage(|it, _| *it = [0; 48]), Fails(Fault::Malformed)),
    ("short-slot", Short(8), Fails(Fault::Malformed)),
    ("empty-slot", Short(0), Fails(Fault::Malformed)),
    // Its process.
    ("exits", Ends, Fails(Fault::Exited)),
];

fn flip(bytes: &mut Bytes, random: &mut Random) {
    let bit = random.below(8 * Command::SIZE as u64) as usize;
    bytes[bit / 8] ^= 1 << (bit % 8);
}

/// A unit with a controller, which may become hostile.
struct Unit {
    controller: StateFeedback,
    /// What the controller asks for in this cycle.
    good: f64,
    attack: Option<Attack>,
    /// The seconds since the attack began, and the answer then.
    since: Option<f64>,
    first: Option<Bytes>,
}

impl Program for Unit {
    fn demand(&mut self, random: &mut Random) -> i64 {
        match self.now() {
            Some(Time(time)) => time,
            Some(Storm | Elsewhere) => i64::MAX,
            _ => random.between(10.0, BUDGET as f64) as i64,
        }
    }

    fn is_elsewhere(&self) -> bool {
        matches!(self.now(), Some(Elsewhere))
    }
}

impl Unit {
    /// Its attack, once it has begun.
    fn now(&self) -> Option<Attack> {
        self.attack.filter(|_| self.since.is_some())
    }

    /// The newest bytes in its slot in `cycle`, in which it has answered the sample of the cycle `answered`.
    fn bytes(&mut self, cycle: u64, answered: Option<u64>, random: &mut Random) -> Option<Vec<u8>> {
        let storms = matches!(self.now(), Some(Storm));
        let sequence = if storms { cycle } else { answered? };
        let mut command =
            Command { sequence, unit: GENERATION, volts: self.good, ..Command::default() };
        match self.now() {
            Some(Volts(of)) => command.volts = of(self.good, self.since.unwrap_or(0.0), random),
            Some(Field(change)) => change(&mut command),
            _ => {}
        }
        let mut bytes = command.encode();
        match self.now() {
            Some(Damage(damage)) => damage(&mut bytes, random),
            Some(Short(length)) => return Some(bytes[..length].to_vec()),
            Some(Storm) => bytes = *self.first.get_or_insert(bytes),
            _ => {}
        }
        Some(bytes.to_vec())
    }
}

struct World {
    apparatus: Apparatus,
    decision: Decision,
    processor: Processor<Unit>,
    random: Random,
    culprit: u8,
    hostile_from: u64,
    cycle: u64,
    volts: f64,
    applied: f64,
    peak_v: f64,
}

impl World {
    /// One to seven honest units of any priorities, the first one active, and a hostile one in the last slot.
    fn new(attack: Attack, seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        let start = State {
            position: random.between(-0.02, 0.02),
            angle: random.between(-1.0, 1.0).to_radians(),
            ..State::default()
        };
        let plant = PlantSettings {
            step: Span::from_micros(STEP),
            start,
            seed: random.bits(),
            ..PlantSettings::default()
        };
        let settings = Settings::default();
        let period = Span::from_micros(PERIOD);
        let mut decision = Decision::new(settings.clone(), period).unwrap();
        let culprit = random.between(1.0, SLOTS as f64) as u8;
        let model: Model = settings.model(period).unwrap();
        let mut units = Vec::new();
        for slot in 0..=culprit {
            let role = if slot == 0 { Role::Active } else { Role::Shadow };
            let unit = UnitId { slot, generation: GENERATION };
            let budget = Span::from_micros(BUDGET);
            decision.request(Request::Add { unit, role, budget }).unwrap();
            let name = ["experimental", "baseline", "lqr"][random.below(3) as usize];
            let program = Unit {
                controller: StateFeedback::new(model.clone(), gain(name)),
                good: 0.0,
                attack: (slot == culprit).then_some(attack),
                since: None,
                first: None,
            };
            units.push((program, random.between(1.0, 75.0) as u8));
        }
        Self {
            apparatus: Apparatus::new(&plant).unwrap(),
            decision,
            processor: Processor::new(units, random.bits()),
            culprit,
            hostile_from: HOSTILE_FROM + random.below(20),
            random,
            cycle: 0,
            volts: 0.0,
            applied: 0.0,
            peak_v: 0.0,
        }
    }

    fn sensors(&self) -> Sensors {
        let ([position, angle], wiring) = (self.apparatus.codes(), self.apparatus.wiring());
        let at = hemiola_units::Instant::ZERO + self.apparatus.elapsed();
        Sensors {
            sequence: self.cycle,
            release: at,
            sampled: at,
            position: wiring.position(position),
            angle: wiring.angle(angle),
            applied: self.applied,
            period_us: PERIOD as u32,
        }
    }

    fn step(&mut self) -> Decided {
        let sensors = self.sensors();
        let since = self.cycle.checked_sub(self.hostile_from);
        for task in &mut self.processor.tasks {
            task.program.good = task.program.controller.step(&sensors);
            task.program.since = since.map(|cycles| (cycles as i64 * PERIOD) as f64 / 1e6);
        }
        self.processor.release(self.cycle);
        self.processor.run(&self.decision, WITHIN);
        let done = self.processor.take();
        let answers = std::array::from_fn(|slot| self.answer(slot, done[slot].1));
        self.decision.sense(&sensors);
        self.decision.meter(done.map(|(usage, _)| usage));
        let decided = self.decision.decide(&answers, sensors.sampled + Span::from_micros(WITHIN));
        self.decision.check_invariants();
        self.write(decided.volts);
        self.processor.end_the_gone(&self.decision);
        self.processor.run(&self.decision, PERIOD - WITHIN);
        self.cycle += 1;
        decided
    }

    /// What the process of the decision module makes of a slot.
    fn answer(&mut self, slot: usize, answered: Option<u64>) -> Answer {
        let Some(task) = self.processor.tasks.get_mut(slot) else { return Answer::None };
        let Some(bytes) = task.program.bytes(self.cycle, answered, &mut self.random) else {
            return Answer::Missing;
        };
        match Command::decode(&bytes) {
            Ok(command) if command.sequence.wrapping_add(1) == self.cycle => Answer::Late,
            Ok(command) => Answer::Command(command),
            Err(error) => Answer::Malformed(error),
        }
    }

    /// Moves the plant to the next sample; the voltage changes when the time for answers is over.
    fn write(&mut self, volts: f64) {
        let output = &self.apparatus.wiring().output;
        let (old, new) = (output.code(self.volts), output.code(volts));
        let written = output.volts(new);
        self.applied = (WITHIN as f64 * output.volts(old) + (PERIOD - WITHIN) as f64 * written)
            / PERIOD as f64;
        for step in 0..PERIOD / STEP {
            self.apparatus.step(if step < WITHIN / STEP { old } else { new });
            let v = self.decision.region().value(&self.apparatus.state().to_array());
            self.peak_v = self.peak_v.max(v);
        }
        self.volts = written;
    }
}

/// One run of a kind. Returns whether the unit was taken out.
fn run(kind: &str, attack: Attack, outcome: Outcome, seed: u64) -> bool {
    let of = format!("{kind}, seed {seed}");
    let mut world = World::new(attack, seed);
    let culprit = world.culprit;
    let in_control = world.random.below(2) == 0;
    let unit = UnitId { slot: culprit, generation: GENERATION };
    for cycle in 0..world.hostile_from + CYCLES {
        if cycle == PROMOTED && in_control {
            world.decision.request(Request::Promote { unit }).unwrap();
        }
        if cycle == world.hostile_from && matches!(attack, Ends) {
            world.decision.request(Request::Exited { unit }).unwrap();
        }
        let in_time = world.decision.active();
        let decided = world.step();
        for event in &decided.events {
            let Event::Fault { slot, fault } = event else { continue };
            let is_culprit = *slot == Some(culprit) && cycle >= world.hostile_from;
            // A unit that waits for the culprit is not at fault, and the active unit never waits.
            let has_waited = *fault == Fault::Starved && *slot != in_time;
            assert!(is_culprit || has_waited, "{of}, cycle {cycle}: {slot:?} {fault:?}");
        }
        // An unusable answer costs no cycle: the safety controller answers the same sample.
        if cycle == world.hostile_from && in_control && matches!(outcome, Fails(_)) {
            assert_eq!(decided.source, CommandSource::Safety, "{of}");
        }
    }
    assert!(world.apparatus.fall().is_none() && world.peak_v < 1.0, "{of}: V {}", world.peak_v);
    for slot in 0..culprit {
        let unit = world.decision.unit(slot).unwrap();
        assert!(unit.state.is_live() && unit.faults == 0 && unit.strikes == 0, "{of}: {unit:?}");
    }
    let ended = world.decision.unit(culprit).unwrap();
    let is_out = matches!(ended.state, UnitState::Failed | UnitState::Retired);
    if is_out {
        assert_eq!(world.decision.active(), Some(0), "{of}: the unit before it has the plant");
    }
    if let Fails(fault) = outcome {
        assert!(is_out && ended.last_fault == Some(fault), "{of}: {ended:?}");
    }
    is_out
}

#[test]
fn every_kind_of_hostile_unit_fails_alone_and_loses_no_pendulum() {
    for (kind, attack, outcome) in KINDS {
        let out = (0..runs()).filter(|seed| run(kind, *attack, *outcome, u64::from(*seed))).count();
        println!("{kind}: {out} of {} taken out", runs());
    }
}
