//! The simulated closed loop: apparatus, codes, observers, units and decision module in one thread, faster than real
//! time.

use std::collections::BTreeSet;

use hemiola_plant::{Apparatus, ApparatusFault, Settings as PlantSettings, State};
use hemiola_units::{Instant, Random, Span};
use thiserror::Error;

use crate::event::{CommandSource, Event};
use crate::fault::{FaultKind, Faulty};
use crate::{
    Answer, Change, ChangeError, Command, Decided, Decision, Effect, Fault, Gain, Model,
    ModelError, Outcome as Ended, Region, Replacement, Role, SLOTS, Sensors, Settings,
    SettingsError, Share, StateFeedback, Ticket, UnitId, Upgrades,
};

/// A unit of a simulated loop.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitSetup {
    /// Its name.
    pub name: String,
    /// Its gain without a fault.
    pub gain: Gain,
    /// Its fault.
    pub fault: FaultKind,
}

/// One simulated loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The apparatus; its seed is also that of the units.
    pub plant: PlantSettings,
    /// Time from one sample to the next; a whole number of integrator steps.
    pub period: Span,
    /// Time from the sample to the output; a whole number of integrator steps, below the period.
    pub delay: Span,
    /// The decision rule; without it, the first unit's messages are used unchecked.
    pub decision: Option<Settings>,
    /// The units by slot, the first one active. Without units, the safety controller acts alone.
    pub units: Vec<UnitSetup>,
    /// A fault outside the units: of sensors, actuator or timer.
    pub loop_fault: FaultKind,
    /// When faults begin.
    pub fault_from: Span,
}

/// Why an experiment cannot be simulated.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The apparatus cannot be built.
    #[error("the apparatus: {0}")]
    Plant(#[from] hemiola_plant::SettingsError),
    /// The decision module cannot be built.
    #[error("the decision module: {0}")]
    Decision(#[from] SettingsError),
    /// The period is out of range.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Period and delay must be whole numbers of integrator steps.
    #[error(
        "the period {period} and the delay {delay} must be whole numbers of steps of {step}, and the delay below the period"
    )]
    Steps {
        /// The period.
        period: Span,
        /// The delay.
        delay: Span,
        /// The integrator step.
        step: Span,
    },
    /// The names of the units are not possible.
    #[error("the units: {0}")]
    Names(#[from] ChangeError),
    /// Too many units, or none without a decision module.
    #[error("{0} units; there must be 1 to {SLOTS}, or none with a decision module")]
    Units(usize),
}

/// The result of a simulated loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// When the plant was lost, since the start.
    pub lost_at: Option<Span>,
    /// The largest true V.
    pub peak_v: f64,
    /// V at the end.
    pub end_v: f64,
    /// How often control passed from a unit to the safety controller.
    pub switches: u64,
    /// How often although the unit was healthy.
    pub false_switches: u64,
    /// The first fault that the decision module found in a faulty unit, or in its own input if the fault is outside the
    /// units, and the cycles from the first faulty sample until then.
    pub found: Option<(Fault, u64)>,
    /// How often performance became poor.
    pub poor_performance: u64,
    /// Whether the decision module ended in its fail-safe.
    pub failed_safe: bool,
    /// Cycles run.
    pub cycles: u64,
}

/// A running experiment, advanced cycle by cycle.
pub struct Simulation {
    experiment: Experiment,
    apparatus: Apparatus,
    region: Region,
    decision: Option<Decision>,
    upgrades: Upgrades,
    units: [Option<SimulatedUnit>; SLOTS],
    model: Model,
    fault_cycle: u64,
    step: Span,
    cycle: u64,
    /// The newest request that the decision module has carried out.
    served: u32,
    /// Scripted replacements so far.
    replaced: u32,
    request_events: Vec<Event>,
    ended: Vec<(Ticket, Ended)>,
    volts: f64,
    applied: f64,
    outcome: Outcome,
}

struct SimulatedUnit {
    unit: Faulty<StateFeedback>,
    kind: FaultKind,
    generation: u32,
}

