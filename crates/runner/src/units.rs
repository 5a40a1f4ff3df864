//! Replacement units while the loop runs: started, added, promoted, replaced, removed.
//!
//! The runner does what needs the operating system (processes, slots, requests of users); the decision module
//! decides. Each request of a user is a [`Transaction`]: steps that each wait for a reply of the decision module, or
//! until the unit has proved itself. Every tick checks them, and none of them blocks.

use std::fmt::Write as _;
use std::time::{Duration, Instant as WallInstant};

use hemiola_scenario::{Unit, UnitProgram, UnitState as Begin, Variant};
use hemiola_simplex::{Gain, SLOTS, UnitState, fault_name, state_name};
use hemiola_trace::event::source;
use hemiola_units::{Instant, Policy, Priority, Profile, Span};

use crate::RunError;
use crate::control::{Client, NewUnit, Server, UnitAnswer, UnitRequest, UnitRow};
use crate::launch::Message;
use crate::stage::Stage;
use crate::status::{REPLY_SIZE, Reply, Request, STATUS_SIZE, SlotStatus, Status, What};
use crate::tasks::unit::{self, UnitLaunch};
use crate::tasks::{EarlyEnd, Fault};

/// How long a started unit may take until its first acceptable answer.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long any other step of a transaction may take, beside the time a replacement needs to prove itself.
const STEP_TIMEOUT: Duration = Duration::from_secs(5);

/// Every unit of a running variant, and the requests under way.
pub(crate) struct Units {
    slots: [Option<Entry>; SLOTS],
    generations: u32,
    requests: u32,
    status: Option<Status>,
    replies: Vec<Reply>,
    transactions: Vec<Transaction>,
    /// Acceptable answers that a replacement must give in shadow, and again in control, before the old unit is
    /// removed: as many as the decision module requires before it promotes.
    proven: u32,
    /// The time that these take, at one a cycle.
    proving: Duration,
    /// Profile and budget of an added unit, unless the request says otherwise.
    profile: Profile,
    budget: Span,
    /// Notes that the user has not seen yet.
    notes: Vec<String>,
}

/// The unit in a slot.
struct Entry {
    name: String,
    generation: u32,
    member: usize,
    pid: u32,
    /// Whether its process has ended, or the decision module has given it up.
    over: bool,
}

/// One request under way.
struct Transaction {
    client: Option<Client>,
    goal: Goal,
    slot: usize,
    name: String,
    step: Step,
    limit: WallInstant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Goal {
    Add,
    Replace { old: usize },
    Promote,
    Remove,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The unit's process prepares.
    Starting,
    /// The decision module was asked; the reply has this id.
    Asked(u32, What),
    /// The unit runs in shadow until it has proved itself.
    Proving,
    /// The unit is in control and has to prove itself again, from this count of answers on.
    Watched(u64),
}

impl Transaction {
    fn new(goal: Goal, slot: usize, name: String, step: Step, timeout: Duration) -> Self {
        Self { client: None, goal, slot, name, step, limit: WallInstant::now() + timeout }
    }

    /// Goes on to a step that may take this long.
    fn go(&mut self, step: Step, timeout: Duration) -> Option<Ended> {
        (self.step, self.limit) = (step, WallInstant::now() + timeout);
        None
    }
}

/// The outcome of a transaction: the sentence of the answer or of the refusal.
type Ended = Result<String, String>;

impl Units {
    pub(crate) fn new(variant: &Variant) -> Self {
        let last = variant.units.last();
        let decision = variant.decision.as_ref().expect("present with the decision process");
        let proving = variant.rate.period() * i64::from(decision.promote_after);
        Self {
            slots: Default::default(),
            generations: 0,
            requests: 0,
            status: None,
            replies: Vec::new(),
            transactions: Vec::new(),
            proven: decision.promote_after,
            proving: proving.to_duration(),
            profile: last.map_or_else(Profile::ordinary, |unit| unit.profile.clone()),
            budget: last.map_or(Span::from_millis(2), |unit| unit.budget),
            notes: Vec::new(),
        }
    }

    /// Starts the units that the scenario begins with.
    pub(crate) fn launch_first(&mut self, stage: &mut Stage<'_>) -> Result<(), RunError> {
        for (index, unit) in stage.variant().units.iter().enumerate() {
            let slot = self.free_slot().ok_or_else(|| RunError::Start {
                process: unit.name.clone(),
                reason: format!("there are only {SLOTS} slots"),
            })?;
            let fault = stage.injected().iter().find_map(|injection| injection.in_unit(index));
            let generation = self.next_generation();
            let may_end = fault.is_some();
            self.launch(
                stage,
                &UnitLaunch { slot, generation, unit: unit.clone(), fault, may_end },
            )?;
        }
        Ok(())
    }

