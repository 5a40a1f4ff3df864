//! Clause 10, support services: names, normalization, switches.

use hemiola_hla::call::SupportCall;
use hemiola_hla::data::RangeBounds;
use hemiola_hla::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, OrderType, ParameterHandle, RegionHandle, ResignAction, ServiceGroup,
    TransportationTypeHandle,
};

use super::services;

services! {
    /// Names and handles of the object model. The RTI is asked once for each while the federate is joined.
    SupportCall, recall:
    "10.4" GetObjectClassHandle: get_object_class_handle(object_class_name: &str) -> ObjectClassHandle;
    "10.5" GetObjectClassName: get_object_class_name(object_class: ObjectClassHandle) -> String;
    "10.9" GetAttributeHandle: get_attribute_handle(
        object_class: ObjectClassHandle, attribute_name: &str,
    ) -> AttributeHandle;
    "10.10" GetAttributeName: get_attribute_name(
        object_class: ObjectClassHandle, attribute: AttributeHandle,
    ) -> String;
    "10.13" GetInteractionClassHandle: get_interaction_class_handle(
        interaction_class_name: &str,
    ) -> InteractionClassHandle;
    "10.14" GetInteractionClassName: get_interaction_class_name(interaction_class: InteractionClassHandle) -> String;
    "10.15" GetParameterHandle: get_parameter_handle(
        interaction_class: InteractionClassHandle, parameter_name: &str,
    ) -> ParameterHandle;
    "10.16" GetParameterName: get_parameter_name(
        interaction_class: InteractionClassHandle, parameter: ParameterHandle,
    ) -> String;
    "10.19" GetTransportationTypeHandle: get_transportation_type_handle(
        transportation_type_name: &str,
    ) -> TransportationTypeHandle;
    "10.23" GetDimensionHandle: get_dimension_handle(dimension_name: &str) -> DimensionHandle;
}

services! {
    SupportCall, send:
    "10.2" GetFederateHandle: get_federate_handle(federate_name: &str) -> FederateHandle;
    "10.3" GetFederateName: get_federate_name(federate: FederateHandle) -> String;
    "10.6" GetKnownObjectClassHandle: get_known_object_class_handle(
        object_instance: ObjectInstanceHandle,
    ) -> ObjectClassHandle;
    "10.7" GetObjectInstanceHandle: get_object_instance_handle(object_instance_name: &str) -> ObjectInstanceHandle;
    "10.8" GetObjectInstanceName: get_object_instance_name(object_instance: ObjectInstanceHandle) -> String;
    "10.11" GetUpdateRateValue: get_update_rate_value(update_rate_designator: &str) -> f64;
    "10.12" GetUpdateRateValueForAttribute: get_update_rate_value_for_attribute(
        object_instance: ObjectInstanceHandle, attribute: AttributeHandle,
    ) -> f64;
    "10.17" GetOrderType: get_order_type(order_type_name: &str) -> OrderType;
    "10.18" GetOrderName: get_order_name(order_type: OrderType) -> String;
    "10.20" GetTransportationTypeName: get_transportation_type_name(
        transportation_type: TransportationTypeHandle,
    ) -> String;
    "10.21" GetAvailableDimensionsForObjectClass: get_available_dimensions_for_object_class(
        object_class: ObjectClassHandle,
    ) -> Vec<DimensionHandle>;
    "10.22" GetAvailableDimensionsForInteractionClass: get_available_dimensions_for_interaction_class(
        interaction_class: InteractionClassHandle,
    ) -> Vec<DimensionHandle>;
    "10.24" GetDimensionName: get_dimension_name(dimension: DimensionHandle) -> String;
    "10.25" GetDimensionUpperBound: get_dimension_upper_bound(dimension: DimensionHandle) -> u32;
    "10.26" GetDimensionHandleSet: get_dimension_handle_set(region: RegionHandle) -> Vec<DimensionHandle>;
    "10.27" GetRangeBounds: get_range_bounds(region: RegionHandle, dimension: DimensionHandle) -> RangeBounds;
    "10.28" SetRangeBounds: set_range_bounds(
        region: RegionHandle, dimension: DimensionHandle, range_bounds: RangeBounds,
    );
    "10.29" NormalizeServiceGroup: normalize_service_group(service_group: ServiceGroup) -> u32;
    "10.30" NormalizeFederateHandle: normalize_federate_handle(federate: FederateHandle) -> u32;
    "10.31" NormalizeObjectClassHandle: normalize_object_class_handle(object_class: ObjectClassHandle) -> u32;
    "10.32" NormalizeInteractionClassHandle: normalize_interaction_class_handle(
        interaction_class: InteractionClassHandle,
    ) -> u32;
    "10.33" NormalizeObjectInstanceHandle: normalize_object_instance_handle(
        object_instance: ObjectInstanceHandle,
    ) -> u32;
    "10.34" GetObjectClassRelevanceAdvisorySwitch: get_object_class_relevance_advisory_switch() -> bool;
    "10.35" SetObjectClassRelevanceAdvisorySwitch: set_object_class_relevance_advisory_switch(value: bool);
    "10.36" GetAttributeRelevanceAdvisorySwitch: get_attribute_relevance_advisory_switch() -> bool;
    "10.37" SetAttributeRelevanceAdvisorySwitch: set_attribute_relevance_advisory_switch(value: bool);
    "10.38" GetAttributeScopeAdvisorySwitch: get_attribute_scope_advisory_switch() -> bool;
    "10.39" SetAttributeScopeAdvisorySwitch: set_attribute_scope_advisory_switch(value: bool);
    "10.40" GetInteractionRelevanceAdvisorySwitch: get_interaction_relevance_advisory_switch() -> bool;
    "10.41" SetInteractionRelevanceAdvisorySwitch: set_interaction_relevance_advisory_switch(value: bool);
    "10.42" GetConveyRegionDesignatorSetsSwitch: get_convey_region_designator_sets_switch() -> bool;
    "10.43" SetConveyRegionDesignatorSetsSwitch: set_convey_region_designator_sets_switch(value: bool);
    "10.44" GetAutomaticResignDirective: get_automatic_resign_directive() -> ResignAction;
    "10.45" SetAutomaticResignDirective: set_automatic_resign_directive(value: ResignAction);
    "10.46" GetServiceReportingSwitch: get_service_reporting_switch() -> bool;
    "10.47" SetServiceReportingSwitch: set_service_reporting_switch(value: bool);
    "10.48" GetExceptionReportingSwitch: get_exception_reporting_switch() -> bool;
    "10.49" SetExceptionReportingSwitch: set_exception_reporting_switch(value: bool);
    "10.50" GetSendServiceReportsToFileSwitch: get_send_service_reports_to_file_switch() -> bool;
    "10.51" SetSendServiceReportsToFileSwitch: set_send_service_reports_to_file_switch(value: bool);
    "10.52" GetAutoProvideSwitch: get_auto_provide_switch() -> bool;
    "10.53" GetDelaySubscriptionEvaluationSwitch: get_delay_subscription_evaluation_switch() -> bool;
    "10.54" GetAdvisoriesUseKnownClassSwitch: get_advisories_use_known_class_switch() -> bool;
    "10.55" GetAllowRelaxedDDMSwitch: get_allow_relaxed_ddm_switch() -> bool;
    "10.56" GetNonRegulatedGrantSwitch: get_non_regulated_grant_switch() -> bool;
}
