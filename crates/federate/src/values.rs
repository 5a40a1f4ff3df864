//! Attributes and parameters that know the data type of their values.

use std::marker::PhantomData;

use hemiola_hla::encoding::{DecodeError, Element, decode, encode};
use hemiola_hla::{
    AttributeHandle, Data, InteractionClassHandle, ObjectClassHandle, ParameterHandle,
};

use crate::error::Error;
use crate::federate::Federate;

macro_rules! typed {
    ($($(#[$doc:meta])* $name:ident($handle:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<T> {
            handle: $handle,
            values: PhantomData<fn() -> T>,
        }

        impl<T: Element> $name<T> {
            /// Wraps a handle whose data type in the object model is `T`.
            pub const fn new(handle: $handle) -> Self {
                Self { handle, values: PhantomData }
            }

            /// Returns the handle.
            pub const fn handle(&self) -> $handle {
                self.handle
            }

            /// Pairs the handle with an encoded value, ready to send.
            pub fn with(&self, value: &T) -> ($handle, Data) {
                (self.handle, encode(value).into())
            }

            /// Finds and decodes its value among received values. Returns `None` if it is not among them.
            ///
            /// # Errors
            /// [`DecodeError`] if the bytes are not a value of the data type.
            pub fn of(&self, received: &[($handle, Data)]) -> Result<Option<T>, DecodeError> {
                let found = received.iter().find(|(handle, _)| *handle == self.handle);
                found.map(|(_, bytes)| decode(bytes)).transpose()
            }
        }
    )*};
}

typed! {
    /// An attribute with values of one data type.
    Attribute(AttributeHandle);
    /// A parameter with values of one data type.
    Parameter(ParameterHandle);
}

impl Federate {
    /// Looks up an attribute by name (clause 10.9). The caller states the data type of its values.
    ///
    /// # Errors
    /// As [`get_attribute_handle`](Self::get_attribute_handle).
    pub fn attribute<T: Element>(
        &mut self,
        object_class: ObjectClassHandle,
        name: &str,
    ) -> Result<Attribute<T>, Error> {
        self.get_attribute_handle(object_class, name).map(Attribute::new)
    }

    /// Looks up a parameter by name (clause 10.15). The caller states the data type of its values.
    ///
    /// # Errors
    /// As [`get_parameter_handle`](Self::get_parameter_handle).
    pub fn parameter<T: Element>(
        &mut self,
        interaction_class: InteractionClassHandle,
        name: &str,
    ) -> Result<Parameter<T>, Error> {
        self.get_parameter_handle(interaction_class, name).map(Parameter::new)
    }
}

#[cfg(test)]
mod tests {
    use hemiola_hla::encoding::HLAfloat64BE;

    use super::*;

    #[test]
    fn a_value_is_found_among_those_received() {
        let position = Attribute::<HLAfloat64BE>::new(AttributeHandle::new(7));
        let other = Attribute::<HLAfloat64BE>::new(AttributeHandle::new(8));
        let sent = [position.with(&HLAfloat64BE(1.5))];
        assert_eq!(position.of(&sent), Ok(Some(HLAfloat64BE(1.5))));
        assert_eq!(other.of(&sent), Ok(None));
        let short = [(position.handle(), Data::from_static(&[1, 2, 3]))];
        assert!(position.of(&short).is_err());
    }
}
