//! Calls of clause 8, time management.

use super::calls;
use crate::handle::{
    AttributeHandle, InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle,
    ObjectInstanceHandle,
};
use crate::order::OrderType;
use crate::time::{EncodedInterval, EncodedTime};

calls! {
    /// A call of clause 8, time management: regulation, constraint, advances, orders.
    TimeCall, time_calls

    89 "8.2" EnableTimeRegulation "enableTimeRegulation" { lookahead: EncodedInterval } => Done [
        InvalidLookahead InTimeAdvancingState RequestForTimeRegulationPending TimeRegulationAlreadyEnabled
        ..Active
    ];
    90 "8.4" DisableTimeRegulation "disableTimeRegulation" => Done [TimeRegulationIsNotEnabled ..Active];
    91 "8.5" EnableTimeConstrained "enableTimeConstrained" => Done [
        InTimeAdvancingState RequestForTimeConstrainedPending TimeConstrainedAlreadyEnabled ..Active
    ];
    92 "8.7" DisableTimeConstrained "disableTimeConstrained" => Done [TimeConstrainedIsNotEnabled ..Active];
    93 "8.8" TimeAdvanceRequest "timeAdvanceRequest" { time: EncodedTime } => Done [
        LogicalTimeAlreadyPassed InvalidLogicalTime InTimeAdvancingState RequestForTimeRegulationPending
        RequestForTimeConstrainedPending ..Active
    ];
    94 "8.9" TimeAdvanceRequestAvailable "timeAdvanceRequestAvailable" { time: EncodedTime } => Done [
        LogicalTimeAlreadyPassed InvalidLogicalTime InTimeAdvancingState RequestForTimeRegulationPending
        RequestForTimeConstrainedPending ..Active
    ];
    95 "8.10" NextMessageRequest "nextMessageRequest" { time: EncodedTime } => Done [
        LogicalTimeAlreadyPassed InvalidLogicalTime InTimeAdvancingState RequestForTimeRegulationPending
        RequestForTimeConstrainedPending ..Active
    ];
    96 "8.11" NextMessageRequestAvailable "nextMessageRequestAvailable" { time: EncodedTime } => Done [
        LogicalTimeAlreadyPassed InvalidLogicalTime InTimeAdvancingState RequestForTimeRegulationPending
        RequestForTimeConstrainedPending ..Active
    ];
    97 "8.12" FlushQueueRequest "flushQueueRequest" { time: EncodedTime } => Done [
        LogicalTimeAlreadyPassed InvalidLogicalTime InTimeAdvancingState RequestForTimeRegulationPending
        RequestForTimeConstrainedPending ..Active
    ];
    98 "8.15" EnableAsynchronousDelivery "enableAsynchronousDelivery"
        => Done [AsynchronousDeliveryAlreadyEnabled ..Active];
    99 "8.16" DisableAsynchronousDelivery "disableAsynchronousDelivery"
        => Done [AsynchronousDeliveryAlreadyDisabled ..Active];
    100 "8.17" QueryGALT "queryGALT" => OptionalTime [..Active];
    101 "8.18" QueryLogicalTime "queryLogicalTime" => Time [..Active];
    102 "8.19" QueryLITS "queryLITS" => OptionalTime [..Active];
    103 "8.20" ModifyLookahead "modifyLookahead" { lookahead: EncodedInterval }
        => Done [InvalidLookahead InTimeAdvancingState TimeRegulationIsNotEnabled ..Active];
    104 "8.21" QueryLookahead "queryLookahead" => Interval [TimeRegulationIsNotEnabled ..Active];
    105 "8.22" Retract "retract" { retraction: MessageRetractionHandle } => Done [
        MessageCanNoLongerBeRetracted InvalidMessageRetractionHandle TimeRegulationIsNotEnabled ..Active
    ];
    106 "8.24" ChangeAttributeOrderType "changeAttributeOrderType" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
        order_type: Option<OrderType>,
    } => Done [AttributeNotOwned AttributeNotDefined ObjectInstanceNotKnown ..Active];
    107 "8.25" ChangeDefaultAttributeOrderType "changeDefaultAttributeOrderType" {
        object_class: ObjectClassHandle, attributes: Vec<AttributeHandle>, order_type: Option<OrderType>,
    } => Done [AttributeNotDefined ObjectClassNotDefined ..Active];
    108 "8.26" ChangeInteractionOrderType "changeInteractionOrderType" {
        interaction_class: InteractionClassHandle, order_type: Option<OrderType>,
    } => Done [InteractionClassNotPublished InteractionClassNotDefined ..Active];
}
