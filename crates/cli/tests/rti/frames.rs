//! Bytes that are not frames, unexpected frames, and connections that end in the middle of a frame.

use std::io::Write;
use std::net::Shutdown;
use std::process::{Command, Stdio};

use super::peer::{NO_NUMBER, Peer, connect, frame, opened, until_closed, whole};
use super::scene::Scene;

const NEW_SESSION: u32 = 1;
const HEARTBEAT: u32 = 3;
const TERMINATE: u32 = 5;
const RESUME: u32 = 10;
const CALL: u32 = 20;
const CALLBACK_RESPONSE: u32 = 23;
const VERSION: [u8; 4] = 1_u32.to_be_bytes();

/// Every frame that may not begin a connection.
fn no_beginnings() -> Vec<Vec<u8>> {
    let sizes = (0..24).chain([33, 1 << 16, 0x7FFF_FFFF, u32::MAX]);
    let mut all: Vec<Vec<u8>> =
        sizes.map(|size| frame(size, 0, 0, NEW_SESSION, &VERSION)).collect();
    let kinds = (0..=40).filter(|kind| ![NEW_SESSION, RESUME].contains(kind));
    all.extend(kinds.chain([1 << 31, u32::MAX]).map(|kind| whole(0, 0, kind, &VERSION)));
    for (kind, right) in [(NEW_SESSION, 4), (RESUME, 8)] {
        let payloads = (0..=8).filter(|len| *len != right);
        all.extend(payloads.map(|len| whole(0, 0, kind, &vec![0; len])));
    }
    // An invalid sequence number, none at all, and a session ID before a session exists.
    all.push(whole(NO_NUMBER + 1, 0, NEW_SESSION, &VERSION));
    all.push(whole(NO_NUMBER, 0, NEW_SESSION, &VERSION));
    all.push(whole(0, 1, NEW_SESSION, &VERSION));
    // Other protocols.
    all.push(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec());
    all.push([&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3][..], &[7; 64]].concat());
    all.push(vec![0; 4096]);
    all
}

#[test]
fn a_connection_that_begins_with_anything_else_is_closed_with_the_reason() {
    let scene = Scene::begin("beginnings", &[]);
    let all = no_beginnings();
    for bytes in &all {
        let mut stream = connect(scene.address());
        stream.write_all(bytes).unwrap();
        assert_eq!(until_closed(&stream), b"", "{bytes:?}");
    }
    scene.rti.says("connection closed", all.len());
    let log = scene.end();
    for reason in
        ["shorter than its header", "longer than the 32 allowed", "there is no frame kind"]
    {
        assert!(log.contains(reason), "{reason}: {log}");
    }
}

#[test]
fn an_unsupported_version_is_refused_with_the_reason() {
    let scene = Scene::begin("versions", &[]);
    for version in [0, 2, u32::MAX] {
        let mut stream = connect(scene.address());
        stream.write_all(&whole(0, 0, NEW_SESSION, &u32::to_be_bytes(version))).unwrap();
        let answer = until_closed(&stream);
        assert_eq!((answer[20..24].to_vec(), &answer[24..]), (vec![0, 0, 0, 2], &[0, 0, 0, 1][..]));
    }
    scene.end();
}

#[test]
fn resuming_a_session_that_does_not_exist_is_refused() {
    let scene = Scene::begin("unknown-session", &[]);
    for session in [1, 0x0123_4567_89AB_CDEF, u64::MAX] {
        let mut stream = connect(scene.address());
        let nothing = [NO_NUMBER.to_be_bytes(), NO_NUMBER.to_be_bytes()].concat();
        stream.write_all(&whole(NO_NUMBER, session, RESUME, &nothing)).unwrap();
        let answer = until_closed(&stream);
        assert_eq!(answer[20..28], [0, 0, 0, 11, 0, 0, 0, 1], "unknown session");
    }
    scene.end();
}

