//! Owners give attributes away (clauses 7.2 to 7.7, 7.12 to 7.14).

use hemiola_hla::call::{DeclarationCall, SupportCall, TimeCall};
use hemiola_hla::{Exception, OrderType, Reply};

use super::{Pair, pair};
use crate::world::time;

#[test]
fn who_divests_unconditionally_owns_no_more_and_others_may_assume() {
    let mut p = pair();
    let c = p.third();
    let (a, b) = (p.a, p.b);
    let call = p.divest("Position");
    p.w.ok(a, call.clone());
    assert!(!p.owns(a, "Position") && p.owns(a, "Load"));
    let assumption = format!("assume {} Position (divest)", p.car);
    assert_eq!(p.told(b), std::slice::from_ref(&assumption));
    assert_eq!(p.told(c), [assumption]);
    assert_eq!(p.told(a), Vec::<String>::new(), "it is not asked itself");
    assert_eq!(p.w.refused(a, call), Exception::AttributeNotOwned);
}

#[test]
fn who_waits_for_it_gets_what_is_divested() {
    let mut p = pair();
    let (a, b, c) = (p.a, p.b, p.third());
    let seek = p.seek("Position", "mine");
    p.w.ok(b, seek.clone());
    p.w.ok(c, seek);
    let call = p.divest("Position");
    p.told(a);
    p.w.ok(a, call);
    assert_eq!(p.told(b)[0], format!("acquired {} Position (divest)", p.car));
    assert!(p.owns(b, "Position") && !p.owns(c, "Position"));
    // Now the next one waits for the new owner.
    let call = p.divest_if_wanted("Position");
    p.told(c);
    assert_eq!(p.w.ok(b, call), Reply::Attributes(p.w.attributes("Position")));
    assert_eq!(p.told(c)[0], format!("acquired {} Position (wanted)", p.car));
}

#[test]
fn the_new_owner_is_asked_for_release_by_who_still_waits() {
    let mut p = pair();
    let (a, b, c) = (p.a, p.b, p.third());
    let (first, second) = (p.seek("Load", "b"), p.seek("Load", "c"));
    p.w.ok(b, first);
    p.w.ok(c, second);
    let car = p.car;
    assert_eq!(p.told(a), [format!("release {car} Load (b)"), format!("release {car} Load (c)")]);
    let call = p.divest("Load");
    p.w.ok(a, call);
    assert_eq!(
        p.told(b),
        [format!("acquired {car} Load (divest)"), format!("release {car} Load (c)")]
    );
}

#[test]
fn an_offer_is_negotiated_and_confirmed() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let offer = p.offer("Position Load");
    p.w.ok(a, offer);
    assert_eq!(p.told(b), [format!("assume {car} Load+Position (offer)")]);
    let again = p.offer("Position");
    assert_eq!(p.w.refused(a, again), Exception::AttributeAlreadyBeingDivested);
    let confirm = p.confirm("Position");
    assert_eq!(p.w.refused(a, confirm.clone()), Exception::NoAcquisitionPending);
    let seek = p.seek("Position", "please");
    p.w.ok(b, seek);
    assert_eq!(p.told(a), [format!("confirm {car} Position (please)")]);
    assert!(p.owns(a, "Position"), "until it has confirmed");
    p.w.update(a, car, "Position");
    assert_eq!(p.told(b), [format!("reflect {car} Position")]);
    p.w.ok(a, confirm.clone());
    assert_eq!(p.told(b), [format!("acquired {car} Position (confirm)")]);
    assert!(p.owns(b, "Position") && !p.owns(a, "Position"));
    assert_eq!(p.w.refused(a, confirm), Exception::AttributeNotOwned);
}

#[test]
fn who_seeks_already_is_what_an_offer_waits_for() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let seek = p.seek("Position", "early");
    p.w.ok(b, seek);
    assert_eq!(p.told(a), [format!("release {car} Position (early)")]);
    let offer = p.offer("Position");
    p.w.ok(a, offer);
    assert_eq!(p.told(a), [format!("confirm {car} Position (early)")]);
    assert_eq!(p.told(b), Vec::<String>::new());
}

#[test]
fn who_comes_to_publish_or_to_know_later_is_asked_about_what_is_offered() {
    let mut p = pair();
    let (a, car) = (p.a, p.car);
    let offer = p.offer("Position");
    p.w.ok(a, offer);
    let c = p.w.federate("c");
    p.w.subscribe(c, "Vehicle", "Position");
    assert_eq!(p.told(c), [format!("discover {car} as Vehicle")]);
    p.w.publish(c, "Vehicle", "Position");
    assert_eq!(p.told(c), [format!("assume {car} Position (offer)")]);
    p.w.publish(c, "Vehicle", "Position Load");
    assert_eq!(p.told(c), Vec::<String>::new(), "once");
    let d = p.w.federate("d");
    p.w.publish(d, "Vehicle", "Position");
    p.w.subscribe(d, "Vehicle", "Position");
    let expected = [format!("discover {car} as Vehicle"), format!("assume {car} Position (offer)")];
    assert_eq!(p.told(d), expected);
}

