//! Reads and writes the messages that federates exchange most: updates, interactions and their callbacks, and the
//! requests and grants of a time advance.
//!
//! ```text
//! 1: the instance or class · 2: pairs of a handle and a value · 3: the tag, perhaps · the rest
//! ```
//!
//! The readers know only the form in which this crate and most clients write: each field once, in order. They
//! return `None` for everything else, valid or not, and the generic decoder judges it. The writers know the length of a
//! message beforehand, so its values are copied once, into memory of the right size; long ones are shared. A property
//! test compares both with the generic ones.

use hemiola_hla::body::{Body, LONG_LEN};
use hemiola_hla::call::{ObjectCall, TimeCall};
use hemiola_hla::data::ConveyedRegion;
use hemiola_hla::{
    AttributeHandle, Call, Callback, Data, EncodedTime, FederateHandle, InteractionClassHandle,
    MessageRetractionHandle, ObjectInstanceHandle, OrderType, ParameterHandle,
    TransportationTypeHandle,
};
use hemiola_wire::{WireReader, field_len, put_head};

use crate::field::Content;
use crate::out::Out;
use crate::wire::ELEMENTS_MAX;

/// Returns the number of a body's only case.
pub(super) fn number(body: &Data) -> Option<u64> {
    Cursor::of_case(body, body).map(|(number, _)| number)
}

/// Updates and interactions. Their fields are numbered from 1, in the order listed.
macro_rules! calls {
    ($do:ident $body:ident) => {
        $do!($body: ObjectCall
            62 UpdateAttributeValues { object_instance attribute_values user_supplied_tag }
            63 UpdateAttributeValuesWithTime { object_instance attribute_values user_supplied_tag time }
            64 SendInteraction { interaction_class parameter_values user_supplied_tag }
            65 SendInteractionWithTime { interaction_class parameter_values user_supplied_tag time }
        )
    };
}

/// Requests of a time advance.
macro_rules! requests {
    ($do:ident $body:ident) => {
        $do!($body: TimeCall
            93 TimeAdvanceRequest { time }
            94 TimeAdvanceRequestAvailable { time }
            95 NextMessageRequest { time }
            96 NextMessageRequestAvailable { time }
            97 FlushQueueRequest { time }
        )
    };
}

/// The callbacks for all of them.
macro_rules! callbacks {
    ($do:ident $body:ident) => {
        $do!($body: Callback
            31 ReflectAttributeValues {
                object_instance attribute_values user_supplied_tag transportation_type producing_federate
                sent_regions
            }
            32 ReflectAttributeValuesWithTime {
                object_instance attribute_values user_supplied_tag transportation_type producing_federate
                sent_regions time sent_order_type received_order_type retraction
            }
            33 ReceiveInteraction {
                interaction_class parameter_values user_supplied_tag transportation_type producing_federate
                sent_regions
            }
            34 ReceiveInteractionWithTime {
                interaction_class parameter_values user_supplied_tag transportation_type producing_federate
                sent_regions time sent_order_type received_order_type retraction
            }
            60 FlushQueueGrant { time optimistic_time }
            61 TimeAdvanceGrant { time }
        )
    };
}

/// Reads a body, given as the fields of its case, if it is one of the listed messages. Each message is made in its
/// final place: it is long enough for a further copy to count.
macro_rules! read {
    ($case:ident: $enum:ident $($number:literal $name:ident { $($field:ident)* })*) => {{
        let (number, mut fields) = $case;
        match number {
            $($number => {
                let mut number = 0;
                $(
                    number += 1;
                    let $field = Frequent::read(&mut fields, number)?;
                )*
                if fields.rest.is_empty() { Some($enum::$name { $($field),* }) } else { None }
            })*
            _ => None,
        }
    }};
}

/// Writes a message if it is a listed one.
macro_rules! write {
    ($message:ident: $enum:ident $($number:literal $name:ident { $($field:ident)* })*) => {
        match $message {
            $($enum::$name { $($field),* } => {
                let len = 0 $(+ Frequent::len($field)?)*;
                let shared = if len < LONG_LEN { 0 } else { 0 $(+ Frequent::shared_len($field))* };
                let mut out = Out::with_capacity(field_len($number, len) - shared);
                put_head(&mut out, $number, len);
                let mut number = 0;
                $(
                    number += 1;
                    Frequent::write($field, number, &mut out);
                )*
                Some(out.finish())
            })*
            _ => None,
        }
    };
}

/// Reads an update, an interaction, or the request of a time advance.
pub(super) fn call(body: &Data) -> Option<Call> {
    let case = Cursor::of_case(body, body)?;
    if case.0 < 93 {
        calls!(read case).map(Call::Object)
    } else {
        requests!(read case).map(Call::Time)
    }
}

