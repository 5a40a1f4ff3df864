//! Registration, discovery and deletion of instances (clauses 6.8, 6.9, 6.16 to 6.18).

use std::sync::Arc;

use hemiola_hla::call::{ObjectCall, SupportCall};
use hemiola_hla::{
    Callback, Exception, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, Reply,
    ResignAction,
};
use hemiola_rti::{Limits, Notice};

use crate::world::{MODEL, World};

fn delete(object_instance: ObjectInstanceHandle) -> ObjectCall {
    ObjectCall::DeleteObjectInstance { object_instance, user_supplied_tag: "".into() }
}

/// A client of 1516-2010 that is told the producer calls a form of `discoverObjectInstance` that its federate may not
/// have.
#[test]
fn a_federate_of_2010_learns_the_producer_only_if_the_model_says_so() {
    let conveying = crate::world::model_with("conveyProducingFederate");
    for (model, is_conveyed) in [(MODEL, false), (&*conveying, true)] {
        let mut w = World::with(Limits::default(), model);
        let (a, b) = (w.federate("a"), w.federate("b"));
        let old = w.connect_evolved();
        let old = w.join(old, "old");
        w.publish(a, "Vehicle.Car", "Driver");
        w.publish_interaction(a, "Command");
        for fed in [b, old] {
            w.subscribe(fed, "Vehicle.Car", "Driver");
            w.subscribe_interaction(fed, "Command");
        }
        let car = w.register(a, "Vehicle.Car");
        w.update(a, car, "Driver");
        w.send(a, "Command", "What");
        w.delete(a, car);
        let mut producers = |fed| {
            let notices = w.notices(fed).into_iter();
            let producer = |notice: Arc<Notice>| *notice.callback().clone().producer_mut().unwrap();
            notices.map(producer).collect::<Vec<FederateHandle>>()
        };
        assert_eq!(producers(b), [a.handle; 4]);
        let seen = if is_conveyed { a.handle } else { FederateHandle::INVALID };
        assert_eq!(producers(old), [seen; 4]);
    }
}

#[test]
fn nothing_is_kept_of_instances_that_were_deleted_locally_and_then_deleted() {
    for is_managed in [false, true] {
        let mut w = World::new();
        let (a, b) = (w.federate("a"), w.federate("b"));
        w.publish(a, "Vehicle.Car", "Driver");
        w.subscribe(b, "Vehicle.Car", "Driver");
        if is_managed {
            w.subscribe_interaction(b, "HLAinteractionRoot");
        }
        let mut held = Vec::new();
        for _ in 0..10 {
            let car = w.register(a, "Vehicle.Car");
            w.update(a, car, "Driver");
            w.ok(b, local_delete(car));
            // It is counted once, although it is discovered again.
            w.update(a, car, "Driver");
            w.ok(b, local_delete(car));
            w.delete(a, car);
            held.push(w.kernel.memory_len());
        }
        assert!(held.iter().all(|one| *one == held[0]), "{held:?}");
    }
}

fn local_delete(object_instance: ObjectInstanceHandle) -> ObjectCall {
    ObjectCall::LocalDeleteObjectInstance { object_instance }
}

#[test]
fn discovery_reports_class_name_and_producer() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle.Car", "Driver");
    w.subscribe(b, "Vehicle.Car", "Driver");
    let car = w.register(a, "Vehicle.Car");
    let Reply::Name(name) = w.ok(a, SupportCall::GetObjectInstanceName { object_instance: car })
    else {
        panic!()
    };
    let expected = Callback::DiscoverObjectInstance {
        object_instance: car,
        object_class: w.class("Vehicle.Car"),
        object_instance_name: name.clone(),
        producing_federate: a.handle,
    };
    assert_eq!(w.notices(b)[0].callback(), &expected);
    let call = SupportCall::GetObjectInstanceHandle { object_instance_name: name };
    assert_eq!(w.ok(b, call), Reply::ObjectInstance(car));
    let known = SupportCall::GetKnownObjectClassHandle { object_instance: car };
    assert_eq!(w.ok(b, known), Reply::ObjectClass(w.class("Vehicle.Car")));
}

#[test]
fn only_published_classes_are_registered() {
    let mut w = World::new();
    let a = w.federate("a");
    let register = |object_class| ObjectCall::RegisterObjectInstance { object_class };
    assert_eq!(
        w.refused(a, register(ObjectClassHandle::INVALID)),
        Exception::ObjectClassNotDefined
    );
    w.publish(a, "Vehicle", "Position");
    let car = w.class("Vehicle.Car");
    assert_eq!(w.refused(a, register(car)), Exception::ObjectClassNotPublished);
}

