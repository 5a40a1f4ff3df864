//! The subscriptions of both kinds, without and with regions, that overlap what is sent.

use hemiola_hla::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle,
};

use crate::federate::Subscription;
use crate::federation::Federation;
use crate::regions::Extent;

/// Whether a federate subscribes to any attribute of exactly this class, with regions or without.
pub(crate) fn is_subscribed(
    federation: &Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
) -> bool {
    federation.federate(me).subscribed.classes.contains_key(&class)
        || federation.regions.subscribed(me, class).is_some()
}

/// Whether a federate subscribes to exactly this interaction class, with regions or without.
pub(crate) fn is_interaction_subscribed(
    federation: &Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
) -> bool {
    federation.federate(me).subscribed.interactions.contains_key(&class)
        || federation.regions.interaction_subscribed(me, class).is_some()
}

/// Whether a federate that subscribes to exactly this interaction class receives what is sent in this extent.
pub(crate) fn receives(
    federation: &Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    extent: &Extent,
) -> bool {
    if federation.federate(me).subscribed.interactions.contains_key(&class) {
        return true;
    }
    let regions = federation.regions.interaction_subscribed(me, class);
    let receives = |regions| federation.regions.receives(&federation.model, class, regions, extent);
    regions.is_some_and(receives)
}

/// Visits the subscriptions of a federate to an attribute, at exactly this class, that receive what is sent in this
/// extent, until the visitor returns true. Returns whether it did.
pub(crate) fn any_subscription(
    federation: &Federation,
    me: FederateHandle,
    (class, attribute): (ObjectClassHandle, AttributeHandle),
    extent: &Extent,
    mut visitor: impl FnMut(&Subscription) -> bool,
) -> bool {
    let everywhere = federation.federate(me).subscription(class, attribute);
    if everywhere.is_some_and(&mut visitor) {
        return true;
    }
    let regions = federation.regions.subscribed(me, class).and_then(|one| one.get(&attribute));
    regions.is_some_and(|regions| {
        federation.regions.any_of(&federation.model, class, regions, extent, visitor)
    })
}

/// The attributes of an instance that are in scope for a federate that knows it, or would know it, as this class: it
/// subscribes to them, another federate owns them, and their regions overlap (clause 6.1). In order.
pub(crate) fn attributes_in_scope(
    federation: &Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    handle: ObjectInstanceHandle,
) -> Vec<AttributeHandle> {
    let instance = &federation.instances[&handle];
    let is_of_other = |one: &AttributeHandle| {
        let owner = instance.owner(*one);
        owner != FederateHandle::INVALID && owner != me
    };
    let everywhere = federation.federate(me).subscribed.classes.get(&class);
    let everywhere = everywhere.into_iter().flat_map(|entries| entries.keys().copied());
    let mut attributes: Vec<AttributeHandle> = everywhere.filter(is_of_other).collect();
    if let Some(with_regions) = federation.regions.subscribed(me, class) {
        let is_reached = |one: &AttributeHandle| {
            let extent = federation.regions.extent_of(handle, *one, instance.owner(*one));
            any_subscription(federation, me, (class, *one), &extent, |_| true)
        };
        let more = with_regions.keys().copied().filter(is_of_other).filter(is_reached);
        attributes.extend(more);
        attributes.sort_unstable();
        attributes.dedup();
    }
    attributes
}
