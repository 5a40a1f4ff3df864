//! The types of `hemiola-hla` as fields of messages.
//!
//! An absent field has the default value of Protocol Buffers version 3: zero, empty or false. A message field is always
//! written, even if empty, because clients require it. A number or text with the default value is not written.

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
use hemiola_wire::{put_bytes, put_fixed64, put_number};

use crate::out::{Out, put_message};
use crate::wire::{ELEMENTS_MAX, Field, Fields, MessageError};

/// A type that a field of a message can hold.
pub(crate) trait Content: Sized {
    /// Returns the value of an absent field.
    fn absent() -> Self;

    /// Appends a field with this number.
    fn put(&self, number: u32, out: &mut Out);

    /// Merges a field into the value. If a scalar comes twice, the last one counts; messages and lists are merged.
    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError>;

    /// Appends a list: one field that holds a message whose field 1 repeats.
    fn put_list(list: &[Self], number: u32, out: &mut Out) {
        put_message(out, number, |out| {
            for element in list {
                element.put(1, out);
            }
        });
    }

    /// Merges a field that holds a list.
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

/// Decodes one element and appends it to the list.
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

    fn put(&self, number: u32, out: &mut Out) {
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

    fn put(&self, number: u32, out: &mut Out) {
        if !self.is_empty() {
            put_bytes(out, number, self.as_bytes());
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        let text = str::from_utf8(field.bytes()?);
        text.map_err(|_| MessageError::NotText(field.number))?.clone_into(self);
        Ok(())
    }

    /// Repeats the field itself: a list of texts has no message around it.
    fn put_list(list: &[Self], number: u32, out: &mut Out) {
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

    fn put(&self, number: u32, out: &mut Out) {
        if !self.is_empty() {
            out.put_data(number, self);
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

    fn put(&self, number: u32, out: &mut Out) {
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

    fn put(&self, number: u32, out: &mut Out) {
        if *self != 0 {
            put_number(out, number, u64::from(*self));
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        // Protocol Buffers truncates a varint that is too large for the type.
        *self = field.number()? as u32;
        Ok(())
    }
}

impl Content for f64 {
    fn absent() -> Self {
        0.0
    }

    fn put(&self, number: u32, out: &mut Out) {
        if self.to_bits() != 0 {
            put_fixed64(out, number, self.to_bits());
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        *self = Self::from_bits(field.fixed64()?);
        Ok(())
    }
}

/// Handles and times: a message with opaque bytes in field 1.
macro_rules! opaque {
    ($($type:ident $from:path;)*) => {$(
        impl Content for $type {
            fn absent() -> Self {
                $from(&[])
            }

            fn put(&self, number: u32, out: &mut Out) {
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
    // An invalid handle has no bytes: some clients would take zero bytes for a valid handle.
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

/// Enumerations that only an RTI sends. An undefined value is an error.
macro_rules! rti_enumerations {
    ($($type:ident)*) => {$(
        impl Content for $type {
            fn absent() -> Self {
                Self::ALL[0]
            }

            fn put(&self, number: u32, out: &mut Out) {
                if self.number() != 0 {
                    put_number(out, number, self.number() as u64);
                }
            }

            fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
                let value = field.number()? as i32;
                let undefined = MessageError::UndefinedValue(field.number, value);
                *self = Self::from_number(value).ok_or(undefined)?;
                Ok(())
            }
        }
    )*};
}

rti_enumerations! {
    AdditionalSettingsResultCode OrderType ResignAction RestoreFailureReason RestoreStatus
    SaveFailureReason SaveStatus SynchronizationPointFailureReason
}

/// Enumerations that a federate sends. An undefined value becomes `None`, and the service raises its exception.
macro_rules! federate_enumerations {
    ($($type:ident)*) => {$(
        impl Content for Option<$type> {
            fn absent() -> Self {
                Some($type::ALL[0])
            }

            fn put(&self, number: u32, out: &mut Out) {
                match self.map_or(-1, $type::number) {
                    0 => {}
                    value => put_number(out, number, i64::from(value) as u64),
                }
            }

            fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
                *self = $type::from_number(field.number()? as i32);
                Ok(())
            }
        }
    )*};
}

federate_enumerations! { OrderType ResignAction ServiceGroup }

/// Structures as messages; the fields are numbered from 1 in the order listed.
macro_rules! records {
    ($($type:ident { $($field:ident)* })*) => {$(
        impl Content for $type {
            fn absent() -> Self {
                Self { $($field: Content::absent(),)* }
            }

            fn put(&self, number: u32, out: &mut Out) {
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

/// A pair, such as a handle with its value or a dimension with its range.
impl<A: Content, B: Content> Content for (A, B) {
    fn absent() -> Self {
        (A::absent(), B::absent())
    }

    fn put(&self, number: u32, out: &mut Out) {
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

/// `None` means that no regions were conveyed, which differs from an empty set of regions.
impl Content for Option<Vec<ConveyedRegion>> {
    fn absent() -> Self {
        None
    }

    fn put(&self, number: u32, out: &mut Out) {
        if let Some(regions) = self {
            regions.put(number, out);
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        self.get_or_insert_default().merge(field)
    }
}

/// `None` means that the message cannot be retracted.
impl Content for Option<MessageRetractionHandle> {
    fn absent() -> Self {
        None
    }

    fn put(&self, number: u32, out: &mut Out) {
        if let Some(handle) = self {
            handle.put(number, out);
        }
    }

    fn merge(&mut self, field: Field<'_>) -> Result<(), MessageError> {
        self.get_or_insert(MessageRetractionHandle::INVALID).merge(field)
    }
}

/// One of three cases. A module with none of them becomes an empty URL, which cannot be opened.
impl Content for FomModule {
    fn absent() -> Self {
        Self::Url(String::new())
    }

    fn put(&self, number: u32, out: &mut Out) {
        put_message(out, number, |out| match self {
            // The case is written even if its content is empty: it says which of the three it is.
            Self::File { name, content } => put_message(out, 1, |out| {
                name.put(1, out);
                content.put(2, out);
            }),
            Self::Compressed(archive) => out.put_data(2, archive),
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
