//! Updates and interactions (clauses 6.10 to 6.13).

use std::sync::Arc;

use hemiola_hla::call::ObjectCall;
use hemiola_hla::{
    AttributeHandle, Callback, Exception, InteractionClassHandle, ObjectInstanceHandle, OrderType,
    ParameterHandle,
};

use crate::world::{World, time};

#[test]
fn receivers_share_the_value_of_an_update() {
    let mut w = World::new();
    let a = w.in_time("a", 1);
    w.publish(a, "Vehicle", "Position Load");
    let mut others = Vec::new();
    for number in 0..10 {
        let name = format!("b{number}");
        let other = if number % 2 == 0 { w.in_time(&name, 1) } else { w.federate(&name) };
        let wanted = if number < 6 { "Position Load" } else { "Position" };
        w.subscribe(other, "Vehicle", wanted);
        others.push(other);
    }
    let car = w.register(a, "Vehicle");
    w.update_at(a, car, "Position", 5);
    w.tar(a, 10);
    let mut all = Vec::new();
    for other in &others {
        w.tar(*other, 10);
    }
    for other in others {
        let reflect = |one: &Arc<_>| Arc::as_ptr(one);
        all.push(w.notices(other).iter().skip(1).map(reflect).next().unwrap());
    }
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 2, "one in time stamp order, one in receive order");
}

#[test]
fn a_reflection_reports_all_details_of_the_update() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.federate("b"));
    w.publish(a, "Vehicle", "Position");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    let retraction = w.update_at(a, car, "Position", 5);
    let expected = Callback::ReflectAttributeValuesWithTime {
        object_instance: car,
        attribute_values: w.values("Position"),
        user_supplied_tag: "tag".into(),
        transportation_type: hemiola_hla::TransportationTypeHandle::RELIABLE,
        producing_federate: a.handle,
        sent_regions: None,
        time: time(5).into(),
        sent_order_type: OrderType::TimeStamp,
        received_order_type: OrderType::Receive,
        retraction,
    };
    assert_eq!(w.notices(b)[1].callback(), &expected);
}

#[test]
fn values_with_different_transportation_are_reflected_separately() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle", "Position Load");
    w.subscribe(b, "Vehicle", "Position Load");
    let car = w.register(a, "Vehicle");
    w.callbacks(b);
    w.update(a, car, "Load Position");
    assert_eq!(w.callbacks(b), [format!("reflect {car} Load"), format!("reflect {car} Position")]);
}

#[test]
fn wrong_updates_raise_the_most_general_exception() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 10), w.federate("b"));
    w.publish(a, "Vehicle", "Position");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    let update = |instance, attribute, at| ObjectCall::UpdateAttributeValuesWithTime {
        object_instance: instance,
        attribute_values: vec![(attribute, "".into())],
        user_supplied_tag: "".into(),
        time: time(at).into(),
    };
    let (position, load) = (w.attribute("Position"), w.attribute("Load"));
    let (nothing, unknown) = (ObjectInstanceHandle::new(99), AttributeHandle::INVALID);
    assert_eq!(w.refused(a, update(nothing, unknown, 1)), Exception::ObjectInstanceNotKnown);
    assert_eq!(w.refused(a, update(car, unknown, 1)), Exception::AttributeNotDefined);
    assert_eq!(w.refused(a, update(car, load, 1)), Exception::AttributeNotOwned);
    assert_eq!(w.refused(a, update(car, position, 1)), Exception::InvalidLogicalTime);
    assert_eq!(w.refused(b, update(car, position, 1)), Exception::AttributeNotOwned);
    assert_eq!(w.callbacks(b), [format!("discover {car} as Vehicle")]);
}

#[test]
fn wrong_interactions_raise_the_most_general_exception() {
    let mut w = World::new();
    let a = w.in_time("a", 10);
    let send = |class, parameter, at| ObjectCall::SendInteractionWithTime {
        interaction_class: class,
        parameter_values: vec![(parameter, "".into())],
        user_supplied_tag: "".into(),
        time: time(at).into(),
    };
    let (command, within, what) =
        (w.interaction("Command"), w.parameter("Within"), w.parameter("What"));
    let (nothing, unknown) = (InteractionClassHandle::INVALID, ParameterHandle::INVALID);
    assert_eq!(w.refused(a, send(nothing, unknown, 1)), Exception::InteractionClassNotDefined);
    assert_eq!(w.refused(a, send(command, unknown, 1)), Exception::InteractionParameterNotDefined);
    assert_eq!(w.refused(a, send(command, within, 1)), Exception::InteractionParameterNotDefined);
    assert_eq!(w.refused(a, send(command, what, 1)), Exception::InteractionClassNotPublished);
    w.publish_interaction(a, "Command");
    assert_eq!(w.refused(a, send(command, what, 1)), Exception::InvalidLogicalTime);
}
