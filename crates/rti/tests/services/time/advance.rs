//! Requests and grants (clauses 8.8 to 8.14).

use hemiola_hla::call::{FederationCall, TimeCall};
use hemiola_hla::{EncodedTime, Exception, Reply, ResignAction};

use crate::world::{World, interval, time};

#[test]
fn grant_waits_for_the_slowest_regulating_federate() {
    let mut w = World::new();
    let (a, b, c) = (w.in_time("a", 10), w.in_time("b", 5), w.in_time("c", 20));
    w.tar(a, 15);
    w.tar(c, 15);
    assert_eq!((w.callbacks(a), w.galt(a)), (vec![], Some(5)));
    w.tar(b, 8);
    assert_eq!(w.callbacks(b), ["grant 8"]);
    assert_eq!((w.callbacks(a), w.galt(a)), (vec![], Some(13)));
    w.tar(b, 10);
    assert_eq!((w.galt(a), w.callbacks(a)), (Some(15), vec![]), "b may still send at 15");
    assert_eq!(w.callbacks(b), ["grant 10"]);
    w.tar(b, 11);
    assert_eq!(
        (w.callbacks(a), w.callbacks(b), w.callbacks(c)),
        (vec!["grant 15".into()], vec!["grant 11".into()], vec!["grant 15".into()])
    );
}

#[test]
fn available_is_granted_at_galt_itself() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 10), w.in_time("b", 5));
    w.tara(a, 5);
    assert_eq!((w.galt(a), w.callbacks(a)), (Some(5), vec!["grant 5".into()]));
    w.tar(b, 15);
    assert_eq!(w.callbacks(b), Vec::<String>::new(), "a may still send at 15");
    w.tara(a, 6);
    assert_eq!(w.callbacks(b), ["grant 15"]);
}

#[test]
fn messages_arrive_in_time_stamp_order_before_the_grant() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command.Stop");
    for at in [7, 3, 5, 9] {
        assert!(w.send_at(a, "Command.Stop", at).is_some());
    }
    w.tar(a, 20);
    assert_eq!(w.callbacks(b), Vec::<String>::new());
    assert_eq!((w.galt(b), w.lits(b)), (Some(21), Some(3)));
    w.tar(b, 7);
    let callbacks = [
        "receive Command.Stop at 3",
        "receive Command.Stop at 5",
        "receive Command.Stop at 7",
        "grant 7",
    ];
    assert_eq!(w.callbacks(b), callbacks);
    assert_eq!(w.lits(b), Some(9));
}

#[test]
fn next_message_request_is_granted_at_the_next_message() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command.Stop");
    w.send_at(a, "Command.Stop", 4);
    w.send_at(a, "Command.Stop", 4);
    w.send_at(a, "Command.Stop", 6);
    w.nmr(b, 10);
    assert_eq!(w.callbacks(b), Vec::<String>::new(), "an earlier one may still come");
    w.tar(a, 4);
    assert_eq!(
        w.callbacks(b),
        ["receive Command.Stop at 4", "receive Command.Stop at 4", "grant 4"]
    );
    w.nmr(b, 5);
    assert_eq!(w.callbacks(a), ["grant 4"]);
    w.tar(a, 5);
    assert_eq!(w.callbacks(b), ["grant 5"], "nothing comes by 5");
    w.nmra(b, 10);
    assert_eq!(w.callbacks(b), ["receive Command.Stop at 6", "grant 6"], "at GALT itself");
}

#[test]
fn federates_that_wait_for_messages_advance_together() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.nmr(a, 100);
    assert_eq!((w.callbacks(a), w.galt(b)), (vec![], Some(2)), "a message of b may come at 1");
    w.nmr(b, 200);
    assert_eq!(w.callbacks(a), ["grant 100"]);
    assert_eq!((w.callbacks(b), w.galt(b)), (vec![], Some(101)));
}

#[test]
fn a_queued_message_makes_a_waiting_federate_respond_earlier() {
    let mut w = World::new();
    let (a, b, c) = (w.in_time("a", 1), w.in_time("b", 1), w.in_time("c", 1));
    w.publish_interaction(c, "Command.Stop");
    w.subscribe_interaction(a, "Command.Stop");
    w.nmr(a, 100);
    w.tar(b, 50);
    assert_eq!(w.galt(b), Some(1));
    w.send_at(c, "Command.Stop", 10);
    w.tar(c, 60);
    assert_eq!(w.callbacks(a), ["receive Command.Stop at 10", "grant 10"], "b has promised 51");
    assert_eq!((w.callbacks(b), w.galt(b)), (vec![], Some(11)));
    w.tar(a, 60);
    assert_eq!(w.callbacks(b), ["grant 50"]);
}

