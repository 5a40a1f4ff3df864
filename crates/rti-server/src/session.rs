//! A session, with everything the server knows about it besides the protocol.

use std::collections::{BTreeMap, VecDeque};

use hemiola_fedpro::{
    RequestId, Sequence, Server as ServerSide, Session as Protocol, Ticket, message,
};
use hemiola_hla::body::{Body, LONG_LEN};
use hemiola_hla::{Call, Data};
use hemiola_rti::{Milestone, SessionId};
use hemiola_units::{Instant, Span};

use crate::chunk::Message;
use crate::connection::Connection;
use crate::meter::Meter;
use crate::network::{ConnectionId, Peer};
use crate::report::SlowReading;
use crate::shares::Crowd;
use crate::spool::Spool;

/// The longest time for which a call waits for the answer to a callback.
const ANSWER_MAX: Span = Span::from_millis(20);

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) protocol: Protocol<ServerSide>,
    /// The connection that carries it.
    pub(crate) connection: Option<ConnectionId>,
    /// Since when it has none.
    pub(crate) detached_since: Option<Instant>,
    /// How long its federate wants it to be kept without a connection.
    pub(crate) resume_window: Option<Span>,
    /// The present or last peer.
    pub(crate) peer: Peer,
    /// Its place, as far as it is offered to others.
    pub(crate) offer: Option<(Crowd, Place)>,
    /// Whether the peer's process has ended.
    pub(crate) is_orphaned: bool,
    /// The work that was done for it, counted from where the others were when it last began: resting saves up nothing.
    pub(crate) served: u64,
    pub(crate) calls: Calls,
    pub(crate) pressure: Pressure,
    /// Messages that its protocol session takes once it has room.
    pub(crate) spool: Spool,
    /// Its record as a slow reader, once it was one.
    slowness: Option<Box<Slowness>>,
    /// Whether credentials of it were refused.
    pub(crate) is_denied: bool,
    pub(crate) pending: Pending,
    pub(crate) ending: Ending,
    pub(crate) traffic: Traffic,
    /// The part of the memory account that is charged to it, in bytes: for itself, and for modules being parsed.
    pub(crate) charged: (usize, usize),
}

/// The place of a session that can make room for another. The one without a connection for longest is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Since when it has no connection.
    pub(crate) since: Option<Instant>,
    pub(crate) session: SessionId,
}

/// A call that has arrived.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) request: RequestId,
    pub(crate) body: Data,
    /// Whether the federate wants its result.
    pub(crate) wants_result: bool,
}

/// The calls that have arrived and are not carried out.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// The next call. While there is one, nothing is read, unless it waits for an answer.
    pub(crate) next: Option<Arrived>,
    /// The call after it, which is read only while the next one waits for an answer.
    pub(crate) second: Option<Arrived>,
    /// Whether the next call waits for the answer to a callback.
    pub(crate) awaits_answer: bool,
    /// The call that the kernel has not answered.
    pub(crate) answering: Option<Caller>,
    /// Callbacks that the federate has not answered, and the transitions that end with the answers.
    pub(crate) milestones: VecDeque<(Ticket, Milestone)>,
    /// When the newest of these callbacks was sent.
    pub(crate) milestone_at: Instant,
    /// A call whose object model modules are being read, or wait for that.
    pub(crate) preparing: Option<Box<PreparingCall>>,
    /// Whether the turn ended before all received calls were carried out.
    pub(crate) has_more: bool,
    /// Whether it waits with the rest of a large message until there is room.
    pub(crate) awaits_room: bool,
    /// When there was room again.
    pub(crate) read_since: Instant,
}

impl Calls {
    /// Adds a call that has arrived.
    pub(crate) fn push(&mut self, call: Arrived) {
        let place = if self.next.is_none() { &mut self.next } else { &mut self.second };
        *place = Some(call);
    }
}

/// A call that waits for its object model.
#[derive(Debug)]
pub(crate) struct PreparingCall {
    pub(crate) request: RequestId,
    pub(crate) call: Call,
    /// The memory of its modules, in bytes.
    pub(crate) memory: usize,
    /// How often its model has been or is being prepared.
    pub(crate) attempts: u32,
}

/// A call that is being carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) request: RequestId,
    /// The number of the service.
    pub(crate) number: u32,
    /// How urgently the federate waits for the response.
    pub(crate) output: PendingOutput,
    /// Whether it wants the result.
    pub(crate) wants_result: bool,
}

/// The session as a receiver that reads too slowly, and as a sender that is held.
#[derive(Debug, Default)]
pub(crate) struct Pressure {
    pub(crate) congestion: Option<Box<Congestion>>,
    pub(crate) hold: Option<Hold>,
}

impl Pressure {
    /// Whether it holds senders.
    pub(crate) fn has_holds(&self) -> bool {
        self.congestion.as_ref().is_some_and(|congestion| !congestion.holds.is_empty())
    }
}

