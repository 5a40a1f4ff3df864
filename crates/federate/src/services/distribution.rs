//! Clause 9, data distribution management: regions.

use hemiola_hla::call::DistributionCall;
use hemiola_hla::data::{AttributeRegions, Retraction};
use hemiola_hla::{
    Data, DimensionHandle, InteractionClassHandle, LogicalTime, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle, RegionHandle,
};

use super::services;

services! {
    /// Regions: what is sent within some reaches only those whose subscription overlaps it. A region has an effect from
    /// its commit; [`set_range_bounds`](Self::set_range_bounds) changes its ranges.
    DistributionCall, send:
    "9.2" CreateRegion: create_region(dimensions: &[DimensionHandle]) -> RegionHandle;
    "9.3" CommitRegionModifications: commit_region_modifications(regions: &[RegionHandle]);
    "9.4" DeleteRegion: delete_region(region: RegionHandle);
    "9.5" RegisterObjectInstanceWithRegions: register_object_instance_with_regions(
        object_class: ObjectClassHandle, attributes_and_regions: &[AttributeRegions],
    ) -> ObjectInstanceHandle;
    "9.5" RegisterObjectInstanceWithNameAndRegions: register_object_instance_with_name_and_regions(
        object_class: ObjectClassHandle, attributes_and_regions: &[AttributeRegions], object_instance_name: &str,
    ) -> ObjectInstanceHandle;
    "9.6" AssociateRegionsForUpdates: associate_regions_for_updates(
        object_instance: ObjectInstanceHandle, attributes_and_regions: &[AttributeRegions],
    );
    "9.7" UnassociateRegionsForUpdates: unassociate_regions_for_updates(
        object_instance: ObjectInstanceHandle, attributes_and_regions: &[AttributeRegions],
    );
    "9.8" SubscribeObjectClassAttributesWithRegions: subscribe_object_class_attributes_with_regions(
        object_class: ObjectClassHandle, attributes_and_regions: &[AttributeRegions], active: bool,
    );
    "9.8" SubscribeObjectClassAttributesWithRegionsAndRate: subscribe_object_class_attributes_with_regions_and_rate(
        object_class: ObjectClassHandle,
        attributes_and_regions: &[AttributeRegions],
        active: bool,
        update_rate_designator: &str,
    );
    "9.9" UnsubscribeObjectClassAttributesWithRegions: unsubscribe_object_class_attributes_with_regions(
        object_class: ObjectClassHandle, attributes_and_regions: &[AttributeRegions],
    );
    "9.10" SubscribeInteractionClassWithRegions: subscribe_interaction_class_with_regions(
        interaction_class: InteractionClassHandle, active: bool, regions: &[RegionHandle],
    );
    "9.11" UnsubscribeInteractionClassWithRegions: unsubscribe_interaction_class_with_regions(
        interaction_class: InteractionClassHandle, regions: &[RegionHandle],
    );
    "9.12" SendInteractionWithRegions: send_interaction_with_regions(
        interaction_class: InteractionClassHandle,
        parameter_values: &[(ParameterHandle, Data)],
        regions: &[RegionHandle],
        user_supplied_tag: impl Into<Data>,
    );
    "9.12" SendInteractionWithRegionsAndTime: send_interaction_with_regions_and_time(
        interaction_class: InteractionClassHandle,
        parameter_values: &[(ParameterHandle, Data)],
        regions: &[RegionHandle],
        user_supplied_tag: impl Into<Data>,
        time: LogicalTime,
    ) -> Retraction;
    "9.13" RequestAttributeValueUpdateWithRegions: request_attribute_value_update_with_regions(
        object_class: ObjectClassHandle,
        attributes_and_regions: &[AttributeRegions],
        user_supplied_tag: impl Into<Data>,
    );
}
