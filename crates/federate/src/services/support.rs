//! Clause 10, support services: names, normalization, switches. Names of classes, attributes and parameters are looked
//! up in `names`.

use hemiola_hla::call::SupportCall;
use hemiola_hla::data::RangeBounds;
use hemiola_hla::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, OrderType, RegionHandle, ResignAction, ServiceGroup,
    TransportationTypeHandle,
};

use super::services;

services! {
    "10.2" get_federate_handle(federate_name: &str) -> FederateHandle
        = SupportCall::GetFederateHandle { federate_name: federate_name.to_owned() };
    "10.3" get_federate_name(federate: FederateHandle) -> String = SupportCall::GetFederateName { federate };
    "10.6" get_known_object_class_handle(object_instance: ObjectInstanceHandle) -> ObjectClassHandle
        = SupportCall::GetKnownObjectClassHandle { object_instance };
    "10.7" get_object_instance_handle(object_instance_name: &str) -> ObjectInstanceHandle
        = SupportCall::GetObjectInstanceHandle { object_instance_name: object_instance_name.to_owned() };
    "10.8" get_object_instance_name(object_instance: ObjectInstanceHandle) -> String
        = SupportCall::GetObjectInstanceName { object_instance };
    "10.11" get_update_rate_value(update_rate_designator: &str) -> f64
        = SupportCall::GetUpdateRateValue { update_rate_designator: update_rate_designator.to_owned() };
    "10.12" get_update_rate_value_for_attribute(
        object_instance: ObjectInstanceHandle, attribute: AttributeHandle,
    ) -> f64 = SupportCall::GetUpdateRateValueForAttribute { object_instance, attribute };
    "10.17" get_order_type(order_type_name: &str) -> OrderType
        = SupportCall::GetOrderType { order_type_name: order_type_name.to_owned() };
    "10.18" get_order_name(order_type: OrderType) -> String
        = SupportCall::GetOrderName { order_type: Some(order_type) };
    "10.20" get_transportation_type_name(transportation_type: TransportationTypeHandle) -> String
        = SupportCall::GetTransportationTypeName { transportation_type };
    "10.21" get_available_dimensions_for_object_class(object_class: ObjectClassHandle) -> Vec<DimensionHandle>
        = SupportCall::GetAvailableDimensionsForObjectClass { object_class };
    "10.22" get_available_dimensions_for_interaction_class(
        interaction_class: InteractionClassHandle,
    ) -> Vec<DimensionHandle> = SupportCall::GetAvailableDimensionsForInteractionClass { interaction_class };
    "10.24" get_dimension_name(dimension: DimensionHandle) -> String
        = SupportCall::GetDimensionName { dimension };
    "10.25" get_dimension_upper_bound(dimension: DimensionHandle) -> u32
        = SupportCall::GetDimensionUpperBound { dimension };
    "10.26" get_dimension_handle_set(region: RegionHandle) -> Vec<DimensionHandle>
        = SupportCall::GetDimensionHandleSet { region };
    "10.27" get_range_bounds(region: RegionHandle, dimension: DimensionHandle) -> RangeBounds
        = SupportCall::GetRangeBounds { region, dimension };
    "10.28" set_range_bounds(region: RegionHandle, dimension: DimensionHandle, range_bounds: RangeBounds)
        = SupportCall::SetRangeBounds { region, dimension, range_bounds };
    "10.29" normalize_service_group(service_group: ServiceGroup) -> u32
        = SupportCall::NormalizeServiceGroup { service_group: Some(service_group) };
    "10.30" normalize_federate_handle(federate: FederateHandle) -> u32
        = SupportCall::NormalizeFederateHandle { federate };
    "10.31" normalize_object_class_handle(object_class: ObjectClassHandle) -> u32
        = SupportCall::NormalizeObjectClassHandle { object_class };
    "10.32" normalize_interaction_class_handle(interaction_class: InteractionClassHandle) -> u32
        = SupportCall::NormalizeInteractionClassHandle { interaction_class };
    "10.33" normalize_object_instance_handle(object_instance: ObjectInstanceHandle) -> u32
        = SupportCall::NormalizeObjectInstanceHandle { object_instance };
    "10.34" get_object_class_relevance_advisory_switch() -> bool = SupportCall::GetObjectClassRelevanceAdvisorySwitch;
    "10.35" set_object_class_relevance_advisory_switch(value: bool)
        = SupportCall::SetObjectClassRelevanceAdvisorySwitch { value };
    "10.36" get_attribute_relevance_advisory_switch() -> bool = SupportCall::GetAttributeRelevanceAdvisorySwitch;
    "10.37" set_attribute_relevance_advisory_switch(value: bool)
        = SupportCall::SetAttributeRelevanceAdvisorySwitch { value };
    "10.38" get_attribute_scope_advisory_switch() -> bool = SupportCall::GetAttributeScopeAdvisorySwitch;
    "10.39" set_attribute_scope_advisory_switch(value: bool)
        = SupportCall::SetAttributeScopeAdvisorySwitch { value };
    "10.40" get_interaction_relevance_advisory_switch() -> bool = SupportCall::GetInteractionRelevanceAdvisorySwitch;
    "10.41" set_interaction_relevance_advisory_switch(value: bool)
        = SupportCall::SetInteractionRelevanceAdvisorySwitch { value };
    "10.42" get_convey_region_designator_sets_switch() -> bool = SupportCall::GetConveyRegionDesignatorSetsSwitch;
    "10.43" set_convey_region_designator_sets_switch(value: bool)
        = SupportCall::SetConveyRegionDesignatorSetsSwitch { value };
    "10.44" get_automatic_resign_directive() -> ResignAction = SupportCall::GetAutomaticResignDirective;
    "10.45" set_automatic_resign_directive(value: ResignAction)
        = SupportCall::SetAutomaticResignDirective { value: Some(value) };
    "10.46" get_service_reporting_switch() -> bool = SupportCall::GetServiceReportingSwitch;
    "10.47" set_service_reporting_switch(value: bool)
        = SupportCall::SetServiceReportingSwitch { value };
    "10.48" get_exception_reporting_switch() -> bool = SupportCall::GetExceptionReportingSwitch;
    "10.49" set_exception_reporting_switch(value: bool)
        = SupportCall::SetExceptionReportingSwitch { value };
    "10.50" get_send_service_reports_to_file_switch() -> bool = SupportCall::GetSendServiceReportsToFileSwitch;
    "10.51" set_send_service_reports_to_file_switch(value: bool)
        = SupportCall::SetSendServiceReportsToFileSwitch { value };
    "10.52" get_auto_provide_switch() -> bool = SupportCall::GetAutoProvideSwitch;
    "10.53" get_delay_subscription_evaluation_switch() -> bool = SupportCall::GetDelaySubscriptionEvaluationSwitch;
    "10.54" get_advisories_use_known_class_switch() -> bool = SupportCall::GetAdvisoriesUseKnownClassSwitch;
    "10.55" get_allow_relaxed_ddm_switch() -> bool = SupportCall::GetAllowRelaxedDDMSwitch;
    "10.56" get_non_regulated_grant_switch() -> bool = SupportCall::GetNonRegulatedGrantSwitch;
}
