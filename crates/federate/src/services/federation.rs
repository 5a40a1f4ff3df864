//! Clause 4, federation management. Connecting, joining and resigning are with [`Federate`] itself.

use std::path::Path;

use hemiola_hla::call::FederationCall;
use hemiola_hla::data::FomModule;
use hemiola_hla::{Data, FederateHandle, LogicalTime, TimeImplementation};

use super::services;
use crate::error::Error;
use crate::federate::Federate;

impl Federate {
    /// Reads a module of an object model from a local file. The RTI receives its content, not its path.
    ///
    /// # Errors
    /// [`Error::Module`] if the file cannot be read.
    pub fn fom_module(path: impl AsRef<Path>) -> Result<FomModule, Error> {
        let path = path.as_ref();
        let content =
            std::fs::read(path).map_err(|error| Error::Module { path: path.to_owned(), error })?;
        let name = path.file_name().unwrap_or(path.as_os_str());
        Ok(FomModule::File { name: name.to_string_lossy().into_owned(), content: content.into() })
    }

    /// Clause 4.5: [`FederationCall::CreateFederationExecutionWithModulesAndTime`].
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn create_federation_execution(
        &mut self,
        federation_name: &str,
        fom_modules: &[FomModule],
        time: TimeImplementation,
    ) -> Result<(), Error> {
        self.ask(FederationCall::CreateFederationExecutionWithModulesAndTime {
            federation_name: federation_name.to_owned(),
            fom_modules: fom_modules.to_vec(),
            logical_time_implementation_name: time.name().to_owned(),
        })
    }

    /// Clause 4.5: [`FederationCall::CreateFederationExecutionWithMIMAndTime`].
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn create_federation_execution_with_mim(
        &mut self,
        federation_name: &str,
        fom_modules: &[FomModule],
        mim_module: FomModule,
        time: TimeImplementation,
    ) -> Result<(), Error> {
        self.ask(FederationCall::CreateFederationExecutionWithMIMAndTime {
            federation_name: federation_name.to_owned(),
            fom_modules: fom_modules.to_vec(),
            mim_module,
            logical_time_implementation_name: time.name().to_owned(),
        })
    }
}

services! {
    /// Waits for its reply, whatever the options say: whether other federates are still joined is a normal result.
    FederationCall, ask:
    "4.6" DestroyFederationExecution: destroy_federation_execution(federation_name: &str);
}

services! {
    FederationCall, send:
    "4.7" ListFederationExecutions: list_federation_executions();
    "4.9" ListFederationExecutionMembers: list_federation_execution_members(federation_name: &str);
    "4.14" RegisterFederationSynchronizationPoint: register_federation_synchronization_point(
        synchronization_point_label: &str, user_supplied_tag: impl Into<Data>,
    );
    "4.14" RegisterFederationSynchronizationPointWithSet: register_federation_synchronization_point_with_set(
        synchronization_point_label: &str, user_supplied_tag: impl Into<Data>, synchronization_set: &[FederateHandle],
    );
    "4.17" SynchronizationPointAchieved: synchronization_point_achieved(
        synchronization_point_label: &str, successfully: bool,
    );
    "4.19" RequestFederationSave: request_federation_save(label: &str);
    "4.19" RequestFederationSaveWithTime: request_federation_save_with_time(label: &str, time: LogicalTime);
    "4.21" FederateSaveBegun: federate_save_begun();
    "4.22" FederateSaveComplete: federate_save_complete();
    "4.22" FederateSaveNotComplete: federate_save_not_complete();
    "4.24" AbortFederationSave: abort_federation_save();
    "4.25" QueryFederationSaveStatus: query_federation_save_status();
    "4.27" RequestFederationRestore: request_federation_restore(label: &str);
    "4.31" FederateRestoreComplete: federate_restore_complete();
    "4.31" FederateRestoreNotComplete: federate_restore_not_complete();
    "4.33" AbortFederationRestore: abort_federation_restore();
    "4.34" QueryFederationRestoreStatus: query_federation_restore_status();
}