impl Simulation {
    /// Creates the experiment, before its first cycle.
    ///
    /// # Errors
    /// If its parts do not fit together.
    pub fn new(experiment: Experiment) -> Result<Self, ExperimentError> {
        let step = experiment.plant.step;
        let whole = |span: Span| step.is_positive() && span.nanos() % step.nanos() == 0;
        let (period, delay) = (experiment.period, experiment.delay);
        if !(whole(period) && whole(delay) && delay >= Span::ZERO && delay < period) {
            return Err(ExperimentError::Steps { period, delay, step });
        }
        let count = experiment.units.len();
        if count > SLOTS || (count == 0 && experiment.decision.is_none()) {
            return Err(ExperimentError::Units(count));
        }
        let mut plant = experiment.plant.clone();
        plant.faults.extend(
            experiment
                .loop_fault
                .apparatus()
                .map(|kind| ApparatusFault { kind, from: experiment.fault_from }),
        );
        let decision = match &experiment.decision {
            Some(settings) => Some(Decision::new(settings.clone(), period)?),
            None => None,
        };
        let model = Model::of(plant.model.nominal(), period)?;
        let mut simulation = Self {
            apparatus: Apparatus::new(&plant)?,
            region: decision.as_ref().map_or_else(|| Region::without_law(&model), |d| *d.region()),
            decision,
            upgrades: Upgrades::new(
                experiment.decision.as_ref().unwrap_or(&Settings::default()),
                period,
                BTreeSet::new(),
            ),
            units: Default::default(),
            model,
            fault_cycle: (experiment.fault_from.nanos() / period.nanos()).max(0) as u64,
            step,
            cycle: 0,
            served: 0,
            replaced: 0,
            request_events: Vec::new(),
            ended: Vec::new(),
            volts: 0.0,
            applied: 0.0,
            outcome: Outcome {
                lost_at: None,
                peak_v: 0.0,
                end_v: 0.0,
                switches: 0,
                false_switches: 0,
                found: None,
                poor_performance: 0,
                failed_safe: false,
                cycles: 0,
            },
            experiment,
        };
        simulation.look();
        for slot in 0..count {
            let setup = simulation.experiment.units[slot].clone();
            let role = if slot == 0 { Role::Active } else { Role::Shadow };
            let unit = simulation.upgrades.first(&setup.name, role, Share::default())?;
            simulation.launch(unit, setup.gain, setup.fault);
        }
        simulation.upgrades.announce();
        simulation.carry_out();
        Ok(simulation)
    }

    /// Begins a change of the units. Its new units run these programs, which are prepared at once. The answer comes in
    /// a later cycle: [`Simulation::take_ended`].
    ///
    /// # Errors
    /// If the change is refused.
    pub fn change(
        &mut self,
        change: Change,
        programs: &[(Gain, FaultKind)],
    ) -> Result<Ticket, ChangeError> {
        let begun = self.upgrades.begin(change, self.now())?;
        for (unit, (gain, kind)) in begun.launches.into_iter().zip(programs) {
            self.launch(unit, *gain, *kind);
            self.upgrades.ready(unit);
        }
        self.carry_out();
        Ok(begun.ticket)
    }

    /// Ends the program in a slot, like a crash.
    pub fn kill(&mut self, slot: u8) {
        if let Some(killed) = self.units[usize::from(slot)].take() {
            self.upgrades.ended(UnitId { slot, generation: killed.generation }, "killed");
            self.carry_out();
        }
    }

    /// Returns the units and the changes under way.
    #[must_use]
    pub const fn upgrades(&self) -> &Upgrades {
        &self.upgrades
    }

