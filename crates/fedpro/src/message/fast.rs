//! Reads the messages that federates exchange most: updates, interactions and their callbacks.
//!
//! ```text
//! 1: the instance or class · 2: pairs of a handle and a value · 3: the tag, perhaps · the rest
//! ```
//!
//! These functions know only the form in which this crate and most clients write: each field once, in order. They
//! return `None` for everything else, valid or not, and the generic decoder judges it. A property test compares both.

use hemiola_hla::call::ObjectCall;
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

/// Reads an update or interaction.
pub(super) fn call(body: &Data) -> Option<Call> {
    let (number, mut fields) = Cursor::of_case(body)?;
    let call = match number {
        62 => ObjectCall::UpdateAttributeValues {
            object_instance: fields.instance(1)?,
            attribute_values: fields.values(2, AttributeHandle::new)?,
            user_supplied_tag: fields.data(3)?,
        },
        63 => ObjectCall::UpdateAttributeValuesWithTime {
            object_instance: fields.instance(1)?,
            attribute_values: fields.values(2, AttributeHandle::new)?,
            user_supplied_tag: fields.data(3)?,
            time: fields.time(4)?,
        },
        64 => ObjectCall::SendInteraction {
            interaction_class: fields.interaction_class(1)?,
            parameter_values: fields.values(2, ParameterHandle::new)?,
            user_supplied_tag: fields.data(3)?,
        },
        65 => ObjectCall::SendInteractionWithTime {
            interaction_class: fields.interaction_class(1)?,
            parameter_values: fields.values(2, ParameterHandle::new)?,
            user_supplied_tag: fields.data(3)?,
            time: fields.time(4)?,
        },
        _ => return None,
    };
    fields.rest.is_empty().then_some(Call::Object(call))
}

/// Reads the callback for an update or interaction without regions.
pub(super) fn callback(body: &Data) -> Option<Callback> {
    let (number, mut fields) = Cursor::of_case(body)?;
    let callback = match number {
        31 => Callback::ReflectAttributeValues {
            object_instance: fields.instance(1)?,
            attribute_values: fields.values(2, AttributeHandle::new)?,
            user_supplied_tag: fields.data(3)?,
            transportation_type: fields.transportation(4)?,
            producing_federate: fields.federate(5)?,
            sent_regions: None,
        },
        32 => Callback::ReflectAttributeValuesWithTime {
            object_instance: fields.instance(1)?,
            attribute_values: fields.values(2, AttributeHandle::new)?,
            user_supplied_tag: fields.data(3)?,
            transportation_type: fields.transportation(4)?,
            producing_federate: fields.federate(5)?,
            sent_regions: None,
            time: fields.time(7)?,
            sent_order_type: fields.order(8)?,
            received_order_type: fields.order(9)?,
            retraction: fields.retraction(10)?,
        },
        33 => Callback::ReceiveInteraction {
            interaction_class: fields.interaction_class(1)?,
            parameter_values: fields.values(2, ParameterHandle::new)?,
            user_supplied_tag: fields.data(3)?,
            transportation_type: fields.transportation(4)?,
            producing_federate: fields.federate(5)?,
            sent_regions: None,
        },
        34 => Callback::ReceiveInteractionWithTime {
            interaction_class: fields.interaction_class(1)?,
            parameter_values: fields.values(2, ParameterHandle::new)?,
            user_supplied_tag: fields.data(3)?,
            transportation_type: fields.transportation(4)?,
            producing_federate: fields.federate(5)?,
            sent_regions: None,
            time: fields.time(7)?,
            sent_order_type: fields.order(8)?,
            received_order_type: fields.order(9)?,
            retraction: fields.retraction(10)?,
        },
        _ => return None,
    };
    fields.rest.is_empty().then_some(callback)
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

    /// Reads data that share the memory of the body; empty if the field is absent.
    fn data(&mut self, field: u8) -> Option<Data> {
        if !self.is_next(field, 2) {
            return Some(Data::new());
        }
        self.bytes(field).map(|bytes| self.whole.slice_ref(bytes))
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

    fn instance(&mut self, field: u8) -> Option<ObjectInstanceHandle> {
        self.long(field).map(ObjectInstanceHandle::new)
    }

    fn interaction_class(&mut self, field: u8) -> Option<InteractionClassHandle> {
        self.short(field).map(InteractionClassHandle::new)
    }

    fn transportation(&mut self, field: u8) -> Option<TransportationTypeHandle> {
        self.short(field).map(TransportationTypeHandle::new)
    }

    fn federate(&mut self, field: u8) -> Option<FederateHandle> {
        self.short(field).map(FederateHandle::new)
    }

    fn time(&mut self, field: u8) -> Option<EncodedTime> {
        self.opaque(field).map(EncodedTime::new)
    }

    /// Reads an order type; the first one is not written.
    fn order(&mut self, field: u8) -> Option<OrderType> {
        if !self.is_next(field, 0) {
            return Some(OrderType::ALL[0]);
        }
        let mut reader = WireReader::new(&self.rest[1..]);
        let number = reader.varint().ok()?;
        self.rest = reader.rest();
        OrderType::from_number(number as i32)
    }

    /// Reads a retraction handle; `None` inside if the field is absent.
    #[expect(
        clippy::option_option,
        reason = "the outer one says whether the message has the expected form"
    )]
    fn retraction(&mut self, field: u8) -> Option<Option<MessageRetractionHandle>> {
        if self.rest.is_empty() {
            return Some(None);
        }
        self.long(field).map(|number| Some(MessageRetractionHandle::new(number)))
    }

    /// Reads pairs of a handle and a value.
    fn values<H>(&mut self, field: u8, handle: fn(u32) -> H) -> Option<Vec<(H, Data)>> {
        let mut list = Cursor { whole: self.whole, rest: self.bytes(field)? };
        let mut values = Vec::new();
        while !list.rest.is_empty() {
            let before = list.rest.len();
            let mut pair = Cursor { whole: self.whole, rest: list.bytes(1)? };
            let value = (handle(pair.short(1)?), pair.data(2)?);
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
