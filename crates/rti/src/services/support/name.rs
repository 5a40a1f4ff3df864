//! Handles and names (clauses 10.2 to 10.25).

use hemiola_fom::Model;
use hemiola_fom::model::{InteractionClass, ObjectClass};
use hemiola_hla::{
    AttributeHandle, DimensionHandle, Exception, FederateHandle, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, OrderType, ParameterHandle, Refusal, Reply,
    TransportationTypeHandle,
};

use super::Answer;
use crate::federation::{Federation, NameUse};
use crate::services::{distribution, object};

fn not_found(name: &str) -> Refusal {
    Exception::NameNotFound.because(name)
}

fn object_class(model: &Model, class: ObjectClassHandle) -> Result<&ObjectClass, Exception> {
    model.object_class(class).ok_or(Exception::InvalidObjectClassHandle)
}

fn interaction_class(
    model: &Model,
    class: InteractionClassHandle,
) -> Result<&InteractionClass, Exception> {
    model.interaction_class(class).ok_or(Exception::InvalidInteractionClassHandle)
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
pub(super) fn get_object_class_handle(model: &Model, name: &str) -> Answer {
    let class = model.object_class_named(name);
    class.map(Reply::ObjectClass).ok_or_else(|| not_found(name))
}

/// Clause 10.5.
pub(super) fn get_object_class_name(model: &Model, class: ObjectClassHandle) -> Answer {
    Ok(Reply::Name(object_class(model, class)?.name.clone()))
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
pub(super) fn get_attribute_handle(model: &Model, class: ObjectClassHandle, name: &str) -> Answer {
    object_class(model, class)?;
    let attribute = model.attribute_named(class, name);
    attribute.map(Reply::Attribute).ok_or_else(|| not_found(name))
}

/// Clause 10.10.
pub(super) fn get_attribute_name(
    model: &Model,
    class: ObjectClassHandle,
    attribute: AttributeHandle,
) -> Answer {
    object_class(model, class)?;
    let definition = model.attribute(attribute).ok_or(Exception::InvalidAttributeHandle)?;
    if !model.has_attribute(class, attribute) {
        return Err(Exception::AttributeNotDefined.into());
    }
    Ok(Reply::Name(definition.name.clone()))
}

/// Clause 10.11.
pub(super) fn get_update_rate_value(model: &Model, designator: &str) -> Answer {
    let rate = model.update_rates().get(designator);
    let refusal = || Exception::InvalidUpdateRateDesignator.because(designator);
    rate.map(|rate| Reply::Rate(*rate)).ok_or_else(refusal)
}

/// Clause 10.12. Returns the federate's rate for an attribute, the greatest of its subscriptions that receive it; 0 if
/// it is unlimited.
pub(super) fn get_update_rate_value_for_attribute(
    federation: &Federation,
    me: FederateHandle,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> Answer {
    // This service lists its exceptions in reverse order.
    let (instance, class) = federation.known(me, handle)?;
    object::available(federation, class, [attribute])?;
    let mut rate: Option<f64> = None;
    let extent = federation.regions.extent_of(handle, attribute, instance.owner(attribute));
    let subscriptions = (class, attribute);
    let is_unlimited =
        distribution::any_subscription(federation, me, subscriptions, &extent, |one| {
            let hertz = one.rate.as_ref().map(|one| one.hertz);
            rate = [rate, hertz].into_iter().flatten().reduce(f64::max);
            hertz.is_none()
        });
    Ok(Reply::Rate(rate.filter(|_| !is_unlimited).unwrap_or(0.0)))
}

/// Clause 10.13.
pub(super) fn get_interaction_class_handle(model: &Model, name: &str) -> Answer {
    let class = model.interaction_class_named(name);
    class.map(Reply::InteractionClass).ok_or_else(|| not_found(name))
}

/// Clause 10.14.
pub(super) fn get_interaction_class_name(model: &Model, class: InteractionClassHandle) -> Answer {
    Ok(Reply::Name(interaction_class(model, class)?.name.clone()))
}

/// Clause 10.15.
pub(super) fn get_parameter_handle(
    model: &Model,
    class: InteractionClassHandle,
    name: &str,
) -> Answer {
    interaction_class(model, class)?;
    let parameter = model.parameter_named(class, name);
    parameter.map(Reply::Parameter).ok_or_else(|| not_found(name))
}

/// Clause 10.16.
pub(super) fn get_parameter_name(
    model: &Model,
    class: InteractionClassHandle,
    parameter: ParameterHandle,
) -> Answer {
    interaction_class(model, class)?;
    let definition = model.parameter(parameter).ok_or(Exception::InvalidParameterHandle)?;
    if !model.has_parameter(class, parameter) {
        return Err(Exception::InteractionParameterNotDefined.into());
    }
    Ok(Reply::Name(definition.name.clone()))
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
pub(super) fn get_transportation_type_handle(model: &Model, name: &str) -> Answer {
    let kind = model.transportation_named(name);
    let refusal = || Exception::InvalidTransportationName.because(name);
    kind.map(Reply::TransportationType).ok_or_else(refusal)
}

/// Clause 10.20.
pub(super) fn get_transportation_type_name(
    model: &Model,
    kind: TransportationTypeHandle,
) -> Answer {
    let definition = model.transportation(kind);
    Ok(Reply::Name(definition.ok_or(Exception::InvalidTransportationTypeHandle)?.name.clone()))
}

/// Clause 10.21.
pub(super) fn get_available_dimensions_for_object_class(
    model: &Model,
    class: ObjectClassHandle,
) -> Answer {
    Ok(Reply::Dimensions(object_class(model, class)?.dimensions.clone()))
}

/// Clause 10.22.
pub(super) fn get_available_dimensions_for_interaction_class(
    model: &Model,
    class: InteractionClassHandle,
) -> Answer {
    Ok(Reply::Dimensions(interaction_class(model, class)?.dimensions.clone()))
}

/// Clause 10.23.
pub(super) fn get_dimension_handle(model: &Model, name: &str) -> Answer {
    let dimension = model.dimension_named(name);
    dimension.map(Reply::Dimension).ok_or_else(|| not_found(name))
}

/// Clause 10.24.
pub(super) fn get_dimension_name(model: &Model, dimension: DimensionHandle) -> Answer {
    let definition = model.dimension(dimension).ok_or(Exception::InvalidDimensionHandle)?;
    Ok(Reply::Name(definition.name.clone()))
}

/// Clause 10.25. If the object model leaves the bound to the RTI, only the number's type limits it.
pub(super) fn get_dimension_upper_bound(model: &Model, dimension: DimensionHandle) -> Answer {
    let definition = model.dimension(dimension).ok_or(Exception::InvalidDimensionHandle)?;
    Ok(Reply::Number(definition.upper_bound.unwrap_or(u32::MAX)))
}
