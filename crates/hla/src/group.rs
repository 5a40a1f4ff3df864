//! The seven groups of services.

use crate::word::words;

words! {
    /// A group of services; the dimension `HLAserviceGroup` has one point for each.
    ServiceGroup {
        /// Clause 4.
        FederationManagement = 0 "FederationManagement",
        /// Clause 5.
        DeclarationManagement = 1 "DeclarationManagement",
        /// Clause 6.
        ObjectManagement = 2 "ObjectManagement",
        /// Clause 7.
        OwnershipManagement = 3 "OwnershipManagement",
        /// Clause 8.
        TimeManagement = 4 "TimeManagement",
        /// Clause 9.
        DataDistributionManagement = 5 "DataDistributionManagement",
        /// Clause 10.
        SupportServices = 6 "SupportServices",
    }
}
