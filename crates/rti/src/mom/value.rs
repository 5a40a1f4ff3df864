//! The values of the attributes of `HLAfederation` and `HLAfederate` (clause 11.2), encoded by their data types.

use std::sync::Arc;

use hemiola_fom::module::Module;
use hemiola_hla::data::Data;
use hemiola_hla::encoding::{
    Element, HLAinteger32BE, HLAlogicalTime, HLAopaqueData, HLAtimeInterval, HLAunicodeString,
    HLAvariableArray, encode,
};
use hemiola_hla::{AttributeHandle, FederateHandle, LogicalTime, ObjectInstanceHandle, Switch};

use hemiola_units::Span;

use super::condition::{Conditions, REPORT_FILE};
use super::subject;
use crate::counts::Counts;
use crate::federate::Federate;
use crate::federation::Federation;
use crate::input::report_file;
use crate::services::time::Galts;
use crate::time::Bound;

/// The version that the RTI reports of itself.
pub(super) const VERSION: &str = concat!("Hemiola ", env!("CARGO_PKG_VERSION"));

/// Encodes a value.
pub(super) fn data<T: Element>(value: &T) -> Data {
    encode(value).into()
}

/// Encodes a text.
pub(super) fn text(value: &str) -> Data {
    data(&HLAunicodeString::from(value))
}

/// Encodes a count, a time in milliseconds or an enumerated value.
pub(super) fn integer(value: i32) -> Data {
    data(&HLAinteger32BE(value))
}

/// Encodes a count of a table.
pub(super) fn number(count: usize) -> Data {
    integer(i32::try_from(count).unwrap_or(i32::MAX))
}

/// Encodes a length of time as `HLAmsec`.
fn milliseconds(span: Span) -> Data {
    integer(i32::try_from(span.nanos() / 1_000_000).unwrap_or(i32::MAX))
}

/// Encodes an array of these elements.
pub(super) fn array<T: Element>(elements: impl IntoIterator<Item = T>) -> Data {
    data(&HLAvariableArray(elements.into_iter().collect()))
}

/// Encodes a time; an array of no bytes if there is none.
pub(super) fn time(time: Option<LogicalTime>) -> Data {
    let nothing = || data(&HLAopaqueData::default());
    time.map_or_else(nothing, |time| data(&HLAlogicalTime(time.into())))
}

/// Encodes the designators of modules.
fn designators<'m>(modules: impl IntoIterator<Item = &'m Arc<Module>>) -> Data {
    array(modules.into_iter().map(|module| HLAunicodeString::from(module.source.name.as_str())))
}

/// Whether an attribute of a federate that joins is told at once: what is static or conditional.
pub(super) fn is_told_at_once(name: &str) -> bool {
    matches!(
        name,
        "HLAfederateHandle"
            | "HLAfederateName"
            | "HLAfederateType"
            | "HLAfederateHost"
            | "HLARTIversion"
            | "HLAFOMmoduleDesignatorList"
            | "HLAtimeConstrained"
            | "HLAtimeRegulating"
            | "HLAasynchronousDelivery"
            | "HLAfederateState"
            | "HLAtimeManagerState"
    )
}