    fn launch(&mut self, stage: &mut Stage<'_>, launch: &UnitLaunch) -> Result<(), RunError> {
        let process = unit::process(stage.variant(), &launch.unit);
        let kind = unit::kind(&launch.unit.program);
        let member = stage.launch(&process, kind, |supplies| unit::equipment(launch, supplies))?;
        let launched = &mut stage.members()[member];
        if launch.may_end {
            launched.early_end = EarlyEnd::Expected;
        }
        let (pid, name) = (launched.launched.pid(), launch.unit.name.clone());
        let generation = launch.generation;
        self.slots[launch.slot] = Some(Entry { name, generation, member, pid, over: false });
        Ok(())
    }

    /// Tells the decision module which units it begins with.
    pub(crate) fn announce(&mut self, stage: &mut Stage<'_>) {
        for (slot, unit) in stage.variant().units.iter().enumerate() {
            let what = if unit.state == Begin::Active { What::AddActive } else { What::Add };
            self.ask(stage, slot, what);
        }
    }

    /// Handles replies of the decision module, requests of users, and processes that ended.
    pub(crate) fn tick(&mut self, stage: &mut Stage<'_>, server: &mut Server, epoch: Instant) {
        self.receive(stage);
        while let Some((request, client)) = server.poll() {
            self.serve(stage, request, client);
        }
        let mut index = 0;
        while index < self.transactions.len() {
            let mut transaction = self.transactions.remove(index);
            match self.advance(stage, &mut transaction, epoch) {
                None => {
                    self.transactions.insert(index, transaction);
                    index += 1;
                }
                Some(ended) => {
                    let answer = match ended {
                        Ok(text) => UnitAnswer::Done(text),
                        Err(text) => UnitAnswer::Refused(text),
                    };
                    if let Some(client) = transaction.client.take() {
                        client.answer(&answer);
                    }
                }
            }
        }
        self.close_ended(stage);
    }

    /// Reads replies and the newest status.
    fn receive(&mut self, stage: &mut Stage<'_>) {
        let Some(supervision) = stage.wiring().supervision.as_mut() else { return };
        let mut buffer = [0; STATUS_SIZE];
        if let Ok(Some(bytes)) = supervision.status_receiver.receive(&mut buffer) {
            self.status = Status::from_bytes(bytes);
        }
        let mut buffer = [0; REPLY_SIZE];
        while let Ok(Some(bytes)) = supervision.reply_receiver.receive(&mut buffer) {
            self.replies.extend(Reply::from_bytes(bytes));
        }
    }

    fn serve(&mut self, stage: &mut Stage<'_>, request: UnitRequest, client: Client) {
        let begun = match request {
            UnitRequest::List => return client.answer(&self.list(stage)),
            UnitRequest::Add(new) => self.begin_new(stage, new, Goal::Add),
            UnitRequest::Replace { old, new } => match self.find(&old) {
                Ok(old) => self.begin_new(stage, new, Goal::Replace { old }),
                Err(refusal) => Err(refusal),
            },
            UnitRequest::Remove { name } => {
                self.begin_known(stage, &name, Goal::Remove, What::Remove)
            }
            UnitRequest::Promote { name } => {
                self.begin_known(stage, &name, Goal::Promote, What::Promote)
            }
        };
        match begun {
            Ok(mut transaction) => {
                transaction.client = Some(client);
                self.transactions.push(transaction);
            }
            Err(refusal) => client.answer(&UnitAnswer::Refused(refusal)),
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
        let old = self.find(old)?;
        let slot = self.free_slot().ok_or("every slot is taken")?;
        let program = UnitProgram::Gain(gain);
        let launch = self.later(slot, new.to_owned(), program, self.profile.clone(), fault);
        let transaction = self.begin(stage, launch, Goal::Replace { old })?;
        self.transactions.push(transaction);
        Ok(())
    }

    /// Whether no transaction is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.transactions.is_empty()
    }

