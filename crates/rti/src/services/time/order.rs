//! The order of attribute values and interactions (clauses 8.24 to 8.26).

use hemiola_hla::{
    AttributeHandle, Exception, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, OrderType, Refusal, Reply,
};

use super::Answer;
use crate::federate::table;
use crate::federation::Federation;
use crate::memory::has_room;
use crate::services::{declaration, object};

/// These services have no exception for a number that is not an order type.
fn checked_order(order: Option<OrderType>) -> Result<OrderType, Refusal> {
    order.ok_or_else(|| Exception::RTIinternalError.because("unknown order type"))
}

/// Clause 8.24.
pub(super) fn change_attribute_order_type(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: &[AttributeHandle],
    order: Option<OrderType>,
) -> Answer {
    let order = checked_order(order)?;
    let (instance, class) = federation.known(me, handle)?;
    object::available(federation, class, attributes.iter().copied())?;
    if let Some(other) = attributes.iter().find(|one| instance.owner(**one) != me) {
        return Err(Exception::AttributeNotOwned.because(other.to_string()));
    }
    let instance = federation.instance_mut(handle);
    for attribute in attributes {
        instance.attribute_mut(*attribute).expect("it is owned").order = order;
    }
    Ok(Reply::Done)
}

/// Clause 8.25. Applies to instances that the federate registers later.
pub(super) fn change_default_attribute_order_type(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    attributes: &[AttributeHandle],
    order: Option<OrderType>,
) -> Answer {
    let order = checked_order(order)?;
    declaration::defined(federation, class, attributes)?;
    has_room(federation, me, attributes.len() * table::DEFAULT)?;
    let federate = federation.federate_mut(me);
    let before = federate.defaults.len();
    let defaults = &mut federate.defaults.attribute_order;
    defaults.extend(attributes.iter().map(|attribute| ((class, *attribute), order)));
    let now = federate.defaults.len();
    federate.charge.change(before * table::DEFAULT, now * table::DEFAULT);
    Ok(Reply::Done)
}

/// Clause 8.26.
pub(super) fn change_interaction_order_type(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    order: Option<OrderType>,
) -> Answer {
    let order = checked_order(order)?;
    declaration::interaction_defined(federation, class)?;
    let federate = federation.federate_mut(me);
    if !federate.published.interactions.contains(&class) {
        return Err(Exception::InteractionClassNotPublished.into());
    }
    if federate.defaults.interaction_order.insert(class, order).is_none() {
        federate.charge.grow(table::DEFAULT);
    }
    Ok(Reply::Done)
}
