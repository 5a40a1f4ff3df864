//! Evaluating subscriptions at sending or at delivery: the switch `delaySubscriptionEvaluation` (clause 10.53).

use hemiola_hla::call::{DeclarationCall, ObjectCall, OwnershipCall, TimeCall};
use hemiola_hla::{Exception, Reply};
use hemiola_rti::{Input, Limits};
use hemiola_units::Instant;

use crate::world::{Fed, World, model_with};

const SWITCH: &str = "delaySubscriptionEvaluation";

/// Two worlds, with the switch off and on, each with a sender and a receiver that are regulating and constrained.
fn both() -> [(bool, World, Fed, Fed); 2] {
    [false, true].map(|on| {
        let mut w = if on { World::with_switch(SWITCH) } else { World::new() };
        let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
        w.publish(a, "Vehicle.Car", "Position Load Driver");
        w.publish_interaction(a, "Command.Stop");
        (on, w, a, b)
    })
}

/// The world with the switch on.
fn delayed() -> (World, Fed, Fed) {
    let [_, (_, w, a, b)] = both();
    (w, a, b)
}

fn nothing() -> Vec<String> {
    Vec::new()
}

#[test]
fn unsubscribing_before_delivery_drops_the_message_if_the_switch_is_on() {
    for (on, mut w, a, b) in both() {
        w.subscribe(b, "Vehicle", "Position");
        w.subscribe_interaction(b, "Command");
        let car = w.register(a, "Vehicle.Car");
        w.callbacks(b);
        w.update_at(a, car, "Position", 5);
        w.send_at(a, "Command.Stop", 6);
        w.unsubscribe(b, "Vehicle");
        let interaction_class = w.interaction("Command");
        w.ok(b, DeclarationCall::UnsubscribeInteractionClass { interaction_class });
        w.tar(a, 10);
        w.tar(b, 10);
        let callbacks = w.callbacks(b);
        if on {
            assert_eq!(callbacks, ["grant 10"]);
        } else {
            let update = format!("reflect {car} Position at 5");
            assert_eq!(callbacks, [update.as_str(), "receive Command at 6", "grant 10"]);
        }
    }
}

#[test]
fn subscribing_before_delivery_delivers_the_message_if_the_switch_is_on() {
    for (on, mut w, a, b) in both() {
        let car = w.register(a, "Vehicle.Car");
        w.update_at(a, car, "Position Driver", 5);
        w.send_at(a, "Command.Stop", 6);
        // It discovers the car only now.
        w.subscribe(b, "Vehicle", "Position");
        w.subscribe_interaction(b, "Command");
        assert_eq!(w.callbacks(b), [format!("discover {car} as Vehicle")]);
        w.tar(a, 10);
        w.tar(b, 10);
        let callbacks = w.callbacks(b);
        if on {
            let update = format!("reflect {car} Position at 5");
            assert_eq!(callbacks, [update.as_str(), "receive Command at 6", "grant 10"]);
        } else {
            assert_eq!(callbacks, ["grant 10"]);
        }
    }
}

#[test]
fn federates_receive_the_attributes_they_subscribe_to_at_delivery() {
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
    assert_eq!(w.callbacks(b)[1..], [format!("reflect {car} Driver at 5"), "grant 10".into()]);
    assert_eq!(
        w.callbacks(c)[1..],
        [format!("reflect {car} Position+Driver at 5"), "grant 10".into()]
    );
}

#[test]
fn an_immediate_delivery_needs_a_subscription_at_sending() {
    let (mut w, a, _) = delayed();
    let c = w.federate("c");
    w.send_at(a, "Command.Stop", 5);
    w.send(a, "Command.Stop", "");
    w.subscribe_interaction(c, "Command");
    assert_eq!(w.callbacks(c), nothing());
    w.send_at(a, "Command.Stop", 5);
    w.send(a, "Command.Stop", "What Within");
    assert_eq!(w.callbacks(c), ["receive Command of 5", "receive Command What"]);
}

#[test]
fn a_federate_that_joins_later_does_not_receive_earlier_messages() {
    let (mut w, a, b) = delayed();
    w.send_at(a, "Command.Stop", 5);
    let c = w.in_time("c", 1);
    w.subscribe_interaction(c, "Command");
    for fed in [a, b, c] {
        w.tar(fed, 10);
    }
    assert_eq!(w.callbacks(c), ["grant 10"]);
}

