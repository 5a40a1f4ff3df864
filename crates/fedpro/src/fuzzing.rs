//! Bodies of the fuzz targets: ordinary functions, so that they also run under proptest.

mod world;

use hemiola_hla::{Call, Data};
use hemiola_units::Instant;

use crate::frame::Deframer;
use crate::message;
use crate::session::{Arrival, Client, Greeting, Server, Session, Settings};
use crate::{Event, SessionId};

pub use world::{Happened, Plan, World};

/// Reads arbitrary bytes as frames, whole and in two parts.
///
/// # Panics
/// When the parts give something else than the whole.
pub fn frames(bytes: &[u8]) {
    let cut = |parts: &[&[u8]]| {
        let mut deframer = Deframer::new(1 << 16);
        let mut frames = Vec::new();
        for mut part in parts.iter().copied() {
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

/// Reads arbitrary bytes as bodies of every kind, and writes what was understood again.
///
/// # Panics
/// When what was written is understood as something else.
pub fn bodies(bytes: &[u8]) {
    let body = Data::copy_from_slice(bytes);
    // What has bytes that are no handle or time is written as what it means: from there on it stays.
    if let Ok(call) = message::decode_call(&body) {
        let written = message::encode_call(&call);
        let again = message::decode_call(&written).expect("it was written here");
        assert_eq!(message::encode_call(&again), written);
    }
    if let Ok(callback) = message::decode_callback(&body) {
        let written = message::encode_callback(&callback);
        let again = message::decode_callback(&written).expect("it was written here");
        assert_eq!(message::encode_callback(&again), written);
    }
    for entry in Call::TABLES.concat() {
        if let Ok(answer) = message::decode_reply(entry.number, entry.shape, &body) {
            let written = message::encode_reply(entry.number, &answer);
            let again = message::decode_reply(entry.number, entry.shape, &written);
            let again = again.expect("it was written here");
            assert_eq!(message::encode_reply(entry.number, &again), written);
        }
    }
    let _ = message::decode_taken(&body);
}

/// Gives arbitrary bytes to both sides of a session, as a peer that means harm would.
///
/// # Panics
/// When a side does something that it must not do whatever comes, or goes on after it has ended.
pub fn peers(bytes: &[u8]) {
    let (now, settings) =
        (Instant::ZERO, Settings { frame_len_max: 1 << 16, ..Settings::default() });
    let id = SessionId::new(u64::MAX).expect("not 0");
    let mut arrival = Arrival::new(now, &settings);
    if let Ok(Some(Greeting::New)) = arrival.receive(bytes) {
        answer_all(Session::<Server>::accept(now, settings, id, arrival), &[]);
    }
    // A connection that began well.
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
    session.receive(now, bytes);
    let mut has_ended = false;
    while let Some(event) = session.poll() {
        match event {
            Event::Request { id, body } => {
                assert!(!has_ended, "requests come before the end");
                session.respond(now, id, body);
            }
            Event::Ended(_) => has_ended = true,
            _ => {}
        }
        let mut wire = Vec::new();
        session.transmit(now, &mut wire, usize::MAX);
    }
    assert_eq!(session.has_ended(), has_ended);
}

/// Lets two sessions talk over a network whose every misfortune the bytes decide.
///
/// # Panics
/// When a call, an answer or a callback is lost, comes twice, or out of order.
pub fn sessions(bytes: &[u8]) {
    World::run(Plan::Given(bytes));
}
