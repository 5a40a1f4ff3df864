//! The words that columns of the object model template may hold.

use hemiola_units::edit_distance;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$meaning:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$meaning])* $variant,)*
        }

        impl $name {
            /// All of them as they are written.
            pub const NAMES: &[&str] = &[$($text,)*];

            /// As it is written.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The one that is written so, if there is one.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// Who publishes and subscribes. Informative: an RTI does not refuse by it.
    Sharing {
        /// Federates publish it.
        Publish "Publish",
        /// Federates subscribe to it.
        Subscribe "Subscribe",
        /// Both.
        PublishSubscribe "PublishSubscribe",
        /// Neither: a class to put others below.
        Neither "Neither",
    }
}

words! {
    /// When an attribute is updated.
    UpdateType {
        /// Once.
        Static "Static",
        /// Again and again.
        Periodic "Periodic",
        /// When something happens.
        Conditional "Conditional",
        /// Never.
        NotApplicable "NA",
    }
}

words! {
    /// What may become of an attribute's ownership.
    Ownership {
        /// Its owner may give it away.
        Divest "Divest",
        /// Others may ask for it.
        Acquire "Acquire",
        /// Both.
        DivestAcquire "DivestAcquire",
        /// Neither.
        NoTransfer "NoTransfer",
    }
}

words! {
    /// What federates may do with a synchronization point.
    Capability {
        /// Register it.
        Register "Register",
        /// Achieve it.
        Achieve "Achieve",
        /// Both.
        RegisterAchieve "RegisterAchieve",
        /// Neither.
        NoSynch "NoSynch",
        /// It does not apply.
        NotApplicable "NA",
    }
}

words! {
    /// Which end of a number comes first.
    Endian {
        /// The most significant byte.
        Big "Big",
        /// The least significant byte.
        Little "Little",
    }
}

/// The tags a federate may supply, as their elements are called.
pub const TAGS: [&str; 7] = [
    "updateReflectTag",
    "sendReceiveTag",
    "deleteRemoveTag",
    "divestitureRequestTag",
    "divestitureCompletionTag",
    "acquisitionRequestTag",
    "requestUpdateTag",
];

/// The candidate most like `word`, if one is like enough to be what was meant; small and capital letters
/// are the same.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    /// Longer words are not compared: the work grows with both lengths.
    const WORD_LEN_MAX: usize = 64;
    let word = word.to_lowercase();
    let length = word.chars().count();
    if length > WORD_LEN_MAX {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= WORD_LEN_MAX)
        .map(|candidate| (edit_distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= 1 + length / 4 && *distance < length.max(2))
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_back() {
        for name in Ownership::NAMES {
            assert_eq!(Ownership::from_name(name).map(Ownership::name), Some(*name));
        }
    }

    #[test]
    fn near_words_are_suggested_and_far_ones_not() {
        let names = Sharing::NAMES.iter().copied();
        assert_eq!(nearest("publishSubscribe", names.clone()), Some("PublishSubscribe"));
        assert_eq!(nearest("Subscibe", names.clone()), Some("Subscribe"));
        assert_eq!(nearest("HLAreliable", names.clone()), None);
        assert_eq!(nearest("", names), None);
    }
}