#[test]
fn held_messages_are_evaluated_when_they_are_released() {
    for (on, mut w, a, b) in both() {
        w.subscribe_interaction(b, "Command");
        w.send(a, "Command.Stop", "What");
        let interaction_class = w.interaction("Command");
        w.ok(b, DeclarationCall::UnsubscribeInteractionClass { interaction_class });
        let car = w.register(a, "Vehicle.Car");
        w.update(a, car, "Load");
        w.subscribe(b, "Vehicle", "Load");
        assert_eq!(w.callbacks(b), [format!("discover {car} as Vehicle")]);
        w.ok(b, TimeCall::EnableAsynchronousDelivery);
        let expected =
            if on { format!("reflect {car} Load") } else { "receive Command What".into() };
        assert_eq!(w.callbacks(b), [expected]);
    }
}

#[test]
fn update_rates_apply_when_held_updates_are_released() {
    let (mut w, a, b) = delayed();
    let slowly = DeclarationCall::SubscribeObjectClassAttributesWithRate {
        object_class: w.class("Vehicle"),
        attributes: w.attributes("Load"),
        update_rate_designator: "Slow".into(),
    };
    w.ok(b, slowly);
    let car = w.register(a, "Vehicle.Car");
    w.callbacks(b);
    let expected = format!("reflect {car} Load");
    for (millis, is_due) in [(1_000, true), (1_400, false), (1_500, true)] {
        w.input(Input::Tick(Instant::from_nanos(millis * 1_000_000)));
        w.update(a, car, "Load");
        w.update(a, car, "Load");
        assert_eq!(w.callbacks(b), nothing(), "it is held");
        w.ok(b, TimeCall::EnableAsynchronousDelivery);
        w.ok(b, TimeCall::DisableAsynchronousDelivery);
        let expected = if is_due { vec![expected.clone()] } else { Vec::new() };
        assert_eq!(w.callbacks(b), expected, "of two at most one, at {millis} ms");
    }
}

#[test]
fn a_request_does_not_stop_at_unwanted_messages() {
    let (mut w, a, b) = delayed();
    w.subscribe_interaction(b, "Command");
    let car = w.register(a, "Vehicle.Car");
    w.update_at(a, car, "Position", 3);
    w.send_at(a, "Command.Stop", 5);
    w.nmr(b, 10);
    w.tar(a, 4);
    assert_eq!(w.callbacks(b), nothing(), "not at 3, where it could");
    w.tar(a, 20);
    assert_eq!(w.callbacks(b), ["receive Command at 5", "grant 5"]);
    w.update_at(a, car, "Position", 21);
    w.nmr(b, 20);
    assert_eq!(w.callbacks(b), ["grant 20"]);
}

#[test]
fn a_waiting_federate_that_subscribes_in_time_stops_at_the_message() {
    let (mut w, a, b) = delayed();
    w.send_at(a, "Command.Stop", 3);
    w.send_at(a, "Command.Stop", 6);
    w.nmr(b, 10);
    // This ends the wait for the first message: b could have been granted 3.
    w.tar(a, 4);
    w.subscribe_interaction(b, "Command");
    assert_eq!(w.callbacks(b), nothing());
    w.tar(a, 20);
    assert_eq!(w.callbacks(b), ["receive Command at 6", "grant 6"]);
}

#[test]
fn a_message_that_may_become_wanted_holds_back_other_federates() {
    let (mut w, a, b) = delayed();
    w.send_at(a, "Command.Stop", 3);
    assert_eq!(w.lits(b), Some(1), "GALT");
    w.tara(a, 8);
    assert_eq!((w.galt(b), w.lits(b)), (Some(9), Some(3)));
    w.callbacks(a);
    w.nmr(b, 50);
    assert_eq!(w.lits(b), Some(9), "the unwanted message at 3 still counts");
    w.nmr(a, 50);
    assert_eq!(
        (w.callbacks(a).last(), w.callbacks(b).last()),
        (Some(&"grant 50".into()), Some(&"grant 50".into()))
    );
}

