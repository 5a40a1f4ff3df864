//! The services of the standard, a folder for each clause.
//!
//! A service is a function of its name: it checks its preconditions in the standard's order, changes the
//! tables, and says what is to be told. What follows from the changes for others (who can now be granted its time, who
//! has to go) is one step after it: [`follow_up`].
//!
//! The standard lists the exceptions of a service from the particular to the general. Where several apply, the
//! last in that list is raised: the more general one.

pub(crate) mod declaration;
pub(crate) mod federation;
pub(crate) mod object;
pub(crate) mod ownership;
pub(crate) mod support;
pub(crate) mod time;

use std::collections::BTreeMap;

use hemiola_hla::data::Data;
use hemiola_hla::{Call, Exception, FederateHandle, Refusal, Reply};

use crate::federation::Federation;
use crate::input::{Effect, SessionId};
use crate::limits::Limits;
use crate::session::Session;

/// What a service answers.
pub(crate) type Answer = Result<Reply, Refusal>;

/// A call of a federate that has joined.
pub(crate) fn call(federation: &mut Federation, me: FederateHandle, call: Call) -> Answer {
    let name = call.name();
    match call {
        Call::Federation(call) => federation::call(federation, me, call),
        Call::Declaration(call) => declaration::call(federation, me, call),
        Call::Object(call) => object::call(federation, me, call),
        Call::Time(call) => time::call(federation, me, call),
        Call::Support(call) => support::call(federation, me, call),
        Call::Ownership(call) => ownership::call(federation, me, call),
        Call::Distribution(_) => Err(not_offered(name)),
    }
}

/// What follows from a change for others.
pub(crate) fn follow_up(
    federation: &mut Federation,
    sessions: &mut BTreeMap<SessionId, Session>,
    out: &mut Vec<Effect>,
) {
    loop {
        while std::mem::take(&mut federation.time_changed) {
            time::grant(federation);
        }
        let Some(federate) = federation.overflowed.pop_first() else { break };
        if federation.joined_federate(federate).is_some() {
            let reason = "too many messages wait for it";
            self::federation::evict(federation, federate, reason, sessions);
        }
    }
    out.append(&mut federation.outbox);
}

/// The refusal of a service that this RTI does not have.
pub(crate) fn not_offered(name: &str) -> Refusal {
    Exception::RTIinternalError.because(format!("this RTI does not offer {name}"))
}

/// Is a tag short enough to be kept?
pub(crate) fn kept_tag(limits: Limits, tag: &Data) -> Result<(), Refusal> {
    let limit = limits.kept_tag_len;
    if tag.len() > limit { Err(beyond(limit, "bytes of such a tag")) } else { Ok(()) }
}

/// The refusal of a call that would exceed one of the [limits](crate::Limits).
pub(crate) fn beyond(limit: usize, what: &str) -> Refusal {
    Exception::RTIinternalError.because(format!("this RTI keeps at most {limit} {what}"))
}
