//! One run of one variant: make the kernel objects, start the processes, watch them, collect the record.

use std::fs;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant as WallInstant};

use hemiola_bus::End;
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::process::{Signal, signal_group};
use hemiola_scenario::{Plan, Process, Release, Task, Variant};
use hemiola_trace::result::{
    MixedRecord, ProcessRecord, ProcessRun, Role, RunRecord, VariantRecord,
};
use hemiola_units::{
    Delivery, Endpoint, Granted, Instant, Overrun, Rate, Refusal, RtiAddress, Span,
};

use crate::RunError;
use crate::campaign::Injection;
use crate::collect::Collector;
use crate::federation::{self, FederateWork, RtiWork};
use crate::kernel::Recording;
use crate::launch::{Finished, Launched, Message, describe as describe_exit};
use crate::node::{Activation, NodeSpec, Turns};
use crate::run::{Context, Progress};
use crate::tasks::{BenchmarkWork, ControllerWork, DecisionWork, Foreign, Work};
use crate::units::Units;
use crate::wiring::Wiring;

/// How long a process may take to prepare: opening, locking memory, warming up.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a process may take to end once it is told to.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// From "everybody is ready" to the first release.
const START_DELAY: Span = Span::from_millis(30);
/// The same for a federation: on a busy machine, telling all its processes takes longer, and the first cycle of one is
/// the first of all.
const START_DELAY_FEDERATION: Span = Span::from_millis(200);
/// A foreign program that ends within this time of its start did not work at all.
const AT_ONCE: Span = Span::from_millis(250);
/// How long a federation may make no step at all.
const STANDSTILL: Duration = Duration::from_secs(10);
/// How often the supervising loop looks at everything.
const TICK: Duration = Duration::from_millis(10);

/// A process of the run.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) launched: Launched,
    pub(crate) granted: Option<Granted>,
    pub(crate) finished: Option<Finished>,
    pub(crate) exit: Option<String>,
    /// Whether its early end is part of the experiment and not a failure of the run.
    pub(crate) may_end: bool,
    pub(crate) lost_events: u64,
}

/// A run of a variant, from its kernel objects to its record.
pub(crate) struct Stage<'r> {
    context: &'r Context<'r>,
    variant: &'r Variant,
    number: u32,
    wiring: Wiring,
    members: Vec<Member>,
    units: Option<Units>,
    collector: Collector,
    trace: String,
    injected: Vec<Injection>,
    warmup: Span,
    duration: Span,
    kernel: Option<Recording>,
    /// Where the RTI of a federation listens, once it does.
    rti: Option<RtiAddress>,
}

impl<'r> Stage<'r> {
    /// Starts every process and waits until all are prepared.
    pub(crate) fn prepare(
        context: &'r Context<'r>,
        variant: &'r Variant,
        number: u32,
    ) -> Result<Self, RunError> {
        let injected = Injection::of_scenario(variant, u64::from(number));
        let (warmup, duration) = (context.plan.warmup, context.plan.duration);
        Self::prepare_with(context, variant, number, injected, (warmup, duration), &variant.name)
    }

    /// The same with faults to come, another duration, and another name for the trace.
    pub(crate) fn prepare_with(
        context: &'r Context<'r>,
        variant: &'r Variant,
        number: u32,
        injected: Vec<Injection>,
        (warmup, duration): (Span, Span),
        name: &str,
    ) -> Result<Self, RunError> {
        let trace = format!("traces/{name}-{number}.pftrace");
        let wiring = Wiring::create(context, variant)?;
        let about = [
            ("title", context.plan.title.clone()),
            ("program", variant.name.clone()),
            ("run", number.to_string()),
            ("period", variant.rate.period().to_string()),
            (
                "kernel's side",
                if context.records_kernel { "recorded" } else { "not recorded" }.into(),
            ),
        ];
        let about = hemiola_record::conditions::for_trace(context.conditions, &about);
        let collector = Collector::create(&context.folder.join(&trace), &variant.channels, &about)?;
        let units = wiring.supervision.is_some().then(|| Units::new(variant));
        let mut stage = Self {
            context,
            variant,
            number,
            wiring,
            members: Vec::new(),
            units,
            collector,
            trace,
            injected,
            warmup,
            duration,
            kernel: None,
            rti: None,
        };
        for process in &variant.processes {
            stage.launch(process)?;
            if matches!(process.task, Task::Rti { .. }) {
                // Federates join while they prepare.
                stage.await_ready(stage.members.len() - 1)?;
            }
        }
        if let Some(mut units) = stage.units.take() {
            let launched = variant.units.iter().enumerate().try_for_each(|(slot, unit)| {
                let fault = stage.injected.iter().find_map(|injection| injection.in_unit(slot));
                units.launch_first(&mut stage, unit, fault)
            });
            stage.units = Some(units);
            launched?;
        }
        for index in 0..stage.members.len() {
            stage.await_ready(index)?;
        }
        stage.check_refusals()?;
        // The last thing before the start: the record is of the run, and what starting took is not in it.
        stage.kernel = context.records_kernel.then(Recording::start).transpose()?;
        Ok(stage)
    }

