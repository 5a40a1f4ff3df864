//! How the decision module counts silence, blame, late samples and previous units.

use hemiola_simplex::{
    Answer, CLIP_VOLTS, Command, CommandSource, Decided, Decision, Event, Fault, Model, Reason,
    Request, Role, SLOTS, Sensors, Settings, UnitId, UnitState, Usage,
};
use hemiola_units::{Instant, Span};

const PERIOD: Span = Span::from_millis(20);

/// A decision module in a loop of 20 ms, with answers set cycle by cycle.
struct Loop {
    decision: Decision,
    cycle: u64,
    angle: f64,
    /// Age of the sample at the decision.
    age: Span,
    /// The estimated state of the last cycle.
    estimate: [f64; 4],
}

impl Loop {
    fn new(units: &[(u8, Role)]) -> Self {
        Self::with(Settings::default(), units)
    }

    fn with(settings: Settings, units: &[(u8, Role)]) -> Self {
        let mut decision = Decision::new(settings, PERIOD).unwrap();
        for (slot, role) in units {
            let unit = UnitId { slot: *slot, generation: 1 };
            decision
                .request(Request::Add { unit, role: *role, budget: Span::from_millis(1) })
                .unwrap();
        }
        Self { decision, cycle: 0, angle: 0.0, age: Span::from_millis(4), estimate: [0.0; 4] }
    }

    /// A cycle in which each slot answers with its voltage, and the other slots do not answer.
    fn answer(&mut self, volts: &[(u8, f64)]) -> Decided {
        let mut answers = [Answer::Missing; SLOTS];
        for (slot, volts) in volts {
            let unit = self.decision.unit(*slot).unwrap().generation;
            let (sequence, volts, stamp) = (self.cycle, *volts, Instant::ZERO);
            answers[usize::from(*slot)] = Answer::Command(Command { sequence, unit, volts, stamp });
        }
        let sampled = Instant::ZERO + PERIOD * self.cycle as i64;
        let sensors = Sensors {
            sequence: self.cycle,
            sampled,
            // Noise below the resolution, so that the channel does not look stuck.
            position: if self.cycle.is_multiple_of(2) { 1e-4 } else { -1e-4 },
            angle: self.angle,
            ..Sensors::default()
        };
        self.estimate = self.decision.sense(&sensors).state;
        let decided = self.decision.decide(&answers, sampled + self.age);
        self.decision.check_invariants();
        self.cycle += 1;
        decided
    }

    fn state(&self, slot: u8) -> UnitState {
        self.decision.unit(slot).unwrap().state
    }
}

fn fault(decided: &Decided, slot: Option<u8>, fault: Fault) -> bool {
    decided.events.contains(&Event::Fault { slot, fault })
}

#[test]
fn a_starting_unit_has_ten_times_the_silence_limit() {
    let mut silent = Loop::new(&[(0, Role::Active)]);
    let limit = Settings::default().give_up_after;
    for _ in 0..10 * limit - 1 {
        silent.answer(&[]);
    }
    assert_eq!(silent.state(0), UnitState::Starting);
    assert!(fault(&silent.answer(&[]), Some(0), Fault::Missing));
    assert_eq!(silent.state(0), UnitState::Failed);
}

#[test]
fn a_starting_unit_that_waits_for_the_processor_is_not_silent() {
    let limit = 10 * Settings::default().give_up_after;
    // The budget is 1 ms.
    let after = |cycles: u32, used: Span, runnable: bool| {
        let mut unit = Loop::new(&[(0, Role::Active)]);
        for _ in 0..cycles {
            unit.decision.meter([Usage { used, runnable, ending: false }; SLOTS]);
            unit.answer(&[]);
        }
        unit.state(0)
    };
    let (starting, failed) = (UnitState::Starting, UnitState::Failed);
    assert_eq!(after(limit * 9, Span::ZERO, true), starting, "it gets no processor time");
    assert_eq!(after(limit, Span::ZERO, false), failed, "it sleeps");
    assert_eq!(after(limit, Span::from_millis(2), true), failed, "it computes without end");
    // It has used its budget in every fourth cycle.
    let slow = Span::from_micros(300);
    assert_eq!(after(limit * 4 - 1, slow, true), starting);
    assert_eq!(after(limit * 4, slow, true), failed);
}

