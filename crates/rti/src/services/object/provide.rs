//! Requests for attribute values (clauses 6.21 and 6.22).

use std::collections::BTreeMap;

use hemiola_hla::data::Data;
use hemiola_hla::{
    AttributeHandle, Callback, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, Reply,
};

use super::{Answer, available};
use crate::federation::Federation;
use crate::job::{Below, DONE, Step, Task};
use crate::services::declaration;

/// Clause 6.21 for an instance.
pub(super) fn request_instance_attribute_value_update(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) -> Answer {
    let (_, class) = federation.known(me, handle)?;
    available(federation, class, attributes.iter().copied())?;
    ask_owners(federation, me, handle, attributes, tag);
    Ok(Reply::Done)
}

/// Clause 6.21 for all instances of a class and its subclasses.
pub(super) fn request_class_attribute_value_update(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) -> Answer {
    declaration::defined(federation, class, attributes)?;
    let (below, attributes, tag) =
        (Below::new(federation, class), attributes.to_vec(), tag.clone());
    federation.start(me, Task::Provide { below, attributes, tag });
    Ok(Reply::Done)
}

/// Asks the owners of the next instance.
pub(crate) fn provide_step(
    federation: &mut Federation,
    me: FederateHandle,
    below: &mut Below,
    attributes: &[AttributeHandle],
    tag: &Data,
) -> Step {
    let Some(handle) = below.next(federation) else { return DONE };
    ask_owners(federation, me, handle, attributes, tag);
    Step::Continue(())
}

/// Clause 6.22. Asks each other owner for its attributes among these.
pub(crate) fn ask_owners(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    tag: &Data,
) {
    let instance = &federation.instances[&handle];
    let mut owned: BTreeMap<FederateHandle, Vec<AttributeHandle>> = BTreeMap::new();
    for attribute in attributes {
        let owner = instance.owner(*attribute);
        if owner != FederateHandle::INVALID && owner != me {
            owned.entry(owner).or_default().push(*attribute);
        }
    }
    for (owner, attributes) in owned {
        let callback = Callback::ProvideAttributeValueUpdate {
            object_instance: handle,
            attributes,
            user_supplied_tag: tag.clone(),
        };
        federation.send_callback(owner, callback);
    }
}
