//! The watchdog in a simulated loop whose decision module stops, answers late or answers garbage.

use hemiola_plant::{Apparatus, Settings as PlantSettings, State};
use hemiola_simplex::{
    Answer, CLIP_VOLTS, Command, CommandSource, Controller, Decision, Event, Fault, Model, Reason,
    Request, Role, SLOTS, Sensors, Settings, StateFeedback, UnitId, Watchdog,
};
use hemiola_units::{Instant, Random, Span};

use crate::world::gain;

const PERIOD: Span = Span::from_millis(20);
/// Integrator steps in a period, and until a command that came in time, or did not come, is written.
const STEPS: u32 = 10;
const IN_TIME: u32 = 2;
const TOO_LATE: u32 = 5;

/// The behaviour of the decision module in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Module {
    Works,
    /// It sees no sample and sends nothing.
    Stopped,
    /// It decides, and its command comes after the limit.
    Late,
    NotANumber,
    Beyond,
    UnknownSource,
}

const FAULTS: [Module; 5] =
    [Module::Stopped, Module::Late, Module::NotANumber, Module::Beyond, Module::UnknownSource];

/// A loop of apparatus, unit, decision module and I/O.
struct Rig {
    apparatus: Apparatus,
    unit: StateFeedback,
    decision: Decision,
    /// `None` writes 0 V instead, as the I/O process did before there was a watchdog.
    watchdog: Option<Watchdog>,
    cycle: u64,
    volts: f64,
    applied: f64,
    sources: Vec<CommandSource>,
    switches: Vec<(CommandSource, CommandSource, Reason)>,
}

impl Rig {
    fn new(seed: u64, start: [f64; 4], with_watchdog: bool) -> Self {
        let step = Span::from_millis(2);
        let start = State::from_array(start);
        let plant = PlantSettings { step, seed, start, ..PlantSettings::default() };
        let mut decision = Decision::new(Settings::default(), PERIOD).unwrap();
        let add = Request::Add {
            unit: UnitId { slot: 0, generation: 1 },
            role: Role::Active,
            budget: Span::from_millis(1),
        };
        decision.request(add).unwrap();
        let watchdog = Watchdog::new(&Settings::default(), PERIOD).unwrap();
        Self {
            apparatus: Apparatus::new(&plant).unwrap(),
            unit: StateFeedback::new(Model::new(PERIOD).unwrap(), gain("baseline")),
            decision,
            watchdog: with_watchdog.then_some(watchdog),
            cycle: 0,
            volts: 0.0,
            applied: 0.0,
            sources: Vec::new(),
            switches: Vec::new(),
        }
    }

    /// What arrives in time from the module.
    fn command(&mut self, sensors: &Sensors, module: Module) -> Option<Command> {
        if module == Module::Stopped {
            return None;
        }
        let volts = self.unit.step(sensors);
        let mut answers = [Answer::None; SLOTS];
        let (sequence, stamp) = (self.cycle, Instant::ZERO);
        answers[0] = Answer::Command(Command { sequence, unit: 1, volts, stamp });
        self.decision.sense(sensors);
        let decided = self.decision.decide(&answers, sensors.sampled);
        let unit = u32::from(decided.source.code());
        let command = Command { sequence, unit, volts: decided.volts, stamp };
        match module {
            Module::Works => Some(command),
            Module::Late => Some(Command { sequence: sequence.wrapping_sub(1), ..command }),
            Module::NotANumber => Some(Command { volts: f64::NAN, ..command }),
            Module::Beyond => Some(Command { volts: CLIP_VOLTS + 0.01, ..command }),
            Module::UnknownSource => Some(Command { unit: 0x0001_0010, ..command }),
            Module::Stopped => None,
        }
    }

