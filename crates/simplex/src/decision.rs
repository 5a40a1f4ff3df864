//! The decision module: who may actuate in this cycle.
//!
//! Each cycle has two halves. [`Decision::sense`] estimates the state and computes the safety command,
//! from the sample alone; [`Decision::decide`] judges the units' answers and always gives
//! a voltage. Neither allocates, waits or fails.
//!
//! **What is covered:** any behaviour of any unit, or of several together. An answer is used only when
//! it comes from the active unit and is present, for this very sample, of the right generation,
//! finite, within the usable command, and leads to a predicted state with `V ≤ accept_below`.
//! Otherwise the safety controller acts in the same cycle. It gives control back after
//! `return_after` acceptable answers in a row and with `V < return_below`. Each loss of control is a
//! strike; struck-out units retire and the one active before becomes the candidate.
//!
//! **What is not covered:** a faulty decision module, sensor faults and the loss of the actuator.
//! Single wild samples are bridged by prediction. Samples that stay wild, channels that do not change
//! although the pendulum moves, and a pendulum beyond its limits end in the fail-safe: 0 V, reported,
//! until [`Request::Resume`]. Small offsets, reversed signs and swapped channels look like a state
//! that could be; they are found only once the pendulum contradicts them, if at all.

use std::ops::Deref;

use hemiola_plant::{ANGLE_LOST, POSITION_STOP};
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::event::{Event, Events, Fault, Reason, Source};
use crate::matrix::Vector;
use crate::observer::DISBELIEVED_MAX;
use crate::performance::{self, Monitor, Remedy};
use crate::unit::{Happening, Role, Unit, UnitState};
use crate::{
    CLIP_VOLTS, Command, DecodeError, Gain, Model, ModelError, Observer, Region, RegionError,
    SafetyController, Sensors,
};

#[cfg(doc)]
use crate::Request;

/// How many units can be attached at once.
pub const SLOTS: usize = 8;

/// The decision rule as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The safety controller's gain.
    pub safety: Gain,
    /// The region it recovers from; [`Region::of`] the gain when absent.
    pub region: Option<Region>,
    /// An answer is accepted when the predicted V is at most this. With 0.6 and a command leaving
    /// within 5 ms of the sample, an adversary who knows the rule gets the true V to 0.92 in 1000 runs;
    /// with neither waiting time nor strikes to 1.01. Lower it when commands leave later.
    pub accept_below: f64,
    /// Control is given back only with V below this,
    pub return_below: f64,
    /// and after so many acceptable answers in a row.
    pub return_after: u32,
    /// So many losses of control retire a unit; 0 for never.
    pub strikes: u32,
    /// A strike is forgiven after so many cycles in control without another; 0 for never.
    pub forgive_after: u32,
    /// A unit without a well-formed answer for so many cycles is given up; 0 for never. While it
    /// starts it has ten times as long.
    pub give_up_after: u32,
    /// A unit can be promoted after so many acceptable answers in a row.
    pub promote_after: u32,
    /// From the sample to when missing answers count as missing, shorter than the period; kept by the loop
    /// around the module.
    pub answer_within: Span,
    /// Whether and how performance is watched.
    pub performance: Option<performance::Settings>,
}

impl Default for Settings {
    /// The rule of 50 Hz.
    fn default() -> Self {
        Self {
            safety: Gain::named("safety").expect("the table of gains has it"),
            region: None,
            accept_below: 0.6,
            return_below: 0.25,
            return_after: 25,
            strikes: 5,
            forgive_after: 1500,
            give_up_after: 50,
            promote_after: 25,
            answer_within: Span::from_millis(4),
            performance: Some(performance::Settings::default()),
        }
    }
}

/// No decision module can be made from these settings.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The period is out of range.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The safety gain and the region do not belong together at this period.
    #[error("the safety controller: {0}")]
    Region(#[from] RegionError),
    /// A threshold is not in (0, 1].
    #[error("{name} = {value} is not above 0 and at most 1")]
    Threshold {
        /// Which one.
        name: &'static str,
        /// What it was.
        value: f64,
    },
    /// The performance monitor's window or limit is not above zero.
    #[error("the performance window and limit must be above zero")]
    Performance,
}

