//! Names of instances (clauses 6.2 to 6.8).

use hemiola_hla::call::{ObjectCall, SupportCall};
use hemiola_hla::{Exception, Reply, ResignAction};
use hemiola_rti::Limits;

use crate::world::{MODEL, World};

fn reserve(name: &str) -> ObjectCall {
    ObjectCall::ReserveObjectInstanceName { object_instance_name: name.into() }
}

fn reserve_all(names: &[&str]) -> ObjectCall {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    ObjectCall::ReserveMultipleObjectInstanceNames { object_instance_names: names }
}

fn register(w: &World, name: &str) -> ObjectCall {
    ObjectCall::RegisterObjectInstanceWithName {
        object_class: w.class("Vehicle"),
        object_instance_name: name.into(),
    }
}

#[test]
fn one_federate_at_a_time_reserves_a_name() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.ok(a, reserve("van"));
    w.ok(b, reserve("van"));
    assert_eq!(
        (w.callbacks(a), w.callbacks(b)),
        (vec!["reserved van".into()], vec!["not reserved van".into()])
    );
    for name in ["HLAvan", ""] {
        assert_eq!(w.refused(a, reserve(name)), Exception::IllegalName);
    }
    w.resign(a, ResignAction::NoAction);
    w.ok(b, reserve("van"));
    assert_eq!(w.callbacks(b), ["reserved van"]);
}

#[test]
fn a_released_name_can_be_reserved_again() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.ok(a, reserve("van"));
    let release = ObjectCall::ReleaseObjectInstanceName { object_instance_name: "van".into() };
    assert_eq!(w.refused(b, release.clone()), Exception::ObjectInstanceNameNotReserved);
    w.ok(a, release);
    w.ok(b, reserve("van"));
    assert_eq!(w.callbacks(b), ["reserved van"]);
}

#[test]
fn several_names_are_reserved_together_or_not_at_all() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.ok(a, reserve("two"));
    w.ok(b, reserve_all(&["one", "two"]));
    assert_eq!(w.callbacks(b), ["not reserved one two"]);
    w.ok(a, reserve_all(&["one", "three"]));
    assert_eq!(w.callbacks(a), ["reserved two", "reserved one three"]);
    assert_eq!(w.refused(a, reserve_all(&[])), Exception::NameSetWasEmpty);
    assert_eq!(w.refused(a, reserve_all(&["x", "HLA"])), Exception::IllegalName);
    let release = |names: &[&str]| ObjectCall::ReleaseMultipleObjectInstanceNames {
        object_instance_names: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    assert_eq!(w.refused(b, release(&["one"])), Exception::ObjectInstanceNameNotReserved);
    assert_eq!(w.refused(a, release(&["one", "four"])), Exception::ObjectInstanceNameNotReserved);
    w.ok(a, release(&["one", "two"]));
    let one = ObjectCall::ReleaseObjectInstanceName { object_instance_name: "one".into() };
    assert_eq!(w.refused(a, one), Exception::ObjectInstanceNameNotReserved);
}

#[test]
fn an_instance_takes_its_reserved_name() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish(a, "Vehicle", "Position");
    w.publish(b, "Vehicle", "Position");
    let call = register(&w, "van");
    assert_eq!(w.refused(a, call.clone()), Exception::ObjectInstanceNameNotReserved);
    w.ok(b, reserve("van"));
    assert_eq!(w.refused(a, call.clone()), Exception::ObjectInstanceNameNotReserved);
    let Reply::ObjectInstance(van) = w.ok(b, call.clone()) else { panic!() };
    assert_eq!(w.refused(b, call), Exception::ObjectInstanceNameInUse);
    let name = SupportCall::GetObjectInstanceName { object_instance: van };
    assert_eq!(w.ok(b, name.clone()), Reply::Name("van".into()));
    assert_eq!(w.refused(a, name), Exception::ObjectInstanceNotKnown);
    w.delete(b, van);
    w.ok(a, reserve("van"));
    assert_eq!(w.callbacks(a), ["reserved van"], "it is free again");
}

#[test]
fn names_and_instances_are_limited() {
    let mut w = World::with(Limits { instances: 2, ..Limits::default() }, MODEL);
    let a = w.federate("a");
    w.publish(a, "Vehicle", "Position");
    assert_eq!(w.refused(a, reserve_all(&["x", "y", "z"])), Exception::RTIinternalError);
    w.register(a, "Vehicle");
    w.register(a, "Vehicle");
    let call = ObjectCall::RegisterObjectInstance { object_class: w.class("Vehicle") };
    assert_eq!(w.refused(a, call), Exception::RTIinternalError);
    assert_eq!(w.refused(a, reserve(&"x".repeat(257))), Exception::IllegalName);
}