    fn begin_new(
        &mut self,
        stage: &mut Stage<'_>,
        new: NewUnit,
        goal: Goal,
    ) -> Result<Transaction, String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if new.name.is_empty() || new.name.len() > 64 || !new.name.chars().all(allowed) {
            return Err(format!(
                "\"{}\" is not a valid name of a unit; use 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'",
                new.name
            ));
        }
        if stage.members().iter().any(|member| member.name == new.name) {
            return Err(format!("\"{}\" has been used in this run; choose another name", new.name));
        }
        let slot = self.free_slot().ok_or_else(|| {
            format!("all {SLOTS} slots are taken; remove a unit first: hemiola unit remove NAME")
        })?;
        let program = match (new.gain, new.command.split_first()) {
            (Some(name), None) => UnitProgram::Gain(
                Gain::named(&name).ok_or_else(|| format!("no gain is called \"{name}\""))?,
            ),
            (None, Some((program, arguments))) => {
                UnitProgram::Command { program: program.clone(), arguments: arguments.to_vec() }
            }
            _ => return Err("give either --gain NAME or a program after --".into()),
        };
        let mut profile = self.profile.clone();
        if let Some(priority) = new.priority {
            profile.scheduling = self.priority(stage, priority)?;
        }
        let launch = self.later(slot, new.name, program, profile, None);
        self.begin(stage, launch, goal)
    }

    /// A unit that is started while the others run. It begins in shadow.
    fn later(
        &mut self,
        slot: usize,
        name: String,
        program: UnitProgram,
        profile: Profile,
        fault: Option<Fault>,
    ) -> UnitLaunch {
        let (state, budget) = (Begin::Shadow, self.budget);
        let unit = Unit { name, program, fault: None, state, budget, profile, profile_name: None };
        UnitLaunch { slot, generation: self.next_generation(), unit, fault, may_end: true }
    }

    /// The policy of a unit with a priority of its own, which must be below the decision module's.
    fn priority(&self, stage: &Stage<'_>, wanted: u8) -> Result<Policy, String> {
        let priority = Priority::try_from(wanted).map_err(|e| e.to_string())?;
        let decision = stage.variant().decision_process().map(|process| process.profile.scheduling);
        match decision {
            Some(Policy::Fifo { priority: limit } | Policy::RoundRobin { priority: limit })
                if priority >= limit =>
            {
                Err(format!(
                    "priority {wanted} is not below the decision module's {}: a unit could starve it",
                    limit.get()
                ))
            }
            Some(Policy::Fifo { .. } | Policy::RoundRobin { .. }) => Ok(Policy::Fifo { priority }),
            _ => Err(
                "the decision module has no real-time priority here, and a unit above it could \
                      starve it; leave out --priority"
                    .into(),
            ),
        }
    }

    fn begin(
        &mut self,
        stage: &mut Stage<'_>,
        launch: UnitLaunch,
        goal: Goal,
    ) -> Result<Transaction, String> {
        self.launch(stage, &launch).map_err(|error| error.to_string())?;
        let (slot, name) = (launch.slot, launch.unit.name);
        Ok(Transaction::new(goal, slot, name, Step::Starting, START_TIMEOUT))
    }

    fn begin_known(
        &mut self,
        stage: &mut Stage<'_>,
        name: &str,
        goal: Goal,
        what: What,
    ) -> Result<Transaction, String> {
        let slot = self.find(name)?;
        let step = Step::Asked(self.ask(stage, slot, what), what);
        Ok(Transaction::new(goal, slot, name.to_owned(), step, STEP_TIMEOUT))
    }

    /// Takes the next step of a transaction if it is due. Returns the outcome once there is one.
    fn advance(
        &mut self,
        stage: &mut Stage<'_>,
        it: &mut Transaction,
        epoch: Instant,
    ) -> Option<Ended> {
        if WallInstant::now() > it.limit {
            return Some(Err(self.give_up(stage, it, "it took too long")));
        }
        match it.step {
            Step::Starting => {
                let member = self.slots[it.slot].as_ref()?.member;
                let ready = stage.receive_ready(member, Duration::ZERO);
                if let Ok(false) = ready {
                    return None;
                }
                let launched = &mut stage.members()[member].launched;
                let start = |_| launched.send(&Message::Start(epoch)).map_err(|e| e.to_string());
                match ready.and_then(start) {
                    Ok(()) => self.ask_next(stage, it, it.slot, What::Add),
                    Err(reason) => Some(Err(self.give_up(stage, it, &reason))),
                }
            }
            Step::Asked(id, what) => {
                let index = self.replies.iter().position(|reply| reply.id == id)?;
                match (self.replies.swap_remove(index).refused(), what) {
                    (None, what) => self.carried_out(stage, it, what),
                    (Some(refusal), What::Promote | What::Remove) if it.goal != Goal::Add => {
                        Some(Err(refusal))
                    }
                    (Some(refusal), _) => Some(Err(self.give_up(stage, it, &refusal))),
                }
            }
            Step::Proving => self.prove(stage, it),
            Step::Watched(answers) => self.watch(stage, it, answers),
        }
    }