/// How far a session has read, as far as the server can tell: the bytes that its connections accepted, and the newest
/// message that it acknowledged. The network may accept nothing for a while although the peer reads.
pub(crate) type Progress = (u64, Option<Sequence>);

/// The time during which too much is queued for a session.
#[derive(Debug)]
pub(crate) struct Congestion {
    pub(crate) began: Instant,
    /// When it was last found that the session had read something, and its progress then.
    pub(crate) since: Instant,
    pub(crate) progress: Progress,
    /// Bytes that each sender has added.
    pub(crate) by: BTreeMap<SessionId, usize>,
    /// The senders that are held.
    pub(crate) holds: Vec<SessionId>,
}

/// What a session misses and costs because it reads too slowly. Each kind is logged once per episode.
#[derive(Debug, Default)]
struct Slowness {
    total: SlowReading,
    episode: SlowReading,
    /// When anything was last counted.
    last: Option<Instant>,
}

/// After this time without anything to count, another episode begins.
const EPISODE_GAP: Span = Span::from_millis(10_000);

impl Slowness {
    /// Counts one of a kind. Returns whether it is the first of its kind in this episode.
    fn count(&mut self, now: Instant, kind: impl Fn(&mut SlowReading) -> &mut u64) -> bool {
        if self.last.is_none_or(|last| now - last > EPISODE_GAP) {
            self.episode = SlowReading::default();
        }
        self.last = Some(now);
        *kind(&mut self.total) += 1;
        *kind(&mut self.episode) += 1;
        *kind(&mut self.episode) == 1
    }
}

/// A sender whose next calls wait because a receiver is congested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    /// The congested receiver.
    pub(crate) by: SessionId,
    /// When the sender goes on in any case.
    pub(crate) until: Instant,
}

/// The state of a session's output: how urgent it is, and since when it waits.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) output: PendingOutput,
    /// Whether the client does not wait for the responses to updates and similar calls, so that they may be deferred.
    pub(crate) defers_responses: bool,
    /// Since when some responses wait.
    pub(crate) deferred_since: Option<Instant>,
    /// Bytes received since something was last written.
    pub(crate) received_since: usize,
}

/// The most urgent output of one turn for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PendingOutput {
    /// None.
    None,
    /// Responses that the client does not urgently need.
    Lazy,
    /// Something that the federate may wait for.
    Urgent,
    /// A callback, which is written before all responses.
    Callback,
}

/// The steps by which a session ends.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// It ends once its connection has taken what it takes without waiting.
    pub(crate) is_dismissed: bool,
    /// Why the server evicts it.
    pub(crate) eviction: Option<&'static str>,
    /// The kernel has been informed of its end.
    pub(crate) is_over: bool,
}

/// The traffic of a session.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) opened: Instant,
    /// When something was last received.
    pub(crate) heard: Instant,
    /// Calls, and all bytes.
    pub(crate) received: Meter,
    /// Responses and callbacks, and all bytes.
    pub(crate) sent: Meter,
    /// Bytes given to its connections.
    pub(crate) sent_len: u64,
}

impl Session {
    pub(crate) fn new(
        protocol: Protocol<ServerSide>,
        connection: ConnectionId,
        peer: Peer,
        now: Instant,
    ) -> Self {
        Self {
            protocol,
            connection: Some(connection),
            detached_since: None,
            resume_window: None,
            peer,
            offer: None,
            is_orphaned: false,
            served: 0,
            calls: Calls::default(),
            pressure: Pressure::default(),
            spool: Spool::default(),
            slowness: None,
            is_denied: false,
            pending: Pending {
                output: PendingOutput::None,
                defers_responses: false,
                deferred_since: None,
                received_since: 0,
            },
            ending: Ending::default(),
            traffic: Traffic {
                opened: now,
                heard: now,
                received: Meter::new(now),
                sent: Meter::new(now),
                sent_len: 0,
            },
            charged: (0, 0),
        }
    }

    /// Whether its calls wait: because a receiver or the session itself does not read, or for object models.
    pub(crate) const fn is_paused(&self) -> bool {
        self.pressure.hold.is_some()
            || self.pressure.congestion.is_some()
            || self.calls.preparing.is_some()
    }

    /// Whether it is being ended from this side, so that its calls are no longer carried out.
    pub(crate) const fn is_ending(&self) -> bool {
        self.ending.is_dismissed || self.ending.eviction.is_some()
    }

    /// Whether more may be read for it. A congested session is read until it makes a call, because it may have to send
    /// responses before it can read.
    pub(crate) fn may_receive(&self) -> bool {
        (self.calls.next.is_none() || self.calls.awaits_answer)
            && !self.calls.has_more
            && !self.calls.awaits_room
            && self.protocol.may_receive()
    }

