//! A macro for the standard's small enumerations, with number on the wire, name and meaning.

/// Declares an enumeration with the numbers of the Federate Protocol and the standard's names.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$meaning:meta])* $variant:ident = $number:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$meaning])* $variant,)*
        }

        impl $name {
            /// All values, by number.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns its number in the Federate Protocol.
            pub const fn number(self) -> i32 {
                match self { $(Self::$variant => $number,)* }
            }

            /// Returns the value with this number, if there is one.
            pub const fn from_number(number: i32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            /// Returns its name in the standard.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns the value with this standard name, if there is one.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.name() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use words;

#[cfg(test)]
mod tests {
    use crate::{OrderType, ResignAction, ServiceGroup, Switch};

    #[test]
    fn numbers_and_names_lead_back() {
        for action in ResignAction::ALL {
            assert_eq!(ResignAction::from_number(action.number()), Some(*action));
            assert_eq!(ResignAction::from_name(action.name()), Some(*action));
        }
        assert_eq!(ResignAction::from_number(6), None);
        assert_eq!(OrderType::from_number(-1), None);
        assert_eq!(ServiceGroup::ALL.len(), 7);
        assert_eq!(Switch::ALL.len(), 15);
    }
}
