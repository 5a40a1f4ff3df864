//! What goes on in an RTI, as data: for tables, for programs, for Prometheus.
//!
//! The shell fills in sessions and counters, [`federations`] turns the kernel's status into the rest. As JSON, lengths
//! of time are whole nanoseconds and their names end in `_ns`; logical times are numbers, whole in a federation of
//! `HLAinteger64Time`.

mod number;
mod prometheus;

use std::collections::BTreeMap;

use hemiola_rti::{FederateStatus, FederationStatus, Status};
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

pub use number::Number;
pub use prometheus::prometheus;

/// The layout of the JSON document. It grows with every change that a reader could stumble over.
pub const LAYOUT: u32 = 1;

/// An RTI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The layout of this document, [`LAYOUT`].
    pub layout: u32,
    /// The version of the program.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// How long it runs.
    #[serde(rename = "uptime_ns", with = "nanos")]
    pub uptime: Span,
    /// Where it listens, as `tcp:127.0.0.1:15164`.
    pub addresses: Vec<String>,
    /// How much it worked.
    pub work: Work,
    /// What came from all sessions that there ever were.
    pub received: Flow,
    /// What went to all of them.
    pub sent: Flow,
    /// Connections that have not said yet what they are for.
    pub arrivals: usize,
    /// Sessions that were given so far.
    pub sessions_opened: u64,
    /// Sessions that ended, by the reason in a word or two.
    pub sessions_ended: BTreeMap<String, u64>,
    /// The sessions.
    pub sessions: Vec<SessionReport>,
    /// The federation executions, by name.
    pub federations: Vec<FederationReport>,
}

impl Report {
    /// Returns the report as a JSON document.
    ///
    /// # Panics
    /// Never: a report is plain data.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a report is plain data")
    }
}

/// What the RTI's thread did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Turns of its loop that found something to do.
    pub turns: u64,
    /// How long these took, together.
    #[serde(rename = "busy_ns", with = "nanos")]
    pub busy: Span,
    /// Calls that were carried out.
    pub calls: u64,
    /// Callbacks that came of them, each counted for everyone who got it.
    pub callbacks: u64,
}

/// Messages of one direction, their bytes, and how fast they come: over a second that is at most two seconds old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Messages so far.
    pub messages: u64,
    /// Bytes so far.
    pub bytes: u64,
    /// Messages in a second.
    pub messages_per_s: f64,
    /// Bytes in a second.
    pub bytes_per_s: f64,
}

/// How a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    /// It has a connection that takes what is sent.
    Running,
    /// So much waits for it that those who cause it are slowed down.
    Congested,
    /// Its connection is broken; it may come back.
    Apart,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionReport {
    /// Its number, counted from the beginning. Not its identity on the wire, which is a secret.
    pub number: u64,
    /// Who is at the other end: `tcp:127.0.0.1:40112`, `shm:15164 (pid 4711)`, `in this process`.
    pub peer: String,
    /// How it is.
    pub state: SessionState,
    /// How long ago it was opened.
    #[serde(rename = "age_ns", with = "nanos")]
    pub age: Span,
    /// How long nothing has come from it.
    #[serde(rename = "silence_ns", with = "nanos")]
    pub silence: Span,
    /// What came from it.
    pub received: Flow,
    /// What went to it.
    pub sent: Flow,
    /// Messages that wait to be sent to it.
    pub backlog: usize,
    /// Their bytes of memory.
    pub backlog_bytes: usize,
    /// Bytes of memory that were sent and are kept until the peer says that it has them.
    pub kept_bytes: usize,
    /// Callbacks that it has not answered. Some clients never answer some of them.
    pub unanswered: usize,
}

/// A federation execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FederationReport {
    /// Its name.
    pub name: String,
    /// The name of its logical time, as `HLAfloat64Time`.
    pub time: String,
    /// Object instances.
    pub instances: usize,
    /// Messages sent since it was created.
    pub messages: u64,
    /// Labels of synchronization points that not all have reached.
    pub synchronization_points: Vec<String>,
    /// Its federates, by handle.
    pub federates: Vec<FederateReport>,
    /// Who keeps others from the time they asked for; the one others wait longest for is first.
    pub holding_back: Vec<HoldingBack>,
}