#[test]
fn a_unit_whose_process_ends_is_not_over_budget() {
    // The budget is 1 ms. The end is the cause, however long dying takes; it is not told in each cycle.
    for (used, runnable) in [(0, false), (300, true), (5_000, true), (5_000, false)] {
        let used = Span::from_micros(used);
        let mut pair = Loop::new(&[(0, Role::Active), (1, Role::Shadow)]);
        pair.answer(&[(0, 0.01), (1, 0.01)]);
        let usage = |slot| match slot {
            0 => Usage { used, runnable, ending: true },
            _ => Usage::default(),
        };
        pair.decision.meter(std::array::from_fn(usage));
        let decided = pair.answer(&[(1, 0.01)]);
        assert_eq!(decided.source, CommandSource::Safety);
        let expected = Event::Fault { slot: Some(0), fault: Fault::Exited };
        let is_fault = |event: &&Event| matches!(event, Event::Fault { .. });
        assert_eq!(decided.events.iter().filter(is_fault).collect::<Vec<_>>(), [&expected]);
        let reason = Reason::Fault(Fault::Exited);
        let (from, to) = (CommandSource::Unit(0), CommandSource::Safety);
        assert!(decided.events.contains(&Event::Switch { from, to, reason }));
        pair.decision.meter(std::array::from_fn(usage));
        assert!(!fault(&pair.answer(&[(1, 0.01)]), Some(0), Fault::Exited));
        // The runner has noticed it too, and the unit fails for it.
        let unit = UnitId { slot: 0, generation: 1 };
        assert!(pair.decision.request(Request::Exited { unit }).unwrap().contains(&expected));
        pair.answer(&[(1, 0.01)]);
        assert_eq!((pair.state(0), pair.state(1)), (UnitState::Failed, UnitState::Shadow));
    }
}

#[test]
fn an_answer_of_a_unit_that_then_ends_still_counts() {
    let mut pair = Loop::new(&[(0, Role::Active), (1, Role::Shadow)]);
    pair.answer(&[(0, 0.01), (1, 0.01)]);
    let ending = Usage { used: Span::from_micros(300), runnable: false, ending: true };
    let usage = |slot| if slot == 0 { ending } else { Usage::default() };
    pair.decision.meter(std::array::from_fn(usage));
    let decided = pair.answer(&[(0, 0.01)]);
    assert_eq!(decided.source, CommandSource::Unit(0));
    assert!(!fault(&decided, Some(0), Fault::Exited));
}

#[test]
fn a_running_unit_has_the_silence_limit_itself() {
    let mut silent = Loop::new(&[(0, Role::Shadow)]);
    silent.answer(&[(0, 0.01)]);
    for _ in 0..Settings::default().give_up_after - 1 {
        silent.answer(&[]);
    }
    assert_eq!(silent.state(0), UnitState::Shadow);
    silent.answer(&[]);
    assert_eq!(silent.state(0), UnitState::Failed);
}

#[test]
fn without_a_silence_limit_no_unit_fails_for_its_silence() {
    let settings = Settings { give_up_after: 0, ..Settings::default() };
    let mut silent = Loop::with(settings, &[(0, Role::Active), (1, Role::Shadow)]);
    silent.answer(&[(1, 0.01)]);
    for _ in 0..20 * Settings::default().give_up_after {
        silent.answer(&[]);
    }
    assert_eq!((silent.state(0), silent.state(1)), (UnitState::Starting, UnitState::Shadow));
}

#[test]
fn control_never_falls_back_to_another_generation() {
    let mut pair = Loop::new(&[(0, Role::Active), (1, Role::Shadow)]);
    for _ in 0..30 {
        pair.answer(&[(0, 0.01), (1, 0.01)]);
    }
    let unit = |slot, generation| UnitId { slot, generation };
    pair.decision.request(Request::Promote { unit: unit(1, 1) }).unwrap();
    pair.answer(&[(0, 0.01), (1, 0.01)]);
    assert_eq!(pair.state(0), UnitState::Standby);
    pair.decision.request(Request::Remove { units: unit(0, 1).into() }).unwrap();
    pair.decision
        .request(Request::Add {
            unit: unit(0, 2),
            role: Role::Shadow,
            budget: Span::from_millis(1),
        })
        .unwrap();
    for _ in 0..30 {
        pair.answer(&[(0, 0.01), (1, 0.01)]);
    }
    pair.decision.request(Request::Exited { unit: unit(1, 1) }).unwrap();
    assert_eq!(pair.answer(&[(0, 0.01)]).source, CommandSource::Safety);
    assert_eq!((pair.decision.active(), pair.state(0)), (None, UnitState::Shadow));
}

