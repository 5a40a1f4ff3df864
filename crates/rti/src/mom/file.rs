//! Service reports in files (clauses 10.51 and 11.2): one line of JSON for each call and callback of a federate.
//!
//! ```text
//! {"record":"initial","federation":"Yard","federate":"car","type":"test","handle":2,"rti":"Hemiola 0.1.0"}
//! {"record":"call","serial":0,"service":"Query GALT","group":4,"supplied":[],"returned":{…},"exception":null}
//! ```
//!
//! A federate has a file from the moment when both of its switches are on. The reports are those that subscribers of
//! `HLAreportServiceInvocation` receive, which receive them all the same.

use std::fmt::Write as _;

use hemiola_hla::{FederateHandle, Switch};

use super::argument::Argument;
use super::invocation::Record;
use super::value::VERSION;
use crate::federation::Federation;
use crate::input::{Effect, SessionId};

/// Bytes of a text in a line: one update may have millions.
const TEXT_LEN: usize = 4096;

/// Returns the session whose file gets the reports of a federate, if the federate wants one and can have it.
pub(super) fn of(federation: &Federation, federate: FederateHandle) -> Option<SessionId> {
    let federate = federation.joined_federate(federate)?;
    let switches = [Switch::ServiceReporting, Switch::SendServiceReportsToFile];
    let is_wanted = switches.into_iter().all(|switch| federate.is_on(switch));
    (is_wanted && federation.report_files.is_some()).then_some(federate.session)
}

/// Begins the file of a federate if it is wanted now and was not before. From then on, the model observes its calls.
pub(crate) fn begin_report_file(federation: &mut Federation, federate: FederateHandle) {
    let Some(session) = of(federation, federate) else { return };
    if federation.federate(federate).has_report_file {
        return;
    }
    federation.federate_mut(federate).has_report_file = true;
    if federation.mom.is_none() {
        super::begin(federation);
    }
    let state = federation.federate(federate);
    let mut line = String::from("{\"record\":\"initial\"");
    let named = [
        ("federation", &federation.name),
        ("federate", &state.name),
        ("type", &state.federate_type),
    ];
    for (key, value) in named {
        let _ = write!(line, ",\"{key}\":{}", quoted(value));
    }
    let _ = write!(line, ",\"handle\":{},\"rti\":{}}}", federate.number(), quoted(VERSION));
    append(federation, session, line);
}

/// Writes a report to the file of a session.
pub(super) fn write(federation: &mut Federation, session: SessionId, record: &Record, serial: i32) {
    let Record { service, group, supplied, returned, exception, .. } = record;
    let supplied: Vec<String> = supplied.iter().map(argument).collect();
    let exception = exception.as_deref().map_or_else(|| "null".into(), quoted);
    let line = format!(
        "{{\"record\":\"call\",\"serial\":{serial},\"service\":{},\"group\":{},\"supplied\":[{}],\
         \"returned\":{},\"exception\":{exception}}}",
        quoted(service),
        group.number(),
        supplied.join(","),
        argument(returned),
    );
    append(federation, session, line);
}

fn append(federation: &mut Federation, session: SessionId, mut line: String) {
    line.push('\n');
    federation.outbox.push(Effect::Report(session, line.into_bytes()));
}

/// An argument: its value of `HLAargumentType`, its name and its value.
fn argument(Argument { kind, name, value }: &Argument) -> String {
    format!("{{\"type\":{kind},\"name\":{},\"value\":{}}}", quoted(name), quoted(value))
}

/// A text of JSON. Of a long one, the beginning and the length.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text[..text.floor_char_boundary(TEXT_LEN)].chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    if text.len() > TEXT_LEN {
        quoted.push('…');
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::{TEXT_LEN, quoted};

    #[test]
    fn texts_are_escaped_and_long_ones_are_cut() {
        assert_eq!(quoted("a\"b\\c\n\u{0}ä"), r#""a\"b\\c\u000a\u0000ä""#);
        let long = quoted(&"ä".repeat(TEXT_LEN));
        assert!(long.ends_with("ä…\""), "{}", &long[long.len() - 40..]);
    }
}
