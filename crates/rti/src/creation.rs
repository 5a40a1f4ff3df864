//! The creators of federation executions: their quotas, and the federations that they have abandoned.

use hemiola_hla::Refusal;
use hemiola_units::Instant;

use crate::input::SessionId;
use crate::kernel::Kernel;
use crate::services::beyond;
use crate::session::FederationId;

/// A host or user. The federations that its sessions create count against its quota. The shell assigns the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(pub u128);

/// The creation of a federation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Creation {
    owner: Owner,
    /// The session that created it, while that is open.
    session: Option<SessionId>,
    /// When that session ended, or the last federate resigned, whichever was later.
    pub(crate) quiet_since: Instant,
}

impl Kernel {
    /// The federations that a session creates count against the quota of this owner.
    pub fn set_owner(&mut self, session: SessionId, owner: Owner) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.owner = owner;
        }
    }

    /// Says where the client of a session is: a host, or an address on it. The management object model reports it.
    pub fn set_host(&mut self, session: SessionId, host: &str) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.host = host.into();
        }
    }

    /// Destroys the federations that were abandoned at or before this time: they have no federate, and the session that
    /// created them has ended. Returns their names.
    pub fn destroy_abandoned(&mut self, until: Instant) -> Vec<String> {
        let names = self.abandoned().filter(|(since, _)| *since <= until);
        let names: Vec<String> = names.map(|(_, id)| self.federations[&id].name.clone()).collect();
        for name in &names {
            self.destroy(name);
        }
        names
    }

    /// Since when the first of the abandoned federations has been abandoned.
    #[must_use]
    pub fn abandoned_since(&self) -> Option<Instant> {
        self.abandoned().map(|(since, _)| since).min()
    }

    /// The abandoned federations, and since when they are.
    fn abandoned(&self) -> impl Iterator<Item = (Instant, FederationId)> {
        let empty = self.federations.iter().filter(|(_, one)| one.joined().is_empty());
        let abandoned = empty.filter(|(_, one)| one.creation.session.is_none());
        abandoned.map(|(id, one)| (one.creation.quiet_since, *id))
    }

    /// Makes room for a federation of this session: if its owner, or all together, have as many as they may, the one
    /// that was abandoned first is destroyed.
    pub(crate) fn make_room(&mut self, session: SessionId) -> Result<Creation, Refusal> {
        let owner = self.sessions.get(&session).map_or(Owner::default(), |one| one.owner);
        let limits = self.limits;
        let count = |is_counted: &dyn Fn(&Creation) -> bool| {
            self.federations.values().filter(|one| is_counted(&one.creation)).count()
        };
        if count(&|one| one.session == Some(session)) >= limits.federations_of_session {
            let what = "federation executions created by one session; destroy some";
            return Err(beyond(limits.federations_of_session, what));
        }
        let is_owner_full = count(&|one| one.owner == owner) >= limits.federations_of_owner;
        if is_owner_full || self.federations.len() >= limits.federations {
            let is_own = |id: &FederationId| self.federations[id].creation.owner == owner;
            let candidates = self.abandoned().filter(|(_, id)| !is_owner_full || is_own(id));
            match candidates.min() {
                Some((_, id)) => {
                    let name = self.federations[&id].name.clone();
                    self.destroy(&name);
                }
                None if is_owner_full => {
                    let what = "federation executions of one host or user; destroy some";
                    return Err(beyond(limits.federations_of_owner, what));
                }
                None => return Err(beyond(limits.federations, "federation executions")),
            }
        }
        Ok(Creation { owner, session: Some(session), quiet_since: self.now })
    }

    /// A session has ended: the federations that it created have no creator.
    pub(crate) fn forget_creator(&mut self, session: SessionId) {
        for federation in self.federations.values_mut() {
            if federation.creation.session == Some(session) {
                federation.creation.session = None;
                federation.creation.quiet_since = self.now;
            }
        }
    }
}
