//! Live upgrade: the requests of users as transactions, each carried out completely or undone.
//!
//! [`Upgrades`] knows every unit of a run by its [`UnitId`] and decides which processes start and end, and what the
//! decision module is asked. It reads no clock and touches no process: its owner reports what happened, calls
//! [`Upgrades::tick`], and carries out the [`Effect`]s. The runner does this with processes, the simulation without.
//!
//! ```text
//!              process is ready        shadow, proven      in control, proven again
//! Preparing ───────────────────► Proving ─────► Promoting ─► Watched ─────► Leaving ──► done
//!     │                             │   └─ the old unit is not active ──────────▲
//!     └──── failed, late ───────────┴── refused, failed, late: the new units leave, the old ones stay
//! ```
//!
//! From `Leaving` on, a replacement is carried out and no longer undone. Several units are replaced together: all new
//! ones prove themselves first, and all old ones leave between the same two cycles.
//!
//! A slot is free again only once no process of its last unit remains ([`Upgrades::vacated`]), because such a process
//! could still write to it.

use std::collections::{BTreeSet, VecDeque};

use hemiola_units::{Instant, Span};
use thiserror::Error;

use crate::admission::{Share, ShareError, admit};
use crate::decision::{SLOTS, Settings, UnitView};
use crate::unit::{Role, UnitState};
use crate::upgrade::{Request, UnitId, UnitSet};

/// How long a process may take to prepare, and again from then to its first acceptable answer.
const START_TIMEOUT: Span = Span::from_millis(10_000);
/// How long any other step may take, beside the time that a unit needs to prove itself.
const STEP_TIMEOUT: Span = Span::from_millis(5_000);
/// The most transactions at a time.
pub const TRANSACTIONS_MAX: usize = 16;
/// The most units that a run may ever have: their names are kept.
pub const UNITS_MAX: u32 = 100_000;
/// The longest name of a unit, in bytes.
const NAME_LEN_MAX: usize = 64;

/// A change that a user requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Start a unit in shadow.
    Add {
        /// Its name.
        name: String,
        /// Its share of the processors.
        share: Share,
    },
    /// Replace units, all or none of them: each new one gets the state that the old one had, and no more.
    Replace {
        /// The pairs, at least one.
        pairs: Vec<Replacement>,
    },
    /// Stop a unit and free its slot. A replacement that the unit belongs to goes on without an old unit, and is undone
    /// without a new one.
    Remove {
        /// Its name.
        name: String,
    },
    /// Give a shadow or standby unit control of the plant.
    Promote {
        /// Its name.
        name: String,
    },
    /// Continue after a fail-safe.
    Resume,
}

/// One pair of a [`Change::Replace`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The name of the unit to replace.
    pub old: String,
    /// The name of the new one.
    pub new: String,
    /// The new one's share of the processors; the old one keeps its own share meanwhile.
    pub share: Share,
}

/// Why a change is refused before anything is started.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The name is not valid: choose another.
    #[error(
        "\"{0}\" is not a valid name of a unit; use 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'"
    )]
    Name(String),
    /// The name belongs to another process of the run, or did: choose another.
    #[error("\"{0}\" has been used in this run; choose another name")]
    Used(String),
    /// No unit has this name.
    #[error("there is no unit \"{name}\"; there are: {known}")]
    Unknown {
        /// The requested name.
        name: String,
        /// The names of all units.
        known: String,
    },
    /// Too few slots are free: remove a unit.
    #[error("all {SLOTS} slots are taken{}; remove a unit first: hemiola unit remove NAME",
        those_ending(*ending))]
    Full {
        /// Slots whose last unit is gone, although a process of it remains.
        ending: usize,
    },
    /// The unit is part of a replacement: wait for it, or cancel it.
    #[error(
        "{old} is being replaced by {new}; wait until that is done, or cancel it: hemiola unit remove {new}"
    )]
    Busy {
        /// The old unit of that replacement.
        old: String,
        /// Its new unit.
        new: String,
    },
    /// The processors have no room for the unit.
    #[error("{0}; give it a budget that fits, with --budget, or remove a unit")]
    Share(#[from] ShareError),
    /// A unit cannot be replaced twice.
    #[error("{0} is to be replaced twice; name it once")]
    Twice(String),
    /// A replacement names no unit.
    #[error("the request names no unit to replace")]
    Nothing,
    /// The run has had too many units: start another run.
    #[error("the run has had {UNITS_MAX} units, which is the limit; start another run")]
    Exhausted,
    /// Too many requests are under way: wait.
    #[error("{TRANSACTIONS_MAX} requests are under way; try again when one of them is done")]
    TooMany,
}