#[test]
fn flush_queue_delivers_everything_and_is_granted_at_once() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 5), w.in_time("b", 1));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command.Stop");
    w.send_at(a, "Command.Stop", 9);
    w.send_at(a, "Command.Stop", 7);
    w.fqr(b, 20);
    let callbacks =
        ["receive Command.Stop at 7", "receive Command.Stop at 9", "flush grant 5 optimistic 7"];
    assert_eq!(w.callbacks(b), callbacks);
    w.fqr(b, 5);
    assert_eq!(w.callbacks(b), ["flush grant 5 optimistic 5"]);
}

#[test]
fn an_unconstrained_federate_never_waits() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.federate("b"));
    w.tar(b, 1000);
    assert_eq!(w.callbacks(b), ["grant 1000"]);
    w.regulate(b, 0);
    w.nmr(b, 2000);
    w.fqr(b, 3000);
    assert_eq!(
        w.callbacks(b),
        ["regulating 1000", "grant 2000", "flush grant 3000 optimistic 3000"]
    );
    assert_eq!(w.galt(a), Some(3000));
}

#[test]
fn without_regulating_federates_everything_is_granted() {
    let mut w = World::new();
    let a = w.federate("a");
    w.constrain(a);
    w.tar(a, 1_000_000);
    assert_eq!(
        (w.galt(a), w.callbacks(a)),
        (None, vec!["constrained 0".into(), "grant 1000000".into()])
    );
}

#[test]
fn unless_the_object_model_says_otherwise() {
    let off = "</interactions><switches><nonRegulatedGrant isEnabled=\"false\"/></switches>";
    let model = crate::world::MODEL.replace("</interactions>", off);
    let mut w = World::with(hemiola_rti::Limits::default(), &model);
    let a = w.federate("a");
    w.constrain(a);
    w.tar(a, 100);
    assert_eq!(w.callbacks(a), ["constrained 0"]);
    let b = w.federate("b");
    w.regulate(b, 1);
    w.tar(b, 100);
    assert_eq!(w.callbacks(a), ["grant 100"]);
}

#[test]
fn a_resigned_federate_holds_back_no_other() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.tar(a, 10);
    w.resign(b, ResignAction::NoAction);
    assert_eq!(w.callbacks(a), ["grant 10"]);
    let c = w.in_time("c", 1);
    w.tar(a, 100);
    assert_eq!(w.callbacks(a), Vec::<String>::new());
    w.lose(c);
    assert_eq!(w.callbacks(a), ["grant 100"]);
}

#[test]
fn a_second_request_is_refused_until_the_first_is_granted() {
    let mut w = World::new();
    let (a, _b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.tar(a, 10);
    let again = TimeCall::NextMessageRequest { time: time(20).into() };
    assert_eq!(w.refused(a, again), Exception::InTimeAdvancingState);
    let bad = TimeCall::FlushQueueRequest { time: EncodedTime::new(b"no") };
    assert_eq!(w.refused(a, bad), Exception::InTimeAdvancingState, "the more general exception");
}

#[test]
fn time_never_decreases() {
    let mut w = World::new();
    let a = w.federate("a");
    w.tar(a, 10);
    let past = TimeCall::TimeAdvanceRequest { time: time(9).into() };
    assert_eq!(w.refused(a, past), Exception::LogicalTimeAlreadyPassed);
    let bad = TimeCall::TimeAdvanceRequest { time: EncodedTime::new(&[255; 8]) };
    assert_eq!(w.refused(a, bad), Exception::InvalidLogicalTime);
    w.tar(a, 10);
    assert_eq!(w.callbacks(a), ["grant 10", "grant 10"]);
}

#[test]
fn time_services_need_a_joined_federate() {
    let mut w = World::new();
    let nobody = w.open();
    let call = || TimeCall::TimeAdvanceRequest { time: EncodedTime::new(b"") };
    assert_eq!(w.refused(nobody, call()), Exception::NotConnected);
    w.ok(nobody, FederationCall::Connect);
    assert_eq!(w.refused(nobody, call()), Exception::FederateNotExecutionMember);
}

#[test]
fn status_reports_which_federate_holds_back_which() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 10), w.in_time("b", 5));
    w.input(hemiola_rti::Input::Tick(hemiola_units::Instant::from_nanos(7)));
    w.tar(a, 30);
    let status = w.kernel.status();
    let one = &status.federations[0].federates[0];
    let held_back = one.held_back.unwrap();
    assert_eq!((held_back.by, held_back.galt), (b.handle, time(5)));
    let waiting = one.waiting.unwrap();
    assert_eq!((waiting.until, waiting.since.nanos()), (Some(time(30)), 7));
}

