//! Long frames, which are transmitted in parts.

use hemiola_hla::Body;

use super::*;

const LONG: usize = 300_000;

/// Returns the next part that a session transmits.
fn part<S: Side>(session: &mut Session<S>, now: Instant) -> Vec<u8> {
    let mut out = Vec::new();
    session.transmit(now, &mut out, 1000);
    out
}

fn long(byte: u8) -> Data {
    Data::from(vec![byte; LONG])
}

/// The bodies of the callbacks that have arrived.
fn callbacks(pair: &mut Pair) -> Vec<Data> {
    let bodies = events(&mut pair.federate).into_iter().map(|event| match event {
        Event::Request { body, .. } => body,
        other => panic!("{other:?}"),
    });
    bodies.collect()
}

#[test]
fn a_long_frame_is_transmitted_in_parts_that_nothing_interrupts() {
    let mut pair = Pair::new(Settings::default());
    pair.rti.request(pair.now, long(1)).unwrap();
    pair.rti.request(pair.now, body("short")).unwrap();
    let first = part(&mut pair.rti, pair.now);
    assert!(first.len() < 1100, "{}", first.len());
    // The answer to a heartbeat is sent before all messages that have not begun.
    pair.rti.receive(pair.now, &frame(FrameKind::Heartbeat, 5, None, b""));
    let mut parts = vec![first];
    while pair.rti.has_output() {
        parts.push(part(&mut pair.rti, pair.now));
        assert!(parts.last().is_some_and(|part| (1..1100).contains(&part.len())));
    }
    assert!(parts.len() > LONG / 1100);
    parts.iter().for_each(|part| pair.federate.receive(pair.now, part));
    assert_eq!(callbacks(&mut pair), [long(1), body("short")]);
}

#[test]
fn a_body_in_pieces_is_transmitted_as_one_piece_is() {
    for len_max in [1000, 64 << 10, usize::MAX] {
        let [whole, pieces] = [1, 7].map(|count| {
            let mut pair = Pair::new(Settings::default());
            let pieces =
                (0..count).map(|at| long(3).slice(at * LONG / count..(at + 1) * LONG / count));
            pair.rti.request(pair.now, Body::from_pieces(pieces.collect())).unwrap();
            let mut parts = Vec::new();
            while pair.rti.has_output() {
                let mut out = Vec::new();
                pair.rti.transmit(pair.now, &mut out, len_max);
                parts.push(out);
            }
            parts
        });
        assert_eq!(whole, pieces);
    }
}

#[test]
fn a_long_frame_that_is_cut_is_transmitted_again_from_its_beginning() {
    let mut pair = Pair::new(Settings::default());
    pair.rti.request(pair.now, long(2)).unwrap();
    for _ in 0..3 {
        let part = part(&mut pair.rti, pair.now);
        pair.federate.receive(pair.now, &part);
    }
    pair.cut();
    pair.reconnect();
    while pair.rti.has_output() {
        let part = part(&mut pair.rti, pair.now);
        pair.federate.receive(pair.now, &part);
    }
    assert_eq!(events(&mut pair.federate).len(), 2, "the session runs again, and one callback");
}

#[test]
fn the_last_frame_of_a_session_follows_the_rest_of_a_long_one() {
    let mut pair = Pair::new(Settings::default());
    pair.rti.request(pair.now, long(3)).unwrap();
    pair.rti.request(pair.now, body("never sent")).unwrap();
    let first = part(&mut pair.rti, pair.now);
    pair.federate.receive(pair.now, &first);
    pair.rti.receive(pair.now, &frame(FrameKind::TerminateSession, 5, None, b""));
    while pair.rti.has_output() {
        let part = part(&mut pair.rti, pair.now);
        pair.federate.receive(pair.now, &part);
    }
    let bodies: Vec<Event> = events(&mut pair.federate);
    assert!(matches!(&bodies[0], Event::Request { body, .. } if *body == long(3)), "{bodies:?}");
    assert!(matches!(bodies[1], Event::Ended(_)), "{bodies:?}");
}

#[test]
fn a_message_that_is_being_transmitted_cannot_be_acknowledged() {
    let mut pair = Pair::new(Settings::default());
    pair.rti.request(pair.now, long(4)).unwrap();
    part(&mut pair.rti, pair.now);
    let newest = Sequence::new(2).unwrap();
    let early = frame(FrameKind::Heartbeat, 5, Some(2), b"");
    pair.ends_by(&early, Violation::AcknowledgedUnsent(newest));
}
