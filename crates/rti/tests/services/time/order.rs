//! The order of messages (clauses 8.24 to 8.26).

use hemiola_hla::call::TimeCall;
use hemiola_hla::{Exception, OrderType};

use crate::world::World;

#[test]
fn values_of_different_orders_are_reflected_separately() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish(a, "Vehicle.Car", "Position Load Driver");
    w.subscribe(b, "Vehicle.Car", "Position Load Driver");
    let car = w.register(a, "Vehicle.Car");
    w.tar(b, 5);
    w.callbacks(b);
    assert!(w.update_at(a, car, "Position Load Driver", 3).is_some());
    assert_eq!(w.callbacks(b), [format!("reflect {car} Load of 3")]);
    w.tar(a, 10);
    assert_eq!(w.callbacks(b), [format!("reflect {car} Position+Driver at 3"), "grant 5".into()]);
}

#[test]
fn the_owner_can_change_the_order() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish(a, "Vehicle", "Position Load");
    w.subscribe(b, "Vehicle", "Position Load");
    let car = w.register(a, "Vehicle");
    let change = |w: &World, attribute: &str, order_type| TimeCall::ChangeAttributeOrderType {
        object_instance: car,
        attributes: vec![w.attribute(attribute)],
        order_type,
    };
    let call = change(&w, "Position", Some(OrderType::Receive));
    w.ok(a, call.clone());
    assert_eq!(w.update_at(a, car, "Position", 5), None);
    assert_eq!(w.refused(b, call), Exception::AttributeNotOwned);
    let call = change(&w, "Driver", Some(OrderType::Receive));
    assert_eq!(w.refused(a, call), Exception::AttributeNotDefined);
    let call = change(&w, "Position", None);
    assert_eq!(w.refused(a, call), Exception::RTIinternalError);
}

#[test]
fn interactions_use_the_order_of_their_publisher() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.subscribe_interaction(b, "Command");
    let change = |w: &World, order| TimeCall::ChangeInteractionOrderType {
        interaction_class: w.interaction("Command"),
        order_type: Some(order),
    };
    let call = change(&w, OrderType::TimeStamp);
    assert_eq!(w.refused(a, call.clone()), Exception::InteractionClassNotPublished);
    w.publish_interaction(a, "Command");
    assert_eq!(w.send_at(a, "Command", 3), None);
    w.ok(a, call);
    assert!(w.send_at(a, "Command", 3).is_some());
    w.tar(a, 5);
    w.tar(b, 5);
    assert_eq!(w.callbacks(b), ["receive Command of 3", "receive Command at 3", "grant 5"]);
}
