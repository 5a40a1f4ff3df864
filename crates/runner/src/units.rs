//! Replacement units while the loop runs: their processes, and the messages to and from the decision module.
//!
//! [`Upgrades`] decides. This module tells it what happened to processes, messages and requests of users, and carries
//! out what it answers. Nothing here blocks.

use std::collections::BTreeMap;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_sandbox::LoadError;
use hemiola_scenario::{
    Unit, UnitProgram, UnitState as Begin, UnitUser, Variant, sandboxed_budget,
};
use hemiola_simplex::{
    Begun, Change, Effect, Gain, Replacement, Role, SLOTS, Ticket, UnitId, Upgrades, fault_name,
    reason_name, state_name, unit_policy,
};
use hemiola_trace::event::source;
use hemiola_trace::result::UnitRun;
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Instant, Policy, Profile, Span};

use crate::RunError;
use crate::control::{
    Client, NewUnit, Scenarios, Server, UnitAnswer, UnitEvent, UnitHappening, UnitPair,
    UnitRequest, UnitRow, Watcher,
};
use crate::launch::Message;
use crate::sandboxed::{self, Order, REPORT_SIZE, Report};
use crate::stage::Stage;
use crate::status::{Ask, REPLY_SIZE, Reply, STATUS_SIZE, Status};
use crate::tasks::unit::{self, UnitLaunch};
use crate::tasks::{EarlyEnd, Fault};
use crate::wiring::Supervision;

/// The most clients that watch at a time.
const WATCHERS_MAX: usize = 8;

/// Every unit of a running variant, and the requests under way.
pub(crate) struct Units {
    upgrades: Upgrades,
    /// The newest process in each slot.
    processes: [Option<UnitProcess>; SLOTS],
    clients: BTreeMap<Ticket, Client<Scenarios>>,
    watchers: Vec<Watcher>,
    status: Option<Status>,
    /// Profile and budget of an added unit, unless the request says otherwise.
    profile: Profile,
    budget: Span,
    sandboxed_budget: Span,
    /// Notes that the user has not seen yet.
    notes: Vec<String>,
    /// Every unit that was started, for the record.
    started: Vec<UnitRun>,
}

/// The process of a unit, or its instance in the sandbox of the decision process.
#[derive(Clone, Copy, Debug)]
struct UnitProcess {
    id: UnitId,
    /// `None` for a sandboxed unit, whose `pid` is 0.
    member: Option<usize>,
    pid: u32,
    /// The real-time priority that it wants; 0 for none.
    priority: u8,
    prepares: bool,
    ending: bool,
    vacated: bool,
}

impl Units {
    pub(crate) fn new(variant: &Variant) -> Self {
        let last = variant.units.iter().rfind(|unit| !unit.is_sandboxed());
        let decision = variant.decision.as_ref().expect("present with the decision process");
        let reserved = variant.processes.iter().map(|process| process.name.clone()).collect();
        Self {
            upgrades: Upgrades::new(decision, variant.rate.period(), reserved),
            processes: Default::default(),
            clients: BTreeMap::new(),
            watchers: Vec::new(),
            status: None,
            profile: last.map_or_else(Profile::ordinary, |unit| unit.profile.clone()),
            budget: last.map_or(decision.budget(), |unit| unit.budget),
            sandboxed_budget: sandboxed_budget(decision.answer_within),
            notes: Vec::new(),
            started: Vec::new(),
        }
    }

    /// Every unit that was started, in order.
    pub(crate) fn started(&self) -> &[UnitRun] {
        &self.started
    }

    /// Starts the units that the scenario begins with.
    pub(crate) fn launch_first(&mut self, stage: &mut Stage<'_>) -> Result<(), RunError> {
        for (index, unit) in stage.variant().units.iter().enumerate() {
            let role = if unit.state == Begin::Active { Role::Active } else { Role::Shadow };
            let id = self.upgrades.first(&unit.name, role, unit.share()).map_err(|error| {
                RunError::Start { process: unit.name.clone(), reason: error.to_string() }
            })?;
            let fault = stage.injected().iter().find_map(|injection| injection.in_unit(index));
            let may_end = fault.is_some();
            self.launch(stage, &UnitLaunch { id, unit: unit.clone(), fault, may_end })?;
            let process = self.process_mut(id).expect("just launched");
            process.prepares = process.member.is_none();
        }
        Ok(())
    }

