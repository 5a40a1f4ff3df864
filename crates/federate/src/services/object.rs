//! Clause 6, object management.

use hemiola_hla::call::ObjectCall;
use hemiola_hla::data::Retraction;
use hemiola_hla::{
    AttributeHandle, Call, Data, FederateHandle, InteractionClassHandle, LogicalTime,
    ObjectClassHandle, ObjectInstanceHandle, ParameterHandle, TransportationTypeHandle,
};

use super::{list, services};
use crate::error::Error;
use crate::federate::Federate;

/// Updates and interactions, which are [`pipelined`](crate::Options::pipelined) where that was asked for: then a
/// retraction handle is not told.
impl Federate {
    /// Clause 6.10, `updateAttributeValues` in receive order.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn update_attribute_values(
        &mut self,
        object_instance: ObjectInstanceHandle,
        attribute_values: &[(AttributeHandle, Data)],
        user_supplied_tag: impl Into<Data>,
    ) -> Result<(), Error> {
        self.send(ObjectCall::UpdateAttributeValues {
            object_instance,
            attribute_values: list(attribute_values),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Clause 6.10, `updateAttributeValues` with a time stamp.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn update_attribute_values_with_time(
        &mut self,
        object_instance: ObjectInstanceHandle,
        attribute_values: &[(AttributeHandle, Data)],
        user_supplied_tag: impl Into<Data>,
        time: LogicalTime,
    ) -> Result<Retraction, Error> {
        self.send_retractable(ObjectCall::UpdateAttributeValuesWithTime {
            object_instance,
            attribute_values: list(attribute_values),
            user_supplied_tag: user_supplied_tag.into(),
            time: time.into(),
        })
    }

    /// Clause 6.12, `sendInteraction` in receive order.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn send_interaction(
        &mut self,
        interaction_class: InteractionClassHandle,
        parameter_values: &[(ParameterHandle, Data)],
        user_supplied_tag: impl Into<Data>,
    ) -> Result<(), Error> {
        self.send(ObjectCall::SendInteraction {
            interaction_class,
            parameter_values: list(parameter_values),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Clause 6.12, `sendInteraction` with a time stamp.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn send_interaction_with_time(
        &mut self,
        interaction_class: InteractionClassHandle,
        parameter_values: &[(ParameterHandle, Data)],
        user_supplied_tag: impl Into<Data>,
        time: LogicalTime,
    ) -> Result<Retraction, Error> {
        self.send_retractable(ObjectCall::SendInteractionWithTime {
            interaction_class,
            parameter_values: list(parameter_values),
            user_supplied_tag: user_supplied_tag.into(),
            time: time.into(),
        })
    }

    /// Clause 6.14, `sendDirectedInteraction` in receive order.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn send_directed_interaction(
        &mut self,
        interaction_class: InteractionClassHandle,
        object_instance: ObjectInstanceHandle,
        parameter_values: &[(ParameterHandle, Data)],
        user_supplied_tag: impl Into<Data>,
    ) -> Result<(), Error> {
        self.send(ObjectCall::SendDirectedInteraction {
            interaction_class,
            object_instance,
            parameter_values: list(parameter_values),
            user_supplied_tag: user_supplied_tag.into(),
        })
    }

    /// Clause 6.14, `sendDirectedInteraction` with a time stamp.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn send_directed_interaction_with_time(
        &mut self,
        interaction_class: InteractionClassHandle,
        object_instance: ObjectInstanceHandle,
        parameter_values: &[(ParameterHandle, Data)],
        user_supplied_tag: impl Into<Data>,
        time: LogicalTime,
    ) -> Result<Retraction, Error> {
        self.send_retractable(ObjectCall::SendDirectedInteractionWithTime {
            interaction_class,
            object_instance,
            parameter_values: list(parameter_values),
            user_supplied_tag: user_supplied_tag.into(),
            time: time.into(),
        })
    }

    /// Makes a call that need not be waited for.
    pub(super) fn send(&mut self, call: impl Into<Call>) -> Result<(), Error> {
        if self.is_pipelined { self.post(call) } else { self.ask(call) }
    }

    fn send_retractable(&mut self, call: ObjectCall) -> Result<Retraction, Error> {
        if self.is_pipelined { self.post(call).map(|()| None) } else { self.ask(call) }
    }
}

services! {
    "6.2" reserve_object_instance_name(object_instance_name: &str)
        = ObjectCall::ReserveObjectInstanceName { object_instance_name: object_instance_name.to_owned() };
    "6.4" release_object_instance_name(object_instance_name: &str)
        = ObjectCall::ReleaseObjectInstanceName { object_instance_name: object_instance_name.to_owned() };
    "6.5" reserve_multiple_object_instance_names(object_instance_names: &[String])
        = ObjectCall::ReserveMultipleObjectInstanceNames {
            object_instance_names: list(object_instance_names),
        };
    "6.7" release_multiple_object_instance_names(object_instance_names: &[String])
        = ObjectCall::ReleaseMultipleObjectInstanceNames {
            object_instance_names: list(object_instance_names),
        };
    "6.8" register_object_instance(object_class: ObjectClassHandle) -> ObjectInstanceHandle
        = ObjectCall::RegisterObjectInstance { object_class };
    "6.8" register_object_instance_with_name(
        object_class: ObjectClassHandle, object_instance_name: &str,
    ) -> ObjectInstanceHandle = ObjectCall::RegisterObjectInstanceWithName {
        object_class,
        object_instance_name: object_instance_name.to_owned(),
    };
    "6.16" delete_object_instance(object_instance: ObjectInstanceHandle, user_supplied_tag: impl Into<Data>)
        = ObjectCall::DeleteObjectInstance {
            object_instance,
            user_supplied_tag: user_supplied_tag.into(),
        };
    "6.16" delete_object_instance_with_time(
        object_instance: ObjectInstanceHandle, user_supplied_tag: impl Into<Data>, time: LogicalTime,
    ) -> Retraction = ObjectCall::DeleteObjectInstanceWithTime {
        object_instance,
        user_supplied_tag: user_supplied_tag.into(),
        time: time.into(),
    };
    "6.18" local_delete_object_instance(object_instance: ObjectInstanceHandle)
        = ObjectCall::LocalDeleteObjectInstance { object_instance };
    "6.21" request_instance_attribute_value_update(
        object_instance: ObjectInstanceHandle, attributes: &[AttributeHandle], user_supplied_tag: impl Into<Data>,
    ) = ObjectCall::RequestInstanceAttributeValueUpdate {
        object_instance,
        attributes: list(attributes),
        user_supplied_tag: user_supplied_tag.into(),
    };
    "6.21" request_class_attribute_value_update(
        object_class: ObjectClassHandle, attributes: &[AttributeHandle], user_supplied_tag: impl Into<Data>,
    ) = ObjectCall::RequestClassAttributeValueUpdate {
        object_class,
        attributes: list(attributes),
        user_supplied_tag: user_supplied_tag.into(),
    };
    "6.25" request_attribute_transportation_type_change(
        object_instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        transportation_type: TransportationTypeHandle,
    ) = ObjectCall::RequestAttributeTransportationTypeChange {
        object_instance,
        attributes: list(attributes),
        transportation_type,
    };
    "6.27" change_default_attribute_transportation_type(
        object_class: ObjectClassHandle,
        attributes: &[AttributeHandle],
        transportation_type: TransportationTypeHandle,
    ) = ObjectCall::ChangeDefaultAttributeTransportationType {
        object_class,
        attributes: list(attributes),
        transportation_type,
    };
    "6.28" query_attribute_transportation_type(
        object_instance: ObjectInstanceHandle, attribute: AttributeHandle,
    ) = ObjectCall::QueryAttributeTransportationType { object_instance, attribute };
    "6.30" request_interaction_transportation_type_change(
        interaction_class: InteractionClassHandle, transportation_type: TransportationTypeHandle,
    ) = ObjectCall::RequestInteractionTransportationTypeChange { interaction_class, transportation_type };
    "6.32" query_interaction_transportation_type(
        federate: FederateHandle, interaction_class: InteractionClassHandle,
    ) = ObjectCall::QueryInteractionTransportationType { federate, interaction_class };
}
