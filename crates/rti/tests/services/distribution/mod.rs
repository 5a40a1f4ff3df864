//! Clause 9, data distribution management.

mod conveyed;
mod exceptions;
mod region;
mod scope;
mod subscription;
mod update;

use hemiola_hla::call::{DistributionCall, SupportCall};
use hemiola_hla::data::{AttributeRegions, RangeBounds};
use hemiola_hla::{DimensionHandle, ObjectInstanceHandle, RegionHandle, Reply};

use crate::world::{Fed, World};

impl World {
    fn dimension(&self, name: &str) -> DimensionHandle {
        self.model.dimension_named(name).unwrap()
    }

    fn create_region(&mut self, fed: Fed, dimensions: &str) -> RegionHandle {
        let dimensions = dimensions.split_whitespace().map(|name| self.dimension(name)).collect();
        let reply = self.ok(fed, DistributionCall::CreateRegion { dimensions });
        let Reply::Region(region) = reply else { panic!("{reply:?}") };
        region
    }

    /// Sets ranges, given as `X 0..5 Y 3..7`.
    fn set_ranges(&mut self, fed: Fed, region: RegionHandle, ranges: &str) {
        let words: Vec<&str> = ranges.split_whitespace().collect();
        for pair in words.chunks(2) {
            let (lower, upper) = pair[1].split_once("..").unwrap();
            let range_bounds =
                RangeBounds { lower: lower.parse().unwrap(), upper: upper.parse().unwrap() };
            let dimension = self.dimension(pair[0]);
            self.ok(fed, SupportCall::SetRangeBounds { region, dimension, range_bounds });
        }
    }

    fn commit(&mut self, fed: Fed, regions: &[RegionHandle]) {
        let regions = regions.to_vec();
        self.ok(fed, DistributionCall::CommitRegionModifications { regions });
    }

    /// Sets the ranges of a region and commits them.
    fn move_region(&mut self, fed: Fed, region: RegionHandle, ranges: &str) {
        self.set_ranges(fed, region, ranges);
        self.commit(fed, &[region]);
    }

    /// Creates a committed region with these ranges, and no other dimensions.
    pub(crate) fn region(&mut self, fed: Fed, ranges: &str) -> RegionHandle {
        let dimensions: Vec<&str> = ranges.split_whitespace().step_by(2).collect();
        let region = self.create_region(fed, &dimensions.join(" "));
        self.move_region(fed, region, ranges);
        region
    }

    fn pairs(&self, attributes: &str, regions: &[RegionHandle]) -> Vec<AttributeRegions> {
        vec![AttributeRegions { attributes: self.attributes(attributes), regions: regions.into() }]
    }

    fn subscribe_within(&mut self, fed: Fed, attributes: &str, regions: &[RegionHandle]) {
        self.subscribe_class_within(fed, "Vehicle.Car", attributes, regions);
    }

    pub(crate) fn subscribe_class_within(
        &mut self,
        fed: Fed,
        class: &str,
        attributes: &str,
        regions: &[RegionHandle],
    ) {
        let call = DistributionCall::SubscribeObjectClassAttributesWithRegions {
            object_class: self.class(class),
            attributes_and_regions: self.pairs(attributes, regions),
            active: true,
        };
        self.ok(fed, call);
    }

    fn unsubscribe_within(&mut self, fed: Fed, attributes: &str, regions: &[RegionHandle]) {
        let call = DistributionCall::UnsubscribeObjectClassAttributesWithRegions {
            object_class: self.class("Vehicle.Car"),
            attributes_and_regions: self.pairs(attributes, regions),
        };
        self.ok(fed, call);
    }

    fn associate(
        &mut self,
        fed: Fed,
        object_instance: ObjectInstanceHandle,
        attributes: &str,
        regions: &[RegionHandle],
    ) {
        let attributes_and_regions = self.pairs(attributes, regions);
        let call = DistributionCall::AssociateRegionsForUpdates {
            object_instance,
            attributes_and_regions,
        };
        self.ok(fed, call);
    }

    fn unassociate(
        &mut self,
        fed: Fed,
        object_instance: ObjectInstanceHandle,
        attributes: &str,
        regions: &[RegionHandle],
    ) {
        let attributes_and_regions = self.pairs(attributes, regions);
        let call = DistributionCall::UnassociateRegionsForUpdates {
            object_instance,
            attributes_and_regions,
        };
        self.ok(fed, call);
    }

    fn register_within(
        &mut self,
        fed: Fed,
        attributes: &str,
        regions: &[RegionHandle],
    ) -> ObjectInstanceHandle {
        let call = DistributionCall::RegisterObjectInstanceWithRegions {
            object_class: self.class("Vehicle.Car"),
            attributes_and_regions: self.pairs(attributes, regions),
        };
        let reply = self.ok(fed, call);
        let Reply::ObjectInstance(handle) = reply else { panic!("{reply:?}") };
        handle
    }

    fn send_within(&mut self, fed: Fed, class: &str, regions: &[RegionHandle]) {
        let call = DistributionCall::SendInteractionWithRegions {
            interaction_class: self.interaction(class),
            parameter_values: Vec::new(),
            regions: regions.to_vec(),
            user_supplied_tag: "tag".into(),
        };
        self.ok(fed, call);
    }

    pub(crate) fn subscribe_interaction_within(
        &mut self,
        fed: Fed,
        class: &str,
        regions: &[RegionHandle],
    ) {
        let call = DistributionCall::SubscribeInteractionClassWithRegions {
            interaction_class: self.interaction(class),
            active: true,
            regions: regions.to_vec(),
        };
        self.ok(fed, call);
    }
}

/// A world with an owner that publishes cars, and a viewer. They have no callbacks yet.
fn yard() -> (World, Fed, Fed) {
    yard_with(World::new())
}

fn yard_with(mut w: World) -> (World, Fed, Fed) {
    let [owner, viewer] = ["owner", "viewer"].map(|name| w.federate(name));
    w.publish(owner, "Vehicle.Car", "Position Load Driver");
    (w, owner, viewer)
}
