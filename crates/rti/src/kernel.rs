//! The kernel: takes one input at a time and appends its effects.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use hemiola_hla::{Call, Exception};
use hemiola_units::Instant;

use crate::authority::Authority;
use crate::federate::Presence;
use crate::federation::Federation;
use crate::input::{CallId, Effect, Input, SessionId, StorageId};
use crate::limits::Limits;
use crate::memory::{Allowance, KernelMemory, Room};
use crate::mom;
use crate::notice::Notice;
use crate::prepare::Prepared;
use crate::saving;
use crate::services::{self, Answer};
use crate::session::{self, FederationId, Member, Session};

/// All federations of an RTI. The state is a function of the inputs so far: the same inputs give the same effects.
#[derive(Debug, Default)]
pub struct Kernel {
    pub(crate) limits: Limits,
    /// Whether modules may name what no module defines.
    pub(crate) partial_models: bool,
    pub(crate) authority: Authority,
    /// How the names of the files of service reports begin; `None` if there are none.
    pub(crate) report_files: Option<Arc<str>>,
    pub(crate) now: Instant,
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    pub(crate) federations: BTreeMap<FederationId, Federation>,
    pub(crate) names: BTreeMap<String, FederationId>,
    /// The list of federations (clause 4.8), until one is created or destroyed. A federate may ask for it thousands of
    /// times and not read: all answers share one list.
    pub(crate) list: Option<Arc<Notice>>,
    pub(crate) federation_count: u64,
    pub(crate) memory: KernelMemory,
    pub(crate) room: Room,
    /// Effects of the current input, which follow the reply.
    pub(crate) after_reply: Vec<Effect>,
    /// Modules that were read in advance for the next call.
    pub(crate) prepared: Option<Prepared>,
    /// The number of calls whose modules the kernel read itself.
    pub(crate) unprepared: u64,
    retired: Vec<Retired>,
    /// The units of work that are left for the current input.
    pub(crate) left: u64,
    /// Federations with unfinished work, and the last that had its turn.
    pub(crate) working: BTreeSet<FederationId>,
    worked: Option<FederationId>,
}

/// Something that the kernel no longer needs, and that may take milliseconds to drop.
pub type Retired = Box<dyn Any + Send>;

/// The capacity that an emptied list of effects may keep: a burst must not occupy memory permanently.
pub(crate) const SPARE_EFFECTS: usize = 1024;

impl Kernel {
    /// Creates a kernel without federations.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Lets modules name classes, data types and dimensions that no module defines yet. The standard demands that they
    /// be refused.
    #[must_use]
    pub const fn with_partial_models(mut self, are_allowed: bool) -> Self {
        self.partial_models = are_allowed;
        self
    }

    /// Sets what federates may do. Without permits, every federate may do everything.
    #[must_use]
    pub fn with_authority(mut self, authority: Authority) -> Self {
        self.authority = authority;
        self
    }

    /// Lets federates have their service reports written to files (clause 10.51), whose names begin with this path.
    #[must_use]
    pub fn with_report_files(mut self, path: &str) -> Self {
        self.report_files = Some(path.into());
        self
    }

    /// Takes one input and appends its effects, all of them. The shell of a real-time system calls
    /// [`handle_within`](Self::handle_within) instead.
    ///
    /// # Panics
    ///
    /// If an input opens a session that is already open.
    pub fn handle(&mut self, input: Input, out: &mut Vec<Effect>) {
        self.handle_within(input, u64::MAX, out);
        while self.has_work() {
            self.work(u64::MAX, out);
        }
    }

    /// Takes one input and appends its effects, as far as this budget goes. The rest is done by [`work`](Self::work):
    /// most calls are answered at once, and a call that resigns is answered when the federate has left.
    ///
    /// The budget is in units of work. A unit is about 100 ns: looking at an instance or a queued message costs one,
    /// a callback to one federate four.
    ///
    /// A call of a session that [is busy](Self::is_busy) finishes its jobs first, whatever the budget.
    ///
    /// Returns the units that were used up.
    ///
    /// # Panics
    ///
    /// If an input opens a session that is already open.
    pub fn handle_within(&mut self, input: Input, budget: u64, out: &mut Vec<Effect>) -> u64 {
        self.left = budget;
        match input {
            Input::Opened(session) => {
                let before = self.sessions.insert(session, Session::default());
                assert!(before.is_none(), "{session:?} is open already");
            }
            Input::Called(session, number, call) => {
                while self.is_busy(session) {
                    self.work(u64::MAX, out);
                }
                self.call(session, number, call, out);
                if let Some(prepared) = self.prepared.take() {
                    self.retire(prepared);
                }
            }
            Input::Answered(session, milestone) => {
                if let Some(Member { federation, federate }) =
                    self.sessions.get(&session).and_then(|one| one.member)
                    && let Some(federation) = self.federations.get_mut(&federation)
                {
                    federation.federate_mut(federate).time.answered(milestone);
                }
            }
            Input::Stored(id, result) => {
                self.answer(id, |federation| saving::stored(federation, id, result), out);
            }
            Input::Loaded(id, result) => {
                self.answer(id, |federation| saving::loaded(federation, id, result), out);
            }
            Input::Prepared(prepared) => self.prepared = Some(prepared),
            Input::Room(room) => self.room = room,
            Input::Lost(session) => {
                self.lose(session, "the connection to the federate was lost", out);
            }
            Input::Dismissed(session, reason) => {
                let fault = format!("the RTI has ended the session: {reason}");
                let state = self.sessions.get(&session);
                if let Some(farewell) = state.and_then(|state| state.farewell(&fault)) {
                    out.push(Effect::Callback(session, Arc::new(farewell)));
                }
                self.lose(session, &fault, out);
            }
            Input::Tick(now) => {
                self.now = now;
                for (id, federation) in &mut self.federations {
                    federation.now = now;
                    if federation.is_due() {
                        self.working.insert(*id);
                    }
                }
            }
        }
        if !self.after_reply.is_empty() {
            out.append(&mut self.after_reply);
            self.after_reply.shrink_to(SPARE_EFFECTS);
        }
        budget - self.left
    }

