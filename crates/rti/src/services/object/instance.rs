//! Registration, discovery and deletion of instances (clauses 6.8, 6.9, 6.16 to 6.18).

use hemiola_hla::data::{AttributeRegions, Data, Retraction};
use hemiola_hla::{
    AttributeHandle, Callback, EncodedTime, Exception, FederateHandle, ObjectClassHandle,
    ObjectInstanceHandle, Refusal, Reply, Switch,
};

use super::name::reserved_len;
use super::{Answer, advise_of_scope, advise_of_updates, may_delete, provide, stamped};
use crate::federate::{Federate, table};
use crate::federation::{Federation, NameUse};
use crate::instance::{Deletion, Instance, InstanceAttribute};
use crate::job::{Below, DONE, Step, Task};
use crate::memory::has_room;
use crate::message::{Body, Message, Stamp, dispatch, drop_stale, store_for_retraction};
use crate::mom;
use crate::regions::Extent;
use crate::services::{beyond, declaration, distribution, ownership};

/// Clauses 6.8 and 9.5, all forms. The federate owns the attributes of the class that it publishes. The regions for
/// updates have been checked.
pub(crate) fn register_object_instance(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    name: Option<String>,
    regions: &[AttributeRegions],
) -> Answer {
    declaration::defined(federation, class, &[])?;
    let federate = federation.federate(me);
    if !federate.published.classes.contains_key(&class) {
        return Err(Exception::ObjectClassNotPublished.into());
    }
    if let Some(name) = &name {
        match federation.names.get(name) {
            Some(NameUse::Reserved(by)) if *by == me => {}
            Some(NameUse::Registered(_)) => return Err(Exception::ObjectInstanceNameInUse.into()),
            _ => return Err(Exception::ObjectInstanceNameNotReserved.into()),
        }
    }
    let limit = federation.limits.instances;
    if federation.instances.len() >= limit {
        return Err(beyond(limit, "object instances"));
    }
    let available = &federation.model.object_class(class).expect("just seen").attributes;
    let len = Instance::own_len(name.as_deref().unwrap_or_default(), available.len());
    has_room(federation, me, len)?;
    let attributes = available.iter().map(|handle| {
        let (order, transportation) =
            federate.attribute_send_options(&federation.model, class, *handle);
        let owner = if federate.publishes(class, *handle) { me } else { FederateHandle::INVALID };
        InstanceAttribute { handle: *handle, owner, order, transportation }
    });
    let attributes = attributes.collect();
    // A federate that publishes a class publishes at least one attribute of it.
    let is_deletable = federate.publishes(class, federation.privilege);
    let owned = &mut federation.federate_mut(me).owned;
    owned.instances += 1;
    owned.deletable += usize::from(is_deletable);
    let registered = &mut federation.federate_mut(me).counts.registered;
    *registered = registered.saturating_add(1);
    federation.instance_count += 1;
    let handle = ObjectInstanceHandle::new(federation.instance_count);
    // This name is free: names that begin with HLA cannot be reserved.
    let name = match name {
        Some(name) => {
            federation.federate_mut(me).charge.shrink(reserved_len(&name));
            name
        }
        None => format!("HLAobject-{handle}"),
    };
    federation.names.insert(name.clone(), NameUse::Registered(handle));
    let account = &federation.federate(me).account;
    let mut instance = Instance::new(name, class, me, attributes, account);
    instance.add_known_by(me, class);
    federation.instances.insert(handle, instance);
    federation.of_class.entry(class).or_default().insert(handle);
    distribution::associate(federation, handle, regions);
    discover_by_all(federation, handle);
    Ok(Reply::ObjectInstance(handle))
}

/// Makes every federate that now can discover an instance discover it.
fn discover_by_all(federation: &mut Federation, handle: ObjectInstanceHandle) {
    let class = federation.instances[&handle].class;
    let mut discovered = false;
    for federate in federation.subscribers_above(class) {
        discovered |= discover(federation, federate, handle);
    }
    if discovered {
        advise_of_updates(federation, handle);
    }
}

