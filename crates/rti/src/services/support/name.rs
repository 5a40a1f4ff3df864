//! Handles for names, and names for handles (clauses 10.2 to 10.25).

use hemiola_hla::{
    AttributeHandle, DimensionHandle, Exception, FederateHandle, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, OrderType, ParameterHandle, Refusal, Reply,
    TransportationTypeHandle,
};

use super::Answer;
use crate::federation::{Federation, NameUse};
use crate::services::object;

fn not_found(name: &str) -> Refusal {
    Exception::NameNotFound.because(name)
}

/// Clause 10.2.
pub(super) fn get_federate_handle(federation: &Federation, name: &str) -> Answer {
    federation.federate_named(name).map(Reply::Federate).ok_or_else(|| not_found(name))
}

/// Clause 10.3.
pub(super) fn get_federate_name(federation: &Federation, handle: FederateHandle) -> Answer {
    match federation.joined_federate(handle) {
        Some(federate) => Ok(Reply::Name(federate.name.clone())),
        None if federation.was_joined(handle) => Err(Exception::FederateHandleNotKnown.into()),
        None => Err(Exception::InvalidFederateHandle.into()),
    }
}

/// Clause 10.4.
pub(super) fn get_object_class_handle(federation: &Federation, name: &str) -> Answer {
    let class = federation.model.object_class_named(name);
    class.map(Reply::ObjectClass).ok_or_else(|| not_found(name))
}

/// Clause 10.5.
pub(super) fn get_object_class_name(federation: &Federation, class: ObjectClassHandle) -> Answer {
    let said = federation.model.object_class(class).ok_or(Exception::InvalidObjectClassHandle)?;
    Ok(Reply::Name(said.name.clone()))
}

/// Clause 10.7.
pub(super) fn get_object_instance_handle(
    federation: &Federation,
    me: FederateHandle,
    name: &str,
) -> Answer {
    match federation.names.get(name) {
        Some(NameUse::Registered(handle)) => {
            federation.known(me, *handle)?;
            Ok(Reply::ObjectInstance(*handle))
        }
        _ => Err(Exception::ObjectInstanceNotKnown.because(name)),
    }
}

/// Clause 10.9.
pub(super) fn get_attribute_handle(
    federation: &Federation,
    class: ObjectClassHandle,
    name: &str,
) -> Answer {
    federation.model.object_class(class).ok_or(Exception::InvalidObjectClassHandle)?;
    let attribute = federation.model.attribute_named(class, name);
    attribute.map(Reply::Attribute).ok_or_else(|| not_found(name))
}

/// Clause 10.10.
pub(super) fn get_attribute_name(
    federation: &Federation,
    class: ObjectClassHandle,
    attribute: AttributeHandle,
) -> Answer {
    federation.model.object_class(class).ok_or(Exception::InvalidObjectClassHandle)?;
    let said = federation.model.attribute(attribute).ok_or(Exception::InvalidAttributeHandle)?;
    if !federation.model.has_attribute(class, attribute) {
        return Err(Exception::AttributeNotDefined.into());
    }
    Ok(Reply::Name(said.name.clone()))
}

/// Clause 10.11.
pub(super) fn get_update_rate_value(federation: &Federation, designator: &str) -> Answer {
    let rate = federation.model.update_rates().get(designator);
    let refusal = || Exception::InvalidUpdateRateDesignator.because(designator);
    rate.map(|rate| Reply::Rate(*rate)).ok_or_else(refusal)
}

