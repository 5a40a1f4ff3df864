//! The additional settings of a connection: what a federate may ask of this RTI with `connect` (clause 4.2).

use hemiola_hla::Call;
use hemiola_hla::call::FederationCall;
use hemiola_hla::data::{
    ANSWERS_GATHERED, ANSWERS_LATER, CALLBACKS_TOGETHER, Credentials, PASSWORD, REPLACES,
    RESUME_WINDOW, RtiConfiguration, TOLD_OF_LOSS,
};
use hemiola_hla::encoding::{HLAunicodeString, encode};
use hemiola_units::Span;

/// The type of credentials that consist of a password.
pub(crate) const PLAIN_TEXT_PASSWORD: &str = "HLAplainTextPassword";

/// The first setting that clients of 1516-2010 send.
const SETTING_OF_2010: &str = "API.version=IEEE 1516-2010";

/// The additional settings that this RTI knows. The kernel applies the edition, the credentials and `told_of_loss`, the
/// shell all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectSettings {
    /// The client speaks IEEE 1516-2010.
    pub is_evolved: bool,
    /// It does not wait for the replies to updates, interactions and time requests ([`ANSWERS_LATER`]).
    pub answers_later: bool,
    /// One frame may answer several of its calls, and of the callbacks to it ([`ANSWERS_GATHERED`]).
    pub answers_gathered: bool,
    /// One frame may hold several callbacks to it ([`CALLBACKS_TOGETHER`]).
    pub callbacks_together: bool,
    /// It is told why the RTI ends its session ([`TOLD_OF_LOSS`]).
    pub told_of_loss: bool,
    /// The secret name of a session of the same federate, which ends ([`REPLACES`]).
    pub replaces: Option<u64>,
    /// How long its session is kept without a connection ([`RESUME_WINDOW`]).
    pub resume_window: Option<Span>,
    /// The credentials of a client whose edition passes none with `connect` ([`PASSWORD`]).
    pub credentials: Option<Credentials>,
    /// The names of settings that are unknown, or whose values cannot be read. Values may be secret.
    pub unknown: Vec<String>,
    /// Whether there are any settings.
    pub has_any: bool,
}

impl ConnectSettings {
    /// Reads the settings of a configuration, one per line.
    #[must_use]
    pub fn of(configuration: &RtiConfiguration) -> Self {
        let mut settings = Self::default();
        for line in configuration.additional_settings.lines().map(str::trim) {
            if line.is_empty() {
                continue;
            }
            settings.has_any = true;
            if settings.take(line).is_none() {
                let name = line.split('=').next().unwrap_or_default().trim();
                settings.unknown.push(name.to_owned());
            }
        }
        settings
    }

    /// Reads the settings of a call; `None` if it is not a call to connect with settings.
    #[must_use]
    pub fn of_call(call: &Call) -> Option<Self> {
        use FederationCall as C;
        match call {
            Call::Federation(
                C::ConnectWithConfiguration { rti_configuration }
                | C::ConnectWithConfigurationAndCredentials { rti_configuration, .. },
            ) => Some(Self::of(rti_configuration)),
            _ => None,
        }
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let flag = match line {
            SETTING_OF_2010 => Some(&mut self.is_evolved),
            ANSWERS_LATER => Some(&mut self.answers_later),
            ANSWERS_GATHERED => Some(&mut self.answers_gathered),
            CALLBACKS_TOGETHER => Some(&mut self.callbacks_together),
            TOLD_OF_LOSS => Some(&mut self.told_of_loss),
            _ => None,
        };
        if let Some(flag) = flag {
            *flag = true;
            return Some(());
        }
        let (name, value) = line.split_once('=')?;
        match name.trim() {
            REPLACES => self.replaces = Some(u64::from_str_radix(value.trim(), 16).ok()?),
            RESUME_WINDOW => {
                self.resume_window =
                    Some(value.parse().ok().filter(|window| *window >= Span::ZERO)?);
            }
            PASSWORD => {
                let data = encode(&HLAunicodeString::from(value)).into();
                self.credentials = Some(Credentials { kind: PLAIN_TEXT_PASSWORD.into(), data });
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_line_by_line_and_values_are_never_repeated() {
        let additional_settings = "Hemiola.answers=later\nHemiola.answers=gathered\n\n\
                                   Hemiola.callbacks=together\nHemiola.loss=told\n\
                                   \x20Hemiola.replaces = 00000000000000ff\n\
                                   Hemiola.resume-window=2s\nHemiola.resume-window=-2s\nPassword=secret\nx"
            .to_owned();
        let settings =
            ConnectSettings::of(&RtiConfiguration { additional_settings, ..Default::default() });
        let expected = ConnectSettings {
            answers_later: true,
            answers_gathered: true,
            callbacks_together: true,
            told_of_loss: true,
            replaces: Some(255),
            resume_window: Some(Span::from_millis(2000)),
            unknown: ["Hemiola.resume-window", "Password", "x"].map(str::to_owned).to_vec(),
            has_any: true,
            ..ConnectSettings::default()
        };
        assert_eq!(settings, expected);
    }
}