fn those_ending(count: usize) -> String {
    if count == 0 {
        String::new()
    } else {
        format!(", {count} of them by processes that do not end")
    }
}

/// The number of a change under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u32);

/// A change that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its answer will carry this number.
    pub ticket: Ticket,
    /// The units whose processes must be started now, in the order of the change.
    pub launches: Vec<UnitId>,
}

/// Something that the owner of [`Upgrades`] must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Let the prepared process of this unit run.
    Start(UnitId),
    /// Send a request to the decision module.
    Ask {
        /// The number that the reply carries, above those of all earlier requests.
        id: u32,
        /// The request.
        request: Request,
    },
    /// End every process of this unit, and report it by [`Upgrades::vacated`].
    End(UnitId),
    /// A change has ended, with the sentence for its user: carried out, or undone.
    Answer {
        /// The number of the change.
        ticket: Ticket,
        /// The sentence.
        outcome: Outcome,
    },
    /// Tell the user of the run that a unit failed by itself.
    Note(String),
}

/// The sentence about a change that was carried out, or about one that was not.
pub type Outcome = Result<String, String>;

/// The units of a run, and every change under way.
#[derive(Clone, Debug)]
pub struct Upgrades {
    /// Acceptable answers that a replacement must give in shadow, and again in control.
    proven: u32,
    /// The time that these take, at one a cycle.
    proving: Span,
    /// Time from the sample until answers are due.
    answer_within: Span,
    slots: [Option<Member>; SLOTS],
    names: BTreeSet<String>,
    generations: u32,
    tickets: u32,
    asked: u32,
    /// The newest request that the last status takes into account.
    served: u32,
    transactions: Vec<Transaction>,
    effects: VecDeque<Effect>,
}

/// The unit that holds a slot.
#[derive(Clone, Debug)]
struct Member {
    id: UnitId,
    name: String,
    role: Role,
    share: Share,
    life: Life,
    /// Whether the decision module was told of it.
    known: bool,
    ending: bool,
    vacated: bool,
    view: Option<UnitView>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Life {
    Preparing,
    /// The request that attaches it has this number.
    Joining(u32),
    Judged,
    /// It failed by itself, for this reason.
    Over(String),
    /// The request that removes it has this number.
    Leaving(u32, Instant),
    Removed,
}

#[derive(Clone, Debug)]
struct Transaction {
    ticket: Ticket,
    goal: Goal,
    step: Step,
    limit: Instant,
    /// The reply to the request of this step.
    reply: Option<Result<(), String>>,
    /// Why it is being undone: the answer once its new units have left.
    failed: Option<String>,
}

#[derive(Clone, Debug)]
enum Goal {
    Add(Named),
    Replace(Vec<Pair>),
    Promote(Named),
    Remove(Named),
    Resume,
}

#[derive(Clone, Debug)]
struct Named {
    id: UnitId,
    name: String,
}

#[derive(Clone, Debug)]
struct Pair {
    old: Named,
    new: Named,
    /// Whether the old unit was active when the change began.
    was_active: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Preparing,
    Proving,
    /// The request with this number promotes this unit.
    Promoting(u32, UnitId),
    /// The unit promoted by that request proves itself again, from this count of answers on.
    Watched(u32, UnitId, Option<u64>),
    Leaving,
    /// The only request of the change has this number.
    Asked(u32),
}

enum Progress {
    Waits,
    Went,
    Ended(Outcome),
}

impl Upgrades {
    /// Creates the book of a run without units, for the rule and the period of the decision module; the names of the
    /// run's other processes are `reserved`.
    #[must_use]
    pub fn new(rule: &Settings, period: Span, reserved: BTreeSet<String>) -> Self {
        Self {
            proven: rule.promote_after,
            proving: period * i64::from(rule.promote_after),
            answer_within: rule.answer_within,
            slots: Default::default(),
            names: reserved,
            generations: 0,
            tickets: 0,
            asked: 0,
            served: 0,
            transactions: Vec::new(),
            effects: VecDeque::new(),
        }
    }

