//! The fields of a message, whose data share the memory of the message, and the errors of decoding.

use bytes::Bytes;
use hemiola_hla::Data;
use hemiola_wire::{Value, WireError, WireReader};

/// Why bytes are not a message of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The bytes are not a sequence of fields.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A field has a wire type other than the protocol's.
    #[error("field {0} has the wrong wire type")]
    WrongType(u32),
    /// A text field is not UTF-8.
    #[error("field {0} is not UTF-8 text")]
    NotText(u32),
    /// A list has more than [`ELEMENTS_MAX`] elements.
    #[error("field {0} has more than {ELEMENTS_MAX} elements")]
    TooMany(u32),
    /// The RTI sent an enumerated value that the standard does not define.
    #[error("field {0} has the enumerated value {1}, which is not defined")]
    UndefinedValue(u32, i32),
    /// The message has none of the protocol's cases.
    #[error("the message has no known case")]
    NoCase,
    /// The reply is the reply to a different call.
    #[error("the reply has case {found}; the reply to this call has case {expected}")]
    WrongCase {
        /// The case of a reply to this call.
        expected: u32,
        /// The case received.
        found: u32,
    },
}

/// The maximum number of elements in one list of a message. An element may take two bytes in a frame and forty in
/// memory; this limit bounds the memory that one frame can occupy.
pub const ELEMENTS_MAX: usize = 1 << 18;

/// The fields of a message or of a nested message. Their data share the memory of the whole message, if they are long
/// enough for that.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    whole: &'a Bytes,
    /// Shorter data do not share the memory of the message.
    own_below: usize,
    rest: WireReader<'a>,
}

/// A field and the message that it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) number: u32,
    value: Value<'a>,
    whole: &'a Bytes,
    own_below: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(whole: &'a Bytes) -> Self {
        Self::within(whole, whole)
    }

    /// The fields of a message that is a part of `whole`.
    pub(crate) fn within(whole: &'a Bytes, message: &'a [u8]) -> Self {
        Self { whole, own_below: 0, rest: WireReader::new(message) }
    }

    /// The fields of a message whose data get memory of their own if they are less than half of it.
    pub(crate) fn to_keep(whole: &'a Bytes) -> Self {
        Self { own_below: whole.len() / 2, ..Self::new(whole) }
    }

    /// Returns the next field; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Field<'a>>, MessageError> {
        let Self { whole, own_below, .. } = *self;
        Ok(self.rest.field()?.map(|(number, value)| Field { number, value, whole, own_below }))
    }
}

impl<'a> Field<'a> {
    pub(crate) fn number(self) -> Result<u64, MessageError> {
        match self.value {
            Value::Varint(number) => Ok(number),
            _ => Err(self.wrong_type()),
        }
    }

    pub(crate) fn fixed64(self) -> Result<u64, MessageError> {
        match self.value {
            Value::Fixed64(number) => Ok(number),
            _ => Err(self.wrong_type()),
        }
    }

    pub(crate) fn bytes(self) -> Result<&'a [u8], MessageError> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.wrong_type()),
        }
    }

    /// Returns the bytes as data, which share the memory of the message if they are long enough for that.
    pub(crate) fn data(self) -> Result<Data, MessageError> {
        let bytes = self.bytes()?;
        let is_shared = bytes.len() >= self.own_below;
        Ok(if is_shared { self.whole.slice_ref(bytes) } else { Data::copy_from_slice(bytes) })
    }

    /// Returns the fields of the message that this field holds.
    pub(crate) fn fields(self) -> Result<Fields<'a>, MessageError> {
        Ok(Fields {
            whole: self.whole,
            own_below: self.own_below,
            rest: WireReader::new(self.bytes()?),
        })
    }

    fn wrong_type(self) -> MessageError {
        MessageError::WrongType(self.number)
    }
}
