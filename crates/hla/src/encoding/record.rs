//! Fixed records: parts of different data types, each at its boundary.

use super::{DecodeError, Element, Reader, Writer, greatest};

/// A record of the parts of a tuple, in their order.
///
/// ```
/// use hemiola_hla::encoding::{HLAboolean, HLAfixedRecord, HLAfloat64BE, HLAoctet, encode};
///
/// let record = HLAfixedRecord((HLAoctet(1), HLAboolean(true), HLAfloat64BE(0.0), HLAoctet(2)));
/// // One byte, three of padding, four, eight, one: nothing behind the last.
/// assert_eq!(encode(&record).len(), 17);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HLAfixedRecord<P>(pub P);

macro_rules! records {
    ($(($($part:ident)*))*) => {$(
        impl<$($part: Element),*> Element for HLAfixedRecord<($($part,)*)> {
            const BOUNDARY: usize = greatest(&[$($part::BOUNDARY),*]);
            const LEN_MIN: usize = 0 $(+ $part::LEN_MIN)*;

            #[allow(non_snake_case, reason = "a part is named after its type")]
            fn write(&self, to: &mut Writer) {
                let HLAfixedRecord(($($part,)*)) = self;
                $(to.put($part);)*
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self(($(from.get::<$part>()?,)*)))
            }
        }
    )*};
}

records! {
    (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H)
    (A B C D E F G H I) (A B C D E F G H I J) (A B C D E F G H I J K) (A B C D E F G H I J K L)
}

/// Declares a struct whose fields form a fixed record.
///
/// ```
/// use hemiola_hla::encoding::{HLAfloat32BE, HLAoctet, decode, encode};
///
/// hemiola_hla::fixed_record! {
///     /// Where something is.
///     #[derive(Debug, PartialEq)]
///     pub struct Place {
///         /// On which floor.
///         pub floor: HLAoctet,
///         /// How far from the stairs, in metres.
///         pub distance: HLAfloat32BE,
///     }
/// }
///
/// let place = Place { floor: HLAoctet(3), distance: HLAfloat32BE(1.0) };
/// let bytes = encode(&place);
/// assert_eq!(bytes, [3, 0, 0, 0, 0x3F, 0x80, 0, 0]);
/// assert_eq!(decode(&bytes), Ok(place));
/// ```
#[macro_export]
macro_rules! fixed_record {
    (
        $(#[$doc:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$part_doc:meta])* $part_visibility:vis $part:ident: $type:ty),* $(,)?
        }
    ) => {
        $(#[$doc])*
        $visibility struct $name {
            $($(#[$part_doc])* $part_visibility $part: $type,)*
        }

        impl $crate::encoding::Element for $name {
            const BOUNDARY: usize = $crate::encoding::greatest(
                &[$(<$type as $crate::encoding::Element>::BOUNDARY),*]
            );
            const LEN_MIN: usize = 0 $(+ <$type as $crate::encoding::Element>::LEN_MIN)*;

            fn write(&self, to: &mut $crate::encoding::Writer) {
                $(to.put(&self.$part);)*
            }

            fn read(
                from: &mut $crate::encoding::Reader<'_>,
            ) -> Result<Self, $crate::encoding::DecodeError> {
                Ok(Self { $($part: from.get()?,)* })
            }
        }
    };
}
