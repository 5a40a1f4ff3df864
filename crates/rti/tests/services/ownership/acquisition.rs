//! Acquiring attributes (clauses 7.8 to 7.11, 7.15 to 7.19).

use hemiola_hla::call::{DeclarationCall, ObjectCall, OwnershipCall as C};
use hemiola_hla::{Exception, ObjectInstanceHandle, Reply};
use hemiola_rti::Limits;

use super::pair;
use crate::world::MODEL;

#[test]
fn unowned_attributes_are_acquired_at_once() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let divest = p.divest("Position Load");
    p.w.ok(a, divest);
    p.callbacks(b);
    for seek in [p.seek("Position", "tag"), p.seek_if_available("Load")] {
        p.w.ok(b, seek);
    }
    assert_eq!(
        p.callbacks(b),
        [format!("acquired {car} Position ()"), format!("acquired {car} Load ()")]
    );
    p.w.update(b, car, "Position Load");
    // They have other sending options.
    assert_eq!(p.callbacks(a), [format!("reflect {car} Position"), format!("reflect {car} Load")]);
}

#[test]
fn an_owner_is_asked_to_release() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let seek = p.seek("Position", "please");
    p.w.ok(b, seek.clone());
    assert_eq!(p.callbacks(a), [format!("release {car} Position (please)")]);
    assert!(!p.owns(b, "Position"));
    p.w.ok(b, seek);
    assert_eq!(
        p.callbacks(a),
        [format!("release {car} Position (please)")],
        "again, if asked again"
    );
}

#[test]
fn owned_attributes_are_unavailable_unless_offered() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let seek = p.seek_if_available("Position");
    p.w.ok(b, seek.clone());
    assert_eq!(p.callbacks(b), [format!("unavailable {car} Position (if)")]);
    assert_eq!(p.callbacks(a), Vec::<String>::new());
    let offer = p.offer("Position");
    p.w.ok(a, offer);
    p.callbacks(b);
    p.w.ok(b, seek.clone());
    assert_eq!(p.callbacks(a), [format!("confirm {car} Position (if)")]);
    assert_eq!(p.w.refused(b, seek), Exception::AttributeAlreadyBeingAcquired);
    let cancel = p.cancel_seeking("Position");
    assert_eq!(p.w.refused(b, cancel), Exception::AttributeAcquisitionWasNotRequested);
    let confirm = p.confirm("Position");
    p.w.ok(a, confirm);
    assert_eq!(p.callbacks(b), [format!("acquired {car} Position (confirm)")]);
}

#[test]
fn cancelling_an_acquisition_is_confirmed() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let (seek, cancel) = (p.seek("Position", ""), p.cancel_seeking("Position"));
    assert_eq!(p.w.refused(b, cancel.clone()), Exception::AttributeAcquisitionWasNotRequested);
    assert_eq!(p.w.refused(a, cancel.clone()), Exception::AttributeAlreadyOwned);
    p.w.ok(b, seek);
    p.w.ok(b, cancel.clone());
    assert_eq!(p.callbacks(b), [format!("cancelled {car} Position")]);
    assert_eq!(p.w.refused(b, cancel), Exception::AttributeAcquisitionWasNotRequested);
    let offer = p.offer("Position");
    p.w.ok(a, offer);
    let confirm = p.confirm("Position");
    assert_eq!(p.w.refused(a, confirm), Exception::NoAcquisitionPending);
}

#[test]
fn an_owner_is_asked_to_confirm_again_for_the_next_seeker() {
    let mut p = pair();
    let (a, b, c, car) = (p.a, p.b, p.third(), p.car);
    let (offer, first, cancel, second) =
        (p.offer("Load"), p.seek("Load", "b"), p.cancel_seeking("Load"), p.seek("Load", "c"));
    p.w.ok(a, offer);
    p.w.ok(b, first);
    p.w.ok(b, cancel);
    p.w.ok(c, second);
    assert_eq!(
        p.callbacks(a),
        [format!("confirm {car} Load (b)"), format!("confirm {car} Load (c)")]
    );
}

#[test]
fn only_publishers_can_own() {
    let mut p = pair();
    let c = p.w.federate("c");
    p.w.subscribe(c, "Vehicle", "Position");
    for seek in [p.seek("Position", ""), p.seek_if_available("Position")] {
        assert_eq!(p.w.refused(c, seek), Exception::ObjectClassNotPublished);
    }
    p.w.publish(c, "Vehicle", "Load");
    for seek in [p.seek("Position", ""), p.seek_if_available("Position")] {
        assert_eq!(p.w.refused(c, seek), Exception::AttributeNotPublished);
    }
    let a = p.a;
    for seek in [p.seek("Position", ""), p.seek_if_available("Position")] {
        assert_eq!(p.w.refused(a, seek), Exception::FederateOwnsAttributes);
    }
}

