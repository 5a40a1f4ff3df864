//! The 62 callbacks to federates.
//!
//! Each is declared once, like calls: number in the Federate Protocol, clause, method, arguments. A macro that needs
//! the list gets it from `callbacks!`.

use crate::data::{
    AttributeValues, ConveyedRegion, Data, FederateRestoreStatus, FederateSaveStatus,
    FederationExecutionInformation, FederationExecutionMember, ParameterValues,
};
use crate::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, MessageRetractionHandle,
    ObjectClassHandle, ObjectInstanceHandle, TransportationTypeHandle,
};
use crate::order::OrderType;
use crate::status::{RestoreFailureReason, SaveFailureReason, SynchronizationPointFailureReason};
use crate::time::EncodedTime;

macro_rules! declare {
    ($(
        $number:literal $clause:literal $name:ident $method:literal
        $({ $($field:ident: $type:ty),* $(,)? })?;
    )*) => {
        /// A callback to a federate.
        ///
        /// `sent_regions` is `None` if regions are not conveyed, and empty if the message was sent without any. An
        /// `INVALID` producing federate means that there is none.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "arguments have the standard's names")]
        pub enum Callback {
            $(
                #[doc = concat!("Clause ", $clause, ", `", $method, "`.")]
                $name $({ $($field: $type,)* })?,
            )*
        }

        impl Callback {
            /// The table of all callbacks, by number.
            pub const TABLE: &[Entry] = &[$(
                Entry {
                    number: $number,
                    name: stringify!($name),
                    clause: $clause,
                    method: $method,
                },
            )*];

            /// Returns the table entry of this callback.
            pub fn entry(&self) -> &'static Entry {
                // The variants are in the table's order, numbered consecutively from 1.
                let number: usize = match self { $(Self::$name { .. } => $number,)* };
                &Self::TABLE[number - 1]
            }
        }

        /// Gives a macro the name `Callback`, then number, name and arguments of each callback.
        #[macro_export]
        macro_rules! callbacks {
            ($then:ident) => {
                $then! { Callback $($number $name { $($($field)*)? })* }
            };
        }
    };
}

/// The standard's facts about a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its case in a `CallbackRequest`.
    pub number: u32,
    /// The name of its message.
    pub name: &'static str,
    /// Where IEEE 1516.1-2025 describes it.
    pub clause: &'static str,
    /// Its method in the programming interfaces; callbacks with and without a time share one.
    pub method: &'static str,
}