    /// Whether every sandboxed unit that the scenario begins with is prepared.
    pub(crate) fn are_first_prepared(&mut self, stage: &mut Stage<'_>) -> Result<bool, RunError> {
        for report in receive_reports(stage) {
            match report {
                Report::Prepared(id) => self.prepared(id),
                Report::Refused(id, reason) => {
                    return Err(RunError::Start { process: self.unit(id.slot), reason });
                }
                Report::Dropped(_) => {}
            }
        }
        Ok(!self.processes.iter().flatten().any(|process| process.prepares))
    }

    fn launch(&mut self, stage: &mut Stage<'_>, launch: &UnitLaunch) -> Result<(), RunError> {
        let (program, name) = (&launch.unit.program, &launch.unit.name);
        self.started.push(UnitRun {
            name: name.clone(),
            slot: launch.id.slot,
            generation: launch.id.generation,
            asked: launch.unit.profile.clone(),
            ended_after: None,
            user: None,
        });
        if let UnitProgram::Module { file } = program {
            let started = order_preparation(stage, launch, file);
            let because = |reason| RunError::Start { process: name.clone(), reason };
            return started.map(|()| self.enter(launch.id, None, 0, 0)).map_err(because);
        }
        supervision(stage).renew(launch.id.slot);
        let process = unit::process(stage.variant(), &launch.unit);
        let (process, kind) = process.zip(unit::kind(program)).expect("all others have a process");
        let member = stage.launch(&process, kind, |supplies| unit::equipment(launch, supplies))?;
        supervision(stage).seat(launch.id.slot);
        let launched = &mut stage.members()[member];
        if launch.may_end {
            launched.early_end = EarlyEnd::Expected;
        }
        let pid = launched.launched.pid();
        let priority = match launch.unit.profile.scheduling {
            Policy::Fifo { priority } | Policy::RoundRobin { priority } => priority.get(),
            Policy::Other { .. } | Policy::Deadline { .. } => 0,
        };
        self.enter(launch.id, Some(member), pid, priority);
        Ok(())
    }

    fn enter(&mut self, id: UnitId, member: Option<usize>, pid: u32, priority: u8) {
        let (prepares, ending, vacated) = (true, false, false);
        self.processes[usize::from(id.slot)] =
            Some(UnitProcess { id, member, pid, priority, prepares, ending, vacated });
    }

    fn prepared(&mut self, id: UnitId) {
        if let Some(process) = self.process_mut(id) {
            process.prepares = false;
        }
        self.upgrades.ready(id);
    }

    /// Tells the decision module which units it begins with.
    pub(crate) fn announce(&mut self, stage: &mut Stage<'_>) {
        self.upgrades.announce();
        self.carry_out(stage, Instant::ZERO);
    }

    /// Handles messages of the decision module, requests of users, and processes that are prepared or have ended.
    pub(crate) fn tick(
        &mut self,
        stage: &mut Stage<'_>,
        server: &mut Server<Scenarios>,
        epoch: Instant,
    ) {
        self.receive(stage);
        while let Some((request, client)) = server.poll() {
            self.serve(stage, request, client);
        }
        self.look_at_processes(stage);
        self.upgrades.tick(MonotonicClock.now());
        self.report(&stage.take_decided(), epoch);
        self.carry_out(stage, epoch);
        self.watchers.retain_mut(Watcher::flush);
    }

    /// Reports events of the decision module to those who watch.
    fn report(&mut self, entries: &[Entry], epoch: Instant) {
        for entry in entries {
            let what = match entry.kind {
                EventKind::Switch => UnitHappening::Switch {
                    from: self.source(entry.a as u16),
                    to: self.source(entry.b as u16),
                    reason: reason_name(entry.arg).unwrap_or("unknown").into(),
                },
                EventKind::Fault => UnitHappening::Fault {
                    unit: u8::try_from(entry.a).ok().map(|slot| self.unit(slot)),
                    fault: fault_name(entry.arg).unwrap_or("unknown").into(),
                },
                _ => UnitHappening::State {
                    unit: self.unit(entry.a as u8),
                    state: state_name(entry.arg).unwrap_or("unknown").into(),
                },
            };
            self.tell(entry.at, Some(entry.cycle), epoch, what);
        }
    }

    fn tell(&mut self, at: Instant, cycle: Option<u32>, epoch: Instant, what: UnitHappening) {
        let event = UnitEvent { at_ns: (at - epoch).nanos(), cycle, what };
        self.watchers.retain_mut(|watcher| watcher.tell(&event));
    }

    fn unit(&self, slot: u8) -> String {
        self.upgrades.name(slot).map_or_else(|| format!("slot {slot}"), str::to_owned)
    }

