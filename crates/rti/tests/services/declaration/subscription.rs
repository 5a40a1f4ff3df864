//! Subscriptions (clauses 5.8 to 5.13).

use hemiola_hla::call::{DeclarationCall, SupportCall};
use hemiola_hla::{AttributeHandle, Exception};
use hemiola_rti::Input;
use hemiola_units::Instant;

use crate::world::World;

#[test]
fn a_subscription_discovers_existing_instances() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle.Car", "Position");
    let car = w.register(a, "Vehicle.Car");
    w.subscribe(b, "Vehicle", "Load");
    assert_eq!(w.callbacks(b), Vec::<String>::new(), "nobody owns its load");
    w.subscribe(b, "Vehicle", "Position");
    assert_eq!(w.callbacks(b), [format!("discover {car} as Vehicle")]);
    w.subscribe(b, "Vehicle.Car", "Position");
    assert_eq!(w.callbacks(b), Vec::<String>::new(), "once");
}

#[test]
fn an_instance_is_discovered_as_the_nearest_class() {
    let mut w = World::new();
    let (a, b, c) = (w.federate("a"), w.federate("b"), w.federate("c"));
    w.publish(a, "Vehicle.Car", "Position Driver");
    w.subscribe(b, "Vehicle", "Position");
    w.subscribe(c, "Vehicle", "Position");
    w.subscribe(c, "Vehicle.Car", "Driver");
    let car = w.register(a, "Vehicle.Car");
    assert_eq!(w.callbacks(b), [format!("discover {car} as Vehicle")]);
    assert_eq!(w.callbacks(c), [format!("discover {car} as Vehicle.Car")]);
    w.update(a, car, "Position Driver");
    assert_eq!(w.callbacks(b), [format!("reflect {car} Position")]);
    assert_eq!(w.callbacks(c), [format!("reflect {car} Driver")]);
}

#[test]
fn unsubscribed_attributes_are_not_reflected() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle", "Position Load");
    w.subscribe(b, "Vehicle", "Position Load");
    let car = w.register(a, "Vehicle");
    w.callbacks(b);
    let (object_class, attributes) = (w.class("Vehicle"), w.attributes("Position"));
    w.ok(b, DeclarationCall::UnsubscribeObjectClassAttributes { object_class, attributes });
    w.update(a, car, "Position Load");
    assert_eq!(w.callbacks(b), [format!("reflect {car} Load")]);
    w.unsubscribe(b, "Vehicle");
    w.update(a, car, "Position Load");
    assert_eq!(w.callbacks(b), Vec::<String>::new());
    w.delete(a, car);
    assert_eq!(w.callbacks(b), [format!("remove {car}")], "it is known all the same");
}

#[test]
fn interactions_are_received_as_the_nearest_class() {
    let mut w = World::new();
    let (a, b, c) = (w.federate("a"), w.federate("b"), w.federate("c"));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(a, "Command");
    w.subscribe_interaction(b, "Command");
    w.subscribe_interaction(c, "Command");
    w.subscribe_interaction(c, "Command.Stop");
    w.send(a, "Command.Stop", "What Within");
    assert_eq!(w.callbacks(b), ["receive Command What"]);
    assert_eq!(w.callbacks(c), ["receive Command.Stop What+Within"]);
    assert_eq!(w.callbacks(a), Vec::<String>::new(), "not by who sent it");
    let interaction_class = w.interaction("Command.Stop");
    w.ok(c, DeclarationCall::UnsubscribeInteractionClass { interaction_class });
    w.send(a, "Command.Stop", "");
    assert_eq!(w.callbacks(c), ["receive Command"]);
}

#[test]
fn a_rate_limit_postpones_early_updates() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle", "Position Load");
    let subscribe =
        |w: &World, names, rate: &str| DeclarationCall::SubscribeObjectClassAttributesWithRate {
            object_class: w.class("Vehicle"),
            attributes: w.attributes(names),
            update_rate_designator: rate.into(),
        };
    let call = subscribe(&w, "Load", "Quick");
    assert_eq!(w.refused(b, call), Exception::InvalidUpdateRateDesignator);
    let call = subscribe(&w, "Position Load", "Slow");
    w.ok(b, call);
    let passive = w.federate("passive");
    let call = DeclarationCall::SubscribeObjectClassAttributesPassivelyWithRate {
        object_class: w.class("Vehicle"),
        attributes: w.attributes("Load"),
        update_rate_designator: "Slow".into(),
    };
    w.ok(passive, call);
    let car = w.register(a, "Vehicle");
    w.callbacks(b);
    let rate = SupportCall::GetUpdateRateValueForAttribute {
        object_instance: car,
        attribute: w.attribute("Load"),
    };
    for subscriber in [b, passive] {
        assert_eq!(w.ok(subscriber, rate.clone()), hemiola_hla::Reply::Rate(2.0));
    }
    let mut callbacks = Vec::new();
    for millis in [0, 100, 499, 500, 700, 1000] {
        w.input(Input::Tick(Instant::from_nanos(millis * 1_000_000)));
        w.update(a, car, "Position Load");
        let of_load = |one: &String| one.contains("Load");
        callbacks.push(w.callbacks(b).iter().any(of_load));
    }
    assert_eq!(callbacks, [true, false, false, true, false, true]);
    w.update(a, car, "Position");
    assert_eq!(
        w.callbacks(b),
        [format!("reflect {car} Position")],
        "what is reliable always comes"
    );
}

#[test]
fn a_federate_with_service_reporting_cannot_subscribe_to_the_reports() {
    let mut w = World::new();
    let a = w.federate("a");
    let report = "HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";
    let switch = |value| SupportCall::SetServiceReportingSwitch { value };
    w.ok(a, switch(true));
    let interaction_class = w.interaction(report);
    let call = DeclarationCall::SubscribeInteractionClass { interaction_class };
    assert_eq!(w.refused(a, call), Exception::FederateServiceInvocationsAreBeingReportedViaMOM);
    w.ok(a, switch(false));
    w.subscribe_interaction(a, report);
    assert_eq!(w.refused(a, switch(true)), Exception::ReportServiceInvocationsAreSubscribed);
}

#[test]
fn undefined_classes_cannot_be_subscribed() {
    let mut w = World::new();
    let a = w.federate("a");
    let call = DeclarationCall::SubscribeObjectClassAttributesPassively {
        object_class: w.class("Vehicle"),
        attributes: vec![AttributeHandle::INVALID],
    };
    assert_eq!(w.refused(a, call), Exception::AttributeNotDefined);
}
