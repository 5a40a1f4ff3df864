//! Zero lookahead (clause 8.1).

use hemiola_hla::Exception;
use hemiola_hla::call::{ObjectCall, TimeCall};

use crate::world::{World, time};

#[test]
fn federates_with_zero_lookahead_advance_in_steps() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 0), w.in_time("b", 0));
    for step in 1..5 {
        w.tar(a, step);
        w.tar(b, step);
        assert_eq!(
            (w.callbacks(a), w.callbacks(b)),
            (vec![format!("grant {step}")], vec![format!("grant {step}")])
        );
    }
}

#[test]
fn after_a_step_its_time_stamp_can_no_longer_be_sent() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 0), w.in_time("b", 0));
    w.publish(a, "Vehicle", "Position");
    let car = w.register(a, "Vehicle");
    assert!(w.update_at(a, car, "Position", 0).is_some());
    w.tar(a, 10);
    w.tar(b, 10);
    let call = w.update_at_call(car, "Position", 10);
    assert_eq!(w.refused(a, call), Exception::InvalidLogicalTime);
    // Another request for the same time does not change that.
    w.tara(a, 10);
    let call = w.update_at_call(car, "Position", 10);
    assert_eq!(w.refused(a, call), Exception::InvalidLogicalTime);
    assert!(w.update_at(a, car, "Position", 11).is_some());
}

#[test]
fn available_requests_allow_responses_at_the_same_time() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 0), w.in_time("b", 0));
    for (one, other) in [(a, "Command.Stop"), (b, "Command")] {
        w.publish_interaction(one, other);
        w.subscribe_interaction(one, "Command");
    }
    w.tara(a, 10);
    w.tara(b, 10);
    assert_eq!(
        (w.callbacks(a), w.callbacks(b)),
        (vec!["grant 10".into()], vec!["grant 10".into()])
    );
    assert!(w.send_at(a, "Command.Stop", 10).is_some());
    w.nmra(b, 20);
    assert_eq!(
        w.callbacks(b),
        ["receive Command at 10", "grant 10"],
        "the answer can be at 10 too"
    );
    w.tar(a, 20);
    w.tar(b, 20);
    assert_eq!(
        (w.callbacks(a), w.callbacks(b)),
        (vec!["grant 20".into()], vec!["grant 20".into()])
    );
}

#[test]
fn next_message_requests_with_zero_lookahead_do_not_deadlock() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 0), w.in_time("b", 0));
    w.nmr(a, 10);
    w.nmr(b, 10);
    assert_eq!(
        (w.callbacks(a), w.callbacks(b)),
        (vec!["grant 10".into()], vec!["grant 10".into()])
    );
    w.nmr(a, 20);
    w.nmr(b, 30);
    assert_eq!((w.callbacks(a), w.callbacks(b)), (vec!["grant 20".into()], vec![]));
}

/// Otherwise a federate that waits for the next message could respond at a time that is over for the first.
#[test]
fn regulating_again_does_not_reopen_a_finished_time() {
    let mut w = World::new();
    let (a, _b) = (w.in_time("a", 0), w.in_time("b", 6));
    w.publish_interaction(a, "Command.Stop");
    w.tar(a, 5);
    assert_eq!(w.callbacks(a), ["grant 5"]);
    w.ok(a, TimeCall::DisableTimeRegulation);
    w.regulate(a, 0);
    let call = |at: i64| ObjectCall::SendInteractionWithTime {
        interaction_class: w.interaction("Command.Stop"),
        parameter_values: Vec::new(),
        user_supplied_tag: "tag".into(),
        time: time(at).into(),
    };
    let (now, later) = (call(5), call(6));
    assert_eq!(w.refused(a, now), Exception::InvalidLogicalTime);
    w.ok(a, later);
}
