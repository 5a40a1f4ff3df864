//! Connect and disconnect (clauses 4.2 and 4.3).

use hemiola_hla::data::{ANSWERS_LATER, ConfigurationResult, Credentials, RtiConfiguration};
use hemiola_hla::encoding::{HLAunicodeString, decode};
use hemiola_hla::status::AdditionalSettingsResultCode;
use hemiola_hla::{Exception, Refusal, Reply};

use super::Answer;
use crate::federate::Edition;
use crate::input::SessionId;
use crate::kernel::Kernel;

/// The first setting that clients of 1516-2010 send.
const SETTING_OF_2010: &str = "API.version=IEEE 1516-2010";

/// All settings. The shell handles [`ANSWERS_LATER`].
const SETTINGS: [&str; 2] = [SETTING_OF_2010, ANSWERS_LATER];

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
    let settings = configuration.additional_settings.lines().map(str::trim);
    let settings: Vec<&str> = settings.filter(|setting| !setting.is_empty()).collect();
    let is_of_2010 = settings.contains(&SETTING_OF_2010);
    let edition = if is_of_2010 { Edition::Evolved } else { Edition::Hla4 };
    // A value may be a password, so only the name is repeated.
    let name = |setting: &&str| setting.split('=').next().unwrap_or_default().trim().to_owned();
    let unknown = settings.iter().filter(|setting| !SETTINGS.contains(setting)).map(name);
    let unknown: Vec<String> = unknown.collect();
    let message = match &unknown[..] {
        [] => String::new(),
        unknown => format!("unknown settings: {}", unknown.join(", ")),
    };
    let applied = !settings.is_empty() && unknown.is_empty();
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