    fn cycle(&mut self, module: Module) {
        let at = Instant::ZERO + self.apparatus.elapsed();
        let [position, angle] = self.apparatus.codes();
        let wiring = self.apparatus.wiring();
        let sensors = Sensors {
            sequence: self.cycle,
            release: at,
            sampled: at,
            position: wiring.position(position),
            angle: wiring.angle(angle),
            applied: self.applied,
            period_us: 20_000,
        };
        let command = self.command(&sensors, module);
        let (volts, source, delay) = match &mut self.watchdog {
            Some(watchdog) => {
                let first = watchdog.has_plant().then(|| (watchdog.command(&sensors), 0));
                let judged = watchdog.judge(self.cycle, command).map(|chosen| (chosen, IN_TIME));
                let (chosen, delay) =
                    first.or(judged).unwrap_or_else(|| (watchdog.command(&sensors), TOO_LATE));
                watchdog.learn(&sensors);
                if let Some(Event::Switch { from, to, reason }) = chosen.switch {
                    self.switches.push((from, to, reason));
                }
                (chosen.volts, chosen.source, delay)
            }
            None if module == Module::Works => {
                (command.unwrap().volts, CommandSource::Held, IN_TIME)
            }
            None => (0.0, CommandSource::FailSafe, TOO_LATE),
        };
        assert!(volts.is_finite() && volts.abs() <= CLIP_VOLTS, "{volts}");
        self.write(volts, delay);
        self.sources.push(source);
        self.cycle += 1;
    }

    fn write(&mut self, volts: f64, delay: u32) {
        let output = &self.apparatus.wiring().output;
        let (old, new) = (output.code(self.volts), output.code(volts));
        let (before, after) = (output.volts(old), output.volts(new));
        for step in 0..STEPS {
            self.apparatus.step(if step < delay { old } else { new });
        }
        self.applied =
            (f64::from(delay) * before + f64::from(STEPS - delay) * after) / f64::from(STEPS);
        self.volts = after;
    }

    fn cycles(&mut self, count: u32, module: Module) {
        (0..count).for_each(|_| self.cycle(module));
    }

    fn stands(&self) -> bool {
        self.apparatus.fall().is_none()
    }
}

#[test]
fn a_module_that_stops_for_good_costs_nothing_with_a_watchdog_and_the_pendulum_without() {
    for with_watchdog in [true, false] {
        let mut rig = Rig::new(1, [0.0; 4], with_watchdog);
        rig.cycles(100, Module::Works);
        rig.cycles(1000, Module::Stopped);
        assert_eq!(rig.stands(), with_watchdog);
    }
}

#[test]
fn the_watchdog_takes_the_plant_in_the_first_missed_cycle_and_gives_it_back_after_as_many_commands()
{
    let mut rig = Rig::new(1, [0.0; 4], true);
    rig.cycles(10, Module::Works);
    rig.cycles(3, Module::Stopped);
    rig.cycles(10, Module::Works);
    let own: Vec<usize> =
        (0..rig.sources.len()).filter(|n| rig.sources[*n] == CommandSource::Watchdog).collect();
    // Three missed cycles, then three commands in a row.
    assert_eq!(own, [10, 11, 12, 13, 14, 15]);
    let unit = CommandSource::Unit(0);
    let missing = Reason::Fault(Fault::DecisionMissing);
    let [(from, to, reason), back] = rig.switches[..] else { panic!("{:?}", rig.switches) };
    assert_eq!((from, to, reason), (unit, CommandSource::Watchdog, missing));
    assert_eq!((back.0, back.2), (CommandSource::Watchdog, Reason::Returned));

    // A command missed while it waits for them begins the count again, and no more than `return_after` are needed.
    let returned = |pattern: &[(u32, Module)]| {
        let mut rig = Rig::new(1, [0.0; 4], true);
        pattern.iter().for_each(|(count, module)| rig.cycles(*count, *module));
        rig.sources.last() != Some(&CommandSource::Watchdog)
    };
    let (works, stopped) = (Module::Works, Module::Stopped);
    assert!(!returned(&[(9, works), (3, stopped), (2, works), (1, stopped), (4, works)]));
    assert!(returned(&[(9, works), (3, stopped), (2, works), (1, stopped), (5, works)]));
    assert!(!returned(&[(9, works), (100, stopped), (25, works)]));
    assert!(returned(&[(9, works), (100, stopped), (26, works)]));
}

#[test]
fn every_unusable_command_is_a_missing_one() {
    for fault in FAULTS {
        let mut rig = Rig::new(2, [0.0; 4], true);
        rig.cycles(50, Module::Works);
        rig.cycles(500, fault);
        assert!(rig.stands(), "{fault:?}");
        let own = rig.sources.iter().filter(|source| **source == CommandSource::Watchdog).count();
        assert_eq!(own, 500, "{fault:?}");
    }
}