/// What a slot held when the waiting time was over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// There is no unit in this slot.
    None,
    /// There is a unit and no new answer.
    Missing,
    /// An answer came after the limit.
    Late,
    /// Bytes that are no command.
    Malformed(DecodeError),
    /// A command, not judged yet.
    Command(Command),
}

/// What [`Decision::sense`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensed {
    /// The estimated state.
    pub state: Vector,
    /// Its Lyapunov value.
    pub v: f64,
    /// What the safety controller would do, V.
    pub safety_volts: f64,
}

/// The decision of one cycle.
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    /// The motor voltage; always finite and within ±[`CLIP_VOLTS`].
    pub volts: f64,
    /// Whose it is.
    pub source: Source,
    /// V of the estimated state; not-a-number without one.
    pub v_now: f64,
    /// V predicted with the active unit's answer; not-a-number without a usable one.
    pub v_predicted: f64,
    /// What happened.
    pub events: Events,
}

/// A unit as a loop looks at it: without its name, so that looking allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitView {
    /// Which generation of the slot.
    pub generation: u32,
    /// Where it is in its life.
    pub state: UnitState,
    /// Losses of control not yet forgiven.
    pub strikes: u32,
    /// Acceptable answers in a row.
    pub clean: u32,
    /// Acceptable answers in all.
    pub answers: u64,
    /// Faulty answers in all.
    pub faults: u64,
    /// The newest fault.
    pub last_fault: Option<Fault>,
}

/// A unit as shown to people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitStatus {
    /// Its slot.
    pub slot: u8,
    /// Its name.
    pub name: String,
    /// How it stands.
    #[serde(flatten)]
    pub view: UnitView,
}

impl Deref for UnitStatus {
    type Target = UnitView;
    fn deref(&self) -> &UnitView {
        &self.view
    }
}

/// The module as shown to people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Whose voltage the last cycle had.
    pub source: Source,
    /// The unit that is used whenever it is acceptable.
    pub active: Option<u8>,
    /// Cost of the unit in control, as a multiple of what noise costs the safety controller.
    pub relative_cost: Option<f64>,
    /// Why the module is in its fail-safe, if it is.
    pub fail_safe: Option<Fault>,
    /// Every slot that has or had a unit.
    pub units: Vec<UnitStatus>,
}

/// The decision module.
#[derive(Clone, Debug)]
pub struct Decision {
    pub(crate) settings: Settings,
    safety: SafetyController,
    observer: Observer,
    stuck: [Stuck; 2],
    monitor: Option<Monitor>,
    sensors: Option<Sensors>,
    sensed: Sensed,
    input_fault: Option<Fault>,
    pub(crate) fail_safe: Option<Fault>,
    pub(crate) units: [Option<Unit>; SLOTS],
    pub(crate) active: Option<u8>,
    history: History,
    /// The safety controller is in control until the return rule is met.
    pub(crate) holding: bool,
    source: Source,
    pub(crate) reason: Reason,
}

impl Decision {
    /// A decision module for a loop of this period, without units.
    ///
    /// # Errors
    /// When the period, a threshold or the safety controller's region is not sound.
    pub fn new(settings: Settings, period: Span) -> Result<Self, SettingsError> {
        for (name, value) in
            [("accept_below", settings.accept_below), ("return_below", settings.return_below)]
        {
            if !(value > 0.0 && value <= 1.0) {
                return Err(SettingsError::Threshold { name, value });
            }
        }
        if let Some(performance) = settings.performance
            && !(performance.window.is_positive() && performance.limit > 0.0)
        {
            return Err(SettingsError::Performance);
        }
        let model = Model::new(period)?;
        let region = settings.region.unwrap_or_else(|| Region::of(&settings.safety));
        let safety = SafetyController::new(&model, settings.safety, region)?;
        let monitor = settings.performance.map(|p| Monitor::new(p, &model, &settings.safety));
        Ok(Self {
            safety,
            monitor,
            observer: Observer::new(model),
            stuck: [Stuck::new(POSITION_MOVED), Stuck::new(ANGLE_MOVED)],
            sensors: None,
            sensed: Sensed { state: [0.0; 4], v: f64::NAN, safety_volts: 0.0 },
            input_fault: None,
            fail_safe: None,
            units: Default::default(),
            active: None,
            history: History::default(),
            holding: true,
            source: Source::Held,
            reason: Reason::Started,
            settings,
        })
    }

