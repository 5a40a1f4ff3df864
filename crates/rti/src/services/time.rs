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
use advance::flush_queue_request;
use constrained::{disable_time_constrained, enable_time_constrained};
use delivery::{disable_asynchronous_delivery, enable_asynchronous_delivery};
use lookahead::{modify_lookahead, query_lookahead};
use order::{
    change_attribute_order_type, change_default_attribute_order_type, change_interaction_order_type,
};
use regulation::{disable_time_regulation, enable_time_regulation};

pub(crate) use advance::{Flush, Grant, grant};
pub(crate) use constrained::unconstrain_step;
pub(crate) use delivery::{release_rest, release_step};
pub(crate) use galt::{Galts, check_invariants};
pub(crate) use regulation::Regulate;
pub(crate) use retraction::prune_step;
pub(crate) use schedule::Schedule;

/// Dispatches a call of this clause.
pub(crate) fn call(federation: &mut Federation, me: FederateHandle, call: TimeCall) -> Answer {
    use TimeCall as C;
    match call {
        C::EnableTimeRegulation { lookahead } => enable_time_regulation(federation, me, lookahead),
        C::DisableTimeRegulation => disable_time_regulation(federation, me),
        C::EnableTimeConstrained => enable_time_constrained(federation, me),
        C::DisableTimeConstrained => disable_time_constrained(federation, me),
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
        C::FlushQueueRequest { time } => flush_queue_request(federation, me, time),
        C::EnableAsynchronousDelivery => enable_asynchronous_delivery(federation, me),
        C::DisableAsynchronousDelivery => disable_asynchronous_delivery(federation, me),
        C::QueryGALT => {
            let galt = federation.galts().galt(me);
            Ok(Reply::OptionalTime(galt.map(|bound| bound.time().into())))
        }
        C::QueryLogicalTime => Ok(Reply::Time(federation.federate(me).time.told().into())),
        C::QueryLITS => {
            let galt = federation.galts().galt(me).map(crate::time::Bound::time);
            let head = federation.federate(me).time.head();
            let lits = galt.into_iter().chain(head).min();
            Ok(Reply::OptionalTime(lits.map(Into::into)))
        }
        C::ModifyLookahead { lookahead } => modify_lookahead(federation, me, lookahead),
        C::QueryLookahead => query_lookahead(federation, me),
        C::Retract { retraction } => retraction::retract(federation, me, retraction),
        C::ChangeAttributeOrderType { object_instance, attributes, order_type } => {
            change_attribute_order_type(federation, me, object_instance, &attributes, order_type)
        }
        C::ChangeDefaultAttributeOrderType { object_class, attributes, order_type } => {
            change_default_attribute_order_type(
                federation,
                me,
                object_class,
                &attributes,
                order_type,
            )
        }
        C::ChangeInteractionOrderType { interaction_class, order_type } => {
            change_interaction_order_type(federation, me, interaction_class, order_type)
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
