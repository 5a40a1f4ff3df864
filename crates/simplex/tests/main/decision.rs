//! The decision module cycle by cycle.

use hemiola_simplex::{
    Answer, CLIP_VOLTS, Command, CommandSource, Decided, Decision, DecodeError, Event, Fault, Gain,
    Reason, Request, RequestError, Role, SLOTS, Sensors, Settings, SettingsError, UnitId, UnitSet,
    UnitState,
};
use hemiola_units::{Instant, Span};

use crate::world::gain;

const PERIOD: Span = Span::from_millis(20);

/// A decision module with a pendulum at rest.
struct Bench {
    decision: Decision,
    cycle: u64,
    angle: f64,
    answers: [Answer; SLOTS],
}

impl Bench {
    fn new(settings: Settings) -> Self {
        let decision = Decision::new(settings, PERIOD).unwrap();
        Self { decision, cycle: 0, angle: 0.0, answers: [Answer::None; SLOTS] }
    }

    /// With healthy units of generation 1 in slots 0 (active) and 1 (shadow).
    fn with_two_units() -> Self {
        let mut bench = Self::new(Settings::default());
        bench.add(0, 1, Role::Active);
        bench.add(1, 1, Role::Shadow);
        for _ in 0..30 {
            bench.good(&[0, 1]);
        }
        assert_eq!(bench.state(0), UnitState::Active);
        assert_eq!(bench.state(1), UnitState::Shadow);
        bench
    }

    fn add(&mut self, slot: u8, generation: u32, role: Role) {
        let unit = UnitId { slot, generation };
        self.decision.request(Request::Add { unit, role, budget: Span::from_millis(1) }).unwrap();
    }

    fn command(&self, slot: u8) -> Command {
        let unit = self.decision.status().units.iter().find(|u| u.slot == slot).unwrap().generation;
        Command { sequence: self.cycle, unit, volts: 0.01, stamp: Instant::ZERO }
    }

    /// Runs a cycle in which these slots answer well and the others as set in `answers`.
    fn good(&mut self, slots: &[u8]) -> Decided {
        for slot in slots {
            self.answers[usize::from(*slot)] = Answer::Command(self.command(*slot));
        }
        self.cycle()
    }

    fn cycle(&mut self) -> Decided {
        let at = Instant::ZERO + PERIOD * self.cycle as i64;
        let sensors = Sensors {
            sequence: self.cycle,
            sampled: at,
            // Moves by less than one converter step, like noise.
            position: if self.cycle.is_multiple_of(2) { 1e-4 } else { -1e-4 },
            angle: self.angle,
            ..Sensors::default()
        };
        self.decision.sense(&sensors);
        let decided = self.decision.decide(&self.answers, at + Span::from_millis(4));
        self.decision.check_invariants();
        assert!(decided.volts.abs() <= CLIP_VOLTS);
        self.cycle += 1;
        self.answers = [Answer::None; SLOTS];
        decided
    }

    fn state(&self, slot: u8) -> UnitState {
        self.decision.status().units.iter().find(|u| u.slot == slot).unwrap().state
    }
}

/// The first unit in a slot.
fn first(slot: u8) -> UnitId {
    UnitId { slot, generation: 1 }
}

fn switch(decided: &Decided) -> Option<(CommandSource, CommandSource, Reason)> {
    decided.events.iter().find_map(|event| match *event {
        Event::Switch { from, to, reason } => Some((from, to, reason)),
        _ => None,
    })
}

