//! The state of an RTI as data, for tables, programs and Prometheus.
//!
//! The shell fills in sessions and counters; [`federations`] derives the rest from the kernel's status. In JSON,
//! durations are whole nanoseconds and their names end in `_ns`. Logical times are numbers, whole in a federation with
//! `HLAinteger64Time`.

mod number;
mod prometheus;

use std::collections::BTreeMap;

use hemiola_rti::{FederateStatus, FederationStatus, Status};
use hemiola_units::{Instant, Span};
use serde::{Deserialize, Serialize};

pub use number::Number;
pub use prometheus::prometheus;

/// The layout of the JSON document. Every change that can break a reader increments it.
pub const LAYOUT: u32 = 1;

/// The state of an RTI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The layout of this document, [`LAYOUT`].
    pub layout: u32,
    /// The version of the program.
    pub version: String,
    /// The process id.
    pub pid: u32,
    /// The time since it started.
    #[serde(rename = "uptime_ns", with = "nanos")]
    pub uptime: Span,
    /// The addresses on which it listens, such as `tcp:127.0.0.1:15164`.
    pub addresses: Vec<String>,
    /// The work of its thread.
    pub work: Work,
    /// The memory account.
    #[serde(default)]
    pub memory: MemoryReport,
    /// Messages received from all sessions since the start.
    pub received: Flow,
    /// Messages sent to all sessions since the start.
    pub sent: Flow,
    /// Connections that have not stated their purpose yet.
    pub arrivals: usize,
    /// Sessions opened since the start.
    pub sessions_opened: u64,
    /// Ended sessions, counted by a short reason.
    pub sessions_ended: BTreeMap<String, u64>,
    /// What slow readers have missed and cost since the start.
    #[serde(default)]
    pub slow_reading: SlowReading,
    /// The open sessions.
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

/// The work that the RTI's thread has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Turns of its loop that found work.
    pub turns: u64,
    /// The total duration of these turns.
    #[serde(rename = "busy_ns", with = "nanos")]
    pub busy: Span,
    /// The duration of the longest of them: nobody is served meanwhile. Zero in reports of RTIs that do not measure it.
    #[serde(rename = "longest_turn_ns", with = "nanos", default)]
    pub longest_turn: Span,
    /// Calls executed.
    pub calls: u64,
    /// Callbacks that these calls caused, counted once for each receiver.
    pub callbacks: u64,
}

/// The memory that peers make the RTI use, in bytes. These are estimates, a little above what is allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// The limit of everything together.
    pub limit: usize,
    /// The limit of the system to which it was lowered.
    pub limited_by: Option<String>,
    /// The limit of what one session makes federations hold.
    pub session_limit: usize,
    /// The limit of one federation.
    pub federation_limit: usize,
    /// The sum of the three values below.
    pub used: usize,
    /// Of sessions: messages that wait or are not acknowledged, and calls.
    pub sessions: usize,
    /// Of federations: object models, instances, names, and kept messages.
    pub federations: usize,
    /// Of object model modules that wait to be parsed, and what reading and merging the present ones may take.
    pub preparations: usize,
    /// Calls that were refused because of one of the limits.
    pub refused: RefusalReport,
}

/// Calls that were refused for lack of memory, by limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalReport {
    /// The limit of a session.
    pub session: u64,
    /// The limit of a federation.
    pub federation: u64,
    /// The limit of everything together.
    pub process: u64,
}

/// Messages and bytes in one direction. The rates are taken over a second that began at most two seconds ago.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Messages so far.
    pub messages: u64,
    /// Bytes so far.
    pub bytes: u64,
    /// Messages per second.
    pub messages_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

/// What a session, or all together, missed and cost by reading too slowly. A session that ends for it is counted in
/// [`Report::sessions_ended`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowReading {
    /// Messages that waited in the spool.
    pub spooled: u64,
    /// Parts of the spool that were written to its file.
    pub stored: u64,
    /// Best-effort updates that a newer one replaced in the spool.
    pub conflated: u64,
    /// Best-effort interactions that were not sent.
    pub dropped: u64,
    /// Times at which so much was queued that the session's own calls had to wait.
    pub congested: u64,
    /// Times at which a sender was held.
    pub held: u64,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    /// It has a connection that accepts what is sent.
    Running,
    /// It reads too slowly: messages wait in its spool, or its backlog is so long that its own calls wait.
    Congested,
    /// Its connection is broken; it can be resumed.
    Apart,
}