    /// Adds a unit that the run begins with; [`Upgrades::announce`] attaches it.
    ///
    /// # Errors
    /// If the name or the number of units is not possible, or the processors have no room for it.
    pub fn first(&mut self, name: &str, role: Role, share: Share) -> Result<UnitId, ChangeError> {
        self.check_name(name)?;
        let slot = self.free_slots(1)?[0];
        self.check_share(name, &share, &[])?;
        Ok(self.register(slot, name.to_owned(), role, share))
    }

    /// Attaches the units that the run begins with.
    pub fn announce(&mut self) {
        for unit in self.ids(|member| member.life == Life::Preparing) {
            self.join(unit);
        }
    }

    /// Begins a change.
    ///
    /// # Errors
    /// If it is refused; nothing has changed then.
    pub fn begin(&mut self, change: Change, now: Instant) -> Result<Begun, ChangeError> {
        if self.transactions.len() >= TRANSACTIONS_MAX {
            return Err(ChangeError::TooMany);
        }
        let goal = match change {
            Change::Add { name, share } => {
                self.check_name(&name)?;
                let slot = self.free_slots(1)?[0];
                self.check_share(&name, &share, &[])?;
                Goal::Add(self.launch(slot, name, share))
            }
            Change::Replace { pairs } => Goal::Replace(self.pair_up(pairs)?),
            Change::Remove { name } => Goal::Remove(self.find(&name)?),
            Change::Promote { name } => {
                let unit = self.find(&name)?;
                self.check_not_busy(unit.id)?;
                Goal::Promote(unit)
            }
            Change::Resume => Goal::Resume,
        };
        let (step, timeout) = match &goal {
            Goal::Add(_) | Goal::Replace(_) => (Step::Preparing, START_TIMEOUT),
            Goal::Promote(unit) => {
                (Step::Asked(self.ask(Request::Promote { unit: unit.id })), STEP_TIMEOUT)
            }
            Goal::Remove(unit) => {
                self.take_out(&[unit.id], now);
                (Step::Leaving, STEP_TIMEOUT)
            }
            Goal::Resume => (Step::Asked(self.ask(Request::Resume)), STEP_TIMEOUT),
        };
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let launches = goal.new_units().map(|new| new.id).collect();
        let limit = now + timeout;
        self.transactions.push(Transaction {
            ticket,
            goal,
            step,
            limit,
            reply: None,
            failed: None,
        });
        Ok(Begun { ticket, launches })
    }

    /// Reports that the process of a unit is prepared.
    pub fn ready(&mut self, unit: UnitId) {
        if self.member(unit).is_some_and(|member| member.life == Life::Preparing) {
            self.effects.push_back(Effect::Start(unit));
            self.join(unit);
        }
    }

    /// Reports that the process of a unit has ended or could not start; `how` completes the sentence "its process
    /// ended: …".
    pub fn ended(&mut self, unit: UnitId, how: &str) {
        let Some(member) = self.member_mut(unit) else { return };
        if !matches!(member.life, Life::Preparing | Life::Joining(_) | Life::Judged) {
            return;
        }
        if member.known {
            self.ask(Request::Exited { unit });
        }
        self.fail(unit, format!("its process ended: {how}"));
    }

    /// Reports that no process of a unit remains, so that nothing can write to its slot.
    pub fn vacated(&mut self, unit: UnitId) {
        if let Some(member) = self.member_mut(unit) {
            member.vacated = true;
        }
        self.free_vacated();
    }

