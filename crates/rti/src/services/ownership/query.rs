//! Who owns what (clauses 7.17 to 7.19).

use hemiola_hla::{
    AttributeHandle, Callback, FederateHandle, ObjectInstanceHandle, Refusal, Reply,
};

use super::negotiation::Groups;
use super::{Answer, named};
use crate::federation::Federation;

/// Clause 7.17; the answer comes as the callbacks of clause 7.18.
pub(super) fn query_attribute_ownership(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
) -> Answer {
    let (_, attributes) = named(federation, me, handle, attributes)?;
    let instance = &federation.instances[&handle];
    let mut groups = Groups::new();
    for attribute in attributes {
        groups.add(instance.owner(attribute), attribute);
    }
    let object_instance = handle;
    for (federate, attributes) in groups.into_iter() {
        let callback = if federate == FederateHandle::INVALID {
            Callback::AttributeIsNotOwned { object_instance, attributes }
        } else {
            Callback::InformAttributeOwnership { object_instance, attributes, federate }
        };
        federation.tell(me, callback);
    }
    Ok(Reply::Done)
}

/// Clause 7.19.
pub(super) fn is_attribute_owned_by_federate(
    federation: &Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> Result<bool, Refusal> {
    named(federation, me, handle, &[attribute])?;
    Ok(federation.instances[&handle].owner(attribute) == me)
}
