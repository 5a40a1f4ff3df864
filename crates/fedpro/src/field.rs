//! The words of `hla` as fields of messages.
//!
//! Absent fields mean what protocol buffers (version 3) say: zero, nothing, false. A message is always written, even an
//! empty one, because clients require it; a number or text of the default value is not.

use hemiola_hla::data::{
    AttributeRegions, ConfigurationResult, ConveyedRegion, Credentials, FederateRestoreStatus,
    FederateSaveStatus, FederationExecutionInformation, FederationExecutionMember, FomModule,
    JoinResult, RangeBounds, RtiConfiguration,
};
use hemiola_hla::status::{
    AdditionalSettingsResultCode, RestoreFailureReason, RestoreStatus, SaveFailureReason,
    SaveStatus, SynchronizationPointFailureReason,
};
use hemiola_hla::{
    AttributeHandle, Data, DimensionHandle, EncodedInterval, EncodedTime, FederateHandle,
    InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
    OrderType, ParameterHandle, RegionHandle, ResignAction, ServiceGroup, TransportationTypeHandle,
};
use hemiola_wire::{put_bytes, put_fixed64, put_message, put_number};

use crate::wire::{ELEMENTS_MAX, Field, Fields, MessageError};

/// What a field of a message can hold.
pub(crate) trait Content: Sized {
    /// What a message means that does not have the field.
    fn absent() -> Self;

    /// Appends a field of this number.
    fn put(&self, number: u32, out: &mut Vec<u8>);

    /// Takes a field in. Of a value that comes twice the last counts; messages and lists unite.
    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError>;

    /// Appends a list: one field with a message whose field 1 repeats.
    fn put_list(list: &[Self], number: u32, out: &mut Vec<u8>) {
        put_message(out, number, |out| {
            for element in list {
                element.put(1, out);
            }
        });
    }

    /// Takes a list in.
    fn merge_list(list: &mut Vec<Self>, field: Field<'_>) -> Result<(), MessageError> {
        let mut fields = field.fields()?;
        while let Some(field) = fields.next()? {
            if field.number == 1 {
                push(list, field)?;
            }
        }
        Ok(())
    }
}

/// Takes one more element of a list in.
fn push<T: Content>(list: &mut Vec<T>, field: Field<'_>) -> Result<(), MessageError> {
    if list.len() == ELEMENTS_MAX {
        return Err(MessageError::TooMany(field.number));
    }
    let mut element = T::absent();
    element.merge(field)?;
    list.push(element);
    Ok(())
}

impl<T: Content> Content for Vec<T> {
    fn absent() -> Self {
        Self::new()
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        T::put_list(self, number, out);
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        T::merge_list(self, field)
    }
}