#[test]
fn deletion_needs_the_privilege() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    assert_eq!(w.refused(b, delete(car)), Exception::ObjectInstanceNotKnown);
    w.subscribe(b, "Vehicle", "Position");
    assert_eq!(w.refused(b, delete(car)), Exception::DeletePrivilegeNotHeld);
    w.delete(a, car);
    assert_eq!(w.callbacks(b), [format!("discover {car} as Vehicle"), format!("remove {car}")]);
    assert_eq!(w.refused(a, delete(car)), Exception::ObjectInstanceNotKnown);
    w.subscribe(b, "Vehicle.Car", "Position");
    assert_eq!(w.callbacks(b), Vec::<String>::new());
}

#[test]
fn a_removal_is_queued_like_any_message() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.in_time("b", 1));
    w.publish(a, "Vehicle", "Position");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    w.update(a, car, "Position");
    w.delete(a, car);
    let name = SupportCall::GetObjectInstanceName { object_instance: car };
    w.ok(b, name.clone());
    w.tar(b, 5);
    let callbacks = [
        format!("discover {car} as Vehicle"),
        format!("reflect {car} Position"),
        format!("remove {car}"),
        "grant 5".into(),
    ];
    assert_eq!(w.callbacks(b), callbacks);
    assert_eq!(w.refused(b, name), Exception::ObjectInstanceNotKnown);
}

#[test]
fn a_locally_deleted_instance_is_discovered_again_when_it_is_of_interest() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle", "Position");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    assert_eq!(w.refused(a, local_delete(car)), Exception::FederateOwnsAttributes);
    w.ok(b, local_delete(car));
    assert_eq!(w.refused(b, local_delete(car)), Exception::ObjectInstanceNotKnown);
    w.callbacks(b);
    w.update(a, car, "Position");
    let discovered = format!("discover {car} as Vehicle");
    assert_eq!(w.callbacks(b), [discovered.clone(), format!("reflect {car} Position")]);
    w.ok(b, local_delete(car));
    w.subscribe(b, "Vehicle", "Position");
    assert_eq!(w.callbacks(b), [discovered]);
    w.update(a, car, "Position");
    assert_eq!(w.callbacks(b), [format!("reflect {car} Position")], "discovered once");
}

#[test]
fn updates_out_of_scope_discover_no_locally_deleted_instance() {
    let mut w = World::new();
    let (a, b, c) = (w.federate("a"), w.federate("b"), w.federate("c"));
    w.publish(a, "Vehicle", "Position Load");
    w.subscribe(b, "Vehicle", "Position");
    w.subscribe(c, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    w.ok(b, local_delete(car));
    w.ok(c, local_delete(car));
    w.resign(c, ResignAction::NoAction);
    w.callbacks(b);
    w.update(a, car, "Load");
    assert_eq!(w.callbacks(b), Vec::<String>::new(), "it does not subscribe to the load");
    w.unsubscribe(b, "Vehicle");
    w.update(a, car, "Position");
    assert_eq!(w.callbacks(b), Vec::<String>::new(), "it subscribes to nothing");
    w.ok(a, delete(car));
    assert_eq!(w.callbacks(b), Vec::<String>::new(), "it does not know the instance");
}

#[test]
fn owners_are_asked_for_values() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle.Car", "Position Driver");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle.Car");
    let of_instance = |attributes| ObjectCall::RequestInstanceAttributeValueUpdate {
        object_instance: car,
        attributes,
        user_supplied_tag: "please".into(),
    };
    let call = of_instance(w.attributes("Position Load"));
    w.ok(b, call);
    assert_eq!(w.callbacks(a), [format!("provide {car} Position")], "nobody owns its load");
    let call = of_instance(w.attributes("Driver"));
    assert_eq!(w.refused(b, call), Exception::AttributeNotDefined, "known as a Vehicle");
    let of_class = |object_class, attributes| ObjectCall::RequestClassAttributeValueUpdate {
        object_class,
        attributes,
        user_supplied_tag: "please".into(),
    };
    let call = of_class(w.class("Vehicle"), w.attributes("Position"));
    w.ok(b, call.clone());
    assert_eq!(w.callbacks(a), [format!("provide {car} Position")]);
    w.ok(a, call);
    assert_eq!(w.callbacks(a), Vec::<String>::new(), "one does not ask oneself");
}

#[test]
fn auto_provide_requests_values_for_a_new_subscriber() {
    let on = "</interactions><switches><autoProvide isEnabled=\"true\"/></switches>";
    let model = MODEL.replace("</interactions>", on);
    let mut w = World::with(hemiola_rti::Limits::default(), &model);
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle", "Position Load");
    let car = w.register(a, "Vehicle");
    w.subscribe(b, "Vehicle", "Position");
    assert_eq!(w.callbacks(a), [format!("provide {car} Position")]);
    assert_eq!(w.ok(a, SupportCall::GetAutoProvideSwitch), Reply::Flag(true));
}
