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
        w.told(b),
        [format!("discover {car} as Vehicle"), format!("in scope {car} Position")]
    );
    w.subscribe(b, "Vehicle", "Load");
    assert_eq!(w.told(b), [format!("in scope {car} Load")]);
    let (object_class, attributes) = (w.class("Vehicle"), w.attributes("Load"));
    w.ok(a, DeclarationCall::UnpublishObjectClassAttributes { object_class, attributes });
    assert_eq!(w.told(b), [format!("out of scope {car} Load")]);
    w.resign(a, ResignAction::UnconditionallyDivestAttributes);
    assert_eq!(w.told(b), [format!("out of scope {car} Position")]);
}

#[test]
fn owners_are_told_which_updates_are_wanted() {
    let mut w = World::new();
    let (a, b, c) = (w.federate("a"), w.federate("b"), w.federate("c"));
    w.ok(a, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
    w.publish(a, "Vehicle", "Position Load");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    assert_eq!(w.told(a), [format!("updates on {car} Position")]);
    w.subscribe(c, "Vehicle", "Position Load");
    assert_eq!(w.told(a), [format!("updates on {car} Load")]);
    w.unsubscribe(b, "Vehicle");
    assert_eq!(w.told(a), Vec::<String>::new());
    w.lose(c);
    assert_eq!(w.told(a), [format!("updates off {car} Load+Position")]);
}

#[test]
fn a_rate_is_told_if_everybody_has_one() {
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
    assert_eq!(w.told(a), [format!("updates on {car} Position Slow")]);
    w.subscribe(c, "Vehicle", "Position");
    assert_eq!(w.told(a), [format!("updates on {car} Position")], "now at any rate");
    w.subscribe(c, "Vehicle", "Position");
    assert_eq!(w.told(a), Vec::<String>::new(), "nothing changed");
    w.unsubscribe(c, "Vehicle");
    assert_eq!(w.told(a), [format!("updates on {car} Position Slow")]);
}

#[test]
fn owners_are_advised_once_of_all_who_discover() {
    let mut w = World::new();
    let (a, b, c) = (w.federate("a"), w.federate("b"), w.federate("c"));
    w.ok(a, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
    w.publish(a, "Vehicle", "Position Load");
    w.subscribe(b, "Vehicle", "Position");
    w.subscribe(c, "Vehicle", "Load");
    let car = w.register(a, "Vehicle");
    assert_eq!(w.told(a), [format!("updates on {car} Load+Position")]);
}
