//! One frame that answers several requests.

use super::*;

/// The federate makes calls with these bodies; returns the requests as the RTI sees them.
fn call(pair: &mut Pair, bodies: &[&'static str]) -> Vec<RequestId> {
    for text in bodies {
        pair.federate.request(pair.now, body(text)).unwrap();
    }
    pair.exchange();
    let seen = events(&mut pair.rti);
    let ids = seen.into_iter().map(|event| match event {
        Event::Request { id, .. } => id,
        other => panic!("{other:?}"),
    });
    ids.collect()
}

fn gathering() -> Pair {
    let mut pair = Pair::new(Settings::default());
    pair.federate.offer_gathering();
    pair.rti.gather_answers();
    pair
}

#[test]
fn answers_without_a_result_share_one_frame() {
    let mut pair = gathering();
    let calls = call(&mut pair, &["one", "two", "three"]);
    for id in calls {
        pair.rti.respond_done(pair.now, id, || panic!("it is not encoded"));
    }
    let down = transmitted(&mut pair.rti, pair.now);
    // The frame has the kind 1021 and names the third call.
    assert_eq!(down, hex("0000001c 00000001 0123456789abcdef 00000003 000003fd 00000003"));
    pair.federate.receive(pair.now, &down);
    assert_eq!(events(&mut pair.federate), [Event::Done { through: Ticket(2) }]);
    assert_eq!((pair.federate.unanswered(), pair.rti.waiting()), (0, 0));
}

#[test]
fn answer_with_a_result_separates_the_gathered_ones() {
    let mut pair = gathering();
    let calls = call(&mut pair, &["one", "two", "three"]);
    pair.rti.respond_done(pair.now, calls[0], || body("done"));
    pair.rti.respond(pair.now, calls[1], body("a result"));
    pair.rti.respond_done(pair.now, calls[2], || body("done"));
    pair.exchange();
    let result = Event::Response { to: Ticket(1), body: body("a result") };
    let done = |number| Event::Done { through: Ticket(number) };
    assert_eq!(events(&mut pair.federate), [done(0), result, done(2)]);
}

#[test]
fn answer_before_that_of_an_older_request_has_its_own_frame() {
    let mut pair = gathering();
    let calls = call(&mut pair, &["one", "two"]);
    pair.rti.respond_done(pair.now, calls[1], || body("done"));
    pair.rti.respond_done(pair.now, calls[0], || panic!("it is not encoded"));
    pair.exchange();
    let second = Event::Response { to: Ticket(1), body: body("done") };
    assert_eq!(events(&mut pair.federate), [second, Event::Done { through: Ticket(0) }]);
}

#[test]
fn a_client_gathers_once_the_rti_has() {
    let mut pair = gathering();
    let callback = |pair: &mut Pair| {
        pair.rti.request(pair.now, body("callback")).unwrap();
        pair.exchange();
        let [Event::Request { id, .. }] = events(&mut pair.federate)[..] else {
            panic!("one callback")
        };
        pair.federate.respond_done(pair.now, id, || body("taken"));
        pair.exchange();
        events(&mut pair.rti)
    };
    let before = callback(&mut pair);
    assert_eq!(before, [Event::Response { to: Ticket(0), body: body("taken") }]);
    let calls = call(&mut pair, &["one"]);
    pair.rti.respond_done(pair.now, calls[0], || body("done"));
    pair.exchange();
    assert_eq!(events(&mut pair.federate), [Event::Done { through: Ticket(0) }]);
    assert_eq!(callback(&mut pair), [Event::Done { through: Ticket(1) }]);
}

#[test]
fn a_posted_request_is_answered_without_its_result_once_the_rti_has_gathered() {
    let mut pair = gathering();
    let post = |pair: &mut Pair| {
        pair.federate.post(pair.now, body("call")).unwrap();
        pair.exchange();
        events(&mut pair.rti)
    };
    let seen = post(&mut pair);
    let [Event::Request { id, .. }] = seen[..] else { panic!("{seen:?}") };
    pair.rti.respond_done(pair.now, id, || panic!("it is not encoded"));
    pair.exchange();
    assert_eq!(events(&mut pair.federate), [Event::Done { through: Ticket(0) }]);
    let seen = post(&mut pair);
    let [Event::Posted { id, .. }] = seen[..] else { panic!("{seen:?}") };
    pair.rti.respond_done(pair.now, id, || panic!("it is not encoded"));
    pair.exchange();
    assert_eq!(events(&mut pair.federate), [Event::Done { through: Ticket(1) }]);
}

#[test]
fn posted_request_without_an_agreement_ends_the_session() {
    let mut pair = Pair::new(Settings::default());
    let post = frame(FrameKind::CallPosted, 1, None, b"call");
    pair.ends_by(&post, Violation::Unexpected(FrameKind::CallPosted));
}

#[test]
fn gathered_answers_survive_a_broken_connection() {
    let mut pair = gathering();
    let calls = call(&mut pair, &["one", "two"]);
    pair.rti.respond_done(pair.now, calls[0], || body("done"));
    let lost = transmitted(&mut pair.rti, pair.now);
    assert!(!lost.is_empty());
    // The first frame has been sent and stays as it is; the next answer gets a frame of its own.
    pair.rti.respond_done(pair.now, calls[1], || body("done"));
    pair.cut();
    pair.reconnect();
    pair.exchange();
    let done = |number| Event::Done { through: Ticket(number) };
    assert_eq!(events(&mut pair.federate), [Event::Running, done(0), done(1)]);
}

#[test]
fn gathered_answer_without_an_agreement_ends_the_session() {
    let mut pair = Pair::new(Settings::default());
    pair.rti.request(pair.now, body("callback")).unwrap();
    pair.exchange();
    let answer = frame(FrameKind::CallbacksDone, 1, None, &1_u32.to_be_bytes());
    pair.ends_by(&answer, Violation::Unexpected(FrameKind::CallbacksDone));
}

#[test]
fn gathered_answer_to_nothing_ends_the_session_of_a_client() {
    let mut pair = gathering();
    let answer = frame(FrameKind::CallsDone, 1, None, &7_u32.to_be_bytes());
    pair.federate.receive(pair.now, &answer);
    let end = End::Violation(Violation::UnexpectedAnswer(7));
    assert_eq!(events(&mut pair.federate)[0], Event::Ended(end));
    // A server may have forgotten a callback, and accepts any answer.
    let mut pair = gathering();
    pair.rti.receive(pair.now, &frame(FrameKind::CallbacksDone, 1, None, &7_u32.to_be_bytes()));
    assert_eq!(events(&mut pair.rti), []);
}

#[test]
fn gathered_answer_of_a_wrong_length_is_a_violation() {
    let kind = FrameKind::CallbacksDone;
    gathering().ends_by(&frame(kind, 1, None, &[0; 5]), Violation::BadPayload { kind, len: 5 });
}
