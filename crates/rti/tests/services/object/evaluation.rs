//! Subscriptions are looked at when messages are sent, or when they are delivered: the switch
//! `delaySubscriptionEvaluation` (clause 10.53).

use hemiola_hla::call::{DeclarationCall, ObjectCall, OwnershipCall, TimeCall};
use hemiola_hla::{Exception, Reply};
use hemiola_rti::{Input, Limits};
use hemiola_units::Instant;

use crate::world::{Fed, World, model_with};

const SWITCH: &str = "delaySubscriptionEvaluation";

/// With the switch off and on: a sender and a receiver that take part in time.
fn both() -> [(bool, World, Fed, Fed); 2] {
    [false, true].map(|on| {
        let mut w = if on { World::with_switch(SWITCH) } else { World::new() };
        let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
        w.publish(a, "Vehicle.Car", "Position Load Driver");
        w.publish_interaction(a, "Command.Stop");
        (on, w, a, b)
    })
}

/// The same with the switch on alone.
fn delayed() -> (World, Fed, Fed) {
    let [_, (_, w, a, b)] = both();
    (w, a, b)
}

fn nothing() -> Vec<String> {
    Vec::new()
}

#[test]
fn who_unsubscribes_before_the_delivery_gets_nothing_if_the_switch_is_on() {
    for (on, mut w, a, b) in both() {
        w.subscribe(b, "Vehicle", "Position");
        w.subscribe_interaction(b, "Command");
        let car = w.register(a, "Vehicle.Car");
        w.told(b);
        w.update_at(a, car, "Position", 5);
        w.send_at(a, "Command.Stop", 6);
        w.unsubscribe(b, "Vehicle");
        let interaction_class = w.interaction("Command");
        w.ok(b, DeclarationCall::UnsubscribeInteractionClass { interaction_class });
        w.tar(a, 10);
        w.tar(b, 10);
        let told = w.told(b);
        if on {
            assert_eq!(told, ["grant 10"]);
        } else {
            let update = format!("reflect {car} Position at 5");
            assert_eq!(told, [update.as_str(), "receive Command at 6", "grant 10"]);
        }
    }
}

#[test]
fn who_subscribes_before_the_delivery_gets_the_message_if_the_switch_is_on() {
    for (on, mut w, a, b) in both() {
        let car = w.register(a, "Vehicle.Car");
        w.update_at(a, car, "Position Driver", 5);
        w.send_at(a, "Command.Stop", 6);
        // It only now comes to know the car.
        w.subscribe(b, "Vehicle", "Position");
        w.subscribe_interaction(b, "Command");
        assert_eq!(w.told(b), [format!("discover {car} as Vehicle")]);
        w.tar(a, 10);
        w.tar(b, 10);
        let told = w.told(b);
        if on {
            let update = format!("reflect {car} Position at 5");
            assert_eq!(told, [update.as_str(), "receive Command at 6", "grant 10"]);
        } else {
            assert_eq!(told, ["grant 10"]);
        }
    }
}

#[test]
fn each_gets_the_attributes_that_it_subscribes_to_at_the_delivery() {
    let (mut w, a, b) = delayed();
    let c = w.in_time("c", 1);
    w.subscribe(b, "Vehicle.Car", "Position Driver");
    w.subscribe(c, "Vehicle.Car", "Position");
    let car = w.register(a, "Vehicle.Car");
    w.update_at(a, car, "Position Driver", 5);
    let (object_class, attributes) = (w.class("Vehicle.Car"), w.attributes("Position"));
    w.ok(b, DeclarationCall::UnsubscribeObjectClassAttributes { object_class, attributes });
    w.subscribe(c, "Vehicle.Car", "Driver");
    for fed in [a, b, c] {
        w.tar(fed, 10);
    }
    assert_eq!(w.told(b)[1..], [format!("reflect {car} Driver at 5"), "grant 10".into()]);
    assert_eq!(w.told(c)[1..], [format!("reflect {car} Position+Driver at 5"), "grant 10".into()]);
}

#[test]
fn who_may_have_a_message_at_once_has_to_be_subscribed_when_it_is_sent() {
    let (mut w, a, _) = delayed();
    let c = w.federate("c");
    w.send_at(a, "Command.Stop", 5);
    w.send(a, "Command.Stop", "");
    w.subscribe_interaction(c, "Command");
    assert_eq!(w.told(c), nothing());
    w.send_at(a, "Command.Stop", 5);
    w.send(a, "Command.Stop", "What Within");
    assert_eq!(w.told(c), ["receive Command of 5", "receive Command What"]);
}

