//! Clause 8, time management.

mod advance;
mod constrained;
mod delivery;
mod galt;
mod lookahead;
mod order;
mod regulation;
mod retraction;
mod schedule;

use hemiola_hla::call::TimeCall;
use hemiola_hla::{EncodedInterval, Exception, FederateHandle, LogicalInterval, Refusal, Reply};

use super::Answer;
use crate::federation::Federation;
use crate::time::AdvanceService;

pub(crate) use advance::grant;
pub(crate) use galt::{Galts, check_invariants};
pub(crate) use schedule::Schedule;

/// Dispatches a call of this clause.
pub(crate) fn call(federation: &mut Federation, me: FederateHandle, call: TimeCall) -> Answer {
    use TimeCall as C;
    match call {
        C::EnableTimeRegulation { lookahead } => {
            regulation::enable_time_regulation(federation, me, lookahead)
        }
        C::DisableTimeRegulation => regulation::disable_time_regulation(federation, me),
        C::EnableTimeConstrained => constrained::enable_time_constrained(federation, me),
        C::DisableTimeConstrained => constrained::disable_time_constrained(federation, me),
        C::TimeAdvanceRequest { time } => {
            advance::request(federation, me, AdvanceService::TimeAdvanceRequest, time)
        }
        C::TimeAdvanceRequestAvailable { time } => {
            advance::request(federation, me, AdvanceService::TimeAdvanceRequestAvailable, time)
        }
        C::NextMessageRequest { time } => {
            advance::request(federation, me, AdvanceService::NextMessageRequest, time)
        }
        C::NextMessageRequestAvailable { time } => {
            advance::request(federation, me, AdvanceService::NextMessageRequestAvailable, time)
        }
        C::FlushQueueRequest { time } => advance::flush_queue_request(federation, me, time),
        C::EnableAsynchronousDelivery => delivery::enable_asynchronous_delivery(federation, me),
        C::DisableAsynchronousDelivery => delivery::disable_asynchronous_delivery(federation, me),
        C::QueryGALT => {
            let galt = federation.galts().galt(me);
            Ok(Reply::OptionalTime(galt.map(|bound| bound.time().into())))
        }
        C::QueryLogicalTime => Ok(Reply::Time(federation.federate(me).time.now().into())),
        C::QueryLITS => {
            let galt = federation.galts().galt(me).map(crate::time::Bound::time);
            let head = federation.federate(me).time.head();
            let lits = galt.into_iter().chain(head).min();
            Ok(Reply::OptionalTime(lits.map(Into::into)))
        }
        C::ModifyLookahead { lookahead } => lookahead::modify_lookahead(federation, me, lookahead),
        C::QueryLookahead => lookahead::query_lookahead(federation, me),
        C::Retract { retraction } => retraction::retract(federation, me, retraction),
        C::ChangeAttributeOrderType { object_instance, attributes, order_type } => {
            order::change_attribute_order_type(
                federation,
                me,
                object_instance,
                &attributes,
                order_type,
            )
        }
        C::ChangeDefaultAttributeOrderType { object_class, attributes, order_type } => {
            order::change_default_attribute_order_type(
                federation,
                me,
                object_class,
                &attributes,
                order_type,
            )
        }
        C::ChangeInteractionOrderType { interaction_class, order_type } => {
            order::change_interaction_order_type(federation, me, interaction_class, order_type)
        }
    }
}

/// Decodes a lookahead.
fn decoded(
    federation: &Federation,
    lookahead: EncodedInterval,
) -> Result<LogicalInterval, Refusal> {
    lookahead
        .decode(federation.implementation)
        .map_err(|error| Exception::InvalidLookahead.because(error.to_string()))
}
