//! The limits on what a peer can make a session keep.

use super::*;

#[test]
fn peer_that_does_not_read_is_slowed_down_and_then_dropped() {
    let settings = Settings { waiting_len_max: 10_000, ..Settings::default() };
    let mut pair = Pair::new(settings);
    let mut congested_at = None;
    for callbacks in 0.. {
        if pair.rti.request(pair.now, body("some callback")).is_none() {
            break;
        }
        assert!(pair.rti.waiting_len() <= 10_000);
        if pair.rti.is_congested() && congested_at.is_none() {
            congested_at = Some(callbacks);
            assert!(!pair.rti.may_receive() && !pair.rti.may_request());
        }
    }
    assert!(congested_at.is_some_and(|callbacks| callbacks > 10));
    let expected = [Event::Ended(End::Overflow(10_000)), Event::Disconnect];
    assert_eq!(events(&mut pair.rti), expected);
    assert_eq!(pair.rti.waiting_len(), 0);
}

#[test]
fn heartbeats_of_a_peer_that_does_not_read_are_limited() {
    let settings = Settings { waiting_len_max: 10_000, ..Settings::default() };
    let mut pair = Pair::new(settings);
    for number in 1..1000 {
        pair.rti.receive(pair.now, &frame(FrameKind::Heartbeat, number, None, b""));
    }
    assert_eq!(events(&mut pair.rti)[0], Event::Ended(End::Overflow(10_000)));
}

#[test]
fn calls_without_an_answer_are_limited() {
    let settings = Settings { requests_max: 10, ..Settings::default() };
    let mut pair = Pair::new(settings);
    for number in 0..10 {
        assert!(pair.federate.may_request() && pair.rti.may_receive(), "{number}");
        pair.federate.request(pair.now, body("call")).unwrap();
        pair.exchange();
    }
    assert!(!pair.federate.may_request() && !pair.rti.may_receive());
    assert_eq!(pair.federate.unanswered(), 10);
}

#[test]
fn callbacks_that_are_never_answered_do_no_harm() {
    let mut pair = Pair::new(Settings::default());
    for _ in 0..20_000 {
        pair.rti.request(pair.now, body("callback")).unwrap();
        let down = transmitted(&mut pair.rti, pair.now);
        pair.federate.receive(pair.now, &down);
    }
    assert_eq!(pair.rti.unanswered(), 1 << 14);
    // Each heartbeat acknowledges what has arrived, so nothing is kept for retransmission.
    pair.now += seconds(50);
    pair.federate.tick(pair.now);
    pair.exchange();
    assert_eq!(pair.rti.kept_len(), 0);
    // A response to a dropped callback is ignored; any other is reported.
    let requests: Vec<Event> = events(&mut pair.federate);
    let answer = |pair: &mut Pair, at: usize| {
        let Event::Request { id, .. } = &requests[at] else { panic!("a callback") };
        pair.federate.respond(pair.now, *id, encode_taken(&Ok(())));
        pair.exchange();
        events(&mut pair.rti).len()
    };
    assert_eq!((answer(&mut pair, 0), answer(&mut pair, 19_999)), (0, 1));
}

#[test]
fn sessions_share_the_body_of_a_callback() {
    let callback = encode_callback(&Callback::FederationSaved).into_data();
    let mut pairs = [Pair::new(Settings::default()), Pair::new(Settings::default())];
    for pair in &mut pairs {
        pair.rti.request(pair.now, callback.clone()).unwrap();
    }
    assert!(!callback.is_unique());
    let frames = pairs.map(|mut pair| transmitted(&mut pair.rti, pair.now));
    assert!(frames.iter().all(|frame| frame.ends_with(&callback)));
}
