//! Subscriptions with regions (clauses 9.8 to 9.11).

use hemiola_hla::data::AttributeRegions;
use hemiola_hla::{
    Exception, FederateHandle, InteractionClassHandle, ObjectClassHandle, Refusal, RegionHandle,
    Reply,
};

use super::{Answer, attributes_of, each, few, few_pairs, own_regions, regions_of, usable_regions};
use crate::federate::{Activity, Subscription};
use crate::federation::Federation;
use crate::memory::has_room;
use crate::regions::SUBSCRIPTION;
use crate::services::{declaration, object};

/// Clause 9.8, both forms. A subscription adds to earlier ones; for an attribute and a region already subscribed it
/// replaces activity and rate.
pub(super) fn subscribe(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    pairs: &[AttributeRegions],
    activity: Activity,
    rate: Option<&str>,
) -> Answer {
    let rate = rate.map_or(Ok(None), |designator| declaration::rate_of(federation, designator))?;
    declaration::defined(federation, class, &attributes_of(pairs))?;
    let dimensions = &federation.model.object_class(class).expect("just seen").dimensions;
    usable_regions(federation, me, regions_of(pairs), dimensions)?;
    few_pairs(federation, pairs)?;
    let count = each(pairs).count();
    if count == 0 {
        return Ok(Reply::Done);
    }
    has_room(federation, me, count * SUBSCRIPTION)?;
    for (attribute, region) in each(pairs) {
        let subscription = Subscription { activity, rate: rate.clone() };
        federation.regions.subscribe(class, attribute, region, subscription);
    }
    federation.class_subscribers.entry(class).or_default().insert(me);
    declaration::class_subscriptions_changed(federation, class);
    object::interest_changed(federation, me, class);
    Ok(Reply::Done)
}

/// Clause 9.9. Other subscriptions to the same attributes stay.
pub(super) fn unsubscribe(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    pairs: &[AttributeRegions],
) -> Answer {
    declaration::defined(federation, class, &attributes_of(pairs))?;
    own_regions(federation, me, regions_of(pairs))?;
    few_pairs(federation, pairs)?;
    if each(pairs).next().is_none() {
        return Ok(Reply::Done);
    }
    for (attribute, region) in each(pairs) {
        federation.regions.unsubscribe(class, attribute, region);
    }
    declaration::withdraw_from_class(federation, class, me);
    declaration::class_subscriptions_changed(federation, class);
    object::interest_changed(federation, me, class);
    Ok(Reply::Done)
}

/// Clause 9.10.
pub(super) fn subscribe_interaction_class(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    regions: &[RegionHandle],
    activity: Activity,
) -> Answer {
    interaction_regions(federation, me, class, regions)?;
    if regions.is_empty() {
        return Ok(Reply::Done);
    }
    has_room(federation, me, regions.len() * SUBSCRIPTION)?;
    for region in regions {
        federation.regions.subscribe_interaction(class, *region, activity);
    }
    federation.interaction_subscribers.entry(class).or_default().insert(me);
    federation.forget_receivers();
    declaration::interaction_subscriptions_changed(federation);
    Ok(Reply::Done)
}

/// Clause 9.11. Other subscriptions to the same class stay.
pub(super) fn unsubscribe_interaction_class(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    regions: &[RegionHandle],
) -> Answer {
    interaction_regions(federation, me, class, regions)?;
    for region in regions {
        federation.regions.unsubscribe_interaction(class, *region);
    }
    declaration::withdraw_from_interaction(federation, class, me);
    declaration::interaction_subscriptions_changed(federation);
    Ok(Reply::Done)
}

fn interaction_regions(
    federation: &Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    regions: &[RegionHandle],
) -> Result<(), Refusal> {
    declaration::interaction_defined(federation, class)?;
    let dimensions = &federation.model.interaction_class(class).expect("just seen").dimensions;
    usable_regions(federation, me, regions.iter().copied(), dimensions)?;
    if declaration::is_reported_to(federation, me, class) {
        return Err(Exception::FederateServiceInvocationsAreBeingReportedViaMOM.into());
    }
    few(federation, regions.len())
}

/// Whether a federate actively subscribes with regions to one of these attributes of exactly this class.
pub(crate) fn is_wanted_actively(
    federation: &Federation,
    federate: FederateHandle,
    class: ObjectClassHandle,
    is_one: impl Fn(hemiola_hla::AttributeHandle) -> bool,
) -> bool {
    let with_regions = federation.regions.subscribed(federate, class).into_iter().flatten();
    let mut some = with_regions.filter(|(attribute, _)| is_one(**attribute));
    some.any(|(_, regions)| regions.values().any(|one| one.activity == Activity::Active))
}

/// Whether a federate actively subscribes with regions to exactly this interaction class.
pub(crate) fn is_used_actively(
    federation: &Federation,
    federate: FederateHandle,
    class: InteractionClassHandle,
) -> bool {
    let regions = federation.regions.interaction_subscribed(federate, class);
    regions.is_some_and(|regions| regions.values().any(|one| *one == Activity::Active))
}

/// Removes a leaving federate's subscriptions with regions.
pub(crate) fn forget(federation: &mut Federation, me: FederateHandle) {
    let (classes, interactions) = federation.regions.abandon(me);
    for class in classes {
        declaration::withdraw_from_class(federation, class, me);
    }
    for class in interactions {
        declaration::withdraw_from_interaction(federation, class, me);
    }
}
