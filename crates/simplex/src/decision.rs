//! The decision module, which decides in each cycle whose voltage is used.
//!
//! Each cycle has two halves. [`Decision::sense`] estimates the state and computes the safety command from the sample
//! alone. [`Decision::decide`] judges the units' answers and always returns a voltage. Neither allocates, waits or
//! fails.
//!
//! **Covered:** any behaviour of any unit, or of several together. An answer is used only if it comes from the active
//! unit, answers this very sample, has the right generation, is finite and within the usable command, and leads to a
//! predicted state with `V ≤ accept_below`. Otherwise the safety controller acts in the same cycle. It returns
//! control after `return_after` acceptable answers in a row, once `V < return_below`. Each loss of control is a
//! strike. A unit with too many strikes retires, and the previously active unit becomes the candidate.
//!
//! **Processor time:** a unit that could not answer because others had the processor is not at fault. A unit that
//! exceeds its budget and does not answer, or keeps others from answering, is held back: [`Decision::standing`] puts it
//! behind everything else until it has given `return_after` acceptable answers in a row, or has waited as many cycles
//! without another excess. Outside control this is a strike too.
//!
//! **Not covered:** a faulty decision module, sensor faults, and the loss of the actuator. Single outliers are bridged
//! by prediction. Persistent outliers, channels that do not change although the plant moves, and a plant beyond
//! its limits end in the fail-safe: 0 V, reported, until [`Request::Resume`]. Small offsets, reversed signs and swapped
//! channels look like a possible state; they are detected only once the plant contradicts them, if at all.

use std::ops::Deref;

use hemiola_plant::Model as Plant;
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::budget::{Answered, Charge, Claim, HeldBack, Standing, Usage, charge};
use crate::event::{CommandSource, Event, Events, Fault, Reason};
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

/// The largest number of attached units.
pub const SLOTS: usize = 8;

/// The settings of the decision rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The plant.
    pub plant: Plant,
    /// The safety controller's gain.
    pub safety: Gain,
    /// The region from which it recovers; [`Region::of`] the gain if absent.
    pub region: Option<Region>,
    /// An answer is accepted if the predicted V is at most this. With 0.6 and commands leaving within 5 ms of the
    /// sample, an adversary who knows the rule brings the true V to 0.92 in 1000 runs; without waiting time and
    /// strikes, to 1.01. Lower it if commands leave later.
    pub accept_below: f64,
    /// Control is returned only while V is below this,
    pub return_below: f64,
    /// and after this many acceptable answers in a row. A unit that was held back has its precedence again after as
    /// many answers, or cycles without another excess.
    pub return_after: u32,
    /// A unit retires after this many strikes: losses of control, and excesses outside control; 0 for never.
    pub strikes: u32,
    /// A strike is forgiven after this many acceptable answers without another; 0 for never.
    pub forgive_after: u32,
    /// A unit fails after this many cycles without a well-formed answer; 0 for never. The limit is ten times as long
    /// while it starts.
    pub give_up_after: u32,
    /// A unit can be promoted after this many acceptable answers in a row.
    pub promote_after: u32,
    /// Time from the sample until an answer counts as missing, shorter than the period. The loop around the module
    /// enforces it.
    pub answer_within: Span,
    /// Whether and how performance is monitored.
    pub performance: Option<performance::Settings>,
}