/// Reads the callback for an update or interaction without regions, or a grant. The body is a part of `whole`, whose
/// memory its data share.
#[inline]
pub(super) fn callback(whole: &Data, body: &[u8]) -> Option<Callback> {
    let case = Cursor::of_case(whole, body)?;
    callbacks!(read case)
}

/// Writes an update, an interaction, or the request of a time advance.
pub(super) fn of_call(call: &Call) -> Option<Body> {
    match call {
        Call::Object(call) => calls!(write call),
        Call::Time(call) => requests!(write call),
        _ => None,
    }
}

/// Writes the callback for an update or interaction without regions, or a grant.
pub(super) fn of_callback(callback: &Callback) -> Option<Body> {
    callbacks!(write callback)
}

/// A type that a field of these messages can hold. The numbers of the fields are below 16.
trait Frequent: Content {
    /// Reads the field with this number; `None` if the next field is not in the expected form.
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self>;

    /// Returns the number of bytes that the field occupies; `None` if messages with this value are not frequent.
    fn len(&self) -> Option<usize>;

    /// Returns how many of these bytes are shared rather than copied.
    fn shared_len(&self) -> usize {
        0
    }

    /// Appends the field.
    fn write(&self, number: u32, out: &mut Out) {
        self.put(number, out);
    }
}

/// Returns the number of bytes of a field that holds so many.
const fn len_of(bytes: usize) -> usize {
    field_len(1, bytes)
}

macro_rules! handles {
    ($($type:ident $number:ident)*) => {$(
        impl Frequent for $type {
            #[inline]
            fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
                match fields.fixed(number) {
                    Some(bytes) => Some(Self::new($number::from_be_bytes(bytes))),
                    // A handle that was read in data may have the number of its bytes before it.
                    None => fields.opaque(number).map(Self::from_bytes),
                }
            }

            #[inline]
            fn len(&self) -> Option<usize> {
                Some(if *self == Self::INVALID { len_of(0) } else { len_of(len_of(Self::LEN)) })
            }
        }
    )*};
}

handles! {
    ObjectInstanceHandle u64
    MessageRetractionHandle u64
    AttributeHandle u32
    ParameterHandle u32
    InteractionClassHandle u32
    TransportationTypeHandle u32
    FederateHandle u32
}

impl Frequent for EncodedTime {
    #[inline]
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
        match fields.fixed::<8>(number) {
            Some(bytes) => Some(Self::new(&bytes)),
            None => fields.opaque(number).map(Self::new),
        }
    }

    fn len(&self) -> Option<usize> {
        Some(len_of(len_of(self.bytes().len())))
    }
}

/// Data share the memory of the body. They are empty if the field is absent.
impl Frequent for Data {
    #[inline]
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
        if !fields.is_next(number, 2) {
            return Some(Self::new());
        }
        fields.bytes(number).map(|bytes| fields.whole.slice_ref(bytes))
    }

    #[inline]
    fn len(&self) -> Option<usize> {
        Some(if self.is_empty() { 0 } else { len_of(self[..].len()) })
    }

    fn shared_len(&self) -> usize {
        let len = self[..].len();
        if len < LONG_LEN { 0 } else { len }
    }
}

/// The first order type is not written.
impl Frequent for OrderType {
    #[inline]
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
        let [key, value, rest @ ..] = fields.rest else { return Some(Self::ALL[0]) };
        if *key != number << 3 {
            return Some(Self::ALL[0]);
        }
        fields.rest = rest;
        // A longer varint is none of the few order types.
        Self::from_number(i32::from(*value))
    }

    fn len(&self) -> Option<usize> {
        Some(if *self == Self::ALL[0] { 0 } else { 2 })
    }
}

/// A retraction handle is the last field, or absent.
impl Frequent for Option<MessageRetractionHandle> {
    #[inline]
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
        if fields.rest.is_empty() {
            return Some(None);
        }
        MessageRetractionHandle::read(fields, number).map(Some)
    }

    fn len(&self) -> Option<usize> {
        self.as_ref().map_or(Some(0), Frequent::len)
    }
}

/// Messages with regions are not frequent.
impl Frequent for Option<Vec<ConveyedRegion>> {
    #[inline]
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
        (!fields.is_next(number, 2)).then_some(None)
    }

    fn len(&self) -> Option<usize> {
        self.is_none().then_some(0)
    }
}