    /// Asks the decision module, as the next step of a transaction.
    fn ask_next(
        &mut self,
        stage: &mut Stage<'_>,
        it: &mut Transaction,
        slot: usize,
        what: What,
    ) -> Option<Ended> {
        it.go(Step::Asked(self.ask(stage, slot, what), what), STEP_TIMEOUT)
    }

    /// The step after the decision module has carried out a request.
    fn carried_out(
        &mut self,
        stage: &mut Stage<'_>,
        it: &mut Transaction,
        what: What,
    ) -> Option<Ended> {
        match (what, it.goal) {
            (What::Add | What::AddActive, Goal::Replace { .. }) => {
                it.go(Step::Proving, START_TIMEOUT + self.proving)
            }
            (What::Add | What::AddActive, _) => it.go(Step::Proving, START_TIMEOUT),
            (What::Promote, Goal::Replace { .. }) => {
                let answers = self.slot_status(it.slot).map_or(0, |status| status.answers);
                it.go(Step::Watched(answers), STEP_TIMEOUT + self.proving)
            }
            (What::Promote, _) => Some(Ok(format!("{} has the plant", it.name))),
            (What::Remove | What::Exited, Goal::Replace { old }) => {
                let old = self.end(stage, old);
                Some(Ok(format!("{} has replaced {old}", it.name)))
            }
            (What::Remove | What::Exited, _) => {
                Some(Ok(format!("{} is removed", self.end(stage, it.slot))))
            }
        }
    }

    /// Checks a unit in shadow: an added one is done, a replacement goes on once it has proved itself.
    fn prove(&mut self, stage: &mut Stage<'_>, it: &mut Transaction) -> Option<Ended> {
        let status = self.slot_status(it.slot)?;
        match (UnitState::from_code(status.state), it.goal) {
            (Some(UnitState::Starting), _) => None,
            (Some(UnitState::Shadow | UnitState::Standby), Goal::Add) => Some(Ok(format!(
                "{} runs in shadow; give it the plant with: hemiola unit promote {}",
                it.name, it.name
            ))),
            (Some(UnitState::Shadow), Goal::Replace { old }) if status.clean >= self.proven => {
                // The new unit gets the state that the old one had, and no more.
                match self.slot_status(old).and_then(|old| UnitState::from_code(old.state)) {
                    Some(UnitState::Active) => self.ask_next(stage, it, it.slot, What::Promote),
                    _ => self.ask_next(stage, it, old, What::Remove),
                }
            }
            (Some(UnitState::Shadow), _) => None,
            _ => Some(Err(self.fail(stage, it))),
        }
    }

    /// Checks a replacement in control: the old unit is removed once the new one has proved itself again.
    fn watch(
        &mut self,
        stage: &mut Stage<'_>,
        it: &mut Transaction,
        answers: u64,
    ) -> Option<Ended> {
        let status = self.slot_status(it.slot)?;
        let Goal::Replace { old } = it.goal else { return Some(Ok(String::new())) };
        match UnitState::from_code(status.state) {
            Some(UnitState::Active) if status.answers >= answers + u64::from(self.proven) => {
                self.ask_next(stage, it, old, What::Remove)
            }
            Some(UnitState::Active) => None,
            _ => Some(Err(self.fail(stage, it))),
        }
    }

    /// Undoes a transaction whose unit has failed.
    fn fail(&mut self, stage: &mut Stage<'_>, it: &Transaction) -> String {
        let reason = self.complaint(stage, it.slot);
        self.give_up(stage, it, &reason)
    }

    /// Undoes a transaction: the new unit is removed. The decision module has already given control back to the
    /// source before.
    fn give_up(&mut self, stage: &mut Stage<'_>, it: &Transaction, reason: &str) -> String {
        match it.goal {
            Goal::Add | Goal::Replace { .. } => {
                self.ask(stage, it.slot, What::Remove);
                self.end(stage, it.slot);
                let rolled_back = match it.goal {
                    Goal::Replace { old } => {
                        let old = self.slots[old].as_ref().map_or("", |entry| entry.name.as_str());
                        format!("; {old} stays")
                    }
                    _ => String::new(),
                };
                format!("{} failed and was taken out: {reason}{rolled_back}", it.name)
            }
            Goal::Promote | Goal::Remove => format!("{}: {reason}", it.name),
        }
    }

