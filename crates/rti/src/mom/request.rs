//! Requests for reports (clause 11.4): each is answered by one or more interactions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_fom::module::Module;
use hemiola_hla::data::Data;
use hemiola_hla::encoding::{
    Element, HLAboolean, HLAfixedRecord, HLAinteger32BE, HLAunicodeString,
};
use hemiola_hla::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, TransportationTypeHandle,
};

use super::parameters::{Fault, Parameters};
use super::report::{Values, is_for_2010, transportation};
use super::value::{array, data, integer, modules, number, text};
use super::{RTI, report};
use crate::counts::ByClass;
use crate::federate::{Activity, Rate};
use crate::federation::Federation;
use crate::group::Groups;
use crate::job::{All, DONE, Step, Task};
use crate::services::object;

/// Reports: the name of each, and its values.
type Reports = Vec<(&'static str, Values)>;

/// Answers a request that concerns a federate. Returns `false` if it is none.
pub(super) fn of_federate(
    federation: &mut Federation,
    request: &str,
    parameters: &Parameters<'_>,
) -> Result<bool, Fault> {
    let federate = parameters.federate(federation)?;
    if request == "HLArequestObjectInstancesThatCanBeDeleted" {
        federation.start(RTI, Task::CountDeletable(Box::new(Deletable::new(federation, federate))));
        return Ok(true);
    }
    let Some(reports) = reports_on_federate(federation, federate, request, parameters)? else {
        return Ok(false);
    };
    for (name, values) in reports {
        report::of_federate(federation, federate, name, values);
    }
    Ok(true)
}

fn reports_on_federate(
    federation: &Federation,
    federate: FederateHandle,
    request: &str,
    parameters: &Parameters<'_>,
) -> Result<Option<Reports>, Fault> {
    let counts = &federation.federate(federate).counts;
    let by_class = |name, parameter, counts| by_transportation(federation, name, parameter, counts);
    Ok(Some(match request {
        "HLArequestPublications" => publications(federation, federate),
        "HLArequestSubscriptions" => subscriptions(federation, federate),
        "HLArequestObjectInstancesUpdated" => {
            vec![instances("HLAreportObjectInstancesUpdated", &counts.updated.by_class)]
        }
        "HLArequestObjectInstancesReflected" => {
            vec![instances("HLAreportObjectInstancesReflected", &counts.reflected.by_class)]
        }
        "HLArequestUpdatesSent" => {
            by_class("HLAreportUpdatesSent", "HLAupdateCounts", &counts.updates)
        }
        "HLArequestReflectionsReceived" => {
            by_class("HLAreportReflectionsReceived", "HLAreflectCounts", &counts.reflections)
        }
        "HLArequestInteractionsSent" => {
            interactions(federation, "HLAreportInteractionsSent", &counts.interactions_sent)
        }
        "HLArequestInteractionsReceived" => {
            interactions(federation, "HLAreportInteractionsReceived", &counts.interactions_received)
        }
        "HLArequestDirectedInteractionsSent" => {
            interactions(federation, "HLAreportDirectedInteractionsSent", &counts.directed_sent)
        }
        "HLArequestDirectedInteractionsReceived" => {
            let name = "HLAreportDirectedInteractionsReceived";
            interactions(federation, name, &counts.directed_received)
        }
        "HLArequestObjectInstanceInformation" => {
            let instance = parameters.get("HLAobjectInstance")?;
            vec![information(federation, federate, instance)?]
        }
        "HLArequestFOMmoduleData" => {
            let modules = &federation.federate(federate).modules;
            vec![module_data(modules.iter(), parameters)?]
        }
        _ => return Ok(None),
    }))
}

/// One report for each class that the federate publishes, and one for all interactions. A federate that publishes no
/// class has a report without one.
fn publications(federation: &Federation, federate: FederateHandle) -> Reports {
    let published = &federation.federate(federate).published;
    let classes = published.classes.iter().map(|(class, attributes)| {
        vec![
            ("HLAobjectClass", data(class)),
            ("HLAattributeList", array(attributes.iter().copied())),
        ]
    });
    let directed = published.directed.iter().map(|(class, interactions)| {
        vec![
            ("HLAobjectClass", data(class)),
            ("HLAinteractionClassList", array(interactions.iter().copied())),
        ]
    });
    let mut reports = numbered("HLAreportObjectClassPublication", classes.collect());
    let list = array(published.interactions.iter().copied());
    reports.push(("HLAreportInteractionPublication", vec![("HLAinteractionClassList", list)]));
    reports.extend(numbered("HLAreportDirectedInteractionPublication", directed.collect()));
    reports
}

/// The same for subscriptions, with regions and without. A class has a report for each activity and update rate.
fn subscriptions(federation: &Federation, federate: FederateHandle) -> Reports {
    let (subscribed, regions) = (&federation.federate(federate).subscribed, &federation.regions);
    let everywhere = subscribed.classes.iter().flat_map(|(class, attributes)| {
        attributes.iter().map(|(attribute, one)| (*class, *attribute, one))
    });
    let entries = everywhere
        .chain(regions.subscriptions_of(federate))
        .map(|(class, attribute, one)| ((class, one.activity, one.rate.clone()), attribute));
    let groups: Groups<(ObjectClassHandle, Activity, Option<Rate>), _> = entries.collect();
    let classes = groups.into_iter().map(|((class, activity, rate), attributes)| {
        vec![
            ("HLAobjectClass", data(&class)),
            ("HLAactive", data(&HLAboolean(activity == Activity::Active))),
            ("HLAmaxUpdateRate", text(rate.as_ref().map_or("", |rate| &rate.designator))),
            ("HLAattributeList", array(BTreeSet::<AttributeHandle>::from_iter(attributes))),
        ]
    });
    let directed = subscribed.directed.iter().map(|(class, interactions)| {
        vec![
            ("HLAobjectClass", data(class)),
            ("HLAinteractionClassList", array(interactions.keys().copied())),
        ]
    });
    let everywhere = subscribed.interactions.iter().map(|(class, activity)| (*class, *activity));
    let mut interactions: BTreeMap<InteractionClassHandle, bool> = BTreeMap::new();
    for (class, activity) in everywhere.chain(regions.interaction_subscriptions_of(federate)) {
        *interactions.entry(class).or_default() |= activity == Activity::Active;
    }
    let interactions = interactions.into_iter();
    let interactions =
        interactions.map(|(class, is_active)| HLAfixedRecord((class, HLAboolean(is_active))));
    let mut reports = numbered("HLAreportObjectClassSubscription", classes.collect());
    let list = array(interactions);
    reports.push(("HLAreportInteractionSubscription", vec![("HLAinteractionClassList", list)]));
    reports.extend(numbered("HLAreportDirectedInteractionSubscription", directed.collect()));
    reports
}

/// Gives each report the number of all; if there is none, one report says so.
fn numbered(name: &'static str, classes: Vec<Values>) -> Reports {
    let count = number(classes.len());
    let classes = if classes.is_empty() { vec![Values::new()] } else { classes };
    let with_count = |mut values: Values| {
        values.push(("HLAnumberOfClasses", count.clone()));
        (name, values)
    };
    classes.into_iter().map(with_count).collect()
}

/// Encodes counts by class.
fn class_counts<C: Element>(counts: impl IntoIterator<Item = (C, i32)>) -> Data {
    let records = counts.into_iter();
    array(records.map(|(class, count)| HLAfixedRecord((class, HLAinteger32BE(count)))))
}

fn instances(
    name: &'static str,
    counts: &BTreeMap<ObjectClassHandle, i32>,
) -> (&'static str, Values) {
    let counts = counts.iter().map(|(class, count)| (*class, *count));
    (name, vec![("HLAobjectInstanceCounts", class_counts(counts))])
}

fn interactions(
    federation: &Federation,
    name: &'static str,
    counts: &ByClass<InteractionClassHandle>,
) -> Reports {
    by_transportation(federation, name, "HLAinteractionCounts", counts)
}

/// One report for each transportation type in use; if there is none, one without counts.
fn by_transportation<C: Copy + Ord + Element>(
    federation: &Federation,
    name: &'static str,
    parameter: &'static str,
    counts: &ByClass<C>,
) -> Reports {
    let is_for_2010 = is_for_2010(federation, &format!("HLAfederate.HLAreport.{name}"));
    let mut groups: BTreeMap<TransportationTypeHandle, Vec<(C, i32)>> = BTreeMap::new();
    for (kind, one, count) in counts.iter() {
        groups.entry(kind).or_default().push((one, count));
    }
    if groups.is_empty() {
        groups.insert(TransportationTypeHandle::RELIABLE, Vec::new());
    }
    let reports = groups.into_iter().map(|(kind, counts)| {
        let kind = transportation(federation, kind, is_for_2010);
        (name, vec![("HLAtransportation", kind), (parameter, class_counts(counts))])
    });
    reports.collect()
}

/// What a federate knows and owns of an instance.
fn information(
    federation: &Federation,
    federate: FederateHandle,
    handle: ObjectInstanceHandle,
) -> Result<(&'static str, Values), Fault> {
    let (instance, known_as) = federation.known(federate, handle)?;
    let values = vec![
        ("HLAobjectInstance", data(&handle)),
        ("HLAownedInstanceAttributeList", array(instance.owned_by(federate))),
        ("HLAregisteredClass", data(&instance.class)),
        ("HLAknownClass", data(&known_as)),
    ];
    Ok(("HLAreportObjectInstanceInformation", values))
}

/// The text of a module, by its index in the list of designators.
fn module_data<'m>(
    mut modules: impl Iterator<Item = &'m Arc<Module>>,
    parameters: &Parameters<'_>,
) -> Result<(&'static str, Values), Fault> {
    const NAME: &str = "HLAFOMmoduleIndicator";
    let index = parameters.get::<HLAinteger32BE>(NAME)?.0;
    let module = usize::try_from(index).ok().and_then(|index| modules.nth(index));
    let module =
        module.ok_or_else(|| Fault::parameter(NAME, format!("no module has the index {index}")))?;
    let values = vec![(NAME, integer(index)), ("HLAFOMmoduleData", text(&module.source.text))];
    Ok(("HLAreportFOMmoduleData", values))
}

