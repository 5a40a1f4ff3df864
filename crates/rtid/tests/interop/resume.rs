//! Sessions that are resumed after their connection broke.

use super::notation::bytes;
use super::wire::{CALL, CALLBACK, NONE, REPLY, Wire, frame};
use super::{join, rti};

#[test]
fn messages_lost_on_the_way_to_the_client_are_sent_again_unchanged() {
    let rti = rti();
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    let list = wire.call("@13[]");
    let lost = [wire.frame(), wire.frame()];
    assert_eq!(lost.each_ref().map(|frame| frame.kind), [REPLY, CALLBACK]);
    // The client has received only the reply to its first call.
    assert_eq!(wire.resume(1, 1), (0, list));
    assert_eq!([wire.frame(), wire.frame()], lost);
    wire.calls.clear();
    wire.received = lost[1].sequence;
    wire.callbacks.push_back(lost[1].sequence);
    wire.taken();
    wire.done(5, "");
    wire.terminate();
}

#[test]
fn calls_lost_on_the_way_to_the_rti_are_executed_once() {
    let rti = rti();
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    let beat = wire.beat();
    wire.beaten(beat);
    // The connection breaks in the middle of the frame.
    let call = frame(3, wire.session, 1, CALL, &bytes("@20[@1['never'] @2[]]"));
    wire.send(&call[..30]);
    // The last received message is the call, not the heartbeat after it: the client searches its messages for it.
    assert_eq!(wire.resume(1, 1), (0, 1));
    wire.send(&call);
    wire.next = 4;
    wire.calls.push_back(3);
    wire.accept_message(3);
    wire.raises("FederateNotExecutionMember");
    wire.send(&call);
    wire.done(5, "");
    wire.terminate();
}

#[test]
fn a_session_can_be_resumed_while_its_old_connection_looks_alive() {
    let rti = rti();
    let mut wire = join(&rti);
    let mut old = wire.keep_old_connection();
    let (newest, calls) = (wire.received, wire.next - 1);
    assert_eq!(wire.resume(newest, 1), (0, calls));
    wire.done(19, "=1:3");
    // The old connection is closed.
    assert_eq!(std::io::Read::read(&mut old, &mut [0; 1]).unwrap_or(0), 0);
    wire.done(5, "");
    wire.terminate();
}

#[test]
fn a_federate_without_a_connection_stays_joined_and_its_callbacks_are_kept() {
    let rti = rti();
    let (mut ann, mut bob) = (join(&rti), join(&rti));
    let received = ann.received;
    ann.cut();
    bob.done(20, "@1['Start'] @2['now']");
    bob.take::<0>("@6[@1['Start']]");
    bob.take::<0>("@8[@1['Start'] @2['now']]");
    bob.call("@12[@1['Room']]");
    bob.raises("FederatesCurrentlyJoined");
    assert_eq!(ann.resume(received, 1), (0, ann.next - 1));
    ann.take::<0>("@8[@1['Start'] @2['now']]");
    for wire in [&mut ann, &mut bob] {
        wire.done(22, "@1['Start'] =2:1");
    }
    ann.take::<0>("@9[@1['Start'] @2[]]");
    bob.take::<0>("@9[@1['Start'] @2[]]");
}

#[test]
fn a_session_that_cannot_be_resumed_is_refused_with_the_reason() {
    let rti = rti();
    // A session that never existed.
    let mut wire = Wire::connect(rti.address);
    wire.session = 0x0123_4567_89ab_cdef;
    assert_eq!(wire.resume(NONE, NONE), (1, NONE));
    wire.gone();
    // A session that has ended.
    let mut wire = Wire::open(rti.address);
    let session = wire.session;
    wire.ask::<0>("@1[]", "@2[@1[]]");
    wire.terminate();
    let mut wire = Wire::connect(rti.address);
    wire.session = session;
    assert_eq!(wire.resume(1, 1), (1, NONE));
    wire.gone();
    // The client no longer keeps messages that the RTI has not received.
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    assert_eq!(wire.resume(1, 5), (2, NONE));
    wire.gone();
    // The client claims to have received messages that were never sent.
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    assert_eq!(wire.resume(77, 1), (2, NONE));
    wire.gone();
}

#[test]
fn a_client_that_keeps_no_messages_can_resume_if_none_was_lost() {
    let rti = rti();
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    // Some clients claim this after as many messages as they keep, even if they keep the last.
    assert_eq!(wire.resume(1, NONE), (0, 1));
    wire.done(5, "");
    // A client that has neither sent nor received a message.
    let mut wire = Wire::open(rti.address);
    assert_eq!(wire.resume(NONE, NONE), (0, NONE));
    wire.ask::<0>("@1[]", "@2[@1[]]");
    wire.terminate();
}
