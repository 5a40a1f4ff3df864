//! Enabling and disabling the time-constrained state (clauses 8.5 to 8.7).

use hemiola_hla::{Callback, Exception, FederateHandle, Reply};

use super::Answer;
use crate::federation::Federation;
use crate::job::{DONE, Step, Task};
use crate::message::{deliver, deliver_unordered};

/// Clause 8.5. It takes effect when no message can arrive in the federate's past; [`grant`](super::grant) decides that.
pub(super) fn enable_time_constrained(federation: &mut Federation, me: FederateHandle) -> Answer {
    let now = federation.now;
    let state = federation.time_mut(me);
    if state.is_known_constrained() {
        return Err(Exception::TimeConstrainedAlreadyEnabled.into());
    }
    if state.is_constrained_pending() {
        return Err(Exception::RequestForTimeConstrainedPending.into());
    }
    if state.is_advancing() {
        return Err(Exception::InTimeAdvancingState.into());
    }
    state.constrained_pending = Some(now);
    federation.time_changed = true;
    Ok(Reply::Done)
}

/// Clause 8.6.
pub(super) fn time_constrained_enabled(federation: &mut Federation, me: FederateHandle) {
    let state = federation.time_mut(me);
    state.constrain();
    let time = state.now().into();
    federation.send_callback(me, Callback::TimeConstrainedEnabled { time });
}

/// Clause 8.7. Queued messages are delivered at once, still in time stamp order, but as receive-order messages.
pub(super) fn disable_time_constrained(federation: &mut Federation, me: FederateHandle) -> Answer {
    let state = federation.time_mut(me);
    if !state.is_known_constrained() {
        return Err(Exception::TimeConstrainedIsNotEnabled.into());
    }
    state.constrained = false;
    federation.time_changed = true;
    let newest = federation.sequence;
    federation.start(me, Task::Unconstrain { newest });
    Ok(Reply::Done)
}

/// Delivers the next queued message.
pub(crate) fn unconstrain_step(
    federation: &mut Federation,
    me: FederateHandle,
    newest: u64,
) -> Step {
    let backlog = &mut federation.time_mut(me).backlog;
    if let Some(held) = backlog.pop_held_until(newest) {
        deliver(federation, me, &held);
    } else if let Some(waiting) = backlog.pop_if(|_| true) {
        deliver_unordered(federation, me, &waiting);
    } else {
        return DONE;
    }
    Step::Continue(())
}