    /// The length of its large message, while that is being received or waits to be carried out, in bytes.
    pub(crate) fn large_len(&self) -> usize {
        let next = self.calls.next.as_ref().map_or(0, |next| next.body.len());
        let preparing = self.calls.preparing.as_ref().map_or(0, |preparing| preparing.memory);
        let lens = [self.protocol.partial_len(), next, preparing];
        lens.into_iter().filter(|len| *len >= LONG_LEN).sum()
    }

    /// The memory that it uses besides its object model modules, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let calls = [&self.calls.next, &self.calls.second].into_iter().flatten();
        let calls: usize = calls.map(|call| call.body.len()).sum();
        let protocol = &self.protocol;
        Self::LEN + calls + protocol.partial_len() + protocol.kept_len() + self.queue_memory()
    }

    /// The memory of the messages queued for it, in bytes.
    pub(crate) fn queue_memory(&self) -> usize {
        self.protocol.waiting_len() + self.spool.memory()
    }

    /// The memory that the messages queued for it would take without a file, in bytes.
    pub(crate) fn queue_len(&self) -> usize {
        self.queue_memory() + self.spool.file_len()
    }

    /// Whether so much is queued for it that its own calls have to wait.
    pub(crate) fn is_congested(&self, congested_len: usize) -> bool {
        self.queue_len() > congested_len
    }

    /// Whether further messages have to wait in the spool.
    pub(crate) fn is_behind(&self, behind_len: usize) -> bool {
        !self.spool.is_empty() || self.protocol.waiting_len() > behind_len
    }

    /// Counts for it as a slow reader. Returns whether it is the first of its kind in this episode.
    pub(crate) fn count_slow(
        &mut self,
        now: Instant,
        kind: fn(&mut SlowReading) -> &mut u64,
    ) -> bool {
        self.slowness.get_or_insert_default().count(now, kind)
    }

    /// Its record as a slow reader.
    pub(crate) fn slow_reading(&self) -> SlowReading {
        self.slowness.as_ref().map_or_else(SlowReading::default, |slowness| slowness.total)
    }

    pub(crate) fn progress(&self) -> Progress {
        (self.traffic.sent_len, self.protocol.acknowledged())
    }

    /// Passes a callback to the protocol session. Its answer ends this transition, if it ends one. Then it is the last
    /// one in its frame: the federate that has it may call before it has taken those behind it.
    pub(crate) fn request(&mut self, now: Instant, body: &Body, milestone: Option<Milestone>) {
        let Some(milestone) = milestone else {
            self.protocol.request_with_next(now, body);
            return;
        };
        self.calls.milestone_at = now;
        let ticket = self.protocol.request(now, body.clone());
        self.calls.milestones.extend(ticket.map(|ticket| (ticket, milestone)));
    }

    /// Until when the next call waits for the answer to a callback that ends a transition, such as a grant. Clients
    /// with threads answer when the federate's method returns; another thread of the federate, which the method has
    /// told, may call before that. Clients that evoke callbacks one by one may call without having seen them.
    pub(crate) fn answer_awaited_until(&self) -> Option<Instant> {
        if self.calls.milestones.is_empty() || self.pending.defers_responses {
            return None;
        }
        let next = self.calls.next.as_ref()?;
        let waits = self.calls.second.is_none() && message::concerns_time(&next.body);
        waits.then(|| self.calls.milestone_at + ANSWER_MAX)
    }

    /// Returns the transition that ends with this answer, if it ends one.
    pub(crate) fn answered(&mut self, answer: Ticket) -> Option<Milestone> {
        let milestones = &mut self.calls.milestones;
        let at = milestones.iter().position(|(ticket, _)| *ticket == answer)?;
        milestones.remove(at).map(|(_, milestone)| milestone)
    }

    /// Passes messages from the spool to the protocol session while less than `len` bytes wait there. Returns how many.
    pub(crate) fn feed(&mut self, now: Instant, len: usize) -> u64 {
        let mut fed = 0;
        while self.protocol.waiting_len() < len
            && let Some(Message { answers, body }) = self.spool.pop()
        {
            match answers {
                Some(request) => self.protocol.respond(now, request, body),
                None => {
                    let milestone =
                        message::callback_number(&body).and_then(Milestone::of_callback);
                    self.request(now, &body, milestone);
                }
            }
            fed += 1;
        }
        fed
    }

    /// Its connection has ended at this time. It may wait for another one for minutes, so it keeps no spare room.
    pub(crate) fn detach(&mut self, now: Instant) {
        self.connection = None;
        self.detached_since = Some(now);
        self.protocol.disconnected(now);
        self.calls.milestones.shrink_to_fit();
    }

    /// The memory of its object model modules while they are being parsed, in bytes.
    pub(crate) fn preparing_memory(&self) -> usize {
        self.calls.preparing.as_ref().map_or(0, |preparing| preparing.memory)
    }

    /// The memory of an idle session with its connection, its names, and its entries in the tables.
    const LEN: usize = size_of::<Self>() + size_of::<Connection>() + 512;
}