    fn launch(&mut self, process: &Process) -> Result<(), RunError> {
        let (work, mut descriptors, role) = work(
            self.context,
            self.variant,
            &self.wiring,
            &self.injected,
            self.number,
            (self.warmup, self.duration),
            (process, self.rti.as_ref()),
        );
        descriptors.extend(self.wiring.descriptors(&process.sends, &process.receives));
        descriptors.extend(self.wiring.stop_descriptor());
        let spec = NodeSpec {
            name: process.name.clone(),
            profile: process.profile.clone(),
            work,
            activation: self.activation(process),
            period: process.period,
            deadline: process.deadline,
            sends: self.wiring.sends(process),
            receives: self.wiring.receives(process),
            stop: self.wiring.stop_handle(),
            log: 0,
            calibration: self.context.calibration,
            limits: None,
        };
        let mut member = start(self.context, &mut self.collector, spec, &descriptors, role)?;
        // The controller whose fault is the experiment may die of it.
        member.may_end = role == Role::Controller && !self.injected.is_empty();
        self.members.push(member);
        Ok(())
    }

    /// Starts a unit's process in its slot.
    pub(crate) fn launch_unit(
        &mut self,
        unit: &crate::units::Launch,
    ) -> Result<(usize, u32), RunError> {
        let supervision =
            self.wiring.supervision.as_ref().expect("units come with a decision process");
        let slot = &supervision.slots[unit.slot];
        let decision = self.variant.decision_process().expect("units come with a decision process");
        let sensors = decision.receives[0].clone();
        let mut descriptors = self.wiring.descriptors(&[], std::slice::from_ref(&sensors));
        descriptors.extend(slot.descriptor(End::Sender));
        // A foreign program reads the contract and nothing else.
        if matches!(unit.program, crate::units::Program::Gain(_)) {
            descriptors.extend(self.wiring.stop_descriptor());
        }
        let work = match &unit.program {
            crate::units::Program::Gain(gain) => Work::Controller(ControllerWork {
                gain: *gain,
                unit: unit.generation,
                fault: unit.fault.clone(),
            }),
            crate::units::Program::Command { program, arguments } => {
                let number = |fd: Option<BorrowedFd<'_>>| {
                    fd.map_or_else(String::new, |fd| fd.as_raw_fd().to_string())
                };
                let sensors = self.wiring.channel(&sensors);
                let environment = [
                    (
                        "HEMIOLA_SENSORS_FD",
                        number(sensors.and_then(|c| c.descriptor(End::Receiver))),
                    ),
                    ("HEMIOLA_COMMAND_FD", number(slot.descriptor(End::Sender))),
                    ("HEMIOLA_UNIT", unit.generation.to_string()),
                    ("HEMIOLA_PERIOD_NS", self.variant.rate.period().nanos().to_string()),
                ];
                Work::Foreign(Foreign {
                    program: resolve(self.context.scenario_folder, program),
                    arguments: arguments.clone(),
                    environment: environment.map(|(key, value)| (key.to_owned(), value)).to_vec(),
                })
            }
        };
        let spec = NodeSpec {
            name: unit.name.clone(),
            profile: unit.profile.clone(),
            work,
            activation: Activation::Message,
            period: self.variant.rate.period(),
            deadline: decision.deadline,
            sends: Some(crate::node::Port {
                index: crate::units::SLOT_PORT + unit.slot as u16,
                handle: slot.handle(),
            }),
            receives: self.wiring.port(&sensors),
            stop: self.wiring.stop_handle(),
            log: 0,
            calibration: self.context.calibration,
            limits: Some(crate::units::limits(unit)),
        };
        let mut member = start(self.context, &mut self.collector, spec, &descriptors, Role::Unit)?;
        member.may_end = unit.may_end;
        let pid = member.launched.pid();
        self.members.push(member);
        Ok((self.members.len() - 1, pid))
    }

    fn activation(&self, process: &Process) -> Activation {
        match &process.release {
            Release::Every { rate, overrun, lead } => {
                let paces = matches!(
                    process.task,
                    Task::Io { .. } | Task::Monolithic { .. } | Task::Federate(_) | Task::Timer
                );
                let releases = if paces { self.cycles(*rate) } else { u64::MAX };
                let takes_turns = matches!(process.task, Task::Workload { takes_turns: true, .. });
                let turns = self.variant.mixed().filter(|_| takes_turns).map(|mixed| Turns {
                    from: self.warmup,
                    turn: mixed.turn,
                    fours: whole(self.duration, mixed.turn) / 4,
                });
                Activation::Every { rate: *rate, overrun: *overrun, lead: *lead, releases, turns }
            }
            Release::On { .. } => Activation::Message,
            Release::Federation => Activation::Task,
            Release::Own => Activation::Every {
                rate: self.variant.rate,
                overrun: Overrun::Skip,
                lead: Span::ZERO,
                releases: u64::MAX,
                turns: None,
            },
        }
    }

    /// Releases of warm-up and counted part together.
    fn cycles(&self, rate: Rate) -> u64 {
        let whole = self.warmup + self.duration;
        (whole.nanos() as u64).div_ceil(rate.period().nanos() as u64).max(1)
    }

    fn await_ready(&mut self, index: usize) -> Result<(), RunError> {
        let limit = WallInstant::now() + PREPARE_TIMEOUT;
        while self.members[index].granted.is_none() {
            match self.members[index].launched.hear(Duration::from_millis(20)) {
                Some(Message::Ready(granted)) => self.members[index].granted = Some(granted),
                Some(Message::Serving(address)) => self.rti = Some(address),
                Some(Message::Failed(reason)) => return Err(self.not_started(index, reason)),
                Some(_) => {
                    return Err(self.not_started(index, "it said something unexpected".into()));
                }
                // Federates wait for each other: who failed is named, not who misses it.
                None if self.variant.federation.is_some() => {
                    (0..self.members.len()).try_for_each(|index| self.is_preparing(index))?;
                }
                None => self.is_preparing(index)?,
            }
            if WallInstant::now() > limit {
                let reason = format!("not ready after {} s", PREPARE_TIMEOUT.as_secs());
                return Err(self.not_started(index, reason));
            }
            if self.context.is_interrupted() {
                return Err(RunError::Interrupted);
            }
        }
        Ok(())
    }

    fn not_started(&self, index: usize, reason: String) -> RunError {
        RunError::Start { process: self.members[index].name.clone(), reason }
    }

    /// An error when the process has ended.
    fn is_preparing(&mut self, index: usize) -> Result<(), RunError> {
        let member = &mut self.members[index];
        let Some(status) = member.launched.ended() else { return Ok(()) };
        let reason = match member.launched.hear(Duration::from_millis(1)) {
            Some(Message::Failed(reason)) => reason,
            _ => {
                let output = output_tail(self.context, &member.name);
                format!("{} while preparing{output}", describe_exit(status))
            }
        };
        Err(self.not_started(index, reason))
    }

    /// Whether `index` has become ready, without waiting for it.
    pub(crate) fn poll_ready(
        &mut self,
        index: usize,
        epoch: Instant,
    ) -> Option<Result<(), String>> {
        let member = &mut self.members[index];
        match member.launched.hear(Duration::from_millis(1)) {
            Some(Message::Ready(granted)) => {
                member.granted = Some(granted);
                Some(member.launched.say(&Message::Start(epoch)).map_err(|e| e.to_string()))
            }
            Some(Message::Failed(reason)) => Some(Err(reason)),
            Some(_) => Some(Err("it said something unexpected".into())),
            None => member.launched.ended().map(|status| {
                Err(format!("{}{}", describe_exit(status), output_tail(self.context, &member.name)))
            }),
        }
    }

    fn check_refusals(&self) -> Result<(), RunError> {
        let refusals: Vec<(String, Refusal)> = self
            .members
            .iter()
            .flat_map(|member| {
                let granted = member.granted.iter().flat_map(|granted| &granted.refusals);
                granted.map(|refusal| (member.name.clone(), refusal.clone()))
            })
            .collect();
        if refusals.is_empty() || self.context.plan.allow_less {
            Ok(())
        } else {
            Err(RunError::Refused(refusals))
        }
    }

    /// Lets the processes run for the plan's duration; nothing when a signal cut the run short.
    pub(crate) fn run(
        mut self,
        progress: &mut dyn Progress,
    ) -> Result<Option<RunRecord>, RunError> {
        let delay = match &self.variant.federation {
            Some(_) => START_DELAY_FEDERATION,
            None => START_DELAY,
        };
        let epoch = MonotonicClock.now() + delay;
        if let Some(mut units) = self.units.take() {
            units.announce(&mut self)?;
            self.units = Some(units);
        }
        for member in &mut self.members {
            let told = member.launched.say(&Message::Start(epoch));
            told.map_err(RunError::system("starting a process"))?;
        }
        let whole = self.warmup + self.duration;
        let mut stopped_early = None;
        let mut progress_seen = (0, WallInstant::now());
        loop {
            std::thread::sleep(TICK);
            self.collector.drain()?;
            if let Some(kernel) = &mut self.kernel {
                kernel.drain_when_due(&mut self.collector)?;
            }
            let elapsed = MonotonicClock.now() - epoch;
            if self.pacer_has_ended(elapsed > whole) {
                self.check_federates(elapsed)?;
                break;
            }
            if let Err(death) = self.check_deaths(elapsed) {
                if self.injected.is_empty() {
                    return Err(death);
                }
                stopped_early = Some(death.to_string());
                break;
            }
            self.check_progress(&mut progress_seen, elapsed)?;
            if self.context.is_interrupted() {
                return Ok(None);
            }
            let mut server = self.context.server.borrow_mut();
            match self.units.take() {
                Some(mut units) => {
                    units.tick(&mut self, &mut server, epoch);
                    units.take_notes().iter().for_each(|note| progress.note(note));
                    self.units = Some(units);
                }
                None => server.refuse_all(&format!(
                    "{} runs now, and has no units; ask again when a program with units runs",
                    self.variant.name
                )),
            }
            drop(server);
            for mut injection in std::mem::take(&mut self.injected) {
                injection.tick(&mut self, elapsed);
                self.injected.push(injection);
            }
            let doing = self.units.as_ref().map_or_else(String::new, Units::in_words);
            progress.tick((elapsed.secs_f64() / whole.secs_f64()).clamp(0.0, 1.0), &doing);
        }
        self.finish(stopped_early).map(Some)
    }

    /// Whether the process that paces the loop has done all its cycles; where none does, whether the time
    /// is over.
    fn pacer_has_ended(&mut self, time_is_over: bool) -> bool {
        let master = self.variant.federation.as_ref().map(|federation| federation.master.as_str());
        let paces = |member: &&mut Member| {
            matches!(member.role, Role::Io | Role::Monolithic | Role::Timer)
                || master == Some(member.name.as_str())
        };
        let mut pacers = self.members.iter_mut().filter(paces).peekable();
        if pacers.peek().is_none() {
            return time_is_over;
        }
        pacers.all(|member| {
            if member.finished.is_none()
                && let Some(Message::Finished(finished)) =
                    member.launched.hear(Duration::from_millis(1))
            {
                member.finished = Some(*finished);
            }
            member.finished.is_some()
        })
    }

    /// The master of a federation gets on: federates wait for each other without a limit.
    fn check_progress(
        &self,
        (recorded, since): &mut (u64, WallInstant),
        elapsed: Span,
    ) -> Result<(), RunError> {
        let Some(federation) = &self.variant.federation else { return Ok(()) };
        let now = self.collector.recorded(&federation.master);
        if now != *recorded {
            (*recorded, *since) = (now, WallInstant::now());
            return Ok(());
        }
        let patience = STANDSTILL.max((self.variant.rate.period() * 10).to_duration());
        if since.elapsed() < patience {
            return Ok(());
        }
        let process = federation.master.clone();
        let reason = format!(
            "no cycle of it has begun or ended for {} s; a federate that it waits for hangs, or it does",
            patience.as_secs()
        );
        let output = output_tail(self.context, &process);
        Err(RunError::Stopped { process, reason, after: elapsed, output })
    }

    /// The master of a federation has ended: whether it did so because something is wrong with another, which is
    /// then the one to name, or with itself.
    fn check_federates(&mut self, elapsed: Span) -> Result<(), RunError> {
        /// A process that is killed has ended for its neighbours before it has for us.
        const SETTLE: Duration = Duration::from_millis(100);
        let Some(federation) = &self.variant.federation else { return Ok(()) };
        let is_master = |member: &&Member| member.name == federation.master;
        let finished = self.members.iter().find(is_master).and_then(|m| m.finished.as_ref());
        let Some(reason) = finished.and_then(|finished| finished.stopped_early.clone()) else {
            return Ok(());
        };
        std::thread::sleep(SETTLE);
        self.check_deaths(elapsed)?;
        let process = federation.master.clone();
        let output = output_tail(self.context, &process);
        Err(RunError::Stopped { process, reason, after: elapsed, output })
    }

    /// A process that ended although the run goes on.
    fn check_deaths(&mut self, elapsed: Span) -> Result<(), RunError> {
        let context = self.context;
        for member in self.members.iter_mut().filter(|member| member.exit.is_none()) {
            let Some(status) = member.launched.ended() else { continue };
            let said = member.launched.hear(Duration::from_millis(1));
            let how = match &said {
                Some(Message::Failed(reason)) => reason.clone(),
                _ => describe_exit(status),
            };
            member.exit = Some(how.clone());
            let _ = context.guardian.borrow_mut().forget(member.launched.pid());
            if let Some(Message::Finished(finished)) = said {
                if let (Role::Federate, Some(reason)) = (member.role, &finished.stopped_early) {
                    let (process, reason) = (member.name.clone(), reason.clone());
                    let output = output_tail(context, &member.name);
                    return Err(RunError::Stopped { process, reason, after: elapsed, output });
                }
                // It ended in good order just now, and was not asked since.
                member.finished = Some(*finished);
                continue;
            }
            if member.may_end {
                continue;
            }
            let (process, output) = (member.name.clone(), output_tail(context, &member.name));
            if let Some(Message::Failed(reason)) = said {
                return Err(RunError::Start { process, reason });
            }
            let foreign = matches!(member.role, Role::Unit | Role::Command);
            if foreign && elapsed < AT_ONCE {
                return Err(RunError::EndedAtOnce { process, how, output });
            }
            // A unit that dies later is what the decision module is there for; a command may finish.
            if !foreign {
                return Err(RunError::Died { process, how, after: elapsed, output });
            }
        }
        Ok(())
    }

    fn finish(mut self, stopped_early: Option<String>) -> Result<RunRecord, RunError> {
        let kernel = self.kernel.take().map(|kernel| kernel.finish(&mut self.collector));
        self.wiring.stop();
        let limit = WallInstant::now() + END_TIMEOUT;
        // The RTI last: federates resign.
        let (others, rti): (Vec<&mut Member>, Vec<&mut Member>) =
            self.members.iter_mut().partition(|member| member.role != Role::Rti);
        for member in others.into_iter().chain(rti) {
            if member.role == Role::Rti {
                // One that is gone was found to be so.
                let _ = member.launched.say(&Message::Stop);
            }
            if member.role == Role::Command && member.exit.is_none() {
                let _ = signal_group(member.launched.pid(), Signal::TERM);
            }
            while member.finished.is_none() && member.exit.is_none() && WallInstant::now() < limit {
                match member.launched.hear(Duration::from_millis(20)) {
                    Some(Message::Finished(finished)) => member.finished = Some(*finished),
                    _ if member.role == Role::Unit && member.finished.is_none() => {
                        // A foreign unit keeps no line to the runner: it is told as the contract says.
                        let _ = signal_group(member.launched.pid(), Signal::TERM);
                        break;
                    }
                    _ => {}
                }
            }
        }
        for member in &mut self.members {
            let status = member.launched.wait_until(limit);
            let status = status.unwrap_or_else(|| member.launched.kill());
            member.exit.get_or_insert_with(|| describe_exit(status));
            let _ = self.context.guardian.borrow_mut().forget(member.launched.pid());
        }
        let lost = self.collector.finish()?;
        for (name, count) in lost {
            if let Some(member) = self.members.iter_mut().find(|member| member.name == name) {
                member.lost_events = count;
            }
        }
        let said = |role: Role| {
            self.members.iter().find(|m| m.role == role).and_then(|m| m.finished.as_ref())
        };
        let plant = said(Role::Plant);
        let stopped_early = stopped_early.or_else(|| {
            self.members.iter().find_map(|member| {
                let why = member.finished.as_ref()?.stopped_early.as_ref()?;
                Some(format!("{}: {why}", member.name))
            })
        });
        Ok(RunRecord {
            number: self.number,
            trace: self.trace.clone(),
            duration: self.duration,
            warmup_cycles: (self.warmup.nanos() as u64)
                .div_ceil(self.variant.rate.period().nanos() as u64),
            fallen_after: plant.and_then(|finished| finished.fallen_after),
            peak_v: plant.map_or(0.0, |finished| finished.peak_v),
            switches: said(Role::Decision).map_or(0, |finished| finished.switches),
            stopped_early,
            kernel: kernel.transpose()?,
            federation: federation::run_record(&self.members),
            processes: self.members.iter().filter_map(Member::record).collect(),
        })
    }

    pub(crate) fn variant(&self) -> &'r Variant {
        self.variant
    }

    pub(crate) fn wiring(&mut self) -> &mut Wiring {
        &mut self.wiring
    }

    /// Does something to the units that needs the rest of the stage as well.
    pub(crate) fn with_units(&mut self, action: impl FnOnce(&mut Units, &mut Self)) {
        if let Some(mut units) = self.units.take() {
            action(&mut units, self);
            self.units = Some(units);
        }
    }

    pub(crate) fn members(&mut self) -> &mut [Member] {
        &mut self.members
    }
}

