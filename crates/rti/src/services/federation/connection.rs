//! Connect and disconnect (clauses 4.2 and 4.3).

use hemiola_hla::data::{ConfigurationResult, Credentials, RtiConfiguration};
use hemiola_hla::encoding::{HLAunicodeString, decode};
use hemiola_hla::status::AdditionalSettingsResultCode;
use hemiola_hla::{Exception, Refusal, Reply};

use super::Answer;
use crate::federate::Edition;
use crate::input::SessionId;
use crate::kernel::Kernel;
use crate::settings::{ConnectSettings, PLAIN_TEXT_PASSWORD};

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
    let settings = configuration.map(ConnectSettings::of).unwrap_or_default();
    let edition = if settings.is_evolved { Edition::Evolved } else { Edition::Hla4 };
    let password = credentials.or(settings.credentials.as_ref()).map_or(Ok(None), password)?;
    // A session that is not connected has no edition yet for which its replies would be translated.
    let translated =
        |refusal: Refusal| if settings.is_evolved { refusal.of_2010() } else { refusal };
    state.permit = kernel.authority.admit(password.as_deref()).map_err(translated)?;
    state.connected = Some(edition);
    state.told_of_loss = settings.told_of_loss;
    let result = configuration.map_or_else(ConfigurationResult::default, |_| outcome(&settings));
    Ok(Reply::Configured(result))
}

/// Returns the password in well-formed credentials, if they contain one.
fn password(credentials: &Credentials) -> Result<Option<String>, Refusal> {
    let password = match credentials.kind.as_str() {
        "HLAnoCredentials" => credentials.data.is_empty().then_some(None),
        PLAIN_TEXT_PASSWORD => {
            decode::<HLAunicodeString>(&credentials.data).ok().map(|text| Some(text.0))
        }
        kind => {
            let details = format!("unknown type of credentials: {kind}");
            return Err(Exception::InvalidCredentials.because(details));
        }
    };
    let details = || format!("the data does not match the type {}", credentials.kind);
    password.ok_or_else(|| Exception::InvalidCredentials.because(details()))
}

/// Says what became of the settings.
fn outcome(settings: &ConnectSettings) -> ConfigurationResult {
    let message = match &settings.unknown[..] {
        [] => String::new(),
        unknown => format!("unknown settings: {}", unknown.join(", ")),
    };
    let applied = settings.has_any && settings.unknown.is_empty();
    ConfigurationResult {
        additional_settings_result: if applied {
            AdditionalSettingsResultCode::SettingsApplied
        } else {
            AdditionalSettingsResultCode::SettingsIgnored
        },
        message,
        ..ConfigurationResult::default()
    }
}

/// Clause 4.3. Disconnecting without a connection succeeds, because clients wait for a reply before they end the
/// session.
pub(super) fn disconnect(kernel: &mut Kernel, session: SessionId) -> Answer {
    if let Some(state) = kernel.sessions.get_mut(&session) {
        if state.member.is_some() {
            return Err(Exception::FederateIsExecutionMember.into());
        }
        state.connected = None;
        state.permit = None;
    }
    Ok(Reply::Done)
}
