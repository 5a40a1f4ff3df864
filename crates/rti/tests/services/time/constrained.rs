//! Time-constrained federates (clauses 8.5 to 8.7, 8.15, 8.16).

use hemiola_hla::call::{ObjectCall, TimeCall};
use hemiola_hla::{Callback, Data, Exception};

use crate::world::World;

#[test]
fn constraint_waits_until_no_message_can_arrive_in_the_past() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 10), w.federate("b"));
    w.tar(b, 50);
    w.constrain(b);
    assert_eq!(w.callbacks(b), ["grant 50"]);
    assert_eq!(
        w.refused(b, TimeCall::EnableTimeConstrained),
        Exception::RequestForTimeConstrainedPending
    );
    let advance = TimeCall::TimeAdvanceRequest { time: crate::world::time(60).into() };
    assert_eq!(w.refused(b, advance), Exception::RequestForTimeConstrainedPending);
    w.tar(a, 39);
    assert_eq!(w.callbacks(b), Vec::<String>::new());
    w.tar(a, 40);
    assert_eq!(w.callbacks(b), ["constrained 50"]);
    assert_eq!(
        w.refused(b, TimeCall::EnableTimeConstrained),
        Exception::TimeConstrainedAlreadyEnabled
    );
}

#[test]
fn receive_order_messages_are_held_until_the_next_request() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command");
    w.subscribe_interaction(b, "Command");
    w.send(a, "Command", "What");
    assert_eq!(w.callbacks(b), Vec::<String>::new());
    w.tar(b, 10);
    assert_eq!(w.callbacks(b), ["receive Command What"], "while it advances");
    w.send(a, "Command", "What");
    assert_eq!(w.callbacks(b), ["receive Command What"]);
    w.tar(a, 10);
    assert_eq!(w.callbacks(b), ["grant 10"]);
    w.send(a, "Command", "What");
    assert_eq!(w.callbacks(b), Vec::<String>::new());
    w.ok(b, TimeCall::EnableAsynchronousDelivery);
    assert_eq!(w.callbacks(b), ["receive Command What"]);
    w.send(a, "Command", "What");
    assert_eq!(w.callbacks(b), ["receive Command What"]);
    assert_eq!(
        w.refused(b, TimeCall::EnableAsynchronousDelivery),
        Exception::AsynchronousDeliveryAlreadyEnabled
    );
    w.ok(b, TimeCall::DisableAsynchronousDelivery);
    assert_eq!(
        w.refused(b, TimeCall::DisableAsynchronousDelivery),
        Exception::AsynchronousDeliveryAlreadyDisabled
    );
}

#[test]
fn a_held_message_shares_no_memory_with_what_arrived_with_it() {
    let mut w = World::new();
    let (a, now, later) = (w.federate("a"), w.federate("b"), w.in_time("c", 1));
    w.publish_interaction(a, "Command");
    w.subscribe_interaction(now, "Command");
    w.subscribe_interaction(later, "Command");
    let arrived = Data::from(vec![7; 2000]);
    let value = arrived.slice(100..110);
    let call = ObjectCall::SendInteraction {
        interaction_class: w.interaction("Command"),
        parameter_values: vec![(w.parameter("What"), value.clone())],
        user_supplied_tag: arrived.slice(110..120),
    };
    w.ok(a, call);
    w.tar(later, 10);
    let received = |w: &mut World, fed| match w.notices(fed)[0].callback() {
        Callback::ReceiveInteraction { parameter_values, user_supplied_tag, .. } => {
            (parameter_values[0].1.clone(), user_supplied_tag.clone())
        }
        other => panic!("{other:?}"),
    };
    let (passed_on, _) = received(&mut w, now);
    assert_eq!((&passed_on, passed_on.as_ptr()), (&value, value.as_ptr()), "without a copy");
    let (held, tag) = received(&mut w, later);
    assert_eq!((&held[..], &tag[..]), (&[7; 10][..], &[7; 10][..]));
    let within = arrived.as_ptr_range();
    assert!(!within.contains(&held.as_ptr()) && !within.contains(&tag.as_ptr()));
}

#[test]
fn disabling_constraint_delivers_all_queued_messages() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command");
    w.send_at(a, "Command.Stop", 9);
    w.send(a, "Command.Stop", "What Within");
    w.tar(b, 20);
    assert_eq!(w.callbacks(b), ["receive Command What"]);
    w.ok(b, TimeCall::DisableTimeConstrained);
    assert_eq!(w.callbacks(b), ["receive Command of 9", "grant 20"], "without order");
    assert_eq!(
        w.refused(b, TimeCall::DisableTimeConstrained),
        Exception::TimeConstrainedIsNotEnabled
    );
    w.send_at(a, "Command.Stop", 9);
    assert_eq!(w.callbacks(b), ["receive Command of 9"], "as it comes");
}
