//! The time state of one federate: its logical time, its promises and its queued messages.

use std::cmp::max;
use std::collections::BTreeMap;

use hemiola_hla::{
    FederateHandle, LogicalInterval, LogicalTime, ObjectInstanceHandle, TimeImplementation,
};
use hemiola_units::Instant;

use crate::backlog::Backlog;
use crate::image::{Reader, Stored, Taken, Writer, stored};
use crate::memory::{ALLOCATION, Charge, entry_len};
use crate::notice::Milestone;

/// A lower bound on time stamps, inclusive or exclusive. The more it excludes, the greater it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bound {
    time: LogicalTime,
    /// Whether the time itself is excluded. With zero lookahead, a federate that was granted by a service that ends the
    /// time step sends nothing more with that time stamp.
    exclusive: bool,
}

impl Bound {
    /// This time or later.
    pub(crate) const fn from(time: LogicalTime) -> Self {
        Self { time, exclusive: false }
    }

    /// Later than this time.
    pub(crate) const fn after(time: LogicalTime) -> Self {
        Self { time, exclusive: true }
    }

    pub(crate) const fn time(self) -> LogicalTime {
        self.time
    }

    pub(crate) fn allows(self, time: LogicalTime) -> bool {
        Self::from(time) >= self
    }

    /// Adds a lookahead. Beyond the last representable time, the result excludes everything.
    pub(crate) fn plus(self, lookahead: LogicalInterval) -> Self {
        if lookahead.is_zero() {
            return self;
        }
        let after_all = Self::after(LogicalTime::last(self.time.implementation()));
        self.time.plus(lookahead).map_or(after_all, Self::from)
    }
}

/// The services that request an advance and can wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AdvanceService {
    TimeAdvanceRequest,
    TimeAdvanceRequestAvailable,
    NextMessageRequest,
    NextMessageRequestAvailable,
}

impl AdvanceService {
    /// Returns whether the grant comes at the next message's time, if that is earlier.
    pub(crate) const fn stops_at_messages(self) -> bool {
        matches!(self, Self::NextMessageRequest | Self::NextMessageRequestAvailable)
    }

    /// Returns whether the grant ends the time step: no further message arrives with that time stamp and, with zero
    /// lookahead, none is sent with it.
    pub(crate) const fn ends_the_step(self) -> bool {
        matches!(self, Self::TimeAdvanceRequest | Self::NextMessageRequest)
    }

    /// Returns the bound on later messages after this service granted `time`.
    pub(crate) const fn bound_at(self, time: LogicalTime) -> Bound {
        Bound { time, exclusive: self.ends_the_step() }
    }

    /// Returns the bound on later messages if a message that arrives at `galt` stops this service.
    pub(crate) fn stopped_at(self, galt: Bound) -> Bound {
        max(galt, self.bound_at(galt.time))
    }
}

/// A pending request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advance {
    pub(crate) service: AdvanceService,
    pub(crate) until: LogicalTime,
    pub(crate) since: Instant,
}

/// What a time-regulating federate has promised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Regulation {
    /// The requested lookahead.
    pub(crate) lookahead: LogicalInterval,
    /// The least time stamp of any future message. It never decreases, so a reduced lookahead takes effect only as time
    /// advances.
    promise: Bound,
}

/// A message that can still be retracted.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) time: LogicalTime,
    /// First and last sequence number of its parts.
    pub(crate) sequence: (u64, u64),
    pub(crate) receivers: Vec<FederateHandle>,
    /// The instance it deletes.
    pub(crate) deletes: Option<ObjectInstanceHandle>,
    pub(crate) charge: Charge,
}

impl Sent {
    /// Its estimated memory, in bytes.
    pub(crate) const fn len(receivers: &[FederateHandle]) -> usize {
        let receivers = size_of_val::<[FederateHandle]>(receivers);
        entry_len::<u32, Self>() + ALLOCATION + receivers
    }
}

