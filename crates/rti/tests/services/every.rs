//! Exceptions that do not depend on the service, and replies to empty arguments: every call is made with these.

use std::collections::BTreeSet;

use hemiola_hla::call::{
    DeclarationCall, DistributionCall, FederationCall, ObjectCall, OwnershipCall, SupportCall,
    TimeCall,
};
use hemiola_hla::data::{
    AttributeRegions, Credentials, Data, FomModule, RangeBounds, RtiConfiguration,
};
use hemiola_hla::{
    AttributeHandle, Call, DimensionHandle, EncodedInterval, EncodedTime, Exception,
    FederateHandle, InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle,
    ObjectInstanceHandle, OrderType, ParameterHandle, RegionHandle, ResignAction, ServiceGroup,
    TransportationTypeHandle,
};
use hemiola_rti::Limits;

use crate::world::{Fed, MODEL, World, YARD};

/// An argument that means nothing.
trait Empty {
    fn empty() -> Self;
}

macro_rules! empty {
    ($($type:ty: $value:expr,)*) => {$(
        impl Empty for $type {
            fn empty() -> Self {
                $value
            }
        }
    )*};
}

empty! {
    AttributeHandle: Self::INVALID,
    DimensionHandle: Self::INVALID,
    FederateHandle: Self::INVALID,
    InteractionClassHandle: Self::INVALID,
    MessageRetractionHandle: Self::INVALID,
    ObjectClassHandle: Self::INVALID,
    ObjectInstanceHandle: Self::INVALID,
    ParameterHandle: Self::INVALID,
    RegionHandle: Self::INVALID,
    TransportationTypeHandle: Self::INVALID,
    AttributeRegions: Self::default(),
    Credentials: Self { kind: String::new(), data: Data::new() },
    Data: Self::new(),
    EncodedInterval: Self::new(b""),
    EncodedTime: Self::new(b""),
    FomModule: Self::Url(String::new()),
    Option<OrderType>: None,
    Option<ResignAction>: None,
    Option<ServiceGroup>: None,
    RangeBounds: Self::default(),
    RtiConfiguration: Self::default(),
    String: Self::new(),
    bool: false,
}

impl<T> Empty for Vec<T> {
    fn empty() -> Self {
        Self::new()
    }
}

macro_rules! calls_of {
    ($enum:ident $($number:literal $name:ident { $($field:ident)* })*) => {
        vec![$(Call::from($enum::$name { $($field: Empty::empty(),)* }),)*]
    };
}

/// All calls.
fn all() -> Vec<Call> {
    let clauses: [Vec<Call>; 7] = [
        hemiola_hla::federation_calls!(calls_of),
        hemiola_hla::declaration_calls!(calls_of),
        hemiola_hla::object_calls!(calls_of),
        hemiola_hla::ownership_calls!(calls_of),
        hemiola_hla::time_calls!(calls_of),
        hemiola_hla::distribution_calls!(calls_of),
        hemiola_hla::support_calls!(calls_of),
    ];
    clauses.concat()
}

fn raising(exception: Exception) -> impl Iterator<Item = Call> {
    all().into_iter().filter(move |call| call.entry().exceptions.contains(&exception))
}

#[test]
fn every_service_needs_a_connection() {
    assert_eq!(all().len(), 178);
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.open();
    for call in raising(Exception::NotConnected) {
        assert_eq!(w.refused(fed, call), Exception::NotConnected);
    }
}

#[test]
fn most_services_need_a_joined_federate() {
    let mut w = World::empty(Limits::default(), MODEL);
    let fed = w.connect();
    for call in raising(Exception::FederateNotExecutionMember) {
        assert_eq!(w.refused(fed, call), Exception::FederateNotExecutionMember);
    }
}