/// Pairs of a handle and a value.
impl<H: Frequent> Frequent for Vec<(H, Data)> {
    fn read(fields: &mut Cursor<'_>, number: u8) -> Option<Self> {
        if let Some(one) = fields.single(number) {
            return Some(vec![one]);
        }
        let mut list = Cursor { whole: fields.whole, rest: fields.bytes(number)? };
        let len = list.rest.len();
        if len == 0 {
            return Some(Self::new());
        }
        let first = list.pair()?;
        // Many messages have values of one length.
        let mut values = Self::with_capacity(len / (len - list.rest.len()));
        values.push(first);
        while !list.rest.is_empty() {
            if values.len() == ELEMENTS_MAX {
                return None;
            }
            values.push(list.pair()?);
        }
        Some(values)
    }

    fn len(&self) -> Option<usize> {
        Some(len_of(list_len(self)))
    }

    fn shared_len(&self) -> usize {
        self.iter().map(|(_, value)| value.shared_len()).sum()
    }

    fn write(&self, number: u32, out: &mut Out) {
        put_head(out, number, list_len(self));
        for pair in self {
            put_head(out, 1, pair_len(pair));
            pair.0.put(1, out);
            pair.1.put(2, out);
        }
    }
}

fn list_len<H: Frequent>(list: &[(H, Data)]) -> usize {
    list.iter().map(|pair| len_of(pair_len(pair))).sum()
}

fn pair_len<H: Frequent>((handle, value): &(H, Data)) -> usize {
    let lens = [handle.len(), Frequent::len(value)];
    lens.iter().flatten().sum()
}

/// The fields of a message that have not been read.
struct Cursor<'a> {
    whole: &'a Data,
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Returns the number of a body's only case, and its fields. The body is a part of `whole`.
    #[inline]
    fn of_case(whole: &'a Data, body: &'a [u8]) -> Option<(u64, Self)> {
        let mut reader = WireReader::new(body);
        let key = reader.varint().ok()?;
        let len = reader.varint().ok()?;
        let rest = reader.rest();
        (key & 7 == 2 && len == rest.len() as u64).then_some((key >> 3, Self { whole, rest }))
    }

    /// Whether the next field has this number, below 16, and this wire type.
    #[inline]
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

    /// Reads a message that holds nothing but `N` bytes in field 1, fewer than 126. Nothing is read if the next field
    /// is not in this form, in which nearly all handles and times are.
    #[inline]
    fn fixed<const N: usize>(&mut self, field: u8) -> Option<[u8; N]> {
        let head = [field << 3 | 2, N as u8 + 2, 1 << 3 | 2, N as u8];
        let (found, rest) = self.rest.split_first_chunk::<4>()?;
        let (bytes, rest) = rest.split_first_chunk::<N>()?;
        if *found != head {
            return None;
        }
        self.rest = rest;
        Some(*bytes)
    }

    /// Reads a list of one pair of a handle of four bytes and a value, if it has at most 127 bytes. Nothing is read if
    /// the next field is not in this form, in which most lists of short values are.
    #[inline]
    fn single<H: Frequent>(&mut self, field: u8) -> Option<(H, Data)> {
        /// The heads of the pair, the handle and the value, and the handle.
        const HEADS: usize = 12;
        let (found, rest) = self.rest.split_first_chunk::<{ 2 + HEADS }>()?;
        let [key, list, first, pair, handle @ .., second, value] = *found;
        let len = usize::from(value);
        let is_single = [key, first, second] == [field << 3 | 2, 1 << 3 | 2, 2 << 3 | 2]
            && list < 0x80
            && usize::from(list) == HEADS + len
            && pair.checked_add(2) == Some(list);
        let (value, rest) = rest.split_at_checked(len).filter(|_| is_single)?;
        let mut handle = Cursor { whole: self.whole, rest: &handle };
        let handle = H::read(&mut handle, 1).filter(|_| handle.rest.is_empty())?;
        self.rest = rest;
        Some((handle, self.whole.slice_ref(value)))
    }

    /// Reads a pair of a handle and a value.
    #[inline]
    fn pair<H: Frequent>(&mut self) -> Option<(H, Data)> {
        let mut pair = Cursor { whole: self.whole, rest: self.bytes(1)? };
        let value = (H::read(&mut pair, 1)?, Data::read(&mut pair, 2)?);
        pair.rest.is_empty().then_some(value)
    }

    /// Reads a message that holds nothing but bytes in field 1; no bytes if it is empty.
    fn opaque(&mut self, field: u8) -> Option<&'a [u8]> {
        match self.bytes(field)? {
            [] => Some(&[]),
            [0x0a, len, bytes @ ..] if usize::from(*len) == bytes.len() && *len < 0x80 => {
                Some(bytes)
            }
            _ => None,
        }
    }
}
