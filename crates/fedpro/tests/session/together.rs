//! One frame that holds several callbacks.

use hemiola_fedpro::frame::{BLOCK_LEN, Deframer, Unread};
use hemiola_hla::Body;

use super::*;

/// A pair that has agreed on shared frames.
fn sharing() -> Pair {
    let mut pair = Pair::new(Settings::default());
    pair.federate.share_frames();
    pair.rti.share_frames();
    pair
}

/// Queues a callback whose frame may hold the next ones, too.
fn callback(pair: &mut Pair, text: &str) -> Ticket {
    let body = Body::from(Data::copy_from_slice(text.as_bytes()));
    pair.rti.request_with_next(pair.now, &body).unwrap()
}

/// Returns the bodies of the callbacks in each frame, and the frames' names.
fn received(pair: &mut Pair) -> Vec<(RequestId, Vec<Data>)> {
    let of = |event| match event {
        Event::Request { id, body } => (id, vec![body]),
        Event::Requests { id, bodies } => (id, bodies.collect()),
        other => panic!("{other:?}"),
    };
    events(&mut pair.federate).into_iter().map(of).collect()
}

fn bodies(frames: &[(RequestId, Vec<Data>)]) -> Vec<Vec<&str>> {
    fn text(body: &Data) -> &str {
        str::from_utf8(body).unwrap()
    }
    frames.iter().map(|(_, bodies)| bodies.iter().map(text).collect()).collect()
}

#[test]
fn callbacks_that_wait_together_share_one_frame_and_one_answer() {
    let mut pair = sharing();
    assert_eq!([callback(&mut pair, "one"), callback(&mut pair, "two")], [Ticket(0); 2]);
    assert_eq!(pair.rti.waiting(), 2);
    let down = transmitted(&mut pair.rti, pair.now);
    // The frame has the kind 1022; before each callback stands its length.
    let head = "00000026 00000001 0123456789abcdef 80000000 000003fe";
    assert_eq!(down, hex(&format!("{head} 00000003 6f6e65 00000003 74776f")));
    pair.federate.receive(pair.now, &down);
    let frames = received(&mut pair);
    assert_eq!(bodies(&frames), [["one", "two"]]);
    let left = (pair.rti.waiting(), pair.rti.waiting_len(), pair.rti.unanswered());
    assert_eq!(left, (0, 0, 1));

    pair.federate.respond(pair.now, frames[0].0, body("taken"));
    pair.exchange();
    let answer = Event::Response { to: Ticket(0), body: body("taken") };
    assert_eq!((events(&mut pair.rti), pair.rti.unanswered()), (vec![answer], 0));
    assert_eq!(callback(&mut pair, "three"), Ticket(1));
}

#[test]
fn a_callback_or_an_answer_ends_the_frame_of_those_before_it() {
    let mut pair = sharing();
    pair.federate.request(pair.now, body("call")).unwrap();
    pair.exchange();
    let [Event::Request { id, .. }] = events(&mut pair.rti)[..] else { panic!("one call") };
    callback(&mut pair, "one");
    assert_eq!(pair.rti.request(pair.now, body("grant")), Some(Ticket(0)));
    callback(&mut pair, "two");
    callback(&mut pair, "three");
    pair.rti.respond(pair.now, id, body("reply"));
    callback(&mut pair, "four");
    pair.exchange();
    let mut events = events(&mut pair.federate);
    let reply = Event::Response { to: Ticket(0), body: body("reply") };
    assert_eq!(events.remove(2), reply);
    let of = |event: &Event| match event {
        Event::Request { .. } => 1,
        Event::Requests { bodies, .. } => bodies.clone().count(),
        other => panic!("{other:?}"),
    };
    assert_eq!(events.iter().map(of).collect::<Vec<_>>(), [2, 2, 1]);
}

#[test]
fn without_an_agreement_each_callback_has_a_frame() {
    let mut pair = Pair::new(Settings::default());
    callback(&mut pair, "one");
    assert_eq!(callback(&mut pair, "two"), Ticket(1));
    pair.exchange();
    assert_eq!(bodies(&received(&mut pair)), [["one"], ["two"]]);
    // A client that has not agreed does not understand such a frame.
    let kind = FrameKind::CallbackRequests;
    pair.federate.receive(pair.now, &frame(kind, 3, None, &[0; 8]));
    let end = End::Violation(Violation::Unexpected(kind));
    assert_eq!(events(&mut pair.federate)[0], Event::Ended(end));
    // Nobody sends several calls in one frame.
    sharing().ends_by(&frame(kind, 1, None, &[0; 8]), Violation::Unexpected(kind));
}

