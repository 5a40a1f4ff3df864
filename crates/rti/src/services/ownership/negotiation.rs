//! Negotiations of attribute ownership, and their results.

use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

use hemiola_hla::data::Data;
use hemiola_hla::{AttributeHandle, Callback, FederateHandle, ObjectInstanceHandle, Refusal};

use crate::federation::Federation;
use crate::group::Groups;
use crate::image::{Reader, Stored, Taken, Writer};
use crate::instance::InstanceAttribute;
use crate::memory::{self, ALLOCATION, Account, Charge, entry_len};
use crate::services::{beyond, kept_tag, object};

/// An attribute of an instance.
pub(crate) type Subject = (ObjectInstanceHandle, AttributeHandle);

/// The offer and the seekers of an attribute. It exists only while there are any.
#[derive(Debug, Default)]
pub(crate) struct Negotiation {
    /// The owner's offer to divest (clause 7.3).
    pub(super) offer: Option<Offer>,
    /// In order of arrival; each federate once.
    pub(super) seekers: Vec<Seeker>,
}

/// An offer of an owner.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) tag: Data,
    pub(super) charge: Charge,
    /// Whether the owner has been asked to confirm, since a federate seeks the attribute (clause 7.5).
    pub(super) asked: bool,
}

/// A federate that seeks ownership.
#[derive(Debug)]
pub(super) struct Seeker {
    pub(super) federate: FederateHandle,
    pub(super) tag: Data,
    pub(super) charge: Charge,
    /// Whether it asked by clause 7.9, which needs an offer, and not by clause 7.8.
    pub(super) if_available: bool,
}

impl Negotiation {
    pub(super) fn seeker(&self, federate: FederateHandle) -> Option<&Seeker> {
        self.seekers.iter().find(|seeker| seeker.federate == federate)
    }

    /// Removes a seeker. Without seekers, the owner has nothing to confirm.
    pub(super) fn forget(&mut self, federate: FederateHandle) {
        self.seekers.retain(|seeker| seeker.federate != federate);
        if let Some(offer) = &mut self.offer {
            offer.asked &= !self.seekers.is_empty();
        }
    }

    /// Its charge.
    pub(crate) fn charged_len(&self) -> usize {
        let offer = self.offer.iter().map(|offer| offer.charge.len());
        offer.chain(self.seekers.iter().map(|seeker| seeker.charge.len())).sum()
    }

    /// Writes the offer and the seekers, without their charges.
    pub(crate) fn put(&self, to: &mut Writer) {
        self.offer.as_ref().map(|offer| (offer.tag.clone(), offer.asked)).put(to);
        (self.seekers.len() as u32).put(to);
        for Seeker { federate, tag, if_available, .. } in &self.seekers {
            (*federate, tag.clone(), *if_available).put(to);
        }
    }

    /// Reads the same. This account pays for it.
    pub(crate) fn take(from: &mut Reader, account: &Arc<Account>) -> Taken<Self> {
        let charge = |tag: &Data| Charge::new(account, kept_len(tag));
        let offer: Option<(Data, bool)> = Stored::take(from)?;
        let offer = offer.map(|(tag, asked)| Offer { charge: charge(&tag), tag, asked });
        let mut seekers = Vec::new();
        for _ in 0..u32::take(from)? {
            let (federate, tag, if_available): (FederateHandle, Data, bool) = Stored::take(from)?;
            seekers.push(Seeker { federate, charge: charge(&tag), tag, if_available });
        }
        let negotiation = Self { offer, seekers };
        if negotiation.is_over() { Err("a negotiation is about nothing") } else { Ok(negotiation) }
    }

    /// The federates that seek the attribute.
    pub(crate) fn seekers(&self) -> impl Iterator<Item = FederateHandle> {
        self.seekers.iter().map(|seeker| seeker.federate)
    }

    const fn is_over(&self) -> bool {
        self.offer.is_none() && self.seekers.is_empty()
    }
}

/// The estimated memory of an offer, or of a seeker, with its own tag.
const fn kept_len(tag: &Data) -> usize {
    entry_len::<Subject, Negotiation>() + 4 * size_of::<Seeker>() + tag.len() + ALLOCATION
}

/// Charges a federate for an offer, or for seeking an attribute.
pub(super) fn charged(federation: &Federation, me: FederateHandle, tag: &Data) -> Charge {
    Charge::new(&federation.federate(me).account, kept_len(tag))
}

/// Checks the limits for negotiations of `more` attributes and for their tag. Returns the tag to be kept.
pub(super) fn has_room(
    federation: &Federation,
    me: FederateHandle,
    more: usize,
    tag: &Data,
) -> Result<Data, Refusal> {
    let tag = kept_tag(federation.limits, tag)?;
    let limit = federation.limits.negotiations;
    if federation.negotiations.len() + more > limit {
        return Err(beyond(limit, "attributes under negotiation"));
    }
    memory::has_room(federation, me, more * kept_len(&tag))?;
    Ok(tag)
}

const fn of_instance(handle: ObjectInstanceHandle) -> RangeInclusive<Subject> {
    (handle, AttributeHandle::new(0))..=(handle, AttributeHandle::new(u32::MAX))
}

/// Changes a negotiation. Creates it before if necessary, and removes it if it has ended.
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

/// The receiver and the tag of a callback.
pub(super) type To = (FederateHandle, Data);

