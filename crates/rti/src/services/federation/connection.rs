//! Connect and disconnect (clauses 4.2 and 4.3).

use hemiola_hla::data::{ConfigurationResult, Credentials, RtiConfiguration};
use hemiola_hla::encoding::{HLAunicodeString, decode};
use hemiola_hla::status::AdditionalSettingsResultCode;
use hemiola_hla::{Exception, Refusal, Reply};

use super::Answer;
use crate::federate::Edition;
use crate::input::SessionId;
use crate::kernel::Kernel;
use crate::settings::ConnectSettings;

/// Clause 4.2.
pub(super) fn connect(
    kernel: &mut Kernel,
    session: SessionId,
    configuration: Option<&RtiConfiguration>,
    credentials: Option<&Credentials>,
) -> Answer {
    let Some(state) = kernel.sessions.get_mut(&session) else {
        return Err(Exception::ConnectionFailed.because("the session has ended"));
    };
    if state.connected.is_some() {
        return Err(Exception::AlreadyConnected.into());
    }
    credentials.map_or(Ok(()), check_credentials)?;
    let (edition, result) = configuration.map_or_else(Default::default, apply_settings);
    state.connected = Some(edition);
    Ok(Reply::Configured(result))
}

/// Checks that credentials are well-formed. This RTI admits every federate that can reach it.
fn check_credentials(credentials: &Credentials) -> Result<(), Refusal> {
    let good = match credentials.kind.as_str() {
        "HLAnoCredentials" => credentials.data.is_empty(),
        "HLAplainTextPassword" => decode::<HLAunicodeString>(&credentials.data).is_ok(),
        kind => {
            let details = format!("unknown type of credentials: {kind}");
            return Err(Exception::InvalidCredentials.because(details));
        }
    };
    let details = || format!("the data does not match the type {}", credentials.kind);
    if good { Ok(()) } else { Err(Exception::InvalidCredentials.because(details())) }
}

fn apply_settings(configuration: &RtiConfiguration) -> (Edition, ConfigurationResult) {
    let settings = ConnectSettings::of(configuration);
    let edition = if settings.is_evolved { Edition::Evolved } else { Edition::Hla4 };
    let message = match &settings.unknown[..] {
        [] => String::new(),
        unknown => format!("unknown settings: {}", unknown.join(", ")),
    };
    let applied = settings.has_any && settings.unknown.is_empty();
    let result = ConfigurationResult {
        additional_settings_result: if applied {
            AdditionalSettingsResultCode::SettingsApplied
        } else {
            AdditionalSettingsResultCode::SettingsIgnored
        },
        message,
        ..ConfigurationResult::default()
    };
    (edition, result)
}

/// Clause 4.3. Disconnecting without a connection succeeds, because clients wait for a reply before they end the
/// session.
pub(super) fn disconnect(kernel: &mut Kernel, session: SessionId) -> Answer {
    if let Some(state) = kernel.sessions.get_mut(&session) {
        if state.member.is_some() {
            return Err(Exception::FederateIsExecutionMember.into());
        }
        state.connected = None;
    }
    Ok(Reply::Done)
}