/// Answers a request that concerns the federation. Returns `false` if it is none.
pub(super) fn of_federation(
    federation: &mut Federation,
    request: &str,
    parameters: &Parameters<'_>,
) -> Result<bool, Fault> {
    let reports = match request {
        "HLArequestSynchronizationPoints" => {
            let labels = federation.points.keys();
            let labels = array(labels.map(|label| HLAunicodeString::from(label.as_str())));
            vec![("HLAreportSynchronizationPoints", vec![("HLAsyncPoints", labels)])]
        }
        "HLArequestSynchronizationPointStatus" => point_status(federation, parameters)?,
        "HLArequestFOMmoduleData" => vec![module_data(modules(federation), parameters)?],
        "HLArequestMIMdata" => {
            vec![("HLAreportMIMdata", vec![("HLAMIMdata", text(mim_text(federation)))])]
        }
        _ => return Ok(false),
    };
    for (name, values) in reports {
        report::of_federation(federation, name, values);
    }
    Ok(true)
}

/// The text of the management module: the standard one, or that of the creator.
fn mim_text(federation: &Federation) -> &str {
    let own = federation.mim.as_deref();
    let own = federation.model.modules().iter().find(|one| Some(one.source.name.as_str()) == own);
    own.map_or(hemiola_fom::standard_mim_text(), |module| &module.source.text)
}