    /// Forgets a session. Its federate is resigned, and the management object model reports this fault.
    fn lose(&mut self, session: SessionId, fault: &str, out: &mut Vec<Effect>) {
        let gone = self.sessions.remove(&session);
        if let Some(Member { federation: id, federate }) = gone.and_then(|gone| gone.member) {
            let federation = self.federations.get_mut(&id);
            let federation = federation.expect("a federation with members exists");
            federation.budget = self.left;
            mom::lost(federation, federate, fault);
            services::federation::resign_lost(federation, federate);
            services::follow_up(federation, &mut self.sessions, out);
            self.left = federation.budget;
            self.note_work();
            self.note_memory();
        }
        self.forget_creator(session);
    }

    /// Passes an answer of the storage to its federation, if that still exists.
    fn answer(&mut self, id: StorageId, take: impl FnOnce(&mut Federation), out: &mut Vec<Effect>) {
        let Some(federation) = self.federations.get_mut(&id.federation) else { return };
        federation.budget = self.left;
        take(federation);
        services::follow_up(federation, &mut self.sessions, out);
        self.left = federation.budget;
        self.note_work();
        self.note_memory();
    }

    /// Retires the federation that a restore has replaced, if one has.
    fn retire_replaced(&mut self, id: FederationId) {
        let federation = self.federations.get_mut(&id).expect("it is being worked on");
        if let Some(replaced) = federation.saving.take_replaced() {
            self.retire_federation(*replaced);
        }
    }

    /// Takes everything that the kernel no longer needs: models, destroyed federations, results of preparations. The
    /// shell drops it outside the loop. It should do so after every few inputs; until then the memory stays in use.
    pub fn take_retired(&mut self) -> Vec<Retired> {
        std::mem::take(&mut self.retired)
    }

    pub(crate) fn retire(&mut self, unneeded: impl Any + Send) {
        self.retired.push(Box::new(unneeded));
    }

    /// Retires a federation that is none any more, and takes it off the accounts of its sessions.
    pub(crate) fn retire_federation(&mut self, federation: Federation) {
        self.memory.retire(&federation);
        let sessions = self.sessions.values_mut();
        sessions.for_each(|session| session.accounts.forget(&federation.account));
        self.retire(federation);
    }

    /// Continues unfinished work within this budget: one job, or grants of one federation. Federations take turns, and
    /// so do the jobs of each. Returns the session whose work it was, if it still has one.
    pub fn work(&mut self, budget: u64, out: &mut Vec<Effect>) -> Option<SessionId> {
        let after = self.worked.map_or(Bound::Unbounded, Bound::Excluded);
        self.worked = self.working.range((after, Bound::Unbounded)).next().copied();
        self.worked = self.worked.or_else(|| self.working.first().copied());
        let id = self.worked?;
        let federation = self.federations.get_mut(&id).expect("a working federation exists");
        federation.budget = budget;
        let by_others = self.memory.held - federation.held();
        federation.allowance.room = self.room;
        federation.allowance.by_others = by_others;
        services::follow_up(federation, &mut self.sessions, out);
        let session = federation.next_worker();
        federation.continue_job();
        services::follow_up(federation, &mut self.sessions, out);
        self.memory.held = by_others + federation.held();
        if !federation.has_work() {
            self.working.remove(&id);
        }
        session
    }

