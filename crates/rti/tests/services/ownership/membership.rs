//! Ownership when federates leave and instances are deleted (clauses 4.12, 6.16).

use hemiola_hla::call::{FederationCall, ObjectCall, TimeCall};
use hemiola_hla::{Exception, ResignAction};

use super::pair;
use crate::world::time;

#[test]
fn attributes_of_a_lost_federate_go_to_their_seeker() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let seek = p.seek("Position", "");
    p.w.ok(b, seek);
    p.w.ok(
        a,
        hemiola_hla::call::SupportCall::SetAutomaticResignDirective {
            value: Some(ResignAction::UnconditionallyDivestAttributes),
        },
    );
    p.w.lose(a);
    let callbacks = p.callbacks(b);
    assert_eq!(callbacks[0], format!("acquired {car} Position ()"));
    assert!(
        callbacks[1].starts_with(&format!("assume {car}")) && callbacks[1].contains("Load"),
        "{callbacks:?}"
    );
}

#[test]
fn a_seeker_resigns_only_by_a_directive_that_cancels() {
    let actions = [
        (ResignAction::UnconditionallyDivestAttributes, false),
        (ResignAction::DeleteObjects, false),
        (ResignAction::CancelPendingOwnershipAcquisitions, true),
        (ResignAction::DeleteObjectsThenDivest, false),
        (ResignAction::CancelThenDeleteThenDivest, true),
        (ResignAction::NoAction, false),
    ];
    for (action, cancels) in actions {
        let mut p = pair();
        let (a, b) = (p.a, p.b);
        let seek = p.seek("Position", "");
        p.w.ok(b, seek);
        let call = FederationCall::ResignFederationExecution { resign_action: Some(action) };
        match p.w.call(b, call) {
            Ok(_) => assert!(cancels, "{action}"),
            Err(refusal) => {
                assert_eq!(refusal.exception, Exception::OwnershipAcquisitionPending);
                assert!(!cancels, "{action}");
            }
        }
        let divest = p.divest("Position");
        p.w.ok(a, divest);
    }
}

#[test]
fn a_directive_must_divest_or_delete_everything_owned() {
    let refused = |action| {
        let mut p = pair();
        let (a, b) = (p.a, p.b);
        let (divest, seek) = (p.divest("Position"), p.seek("Position", ""));
        p.w.ok(a, divest);
        p.w.ok(b, seek);
        let call = FederationCall::ResignFederationExecution { resign_action: Some(action) };
        // It owns an attribute of an instance that it cannot delete.
        p.w.call(b, call).err().map(|refusal| refusal.exception)
    };
    let owns = Some(Exception::FederateOwnsAttributes);
    assert_eq!(refused(ResignAction::NoAction), owns);
    assert_eq!(refused(ResignAction::CancelPendingOwnershipAcquisitions), owns);
    assert_eq!(refused(ResignAction::DeleteObjects), owns);
    assert_eq!(refused(ResignAction::UnconditionallyDivestAttributes), None);
    assert_eq!(refused(ResignAction::DeleteObjectsThenDivest), None);
    assert_eq!(refused(ResignAction::CancelThenDeleteThenDivest), None);
}

#[test]
fn the_privilege_to_delete_changes_owners_like_any_attribute() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let names = "HLAprivilegeToDeleteObject";
    let (divest, seek) = (p.divest(names), p.seek(names, ""));
    p.w.ok(b, seek);
    p.w.ok(a, divest);
    let call = ObjectCall::DeleteObjectInstance {
        object_instance: car,
        user_supplied_tag: hemiola_hla::Data::new(),
    };
    assert_eq!(p.w.refused(a, call.clone()), Exception::DeletePrivilegeNotHeld);
    p.callbacks(a);
    p.w.ok(b, call);
    assert_eq!(p.callbacks(a), [format!("remove {car}")]);
}

#[test]
fn deleted_instances_are_not_acquired_and_retraction_restores_the_owner() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    p.w.regulate(a, 1);
    p.w.constrain(b);
    let seek = p.seek("Position", "b");
    p.w.ok(b, seek.clone());
    let (_, _) = (p.callbacks(a), p.callbacks(b));
    let call = ObjectCall::DeleteObjectInstanceWithTime {
        object_instance: car,
        user_supplied_tag: hemiola_hla::Data::new(),
        time: time(5).into(),
    };
    let hemiola_hla::Reply::Retraction(Some(retraction)) = p.w.ok(a, call) else { panic!() };
    assert_eq!(p.callbacks(b), [format!("unavailable {car} Position (b)")]);
    p.w.ok(b, seek);
    assert_eq!(p.callbacks(b), [format!("unavailable {car} Position (b)")]);
    p.w.ok(a, TimeCall::Retract { retraction });
    assert!(p.owns(a, "Position") && !p.owns(b, "Position"));
}