#[test]
fn every_bad_answer_switches_to_safety_in_the_same_cycle() {
    type Spoil = fn(&mut Command) -> Option<Answer>;
    let cases: [(Fault, Spoil); 12] = [
        (Fault::Missing, |_| Some(Answer::Missing)),
        (Fault::Missing, |_| Some(Answer::None)),
        (Fault::Late, |_| Some(Answer::Late)),
        (Fault::Malformed, |_| Some(Answer::Malformed(DecodeError::Version(9)))),
        (Fault::OutOfFuel, |_| Some(Answer::OutOfFuel)),
        (Fault::Trapped, |_| Some(Answer::Trapped)),
        (Fault::Stale, |c| {
            c.sequence -= 1;
            None
        }),
        (Fault::Ahead, |c| {
            c.sequence += 1;
            None
        }),
        (Fault::WrongUnit, |c| {
            c.unit += 1;
            None
        }),
        (Fault::NotFinite, |c| {
            c.volts = f64::NAN;
            None
        }),
        (Fault::NotFinite, |c| {
            c.volts = f64::NEG_INFINITY;
            None
        }),
        (Fault::OutOfRange, |c| {
            c.volts = 4.9501;
            None
        }),
    ];
    for (fault, spoil) in cases {
        let mut bench = Bench::with_two_units();
        let mut command = bench.command(0);
        let answer = spoil(&mut command).unwrap_or(Answer::Command(command));
        bench.answers[0] = answer;
        let decided = bench.good(&[1]);
        assert_eq!(decided.source, CommandSource::Safety, "{fault:?}");
        assert!(decided.events.contains(&Event::Fault { slot: Some(0), fault }), "{fault:?}");
        assert_eq!(
            switch(&decided),
            Some((CommandSource::Unit(0), CommandSource::Safety, Reason::Fault(fault)))
        );
    }
}

#[test]
fn control_returns_after_twenty_five_good_answers_and_not_before() {
    let mut bench = Bench::with_two_units();
    bench.good(&[1]);
    for _ in 0..24 {
        assert_eq!(bench.good(&[0, 1]).source, CommandSource::Safety);
    }
    let back = bench.good(&[0, 1]);
    assert_eq!(
        switch(&back),
        Some((CommandSource::Safety, CommandSource::Unit(0), Reason::Returned))
    );
}

#[test]
fn a_unit_with_too_many_strikes_retires_and_its_predecessor_takes_over() {
    let mut bench = Bench::with_two_units();
    bench.decision.request(Request::Promote { unit: first(1) }).unwrap();
    assert_eq!(
        switch(&bench.good(&[0, 1])),
        Some((CommandSource::Unit(0), CommandSource::Unit(1), Reason::Promoted))
    );
    assert_eq!((bench.state(0), bench.state(1)), (UnitState::Standby, UnitState::Active));
    for strike in 1..=5 {
        assert_eq!(bench.good(&[0]).source, CommandSource::Safety, "strike {strike}");
        for _ in 0..25 {
            bench.good(&[0, 1]);
        }
    }
    assert_eq!((bench.state(0), bench.state(1)), (UnitState::Active, UnitState::Retired));
    assert_eq!(bench.good(&[0, 1]).source, CommandSource::Unit(0));
    assert_eq!(
        bench.decision.request(Request::Promote { unit: first(1) }),
        Err(RequestError::Gone { slot: 1, state: UnitState::Retired })
    );
}

#[test]
fn a_shadow_never_actuates_and_its_faults_are_counted() {
    let mut bench = Bench::with_two_units();
    for _ in 0..20 {
        let command = Command { volts: f64::NAN, ..bench.command(1) };
        bench.answers[1] = Answer::Command(command);
        assert_eq!(bench.good(&[0]).source, CommandSource::Unit(0));
    }
    let status = bench.decision.status();
    let shadow = status.units.iter().find(|unit| unit.slot == 1).unwrap();
    assert_eq!((shadow.faults, shadow.last_fault), (20, Some(Fault::NotFinite)));
    assert_eq!(
        bench.decision.request(Request::Promote { unit: first(1) }).unwrap_err().to_string(),
        "the unit in slot 1 is not healthy: 0 acceptable answers in a row of the 25 needed; \
         last fault: not-finite"
    );
}

#[test]
fn a_silent_active_unit_fails_and_the_safety_controller_stays() {
    let mut bench = Bench::new(Settings::default());
    bench.add(3, 1, Role::Active);
    assert_eq!(bench.good(&[3]).source, CommandSource::Unit(3));
    for _ in 0..50 {
        bench.cycle();
    }
    assert_eq!(bench.state(3), UnitState::Failed);
    assert_eq!(bench.decision.status().active, None);
    for _ in 0..100 {
        assert_eq!(bench.cycle().source, CommandSource::Safety);
    }
}