/// An exception that is later in the standard's list takes precedence.
#[test]
fn an_unknown_instance_precedes_all_other_exceptions() {
    let mut p = pair();
    let (a, driver) = (p.a, p.w.attributes("Driver"));
    let nobody = ObjectInstanceHandle::new(99);
    let calls = |object_instance| {
        let (attributes, tag) = (driver.clone(), hemiola_hla::Data::new());
        [
            C::UnconditionalAttributeOwnershipDivestiture {
                object_instance,
                attributes: attributes.clone(),
                user_supplied_tag: tag.clone(),
            },
            C::NegotiatedAttributeOwnershipDivestiture {
                object_instance,
                attributes: attributes.clone(),
                user_supplied_tag: tag.clone(),
            },
            C::ConfirmDivestiture {
                object_instance,
                confirmed_attributes: attributes.clone(),
                user_supplied_tag: tag.clone(),
            },
            C::AttributeOwnershipAcquisition {
                object_instance,
                desired_attributes: attributes.clone(),
                user_supplied_tag: tag.clone(),
            },
            C::AttributeOwnershipAcquisitionIfAvailable {
                object_instance,
                desired_attributes: attributes.clone(),
                user_supplied_tag: tag.clone(),
            },
            C::AttributeOwnershipReleaseDenied {
                object_instance,
                attributes: attributes.clone(),
                user_supplied_tag: tag.clone(),
            },
            C::AttributeOwnershipDivestitureIfWanted {
                object_instance,
                attributes: attributes.clone(),
                user_supplied_tag: tag,
            },
            C::CancelNegotiatedAttributeOwnershipDivestiture {
                object_instance,
                attributes: attributes.clone(),
            },
            C::CancelAttributeOwnershipAcquisition {
                object_instance,
                attributes: attributes.clone(),
            },
            C::QueryAttributeOwnership { object_instance, attributes: attributes.clone() },
            C::IsAttributeOwnedByFederate { object_instance, attribute: attributes[0] },
        ]
    };
    for call in calls(nobody) {
        assert_eq!(p.w.refused(a, call), Exception::ObjectInstanceNotKnown);
    }
    for call in calls(p.car) {
        assert_eq!(p.w.refused(a, call), Exception::AttributeNotDefined);
    }
}

#[test]
fn owners_are_reported() {
    let mut p = pair();
    let (a, b, object_instance) = (p.a, p.b, p.car);
    let divest = p.divest("Load");
    p.w.ok(a, divest);
    p.callbacks(b);
    let attributes = p.w.attributes("Position Load");
    p.w.ok(b, C::QueryAttributeOwnership { object_instance, attributes });
    let car = p.car;
    assert_eq!(
        p.callbacks(b),
        [format!("{car} Load of nobody"), format!("{car} Position of {}", a.handle)]
    );
}

#[test]
fn a_pending_acquisition_prevents_local_deletion_and_unpublishing() {
    let mut p = pair();
    let (b, car) = (p.b, p.car);
    let (seek, cancel) = (p.seek("Position", ""), p.cancel_seeking("Position"));
    p.w.ok(b, seek);
    let object_class = p.w.class("Vehicle");
    let unpublish = DeclarationCall::UnpublishObjectClass { object_class };
    assert_eq!(p.w.refused(b, unpublish.clone()), Exception::OwnershipAcquisitionPending);
    let some = |w: &crate::world::World, names| DeclarationCall::UnpublishObjectClassAttributes {
        object_class,
        attributes: w.attributes(names),
    };
    let (position, load) = (some(&p.w, "Position"), some(&p.w, "Load"));
    assert_eq!(p.w.refused(b, position), Exception::OwnershipAcquisitionPending);
    p.w.ok(b, load);
    let local = ObjectCall::LocalDeleteObjectInstance { object_instance: car };
    assert_eq!(p.w.refused(b, local.clone()), Exception::OwnershipAcquisitionPending);
    p.w.ok(b, cancel);
    p.w.ok(b, unpublish);
    p.w.ok(b, local);
}

#[test]
fn negotiations_are_limited() {
    let limits = Limits { negotiations: 1, kept_tag_len: 4, ..Limits::default() };
    let mut p = pair();
    let mut w = crate::world::World::with(limits, MODEL);
    let (a, b) = (w.federate("a"), w.federate("b"));
    for fed in [a, b] {
        w.publish(fed, "Vehicle", "Position Load");
        w.subscribe(fed, "Vehicle", "Position Load");
    }
    p.car = w.register(a, "Vehicle");
    p.w = w;
    let (both, long, one) =
        (p.seek("Position Load", ""), p.seek("Load", "12345"), p.seek("Load", ""));
    assert_eq!(p.w.refused(b, both), Exception::RTIinternalError);
    assert_eq!(p.w.refused(b, long), Exception::RTIinternalError);
    assert_eq!(p.w.ok(b, one), Reply::Done);
    let other = p.offer("Position");
    assert_eq!(p.w.refused(a, other), Exception::RTIinternalError);
}
