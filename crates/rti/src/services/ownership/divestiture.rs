//! Divesting attributes (clauses 7.2, 7.3, 7.6, 7.12 to 7.14).

use std::collections::BTreeSet;

use hemiola_hla::data::Data;
use hemiola_hla::{
    AttributeHandle, Exception, FederateHandle, ObjectInstanceHandle, Refusal, Reply,
};

use super::negotiation::{
    Offer, abandon, change, charged, has_room, offer_to_others, report_unavailable,
    request_confirmation, request_release,
};
use super::{Answer, owned_attributes};
use crate::federation::Federation;
use crate::group::Groups;
use crate::services::object;

/// Clause 7.2: immediate, with or without a new owner.
pub(super) fn unconditional_attribute_ownership_divestiture(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) -> Answer {
    let attributes = owned_attributes(federation, me, handle, attributes)?;
    give_away(federation, me, handle, attributes, tag);
    Ok(Reply::Done)
}

fn give_away(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: BTreeSet<AttributeHandle>,
    tag: &Data,
) {
    if attributes.is_empty() {
        return;
    }
    let attributes: Vec<AttributeHandle> = attributes.into_iter().collect();
    object::disown(federation, me, handle, &attributes);
    abandon(federation, me, handle, &attributes, tag);
}

/// Clause 7.3. The federate remains the owner until it confirms, or withdraws the offer.
pub(super) fn negotiated_attribute_ownership_divestiture(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) -> Answer {
    let attributes = owned_attributes(federation, me, handle, attributes)?;
    let is_offered = |one: &&AttributeHandle| is_offered(federation, handle, **one);
    if let Some(other) = attributes.iter().find(is_offered) {
        return Err(Exception::AttributeAlreadyBeingDivested.because(other.to_string()));
    }
    let tag = &has_room(federation, me, attributes.len(), tag)?;
    let (mut confirm, mut free) = (Groups::new(), Vec::new());
    for attribute in attributes {
        let charge = charged(federation, me, tag);
        let sought = change(federation, (handle, attribute), |negotiation| {
            let first = negotiation.seekers.first().map(|seeker| seeker.tag.clone());
            negotiation.offer = Some(Offer { tag: tag.clone(), charge, asked: first.is_some() });
            first
        });
        match sought {
            Some(sought) => confirm.add((me, sought), attribute),
            None => free.push(attribute),
        }
    }
    request_confirmation(federation, handle, confirm);
    offer_to_others(federation, me, handle, &free, tag);
    Ok(Reply::Done)
}

fn is_offered(
    federation: &Federation,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> bool {
    let negotiation = federation.negotiations.get(&(handle, attribute));
    negotiation.is_some_and(|negotiation| negotiation.offer.is_some())
}

fn all_offered(
    federation: &Federation,
    handle: ObjectInstanceHandle,
    attributes: &BTreeSet<AttributeHandle>,
) -> Result<(), Refusal> {
    match attributes.iter().find(|one| !is_offered(federation, handle, **one)) {
        Some(other) => {
            Err(Exception::AttributeDivestitureWasNotRequested.because(other.to_string()))
        }
        None => Ok(()),
    }
}

fn is_sought(
    federation: &Federation,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> bool {
    let negotiation = federation.negotiations.get(&(handle, attribute));
    negotiation.is_some_and(|negotiation| !negotiation.seekers.is_empty())
}

/// Clause 7.6.
pub(super) fn confirm_divestiture(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) -> Answer {
    let attributes = owned_attributes(federation, me, handle, attributes)?;
    all_offered(federation, handle, &attributes)?;
    if let Some(other) = attributes.iter().find(|one| !is_sought(federation, handle, **one)) {
        return Err(Exception::NoAcquisitionPending.because(other.to_string()));
    }
    give_away(federation, me, handle, attributes, tag);
    Ok(Reply::Done)
}

/// Clause 7.12. Federates that asked for the attributes are refused, and their requests end. Attributes that the owner
/// has offered are not affected.
pub(super) fn attribute_ownership_release_denied(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) -> Answer {
    let attributes = owned_attributes(federation, me, handle, attributes)?;
    let mut unavailable = Groups::new();
    for attribute in attributes {
        change(federation, (handle, attribute), |negotiation| {
            if negotiation.offer.is_none() {
                for seeker in negotiation.seekers.drain(..) {
                    unavailable.add((seeker.federate, tag.clone()), attribute);
                }
            }
        });
    }
    report_unavailable(federation, handle, unavailable);
    Ok(Reply::Done)
}

/// Clause 7.13. Divests the attributes that another federate seeks, and returns them.
pub(super) fn attribute_ownership_divestiture_if_wanted(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) -> Answer {
    let mut attributes = owned_attributes(federation, me, handle, attributes)?;
    attributes.retain(|one| is_sought(federation, handle, *one));
    let divested = attributes.iter().copied().collect();
    give_away(federation, me, handle, attributes, tag);
    Ok(Reply::Attributes(divested))
}

/// Clause 7.14. The owner is asked again to release attributes to federates that requested them by clause 7.8; requests
/// by clause 7.9 are refused.
pub(super) fn cancel_negotiated_attribute_ownership_divestiture(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
) -> Answer {
    let attributes = owned_attributes(federation, me, handle, attributes)?;
    all_offered(federation, handle, &attributes)?;
    let (mut unavailable, mut release) = (Groups::new(), Groups::new());
    for attribute in attributes {
        change(federation, (handle, attribute), |negotiation| {
            negotiation.offer = None;
            negotiation.seekers.retain(|seeker| {
                if seeker.if_available {
                    unavailable.add((seeker.federate, seeker.tag.clone()), attribute);
                } else {
                    release.add((me, seeker.tag.clone()), attribute);
                }
                !seeker.if_available
            });
        });
    }
    report_unavailable(federation, handle, unavailable);
    request_release(federation, handle, release);
    Ok(Reply::Done)
}