/// Makes federates that have deleted an instance locally discover it again, if one of these attributes, which are about
/// to be updated, is in scope for them.
#[cold]
pub(super) fn rediscover(
    federation: &mut Federation,
    handle: ObjectInstanceHandle,
    updated: &[AttributeHandle],
) {
    let mut discovered = false;
    for federate in federation.instances[&handle].deleted_locally_by().to_vec() {
        let scope = scope_of_discovery(federation, federate, handle);
        if scope.is_some_and(|(_, scope)| scope.iter().any(|one| updated.contains(one))) {
            discovered |= discover(federation, federate, handle);
        }
    }
    if discovered {
        advise_of_updates(federation, handle);
    }
}

/// Returns the class as which a federate would discover an instance, and the attributes in scope for it there. Returns
/// `None` if it would not, because it knows the instance or no attribute is in scope.
fn scope_of_discovery(
    federation: &Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
) -> Option<(ObjectClassHandle, Vec<AttributeHandle>)> {
    let instance = &federation.instances[&handle];
    if instance.deletion.is_some() || instance.known_as(me).is_some() {
        return None;
    }
    let is_subscribed = |one: &_| distribution::is_subscribed(federation, me, *one);
    let class = federation.object_class_line(instance.class).find(is_subscribed)?;
    let scope = distribution::attributes_in_scope(federation, me, class, handle);
    (!scope.is_empty()).then_some((class, scope))
}

/// Clause 6.9. A federate discovers an instance as the nearest class it subscribes to, if an attribute is in scope for
/// it there. The caller advises the owners, once for all federates that discover it.
fn discover(federation: &mut Federation, me: FederateHandle, handle: ObjectInstanceHandle) -> bool {
    let Some((class, wanted)) = scope_of_discovery(federation, me, handle) else { return false };
    let instance = &federation.instances[&handle];
    let callback = Callback::DiscoverObjectInstance {
        object_instance: handle,
        object_class: class,
        object_instance_name: instance.name.clone(),
        producing_federate: mom::shown(instance.registered_by),
    };
    federation.send_callback(me, callback);
    let discovered = &mut federation.federate_mut(me).counts.discovered;
    *discovered = discovered.saturating_add(1);
    mark_known(federation, me, handle, class);
    advise_of_scope(federation, me, handle);
    ownership::offer_to(federation, me, handle, None);
    if federation.is_on(Switch::AutoProvide) {
        provide::ask_owners(federation, me, handle, &wanted, &Data::new());
    }
    true
}

fn mark_known(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    class: ObjectClassHandle,
) {
    federation.instance_mut(handle).add_known_by(me, class);
    let since = federation.sequence;
    let federate = federation.federate_mut(me);
    if federate.time.backlog.count() > 0 && federate.known_since.insert(handle, since).is_none() {
        federate.charge.grow(table::KNOWN_SINCE);
    }
}

/// Follows up on a change of a federate's subscriptions to a class: discoveries and advisories.
pub(crate) fn interest_changed(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
) {
    let below = Below::new(federation, class);
    federation.start(me, Task::Interest { class, below });
}

/// Does so for the next instance.
pub(crate) fn interest_step(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    below: &mut Below,
) -> Step {
    let Some(handle) = below.next(federation) else { return DONE };
    if discover(federation, me, handle) {
        advise_of_updates(federation, handle);
        return Step::Continue(());
    }
    let known_as = federation.instances[&handle].known_as(me);
    if known_as.is_some_and(|known| known == class || !federation.advises_by_known_class) {
        advise_of_scope(federation, me, handle);
        advise_of_updates(federation, handle);
    }
    Step::Continue(())
}

/// Follows up on a change of regions that concerns a federate and an instance. Both may have gone since.
pub(crate) fn scope_changed(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
) {
    let is_here = federation.joined_federate(me).is_some_and(Federate::is_staying);
    let Some(instance) = federation.instances.get(&handle).filter(|_| is_here) else { return };
    if instance.known_as(me).is_some() {
        advise_of_scope(federation, me, handle);
        advise_of_updates(federation, handle);
    } else if discover(federation, me, handle) {
        advise_of_updates(federation, handle);
    }
}

/// Follows up on a change of owners: advisories, and discoveries unless the instance is deleted.
pub(crate) fn owners_changed(federation: &mut Federation, handle: ObjectInstanceHandle) {
    let known = federation.instances[&handle].known_by().iter().map(|one| one.federate);
    let known: Vec<FederateHandle> = known.collect();
    for federate in known {
        advise_of_scope(federation, federate, handle);
    }
    advise_of_updates(federation, handle);
    discover_by_all(federation, handle);
}

