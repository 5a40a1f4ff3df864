//! Subscriptions with regions, and interactions (clauses 9.8 to 9.12).

use hemiola_hla::Exception;
use hemiola_hla::call::{DistributionCall, SupportCall};
use hemiola_hla::{MessageRetractionHandle, Reply};
use hemiola_rti::Input;
use hemiola_units::Instant;

use super::{yard, yard_with};
use crate::world::{World, time};

#[test]
fn subscriptions_with_and_without_regions_are_independent() {
    let (mut w, owner, viewer) = yard();
    let wanted = w.region(viewer, "X 0..10");
    let sent = w.region(owner, "X 20..30");
    let car = w.register_within(owner, "Position", &[sent]);
    w.subscribe(viewer, "Vehicle.Car", "Position");
    w.subscribe_within(viewer, "Position", &[wanted]);
    w.callbacks(viewer);
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), ["reflect 1 Position"]);
    w.unsubscribe(viewer, "Vehicle.Car");
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), [""; 0], "the region still does not overlap");
    w.move_region(owner, sent, "X 5..15");
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), ["reflect 1 Position"], "the one with a region is left");
    w.subscribe(viewer, "Vehicle.Car", "Position");
    w.unsubscribe_within(viewer, "Position", &[wanted]);
    w.update(owner, car, "Position");
    assert_eq!(w.callbacks(viewer), ["reflect 1 Position"], "the one without is left");
}

#[test]
fn any_of_several_regions_is_enough() {
    let (mut w, owner, viewer) = yard();
    let sent = w.region(owner, "X 0..1");
    let car = w.register_within(owner, "Position", &[sent]);
    // More regions than are compared one by one.
    let regions: Vec<_> =
        (0..100).map(|at| w.region(viewer, &format!("X {at}..{}", at + 1))).collect();
    w.subscribe_within(viewer, "Position", &regions);
    assert_eq!(w.callbacks(viewer), ["discover 1 as Vehicle.Car"]);
    w.unsubscribe_within(viewer, "Position", &regions[..50]);
    for at in [0, 49, 50, 99] {
        w.move_region(owner, sent, &format!("X {at}..{}", at + 1));
        w.update(owner, car, "Position");
        let expected: &[&str] = if at < 50 { &[] } else { &["reflect 1 Position"] };
        assert_eq!(w.callbacks(viewer), expected, "{at}");
    }
}

#[test]
fn interactions_reach_those_whose_region_overlaps() {
    let mut w = World::new();
    let feds = ["sender", "near", "far", "everywhere"].map(|name| w.federate(name));
    let [sender, near, far, everywhere] = feds;
    w.publish_interaction(sender, "Command.Stop");
    let wanted = w.region(near, "X 0..10");
    w.subscribe_interaction_within(near, "Command", &[wanted]);
    let wanted = w.region(far, "X 10..20");
    w.subscribe_interaction_within(far, "Command.Stop", &[wanted]);
    w.subscribe_interaction(everywhere, "Command.Stop");
    let sent = w.region(sender, "X 9..10");
    w.send_within(sender, "Command.Stop", &[sent]);
    assert_eq!(w.callbacks(near), ["receive Command"]);
    assert_eq!(w.callbacks(far), [""; 0]);
    assert_eq!(w.callbacks(everywhere), ["receive Command.Stop"]);
    w.move_region(sender, sent, "X 9..11");
    w.send_within(sender, "Command.Stop", &[sent]);
    assert_eq!([near, far].map(|fed| w.callbacks(fed).len()), [1, 1]);
    // Without regions, it is sent everywhere.
    w.send(sender, "Command.Stop", "");
    assert_eq!([near, far, everywhere].map(|fed| w.callbacks(fed).len()), [1, 1, 2]);
}