/// A loop with a unit in control and a shadow, tilted until V is above `return_below`.
fn tilted() -> Loop {
    let mut pair = Loop::new(&[(0, Role::Active), (1, Role::Shadow)]);
    pair.answer(&[(0, 0.01), (1, 0.01)]);
    loop {
        pair.angle += 2e-4;
        let decided = pair.answer(&[(0, 0.01), (1, 0.01)]);
        assert_eq!(decided.source, CommandSource::Unit(0), "V {}", decided.v_now);
        if decided.v_now > Settings::default().return_below + 0.2 {
            return pair;
        }
    }
}

/// A voltage that leaves the region from the estimated state of the last cycle.
fn unsafe_volts(pair: &Loop) -> f64 {
    let model = Model::new(PERIOD).unwrap();
    let v = |volts: f64| pair.decision.region().value(&model.predict(&pair.estimate, volts));
    let worst = if v(CLIP_VOLTS) > v(-CLIP_VOLTS) { CLIP_VOLTS } else { -CLIP_VOLTS };
    assert!(v(worst) > Settings::default().accept_below + 0.05, "{}", v(worst));
    worst
}

#[test]
fn a_unit_not_in_control_is_not_blamed_for_a_state_beyond_the_return_threshold() {
    let mut pair = tilted();
    let before = pair.decision.unit(1).unwrap();
    let volts = unsafe_volts(&pair);
    let decided = pair.answer(&[(0, 0.01), (1, volts)]);
    assert!(decided.v_now > Settings::default().return_below);
    assert!(!fault(&decided, Some(1), Fault::LeavesRegion));
    let after = pair.decision.unit(1).unwrap();
    assert_eq!((after.faults, after.clean), (before.faults, before.clean));
}

#[test]
fn a_unit_not_in_control_is_blamed_below_the_return_threshold_and_not_at_it() {
    let angle = tilted().angle;
    // The shadow answers unsafely in the second cycle at this angle. Returns V then, and whether it was blamed.
    let blamed = |return_below: f64| {
        let settings = Settings { return_below, ..Settings::default() };
        let mut pair = Loop::with(settings, &[(0, Role::Active), (1, Role::Shadow)]);
        while pair.angle < angle {
            pair.answer(&[(0, 0.01), (1, 0.01)]);
            pair.angle += 2e-4;
        }
        pair.answer(&[(0, 0.01), (1, 0.01)]);
        let volts = unsafe_volts(&pair);
        let decided = pair.answer(&[(0, 0.01), (1, volts)]);
        (decided.v_now, fault(&decided, Some(1), Fault::LeavesRegion))
    };
    let (v, _) = blamed(Settings::default().return_below);
    assert_eq!(blamed(v), (v, false));
    assert_eq!(blamed(v.next_up()), (v, true));
}

#[test]
fn the_unit_in_control_is_blamed_beyond_the_return_threshold_too() {
    let mut pair = tilted();
    let volts = unsafe_volts(&pair);
    let decided = pair.answer(&[(0, volts), (1, 0.01)]);
    assert!(decided.v_now > Settings::default().return_below);
    assert!(fault(&decided, Some(0), Fault::LeavesRegion));
    assert_eq!((decided.source, pair.decision.unit(0).unwrap().faults), (CommandSource::Safety, 1));
}

#[test]
fn a_sample_is_late_when_it_is_older_than_a_period() {
    let mut late = Loop::new(&[]);
    for (age, expected) in [(PERIOD, false), (PERIOD + Span::from_nanos(1), true)] {
        late.age = age;
        assert_eq!(fault(&late.answer(&[]), None, Fault::SensorsLate), expected, "{age}");
    }
}

#[test]
fn samples_since_the_last_acceptable_answer_are_counted_until_the_next() {
    let mut pair = Loop::new(&[(0, Role::Active), (1, Role::Shadow)]);
    pair.answer(&[(0, 0.01), (1, 0.01)]);
    assert_eq!(pair.decision.since_acceptable(1), 0);
    pair.answer(&[(0, 0.01), (1, f64::NAN)]);
    pair.answer(&[(0, 0.01)]);
    assert_eq!([0, 1, 2].map(|slot| pair.decision.since_acceptable(slot)), [0, 2, 0]);
    pair.answer(&[(0, 0.01), (1, 0.01)]);
    assert_eq!(pair.decision.since_acceptable(1), 0);
}