/// Makes attributes of a federate unowned.
pub(crate) fn disown(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
) {
    for attribute in attributes {
        let owner = federation.instances[&handle].owner(*attribute);
        assert_eq!(owner, me, "only the owner divests");
        federation.set_owner(handle, *attribute, FederateHandle::INVALID);
    }
    // If the federate acquires them again, its advisories start afresh.
    let federate = federation.federate_mut(me);
    if let Some(advised) = federate.advised.updates.get_mut(&handle) {
        let before = table::advised(advised.len());
        advised.retain(|one, _| !attributes.contains(one));
        federate.charge.change(before, table::advised(advised.len()));
    }
}

/// Asks a federate that publishes more of a class whether it wants to own attributes of it that are offered.
pub(crate) fn offer_published(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    more: &[AttributeHandle],
) {
    if federation.negotiations.is_empty() {
        return;
    }
    let below = Below::new(federation, class);
    federation.start(me, Task::Offer { class, below, more: more.to_vec() });
}

/// Does so for the next instance.
pub(crate) fn offer_step(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    below: &mut Below,
    more: &[AttributeHandle],
) -> Step {
    let Some(handle) = below.next(federation) else { return DONE };
    if federation.instances[&handle].known_as(me) == Some(class) {
        ownership::offer_to(federation, me, handle, Some(more));
    }
    Step::Continue(())
}

/// Clause 6.16, both forms.
pub(super) fn delete_object_instance(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    tag: Data,
    time: Option<EncodedTime>,
) -> Result<Retraction, Refusal> {
    let (instance, _) = federation.known(me, handle)?;
    if !may_delete(federation, instance, me) {
        return Err(Exception::DeletePrivilegeNotHeld.into());
    }
    let time = stamped(federation, me, time)?;
    let deleted = &mut federation.federate_mut(me).counts.deleted;
    *deleted = deleted.saturating_add(1);
    Ok(delete(federation, me, handle, tag, time))
}

/// Deletes an instance: at once for this federate, and for the others when they receive the message. The instance is
/// removed when no federate knows it and the deletion can no longer be retracted.
pub(crate) fn delete(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    tag: Data,
    time: Option<hemiola_hla::LogicalTime>,
) -> Retraction {
    let instance = &federation.instances[&handle];
    let privilege =
        *instance.attribute(federation.privilege).expect("all instances have the privilege");
    let stamp = Stamp::new(federation, me, time, privilege.order);
    let retraction = stamp.retraction();
    let owned = federation.divest(me, handle);
    let instance = federation.instance_mut(handle);
    let known = instance.forget(me).expect("a federate that deletes an instance knows it");
    let known_as = known.class;
    let receivers: Vec<FederateHandle> =
        instance.known_by().iter().map(|one| one.federate).collect();
    let retractable = retraction.is_some();
    instance.deletion = Some(Deletion { by: me, known_as, owned: owned.clone(), retractable });
    federation.federate_mut(me).count_forgotten(handle, &known, true);
    drop_stale(federation, me);
    forget_details(federation, me, handle);
    ownership::close(federation, handle, &owned);
    let message = Message {
        body: Body::Remove { instance: handle },
        tag,
        transportation: privilege.transportation,
        producer: me,
        stamp,
        extent: Extent::Everywhere,
    };
    let first = federation.sequence + 1;
    dispatch(federation, message, &receivers);
    store_for_retraction(federation, me, stamp, first, receivers, Some(handle));
    remove_if_unknown(federation, handle);
    retraction
}

/// Makes a federate forget an instance, with everything it owns of it.
pub(crate) fn forget(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
) {
    let divested = federation.divest(me, handle);
    let instance = federation.instance_mut(handle);
    let Some(known) = instance.forget(me) else { return };
    let (is_gone, forgot_at) = (instance.deletion.is_some(), federation.sequence);
    let federate = federation.federate_mut(me);
    federate.forgot_at = forgot_at;
    federate.count_forgotten(handle, &known, is_gone);
    drop_stale(federation, me);
    forget_details(federation, me, handle);
    if divested.is_empty() {
        advise_of_updates(federation, handle);
    } else {
        ownership::abandon(federation, me, handle, &divested, &Data::new());
    }
    remove_if_unknown(federation, handle);
}