/// Clause 7.5.
pub(super) fn request_confirmation(
    federation: &mut Federation,
    handle: ObjectInstanceHandle,
    groups: Groups<To, AttributeHandle>,
) {
    for ((owner, tag), attributes) in groups {
        let callback = Callback::RequestDivestitureConfirmation {
            object_instance: handle,
            released_attributes: attributes,
            user_supplied_tag: tag,
        };
        federation.send_callback(owner, callback);
    }
}

/// Clause 7.10.
pub(super) fn report_unavailable(
    federation: &mut Federation,
    handle: ObjectInstanceHandle,
    groups: Groups<To, AttributeHandle>,
) {
    for ((seeker, tag), attributes) in groups {
        let callback = Callback::AttributeOwnershipUnavailable {
            object_instance: handle,
            attributes,
            user_supplied_tag: tag,
        };
        federation.send_callback(seeker, callback);
    }
}

/// Clause 7.11.
pub(super) fn request_release(
    federation: &mut Federation,
    handle: ObjectInstanceHandle,
    groups: Groups<To, AttributeHandle>,
) {
    for ((owner, tag), attributes) in groups {
        let callback = Callback::RequestAttributeOwnershipRelease {
            object_instance: handle,
            candidate_attributes: attributes,
            user_supplied_tag: tag,
        };
        federation.send_callback(owner, callback);
    }
}

/// Ends the negotiations of a deleted instance's attributes: there is no offer, and every seeker is refused.
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
    report_unavailable(federation, handle, unavailable);
}

/// Finds new owners for attributes that have become unowned. The first seeker acquires an attribute; without seekers it
/// is offered to all federates that could own it, except `from`.
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
    for (seeker, attributes) in secured {
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
    let known = federation.instances[&handle].known_by().iter().map(|one| one.federate);
    for federate in known.filter(|one| *one != from).collect::<Vec<_>>() {
        offer(federation, federate, handle, attributes, tag);
    }
}

/// Makes a federate the owner of unowned attributes and notifies it (clause 7.7). The attributes get that federate's
/// sending options (clauses 6.25 and 8.24), not those of a previous owner. The remaining seekers turn to the new owner.
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
        let (order, transportation) =
            federation.federate(me).attribute_send_options(&federation.model, class, *attribute);
        let acquired = InstanceAttribute { handle: *attribute, owner: me, order, transportation };
        federation.acquire(handle, acquired);
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
    federation.send_callback(me, callback);
    report_unavailable(federation, handle, unavailable);
    request_release(federation, handle, release);
}

/// Clause 7.4. Asks a federate whether it wants to own these attributes, as far as it publishes them.
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
        federation.send_callback(to, callback);
    }
}

/// Asks a federate whether it wants to own attributes of an instance that are on offer: `only` these, or all. Called
/// when it discovers the instance or publishes more of the class.
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
    for (tag, attributes) in groups {
        offer(federation, me, handle, &attributes, &tag);
    }
}

/// All negotiations, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Negotiations {
    after: Option<Subject>,
}

impl Negotiations {
    pub(crate) fn next(&mut self, federation: &Federation) -> Option<Subject> {
        let after = self.after.map_or(Bound::Unbounded, Bound::Excluded);
        let (next, _) = federation.negotiations.range((after, Bound::Unbounded)).next()?;
        self.after = Some(*next);
        Some(*next)
    }
}

/// Returns whether a federate seeks this attribute.
pub(crate) fn seeks(
    federation: &Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> bool {
    let negotiation = federation.negotiations.get(&(handle, attribute));
    negotiation.is_some_and(|negotiation| negotiation.seeker(me).is_some())
}

/// Returns whether a federate seeks an attribute of this instance.
pub(crate) fn is_instance_sought_by(
    federation: &Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
) -> bool {
    let mut all = federation.negotiations.range(of_instance(handle));
    all.any(|(_, negotiation)| negotiation.seeker(me).is_some())
}

/// Removes a federate from the seekers of an attribute.
pub(crate) fn withdraw_from(federation: &mut Federation, me: FederateHandle, subject: Subject) {
    change(federation, subject, |negotiation| negotiation.forget(me));
}

/// Removes a federate from the seekers of an instance.
pub(crate) fn withdraw(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
) {
    let leaves = |negotiation: &mut Negotiation| {
        negotiation.forget(me);
        negotiation.is_over()
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

/// Checks the invariants of all negotiations.
pub(crate) fn check_invariants(federation: &Federation) {
    for ((handle, attribute), negotiation) in &federation.negotiations {
        assert!(!negotiation.is_over());
        let instance = &federation.instances[handle];
        let owner = instance.owner(*attribute);
        let is_owned = owner != FederateHandle::INVALID;
        assert!(is_owned, "only an owned attribute is negotiated");
        if let Some(offer) = &negotiation.offer {
            assert_eq!(
                offer.asked,
                !negotiation.seekers.is_empty(),
                "an owner with seekers has been asked"
            );
        }
        for (at, seeker) in negotiation.seekers.iter().enumerate() {
            let class = instance.known_as(seeker.federate).expect("a seeker knows the instance");
            let federate = federation.federate(seeker.federate);
            assert!(federate.publishes(class, *attribute), "a seeker could own it");
            assert!(seeker.federate != owner, "no federate seeks an attribute it owns");
            assert!(
                !seeker.if_available || negotiation.offer.is_some(),
                "a request by clause 7.9 needs an offer"
            );
            let again = negotiation.seekers[..at].iter();
            assert!(again.into_iter().all(|other| other.federate != seeker.federate));
        }
    }
}