    /// Reports the reply of the decision module to the request `id`: the refusal, if it was refused.
    pub fn replied(&mut self, id: u32, reply: Result<(), String>) {
        let awaits = |it: &&mut Transaction| matches!(it.step, Step::Asked(ask) | Step::Promoting(ask, _) if ask == id);
        if let Some(transaction) = self.transactions.iter_mut().find(awaits) {
            transaction.reply = Some(reply);
            return;
        }
        for unit in self.ids(|member| matches!(member.life, Life::Leaving(ask, _) if ask == id)) {
            self.removed(unit);
        }
        for unit in self.ids(|member| member.life == Life::Joining(id)) {
            match &reply {
                Ok(()) => self.member_mut(unit).expect("found above").life = Life::Judged,
                Err(refusal) => {
                    self.fail(unit, format!("the decision module refused it: {refusal}"))
                }
            }
        }
    }

    /// Reports the status of the decision module after it has carried out the request `served` and all before.
    pub fn observe(&mut self, served: u32, units: &[Option<UnitView>; SLOTS]) {
        self.served = served;
        for (member, view) in self.slots.iter_mut().zip(units) {
            if let Some(member) = member {
                member.view = view.filter(|view| view.generation == member.id.generation);
            }
        }
        let given_up =
            |view: &UnitView| matches!(view.state, UnitState::Retired | UnitState::Failed);
        let lost =
            self.ids(|member| member.is_present() && member.view.as_ref().is_some_and(given_up));
        for unit in lost {
            let complaint = self.member(unit).and_then(|member| member.view).map(complaint);
            self.fail(unit, complaint.unwrap_or_default());
        }
    }

    /// Takes every step that is due.
    pub fn tick(&mut self, now: Instant) {
        let mut index = 0;
        while index < self.transactions.len() {
            let mut transaction = self.transactions.remove(index);
            let outcome = loop {
                match self.advance(&mut transaction, now) {
                    Progress::Waits => break None,
                    Progress::Went => {}
                    Progress::Ended(outcome) => break Some(outcome),
                }
            };
            if let Some(outcome) = outcome {
                self.effects.push_back(Effect::Answer { ticket: transaction.ticket, outcome });
            } else {
                self.transactions.insert(index, transaction);
                index += 1;
            }
        }
        // The decision module did not confirm it: the processes end all the same.
        for unit in self.ids(|member| matches!(member.life, Life::Leaving(_, limit) if now > limit))
        {
            self.removed(unit);
        }
    }

    /// Returns the next thing to do.
    pub fn poll(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Whether no change is under way.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.transactions.is_empty()
    }

    /// Returns the units for users, in the order of their slots: key, name, state in words, and status, once there is
    /// one.
    pub fn units(&self) -> impl Iterator<Item = (UnitId, &str, &'static str, Option<UnitView>)> {
        let listed = self.slots.iter().flatten().filter(|member| member.life != Life::Removed);
        listed.map(|member| (member.id, member.name.as_str(), member.state(), member.view))
    }

    /// Returns the name of the unit that holds this slot.
    pub fn name(&self, slot: u8) -> Option<&str> {
        self.slots.get(usize::from(slot))?.as_ref().map(|member| member.name.as_str())
    }

    /// Takes the next step of a transaction if it is due.
    fn advance(&mut self, it: &mut Transaction, now: Instant) -> Progress {
        if let Some((culprit, reason)) = self.trouble(it, now) {
            return self.undo(it, culprit, &reason, now);
        }
        match it.step {
            Step::Preparing if self.every_new(it, |member| member.life != Life::Preparing) => {
                it.go(Step::Proving, now + START_TIMEOUT + self.proving)
            }
            Step::Proving => match &it.goal {
                Goal::Replace(_) if self.every_new(it, |new| new.is_proven(self.proven)) => {
                    self.commit(it, now)
                }
                Goal::Add(new) if self.every_new(it, Member::has_answered) => {
                    Progress::Ended(Ok(format!(
                        "{0} runs in shadow; give it the plant with: hemiola unit promote {0}",
                        new.name
                    )))
                }
                _ => Progress::Waits,
            },
            Step::Promoting(ask, unit) => match it.reply.take() {
                None => Progress::Waits,
                Some(Ok(())) => {
                    it.go(Step::Watched(ask, unit, None), now + STEP_TIMEOUT + self.proving)
                }
                Some(Err(refusal)) => {
                    let culprit = it.goal.new_units().position(|new| new.id == unit);
                    self.undo(it, culprit, &refusal, now)
                }
            },
            Step::Watched(ask, unit, from) => self.watch(it, (ask, unit, from), now),
            Step::Leaving if !self.is_leaving(&it.goal) => {
                Progress::Ended(it.failed.take().map_or_else(|| Ok(it.goal.done()), Err))
            }
            Step::Asked(_) => match it.reply.take() {
                None => Progress::Waits,
                Some(reply) => Progress::Ended(reply.map(|()| it.goal.done())),
            },
            Step::Preparing | Step::Leaving => Progress::Waits,
        }
    }

