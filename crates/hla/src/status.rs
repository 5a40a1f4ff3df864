//! Status and failure reasons of saving, restoring, synchronizing and connecting.

use crate::word::words;

words! {
    /// A federate's progress with a save (clause 4.26).
    SaveStatus {
        /// No save is in progress.
        NoSaveInProgress = 0 "NO_SAVE_IN_PROGRESS",
        /// It was asked to save.
        FederateInstructedToSave = 1 "FEDERATE_INSTRUCTED_TO_SAVE",
        /// It is saving.
        FederateSaving = 2 "FEDERATE_SAVING",
        /// It has saved and waits for other federates.
        FederateWaitingForFederationToSave = 3 "FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE",
    }
}

words! {
    /// A federate's progress with a restore (clause 4.35).
    RestoreStatus {
        /// No restore is in progress.
        NoRestoreInProgress = 0 "NO_RESTORE_IN_PROGRESS",
        /// It has requested a restore and has no reply yet.
        FederateRestoreRequestPending = 1 "FEDERATE_RESTORE_REQUEST_PENDING",
        /// A restore was granted and has not begun.
        FederateWaitingForRestoreToBegin = 2 "FEDERATE_WAITING_FOR_RESTORE_TO_BEGIN",
        /// A restore has begun.
        FederatePreparedToRestore = 3 "FEDERATE_PREPARED_TO_RESTORE",
        /// It is restoring.
        FederateRestoring = 4 "FEDERATE_RESTORING",
        /// It has restored and waits for other federates.
        FederateWaitingForFederationToRestore = 5 "FEDERATE_WAITING_FOR_FEDERATION_TO_RESTORE",
    }
}

words! {
    /// Why a federation could not be saved (clause 4.23).
    SaveFailureReason {
        /// The RTI does not support it.
        RtiUnableToSave = 0 "RTI_UNABLE_TO_SAVE",
        /// A federate reported a failure.
        FederateReportedFailureDuringSave = 1 "FEDERATE_REPORTED_FAILURE_DURING_SAVE",
        /// A federate resigned.
        FederateResignedDuringSave = 2 "FEDERATE_RESIGNED_DURING_SAVE",
        /// The RTI detected an error.
        RtiDetectedFailureDuringSave = 3 "RTI_DETECTED_FAILURE_DURING_SAVE",
        /// The requested time has passed for a federate.
        SaveTimeCannotBeHonored = 4 "SAVE_TIME_CANNOT_BE_HONORED",
        /// A federate aborted it.
        SaveAborted = 5 "SAVE_ABORTED",
    }
}

words! {
    /// Why a federation could not be restored (clause 4.32).
    RestoreFailureReason {
        /// The RTI does not support it.
        RtiUnableToRestore = 0 "RTI_UNABLE_TO_RESTORE",
        /// A federate reported a failure.
        FederateReportedFailureDuringRestore = 1 "FEDERATE_REPORTED_FAILURE_DURING_RESTORE",
        /// A federate resigned.
        FederateResignedDuringRestore = 2 "FEDERATE_RESIGNED_DURING_RESTORE",
        /// The RTI detected an error.
        RtiDetectedFailureDuringRestore = 3 "RTI_DETECTED_FAILURE_DURING_RESTORE",
        /// A federate aborted it.
        RestoreAborted = 4 "RESTORE_ABORTED",
    }
}

words! {
    /// Why a synchronization point was not registered (clause 4.15).
    SynchronizationPointFailureReason {
        /// The label is in use.
        SynchronizationPointLabelNotUnique = 0 "SYNCHRONIZATION_POINT_LABEL_NOT_UNIQUE",
        /// A federate of the set is not joined.
        SynchronizationSetMemberNotJoined = 1 "SYNCHRONIZATION_SET_MEMBER_NOT_JOINED",
    }
}

words! {
    /// The result of a connection's additional settings (clause 4.2).
    AdditionalSettingsResultCode {
        /// They were ignored.
        SettingsIgnored = 0 "SETTINGS_IGNORED",
        /// They could not be parsed.
        SettingsFailedToParse = 1 "SETTINGS_FAILED_TO_PARSE",
        /// They are in effect.
        SettingsApplied = 2 "SETTINGS_APPLIED",
    }
}

words! {
    /// How a client delivers callbacks (clause 4.2). It is local to the client and never sent.
    CallbackModel {
        /// When the federate asks for them.
        Evoked = 0 "EVOKED",
        /// On arrival, on a thread of the client.
        Immediate = 1 "IMMEDIATE",
    }
}