    /// Takes the events of requests since the last call; those of decisions are in [`Decided`].
    pub fn take_request_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.request_events)
    }

    /// Takes the changes that have ended since the last call.
    pub fn take_ended(&mut self) -> Vec<(Ticket, Ended)> {
        std::mem::take(&mut self.ended)
    }

    fn now(&self) -> Instant {
        Instant::ZERO + self.apparatus.elapsed()
    }

    /// Starts a unit's program in its slot.
    fn launch(&mut self, id: UnitId, gain: Gain, kind: FaultKind) {
        let accept_below = self.experiment.decision.as_ref().map_or(1.0, |s| s.accept_below);
        let seed = Random::from_seed(self.experiment.plant.seed).fork(u64::from(id.generation));
        let unit = Faulty::new(
            StateFeedback::new(self.model.clone(), gain),
            kind,
            self.fault_cycle.max(self.cycle),
            &self.model,
            (self.region, accept_below),
            seed.clone().bits(),
        );
        let started = SimulatedUnit { unit, kind, generation: id.generation };
        self.units[usize::from(id.slot)] = Some(started);
    }

    /// Takes the steps of the changes that are due in this cycle.
    fn upgrade(&mut self) {
        let Some(decision) = &self.decision else { return };
        let views = std::array::from_fn(|slot| decision.unit(slot as u8));
        self.upgrades.observe(self.served, &views);
        self.upgrades.tick(self.now());
        self.carry_out();
    }

    fn carry_out(&mut self) {
        while let Some(effect) = self.upgrades.poll() {
            match effect {
                Effect::Ask { id, request } => {
                    let Some(decision) = &mut self.decision else { continue };
                    let reply = decision.request(request);
                    self.request_events.extend(reply.iter().flatten());
                    self.served = id;
                    self.upgrades.replied(id, reply.map(drop).map_err(|e| e.to_string()));
                }
                Effect::End(unit) => {
                    let slot = &mut self.units[usize::from(unit.slot)];
                    slot.take_if(|running| running.generation == unit.generation);
                    self.upgrades.vacated(unit);
                }
                Effect::Answer { ticket, outcome } => self.ended.push((ticket, outcome)),
                Effect::Start(_) | Effect::Note(_) => {}
            }
        }
    }

    /// Runs one cycle: sample, compute, write after the delay, continue to the next sample. Returns the decision if
    /// there is a decision module and it had a sample.
    pub fn cycle(&mut self) -> Option<Decided> {
        let steps = (self.experiment.period.nanos() / self.step.nanos()) as u32;
        let delay = (self.experiment.delay.nanos() / self.step.nanos()) as u32;
        let fault = self.loop_fault_now();
        // Once per second, for the faults of the timer.
        let beat = (1_000_000_000 / self.experiment.period.nanos()).max(2) as u64;
        let beat = self.cycle.is_multiple_of(beat);
        let sampled = !(fault == FaultKind::DroppedSample && self.cycle.is_multiple_of(10));
        let runs = !(fault == FaultKind::TickLost && beat);
        let steps = if fault == FaultKind::TickEarly && beat { steps / 2 } else { steps };
        let delay = delay.min(steps.saturating_sub(1));

        self.upgrade();
        let mut decided = None;
        let mut wanted = self.volts;
        if runs && sampled {
            let sensors = self.sensors(fault);
            let answers = self.answers(&sensors);
            (wanted, decided) = self.decide(&sensors, &answers);
        } else if runs && self.decision.is_some() {
            // No process was woken, so none answers the I/O code.
            wanted = 0.0;
        }
        let code = self.apparatus.wiring().output.code(wanted);
        let old = self.apparatus.wiring().output.code(self.volts);
        for i in 0..steps {
            self.apparatus.step(if i < delay { old } else { code });
            self.look();
        }
        let written = self.apparatus.wiring().output.volts(code);
        self.applied = (f64::from(delay) * self.apparatus.wiring().output.volts(old)
            + f64::from(steps - delay) * written)
            / f64::from(steps.max(1));
        self.volts = written;
        self.cycle += 1;
        self.outcome.cycles = self.cycle;
        decided
    }

    /// Runs cycles until this time, or until shortly after the pendulum is lost, so that the decision module notices
    /// it.
    pub fn run(&mut self, duration: Span) -> Outcome {
        const SEEN_AFTER: i64 = 10;
        let after_loss = self.experiment.period * SEEN_AFTER;
        let end =
            |lost_at: Option<Span>| lost_at.map_or(duration, |at| duration.min(at + after_loss));
        while self.apparatus.elapsed() < end(self.outcome.lost_at) {
            self.scripted_changes();
            self.cycle();
            // Nobody reads them here.
            self.request_events.clear();
            self.ended.clear();
        }
        self.outcome()
    }

    /// Returns the result so far.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Returns the true state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.apparatus.state()
    }

    /// Returns the decision module, for requests; `None` if there is none.
    pub const fn decision(&mut self) -> Option<&mut Decision> {
        self.decision.as_mut()
    }

    fn loop_fault_now(&self) -> FaultKind {
        if self.cycle >= self.fault_cycle { self.experiment.loop_fault } else { FaultKind::None }
    }

    /// Updates the figures of the true state.
    fn look(&mut self) {
        if self.outcome.lost_at.is_some() {
            return;
        }
        let v = self.region.value(&self.apparatus.state().to_array());
        self.outcome.peak_v = self.outcome.peak_v.max(v);
        self.outcome.end_v = v;
        self.outcome.lost_at = self.apparatus.fall().map(|fall| fall.after);
    }

    fn sensors(&self, fault: FaultKind) -> Sensors {
        let [position, angle] = self.apparatus.codes();
        let wiring = self.apparatus.wiring();
        let hour = Span::from_millis(3_600_000);
        let jump = if fault == FaultKind::ClockStep { hour } else { Span::ZERO };
        let at = Instant::ZERO + self.apparatus.elapsed() + jump;
        Sensors {
            sequence: self.cycle,
            release: at,
            sampled: at,
            position: wiring.position(position),
            angle: wiring.angle(angle),
            applied: self.applied,
            period_us: (self.experiment.period.nanos() / 1000) as u32,
        }
    }

    /// Returns the content of each slot at the end of the waiting time: the newest message, not decoded.
    fn answers(&mut self, sensors: &Sensors) -> [Option<Raw>; SLOTS] {
        let now = sensors.sampled;
        std::array::from_fn(|slot| {
            let running = self.units[slot].as_mut()?;
            let mut newest = Raw::default();
            running.unit.answer(sensors, running.generation, now, &mut |bytes| {
                newest = Some(std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0)));
            });
            Some(newest)
        })
    }

    fn decide(&mut self, sensors: &Sensors, raw: &[Option<Raw>; SLOTS]) -> (f64, Option<Decided>) {
        let Some(decision) = &mut self.decision else {
            // The voltage's bytes are used unchecked; if they are not finite, the output stays as it was.
            let bytes = raw[0].flatten();
            let volts =
                bytes.map(|bytes| f64::from_le_bytes(std::array::from_fn(|i| bytes[24 + i])));
            return (volts.filter(|v| v.is_finite()).unwrap_or(self.volts), None);
        };
        let answers = raw.map(|raw| match raw {
            None => Answer::None,
            Some(None) => Answer::Missing,
            Some(Some(bytes)) => match Command::decode(&bytes) {
                Ok(command) => Answer::Command(command),
                Err(error) => Answer::Malformed(error),
            },
        });
        decision.sense(sensors);
        let decided = decision.decide(&answers, sensors.sampled + self.experiment.delay);
        for event in &decided.events {
            self.count(event);
        }
        self.outcome.failed_safe |= decided.source == CommandSource::FailSafe;
        (decided.volts, Some(decided))
    }

    fn count(&mut self, event: &Event) {
        match *event {
            Event::Switch { from: CommandSource::Unit(slot), to, .. }
                if !matches!(to, CommandSource::Unit(_)) =>
            {
                self.outcome.switches += 1;
                self.outcome.false_switches += u64::from(!self.is_faulty(Some(slot)));
            }
            Event::Fault { slot, fault } => {
                self.outcome.poor_performance += u64::from(fault == Fault::PoorPerformance);
                if self.is_faulty(slot) && fault.blames() {
                    self.outcome.found.get_or_insert((fault, self.cycle - self.fault_cycle));
                }
            }
            _ => {}
        }
    }

    /// Whether a fault has begun in the unit of this slot, or outside the units.
    fn is_faulty(&self, slot: Option<u8>) -> bool {
        let in_unit = |slot: u8| {
            let unit = self.units[usize::from(slot)].as_ref();
            unit.is_none_or(|unit| unit.kind != FaultKind::None)
        };
        let outside = self.experiment.loop_fault != FaultKind::None;
        self.cycle >= self.fault_cycle && (outside || slot.is_some_and(in_unit))
    }

    /// Makes the changes that belong to a kind of fault: repeated replacement, and a replacement that fails. Without
    /// the module, the only controller is stopped and a new one started in its place.
    fn scripted_changes(&mut self) {
        let Some(setup) = self.experiment.units.first().cloned() else { return };
        let Some(since) = self.cycle.checked_sub(self.fault_cycle) else { return };
        let (is_due, next) = match setup.fault {
            FaultKind::ReplaceLoop => (since.is_multiple_of(10), FaultKind::ReplaceLoop),
            FaultKind::FailureDuringReplacement => (since == 0, FaultKind::Crash),
            _ => return,
        };
        if !is_due {
            return;
        }
        if self.decision.is_none() {
            let generation = self.cycle as u32 + 2;
            return self.launch(UnitId { slot: 0, generation }, setup.gain, next);
        }
        let name = |n: u32| if n == 0 { setup.name.clone() } else { format!("{}-{n}", setup.name) };
        let (old, new) = (name(self.replaced), name(self.replaced + 1));
        let change =
            Change::Replace { pairs: vec![Replacement { old, new, share: Share::default() }] };
        // As soon as one replacement is done, the next begins.
        if self.upgrades.is_idle() && self.change(change, &[(setup.gain, next)]).is_ok() {
            self.replaced += 1;
        }
    }
}

/// The bytes of a received message, if there was one.
type Raw = Option<[u8; Command::SIZE]>;

/// Runs an experiment for this long, or until the pendulum is lost.
///
/// # Errors
/// If its parts do not fit together.
pub fn simulate(experiment: Experiment, duration: Span) -> Result<Outcome, ExperimentError> {
    Ok(Simulation::new(experiment)?.run(duration))
}
