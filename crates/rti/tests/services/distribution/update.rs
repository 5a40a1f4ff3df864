//! Instances with regions (clauses 9.5 to 9.7 and 9.13).

use hemiola_hla::call::{DistributionCall, OwnershipCall};
use hemiola_hla::{Data, Reply};

use super::{yard, yard_with};
use crate::world::World;

#[test]
fn an_update_reaches_those_whose_region_overlaps() {
    let (mut w, owner, near) = yard();
    let [far, everywhere] = ["far", "everywhere"].map(|name| w.federate(name));
    let wanted = w.region(near, "X 0..50 Y 0..50");
    w.subscribe_within(near, "Position", &[wanted]);
    let wanted = w.region(far, "X 0..50 Y 50..100");
    w.subscribe_within(far, "Position", &[wanted]);
    w.subscribe(everywhere, "Vehicle.Car", "Position");
    let sent = w.region(owner, "X 40..60 Y 40..50");
    let car = w.register_within(owner, "Position", &[sent]);
    assert_eq!(w.callbacks(near), ["discover 1 as Vehicle.Car"]);
    assert_eq!(w.callbacks(far), [""; 0]);
    assert_eq!(w.callbacks(everywhere), ["discover 1 as Vehicle.Car"]);
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(near), ["reflect 1 Position"]);
    assert_eq!(w.callbacks(far), [""; 0]);
    assert_eq!(w.callbacks(everywhere), ["reflect 1 Position"]);
}

#[test]
fn regions_have_an_effect_only_from_their_commit() {
    let (mut w, owner, viewer) = yard();
    let wanted = w.region(viewer, "X 0..10");
    w.subscribe_within(viewer, "Position", &[wanted]);
    let sent = w.region(owner, "X 20..30");
    let car = w.register_within(owner, "Position", &[sent]);
    w.set_ranges(owner, sent, "X 5..15");
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), [""; 0], "not committed yet");
    w.commit(owner, &[sent]);
    assert_eq!(w.callbacks(viewer), ["discover 1 as Vehicle.Car"]);
    w.set_ranges(viewer, wanted, "X 90..95");
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), ["reflect 1 Position"], "not committed yet");
    w.commit(viewer, &[wanted]);
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), [""; 0]);
}

#[test]
fn a_region_that_was_never_committed_overlaps_nothing() {
    let (mut w, owner, viewer) = yard();
    let everywhere = w.federate("everywhere");
    w.subscribe(everywhere, "Vehicle.Car", "Position");
    let wanted = w.create_region(viewer, "X");
    w.subscribe_within(viewer, "Position Load", &[wanted]);
    let sent = w.create_region(owner, "X");
    let car = w.register_within(owner, "Position", &[sent]);
    w.update(owner, car, "Position Load");
    assert_eq!(w.callbacks(viewer), [""; 0]);
    assert_eq!(w.callbacks(everywhere), ["discover 1 as Vehicle.Car", "reflect 1 Position"]);
    // The load is sent everywhere.
    w.commit(viewer, &[wanted]);
    assert_eq!(w.callbacks(viewer), ["discover 1 as Vehicle.Car"]);
    w.update(owner, car, "Position Load");
    assert_eq!(w.callbacks(viewer), ["reflect 1 Load"]);
    w.commit(owner, &[sent]);
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), ["reflect 1 Position"]);
}

#[test]
fn each_attribute_has_its_own_regions() {
    let (mut w, owner, viewer) = yard();
    let left = w.region(owner, "X 0..10");
    let right = w.region(owner, "X 10..20");
    let wanted = w.region(viewer, "X 0..10");
    w.subscribe_within(viewer, "Position Driver", &[wanted]);
    let car = w.register_within(owner, "Position", &[left]);
    w.associate(owner, car, "Driver", &[right]);
    w.callbacks(viewer);
    w.update(owner, car, "Position Driver");
    assert_eq!(w.callbacks(viewer), ["reflect 1 Position"]);
    w.associate(owner, car, "Driver", &[left]);
    w.update(owner, car, "Position Driver");
    // They have different regions, so they are sent apart.
    assert_eq!(w.callbacks(viewer), ["reflect 1 Position", "reflect 1 Driver"]);
    w.unassociate(owner, car, "Driver", &[right]);
    w.update(owner, car, "Position Driver");
    assert_eq!(w.callbacks(viewer), ["reflect 1 Position+Driver"]);
}

#[test]
fn without_regions_an_attribute_is_in_the_default_region_again() {
    let (mut w, owner, viewer) = yard();
    let wanted = w.region(viewer, "X 0..10");
    w.subscribe_within(viewer, "Position", &[wanted]);
    let sent = w.region(owner, "X 10..20");
    let car = w.register_within(owner, "Position", &[sent]);
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), [""; 0]);
    w.unassociate(owner, car, "Position", &[sent]);
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), ["discover 1 as Vehicle.Car", "reflect 1 Position"]);
}

#[test]
fn regions_without_a_common_dimension_do_not_overlap() {
    let (mut w, owner, viewer) = yard();
    let wanted = w.region(viewer, "X 0..100");
    w.subscribe_within(viewer, "Position", &[wanted]);
    let sent = w.region(owner, "Y 0..100");
    let car = w.register_within(owner, "Position", &[sent]);
    assert_eq!(w.callbacks(viewer), [""; 0]);
    let sent = w.region(owner, "X 0..1 Y 0..1");
    w.associate(owner, car, "Position", &[sent]);
    assert_eq!(w.callbacks(viewer), ["discover 1 as Vehicle.Car"]);
}

