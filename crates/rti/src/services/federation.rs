//! Clause 4, federation management.

mod connection;
mod execution;
mod membership;
mod resignation;
mod restore;
mod save;
mod synchronization;

use std::ops::ControlFlow;

use hemiola_hla::FederateHandle;
use hemiola_hla::call::FederationCall;

use super::Answer;
use crate::federation::Federation;
use crate::input::SessionId;
use crate::kernel::Kernel;
use connection::{connect, disconnect};
use execution::{
    create_federation_execution, destroy_federation_execution, list_federation_execution_members,
    list_federation_executions,
};
use membership::join_federation_execution;
use resignation::resign_federation_execution;
use restore::{
    abort_federation_restore, federate_restore_complete, federate_restore_not_complete,
    query_federation_restore_status, request_federation_restore,
};
use save::{
    abort_federation_save, federate_save_begun, federate_save_complete, federate_save_not_complete,
    query_federation_save_status, request_federation_save, request_federation_save_with_time,
};
use synchronization::{register_federation_synchronization_point, synchronization_point_achieved};

pub(crate) use execution::{does_not_exist, may_create};
pub(crate) use resignation::{Leave, evict, resign_for, resign_lost};
pub(crate) use synchronization::SynchronizationPoint;

/// Dispatches a call that needs no joined federate or ends its membership. Returns other calls.
pub(crate) fn session_call(
    kernel: &mut Kernel,
    session: SessionId,
    call: FederationCall,
) -> ControlFlow<Answer, FederationCall> {
    use FederationCall as C;
    ControlFlow::Break(match call {
        C::Connect => connect(kernel, session, None, None),
        C::ConnectWithCredentials { credentials } => {
            connect(kernel, session, None, Some(&credentials))
        }
        C::ConnectWithConfiguration { rti_configuration } => {
            connect(kernel, session, Some(&rti_configuration), None)
        }
        C::ConnectWithConfigurationAndCredentials { rti_configuration, credentials } => {
            connect(kernel, session, Some(&rti_configuration), Some(&credentials))
        }
        C::Disconnect => disconnect(kernel, session),
        C::CreateFederationExecution { federation_name: name, fom_module } => {
            create_federation_execution(kernel, session, name, &[fom_module], None, "")
        }
        C::CreateFederationExecutionWithTime {
            federation_name: name,
            fom_module,
            logical_time_implementation_name: time,
        } => create_federation_execution(kernel, session, name, &[fom_module], None, &time),
        C::CreateFederationExecutionWithModules { federation_name: name, fom_modules } => {
            create_federation_execution(kernel, session, name, &fom_modules, None, "")
        }
        C::CreateFederationExecutionWithModulesAndTime {
            federation_name: name,
            fom_modules,
            logical_time_implementation_name: time,
        } => create_federation_execution(kernel, session, name, &fom_modules, None, &time),
        C::CreateFederationExecutionWithMIM { federation_name: name, fom_modules, mim_module } => {
            let mim = Some(&mim_module);
            create_federation_execution(kernel, session, name, &fom_modules, mim, "")
        }
        C::CreateFederationExecutionWithMIMAndTime {
            federation_name: name,
            fom_modules,
            mim_module,
            logical_time_implementation_name: time,
        } => {
            let mim = Some(&mim_module);
            create_federation_execution(kernel, session, name, &fom_modules, mim, &time)
        }
        C::DestroyFederationExecution { federation_name } => {
            destroy_federation_execution(kernel, session, &federation_name)
        }
        C::ListFederationExecutions => list_federation_executions(kernel, session),
        C::ListFederationExecutionMembers { federation_name } => {
            list_federation_execution_members(kernel, session, federation_name)
        }
        C::JoinFederationExecution { federate_type, federation_name } => {
            join_federation_execution(kernel, session, None, federate_type, &federation_name, &[])
        }
        C::JoinFederationExecutionWithModules {
            federate_type,
            federation_name,
            additional_fom_modules: modules,
        } => join_federation_execution(
            kernel,
            session,
            None,
            federate_type,
            &federation_name,
            &modules,
        ),
        C::JoinFederationExecutionWithName { federate_name, federate_type, federation_name } => {
            let name = Some(federate_name);
            join_federation_execution(kernel, session, name, federate_type, &federation_name, &[])
        }
        C::JoinFederationExecutionWithNameAndModules {
            federate_name,
            federate_type,
            federation_name,
            additional_fom_modules: modules,
        } => {
            let name = Some(federate_name);
            join_federation_execution(
                kernel,
                session,
                name,
                federate_type,
                &federation_name,
                &modules,
            )
        }
        C::ResignFederationExecution { resign_action } => {
            resign_federation_execution(kernel, session, resign_action)
        }
        call => return ControlFlow::Continue(call),
    })
}

/// Dispatches a call of a joined federate.
pub(crate) fn call(
    federation: &mut Federation,
    me: FederateHandle,
    call: FederationCall,
) -> Answer {
    use FederationCall as C;
    match call {
        C::RegisterFederationSynchronizationPoint {
            synchronization_point_label: label,
            user_supplied_tag: tag,
        } => register_federation_synchronization_point(federation, me, label, tag, &[]),
        C::RegisterFederationSynchronizationPointWithSet {
            synchronization_point_label: label,
            user_supplied_tag: tag,
            synchronization_set: set,
        } => register_federation_synchronization_point(federation, me, label, tag, &set),
        C::SynchronizationPointAchieved { synchronization_point_label: label, successfully } => {
            synchronization_point_achieved(federation, me, label, successfully)
        }
        C::RequestFederationSave { label } => request_federation_save(federation, label),
        C::RequestFederationSaveWithTime { label, time } => {
            request_federation_save_with_time(federation, me, label, time)
        }
        C::FederateSaveBegun => federate_save_begun(federation, me),
        C::FederateSaveComplete => federate_save_complete(federation, me),
        C::FederateSaveNotComplete => federate_save_not_complete(federation, me),
        C::AbortFederationSave => abort_federation_save(federation),
        C::QueryFederationSaveStatus => query_federation_save_status(federation, me),
        C::RequestFederationRestore { label } => request_federation_restore(federation, me, label),
        C::FederateRestoreComplete => federate_restore_complete(federation, me),
        C::FederateRestoreNotComplete => federate_restore_not_complete(federation, me),
        C::AbortFederationRestore => abort_federation_restore(federation),
        C::QueryFederationRestoreStatus => query_federation_restore_status(federation, me),
        call => unreachable!("{} needs no joined federate", call.entry().name),
    }
}