impl Member {
    /// Nothing of a unit that was still preparing when the run ended: it took no part in it.
    fn record(&self) -> Option<ProcessRun> {
        let finished = self.finished.clone().unwrap_or_default();
        Some(ProcessRun {
            name: self.name.clone(),
            pid: self.launched.pid(),
            granted: self.granted.clone()?,
            exit: self.exit.clone().unwrap_or_default(),
            voluntary_switches: finished.voluntary_switches,
            involuntary_switches: finished.involuntary_switches,
            lost_events: self.lost_events,
            mark_pair_ns_p50: finished.mark_pair_ns_p50,
        })
    }
}

/// What a process does, and which kernel objects it needs besides its channels.
fn work<'w>(
    context: &Context<'_>,
    variant: &Variant,
    wiring: &'w Wiring,
    injected: &[Injection],
    number: u32,
    (warmup, duration): (Span, Span),
    (process, rti): (&Process, Option<&RtiAddress>),
) -> (Work, Vec<BorrowedFd<'w>>, Role) {
    let impossible = "a checked plan has a plant wherever a process needs the card";
    let conversion_time = context.plan.card.conversion_time;
    match &process.task {
        Task::Plant => {
            let seed = context.plan.seed.wrapping_add(u64::from(number));
            let plant = context.plan.plant.clone().expect(impossible);
            let settings = hemiola_plant::Settings { seed, ..plant };
            let whole = warmup + duration;
            let (work, descriptors) = wiring.plant_side(settings, whole).expect(impossible);
            (Work::Plant(work), descriptors.to_vec(), Role::Plant)
        }
        Task::Monolithic { gain } => {
            let (card, descriptors) = wiring.card(conversion_time).expect(impossible);
            (Work::Monolithic { card, gain: *gain }, descriptors.to_vec(), Role::Monolithic)
        }
        Task::Io { order } => {
            let (card, descriptors) = wiring.card(conversion_time).expect(impossible);
            (Work::Io { card, order: *order }, descriptors.to_vec(), Role::Io)
        }
        Task::Controller { gain } => {
            let fault = injected.iter().find_map(Injection::in_controller);
            let work = ControllerWork { gain: *gain, unit: 0, fault };
            (Work::Controller(work), Vec::new(), Role::Controller)
        }
        Task::Decision => {
            let lead = match process.release {
                Release::On { lead, .. } => lead,
                Release::Every { .. } | Release::Federation | Release::Own => Span::ZERO,
            };
            let supervision = wiring.supervision.as_ref().expect("made with the decision process");
            let work = DecisionWork {
                settings: variant.decision.clone().expect("present with the decision process"),
                lead,
                slots: supervision.slots.iter().map(hemiola_bus::Channel::handle).collect(),
                requests: supervision.requests.handle(),
                replies: supervision.replies.handle(),
                status: supervision.status.handle(),
            };
            (Work::Decision(work), supervision.descriptors(), Role::Decision)
        }
        Task::Workload { compute, .. } => {
            (Work::Workload { compute: *compute }, Vec::new(), Role::Workload)
        }
        Task::Benchmark { threads, memory, .. } => {
            let turns = whole(duration, process.period);
            let work = BenchmarkWork { threads: *threads, memory: *memory, from: warmup, turns };
            (Work::Benchmark(work), Vec::new(), Role::Benchmark)
        }
        Task::Rti { namespace } => {
            let federation = variant.federation.as_ref().expect("an RTI is of a federation");
            let work = RtiWork {
                transport: federation.transport,
                name: context.id.to_string(),
                namespace: namespace.clone(),
            };
            (Work::Rti(work), Vec::new(), Role::Rti)
        }
        Task::Federate(settings) => {
            let federation = variant.federation.as_ref().expect("a federate is of a federation");
            let models = variant.processes.iter().filter_map(|process| match &process.task {
                Task::Federate(settings) => Some((process.name.clone(), settings.model)),
                _ => None,
            });
            let work = FederateWork {
                name: process.name.clone(),
                address: rti.expect("the RTI is the first process of its variant").clone(),
                execution: variant.name.clone(),
                settings: settings.clone(),
                federation: federation.clone(),
                models: models.collect(),
                period: variant.rate.period(),
            };
            (Work::Federate(Box::new(work)), Vec::new(), Role::Federate)
        }
        Task::Timer => (Work::Timer, Vec::new(), Role::Timer),
        Task::Command { program, arguments } => {
            let foreign = Foreign {
                program: resolve(context.scenario_folder, program),
                arguments: arguments.clone(),
                environment: Vec::new(),
            };
            (Work::Foreign(foreign), Vec::new(), Role::Command)
        }
    }
}

