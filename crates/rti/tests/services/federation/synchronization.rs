//! Synchronization points (clauses 4.14 to 4.18).

use hemiola_hla::call::FederationCall;
use hemiola_hla::{Exception, FederateHandle, ResignAction};

use crate::world::{Fed, World};

fn register(label: &str, set: &[Fed]) -> FederationCall {
    FederationCall::RegisterFederationSynchronizationPointWithSet {
        synchronization_point_label: label.into(),
        user_supplied_tag: "tag".into(),
        synchronization_set: set.iter().map(|fed| fed.handle).collect(),
    }
}

fn achieved(label: &str, successfully: bool) -> FederationCall {
    FederationCall::SynchronizationPointAchieved {
        synchronization_point_label: label.into(),
        successfully,
    }
}

#[test]
fn federates_are_synchronized_when_all_have_achieved_the_point() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    let call = FederationCall::RegisterFederationSynchronizationPoint {
        synchronization_point_label: "go".into(),
        user_supplied_tag: "tag".into(),
    };
    w.ok(a, call);
    assert_eq!(w.callbacks(a), ["registered go", "announce go"]);
    assert_eq!(w.callbacks(b), ["announce go"]);
    w.ok(a, achieved("go", true));
    assert_eq!(w.callbacks(a), Vec::<String>::new());
    w.ok(b, achieved("go", false));
    assert_eq!(w.callbacks(a), ["synchronized go without [2]"]);
    assert_eq!(w.callbacks(b), ["synchronized go without [2]"]);
}

#[test]
fn a_federate_that_joins_late_must_achieve_it_too() {
    let mut w = World::new();
    let a = w.federate("a");
    w.ok(a, register("go", &[]));
    let b = w.federate("b");
    assert_eq!(w.callbacks(b), ["announce go"]);
    w.ok(a, achieved("go", true));
    w.ok(b, achieved("go", true));
    assert_eq!(w.callbacks(b), ["synchronized go without []"]);
    let c = w.federate("c");
    assert_eq!(w.callbacks(c), Vec::<String>::new());
}

#[test]
fn a_set_includes_only_its_members() {
    let mut w = World::new();
    let (a, b, c) = (w.federate("a"), w.federate("b"), w.federate("c"));
    w.ok(a, register("two", &[b, c]));
    let d = w.federate("d");
    assert_eq!(w.callbacks(a), ["registered two"]);
    assert_eq!((w.callbacks(b), w.callbacks(d)), (vec!["announce two".into()], vec![]));
    assert_eq!(
        w.refused(a, achieved("two", true)),
        Exception::SynchronizationPointLabelNotAnnounced
    );
    w.ok(b, achieved("two", true));
    assert_eq!(
        w.refused(b, achieved("two", true)),
        Exception::SynchronizationPointLabelNotAnnounced
    );
    w.ok(c, achieved("two", true));
    assert_eq!(w.callbacks(c), ["announce two", "synchronized two without []"]);
    assert_eq!((w.callbacks(a), w.callbacks(d)), (vec![], vec![]));
}

#[test]
fn failed_registrations_report_the_reason() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.ok(a, register("go", &[]));
    w.ok(b, register("go", &[]));
    assert_eq!(
        w.callbacks(b),
        ["announce go", "not registered go: SYNCHRONIZATION_POINT_LABEL_NOT_UNIQUE"]
    );
    w.resign(b, ResignAction::NoAction);
    w.ok(a, register("other", &[b]));
    let callbacks = [
        "registered go",
        "announce go",
        "not registered other: SYNCHRONIZATION_SET_MEMBER_NOT_JOINED",
    ];
    assert_eq!(w.callbacks(a), callbacks);
    let nobody = Fed { handle: FederateHandle::new(99), ..a };
    assert_eq!(w.refused(a, register("third", &[nobody])), Exception::InvalidFederateHandle);
}

#[test]
fn resigned_federates_are_not_waited_for() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.ok(a, register("go", &[]));
    w.ok(a, register("only b", &[b]));
    w.ok(a, achieved("go", true));
    w.callbacks(a);
    w.lose(b);
    assert_eq!(w.callbacks(a), ["synchronized go without []"]);
    w.ok(a, register("only b", &[]));
    assert_eq!(w.callbacks(a), ["registered only b", "announce only b"], "its label is free again");
}
