//! The parameters of an interaction that was sent to the RTI.

use hemiola_fom::Model;
use hemiola_hla::data::ParameterValues;
use hemiola_hla::encoding::{DecodeError, Element, decode};
use hemiola_hla::{FederateHandle, InteractionClassHandle, Refusal};

use crate::federate::Federate;
use crate::federation::Federation;

/// The reason why the RTI did not do what an interaction asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Whether a parameter is missing or has no valid value. Otherwise a precondition is not met.
    pub(super) in_parameters: bool,
    pub(super) reason: String,
}

impl Fault {
    /// A parameter is wrong.
    pub(super) fn parameter(name: &str, reason: impl std::fmt::Display) -> Self {
        Self { in_parameters: true, reason: format!("{name}: {reason}") }
    }
}

/// A service refuses what the interaction asks.
impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self { in_parameters: false, reason: refusal.to_string() }
    }
}

/// The parameters of an interaction, by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters<'p> {
    pub(super) model: &'p Model,
    pub(super) class: InteractionClassHandle,
    pub(super) values: &'p ParameterValues,
}

impl Parameters<'_> {
    /// Decodes a parameter, if it was sent.
    pub(super) fn optional<T: Element>(&self, name: &str) -> Result<Option<T>, Fault> {
        let handle = self.model.parameter_named(self.class, name);
        let value = self.values.iter().find(|(one, _)| Some(*one) == handle);
        let value = value.map(|(_, value)| decoded(value)).transpose();
        value.map_err(|error| Fault::parameter(name, error))
    }

    /// Decodes a parameter.
    pub(super) fn get<T: Element>(&self, name: &str) -> Result<T, Fault> {
        self.optional(name)?.ok_or_else(|| Fault::parameter(name, "the parameter is missing"))
    }

    /// Returns the joined federate that the interaction concerns.
    pub(super) fn federate(&self, federation: &Federation) -> Result<FederateHandle, Fault> {
        const NAME: &str = "HLAfederate";
        let handle: FederateHandle = self.get(NAME)?;
        let federate = federation.joined_federate(handle);
        match federate.filter(|federate| Federate::is_staying(federate)) {
            Some(_) if federation.is_busy(handle) => {
                let reason = "too much waits for this federate, which is busy".to_owned();
                Err(Fault { in_parameters: false, reason })
            }
            Some(_) => Ok(handle),
            None => Err(Fault::parameter(NAME, format!("no federate {handle} is joined"))),
        }
    }
}

/// Decodes a value. Handles and times may also be what the methods `encode` of the standard's interfaces give, because
/// federates send that as it is.
fn decoded<T: Element>(value: &[u8]) -> Result<T, DecodeError> {
    if T::UNCOUNTED_LEN == Some(value.len()) {
        let count = (value.len() as u32).to_be_bytes();
        return decode(&[&count, value].concat());
    }
    decode(value)
}