    /// Why a transaction cannot go on, and which of its new units is to blame.
    fn trouble(&self, it: &Transaction, now: Instant) -> Option<(Option<usize>, String)> {
        // Leaving has a limit of its own, after which the processes end all the same.
        if it.step == Step::Leaving {
            return None;
        }
        for (index, new) in it.goal.new_units().enumerate() {
            match self.member(new.id).map(|member| &member.life) {
                Some(Life::Over(reason)) => return Some((Some(index), reason.clone())),
                None | Some(Life::Leaving(..) | Life::Removed) => {
                    return Some((Some(index), "another request removed it".into()));
                }
                Some(Life::Preparing | Life::Joining(_) | Life::Judged) => {}
            }
        }
        let reason = match it.step {
            Step::Preparing | Step::Proving | Step::Watched(..) => "it took too long",
            _ => "the decision module did not answer in time",
        };
        (now > it.limit).then(|| (None, reason.into()))
    }

    /// All new units have proved themselves: promotes the one that takes the place of the active unit.
    fn commit(&mut self, it: &mut Transaction, now: Instant) -> Progress {
        let Goal::Replace(pairs) = &it.goal else { return Progress::Waits };
        let is_active = |member: &&Member| member.is_in_state(UnitState::Active);
        let active = self.slots.iter().flatten().find(is_active).map(|member| member.id);
        let takes_over = |pair: &&Pair| match active {
            Some(active) => pair.old.id == active,
            None => pair.was_active,
        };
        match pairs.iter().find(takes_over).map(|pair| pair.new.id) {
            Some(unit) => {
                let ask = self.ask(Request::Promote { unit });
                it.go(Step::Promoting(ask, unit), now + STEP_TIMEOUT)
            }
            None => self.retire_old(it, now),
        }
    }

    /// Checks the promoted unit, which must prove itself once more.
    fn watch(
        &mut self,
        it: &mut Transaction,
        (ask, unit, from): (u32, UnitId, Option<u64>),
        now: Instant,
    ) -> Progress {
        let view = self.member(unit).and_then(|member| member.view);
        // An older status says nothing about the time after the promotion.
        let Some(view) = view.filter(|_| self.served >= ask) else { return Progress::Waits };
        if view.state != UnitState::Active {
            let culprit = it.goal.new_units().position(|new| new.id == unit);
            let reason = "another unit got the plant before it had proved itself";
            return self.undo(it, culprit, reason, now);
        }
        let from = from.unwrap_or(view.answers);
        it.step = Step::Watched(ask, unit, Some(from));
        if view.answers >= from + u64::from(self.proven) {
            self.retire_old(it, now)
        } else {
            Progress::Waits
        }
    }

    /// Removes the old units of a replacement, all between the same two cycles.
    fn retire_old(&mut self, it: &mut Transaction, now: Instant) -> Progress {
        let old: Vec<UnitId> = it.goal.old_units().map(|old| old.id).collect();
        self.take_out(&old, now);
        it.go(Step::Leaving, now + STEP_TIMEOUT)
    }

    /// Undoes a transaction: its new units leave. The decision module gives control back to the previous source by
    /// itself.
    fn undo(
        &mut self,
        it: &mut Transaction,
        culprit: Option<usize>,
        reason: &str,
        now: Instant,
    ) -> Progress {
        let new: Vec<UnitId> = it.goal.new_units().map(|new| new.id).collect();
        if new.is_empty() {
            return Progress::Ended(Err(format!("{}: {reason}", it.goal.subject())));
        }
        let is_present = |old: &&Named| self.member(old.id).is_some_and(Member::is_present);
        let staying: Vec<&str> =
            it.goal.old_units().filter(is_present).map(|old| old.name.as_str()).collect();
        it.failed = Some(failure(&it.goal, culprit, reason, &staying));
        self.take_out(&new, now);
        it.go(Step::Leaving, now + STEP_TIMEOUT)
    }