fn forget_details(federation: &mut Federation, me: FederateHandle, handle: ObjectInstanceHandle) {
    ownership::withdraw(federation, me, handle);
    federation.regions.forget_instance(handle, me);
    let federate = federation.federate_mut(me);
    let since = federate.known_since.remove(&handle).map_or(0, |_| table::KNOWN_SINCE);
    let scope = federate.advised.scope.remove(&handle);
    let updates = federate.advised.updates.remove(&handle);
    let mut reflections = 0;
    let reflected = &mut federate.last_reflected;
    let of_instance = (handle, AttributeHandle::new(0))..=(handle, AttributeHandle::new(u32::MAX));
    while let Some((key, _)) = reflected.range(of_instance.clone()).next() {
        let key = *key;
        reflected.remove(&key);
        reflections += table::REFLECTED;
    }
    let postponed = federate.postponed.drop_of(handle);
    let scope = scope.map_or(0, |set| table::advised(set.len()));
    let updates = updates.map_or(0, |set| table::advised(set.len()));
    federate.charge.shrink(since + scope + updates + reflections + postponed);
}

/// Removes a resigning federate from an instance.
pub(crate) fn leave(federation: &mut Federation, me: FederateHandle, handle: ObjectInstanceHandle) {
    let Some(instance) = federation.instances.get_mut(&handle) else { return };
    match &mut instance.deletion {
        // A federate that resigns cannot retract its deletion.
        Some(deletion) if deletion.by == me => deletion.retractable = false,
        _ => {}
    }
    forget(federation, me, handle);
    remove_if_unknown(federation, handle);
}

/// Makes a deletion irrevocable.
pub(crate) fn deletion_is_final(federation: &mut Federation, handle: ObjectInstanceHandle) {
    if let Some(instance) = federation.instances.get_mut(&handle) {
        if let Some(deletion) = &mut instance.deletion {
            deletion.retractable = false;
        }
        remove_if_unknown(federation, handle);
    }
}

/// Undoes a retracted deletion. The instance is again what it was, also for federates that received the removal.
pub(crate) fn undelete(federation: &mut Federation, handle: ObjectInstanceHandle) {
    let Some(instance) = federation.instances.get_mut(&handle) else { return };
    let Some(Deletion { by, known_as, owned, .. }) = instance.deletion.take() else { return };
    mark_known(federation, by, handle, known_as);
    let published = &federation.federate(by).published.classes;
    let kept: Vec<AttributeHandle> = owned
        .into_iter()
        .filter(|one| published.get(&known_as).is_some_and(|set| set.contains(one)))
        .collect();
    for attribute in kept {
        if federation.instances[&handle].owner(attribute) == FederateHandle::INVALID {
            federation.set_owner(handle, attribute, by);
        }
    }
    owners_changed(federation, handle);
}

/// Removes a deleted instance that no federate knows any more.
fn remove_if_unknown(federation: &mut Federation, handle: ObjectInstanceHandle) {
    let Some(instance) = federation.instances.get(&handle) else { return };
    let over = instance.deletion.as_ref().is_some_and(|deletion| !deletion.retractable);
    if !over || !instance.known_by().is_empty() {
        return;
    }
    let instance = federation.instances.remove(&handle).expect("just seen");
    federation.names.remove(&instance.name);
    for federate in instance.deleted_locally_by() {
        federation.federate_mut(*federate).forget_counted(handle);
    }
    if let Some(of_class) = federation.of_class.get_mut(&instance.class) {
        of_class.remove(&handle);
        if of_class.is_empty() {
            federation.of_class.remove(&instance.class);
        }
    }
}

/// Clause 6.18. The federate discovers the instance again when it is next of interest: with an update of an attribute
/// in scope, a new subscription, or a change of owners or regions.
pub(super) fn local_delete_object_instance(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
) -> Answer {
    let (instance, _) = federation.known(me, handle)?;
    if instance.owned_by(me).next().is_some() {
        return Err(Exception::FederateOwnsAttributes.into());
    }
    if ownership::is_instance_sought_by(federation, me, handle) {
        return Err(Exception::OwnershipAcquisitionPending.into());
    }
    forget(federation, me, handle);
    // It may have been the last to know a deleted instance.
    if let Some(instance) = federation.instances.get_mut(&handle) {
        instance.delete_locally(me);
    }
    Ok(Reply::Done)
}