/// The status of each joined federate for a synchronization point. In 2010 a request names none; then all that are
/// pending are reported.
fn point_status(federation: &Federation, parameters: &Parameters<'_>) -> Result<Reports, Fault> {
    const NAME: &str = "HLAsyncPointName";
    let label = parameters.optional::<HLAunicodeString>(NAME)?.map(|label| label.0);
    if let Some(label) = label.as_ref().filter(|label| !federation.points.contains_key(*label)) {
        return Err(Fault::parameter(NAME, format!("no synchronization point {label} is pending")));
    }
    let wanted = federation
        .points
        .iter()
        .filter(|(one, _)| label.as_ref().is_none_or(|label| label == *one));
    let reports = wanted.map(|(label, point)| {
        let staying = federation.federates().filter(|(_, federate)| federate.is_staying());
        let federates = staying.map(|(federate, _)| {
            let status = match point.achieved(federate) {
                None => NO_ACTIVITY,
                Some(None) => MOVING_TO_POINT,
                Some(Some(_)) => WAITING_FOR_OTHERS,
            };
            HLAfixedRecord((federate, HLAinteger32BE(status)))
        });
        let values = vec![(NAME, text(label)), ("HLAsyncPointFederates", array(federates))];
        ("HLAreportSynchronizationPointStatus", values)
    });
    Ok(reports.collect())
}

/// The values of `HLAsyncPointStatus`. A registration succeeds or fails at once, so no federate is attempting one.
const NO_ACTIVITY: i32 = 0;
const MOVING_TO_POINT: i32 = 2;
const WAITING_FOR_OTHERS: i32 = 3;

/// The instances that a federate may delete, being counted by class.
#[derive(Debug)]
pub(crate) struct Deletable {
    federate: FederateHandle,
    instances: All,
    counts: BTreeMap<ObjectClassHandle, i32>,
}

impl Deletable {
    fn new(federation: &Federation, federate: FederateHandle) -> Self {
        Self { federate, instances: All::new(federation), counts: BTreeMap::new() }
    }

    /// Looks at the next instance; after the last, reports.
    pub(crate) fn step(&mut self, federation: &mut Federation) -> Step {
        let Some(handle) = self.instances.next(federation) else {
            let (name, values) =
                instances("HLAreportObjectInstancesThatCanBeDeleted", &self.counts);
            report::of_federate(federation, self.federate, name, values);
            return DONE;
        };
        let instance = &federation.instances[&handle];
        if object::may_delete(federation, instance, self.federate) {
            *self.counts.entry(instance.class).or_default() += 1;
        }
        Step::Continue(())
    }
}