/// Starts a process with a recorder of its own, under the guardian's eyes.
fn start(
    context: &Context<'_>,
    collector: &mut Collector,
    mut spec: NodeSpec,
    descriptors: &[BorrowedFd<'_>],
    role: Role,
) -> Result<Member, RunError> {
    let name = spec.name.clone();
    let log = collector.log(&name)?;
    spec.log = log.fd().as_raw_fd();
    let mut descriptors = descriptors.to_vec();
    // A foreign program keeps no record.
    if !matches!(spec.work, Work::Foreign(_)) {
        descriptors.push(log.fd());
    }
    let output = context.folder.join(format!("logs/{name}.log"));
    let refused =
        |e: std::io::Error| RunError::Start { process: name.clone(), reason: e.to_string() };
    let launched = Launched::start(spec, &descriptors, &output).map_err(refused)?;
    drop(descriptors);
    context
        .guardian
        .borrow_mut()
        .watch(launched.pid())
        .map_err(RunError::system("the guardian process"))?;
    collector.attach(&name, launched.pid(), log)?;
    Ok(Member {
        name,
        role,
        launched,
        granted: None,
        finished: None,
        exit: None,
        may_end: false,
        lost_events: 0,
    })
}

/// The end of what a process printed, indented on lines of its own; empty when it printed nothing.
fn output_tail(context: &Context<'_>, name: &str) -> String {
    const LINES: usize = 8;
    let text =
        fs::read_to_string(context.folder.join(format!("logs/{name}.log"))).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let tail = &lines[lines.len().saturating_sub(LINES)..];
    tail.iter().map(|line| format!("\n  {name}: {line}")).collect()
}

/// A program as it can be executed: a path from the scenario's folder, or a name to look up.
fn resolve(scenario_folder: &Path, program: &str) -> String {
    if program.contains('/') {
        let path = scenario_folder.join(program);
        return std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned();
    }
    program.to_owned()
}

/// A variant as it stands in the result folder, before it has run.
pub(crate) fn describe(plan: &Plan, variant: &Variant) -> VariantRecord {
    let mut processes: Vec<ProcessRecord> = variant
        .processes
        .iter()
        .map(|process| {
            let role = match &process.task {
                Task::Plant => Role::Plant,
                Task::Io { .. } => Role::Io,
                Task::Monolithic { .. } => Role::Monolithic,
                Task::Controller { .. } => Role::Controller,
                Task::Decision => Role::Decision,
                Task::Workload { .. } => Role::Workload,
                Task::Benchmark { .. } => Role::Benchmark,
                Task::Command { .. } => Role::Command,
                Task::Rti { .. } => Role::Rti,
                Task::Federate(_) => Role::Federate,
                Task::Timer => Role::Timer,
            };
            let in_cycle = matches!(
                role,
                Role::Io | Role::Monolithic | Role::Controller | Role::Decision | Role::Unit
            );
            ProcessRecord {
                name: process.name.clone(),
                role,
                in_cycle,
                asked: process.profile.clone(),
            }
        })
        .collect();
    processes.extend(variant.units.iter().map(|unit| ProcessRecord {
        name: unit.name.clone(),
        role: Role::Unit,
        in_cycle: matches!(unit.program, hemiola_scenario::UnitProgram::Gain(_)),
        asked: unit.profile.clone(),
    }));
    let hand_overs = variant.hand_overs();
    VariantRecord {
        name: variant.name.clone(),
        description: variant.description.clone(),
        period: variant.rate.period(),
        hand_overs: hand_overs.down + hand_overs.up,
        hand_overs_up: hand_overs.up,
        hand_over_mechanism: hand_overs.mechanism.to_owned(),
        lines_of_code: crate::size::lines_of_code(variant),
        features: features(plan, variant),
        processes,
        runs: Vec::new(),
        mixed: mixed(variant),
        federation: federation::record(variant),
    }
}

/// The variant's benchmark and load, for the analysis.
fn mixed(variant: &Variant) -> Option<MixedRecord> {
    let mixed = variant.mixed()?;
    let rate = |load: &Process| 1.0 / load.period.secs_f64();
    let share = |load: &Process| match load.task {
        Task::Workload { compute, .. } => compute.secs_f64() / load.period.secs_f64(),
        _ => 0.0,
    };
    Some(MixedRecord {
        series: variant.series.clone().unwrap_or_else(|| variant.name.clone()),
        benchmark: mixed.benchmark.name.clone(),
        load: mixed.load.map(|load| load.name.clone()),
        share: mixed.load.map_or(0.0, share),
        rate_hz: mixed.load.map_or(0.0, rate),
        turn: mixed.turn,
    })
}

/// How many whole ones of `part` are in `length`.
fn whole(length: Span, part: Span) -> u64 {
    (length.nanos() / part.nanos().max(1)).max(0) as u64
}

/// What the program can do, in the words of the feature table.
fn features(plan: &Plan, variant: &Variant) -> Vec<String> {
    let channels = || variant.channels.iter().map(|channel| &channel.endpoint);
    let several = variant.processes.iter().any(|process| matches!(process.task, Task::Io { .. }));
    let mut features = Vec::new();
    let mut tick = |condition: bool, feature: &str| {
        if condition {
            features.push(feature.to_owned());
        }
    };
    tick(several, "separate processes");
    tick(several, "data integrity");
    tick(
        variant.channels.iter().any(|channel| matches!(channel.delivery, Delivery::Queue(_))),
        "ordered events",
    );
    let broadcast = channels().any(|endpoint| matches!(endpoint, Endpoint::PubSub(_)));
    tick(broadcast || variant.decision.is_some(), "unknown receivers");
    tick(variant.decision.is_some(), "safety checking and recovery");
    tick(variant.decision.is_some() && variant.units.len() > 1, "analytic redundancy");
    tick(variant.decision.is_some() && plan.plant.is_some(), "live upgrade");
    features
}