/// The time state of a federate.
#[derive(Debug)]
pub(crate) struct TimeState {
    now: LogicalTime,
    /// The federate receives no message with an earlier time stamp.
    floor: Bound,
    regulation: Option<Regulation>,
    pub(crate) constrained: bool,
    /// Since when it has been waiting to become time-constrained.
    pub(crate) constrained_pending: Option<Instant>,
    advance: Option<Advance>,
    /// Whether the pending request will be granted at its time, as soon as all messages before are delivered.
    is_decided: bool,
    unanswered: Unanswered,
    pub(crate) asynchronous_delivery: bool,
    pub(crate) backlog: Backlog,
    /// Its retractable messages, by the lower half of their handles.
    pub(crate) sent: BTreeMap<u32, Sent>,
    /// Number of messages with time stamps that it has sent.
    pub(crate) sent_count: u32,
}

/// Transitions that are complete for everyone else, while the federate has not answered the callback that tells it. It
/// is still in the state before, with the logical time of then.
#[derive(Clone, Copy, Debug, Default)]
struct Unanswered {
    /// The time before it began to regulate.
    regulation: Option<LogicalTime>,
    constrained: bool,
    /// The time before the advance.
    grant: Option<LogicalTime>,
}

/// What a waiting federate needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Needed {
    /// Nothing: an unconstrained federate does not wait.
    Nothing,
    /// At least this GALT.
    Galt(Bound),
}

impl TimeState {
    pub(crate) fn new(implementation: TimeImplementation) -> Self {
        let now = LogicalTime::initial(implementation);
        Self {
            now,
            floor: Bound::from(now),
            regulation: None,
            constrained: false,
            constrained_pending: None,
            advance: None,
            is_decided: false,
            unanswered: Unanswered::default(),
            asynchronous_delivery: false,
            backlog: Backlog::default(),
            sent: BTreeMap::new(),
            sent_count: 0,
        }
    }

    pub(crate) const fn now(&self) -> LogicalTime {
        self.now
    }

    /// Returns the logical time that the federate has been told.
    pub(crate) fn told(&self) -> LogicalTime {
        self.unanswered.grant.or(self.unanswered.regulation).unwrap_or(self.now)
    }

    /// Whether the federate is in the time advancing state: it has requested an advance, and has not answered a grant.
    pub(crate) const fn is_advancing(&self) -> bool {
        self.advance.is_some() || self.unanswered.grant.is_some()
    }

    /// Whether the federate has asked to become time-regulating, and has not answered that it is.
    pub(crate) const fn is_regulation_pending(&self) -> bool {
        self.unanswered.regulation.is_some()
    }

    /// Whether the federate has asked to become time-constrained, and has not answered that it is.
    pub(crate) const fn is_constrained_pending(&self) -> bool {
        self.constrained_pending.is_some() || self.unanswered.constrained
    }

    /// Returns what a federate has promised that knows it is time-regulating.
    pub(crate) const fn known_regulation(&self) -> Option<Regulation> {
        if self.is_regulation_pending() { None } else { self.regulation }
    }

    /// Whether the federate knows that it is time-constrained.
    pub(crate) const fn is_known_constrained(&self) -> bool {
        self.constrained && !self.unanswered.constrained
    }

    /// The federate has answered the callback that marks this.
    pub(crate) const fn answered(&mut self, milestone: Milestone) {
        match milestone {
            Milestone::TimeRegulation => self.unanswered.regulation = None,
            Milestone::TimeConstrained => self.unanswered.constrained = false,
            Milestone::Grant => self.unanswered.grant = None,
        }
    }

    pub(crate) const fn floor(&self) -> Bound {
        self.floor
    }

    /// Returns the floor after the grant that has been decided, if there is one.
    pub(crate) fn decided_floor(&self) -> Bound {
        match self.advance {
            Some(Advance { service, until, .. }) if self.is_decided => {
                max(self.floor, service.bound_at(until))
            }
            _ => self.floor,
        }
    }

    pub(crate) const fn regulation(&self) -> Option<Regulation> {
        self.regulation
    }

    pub(crate) const fn advance(&self) -> Option<Advance> {
        self.advance
    }

    /// Returns whether messages in receive order are held until the next advance request.
    pub(crate) const fn holds(&self) -> bool {
        self.constrained && !self.asynchronous_delivery && self.advance.is_none()
    }

    /// Returns the time stamp of the first queued message. The federate will receive that message: others are dropped
    /// before they become first.
    pub(crate) fn head(&self) -> Option<LogicalTime> {
        self.backlog.first().map(|(time, _)| time)
    }