    /// The name of a source of the commands.
    fn source(&self, code: u16) -> String {
        let slot = source::slot(code).and_then(|slot| u8::try_from(slot).ok());
        slot.map_or_else(|| source::name(code), |slot| self.unit(slot))
    }

    /// Reads replies and the newest status.
    fn receive(&mut self, stage: &mut Stage<'_>) {
        let supervision = supervision(stage);
        let mut buffer = [0; REPLY_SIZE];
        while let Ok(Some(bytes)) = supervision.reply_receiver.receive(&mut buffer) {
            if let Some(reply) = Reply::from_bytes(bytes) {
                self.upgrades.replied(reply.id, reply.refused().map_or(Ok(()), Err));
            }
        }
        let mut buffer = [0; STATUS_SIZE];
        if let Ok(Some(bytes)) = supervision.status_receiver.receive(&mut buffer)
            && let Some(status) = Status::from_bytes(bytes)
        {
            self.upgrades.observe(status.served, &status.slots.map(|slot| slot.view()));
            self.status = Some(status);
        }
    }

    fn serve(&mut self, stage: &mut Stage<'_>, request: UnitRequest, client: Client<Scenarios>) {
        let begun = match request {
            UnitRequest::List => return client.answer(&self.list(stage)),
            UnitRequest::Watch if self.watchers.len() < WATCHERS_MAX => {
                return self.watchers.push(client.into());
            }
            UnitRequest::Watch => {
                Err(format!("{WATCHERS_MAX} clients watch already; end one of them"))
            }
            UnitRequest::Add(new) => self.described(stage, &new).and_then(|unit| {
                let change = Change::Add { name: unit.name.clone(), share: unit.share() };
                self.begin(stage, change, vec![unit])
            }),
            UnitRequest::Replace(pairs) => self.replace(stage, &pairs),
            UnitRequest::Remove { name } => self.begin(stage, Change::Remove { name }, vec![]),
            UnitRequest::Promote { name } => self.begin(stage, Change::Promote { name }, vec![]),
            UnitRequest::Resume => self.begin(stage, Change::Resume, vec![]),
        };
        match begun {
            Ok(ticket) => {
                self.clients.insert(ticket, client);
            }
            Err(refusal) => client.answer(&UnitAnswer::Refused(refusal)),
        }
    }

    fn replace(&mut self, stage: &mut Stage<'_>, pairs: &[UnitPair]) -> Result<Ticket, String> {
        let described = pairs.iter().map(|pair| self.described(stage, &pair.new));
        let units = described.collect::<Result<Vec<Unit>, _>>()?;
        let named = |(pair, unit): (&UnitPair, &Unit)| Replacement {
            old: pair.old.clone(),
            new: unit.name.clone(),
            share: unit.share(),
        };
        let pairs = pairs.iter().zip(&units).map(named).collect();
        self.begin(stage, Change::Replace { pairs }, units)
    }

    /// Begins a change, and starts the processes of its new units.
    fn begin(
        &mut self,
        stage: &mut Stage<'_>,
        change: Change,
        units: Vec<Unit>,
    ) -> Result<Ticket, String> {
        let begun = self.begin_core(change)?;
        for (id, unit) in begun.launches.into_iter().zip(units) {
            self.launch_later(stage, UnitLaunch { id, unit, fault: None, may_end: true });
        }
        Ok(begun.ticket)
    }

    fn begin_core(&mut self, change: Change) -> Result<Begun, String> {
        self.upgrades.begin(change, MonotonicClock.now()).map_err(|refusal| refusal.to_string())
    }

    fn launch_later(&mut self, stage: &mut Stage<'_>, launch: UnitLaunch) {
        if let Err(error) = self.launch(stage, &launch) {
            self.upgrades.ended(launch.id, &error.to_string());
        }
    }

    /// Replaces a unit without a request of a user: for fault campaigns.
    pub(crate) fn replace_by_itself(
        &mut self,
        stage: &mut Stage<'_>,
        old: &str,
        new: &str,
        gain: Gain,
        fault: Option<Fault>,
    ) -> Result<(), String> {
        let (old, name) = (old.to_owned(), new.to_owned());
        let profile = self.profile.clone();
        let unit = Self::later(name.clone(), UnitProgram::Gain(gain), profile, self.budget, None);
        let pairs = vec![Replacement { old, new: name, share: unit.share() }];
        let begun = self.begin_core(Change::Replace { pairs })?;
        self.launch_later(stage, UnitLaunch { id: begun.launches[0], unit, fault, may_end: true });
        Ok(())
    }

