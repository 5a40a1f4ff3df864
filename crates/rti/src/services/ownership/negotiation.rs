//! What is going on about the ownership of an attribute, and what comes of it.

use std::ops::RangeInclusive;

use hemiola_hla::data::Data;
use hemiola_hla::{AttributeHandle, Callback, FederateHandle, ObjectInstanceHandle, Refusal};

use crate::federation::Federation;
use crate::services::{beyond, kept_tag, object};

/// An attribute of an instance.
pub(super) type Subject = (ObjectInstanceHandle, AttributeHandle);

/// Who offers an attribute, and who seeks it. There is none where nobody does.
#[derive(Debug, Default)]
pub(crate) struct Negotiation {
    /// Its owner would give it away (clause 7.3).
    pub(super) offer: Option<Offer>,
    /// First come, first served; each federate once.
    pub(super) seekers: Vec<Seeker>,
}

/// An offer of an owner.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) tag: Data,
    /// Was it asked to confirm, because somebody seeks the attribute (clause 7.5)?
    pub(super) asked: bool,
}

/// A federate that wants to be the owner.
#[derive(Debug)]
pub(super) struct Seeker {
    pub(super) federate: FederateHandle,
    pub(super) tag: Data,
    /// Only because it is offered (clause 7.9), or whatever the owner thinks of it (clause 7.8)?
    pub(super) if_available: bool,
}

impl Negotiation {
    pub(super) fn seeker(&self, federate: FederateHandle) -> Option<&Seeker> {
        self.seekers.iter().find(|seeker| seeker.federate == federate)
    }

    /// A federate does not seek the attribute any more; with the last the owner has nothing to confirm.
    pub(super) fn forget(&mut self, federate: FederateHandle) {
        self.seekers.retain(|seeker| seeker.federate != federate);
        if let Some(offer) = &mut self.offer {
            offer.asked &= !self.seekers.is_empty();
        }
    }

    const fn is_over(&self) -> bool {
        self.offer.is_none() && self.seekers.is_empty()
    }
}

/// Is there room for negotiations about so many attributes more, and for their tag?
pub(super) fn has_room(federation: &Federation, more: usize, tag: &Data) -> Result<(), Refusal> {
    kept_tag(federation.limits, tag)?;
    let limit = federation.limits.negotiations;
    if federation.negotiations.len() + more > limit {
        return Err(beyond(limit, "attributes whose ownership is negotiated"));
    }
    Ok(())
}

const fn of_instance(handle: ObjectInstanceHandle) -> RangeInclusive<Subject> {
    (handle, AttributeHandle::new(0))..=(handle, AttributeHandle::new(u32::MAX))
}

/// Changes a negotiation, which begins with it or ends.
pub(super) fn change<T>(
    federation: &mut Federation,
    subject: Subject,
    change: impl FnOnce(&mut Negotiation) -> T,
) -> T {
    let mut negotiation = federation.negotiations.remove(&subject).unwrap_or_default();
    let changed = change(&mut negotiation);
    if !negotiation.is_over() {
        federation.negotiations.insert(subject, negotiation);
    }
    changed
}

/// What is said in one callback: attributes by what else is in it, in the order of the first.
#[derive(Debug)]
pub(super) struct Groups<K>(Vec<(K, Vec<AttributeHandle>)>);

impl<K: PartialEq> Groups<K> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn add(&mut self, key: K, attribute: AttributeHandle) {
        match self.0.iter_mut().find(|(other, _)| *other == key) {
            Some((_, attributes)) => attributes.push(attribute),
            None => self.0.push((key, vec![attribute])),
        }
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = (K, Vec<AttributeHandle>)> {
        self.0.into_iter()
    }
}

/// Who is to be told something with a tag.
pub(super) type To = (FederateHandle, Data);

/// Clause 7.5.
pub(super) fn request_confirmation(
    federation: &mut Federation,
    handle: ObjectInstanceHandle,
    groups: Groups<To>,
) {
    for ((owner, tag), attributes) in groups.into_iter() {
        let callback = Callback::RequestDivestitureConfirmation {
            object_instance: handle,
            released_attributes: attributes,
            user_supplied_tag: tag,
        };
        federation.tell(owner, callback);
    }
}

