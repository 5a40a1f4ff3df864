//! Time-constrained federates, and what they get when (clauses 8.5 to 8.7, 8.15, 8.16).

use hemiola_hla::Exception;
use hemiola_hla::call::TimeCall;

use crate::world::World;

#[test]
fn constraint_waits_until_nothing_can_come_into_the_past() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 10), w.federate("b"));
    w.tar(b, 50);
    w.constrain(b);
    assert_eq!(w.told(b), ["grant 50"]);
    assert_eq!(
        w.refused(b, TimeCall::EnableTimeConstrained),
        Exception::RequestForTimeConstrainedPending
    );
    let advance = TimeCall::TimeAdvanceRequest { time: crate::world::time(60).into() };
    assert_eq!(w.refused(b, advance), Exception::RequestForTimeConstrainedPending);
    w.tar(a, 39);
    assert_eq!(w.told(b), Vec::<String>::new());
    w.tar(a, 40);
    assert_eq!(w.told(b), ["constrained 50"]);
    assert_eq!(
        w.refused(b, TimeCall::EnableTimeConstrained),
        Exception::TimeConstrainedAlreadyEnabled
    );
}

#[test]
fn messages_without_time_stamps_wait_for_the_next_request() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command");
    w.subscribe_interaction(b, "Command");
    w.send(a, "Command", "What");
    assert_eq!(w.told(b), Vec::<String>::new());
    w.tar(b, 10);
    assert_eq!(w.told(b), ["receive Command What"], "while it advances");
    w.send(a, "Command", "What");
    assert_eq!(w.told(b), ["receive Command What"]);
    w.tar(a, 10);
    assert_eq!(w.told(b), ["grant 10"]);
    w.send(a, "Command", "What");
    assert_eq!(w.told(b), Vec::<String>::new());
    w.ok(b, TimeCall::EnableAsynchronousDelivery);
    assert_eq!(w.told(b), ["receive Command What"]);
    w.send(a, "Command", "What");
    assert_eq!(w.told(b), ["receive Command What"]);
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
fn whoever_stops_being_constrained_gets_all_that_waited() {
    let mut w = World::new();
    let (a, b) = (w.in_time("a", 1), w.in_time("b", 1));
    w.publish_interaction(a, "Command.Stop");
    w.subscribe_interaction(b, "Command");
    w.send_at(a, "Command.Stop", 9);
    w.send(a, "Command.Stop", "What Within");
    w.tar(b, 20);
    assert_eq!(w.told(b), ["receive Command What"]);
    w.ok(b, TimeCall::DisableTimeConstrained);
    assert_eq!(w.told(b), ["receive Command of 9", "grant 20"], "without order");
    assert_eq!(
        w.refused(b, TimeCall::DisableTimeConstrained),
        Exception::TimeConstrainedIsNotEnabled
    );
    w.send_at(a, "Command.Stop", 9);
    assert_eq!(w.told(b), ["receive Command of 9"], "as it comes");
}
