//! Handles: the numbers an RTI gives to things, one type for each kind of thing.
//!
//! A handle is a number from 1. On the wire it is its number in big-endian bytes, four for classes and the
//! like, eight for what a federation makes many of. Zero is [`INVALID`](FederateHandle::INVALID): what
//! bytes mean that never were a handle. Nothing is ever registered under it, so a call with a wrong
//! handle fails with the exception that its own service has for an unknown one.

use std::fmt;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident($number:ty);)*) => {$(
        $(#[$doc])*
        ///
        /// Ordered by number, which is the order of their bytes.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($number);

        impl $name {
            /// The handle of nothing.
            pub const INVALID: Self = Self(0);

            /// The bytes of one handle on the wire.
            pub const LEN: usize = size_of::<$number>();

            /// The handle with this number.
            #[must_use]
            pub const fn new(number: $number) -> Self {
                Self(number)
            }

            /// The handle of the thing at this place of a table: the first has number 1. Places that
            /// no handle can name give `INVALID`.
            #[must_use]
            pub fn of_index(index: usize) -> Self {
                Self(index.checked_add(1).and_then(|number| number.try_into().ok()).unwrap_or(0))
            }

            /// Its number; 0 only for `INVALID`.
            #[must_use]
            pub const fn number(self) -> $number {
                self.0
            }

            /// Its place in a table whose first entry has number 1; `None` for `INVALID`.
            #[must_use]
            pub fn index(self) -> Option<usize> {
                usize::try_from(self.0).ok()?.checked_sub(1)
            }

            /// Its bytes on the wire.
            #[must_use]
            pub const fn to_bytes(self) -> [u8; Self::LEN] {
                self.0.to_be_bytes()
            }

            /// The handle these bytes mean; `INVALID` for any that are none.
            #[must_use]
            pub fn from_bytes(bytes: &[u8]) -> Self {
                Self(bytes.try_into().map_or(0, <$number>::from_be_bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    )*};
}

handles! {
    /// A joined federate.
    FederateHandle(u32);
    /// A class of objects of the object model.
    ObjectClassHandle(u32);
    /// An attribute; the same in the class that declares it and in all its subclasses.
    AttributeHandle(u32);
    /// A class of interactions of the object model.
    InteractionClassHandle(u32);
    /// A parameter; the same in the class that declares it and in all its subclasses.
    ParameterHandle(u32);
    /// A dimension of the object model.
    DimensionHandle(u32);
    /// A kind of transportation.
    TransportationTypeHandle(u32);
    /// A region, known to the federate that made it.
    RegionHandle(u32);
    /// A registered object instance.
    ObjectInstanceHandle(u64);
    /// A message that may be taken back. Clients tell two of one federate apart by the last four bytes
    /// alone.
    MessageRetractionHandle(u64);
}

impl TransportationTypeHandle {
    /// `HLAreliable`; clients have this number built in.
    pub const RELIABLE: Self = Self(1);
    /// `HLAbestEffort`; clients have this number built in.
    pub const BEST_EFFORT: Self = Self(2);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_its_number_in_big_endian() {
        assert_eq!(TransportationTypeHandle::RELIABLE.to_bytes(), [0, 0, 0, 1]);
        assert_eq!(ObjectInstanceHandle::new(258).to_bytes(), [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(ObjectClassHandle::from_bytes(&[0, 0, 1, 0]), ObjectClassHandle::new(256));
    }

    #[test]
    fn bytes_that_are_no_handle_mean_the_handle_of_nothing() {
        for bytes in [&[][..], &[1], &[0, 0, 0, 0], &[0; 8], &[1; 7], &[1; 64]] {
            assert_eq!(ObjectClassHandle::from_bytes(bytes), ObjectClassHandle::INVALID);
            assert_eq!(ObjectClassHandle::from_bytes(bytes).index(), None);
        }
    }

    #[test]
    fn places_of_a_table_and_handles_are_the_same_thing() {
        for index in [0, 1, 77, u32::MAX as usize - 1] {
            assert_eq!(AttributeHandle::of_index(index).index(), Some(index));
        }
        assert_eq!(AttributeHandle::of_index(u32::MAX as usize), AttributeHandle::INVALID);
        assert_eq!(ObjectInstanceHandle::of_index(usize::MAX), ObjectInstanceHandle::INVALID);
    }
}
