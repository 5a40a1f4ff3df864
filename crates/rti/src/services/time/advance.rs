//! Advance requests and their grants (clauses 8.8 to 8.14).

use std::sync::Arc;

use hemiola_hla::{Callback, EncodedTime, Exception, FederateHandle, LogicalTime, Refusal, Reply};

use super::galt::Galts;
use super::{Answer, constrained, delivery, retraction};
use crate::federation::Federation;
use crate::job::{DONE, LOOK, Step, Task};
use crate::message::{deliver, drop_stale, drop_step, drop_unwanted};
use crate::notice::Notice;
use crate::time::{Advance, AdvanceService, Bound, Needed};

/// Checks the preconditions of every request and decodes the requested time.
fn requested(
    federation: &Federation,
    me: FederateHandle,
    time: EncodedTime,
) -> Result<LogicalTime, Refusal> {
    let state = &federation.federate(me).time;
    if state.is_regulation_pending() {
        return Err(Exception::RequestForTimeRegulationPending.into());
    }
    if state.is_constrained_pending() {
        return Err(Exception::RequestForTimeConstrainedPending.into());
    }
    if state.is_advancing() {
        return Err(Exception::InTimeAdvancingState.into());
    }
    let time = time
        .decode(federation.implementation)
        .map_err(|error| Exception::InvalidLogicalTime.because(error.to_string()))?;
    if time < state.now() {
        let details = format!("{time} is before {}", state.now());
        return Err(Exception::LogicalTimeAlreadyPassed.because(details));
    }
    Ok(time)
}

/// Clauses 8.8 to 8.11. [`grant`] grants the request, possibly at once.
pub(super) fn request(
    federation: &mut Federation,
    me: FederateHandle,
    service: AdvanceService,
    time: EncodedTime,
) -> Answer {
    let until = requested(federation, me, time)?;
    let since = federation.now;
    federation.time_mut(me).request(Advance { service, until, since });
    federation.time_changed = true;
    delivery::release(federation, me);
    Ok(Reply::Done)
}

/// Clause 8.12. Delivers every queued message whatever its time stamp, and grants at once: the least of GALT, the first
/// message's time and the requested time. The optimistic time leaves GALT out.
pub(super) fn flush_queue_request(
    federation: &mut Federation,
    me: FederateHandle,
    time: EncodedTime,
) -> Answer {
    let until = requested(federation, me, time)?;
    let flush = Flush { until, phase: Phase::DropUnwanted };
    federation.start(me, Task::Flush(flush));
    Ok(Reply::Done)
}

/// A flush of a federate's queue.
#[derive(Debug)]
pub(crate) struct Flush {
    until: LogicalTime,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Messages that the federate does not want must not limit the granted time.
    DropUnwanted,
    /// Messages up to the number `newest` are delivered: those in receive order, then the others.
    Deliver { newest: u64, after: Option<LogicalTime>, optimistic: LogicalTime },
}

impl Flush {
    pub(crate) fn step(&mut self, federation: &mut Federation, me: FederateHandle) -> Step {
        match &mut self.phase {
            Phase::DropUnwanted => {
                let last = LogicalTime::last(federation.implementation);
                if drop_step(federation, me, Some(last)).is_break() {
                    self.phase = decide_flush(federation, me, self.until);
                }
                Step::Continue(())
            }
            Phase::Deliver { newest, after, optimistic } => {
                let backlog = &mut federation.time_mut(me).backlog;
                let next = match backlog.pop_held_until(*newest) {
                    Some(held) => Some(Some(held)),
                    None => backlog.pop_after(after, *newest),
                };
                let Some(next) = next else { return conclude_flush(federation, me, *optimistic) };
                if let Some(waiting) = next {
                    deliver(federation, me, &waiting);
                }
                Step::Continue(())
            }
        }
    }
}

/// Decides the time to grant. The federate advances to it, and so receives held messages too.
fn decide_flush(federation: &mut Federation, me: FederateHandle, until: LogicalTime) -> Phase {
    let galts = federation.galts();
    let state = &federation.federate(me).time;
    let optimistic = state.head().map_or(until, |head| head.min(until));
    let galt = if state.constrained { galts.galt(me) } else { None };
    let granted = galt.map_or(optimistic, |galt| galt.time().min(optimistic)).max(state.now());
    let (since, newest) = (federation.now, federation.sequence);
    let service = AdvanceService::TimeAdvanceRequestAvailable;
    let state = federation.time_mut(me);
    state.request(Advance { service, until: granted, since });
    state.decide(granted);
    // Others may advance further now that this federate has.
    federation.time_changed = true;
    Phase::Deliver { newest, after: None, optimistic }
}

