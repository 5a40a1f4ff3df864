//! Calls of clause 4, federation management.

use super::calls;
use crate::data::{Credentials, Data, FomModule, RtiConfiguration};
use crate::handle::FederateHandle;
use crate::resign::ResignAction;
use crate::time::EncodedTime;

calls! {
    /// A call of clause 4, federation management: federations, connections, membership, synchronization, saving and
    /// restoring.
    FederationCall, federation_calls

    1 "4.2" Connect "connect" => Configured [
        Unauthorized ConnectionFailed UnsupportedCallbackModel AlreadyConnected
        CallNotAllowedFromWithinCallback RTIinternalError
    ];
    2 "4.2" ConnectWithCredentials "connect" { credentials: Credentials } => Configured [
        Unauthorized InvalidCredentials ConnectionFailed UnsupportedCallbackModel AlreadyConnected
        CallNotAllowedFromWithinCallback RTIinternalError
    ];
    3 "4.2" ConnectWithConfiguration "connect" { rti_configuration: RtiConfiguration } => Configured [
        Unauthorized ConnectionFailed UnsupportedCallbackModel AlreadyConnected
        CallNotAllowedFromWithinCallback RTIinternalError
    ];
    4 "4.2" ConnectWithConfigurationAndCredentials "connect" {
        rti_configuration: RtiConfiguration, credentials: Credentials,
    } => Configured [
        Unauthorized InvalidCredentials ConnectionFailed UnsupportedCallbackModel AlreadyConnected
        CallNotAllowedFromWithinCallback RTIinternalError
    ];
    5 "4.3" Disconnect "disconnect"
        => Done [FederateIsExecutionMember CallNotAllowedFromWithinCallback RTIinternalError];
    6 "4.5" CreateFederationExecution "createFederationExecution" {
        federation_name: String, fom_module: FomModule,
    } => Done [
        CouldNotCreateLogicalTimeFactory InconsistentFOM InvalidFOM ErrorReadingFOM CouldNotOpenFOM InvalidMIM
        ErrorReadingMIM CouldNotOpenMIM DesignatorIsHLAstandardMIM FederationExecutionAlreadyExists
        Unauthorized ..Connected
    ];
    7 "4.5" CreateFederationExecutionWithTime "createFederationExecution" {
        federation_name: String, fom_module: FomModule, logical_time_implementation_name: String,
    } => Done [
        CouldNotCreateLogicalTimeFactory InconsistentFOM InvalidFOM ErrorReadingFOM CouldNotOpenFOM InvalidMIM
        ErrorReadingMIM CouldNotOpenMIM DesignatorIsHLAstandardMIM FederationExecutionAlreadyExists
        Unauthorized ..Connected
    ];
    8 "4.5" CreateFederationExecutionWithModules "createFederationExecution" {
        federation_name: String, fom_modules: Vec<FomModule>,
    } => Done [
        CouldNotCreateLogicalTimeFactory InconsistentFOM InvalidFOM ErrorReadingFOM CouldNotOpenFOM
        FederationExecutionAlreadyExists Unauthorized ..Connected
    ];
    9 "4.5" CreateFederationExecutionWithModulesAndTime "createFederationExecution" {
        federation_name: String, fom_modules: Vec<FomModule>, logical_time_implementation_name: String,
    } => Done [
        CouldNotCreateLogicalTimeFactory InconsistentFOM InvalidFOM ErrorReadingFOM CouldNotOpenFOM
        FederationExecutionAlreadyExists Unauthorized ..Connected
    ];
    10 "4.5" CreateFederationExecutionWithMIM "createFederationExecutionWithMIM" {
        federation_name: String, fom_modules: Vec<FomModule>, mim_module: FomModule,
    } => Done [
        InconsistentFOM InvalidFOM ErrorReadingFOM CouldNotOpenFOM InvalidMIM ErrorReadingMIM CouldNotOpenMIM
        DesignatorIsHLAstandardMIM FederationExecutionAlreadyExists Unauthorized ..Connected
    ];
    11 "4.5" CreateFederationExecutionWithMIMAndTime "createFederationExecutionWithMIM" {
        federation_name: String, fom_modules: Vec<FomModule>, mim_module: FomModule,
        logical_time_implementation_name: String,
    } => Done [
        CouldNotCreateLogicalTimeFactory InconsistentFOM InvalidFOM ErrorReadingFOM CouldNotOpenFOM InvalidMIM
        ErrorReadingMIM CouldNotOpenMIM DesignatorIsHLAstandardMIM FederationExecutionAlreadyExists Unauthorized
        ..Connected
    ];
    12 "4.6" DestroyFederationExecution "destroyFederationExecution" { federation_name: String }
        => Done [FederatesCurrentlyJoined FederationExecutionDoesNotExist Unauthorized ..Connected];
    13 "4.7" ListFederationExecutions "listFederationExecutions" => Done [..Connected];
    14 "4.9" ListFederationExecutionMembers "listFederationExecutionMembers" { federation_name: String }
        => Done [..Connected];
    15 "4.11" JoinFederationExecution "joinFederationExecution" {
        federate_type: String, federation_name: String,
    } => Joined [
        CouldNotCreateLogicalTimeFactory FederationExecutionDoesNotExist InconsistentFOM InvalidFOM
        ErrorReadingFOM CouldNotOpenFOM SaveInProgress RestoreInProgress FederateAlreadyExecutionMember
        Unauthorized NotConnected CallNotAllowedFromWithinCallback RTIinternalError
    ];
    16 "4.11" JoinFederationExecutionWithModules "joinFederationExecution" {
        federate_type: String, federation_name: String, additional_fom_modules: Vec<FomModule>,
    } => Joined [
        CouldNotCreateLogicalTimeFactory FederationExecutionDoesNotExist InconsistentFOM InvalidFOM
        ErrorReadingFOM CouldNotOpenFOM SaveInProgress RestoreInProgress FederateAlreadyExecutionMember
        Unauthorized NotConnected CallNotAllowedFromWithinCallback RTIinternalError
    ];
    17 "4.11" JoinFederationExecutionWithName "joinFederationExecution" {
        federate_name: String, federate_type: String, federation_name: String,
    } => Joined [
        CouldNotCreateLogicalTimeFactory FederateNameAlreadyInUse FederationExecutionDoesNotExist
        InconsistentFOM InvalidFOM ErrorReadingFOM CouldNotOpenFOM SaveInProgress RestoreInProgress
        FederateAlreadyExecutionMember Unauthorized NotConnected CallNotAllowedFromWithinCallback
        RTIinternalError
    ];
    18 "4.11" JoinFederationExecutionWithNameAndModules "joinFederationExecution" {
        federate_name: String, federate_type: String, federation_name: String,
        additional_fom_modules: Vec<FomModule>,
    } => Joined [
        CouldNotCreateLogicalTimeFactory FederateNameAlreadyInUse FederationExecutionDoesNotExist
        InconsistentFOM InvalidFOM ErrorReadingFOM CouldNotOpenFOM SaveInProgress RestoreInProgress
        FederateAlreadyExecutionMember Unauthorized NotConnected CallNotAllowedFromWithinCallback
        RTIinternalError
    ];
    19 "4.12" ResignFederationExecution "resignFederationExecution" { resign_action: Option<ResignAction> } => Done [
        InvalidResignAction OwnershipAcquisitionPending FederateOwnsAttributes FederateNotExecutionMember
        NotConnected CallNotAllowedFromWithinCallback RTIinternalError
    ];
    20 "4.14" RegisterFederationSynchronizationPoint "registerFederationSynchronizationPoint" {
        synchronization_point_label: String, user_supplied_tag: Data,
    } => Done [..Active];
    21 "4.14" RegisterFederationSynchronizationPointWithSet "registerFederationSynchronizationPoint" {
        synchronization_point_label: String, user_supplied_tag: Data,
        synchronization_set: Vec<FederateHandle>,
    } => Done [InvalidFederateHandle ..Active];
    22 "4.17" SynchronizationPointAchieved "synchronizationPointAchieved" {
        synchronization_point_label: String, successfully: bool,
    } => Done [SynchronizationPointLabelNotAnnounced ..Active];
    23 "4.19" RequestFederationSave "requestFederationSave" { label: String } => Done [..Active];
    24 "4.19" RequestFederationSaveWithTime "requestFederationSave" { label: String, time: EncodedTime }
        => Done [LogicalTimeAlreadyPassed InvalidLogicalTime FederateUnableToUseTime ..Active];
    25 "4.21" FederateSaveBegun "federateSaveBegun" => Done [SaveNotInitiated RestoreInProgress ..Joined];
    26 "4.22" FederateSaveComplete "federateSaveComplete"
        => Done [FederateHasNotBegunSave RestoreInProgress ..Joined];
    27 "4.22" FederateSaveNotComplete "federateSaveNotComplete"
        => Done [FederateHasNotBegunSave RestoreInProgress ..Joined];
    28 "4.24" AbortFederationSave "abortFederationSave" => Done [SaveNotInProgress ..Joined];
    29 "4.25" QueryFederationSaveStatus "queryFederationSaveStatus" => Done [RestoreInProgress ..Joined];
    30 "4.27" RequestFederationRestore "requestFederationRestore" { label: String } => Done [..Active];
    31 "4.31" FederateRestoreComplete "federateRestoreComplete"
        => Done [RestoreNotRequested SaveInProgress ..Joined];
    32 "4.31" FederateRestoreNotComplete "federateRestoreNotComplete"
        => Done [RestoreNotRequested SaveInProgress ..Joined];
    33 "4.33" AbortFederationRestore "abortFederationRestore" => Done [RestoreNotInProgress ..Joined];
    34 "4.34" QueryFederationRestoreStatus "queryFederationRestoreStatus" => Done [SaveInProgress ..Joined];
}
