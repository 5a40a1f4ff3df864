//! What becomes of a federate's objects when it resigns.

use crate::word::words;

words! {
    /// The directive a federate resigns with (clause 4.12). The numbers are those of the Federate Protocol,
    /// and of `HLAresignAction` in MOM data of 2025; those of 2010 are one more.
    ResignAction {
        /// What it owns becomes unowned.
        UnconditionallyDivestAttributes = 0 "UnconditionallyDivestAttributes",
        /// What it may delete is deleted.
        DeleteObjects = 1 "DeleteObjects",
        /// Its requests for ownership are taken back.
        CancelPendingOwnershipAcquisitions = 2 "CancelPendingOwnershipAcquisitions",
        /// What it may delete is deleted, the rest becomes unowned.
        DeleteObjectsThenDivest = 3 "DeleteObjectsThenDivest",
        /// All three in their order.
        CancelThenDeleteThenDivest = 4 "CancelThenDeleteThenDivest",
        /// None; refused while it owns anything or asks for it.
        NoAction = 5 "NoAction",
    }
}
