//! Clause 10, support services.

mod name;
mod normalization;
mod switch;

use hemiola_hla::call::SupportCall;
use hemiola_hla::{FederateHandle, Reply, Switch};

use super::{Answer, distribution};
use crate::federation::Federation;

/// Dispatches a call of this clause.
pub(crate) fn call(federation: &mut Federation, me: FederateHandle, call: SupportCall) -> Answer {
    use SupportCall as C;
    let model = &federation.model;
    match call {
        C::GetFederateHandle { federate_name } => {
            name::get_federate_handle(federation, &federate_name)
        }
        C::GetFederateName { federate } => name::get_federate_name(federation, federate),
        C::GetObjectClassHandle { object_class_name } => {
            name::get_object_class_handle(model, &object_class_name)
        }
        C::GetObjectClassName { object_class } => name::get_object_class_name(model, object_class),
        C::GetKnownObjectClassHandle { object_instance } => {
            let (_, class) = federation.known(me, object_instance)?;
            Ok(Reply::ObjectClass(class))
        }
        C::GetObjectInstanceHandle { object_instance_name } => {
            name::get_object_instance_handle(federation, me, &object_instance_name)
        }
        C::GetObjectInstanceName { object_instance } => {
            let (instance, _) = federation.known(me, object_instance)?;
            Ok(Reply::Name(instance.name.clone()))
        }
        C::GetAttributeHandle { object_class, attribute_name } => {
            name::get_attribute_handle(model, object_class, &attribute_name)
        }
        C::GetAttributeName { object_class, attribute } => {
            name::get_attribute_name(model, object_class, attribute)
        }
        C::GetUpdateRateValue { update_rate_designator } => {
            name::get_update_rate_value(model, &update_rate_designator)
        }
        C::GetUpdateRateValueForAttribute { object_instance, attribute } => {
            name::get_update_rate_value_for_attribute(federation, me, object_instance, attribute)
        }
        C::GetInteractionClassHandle { interaction_class_name } => {
            name::get_interaction_class_handle(model, &interaction_class_name)
        }
        C::GetInteractionClassName { interaction_class } => {
            name::get_interaction_class_name(model, interaction_class)
        }
        C::GetParameterHandle { interaction_class, parameter_name } => {
            name::get_parameter_handle(model, interaction_class, &parameter_name)
        }
        C::GetParameterName { interaction_class, parameter } => {
            name::get_parameter_name(model, interaction_class, parameter)
        }
        C::GetOrderType { order_type_name } => name::get_order_type(&order_type_name),
        C::GetOrderName { order_type } => name::get_order_name(order_type),
        C::GetTransportationTypeHandle { transportation_type_name } => {
            name::get_transportation_type_handle(model, &transportation_type_name)
        }
        C::GetTransportationTypeName { transportation_type } => {
            name::get_transportation_type_name(model, transportation_type)
        }
        C::GetAvailableDimensionsForObjectClass { object_class } => {
            name::get_available_dimensions_for_object_class(model, object_class)
        }
        C::GetAvailableDimensionsForInteractionClass { interaction_class } => {
            name::get_available_dimensions_for_interaction_class(model, interaction_class)
        }
        C::GetDimensionHandle { dimension_name } => {
            name::get_dimension_handle(model, &dimension_name)
        }
        C::GetDimensionName { dimension } => name::get_dimension_name(model, dimension),
        C::GetDimensionUpperBound { dimension } => {
            name::get_dimension_upper_bound(model, dimension)
        }
        C::GetDimensionHandleSet { region } => {
            distribution::get_dimension_handle_set(federation, region)
        }
        C::GetRangeBounds { region, dimension } => {
            distribution::get_range_bounds(federation, me, region, dimension)
        }
        C::SetRangeBounds { region, dimension, range_bounds: range } => {
            distribution::set_range_bounds(federation, me, region, dimension, range)
        }
        C::NormalizeServiceGroup { service_group } => {
            normalization::normalize_service_group(service_group)
        }
        C::NormalizeFederateHandle { federate } => {
            normalization::normalize_federate_handle(federation, federate)
        }
        C::NormalizeObjectClassHandle { object_class } => {
            normalization::normalize_object_class_handle(federation, object_class)
        }
        C::NormalizeInteractionClassHandle { interaction_class } => {
            normalization::normalize_interaction_class_handle(federation, interaction_class)
        }
        C::NormalizeObjectInstanceHandle { object_instance } => {
            normalization::normalize_object_instance_handle(federation, object_instance)
        }
        C::GetObjectClassRelevanceAdvisorySwitch => {
            switch::get(federation, me, Switch::ObjectClassRelevanceAdvisory)
        }
        C::SetObjectClassRelevanceAdvisorySwitch { value } => {
            switch::set(federation, me, Switch::ObjectClassRelevanceAdvisory, value)
        }
        C::GetAttributeRelevanceAdvisorySwitch => {
            switch::get(federation, me, Switch::AttributeRelevanceAdvisory)
        }
        C::SetAttributeRelevanceAdvisorySwitch { value } => {
            switch::set(federation, me, Switch::AttributeRelevanceAdvisory, value)
        }
        C::GetAttributeScopeAdvisorySwitch => {
            switch::get(federation, me, Switch::AttributeScopeAdvisory)
        }
        C::SetAttributeScopeAdvisorySwitch { value } => {
            switch::set(federation, me, Switch::AttributeScopeAdvisory, value)
        }
        C::GetInteractionRelevanceAdvisorySwitch => {
            switch::get(federation, me, Switch::InteractionRelevanceAdvisory)
        }
        C::SetInteractionRelevanceAdvisorySwitch { value } => {
            switch::set(federation, me, Switch::InteractionRelevanceAdvisory, value)
        }
        C::GetConveyRegionDesignatorSetsSwitch => {
            switch::get(federation, me, Switch::ConveyRegionDesignatorSets)
        }
        C::SetConveyRegionDesignatorSetsSwitch { value } => {
            switch::set(federation, me, Switch::ConveyRegionDesignatorSets, value)
        }
        C::GetAutomaticResignDirective => {
            Ok(Reply::Directive(federation.federate(me).resign_action))
        }
        C::SetAutomaticResignDirective { value } => {
            switch::set_automatic_resign_directive(federation, me, value)
        }
        C::GetServiceReportingSwitch => switch::get(federation, me, Switch::ServiceReporting),
        C::SetServiceReportingSwitch { value } => {
            switch::set_service_reporting_switch(federation, me, value)
        }
        C::GetExceptionReportingSwitch => switch::get(federation, me, Switch::ExceptionReporting),
        C::SetExceptionReportingSwitch { value } => {
            switch::set(federation, me, Switch::ExceptionReporting, value)
        }
        C::GetSendServiceReportsToFileSwitch => {
            switch::get(federation, me, Switch::SendServiceReportsToFile)
        }
        C::SetSendServiceReportsToFileSwitch { value } => {
            switch::set(federation, me, Switch::SendServiceReportsToFile, value)
        }
        C::GetAutoProvideSwitch => switch::get(federation, me, Switch::AutoProvide),
        C::GetDelaySubscriptionEvaluationSwitch => {
            switch::get(federation, me, Switch::DelaySubscriptionEvaluation)
        }
        C::GetAdvisoriesUseKnownClassSwitch => {
            switch::get(federation, me, Switch::AdvisoriesUseKnownClass)
        }
        C::GetAllowRelaxedDDMSwitch => switch::get(federation, me, Switch::AllowRelaxedDDM),
        C::GetNonRegulatedGrantSwitch => Ok(Reply::Flag(!federation.waits_for_regulation)),
    }
}
