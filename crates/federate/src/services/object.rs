//! Clause 6, object management.

use hemiola_hla::call::ObjectCall;
use hemiola_hla::data::Retraction;
use hemiola_hla::{
    AttributeHandle, Data, FederateHandle, InteractionClassHandle, LogicalTime, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, TransportationTypeHandle,
};

use super::services;

services! {
    /// Updates, interactions, instances and their names. A time-stamped message of a pipelined federate has no
    /// retraction handle; a federate that wants one makes the call with [`call`](Self::call).
    ObjectCall, send:
    "6.10" UpdateAttributeValues: update_attribute_values(
        object_instance: ObjectInstanceHandle,
        attribute_values: &[(AttributeHandle, Data)],
        user_supplied_tag: impl Into<Data>,
    );
    "6.10" UpdateAttributeValuesWithTime: update_attribute_values_with_time(
        object_instance: ObjectInstanceHandle,
        attribute_values: &[(AttributeHandle, Data)],
        user_supplied_tag: impl Into<Data>,
        time: LogicalTime,
    ) -> Retraction;
    "6.12" SendInteraction: send_interaction(
        interaction_class: InteractionClassHandle,
        parameter_values: &[(ParameterHandle, Data)],
        user_supplied_tag: impl Into<Data>,
    );
    "6.12" SendInteractionWithTime: send_interaction_with_time(
        interaction_class: InteractionClassHandle,
        parameter_values: &[(ParameterHandle, Data)],
        user_supplied_tag: impl Into<Data>,
        time: LogicalTime,
    ) -> Retraction;
    "6.14" SendDirectedInteraction: send_directed_interaction(
        interaction_class: InteractionClassHandle,
        object_instance: ObjectInstanceHandle,
        parameter_values: &[(ParameterHandle, Data)],
        user_supplied_tag: impl Into<Data>,
    );
    "6.14" SendDirectedInteractionWithTime: send_directed_interaction_with_time(
        interaction_class: InteractionClassHandle,
        object_instance: ObjectInstanceHandle,
        parameter_values: &[(ParameterHandle, Data)],
        user_supplied_tag: impl Into<Data>,
        time: LogicalTime,
    ) -> Retraction;
    "6.2" ReserveObjectInstanceName: reserve_object_instance_name(object_instance_name: &str);
    "6.4" ReleaseObjectInstanceName: release_object_instance_name(object_instance_name: &str);
    "6.5" ReserveMultipleObjectInstanceNames: reserve_multiple_object_instance_names(object_instance_names: &[String]);
    "6.7" ReleaseMultipleObjectInstanceNames: release_multiple_object_instance_names(object_instance_names: &[String]);
    "6.8" RegisterObjectInstance: register_object_instance(object_class: ObjectClassHandle) -> ObjectInstanceHandle;
    "6.8" RegisterObjectInstanceWithName: register_object_instance_with_name(
        object_class: ObjectClassHandle, object_instance_name: &str,
    ) -> ObjectInstanceHandle;
    "6.16" DeleteObjectInstance: delete_object_instance(
        object_instance: ObjectInstanceHandle, user_supplied_tag: impl Into<Data>,
    );
    "6.16" DeleteObjectInstanceWithTime: delete_object_instance_with_time(
        object_instance: ObjectInstanceHandle, user_supplied_tag: impl Into<Data>, time: LogicalTime,
    ) -> Retraction;
    "6.18" LocalDeleteObjectInstance: local_delete_object_instance(object_instance: ObjectInstanceHandle);
    "6.21" RequestInstanceAttributeValueUpdate: request_instance_attribute_value_update(
        object_instance: ObjectInstanceHandle, attributes: &[AttributeHandle], user_supplied_tag: impl Into<Data>,
    );
    "6.21" RequestClassAttributeValueUpdate: request_class_attribute_value_update(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle], user_supplied_tag: impl Into<Data>,
    );
    "6.25" RequestAttributeTransportationTypeChange: request_attribute_transportation_type_change(
        object_instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        transportation_type: TransportationTypeHandle,
    );
    "6.27" ChangeDefaultAttributeTransportationType: change_default_attribute_transportation_type(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle], transportation_type: TransportationTypeHandle,
    );
    "6.28" QueryAttributeTransportationType: query_attribute_transportation_type(
        object_instance: ObjectInstanceHandle, attribute: AttributeHandle,
    );
    "6.30" RequestInteractionTransportationTypeChange: request_interaction_transportation_type_change(
        interaction_class: InteractionClassHandle, transportation_type: TransportationTypeHandle,
    );
    "6.32" QueryInteractionTransportationType: query_interaction_transportation_type(
        federate: FederateHandle, interaction_class: InteractionClassHandle,
    );
}
