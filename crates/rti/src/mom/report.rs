//! Interactions that the RTI sends (clause 11.4).

use hemiola_hla::data::Data;
use hemiola_hla::encoding::{HLAboolean, HLAunicodeString};
use hemiola_hla::{FederateHandle, InteractionClassHandle, TransportationTypeHandle};

use super::parameters::Fault;
use super::value::{data, text};
use super::{INTERACTIONS, RTI};
use crate::federate::Edition;
use crate::federation::Federation;
use crate::services::object;

/// The values of a report, by parameter.
pub(super) type Values = Vec<(&'static str, Data)>;

/// Sends a report on the federation. Parameters that the edition of the object model does not have are left out.
pub(super) fn of_federation(federation: &mut Federation, name: &str, values: Values) {
    send(federation, &format!("{INTERACTIONS}.HLAfederation.HLAreport.{name}"), values);
}

/// Sends a report on a federate.
pub(super) fn of_federate(
    federation: &mut Federation,
    federate: FederateHandle,
    name: &str,
    values: Values,
) {
    let mut all = vec![("HLAfederate", data(&federate))];
    all.extend(values);
    send(federation, &format!("{INTERACTIONS}.HLAfederate.HLAreport.{name}"), all);
}

fn send(federation: &mut Federation, class: &str, values: Values) {
    let model = &federation.model;
    let Some(class) = model.interaction_class_named(class) else { return };
    let parameter = |name: &str| model.parameter_named(class, name);
    let values =
        values.into_iter().filter_map(|(name, value)| Some((parameter(name)?, value))).collect();
    let sent = object::send_interaction(federation, RTI, class, values, Data::new(), None);
    sent.expect("the RTI publishes its reports");
}

/// Reports why the RTI did not do what a federate's interaction asks.
pub(super) fn mom_exception(
    federation: &mut Federation,
    sender: FederateHandle,
    service: &str,
    fault: Fault,
) {
    let values = vec![
        ("HLAservice", text(service)),
        ("HLAexception", text(&fault.reason)),
        ("HLAparameterError", data(&HLAboolean(fault.in_parameters))),
    ];
    of_federate(federation, sender, "HLAreportMOMexception", values);
}

/// Whether all federates that receive this report are of 1516-2010. Some data types have changed since.
pub(super) fn is_for_2010(federation: &Federation, class: &str) -> bool {
    let name = format!("{INTERACTIONS}.{class}");
    let Some(class) = federation.model.interaction_class_named(&name) else { return false };
    let subscribers =
        |class: InteractionClassHandle| federation.interaction_subscribers.get(&class);
    let all = federation.interaction_class_line(class).filter_map(subscribers).flatten();
    let mut editions = all.filter(|one| **one != RTI).map(|one| federation.federate(*one).edition);
    let first = editions.next();
    first == Some(Edition::Evolved) && editions.all(|one| one == Edition::Evolved)
}

/// Encodes a transportation type: its handle, and in 2010 its name.
pub(super) fn transportation(
    federation: &Federation,
    handle: TransportationTypeHandle,
    is_for_2010: bool,
) -> Data {
    let definition = federation.model.transportation(handle);
    match definition.filter(|_| is_for_2010) {
        Some(definition) => data(&HLAunicodeString::from(definition.name.as_str())),
        None => data(&handle),
    }
}
