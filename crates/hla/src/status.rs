//! How far saving, restoring, synchronizing and connecting came, and why they failed.

use crate::word::words;

words! {
    /// What a federate has to do with a save in progress (clause 4.26).
    SaveStatus {
        /// Nothing: there is none.
        NoSaveInProgress = 0 "NO_SAVE_IN_PROGRESS",
        /// It was told to.
        FederateInstructedToSave = 1 "FEDERATE_INSTRUCTED_TO_SAVE",
        /// It is saving.
        FederateSaving = 2 "FEDERATE_SAVING",
        /// It has saved, others have not.
        FederateWaitingForFederationToSave = 3 "FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE",
    }
}

words! {
    /// What a federate has to do with a restore in progress (clause 4.35).
    RestoreStatus {
        /// Nothing: there is none.
        NoRestoreInProgress = 0 "NO_RESTORE_IN_PROGRESS",
        /// It asked for one and has no answer.
        FederateRestoreRequestPending = 1 "FEDERATE_RESTORE_REQUEST_PENDING",
        /// A restore was granted and has not begun.
        FederateWaitingForRestoreToBegin = 2 "FEDERATE_WAITING_FOR_RESTORE_TO_BEGIN",
        /// A restore has begun.
        FederatePreparedToRestore = 3 "FEDERATE_PREPARED_TO_RESTORE",
        /// It is restoring.
        FederateRestoring = 4 "FEDERATE_RESTORING",
        /// It has restored, others have not.
        FederateWaitingForFederationToRestore = 5 "FEDERATE_WAITING_FOR_FEDERATION_TO_RESTORE",
    }
}

words! {
    /// Why a federation is not saved (clause 4.23).
    SaveFailureReason {
        /// The RTI cannot.
        RtiUnableToSave = 0 "RTI_UNABLE_TO_SAVE",
        /// A federate said it could not.
        FederateReportedFailureDuringSave = 1 "FEDERATE_REPORTED_FAILURE_DURING_SAVE",
        /// A federate resigned.
        FederateResignedDuringSave = 2 "FEDERATE_RESIGNED_DURING_SAVE",
        /// The RTI found something wrong.
        RtiDetectedFailureDuringSave = 3 "RTI_DETECTED_FAILURE_DURING_SAVE",
        /// The time asked for has passed for a federate.
        SaveTimeCannotBeHonored = 4 "SAVE_TIME_CANNOT_BE_HONORED",
        /// A federate had it aborted.
        SaveAborted = 5 "SAVE_ABORTED",
    }
}

words! {
    /// Why a federation is not restored (clause 4.32).
    RestoreFailureReason {
        /// The RTI cannot.
        RtiUnableToRestore = 0 "RTI_UNABLE_TO_RESTORE",
        /// A federate said it could not.
        FederateReportedFailureDuringRestore = 1 "FEDERATE_REPORTED_FAILURE_DURING_RESTORE",
        /// A federate resigned.
        FederateResignedDuringRestore = 2 "FEDERATE_RESIGNED_DURING_RESTORE",
        /// The RTI found something wrong.
        RtiDetectedFailureDuringRestore = 3 "RTI_DETECTED_FAILURE_DURING_RESTORE",
        /// A federate had it aborted.
        RestoreAborted = 4 "RESTORE_ABORTED",
    }
}

words! {
    /// Why a synchronization point is not registered (clause 4.15).
    SynchronizationPointFailureReason {
        /// The label is in use.
        SynchronizationPointLabelNotUnique = 0 "SYNCHRONIZATION_POINT_LABEL_NOT_UNIQUE",
        /// A federate of the set has not joined.
        SynchronizationSetMemberNotJoined = 1 "SYNCHRONIZATION_SET_MEMBER_NOT_JOINED",
    }
}

words! {
    /// What became of the additional settings a federate connected with (clause 4.2).
    AdditionalSettingsResultCode {
        /// They were not used.
        SettingsIgnored = 0 "SETTINGS_IGNORED",
        /// They were not understood.
        SettingsFailedToParse = 1 "SETTINGS_FAILED_TO_PARSE",
        /// They are in force.
        SettingsApplied = 2 "SETTINGS_APPLIED",
    }
}

words! {
    /// How a federate takes its callbacks (clause 4.2). A matter of the client alone: it never travels.
    CallbackModel {
        /// When it asks for them.
        Evoked = 0 "EVOKED",
        /// As they come, on a thread of the client.
        Immediate = 1 "IMMEDIATE",
    }
}