    /// The state and last fault of the unit in this slot, and how its process ended, if it has.
    fn complaint(&self, stage: &mut Stage<'_>, slot: usize) -> String {
        let status = self.slot_status(slot);
        let state = status.and_then(|status| state_name(status.state)).unwrap_or("gone");
        let mut text = format!("it is {state}");
        if let Some(fault) = status.and_then(|status| fault_name(status.last_fault)) {
            let _ = write!(text, ", last fault: {fault}");
        }
        let member = self.slots[slot].as_ref().map(|entry| &stage.members()[entry.member]);
        if let Some(exit) = member.and_then(|member| member.exit.as_ref()) {
            let _ = write!(text, " ({exit})");
        }
        text
    }

    /// Stops the process in a slot and frees the slot. Returns the unit's name.
    fn end(&mut self, stage: &mut Stage<'_>, slot: usize) -> String {
        let Some(entry) = self.slots[slot].take() else { return String::new() };
        let member = &mut stage.members()[entry.member];
        member.early_end = EarlyEnd::Expected;
        member.launched.kill();
        entry.name
    }

    /// Tells the decision module which processes ended, and stops those that it has given up.
    fn close_ended(&mut self, stage: &mut Stage<'_>) {
        for slot in 0..SLOTS {
            let Some(entry) = self.slots[slot].as_ref().filter(|entry| !entry.over) else {
                continue;
            };
            let member = &mut stage.members()[entry.member];
            if member.exit.is_some() {
                self.ask(stage, slot, What::Exited);
            } else {
                let given_up = self
                    .slot_status(slot)
                    .and_then(|status| UnitState::from_code(status.state))
                    .is_some_and(|state| matches!(state, UnitState::Retired | UnitState::Failed));
                if !given_up {
                    continue;
                }
                member.early_end = EarlyEnd::Expected;
                member.launched.kill();
            }
            let complaint = self.complaint(stage, slot);
            if let Some(entry) = self.slots[slot].as_mut() {
                entry.over = true;
                self.notes.push(format!("unit {}: {complaint}", entry.name));
            }
        }
    }

    /// The status of a slot, if it belongs to the unit that is there now.
    fn slot_status(&self, slot: usize) -> Option<&SlotStatus> {
        let entry = self.slots[slot].as_ref()?;
        let status = &self.status.as_ref()?.slots[slot];
        (status.generation == entry.generation).then_some(status)
    }

    fn list(&self, stage: &Stage<'_>) -> UnitAnswer {
        let rows = self.slots.iter().enumerate().filter_map(|(slot, entry)| {
            let entry = entry.as_ref()?;
            let status = self.slot_status(slot).copied().unwrap_or_default();
            Some(UnitRow {
                slot,
                name: entry.name.clone(),
                state: state_name(status.state).unwrap_or("starting").into(),
                pid: entry.pid,
                answers: status.answers,
                faults: status.faults,
                strikes: status.strikes,
                last_fault: fault_name(status.last_fault).unwrap_or("").into(),
            })
        });
        UnitAnswer::Units {
            variant: stage.variant().name.clone(),
            commanding: self.commanding(),
            units: rows.collect(),
        }
    }

    /// The name of the source of the commands.
    fn commanding(&self) -> String {
        let Some(status) = &self.status else { return "no source yet".into() };
        let unit = source::slot(status.commanding)
            .and_then(|slot| self.slots.get(usize::from(slot))?.as_ref());
        unit.map_or_else(|| source::name(status.commanding), |entry| entry.name.clone())
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

    fn ask(&mut self, stage: &mut Stage<'_>, slot: usize, what: What) -> u32 {
        self.requests += 1;
        let (generation, pid) =
            self.slots[slot].as_ref().map_or((0, 0), |entry| (entry.generation, entry.pid));
        let request = Request { id: self.requests, what, slot: slot as u32, generation, pid };
        if let Some(supervision) = stage.wiring().supervision.as_mut() {
            // A full queue means that the decision module hangs; the step's time limit handles that.
            let _ = supervision.request_sender.send(&request.to_bytes());
        }
        self.requests
    }

    fn find(&self, name: &str) -> Result<usize, String> {
        let known = |entry: &Option<Entry>| entry.as_ref().is_some_and(|entry| entry.name == name);
        self.slots.iter().position(known).ok_or_else(|| {
            let names: Vec<&str> =
                self.slots.iter().flatten().map(|entry| entry.name.as_str()).collect();
            format!("there is no unit \"{name}\"; there are: {}", names.join(", "))
        })
    }

    fn free_slot(&self) -> Option<usize> {
        let free = |entry: &Option<Entry>| entry.as_ref().is_none_or(|entry| entry.over);
        self.slots.iter().position(free)
    }

    fn next_generation(&mut self) -> u32 {
        self.generations += 1;
        self.generations
    }
}
