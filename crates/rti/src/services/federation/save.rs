//! Federation saves (clauses 4.19 to 4.26).

use hemiola_hla::data::FederateSaveStatus;
use hemiola_hla::status::{SaveFailureReason, SaveStatus};
use hemiola_hla::{Callback, EncodedTime, Exception, FederateHandle, Refusal, Reply};

use super::Answer;
use crate::federation::Federation;
use crate::saving;
use crate::services::beyond;

/// Checks that the RTI can store images, and the label of one.
pub(super) fn can_store(federation: &Federation, label: &str) -> Result<(), Refusal> {
    if federation.limits.image_len == 0 {
        let details = "this RTI has no place for saves: start it with --saves DIR";
        return Err(Exception::RTIinternalError.because(details));
    }
    let limit = federation.limits.name_len;
    if label.len() > limit { Err(beyond(limit, "bytes in a label")) } else { Ok(()) }
}

/// Clause 4.19 without a time.
pub(super) fn request_federation_save(federation: &mut Federation, label: String) -> Answer {
    can_store(federation, &label)?;
    saving::begin_save(federation, label, None);
    Ok(Reply::Done)
}

/// Clause 4.19 with a time: after the logical time of a time-regulating federate, and after the GALT of any other,
/// which must be defined.
pub(super) fn request_federation_save_with_time(
    federation: &mut Federation,
    me: FederateHandle,
    label: String,
    time: EncodedTime,
) -> Answer {
    can_store(federation, &label)?;
    let state = &federation.federate(me).time;
    let (regulation, now) = (state.known_regulation(), state.now());
    let galt = federation.galts().galt(me);
    let bound = match regulation {
        Some(_) => now,
        None => galt.ok_or(Exception::FederateUnableToUseTime)?.time(),
    };
    let time = time
        .decode(federation.implementation)
        .map_err(|error| Exception::InvalidLogicalTime.because(error.to_string()))?;
    if time <= bound {
        let details = format!("{time} is not after {bound}");
        return Err(Exception::LogicalTimeAlreadyPassed.because(details));
    }
    saving::schedule(federation, label, time);
    Ok(Reply::Done)
}

/// Clause 4.21.
pub(super) fn federate_save_begun(federation: &mut Federation, me: FederateHandle) -> Answer {
    let (from, to) = (SaveStatus::FederateInstructedToSave, SaveStatus::FederateSaving);
    if federation.saving.change_save_status(me, from, to) {
        Ok(Reply::Done)
    } else {
        Err(Exception::SaveNotInitiated.into())
    }
}

/// Clause 4.22 with success.
pub(super) fn federate_save_complete(federation: &mut Federation, me: FederateHandle) -> Answer {
    let (from, to) = (SaveStatus::FederateSaving, SaveStatus::FederateWaitingForFederationToSave);
    if federation.saving.change_save_status(me, from, to) {
        Ok(Reply::Done)
    } else {
        Err(Exception::FederateHasNotBegunSave.into())
    }
}

/// Clause 4.22 without success.
pub(super) fn federate_save_not_complete(
    federation: &mut Federation,
    me: FederateHandle,
) -> Answer {
    federate_save_complete(federation, me)?;
    saving::fail_save(federation, SaveFailureReason::FederateReportedFailureDuringSave);
    Ok(Reply::Done)
}

/// Clause 4.24. If all federates have saved, the storage may still receive the image; it is complete in any case.
pub(super) fn abort_federation_save(federation: &mut Federation) -> Answer {
    if !federation.saving.is_saving() {
        return Err(Exception::SaveNotInProgress.into());
    }
    saving::fail_save(federation, SaveFailureReason::SaveAborted);
    Ok(Reply::Done)
}

/// Clause 4.25. The result is the callback of clause 4.26.
pub(super) fn query_federation_save_status(
    federation: &mut Federation,
    me: FederateHandle,
) -> Answer {
    let staying = federation.federates().filter(|(_, one)| one.is_staying());
    let response = staying.map(|(federate, _)| FederateSaveStatus {
        federate,
        status: federation.saving.save_status(federate),
    });
    let response = response.collect();
    federation.send_callback(me, Callback::FederationSaveStatusResponse { response });
    Ok(Reply::Done)
}
