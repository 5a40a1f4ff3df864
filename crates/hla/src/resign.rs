//! Resign directives.

use crate::word::words;

words! {
    /// The directive a federate resigns with (clause 4.12). The numbers are those of the Federate Protocol,
    /// and of `HLAresignAction` in MOM data of 2025; those of 2010 are one more.
    ResignAction {
        /// Divests the attributes it owns.
        UnconditionallyDivestAttributes = 0 "UnconditionallyDivestAttributes",
        /// Deletes the instances it may delete.
        DeleteObjects = 1 "DeleteObjects",
        /// Cancels its pending acquisitions.
        CancelPendingOwnershipAcquisitions = 2 "CancelPendingOwnershipAcquisitions",
        /// Deletes the instances it may delete, then divests the rest.
        DeleteObjectsThenDivest = 3 "DeleteObjectsThenDivest",
        /// Cancels, deletes and divests, in this order.
        CancelThenDeleteThenDivest = 4 "CancelThenDeleteThenDivest",
        /// Does nothing; refused while it owns attributes or has pending acquisitions.
        NoAction = 5 "NoAction",
    }
}