    /// Whether no change is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.upgrades.is_idle()
    }

    /// The unit that a request describes.
    fn described(&self, stage: &Stage<'_>, new: &NewUnit) -> Result<Unit, String> {
        let program = match (&new.gain, new.command.split_first(), &new.wasm) {
            (None, None, Some(_)) if new.priority.is_some() => {
                let why = "a sandboxed unit has no process and no priority of its own";
                return Err(format!("{why}; leave out --priority"));
            }
            (None, None, Some(file)) => {
                let program = UnitProgram::Module { file: file.clone() };
                let budget = new.budget.unwrap_or(self.sandboxed_budget);
                return Ok(Self::later(
                    new.name.clone(),
                    program,
                    Profile::ordinary(),
                    budget,
                    None,
                ));
            }
            (Some(gain), None, None) => UnitProgram::Gain(Gain::written(gain, stage.states())?),
            (None, Some((program, arguments)), None) => {
                UnitProgram::Command { program: program.clone(), arguments: arguments.to_vec() }
            }
            _ => return Err("give one of --gain GAIN, --wasm FILE, or a program after --".into()),
        };
        let mut profile = self.profile.clone();
        if let Some(priority) = new.priority {
            let decision = stage.variant().decision_process();
            let decision = decision.expect("units come with a decision process");
            profile.scheduling = unit_policy(priority, decision.profile.scheduling)
                .map_err(|refusal| refusal.to_string())?;
        }
        let budget = new.budget.unwrap_or(self.budget);
        Ok(Self::later(new.name.clone(), program, profile, budget, new.user))
    }

    /// A unit that is started while the others run. It begins in shadow.
    fn later(
        name: String,
        program: UnitProgram,
        profile: Profile,
        budget: Span,
        user: Option<UnitUser>,
    ) -> Unit {
        let state = Begin::Shadow;
        Unit { name, program, fault: None, state, budget, profile, profile_name: None, user }
    }

    /// Reports the processes that are prepared, have ended, or are gone with everything they started.
    fn look_at_processes(&mut self, stage: &mut Stage<'_>) {
        for report in receive_reports(stage) {
            match report {
                Report::Prepared(id) => self.prepared(id),
                Report::Refused(id, reason) => self.upgrades.ended(id, &reason),
                Report::Dropped(id) => self.upgrades.vacated(id),
            }
        }
        for process in self.processes.iter_mut().flatten() {
            let UnitProcess { id, member: Some(member), .. } = *process else { continue };
            // The reason of its end may have been received with its end.
            if let Some(exit) = &stage.members()[member].exit {
                self.upgrades.ended(id, exit);
            } else if process.prepares && !process.ending {
                match stage.receive_ready(member, std::time::Duration::ZERO) {
                    Ok(false) => {}
                    Ok(true) => {
                        process.prepares = false;
                        self.upgrades.ready(id);
                    }
                    Err(reason) => self.upgrades.ended(id, &reason),
                }
            }
            if process.ending && !process.vacated && has_vanished(stage, member) {
                process.vacated = true;
                supervision(stage).unseat(id.slot);
                self.upgrades.vacated(id);
            }
        }
    }

    /// Does what [`Upgrades`] has decided.
    fn carry_out(&mut self, stage: &mut Stage<'_>, epoch: Instant) {
        while let Some(effect) = self.upgrades.poll() {
            match effect {
                Effect::Start(id) => self.start(stage, id, epoch),
                Effect::Ask { id, request } => {
                    let mut ask = Ask { id, request, pid: 0, priority: 0 };
                    let unit = ask.units().iter().next();
                    if let Some(process) = unit.and_then(|unit| self.process_mut(unit)) {
                        (ask.pid, ask.priority) = (process.pid, process.priority);
                    }
                    // A full queue means that the decision module hangs; a time limit handles that.
                    let _ = supervision(stage).request_sender.send(&ask.to_bytes());
                }
                Effect::End(id) => self.end(stage, id),
                Effect::Answer { ticket, outcome } => {
                    let what = match outcome.clone() {
                        Ok(text) => UnitHappening::Done { text },
                        Err(text) => UnitHappening::Refused { text },
                    };
                    self.tell(MonotonicClock.now(), None, epoch, what);
                    let answer = outcome.map_or_else(UnitAnswer::Refused, UnitAnswer::Done);
                    if let Some(client) = self.clients.remove(&ticket) {
                        client.answer(&answer);
                    }
                }
                Effect::Note(text) => {
                    let what = UnitHappening::Failed { text: text.clone() };
                    self.tell(MonotonicClock.now(), None, epoch, what);
                    self.notes.push(text);
                }
            }
        }
    }

    fn start(&mut self, stage: &mut Stage<'_>, id: UnitId, epoch: Instant) {
        let Some(member) = self.process_mut(id).and_then(|process| process.member) else { return };
        let launched = &mut stage.members()[member].launched;
        // An error means that it has just ended, which is reported with the way it ended.
        let _ = launched.send(&Message::Start(epoch));
    }

    fn end(&mut self, stage: &mut Stage<'_>, id: UnitId) {
        match self.process_mut(id) {
            Some(UnitProcess { member: None, .. }) => {
                // A full queue or no answer means that the decision module hangs: the slot stays unused.
                let _ = send_order(stage, &Order::Drop { id }, &[]);
            }
            Some(UnitProcess { member: Some(member), ending, .. }) => {
                *ending = true;
                let member = &mut stage.members()[*member];
                member.early_end = EarlyEnd::Expected;
                member.launched.end();
            }
            // It could not be started.
            None => self.upgrades.vacated(id),
        }
    }

    fn list(&self, stage: &Stage<'_>) -> UnitAnswer {
        let rows = self.upgrades.units().map(|(id, name, state, view)| {
            let process = self.processes[usize::from(id.slot)].filter(|process| process.id == id);
            UnitRow {
                slot: id.slot.into(),
                name: name.into(),
                state: state.into(),
                pid: process.map_or(0, |process| process.pid),
                answers: view.map_or(0, |view| view.answers),
                faults: view.map_or(0, |view| view.faults),
                strikes: view.map_or(0, |view| view.strikes),
                last_fault: view.and_then(|view| view.last_fault).map_or("", |f| f.name()).into(),
            }
        });
        UnitAnswer::Units {
            variant: stage.variant().name.clone(),
            commanding: self.commanding(),
            units: rows.collect(),
        }
    }

    /// The name of the source of the commands.
    fn commanding(&self) -> String {
        let status = self.status.as_ref();
        status.map_or_else(|| "no source yet".into(), |status| self.source(status.commanding))
    }

    /// The present state in one line.
    pub(crate) fn in_words(&self) -> String {
        match &self.status {
            Some(status) => format!(
                "{} commands, V = {:.3}, {} switches",
                self.commanding(),
                status.v,
                status.switches
            ),
            None => String::new(),
        }
    }

    /// Takes the notes that the user has not seen yet.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn process_mut(&mut self, id: UnitId) -> Option<&mut UnitProcess> {
        self.processes[usize::from(id.slot)].as_mut().filter(|process| process.id == id)
    }
}

