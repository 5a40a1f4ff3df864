//! Regions of instances: registration, associations, and requests for values (clauses 9.5 to 9.7 and 9.13).

use std::collections::{BTreeMap, BTreeSet};

use hemiola_hla::data::{AttributeRegions, Data};
use hemiola_hla::{
    AttributeHandle, Exception, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, Refusal,
    Reply,
};

use super::{Answer, attributes_of, each, few_pairs, own_regions, regions_of, usable_regions};
use crate::federation::Federation;
use crate::job::{Below, DONE, Step, Task};
use crate::matching::Ranges;
use crate::memory::has_room;
use crate::regions::{ASSOCIATION, Extent, Regions};
use crate::services::{beyond, declaration, object};

/// Clause 9.5, both forms.
pub(super) fn register_with_regions(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    pairs: &[AttributeRegions],
    name: Option<String>,
) -> Answer {
    let attributes = attributes_of(pairs);
    declaration::defined(federation, class, &attributes)?;
    let federate = federation.federate(me);
    if !federate.published.classes.contains_key(&class) {
        return Err(Exception::ObjectClassNotPublished.into());
    }
    if let Some(other) = attributes.iter().find(|one| !federate.publishes(class, **one)) {
        return Err(Exception::AttributeNotPublished.because(other.to_string()));
    }
    associable(federation, me, class, pairs, None)?;
    object::register_object_instance(federation, me, class, name, pairs)
}

/// Checks that these associations are possible, for a new instance or this one.
fn associable(
    federation: &Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    pairs: &[AttributeRegions],
    instance: Option<ObjectInstanceHandle>,
) -> Result<(), Refusal> {
    let dimensions = &federation.model.object_class(class).expect("just seen").dimensions;
    usable_regions(federation, me, regions_of(pairs), dimensions)?;
    few_pairs(federation, pairs)?;
    let mut counts: BTreeMap<AttributeHandle, usize> = BTreeMap::new();
    for (attribute, _) in each(pairs) {
        let before = |instance| federation.regions.associated_count(instance, attribute, me);
        *counts.entry(attribute).or_insert_with(|| instance.map_or(0, before)) += 1;
    }
    let limit = federation.limits.regions_sent;
    if counts.values().any(|count| *count > limit) {
        return Err(beyond(limit, "regions for one attribute of an instance"));
    }
    has_room(federation, me, each(pairs).count() * ASSOCIATION)
}

/// Makes the associations of a new instance, or more of a known one.
pub(crate) fn associate(
    federation: &mut Federation,
    handle: ObjectInstanceHandle,
    pairs: &[AttributeRegions],
) {
    for (attribute, region) in each(pairs) {
        federation.regions.associate(handle, attribute, region);
    }
}

/// Clause 9.6. The regions count while the federate owns the attributes, and are forgotten when it loses them.
pub(super) fn associate_regions_for_updates(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    pairs: &[AttributeRegions],
) -> Answer {
    let (_, class) = federation.known(me, handle)?;
    object::available(federation, class, attributes_of(pairs))?;
    associable(federation, me, class, pairs, Some(handle))?;
    associate(federation, handle, pairs);
    object::owners_changed(federation, handle);
    Ok(Reply::Done)
}

/// Clause 9.7. An attribute without regions is updated in the default region again.
pub(super) fn unassociate_regions_for_updates(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    pairs: &[AttributeRegions],
) -> Answer {
    let (_, class) = federation.known(me, handle)?;
    object::available(federation, class, attributes_of(pairs))?;
    own_regions(federation, me, regions_of(pairs))?;
    few_pairs(federation, pairs)?;
    for (attribute, region) in each(pairs) {
        federation.regions.unassociate(handle, attribute, region);
    }
    object::owners_changed(federation, handle);
    Ok(Reply::Done)
}

/// The attributes whose values are requested, each with the committed regions of the request.
pub(crate) type Requests = Vec<(AttributeHandle, Vec<Ranges>)>;

/// Clause 9.13, for all instances of a class and its subclasses.
pub(super) fn request_attribute_value_update_with_regions(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    pairs: &[AttributeRegions],
    tag: &Data,
) -> Answer {
    let attributes = attributes_of(pairs);
    declaration::defined(federation, class, &attributes)?;
    let dimensions = &federation.model.object_class(class).expect("just seen").dimensions;
    usable_regions(federation, me, regions_of(pairs), dimensions)?;
    few_pairs(federation, pairs)?;
    let ranges = |attribute| {
        let regions = each(pairs).filter(move |(one, _)| *one == attribute);
        let table = &federation.regions;
        regions.filter_map(|(_, region)| table.get(region)?.committed.clone()).collect()
    };
    let attributes: BTreeSet<AttributeHandle> = attributes.into_iter().collect();
    let requests = attributes.into_iter().map(|one| (one, ranges(one))).collect();
    let (below, tag) = (Below::new(federation, class), tag.clone());
    federation.start(me, Task::Request { class, below, requests, tag });
    Ok(Reply::Done)
}

/// Asks the owners of the next instance for the attributes whose regions overlap those of the request.
pub(crate) fn request_step(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    below: &mut Below,
    requests: &Requests,
    tag: &Data,
) -> Step {
    let Some(handle) = below.next(federation) else { return DONE };
    let instance = &federation.instances[&handle];
    let overlaps = |(attribute, wanted): &&(AttributeHandle, Vec<Ranges>)| {
        let owner = instance.owner(*attribute);
        let extent: Extent = federation.regions.extent_of(handle, *attribute, owner);
        Regions::overlap(&federation.model, class, &extent, wanted)
    };
    let attributes: Vec<AttributeHandle> =
        requests.iter().filter(overlaps).map(|(attribute, _)| *attribute).collect();
    object::ask_owners(federation, me, handle, &attributes, tag);
    Step::Continue(())
}