    /// Whether there is unfinished work.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.working.is_empty()
    }

    /// Returns when something is next due that no input asks for: a periodic report of the management object model, or
    /// a value that waits for its subscriber's update rate. A tick at or after that time is work to be done.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let federations = self.federations.values().filter(|one| !one.saving.is_frozen());
        let reports = federations.clone().filter_map(|one| Some(one.mom.as_ref()?.next_due()));
        let values = federations.filter_map(|one| one.postponed.first().map(|(due, ..)| *due));
        reports.chain(values).min().filter(|due| *due < Instant::MAX)
    }

    /// Whether the next call of this session must wait until its unfinished work is done, and the reports on service
    /// invocations in its federation are sent.
    #[must_use]
    pub fn is_busy(&self, session: SessionId) -> bool {
        // Almost always so, and every call asks.
        if self.working.is_empty() {
            return false;
        }
        let member = self.sessions.get(&session).and_then(|state| state.member);
        member.is_some_and(|one| {
            let federation = &self.federations[&one.federation];
            federation.is_busy(one.federate) || mom::has_reports(federation)
        })
    }

    /// Notes which federations have unfinished work.
    fn note_work(&mut self) {
        let working = self.federations.iter().filter(|(_, federation)| federation.has_work());
        self.working = working.map(|(id, _)| *id).collect();
    }

    /// Adds up what the federations hold.
    pub(crate) fn note_memory(&mut self) {
        self.memory.held = self.federations.values().map(Federation::held).sum();
    }

    /// Carries out a call. Appends its reply, unless a job gives it later, and its callbacks.
    fn call(&mut self, session: SessionId, number: CallId, call: Call, out: &mut Vec<Effect>) {
        let entry = call.entry();
        let reply = |sessions: &BTreeMap<SessionId, Session>, answer: Answer| {
            if let Err(refusal) = &answer {
                let known = entry.exceptions.contains(&refusal.exception);
                debug_assert!(known, "{} does not raise {refusal}", entry.name);
            }
            session::reply(sessions, session, number, answer)
        };
        let call = match call {
            Call::Federation(call) => match services::federation::session_call(self, session, call)
            {
                ControlFlow::Break(answer) => {
                    self.note_work();
                    self.note_memory();
                    if !self.answers_later(session, number) {
                        out.push(reply(&self.sessions, answer));
                    }
                    return;
                }
                ControlFlow::Continue(call) => Call::from(call),
            },
            call => call,
        };
        let state = self.sessions.get(&session).ok_or(Exception::NotConnected);
        let member = state.and_then(|state| Ok((state.member()?, state.accounts.held())));
        let (Member { federation: id, federate }, by_session) = match member {
            Ok(member) => member,
            Err(exception) => return out.push(reply(&self.sessions, Err(exception.into()))),
        };
        let federation = self.federations.get_mut(&id);
        let federation = federation.expect("a federation with members exists");
        federation.budget = self.left;
        let by_others = self.memory.held - federation.held();
        let elsewhere = by_session - federation.federate(federate).account.held();
        federation.allowance = Allowance { room: self.room, by_others, elsewhere };
        // Where the management object model is in use, it observes the call.
        // During a save or a restore it is frozen, too.
        let answer = if federation.saving.is_frozen() {
            services::call(federation, federate, call)
        } else if federation.mom.is_some() || mom::concerns(federation, &call) {
            mom::observe(federation, federate, call)
        } else {
            services::call(federation, federate, call)
        };
        if !federation.answers_later(federate, session, number) {
            out.push(reply(&self.sessions, answer));
        }
        services::follow_up(federation, &mut self.sessions, out);
        self.left = federation.budget;
        self.memory.held = by_others + federation.held();
        if federation.has_work() {
            self.working.insert(id);
        } else if !self.working.is_empty() {
            self.working.remove(&id);
        }
        if federation.saving.has_replaced() {
            self.retire_replaced(id);
        }
    }

    fn answers_later(&mut self, session: SessionId, number: CallId) -> bool {
        let member = self.sessions.get(&session).and_then(|state| state.member);
        let federation = member.and_then(|one| self.federations.get_mut(&one.federation));
        federation.zip(member).is_some_and(|(federation, Member { federate, .. })| {
            federation.answers_later(federate, session, number)
        })
    }

    /// Checks the invariants that hold between any two inputs. Tests call it after every input.
    ///
    /// # Panics
    ///
    /// If an invariant is broken.
    pub fn check_invariants(&self) {
        assert!(self.after_reply.is_empty());
        assert_eq!(self.names.len(), self.federations.len());
        for (name, id) in &self.names {
            assert_eq!(*name, self.federations[id].name);
        }
        let mut members = 0;
        for (session, state) in &self.sessions {
            let Some(Member { federation, federate }) = state.member else { continue };
            assert!(state.connected.is_some());
            assert_eq!(self.federations[&federation].federate(federate).session, *session);
            members += 1;
        }
        for (id, federation) in &self.federations {
            let with_session =
                federation.federates().filter(|(_, one)| one.presence != Presence::Gone);
            members -= with_session.count();
            federation.check_invariants();
            assert_eq!(federation.has_work(), self.working.contains(id));
            assert!(federation.overflowed.is_empty() && federation.answers.is_empty());
        }
        assert_eq!(members, 0, "every joined federate has a session");
        let held = self.federations.values().map(Federation::held);
        assert_eq!(self.memory.held, held.sum::<usize>(), "what is charged is held");
    }
}
