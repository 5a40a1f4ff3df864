//! Reports on service invocations and exceptions (clause 11.5).
//!
//! The reports on a federate are numbered without gaps, in the order of its calls and callbacks. A call is reported
//! after it has been carried out, so callbacks that it causes to its own federate come before it.

use std::sync::{Arc, Weak};

use hemiola_hla::encoding::{
    HLAboolean, HLAfixedRecord, HLAinteger16BE, HLAinteger32BE, HLAunicodeString,
};
use hemiola_hla::{Call, FederateHandle, ServiceGroup, Switch};

use super::argument::{self, Argument, Texts};
use super::file;
use super::report::{self, Values};
use super::value::{array, data, integer, text};
use crate::federation::Federation;
use crate::input::SessionId;
use crate::memory::{ALLOCATION, Charge};
use crate::notice::Notice;
use crate::services::Answer;

/// Bytes of text that cost as much as a unit of work: once when they are made, and whenever they are sent.
const BYTES_PER_UNIT: usize = 32;

/// A report that will be sent after the present call has been answered, when the budget allows it.
#[derive(Debug)]
pub(super) struct Invocation {
    federate: FederateHandle,
    record: Arc<Record>,
    serial: i32,
    /// The session whose file gets it.
    file: Option<SessionId>,
}

impl Invocation {
    /// The memory besides its record, in bytes.
    pub(super) const LEN: usize = size_of::<Self>();

    /// The record, to recognise it, and its memory.
    pub(super) fn record(&self) -> (*const Record, usize) {
        (Arc::as_ptr(&self.record), self.record.charge.len())
    }
}

/// A call or a callback as text. All federates that receive the callback share it.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) service: String,
    pub(super) group: ServiceGroup,
    pub(super) supplied: Vec<Argument>,
    pub(super) returned: Argument,
    pub(super) exception: Option<String>,
    /// The length of these texts, in bytes.
    len: usize,
    /// The callback, to recognise it.
    notice: Weak<Notice>,
    charge: Charge,
}

impl Record {
    fn of_callback(federation: &mut Federation, notice: &Arc<Notice>) -> Arc<Self> {
        let mut texts = Texts::of_arguments(federation.implementation);
        let (callback, entry) = (notice.callback(), notice.callback().entry());
        let supplied = argument::of_callback(callback, &mut texts);
        let returned = argument::of_reply(None, &mut texts);
        federation.spend(work(texts.len()));
        Arc::new(Self {
            service: clause_title(entry.method),
            group: group(entry.clause),
            charge: Charge::new(&federation.account, memory(texts.len(), supplied.len())),
            supplied,
            returned,
            exception: None,
            len: texts.len(),
            notice: Arc::downgrade(notice),
        })
    }
}

/// The units of work to make or to send texts of this length.
const fn work(len: usize) -> u64 {
    1 + (len / BYTES_PER_UNIT) as u64
}

/// The memory of a record with texts of this length in so many arguments.
const fn memory(len: usize, arguments: usize) -> usize {
    let each = size_of::<Argument>() + ALLOCATION;
    size_of::<Record>() + 2 * ALLOCATION + len + arguments * each
}

/// A call about to be carried out, if its federate reports.
#[derive(Debug)]
pub(super) struct Pending {
    service: &'static str,
    group: ServiceGroup,
    /// The arguments, if the federate reports service invocations, and the length of their texts.
    supplied: Option<Vec<Argument>>,
    len: usize,
    /// Whether it reports exceptions.
    exceptions: bool,
    /// The session whose file gets the report, if there is one.
    file: Option<SessionId>,
}

impl Pending {
    /// Notes what the reports on a call need, before it is carried out: the switches at its invocation count, so that a
    /// call that turns reporting off is the last one reported. Returns `None` if there will be no report.
    pub(super) fn of(federation: &mut Federation, me: FederateHandle, call: &Call) -> Option<Self> {
        let federate = federation.federate(me);
        let services = federate.is_on(Switch::ServiceReporting);
        let exceptions = federate.is_on(Switch::ExceptionReporting);
        if !services && !exceptions {
            return None;
        }
        let mut texts = Texts::of_arguments(federation.implementation);
        let supplied = services.then(|| argument::of_call(call, &mut texts));
        federation.spend(work(texts.len()));
        let (service, group) = (call.entry().method, call.group());
        let file = file::of(federation, me);
        Some(Self { service, group, supplied, len: texts.len(), exceptions, file })
    }

