//! Calls of clause 6, object management.

use super::calls;
use crate::data::{AttributeValues, Data, ParameterValues};
use crate::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, TransportationTypeHandle,
};
use crate::time::EncodedTime;

calls! {
    /// A call of clause 6, object management: names, instances, updates, interactions.
    ObjectCall, object_calls

    56 "6.2" ReserveObjectInstanceName "reserveObjectInstanceName" { object_instance_name: String }
        => Done [IllegalName ..Active];
    57 "6.4" ReleaseObjectInstanceName "releaseObjectInstanceName" { object_instance_name: String }
        => Done [ObjectInstanceNameNotReserved ..Active];
    58 "6.5" ReserveMultipleObjectInstanceNames "reserveMultipleObjectInstanceNames" {
        object_instance_names: Vec<String>,
    } => Done [IllegalName NameSetWasEmpty ..Active];
    59 "6.7" ReleaseMultipleObjectInstanceNames "releaseMultipleObjectInstanceNames" {
        object_instance_names: Vec<String>,
    } => Done [ObjectInstanceNameNotReserved ..Active];
    60 "6.8" RegisterObjectInstance "registerObjectInstance" { object_class: ObjectClassHandle }
        => ObjectInstance [ObjectClassNotPublished ObjectClassNotDefined ..Active];
    61 "6.8" RegisterObjectInstanceWithName "registerObjectInstance" {
        object_class: ObjectClassHandle, object_instance_name: String,
    } => ObjectInstance [
        ObjectInstanceNameInUse ObjectInstanceNameNotReserved ObjectClassNotPublished ObjectClassNotDefined
        ..Active
    ];
    62 "6.10" UpdateAttributeValues "updateAttributeValues" {
        object_instance: ObjectInstanceHandle, attribute_values: AttributeValues, user_supplied_tag: Data,
    } => Done [AttributeNotOwned AttributeNotDefined ObjectInstanceNotKnown ..Active];
    63 "6.10" UpdateAttributeValuesWithTime "updateAttributeValues" {
        object_instance: ObjectInstanceHandle, attribute_values: AttributeValues, user_supplied_tag: Data,
        time: EncodedTime,
    } => Retraction [
        InvalidLogicalTime AttributeNotOwned AttributeNotDefined ObjectInstanceNotKnown ..Active
    ];
    64 "6.12" SendInteraction "sendInteraction" {
        interaction_class: InteractionClassHandle, parameter_values: ParameterValues, user_supplied_tag: Data,
    } => Done [
        InteractionClassNotPublished InteractionParameterNotDefined InteractionClassNotDefined ..Active
    ];
    65 "6.12" SendInteractionWithTime "sendInteraction" {
        interaction_class: InteractionClassHandle, parameter_values: ParameterValues, user_supplied_tag: Data,
        time: EncodedTime,
    } => Retraction [
        InvalidLogicalTime InteractionClassNotPublished InteractionParameterNotDefined
        InteractionClassNotDefined ..Active
    ];
    66 "6.14" SendDirectedInteraction "sendDirectedInteraction" {
        interaction_class: InteractionClassHandle, object_instance: ObjectInstanceHandle,
        parameter_values: ParameterValues, user_supplied_tag: Data,
    } => Done [
        ObjectInstanceNotKnown InteractionClassNotPublished InteractionParameterNotDefined
        InteractionClassNotDefined ..Active
    ];
    67 "6.14" SendDirectedInteractionWithTime "sendDirectedInteraction" {
        interaction_class: InteractionClassHandle, object_instance: ObjectInstanceHandle,
        parameter_values: ParameterValues, user_supplied_tag: Data, time: EncodedTime,
    } => Retraction [
        InvalidLogicalTime ObjectInstanceNotKnown InteractionClassNotPublished InteractionParameterNotDefined
        InteractionClassNotDefined ..Active
    ];
    68 "6.16" DeleteObjectInstance "deleteObjectInstance" {
        object_instance: ObjectInstanceHandle, user_supplied_tag: Data,
    } => Done [DeletePrivilegeNotHeld ObjectInstanceNotKnown ..Active];
    69 "6.16" DeleteObjectInstanceWithTime "deleteObjectInstance" {
        object_instance: ObjectInstanceHandle, user_supplied_tag: Data, time: EncodedTime,
    } => Retraction [InvalidLogicalTime DeletePrivilegeNotHeld ObjectInstanceNotKnown ..Active];
    70 "6.18" LocalDeleteObjectInstance "localDeleteObjectInstance" { object_instance: ObjectInstanceHandle }
        => Done [OwnershipAcquisitionPending FederateOwnsAttributes ObjectInstanceNotKnown ..Active];
    71 "6.21" RequestInstanceAttributeValueUpdate "requestAttributeValueUpdate" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>, user_supplied_tag: Data,
    } => Done [AttributeNotDefined ObjectInstanceNotKnown ..Active];
    72 "6.21" RequestClassAttributeValueUpdate "requestAttributeValueUpdate" {
        object_class: ObjectClassHandle, attributes: Vec<AttributeHandle>, user_supplied_tag: Data,
    } => Done [AttributeNotDefined ObjectClassNotDefined ..Active];
    73 "6.25" RequestAttributeTransportationTypeChange "requestAttributeTransportationTypeChange" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
        transportation_type: TransportationTypeHandle,
    } => Done [
        AttributeAlreadyBeingChanged AttributeNotOwned AttributeNotDefined ObjectInstanceNotKnown
        InvalidTransportationTypeHandle ..Active
    ];
    74 "6.27" ChangeDefaultAttributeTransportationType "changeDefaultAttributeTransportationType" {
        object_class: ObjectClassHandle, attributes: Vec<AttributeHandle>,
        transportation_type: TransportationTypeHandle,
    } => Done [AttributeNotDefined ObjectClassNotDefined InvalidTransportationTypeHandle ..Active];
    75 "6.28" QueryAttributeTransportationType "queryAttributeTransportationType" {
        object_instance: ObjectInstanceHandle, attribute: AttributeHandle,
    } => Done [AttributeNotDefined ObjectInstanceNotKnown ..Active];
    76 "6.30" RequestInteractionTransportationTypeChange "requestInteractionTransportationTypeChange" {
        interaction_class: InteractionClassHandle, transportation_type: TransportationTypeHandle,
    } => Done [
        InteractionClassAlreadyBeingChanged InteractionClassNotPublished InteractionClassNotDefined
        InvalidTransportationTypeHandle ..Active
    ];
    77 "6.32" QueryInteractionTransportationType "queryInteractionTransportationType" {
        federate: FederateHandle, interaction_class: InteractionClassHandle,
    } => Done [InteractionClassNotDefined ..Active];
}