/// A state ends when the federate has answered the callback, not when the callback is on its way (clauses 8.2, 8.5 and
/// 8.8).
#[test]
fn a_transition_lasts_until_its_callback_is_answered() {
    let mut w = World::new();
    let a = w.federate("a");
    w.silence(a);
    let advance = TimeCall::TimeAdvanceRequest { time: time(5).into() };
    let regulate = TimeCall::EnableTimeRegulation { lookahead: interval(1).into() };
    let change = TimeCall::ModifyLookahead { lookahead: interval(2).into() };
    w.ok(a, regulate.clone());
    assert_eq!(w.refused(a, regulate.clone()), Exception::RequestForTimeRegulationPending);
    assert_eq!(w.refused(a, advance.clone()), Exception::RequestForTimeRegulationPending);
    for call in [TimeCall::DisableTimeRegulation, TimeCall::QueryLookahead, change.clone()] {
        assert_eq!(w.refused(a, call), Exception::TimeRegulationIsNotEnabled);
    }
    assert_eq!(w.answers(a), ["regulating 0"]);
    assert_eq!(w.refused(a, regulate), Exception::TimeRegulationAlreadyEnabled);
    w.ok(a, TimeCall::QueryLookahead);

    w.ok(a, TimeCall::EnableTimeConstrained);
    let pending = Exception::RequestForTimeConstrainedPending;
    assert_eq!(w.refused(a, TimeCall::EnableTimeConstrained), pending);
    assert_eq!(w.refused(a, advance.clone()), pending);
    assert_eq!(
        w.refused(a, TimeCall::DisableTimeConstrained),
        Exception::TimeConstrainedIsNotEnabled
    );
    assert_eq!(w.answers(a), ["constrained 0"]);
    assert_eq!(
        w.refused(a, TimeCall::EnableTimeConstrained),
        Exception::TimeConstrainedAlreadyEnabled
    );

    w.ok(a, advance);
    let now = |w: &mut World| w.ok(a, TimeCall::QueryLogicalTime);
    assert_eq!(now(&mut w), Reply::Time(time(0).into()));
    let again = TimeCall::NextMessageRequest { time: time(6).into() };
    assert_eq!(w.refused(a, again.clone()), Exception::InTimeAdvancingState);
    assert_eq!(w.refused(a, change.clone()), Exception::InTimeAdvancingState);
    assert_eq!(w.answers(a), ["grant 5"], "one grant for one request");
    assert_eq!(now(&mut w), Reply::Time(time(5).into()));
    w.ok(a, change);
    w.ok(a, again);
    assert_eq!(w.answers(a), ["grant 6"]);
}

/// What others may do does not wait for the answer.
#[test]
fn a_grant_that_is_not_answered_holds_nobody_back() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.silence(a);
    w.tar(a, 1);
    w.tar(b, 1);
    assert_eq!([w.callbacks(a), w.callbacks(b)], [["grant 1"], ["grant 1"]]);
    // The logical time of a is 1, though it has not answered; its lookahead lets b go on.
    w.ok(b, TimeCall::TimeAdvanceRequestAvailable { time: time(2).into() });
    assert_eq!(w.callbacks(b), ["grant 2"]);
}

/// A federate whose regulation is pending is not regulating: its messages have no order.
#[test]
fn a_message_sent_before_regulation_is_answered_has_receive_order() {
    let mut w = World::new();
    let (a, b) = (w.federate("a"), w.federate("b"));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command.Stop");
    w.silence(a);
    w.regulate(a, 10);
    assert_eq!(
        w.send_at(a, "Command.Stop", 1),
        None,
        "earlier than the lookahead, and not retractable"
    );
    w.answers(a);
    assert!(w.send_at(a, "Command.Stop", 11).is_some());
}
