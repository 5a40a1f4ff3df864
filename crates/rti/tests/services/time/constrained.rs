//! Time-constrained federates (clauses 8.5 to 8.7, 8.15, 8.16).

use hemiola_hla::Exception;
use hemiola_hla::call::TimeCall;

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
