//! Peers that violate the protocol.

use super::*;

#[test]
fn peer_that_violates_the_protocol_loses_its_session() {
    let pair = || Pair::new(Settings::default());
    let kind = FrameKind::NewSession;
    pair().ends_by(&frame(kind, 1, None, &[0, 0, 0, 1]), Violation::Unexpected(kind));
    let kind = FrameKind::CallResponse;
    pair().ends_by(&frame(kind, 1, None, &[0; 4]), Violation::Unexpected(kind));
    let kind = FrameKind::CallbackResponse;
    pair().ends_by(&frame(kind, 1, None, &[0; 3]), Violation::BadPayload { kind, len: 3 });
    let kind = FrameKind::Heartbeat;
    pair().ends_by(&frame(kind, 1, None, &[0]), Violation::BadPayload { kind, len: 1 });
    pair().ends_by(
        &frame(FrameKind::Heartbeat, 1, Some(9), b""),
        Violation::AcknowledgedUnsent(sequence(9).unwrap()),
    );
    pair().ends_by(
        &frame(FrameKind::Heartbeat, 0x8000_0000, None, b""),
        Violation::NoSequence(FrameKind::Heartbeat),
    );
    let mut other = frame(FrameKind::Heartbeat, 1, None, b"");
    other[15] ^= 1;
    let wrong = SessionId::new(0x0123_4567_89AB_CDEE).unwrap();
    pair().ends_by(&other, Violation::WrongSession(wrong));
}

#[test]
fn federate_answered_twice_terminates_the_session() {
    let mut pair = Pair::new(Settings::default());
    pair.federate.receive(pair.now, &frame(FrameKind::CallResponse, 1, None, &[0, 0, 0, 1]));
    let violation = Violation::UnexpectedAnswer(1);
    assert_eq!(events(&mut pair.federate), [Event::Ended(violation.into())]);
    let up = transmitted(&mut pair.federate, pair.now);
    assert_eq!(up, frame(FrameKind::TerminateSession, 1, Some(1), b""));
    assert_eq!(events(&mut pair.federate), [Event::Disconnect]);
}

#[test]
#[should_panic(expected = "answered once")]
fn second_answer_to_a_request_panics() {
    let mut pair = Pair::new(Settings::default());
    pair.federate.request(pair.now, body("call")).unwrap();
    pair.exchange();
    let id = RequestId::from_number(1).unwrap();
    pair.rti.respond(pair.now, id, body("answer"));
    pair.rti.respond(pair.now, id, body("answer"));
}

#[test]
fn peer_whose_numbers_wrap_around_to_an_unanswered_request_loses_its_session() {
    let mut pair = Pair::new(Settings::default());
    let request = |number| frame(FrameKind::CallRequest, number, None, b"");
    for number in [1, 1 << 30] {
        pair.rti.receive(pair.now, &request(number));
        let id = RequestId::from_number(number).unwrap();
        assert_eq!(events(&mut pair.rti), [Event::Request { id, body: Data::new() }]);
    }
    let number = (1 << 31) - 1;
    pair.ends_by(&request(number), Violation::TooFarAhead(sequence(number).unwrap()));
}