#[test]
fn who_joins_after_a_message_was_sent_does_not_get_it() {
    let (mut w, a, b) = delayed();
    w.send_at(a, "Command.Stop", 5);
    let c = w.in_time("c", 1);
    w.subscribe_interaction(c, "Command");
    for fed in [a, b, c] {
        w.tar(fed, 10);
    }
    assert_eq!(w.told(c), ["grant 10"]);
}

#[test]
fn messages_without_a_time_that_are_held_are_looked_at_when_they_are_released() {
    for (on, mut w, a, b) in both() {
        w.subscribe_interaction(b, "Command");
        w.send(a, "Command.Stop", "What");
        let interaction_class = w.interaction("Command");
        w.ok(b, DeclarationCall::UnsubscribeInteractionClass { interaction_class });
        let car = w.register(a, "Vehicle.Car");
        w.update(a, car, "Load");
        w.subscribe(b, "Vehicle", "Load");
        assert_eq!(w.told(b), [format!("discover {car} as Vehicle")]);
        w.ok(b, TimeCall::EnableAsynchronousDelivery);
        let expected =
            if on { format!("reflect {car} Load") } else { "receive Command What".into() };
        assert_eq!(w.told(b), [expected]);
    }
}

#[test]
fn the_rate_of_a_subscription_is_looked_at_when_updates_are_released() {
    let (mut w, a, b) = delayed();
    let slowly = DeclarationCall::SubscribeObjectClassAttributesWithRate {
        object_class: w.class("Vehicle"),
        attributes: w.attributes("Load"),
        update_rate_designator: "Slow".into(),
    };
    w.ok(b, slowly);
    let car = w.register(a, "Vehicle.Car");
    w.told(b);
    let expected = format!("reflect {car} Load");
    for (millis, is_due) in [(1_000, true), (1_400, false), (1_500, true)] {
        w.input(Input::Tick(Instant::from_nanos(millis * 1_000_000)));
        w.update(a, car, "Load");
        w.update(a, car, "Load");
        assert_eq!(w.told(b), nothing(), "it is held");
        w.ok(b, TimeCall::EnableAsynchronousDelivery);
        w.ok(b, TimeCall::DisableAsynchronousDelivery);
        let expected = if is_due { vec![expected.clone()] } else { Vec::new() };
        assert_eq!(w.told(b), expected, "of two at most one, at {millis} ms");
    }
}

#[test]
fn a_request_stops_at_no_message_that_is_not_wanted() {
    let (mut w, a, b) = delayed();
    w.subscribe_interaction(b, "Command");
    let car = w.register(a, "Vehicle.Car");
    w.update_at(a, car, "Position", 3);
    w.send_at(a, "Command.Stop", 5);
    w.nmr(b, 10);
    w.tar(a, 4);
    assert_eq!(w.told(b), nothing(), "not at 3, where it could");
    w.tar(a, 20);
    assert_eq!(w.told(b), ["receive Command at 5", "grant 5"]);
    w.update_at(a, car, "Position", 21);
    w.nmr(b, 20);
    assert_eq!(w.told(b), ["grant 20"]);
}

#[test]
fn a_waiting_federate_that_subscribes_in_time_stops_at_the_message() {
    let (mut w, a, b) = delayed();
    w.send_at(a, "Command.Stop", 3);
    w.send_at(a, "Command.Stop", 6);
    w.nmr(b, 10);
    // With this the first is over: b could have been granted 3.
    w.tar(a, 4);
    w.subscribe_interaction(b, "Command");
    assert_eq!(w.told(b), nothing());
    w.tar(a, 20);
    assert_eq!(w.told(b), ["receive Command at 6", "grant 6"]);
}

#[test]
fn what_it_may_come_to_want_holds_others_back_until_it_is_over() {
    let (mut w, a, b) = delayed();
    w.send_at(a, "Command.Stop", 3);
    assert_eq!(w.lits(b), Some(1), "GALT");
    w.tara(a, 8);
    assert_eq!((w.galt(b), w.lits(b)), (Some(9), Some(3)));
    w.told(a);
    w.nmr(b, 50);
    assert_eq!(w.lits(b), Some(9), "it could stop at 3 and does not want to");
    w.nmr(a, 50);
    assert_eq!(
        (w.told(a).last(), w.told(b).last()),
        (Some(&"grant 50".into()), Some(&"grant 50".into()))
    );
}

