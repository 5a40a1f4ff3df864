//! Divesting attributes (clauses 7.2 to 7.7, 7.12 to 7.14).

use hemiola_hla::call::{DeclarationCall, SupportCall, TimeCall};
use hemiola_hla::{Exception, OrderType, Reply};

use super::{Pair, pair};
use crate::world::time;

#[test]
fn unconditional_divestiture_makes_unowned_and_offers() {
    let mut p = pair();
    let c = p.third();
    let (a, b) = (p.a, p.b);
    let call = p.divest("Position");
    p.w.ok(a, call.clone());
    assert!(!p.owns(a, "Position") && p.owns(a, "Load"));
    let assumption = format!("assume {} Position (divest)", p.car);
    assert_eq!(p.callbacks(b), std::slice::from_ref(&assumption));
    assert_eq!(p.callbacks(c), [assumption]);
    assert_eq!(p.callbacks(a), Vec::<String>::new(), "the divesting federate is not asked");
    assert_eq!(p.w.refused(a, call), Exception::AttributeNotOwned);
}

#[test]
fn the_first_seeker_acquires_divested_attributes() {
    let mut p = pair();
    let (a, b, c) = (p.a, p.b, p.third());
    let seek = p.seek("Position", "mine");
    p.w.ok(b, seek.clone());
    p.w.ok(c, seek);
    let call = p.divest("Position");
    p.callbacks(a);
    p.w.ok(a, call);
    assert_eq!(p.callbacks(b)[0], format!("acquired {} Position (divest)", p.car));
    assert!(p.owns(b, "Position") && !p.owns(c, "Position"));
    // The next seeker now waits for the new owner.
    let call = p.divest_if_wanted("Position");
    p.callbacks(c);
    assert_eq!(p.w.ok(b, call), Reply::Attributes(p.w.attributes("Position")));
    assert_eq!(p.callbacks(c)[0], format!("acquired {} Position (wanted)", p.car));
}

#[test]
fn the_new_owner_is_asked_to_release_to_remaining_seekers() {
    let mut p = pair();
    let (a, b, c) = (p.a, p.b, p.third());
    let (first, second) = (p.seek("Load", "b"), p.seek("Load", "c"));
    p.w.ok(b, first);
    p.w.ok(c, second);
    let car = p.car;
    assert_eq!(
        p.callbacks(a),
        [format!("release {car} Load (b)"), format!("release {car} Load (c)")]
    );
    let call = p.divest("Load");
    p.w.ok(a, call);
    assert_eq!(
        p.callbacks(b),
        [format!("acquired {car} Load (divest)"), format!("release {car} Load (c)")]
    );
}

#[test]
fn an_offer_is_negotiated_and_confirmed() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let offer = p.offer("Position Load");
    p.w.ok(a, offer);
    assert_eq!(p.callbacks(b), [format!("assume {car} Load+Position (offer)")]);
    let again = p.offer("Position");
    assert_eq!(p.w.refused(a, again), Exception::AttributeAlreadyBeingDivested);
    let confirm = p.confirm("Position");
    assert_eq!(p.w.refused(a, confirm.clone()), Exception::NoAcquisitionPending);
    let seek = p.seek("Position", "please");
    p.w.ok(b, seek);
    assert_eq!(p.callbacks(a), [format!("confirm {car} Position (please)")]);
    assert!(p.owns(a, "Position"), "until it has confirmed");
    p.w.update(a, car, "Position");
    assert_eq!(p.callbacks(b), [format!("reflect {car} Position")]);
    p.w.ok(a, confirm.clone());
    assert_eq!(p.callbacks(b), [format!("acquired {car} Position (confirm)")]);
    assert!(p.owns(b, "Position") && !p.owns(a, "Position"));
    assert_eq!(p.w.refused(a, confirm), Exception::AttributeNotOwned);
}

#[test]
fn an_offer_with_a_seeker_is_confirmed_at_once() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let seek = p.seek("Position", "early");
    p.w.ok(b, seek);
    assert_eq!(p.callbacks(a), [format!("release {car} Position (early)")]);
    let offer = p.offer("Position");
    p.w.ok(a, offer);
    assert_eq!(p.callbacks(a), [format!("confirm {car} Position (early)")]);
    assert_eq!(p.callbacks(b), Vec::<String>::new());
}

#[test]
fn later_publishers_and_discoverers_are_asked_about_offers() {
    let mut p = pair();
    let (a, car) = (p.a, p.car);
    let offer = p.offer("Position");
    p.w.ok(a, offer);
    let c = p.w.federate("c");
    p.w.subscribe(c, "Vehicle", "Position");
    assert_eq!(p.callbacks(c), [format!("discover {car} as Vehicle")]);
    p.w.publish(c, "Vehicle", "Position");
    assert_eq!(p.callbacks(c), [format!("assume {car} Position (offer)")]);
    p.w.publish(c, "Vehicle", "Position Load");
    assert_eq!(p.callbacks(c), Vec::<String>::new(), "once");
    let d = p.w.federate("d");
    p.w.publish(d, "Vehicle", "Position");
    p.w.subscribe(d, "Vehicle", "Position");
    let expected = [format!("discover {car} as Vehicle"), format!("assume {car} Position (offer)")];
    assert_eq!(p.callbacks(d), expected);
}

