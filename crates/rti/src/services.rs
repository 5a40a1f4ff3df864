//! The services of the standard, in one folder per clause.
//!
//! Each service is a function with the standard's name. It checks the preconditions in the standard's order, changes
//! the tables, and sends callbacks. The consequences for other federates, such as grants and evictions, follow in a
//! separate step: [`follow_up`].
//!
//! The standard lists the exceptions of a service from the specific to the general. If several apply, the service
//! raises the last one in that list, which is the most general.

pub(crate) mod declaration;
pub(crate) mod distribution;
pub(crate) mod federation;
pub(crate) mod object;
pub(crate) mod ownership;
pub(crate) mod support;
pub(crate) mod time;

use std::collections::BTreeMap;

use hemiola_hla::data::Data;
use hemiola_hla::{Call, Exception, FederateHandle, Refusal, Reply};

use crate::federate::Federate;
use crate::federation::Federation;
use crate::input::{Effect, SessionId};
use crate::kernel::SPARE_EFFECTS;
use crate::limits::Limits;
use crate::mom;
use crate::postponed;
use crate::saving;
use crate::session::{self, Session};

/// The result of a service.
pub(crate) type Answer = Result<Reply, Refusal>;

/// Dispatches a call of a joined federate.
pub(crate) fn call(federation: &mut Federation, me: FederateHandle, call: Call) -> Answer {
    federation.saving.admits(&call)?;
    match call {
        Call::Federation(call) => federation::call(federation, me, call),
        Call::Declaration(call) => declaration::call(federation, me, call),
        Call::Object(call) => object::call(federation, me, call),
        Call::Time(call) => time::call(federation, me, call),
        Call::Support(call) => support::call(federation, me, call),
        Call::Ownership(call) => ownership::call(federation, me, call),
        Call::Distribution(call) => distribution::call(federation, me, call),
    }
}

/// Grants what a change has made grantable, evicts federates over their limits, and passes on the federation's effects.
pub(crate) fn follow_up(
    federation: &mut Federation,
    sessions: &mut BTreeMap<SessionId, Session>,
    out: &mut Vec<Effect>,
) {
    loop {
        while federation.time_changed && federation.budget > 0 && !federation.saving.is_frozen() {
            federation.time_changed = false;
            time::grant(federation);
        }
        if !federation.time_changed && !federation.released.is_empty() {
            let released = std::mem::take(&mut federation.released);
            released.into_iter().for_each(|federate| time::release_rest(federation, federate));
        }
        let Some(federate) = federation.overflowed.pop_first() else {
            if federation.mom.is_some() && mom::work(federation) {
                continue;
            }
            if postponed::is_due(federation) && federation.budget > 0 {
                object::reflect_postponed(federation);
                continue;
            }
            // Almost always so, and every call asks.
            if federation.saving.is_idle() || !saving::proceed(federation, sessions) {
                break;
            }
            continue;
        };
        if federation.joined_federate(federate).is_some_and(Federate::is_staying) {
            let reason = "it has too many undelivered messages";
            self::federation::evict(federation, federate, reason, sessions);
        }
    }
    // Most of these lists are empty after most calls, and every call comes here.
    if !federation.departed.is_empty() {
        let states = federation.departed.drain(..);
        states.for_each(|session| {
            sessions.get_mut(&session).into_iter().for_each(|state| state.member = None);
        });
    }
    if !federation.answers.is_empty() {
        let answers = federation.answers.drain(..);
        out.extend(answers.map(|(id, call, answer)| session::reply(sessions, id, call, answer)));
    }
    if !federation.outbox.is_empty() {
        out.append(&mut federation.outbox);
        federation.outbox.shrink_to(SPARE_EFFECTS);
    }
}

/// Checks the length of a tag that has to be stored. Returns a copy, because the original shares the memory of the
/// whole call.
pub(crate) fn kept_tag(limits: Limits, tag: &Data) -> Result<Data, Refusal> {
    let limit = limits.kept_tag_len;
    if tag.len() > limit {
        return Err(beyond(limit, "bytes in this tag"));
    }
    Ok(Data::copy_from_slice(tag))
}

/// Returns the refusal of a call that would exceed one of the [limits](crate::Limits).
pub(crate) fn beyond(limit: usize, what: &str) -> Refusal {
    Exception::RTIinternalError.because(format!("this RTI allows at most {limit} {what}"))
}
