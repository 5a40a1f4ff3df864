//! Federation restores (clauses 4.27 to 4.35).

use hemiola_hla::data::FederateRestoreStatus;
use hemiola_hla::status::{RestoreFailureReason, RestoreStatus};
use hemiola_hla::{Callback, Exception, FederateHandle, Reply};

use super::Answer;
use super::save::can_store;
use crate::federation::Federation;
use crate::saving;

/// Clause 4.27. The result is one of the callbacks of clause 4.28.
pub(super) fn request_federation_restore(
    federation: &mut Federation,
    me: FederateHandle,
    label: String,
) -> Answer {
    can_store(federation, &label)?;
    saving::request_restore(federation, me, label);
    Ok(Reply::Done)
}

/// Clause 4.31 with success.
pub(super) fn federate_restore_complete(federation: &mut Federation, me: FederateHandle) -> Answer {
    let from = RestoreStatus::FederateRestoring;
    let to = RestoreStatus::FederateWaitingForFederationToRestore;
    if federation.saving.change_restore_status(me, from, to) {
        Ok(Reply::Done)
    } else {
        Err(Exception::RestoreNotRequested.into())
    }
}

/// Clause 4.31 without success.
pub(super) fn federate_restore_not_complete(
    federation: &mut Federation,
    me: FederateHandle,
) -> Answer {
    federate_restore_complete(federation, me)?;
    let reason = RestoreFailureReason::FederateReportedFailureDuringRestore;
    saving::fail_restore(federation, reason);
    Ok(Reply::Done)
}

/// Clause 4.33.
pub(super) fn abort_federation_restore(federation: &mut Federation) -> Answer {
    if !federation.saving.is_restoring() {
        return Err(Exception::RestoreNotInProgress.into());
    }
    saving::fail_restore(federation, RestoreFailureReason::RestoreAborted);
    Ok(Reply::Done)
}

/// Clause 4.34. The result is the callback of clause 4.35.
pub(super) fn query_federation_restore_status(
    federation: &mut Federation,
    me: FederateHandle,
) -> Answer {
    let staying = federation.federates().filter(|(_, one)| one.is_staying());
    let response = staying.map(|(before, _)| {
        let (after, status) = federation.saving.restore_status(before);
        FederateRestoreStatus { before, after, status }
    });
    let response = response.collect();
    federation.send_callback(me, Callback::FederationRestoreStatusResponse { response });
    Ok(Reply::Done)
}