#[test]
fn a_thousand_random_histories_of_a_faulty_module_lose_no_pendulum() {
    let (mut lost_without, mut longest) = (0, 0);
    for seed in 0..1000 {
        let mut random = Random::from_seed(seed).fork(7);
        let start = [random.between(-0.1, 0.1), 0.0, random.between(-0.05, 0.05), 0.0];
        let mut rigs = [true, false].map(|watchdog| Rig::new(seed, start, watchdog));
        for _ in 0..6 {
            let works = random.below(60) as u32 + 1;
            let fault = FAULTS[random.below(FAULTS.len() as u64) as usize];
            let faulty = random.below(80) as u32 + 1;
            longest = longest.max(faulty);
            for rig in &mut rigs {
                rig.cycles(works, Module::Works);
                rig.cycles(faulty, fault);
            }
        }
        rigs[0].cycles(60, Module::Works);
        assert!(rigs[0].stands(), "seed {seed}");
        // With the module back for long enough, it commands again: a unit, or the safety controller.
        let last = rigs[0].sources.last();
        assert!(
            matches!(last, Some(CommandSource::Unit(0) | CommandSource::Safety)),
            "seed {seed}: {last:?}"
        );
        lost_without += u32::from(!rigs[1].stands());
    }
    assert!(lost_without > 900, "the histories are dangerous: {lost_without} of 1000 without");
    assert_eq!(longest, 80);
}

#[test]
fn a_pendulum_beyond_help_gets_zero_volts_until_the_module_is_back() {
    let settings = Settings::default();
    let mut watchdog = Watchdog::new(&settings, PERIOD).unwrap();
    let sample = |sequence, angle| Sensors { sequence, angle, ..Sensors::default() };
    assert_eq!(watchdog.judge(0, None), None);
    let fallen = watchdog.command(&sample(0, 0.6));
    assert_eq!((fallen.volts, fallen.source), (0.0, CommandSource::FailSafe));
    // Upright again, it still does not trust itself.
    let mut cycle = 1;
    while cycle < 40 {
        assert_eq!(watchdog.judge(cycle, None), None);
        assert_eq!(watchdog.command(&sample(cycle, 0.0)).source, CommandSource::FailSafe);
        cycle += 1;
    }
    let safety = u32::from(CommandSource::Safety.code());
    while watchdog.has_plant() {
        let command = Command { sequence: cycle, unit: safety, volts: 0.5, stamp: Instant::ZERO };
        assert_eq!(watchdog.judge(cycle, Some(command)), None);
        cycle += 1;
    }
    let command = Command { sequence: cycle, unit: safety, volts: 0.5, stamp: Instant::ZERO };
    let chosen = watchdog.judge(cycle, Some(command)).unwrap();
    assert_eq!((chosen.volts, chosen.source), (0.5, CommandSource::Safety));
    assert!(matches!(chosen.switch, Some(Event::Switch { from: CommandSource::FailSafe, .. })));
    assert_eq!(watchdog.judge(cycle + 1, None), None);
    assert_eq!(watchdog.command(&sample(cycle + 1, 0.0)).source, CommandSource::Watchdog);
}

#[test]
fn implausible_sensors_and_the_modules_own_fail_safe_end_in_zero_volts() {
    let mut watchdog = Watchdog::new(&Settings::default(), PERIOD).unwrap();
    let sources: Vec<_> = (0..6)
        .map(|sequence| {
            assert_eq!(watchdog.judge(sequence, None), None);
            let angle = if sequence == 0 { 0.0 } else { 0.3 };
            watchdog.command(&Sensors { sequence, angle, ..Sensors::default() }).source
        })
        .collect();
    let (own, rest) = (CommandSource::Watchdog, CommandSource::FailSafe);
    assert_eq!(sources, [own, own, own, own, rest, rest]);

    let mut watchdog = Watchdog::new(&Settings::default(), PERIOD).unwrap();
    let fail_safe = u32::from(CommandSource::FailSafe.code());
    let command = Command { sequence: 0, unit: fail_safe, volts: 0.0, stamp: Instant::ZERO };
    assert_eq!(watchdog.judge(0, Some(command)).unwrap().source, CommandSource::FailSafe);
    assert_eq!(watchdog.judge(1, None), None);
    let sensors = Sensors { sequence: 1, ..Sensors::default() };
    assert_eq!(watchdog.command(&sensors).source, CommandSource::FailSafe);
}