declare! {
    1 "4.4" ConnectionLost "connectionLost" { fault_description: String };
    2 "4.8" ReportFederationExecutions "reportFederationExecutions" {
        report: Vec<FederationExecutionInformation>,
    };
    3 "4.10" ReportFederationExecutionMembers "reportFederationExecutionMembers" {
        federation_name: String, report: Vec<FederationExecutionMember>,
    };
    4 "4.11" ReportFederationExecutionDoesNotExist "reportFederationExecutionDoesNotExist" {
        federation_name: String,
    };
    5 "4.13" FederateResigned "federateResigned" { reason_for_resign_description: String };
    6 "4.15" SynchronizationPointRegistrationSucceeded "synchronizationPointRegistrationSucceeded" {
        synchronization_point_label: String,
    };
    7 "4.15" SynchronizationPointRegistrationFailed "synchronizationPointRegistrationFailed" {
        synchronization_point_label: String, reason: SynchronizationPointFailureReason,
    };
    8 "4.16" AnnounceSynchronizationPoint "announceSynchronizationPoint" {
        synchronization_point_label: String, user_supplied_tag: Data,
    };
    9 "4.18" FederationSynchronized "federationSynchronized" {
        synchronization_point_label: String, failed_to_sync_set: Vec<FederateHandle>,
    };
    10 "4.20" InitiateFederateSave "initiateFederateSave" { label: String };
    11 "4.20" InitiateFederateSaveWithTime "initiateFederateSave" { label: String, time: EncodedTime };
    12 "4.23" FederationSaved "federationSaved";
    13 "4.23" FederationNotSaved "federationNotSaved" { reason: SaveFailureReason };
    14 "4.26" FederationSaveStatusResponse "federationSaveStatusResponse" {
        response: Vec<FederateSaveStatus>,
    };
    15 "4.28" RequestFederationRestoreSucceeded "requestFederationRestoreSucceeded" { label: String };
    16 "4.28" RequestFederationRestoreFailed "requestFederationRestoreFailed" { label: String };
    17 "4.29" FederationRestoreBegun "federationRestoreBegun";
    18 "4.30" InitiateFederateRestore "initiateFederateRestore" {
        label: String, federate_name: String, post_restore_federate_handle: FederateHandle,
    };
    19 "4.32" FederationRestored "federationRestored";
    20 "4.32" FederationNotRestored "federationNotRestored" { reason: RestoreFailureReason };
    21 "4.35" FederationRestoreStatusResponse "federationRestoreStatusResponse" {
        response: Vec<FederateRestoreStatus>,
    };
    22 "5.14" StartRegistrationForObjectClass "startRegistrationForObjectClass" {
        object_class: ObjectClassHandle,
    };
    23 "5.15" StopRegistrationForObjectClass "stopRegistrationForObjectClass" {
        object_class: ObjectClassHandle,
    };
    24 "5.16" TurnInteractionsOn "turnInteractionsOn" { interaction_class: InteractionClassHandle };
    25 "5.17" TurnInteractionsOff "turnInteractionsOff" { interaction_class: InteractionClassHandle };
    26 "6.3" ObjectInstanceNameReservationSucceeded "objectInstanceNameReservationSucceeded" {
        object_instance_name: String,
    };
    27 "6.3" ObjectInstanceNameReservationFailed "objectInstanceNameReservationFailed" {
        object_instance_name: String,
    };
    28 "6.6" MultipleObjectInstanceNameReservationSucceeded "multipleObjectInstanceNameReservationSucceeded" {
        object_instance_names: Vec<String>,
    };
    29 "6.6" MultipleObjectInstanceNameReservationFailed "multipleObjectInstanceNameReservationFailed" {
        object_instance_names: Vec<String>,
    };
    30 "6.9" DiscoverObjectInstance "discoverObjectInstance" {
        object_instance: ObjectInstanceHandle, object_class: ObjectClassHandle, object_instance_name: String,
        producing_federate: FederateHandle,
    };
    31 "6.11" ReflectAttributeValues "reflectAttributeValues" {
        object_instance: ObjectInstanceHandle, attribute_values: AttributeValues, user_supplied_tag: Data,
        transportation_type: TransportationTypeHandle, producing_federate: FederateHandle,
        sent_regions: Option<Vec<ConveyedRegion>>,
    };
    32 "6.11" ReflectAttributeValuesWithTime "reflectAttributeValues" {
        object_instance: ObjectInstanceHandle, attribute_values: AttributeValues, user_supplied_tag: Data,
        transportation_type: TransportationTypeHandle, producing_federate: FederateHandle,
        sent_regions: Option<Vec<ConveyedRegion>>, time: EncodedTime, sent_order_type: OrderType,
        received_order_type: OrderType, retraction: Option<MessageRetractionHandle>,
    };
    33 "6.13" ReceiveInteraction "receiveInteraction" {
        interaction_class: InteractionClassHandle, parameter_values: ParameterValues, user_supplied_tag: Data,
        transportation_type: TransportationTypeHandle, producing_federate: FederateHandle,
        sent_regions: Option<Vec<ConveyedRegion>>,
    };
    34 "6.13" ReceiveInteractionWithTime "receiveInteraction" {
        interaction_class: InteractionClassHandle, parameter_values: ParameterValues, user_supplied_tag: Data,
        transportation_type: TransportationTypeHandle, producing_federate: FederateHandle,
        sent_regions: Option<Vec<ConveyedRegion>>, time: EncodedTime, sent_order_type: OrderType,
        received_order_type: OrderType, retraction: Option<MessageRetractionHandle>,
    };
    35 "6.15" ReceiveDirectedInteraction "receiveDirectedInteraction" {
        interaction_class: InteractionClassHandle, object_instance: ObjectInstanceHandle,
        parameter_values: ParameterValues, user_supplied_tag: Data,
        transportation_type: TransportationTypeHandle, producing_federate: FederateHandle,
    };
    36 "6.15" ReceiveDirectedInteractionWithTime "receiveDirectedInteraction" {
        interaction_class: InteractionClassHandle, object_instance: ObjectInstanceHandle,
        parameter_values: ParameterValues, user_supplied_tag: Data,
        transportation_type: TransportationTypeHandle, producing_federate: FederateHandle, time: EncodedTime,
        sent_order_type: OrderType, received_order_type: OrderType,
        retraction: Option<MessageRetractionHandle>,
    };
    37 "6.17" RemoveObjectInstance "removeObjectInstance" {
        object_instance: ObjectInstanceHandle, user_supplied_tag: Data, producing_federate: FederateHandle,
    };
    38 "6.17" RemoveObjectInstanceWithTime "removeObjectInstance" {
        object_instance: ObjectInstanceHandle, user_supplied_tag: Data, producing_federate: FederateHandle,
        time: EncodedTime, sent_order_type: OrderType, received_order_type: OrderType,
        retraction: Option<MessageRetractionHandle>,
    };
    39 "6.19" AttributesInScope "attributesInScope" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
    };
    40 "6.20" AttributesOutOfScope "attributesOutOfScope" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
    };
    41 "6.22" ProvideAttributeValueUpdate "provideAttributeValueUpdate" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>, user_supplied_tag: Data,
    };
    42 "6.23" TurnUpdatesOnForObjectInstance "turnUpdatesOnForObjectInstance" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
    };
    43 "6.23" TurnUpdatesOnForObjectInstanceWithRate "turnUpdatesOnForObjectInstance" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
        update_rate_designator: String,
    };
    44 "6.24" TurnUpdatesOffForObjectInstance "turnUpdatesOffForObjectInstance" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
    };
    45 "6.26" ConfirmAttributeTransportationTypeChange "confirmAttributeTransportationTypeChange" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
        transportation_type: TransportationTypeHandle,
    };
    46 "6.29" ReportAttributeTransportationType "reportAttributeTransportationType" {
        object_instance: ObjectInstanceHandle, attribute: AttributeHandle,
        transportation_type: TransportationTypeHandle,
    };
    47 "6.31" ConfirmInteractionTransportationTypeChange "confirmInteractionTransportationTypeChange" {
        interaction_class: InteractionClassHandle, transportation_type: TransportationTypeHandle,
    };
    48 "6.33" ReportInteractionTransportationType "reportInteractionTransportationType" {
        federate: FederateHandle, interaction_class: InteractionClassHandle,
        transportation_type: TransportationTypeHandle,
    };
    49 "7.4" RequestAttributeOwnershipAssumption "requestAttributeOwnershipAssumption" {
        object_instance: ObjectInstanceHandle, offered_attributes: Vec<AttributeHandle>,
        user_supplied_tag: Data,
    };
    50 "7.5" RequestDivestitureConfirmation "requestDivestitureConfirmation" {
        object_instance: ObjectInstanceHandle, released_attributes: Vec<AttributeHandle>,
        user_supplied_tag: Data,
    };
    51 "7.7" AttributeOwnershipAcquisitionNotification "attributeOwnershipAcquisitionNotification" {
        object_instance: ObjectInstanceHandle, secured_attributes: Vec<AttributeHandle>,
        user_supplied_tag: Data,
    };
    52 "7.10" AttributeOwnershipUnavailable "attributeOwnershipUnavailable" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>, user_supplied_tag: Data,
    };
    53 "7.11" RequestAttributeOwnershipRelease "requestAttributeOwnershipRelease" {
        object_instance: ObjectInstanceHandle, candidate_attributes: Vec<AttributeHandle>,
        user_supplied_tag: Data,
    };
    54 "7.16" ConfirmAttributeOwnershipAcquisitionCancellation "confirmAttributeOwnershipAcquisitionCancellation" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
    };
    55 "7.18" InformAttributeOwnership "informAttributeOwnership" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>, federate: FederateHandle,
    };
    56 "7.18" AttributeIsNotOwned "attributeIsNotOwned" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
    };
    57 "7.18" AttributeIsOwnedByRTI "attributeIsOwnedByRTI" {
        object_instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>,
    };
    58 "8.3" TimeRegulationEnabled "timeRegulationEnabled" { time: EncodedTime };
    59 "8.6" TimeConstrainedEnabled "timeConstrainedEnabled" { time: EncodedTime };
    60 "8.13" FlushQueueGrant "flushQueueGrant" { time: EncodedTime, optimistic_time: EncodedTime };
    61 "8.14" TimeAdvanceGrant "timeAdvanceGrant" { time: EncodedTime };
    62 "8.23" RequestRetraction "requestRetraction" { retraction: MessageRetractionHandle };
}