#[test]
fn the_nearest_class_decides_which_regions_count() {
    let mut w = World::new();
    let [sender, viewer] = ["sender", "viewer"].map(|name| w.federate(name));
    w.publish_interaction(sender, "Command.Stop");
    let [wide, narrow] = ["X 0..100", "X 0..10"].map(|ranges| w.region(viewer, ranges));
    w.subscribe_interaction_within(viewer, "Command", &[wide]);
    w.subscribe_interaction_within(viewer, "Command.Stop", &[narrow]);
    let sent = w.region(sender, "X 50..60");
    w.send_within(sender, "Command.Stop", &[sent]);
    assert_eq!(w.callbacks(viewer), [""; 0]);
    let call = DistributionCall::UnsubscribeInteractionClassWithRegions {
        interaction_class: w.interaction("Command.Stop"),
        regions: vec![narrow],
    };
    w.ok(viewer, call);
    w.send_within(sender, "Command.Stop", &[sent]);
    assert_eq!(w.callbacks(viewer), ["receive Command"]);
}

#[test]
fn a_passive_subscription_receives_without_being_advised() {
    let (mut w, owner, viewer) = yard();
    w.publish_interaction(owner, "Command");
    w.ok(owner, SupportCall::SetObjectClassRelevanceAdvisorySwitch { value: true });
    w.ok(owner, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
    w.ok(owner, SupportCall::SetInteractionRelevanceAdvisorySwitch { value: true });
    let wanted = w.region(viewer, "X 0..10");
    let passively =
        |w: &World, active| DistributionCall::SubscribeObjectClassAttributesWithRegions {
            object_class: w.class("Vehicle.Car"),
            attributes_and_regions: w.pairs("Position", &[wanted]),
            active,
        };
    let call = passively(&w, false);
    w.ok(viewer, call);
    let interaction_class = w.interaction("Command");
    let regions = vec![wanted];
    let call = DistributionCall::SubscribeInteractionClassWithRegions {
        interaction_class,
        active: false,
        regions,
    };
    w.ok(viewer, call);
    let sent = w.region(owner, "X 0..10");
    let car = w.register_within(owner, "Position", &[sent]);
    w.update(owner, car, "Position");
    w.send_within(owner, "Command", &[sent]);
    assert_eq!(w.callbacks(owner), [""; 0]);
    let received = ["discover 1 as Vehicle.Car", "reflect 1 Position", "receive Command"];
    assert_eq!(w.callbacks(viewer), received);
    let call = passively(&w, true);
    w.ok(viewer, call);
    w.subscribe_interaction_within(viewer, "Command", &[wanted]);
    assert_eq!(w.callbacks(owner), ["start Vehicle.Car", "updates on 1 Position", "on Command"],);
}

#[test]
fn a_rate_limits_what_a_region_receives() {
    let (mut w, owner, viewer) = yard();
    let [wanted, more] = ["X 0..10", "X 10..20"].map(|ranges| w.region(viewer, ranges));
    let limited = DistributionCall::SubscribeObjectClassAttributesWithRegionsAndRate {
        object_class: w.class("Vehicle.Car"),
        attributes_and_regions: w.pairs("Load", &[wanted]),
        active: true,
        update_rate_designator: "Slow".into(),
    };
    w.ok(viewer, limited);
    w.subscribe_within(viewer, "Load", &[more]);
    let sent = w.region(owner, "X 0..5");
    let car = w.register_within(owner, "Load", &[sent]);
    w.callbacks(viewer);
    let rate = SupportCall::GetUpdateRateValueForAttribute {
        object_instance: car,
        attribute: w.attribute("Load"),
    };
    assert_eq!(w.ok(viewer, rate.clone()), Reply::Rate(2.0));
    let mut received = Vec::new();
    for millis in [0, 100, 499, 500, 999, 1000] {
        w.input(Input::Tick(Instant::from_nanos(1_000_000_000 + millis * 1_000_000)));
        w.update(owner, car, "Load");
        received.extend(w.callbacks(viewer).iter().map(|_| millis));
    }
    assert_eq!(received, [0, 500, 1000]);
    // The other region has no limit.
    w.move_region(owner, sent, "X 9..11");
    assert_eq!(w.ok(viewer, rate), Reply::Rate(0.0));
    w.update(owner, car, "Load");
    w.update(owner, car, "Load");
    assert_eq!(w.callbacks(viewer).len(), 2);
}

#[test]
fn interactions_with_regions_can_have_a_time_and_be_retracted() {
    let mut w = World::new();
    let sender = w.in_time("sender", 1);
    let viewer = w.in_time("viewer", 1);
    w.publish_interaction(sender, "Command.Stop");
    let wanted = w.region(viewer, "X 0..10");
    w.subscribe_interaction_within(viewer, "Command.Stop", &[wanted]);
    let sent = w.region(sender, "X 0..1");
    let call = |w: &World, at| DistributionCall::SendInteractionWithRegionsAndTime {
        interaction_class: w.interaction("Command.Stop"),
        parameter_values: Vec::new(),
        regions: vec![sent],
        user_supplied_tag: "tag".into(),
        time: time(at).into(),
    };
    let Reply::Retraction(Some(retraction)) = ({
        let call = call(&w, 5);
        w.ok(sender, call)
    }) else {
        panic!("it is ordered")
    };
    let call = call(&w, 6);
    let Reply::Retraction(Some(_)) = w.ok(sender, call) else { panic!("it is ordered") };
    // Where the region is at delivery does not matter.
    w.move_region(sender, sent, "X 90..91");
    let retract =
        |retraction: MessageRetractionHandle| hemiola_hla::call::TimeCall::Retract { retraction };
    w.ok(sender, retract(retraction));
    w.tar(viewer, 6);
    w.tar(sender, 6);
    assert_eq!(w.callbacks(viewer), ["receive Command.Stop at 6", "grant 6"]);
}

#[test]
fn subscriptions_are_evaluated_at_delivery_if_the_object_model_says_so() {
    let (mut w, owner, _) = yard_with(World::with_switch("delaySubscriptionEvaluation"));
    w.regulate(owner, 1);
    let [lost, gained] = ["lost", "gained"].map(|name| w.in_time(name, 1));
    w.publish_interaction(owner, "Command");
    let sent = w.region(owner, "X 0..10");
    let car = w.register_within(owner, "Position", &[sent]);
    let [inside, outside] = [lost, gained].map(|fed| w.region(fed, "X 0..10"));
    for (fed, region) in [(lost, inside), (gained, outside)] {
        w.subscribe_within(fed, "Position", &[region]);
        w.callbacks(fed);
    }
    w.move_region(gained, outside, "X 50..60");
    w.update_at(owner, car, "Position", 5);
    // The update stays where it was sent, and the subscriptions move.
    w.move_region(owner, sent, "X 70..80");
    w.move_region(lost, inside, "X 70..80");
    w.move_region(gained, outside, "X 9..10");
    for fed in [lost, gained, owner] {
        w.tar(fed, 6);
    }
    assert_eq!(w.callbacks(lost), ["grant 6"]);
    assert_eq!(w.callbacks(gained), ["reflect 1 Position at 5", "grant 6"]);
}

#[test]
fn who_receives_reports_of_its_own_calls_is_refused_with_regions_too() {
    let report = "HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";
    let mut w = World::with_switch("allowRelaxedDDM");
    let a = w.federate("a");
    let region = w.region(a, "X 0..1");
    let interaction_class = w.interaction(report);
    w.subscribe_interaction_within(a, report, &[region]);
    let on = SupportCall::SetServiceReportingSwitch { value: true };
    assert_eq!(w.refused(a, on.clone()), Exception::ReportServiceInvocationsAreSubscribed);
    let regions = vec![region];
    let unsubscribe =
        DistributionCall::UnsubscribeInteractionClassWithRegions { interaction_class, regions };
    w.ok(a, unsubscribe);
    w.ok(a, on);
}