/// Returns the value of an attribute of an instance of the RTI.
pub(super) fn of(
    federation: &Federation,
    galts: Galts,
    instance: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> Option<Data> {
    let name = federation.model.attribute(attribute)?.name.as_str();
    match subject(federation, instance) {
        Some(federate) => of_federate(federation, galts, federate, name),
        None => of_federation(federation, name),
    }
}

/// Returns the value of an attribute of `HLAfederation`.
fn of_federation(federation: &Federation, name: &str) -> Option<Data> {
    let switch = |switch| integer(i32::from(federation.is_on(switch)));
    Some(match name {
        "HLAfederationName" => text(&federation.name),
        "HLAfederatesInFederation" => {
            let staying = federation.federates().filter(|(_, one)| one.is_staying());
            array(staying.map(|(handle, _)| handle))
        }
        "HLARTIversion" => text(VERSION),
        "HLAMIMdesignator" => text(federation.mim.as_deref().unwrap_or(hemiola_fom::STANDARD_MIM)),
        "HLAFOMmoduleDesignatorList" => designators(modules(federation)),
        "HLAcurrentFDD" => text(&hemiola_fom::fdd(&federation.model)),
        "HLAtimeImplementationName" => text(federation.implementation.name()),
        "HLAlastSaveName" => text(federation.saving.last_label()),
        "HLAlastSaveTime" => time(federation.saving.last_time()),
        "HLAnextSaveName" => text(federation.saving.next_label()),
        "HLAnextSaveTime" => time(federation.saving.next_time()),
        "HLAautoProvide" => switch(Switch::AutoProvide),
        "HLAadvisoriesUseKnownClass" => switch(Switch::AdvisoriesUseKnownClass),
        "HLAdelaySubscriptionEvaluation" => switch(Switch::DelaySubscriptionEvaluation),
        "HLAnonRegulatedGrant" => integer(i32::from(!federation.waits_for_regulation)),
        "HLAallowRelaxedDDM" => switch(Switch::AllowRelaxedDDM),
        "HLAprivilegeToDeleteObject" => Data::new(),
        _ => return None,
    })
}

/// Returns the modules of a federation's object model, without the management module.
pub(super) fn modules(federation: &Federation) -> impl Iterator<Item = &Arc<Module>> {
    let mim = federation.mim.as_deref();
    let modules = federation.model.modules().iter();
    modules.filter(move |one| !one.is_standard() && Some(one.source.name.as_str()) != mim)
}

/// Returns the value of an attribute of `HLAfederate`.
fn of_federate(
    federation: &Federation,
    galts: Galts,
    handle: FederateHandle,
    name: &str,
) -> Option<Data> {
    let federate = federation.joined_federate(handle)?;
    let state = &federate.time;
    if name == REPORT_FILE {
        return Some(text(&report_file_of(federation, federate)));
    }
    if let Some(value) = Conditions::of(federation, handle).value(name) {
        return Some(integer(value));
    }
    let member = federation.mom.as_ref().and_then(|mom| mom.members.get(&handle));
    let galt = || galts.galt(handle).map(Bound::time);
    Some(match name {
        "HLAfederateHandle" => data(&handle),
        "HLAfederateName" => text(&federate.name),
        "HLAfederateType" => text(&federate.federate_type),
        "HLAfederateHost" => text(&federate.host),
        "HLAtimeGrantedTime" => milliseconds(member?.granted),
        "HLAtimeAdvancingTime" => milliseconds(member?.advancing),
        "HLARTIversion" => text(VERSION),
        "HLAFOMmoduleDesignatorList" => designators(&federate.modules),
        "HLAlogicalTime" => time(Some(state.now())),
        "HLAlookahead" => match state.regulation() {
            Some(regulation) => data(&HLAtimeInterval(regulation.lookahead.into())),
            None => data(&HLAopaqueData::default()),
        },
        "HLAGALT" => time(galt()),
        "HLALITS" => time(galt().into_iter().chain(state.head()).min()),
        "HLAROlength" => number(state.backlog.held_count()),
        "HLATSOlength" => number(state.backlog.count() - state.backlog.held_count()),
        "HLAobjectInstancesThatCanBeDeleted" => number(federate.owned.deletable),
        "HLAconveyProducingFederate" => integer(i32::from(federation.conveys_producer)),
        "HLAprivilegeToDeleteObject" => Data::new(),
        _ => integer(counted(&federate.counts, name)?),
    })
}

/// The file of the service reports of a federate; empty if it has none.
fn report_file_of(federation: &Federation, federate: &Federate) -> String {
    let path = federation.report_files.as_deref().filter(|_| federate.has_report_file);
    path.map_or_else(String::new, |path| report_file(path, federate.session))
}

/// Returns the value of an attribute that counts.
fn counted(counts: &Counts, name: &str) -> Option<i32> {
    Some(match name {
        "HLAreflectionsReceived" => counts.reflections.total(),
        "HLAupdatesSent" => counts.updates.total(),
        "HLAinteractionsReceived" => counts.interactions_received.total(),
        "HLAinteractionsSent" => counts.interactions_sent.total(),
        "HLAdirectedInteractionsReceived" => counts.directed_received.total(),
        "HLAdirectedInteractionsSent" => counts.directed_sent.total(),
        "HLAobjectInstancesUpdated" => counts.updated.total(),
        "HLAobjectInstancesReflected" => counts.reflected.total(),
        "HLAobjectInstancesDeleted" => counts.deleted,
        "HLAobjectInstancesRemoved" => counts.removed,
        "HLAobjectInstancesRegistered" => counts.registered,
        "HLAobjectInstancesDiscovered" => counts.discovered,
        _ => return None,
    })
}
