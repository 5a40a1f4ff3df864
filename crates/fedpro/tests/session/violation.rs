//! Peers that break the protocol.

use super::*;

#[test]
fn a_peer_that_breaks_the_protocol_loses_its_session() {
    let pair = || Pair::new(Settings::default());
    let kind = Kind::NewSession;
    pair().ends_by(&frame(kind, 1, None, &[0, 0, 0, 1]), Violation::Unexpected(kind));
    let kind = Kind::CallResponse;
    pair().ends_by(&frame(kind, 1, None, &[0; 4]), Violation::Unexpected(kind));
    let kind = Kind::CallbackResponse;
    pair().ends_by(&frame(kind, 1, None, &[0; 3]), Violation::BadPayload { kind, len: 3 });
    let kind = Kind::Heartbeat;
    pair().ends_by(&frame(kind, 1, None, &[0]), Violation::BadPayload { kind, len: 1 });
    pair().ends_by(
        &frame(Kind::Heartbeat, 1, Some(9), b""),
        Violation::AcknowledgedUnsent(sequence(9).unwrap()),
    );
    pair().ends_by(
        &frame(Kind::Heartbeat, 0x8000_0000, None, b""),
        Violation::NoSequence(Kind::Heartbeat),
    );
    let mut other = frame(Kind::Heartbeat, 1, None, b"");
    other[15] ^= 1;
    let wrong = SessionId::new(0x0123_4567_89AB_CDEE).unwrap();
    pair().ends_by(&other, Violation::WrongSession(wrong));
}

#[test]
fn a_federate_answered_twice_says_goodbye() {
    let mut pair = Pair::new(Settings::default());
    pair.federate.receive(pair.now, &frame(Kind::CallResponse, 1, None, &[0, 0, 0, 1]));
    let violation = Violation::AnsweredUnasked(1);
    assert_eq!(events(&mut pair.federate), [Event::Ended(violation.into())]);
    let up = said(&mut pair.federate, pair.now);
    assert_eq!(up, frame(Kind::TerminateSession, 1, Some(1), b""));
    assert_eq!(events(&mut pair.federate), [Event::Disconnect]);
}

#[test]
#[should_panic(expected = "answered once")]
fn a_second_answer_is_a_mistake_of_ours() {
    let mut pair = Pair::new(Settings::default());
    pair.federate.request(pair.now, body("call")).unwrap();
    pair.exchange();
    let id = RequestId::from_number(1).unwrap();
    pair.rti.respond(pair.now, id, body("answer"));
    pair.rti.respond(pair.now, id, body("answer"));
}

#[test]
fn a_peer_whose_numbers_go_round_to_a_request_without_an_answer_loses_its_session() {
    let mut pair = Pair::new(Settings::default());
    let request = |number| frame(Kind::CallRequest, number, None, b"");
    for number in [1, 1 << 30] {
        pair.rti.receive(pair.now, &request(number));
        let id = RequestId::from_number(number).unwrap();
        assert_eq!(events(&mut pair.rti), [Event::Request { id, body: Data::new() }]);
    }
    let number = (1 << 31) - 1;
    pair.ends_by(&request(number), Violation::Lapped(sequence(number).unwrap()));
}