/// The report on a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionReport {
    /// Its number in the order of opening. This is not its identity on the wire, which is secret.
    pub number: u64,
    /// The address of the peer: `tcp:127.0.0.1:40112`, `shm:15164 (pid 4711)`, `in this process`.
    pub peer: String,
    /// Its state.
    pub state: SessionState,
    /// The time since it was opened.
    #[serde(rename = "age_ns", with = "nanos")]
    pub age: Span,
    /// The time since something was received from it.
    #[serde(rename = "silence_ns", with = "nanos")]
    pub silence: Span,
    /// The time since its connection broke; zero while it has one.
    #[serde(rename = "apart_ns", with = "nanos", default)]
    pub apart: Span,
    /// Messages received from it.
    pub received: Flow,
    /// Messages sent to it.
    pub sent: Flow,
    /// Messages queued for it.
    pub backlog: usize,
    /// Memory of the queued messages, in bytes.
    pub backlog_bytes: usize,
    /// The part of its backlog that is in a file, in bytes of memory that it would take.
    #[serde(default)]
    pub file_bytes: usize,
    /// Messages that it missed, and delays that it caused, by reading too slowly.
    #[serde(default)]
    pub slow_reading: SlowReading,
    /// Memory of sent messages that the peer has not acknowledged yet, in bytes.
    pub kept_bytes: usize,
    /// Callbacks that it has not answered; those that share a frame count as one. Some clients never answer some of
    /// them.
    pub unanswered: usize,
    /// The memory that it uses itself, in bytes.
    #[serde(default)]
    pub memory: usize,
    /// The memory that its calls make federations hold, in bytes.
    #[serde(default)]
    pub federation_memory: usize,
}

/// The report on a federation execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FederationReport {
    /// Its name.
    pub name: String,
    /// The name of its logical time, such as `HLAfloat64Time`.
    pub time: String,
    /// The number of object instances.
    pub instances: usize,
    /// The number of messages sent since it was created.
    pub messages: u64,
    /// The memory that it holds, in bytes.
    #[serde(default)]
    pub memory: usize,
    /// The part of it that is the object model.
    #[serde(default)]
    pub model_memory: usize,
    /// Labels of the synchronization points that some federate has not reached.
    pub synchronization_points: Vec<String>,
    /// Its federates, by handle.
    pub federates: Vec<FederateReport>,
    /// Federates that keep others from the time they requested, longest wait first.
    pub holding_back: Vec<HoldingBack>,
}

/// The report on a joined federate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FederateReport {
    /// The number of its handle.
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
    /// Whether it is time-constrained.
    pub constrained: bool,
    /// Its wait, if it waits.
    pub waiting: Option<WaitingReport>,
    /// The greatest time it can be granted now; `None` if no other federate regulates.
    pub galt: Option<Number>,
    /// The name of the federate that bounds its GALT.
    pub held_back_by: Option<String>,
    /// Messages kept until it advances to their time.
    pub undelivered: usize,
}

/// A wait of a federate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingReport {
    /// The time it requested; `None` if it waits to become time-constrained.
    pub until: Option<Number>,
    /// How long it has waited.
    #[serde(rename = "for_ns", with = "nanos")]
    pub since: Span,
}

/// A federate that keeps others from the time they requested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HoldingBack {
    /// Its name.
    pub federate: String,
    /// The greatest time that it lets others be granted.
    pub galt: Number,
    /// The longest of the waits. Part of it may have been for another federate.
    #[serde(rename = "for_ns", with = "nanos")]
    pub since: Span,
    /// The federates that wait for it.
    pub waiting: Vec<String>,
    /// The time it requested itself; `None` if it requested none, so that the others wait for its computation.
    pub asked_for: Option<Number>,
}

/// Returns the report on the federations of a kernel at the time `now`.
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
        memory: status.memory,
        model_memory: status.model_memory,
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

/// Counts waiting federates only: while a federate computes, its GALT does not delay it.
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

/// A span as whole nanoseconds.
mod nanos {
    use hemiola_units::Span;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
    pub(super) fn serialize<S: Serializer>(span: &Span, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(span.nanos())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        i64::deserialize(from).map(Span::from_nanos)
    }
}

#[cfg(test)]
mod tests;
