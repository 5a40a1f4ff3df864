//! How values and interactions are transported (clauses 6.25 to 6.33).

use hemiola_hla::{
    AttributeHandle, Callback, Exception, FederateHandle, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, Refusal, Reply, TransportationTypeHandle,
};

use super::{Answer, available};
use crate::federation::Federation;
use crate::services::declaration;

fn exists(federation: &Federation, kind: TransportationTypeHandle) -> Result<(), Refusal> {
    match federation.model.transportation(kind) {
        Some(_) => Ok(()),
        None => Err(Exception::InvalidTransportationTypeHandle.because(kind.to_string())),
    }
}

/// Clause 6.25. The change is made at once, and confirmed as clause 6.26 has it.
pub(super) fn request_attribute_transportation_type_change(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attributes: Vec<AttributeHandle>,
    kind: TransportationTypeHandle,
) -> Answer {
    exists(federation, kind)?;
    let (instance, class) = federation.known(me, handle)?;
    available(federation, class, attributes.iter().copied())?;
    if let Some(other) = attributes.iter().find(|one| instance.owner(**one) != me) {
        return Err(Exception::AttributeNotOwned.because(other.to_string()));
    }
    let instance = federation.instance_mut(handle);
    for attribute in &attributes {
        instance.attribute_mut(*attribute).expect("it is owned").transportation = kind;
    }
    let callback = Callback::ConfirmAttributeTransportationTypeChange {
        object_instance: handle,
        attributes,
        transportation_type: kind,
    };
    federation.tell(me, callback);
    Ok(Reply::Done)
}

/// Clause 6.27: for instances that the federate registers from now on.
pub(super) fn change_default_attribute_transportation_type(
    federation: &mut Federation,
    me: FederateHandle,
    class: ObjectClassHandle,
    attributes: &[AttributeHandle],
    kind: TransportationTypeHandle,
) -> Answer {
    exists(federation, kind)?;
    declaration::defined(federation, class, attributes)?;
    let defaults = &mut federation.federate_mut(me).defaults.attribute_transportation;
    defaults.extend(attributes.iter().map(|attribute| ((class, *attribute), kind)));
    Ok(Reply::Done)
}

/// Clause 6.28; the answer comes as the callback of clause 6.29.
pub(super) fn query_attribute_transportation_type(
    federation: &mut Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> Answer {
    let (instance, class) = federation.known(me, handle)?;
    available(federation, class, [attribute])?;
    let callback = Callback::ReportAttributeTransportationType {
        object_instance: handle,
        attribute,
        transportation_type: instance.attribute(attribute).expect("just seen").transportation,
    };
    federation.tell(me, callback);
    Ok(Reply::Done)
}

/// Clause 6.30. The change is made at once, and confirmed as clause 6.31 has it.
pub(super) fn request_interaction_transportation_type_change(
    federation: &mut Federation,
    me: FederateHandle,
    class: InteractionClassHandle,
    kind: TransportationTypeHandle,
) -> Answer {
    exists(federation, kind)?;
    declaration::interaction_defined(federation, class)?;
    let federate = federation.federate_mut(me);
    if !federate.published.interactions.contains(&class) {
        return Err(Exception::InteractionClassNotPublished.into());
    }
    federate.defaults.interaction_transportation.insert(class, kind);
    let callback = Callback::ConfirmInteractionTransportationTypeChange {
        interaction_class: class,
        transportation_type: kind,
    };
    federation.tell(me, callback);
    Ok(Reply::Done)
}

/// Clause 6.32; the answer comes as the callback of clause 6.33.
pub(super) fn query_interaction_transportation_type(
    federation: &mut Federation,
    me: FederateHandle,
    federate: FederateHandle,
    class: InteractionClassHandle,
) -> Answer {
    declaration::interaction_defined(federation, class)?;
    let Some(other) = federation.joined_federate(federate) else {
        // The service has no exception of its own for this.
        return Err(
            Exception::RTIinternalError.because(format!("no federate {federate} has joined"))
        );
    };
    let (_, transportation_type) = other.interaction_manner(&federation.model, class);
    let callback = Callback::ReportInteractionTransportationType {
        federate,
        interaction_class: class,
        transportation_type,
    };
    federation.tell(me, callback);
    Ok(Reply::Done)
}