    /// Returns the least time stamp it may send now, if it is regulating (clause 8.1). While it advances, the requested
    /// time counts.
    pub(crate) fn output_bound(&self) -> Option<Bound> {
        let Regulation { lookahead, promise } = self.regulation?;
        let base = match self.advance {
            Some(Advance { service, until, .. }) => service.bound_at(until),
            None => Bound::from(self.now),
        };
        Some(max(base.plus(lookahead), promise))
    }

    /// Returns the least time stamp it can come to send from its current state if no message reaches it before `galt`.
    pub(crate) fn contribution(&self, galt: Option<Bound>) -> Option<Bound> {
        let Regulation { lookahead, promise } = self.regulation?;
        let Some(advance) = self.stopping_advance() else { return self.output_bound() };
        let service = advance.service;
        let mut base = service.bound_at(self.destination(advance));
        if let Some(galt) = galt {
            base = base.min(service.stopped_at(galt));
        }
        Some(max(base.plus(lookahead), promise))
    }

    /// Returns the pending request of a constrained federate, if it stops at messages.
    fn stopping_advance(&self) -> Option<Advance> {
        self.advance.filter(|advance| self.constrained && advance.service.stops_at_messages())
    }

    /// Returns what its contribution depends on besides GALT, if it depends on GALT.
    pub(crate) fn stopping(&self) -> Option<((LogicalInterval, AdvanceService), Bound)> {
        let Regulation { lookahead, promise } = self.regulation?;
        Some(((lookahead, self.stopping_advance()?.service), promise))
    }

    /// Returns where a request leads: to its time, or to an earlier message if it stops at messages.
    pub(crate) fn destination(&self, advance: Advance) -> LogicalTime {
        match self.head() {
            Some(head) if advance.service.stops_at_messages() => head.min(advance.until),
            _ => advance.until,
        }
    }

    /// Returns what it needs for its wait to end, if it is waiting.
    pub(crate) fn needed(&self) -> Option<Needed> {
        match self.advance {
            Some(_) if !self.constrained => Some(Needed::Nothing),
            Some(advance) => {
                Some(Needed::Galt(advance.service.bound_at(self.destination(advance))))
            }
            None => self.constrained_pending.map(|_| Needed::Galt(Bound::from(self.now))),
        }
    }

    /// Becomes time-regulating at `now`. Nothing it sends is before `least`.
    pub(crate) fn regulate(&mut self, now: LogicalTime, lookahead: LogicalInterval, least: Bound) {
        assert!(now >= self.now, "logical time does not go back");
        self.unanswered.regulation = Some(self.now);
        self.now = now;
        self.floor = max(self.floor, Bound::from(now));
        // Other federates could still respond to what it sent at a time that is over for it.
        let base = if self.constrained { self.floor } else { Bound::from(now) };
        let promise = max(least, base.plus(lookahead));
        self.regulation = Some(Regulation { lookahead, promise });
    }

    /// Becomes time-constrained at its current time.
    pub(crate) const fn constrain(&mut self) {
        self.constrained = true;
        self.unanswered.constrained = true;
        self.constrained_pending = None;
        self.floor = Bound::from(self.now);
    }

    pub(crate) const fn stop_regulating(&mut self) {
        self.regulation = None;
    }

    /// Changes the lookahead. Earlier promises remain valid.
    pub(crate) fn set_lookahead(&mut self, lookahead: LogicalInterval) {
        let promise = self.output_bound();
        if let (Some(regulation), Some(promise)) = (&mut self.regulation, promise) {
            *regulation = Regulation { lookahead, promise };
        }
        self.keep_promise();
    }

    /// Begins to wait for an advance.
    pub(crate) fn request(&mut self, advance: Advance) {
        assert!(advance.until >= self.now && self.advance.is_none());
        self.keep_promise();
        self.advance = Some(advance);
        // A request that stops at messages may be granted earlier than requested.
        if !advance.service.stops_at_messages() {
            self.keep_promise();
        }
    }

    /// Decides that the pending request will be granted at this time. From now on the federate is like one that has
    /// requested exactly this time.
    pub(crate) fn decide(&mut self, time: LogicalTime) {
        let advance = self.advance.as_mut().expect("a decision is about a request");
        advance.until = time;
        advance.service = match advance.service.ends_the_step() {
            true => AdvanceService::TimeAdvanceRequest,
            false => AdvanceService::TimeAdvanceRequestAvailable,
        };
        self.is_decided = true;
    }

