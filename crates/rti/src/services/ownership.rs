//! Clause 7, ownership management: which federate may update an attribute of an instance.
//!
//! An attribute has at most one owner. A [negotiation](Negotiation) is pending if the owner offers the attribute or
//! other federates seek it. Every service that makes an attribute unowned, and resigning and unpublishing too,
//! continues with [`negotiation::abandon`].

mod acquisition;
mod divestiture;
mod negotiation;
mod query;

use std::collections::BTreeSet;

use hemiola_hla::call::OwnershipCall;
use hemiola_hla::{
    AttributeHandle, Exception, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, Refusal,
    Reply,
};

use super::{Answer, object};
use crate::federation::Federation;
use acquisition::{
    attribute_ownership_acquisition, attribute_ownership_acquisition_if_available,
    cancel_attribute_ownership_acquisition,
};
use divestiture::{
    attribute_ownership_divestiture_if_wanted, attribute_ownership_release_denied,
    cancel_negotiated_attribute_ownership_divestiture, confirm_divestiture,
    negotiated_attribute_ownership_divestiture, unconditional_attribute_ownership_divestiture,
};
use query::{is_attribute_owned_by_federate, query_attribute_ownership};

pub(crate) use negotiation::{
    Negotiation, Negotiations, abandon, check_invariants, close, is_instance_sought_by, offer_to,
    seeks, withdraw, withdraw_from,
};

/// Dispatches a call of this clause.
pub(crate) fn call(federation: &mut Federation, me: FederateHandle, call: OwnershipCall) -> Answer {
    use OwnershipCall as C;
    match call {
        C::UnconditionalAttributeOwnershipDivestiture {
            object_instance: instance,
            attributes,
            user_supplied_tag: tag,
        } => unconditional_attribute_ownership_divestiture(
            federation,
            me,
            instance,
            &attributes,
            &tag,
        ),
        C::NegotiatedAttributeOwnershipDivestiture {
            object_instance: instance,
            attributes,
            user_supplied_tag: tag,
        } => {
            negotiated_attribute_ownership_divestiture(federation, me, instance, &attributes, &tag)
        }
        C::ConfirmDivestiture {
            object_instance: instance,
            confirmed_attributes: attributes,
            user_supplied_tag: tag,
        } => confirm_divestiture(federation, me, instance, &attributes, &tag),
        C::AttributeOwnershipAcquisition {
            object_instance: instance,
            desired_attributes: attributes,
            user_supplied_tag: tag,
        } => attribute_ownership_acquisition(federation, me, instance, &attributes, &tag),
        C::AttributeOwnershipAcquisitionIfAvailable {
            object_instance: instance,
            desired_attributes: attributes,
            user_supplied_tag: tag,
        } => attribute_ownership_acquisition_if_available(
            federation,
            me,
            instance,
            &attributes,
            &tag,
        ),
        C::AttributeOwnershipReleaseDenied {
            object_instance: instance,
            attributes,
            user_supplied_tag: tag,
        } => attribute_ownership_release_denied(federation, me, instance, &attributes, &tag),
        C::AttributeOwnershipDivestitureIfWanted {
            object_instance: instance,
            attributes,
            user_supplied_tag: tag,
        } => attribute_ownership_divestiture_if_wanted(federation, me, instance, &attributes, &tag),
        C::CancelNegotiatedAttributeOwnershipDivestiture {
            object_instance: instance,
            attributes,
        } => {
            cancel_negotiated_attribute_ownership_divestiture(federation, me, instance, &attributes)
        }
        C::CancelAttributeOwnershipAcquisition { object_instance: instance, attributes } => {
            cancel_attribute_ownership_acquisition(federation, me, instance, &attributes)
        }
        C::QueryAttributeOwnership { object_instance: instance, attributes } => {
            query_attribute_ownership(federation, me, instance, &attributes)
        }
        C::IsAttributeOwnedByFederate { object_instance: instance, attribute } => {
            is_attribute_owned_by_federate(federation, me, instance, attribute).map(Reply::Flag)
        }
    }
}

/// Returns the attributes of a call, each once, and the class the federate knows the instance as.
fn known_attributes(
    federation: &Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
) -> Result<(ObjectClassHandle, BTreeSet<AttributeHandle>), Refusal> {
    let (_, class) = federation.known(me, handle)?;
    object::available(federation, class, attributes.iter().copied())?;
    Ok((class, attributes.iter().copied().collect()))
}

/// Returns the attributes of a call, each once, after checking that the federate owns them all.
fn owned_attributes(
    federation: &Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
) -> Result<BTreeSet<AttributeHandle>, Refusal> {
    let (_, attributes) = known_attributes(federation, me, handle, attributes)?;
    let instance = &federation.instances[&handle];
    match attributes.iter().find(|one| instance.owner(**one) != me) {
        Some(other) => Err(Exception::AttributeNotOwned.because(other.to_string())),
        None => Ok(attributes),
    }
}
