//! Calls of clause 10, support services.

use super::calls;
use crate::data::RangeBounds;
use crate::group::ServiceGroup;
use crate::handle::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, RegionHandle, TransportationTypeHandle,
};
use crate::order::OrderType;
use crate::resign::ResignAction;

calls! {
    /// A call of clause 10, support services: handles and names, normalization, switches.
    SupportCall, support_calls

    124 "10.2" GetFederateHandle "getFederateHandle" { federate_name: String }
        => Federate [NameNotFound ..Joined];
    125 "10.3" GetFederateName "getFederateName" { federate: FederateHandle }
        => Name [InvalidFederateHandle FederateHandleNotKnown ..Joined];
    126 "10.4" GetObjectClassHandle "getObjectClassHandle" { object_class_name: String }
        => ObjectClass [NameNotFound ..Joined];
    127 "10.5" GetObjectClassName "getObjectClassName" { object_class: ObjectClassHandle }
        => Name [InvalidObjectClassHandle ..Joined];
    128 "10.6" GetKnownObjectClassHandle "getKnownObjectClassHandle" { object_instance: ObjectInstanceHandle }
        => ObjectClass [ObjectInstanceNotKnown ..Joined];
    129 "10.7" GetObjectInstanceHandle "getObjectInstanceHandle" { object_instance_name: String }
        => ObjectInstance [ObjectInstanceNotKnown ..Joined];
    130 "10.8" GetObjectInstanceName "getObjectInstanceName" { object_instance: ObjectInstanceHandle }
        => Name [ObjectInstanceNotKnown ..Joined];
    131 "10.9" GetAttributeHandle "getAttributeHandle" {
        object_class: ObjectClassHandle, attribute_name: String,
    } => Attribute [NameNotFound InvalidObjectClassHandle ..Joined];
    132 "10.10" GetAttributeName "getAttributeName" {
        object_class: ObjectClassHandle, attribute: AttributeHandle,
    } => Name [AttributeNotDefined InvalidAttributeHandle InvalidObjectClassHandle ..Joined];
    133 "10.11" GetUpdateRateValue "getUpdateRateValue" { update_rate_designator: String }
        => Rate [InvalidUpdateRateDesignator ..Joined];
    134 "10.12" GetUpdateRateValueForAttribute "getUpdateRateValueForAttribute" {
        object_instance: ObjectInstanceHandle, attribute: AttributeHandle,
    } => Rate [ObjectInstanceNotKnown AttributeNotDefined ..Joined];
    135 "10.13" GetInteractionClassHandle "getInteractionClassHandle" { interaction_class_name: String }
        => InteractionClass [NameNotFound ..Joined];
    136 "10.14" GetInteractionClassName "getInteractionClassName" {
        interaction_class: InteractionClassHandle,
    } => Name [InvalidInteractionClassHandle ..Joined];
    137 "10.15" GetParameterHandle "getParameterHandle" {
        interaction_class: InteractionClassHandle, parameter_name: String,
    } => Parameter [NameNotFound InvalidInteractionClassHandle ..Joined];
    138 "10.16" GetParameterName "getParameterName" {
        interaction_class: InteractionClassHandle, parameter: ParameterHandle,
    } => Name [InteractionParameterNotDefined InvalidParameterHandle InvalidInteractionClassHandle ..Joined];
    139 "10.17" GetOrderType "getOrderType" { order_type_name: String } => Order [InvalidOrderName ..Joined];
    140 "10.18" GetOrderName "getOrderName" { order_type: Option<OrderType> }
        => Name [InvalidOrderType ..Joined];
    141 "10.19" GetTransportationTypeHandle "getTransportationTypeHandle" { transportation_type_name: String }
        => TransportationType [InvalidTransportationName ..Joined];
    142 "10.20" GetTransportationTypeName "getTransportationTypeName" {
        transportation_type: TransportationTypeHandle,
    } => Name [InvalidTransportationTypeHandle ..Joined];
    143 "10.21" GetAvailableDimensionsForObjectClass "getAvailableDimensionsForObjectClass" {
        object_class: ObjectClassHandle,
    } => Dimensions [InvalidObjectClassHandle ..Joined];
    144 "10.22" GetAvailableDimensionsForInteractionClass "getAvailableDimensionsForInteractionClass" {
        interaction_class: InteractionClassHandle,
    } => Dimensions [InvalidInteractionClassHandle ..Joined];
    145 "10.23" GetDimensionHandle "getDimensionHandle" { dimension_name: String }
        => Dimension [NameNotFound ..Joined];
    146 "10.24" GetDimensionName "getDimensionName" { dimension: DimensionHandle }
        => Name [InvalidDimensionHandle ..Joined];
    147 "10.25" GetDimensionUpperBound "getDimensionUpperBound" { dimension: DimensionHandle }
        => Number [InvalidDimensionHandle ..Joined];
    148 "10.26" GetDimensionHandleSet "getDimensionHandleSet" { region: RegionHandle }
        => Dimensions [InvalidRegion ..Active];
    149 "10.27" GetRangeBounds "getRangeBounds" { region: RegionHandle, dimension: DimensionHandle }
        => Range [RegionDoesNotContainSpecifiedDimension InvalidRegion ..Active];
    150 "10.28" SetRangeBounds "setRangeBounds" {
        region: RegionHandle, dimension: DimensionHandle, range_bounds: RangeBounds,
    } => Done [
        InvalidRangeBound RegionDoesNotContainSpecifiedDimension RegionNotCreatedByThisFederate InvalidRegion
        ..Active
    ];
    151 "10.29" NormalizeServiceGroup "normalizeServiceGroup" { service_group: Option<ServiceGroup> }
        => Number [InvalidServiceGroup ..Joined];
    152 "10.30" NormalizeFederateHandle "normalizeFederateHandle" { federate: FederateHandle }
        => Number [InvalidFederateHandle ..Joined];
    153 "10.31" NormalizeObjectClassHandle "normalizeObjectClassHandle" { object_class: ObjectClassHandle }
        => Number [InvalidObjectClassHandle ..Joined];
    154 "10.32" NormalizeInteractionClassHandle "normalizeInteractionClassHandle" {
        interaction_class: InteractionClassHandle,
    } => Number [InvalidInteractionClassHandle ..Joined];
    155 "10.33" NormalizeObjectInstanceHandle "normalizeObjectInstanceHandle" {
        object_instance: ObjectInstanceHandle,
    } => Number [InvalidObjectInstanceHandle ..Joined];
    156 "10.34" GetObjectClassRelevanceAdvisorySwitch "getObjectClassRelevanceAdvisorySwitch"
        => Flag [..Active];
    157 "10.35" SetObjectClassRelevanceAdvisorySwitch "setObjectClassRelevanceAdvisorySwitch" { value: bool }
        => Done [..Active];
    158 "10.36" GetAttributeRelevanceAdvisorySwitch "getAttributeRelevanceAdvisorySwitch" => Flag [..Active];
    159 "10.37" SetAttributeRelevanceAdvisorySwitch "setAttributeRelevanceAdvisorySwitch" { value: bool }
        => Done [..Active];
    160 "10.38" GetAttributeScopeAdvisorySwitch "getAttributeScopeAdvisorySwitch" => Flag [..Active];
    161 "10.39" SetAttributeScopeAdvisorySwitch "setAttributeScopeAdvisorySwitch" { value: bool }
        => Done [..Active];
    162 "10.40" GetInteractionRelevanceAdvisorySwitch "getInteractionRelevanceAdvisorySwitch"
        => Flag [..Active];
    163 "10.41" SetInteractionRelevanceAdvisorySwitch "setInteractionRelevanceAdvisorySwitch" { value: bool }
        => Done [..Active];
    164 "10.42" GetConveyRegionDesignatorSetsSwitch "getConveyRegionDesignatorSetsSwitch" => Flag [..Active];
    165 "10.43" SetConveyRegionDesignatorSetsSwitch "setConveyRegionDesignatorSetsSwitch" { value: bool }
        => Done [..Active];
    166 "10.44" GetAutomaticResignDirective "getAutomaticResignDirective" => Directive [..Active];
    167 "10.45" SetAutomaticResignDirective "setAutomaticResignDirective" { value: Option<ResignAction> }
        => Done [SaveInProgress RestoreInProgress InvalidResignAction ..Joined];
    168 "10.46" GetServiceReportingSwitch "getServiceReportingSwitch" => Flag [..Active];
    169 "10.47" SetServiceReportingSwitch "setServiceReportingSwitch" { value: bool }
        => Done [ReportServiceInvocationsAreSubscribed ..Active];
    170 "10.48" GetExceptionReportingSwitch "getExceptionReportingSwitch" => Flag [..Active];
    171 "10.49" SetExceptionReportingSwitch "setExceptionReportingSwitch" { value: bool } => Done [..Active];
    172 "10.50" GetSendServiceReportsToFileSwitch "getSendServiceReportsToFileSwitch" => Flag [..Active];
    173 "10.51" SetSendServiceReportsToFileSwitch "setSendServiceReportsToFileSwitch" { value: bool }
        => Done [..Active];
    174 "10.52" GetAutoProvideSwitch "getAutoProvideSwitch" => Flag [..Active];
    175 "10.53" GetDelaySubscriptionEvaluationSwitch "getDelaySubscriptionEvaluationSwitch"
        => Flag [..Active];
    176 "10.54" GetAdvisoriesUseKnownClassSwitch "getAdvisoriesUseKnownClassSwitch" => Flag [..Active];
    177 "10.55" GetAllowRelaxedDDMSwitch "getAllowRelaxedDDMSwitch" => Flag [..Active];
    178 "10.56" GetNonRegulatedGrantSwitch "getNonRegulatedGrantSwitch" => Flag [..Active];
}