impl Content for String {
    fn absent() -> Self {
        Self::new()
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        if !self.is_empty() {
            put_bytes(out, number, self.as_bytes());
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        let text = str::from_utf8(field.bytes()?);
        text.map_err(|_| MessageError::NotText(field.number))?.clone_into(self);
        Ok(())
    }

    /// Texts repeat without a message around them.
    fn put_list(list: &[Self], number: u32, out: &mut Vec<u8>) {
        for text in list {
            put_bytes(out, number, text.as_bytes());
        }
    }

    fn merge_list(list: &mut Vec<Self>, field: Field<'_>) -> Result<(), MessageError> {
        push(list, field)
    }
}

impl Content for Data {
    fn absent() -> Self {
        Self::new()
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        if !self.is_empty() {
            put_bytes(out, number, self);
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        *self = field.data()?;
        Ok(())
    }
}

impl Content for bool {
    fn absent() -> Self {
        false
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        if *self {
            put_number(out, number, 1);
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        *self = field.number()? != 0;
        Ok(())
    }
}

impl Content for u32 {
    fn absent() -> Self {
        0
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        if *self != 0 {
            put_number(out, number, u64::from(*self));
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        // More bits than the type has are cut off, as protocol buffers want it.
        *self = field.number()? as u32;
        Ok(())
    }
}

impl Content for f64 {
    fn absent() -> Self {
        0.0
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        if self.to_bits() != 0 {
            put_fixed64(out, number, self.to_bits());
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        *self = Self::from_bits(field.fixed64()?);
        Ok(())
    }
}

/// Handles and times: a message with the bytes in field 1.
macro_rules! opaque {
    ($($type:ident $from:path;)*) => {$(
        impl Content for $type {
            fn absent() -> Self {
                $from(&[])
            }

            fn put(&self, number: u32, out: &mut Vec<u8>) {
                put_message(out, number, |out| {
                    if let Some(bytes) = opaque_bytes!(self, $type) {
                        put_bytes(out, 1, &bytes);
                    }
                });
            }

            fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
                let mut fields = field.fields()?;
                while let Some(field) = fields.next()? {
                    if field.number == 1 {
                        *self = $from(field.bytes()?);
                    }
                }
                Ok(())
            }
        }
    )*};
}

macro_rules! opaque_bytes {
    ($self:ident, EncodedTime) => {
        Some($self.bytes())
    };
    ($self:ident, EncodedInterval) => {
        Some($self.bytes())
    };
    // The handle of nothing has no bytes at all: all zero would be one to some clients.
    ($self:ident, $handle:ident) => {
        (*$self != $handle::INVALID).then(|| $self.to_bytes())
    };
}

opaque! {
    EncodedTime EncodedTime::new;
    EncodedInterval EncodedInterval::new;
    FederateHandle FederateHandle::from_bytes;
    ObjectClassHandle ObjectClassHandle::from_bytes;
    AttributeHandle AttributeHandle::from_bytes;
    InteractionClassHandle InteractionClassHandle::from_bytes;
    ParameterHandle ParameterHandle::from_bytes;
    DimensionHandle DimensionHandle::from_bytes;
    TransportationTypeHandle TransportationTypeHandle::from_bytes;
    RegionHandle RegionHandle::from_bytes;
    ObjectInstanceHandle ObjectInstanceHandle::from_bytes;
    MessageRetractionHandle MessageRetractionHandle::from_bytes;
}

/// Enumerations that only an RTI sends: a number that means nothing is an error.
macro_rules! words {
    ($($type:ident)*) => {$(
        impl Content for $type {
            fn absent() -> Self {
                Self::ALL[0]
            }

            fn put(&self, number: u32, out: &mut Vec<u8>) {
                if self.number() != 0 {
                    put_number(out, number, self.number() as u64);
                }
            }

            fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
                let word = field.number()? as i32;
                *self = Self::from_number(word).ok_or(MessageError::UndefinedValue(field.number, word))?;
                Ok(())
            }
        }
    )*};
}

words! {
    AdditionalSettingsResultCode OrderType ResignAction RestoreFailureReason RestoreStatus
    SaveFailureReason SaveStatus SynchronizationPointFailureReason
}

/// Enumerations that a federate sends: a number that means nothing is the service's to refuse.
macro_rules! asked_words {
    ($($type:ident)*) => {$(
        impl Content for Option<$type> {
            fn absent() -> Self {
                Some($type::ALL[0])
            }

            fn put(&self, number: u32, out: &mut Vec<u8>) {
                match self.map_or(-1, $type::number) {
                    0 => {}
                    word => put_number(out, number, i64::from(word) as u64),
                }
            }

            fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
                *self = $type::from_number(field.number()? as i32);
                Ok(())
            }
        }
    )*};
}

asked_words! { OrderType ResignAction ServiceGroup }

/// Messages whose fields are those of a structure, numbered from 1 in its order.
macro_rules! records {
    ($($type:ident { $($field:ident)* })*) => {$(
        impl Content for $type {
            fn absent() -> Self {
                Self { $($field: Content::absent(),)* }
            }

            fn put(&self, number: u32, out: &mut Vec<u8>) {
                put_message(out, number, |out| {
                    let mut number = 0;
                    $(
                        number += 1;
                        self.$field.put(number, out);
                    )*
                });
            }

            fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
                let mut fields = field.fields()?;
                while let Some(field) = fields.next()? {
                    let mut number = 0;
                    $(
                        number += 1;
                        if number == field.number {
                            self.$field.merge(field)?;
                        }
                    )*
                }
                Ok(())
            }
        }
    )*};
}

records! {
    AttributeRegions { attributes regions }
    ConfigurationResult { configuration_used address_used additional_settings_result message }
    Credentials { kind data }
    FederateRestoreStatus { before after status }
    FederateSaveStatus { federate status }
    FederationExecutionInformation { federation_name logical_time_implementation }
    FederationExecutionMember { federate_name federate_type }
    JoinResult { federate logical_time_implementation }
    RangeBounds { lower upper }
    RtiConfiguration { configuration_name rti_address additional_settings }
}

/// A handle with its value, a dimension with its range.
impl<A: Content, B: Content> Content for (A, B) {
    fn absent() -> Self {
        (A::absent(), B::absent())
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        put_message(out, number, |out| {
            self.0.put(1, out);
            self.1.put(2, out);
        });
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        let mut fields = field.fields()?;
        while let Some(field) = fields.next()? {
            match field.number {
                1 => self.0.merge(field)?,
                2 => self.1.merge(field)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Regions that are not conveyed are another thing than none.
impl Content for Option<Vec<ConveyedRegion>> {
    fn absent() -> Self {
        None
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        if let Some(regions) = self {
            regions.put(number, out);
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        self.get_or_insert_default().merge(field)
    }
}

/// A message that cannot be taken back has no handle for it.
impl Content for Option<MessageRetractionHandle> {
    fn absent() -> Self {
        None
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        if let Some(handle) = self {
            handle.put(number, out);
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        self.get_or_insert(MessageRetractionHandle::INVALID).merge(field)
    }
}

/// One of three. A module that is none of them has an empty address, which cannot be opened.
impl Content for FomModule {
    fn absent() -> Self {
        Self::Url(String::new())
    }

    fn put(&self, number: u32, out: &mut Vec<u8>) {
        put_message(out, number, |out| match self {
            // Which of the three it is has to be seen, even if it is empty.
            Self::File { name, content } => put_message(out, 1, |out| {
                name.put(1, out);
                content.put(2, out);
            }),
            Self::Compressed(archive) => put_bytes(out, 2, archive),
            Self::Url(address) => put_bytes(out, 3, address.as_bytes()),
        });
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        let mut fields = field.fields()?;
        while let Some(field) = fields.next()? {
            match field.number {
                1 => *self = file(field.fields()?)?,
                2 => *self = Self::Compressed(field.data()?),
                3 => {
                    let mut address = String::new();
                    address.merge(field)?;
                    *self = Self::Url(address);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn file(mut fields: Fields<'_>) -> Result<FomModule, MessageError> {
    let (mut name, mut content) = (String::new(), Data::new());
    while let Some(field) = fields.next()? {
        match field.number {
            1 => name.merge(field)?,
            2 => content.merge(field)?,
            _ => {}
        }
    }
    Ok(FomModule::File { name, content })
}
