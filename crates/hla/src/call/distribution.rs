//! Calls of clause 9, data distribution management.

use super::calls;
use crate::data::{AttributeRegions, Data, ParameterValues};
use crate::handle::{
    DimensionHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, RegionHandle,
};
use crate::time::EncodedTime;

calls! {
    /// A call of clause 9, data distribution management: regions.
    DistributionCall, distribution_calls

    109 "9.2" CreateRegion "createRegion" { dimensions: Vec<DimensionHandle> }
        => Region [InvalidDimensionHandle ..Active];
    110 "9.3" CommitRegionModifications "commitRegionModifications" { regions: Vec<RegionHandle> }
        => Done [RegionNotCreatedByThisFederate InvalidRegion ..Active];
    111 "9.4" DeleteRegion "deleteRegion" { region: RegionHandle }
        => Done [RegionInUseForUpdateOrSubscription RegionNotCreatedByThisFederate InvalidRegion ..Active];
    112 "9.5" RegisterObjectInstanceWithRegions "registerObjectInstanceWithRegions" {
        object_class: ObjectClassHandle, attributes_and_regions: Vec<AttributeRegions>,
    } => ObjectInstance [
        InvalidRegionContext RegionNotCreatedByThisFederate InvalidRegion AttributeNotPublished
        ObjectClassNotPublished AttributeNotDefined ObjectClassNotDefined ..Active
    ];
    113 "9.5" RegisterObjectInstanceWithNameAndRegions "registerObjectInstanceWithRegions" {
        object_class: ObjectClassHandle, attributes_and_regions: Vec<AttributeRegions>,
        object_instance_name: String,
    } => ObjectInstance [
        ObjectInstanceNameInUse ObjectInstanceNameNotReserved InvalidRegionContext
        RegionNotCreatedByThisFederate InvalidRegion AttributeNotPublished ObjectClassNotPublished
        AttributeNotDefined ObjectClassNotDefined ..Active
    ];
    114 "9.6" AssociateRegionsForUpdates "associateRegionsForUpdates" {
        object_instance: ObjectInstanceHandle, attributes_and_regions: Vec<AttributeRegions>,
    } => Done [
        InvalidRegionContext RegionNotCreatedByThisFederate InvalidRegion AttributeNotDefined
        ObjectInstanceNotKnown ..Active
    ];
    115 "9.7" UnassociateRegionsForUpdates "unassociateRegionsForUpdates" {
        object_instance: ObjectInstanceHandle, attributes_and_regions: Vec<AttributeRegions>,
    } => Done [
        RegionNotCreatedByThisFederate InvalidRegion AttributeNotDefined ObjectInstanceNotKnown ..Active
    ];
    116 "9.8" SubscribeObjectClassAttributesWithRegions "subscribeObjectClassAttributesWithRegions" {
        object_class: ObjectClassHandle, attributes_and_regions: Vec<AttributeRegions>, active: bool,
    } => Done [
        InvalidRegionContext RegionNotCreatedByThisFederate InvalidRegion AttributeNotDefined
        ObjectClassNotDefined ..Active
    ];
    117 "9.8" SubscribeObjectClassAttributesWithRegionsAndRate "subscribeObjectClassAttributesWithRegions" {
        object_class: ObjectClassHandle, attributes_and_regions: Vec<AttributeRegions>, active: bool,
        update_rate_designator: String,
    } => Done [
        InvalidRegionContext RegionNotCreatedByThisFederate InvalidRegion AttributeNotDefined
        ObjectClassNotDefined InvalidUpdateRateDesignator ..Active
    ];
    118 "9.9" UnsubscribeObjectClassAttributesWithRegions "unsubscribeObjectClassAttributesWithRegions" {
        object_class: ObjectClassHandle, attributes_and_regions: Vec<AttributeRegions>,
    } => Done [
        RegionNotCreatedByThisFederate InvalidRegion AttributeNotDefined ObjectClassNotDefined ..Active
    ];
    119 "9.10" SubscribeInteractionClassWithRegions "subscribeInteractionClassWithRegions" {
        interaction_class: InteractionClassHandle, active: bool, regions: Vec<RegionHandle>,
    } => Done [
        FederateServiceInvocationsAreBeingReportedViaMOM InvalidRegionContext RegionNotCreatedByThisFederate
        InvalidRegion InteractionClassNotDefined ..Active
    ];
    120 "9.11" UnsubscribeInteractionClassWithRegions "unsubscribeInteractionClassWithRegions" {
        interaction_class: InteractionClassHandle, regions: Vec<RegionHandle>,
    } => Done [
        FederateServiceInvocationsAreBeingReportedViaMOM InvalidRegionContext RegionNotCreatedByThisFederate
        InvalidRegion InteractionClassNotDefined ..Active
    ];
    121 "9.12" SendInteractionWithRegions "sendInteractionWithRegions" {
        interaction_class: InteractionClassHandle, parameter_values: ParameterValues,
        regions: Vec<RegionHandle>, user_supplied_tag: Data,
    } => Done [
        InvalidRegionContext RegionNotCreatedByThisFederate InvalidRegion InteractionClassNotPublished
        InteractionParameterNotDefined InteractionClassNotDefined ..Active
    ];
    122 "9.12" SendInteractionWithRegionsAndTime "sendInteractionWithRegions" {
        interaction_class: InteractionClassHandle, parameter_values: ParameterValues,
        regions: Vec<RegionHandle>, user_supplied_tag: Data, time: EncodedTime,
    } => Retraction [
        InvalidLogicalTime InvalidRegionContext RegionNotCreatedByThisFederate InvalidRegion
        InteractionClassNotPublished InteractionParameterNotDefined InteractionClassNotDefined ..Active
    ];
    123 "9.13" RequestAttributeValueUpdateWithRegions "requestAttributeValueUpdateWithRegions" {
        object_class: ObjectClassHandle, attributes_and_regions: Vec<AttributeRegions>,
        user_supplied_tag: Data,
    } => Done [
        InvalidRegionContext RegionNotCreatedByThisFederate InvalidRegion AttributeNotDefined
        ObjectClassNotDefined ..Active
    ];
}
