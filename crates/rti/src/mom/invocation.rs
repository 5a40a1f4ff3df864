//! Reports on service invocations and exceptions (clause 11.5).
//!
//! The reports on a federate are numbered without gaps, in the order of its calls and callbacks. A call is reported
//! after it has been carried out, so callbacks that it causes to its own federate come before it.

use hemiola_hla::data::Data;
use hemiola_hla::encoding::{
    HLAboolean, HLAfixedRecord, HLAinteger16BE, HLAinteger32BE, HLAunicodeString,
};
use hemiola_hla::{Call, Callback, FederateHandle, Refusal, ServiceGroup, Switch};

use super::argument::{self, Argument};
use super::file;
use super::report::{self, Values};
use super::value::{array, data, integer, text};
use crate::federation::Federation;
use crate::services::Answer;

/// A report that will be sent after the present call has been answered.
#[derive(Debug)]
pub(super) struct Invocation {
    pub(super) federate: FederateHandle,
    pub(super) service: String,
    pub(super) group: ServiceGroup,
    pub(super) supplied: Vec<Argument>,
    pub(super) returned: Argument,
    pub(super) exception: Option<String>,
    pub(super) serial: i32,
}

/// A call about to be carried out, if its federate reports.
#[derive(Debug)]
pub(super) struct Pending {
    service: &'static str,
    group: ServiceGroup,
    /// The arguments, if the federate reports service invocations.
    supplied: Option<Vec<Argument>>,
    /// Whether it reports exceptions.
    exceptions: bool,
}

impl Pending {
    /// Notes what the reports on a call need, before it is carried out. Returns `None` if there will be no report.
    pub(super) fn of(federation: &Federation, me: FederateHandle, call: &Call) -> Option<Self> {
        let federate = federation.federate(me);
        let services = federate.is_on(Switch::ServiceReporting);
        let exceptions = federate.is_on(Switch::ExceptionReporting);
        let time = federation.implementation;
        (services || exceptions).then(|| Self {
            service: call.entry().method,
            group: call.group(),
            supplied: services.then(|| argument::of_call(call, time)),
            exceptions,
        })
    }

    /// The call has been carried out.
    pub(super) fn ended(self, federation: &mut Federation, me: FederateHandle, answer: &Answer) {
        let service = clause_title(self.service);
        if let (true, Err(refusal)) = (self.exceptions, answer) {
            exception(federation, me, &service, refusal);
        }
        let Some(supplied) = self.supplied else { return };
        let returned = argument::of_reply(answer.as_ref().ok(), federation.implementation);
        let exception = answer.as_ref().err().map(ToString::to_string);
        note(
            federation,
            me,
            Invocation {
                federate: me,
                service,
                group: self.group,
                supplied,
                returned,
                exception,
                serial: 0,
            },
        );
    }
}

/// Notes a callback to a federate that reports service invocations.
pub(super) fn callback(federation: &mut Federation, to: FederateHandle, callback: &Callback) {
    if !federation.federate(to).is_on(Switch::ServiceReporting) {
        return;
    }
    let entry = callback.entry();
    let time = federation.implementation;
    let invocation = Invocation {
        federate: to,
        service: clause_title(entry.method),
        group: group(entry.clause),
        supplied: argument::of_callback(callback, time),
        returned: argument::of_reply(None, time),
        exception: None,
        serial: 0,
    };
    note(federation, to, invocation);
}

/// Numbers a report and keeps it until the present call has been answered.
fn note(federation: &mut Federation, federate: FederateHandle, invocation: Invocation) {
    let Some(mom) = &mut federation.mom else { return };
    let Some(member) = mom.members.get_mut(&federate) else { return };
    let serial = member.serial;
    member.serial = serial.wrapping_add(1) & i32::MAX;
    mom.invocations.push_back(Invocation { serial, ..invocation });
}

/// Sends a report on a service invocation.
pub(super) fn send(federation: &mut Federation, invocation: Invocation) {
    const REPORT: &str = "HLAreportServiceInvocation";
    file::write(federation, &invocation);
    let Invocation { federate, service, group, supplied, returned, exception, serial } = invocation;
    let of_2010 = report::is_for_2010(federation, &format!("HLAfederate.HLAreport.{REPORT}"));
    let mut values: Values = vec![
        ("HLAservice", text(&service)),
        ("HLAserviceType", data(&HLAinteger16BE(group.number() as i16))),
        ("HLAsuccessIndicator", data(&HLAboolean(exception.is_none()))),
        ("HLAexception", text(exception.as_deref().unwrap_or_default())),
        ("HLAserialNumber", integer(serial)),
    ];
    if of_2010 {
        let value = |one: &Argument| HLAunicodeString::from(one.value.as_str());
        let returned_values = (!returned.value.is_empty()).then(|| value(&returned));
        values.push(("HLAsuppliedArguments", array(supplied.iter().map(value))));
        values.push(("HLAreturnedArguments", array(returned_values)));
    } else {
        values.push(("HLAsuppliedArguments", array(supplied.iter().map(record))));
        values.push(("HLAreturnedArgument", data(&record(&returned))));
    }
    report::of_federate(federation, federate, REPORT, values);
}

/// An argument as an `HLAargument`.
fn record(
    argument: &Argument,
) -> HLAfixedRecord<(HLAinteger32BE, HLAunicodeString, HLAunicodeString)> {
    let Argument { kind, name, value } = argument;
    let text = |text: &str| HLAunicodeString::from(text);
    HLAfixedRecord((HLAinteger32BE(*kind), text(name), text(value)))
}

/// Reports the exception of a call.
fn exception(federation: &mut Federation, me: FederateHandle, service: &str, refusal: &Refusal) {
    let values: Vec<(&'static str, Data)> =
        vec![("HLAservice", text(service)), ("HLAexception", text(&refusal.to_string()))];
    report::of_federate(federation, me, "HLAreportException", values);
}

/// The service group of a clause.
fn group(clause: &str) -> ServiceGroup {
    let number = clause.split('.').next().and_then(|clause| clause.parse::<i32>().ok());
    let group = number.and_then(|number| ServiceGroup::from_number(number - 4));
    group.expect("callbacks are of clauses 4 to 8")
}

/// The title of a service's clause, from the name of its method: `queryGALT` becomes `Query GALT`.
fn clause_title(method: &str) -> String {
    let mut title = String::new();
    let mut was_lower = false;
    for letter in method.chars() {
        if letter.is_uppercase() && was_lower {
            title.push(' ');
        }
        was_lower = letter.is_lowercase();
        if title.is_empty() {
            title.extend(letter.to_uppercase());
        } else {
            title.push(letter);
        }
    }
    title
}
