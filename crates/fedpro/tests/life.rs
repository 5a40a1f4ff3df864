//! The life of a session: its frames byte for byte, its times, its limits, and what ends it.

use hemiola_fedpro::frame::{Header, Kind};
use hemiola_fedpro::message::{
    decode_call, encode_call, encode_callback, encode_reply, encode_taken,
};
use hemiola_fedpro::session::{
    Resume, ResumeRefusal, SessionRefusal, Side, refuse_resume, refuse_session,
};
use hemiola_fedpro::{
    Arrival, Client, End, Event, Greeting, RequestId, Sequence, Server, Session, SessionId,
    Settings, Ticket, Violation,
};
use hemiola_hla::call::FederationCall;
use hemiola_hla::data::{FederationExecutionInformation, FomModule};
use hemiola_hla::{Call, Callback, Data, Reply};
use hemiola_units::{Instant, Span};

const START: Instant = Instant::from_nanos(1_000_000_000);

fn seconds(seconds: i64) -> Span {
    Span::from_nanos(seconds * 1_000_000_000)
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn id() -> SessionId {
    SessionId::new(0x0123_4567_89AB_CDEF).unwrap()
}

fn sequence(number: u32) -> Option<Sequence> {
    Sequence::new(number)
}

/// What a session has to say.
fn said<S: Side>(session: &mut Session<S>, now: Instant) -> Vec<u8> {
    let mut out = Vec::new();
    session.transmit(now, &mut out, usize::MAX);
    out
}

fn events<S: Side>(session: &mut Session<S>) -> Vec<Event> {
    std::iter::from_fn(|| session.poll()).collect()
}

/// A frame of a peer that says what it likes.
fn frame(kind: Kind, number: u32, received: Option<u32>, payload: &[u8]) -> Vec<u8> {
    let last_received = received.and_then(Sequence::new);
    let header = Header { sequence: sequence(number), session: id(), last_received, kind };
    [&header.to_bytes(payload.len())[..], payload].concat()
}

fn arrive(settings: &Settings, now: Instant, bytes: &[u8]) -> (Arrival, Greeting) {
    let mut arrival = Arrival::new(now, settings);
    let greeting = arrival.receive(bytes).unwrap().expect("the first frame is whole");
    (arrival, greeting)
}

/// A federate and an RTI in the middle of a session, with nothing to say or to do.
struct Pair {
    now: Instant,
    federate: Session<Client>,
    rti: Session<Server>,
}

impl Pair {
    fn new(settings: Settings) -> Self {
        let now = START;
        let mut federate = Session::<Client>::open(now, settings);
        federate.connected(now);
        let (arrival, _) = arrive(&settings, now, &said(&mut federate, now));
        let mut rti = Session::<Server>::accept(now, settings, id(), arrival);
        federate.receive(now, &said(&mut rti, now));
        assert_eq!(events(&mut federate), [Event::Connect, Event::Running]);
        assert_eq!(events(&mut rti), [Event::Running]);
        Self { now, federate, rti }
    }

    fn exchange(&mut self) {
        for _ in 0..4 {
            let up = said(&mut self.federate, self.now);
            self.rti.receive(self.now, &up);
            let down = said(&mut self.rti, self.now);
            self.federate.receive(self.now, &down);
        }
    }

    fn cut(&mut self) {
        self.federate.disconnected(self.now);
        self.rti.disconnected(self.now);
        assert_eq!(events(&mut self.federate), [Event::Connect]);
    }

    /// The federate opens a new connection; what the RTI answers is not delivered.
    fn reconnect(&mut self) -> Resume {
        self.federate.connected(self.now);
        let bytes = said(&mut self.federate, self.now);
        let (arrival, greeting) = arrive(&Settings::default(), self.now, &bytes);
        let Greeting::Resume(resume) = greeting else { panic!("{greeting:?}") };
        self.rti.resume(self.now, arrival, resume);
        resume
    }

    fn ends_by(&mut self, bytes: &[u8], violation: Violation) {
        self.rti.receive(self.now, bytes);
        let expected = [Event::Ended(End::Violation(violation)), Event::Disconnect];
        assert_eq!(events(&mut self.rti), expected);
        assert!(self.rti.has_ended() && !self.rti.has_output());
    }
}

fn body(text: &'static str) -> Data {
    Data::from_static(text.as_bytes())
}

/// The worked example that implementers of the protocol hold each other against, both sides of it.
#[test]
fn a_whole_session_has_these_bytes() {
    let settings = Settings::default();
    let mut federate = Session::<Client>::open(START, settings);
    federate.connected(START);
    let up = said(&mut federate, START);
    assert_eq!(up, hex("0000001c 00000000 0000000000000000 80000000 00000001 00000001"));
    let (arrival, greeting) = arrive(&settings, START, &up);
    assert_eq!(greeting, Greeting::New);
    let mut rti = Session::<Server>::accept(START, settings, id(), arrival);
    let down = said(&mut rti, START);
    assert_eq!(down, hex("0000001c 00000000 0123456789abcdef 80000000 00000002 00000000"));
    federate.receive(START, &down);
    events(&mut federate);
    events(&mut rti);

    let call = |federate: &mut Session<Client>, rti: &mut Session<Server>, call: Call, bytes| {
        federate.request(START, encode_call(&call)).unwrap();
        let up = said(federate, START);
        assert_eq!(up, hex(bytes), "{}", call.name());
        rti.receive(START, &up);
        let [Event::Request { id, body }] = &events(rti)[..] else { panic!("one call") };
        assert_eq!(decode_call(body), Ok(call));
        *id
    };
    let answer = |federate: &mut Session<Client>, rti: &mut Session<Server>, id, body, bytes| {
        rti.respond(START, id, body);
        let down = said(rti, START);
        assert_eq!(down, hex(bytes));
        federate.receive(START, &down);
        assert!(matches!(events(federate)[..], [Event::Response { .. }]));
    };

    let connect = call(
        &mut federate,
        &mut rti,
        FederationCall::Connect.into(),
        "0000001a 00000001 0123456789abcdef 80000000 00000014 0a00",
    );
    answer(
        &mut federate,
        &mut rti,
        connect,
        encode_reply(1, &Ok(Reply::Configured(Default::default()))),
        "00000020 00000001 0123456789abcdef 00000001 00000015 00000001 12020a00",
    );
    let create = FederationCall::CreateFederationExecutionWithTime {
        federation_name: "Demo".into(),
        fom_module: FomModule::Url("Demo.xml".into()),
        logical_time_implementation_name: "HLAinteger64Time".into(),
    };
    let create = call(
        &mut federate,
        &mut rti,
        create.into(),
        "0000003e 00000002 0123456789abcdef 00000001 00000014
         3a24 0a04 44656d6f 120a 1a08 44656d6f2e786d6c 1a10 484c41696e7465676572363454696d65",
    );
    answer(
        &mut federate,
        &mut rti,
        create,
        encode_reply(7, &Ok(Reply::Done)),
        "0000001e 00000002 0123456789abcdef 00000002 00000015 00000002 4200",
    );

    // A heartbeat after five sixths of a minute.
    let later = START + seconds(50);
    assert_eq!(federate.deadline(), Some(later));
    federate.tick(later);
    let up = said(&mut federate, later);
    assert_eq!(up, hex("00000018 00000003 0123456789abcdef 00000002 00000003"));
    rti.receive(later, &up);
    let down = said(&mut rti, later);
    assert_eq!(down, hex("0000001c 00000003 0123456789abcdef 00000002 00000004 00000003"));
    federate.receive(later, &down);

    // A callback that comes before the answer.
    let list = call(
        &mut federate,
        &mut rti,
        FederationCall::ListFederationExecutions.into(),
        "0000001a 00000004 0123456789abcdef 00000002 00000014 6a00",
    );
    let report = Callback::ReportFederationExecutions {
        report: vec![FederationExecutionInformation {
            federation_name: "Demo".into(),
            logical_time_implementation: "HLAinteger64Time".into(),
        }],
    };
    rti.request(START, encode_callback(&report)).unwrap();
    let down = said(&mut rti, START);
    assert_eq!(
        down,
        hex("00000036 00000004 0123456789abcdef 00000004 00000016
             121c 0a1a 0a18 0a04 44656d6f 1210 484c41696e7465676572363454696d65")
    );
    federate.receive(START, &down);
    let [Event::Request { id: callback, .. }] = &events(&mut federate)[..] else {
        panic!("one callback")
    };
    answer(
        &mut federate,
        &mut rti,
        list,
        encode_reply(13, &Ok(Reply::Done)),
        "0000001e 00000005 0123456789abcdef 00000004 00000015 00000004 7200",
    );
    federate.respond(START, *callback, encode_taken(&Ok(())));
    let up = said(&mut federate, START);
    assert_eq!(up, hex("0000001e 00000005 0123456789abcdef 00000005 00000017 00000004 0a00"));
    rti.receive(START, &up);
    assert_eq!(events(&mut rti), [Event::Response { to: Ticket(0), body: encode_taken(&Ok(())) }]);

    // The connection breaks, and comes again.
    federate.disconnected(START);
    rti.disconnected(START);
    federate.connected(START);
    let up = said(&mut federate, START);
    // The oldest number this client could still be asked to go on after is that of its newest acknowledged message.
    assert_eq!(up, hex("00000020 80000000 0123456789abcdef 00000005 0000000a 00000005 00000004"));
    let (arrival, greeting) = arrive(&settings, START, &up);
    let Greeting::Resume(resume) = greeting else { panic!("{greeting:?}") };
    assert_eq!((resume.newest_received, resume.oldest_kept), (sequence(5), sequence(4)));
    rti.resume(START, arrival, resume);
    let down = said(&mut rti, START);
    assert_eq!(down, hex("00000020 00000006 0123456789abcdef 00000005 0000000b 00000000 00000005"));
    federate.receive(START, &down);
    assert_eq!(events(&mut federate), [Event::Connect, Event::Running]);
    assert_eq!(events(&mut rti), [Event::Running]);

    federate.terminate(START);
    let up = said(&mut federate, START);
    assert_eq!(up, hex("00000018 00000006 0123456789abcdef 00000005 00000005"));
    rti.receive(START, &up);
    assert_eq!(events(&mut rti), [Event::Ended(End::Terminated)]);
    let down = said(&mut rti, START);
    assert_eq!(down, hex("00000018 00000007 0123456789abcdef 00000005 00000006"));
    assert_eq!(events(&mut rti), [Event::Disconnect]);
    federate.receive(START, &down);
    assert_eq!(events(&mut federate), [Event::Ended(End::Terminated), Event::Disconnect]);
}

#[test]
fn lost_messages_are_sent_again_with_their_bytes_and_no_others() {
    let mut pair = Pair::new(Settings::default());
    for text in ["one", "two"] {
        pair.federate.request(pair.now, body(text)).unwrap();
    }
    let up = said(&mut pair.federate, pair.now);
    let first = 24 + 3;
    pair.rti.receive(pair.now, &up[..first + 20]);
    pair.cut();
    // A heartbeat is never sent again, a call made meanwhile comes last.
    pair.federate.request(pair.now, body("three")).unwrap();
    let resume = pair.reconnect();
    assert_eq!((resume.newest_received, resume.oldest_kept), (None, sequence(1)));
    let down = said(&mut pair.rti, pair.now);
    // The newest that came is the first call, number 1.
    assert_eq!(down[24..], hex("00000000 00000001"));
    pair.federate.receive(pair.now, &down);
    let again = said(&mut pair.federate, pair.now);
    assert_eq!(again[..first], up[first..]);
    pair.rti.receive(pair.now, &again);
    let bodies: Vec<Data> = events(&mut pair.rti)
        .into_iter()
        .filter_map(|event| match event {
            Event::Request { body, .. } => Some(body),
            _ => None,
        })
        .collect();
    assert_eq!(bodies, ["one", "two", "three"]);
}

#[test]
fn the_newest_received_is_never_a_heartbeat() {
    let mut pair = Pair::new(Settings::default());
    pair.federate.request(pair.now, body("call")).unwrap();
    pair.exchange();
    pair.now += seconds(50);
    pair.federate.tick(pair.now);
    pair.exchange();
    pair.cut();
    pair.reconnect();
    assert_eq!(said(&mut pair.rti, pair.now)[24..], hex("00000000 00000001"));
}

#[test]
fn a_call_of_which_the_answer_is_lost_is_not_made_again() {
    let mut pair = Pair::new(Settings::default());
    let ticket = pair.federate.request(pair.now, body("call")).unwrap();
    let up = said(&mut pair.federate, pair.now);
    pair.rti.receive(pair.now, &up);
    let Some(Event::Request { id, .. }) = pair.rti.poll() else { panic!("a call") };
    pair.rti.respond(pair.now, id, body("answer"));
    said(&mut pair.rti, pair.now);
    pair.cut();
    pair.reconnect();
    pair.exchange();
    assert_eq!(events(&mut pair.rti), [Event::Running]);
    let answered = Event::Response { to: ticket, body: body("answer") };
    assert_eq!(events(&mut pair.federate), [Event::Running, answered]);
}

#[test]
fn a_session_is_resumed_while_its_old_connection_still_looks_alive() {
    let mut pair = Pair::new(Settings::default());
    pair.federate.disconnected(pair.now);
    events(&mut pair.federate);
    pair.rti.request(pair.now, body("callback")).unwrap();
    said(&mut pair.rti, pair.now);
    pair.reconnect();
    pair.exchange();
    assert!(matches!(
        &events(&mut pair.federate)[..],
        [Event::Running, Event::Request { body, .. }] if *body == "callback"
    ));
    assert!(pair.rti.is_running());
}

#[test]
fn what_was_forgotten_cannot_be_resumed() {
    let settings = Settings { kept_len_max: 1000, ..Settings::default() };
    let mut pair = Pair::new(settings);
    for _ in 0..20 {
        pair.rti.request(pair.now, body("some callback")).unwrap();
    }
    said(&mut pair.rti, pair.now);
    assert!(pair.rti.kept_len() <= 1000);
    pair.cut();
    pair.reconnect();
    let refused = ResumeRefusal::NotKept;
    assert_eq!(events(&mut pair.rti), [Event::Ended(End::NotResumed(refused))]);
    let down = said(&mut pair.rti, pair.now);
    assert_eq!(down[24..], hex("00000002 80000000"));
    assert_eq!(events(&mut pair.rti), [Event::Disconnect]);
    pair.federate.receive(pair.now, &down);
    let expected = [Event::Ended(End::NotResumed(refused)), Event::Disconnect];
    assert_eq!(events(&mut pair.federate), expected);
}

#[test]
fn a_client_that_does_not_keep_what_was_lost_is_refused() {
    let mut pair = Pair::new(Settings::default());
    pair.federate.request(pair.now, body("call")).unwrap();
    pair.exchange();
    pair.rti.disconnected(pair.now);
    events(&mut pair.rti);
    let bytes = {
        let header = Header {
            sequence: None,
            session: id(),
            last_received: None,
            kind: Kind::ResumeRequest,
        };
        [&header.to_bytes(8)[..], &hex("80000000 00000003")].concat()
    };
    let (arrival, Greeting::Resume(resume)) = arrive(&Settings::default(), pair.now, &bytes) else {
        panic!("it wants to resume")
    };
    pair.rti.resume(pair.now, arrival, resume);
    let expected = [Event::Ended(End::NotResumed(ResumeRefusal::NotKept))];
    assert_eq!(events(&mut pair.rti), expected);
}

#[test]
fn a_session_nobody_comes_back_to_ends_with_its_window() {
    let mut pair = Pair::new(Settings::default());
    pair.cut();
    let end = pair.now + seconds(600);
    assert_eq!(pair.rti.deadline(), Some(end));
    pair.rti.tick(end - Span::from_nanos(1));
    assert_eq!(events(&mut pair.rti), []);
    pair.rti.tick(end);
    assert_eq!(events(&mut pair.rti), [Event::Ended(End::Expired)]);
    // The federate has tried every five seconds.
    for attempt in 0..120 {
        pair.federate.disconnected(pair.now);
        pair.now += seconds(5);
        assert_eq!(pair.federate.deadline(), Some(pair.now), "{attempt}");
        pair.federate.tick(pair.now);
        let expected = if attempt < 119 { Event::Connect } else { Event::Ended(End::Expired) };
        assert_eq!(events(&mut pair.federate), [expected], "{attempt}");
    }
}

#[test]
fn a_connection_nothing_comes_over_is_given_up() {
    let mut pair = Pair::new(Settings::default());
    let silent = pair.now + seconds(180);
    assert_eq!(pair.rti.deadline(), Some(silent));
    pair.rti.tick(silent);
    assert_eq!(events(&mut pair.rti), [Event::Disconnect]);
    assert!(!pair.rti.is_running() && !pair.rti.has_ended());
    for beat in [50, 100, 150] {
        pair.federate.tick(START + seconds(beat));
        assert!(pair.federate.has_output());
        said(&mut pair.federate, START + seconds(beat));
    }
    assert_eq!(pair.federate.deadline(), Some(silent));
    pair.federate.tick(silent);
    assert_eq!(events(&mut pair.federate), [Event::Disconnect, Event::Connect]);
}

#[test]
fn a_session_that_is_not_to_be_had_ends_with_the_reason() {
    let settings = Settings::default();
    let check = |bytes: Option<Vec<u8>>, end| {
        let mut federate = Session::<Client>::open(START, settings);
        federate.connected(START);
        said(&mut federate, START);
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
    let status = frame(Kind::NewSessionStatus, 0, None, &[0, 0, 0, 3]);
    check(Some(status), End::Violation(Violation::BadStatus(3, Kind::NewSessionStatus)));
    let call = frame(Kind::CallResponse, 0, None, &[0; 8]);
    check(Some(call), End::Violation(Violation::Unexpected(Kind::CallResponse)));
}

#[test]
fn a_session_the_rti_does_not_know_is_not_resumed() {
    let mut pair = Pair::new(Settings::default());
    pair.cut();
    pair.federate.connected(pair.now);
    said(&mut pair.federate, pair.now);
    let refusal = ResumeRefusal::UnknownSession;
    let bytes = refuse_resume(id(), refusal);
    assert_eq!(bytes.len(), 32);
    pair.federate.receive(pair.now, &bytes);
    let expected = [Event::Ended(End::NotResumed(refusal)), Event::Disconnect];
    assert_eq!(events(&mut pair.federate), expected);
    assert_eq!(pair.federate.request(pair.now, body("call")), None);
}

#[test]
fn a_connection_begins_with_one_of_two_frames() {
    let settings = Settings::default();
    let refused = |bytes: &[u8]| Arrival::new(START, &settings).receive(bytes).unwrap_err();
    let call = frame(Kind::CallRequest, 0, None, b"");
    assert_eq!(refused(&call), Violation::Unexpected(Kind::CallRequest));
    let named = frame(Kind::NewSession, 0, None, &[0, 0, 0, 1]);
    assert_eq!(refused(&named), Violation::WrongSession(id()));
    let short = frame(Kind::ResumeRequest, 0, None, &[0; 4]);
    assert_eq!(refused(&short), Violation::BadPayload { kind: Kind::ResumeRequest, len: 4 });
    assert!(matches!(refused(b"GET / HTTP/1.1\r\n\r\n"), Violation::Frame(_)));
    let old = hex("0000001c 00000000 0000000000000000 80000000 00000001 00000002");
    assert_eq!(arrive(&settings, START, &old).1, Greeting::Unsupported { version: 2 });
    assert_eq!(Arrival::new(START, &settings).deadline(), START + seconds(10));
}

#[test]
fn frames_behind_the_first_are_not_lost() {
    let settings = Settings::default();
    let mut bytes = hex("0000001c 00000000 0000000000000000 80000000 00000001 00000001");
    bytes.extend(frame(Kind::CallRequest, 1, None, b"call"));
    let (arrival, _) = arrive(&settings, START, &bytes);
    let mut rti = Session::<Server>::accept(START, settings, id(), arrival);
    assert!(matches!(events(&mut rti)[..], [Event::Running, Event::Request { .. }]));
}

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
fn a_goodbye_without_a_disconnect_is_one() {
    let mut pair = Pair::new(Settings::default());
    pair.rti.request(pair.now, body("callback")).unwrap();
    pair.rti.receive(pair.now, &frame(Kind::TerminateSession, 1, None, b""));
    assert_eq!(events(&mut pair.rti), [Event::Ended(End::Terminated)]);
    // The last frame is the answer: a client stops to read there.
    let down = said(&mut pair.rti, pair.now);
    assert_eq!(down, frame(Kind::SessionTerminated, 1, None, b""));
    assert_eq!(events(&mut pair.rti), [Event::Disconnect]);
}

#[test]
fn a_message_that_comes_twice_is_taken_once() {
    let mut pair = Pair::new(Settings::default());
    let call = frame(Kind::CallRequest, 5, None, b"call");
    pair.rti.receive(pair.now, &[&call[..], &call].concat());
    pair.rti.receive(pair.now, &frame(Kind::CallRequest, 4, None, b"older"));
    assert_eq!(events(&mut pair.rti).len(), 1);
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
fn a_peer_that_does_not_read_is_slowed_down_and_then_left() {
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
fn heartbeats_of_a_peer_that_does_not_read_are_not_collected_for_ever() {
    let settings = Settings { waiting_len_max: 10_000, ..Settings::default() };
    let mut pair = Pair::new(settings);
    for number in 1..1000 {
        pair.rti.receive(pair.now, &frame(Kind::Heartbeat, number, None, b""));
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
fn callbacks_that_are_never_answered_are_no_harm() {
    let mut pair = Pair::new(Settings::default());
    for _ in 0..20_000 {
        pair.rti.request(pair.now, body("callback")).unwrap();
        let down = said(&mut pair.rti, pair.now);
        pair.federate.receive(pair.now, &down);
    }
    assert_eq!(pair.rti.unanswered(), 1 << 14);
    // Each heartbeat says what has come: nothing has to be kept for it.
    pair.now += seconds(50);
    pair.federate.tick(pair.now);
    pair.exchange();
    assert_eq!(pair.rti.kept_len(), 0);
    // An answer that comes too late is passed over, one that does not is told.
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
fn a_server_that_closes_says_nothing() {
    let mut pair = Pair::new(Settings::default());
    pair.rti.request(pair.now, body("callback")).unwrap();
    pair.rti.close(pair.now);
    assert_eq!(events(&mut pair.rti), [Event::Ended(End::Closed), Event::Disconnect]);
    assert_eq!(said(&mut pair.rti, pair.now), b"");
}

#[test]
fn a_goodbye_nobody_answers_ends_all_the_same() {
    let mut pair = Pair::new(Settings::default());
    pair.federate.terminate(pair.now);
    said(&mut pair.federate, pair.now);
    assert_eq!(pair.federate.deadline(), Some(pair.now + seconds(180)));
    pair.federate.tick(pair.now + seconds(180));
    assert_eq!(events(&mut pair.federate), [Event::Disconnect, Event::Ended(End::Terminated)]);
}

#[test]
fn a_body_for_many_is_shared_by_their_sessions() {
    let callback = encode_callback(&Callback::FederationSaved);
    let mut pairs = [Pair::new(Settings::default()), Pair::new(Settings::default())];
    for pair in &mut pairs {
        pair.rti.request(pair.now, callback.clone()).unwrap();
    }
    assert!(!callback.is_unique());
    let frames = pairs.map(|mut pair| said(&mut pair.rti, pair.now));
    assert!(frames.iter().all(|frame| frame.ends_with(&callback)));
}
