//! Questions and commands of the operator of an RTI, besides the calls of federates.

use hemiola_hla::TransportationTypeHandle;

use crate::federate::{Federate, Presence};
use crate::input::SessionId;
use crate::kernel::Kernel;
use crate::memory::Refusals;

impl Kernel {
    /// Whether the session's federate is a member of a federation execution.
    #[must_use]
    pub fn has_joined(&self, session: SessionId) -> bool {
        self.sessions.get(&session).is_some_and(|session| session.member.is_some())
    }

    /// Whether the object model of the session's federation lets messages with this transportation get lost.
    #[must_use]
    pub fn is_best_effort(
        &self,
        session: SessionId,
        transportation: TransportationTypeHandle,
    ) -> bool {
        let member = self.sessions.get(&session).and_then(|session| session.member);
        let federation = member.and_then(|member| self.federations.get(&member.federation));
        let definition = federation.and_then(|one| one.model.transportation(transportation));
        definition.is_some_and(|one| !one.reliable)
    }

    /// The memory that all federations hold, in bytes.
    #[must_use]
    pub fn memory_len(&self) -> usize {
        self.memory.held + self.memory.retired_len()
    }

    /// The part of it that the shell holds until it has dropped what [`take_retired`](Self::take_retired) returned.
    #[must_use]
    pub fn retired_len(&self) -> usize {
        self.memory.retired_len()
    }

    /// The memory that is held because of a session, in bytes. What outlives the session is no longer counted for it.
    #[must_use]
    pub fn memory_len_of(&self, session: SessionId) -> usize {
        self.sessions.get(&session).map_or(0, |state| state.accounts.held())
    }

    /// The calls that were refused because they would have exceeded a quota of memory.
    #[must_use]
    pub fn refusals(&self) -> Refusals {
        let mut refusals = self.memory.refusals;
        self.federations.values().for_each(|one| refusals.add(one.refusals.get()));
        refusals
    }

    /// Destroys a federation execution. Returns `false` if there is none, or if it has members. Federates that have
    /// lost their session are no members, even if they have not left yet.
    pub fn destroy(&mut self, name: &str) -> bool {
        let Some(id) = self.names.get(name).copied() else { return false };
        let is_member = |federate: &Federate| federate.presence != Presence::Gone;
        if self.federations[&id].federates().any(|(_, federate)| is_member(federate)) {
            return false;
        }
        self.names.remove(name);
        self.list = None;
        self.working.remove(&id);
        let federation = self.federations.remove(&id).expect("a name leads to a federation");
        self.retire_federation(federation);
        self.note_memory();
        true
    }
}
