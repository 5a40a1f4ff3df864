//! Attributes in scope, and updates that are wanted (clauses 6.19, 6.20, 6.23, 6.24).

use hemiola_hla::ResignAction;
use hemiola_hla::call::{DeclarationCall, SupportCall};

use crate::world::World;

#[test]
fn attributes_come_into_scope_and_go_out_of_it() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.ok(b, SupportCall::SetAttributeScopeAdvisorySwitch { value: true });
    w.publish(a, "Vehicle", "Position Load");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    assert_eq!(
        w.callbacks(b),
        [format!("discover {car} as Vehicle"), format!("in scope {car} Position")]
    );
    w.subscribe(b, "Vehicle", "Load");
    assert_eq!(w.callbacks(b), [format!("in scope {car} Load")]);
    let (object_class, attributes) = (w.class("Vehicle"), w.attributes("Load"));
    w.ok(a, DeclarationCall::UnpublishObjectClassAttributes { object_class, attributes });
    assert_eq!(w.callbacks(b), [format!("out of scope {car} Load")]);
    w.resign(a, ResignAction::UnconditionallyDivestAttributes);
    assert_eq!(w.callbacks(b), [format!("out of scope {car} Position")]);
}

#[test]
fn owners_are_advised_of_wanted_updates() {
    let mut w = World::new();
    let (a, b, c) = (w.federate("a"), w.federate("b"), w.federate("c"));
    w.ok(a, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
    w.publish(a, "Vehicle", "Position Load");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    assert_eq!(w.callbacks(a), [format!("updates on {car} Position")]);
    w.subscribe(c, "Vehicle", "Position Load");
    assert_eq!(w.callbacks(a), [format!("updates on {car} Load")]);
    w.unsubscribe(b, "Vehicle");
    assert_eq!(w.callbacks(a), Vec::<String>::new());
    w.lose(c);
    assert_eq!(w.callbacks(a), [format!("updates off {car} Load+Position")]);
}

#[test]
fn a_rate_is_reported_if_all_subscribers_have_one() {
    let mut w = World::new();
    let (a, b, c) = (w.federate("a"), w.federate("b"), w.federate("c"));
    w.publish(a, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    let slowly = DeclarationCall::SubscribeObjectClassAttributesWithRate {
        object_class: w.class("Vehicle"),
        attributes: w.attributes("Position"),
        update_rate_designator: "Slow".into(),
    };
    w.ok(b, slowly);
    w.ok(a, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
    assert_eq!(w.callbacks(a), [format!("updates on {car} Position Slow")]);
    w.subscribe(c, "Vehicle", "Position");
    assert_eq!(w.callbacks(a), [format!("updates on {car} Position")], "now at any rate");
    w.subscribe(c, "Vehicle", "Position");
    assert_eq!(w.callbacks(a), Vec::<String>::new(), "nothing changed");
    w.unsubscribe(c, "Vehicle");
    assert_eq!(w.callbacks(a), [format!("updates on {car} Position Slow")]);
}

#[test]
fn owners_are_advised_once_for_all_discoveries() {
    let mut w = World::new();
    let (a, b, c) = (w.federate("a"), w.federate("b"), w.federate("c"));
    w.ok(a, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
    w.publish(a, "Vehicle", "Position Load");
    w.subscribe(b, "Vehicle", "Position");
    w.subscribe(c, "Vehicle", "Load");
    let car = w.register(a, "Vehicle");
    assert_eq!(w.callbacks(a), [format!("updates on {car} Load+Position")]);
}

/// `b` discovers a car as a vehicle and only then subscribes to its driver, an attribute of cars.
fn subscribed_below(w: &mut World) -> (crate::world::Fed, crate::world::Fed, String) {
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.ok(a, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
    w.publish(a, "Vehicle.Car", "Position Driver");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle.Car");
    assert_eq!(w.callbacks(a), [format!("updates on {car} Position")]);
    w.subscribe(b, "Vehicle.Car", "Driver");
    w.update(a, car, "Driver");
    assert_eq!(w.callbacks(b), [format!("discover {car} as Vehicle")], "vehicles have no driver");
    (a, b, car.to_string())
}

#[test]
fn updates_are_wanted_by_the_registered_class_if_the_switch_is_off() {
    let mut w = World::new();
    assert_eq!(w.model.declared_setting(hemiola_hla::Switch::AdvisoriesUseKnownClass), None);
    let (a, b, car) = subscribed_below(&mut w);
    assert_eq!(w.callbacks(a), [format!("updates on {car} Driver")]);
    w.unsubscribe(b, "Vehicle.Car");
    assert_eq!(w.callbacks(a), [format!("updates off {car} Driver")]);
    w.subscribe(b, "Vehicle.Car", "Position");
    w.unsubscribe(b, "Vehicle");
    assert_eq!(w.callbacks(a), Vec::<String>::new(), "somebody still wants it, of cars");
    w.unsubscribe(b, "Vehicle.Car");
    assert_eq!(w.callbacks(a), [format!("updates off {car} Position")]);
}

#[test]
fn updates_are_wanted_by_the_known_class_if_the_switch_is_on() {
    let mut w = World::with_switch("advisoriesUseKnownClass");
    let (a, b, car) = subscribed_below(&mut w);
    assert_eq!(w.callbacks(a), Vec::<String>::new(), "it would not reach who knows a vehicle");
    w.subscribe(b, "Vehicle.Car", "Position");
    assert_eq!(w.callbacks(a), Vec::<String>::new());
    w.unsubscribe(b, "Vehicle");
    assert_eq!(w.callbacks(a), [format!("updates off {car} Position")]);
}

#[test]
fn the_reported_rate_follows_the_switch_too() {
    for (on, expected) in [(false, "Position"), (true, "Position Slow")] {
        let mut w = if on { World::with_switch("advisoriesUseKnownClass") } else { World::new() };
        let (a, b) = (w.federate("a"), w.federate("b"));
        w.publish(a, "Vehicle.Car", "Position");
        let slowly = DeclarationCall::SubscribeObjectClassAttributesWithRate {
            object_class: w.class("Vehicle"),
            attributes: w.attributes("Position"),
            update_rate_designator: "Slow".into(),
        };
        w.ok(b, slowly);
        let car = w.register(a, "Vehicle.Car");
        w.subscribe(b, "Vehicle.Car", "Position");
        w.ok(a, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
        assert_eq!(w.callbacks(a), [format!("updates on {car} {expected}")]);
    }
}

#[test]
fn federates_that_do_not_know_an_instance_do_not_count() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.ok(a, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
    w.publish(a, "Vehicle", "Position");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    let forget = hemiola_hla::call::ObjectCall::LocalDeleteObjectInstance { object_instance: car };
    w.ok(b, forget);
    assert_eq!(
        w.callbacks(a),
        [format!("updates on {car} Position"), format!("updates off {car} Position")]
    );
}

#[test]
fn scope_does_not_depend_on_the_switch() {
    for on in [false, true] {
        let mut w = if on { World::with_switch("advisoriesUseKnownClass") } else { World::new() };
        let (a, b) = (w.federate("a"), w.federate("b"));
        w.ok(b, SupportCall::SetAttributeScopeAdvisorySwitch { value: true });
        w.publish(a, "Vehicle.Car", "Position Driver");
        w.subscribe(b, "Vehicle", "Position");
        let car = w.register(a, "Vehicle.Car");
        w.subscribe(b, "Vehicle.Car", "Driver");
        assert_eq!(
            w.callbacks(b),
            [format!("discover {car} as Vehicle"), format!("in scope {car} Position")]
        );
    }
}