impl Default for Settings {
    /// The rule for 50 Hz.
    fn default() -> Self {
        Self {
            plant: Plant::SeiFit,
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

impl Settings {
    /// Returns the budget of a unit that states none: its part of the time for answers if every slot is taken.
    #[must_use]
    pub fn budget(&self) -> Span {
        self.answer_within / SLOTS as i64
    }

    /// Returns the model of the plant at this period.
    ///
    /// # Errors
    /// If the period is out of range, or the measurements do not determine the state.
    pub fn model(&self, period: Span) -> Result<Model, ModelError> {
        Model::of(self.plant.nominal(), period)
    }
}

/// Why no decision module can be made from the settings.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The plant has no model at this period.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Safety gain and region do not fit together at this period.
    #[error("the safety controller: {0}")]
    Region(#[from] RegionError),
    /// A threshold is not in (0, 1].
    #[error("{name} is {value}; it must be above 0 and at most 1")]
    Threshold {
        /// The name of the threshold.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The performance monitor's window or limit is not above zero.
    #[error("the performance window and limit must be above zero")]
    Performance,
}

/// The content of a slot at the end of the waiting time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// There is no unit in this slot.
    None,
    /// There is a unit and no new answer.
    Missing,
    /// An answer came after the time limit.
    Late,
    /// The bytes are not a command.
    Malformed(DecodeError),
    /// A sandboxed unit was stopped when its fuel was consumed.
    OutOfFuel,
    /// A sandboxed unit was stopped when it broke a rule of its sandbox.
    Trapped,
    /// A command that is not yet judged.
    Command(Command),
}

/// The result of [`Decision::sense`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensed {
    /// The estimated state.
    pub state: Vector,
    /// Its Lyapunov value.
    pub v: f64,
    /// The command of the safety controller, V.
    pub safety_volts: f64,
}

/// The decision of one cycle.
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    /// The motor voltage; always finite and within ±[`CLIP_VOLTS`].
    pub volts: f64,
    /// Its source.
    pub source: CommandSource,
    /// V of the estimated state; not-a-number without an estimate.
    pub v_now: f64,
    /// V predicted with the active unit's answer; not-a-number without a usable answer.
    pub v_predicted: f64,
    /// The events of the cycle.
    pub events: Events,
}

/// A unit's status; reading it allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitView {
    /// Its generation in the slot.
    pub generation: u32,
    /// Its state.
    pub state: UnitState,
    /// Losses of control not yet forgiven.
    pub strikes: u32,
    /// Consecutive acceptable answers.
    pub clean: u32,
    /// Acceptable answers in total.
    pub answers: u64,
    /// Faulty answers in total.
    pub faults: u64,
    /// The newest fault.
    pub last_fault: Option<Fault>,
}

/// A unit's status for users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitStatus {
    /// Its slot.
    pub slot: u8,
    /// Its status.
    #[serde(flatten)]
    pub view: UnitView,
}

impl Deref for UnitStatus {
    type Target = UnitView;
    fn deref(&self) -> &UnitView {
        &self.view
    }
}

/// The module's status for users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The source of the last cycle's voltage.
    pub source: CommandSource,
    /// The unit whose acceptable answers are used.
    pub active: Option<u8>,
    /// Cost of the unit in control, relative to the cost of noise under the safety controller.
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
    /// The processor time of this cycle, until it is decided.
    usage: Option<[Usage; SLOTS]>,
    /// The time of the sample of the previous decision.
    sampled: Option<Instant>,
    pub(crate) fail_safe: Option<Fault>,
    pub(crate) units: [Option<Unit>; SLOTS],
    pub(crate) active: Option<u8>,
    history: History,
    /// Whether the safety controller is in control until the return rule is met.
    pub(crate) holding: bool,
    source: CommandSource,
    pub(crate) reason: Reason,
}