/// The replies to empty arguments: `done` or an exception, and the services that reply so to a joined federate.
const REPLIES: &[(&str, &str)] = &[
    (
        "done",
        "ListFederationExecutions ListFederationExecutionMembers \
         RegisterFederationSynchronizationPoint RegisterFederationSynchronizationPointWithSet \
         SynchronizationPointAchieved QueryFederationSaveStatus QueryFederationRestoreStatus \
         ReleaseMultipleObjectInstanceNames EnableTimeConstrained EnableAsynchronousDelivery \
         QueryGALT QueryLogicalTime QueryLITS CreateRegion CommitRegionModifications \
         GetObjectClassRelevanceAdvisorySwitch SetObjectClassRelevanceAdvisorySwitch \
         GetAttributeRelevanceAdvisorySwitch SetAttributeRelevanceAdvisorySwitch \
         GetAttributeScopeAdvisorySwitch SetAttributeScopeAdvisorySwitch \
         GetInteractionRelevanceAdvisorySwitch SetInteractionRelevanceAdvisorySwitch \
         GetConveyRegionDesignatorSetsSwitch SetConveyRegionDesignatorSetsSwitch \
         GetAutomaticResignDirective GetServiceReportingSwitch SetServiceReportingSwitch \
         GetExceptionReportingSwitch SetExceptionReportingSwitch \
         GetSendServiceReportsToFileSwitch SetSendServiceReportsToFileSwitch \
         GetAutoProvideSwitch GetDelaySubscriptionEvaluationSwitch \
         GetAdvisoriesUseKnownClassSwitch GetAllowRelaxedDDMSwitch GetNonRegulatedGrantSwitch",
    ),
    (
        "AlreadyConnected",
        "Connect ConnectWithCredentials ConnectWithConfiguration \
         ConnectWithConfigurationAndCredentials",
    ),
    ("AsynchronousDeliveryAlreadyDisabled", "DisableAsynchronousDelivery"),
    (
        "FederateAlreadyExecutionMember",
        "JoinFederationExecution JoinFederationExecutionWithModules \
         JoinFederationExecutionWithName JoinFederationExecutionWithNameAndModules",
    ),
    ("FederateHasNotBegunSave", "FederateSaveComplete FederateSaveNotComplete"),
    ("FederateIsExecutionMember", "Disconnect"),
    ("FederationExecutionDoesNotExist", "DestroyFederationExecution"),
    ("IllegalName", "ReserveObjectInstanceName"),
    (
        "InteractionClassNotDefined",
        "PublishInteractionClass UnpublishInteractionClass SubscribeInteractionClass \
         SubscribeInteractionClassPassively UnsubscribeInteractionClass SendInteraction \
         SendInteractionWithTime SendDirectedInteraction SendDirectedInteractionWithTime \
         QueryInteractionTransportationType SubscribeInteractionClassWithRegions \
         UnsubscribeInteractionClassWithRegions SendInteractionWithRegions \
         SendInteractionWithRegionsAndTime",
    ),
    ("InvalidDimensionHandle", "GetDimensionName GetDimensionUpperBound"),
    ("InvalidFederateHandle", "GetFederateName NormalizeFederateHandle"),
    (
        "InvalidInteractionClassHandle",
        "GetInteractionClassName GetParameterHandle GetParameterName \
         GetAvailableDimensionsForInteractionClass NormalizeInteractionClassHandle",
    ),
    (
        "InvalidLogicalTime",
        "TimeAdvanceRequest TimeAdvanceRequestAvailable NextMessageRequest \
         NextMessageRequestAvailable FlushQueueRequest",
    ),
    ("InvalidLookahead", "EnableTimeRegulation"),
    (
        "InvalidObjectClassHandle",
        "GetObjectClassName GetAttributeHandle GetAttributeName \
         GetAvailableDimensionsForObjectClass NormalizeObjectClassHandle",
    ),
    ("InvalidObjectInstanceHandle", "NormalizeObjectInstanceHandle"),
    ("InvalidOrderName", "GetOrderType"),
    ("InvalidOrderType", "GetOrderName"),
    ("InvalidRegion", "DeleteRegion GetDimensionHandleSet GetRangeBounds SetRangeBounds"),
    ("InvalidResignAction", "ResignFederationExecution SetAutomaticResignDirective"),
    ("InvalidServiceGroup", "NormalizeServiceGroup"),
    ("InvalidTransportationName", "GetTransportationTypeHandle"),
    (
        "InvalidTransportationTypeHandle",
        "RequestAttributeTransportationTypeChange ChangeDefaultAttributeTransportationType \
         RequestInteractionTransportationTypeChange GetTransportationTypeName",
    ),
    ("InvalidUpdateRateDesignator", "GetUpdateRateValue"),
    (
        "NameNotFound",
        "GetFederateHandle GetObjectClassHandle GetInteractionClassHandle GetDimensionHandle",
    ),
    ("NameSetWasEmpty", "ReserveMultipleObjectInstanceNames"),
    (
        "ObjectClassNotDefined",
        "PublishObjectClassAttributes UnpublishObjectClass UnpublishObjectClassAttributes \
         PublishObjectClassDirectedInteractions UnpublishObjectClassDirectedInteractions \
         UnpublishObjectClassDirectedInteractionsWithSet SubscribeObjectClassAttributes \
         SubscribeObjectClassAttributesWithRate SubscribeObjectClassAttributesPassively \
         SubscribeObjectClassAttributesPassivelyWithRate UnsubscribeObjectClass \
         UnsubscribeObjectClassAttributes SubscribeObjectClassDirectedInteractions \
         SubscribeObjectClassDirectedInteractionsUniversally \
         UnsubscribeObjectClassDirectedInteractions \
         UnsubscribeObjectClassDirectedInteractionsWithSet RegisterObjectInstance \
         RegisterObjectInstanceWithName RequestClassAttributeValueUpdate \
         RegisterObjectInstanceWithRegions RegisterObjectInstanceWithNameAndRegions \
         SubscribeObjectClassAttributesWithRegions \
         SubscribeObjectClassAttributesWithRegionsAndRate \
         UnsubscribeObjectClassAttributesWithRegions RequestAttributeValueUpdateWithRegions",
    ),
    ("ObjectInstanceNameNotReserved", "ReleaseObjectInstanceName"),
    (
        "ObjectInstanceNotKnown",
        "UpdateAttributeValues UpdateAttributeValuesWithTime DeleteObjectInstance \
         DeleteObjectInstanceWithTime LocalDeleteObjectInstance \
         RequestInstanceAttributeValueUpdate QueryAttributeTransportationType \
         UnconditionalAttributeOwnershipDivestiture NegotiatedAttributeOwnershipDivestiture \
         ConfirmDivestiture AttributeOwnershipAcquisition \
         AttributeOwnershipAcquisitionIfAvailable AttributeOwnershipReleaseDenied \
         AttributeOwnershipDivestitureIfWanted CancelNegotiatedAttributeOwnershipDivestiture \
         CancelAttributeOwnershipAcquisition QueryAttributeOwnership \
         IsAttributeOwnedByFederate AssociateRegionsForUpdates UnassociateRegionsForUpdates \
         GetKnownObjectClassHandle GetObjectInstanceHandle GetObjectInstanceName \
         GetUpdateRateValueForAttribute",
    ),
    (
        "RTIinternalError",
        "CreateFederationExecution CreateFederationExecutionWithTime \
         CreateFederationExecutionWithModules CreateFederationExecutionWithModulesAndTime \
         CreateFederationExecutionWithMIM CreateFederationExecutionWithMIMAndTime \
         RequestFederationSave RequestFederationSaveWithTime RequestFederationRestore \
         ChangeAttributeOrderType ChangeDefaultAttributeOrderType ChangeInteractionOrderType",
    ),
    ("RestoreNotInProgress", "AbortFederationRestore"),
    ("RestoreNotRequested", "FederateRestoreComplete FederateRestoreNotComplete"),
    ("SaveNotInProgress", "AbortFederationSave"),
    ("SaveNotInitiated", "FederateSaveBegun"),
    ("TimeConstrainedIsNotEnabled", "DisableTimeConstrained"),
    ("TimeRegulationIsNotEnabled", "DisableTimeRegulation ModifyLookahead QueryLookahead Retract"),
];