    /// Takes the granted time. No message arrives before `floor` from now on.
    pub(crate) fn arrive(&mut self, time: LogicalTime, floor: Bound) {
        assert!(time >= self.now, "logical time does not go back");
        self.advance = None;
        self.is_decided = false;
        self.unanswered.grant = Some(self.now);
        self.now = time;
        self.floor = max(self.floor, floor);
        if let Some(regulation) = &mut self.regulation {
            // With zero lookahead, what no longer arrives is no longer sent either.
            let Regulation { lookahead, promise } = regulation;
            *promise = max(*promise, floor.plus(*lookahead));
        }
    }

    fn keep_promise(&mut self) {
        let bound = self.output_bound();
        if let (Some(regulation), Some(bound)) = (&mut self.regulation, bound) {
            regulation.promise = bound;
        }
    }
}

stored!(Bound { time, exclusive });
stored!(Regulation { lookahead, promise });
stored!(Advance { service, until, since });
stored!(enum AdvanceService {
    0 TimeAdvanceRequest,
    1 TimeAdvanceRequestAvailable,
    2 NextMessageRequest,
    3 NextMessageRequestAvailable,
});

/// Without the queued messages, which an image keeps one by one. By the time an image is made, the federate has
/// answered every callback before the one that asks it to save.
impl Stored for TimeState {
    fn put(&self, to: &mut Writer) {
        self.now.put(to);
        self.floor.put(to);
        self.regulation.put(to);
        self.constrained.put(to);
        self.constrained_pending.put(to);
        self.advance.put(to);
        self.asynchronous_delivery.put(to);
        self.sent_count.put(to);
    }

    fn take(from: &mut Reader) -> Taken<Self> {
        let state = Self {
            now: Stored::take(from)?,
            floor: Stored::take(from)?,
            regulation: Stored::take(from)?,
            constrained: Stored::take(from)?,
            constrained_pending: Stored::take(from)?,
            advance: Stored::take(from)?,
            is_decided: false,
            unanswered: Unanswered::default(),
            asynchronous_delivery: Stored::take(from)?,
            backlog: Backlog::default(),
            sent: BTreeMap::new(),
            sent_count: Stored::take(from)?,
        };
        let is_backward = state.advance.is_some_and(|advance| advance.until < state.now);
        if is_backward || state.constrained && state.constrained_pending.is_some() {
            return Err("the time state of a federate contradicts itself");
        }
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(value: i64) -> LogicalTime {
        LogicalTime::integer(value).unwrap()
    }

    fn interval(value: i64) -> LogicalInterval {
        LogicalInterval::integer(value).unwrap()
    }

    #[test]
    fn an_exclusive_bound_lies_between_two_times() {
        assert!(Bound::from(time(5)) < Bound::after(time(5)));
        assert!(Bound::after(time(5)) < Bound::from(time(6)));
        assert!(Bound::from(time(5)).allows(time(5)) && !Bound::after(time(5)).allows(time(5)));
    }

    #[test]
    fn a_positive_lookahead_makes_the_bound_inclusive() {
        assert_eq!(Bound::after(time(5)).plus(interval(2)), Bound::from(time(7)));
        assert_eq!(Bound::after(time(5)).plus(interval(0)), Bound::after(time(5)));
        assert!(!Bound::from(time(i64::MAX)).plus(interval(1)).allows(time(i64::MAX)));
    }

    #[test]
    fn a_reduced_lookahead_takes_effect_as_time_advances() {
        let mut state = TimeState::new(TimeImplementation::Integer64);
        state.regulate(time(0), interval(10), Bound::from(time(0)));
        state.set_lookahead(interval(3));
        assert_eq!(state.output_bound(), Some(Bound::from(time(10))));
        state.arrive(time(4), Bound::after(time(4)));
        assert_eq!(state.output_bound(), Some(Bound::from(time(10))));
        state.arrive(time(8), Bound::after(time(8)));
        assert_eq!(state.output_bound(), Some(Bound::from(time(11))));
    }
}