    /// The call has been carried out.
    pub(super) fn ended(self, federation: &mut Federation, me: FederateHandle, answer: &Answer) {
        let Self { service, group, supplied, len, exceptions, file } = self;
        let service = clause_title(service);
        let mut texts = Texts::of_result(federation.implementation);
        let exception = answer.as_ref().err().map(|refusal| texts.shown(refusal));
        if let (true, Some(exception)) = (exceptions, &exception) {
            let values = vec![("HLAservice", text(&service)), ("HLAexception", text(exception))];
            report::of_federate(federation, me, "HLAreportException", values);
        }
        let returned = argument::of_reply(answer.as_ref().ok(), &mut texts);
        federation.spend(work(texts.len()));
        let Some(supplied) = supplied else { return };
        let (len, notice) = (len + texts.len(), Weak::new());
        let charge = Charge::new(&federation.account, memory(len, supplied.len()));
        let record = Record { service, group, supplied, returned, exception, len, notice, charge };
        note(federation, me, Arc::new(record), file);
    }
}

/// Notes a callback to a federate that reports service invocations.
pub(super) fn callback(federation: &mut Federation, to: FederateHandle, notice: &Arc<Notice>) {
    if !federation.federate(to).is_on(Switch::ServiceReporting) {
        return;
    }
    let record = recorded(federation, notice);
    let record = record.unwrap_or_else(|| Record::of_callback(federation, notice));
    note(federation, to, record, file::of(federation, to));
}

/// Returns the record of a callback that other federates have just received. A message becomes few different callbacks,
/// so if there is a record, it is among the last ones.
fn recorded(federation: &Federation, notice: &Arc<Notice>) -> Option<Arc<Record>> {
    const LAST: usize = 8;
    let last = federation.mom.as_ref()?.invocations.iter().rev().take(LAST);
    let mut records = last.map(|one| &one.record);
    records.find(|one| one.notice.as_ptr() == Arc::as_ptr(notice)).cloned()
}

/// Numbers a report and keeps it until the present call has been answered.
fn note(
    federation: &mut Federation,
    federate: FederateHandle,
    record: Arc<Record>,
    file: Option<SessionId>,
) {
    let Some(mom) = &mut federation.mom else { return };
    let Some(member) = mom.members.get_mut(&federate) else { return };
    let serial = member.serial;
    member.serial = serial.wrapping_add(1) & i32::MAX;
    mom.charge.grow(Invocation::LEN);
    mom.invocations.push_back(Invocation { federate, record, serial, file });
}

/// Sends a report on a service invocation, and writes it to its file.
pub(super) fn send(federation: &mut Federation, invocation: &Invocation) {
    const REPORT: &str = "HLAreportServiceInvocation";
    let Invocation { federate, record, serial, file } = invocation;
    federation.spend(work(record.len));
    if let Some(session) = file {
        file::write(federation, *session, record, *serial);
    }
    let Record { service, group, supplied, returned, exception, .. } = &**record;
    let of_2010 = report::is_for_2010(federation, &format!("HLAfederate.HLAreport.{REPORT}"));
    let mut values: Values = vec![
        ("HLAservice", text(service)),
        ("HLAserviceType", data(&HLAinteger16BE(group.number() as i16))),
        ("HLAsuccessIndicator", data(&HLAboolean(exception.is_none()))),
        ("HLAexception", text(exception.as_deref().unwrap_or_default())),
        ("HLAserialNumber", integer(*serial)),
    ];
    if of_2010 {
        let value = |one: &Argument| HLAunicodeString::from(one.value.as_str());
        let returned_values = (!returned.value.is_empty()).then(|| value(returned));
        values.push(("HLAsuppliedArguments", array(supplied.iter().map(value))));
        values.push(("HLAreturnedArguments", array(returned_values)));
    } else {
        values.push(("HLAsuppliedArguments", array(supplied.iter().map(record_of))));
        values.push(("HLAreturnedArgument", data(&record_of(returned))));
    }
    report::of_federate(federation, *federate, REPORT, values);
}

/// An argument as an `HLAargument`.
fn record_of(
    argument: &Argument,
) -> HLAfixedRecord<(HLAinteger32BE, HLAunicodeString, HLAunicodeString)> {
    let Argument { kind, name, value } = argument;
    let text = |text: &str| HLAunicodeString::from(text);
    HLAfixedRecord((HLAinteger32BE(*kind), text(name), text(value)))
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