/// Kills the process of a unit with everything that it started; returns whether all of it has ended and is reaped.
fn has_vanished(stage: &mut Stage<'_>, member: usize) -> bool {
    let launched = &mut stage.members()[member].launched;
    launched.end();
    // A child in the unit's group keeps the group until this process has reaped it.
    launched.ended().is_some() && stage.end_strays() && stage.members()[member].launched.end()
}

fn supervision<'s>(stage: &'s mut Stage<'_>) -> &'s mut Supervision {
    stage.wiring().supervision.as_mut().expect("units come with a decision process")
}

/// Sends the module of a unit to the thread that prepares it.
fn order_preparation(stage: &mut Stage<'_>, launch: &UnitLaunch, file: &str) -> Result<(), String> {
    let path = stage.scenario_folder().join(file);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let module = sandboxed::read(&path)?;
    let order = Order::Prepare { id: launch.id, file: name, budget: launch.unit.budget };
    send_order(stage, &order, &module)
}

fn send_order(stage: &mut Stage<'_>, order: &Order, module: &[u8]) -> Result<(), String> {
    let sandbox = supervision(stage).sandbox.as_mut();
    let sandbox = sandbox.ok_or_else(|| LoadError::NotBuilt.to_string())?;
    let sent = sandbox.order_sender.send(&order.to_bytes(module)?);
    sent.map(drop).map_err(|error| error.to_string())
}

fn receive_reports(stage: &mut Stage<'_>) -> Vec<Report> {
    let Some(sandbox) = supervision(stage).sandbox.as_mut() else { return Vec::new() };
    let mut buffer = [0; REPORT_SIZE];
    let mut reports = Vec::new();
    while let Ok(Some(bytes)) = sandbox.report_receiver.receive(&mut buffer) {
        reports.extend(Report::from_bytes(bytes));
    }
    reports
}
