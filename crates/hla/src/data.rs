//! Further data of calls and callbacks, besides handles, times and text.

use crate::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, MessageRetractionHandle, ParameterHandle,
    RegionHandle,
};
use crate::status::{AdditionalSettingsResultCode, RestoreStatus, SaveStatus};

/// Bytes that only federates interpret, such as values and tags. Shared, so that a value for many receivers is stored
/// once.
pub type Data = bytes::Bytes;

/// Attributes with their new values, in the order they were sent.
pub type AttributeValues = Vec<(AttributeHandle, Data)>;

/// Parameters with their values, in the order they were sent.
pub type ParameterValues = Vec<(ParameterHandle, Data)>;

/// An object model module as a federate provides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FomModule {
    /// A file with its name, as bytes of XML.
    File {
        /// The name that the federate gave: a file name or a path.
        name: String,
        /// The XML in the encoding it declares.
        content: Data,
    },
    /// A ZIP archive with the file in it.
    Compressed(Data),
    /// A name that is not a local file: a URL, or `HLAstandardMIM`.
    Url(String),
}

impl FomModule {
    /// Returns its designator: the name that the federate gave, which an archive has not.
    #[must_use]
    pub fn designator(&self) -> &str {
        match self {
            Self::File { name, .. } | Self::Url(name) => name,
            Self::Compressed(_) => "",
        }
    }
}

/// The credentials of a federate (clause 4.2).
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The type: `HLAnoCredentials`, `HLAplainTextPassword` or a custom one.
    pub kind: String,
    /// The secret, encoded as the type requires.
    pub data: Data,
}

/// Never prints the secret.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// The connection settings of a federate (clause 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RtiConfiguration {
    /// The name of a configuration the RTI may know.
    pub configuration_name: String,
    /// The address of the RTI; clients of the Federate Protocol use it themselves and send it empty.
    pub rti_address: String,
    /// Additional settings, one per line.
    pub additional_settings: String,
}

/// The additional setting by which a federate allows delayed replies to updates, interactions and time advance
/// requests, since it does not wait for them: these replies may be sent together with something else.
pub const ANSWERS_LATER: &str = "Hemiola.answers=later";

/// The additional setting by which a federate accepts answers that the RTI gathers: one frame says that all calls up to
/// one of them were carried out without a result. The RTI accepts such frames for callbacks in return.
pub const ANSWERS_GATHERED: &str = "Hemiola.answers=gathered";

/// The additional setting by which a federate accepts several callbacks in one frame, with one answer for all of them.
pub const CALLBACKS_TOGETHER: &str = "Hemiola.callbacks=together";

/// The additional setting by which a federate asks to be told why the RTI ends its session: the last callback is
/// `ConnectionLost` then. Clients that make this callback themselves when their connection breaks do not ask for it.
pub const TOLD_OF_LOSS: &str = "Hemiola.loss=told";

/// The name of the additional setting by which a federate that has crashed ends the session it had before. Its value is
/// the secret name of that session, in hexadecimal digits.
pub const REPLACES: &str = "Hemiola.replaces";

/// The name of the additional setting by which a federate limits how long its session is kept without a connection. Its
/// value is a length of time such as `2s`.
pub const RESUME_WINDOW: &str = "Hemiola.resume-window";

/// The name of the additional setting with the password of a federate of 1516-2010, whose `connect` has no credentials.
/// Its value stands for credentials of the type `HLAplainTextPassword`.
pub const PASSWORD: &str = "Hemiola.password";

/// The result of a federate's configuration (clause 4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationResult {
    /// Whether the named configuration was used.
    pub configuration_used: bool,
    /// Whether the address was used.
    pub address_used: bool,
    /// The result of the additional settings.
    pub additional_settings_result: AdditionalSettingsResultCode,
    /// A message for people.
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

/// The result of joining (clause 4.11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinResult {
    /// Its handle.
    pub federate: FederateHandle,
    /// The name of the federation's logical time implementation.
    pub logical_time_implementation: String,
}

/// A federation execution in a report (clause 4.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederationExecutionInformation {
    /// Its name.
    pub federation_name: String,
    /// The name of its logical time implementation.
    pub logical_time_implementation: String,
}

/// A joined federate in a report (clause 4.10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FederationExecutionMember {
    /// Its name.
    pub federate_name: String,
    /// Its type.
    pub federate_type: String,
}

/// A federate's status during a save (clause 4.26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FederateSaveStatus {
    /// The federate.
    pub federate: FederateHandle,
    /// Its status.
    pub status: SaveStatus,
}

/// A federate's status during a restore (clause 4.35).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FederateRestoreStatus {
    /// Its handle before the restore.
    pub before: FederateHandle,
    /// Its handle after the restore; `INVALID` until known.
    pub after: FederateHandle,
    /// Its status.
    pub status: RestoreStatus,
}

/// A range of a dimension: from `lower` up to but excluding `upper`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeBounds {
    /// The first point.
    pub lower: u32,
    /// The first point after the range.
    pub upper: u32,
}

impl RangeBounds {
    /// Returns whether the ranges overlap: they share a point or have the same lower bound (clause 9.1).
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.lower == other.lower || (self.lower < other.upper && other.lower < self.upper)
    }
}

/// A region by value, for receivers: handles are known only to the federate that created the region.
pub type ConveyedRegion = Vec<(DimensionHandle, RangeBounds)>;

/// Attributes with the regions that apply to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeRegions {
    /// The attributes.
    pub attributes: Vec<AttributeHandle>,
    /// The regions.
    pub regions: Vec<RegionHandle>,
}

/// A retraction handle; `None` if the message cannot be retracted.
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