#[test]
fn a_withdrawn_offer_changes_nothing() {
    let mut p = pair();
    let (a, b, c, car) = (p.a, p.b, p.third(), p.car);
    let cancel = p.cancel_offer("Position");
    assert_eq!(p.w.refused(a, cancel.clone()), Exception::AttributeDivestitureWasNotRequested);
    let (offer, seek, if_available) =
        (p.offer("Position"), p.seek("Position", "b"), p.seek_if_available("Position"));
    p.w.ok(a, offer);
    p.w.ok(b, seek);
    p.w.ok(c, if_available);
    let _ = (p.callbacks(a), p.callbacks(b), p.callbacks(c));
    p.w.ok(a, cancel);
    assert_eq!(p.callbacks(c), [format!("unavailable {car} Position (if)")]);
    assert_eq!(p.callbacks(a), [format!("release {car} Position (b)")], "b still waits");
    let confirm = p.confirm("Position");
    assert_eq!(p.w.refused(a, confirm), Exception::AttributeDivestitureWasNotRequested);
}

#[test]
fn denied_releases_are_reported() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let (seek, deny) = (p.seek("Position", "b"), p.deny("Position"));
    p.w.ok(b, seek);
    p.w.ok(a, deny.clone());
    assert_eq!(p.callbacks(b), [format!("unavailable {car} Position (denied)")]);
    let divest = p.divest("Position");
    p.w.ok(a, divest);
    assert_eq!(
        p.callbacks(b),
        [format!("assume {car} Position (divest)")],
        "the denied request has ended"
    );
    assert_eq!(p.w.refused(a, deny), Exception::AttributeNotOwned);
}

#[test]
fn divestiture_if_wanted_divests_only_sought_attributes() {
    let mut p = pair();
    let (a, b) = (p.a, p.b);
    let (seek, divest) = (p.seek("Load", "b"), p.divest_if_wanted("Position Load"));
    p.w.ok(b, seek);
    assert_eq!(p.w.ok(a, divest.clone()), Reply::Attributes(p.w.attributes("Load")));
    assert!(p.owns(a, "Position") && p.owns(b, "Load"));
    assert_eq!(p.w.refused(a, divest), Exception::AttributeNotOwned);
}

#[test]
fn unpublished_attributes_find_a_new_owner() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let seek = p.seek("Position", "b");
    p.w.ok(b, seek);
    let object_class = p.w.class("Vehicle");
    p.w.ok(a, DeclarationCall::UnpublishObjectClass { object_class });
    let callbacks = p.callbacks(b);
    assert_eq!(callbacks[0], format!("acquired {car} Position ()"));
    assert!(callbacks[1].starts_with(&format!("assume {car}")), "{callbacks:?}");
}

/// The sending options that another owner chose end with its ownership.
#[test]
fn a_new_owner_uses_its_own_sending_options() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let (object_instance, attributes) = (car, p.w.attributes("Position"));
    let order_type = Some(OrderType::Receive);
    p.w.ok(a, TimeCall::ChangeAttributeOrderType { object_instance, attributes, order_type });
    let (divest, seek) = (p.divest("Position"), p.seek("Position", ""));
    p.w.regulate(b, 1);
    p.w.ok(a, divest);
    p.w.ok(b, seek);
    assert!(p.w.update_at(b, car, "Position", 5).is_some(), "in time stamp order");
    let asked = TimeCall::QueryLogicalTime;
    assert_eq!(p.w.ok(b, asked), Reply::Time(time(0).into()));
}

#[test]
fn advisories_follow_the_owner() {
    let mut p: Pair = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    for fed in [a, b] {
        p.w.ok(fed, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
        p.w.ok(fed, SupportCall::SetAttributeScopeAdvisorySwitch { value: true });
    }
    let _ = (p.callbacks(a), p.callbacks(b));
    for _ in 0..2 {
        let (divest, seek) = (p.divest("Position"), p.seek("Position", ""));
        p.w.ok(b, seek.clone());
        p.w.ok(a, divest.clone());
        assert_eq!(
            p.callbacks(b),
            [
                format!("acquired {car} Position (divest)"),
                format!("out of scope {car} Position"),
                format!("updates on {car} Position"),
            ]
        );
        assert_eq!(
            p.callbacks(a),
            [format!("release {car} Position ()"), format!("in scope {car} Position")]
        );
        p.w.ok(a, seek);
        p.w.ok(b, divest);
        let expected = [
            format!("acquired {car} Position (divest)"),
            format!("out of scope {car} Position"),
            format!("updates on {car} Position"),
        ];
        assert_eq!(p.callbacks(a), expected, "advisories start afresh");
        p.callbacks(b);
    }
}