fn conclude_flush(
    federation: &mut Federation,
    me: FederateHandle,
    optimistic: LogicalTime,
) -> Step {
    let advance = federation.federate(me).time.advance().expect("it was decided");
    let granted = advance.until;
    drop_stale(federation, me);
    federation.time_mut(me).arrive(granted, Bound::from(granted));
    federation.time_changed = true;
    retraction::prune(federation, me);
    let callback =
        Callback::FlushQueueGrant { time: granted.into(), optimistic_time: optimistic.into() };
    federation.send_notice(me, Arc::new(Notice::new(callback)));
    DONE
}

/// Ends every wait that can end: grants advances (clause 8.14) and makes federates time-constrained (clause 8.6). This
/// does not change the GALT of other federates, so one pass is enough. A federate that does not want the message it
/// would stop at is handled in the next pass, and so are all that are left when the budget is used up.
pub(crate) fn grant(federation: &mut Federation) {
    let galts = federation.galts();
    for federate in federation.schedule.due(galts) {
        if federation.budget == 0 {
            federation.time_changed = true;
            break;
        }
        if federation.is_busy(federate)
            || !is_due(federation, federate, galts)
            || federation.saving.holds(&federation.federate(federate).time)
            || skips_unwanted(federation, federate)
        {
            continue;
        }
        federation.spend(1);
        match federation.federate(federate).time.advance() {
            Some(advance) => grant_advance(federation, federate, advance),
            None => constrained::time_constrained_enabled(federation, federate),
        }
    }
}

/// Returns whether a federate's wait can end.
pub(super) fn is_due(federation: &Federation, federate: FederateHandle, galts: Galts) -> bool {
    let state = &federation.federate(federate).time;
    match (state.needed(), galts.galt(federate)) {
        (None, _) => false,
        (Some(Needed::Nothing), _) => true,
        (Some(Needed::Galt(needed)), Some(galt)) => galt >= needed,
        (Some(Needed::Galt(_)), None) => {
            let is_regulated = galts.first.is_some();
            state.advance().is_none() || is_regulated || !federation.waits_for_regulation
        }
    }
}

/// Drops messages that the federate would stop at but does not subscribe to. Returns whether its request now leads
/// further.
fn skips_unwanted(federation: &mut Federation, federate: FederateHandle) -> bool {
    let Some(advance) = federation.federate(federate).time.advance() else { return false };
    if !federation.delays_evaluation || !advance.service.stops_at_messages() {
        return false;
    }
    let time = federation.federate(federate).time.destination(advance);
    drop_unwanted(federation, federate, Some(time));
    federation.is_busy(federate) || federation.federate(federate).time.destination(advance) != time
}

/// Clause 8.14. Delivers the messages that are due, in time stamp order, and then grants the time. Until then the
/// federate keeps waiting, for exactly this time.
fn grant_advance(federation: &mut Federation, me: FederateHandle, advance: Advance) {
    let time = federation.federate(me).time.destination(advance);
    federation.time_mut(me).decide(time);
    let newest = federation.sequence;
    if federation.start(me, Task::Grant(Grant { time, newest })).is_none() {
        // No further message can stop this federate, so others may advance further.
        federation.time_changed = true;
    }
}

/// A grant that has been decided.
#[derive(Debug)]
pub(crate) struct Grant {
    time: LogicalTime,
    /// Messages sent later are not delivered before the grant.
    newest: u64,
}

impl Grant {
    pub(crate) fn step(&mut self, federation: &mut Federation, me: FederateHandle) -> Step {
        let Self { time, newest } = *self;
        // The federate waits for exactly this time, so its place in the schedule does not depend on its messages.
        while let Some(waiting) = federation.federate_mut(me).time.backlog.pop_due(time, newest) {
            deliver(federation, me, &waiting);
            if federation.budget == 0 {
                return Step::Continue(());
            }
            // The next message, as in a step of its own.
            federation.spend(LOOK);
        }
        let advance = federation.federate(me).time.advance().expect("it was decided");
        drop_stale(federation, me);
        federation.time_mut(me).arrive(time, advance.service.bound_at(time));
        retraction::prune(federation, me);
        federation.send_callback(me, Callback::TimeAdvanceGrant { time: time.into() });
        DONE
    }
}
