//! How sessions begin, or fail to begin.

use super::*;

#[test]
fn session_that_cannot_be_created_ends_with_the_reason() {
    let settings = Settings::default();
    let check = |bytes: Option<Vec<u8>>, end| {
        let mut federate = Session::<Client>::open(START, settings);
        federate.connected(START);
        transmitted(&mut federate, START);
        match bytes {
            Some(bytes) => federate.receive(START, &bytes),
            None => federate.tick(START + seconds(10)),
        }
        assert!(events(&mut federate).contains(&Event::Ended(end)), "{end}");
    };
    for refusal in
        [SessionRefusal::UnsupportedVersion, SessionRefusal::OutOfResources, SessionRefusal::Other]
    {
        check(Some(refuse_session(refusal)), End::Refused(refusal));
    }
    check(None, End::Unreachable);
    let status = frame(FrameKind::NewSessionStatus, 0, None, &[0, 0, 0, 3]);
    check(Some(status), End::Violation(Violation::BadStatus(3, FrameKind::NewSessionStatus)));
    let call = frame(FrameKind::CallResponse, 0, None, &[0; 8]);
    check(Some(call), End::Violation(Violation::Unexpected(FrameKind::CallResponse)));
}

#[test]
fn connection_begins_with_one_of_two_frames() {
    let settings = Settings::default();
    let refused = |bytes: &[u8]| Arrival::new(START, &settings).receive(bytes).unwrap_err();
    let call = frame(FrameKind::CallRequest, 0, None, b"");
    assert_eq!(refused(&call), Violation::Unexpected(FrameKind::CallRequest));
    let named = frame(FrameKind::NewSession, 0, None, &[0, 0, 0, 1]);
    assert_eq!(refused(&named), Violation::WrongSession(id()));
    let short = frame(FrameKind::ResumeRequest, 0, None, &[0; 4]);
    assert_eq!(refused(&short), Violation::BadPayload { kind: FrameKind::ResumeRequest, len: 4 });
    assert!(matches!(refused(b"GET / HTTP/1.1\r\n\r\n"), Violation::Frame(_)));
    let old = hex("0000001c 00000000 0000000000000000 80000000 00000001 00000002");
    assert_eq!(arrive(&settings, START, &old).1, Greeting::Unsupported { version: 2 });
    assert_eq!(Arrival::new(START, &settings).deadline(), START + seconds(10));
}

#[test]
fn frames_after_the_first_are_not_lost() {
    let settings = Settings::default();
    let mut bytes = hex("0000001c 00000000 0000000000000000 80000000 00000001 00000001");
    bytes.extend(frame(FrameKind::CallRequest, 1, None, b"call"));
    let (arrival, _) = arrive(&settings, START, &bytes);
    let mut rti = Session::<Server>::accept(START, settings, id(), arrival);
    assert!(matches!(events(&mut rti)[..], [Event::Running, Event::Request { .. }]));
}
