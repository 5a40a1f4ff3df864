//! The begin, the heartbeats and the end of sessions.

use super::notation::{bytes, hex, holes};
use super::wire::{CALL, HEARTBEAT, NEW_SESSION, NEW_SESSION_STATUS, NONE, TERMINATE, Wire, frame};
use super::{join, rti};

#[test]
fn a_session_has_these_bytes() {
    let rti = rti();
    let mut wire = Wire::connect(rti.address);
    // Length, number, session, last received, kind, payload.
    let mut exchange = |session: &str, sent: &str, expected: &[&str]| {
        wire.send(&bytes(&sent.replace("SESSION", session)));
        let mut captured = String::new();
        for expected in expected {
            let found = wire.frame();
            let found = frame(
                found.sequence,
                found.session,
                found.last_received,
                found.kind,
                &found.payload,
            );
            let found: [String; 1] = holes(&expected.replace("SESSION", "?8"), &found);
            assert!(session.is_empty() || found[0] == session);
            [captured] = found;
        }
        captured
    };
    // A new session and its id.
    let session = exchange(
        "",
        "0000001c 00000000 0000000000000000 80000000 00000001 00000001",
        &["0000001c 00000000 SESSION 80000000 00000002 00000000"],
    );
    // Connect.
    exchange(
        &session,
        "0000001a 00000001 SESSION 80000000 00000014 0a00",
        &["00000020 00000001 SESSION 00000001 00000015 00000001 12020a00"],
    );
    // A heartbeat: the last received number is that of a message, not of the heartbeat.
    exchange(
        &session,
        "00000018 00000002 SESSION 00000001 00000003",
        &["0000001c 00000002 SESSION 00000001 00000004 00000002"],
    );
    // List federation executions: the reply, then the callback with an empty list.
    exchange(
        &session,
        "0000001a 00000003 SESSION 00000001 00000014 6a00",
        &[
            "0000001e 00000003 SESSION 00000003 00000015 00000003 7200",
            "0000001c 00000004 SESSION 00000003 00000016 12020a00",
        ],
    );
    // The callback is answered. Disconnect.
    exchange(
        &session,
        "0000001e 00000004 SESSION 00000004 00000017 00000004 0a00
         0000001a 00000005 SESSION 00000004 00000014 2a00",
        &["0000001e 00000005 SESSION 00000005 00000015 00000005 3200"],
    );
    // The end of the session.
    exchange(
        &session,
        "00000018 00000006 SESSION 00000005 00000005",
        &["00000018 00000006 SESSION 00000005 00000006"],
    );
    wire.gone();
}

#[test]
fn an_unsupported_version_is_refused_with_the_reason() {
    let rti = rti();
    let mut wire = Wire::connect(rti.address);
    wire.control(NEW_SESSION, "00000002");
    let status = wire.frame();
    assert_eq!((status.kind, status.session), (NEW_SESSION_STATUS, 0));
    assert_eq!(hex(&status.payload), "00000001");
    wire.gone();
}

#[test]
fn a_connection_begins_with_a_new_or_a_resumed_session() {
    let rti = rti();
    let firsts = [
        frame(0, 0, NONE, HEARTBEAT, &[]),
        frame(0, 0, NONE, CALL, &bytes("@1[]")),
        frame(0, 7, NONE, NEW_SESSION, &[0, 0, 0, 1]),
        frame(0, 0, NONE, NEW_SESSION, &[0, 0, 0, 1, 0]),
        frame(0, 0, NONE, 7, &[]),
        bytes("00000017 00000000 0000000000000000 80000000 00000001"),
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n".to_vec(),
    ];
    for first in firsts {
        let mut wire = Wire::connect(rti.address);
        wire.send(&first);
        wire.gone();
    }
}

#[test]
fn a_connection_has_one_session() {
    let rti = rti();
    let mut wire = Wire::open(rti.address);
    wire.control(NEW_SESSION, "00000001");
    wire.gone();
}

#[test]
fn heartbeats_are_answered_while_calls_are_pending() {
    let rti = rti();
    let mut wire = Wire::open(rti.address);
    wire.call("@1[]");
    let first = wire.beat();
    wire.call("@13[]");
    let second = wire.beat();
    // Frames about the session itself may overtake messages, so all are received before they are compared.
    let mut frames: Vec<_> = (0..5).map(|_| wire.frame()).collect();
    let sequences: Vec<u32> = frames.iter().map(|frame| frame.sequence).collect();
    assert_eq!(sequences, [1, 2, 3, 4, 5]);
    frames.sort_by_key(|frame| (frame.kind, frame.sequence));
    let shown: Vec<_> = frames.iter().map(|frame| (frame.kind, hex(&frame.payload))).collect();
    let beat = |number: u32| format!("{number:08x}");
    assert_eq!(
        shown,
        [
            (4, beat(first)),
            (4, beat(second)),
            (21, "0000000112020a00".into()),
            (21, "000000037200".into()),
            (22, "12020a00".into()),
        ]
    );
}

#[test]
fn a_joined_federate_that_ends_its_session_is_lost_at_once() {
    let rti = rti();
    let (mut ann, mut bob) = (join(&rti), join(&rti));
    let class = ann.handle(126, "@1['Guest']", 4);
    let name = ann.handle(131, &format!("@1[@1[{class}]] @2['Name']"), 4);
    let attributes = format!("@1[@1[{class}]] @2[@1[@1[{name}]]]");
    ann.done(35, &attributes);
    bob.done(43, &attributes);
    let guest = ann.handle(60, &format!("@1[@1[{class}]]"), 8);
    bob.take::<2>(&format!("@30[@1[@1[{guest}]] @2[@1[{class}]] @3['HLAobject-' ?1] @4[@1[?4]]]"));
    // No resign and no disconnect, as when an ambassador is destroyed.
    ann.terminate();
    bob.take::<1>(&format!("@37[@1[@1[{guest}]] @3[@1[?4]]]"));
    // A federate that only closes its connection can resume, so others receive no callback.
    let mut cut = join(&rti);
    cut.control(HEARTBEAT, "");
    drop(cut);
    bob.ask::<1>("@100[]", "@101[@1[@2[@1[?8]]]]");
}

#[test]
fn a_frame_of_another_session_ends_this_session() {
    let rti = rti();
    for bad in [
        |wire: &Wire| frame(wire.next, wire.session ^ 1, NONE, CALL, &bytes("@1[]")),
        |wire: &Wire| frame(NONE, wire.session, NONE, CALL, &bytes("@1[]")),
        |wire: &Wire| frame(wire.next, wire.session, NONE, 12, &[]),
        |wire: &Wire| frame(wire.next, wire.session, NONE, 21, &bytes("00000001 @1[]")),
        |wire: &Wire| frame(wire.next, wire.session, 9999, CALL, &bytes("@1[]")),
        |wire: &Wire| frame(wire.next, wire.session, NONE, TERMINATE, &[0]),
    ] {
        let mut wire = Wire::open(rti.address);
        wire.send(&bad(&wire));
        wire.gone();
        assert_eq!(wire.resume(NONE, NONE), (1, NONE));
        wire.gone();
    }
}