#[test]
fn a_shared_frame_is_no_longer_than_a_block() {
    let mut pair = sharing();
    let texts: Vec<String> =
        (0..200).map(|number: usize| "x".repeat(number * number % 331)).collect();
    let long = "y".repeat(2 * BLOCK_LEN);
    for text in texts.iter().chain([&long, &texts[7]]) {
        callback(&mut pair, text);
    }
    let wire = transmitted(&mut pair.rti, pair.now);
    let (mut unread, mut deframer) = (Unread::new(&wire), Deframer::new(1 << 20));
    let frames: Vec<_> = std::iter::from_fn(|| deframer.next(&mut unread).unwrap()).collect();
    let shared = frames.iter().filter(|one| one.header.kind == FrameKind::CallbackRequests);
    let lens: Vec<usize> = shared.map(|one| one.payload.len() + 24).collect();
    let all = texts.iter().map(|text| text.len() + 4).sum::<usize>();
    assert!(lens.iter().all(|len| *len <= BLOCK_LEN), "{lens:?}");
    assert!(lens.len() <= all / (BLOCK_LEN - 24 - 4 - 331) + 1, "{lens:?}");
    assert_eq!(frames.len(), lens.len() + 2, "the long one and the last one");
    pair.federate.receive(pair.now, &wire);
    let received = received(&mut pair);
    let received: Vec<&str> = bodies(&received).concat();
    assert!(received.iter().copied().eq(texts.iter().chain([&long, &texts[7]])));
}

#[test]
fn a_shared_frame_survives_a_broken_connection_as_it_was_sent() {
    let mut pair = sharing();
    callback(&mut pair, "one");
    callback(&mut pair, "two");
    let lost = transmitted(&mut pair.rti, pair.now);
    assert!(!lost.is_empty());
    callback(&mut pair, "three");
    pair.cut();
    callback(&mut pair, "four");
    pair.reconnect();
    let again = transmitted(&mut pair.rti, pair.now);
    assert!(again.windows(lost.len()).any(|part| part == lost), "the same bytes");
    pair.federate.receive(pair.now, &again);
    assert_eq!(pair.federate.poll(), Some(Event::Running));
    assert_eq!(bodies(&received(&mut pair)), [["one", "two"], ["three", "four"]]);
}

#[test]
fn a_shared_frame_whose_lengths_do_not_add_up_is_a_violation() {
    let kind = FrameKind::CallbackRequests;
    let bad: [&[u8]; 5] =
        [b"", &[0, 0, 0], &[0, 0, 0, 1], &[0, 0, 0, 1, 7, 0], &[0xFF, 0xFF, 0xFF, 0xFF, 7]];
    for payload in bad {
        let mut pair = sharing();
        pair.federate.receive(pair.now, &frame(kind, 1, None, payload));
        let end = End::Violation(Violation::BadPayload { kind, len: payload.len() });
        assert_eq!(events(&mut pair.federate)[0], Event::Ended(end), "{payload:?}");
    }
}

#[test]
fn the_parts_of_a_frame_are_its_bodies() {
    let mut pair = sharing();
    for text in ["one", "", "three"] {
        callback(&mut pair, text);
    }
    let wire = transmitted(&mut pair.rti, pair.now);
    pair.federate.receive(pair.now, &wire);
    let [Event::Requests { bodies, .. }] = &events(&mut pair.federate)[..] else {
        panic!("one frame")
    };
    let mut left = bodies.clone();
    for body in bodies.clone() {
        assert_eq!(left.parts().next(), Some(&body[..]));
        assert_eq!(left.parts().map(|part| left.whole().slice_ref(part)).collect::<Vec<_>>(), {
            left.clone().collect::<Vec<_>>()
        });
        left.skip_first();
    }
    assert_eq!((left.is_empty(), left.parts().next()), (true, None));
    left.skip_first();
    assert!(left.is_empty());
}
