//! Advisories on attributes in scope and on updates that are wanted (clauses 6.19, 6.20, 6.23, 6.24).
//!
//! Like the advisories of clause 5, these report changes to a federate while its switch is on.
//!
//! Attributes are in scope by the class the federate knows the instance as. Which updates are wanted depends on the
//! switch `advisoriesUseKnownClass` (clause 10.54), which the object model that creates the federation sets for good.
//!
//! On: an attribute is wanted if a federate actively subscribes to it at the class it knows the instance as; these
//! federates receive the updates.
//!
//! Off: an attribute is wanted if a federate knows the instance and actively subscribes to the attribute at the class
//! the instance was registered as, or at a superclass.
//!
//! They differ for a federate that discovered the instance as a superclass and subscribed to the registered class
//! later. It does not receive those attributes; with the switch off, their owner is advised all the same. The
//! advisories of clause 5 concern classes, not instances, and do not depend on the switch.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_hla::{AttributeHandle, Callback, FederateHandle, ObjectInstanceHandle, Switch};

use crate::federate::{Activity, Rate, table};
use crate::federation::Federation;
use crate::group::Groups;
use crate::services::distribution;

/// Advises a federate of attributes that came into scope or went out of it.
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
    let scope = distribution::attributes_in_scope(federation, me, class, handle);
    let scope: BTreeSet<AttributeHandle> = scope.into_iter().collect();
    let before = federate.advised.scope.get(&handle).cloned().unwrap_or_default();
    let object_instance = handle;
    let attributes: Vec<AttributeHandle> = scope.difference(&before).copied().collect();
    if !attributes.is_empty() {
        federation.send_callback(me, Callback::AttributesInScope { object_instance, attributes });
    }
    let attributes: Vec<AttributeHandle> = before.difference(&scope).copied().collect();
    if !attributes.is_empty() {
        federation
            .send_callback(me, Callback::AttributesOutOfScope { object_instance, attributes });
    }
    let federate = federation.federate_mut(me);
    let now = table::advised(scope.len());
    let before = federate.advised.scope.insert(handle, scope);
    federate.charge.change(before.map_or(0, |set| table::advised(set.len())), now);
}

/// Advises an instance's owners of changes in which of their attributes are wanted, and at which rate.
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
    // In the order of the attributes; each rate has one callback.
    let mut changes = Groups::new();
    let before =
        federation.federate(owner).advised.updates.get(&handle).cloned().unwrap_or_default();
    for attribute in instance.owned_by(owner) {
        let Some(rate) = greatest_rate(federation, handle, attribute) else { continue };
        wanted.insert(attribute, rate.clone());
        if before.get(&attribute) != Some(&rate) {
            changes.add(rate, attribute);
        }
    }
    let unwanted: Vec<AttributeHandle> = before
        .into_keys()
        .filter(|one| !wanted.contains_key(one) && instance.owner(*one) == owner)
        .collect();
    let object_instance = handle;
    for (rate, attributes) in changes {
        let callback = match rate {
            None => Callback::TurnUpdatesOnForObjectInstance { object_instance, attributes },
            Some(Rate { designator: update_rate_designator, .. }) => {
                Callback::TurnUpdatesOnForObjectInstanceWithRate {
                    object_instance,
                    attributes,
                    update_rate_designator: update_rate_designator.to_string(),
                }
            }
        };
        federation.send_callback(owner, callback);
    }
    if !unwanted.is_empty() {
        let attributes = unwanted;
        let callback = Callback::TurnUpdatesOffForObjectInstance { object_instance, attributes };
        federation.send_callback(owner, callback);
    }
    let federate = federation.federate_mut(owner);
    let now = table::advised(wanted.len());
    let before = federate.advised.updates.insert(handle, wanted);
    federate.charge.change(before.map_or(0, |set| table::advised(set.len())), now);
}

/// Returns the greatest rate at which another federate wants an attribute, at the class that the switch selects.
/// `None`: no federate wants it. `Some(None)`: a federate wants all updates.
fn greatest_rate(
    federation: &Federation,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> Option<Option<Rate>> {
    let instance = &federation.instances[&handle];
    let owner = instance.owner(attribute);
    let others = instance.known_by().iter().filter(|one| one.federate != owner);
    let by_known_class = federation.advises_by_known_class;
    let extent = federation.regions.extent_of(handle, attribute, owner);
    let mut greatest: Option<Option<Rate>> = None;
    for one in others {
        let first = if by_known_class { one.class } else { instance.class };
        let classes = federation.object_class_line(first);
        for class in classes.take(if by_known_class { 1 } else { usize::MAX }) {
            let subscriptions = (class, attribute);
            let is_unlimited = distribution::any_subscription(
                federation,
                one.federate,
                subscriptions,
                &extent,
                |one| {
                    if one.activity == Activity::Active {
                        greatest = Some(greater(greatest.take(), &one.rate));
                    }
                    greatest == Some(None)
                },
            );
            if is_unlimited {
                return Some(None);
            }
        }
    }
    greatest
}

/// Returns the greater of two rates, of which the first may not exist yet. No rate is unlimited.
fn greater(one: Option<Option<Rate>>, other: &Option<Rate>) -> Option<Rate> {
    match (one, other) {
        (None, other) => other.clone(),
        (Some(Some(one)), Some(other)) if one.hertz >= other.hertz => Some(one),
        (Some(Some(_)), Some(other)) => Some(other.clone()),
        _ => None,
    }
}