/// Clause 7.10.
pub(super) fn say_unavailable(
    federation: &mut Federation,
    handle: ObjectInstanceHandle,
    groups: Groups<To>,
) {
    for ((seeker, tag), attributes) in groups.into_iter() {
        let callback = Callback::AttributeOwnershipUnavailable {
            object_instance: handle,
            attributes,
            user_supplied_tag: tag,
        };
        federation.tell(seeker, callback);
    }
}

/// Clause 7.11.
pub(super) fn request_release(
    federation: &mut Federation,
    handle: ObjectInstanceHandle,
    groups: Groups<To>,
) {
    for ((owner, tag), attributes) in groups.into_iter() {
        let callback = Callback::RequestAttributeOwnershipRelease {
            object_instance: handle,
            candidate_attributes: attributes,
            user_supplied_tag: tag,
        };
        federation.tell(owner, callback);
    }
}

/// Attributes have no owner any more, because their instance is deleted: nobody offers them, and nobody gets them.
pub(crate) fn close(
    federation: &mut Federation,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
) {
    let mut unavailable = Groups::new();
    for attribute in attributes {
        let negotiation = federation.negotiations.remove(&(handle, *attribute));
        for seeker in negotiation.into_iter().flat_map(|negotiation| negotiation.seekers) {
            unavailable.add((seeker.federate, seeker.tag), *attribute);
        }
    }
    say_unavailable(federation, handle, unavailable);
}

/// Attributes have no owner any more: finds new ones, and tells all whom it concerns. Who seeks an attribute gets
/// it, the first first; where nobody does, it is offered to those who could own it, but `from`.
pub(crate) fn abandon(
    federation: &mut Federation,
    from: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) {
    if federation.instances[&handle].deletion.is_some() {
        close(federation, handle, attributes);
        return object::owners_changed(federation, handle);
    }
    let (mut secured, mut free) = (Groups::new(), Vec::new());
    for attribute in attributes {
        let first = change(federation, (handle, *attribute), |negotiation| {
            negotiation.offer = None;
            negotiation.seekers.first().map(|seeker| seeker.federate)
        });
        match first {
            Some(first) => secured.add(first, *attribute),
            None => free.push(*attribute),
        }
    }
    for (seeker, attributes) in secured.into_iter() {
        acquire(federation, seeker, handle, attributes, tag);
    }
    object::owners_changed(federation, handle);
    offer_to_others(federation, from, handle, &free, tag);
}

/// Offers attributes to all federates but one that know the instance.
pub(super) fn offer_to_others(
    federation: &mut Federation,
    from: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) {
    let known = federation.instances[&handle].known().iter().map(|one| one.federate);
    for federate in known.filter(|one| *one != from).collect::<Vec<_>>() {
        offer(federation, federate, handle, attributes, tag);
    }
}

/// A federate becomes the owner of attributes that nobody owns, and is told so (clause 7.7). They are sent as it sends
/// such attributes (clauses 6.25 and 8.24: what another owner chose is over). Who else seeks them has to do with
/// it now.
pub(super) fn acquire(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: Vec<AttributeHandle>,
    tag: &Data,
) {
    let class = federation.instances[&handle].known_as(me).expect("a seeker knows the instance");
    let (mut unavailable, mut release) = (Groups::new(), Groups::new());
    for attribute in &attributes {
        let manner = federation.federate(me).attribute_manner(&federation.model, class, *attribute);
        let place = federation.instance_mut(handle).attribute_mut(*attribute);
        let place = place.expect("a seeker seeks what the instance has");
        assert_eq!(place.owner, FederateHandle::INVALID, "an attribute has one owner");
        place.owner = me;
        (place.order, place.transportation) = manner;
        change(federation, (handle, *attribute), |negotiation| {
            negotiation.forget(me);
            negotiation.seekers.retain(|seeker| {
                if seeker.if_available {
                    unavailable.add((seeker.federate, seeker.tag.clone()), *attribute);
                } else {
                    release.add((me, seeker.tag.clone()), *attribute);
                }
                !seeker.if_available
            });
        });
    }
    let callback = Callback::AttributeOwnershipAcquisitionNotification {
        object_instance: handle,
        secured_attributes: attributes,
        user_supplied_tag: tag.clone(),
    };
    federation.tell(me, callback);
    say_unavailable(federation, handle, unavailable);
    request_release(federation, handle, release);
}

