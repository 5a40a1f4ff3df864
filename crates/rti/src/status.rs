//! What is going on in a kernel, for people.

use hemiola_hla::{FederateHandle, LogicalInterval, LogicalTime, TimeImplementation};
use hemiola_units::Instant;

use crate::federate::Federate;
use crate::federation::Federation;
use crate::input::SessionId;
use crate::kernel::Kernel;
use crate::services::time::Galts;
use crate::time::Bound;

/// The federations of a kernel, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Sessions that are open.
    pub sessions: usize,
    /// The federations.
    pub federations: Vec<FederationStatus>,
}

/// A federation execution.
#[derive(Clone, Debug, PartialEq)]
pub struct FederationStatus {
    /// Its name.
    pub name: String,
    /// Its logical time.
    pub time: TimeImplementation,
    /// Object instances.
    pub instances: usize,
    /// Messages sent since it was created.
    pub messages: u64,
    /// Labels of synchronization points that not all have reached.
    pub synchronization_points: Vec<String>,
    /// Its federates by handle.
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
    /// What it waits for.
    pub waiting: Option<Waiting>,
    /// Its GALT, and whose time keeps it there; `None` if no other federate regulates.
    pub held_back: Option<HeldBack>,
    /// Messages kept until it may have them.
    pub undelivered: usize,
}

/// A wait of a federate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waiting {
    /// The time it asked for; `None` if it waits to become time-constrained.
    pub until: Option<LogicalTime>,
    /// Since when, by the ticks the kernel was told.
    pub since: Instant,
}

/// Why a federate cannot go further.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldBack {
    /// The greatest time it can be granted now.
    pub galt: LogicalTime,
    /// The federate that may still send at that time.
    pub by: FederateHandle,
}

impl Kernel {
    /// What is going on.
    #[must_use]
    pub fn status(&self) -> Status {
        let federations = self.names.values().map(|id| federation_status(&self.federations[id]));
        Status { sessions: self.sessions.len(), federations: federations.collect() }
    }
}

fn federation_status(federation: &Federation) -> FederationStatus {
    let galts = Galts::of(federation);
    let federates = federation.federates();
    FederationStatus {
        name: federation.name.clone(),
        time: federation.implementation,
        instances: federation.instances.len(),
        messages: federation.sequence,
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
    }
}