#[test]
fn an_offer_that_is_taken_back_leaves_things_as_they_were() {
    let mut p = pair();
    let (a, b, c, car) = (p.a, p.b, p.third(), p.car);
    let cancel = p.cancel_offer("Position");
    assert_eq!(p.w.refused(a, cancel.clone()), Exception::AttributeDivestitureWasNotRequested);
    let (offer, seek, if_available) =
        (p.offer("Position"), p.seek("Position", "b"), p.seek_if_available("Position"));
    p.w.ok(a, offer);
    p.w.ok(b, seek);
    p.w.ok(c, if_available);
    let _ = (p.told(a), p.told(b), p.told(c));
    p.w.ok(a, cancel);
    assert_eq!(p.told(c), [format!("unavailable {car} Position (if)")]);
    assert_eq!(p.told(a), [format!("release {car} Position (b)")], "b still waits");
    let confirm = p.confirm("Position");
    assert_eq!(p.w.refused(a, confirm), Exception::AttributeDivestitureWasNotRequested);
}

#[test]
fn who_is_denied_a_release_is_told_so() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let (seek, deny) = (p.seek("Position", "b"), p.deny("Position"));
    p.w.ok(b, seek);
    p.w.ok(a, deny.clone());
    assert_eq!(p.told(b), [format!("unavailable {car} Position (denied)")]);
    let divest = p.divest("Position");
    p.w.ok(a, divest);
    assert_eq!(p.told(b), [format!("assume {car} Position (divest)")], "it has to ask again");
    assert_eq!(p.w.refused(a, deny), Exception::AttributeNotOwned);
}

#[test]
fn only_what_is_wanted_is_divested_if_wanted() {
    let mut p = pair();
    let (a, b) = (p.a, p.b);
    let (seek, divest) = (p.seek("Load", "b"), p.divest_if_wanted("Position Load"));
    p.w.ok(b, seek);
    assert_eq!(p.w.ok(a, divest.clone()), Reply::Attributes(p.w.attributes("Load")));
    assert!(p.owns(a, "Position") && p.owns(b, "Load"));
    assert_eq!(p.w.refused(a, divest), Exception::AttributeNotOwned);
}

#[test]
fn what_is_no_more_published_finds_a_new_owner() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let seek = p.seek("Position", "b");
    p.w.ok(b, seek);
    let object_class = p.w.class("Vehicle");
    p.w.ok(a, DeclarationCall::UnpublishObjectClass { object_class });
    let told = p.told(b);
    assert_eq!(told[0], format!("acquired {car} Position ()"));
    assert!(told[1].starts_with(&format!("assume {car}")), "{told:?}");
}

/// What another owner chose for an attribute is over with its ownership.
#[test]
fn a_new_owner_sends_as_it_sends_such_attributes() {
    let mut p = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    let (object_instance, attributes) = (car, p.w.attributes("Position"));
    let order_type = Some(OrderType::Receive);
    p.w.ok(a, TimeCall::ChangeAttributeOrderType { object_instance, attributes, order_type });
    let (divest, seek) = (p.divest("Position"), p.seek("Position", ""));
    p.w.regulate(b, 1);
    p.w.ok(a, divest);
    p.w.ok(b, seek);
    assert!(p.w.update_at(b, car, "Position", 5).is_some(), "in the order of time");
    let asked = TimeCall::QueryLogicalTime;
    assert_eq!(p.w.ok(b, asked), Reply::Time(time(0).into()));
}

#[test]
fn advice_follows_the_owner() {
    let mut p: Pair = pair();
    let (a, b, car) = (p.a, p.b, p.car);
    for fed in [a, b] {
        p.w.ok(fed, SupportCall::SetAttributeRelevanceAdvisorySwitch { value: true });
        p.w.ok(fed, SupportCall::SetAttributeScopeAdvisorySwitch { value: true });
    }
    let _ = (p.told(a), p.told(b));
    for _ in 0..2 {
        let (divest, seek) = (p.divest("Position"), p.seek("Position", ""));
        p.w.ok(b, seek.clone());
        p.w.ok(a, divest.clone());
        assert_eq!(
            p.told(b),
            [
                format!("acquired {car} Position (divest)"),
                format!("out of scope {car} Position"),
                format!("updates on {car} Position"),
            ]
        );
        assert_eq!(
            p.told(a),
            [format!("release {car} Position ()"), format!("in scope {car} Position")]
        );
        p.w.ok(a, seek);
        p.w.ok(b, divest);
        let expected = [
            format!("acquired {car} Position (divest)"),
            format!("out of scope {car} Position"),
            format!("updates on {car} Position"),
        ];
        assert_eq!(p.told(a), expected, "it is told anew");
        p.told(b);
    }
}
