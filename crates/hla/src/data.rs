//! What calls and callbacks carry besides handles, times and text.

use crate::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, MessageRetractionHandle, ParameterHandle,
    RegionHandle,
};
use crate::status::{AdditionalSettingsResultCode, RestoreStatus, SaveStatus};

/// Bytes that only federates understand: values, tags. Shared, so that a value that goes to many
/// federates is kept once.
pub type Data = bytes::Bytes;

/// Attributes with their new values, in the order they were sent.
pub type AttributeValues = Vec<(AttributeHandle, Data)>;

/// Parameters with their values, in the order they were sent.
pub type ParameterValues = Vec<(ParameterHandle, Data)>;

/// An object model module as a federate sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FomModule {
    /// A file with its name, as bytes of XML.
    File {
        /// As the federate named it: a file name or a whole path.
        name: String,
        /// The XML in the encoding it declares.
        content: Data,
    },
    /// A ZIP archive with the file in it.
    Compressed(Data),
    /// A name that is no file of the federate's: an address, or `HLAstandardMIM`.
    Url(String),
}

/// Who a federate says it is (clause 4.2).
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The kind: `HLAnoCredentials`, `HLAplainTextPassword`, or one's own.
    pub kind: String,
    /// What proves it, as its kind encodes it.
    pub data: Data,
}

/// Never shows what proves it.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// How a federate wants to be connected (clause 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RtiConfiguration {
    /// The name of a configuration the RTI may know.
    pub configuration_name: String,
    /// The address of the RTI; clients of the Federate Protocol use it themselves and send it empty.
    pub rti_address: String,
    /// Further settings, one a line.
    pub additional_settings: String,
}

/// The additional setting by which a federate tells Hemiola that it waits for no answer to an update, an interaction or
/// a request to advance time: these answers may come later, together with something else.
pub const ANSWERS_LATER: &str = "Hemiola.answers=later";

/// What became of a federate's configuration (clause 4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationResult {
    /// Was the named configuration used?
    pub configuration_used: bool,
    /// Was the address used?
    pub address_used: bool,
    /// What became of the additional settings.
    pub additional_settings_result: AdditionalSettingsResultCode,
    /// For people.
    pub message: String,
}

impl Default for ConfigurationResult {
    fn default() -> Self {
        Self {
            configuration_used: false,
            address_used: false,
            additional_settings_result: AdditionalSettingsResultCode::SettingsIgnored,
            message: String::new(),
        }
    }
}

/// What a federate is told when it has joined (clause 4.11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinResult {
    /// Its handle.
    pub federate: FederateHandle,
    /// The name of the federation's logical time.
    pub logical_time_implementation: String,
}

/// A federation execution in a list of them (clause 4.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederationExecutionInformation {
    /// Its name.
    pub federation_name: String,
    /// The name of its logical time.
    pub logical_time_implementation: String,
}

/// A joined federate in a list of them (clause 4.10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederationExecutionMember {
    /// Its name.
    pub federate_name: String,
    /// Its type.
    pub federate_type: String,
}

/// How far one federate is with a save (clause 4.26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FederateSaveStatus {
    /// Which.
    pub federate: FederateHandle,
    /// How far.
    pub status: SaveStatus,
}

/// How far one federate is with a restore (clause 4.35).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FederateRestoreStatus {
    /// Its handle before.
    pub before: FederateHandle,
    /// Its handle afterwards; `INVALID` until it is known.
    pub after: FederateHandle,
    /// How far.
    pub status: RestoreStatus,
}

/// A piece of a dimension: from `lower` up to but without `upper`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeBounds {
    /// The first point in it.
    pub lower: u32,
    /// The first point after it.
    pub upper: u32,
}

impl RangeBounds {
    /// Do the two overlap: do they have a point in common, or begin at the same (clause 9.1)?
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.lower == other.lower || (self.lower < other.upper && other.lower < self.upper)
    }
}

/// A region as a receiver is told of it: by value, because regions belong to who made them.
pub type ConveyedRegion = Vec<(DimensionHandle, RangeBounds)>;

/// Attributes and the regions they are meant for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeRegions {
    /// Which attributes.
    pub attributes: Vec<AttributeHandle>,
    /// Which regions.
    pub regions: Vec<RegionHandle>,
}

/// The handle to take a message back with; `None` if that is not possible.
pub type Retraction = Option<MessageRetractionHandle>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_only_touch_do_not_overlap() {
        let piece = |lower, upper| RangeBounds { lower, upper };
        assert!(!piece(0, 5).overlaps(piece(5, 9)));
        assert!(piece(0, 6).overlaps(piece(5, 9)));
        assert!(piece(3, 4).overlaps(piece(0, 9)));
        assert!(piece(3, 3).overlaps(piece(3, 3)));
    }

    #[test]
    fn a_password_is_never_shown() {
        let credentials =
            Credentials { kind: "HLAplainTextPassword".into(), data: Data::from_static(b"secret") };
        assert!(!format!("{credentials:?}").contains("secret"));
    }
}