#[test]
fn flushing_and_disabling_constraint_evaluate_all_messages() {
    let (mut w, a, b) = delayed();
    let car = w.register(a, "Vehicle.Car");
    w.update_at(a, car, "Position", 3);
    w.send_at(a, "Command.Stop", 5);
    w.subscribe_interaction(b, "Command");
    w.fqr(b, 20);
    assert_eq!(w.callbacks(b), ["receive Command at 5", "flush grant 1 optimistic 5"]);
    w.subscribe(b, "Vehicle", "Position");
    w.update_at(a, car, "Position Driver", 7);
    w.send_at(a, "Command.Stop", 8);
    let interaction_class = w.interaction("Command");
    w.ok(b, DeclarationCall::UnsubscribeInteractionClass { interaction_class });
    w.callbacks(b);
    w.ok(b, TimeCall::DisableTimeConstrained);
    assert_eq!(w.callbacks(b), [format!("reflect {car} Position of 7")]);
}

#[test]
fn only_federates_that_received_a_message_are_asked_to_undo_it() {
    let (mut w, a, b) = delayed();
    let (c, d) = (w.in_time("c", 1), w.federate("d"));
    w.subscribe_interaction(b, "Command");
    let first = w.send_at(a, "Command.Stop", 5);
    let second = w.send_at(a, "Command.Stop", 6);
    w.subscribe_interaction(d, "Command");
    for fed in [b, c] {
        w.fqr(fed, 20);
    }
    assert_eq!(w.callbacks(b)[..2], ["receive Command at 5", "receive Command at 6"]);
    w.callbacks(c);
    w.ok(a, TimeCall::Retract { retraction: first.unwrap() });
    w.ok(a, TimeCall::Retract { retraction: second.unwrap() });
    assert_eq!([w.callbacks(b).len(), w.callbacks(c).len(), w.callbacks(d).len()], [2, 0, 0]);
    let third = w.send_at(a, "Command.Stop", 7);
    w.ok(a, TimeCall::Retract { retraction: third.unwrap() });
    w.subscribe_interaction(c, "Command");
    w.fqr(c, 20);
    assert_eq!(w.callbacks(c).len(), 1, "what was taken back while it waited never comes");
}

#[test]
fn directed_interactions_reach_owners_at_delivery() {
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
    w.callbacks(b);
    let send = ObjectCall::SendDirectedInteraction {
        interaction_class: w.interaction("Command.Stop"),
        object_instance: car,
        parameter_values: w.parameters("What"),
        user_supplied_tag: "tag".into(),
    };
    w.ok(a, send.clone());
    w.ok(b, TimeCall::EnableAsynchronousDelivery);
    w.ok(b, TimeCall::DisableAsynchronousDelivery);
    assert_eq!(w.callbacks(b), nothing(), "it owns nothing of the car");
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
    w.callbacks(b);
    w.ok(b, TimeCall::EnableAsynchronousDelivery);
    assert_eq!(w.callbacks(b), [format!("receive Command.Stop to {car}")]);
}

#[test]
fn messages_about_removed_instances_are_dropped() {
    let (mut w, a, b) = delayed();
    w.subscribe(b, "Vehicle", "Position");
    let car = w.register(a, "Vehicle.Car");
    w.callbacks(b);
    w.update_at(a, car, "Position", 5);
    w.delete(a, car);
    w.tar(a, 10);
    w.tar(b, 10);
    assert_eq!(w.callbacks(b), [format!("remove {car}"), "grant 10".into()]);
}

#[test]
fn unevaluated_messages_count_towards_the_limit() {
    let limits = Limits { undelivered: 10, ..Limits::default() };
    let mut w = World::with(limits, &model_with(SWITCH));
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command.Stop");
    for _ in 0..10 {
        w.send_at(a, "Command.Stop", 5);
    }
    assert_eq!(w.callbacks(b), nothing());
    w.send_at(a, "Command.Stop", 5);
    assert_eq!(w.callbacks(b), ["resigned: it has too many undelivered messages"]);
    assert_eq!(w.refused(b, TimeCall::QueryLITS), Exception::FederateNotExecutionMember);
    assert_eq!(w.ok(a, TimeCall::QueryGALT), Reply::OptionalTime(None));
}
