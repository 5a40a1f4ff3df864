//! The kernel: takes one input at a time and appends its effects.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hemiola_hla::{Call, Exception, Refusal, Reply};
use hemiola_units::Instant;

use crate::federation::Federation;
use crate::input::{Effect, Input, SessionId};
use crate::limits::Limits;
use crate::prepare::Prepared;
use crate::services;
use crate::session::{FederationId, Member, Session};

/// All federations of an RTI. The state is a function of the inputs so far: the same inputs give the same effects.
#[derive(Debug, Default)]
pub struct Kernel {
    pub(crate) limits: Limits,
    pub(crate) now: Instant,
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    pub(crate) federations: BTreeMap<FederationId, Federation>,
    pub(crate) names: BTreeMap<String, FederationId>,
    pub(crate) federation_count: u64,
    /// Effects of the current input, which follow the reply.
    pub(crate) after_reply: Vec<Effect>,
    /// Modules that were read in advance for the next call.
    pub(crate) prepared: Option<Prepared>,
    /// The number of calls whose modules the kernel read itself.
    pub(crate) unprepared: u64,
    retired: Vec<Retired>,
}

/// Something that the kernel no longer needs, and that may take milliseconds to drop.
pub type Retired = Box<dyn Any + Send>;

impl Kernel {
    /// Creates a kernel without federations.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes one input and appends its effects.
    ///
    /// # Panics
    ///
    /// If an input opens a session that is already open.
    pub fn handle(&mut self, input: Input, out: &mut Vec<Effect>) {
        match input {
            Input::Opened(session) => {
                let before = self.sessions.insert(session, Session::default());
                assert!(before.is_none(), "{session:?} is open already");
            }
            Input::Called(session, number, call) => {
                let entry = call.entry();
                let answer = self.call(session, call);
                if let Some(prepared) = self.prepared.take() {
                    self.retire(prepared);
                }
                if let Err(refusal) = &answer {
                    let known = entry.exceptions.contains(&refusal.exception);
                    debug_assert!(known, "{} does not raise {refusal}", entry.name);
                }
                out.push(Effect::Reply(session, number, answer));
            }
            Input::Prepared(prepared) => self.prepared = Some(prepared),
            Input::Lost(session) => {
                let gone = self.sessions.remove(&session);
                if let Some(Member { federation, federate }) = gone.and_then(|gone| gone.member) {
                    let federation = self.federations.get_mut(&federation);
                    let federation = federation.expect("a federation with members exists");
                    services::federation::resign_lost(federation, federate);
                    services::follow_up(federation, &mut self.sessions, &mut self.after_reply);
                }
                self.forget_creator(session);
                let to_others =
                    |output: &Effect| !matches!(output, Effect::Callback(to, _) if *to == session);
                self.after_reply.retain(to_others);
            }
            Input::Tick(now) => {
                self.now = now;
                self.federations.values_mut().for_each(|federation| federation.now = now);
            }
        }
        out.append(&mut self.after_reply);
    }

    /// Takes everything that the kernel no longer needs: models, destroyed federations, results of preparations. The
    /// shell drops it outside the loop. It should do so after every few inputs; until then the memory stays in use.
    pub fn take_retired(&mut self) -> Vec<Retired> {
        std::mem::take(&mut self.retired)
    }

    pub(crate) fn retire(&mut self, unneeded: impl Any + Send) {
        self.retired.push(Box::new(unneeded));
    }

    fn call(&mut self, session: SessionId, call: Call) -> Result<Reply, Refusal> {
        let call = match call {
            Call::Federation(call) => match services::federation::session_call(self, session, call)
            {
                ControlFlow::Break(answer) => return answer,
                ControlFlow::Continue(call) => Call::from(call),
            },
            call => call,
        };
        let state = self.sessions.get(&session).copied().unwrap_or_default();
        state.connected.ok_or(Exception::NotConnected)?;
        let Member { federation, federate } =
            state.member.ok_or(Exception::FederateNotExecutionMember)?;
        let federation = self.federations.get_mut(&federation);
        let federation = federation.expect("a federation with members exists");
        let answer = services::call(federation, federate, call);
        services::follow_up(federation, &mut self.sessions, &mut self.after_reply);
        answer
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
        for federation in self.federations.values() {
            members -= federation.joined().len();
            federation.check_invariants();
        }
        assert_eq!(members, 0, "every joined federate has a session");
    }
}