/// Clause 7.4: asks a federate whether it wants those of these attributes that it could own: it publishes them.
fn offer(
    federation: &mut Federation,
    to: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) {
    let Some(class) = federation.instances[&handle].known_as(to) else { return };
    let federate = federation.federate(to);
    let could_own = |one: &AttributeHandle| federate.publishes(class, *one);
    let offered: Vec<AttributeHandle> = attributes.iter().copied().filter(could_own).collect();
    if !offered.is_empty() {
        let callback = Callback::RequestAttributeOwnershipAssumption {
            object_instance: handle,
            offered_attributes: offered,
            user_supplied_tag: tag.clone(),
        };
        federation.tell(to, callback);
    }
}

/// A federate has come to know an instance, or publishes more of its class: asks it whether it wants what is offered
/// of that, of these attributes or of all.
pub(crate) fn offer_to(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    only: Option<&[AttributeHandle]>,
) {
    let instance = &federation.instances[&handle];
    let mut groups = Groups::new();
    for ((_, attribute), negotiation) in federation.negotiations.range(of_instance(handle)) {
        let is_asked_for = only.is_none_or(|only| only.contains(attribute));
        if let Some(Offer { tag, .. }) = &negotiation.offer
            && is_asked_for
            && instance.owner(*attribute) != me
        {
            groups.add(tag.clone(), *attribute);
        }
    }
    for (tag, attributes) in groups.into_iter() {
        offer(federation, me, handle, &attributes, &tag);
    }
}

/// Does a federate seek an attribute that this is true of?
pub(crate) fn is_sought_by(
    federation: &Federation,
    me: FederateHandle,
    which: impl Fn(ObjectInstanceHandle, AttributeHandle) -> bool,
) -> bool {
    let mut all = federation.negotiations.iter();
    all.any(|((handle, attribute), negotiation)| {
        negotiation.seeker(me).is_some() && which(*handle, *attribute)
    })
}

/// A federate seeks nothing any more: of an instance, or at all.
pub(crate) fn withdraw(
    federation: &mut Federation,
    me: FederateHandle,
    handle: Option<ObjectInstanceHandle>,
) {
    let leaves = |negotiation: &mut Negotiation| {
        negotiation.forget(me);
        negotiation.is_over()
    };
    let Some(handle) = handle else {
        federation.negotiations.retain(|_, negotiation| !leaves(negotiation));
        return;
    };
    let over: Vec<Subject> = federation
        .negotiations
        .range_mut(of_instance(handle))
        .filter_map(|(subject, negotiation)| leaves(negotiation).then_some(*subject))
        .collect();
    for subject in over {
        federation.negotiations.remove(&subject);
    }
}

/// Checks what must be true of all negotiations between any two inputs.
pub(crate) fn check_invariants(federation: &Federation) {
    for ((handle, attribute), negotiation) in &federation.negotiations {
        assert!(!negotiation.is_over());
        let instance = &federation.instances[handle];
        let owner = instance.owner(*attribute);
        let is_owned = owner != FederateHandle::INVALID;
        assert!(is_owned, "who seeks what is free gets it");
        if let Some(offer) = &negotiation.offer {
            assert_eq!(offer.asked, !negotiation.seekers.is_empty(), "who is sought is asked");
        }
        for (at, seeker) in negotiation.seekers.iter().enumerate() {
            let class = instance.known_as(seeker.federate).expect("a seeker knows the instance");
            let federate = federation.federate(seeker.federate);
            assert!(federate.publishes(class, *attribute), "a seeker could own it");
            assert!(seeker.federate != owner, "nobody seeks what it has");
            assert!(!seeker.if_available || negotiation.offer.is_some(), "it is not available");
            let again = negotiation.seekers[..at].iter();
            assert!(again.into_iter().all(|other| other.federate != seeker.federate));
        }
    }
}
