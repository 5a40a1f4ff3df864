//! The enumerated values of the columns of the object model template.

macro_rules! enumerations {
    ($(#[$doc:meta])* $name:ident { $($(#[$meaning:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$meaning])* $variant,)*
        }

        impl $name {
            /// All values as written in modules.
            pub const NAMES: &[&str] = &[$($text,)*];

            /// Returns the value as written in modules.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns the value that is written like this, if there is one.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

enumerations! {
    /// Whether federates publish or subscribe. Informative: an RTI does not enforce it.
    Sharing {
        /// Federates publish the class.
        Publish "Publish",
        /// Federates subscribe to the class.
        Subscribe "Subscribe",
        /// Both.
        PublishSubscribe "PublishSubscribe",
        /// Neither: the class only groups others.
        Neither "Neither",
    }
}

enumerations! {
    /// When an attribute is updated.
    UpdateType {
        /// Once.
        Static "Static",
        /// Periodically.
        Periodic "Periodic",
        /// When a condition is met.
        Conditional "Conditional",
        /// Never.
        NotApplicable "NA",
    }
}

enumerations! {
    /// How the ownership of an attribute may change.
    Ownership {
        /// The owner may divest it.
        Divest "Divest",
        /// Other federates may acquire it.
        Acquire "Acquire",
        /// Both.
        DivestAcquire "DivestAcquire",
        /// Neither.
        NoTransfer "NoTransfer",
    }
}

enumerations! {
    /// How federates may use a synchronization point.
    Capability {
        /// Register it.
        Register "Register",
        /// Achieve it.
        Achieve "Achieve",
        /// Both.
        RegisterAchieve "RegisterAchieve",
        /// Neither.
        NoSynch "NoSynch",
        /// Not applicable.
        NotApplicable "NA",
    }
}

enumerations! {
    /// The byte order of a number.
    Endian {
        /// The most significant byte comes first.
        Big "Big",
        /// The least significant byte comes first.
        Little "Little",
    }
}

/// Columns that describe the behaviour of federates. The RTI does not act upon them.
pub(crate) const INFORMATIVE: [&str; 5] =
    ["sharing", "ownership", "updateType", "valueRequired", "capability"];

/// The elements of the tags that a federate may supply.
pub const TAGS: [&str; 7] = [
    "updateReflectTag",
    "sendReceiveTag",
    "deleteRemoveTag",
    "divestitureRequestTag",
    "divestitureCompletionTag",
    "acquisitionRequestTag",
    "requestUpdateTag",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name() {
        for name in Ownership::NAMES {
            assert_eq!(Ownership::from_name(name).map(Ownership::name), Some(*name));
        }
    }
}
