//! Questions and commands of the operator of an RTI, besides the calls of federates.

use hemiola_hla::TransportationTypeHandle;

use crate::input::SessionId;
use crate::kernel::Kernel;

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

    /// Destroys a federation execution. Returns `false` if there is none, or if it has members.
    pub fn destroy(&mut self, name: &str) -> bool {
        let Some(id) = self.names.get(name).copied() else { return false };
        if !self.federations[&id].joined().is_empty() {
            return false;
        }
        self.names.remove(name);
        let federation = self.federations.remove(&id).expect("a name leads to a federation");
        self.retire(federation);
        true
    }
}