    /// Tells the module the state at its first sample, where otherwise speeds are taken as zero.
    pub const fn assume(&mut self, state: Vector) {
        self.observer.assume(state);
    }

    /// First half of a cycle: the estimate and the safety command.
    pub fn sense(&mut self, sensors: &Sensors) -> Sensed {
        let before = self.observer.state();
        let state = self.observer.update(sensors);
        let period = self.observer.model().period;
        self.input_fault = None;
        if self.observer.disbelieved() > 0 {
            self.input_fault = Some(Fault::SensorsImplausible);
            if self.observer.disbelieved() > DISBELIEVED_MAX {
                self.fail(Fault::SensorsImplausible);
            }
        }
        if let Some(before) = before {
            let expected = self.observer.model().predict(&before, sensors.applied);
            let position = self.stuck[0].see(sensors.position, expected[0], period);
            let angle = self.stuck[1].see(sensors.angle, expected[2], period);
            if position || angle {
                self.fail(Fault::SensorsStuck);
            }
        }
        let believed = self.observer.disbelieved() == 0;
        if believed && (state[0].abs() >= POSITION_STOP || state[2].abs() > ANGLE_LOST) {
            self.fail(Fault::PlantLost);
        }
        self.sensors = Some(*sensors);
        self.sensed = Sensed {
            state,
            v: self.safety.region().value(&state),
            safety_volts: self.safety.command(&state),
        };
        self.sensed
    }

    /// Second half of a cycle: judges every answer and says what is put out.
    ///
    /// `now` is compared with the time of the sample: a sample older than a period is reported.
    /// Without [`Decision::sense`] since the last decision, the voltage is 0 V.
    pub fn decide(&mut self, answers: &[Answer; SLOTS], now: Instant) -> Decided {
        let mut events = Events::new();
        let Some(sensors) = self.sensors.take() else {
            events.push(Event::Fault { slot: None, fault: Fault::SensorsMissing });
            self.hold(Reason::Fault(Fault::SensorsMissing));
            return self.decided(0.0, Source::FailSafe, f64::NAN, events);
        };
        if now - sensors.sampled > self.observer.model().period {
            events.push(Event::Fault { slot: None, fault: Fault::SensorsLate });
        }
        if let Some(fault) = self.fail_safe.or(self.input_fault) {
            events.push(Event::Fault { slot: None, fault });
        }
        let verdicts: [Verdict; SLOTS] =
            std::array::from_fn(|slot| self.judge(slot, &answers[slot], &sensors));
        for (slot, verdict) in verdicts.iter().enumerate() {
            self.account(slot as u8, verdict, &mut events);
        }
        if let Some(fault) = self.fail_safe {
            self.hold(Reason::Fault(fault));
            return self.decided(0.0, Source::FailSafe, f64::NAN, events);
        }
        let candidate = self.active.map(|slot| (slot, verdicts[usize::from(slot)]));
        let v_predicted = match candidate {
            Some((_, Verdict::Good { v, .. } | Verdict::Unsafe { v, .. })) => v,
            _ => f64::NAN,
        };
        match candidate {
            Some((slot, Verdict::Good { volts, .. })) if self.may_act(slot) => {
                self.serve(slot);
                let volts = self.watch(slot, volts, &mut events);
                let source = if self.holding { Source::Safety } else { Source::Unit(slot) };
                self.decided(volts, source, v_predicted, events)
            }
            Some((slot, verdict)) => {
                if let (false, Some(fault)) = (self.holding, verdict.fault()) {
                    self.strike(slot, fault, &mut events);
                }
                self.decided(self.sensed.safety_volts, Source::Safety, v_predicted, events)
            }
            None => {
                self.holding = true;
                self.decided(self.sensed.safety_volts, Source::Safety, v_predicted, events)
            }
        }
    }

    /// The module as shown to people; this one allocates.
    #[must_use]
    pub fn status(&self) -> Status {
        let units = self.units.iter().zip(0..).filter_map(|(unit, slot)| {
            let unit = unit.as_ref()?;
            Some(UnitStatus { slot, name: unit.name.clone(), view: unit.view() })
        });
        Status {
            source: self.source,
            active: self.active,
            relative_cost: self.monitor.as_ref().map(Monitor::relative_cost),
            fail_safe: self.fail_safe,
            units: units.collect(),
        }
    }

