//! Clause 4, federation management. Connecting, joining and resigning are with [`Federate`] itself.

use std::path::Path;

use hemiola_hla::call::FederationCall;
use hemiola_hla::data::FomModule;
use hemiola_hla::{Data, FederateHandle, LogicalTime, TimeImplementation};

use super::{list, services};
use crate::error::Error;
use crate::federate::Federate;

impl Federate {
    /// The module of an object model in a file here, as the services that take one want it. The RTI gets its content.
    ///
    /// # Errors
    /// [`Error::Module`]: it cannot be read.
    pub fn fom_module(path: impl AsRef<Path>) -> Result<FomModule, Error> {
        let path = path.as_ref();
        let content =
            std::fs::read(path).map_err(|error| Error::Module { path: path.to_owned(), error })?;
        let name = path.file_name().unwrap_or(path.as_os_str());
        Ok(FomModule::File { name: name.to_string_lossy().into_owned(), content: content.into() })
    }
}

services! {
    "4.5" create_federation_execution(
        federation_name: &str, fom_modules: &[FomModule], time: TimeImplementation,
    ) = FederationCall::CreateFederationExecutionWithModulesAndTime {
        federation_name: federation_name.to_owned(),
        fom_modules: list(fom_modules),
        logical_time_implementation_name: time.name().to_owned(),
    };
    "4.5" create_federation_execution_with_mim(
        federation_name: &str, fom_modules: &[FomModule], mim_module: FomModule, time: TimeImplementation,
    ) = FederationCall::CreateFederationExecutionWithMIMAndTime {
        federation_name: federation_name.to_owned(),
        fom_modules: list(fom_modules),
        mim_module,
        logical_time_implementation_name: time.name().to_owned(),
    };
    "4.6" destroy_federation_execution(federation_name: &str)
        = FederationCall::DestroyFederationExecution { federation_name: federation_name.to_owned() };
    "4.7" list_federation_executions() = FederationCall::ListFederationExecutions;
    "4.9" list_federation_execution_members(federation_name: &str)
        = FederationCall::ListFederationExecutionMembers { federation_name: federation_name.to_owned() };
    "4.14" register_federation_synchronization_point(label: &str, user_supplied_tag: impl Into<Data>)
        = FederationCall::RegisterFederationSynchronizationPoint {
            synchronization_point_label: label.to_owned(),
            user_supplied_tag: user_supplied_tag.into(),
        };
    "4.14" register_federation_synchronization_point_with_set(
        label: &str, user_supplied_tag: impl Into<Data>, synchronization_set: &[FederateHandle],
    ) = FederationCall::RegisterFederationSynchronizationPointWithSet {
        synchronization_point_label: label.to_owned(),
        user_supplied_tag: user_supplied_tag.into(),
        synchronization_set: list(synchronization_set),
    };
    "4.17" synchronization_point_achieved(label: &str, successfully: bool)
        = FederationCall::SynchronizationPointAchieved {
            synchronization_point_label: label.to_owned(),
            successfully,
        };
    "4.19" request_federation_save(label: &str)
        = FederationCall::RequestFederationSave { label: label.to_owned() };
    "4.19" request_federation_save_with_time(label: &str, time: LogicalTime)
        = FederationCall::RequestFederationSaveWithTime { label: label.to_owned(), time: time.into() };
    "4.21" federate_save_begun() = FederationCall::FederateSaveBegun;
    "4.22" federate_save_complete() = FederationCall::FederateSaveComplete;
    "4.22" federate_save_not_complete() = FederationCall::FederateSaveNotComplete;
    "4.24" abort_federation_save() = FederationCall::AbortFederationSave;
    "4.25" query_federation_save_status() = FederationCall::QueryFederationSaveStatus;
    "4.27" request_federation_restore(label: &str)
        = FederationCall::RequestFederationRestore { label: label.to_owned() };
    "4.31" federate_restore_complete() = FederationCall::FederateRestoreComplete;
    "4.31" federate_restore_not_complete() = FederationCall::FederateRestoreNotComplete;
    "4.33" abort_federation_restore() = FederationCall::AbortFederationRestore;
    "4.34" query_federation_restore_status() = FederationCall::QueryFederationRestoreStatus;
}
