//! Federates are told which attributes reach them, and owners which are wanted (clauses 6.19, 6.20, 6.23, 6.24).
//!
//! As with the advisories of clause 5, a federate is told of changes to what it was last told, while its switch is on.
//!
//! What is in scope depends on the class that the federate knows the instance as. Which updates are wanted depends on
//! the switch `advisoriesUseKnownClass` (clause 10.54), which is set by the object model that a federation is created
//! with, and stays. On, an attribute is wanted by who actively subscribes to it at the class that it knows the instance
//! as: by who gets the updates. Off, it is wanted by who knows the instance and actively subscribes to the attribute at
//! the class that the instance was registered as, or at one above it. The two differ for who subscribed to the
//! registered class only after it had discovered the instance as one above: it does not get those attributes, but
//! their owner is told that they are wanted, until the switch is on. The advisories of clause 5 are about published
//! classes, not about instances; the switch does not change them.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_hla::{AttributeHandle, Callback, FederateHandle, ObjectInstanceHandle, Switch};

use crate::federate::{Activity, Rate};
use crate::federation::Federation;

/// Tells a federate which attributes of an instance have come into its scope or gone out of it: those that it
/// subscribes to and that another federate owns.
pub(crate) fn advise_of_scope(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
) {
    let federate = federation.federate(me);
    if !federate.is_on(Switch::AttributeScopeAdvisory) {
        return;
    }
    let instance = &federation.instances[&handle];
    let Some(class) = instance.known_as(me) else { return };
    let subscribed = federate.subscribed.classes.get(&class);
    let of_others = |one: &AttributeHandle| {
        let owner = instance.owner(*one);
        owner != FederateHandle::INVALID && owner != me
    };
    let subscribed = subscribed.into_iter().flat_map(|entries| entries.keys().copied());
    let scope: BTreeSet<AttributeHandle> = subscribed.filter(of_others).collect();
    let before = federate.advised.scope.get(&handle).cloned().unwrap_or_default();
    let object_instance = handle;
    let attributes: Vec<AttributeHandle> = scope.difference(&before).copied().collect();
    if !attributes.is_empty() {
        federation.tell(me, Callback::AttributesInScope { object_instance, attributes });
    }
    let attributes: Vec<AttributeHandle> = before.difference(&scope).copied().collect();
    if !attributes.is_empty() {
        federation.tell(me, Callback::AttributesOutOfScope { object_instance, attributes });
    }
    federation.federate_mut(me).advised.scope.insert(handle, scope);
}

/// Tells the owners of an instance which of their attributes are wanted now, and which not any more; also if they are
/// wanted at another rate than before.
pub(crate) fn advise_of_updates(federation: &mut Federation, handle: ObjectInstanceHandle) {
    let instance = &federation.instances[&handle];
    let mut owners: Vec<FederateHandle> =
        instance.attributes.iter().map(|attribute| attribute.owner).collect();
    owners.sort_unstable();
    owners.dedup();
    for owner in owners.into_iter().filter(|owner| *owner != FederateHandle::INVALID) {
        if federation.federate(owner).is_on(Switch::AttributeRelevanceAdvisory) {
            advise_owner(federation, owner, handle);
        }
    }
}

fn advise_owner(federation: &mut Federation, owner: FederateHandle, handle: ObjectInstanceHandle) {
    let instance = &federation.instances[&handle];
    let mut wanted = BTreeMap::new();
    // By rate, the fastest first; without a limit before all.
    let mut news: Vec<(Option<Rate>, Vec<AttributeHandle>)> = Vec::new();
    let before =
        federation.federate(owner).advised.updates.get(&handle).cloned().unwrap_or_default();
    for attribute in instance.owned_by(owner) {
        let Some(rate) = greatest_rate(federation, handle, attribute) else { continue };
        wanted.insert(attribute, rate.clone());
        if before.get(&attribute) == Some(&rate) {
            continue;
        }
        match news.iter_mut().find(|(other, _)| *other == rate) {
            Some((_, attributes)) => attributes.push(attribute),
            None => news.push((rate, vec![attribute])),
        }
    }
    let unwanted: Vec<AttributeHandle> = before
        .into_keys()
        .filter(|one| !wanted.contains_key(one) && instance.owner(*one) == owner)
        .collect();
    let object_instance = handle;
    for (rate, attributes) in news {
        let callback = match rate {
            None => Callback::TurnUpdatesOnForObjectInstance { object_instance, attributes },
            Some(Rate { designator: update_rate_designator, .. }) => {
                Callback::TurnUpdatesOnForObjectInstanceWithRate {
                    object_instance,
                    attributes,
                    update_rate_designator,
                }
            }
        };
        federation.tell(owner, callback);
    }
    if !unwanted.is_empty() {
        let attributes = unwanted;
        let callback = Callback::TurnUpdatesOffForObjectInstance { object_instance, attributes };
        federation.tell(owner, callback);
    }
    federation.federate_mut(owner).advised.updates.insert(handle, wanted);
}

/// How often anybody else wants an attribute, by the class that the switch says: `None` if nobody does, and no rate if
/// somebody wants all updates.
fn greatest_rate(
    federation: &Federation,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> Option<Option<Rate>> {
    let instance = &federation.instances[&handle];
    let owner = instance.owner(attribute);
    let others = instance.known().iter().filter(|one| one.federate != owner);
    let by_known_class = federation.advises_by_known_class;
    let subscriptions = others.flat_map(|one| {
        let first = if by_known_class { one.class } else { instance.class };
        let classes = federation.object_class_line(first);
        let classes = classes.take(if by_known_class { 1 } else { usize::MAX });
        let federate = federation.federate(one.federate);
        classes.filter_map(move |class| federate.subscription(class, attribute))
    });
    let active = subscriptions.filter(|one| one.activity == Activity::Active);
    active.map(|one| &one.rate).cloned().reduce(|one, other| match (one, other) {
        (Some(one), Some(other)) => Some(if one.hertz >= other.hertz { one } else { other }),
        _ => None,
    })
}
