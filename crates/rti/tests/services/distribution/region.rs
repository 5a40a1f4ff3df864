//! Regions (clauses 9.2 to 9.4 and 10.26 to 10.28).

use hemiola_hla::call::{DistributionCall, SupportCall};
use hemiola_hla::data::RangeBounds;
use hemiola_hla::{Exception, Reply};
use hemiola_rti::Limits;

use super::yard;
use crate::world::{MODEL, World};

#[test]
fn a_new_region_has_the_whole_of_its_dimensions() {
    let mut w = World::new();
    let a = w.federate("a");
    let region = w.create_region(a, "Level X X");
    let dimensions = w.ok(a, SupportCall::GetDimensionHandleSet { region });
    let mut expected = vec![w.dimension("X"), w.dimension("Level")];
    expected.sort();
    assert_eq!(dimensions, Reply::Dimensions(expected));
    let dimension = w.dimension("X");
    let range = w.ok(a, SupportCall::GetRangeBounds { region, dimension });
    assert_eq!(range, Reply::Range(RangeBounds { lower: 0, upper: 100 }));
}

#[test]
fn others_see_a_region_as_it_was_committed() {
    let mut w = World::new();
    let [a, b] = ["a", "b"].map(|name| w.federate(name));
    let region = w.create_region(a, "X");
    w.set_ranges(a, region, "X 3..5");
    let ask = SupportCall::GetRangeBounds { region, dimension: w.dimension("X") };
    assert_eq!(w.ok(a, ask.clone()), Reply::Range(RangeBounds { lower: 3, upper: 5 }));
    assert_eq!(w.refused(b, ask.clone()), Exception::InvalidRegion);
    w.commit(a, &[region]);
    w.set_ranges(a, region, "X 4..9");
    assert_eq!(w.ok(b, ask), Reply::Range(RangeBounds { lower: 3, upper: 5 }));
}

#[test]
fn a_region_in_use_is_deleted_only_when_its_last_use_has_ended() {
    let (mut w, owner, viewer) = yard();
    let [sent, wanted] = [owner, viewer].map(|fed| w.region(fed, "X 0..5"));
    let car = w.register_within(owner, "Position", &[sent]);
    w.subscribe_within(viewer, "Position Load", &[wanted]);
    w.subscribe_interaction_within(viewer, "Command", &[wanted]);
    let delete = |region| DistributionCall::DeleteRegion { region };
    assert_eq!(w.refused(owner, delete(sent)), Exception::RegionInUseForUpdateOrSubscription);
    w.unassociate(owner, car, "Position", &[sent]);
    w.ok(owner, delete(sent));
    assert_eq!(w.refused(owner, delete(sent)), Exception::InvalidRegion);
    w.unsubscribe_within(viewer, "Position Load", &[wanted]);
    assert_eq!(w.refused(viewer, delete(wanted)), Exception::RegionInUseForUpdateOrSubscription);
    let interaction_class = w.interaction("Command");
    let regions = vec![wanted];
    let call =
        DistributionCall::UnsubscribeInteractionClassWithRegions { interaction_class, regions };
    w.ok(viewer, call);
    w.ok(viewer, delete(wanted));
}

#[test]
fn regions_have_a_limit_and_so_have_those_that_are_sent() {
    let limits = Limits { regions: 3, regions_sent: 2, regions_of_call: 5, ..Limits::default() };
    let mut w = World::with(limits, MODEL);
    let a = w.federate("a");
    w.publish(a, "Vehicle.Car", "Position");
    w.publish_interaction(a, "Command");
    let regions = [(); 3].map(|()| w.region(a, "X 0..5"));
    let create = DistributionCall::CreateRegion { dimensions: Vec::new() };
    assert_eq!(w.refused(a, create), Exception::RTIinternalError);
    let car = w.register_within(a, "Position", &regions[..1]);
    let call = DistributionCall::AssociateRegionsForUpdates {
        object_instance: car,
        attributes_and_regions: w.pairs("Position", &regions[1..]),
    };
    assert_eq!(w.refused(a, call), Exception::RTIinternalError);
    let call = DistributionCall::SendInteractionWithRegions {
        interaction_class: w.interaction("Command"),
        parameter_values: Vec::new(),
        regions: regions.to_vec(),
        user_supplied_tag: "tag".into(),
    };
    assert_eq!(w.refused(a, call), Exception::RTIinternalError);
    let call = DistributionCall::SubscribeObjectClassAttributesWithRegions {
        object_class: w.class("Vehicle.Car"),
        attributes_and_regions: w.pairs("Position Load", &regions),
        active: true,
    };
    assert_eq!(w.refused(a, call), Exception::RTIinternalError, "six pairs");
    let regions = regions.repeat(2);
    let call = DistributionCall::CommitRegionModifications { regions };
    assert_eq!(w.refused(a, call), Exception::RTIinternalError);
}

#[test]
fn the_regions_of_a_federate_go_with_it() {
    let limits = Limits { regions: 2, ..Limits::default() };
    let mut w = World::with(limits, MODEL);
    let [a, b] = ["a", "b"].map(|name| w.federate(name));
    w.publish(a, "Vehicle.Car", "Position");
    let region = w.region(a, "X 0..5");
    w.register_within(a, "Position", &[region]);
    let other = w.region(a, "X 0..5");
    w.subscribe_within(a, "Position", &[other]);
    w.subscribe_interaction_within(a, "Command", &[other]);
    w.lose(a);
    let again = w.region(b, "X 0..5");
    w.subscribe_within(b, "Position", &[again]);
    assert_ne!(again, region, "handles are not used again");
}
