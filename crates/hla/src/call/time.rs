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

    89 "8.2" EnableTimeRegulation "enableTimeRegulation" { lookahead: EncodedInterval }
        => Done [
        InvalidLookahead InTimeAdvancingState RequestForTimeRegulationPending
        TimeRegulationAlreadyEnabled SaveInProgress RestoreInProgress FederateNotExecutionMember
        NotConnected RTIinternalError
        ];
    90 "8.4" DisableTimeRegulation "disableTimeRegulation"
        => Done [
        TimeRegulationIsNotEnabled SaveInProgress RestoreInProgress FederateNotExecutionMember
        NotConnected RTIinternalError
        ];
    91 "8.5" EnableTimeConstrained "enableTimeConstrained"
        => Done [
        InTimeAdvancingState RequestForTimeConstrainedPending TimeConstrainedAlreadyEnabled
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    92 "8.7" DisableTimeConstrained "disableTimeConstrained"
        => Done [
        TimeConstrainedIsNotEnabled SaveInProgress RestoreInProgress FederateNotExecutionMember
        NotConnected RTIinternalError
        ];
    93 "8.8" TimeAdvanceRequest "timeAdvanceRequest" { time: EncodedTime }
        => Done [
        LogicalTimeAlreadyPassed InvalidLogicalTime InTimeAdvancingState
        RequestForTimeRegulationPending RequestForTimeConstrainedPending SaveInProgress
        RestoreInProgress FederateNotExecutionMember NotConnected RTIinternalError
        ];
    94 "8.9" TimeAdvanceRequestAvailable "timeAdvanceRequestAvailable" { time: EncodedTime }
        => Done [
        LogicalTimeAlreadyPassed InvalidLogicalTime InTimeAdvancingState
        RequestForTimeRegulationPending RequestForTimeConstrainedPending SaveInProgress
        RestoreInProgress FederateNotExecutionMember NotConnected RTIinternalError
        ];
    95 "8.10" NextMessageRequest "nextMessageRequest" { time: EncodedTime }
        => Done [
        LogicalTimeAlreadyPassed InvalidLogicalTime InTimeAdvancingState
        RequestForTimeRegulationPending RequestForTimeConstrainedPending SaveInProgress
        RestoreInProgress FederateNotExecutionMember NotConnected RTIinternalError
        ];
    96 "8.11" NextMessageRequestAvailable "nextMessageRequestAvailable" { time: EncodedTime }
        => Done [
        LogicalTimeAlreadyPassed InvalidLogicalTime InTimeAdvancingState
        RequestForTimeRegulationPending RequestForTimeConstrainedPending SaveInProgress
        RestoreInProgress FederateNotExecutionMember NotConnected RTIinternalError
        ];
    97 "8.12" FlushQueueRequest "flushQueueRequest" { time: EncodedTime }
        => Done [
        LogicalTimeAlreadyPassed InvalidLogicalTime InTimeAdvancingState
        RequestForTimeRegulationPending RequestForTimeConstrainedPending SaveInProgress
        RestoreInProgress FederateNotExecutionMember NotConnected RTIinternalError
        ];
    98 "8.15" EnableAsynchronousDelivery "enableAsynchronousDelivery"
        => Done [
        AsynchronousDeliveryAlreadyEnabled SaveInProgress RestoreInProgress
        FederateNotExecutionMember NotConnected RTIinternalError
        ];
    99 "8.16" DisableAsynchronousDelivery "disableAsynchronousDelivery"
        => Done [
        AsynchronousDeliveryAlreadyDisabled SaveInProgress RestoreInProgress
        FederateNotExecutionMember NotConnected RTIinternalError
        ];
    100 "8.17" QueryGALT "queryGALT"
        => OptionalTime [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    101 "8.18" QueryLogicalTime "queryLogicalTime"
        => Time [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    102 "8.19" QueryLITS "queryLITS"
        => OptionalTime [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    103 "8.20" ModifyLookahead "modifyLookahead" { lookahead: EncodedInterval }
        => Done [
        InvalidLookahead InTimeAdvancingState TimeRegulationIsNotEnabled SaveInProgress
        RestoreInProgress FederateNotExecutionMember NotConnected RTIinternalError
        ];
    104 "8.21" QueryLookahead "queryLookahead"
        => Interval [
        TimeRegulationIsNotEnabled SaveInProgress RestoreInProgress FederateNotExecutionMember
        NotConnected RTIinternalError
        ];
    105 "8.22" Retract "retract" { retraction: MessageRetractionHandle }
        => Done [
        MessageCanNoLongerBeRetracted InvalidMessageRetractionHandle TimeRegulationIsNotEnabled
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    106 "8.24" ChangeAttributeOrderType "changeAttributeOrderType" {
        object_instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        order_type: Option<OrderType>,
    }
        => Done [
        AttributeNotOwned AttributeNotDefined ObjectInstanceNotKnown SaveInProgress
        RestoreInProgress FederateNotExecutionMember NotConnected RTIinternalError
        ];
    107 "8.25" ChangeDefaultAttributeOrderType "changeDefaultAttributeOrderType" {
        object_class: ObjectClassHandle,
        attributes: Vec<AttributeHandle>,
        order_type: Option<OrderType>,
    }
        => Done [
        AttributeNotDefined ObjectClassNotDefined SaveInProgress RestoreInProgress
        FederateNotExecutionMember NotConnected RTIinternalError
        ];
    108 "8.26" ChangeInteractionOrderType "changeInteractionOrderType" {
        interaction_class: InteractionClassHandle,
        order_type: Option<OrderType>,
    }
        => Done [
        InteractionClassNotPublished InteractionClassNotDefined SaveInProgress RestoreInProgress
        FederateNotExecutionMember NotConnected RTIinternalError
        ];
}