    /// The unit that is used whenever it is acceptable.
    #[must_use]
    pub const fn active(&self) -> Option<u8> {
        self.active
    }

    /// The unit in this slot, dead or alive; nothing where there never was one. Live
    /// units ([`UnitState::is_live`]) are those worth waiting for.
    #[must_use]
    pub fn unit(&self, slot: u8) -> Option<UnitView> {
        self.units.get(usize::from(slot))?.as_ref().map(Unit::view)
    }

    /// The region the module guards.
    #[must_use]
    pub const fn region(&self) -> &Region {
        self.safety.region()
    }

    /// Judges an answer, from the cheapest check to the dearest.
    fn judge(&self, slot: usize, answer: &Answer, sensors: &Sensors) -> Verdict {
        let Some(unit) = self.units[slot].as_ref().filter(|unit| unit.state.is_live()) else {
            return Verdict::Nobody;
        };
        let command = match answer {
            Answer::Command(command) => command,
            Answer::None | Answer::Missing => return Verdict::Bad(Fault::Missing),
            Answer::Late => return Verdict::Bad(Fault::Late),
            Answer::Malformed(_) => return Verdict::Bad(Fault::Malformed),
        };
        if command.unit != unit.generation {
            return Verdict::Bad(Fault::WrongUnit);
        }
        match command.sequence.cmp(&sensors.sequence) {
            std::cmp::Ordering::Less => return Verdict::Bad(Fault::Stale),
            std::cmp::Ordering::Greater => return Verdict::Bad(Fault::Ahead),
            std::cmp::Ordering::Equal => {}
        }
        let volts = command.volts;
        if !volts.is_finite() {
            return Verdict::Bad(Fault::NotFinite);
        }
        if volts.abs() > CLIP_VOLTS {
            return Verdict::Bad(Fault::OutOfRange);
        }
        let next = self.observer.model().predict(&self.sensed.state, volts);
        let v = self.safety.region().value(&next);
        if v <= self.settings.accept_below {
            Verdict::Good { volts, v }
        } else {
            Verdict::Unsafe { v }
        }
    }

    /// Keeps count of a unit's answers and moves it along its life.
    fn account(&mut self, slot: u8, verdict: &Verdict, events: &mut Events) {
        let in_control = !self.holding && self.active == Some(slot);
        // Where others have brought the pendulum is not this unit's doing.
        let blamed = in_control || self.sensed.v < self.settings.return_below;
        let Some(unit) = self.units[usize::from(slot)].as_mut() else { return };
        let starting = unit.state == UnitState::Starting;
        match verdict {
            Verdict::Nobody => {}
            Verdict::Good { .. } => {
                unit.silent = 0;
                unit.clean = unit.clean.saturating_add(1);
                unit.answers += 1;
                if starting {
                    let as_active = unit.role == Role::Active && self.active.is_none();
                    self.happen(slot, Happening::Answered { as_active }, events);
                    if as_active {
                        self.active = Some(slot);
                    }
                }
            }
            Verdict::Unsafe { .. } if !blamed => unit.silent = 0,
            // Not being there yet is no fault of a unit that starts.
            Verdict::Bad(Fault::Missing) if starting => self.silent(slot, events),
            Verdict::Unsafe { .. } | Verdict::Bad(_) => {
                let fault = verdict.fault().expect("both kinds of bad verdict name their fault");
                unit.clean = 0;
                unit.faults += 1;
                unit.last_fault = Some(fault);
                events.push(Event::Fault { slot: Some(slot), fault });
                if matches!(verdict, Verdict::Unsafe { .. }) {
                    unit.silent = 0;
                } else {
                    self.silent(slot, events);
                }
            }
        }
    }

    /// One more cycle without a well-formed answer.
    fn silent(&mut self, slot: u8, events: &mut Events) {
        let limit = self.settings.give_up_after;
        let Some(unit) = self.units[usize::from(slot)].as_mut() else { return };
        unit.silent = unit.silent.saturating_add(1);
        let patience = if unit.state == UnitState::Starting { 10 } else { 1 };
        if limit > 0 && unit.silent >= limit.saturating_mul(patience) {
            unit.last_fault = Some(Fault::GivenUp);
            events.push(Event::Fault { slot: Some(slot), fault: Fault::GivenUp });
            self.leave(slot, Happening::Failed, Reason::Fault(Fault::GivenUp), events);
        }
    }