#[test]
fn a_flush_and_the_end_of_constraint_look_at_everything() {
    let (mut w, a, b) = delayed();
    let car = w.register(a, "Vehicle.Car");
    w.update_at(a, car, "Position", 3);
    w.send_at(a, "Command.Stop", 5);
    w.subscribe_interaction(b, "Command");
    w.fqr(b, 20);
    assert_eq!(w.told(b), ["receive Command at 5", "flush grant 1 optimistic 5"]);
    w.subscribe(b, "Vehicle", "Position");
    w.update_at(a, car, "Position Driver", 7);
    w.send_at(a, "Command.Stop", 8);
    let interaction_class = w.interaction("Command");
    w.ok(b, DeclarationCall::UnsubscribeInteractionClass { interaction_class });
    w.told(b);
    w.ok(b, TimeCall::DisableTimeConstrained);
    assert_eq!(w.told(b), [format!("reflect {car} Position of 7")]);
}

#[test]
fn only_those_whom_it_reached_are_asked_to_undo_a_message() {
    let (mut w, a, b) = delayed();
    let (c, d) = (w.in_time("c", 1), w.federate("d"));
    w.subscribe_interaction(b, "Command");
    let first = w.send_at(a, "Command.Stop", 5);
    let second = w.send_at(a, "Command.Stop", 6);
    w.subscribe_interaction(d, "Command");
    for fed in [b, c] {
        w.fqr(fed, 20);
    }
    assert_eq!(w.told(b)[..2], ["receive Command at 5", "receive Command at 6"]);
    w.told(c);
    w.ok(a, TimeCall::Retract { retraction: first.unwrap() });
    w.ok(a, TimeCall::Retract { retraction: second.unwrap() });
    assert_eq!([w.told(b).len(), w.told(c).len(), w.told(d).len()], [2, 0, 0]);
    let third = w.send_at(a, "Command.Stop", 7);
    w.ok(a, TimeCall::Retract { retraction: third.unwrap() });
    w.subscribe_interaction(c, "Command");
    w.fqr(c, 20);
    assert_eq!(w.told(c).len(), 1, "what was taken back while it waited never comes");
}

#[test]
fn directed_interactions_reach_who_owns_an_attribute_at_the_delivery() {
    let (mut w, a, b) = delayed();
    let (object_class, interaction_classes) =
        (w.class("Vehicle"), vec![w.interaction("Command.Stop")]);
    w.ok(
        a,
        DeclarationCall::PublishObjectClassDirectedInteractions {
            object_class,
            interaction_classes: interaction_classes.clone(),
        },
    );
    w.ok(
        b,
        DeclarationCall::SubscribeObjectClassDirectedInteractions {
            object_class,
            interaction_classes,
        },
    );
    w.publish(b, "Vehicle", "Position");
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle.Car");
    w.told(b);
    let send = ObjectCall::SendDirectedInteraction {
        interaction_class: w.interaction("Command.Stop"),
        object_instance: car,
        parameter_values: w.parameters("What"),
        user_supplied_tag: "tag".into(),
    };
    w.ok(a, send.clone());
    w.ok(b, TimeCall::EnableAsynchronousDelivery);
    w.ok(b, TimeCall::DisableAsynchronousDelivery);
    assert_eq!(w.told(b), nothing(), "it owns nothing of the car");
    w.ok(a, send);
    let give = OwnershipCall::UnconditionalAttributeOwnershipDivestiture {
        object_instance: car,
        attributes: w.attributes("Position"),
        user_supplied_tag: "tag".into(),
    };
    w.ok(a, give);
    let take = OwnershipCall::AttributeOwnershipAcquisitionIfAvailable {
        object_instance: car,
        desired_attributes: w.attributes("Position"),
        user_supplied_tag: "tag".into(),
    };
    w.ok(b, take);
    w.told(b);
    w.ok(b, TimeCall::EnableAsynchronousDelivery);
    assert_eq!(w.told(b), [format!("receive Command.Stop to {car}")]);
}

#[test]
fn nothing_comes_of_an_instance_that_was_removed_before() {
    let (mut w, a, b) = delayed();
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle.Car");
    w.told(b);
    w.update_at(a, car, "Position", 5);
    w.delete(a, car);
    w.tar(a, 10);
    w.tar(b, 10);
    assert_eq!(w.told(b), [format!("remove {car}"), "grant 10".into()]);
}

#[test]
fn everybody_keeps_what_waits_for_it_within_the_limit() {
    let limits = Limits { undelivered: 10, ..Limits::default() };
    let mut w = World::with(limits, &model_with(SWITCH));
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command.Stop");
    for _ in 0..10 {
        w.send_at(a, "Command.Stop", 5);
    }
    assert_eq!(w.told(b), nothing());
    w.send_at(a, "Command.Stop", 5);
    assert_eq!(w.told(b), ["resigned: it has too many undelivered messages"]);
    assert_eq!(w.refused(b, TimeCall::QueryLITS), Exception::FederateNotExecutionMember);
    assert_eq!(w.ok(a, TimeCall::QueryGALT), Reply::OptionalTime(None));
}
