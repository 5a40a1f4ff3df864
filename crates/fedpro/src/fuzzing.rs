//! The bodies of the fuzz targets: ordinary functions, so that they also run under proptest.

mod world;

use hemiola_hla::{Call, Data};
use hemiola_units::Instant;

use crate::frame::{Deframer, Unread};
use crate::message;
use crate::session::{Arrival, Client, Greeting, Server, Session, Settings};
use crate::{Event, SessionId};

pub use world::{Randomness, World, WorldStats};

/// Reads arbitrary bytes as frames, whole and in two parts.
///
/// # Panics
/// If the two parts give a different result from the whole.
pub fn frames(bytes: &[u8]) {
    let cut = |parts: &[&[u8]]| {
        let mut deframer = Deframer::new(1 << 16);
        let mut frames = Vec::new();
        for part in parts {
            let mut part = Unread::new(part);
            loop {
                match deframer.next(&mut part) {
                    Ok(Some(frame)) => frames.push(frame),
                    Ok(None) => break,
                    Err(error) => return (frames, Some(error)),
                }
            }
        }
        (frames, None)
    };
    let (one, other) = bytes.split_at(bytes.len() / 2);
    assert_eq!(cut(&[bytes]), cut(&[one, other]));
}

/// Decodes arbitrary bytes as every kind of body, and encodes the results again.
///
/// # Panics
/// If decoding the encoded result gives something else.
pub fn bodies(bytes: &[u8]) {
    let body = Data::copy_from_slice(bytes);
    // The first encoding normalizes invalid handles and times; from then on the bytes must not change.
    if let Ok(call) = message::decode_call(&body) {
        let written = message::encode_call(&call);
        let again = message::decode_call(&written).expect("it was encoded here");
        assert_eq!(message::encode_call(&again), written);
    }
    if let Ok(callback) = message::decode_callback(&body) {
        let written = message::encode_callback(&callback).into_data();
        let again = message::decode_callback(&written).expect("it was encoded here");
        assert_eq!(message::encode_callback(&again).into_data(), written);
    }
    for entry in Call::TABLES.concat() {
        if let Ok(answer) = message::decode_reply(entry.number, entry.shape, &body) {
            let written = message::encode_reply(entry.number, &answer);
            let again = message::decode_reply(entry.number, entry.shape, &written);
            let again = again.expect("it was encoded here");
            assert_eq!(message::encode_reply(entry.number, &again), written);
        }
    }
    let _ = message::decode_taken(&body);
}

/// Feeds arbitrary bytes to both sides of a session, as a hostile peer would.
///
/// # Panics
/// If a side violates an invariant, or continues after the session has ended.
pub fn peers(bytes: &[u8]) {
    let (now, settings) =
        (Instant::ZERO, Settings { frame_len_max: 1 << 16, ..Settings::default() });
    let id = SessionId::new(u64::MAX).expect("not 0");
    let mut arrival = Arrival::new(now, &settings);
    if let Ok(Some(Greeting::New)) = arrival.receive(bytes) {
        answer_all(Session::<Server>::accept(now, settings, id, arrival), &[]);
    }
    // A connection after a successful handshake.
    let mut federate = Session::<Client>::open(now, settings);
    federate.connected(now);
    let mut wire = Vec::new();
    federate.transmit(now, &mut wire, usize::MAX);
    let mut arrival = Arrival::new(now, &settings);
    assert_eq!(arrival.receive(&wire), Ok(Some(Greeting::New)));
    let mut rti = Session::<Server>::accept(now, settings, id, arrival);
    wire.clear();
    rti.transmit(now, &mut wire, usize::MAX);
    answer_all(rti, bytes);
    federate.receive(now, &wire);
    answer_all(federate, bytes);
}

fn answer_all<S: crate::session::Side>(mut session: Session<S>, bytes: &[u8]) {
    let now = Instant::ZERO;
    session.share_frames();
    session.receive(now, bytes);
    let mut has_ended = false;
    while let Some(event) = session.poll() {
        match event {
            Event::Request { id, body } | Event::Posted { id, body } => {
                assert!(!has_ended, "requests come before the end");
                session.respond(now, id, body);
            }
            Event::Requests { id, bodies } => {
                assert!(!has_ended, "requests come before the end");
                session.respond(now, id, bodies.last().expect("a frame has a request"));
            }
            Event::Ended(_) => has_ended = true,
            _ => {}
        }
        let mut wire = Vec::new();
        session.transmit(now, &mut wire, usize::MAX);
    }
    assert_eq!(session.has_ended(), has_ended);
}

/// Connects two sessions over a simulated network; the bytes decide every fault.
///
/// # Panics
/// If a call, an answer or a callback is lost, duplicated or reordered.
pub fn sessions(bytes: &[u8]) {
    World::run(Randomness::Bytes(bytes));
}
