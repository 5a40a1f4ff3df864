//! Transportation types (clauses 6.25 to 6.33).

use hemiola_hla::{
    AttributeHandle, Callback, Exception, FederateHandle, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, Refusal, Reply, TransportationTypeHandle,
};

use super::{Answer, available};
use crate::federate::table;
use crate::federation::Federation;
use crate::memory::has_room;
use crate::services::declaration;

fn check_transportation(
    federation: &Federation,
    transportation: TransportationTypeHandle,
) -> Result<(), Refusal> {
    match federation.model.transportation(transportation) {
        Some(_) => Ok(()),
        None => Err(Exception::InvalidTransportationTypeHandle.because(transportation.to_string())),
    }
}

/// Clause 6.25. The change is immediate; the callback of clause 6.26 confirms it.
pub(super) fn request_attribute_transportation_type_change(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: Vec<AttributeHandle>,
    transportation: TransportationTypeHandle,
) -> Answer {
    check_transportation(federation, transportation)?;
    let (instance, class) = federation.known(me, handle)?;
    available(federation, class, attributes.iter().copied())?;
    if let Some(other) = attributes.iter().find(|one| instance.owner(**one) != me) {
        return Err(Exception::AttributeNotOwned.because(other.to_string()));
    }
    let instance = federation.instance_mut(handle);
    for attribute in &attributes {
        instance.attribute_mut(*attribute).expect("it is owned").transportation = transportation;
    }
    let callback = Callback::ConfirmAttributeTransportationTypeChange {
        object_instance: handle,
        attributes,
        transportation_type: transportation,
    };
    federation.send_callback(me, callback);
    Ok(Reply::Done)
}

/// Clause 6.27. Applies to instances that the federate registers later.
pub(super) fn change_default_attribute_transportation_type(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    attributes: &[AttributeHandle],
    transportation: TransportationTypeHandle,
) -> Answer {
    check_transportation(federation, transportation)?;
    declaration::defined(federation, class, attributes)?;
    has_room(federation, me, attributes.len() * table::DEFAULT)?;
    let federate = federation.federate_mut(me);
    let before = federate.defaults.len();
    let defaults = &mut federate.defaults.attribute_transportation;
    defaults.extend(attributes.iter().map(|attribute| ((class, *attribute), transportation)));
    let now = federate.defaults.len();
    federate.charge.change(before * table::DEFAULT, now * table::DEFAULT);
    Ok(Reply::Done)
}

/// Clause 6.28. The result is the callback of clause 6.29.
pub(super) fn query_attribute_transportation_type(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> Answer {
    let (instance, class) = federation.known(me, handle)?;
    available(federation, class, [attribute])?;
    let transportation_type = match instance.attribute(attribute) {
        Some(own) => own.transportation,
        // It was added after the instance was registered and never had an owner.
        None => federation.model.attribute(attribute).expect("just seen").transportation,
    };
    let callback = Callback::ReportAttributeTransportationType {
        object_instance: handle,
        attribute,
        transportation_type,
    };
    federation.send_callback(me, callback);
    Ok(Reply::Done)
}

/// Clause 6.30. The change is immediate; the callback of clause 6.31 confirms it.
pub(super) fn request_interaction_transportation_type_change(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    transportation: TransportationTypeHandle,
) -> Answer {
    check_transportation(federation, transportation)?;
    declaration::interaction_defined(federation, class)?;
    let federate = federation.federate_mut(me);
    if !federate.published.interactions.contains(&class) {
        return Err(Exception::InteractionClassNotPublished.into());
    }
    if federate.defaults.interaction_transportation.insert(class, transportation).is_none() {
        federate.charge.grow(table::DEFAULT);
    }
    let callback = Callback::ConfirmInteractionTransportationTypeChange {
        interaction_class: class,
        transportation_type: transportation,
    };
    federation.send_callback(me, callback);
    Ok(Reply::Done)
}

/// Clause 6.32. The result is the callback of clause 6.33.
pub(super) fn query_interaction_transportation_type(
    federation: &mut Federation,
    me: FederateHandle,
    federate: FederateHandle,
    class: InteractionClassHandle,
) -> Answer {
    declaration::interaction_defined(federation, class)?;
    let Some(other) = federation.joined_federate(federate) else {
        // This service has no exception for a federate that is not joined.
        return Err(
            Exception::RTIinternalError.because(format!("federate {federate} is not joined"))
        );
    };
    let (_, transportation_type) = other.interaction_send_options(&federation.model, class);
    let callback = Callback::ReportInteractionTransportationType {
        federate,
        interaction_class: class,
        transportation_type,
    };
    federation.send_callback(me, callback);
    Ok(Reply::Done)
}