    /// Removes units from the decision module in one request, and then their processes. One that the module was not
    /// told of only loses its process; one that leaves already does so once.
    fn take_out(&mut self, units: &[UnitId], now: Instant) {
        let stays = |member: &Member| !matches!(member.life, Life::Leaving(..) | Life::Removed);
        let leaving = self.ids(|member| units.contains(&member.id) && stays(member));
        let is_known = |upgrades: &Self, unit| upgrades.member(unit).is_some_and(|it| it.known);
        let (known, unknown): (Vec<_>, Vec<_>) =
            leaving.into_iter().partition(|unit| is_known(self, *unit));
        if !known.is_empty() {
            let ask =
                self.ask(Request::Remove { units: UnitSet::from_iter(known.iter().copied()) });
            for unit in known {
                let member = self.member_mut(unit).expect("found above");
                member.life = Life::Leaving(ask, now + STEP_TIMEOUT);
            }
        }
        for unit in unknown {
            self.removed(unit);
        }
    }

    /// A unit has left the decision module: its processes end.
    fn removed(&mut self, unit: UnitId) {
        self.end(unit);
        let Some(member) = self.member_mut(unit) else { return };
        member.life = Life::Removed;
        self.free_vacated();
    }

    /// A unit has failed by itself: its processes end, and it stays listed until its slot is used again.
    fn fail(&mut self, unit: UnitId, reason: String) {
        self.end(unit);
        let Some(member) = self.member_mut(unit) else { return };
        let note = format!("unit {}: {reason}", member.name);
        member.life = Life::Over(reason);
        self.effects.push_back(Effect::Note(note));
    }

    fn end(&mut self, unit: UnitId) {
        let Some(member) = self.member_mut(unit).filter(|member| !member.ending) else { return };
        member.ending = true;
        self.effects.push_back(Effect::End(unit));
    }

    fn free_vacated(&mut self) {
        for slot in &mut self.slots {
            if slot.as_ref().is_some_and(|member| member.vacated && member.life == Life::Removed) {
                *slot = None;
            }
        }
    }

    fn pair_up(&mut self, names: Vec<Replacement>) -> Result<Vec<Pair>, ChangeError> {
        if names.is_empty() {
            return Err(ChangeError::Nothing);
        }
        let mut old_units: Vec<Named> = Vec::new();
        for (index, Replacement { old, new, share }) in names.iter().enumerate() {
            let unit = self.find(old)?;
            self.check_not_busy(unit.id)?;
            self.check_name(new)?;
            if names[..index].iter().any(|earlier| earlier.new == *new) {
                return Err(ChangeError::Used(new.clone()));
            }
            if old_units.iter().any(|earlier| earlier.id == unit.id) {
                return Err(ChangeError::Twice(old.clone()));
            }
            self.check_share(new, share, &names[..index])?;
            old_units.push(unit);
        }
        let slots = self.free_slots(names.len())?;
        let pairs = old_units.into_iter().zip(names).zip(slots);
        Ok(pairs
            .map(|((old, names), slot)| {
                let member = self.member(old.id);
                let was_active = member.is_some_and(|old| old.is_in_state(UnitState::Active));
                Pair { old, new: self.launch(slot, names.new, names.share), was_active }
            })
            .collect())
    }

    fn launch(&mut self, slot: u8, name: String, share: Share) -> Named {
        let id = self.register(slot, name.clone(), Role::Shadow, share);
        Named { id, name }
    }

    fn register(&mut self, slot: u8, name: String, role: Role, share: Share) -> UnitId {
        self.generations += 1;
        let id = UnitId { slot, generation: self.generations };
        self.names.insert(name.clone());
        self.slots[usize::from(slot)] = Some(Member {
            id,
            name,
            role,
            share,
            life: Life::Preparing,
            known: false,
            ending: false,
            vacated: false,
            view: None,
        });
        id
    }