#[test]
fn a_sandboxed_unit_that_was_stopped_fails_at_once_and_alone() {
    for (answer, fault) in
        [(Answer::OutOfFuel, Fault::OutOfFuel), (Answer::Trapped, Fault::Trapped)]
    {
        let mut bench = Bench::with_two_units();
        bench.answers[1] = answer;
        let decided = bench.good(&[0]);
        assert_eq!(decided.source, CommandSource::Unit(0), "a shadow harms nobody");
        assert_eq!((bench.state(0), bench.state(1)), (UnitState::Active, UnitState::Failed));
        assert!(decided.events.contains(&Event::Fault { slot: Some(1), fault }));
        bench.answers[0] = answer;
        assert_eq!(bench.cycle().source, CommandSource::Safety);
        assert_eq!(bench.state(0), UnitState::Failed);
        assert_eq!(bench.decision.status().active, None);
    }
}

#[test]
fn a_stopped_unit_hands_over_to_its_predecessor() {
    let mut bench = Bench::with_two_units();
    bench.decision.request(Request::Promote { unit: first(1) }).unwrap();
    bench.good(&[0, 1]);
    bench.answers[1] = Answer::Trapped;
    let decided = bench.good(&[0]);
    assert_eq!(decided.source, CommandSource::Safety, "in the same cycle");
    assert_eq!((bench.state(0), bench.state(1)), (UnitState::Active, UnitState::Failed));
    for _ in 0..25 {
        bench.good(&[0]);
    }
    assert_eq!(bench.good(&[0]).source, CommandSource::Unit(0));
}

#[test]
fn strikes_are_forgiven_with_acceptable_answers() {
    let mut bench = Bench::with_two_units();
    bench.good(&[1]);
    assert_eq!(bench.decision.status().units[0].strikes, 1);
    for _ in 0..1600 {
        bench.good(&[0, 1]);
    }
    assert_eq!(bench.decision.status().units[0].strikes, 0);
}

#[test]
fn a_new_unit_in_the_slot_is_not_taken_for_the_old_one() {
    let mut bench = Bench::with_two_units();
    let old = bench.command(0);
    bench.decision.request(Request::Remove { units: first(0).into() }).unwrap();
    assert_eq!(
        bench.decision.request(Request::Add {
            unit: first(0),
            role: Role::Shadow,
            budget: Span::from_millis(1)
        }),
        Err(RequestError::OldGeneration { slot: 0, generation: 1, last: 1 })
    );
    bench.add(0, 2, Role::Shadow);
    bench.answers[0] = Answer::Command(Command { sequence: bench.cycle, ..old });
    let decided = bench.good(&[1]);
    assert_eq!(
        switch(&decided),
        Some((CommandSource::Unit(0), CommandSource::Safety, Reason::Removed))
    );
    assert!(decided.events.contains(&Event::Fault { slot: Some(0), fault: Fault::WrongUnit }));
    let unit = UnitId { slot: 0, generation: 2 };
    assert_eq!(
        bench.decision.request(Request::Promote { unit }),
        Err(RequestError::StillStarting { slot: 0 })
    );
    for _ in 0..30 {
        assert_eq!(bench.good(&[0, 1]).source, CommandSource::Safety);
    }
    // A late request about the old unit does not reach the new one.
    let units = UnitSet::from(first(0));
    let refusal = Err(RequestError::AnotherUnit { unit: first(0), present: 2 });
    assert_eq!(bench.decision.request(Request::Remove { units }), refusal);
    bench.decision.request(Request::Promote { unit }).unwrap();
    assert_eq!(bench.good(&[0, 1]).source, CommandSource::Unit(0));
}

#[test]
fn units_removed_together_never_hand_control_to_each_other() {
    let mut bench = Bench::with_two_units();
    bench.decision.request(Request::Promote { unit: first(1) }).unwrap();
    bench.good(&[0, 1]);
    // The standby unit in slot 0 would follow the active one in slot 1.
    let units = [first(0), first(1)].into_iter().collect();
    let events = bench.decision.request(Request::Remove { units }).unwrap();
    let removed = |slot| Event::UnitState { slot, state: UnitState::Removed, generation: 1 };
    assert_eq!(events.as_slice(), [removed(0), removed(1)]);
    assert_eq!(
        switch(&bench.good(&[0, 1])),
        Some((CommandSource::Unit(1), CommandSource::Safety, Reason::Removed))
    );
}