#[test]
fn every_service_replies_to_empty_arguments_as_listed() {
    let mut w = World::new();
    let listed = |(reply, services): &(&'static str, &'static str)| {
        let reply = *reply;
        services.split(' ').map(move |service| (reply, service))
    };
    let expected: BTreeSet<(&str, &str)> = REPLIES.iter().flat_map(listed).collect();
    let mut replies = BTreeSet::new();
    for (number, call) in (0..).zip(all()) {
        let fed = w.federate(&format!("federate {number}"));
        let name = call.entry().name;
        let reply = w.call(fed, call).map_or_else(|refusal| refusal.exception.name(), |_| "done");
        replies.insert((reply, name));
    }
    assert_eq!(replies, expected);
}

/// Makes every call that raises this exception, which must come.
fn all_raise(w: &mut World, joined: Fed, exception: Exception) {
    let connected = w.connect();
    for mut call in raising(exception) {
        use FederationCall as C;
        let caller = match &mut call {
            Call::Federation(
                C::JoinFederationExecution { federation_name, .. }
                | C::JoinFederationExecutionWithModules { federation_name, .. }
                | C::JoinFederationExecutionWithName { federation_name, .. }
                | C::JoinFederationExecutionWithNameAndModules { federation_name, .. },
            ) => {
                *federation_name = YARD.into();
                connected
            }
            _ => joined,
        };
        assert_eq!(w.refused(caller, call), exception);
    }
}

#[test]
fn services_are_refused_during_a_save_as_their_lists_say() {
    let mut w = World::saving();
    let fed = w.federate("a");
    w.ok(fed, FederationCall::RequestFederationSave { label: "first".into() });
    all_raise(&mut w, fed, Exception::SaveInProgress);
    w.ok(fed, FederationCall::FederateSaveBegun);
    all_raise(&mut w, fed, Exception::SaveInProgress);
}

#[test]
fn services_are_refused_during_a_restore_as_their_lists_say() {
    let mut w = World::saving();
    let fed = w.federate("a");
    w.ok(fed, FederationCall::RequestFederationSave { label: "first".into() });
    w.ok(fed, FederationCall::FederateSaveBegun);
    w.ok(fed, FederationCall::FederateSaveComplete);
    w.ok(fed, FederationCall::RequestFederationRestore { label: "first".into() });
    all_raise(&mut w, fed, Exception::RestoreInProgress);
}