impl Callback {
    /// Returns its case in a `CallbackRequest`.
    pub fn number(&self) -> u32 {
        self.entry().number
    }

    /// Returns the name of its message.
    pub fn name(&self) -> &'static str {
        self.entry().name
    }

    /// Returns the federate that registered the instance or sent the message, which may be `INVALID`; `None` for a
    /// callback that has no such argument.
    pub const fn producer_mut(&mut self) -> Option<&mut FederateHandle> {
        match self {
            Self::DiscoverObjectInstance { producing_federate, .. }
            | Self::ReflectAttributeValues { producing_federate, .. }
            | Self::ReflectAttributeValuesWithTime { producing_federate, .. }
            | Self::ReceiveInteraction { producing_federate, .. }
            | Self::ReceiveInteractionWithTime { producing_federate, .. }
            | Self::ReceiveDirectedInteraction { producing_federate, .. }
            | Self::ReceiveDirectedInteractionWithTime { producing_federate, .. }
            | Self::RemoveObjectInstance { producing_federate, .. }
            | Self::RemoveObjectInstanceWithTime { producing_federate, .. } => {
                Some(producing_federate)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_62_callbacks_are_there_in_order() {
        let numbers: Vec<u32> = Callback::TABLE.iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, (1..=62).collect::<Vec<u32>>());
    }

    #[test]
    fn a_callback_knows_its_clause_and_method() {
        let entry = Callback::FederationRestored.entry();
        assert_eq!((entry.number, entry.clause), (19, "4.32"));
        let retraction = MessageRetractionHandle::new(1);
        assert_eq!(Callback::RequestRetraction { retraction }.name(), "RequestRetraction");
        assert_eq!(Callback::TABLE[31].method, Callback::TABLE[30].method);
    }
}