    fn join(&mut self, unit: UnitId) {
        let Some(member) = self.member(unit) else { return };
        let (role, budget) = (member.role, member.share.budget);
        let ask = self.ask(Request::Add { unit, role, budget });
        let member = self.member_mut(unit).expect("found above");
        (member.life, member.known) = (Life::Joining(ask), true);
    }

    fn ask(&mut self, request: Request) -> u32 {
        self.asked += 1;
        self.effects.push_back(Effect::Ask { id: self.asked, request });
        self.asked
    }

    fn check_name(&self, name: &str) -> Result<(), ChangeError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > NAME_LEN_MAX || !name.chars().all(allowed) {
            return Err(ChangeError::Name(name.to_owned()));
        }
        if self.generations >= UNITS_MAX {
            return Err(ChangeError::Exhausted);
        }
        if self.names.contains(name) {
            return Err(ChangeError::Used(name.to_owned()));
        }
        Ok(())
    }

    /// Refuses a unit that does not fit beside the units that run, and those that start together with it.
    fn check_share(
        &self,
        name: &str,
        share: &Share,
        together: &[Replacement],
    ) -> Result<(), ChangeError> {
        let runs = |member: &&Member| !member.is_free();
        let present = self.slots.iter().flatten().filter(runs);
        let present = present.map(|member| (member.name.as_str(), &member.share));
        let others: Vec<(&str, &Share)> =
            present.chain(together.iter().map(|it| (it.new.as_str(), &it.share))).collect();
        Ok(admit(name, share, &others, self.answer_within)?)
    }

    /// Refuses a unit that belongs to a replacement under way.
    fn check_not_busy(&self, unit: UnitId) -> Result<(), ChangeError> {
        let pairs = self.transactions.iter().flat_map(|it| it.goal.pairs());
        match pairs.into_iter().find(|pair| pair.old.id == unit || pair.new.id == unit) {
            None => Ok(()),
            Some(Pair { old, new, .. }) => {
                Err(ChangeError::Busy { old: old.name.clone(), new: new.name.clone() })
            }
        }
    }

    fn find(&self, name: &str) -> Result<Named, ChangeError> {
        let present = || self.slots.iter().flatten().filter(|member| member.is_listed());
        match present().find(|member| member.name == name) {
            Some(member) => Ok(Named { id: member.id, name: member.name.clone() }),
            None => {
                let known = listed(present().map(|member| member.name.as_str()));
                Err(ChangeError::Unknown { name: name.to_owned(), known })
            }
        }
    }

    fn free_slots(&self, count: usize) -> Result<Vec<u8>, ChangeError> {
        let is_free = |member: &Option<Member>| member.as_ref().is_none_or(Member::is_free);
        let slots = (0..SLOTS as u8).filter(|slot| is_free(&self.slots[usize::from(*slot)]));
        let slots: Vec<u8> = slots.take(count).collect();
        if slots.len() == count {
            return Ok(slots);
        }
        let ending = self.slots.iter().flatten().filter(|member| member.ending && !member.vacated);
        Err(ChangeError::Full { ending: ending.count() })
    }

    fn ids(&self, is_wanted: impl Fn(&Member) -> bool) -> Vec<UnitId> {
        self.slots.iter().flatten().filter(|member| is_wanted(member)).map(|it| it.id).collect()
    }

    fn member(&self, unit: UnitId) -> Option<&Member> {
        self.slots[usize::from(unit.slot)].as_ref().filter(|member| member.id == unit)
    }

    fn member_mut(&mut self, unit: UnitId) -> Option<&mut Member> {
        self.slots[usize::from(unit.slot)].as_mut().filter(|member| member.id == unit)
    }

    fn every_new(&self, it: &Transaction, is_so: impl Fn(&Member) -> bool) -> bool {
        it.goal.new_units().all(|new| self.member(new.id).is_some_and(&is_so))
    }

    fn is_leaving(&self, goal: &Goal) -> bool {
        let leaves = |member: &Member| matches!(member.life, Life::Leaving(..));
        let units = goal.old_units().chain(goal.new_units());
        units.into_iter().any(|unit| self.member(unit.id).is_some_and(leaves))
    }
}

impl Member {
    /// Whether the decision module may still use its answers.
    fn is_present(&self) -> bool {
        matches!(self.life, Life::Preparing | Life::Joining(_) | Life::Judged)
    }

