//! Sessions over connections that break.

use super::notation::bytes;
use super::wire::{CALL, CALLBACK, NONE, REPLY, Wire, frame};
use super::{join, rti};

#[test]
fn what_was_lost_on_the_way_to_the_client_is_sent_again_byte_for_byte() {
    let rti = rti();
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    let list = wire.call("@13[]");
    let lost = [wire.frame(), wire.frame()];
    assert_eq!(lost.each_ref().map(|frame| frame.kind), [REPLY, CALLBACK]);
    // The client has received no more than the answer to its first call.
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
fn what_was_lost_on_the_way_to_the_rti_is_carried_out_once() {
    let rti = rti();
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    let beat = wire.beat();
    wire.beaten(beat);
    // The frame breaks off in the middle.
    let call = frame(3, wire.session, 1, CALL, &bytes("@20[@1['never'] @2[]]"));
    wire.send(&call[..30]);
    // What was received last is the call, not the heartbeat behind it: the client looks for it among its messages.
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
fn a_session_is_taken_over_while_its_connection_still_looks_alive() {
    let rti = rti();
    let mut wire = join(&rti);
    let mut old = wire.keep_old_connection();
    let (newest, calls) = (wire.received, wire.next - 1);
    assert_eq!(wire.resume(newest, 1), (0, calls));
    wire.done(19, "=1:3");
    // The old connection is closed, not left half dead.
    assert_eq!(std::io::Read::read(&mut old, &mut [0; 1]).unwrap_or(0), 0);
    wire.done(5, "");
    wire.terminate();
}

#[test]
fn while_its_connection_is_broken_a_federate_stays_joined_and_what_it_is_told_waits() {
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
fn what_cannot_be_resumed_is_refused_with_its_reason() {
    let rti = rti();
    // A session that was never there.
    let mut wire = Wire::connect(rti.address);
    wire.session = 0x0123_4567_89ab_cdef;
    assert_eq!(wire.resume(NONE, NONE), (1, NONE));
    wire.gone();
    // One that has ended.
    let mut wire = Wire::open(rti.address);
    let session = wire.session;
    wire.ask::<0>("@1[]", "@2[@1[]]");
    wire.terminate();
    let mut wire = Wire::connect(rti.address);
    wire.session = session;
    assert_eq!(wire.resume(1, 1), (1, NONE));
    wire.gone();
    // The client does not keep any more what the RTI has not received.
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    assert_eq!(wire.resume(1, 5), (2, NONE));
    wire.gone();
    // The client has received what was never sent.
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    assert_eq!(wire.resume(77, 1), (2, NONE));
    wire.gone();
}

#[test]
fn a_client_that_keeps_nothing_may_go_on_if_nothing_was_lost() {
    let rti = rti();
    let mut wire = Wire::open(rti.address);
    wire.ask::<0>("@1[]", "@2[@1[]]");
    // Some say so after as many messages as they keep, even if they do keep the last.
    assert_eq!(wire.resume(1, NONE), (0, 1));
    wire.done(5, "");
    // And one that has neither sent nor received a message.
    let mut wire = Wire::open(rti.address);
    assert_eq!(wire.resume(NONE, NONE), (0, NONE));
    wire.ask::<0>("@1[]", "@2[@1[]]");
    wire.terminate();
}