#[test]
fn invalid_requests_are_refused_and_change_nothing() {
    let mut bench = Bench::with_two_units();
    let before = bench.decision.status();
    let add = |slot, role| Request::Add {
        unit: UnitId { slot, generation: 9 },
        role,
        budget: Span::from_millis(1),
    };
    let remove = |units: &[UnitId]| Request::Remove { units: units.iter().copied().collect() };
    let later = UnitId { slot: 1, generation: 2 };
    for (request, wanted) in [
        (add(8, Role::Shadow), "slot 8 does not exist; slots are 0 to 7"),
        (add(0, Role::Shadow), "slot 0 is in use by generation 1; remove or replace that unit"),
        (
            add(2, Role::Active),
            "the unit in slot 0 is active already; add this one in shadow and promote it",
        ),
        (Request::Promote { unit: first(0) }, "the unit in slot 0 is active already"),
        (Request::Promote { unit: first(5) }, "slot 5 has no unit"),
        (remove(&[first(5)]), "slot 5 has no unit"),
        (remove(&[]), "the request names no unit"),
        (Request::Promote { unit: later }, "slot 1 has generation 1, not 2"),
        // All or nothing: slot 0 keeps its unit.
        (remove(&[first(0), later]), "slot 1 has generation 1, not 2"),
        (Request::Resume, "the decision module is not in its fail-safe"),
    ] {
        assert_eq!(bench.decision.request(request).unwrap_err().to_string(), wanted);
        assert_eq!(bench.decision.status(), before);
    }
}

#[test]
fn an_exited_unit_fails_at_once_and_late_reports_are_ignored() {
    let mut bench = Bench::with_two_units();
    bench.decision.request(Request::Exited { unit: UnitId { slot: 0, generation: 0 } }).unwrap();
    assert_eq!(bench.state(0), UnitState::Active);
    bench.decision.request(Request::Exited { unit: UnitId { slot: 0, generation: 1 } }).unwrap();
    let decided = bench.good(&[1]);
    assert_eq!(
        switch(&decided),
        Some((CommandSource::Unit(0), CommandSource::Safety, Reason::Fault(Fault::Exited)))
    );
}

#[test]
fn one_outlier_is_bridged_and_persistent_ones_end_in_the_fail_safe() {
    let mut bench = Bench::with_two_units();
    bench.angle = 0.4;
    let wild = bench.good(&[0, 1]);
    assert_eq!(wild.source, CommandSource::Unit(0));
    let fault = Fault::SensorsImplausible;
    assert!(wild.events.contains(&Event::Fault { slot: None, fault }));
    bench.angle = 0.0;
    bench.good(&[0, 1]);
    bench.angle = 0.4;
    let last = (0..4).map(|_| bench.good(&[0, 1])).last().unwrap();
    assert_eq!((last.source, last.volts), (CommandSource::FailSafe, 0.0));
    bench.angle = 0.0;
    assert_eq!(bench.good(&[0, 1]).source, CommandSource::FailSafe);
    bench.decision.request(Request::Resume).unwrap();
    let resumed = bench.good(&[0, 1]);
    assert_eq!(
        switch(&resumed),
        Some((CommandSource::FailSafe, CommandSource::Safety, Reason::Resumed))
    );
}

#[test]
fn a_fallen_rod_ends_in_the_fail_safe() {
    let mut bench = Bench::new(Settings::default());
    bench.angle = 31f64.to_radians();
    let decided = bench.cycle();
    assert_eq!((decided.source, decided.volts), (CommandSource::FailSafe, 0.0));
    assert_eq!(bench.decision.status().fail_safe, Some(Fault::PlantLost));
}

#[test]
fn deciding_without_sensors_gives_zero_volts() {
    let mut bench = Bench::with_two_units();
    let decided = bench.decision.decide(&[Answer::None; SLOTS], Instant::ZERO);
    assert_eq!((decided.source, decided.volts), (CommandSource::FailSafe, 0.0));
    assert_eq!(bench.good(&[0, 1]).source, CommandSource::Safety);
}

#[test]
fn invalid_settings_are_refused() {
    let new = |settings| Decision::new(settings, PERIOD).map(|_| ()).unwrap_err();
    assert!(matches!(
        new(Settings { accept_below: 1.5, ..Settings::default() }),
        SettingsError::Threshold { name: "accept_below", .. }
    ));
    assert!(matches!(
        new(Settings { safety: Gain([0.0; 4]), ..Settings::default() }),
        SettingsError::Region(_)
    ));
    assert!(matches!(
        new(Settings { safety: gain("experimental"), ..Settings::default() }),
        SettingsError::Region(_)
    ));
    assert!(Decision::new(Settings::default(), Span::from_millis(500)).is_err());
}