/// A joined federate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FederateReport {
    /// Its handle's number.
    pub handle: u32,
    /// Its name.
    pub name: String,
    /// Its type.
    pub federate_type: String,
    /// The number of its session.
    pub session: u64,
    /// Its logical time.
    pub time: Number,
    /// Its lookahead, if it is time-regulating.
    pub lookahead: Option<Number>,
    /// Is it time-constrained?
    pub constrained: bool,
    /// What it waits for.
    pub waiting: Option<WaitingReport>,
    /// The greatest time it can be granted now; none if no other federate regulates.
    pub galt: Option<Number>,
    /// Who keeps it there: a name of a federate.
    pub held_back_by: Option<String>,
    /// Messages kept until it may have them.
    pub undelivered: usize,
}

/// A wait of a federate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingReport {
    /// The time it asked for; none if it waits to become time-constrained.
    pub until: Option<Number>,
    /// How long it has waited.
    #[serde(rename = "for_ns", with = "nanos")]
    pub since: Span,
}

/// A federate that keeps others from the time they asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HoldingBack {
    /// Its name.
    pub federate: String,
    /// Nobody goes beyond this because of it.
    pub galt: Number,
    /// How long the one that waits longest has waited. It may have waited for somebody else before.
    #[serde(rename = "for_ns", with = "nanos")]
    pub since: Span,
    /// Who waits for it.
    pub waiting: Vec<String>,
    /// The time it asked for itself; none if it did not ask: the others wait for its work, not for a grant.
    pub asked_for: Option<Number>,
}

/// The federations of a kernel, so late as it is now.
#[must_use]
pub fn federations(status: &Status, now: Instant) -> Vec<FederationReport> {
    status.federations.iter().map(|one| federation(one, now)).collect()
}

fn federation(status: &FederationStatus, now: Instant) -> FederationReport {
    let name_of = |handle| {
        let found = status.federates.binary_search_by_key(&handle, |federate| federate.handle);
        found.map_or_else(|_| format!("federate {handle}"), |at| status.federates[at].name.clone())
    };
    let federates: Vec<FederateReport> =
        status.federates.iter().map(|one| federate(one, now, name_of)).collect();
    FederationReport {
        name: status.name.clone(),
        time: status.time.name().into(),
        instances: status.instances,
        messages: status.messages,
        synchronization_points: status.synchronization_points.clone(),
        holding_back: holding_back(&federates),
        federates,
    }
}

fn federate(
    status: &FederateStatus,
    now: Instant,
    name_of: impl Fn(hemiola_hla::FederateHandle) -> String,
) -> FederateReport {
    let waiting = status.waiting.map(|waiting| WaitingReport {
        until: waiting.until.map(Number::from),
        since: now - waiting.since,
    });
    FederateReport {
        handle: status.handle.number(),
        name: status.name.clone(),
        federate_type: status.federate_type.clone(),
        session: status.session.0,
        time: status.time.into(),
        lookahead: status.lookahead.map(Number::from),
        constrained: status.constrained,
        waiting,
        galt: status.held_back.map(|held| held.galt.into()),
        held_back_by: status.held_back.map(|held| name_of(held.by)),
        undelivered: status.undelivered,
    }
}

/// Only who waits is held back: for a federate that computes, GALT is just a number.
fn holding_back(federates: &[FederateReport]) -> Vec<HoldingBack> {
    let mut holders: BTreeMap<&str, HoldingBack> = BTreeMap::new();
    for one in federates {
        let (Some(waiting), Some(galt), Some(by)) = (one.waiting, one.galt, &one.held_back_by)
        else {
            continue;
        };
        let holder = holders.entry(by).or_insert_with(|| {
            let itself = federates.iter().find(|federate| federate.name == *by);
            HoldingBack {
                federate: by.clone(),
                galt,
                since: Span::ZERO,
                waiting: vec![],
                asked_for: itself.and_then(|itself| itself.waiting?.until),
            }
        });
        holder.since = holder.since.max(waiting.since);
        holder.waiting.push(one.name.clone());
    }
    let mut holders: Vec<HoldingBack> = holders.into_values().collect();
    holders.sort_by_key(|holder| std::cmp::Reverse(holder.since));
    holders
}

/// A length of time as whole nanoseconds.
mod nanos {
    use hemiola_units::Span;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(span: &Span, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(span.nanos())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        i64::deserialize(from).map(Span::from_nanos)
    }
}

#[cfg(test)]
mod tests;
