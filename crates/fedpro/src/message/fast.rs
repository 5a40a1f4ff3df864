//! Reads the messages that federates exchange most: updates, interactions and their callbacks.
//!
//! ```text
//! 1: the instance or class · 2: pairs of a handle and a value · 3: the tag, perhaps · the rest
//! ```
//!
//! These functions know only the form in which this crate and most clients write: each field once, in order. They
//! return `None` for everything else, valid or not, and the generic decoder judges it. A property test compares both.

use hemiola_hla::call::ObjectCall;
use hemiola_hla::data::ConveyedRegion;
use hemiola_hla::{
    AttributeHandle, Call, Callback, Data, EncodedTime, FederateHandle, InteractionClassHandle,
    MessageRetractionHandle, ObjectInstanceHandle, OrderType, ParameterHandle,
    TransportationTypeHandle,
};
use hemiola_wire::WireReader;

use crate::wire::ELEMENTS_MAX;

/// Returns the number of a body's only case.
pub(super) fn number(body: &Data) -> Option<u64> {
    Cursor::of_case(body).map(|(number, _)| number)
}

/// Reads a body if it is one of these messages. Their fields are numbered from 1, in the order listed.
macro_rules! read {
    ($body:ident: $($number:literal $enum:ident $name:ident { $($field:ident)* })*) => {{
        let (number, mut fields) = Cursor::of_case($body)?;
        let message = match number {
            $($number => {
                let mut number = 0;
                $(
                    number += 1;
                    let $field = Content::read(&mut fields, number)?;
                )*
                $enum::$name { $($field),* }
            })*
            _ => return None,
        };
        fields.rest.is_empty().then_some(message)
    }};
}

/// Reads an update or interaction.
pub(super) fn call(body: &Data) -> Option<Call> {
    let call = read!(body:
        62 ObjectCall UpdateAttributeValues { object_instance attribute_values user_supplied_tag }
        63 ObjectCall UpdateAttributeValuesWithTime { object_instance attribute_values user_supplied_tag time }
        64 ObjectCall SendInteraction { interaction_class parameter_values user_supplied_tag }
        65 ObjectCall SendInteractionWithTime { interaction_class parameter_values user_supplied_tag time }
    );
    call.map(Call::Object)
}

/// Reads the callback for an update or interaction without regions.
pub(super) fn callback(body: &Data) -> Option<Callback> {
    read!(body:
        31 Callback ReflectAttributeValues {
            object_instance attribute_values user_supplied_tag transportation_type producing_federate sent_regions
        }
        32 Callback ReflectAttributeValuesWithTime {
            object_instance attribute_values user_supplied_tag transportation_type producing_federate sent_regions
            time sent_order_type received_order_type retraction
        }
        33 Callback ReceiveInteraction {
            interaction_class parameter_values user_supplied_tag transportation_type producing_federate sent_regions
        }
        34 Callback ReceiveInteractionWithTime {
            interaction_class parameter_values user_supplied_tag transportation_type producing_federate sent_regions
            time sent_order_type received_order_type retraction
        }
    )
}

/// A type that a field of these messages can hold.
trait Content: Sized {
    /// Reads the field with this number; `None` if the next field is not in the expected form.
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self>;
}

/// Handles and times.
macro_rules! opaque {
    ($($type:ident $read:ident)*) => {$(
        impl Content for $type {
            #[inline]
            fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
                fields.$read(number).map(Self::new)
            }
        }
    )*};
}

opaque! {
    ObjectInstanceHandle long
    MessageRetractionHandle long
    AttributeHandle short
    ParameterHandle short
    InteractionClassHandle short
    TransportationTypeHandle short
    FederateHandle short
    EncodedTime opaque
}

/// Data share the memory of the body. They are empty if the field is absent.
impl Content for Data {
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
        if !fields.is_next(number, 2) {
            return Some(Self::new());
        }
        fields.bytes(number).map(|bytes| fields.whole.slice_ref(bytes))
    }
}

/// The first order type is not written.
impl Content for OrderType {
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
        if !fields.is_next(number, 0) {
            return Some(Self::ALL[0]);
        }
        let mut reader = WireReader::new(&fields.rest[1..]);
        let value = reader.varint().ok()?;
        fields.rest = reader.rest();
        Self::from_number(value as i32)
    }
}

/// A retraction handle is the last field, or absent.
impl Content for Option<MessageRetractionHandle> {
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
        if fields.rest.is_empty() {
            return Some(None);
        }
        MessageRetractionHandle::read(fields, number).map(Some)
    }
}

/// Messages with regions are not frequent.
impl Content for Option<Vec<ConveyedRegion>> {
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
        (!fields.is_next(number, 2)).then_some(None)
    }
}

/// Pairs of a handle and a value.
impl<H: Content> Content for Vec<(H, Data)> {
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
        let mut list = Cursor { whole: fields.whole, rest: fields.bytes(number)? };
        let mut values = Self::new();
        while !list.rest.is_empty() {
            let before = list.rest.len();
            let mut pair = Cursor { whole: fields.whole, rest: list.bytes(1)? };
            let value = (H::read(&mut pair, 1)?, Data::read(&mut pair, 2)?);
            if !pair.rest.is_empty() || values.len() == ELEMENTS_MAX {
                return None;
            }
            if values.is_empty() {
                // Many messages have values of one length.
                values.reserve_exact(before / (before - list.rest.len()));
            }
            values.push(value);
        }
        Some(values)
    }
}

/// The fields of a message that have not been read.
struct Cursor<'a> {
    whole: &'a Data,
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Returns the number of a body's only case, and its fields.
    fn of_case(whole: &'a Data) -> Option<(u64, Self)> {
        let mut reader = WireReader::new(whole);
        let key = reader.varint().ok()?;
        let len = reader.varint().ok()?;
        let rest = reader.rest();
        (key & 7 == 2 && len == rest.len() as u64).then_some((key >> 3, Self { whole, rest }))
    }

    /// Whether the next field has this number, below 16, and this wire type.
    fn is_next(&self, field: u8, wire_type: u8) -> bool {
        self.rest.first() == Some(&(field << 3 | wire_type))
    }

    /// Reads the bytes of a field with this number.
    #[inline]
    fn bytes(&mut self, field: u8) -> Option<&'a [u8]> {
        if !self.is_next(field, 2) {
            return None;
        }
        let mut reader = WireReader::new(&self.rest[1..]);
        let len = usize::try_from(reader.varint().ok()?).ok()?;
        let (bytes, rest) = reader.rest().split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Reads a message that holds nothing but bytes in field 1; no bytes if it is empty.
    #[inline]
    fn opaque(&mut self, field: u8) -> Option<&'a [u8]> {
        match self.bytes(field)? {
            [] => Some(&[]),
            [0x0a, len, bytes @ ..] if usize::from(*len) == bytes.len() && *len < 0x80 => {
                Some(bytes)
            }
            _ => None,
        }
    }

    /// Reads the number of a handle of four bytes.
    #[inline]
    fn short(&mut self, field: u8) -> Option<u32> {
        let bytes = self.opaque(field)?;
        Some(bytes.try_into().map_or(0, u32::from_be_bytes))
    }

    /// Reads the number of a handle of eight bytes.
    fn long(&mut self, field: u8) -> Option<u64> {
        let bytes = self.opaque(field)?;
        Some(bytes.try_into().map_or(0, u64::from_be_bytes))
    }
}