/// Clause 10.12: the rate at which the federate gets an attribute; 0 if it is not limited.
pub(super) fn get_update_rate_value_for_attribute(
    federation: &Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> Answer {
    // This service lists its exceptions in the other order.
    let (_, class) = federation.known(me, handle)?;
    object::available(federation, class, [attribute])?;
    let subscription = federation.federate(me).subscription(class, attribute);
    let rate = subscription.and_then(|subscription| subscription.rate.as_ref());
    Ok(Reply::Rate(rate.map_or(0.0, |rate| rate.hertz)))
}

/// Clause 10.13.
pub(super) fn get_interaction_class_handle(federation: &Federation, name: &str) -> Answer {
    let class = federation.model.interaction_class_named(name);
    class.map(Reply::InteractionClass).ok_or_else(|| not_found(name))
}

/// Clause 10.14.
pub(super) fn get_interaction_class_name(
    federation: &Federation,
    class: InteractionClassHandle,
) -> Answer {
    let said = federation.model.interaction_class(class);
    Ok(Reply::Name(said.ok_or(Exception::InvalidInteractionClassHandle)?.name.clone()))
}

/// Clause 10.15.
pub(super) fn get_parameter_handle(
    federation: &Federation,
    class: InteractionClassHandle,
    name: &str,
) -> Answer {
    let said = federation.model.interaction_class(class);
    said.ok_or(Exception::InvalidInteractionClassHandle)?;
    let parameter = federation.model.parameter_named(class, name);
    parameter.map(Reply::Parameter).ok_or_else(|| not_found(name))
}

/// Clause 10.16.
pub(super) fn get_parameter_name(
    federation: &Federation,
    class: InteractionClassHandle,
    parameter: ParameterHandle,
) -> Answer {
    let said = federation.model.interaction_class(class);
    said.ok_or(Exception::InvalidInteractionClassHandle)?;
    let said = federation.model.parameter(parameter).ok_or(Exception::InvalidParameterHandle)?;
    if !federation.model.has_parameter(class, parameter) {
        return Err(Exception::InteractionParameterNotDefined.into());
    }
    Ok(Reply::Name(said.name.clone()))
}

/// Clause 10.17.
pub(super) fn get_order_type(name: &str) -> Answer {
    let order = OrderType::from_name(name);
    order.map(Reply::Order).ok_or_else(|| Exception::InvalidOrderName.because(name))
}

/// Clause 10.18.
pub(super) fn get_order_name(order: Option<OrderType>) -> Answer {
    Ok(Reply::Name(order.ok_or(Exception::InvalidOrderType)?.name().to_owned()))
}

/// Clause 10.19.
pub(super) fn get_transportation_type_handle(federation: &Federation, name: &str) -> Answer {
    let kind = federation.model.transportation_named(name);
    let refusal = || Exception::InvalidTransportationName.because(name);
    kind.map(Reply::TransportationType).ok_or_else(refusal)
}

/// Clause 10.20.
pub(super) fn get_transportation_type_name(
    federation: &Federation,
    kind: TransportationTypeHandle,
) -> Answer {
    let said = federation.model.transportation(kind);
    Ok(Reply::Name(said.ok_or(Exception::InvalidTransportationTypeHandle)?.name.clone()))
}

/// Clause 10.21.
pub(super) fn get_available_dimensions_for_object_class(
    federation: &Federation,
    class: ObjectClassHandle,
) -> Answer {
    let said = federation.model.object_class(class).ok_or(Exception::InvalidObjectClassHandle)?;
    Ok(Reply::Dimensions(said.dimensions.clone()))
}

/// Clause 10.22.
pub(super) fn get_available_dimensions_for_interaction_class(
    federation: &Federation,
    class: InteractionClassHandle,
) -> Answer {
    let said = federation.model.interaction_class(class);
    Ok(Reply::Dimensions(said.ok_or(Exception::InvalidInteractionClassHandle)?.dimensions.clone()))
}

/// Clause 10.23.
pub(super) fn get_dimension_handle(federation: &Federation, name: &str) -> Answer {
    let dimension = federation.model.dimension_named(name);
    dimension.map(Reply::Dimension).ok_or_else(|| not_found(name))
}

/// Clause 10.24.
pub(super) fn get_dimension_name(federation: &Federation, dimension: DimensionHandle) -> Answer {
    let said = federation.model.dimension(dimension).ok_or(Exception::InvalidDimensionHandle)?;
    Ok(Reply::Name(said.name.clone()))
}

/// Clause 10.25. Where the object model leaves the bound to the RTI, there is none but that of the number.
pub(super) fn get_dimension_upper_bound(
    federation: &Federation,
    dimension: DimensionHandle,
) -> Answer {
    let said = federation.model.dimension(dimension).ok_or(Exception::InvalidDimensionHandle)?;
    Ok(Reply::Number(said.upper_bound.unwrap_or(u32::MAX)))
}
