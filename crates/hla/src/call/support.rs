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
        => Federate [
        NameNotFound FederateNotExecutionMember NotConnected RTIinternalError
        ];
    125 "10.3" GetFederateName "getFederateName" { federate: FederateHandle }
        => Name [
        InvalidFederateHandle FederateHandleNotKnown FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    126 "10.4" GetObjectClassHandle "getObjectClassHandle" { object_class_name: String }
        => ObjectClass [
        NameNotFound FederateNotExecutionMember NotConnected RTIinternalError
        ];
    127 "10.5" GetObjectClassName "getObjectClassName" { object_class: ObjectClassHandle }
        => Name [
        InvalidObjectClassHandle FederateNotExecutionMember NotConnected RTIinternalError
        ];
    128 "10.6" GetKnownObjectClassHandle "getKnownObjectClassHandle" {
        object_instance: ObjectInstanceHandle,
    }
        => ObjectClass [
        ObjectInstanceNotKnown FederateNotExecutionMember NotConnected RTIinternalError
        ];
    129 "10.7" GetObjectInstanceHandle "getObjectInstanceHandle" { object_instance_name: String }
        => ObjectInstance [
        ObjectInstanceNotKnown FederateNotExecutionMember NotConnected RTIinternalError
        ];
    130 "10.8" GetObjectInstanceName "getObjectInstanceName" {
        object_instance: ObjectInstanceHandle,
    }
        => Name [
        ObjectInstanceNotKnown FederateNotExecutionMember NotConnected RTIinternalError
        ];
    131 "10.9" GetAttributeHandle "getAttributeHandle" {
        object_class: ObjectClassHandle,
        attribute_name: String,
    }
        => Attribute [
        NameNotFound InvalidObjectClassHandle FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    132 "10.10" GetAttributeName "getAttributeName" {
        object_class: ObjectClassHandle,
        attribute: AttributeHandle,
    }
        => Name [
        AttributeNotDefined InvalidAttributeHandle InvalidObjectClassHandle
        FederateNotExecutionMember NotConnected RTIinternalError
        ];
    133 "10.11" GetUpdateRateValue "getUpdateRateValue" { update_rate_designator: String }
        => Rate [
        InvalidUpdateRateDesignator FederateNotExecutionMember NotConnected RTIinternalError
        ];
    134 "10.12" GetUpdateRateValueForAttribute "getUpdateRateValueForAttribute" {
        object_instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    }
        => Rate [
        ObjectInstanceNotKnown AttributeNotDefined FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    135 "10.13" GetInteractionClassHandle "getInteractionClassHandle" {
        interaction_class_name: String,
    }
        => InteractionClass [
        NameNotFound FederateNotExecutionMember NotConnected RTIinternalError
        ];
    136 "10.14" GetInteractionClassName "getInteractionClassName" {
        interaction_class: InteractionClassHandle,
    }
        => Name [
        InvalidInteractionClassHandle FederateNotExecutionMember NotConnected RTIinternalError
        ];
    137 "10.15" GetParameterHandle "getParameterHandle" {
        interaction_class: InteractionClassHandle,
        parameter_name: String,
    }
        => Parameter [
        NameNotFound InvalidInteractionClassHandle FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    138 "10.16" GetParameterName "getParameterName" {
        interaction_class: InteractionClassHandle,
        parameter: ParameterHandle,
    }
        => Name [
        InteractionParameterNotDefined InvalidParameterHandle InvalidInteractionClassHandle
        FederateNotExecutionMember NotConnected RTIinternalError
        ];
    139 "10.17" GetOrderType "getOrderType" { order_type_name: String }
        => Order [
        InvalidOrderName FederateNotExecutionMember NotConnected RTIinternalError
        ];
    140 "10.18" GetOrderName "getOrderName" { order_type: Option<OrderType> }
        => Name [
        InvalidOrderType FederateNotExecutionMember NotConnected RTIinternalError
        ];
    141 "10.19" GetTransportationTypeHandle "getTransportationTypeHandle" {
        transportation_type_name: String,
    }
        => TransportationType [
        InvalidTransportationName FederateNotExecutionMember NotConnected RTIinternalError
        ];
    142 "10.20" GetTransportationTypeName "getTransportationTypeName" {
        transportation_type: TransportationTypeHandle,
    }
        => Name [
        InvalidTransportationTypeHandle FederateNotExecutionMember NotConnected RTIinternalError
        ];
    143 "10.21" GetAvailableDimensionsForObjectClass "getAvailableDimensionsForObjectClass" {
        object_class: ObjectClassHandle,
    }
        => Dimensions [
        InvalidObjectClassHandle FederateNotExecutionMember NotConnected RTIinternalError
        ];
    144 "10.22" GetAvailableDimensionsForInteractionClass "getAvailableDimensionsForInteractionClass" {
        interaction_class: InteractionClassHandle,
    }
        => Dimensions [
        InvalidInteractionClassHandle FederateNotExecutionMember NotConnected RTIinternalError
        ];
    145 "10.23" GetDimensionHandle "getDimensionHandle" { dimension_name: String }
        => Dimension [
        NameNotFound FederateNotExecutionMember NotConnected RTIinternalError
        ];
    146 "10.24" GetDimensionName "getDimensionName" { dimension: DimensionHandle }
        => Name [
        InvalidDimensionHandle FederateNotExecutionMember NotConnected RTIinternalError
        ];
    147 "10.25" GetDimensionUpperBound "getDimensionUpperBound" { dimension: DimensionHandle }
        => Number [
        InvalidDimensionHandle FederateNotExecutionMember NotConnected RTIinternalError
        ];
    148 "10.26" GetDimensionHandleSet "getDimensionHandleSet" { region: RegionHandle }
        => Dimensions [
        InvalidRegion SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    149 "10.27" GetRangeBounds "getRangeBounds" { region: RegionHandle, dimension: DimensionHandle }
        => Range [
        RegionDoesNotContainSpecifiedDimension InvalidRegion SaveInProgress RestoreInProgress
        FederateNotExecutionMember NotConnected RTIinternalError
        ];
    150 "10.28" SetRangeBounds "setRangeBounds" {
        region: RegionHandle,
        dimension: DimensionHandle,
        range_bounds: RangeBounds,
    }
        => Done [
        InvalidRangeBound RegionDoesNotContainSpecifiedDimension RegionNotCreatedByThisFederate
        InvalidRegion SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    151 "10.29" NormalizeServiceGroup "normalizeServiceGroup" {
        service_group: Option<ServiceGroup>,
    }
        => Number [
        InvalidServiceGroup FederateNotExecutionMember NotConnected RTIinternalError
        ];
    152 "10.30" NormalizeFederateHandle "normalizeFederateHandle" { federate: FederateHandle }
        => Number [
        InvalidFederateHandle FederateNotExecutionMember NotConnected RTIinternalError
        ];
    153 "10.31" NormalizeObjectClassHandle "normalizeObjectClassHandle" {
        object_class: ObjectClassHandle,
    }
        => Number [
        InvalidObjectClassHandle FederateNotExecutionMember NotConnected RTIinternalError
        ];
    154 "10.32" NormalizeInteractionClassHandle "normalizeInteractionClassHandle" {
        interaction_class: InteractionClassHandle,
    }
        => Number [
        InvalidInteractionClassHandle FederateNotExecutionMember NotConnected RTIinternalError
        ];
    155 "10.33" NormalizeObjectInstanceHandle "normalizeObjectInstanceHandle" {
        object_instance: ObjectInstanceHandle,
    }
        => Number [
        InvalidObjectInstanceHandle FederateNotExecutionMember NotConnected RTIinternalError
        ];
    156 "10.34" GetObjectClassRelevanceAdvisorySwitch "getObjectClassRelevanceAdvisorySwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    157 "10.35" SetObjectClassRelevanceAdvisorySwitch "setObjectClassRelevanceAdvisorySwitch" {
        value: bool,
    }
        => Done [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    158 "10.36" GetAttributeRelevanceAdvisorySwitch "getAttributeRelevanceAdvisorySwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    159 "10.37" SetAttributeRelevanceAdvisorySwitch "setAttributeRelevanceAdvisorySwitch" {
        value: bool,
    }
        => Done [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    160 "10.38" GetAttributeScopeAdvisorySwitch "getAttributeScopeAdvisorySwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    161 "10.39" SetAttributeScopeAdvisorySwitch "setAttributeScopeAdvisorySwitch" { value: bool }
        => Done [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    162 "10.40" GetInteractionRelevanceAdvisorySwitch "getInteractionRelevanceAdvisorySwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    163 "10.41" SetInteractionRelevanceAdvisorySwitch "setInteractionRelevanceAdvisorySwitch" {
        value: bool,
    }
        => Done [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    164 "10.42" GetConveyRegionDesignatorSetsSwitch "getConveyRegionDesignatorSetsSwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    165 "10.43" SetConveyRegionDesignatorSetsSwitch "setConveyRegionDesignatorSetsSwitch" {
        value: bool,
    }
        => Done [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    166 "10.44" GetAutomaticResignDirective "getAutomaticResignDirective"
        => Directive [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    167 "10.45" SetAutomaticResignDirective "setAutomaticResignDirective" {
        value: Option<ResignAction>,
    }
        => Done [
        SaveInProgress RestoreInProgress InvalidResignAction FederateNotExecutionMember
        NotConnected RTIinternalError
        ];
    168 "10.46" GetServiceReportingSwitch "getServiceReportingSwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    169 "10.47" SetServiceReportingSwitch "setServiceReportingSwitch" { value: bool }
        => Done [
        ReportServiceInvocationsAreSubscribed SaveInProgress RestoreInProgress
        FederateNotExecutionMember NotConnected RTIinternalError
        ];
    170 "10.48" GetExceptionReportingSwitch "getExceptionReportingSwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    171 "10.49" SetExceptionReportingSwitch "setExceptionReportingSwitch" { value: bool }
        => Done [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    172 "10.50" GetSendServiceReportsToFileSwitch "getSendServiceReportsToFileSwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    173 "10.51" SetSendServiceReportsToFileSwitch "setSendServiceReportsToFileSwitch" {
        value: bool,
    }
        => Done [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    174 "10.52" GetAutoProvideSwitch "getAutoProvideSwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    175 "10.53" GetDelaySubscriptionEvaluationSwitch "getDelaySubscriptionEvaluationSwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    176 "10.54" GetAdvisoriesUseKnownClassSwitch "getAdvisoriesUseKnownClassSwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    177 "10.55" GetAllowRelaxedDDMSwitch "getAllowRelaxedDDMSwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
    178 "10.56" GetNonRegulatedGrantSwitch "getNonRegulatedGrantSwitch"
        => Flag [
        SaveInProgress RestoreInProgress FederateNotExecutionMember NotConnected
        RTIinternalError
        ];
}