    /// The return rule.
    fn may_act(&mut self, slot: u8) -> bool {
        if !self.holding {
            return true;
        }
        let clean = self.units[usize::from(slot)].as_ref().map_or(0, |unit| unit.clean);
        // The first unit of a run takes over at once: it has not lost control yet.
        let first = self.source == Source::Held || self.reason == Reason::Started;
        let waited = first || clean >= self.settings.return_after;
        if waited && self.sensed.v < self.settings.return_below {
            self.holding = false;
            if !first && self.reason != Reason::Promoted {
                self.reason = Reason::Returned;
            }
            if let Some(monitor) = &mut self.monitor {
                monitor.reset();
            }
        }
        !self.holding
    }

    /// Puts safety, or the fail-safe, in control; the return rule counts from now on.
    fn hold(&mut self, reason: Reason) {
        self.holding = true;
        self.reason = reason;
        if let Some(slot) = self.active
            && let Some(unit) = self.units[usize::from(slot)].as_mut()
        {
            unit.clean = 0;
        }
    }

    /// One more cycle in control; strikes are forgiven with time.
    fn serve(&mut self, slot: u8) {
        let after = self.settings.forgive_after;
        let Some(unit) = self.units[usize::from(slot)].as_mut() else { return };
        unit.served = unit.served.saturating_add(1);
        if after > 0 && unit.served >= after {
            unit.served = 0;
            unit.strikes = unit.strikes.saturating_sub(1);
        }
    }

    /// Watches the performance of the unit in control; gives the voltage to use.
    fn watch(&mut self, slot: u8, volts: f64, events: &mut Events) -> f64 {
        let Some(monitor) = &mut self.monitor else { return volts };
        if !monitor.observe(&self.sensed.state, volts) {
            return volts;
        }
        let remedy = monitor.remedy();
        let fault = Fault::PoorPerformance;
        events.push(Event::Fault { slot: Some(slot), fault });
        if let Some(unit) = self.units[usize::from(slot)].as_mut() {
            unit.last_fault = Some(fault);
        }
        match remedy {
            Remedy::Report => volts,
            Remedy::Switch => {
                self.strike(slot, fault, events);
                self.sensed.safety_volts
            }
        }
    }

    /// The unit in control failed: safety takes over, and a unit with too many strikes retires.
    fn strike(&mut self, slot: u8, fault: Fault, events: &mut Events) {
        self.hold(Reason::Fault(fault));
        let limit = self.settings.strikes;
        let Some(unit) = self.units[usize::from(slot)].as_mut() else { return };
        unit.strikes = unit.strikes.saturating_add(1);
        unit.served = 0;
        if limit > 0 && unit.strikes >= limit {
            self.leave(slot, Happening::StruckOut, Reason::Fault(fault), events);
        }
    }

    /// Makes `slot` the unit that is used, the one before it standing by.
    pub(crate) fn promote(&mut self, slot: u8, events: &mut Events) {
        if let Some(old) = self.active {
            self.happen(old, Happening::Displaced, events);
            let generation = self.units[usize::from(old)].as_ref().map_or(0, |u| u.generation);
            self.history.push(old, generation);
        }
        self.happen(slot, Happening::Promoted, events);
        self.active = Some(slot);
        self.reason = Reason::Promoted;
        if let Some(monitor) = &mut self.monitor {
            monitor.reset();
        }
    }

    /// Takes a unit out of use; if it was the active one, safety takes over and the one active before
    /// becomes the candidate.
    pub(crate) fn leave(&mut self, slot: u8, why: Happening, reason: Reason, events: &mut Events) {
        self.happen(slot, why, events);
        if self.active != Some(slot) {
            return;
        }
        self.active = None;
        if !self.holding {
            self.holding = true;
            self.reason = reason;
        } else if self.reason == Reason::Started || self.reason == Reason::Promoted {
            self.reason = reason;
        }
        while let Some((previous, generation)) = self.history.pop() {
            let ready = self.units[usize::from(previous)].as_ref().is_some_and(|unit| {
                unit.generation == generation && unit.state == UnitState::Standby
            });
            if ready {
                self.happen(previous, Happening::Promoted, events);
                self.active = Some(previous);
                // The return rule applies to it from now on.
                self.hold(self.reason);
                return;
            }
        }
    }

