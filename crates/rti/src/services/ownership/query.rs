//! Querying ownership (clauses 7.17 to 7.19).

use hemiola_hla::{
    AttributeHandle, Callback, FederateHandle, ObjectInstanceHandle, Refusal, Reply,
};

use super::{Answer, known_attributes};
use crate::federation::Federation;
use crate::group::Groups;
use crate::mom;

/// Clause 7.17. The results are the callbacks of clause 7.18.
pub(super) fn query_attribute_ownership(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
) -> Answer {
    let (_, attributes) = known_attributes(federation, me, handle, attributes)?;
    let instance = &federation.instances[&handle];
    let groups: Groups<_, _> =
        attributes.into_iter().map(|attribute| (instance.owner(attribute), attribute)).collect();
    let object_instance = handle;
    for (federate, attributes) in groups {
        let callback = if federate == FederateHandle::INVALID {
            Callback::AttributeIsNotOwned { object_instance, attributes }
        } else if federate == mom::RTI {
            Callback::AttributeIsOwnedByRTI { object_instance, attributes }
        } else {
            Callback::InformAttributeOwnership { object_instance, attributes, federate }
        };
        federation.send_callback(me, callback);
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
    known_attributes(federation, me, handle, &[attribute])?;
    Ok(federation.instances[&handle].owner(attribute) == me)
}
