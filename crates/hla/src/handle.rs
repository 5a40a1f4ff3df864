//! Handles: the numbers that an RTI assigns, with a type for each kind of object.
//!
//! A handle is a number from 1. On the wire it is that number in big-endian bytes: eight for object instances, regions
//! and retractions, of which a federation makes many, and four for the rest. Zero is
//! [`INVALID`](FederateHandle::INVALID), the result of decoding bytes that were never a handle. Nothing is registered
//! under it, so a call with an invalid handle fails with the exception that its service has for an unknown one.

use std::fmt;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident($number:ty);)*) => {$(
        $(#[$doc])*
        ///
        /// Ordered by number, which is the order of their bytes.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($number);

        impl $name {
            /// The invalid handle.
            pub const INVALID: Self = Self(0);

            /// The bytes of one handle on the wire.
            pub const LEN: usize = size_of::<$number>();

            /// Returns the handle with this number.
            pub const fn new(number: $number) -> Self {
                Self(number)
            }

            /// Returns the handle for an index of a table: index 0 has number 1. An index beyond the range of handles
            /// gives `INVALID`.
            pub fn of_index(index: usize) -> Self {
                Self(index.checked_add(1).and_then(|number| number.try_into().ok()).unwrap_or(0))
            }

            /// Returns its number, which is 0 only for `INVALID`.
            pub const fn number(self) -> $number {
                self.0
            }

            /// Returns its index in a table, or `None` for `INVALID`.
            pub fn index(self) -> Option<usize> {
                usize::try_from(self.0).ok()?.checked_sub(1)
            }

            /// Returns its bytes on the wire.
            pub const fn to_bytes(self) -> [u8; Self::LEN] {
                self.0.to_be_bytes()
            }

            /// Decodes a handle. Invalid bytes give `INVALID`.
            ///
            /// A client whose federate has read a handle in data may send it as it stood there, with the number of its
            /// bytes before it.
            pub fn from_bytes(bytes: &[u8]) -> Self {
                let count = (Self::LEN as u32).to_be_bytes();
                let own = bytes.try_into().ok();
                let own = own.or_else(|| bytes.strip_prefix(&count)?.try_into().ok());
                Self(own.map_or(0, <$number>::from_be_bytes))
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
    /// An object class of the object model.
    ObjectClassHandle(u32);
    /// An attribute; the same in the class that declares it and in all subclasses.
    AttributeHandle(u32);
    /// An interaction class of the object model.
    InteractionClassHandle(u32);
    /// A parameter; the same in the class that declares it and in all subclasses.
    ParameterHandle(u32);
    /// A dimension of the object model.
    DimensionHandle(u32);
    /// A transportation type.
    TransportationTypeHandle(u32);
    /// A region, known to the federate that created it.
    RegionHandle(u32);
    /// A registered object instance.
    ObjectInstanceHandle(u64);
    /// A message that can be retracted. Clients tell messages of one federate apart by the last four bytes alone.
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
    fn a_handle_may_have_the_number_of_its_bytes_before_it() {
        let counted = [0, 0, 0, 4, 0, 0, 1, 0];
        assert_eq!(ObjectClassHandle::from_bytes(&counted), ObjectClassHandle::new(256));
        let counted = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 1, 2];
        assert_eq!(ObjectInstanceHandle::from_bytes(&counted), ObjectInstanceHandle::new(258));
        let wrong = [0, 0, 0, 8, 0, 0, 1, 0];
        assert_eq!(ObjectClassHandle::from_bytes(&wrong), ObjectClassHandle::INVALID);
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
