//! A report on the state of a kernel, for operators.

use hemiola_hla::{FederateHandle, LogicalInterval, LogicalTime, TimeImplementation};
use hemiola_units::Instant;

use crate::federate::{Federate, Presence};
use crate::federation::Federation;
use crate::input::SessionId;
use crate::kernel::Kernel;
use crate::memory::Charge;
use crate::services::time::Galts;
use crate::time::Bound;

/// The state of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Number of open sessions.
    pub sessions: usize,
    /// The federations, by name.
    pub federations: Vec<FederationStatus>,
}

/// A federation execution.
#[derive(Clone, Debug, PartialEq)]
pub struct FederationStatus {
    /// Its name.
    pub name: String,
    /// Its logical time implementation.
    pub time: TimeImplementation,
    /// Number of object instances.
    pub instances: usize,
    /// Number of messages sent since it was created.
    pub messages: u64,
    /// The memory that it holds, in bytes: its model and everything that its federates made it keep.
    pub memory: usize,
    /// The part of it that is the object model.
    pub model_memory: usize,
    /// Labels of the pending synchronization points.
    pub synchronization_points: Vec<String>,
    /// Its joined federates, by handle.
    pub federates: Vec<FederateStatus>,
}

/// A joined federate.
#[derive(Clone, Debug, PartialEq)]
pub struct FederateStatus {
    /// Its handle.
    pub handle: FederateHandle,
    /// Its name.
    pub name: String,
    /// Its type.
    pub federate_type: String,
    /// Its session.
    pub session: SessionId,
    /// Its logical time.
    pub time: LogicalTime,
    /// Its lookahead, if it is time-regulating.
    pub lookahead: Option<LogicalInterval>,
    /// Is it time-constrained?
    pub constrained: bool,
    /// The object of its wait, if it is waiting.
    pub waiting: Option<Waiting>,
    /// Its GALT and the federate that limits it; `None` if no other federate is time-regulating.
    pub held_back: Option<HeldBack>,
    /// Number of messages queued for it.
    pub undelivered: usize,
    /// The memory that it makes the federation hold, in bytes.
    pub memory: usize,
}

/// What a federate is waiting for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// The requested time; `None` if the federate is waiting to become time-constrained.
    pub until: Option<LogicalTime>,
    /// When the wait began, by the kernel's last tick.
    pub since: Instant,
}

/// The limit on a federate's advance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldBack {
    /// The greatest time that can be granted now.
    pub galt: LogicalTime,
    /// The federate that can still send messages with this time stamp.
    pub by: FederateHandle,
}

impl Kernel {
    /// Reports the current state.
    #[must_use]
    pub fn status(&self) -> Status {
        let federations = self.names.values().map(|id| federation_status(&self.federations[id]));
        Status { sessions: self.sessions.len(), federations: federations.collect() }
    }
}

fn federation_status(federation: &Federation) -> FederationStatus {
    let galts = Galts::of(federation);
    let federates = federation.federates().filter(|(_, one)| one.presence != Presence::Gone);
    FederationStatus {
        name: federation.name.clone(),
        time: federation.implementation,
        instances: federation.instances.len(),
        messages: federation.sequence,
        memory: federation.held(),
        model_memory: federation.model_charges.iter().map(Charge::len).sum(),
        synchronization_points: federation.points.keys().cloned().collect(),
        federates: federates.map(|(handle, one)| federate_status(handle, one, galts)).collect(),
    }
}

fn federate_status(handle: FederateHandle, federate: &Federate, galts: Galts) -> FederateStatus {
    let time = &federate.time;
    let advancing = time.advance().map(|one| Waiting { until: Some(one.until), since: one.since });
    let constrained = time.constrained_pending.map(|since| Waiting { until: None, since });
    let held_by = |(bound, by): (Bound, FederateHandle)| HeldBack { galt: bound.time(), by };
    FederateStatus {
        handle,
        name: federate.name.clone(),
        federate_type: federate.federate_type.clone(),
        session: federate.session,
        time: time.now(),
        lookahead: time.regulation().map(|regulation| regulation.lookahead),
        constrained: time.constrained,
        waiting: advancing.or(constrained),
        held_back: galts.held_by(handle).map(held_by),
        undelivered: time.backlog.count(),
        memory: federate.account.held(),
    }
}
