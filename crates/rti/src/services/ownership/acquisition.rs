//! Acquiring attributes (clauses 7.8, 7.9, 7.15).

use std::collections::BTreeSet;

use hemiola_hla::data::Data;
use hemiola_hla::{
    AttributeHandle, Callback, Exception, FederateHandle, ObjectInstanceHandle, Refusal, Reply,
};

use super::negotiation::{
    Seeker, acquire, change, charged, has_room, report_unavailable, request_confirmation,
    request_release,
};
use super::{Answer, known_attributes};
use crate::federation::Federation;
use crate::group::Groups;
use crate::services::object;

/// Checks that a federate can acquire these attributes: it publishes them all and owns none. Returns each once.
fn acquirable(
    federation: &Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
) -> Result<BTreeSet<AttributeHandle>, Refusal> {
    let (class, attributes) = known_attributes(federation, me, handle, attributes)?;
    let instance = &federation.instances[&handle];
    if let Some(own) = attributes.iter().find(|one| instance.owner(**one) == me) {
        return Err(Exception::FederateOwnsAttributes.because(own.to_string()));
    }
    let published = &federation.federate(me).published.classes;
    let published = published.get(&class).ok_or(Exception::ObjectClassNotPublished)?;
    match attributes.difference(published).next() {
        Some(other) => Err(Exception::AttributeNotPublished.because(other.to_string())),
        None => Ok(attributes),
    }
}

/// Clause 7.8. The federate acquires unowned attributes at once. The owners of the others are asked to release them, or
/// to confirm if they have offered them.
pub(super) fn attribute_ownership_acquisition(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) -> Answer {
    let attributes = acquirable(federation, me, handle, attributes)?;
    let tag = &has_room(federation, me, attributes.len(), tag)?;
    seek(federation, me, handle, attributes, tag, false);
    Ok(Reply::Done)
}

/// Clause 7.9. Attributes that another federate owns and has not offered are unavailable.
pub(super) fn attribute_ownership_acquisition_if_available(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) -> Answer {
    let attributes = acquirable(federation, me, handle, attributes)?;
    let is_sought = |one: &&AttributeHandle| {
        let negotiation = federation.negotiations.get(&(handle, **one));
        negotiation.is_some_and(|negotiation| negotiation.seeker(me).is_some())
    };
    if let Some(other) = attributes.iter().find(is_sought) {
        return Err(Exception::AttributeAlreadyBeingAcquired.because(other.to_string()));
    }
    let tag = &has_room(federation, me, attributes.len(), tag)?;
    seek(federation, me, handle, attributes, tag, true);
    Ok(Reply::Done)
}

fn seek(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: BTreeSet<AttributeHandle>,
    tag: &Data,
    if_available: bool,
) {
    let is_deleted = federation.instances[&handle].deletion.is_some();
    let (mut free, mut unavailable) = (Vec::new(), Groups::new());
    let (mut confirm, mut release) = (Groups::new(), Groups::new());
    for attribute in attributes {
        let owner = federation.instances[&handle].owner(attribute);
        if owner == FederateHandle::INVALID {
            // A retraction of the deletion would return the attribute to its former owner.
            if is_deleted {
                unavailable.add((me, tag.clone()), attribute);
            } else {
                free.push(attribute);
            }
            continue;
        }
        let charge = charged(federation, me, tag);
        change(federation, (handle, attribute), |negotiation| {
            match &mut negotiation.offer {
                Some(offer) if offer.asked => {}
                Some(offer) => {
                    offer.asked = true;
                    confirm.add((owner, tag.clone()), attribute);
                }
                None if if_available => return unavailable.add((me, tag.clone()), attribute),
                None => release.add((owner, tag.clone()), attribute),
            }
            let seeker = Seeker { federate: me, tag: tag.clone(), charge, if_available };
            match negotiation.seekers.iter_mut().find(|one| one.federate == me) {
                Some(before) => *before = seeker,
                None => negotiation.seekers.push(seeker),
            }
        });
    }
    if !free.is_empty() {
        acquire(federation, me, handle, free, &Data::new());
        object::owners_changed(federation, handle);
    }
    report_unavailable(federation, handle, unavailable);
    request_confirmation(federation, handle, confirm);
    request_release(federation, handle, release);
}

/// Clauses 7.15 and 7.16. Cancels acquisitions by clause 7.8; those by clause 7.9 are not affected.
pub(super) fn cancel_attribute_ownership_acquisition(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
) -> Answer {
    let (_, attributes) = known_attributes(federation, me, handle, attributes)?;
    let instance = &federation.instances[&handle];
    if let Some(own) = attributes.iter().find(|one| instance.owner(**one) == me) {
        return Err(Exception::AttributeAlreadyOwned.because(own.to_string()));
    }
    let is_asked_for = |one: &&AttributeHandle| {
        let negotiation = federation.negotiations.get(&(handle, **one));
        let seeker = negotiation.and_then(|negotiation| negotiation.seeker(me));
        seeker.is_some_and(|seeker| !seeker.if_available)
    };
    if let Some(other) = attributes.iter().find(|one| !is_asked_for(one)) {
        return Err(Exception::AttributeAcquisitionWasNotRequested.because(other.to_string()));
    }
    if attributes.is_empty() {
        return Ok(Reply::Done);
    }
    for attribute in &attributes {
        change(federation, (handle, *attribute), |negotiation| negotiation.forget(me));
    }
    let callback = Callback::ConfirmAttributeOwnershipAcquisitionCancellation {
        object_instance: handle,
        attributes: attributes.into_iter().collect(),
    };
    federation.send_callback(me, callback);
    Ok(Reply::Done)
}