#[test]
fn a_dimension_that_a_region_lacks_has_its_default_range() {
    let (mut w, owner, viewer) = yard();
    // By default, a level is from 0 up to 2.
    let sent = w.region(owner, "X 0..10");
    let car = w.register_within(owner, "Position", &[sent]);
    let wanted = w.region(viewer, "X 0..10 Level 2..5");
    w.subscribe_within(viewer, "Position", &[wanted]);
    assert_eq!(w.callbacks(viewer), [""; 0]);
    w.move_region(viewer, wanted, "Level 1..5");
    assert_eq!(w.callbacks(viewer), ["discover 1 as Vehicle.Car"]);
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), ["reflect 1 Position"]);
    w.move_region(viewer, wanted, "Level 3..5");
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), [""; 0]);
}

#[test]
fn at_a_superclass_only_its_dimensions_have_defaults() {
    let (mut w, owner, viewer) = yard();
    let wanted = w.region(viewer, "X 0..10");
    w.subscribe_class_within(viewer, "Vehicle", "Position", &[wanted]);
    let sent = w.region(owner, "X 0..10 Level 5..6");
    w.register_within(owner, "Position", &[sent]);
    assert_eq!(w.callbacks(viewer), ["discover 1 as Vehicle"]);
}

#[test]
fn relaxed_distribution_accepts_dimensions_that_the_class_lacks() {
    let (mut w, owner, viewer) = yard_with(World::with_switch("allowRelaxedDDM"));
    let sent = w.region(owner, "X 0..10 Depth 0..5");
    let car = w.register_within(owner, "Position", &[sent]);
    let wanted = w.region(viewer, "X 0..10 Depth 5..10");
    w.subscribe_within(viewer, "Position", &[wanted]);
    assert_eq!(w.callbacks(viewer), [""; 0], "a common dimension counts, whatever the class has");
    w.move_region(viewer, wanted, "Depth 4..10");
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), ["discover 1 as Vehicle.Car", "reflect 1 Position"]);
}

#[test]
fn a_new_owner_does_not_have_the_regions_of_the_one_before() {
    let (mut w, owner, viewer) = yard();
    let heir = w.federate("heir");
    w.publish(heir, "Vehicle.Car", "Position");
    w.subscribe(heir, "Vehicle.Car", "Position");
    let wanted = w.region(viewer, "X 0..10");
    w.subscribe_within(viewer, "Position", &[wanted]);
    let sent = w.region(owner, "X 10..20");
    let car = w.register_within(owner, "Position", &[sent]);
    let call = OwnershipCall::UnconditionalAttributeOwnershipDivestiture {
        object_instance: car,
        attributes: w.attributes("Position"),
        user_supplied_tag: Data::new(),
    };
    w.ok(owner, call);
    w.ok(owner, DistributionCall::DeleteRegion { region: sent });
    // Before it owns the attribute, the heir prepares regions for it.
    let own = w.region(heir, "X 5..6");
    w.associate(heir, car, "Position", &[own]);
    assert_eq!(w.callbacks(viewer), [""; 0]);
    let call = OwnershipCall::AttributeOwnershipAcquisitionIfAvailable {
        object_instance: car,
        desired_attributes: w.attributes("Position"),
        user_supplied_tag: Data::new(),
    };
    w.ok(heir, call);
    assert_eq!(w.callbacks(viewer), ["discover 1 as Vehicle.Car"]);
    w.update(heir, car, "Position");
    assert_eq!(w.callbacks(viewer), ["reflect 1 Position"]);
}

#[test]
fn values_are_requested_from_owners_whose_regions_overlap() {
    let (mut w, owner, viewer) = yard();
    let here = w.region(owner, "X 0..10");
    let there = w.region(owner, "X 10..20");
    let one = w.register_within(owner, "Position", &[here]);
    w.associate(owner, one, "Driver", &[there]);
    w.register_within(owner, "Position", &[there]);
    w.register(owner, "Vehicle.Car");
    w.callbacks(owner);
    let around = w.region(viewer, "X 9..10");
    let call = DistributionCall::RequestAttributeValueUpdateWithRegions {
        object_class: w.class("Vehicle.Car"),
        attributes_and_regions: w.pairs("Position Driver", &[around]),
        user_supplied_tag: "tag".into(),
    };
    w.ok(viewer, call);
    let expected = ["provide 1 Position", "provide 2 Driver", "provide 3 Driver+Position"];
    assert_eq!(w.callbacks(owner), expected);
}

#[test]
fn an_instance_with_a_name_and_regions_has_both() {
    let (mut w, owner, viewer) = yard();
    let wanted = w.region(viewer, "X 0..10");
    w.subscribe_within(viewer, "Position", &[wanted]);
    let name = String::from("beetle");
    let reserve = hemiola_hla::call::ObjectCall::ReserveObjectInstanceName {
        object_instance_name: name.clone(),
    };
    w.ok(owner, reserve);
    let sent = w.region(owner, "X 9..10");
    let call = DistributionCall::RegisterObjectInstanceWithNameAndRegions {
        object_class: w.class("Vehicle.Car"),
        attributes_and_regions: w.pairs("Position", &[sent]),
        object_instance_name: name.clone(),
    };
    let Reply::ObjectInstance(car) = w.ok(owner, call) else { panic!() };
    assert_eq!(w.callbacks(viewer), ["discover 1 as Vehicle.Car"]);
    let ask = hemiola_hla::call::SupportCall::GetObjectInstanceName { object_instance: car };
    assert_eq!(w.ok(viewer, ask), Reply::Name(name));
}
