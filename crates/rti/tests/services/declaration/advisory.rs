//! Advisories to publishers (clauses 5.14 to 5.17).

use hemiola_hla::call::{DeclarationCall, SupportCall};

use crate::world::World;

#[test]
fn registration_starts_with_the_first_subscription_and_stops_with_the_last() {
    let mut w = World::new();
    let (a, b, c) = (w.federate("a"), w.federate("b"), w.federate("c"));
    w.ok(a, SupportCall::SetObjectClassRelevanceAdvisorySwitch { value: true });
    w.publish(a, "Vehicle.Car", "Position");
    w.subscribe(a, "Vehicle", "Position");
    assert_eq!(w.callbacks(a), Vec::<String>::new(), "its own interest is not another's");
    w.subscribe(b, "Vehicle", "Load");
    assert_eq!(w.callbacks(a), Vec::<String>::new(), "it does not publish that");
    w.subscribe(b, "Vehicle", "Position");
    w.subscribe(c, "Vehicle.Car", "Position");
    assert_eq!(w.callbacks(a), ["start Vehicle.Car"]);
    w.unsubscribe(b, "Vehicle");
    assert_eq!(w.callbacks(a), Vec::<String>::new());
    w.lose(c);
    assert_eq!(w.callbacks(a), ["stop Vehicle.Car"]);
}

#[test]
fn passive_subscriptions_cause_no_advisories() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    for call in [
        SupportCall::SetObjectClassRelevanceAdvisorySwitch { value: true },
        SupportCall::SetInteractionRelevanceAdvisorySwitch { value: true },
    ] {
        w.ok(a, call);
    }
    w.publish(a, "Vehicle", "Position");
    w.publish_interaction(a, "Command");
    let (object_class, attributes) = (w.class("Vehicle"), w.attributes("Position"));
    let interaction_class = w.interaction("Command");
    let passively =
        DeclarationCall::SubscribeObjectClassAttributesPassively { object_class, attributes };
    w.ok(b, passively);
    w.ok(b, DeclarationCall::SubscribeInteractionClassPassively { interaction_class });
    assert_eq!(w.callbacks(a), Vec::<String>::new());
    w.send(a, "Command", "What");
    assert_eq!(w.callbacks(b), ["receive Command What"]);
    w.subscribe(b, "Vehicle", "Position");
    w.subscribe_interaction(b, "Command");
    assert_eq!(w.callbacks(a), ["start Vehicle", "on Command"]);
}

#[test]
fn interactions_are_turned_on_and_off() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.ok(a, SupportCall::SetInteractionRelevanceAdvisorySwitch { value: true });
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command");
    let interaction_class = w.interaction("Command");
    w.ok(b, DeclarationCall::UnsubscribeInteractionClass { interaction_class });
    assert_eq!(w.callbacks(a), ["on Command.Stop", "off Command.Stop"]);
}

#[test]
fn turning_a_switch_on_reports_the_current_state() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle", "Position");
    w.publish_interaction(a, "Command");
    w.subscribe(b, "Vehicle", "Position");
    w.subscribe_interaction(b, "Command");
    assert_eq!(w.callbacks(a), Vec::<String>::new());
    w.ok(a, SupportCall::SetObjectClassRelevanceAdvisorySwitch { value: true });
    w.ok(a, SupportCall::SetInteractionRelevanceAdvisorySwitch { value: true });
    assert_eq!(w.callbacks(a), ["start Vehicle", "on Command"]);
    w.ok(a, SupportCall::SetObjectClassRelevanceAdvisorySwitch { value: false });
    w.unsubscribe(b, "Vehicle");
    assert_eq!(w.callbacks(a), Vec::<String>::new());
}