    fn is_listed(&self) -> bool {
        self.is_present() || matches!(self.life, Life::Over(_))
    }

    /// Whether another unit may have its slot.
    fn is_free(&self) -> bool {
        self.vacated && matches!(self.life, Life::Over(_) | Life::Removed)
    }

    fn is_in_state(&self, state: UnitState) -> bool {
        self.is_present() && self.view.is_some_and(|view| view.state == state)
    }

    fn has_answered(&self) -> bool {
        self.view.is_some_and(|view| view.state != UnitState::Starting)
    }

    fn is_proven(&self, answers: u32) -> bool {
        self.is_in_state(UnitState::Shadow) && self.view.is_some_and(|view| view.clean >= answers)
    }

    fn state(&self) -> &'static str {
        match (&self.life, self.view) {
            (Life::Over(_), Some(view)) if !view.state.is_live() => view.state.name(),
            (Life::Over(_), _) => UnitState::Failed.name(),
            (_, Some(view)) => view.state.name(),
            (_, None) => UnitState::Starting.name(),
        }
    }
}

impl Transaction {
    fn go(&mut self, step: Step, limit: Instant) -> Progress {
        (self.step, self.limit, self.reply) = (step, limit, None);
        Progress::Went
    }
}

impl Goal {
    fn pairs(&self) -> &[Pair] {
        match self {
            Self::Replace(pairs) => pairs,
            _ => &[],
        }
    }

    /// The units that the change starts.
    fn new_units(&self) -> impl Iterator<Item = &Named> {
        let added = if let Self::Add(unit) = self { Some(unit) } else { None };
        added.into_iter().chain(self.pairs().iter().map(|pair| &pair.new))
    }

    /// The units that the change removes.
    fn old_units(&self) -> impl Iterator<Item = &Named> {
        let removed = if let Self::Remove(unit) = self { Some(unit) } else { None };
        removed.into_iter().chain(self.pairs().iter().map(|pair| &pair.old))
    }

    fn subject(&self) -> String {
        match self {
            Self::Add(unit) | Self::Promote(unit) | Self::Remove(unit) => unit.name.clone(),
            Self::Replace(pairs) => listed(pairs.iter().map(|pair| pair.new.name.as_str())),
            Self::Resume => "resume".into(),
        }
    }

    /// The sentence about a change that was carried out.
    fn done(&self) -> String {
        match self {
            Self::Add(unit) => format!("{} runs in shadow", unit.name),
            Self::Promote(unit) => format!("{} has the plant", unit.name),
            Self::Remove(unit) => format!("{} is removed", unit.name),
            Self::Replace(pairs) => {
                let pairs = pairs.iter();
                let replaced =
                    pairs.map(|pair| format!("{} has replaced {}", pair.new.name, pair.old.name));
                replaced.collect::<Vec<_>>().join(", ")
            }
            Self::Resume => {
                "the safety controller has the plant again; the active unit follows once its answers are acceptable"
                    .into()
            }
        }
    }
}

/// The sentence about a change that was undone because of one of its new units, or of all of them.
fn failure(goal: &Goal, culprit: Option<usize>, reason: &str, staying: &[&str]) -> String {
    let new: Vec<&str> = goal.new_units().map(|new| new.name.as_str()).collect();
    let mut text = match culprit {
        Some(index) => format!("{} failed and was taken out: {reason}", new[index]),
        None if new.len() == 1 => format!("{} failed and was taken out: {reason}", new[0]),
        None => format!("{} failed and were taken out: {reason}", new.join(", ")),
    };
    let others: Vec<&str> =
        (0..).zip(&new).filter(|(n, _)| Some(*n) != culprit).map(|(_, new)| *new).collect();
    if culprit.is_some() && !others.is_empty() {
        text += &format!(", and {} with it", others.join(", "));
    }
    match staying {
        [] => text,
        [only] => format!("{text}; {only} stays"),
        several => format!("{text}; {} stay", several.join(", ")),
    }
}

fn complaint(view: UnitView) -> String {
    let fault = view.last_fault.map(|fault| format!(", last fault: {}", fault.name()));
    format!("it is {}{}", view.state.name(), fault.unwrap_or_default())
}

fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