/// Every frame that is not allowed within a session.
fn no_places(session: u64) -> Vec<Vec<u8>> {
    let sizes = (0..24).step_by(5).chain([23, (16 << 20) + 1, u32::MAX]);
    let mut all: Vec<Vec<u8>> = sizes.map(|size| frame(size, 1, session, CALL, &[])).collect();
    let legal = [HEARTBEAT, TERMINATE, CALL, CALLBACK_RESPONSE];
    let kinds = (0..=30).filter(|kind| !legal.contains(kind)).chain([u32::MAX]);
    all.extend(kinds.map(|kind| whole(1, session, kind, &VERSION)));
    all.extend([HEARTBEAT, TERMINATE].map(|kind| whole(1, session, kind, &[0])));
    all.extend((0..4).map(|len| whole(1, session, CALLBACK_RESPONSE, &vec![0; len])));
    all.extend([NO_NUMBER, NO_NUMBER + 1, u32::MAX].map(|one| whole(one, session, CALL, &[])));
    all.extend([0, session ^ 1, u64::MAX].map(|other| whole(1, other, CALL, &[])));
    // It acknowledges a message that was never sent.
    let mut ahead = whole(1, session, CALL, &[]);
    ahead[16..20].copy_from_slice(&4711_u32.to_be_bytes());
    all.push(ahead);
    all
}

#[test]
fn an_unexpected_frame_ends_the_session_with_the_reason_and_without_resumption() {
    let scene = Scene::begin("places", &[]);
    let count = no_places(1).len();
    for index in 0..count {
        let (mut stream, session) = opened(scene.address());
        let bytes = no_places(session).swap_remove(index);
        stream.write_all(&bytes).unwrap();
        assert_eq!(until_closed(&stream), b"", "{bytes:?}");
        if index % 10 == 0 {
            let mut again = connect(scene.address());
            let nothing = [NO_NUMBER.to_be_bytes(), NO_NUMBER.to_be_bytes()].concat();
            again.write_all(&whole(NO_NUMBER, session, RESUME, &nothing)).unwrap();
            assert_eq!(until_closed(&again)[20..28], [0, 0, 0, 11, 0, 0, 0, 1]);
        }
    }
    scene.rti.says("the peer violated the protocol", count);
    scene.end();
}

#[test]
fn a_connection_cut_at_any_byte_of_a_frame_disturbs_no_other_session() {
    let scene = Scene::begin("cuts", &[]);
    let beginning = whole(0, 0, NEW_SESSION, &VERSION);
    for len in 0..beginning.len() {
        let mut stream = connect(scene.address());
        stream.write_all(&beginning[..len]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(until_closed(&stream), b"");
    }
    for len in [0, 1, 4, 23, 24, 25] {
        let (mut stream, session) = opened(scene.address());
        let call = whole(1, session, CALL, &[0x0a, 0]);
        stream.write_all(&call[..len]).unwrap();
        drop(stream);
    }
    scene.end();
}

#[test]
fn a_process_killed_in_the_middle_of_a_frame_does_not_disturb_the_others() {
    let scene = Scene::begin("killed", &["--log", "debug"]);
    for len in [1, 20, 24, 30, 100_000] {
        // Only the process has the connection open when it is killed.
        let mut federate = Peer::joined(scene.address(), "Others");
        let socket = federate.stream.try_clone().unwrap();
        let mut process = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::from(std::os::fd::OwnedFd::from(socket)))
            .spawn()
            .unwrap();
        let session = session_of(&mut federate);
        let half = frame(200_000, 1000, session, CALL, &vec![0x0a; 200_000 - 24]);
        process.stdin.take().unwrap().write_all(&half[..len]).unwrap();
        scene.others_go_on();
        let gone = scene.rti.log().matches("has lost its connection").count() + 1;
        drop(federate);
        process.kill().unwrap();
        process.wait().unwrap();
        scene.rti.says("session detached", gone);
    }
    scene.end();
}

/// The session ID, which the session does not expose, taken from the frame of a heartbeat.
fn session_of(federate: &mut Peer) -> u64 {
    let mut bytes = Vec::new();
    let due = federate.session.deadline().expect("a session that runs has a heartbeat");
    federate.session.tick(due);
    federate.session.transmit(due, &mut bytes, usize::MAX);
    federate.stream.write_all(&bytes).unwrap();
    u64::from_be_bytes(bytes[8..16].try_into().unwrap())
}