    /// Moves a unit to its next state and says so.
    pub(crate) fn happen(&mut self, slot: u8, happening: Happening, events: &mut Events) {
        let Some(unit) = self.units[usize::from(slot)].as_mut() else { return };
        if let Some(state) = unit.state.after(happening) {
            unit.state = state;
            let generation = unit.generation;
            events.push(Event::UnitState { slot, state, generation });
        }
    }

    /// Ends in 0 V until resumed; the first fault is kept.
    fn fail(&mut self, fault: Fault) {
        self.fail_safe.get_or_insert(fault);
    }

    /// Goes on after a fail-safe, with a fresh estimate and the safety controller.
    pub(crate) fn resume(&mut self) {
        self.fail_safe = None;
        self.observer = Observer::new(self.observer.model().clone());
        self.stuck = [Stuck::new(POSITION_MOVED), Stuck::new(ANGLE_MOVED)];
        self.hold(Reason::Resumed);
    }

    fn decided(
        &mut self,
        volts: f64,
        source: Source,
        v_predicted: f64,
        mut events: Events,
    ) -> Decided {
        assert!(volts.abs() <= CLIP_VOLTS, "every voltage was clipped or judged; {volts}");
        if source != self.source {
            events.push(Event::Switch { from: self.source, to: source, reason: self.reason });
            self.source = source;
        }
        let v_now = if source == Source::FailSafe && self.fail_safe.is_none() {
            f64::NAN
        } else {
            self.sensed.v
        };
        Decided { volts, source, v_now, v_predicted, events }
    }

    /// What must hold after every cycle and request; tests call it.
    ///
    /// # Panics
    /// When something does not hold.
    pub fn check_invariants(&self) {
        let active: Vec<usize> = (0..SLOTS)
            .filter(|slot| self.units[*slot].as_ref().is_some_and(|u| u.state == UnitState::Active))
            .collect();
        assert_eq!(active, self.active.map(usize::from).into_iter().collect::<Vec<_>>());
        assert!(self.active.is_some() || self.holding, "without a unit, safety is in control");
    }
}

/// What was found about an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Nobody,
    Bad(Fault),
    Unsafe { v: f64 },
    Good { volts: f64, v: f64 },
}

impl Verdict {
    const fn fault(&self) -> Option<Fault> {
        match self {
            Self::Bad(fault) => Some(*fault),
            Self::Unsafe { .. } => Some(Fault::LeavesRegion),
            Self::Nobody | Self::Good { .. } => None,
        }
    }
}

/// Units that were active before, the newest last; a unit that comes back moves up.
#[derive(Clone, Copy, Debug, Default)]
struct History {
    list: [(u8, u32); SLOTS],
    length: usize,
}

impl History {
    fn push(&mut self, slot: u8, generation: u32) {
        let mut kept = 0;
        for i in 0..self.length {
            if self.list[i].0 != slot {
                self.list[kept] = self.list[i];
                kept += 1;
            }
        }
        self.list[kept] = (slot, generation);
        self.length = kept + 1;
    }

    fn pop(&mut self) -> Option<(u8, u32)> {
        self.length = self.length.checked_sub(1)?;
        Some(self.list[self.length])
    }
}

/// A channel is stuck when it gives the very same value for this long,
const STUCK_AFTER: Span = Span::from_millis(1000);
/// while the prediction moved this much: four least steps of the converters, in m and rad.
const POSITION_MOVED: f64 = 4.0 * 0.2273e-3;
const ANGLE_MOVED: f64 = 4.0 * 0.303e-3;

/// Watches one channel for being stuck.
#[derive(Clone, Copy, Debug)]
struct Stuck {
    moved: f64,
    value: f64,
    same: i64,
    low: f64,
    high: f64,
}

impl Stuck {
    const fn new(moved: f64) -> Self {
        Self { moved, value: f64::NAN, same: 0, low: 0.0, high: 0.0 }
    }

    fn see(&mut self, value: f64, expected: f64, period: Span) -> bool {
        if value == self.value {
            self.same += 1;
            self.low = self.low.min(expected);
            self.high = self.high.max(expected);
        } else {
            *self = Self { value, low: expected, high: expected, ..Self::new(self.moved) };
        }
        period * self.same >= STUCK_AFTER && self.high - self.low > self.moved
    }
}