impl Decision {
    /// Creates a decision module for a loop of this period, without units.
    ///
    /// # Errors
    /// If the period, a threshold or the safety controller's region is invalid.
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
        let model = settings.model(period)?;
        let safety = SafetyController::of(&settings, &model)?;
        let monitor = settings.performance.map(|p| Monitor::new(p, &model, &settings.safety));
        Ok(Self {
            safety,
            monitor,
            stuck: model.plant.moved.map(Stuck::new),
            observer: Observer::new(model),
            sensors: None,
            sensed: Sensed { state: [0.0; 4], v: f64::NAN, safety_volts: 0.0 },
            input_fault: None,
            usage: None,
            sampled: None,
            fail_safe: None,
            units: Default::default(),
            active: None,
            history: History::default(),
            holding: true,
            source: CommandSource::Held,
            reason: Reason::Started,
            settings,
        })
    }

    /// Sets the state at the first sample; without it, speeds start at zero.
    pub const fn assume(&mut self, state: Vector) {
        self.observer.assume(state);
    }

    /// First half of a cycle: estimates the state and computes the safety command.
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
            let [first, second] = self.observer.model().plant.measured;
            let position = self.stuck[0].see(sensors.position, expected[first], period);
            let angle = self.stuck[1].see(sensors.angle, expected[second], period);
            if position || angle {
                self.fail(Fault::SensorsStuck);
            }
        }
        let believed = self.observer.disbelieved() == 0;
        if believed && self.observer.model().plant.is_lost(&state) {
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

    /// Reports the processor time of each unit before [`Decision::decide`]. It is needed only if an answer is missing;
    /// without it, a unit whose answer is missing is to blame for that itself.
    pub const fn meter(&mut self, usage: [Usage; SLOTS]) {
        self.usage = Some(usage);
    }

    /// Second half of a cycle: judges every answer and returns the voltage.
    ///
    /// A sample older than a period at `now` is reported. Without [`Decision::sense`] since the last decision, the
    /// voltage is 0 V.
    pub fn decide(&mut self, answers: &[Answer; SLOTS], now: Instant) -> Decided {
        let mut events = Events::new();
        let usage = self.usage.take();
        let Some(sensors) = self.sensors.take() else {
            events.push(Event::Fault { slot: None, fault: Fault::SensorsMissing });
            self.hold(Reason::Fault(Fault::SensorsMissing));
            return self.decided(0.0, CommandSource::FailSafe, f64::NAN, events);
        };
        if now - sensors.sampled > self.observer.model().period {
            events.push(Event::Fault { slot: None, fault: Fault::SensorsLate });
        }
        if let Some(fault) = self.fail_safe.or(self.input_fault) {
            events.push(Event::Fault { slot: None, fault });
        }
        let mut verdicts: [Verdict; SLOTS] =
            std::array::from_fn(|slot| self.judge(slot, &answers[slot], &sensors));
        let late = self.is_late(&sensors, now);
        self.sampled = Some(sensors.sampled);
        let answered = verdicts.map(|verdict| verdict.answered());
        let charges =
            usage.map_or([Charge::Clear; SLOTS], |usage| self.charge(&usage, &answered, late));
        let ending = |slot: usize| usage.is_some_and(|usage| usage[slot].ending);
        for (slot, (verdict, charge)) in verdicts.iter_mut().zip(charges).enumerate() {
            *verdict = verdict.charged(charge, ending(slot));
        }
        for (slot, verdict) in verdicts.iter().enumerate() {
            let usage = usage.map(|usage| usage[slot]);
            self.account(slot as u8, verdict, usage, &mut events);
        }
        for (slot, charge) in charges.into_iter().enumerate() {
            let used = usage.map_or(Span::ZERO, |usage| usage[slot].used);
            let cause = if ending(slot) { Fault::Exited } else { Fault::OverBudget };
            self.settle(slot as u8, charge, (used, answered[slot]), cause, &mut events);
        }
        if let Some(fault) = self.fail_safe {
            self.hold(Reason::Fault(fault));
            return self.decided(0.0, CommandSource::FailSafe, f64::NAN, events);
        }
        let candidate = self.active.map(|slot| (slot, verdicts[usize::from(slot)]));
        let v_predicted = match candidate {
            Some((_, Verdict::Good { v, .. } | Verdict::Unsafe { v, .. })) => v,
            _ => f64::NAN,
        };
        match candidate {
            Some((slot, Verdict::Good { volts, .. })) if self.may_act(slot) => {
                let volts = self.watch(slot, volts, &mut events);
                let source =
                    if self.holding { CommandSource::Safety } else { CommandSource::Unit(slot) };
                self.decided(volts, source, v_predicted, events)
            }
            Some((slot, verdict)) => {
                match verdict.fault() {
                    Some(Fault::Starved) if !self.holding => {
                        self.hold(Reason::Fault(Fault::Starved));
                    }
                    Some(fault) if !self.holding => self.strike(slot, fault, &mut events),
                    _ => {}
                }
                self.decided(self.sensed.safety_volts, CommandSource::Safety, v_predicted, events)
            }
            None => {
                self.holding = true;
                self.decided(self.sensed.safety_volts, CommandSource::Safety, v_predicted, events)
            }
        }
    }

    /// Returns the module's status for users; this allocates.
    pub fn status(&self) -> Status {
        let units = self.units.iter().zip(0..).filter_map(|(unit, slot)| {
            let unit = unit.as_ref()?;
            Some(UnitStatus { slot, view: unit.view() })
        });
        Status {
            source: self.source,
            active: self.active,
            relative_cost: self.monitor.as_ref().map(Monitor::relative_cost),
            fail_safe: self.fail_safe,
            units: units.collect(),
        }
    }

    /// Returns the unit whose acceptable answers are used.
    #[must_use]
    pub const fn active(&self) -> Option<u8> {
        self.active
    }

    /// Returns the unit in this slot, live or not; `None` if there never was one. Only live units
    /// ([`UnitState::is_live`]) are worth waiting for.
    pub fn unit(&self, slot: u8) -> Option<UnitView> {
        self.units.get(usize::from(slot))?.as_ref().map(Unit::view)
    }

    /// Returns the number of samples since the last acceptable answer of the unit in this slot, the newest included:
    /// the samples until its fault was found. 0 without a unit.
    #[must_use]
    pub fn since_acceptable(&self, slot: u8) -> u32 {
        let unit = self.units.get(usize::from(slot)).and_then(Option::as_ref);
        unit.map_or(0, |unit| unit.since_acceptable)
    }

    /// Returns the region that the module guards.
    #[must_use]
    pub const fn region(&self) -> &Region {
        self.safety.region()
    }

    /// Returns how the scheduler should treat the unit in this slot; `None` without a live unit.
    #[must_use]
    pub fn standing(&self, slot: u8) -> Option<Standing> {
        self.units.get(usize::from(slot))?.as_ref().and_then(Unit::standing)
    }

    /// Finds who is to blame for missing answers. Starting units have no part in that.
    fn charge(
        &self,
        usage: &[Usage; SLOTS],
        answered: &[Answered; SLOTS],
        late: bool,
    ) -> [Charge; SLOTS] {
        let claims = std::array::from_fn(|slot| {
            let unit = self.units[slot].as_ref()?;
            unit.standing().filter(|standing| *standing != Standing::Starting)?;
            let (budget, held_back) = (unit.budget + unit.carried, unit.held_back);
            Some(Claim { budget, usage: usage[slot], answered: answered[slot], held_back })
        });
        charge(&claims, late)
    }

    /// Whether this decision is later than the time for answers and the period allow, by more than a wake-up takes: by
    /// a quarter of the time for answers.
    fn is_late(&self, sensors: &Sensors, now: Instant) -> bool {
        let within = self.settings.answer_within;
        let waited = now - sensors.sampled - within;
        let period = self.observer.model().period;
        let skipped = self.sampled.map_or(Span::ZERO, |before| sensors.sampled - before - period);
        (waited.max(Span::ZERO) + skipped.max(Span::ZERO)) * 4 > within
    }

    /// Judges an answer, cheapest check first.
    fn judge(&self, slot: usize, answer: &Answer, sensors: &Sensors) -> Verdict {
        let Some(unit) = self.units[slot].as_ref().filter(|unit| unit.state.is_live()) else {
            return Verdict::Nobody;
        };
        let command = match answer {
            Answer::Command(command) => command,
            Answer::None | Answer::Missing => return Verdict::Bad(Fault::Missing),
            Answer::Late => return Verdict::Bad(Fault::Late),
            Answer::Malformed(_) => return Verdict::Bad(Fault::Malformed),
            Answer::OutOfFuel => return Verdict::Bad(Fault::OutOfFuel),
            Answer::Trapped => return Verdict::Bad(Fault::Trapped),
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

    /// Counts a unit's answer and updates its state.
    fn account(&mut self, slot: u8, verdict: &Verdict, usage: Option<Usage>, events: &mut Events) {
        let in_control = !self.holding && self.active == Some(slot);
        // A unit is not to blame for a state that others have brought about.
        let blamed = in_control || self.sensed.v < self.settings.return_below;
        let Some(unit) = self.units[usize::from(slot)].as_mut() else { return };
        let starting = unit.state == UnitState::Starting;
        unit.since_acceptable = unit.since_acceptable.saturating_add(1);
        match verdict {
            Verdict::Nobody => {}
            Verdict::Good { .. } => {
                unit.since_acceptable = 0;
                unit.silent = 0;
                unit.clean = unit.clean.saturating_add(1);
                if unit.clean >= self.settings.return_after {
                    unit.held_back = None;
                }
                unit.forgive(self.settings.forgive_after);
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
            // Reported, and nothing else: the next answer counts as if this cycle had not been.
            Verdict::Bad(fault @ Fault::Starved) => {
                events.push(Event::Fault { slot: Some(slot), fault: *fault });
            }
            // A starting unit that does not answer yet, or not in time, is not at fault.
            _ if starting && verdict.is_missing() => {
                if !usage.is_some_and(|usage| unit.waits_to_start(usage)) {
                    self.silent(slot, events);
                }
            }
            Verdict::Unsafe { .. } | Verdict::Bad(_) => {
                let fault = verdict.fault().expect("both kinds of bad verdict name their fault");
                unit.clean = 0;
                // A process ends once, however many answers it then owes.
                if (fault, unit.last_fault) != (Fault::Exited, Some(Fault::Exited)) {
                    unit.faults += 1;
                    events.push(Event::Fault { slot: Some(slot), fault });
                }
                unit.last_fault = Some(fault);
                if fault.ends_unit() {
                    self.leave(slot, Happening::Failed, Reason::Fault(fault), events);
                } else if matches!(verdict, Verdict::Unsafe { .. }) {
                    unit.silent = 0;
                } else {
                    self.silent(slot, events);
                }
            }
        }
    }

    /// Counts one more cycle without a well-formed answer.
    fn silent(&mut self, slot: u8, events: &mut Events) {
        let limit = self.settings.give_up_after;
        let Some(unit) = self.units[usize::from(slot)].as_mut() else { return };
        unit.silent = unit.silent.saturating_add(1);
        let factor = if unit.state == UnitState::Starting { 10 } else { 1 };
        if limit > 0 && unit.silent >= limit.saturating_mul(factor) {
            // Only a unit that never answered has no fault yet.
            let cause = unit.last_fault.unwrap_or_else(|| {
                events.push(Event::Fault { slot: Some(slot), fault: Fault::Missing });
                Fault::Missing
            });
            unit.last_fault = Some(cause);
            self.leave(slot, Happening::Failed, Reason::Fault(cause), events);
        }
    }

    /// Applies the return rule.
    fn may_act(&mut self, slot: u8) -> bool {
        if !self.holding {
            return true;
        }
        let clean = self.units[usize::from(slot)].as_ref().map_or(0, |unit| unit.clean);
        // The first unit of a run takes over at once, because it has not lost control yet.
        let first = self.source == CommandSource::Held || self.reason == Reason::Started;
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

    /// Puts the safety controller, or the fail-safe, in control. The return rule starts counting again.
    fn hold(&mut self, reason: Reason) {
        self.holding = true;
        self.reason = reason;
        if let Some(slot) = self.active
            && let Some(unit) = self.units[usize::from(slot)].as_mut()
        {
            unit.clean = 0;
        }
    }

    /// Monitors the performance of the unit in control; returns the voltage to use.
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

    /// The unit in control failed: the safety controller takes over, and a unit with too many strikes retires.
    fn strike(&mut self, slot: u8, fault: Fault, events: &mut Events) {
        self.hold(Reason::Fault(fault));
        let limit = self.settings.strikes;
        let Some(unit) = self.units[usize::from(slot)].as_mut() else { return };
        unit.strike();
        if limit > 0 && unit.strikes >= limit {
            self.leave(slot, Happening::StruckOut, Reason::Fault(fault), events);
        }
    }

    /// Draws the consequences of a charge, and of what the unit used and answered. A unit above its budget loses its
    /// precedence, which outside control is a strike; in control it has had one already. This includes a unit that
    /// ends, which may write a long core dump; `cause` tells the two apart.
    fn settle(
        &mut self,
        slot: u8,
        charge: Charge,
        (used, answered): (Span, Answered),
        cause: Fault,
        events: &mut Events,
    ) {
        let in_control = !self.holding && self.active == Some(slot);
        let (limit, try_again_after) = (self.settings.strikes, self.settings.return_after);
        let unit = self.units[usize::from(slot)].as_mut();
        let Some(unit) = unit.filter(|unit| unit.state.is_live()) else { return };
        unit.carried = match charge {
            // It may have an old answer to finish and this one to give, before the next.
            Charge::Starved { unused } if unit.held_back.is_none() => unused.min(unit.budget * 2),
            Charge::Starved { .. } | Charge::Clear | Charge::Over => Span::ZERO,
        };
        if let Some(held_back) = unit.held_back {
            unit.held_back = held_back.after(used, answered, charge, try_again_after);
            return;
        }
        if charge != Charge::Over {
            return;
        }
        unit.held_back = Some(HeldBack::default());
        if in_control {
            return;
        }
        unit.strike();
        if limit > 0 && unit.strikes >= limit {
            self.leave(slot, Happening::Failed, Reason::Fault(cause), events);
        }
    }

    /// Makes `slot` the active unit; the previously active one stands by.
    pub(crate) fn promote(&mut self, slot: u8, events: &mut Events) {
        if let Some(old) = self.active {
            self.happen(old, Happening::Displaced, events);
            self.history.push(old);
        }
        self.happen(slot, Happening::Promoted, events);
        self.active = Some(slot);
        self.reason = Reason::Promoted;
        if let Some(monitor) = &mut self.monitor {
            monitor.reset();
        }
    }

    /// Removes a unit from use. If it was active, the safety controller takes over and the previously active unit
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
        while let Some(previous) = self.history.pop() {
            // A unit stands by only since it was displaced, which has put it here: it is no other generation.
            let ready = self.units[usize::from(previous)]
                .as_ref()
                .is_some_and(|unit| unit.state == UnitState::Standby);
            if ready {
                self.happen(previous, Happening::Promoted, events);
                self.active = Some(previous);
                // The return rule applies to it from now on.
                self.hold(self.reason);
                return;
            }
        }
    }

    /// Moves a unit to its next state and reports it.
    pub(crate) fn happen(&mut self, slot: u8, happening: Happening, events: &mut Events) {
        let Some(unit) = self.units[usize::from(slot)].as_mut() else { return };
        if let Some(state) = unit.state.after(happening) {
            unit.state = state;
            let generation = unit.generation;
            events.push(Event::UnitState { slot, state, generation });
        }
    }

    /// Enters the fail-safe until resumed; the first fault is kept.
    fn fail(&mut self, fault: Fault) {
        self.fail_safe.get_or_insert(fault);
    }

    /// Continues after a fail-safe, with a new estimate and the safety controller.
    pub(crate) fn resume(&mut self) {
        self.fail_safe = None;
        self.observer = Observer::new(self.observer.model().clone());
        self.stuck = self.observer.model().plant.moved.map(Stuck::new);
        self.hold(Reason::Resumed);
    }

    fn decided(
        &mut self,
        volts: f64,
        source: CommandSource,
        v_predicted: f64,
        mut events: Events,
    ) -> Decided {
        assert!(volts.abs() <= CLIP_VOLTS, "every voltage was clipped or judged; {volts}");
        if source != self.source {
            events.push(Event::Switch { from: self.source, to: source, reason: self.reason });
            self.source = source;
        }
        let v_now = if source == CommandSource::FailSafe && self.fail_safe.is_none() {
            f64::NAN
        } else {
            self.sensed.v
        };
        Decided { volts, source, v_now, v_predicted, events }
    }

    /// Checks what must hold after every cycle and request; for tests.
    ///
    /// # Panics
    /// If an invariant does not hold.
    pub fn check_invariants(&self) {
        let active: Vec<usize> = (0..SLOTS)
            .filter(|slot| self.units[*slot].as_ref().is_some_and(|u| u.state == UnitState::Active))
            .collect();
        assert_eq!(active, self.active.map(usize::from).into_iter().collect::<Vec<_>>());
        assert!(self.active.is_some() || self.holding, "without a unit, safety is in control");
    }
}

/// The judgement of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Nobody,
    Bad(Fault),
    Unsafe { v: f64 },
    Good { volts: f64, v: f64 },
}

impl Verdict {
    const fn answered(&self) -> Answered {
        match self {
            Self::Nobody | Self::Bad(Fault::Missing) => Answered::No,
            Self::Bad(Fault::Late | Fault::Stale) => Answered::Late,
            Self::Bad(_) | Self::Unsafe { .. } | Self::Good { .. } => Answered::InTime,
        }
    }

    /// Whether no answer to this cycle was there in time.
    fn is_missing(&self) -> bool {
        self.answered() != Answered::InTime
    }

    /// The verdict once it is known who had the processor, and whether the unit's process is `ending`. That explains a
    /// missing answer whatever the processor time was. Other faults of an answer keep their names.
    fn charged(self, charge: Charge, ending: bool) -> Self {
        match charge {
            _ if ending && matches!(self, Self::Bad(_)) && self.is_missing() => {
                Self::Bad(Fault::Exited)
            }
            Charge::Starved { .. } => Self::Bad(Fault::Starved),
            Charge::Over if self.is_missing() || matches!(self, Self::Good { .. }) => {
                Self::Bad(Fault::OverBudget)
            }
            Charge::Clear | Charge::Over => self,
        }
    }

    const fn fault(&self) -> Option<Fault> {
        match self {
            Self::Bad(fault) => Some(*fault),
            Self::Unsafe { .. } => Some(Fault::LeavesRegion),
            Self::Nobody | Self::Good { .. } => None,
        }
    }
}

/// Slots of previously active units, the newest last; a unit that returns moves to the end.
#[derive(Clone, Copy, Debug, Default)]
struct History {
    list: [u8; SLOTS],
    length: usize,
}

impl History {
    fn push(&mut self, slot: u8) {
        let mut kept = 0;
        for i in 0..self.length {
            if self.list[i] != slot {
                self.list[kept] = self.list[i];
                kept += 1;
            }
        }
        self.list[kept] = slot;
        self.length = kept + 1;
    }

    fn pop(&mut self) -> Option<u8> {
        self.length = self.length.checked_sub(1)?;
        Some(self.list[self.length])
    }
}

/// A channel is stuck if it gives exactly the same value for this long, while the prediction moves by as much as
/// [`hemiola_plant::Nominal::moved`] states.
const STUCK_AFTER: Span = Span::from_millis(1000);

/// Detects whether one channel is stuck.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_stuck_if_its_value_stays_while_the_prediction_moves_far_enough() {
        // 1.5 s of the same value, and the prediction of each cycle.
        let is_stuck = |expected: &dyn Fn(i64) -> f64| {
            let mut channel = Stuck::new(0.1);
            let cycles = (0..75).map(|n| channel.see(1.0, expected(n), Span::from_millis(20)));
            cycles.last().unwrap()
        };
        let swings_by = |by: f64| move |n: i64| 0.5 + by * (n % 2) as f64;
        for still in [0.0, 0.5, -0.5] {
            assert!(!is_stuck(&|_| still), "predicted to stay at {still}");
        }
        assert!(!is_stuck(&swings_by(0.09)));
        assert!(is_stuck(&swings_by(0.11)) && is_stuck(&swings_by(-0.11)));
    }
}
