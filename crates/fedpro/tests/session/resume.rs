//! Sessions that are resumed after a connection broke.

use super::*;

#[test]
fn only_lost_messages_are_sent_again_with_the_same_bytes() {
    let mut pair = Pair::new(Settings::default());
    for text in ["one", "two"] {
        pair.federate.request(pair.now, body(text)).unwrap();
    }
    let up = transmitted(&mut pair.federate, pair.now);
    let first = 24 + 3;
    pair.rti.receive(pair.now, &up[..first + 20]);
    pair.cut();
    // A call made while disconnected comes last.
    pair.federate.request(pair.now, body("three")).unwrap();
    let resume = pair.reconnect();
    assert_eq!((resume.newest_received, resume.oldest_kept), (None, sequence(1)));
    let down = transmitted(&mut pair.rti, pair.now);
    // The newest message received is the first call, number 1.
    assert_eq!(down[24..], hex("00000000 00000001"));
    pair.federate.receive(pair.now, &down);
    let again = transmitted(&mut pair.federate, pair.now);
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
    assert_eq!(transmitted(&mut pair.rti, pair.now)[24..], hex("00000000 00000001"));
}

#[test]
fn call_whose_reply_is_lost_is_not_made_again() {
    let mut pair = Pair::new(Settings::default());
    let ticket = pair.federate.request(pair.now, body("call")).unwrap();
    let up = transmitted(&mut pair.federate, pair.now);
    pair.rti.receive(pair.now, &up);
    let Some(Event::Request { id, .. }) = pair.rti.poll() else { panic!("a call") };
    pair.rti.respond(pair.now, id, body("answer"));
    transmitted(&mut pair.rti, pair.now);
    pair.cut();
    pair.reconnect();
    pair.exchange();
    assert_eq!(events(&mut pair.rti), [Event::Running]);
    let answered = Event::Response { to: ticket, body: body("answer") };
    assert_eq!(events(&mut pair.federate), [Event::Running, answered]);
}

#[test]
fn session_is_resumed_while_its_old_connection_still_looks_alive() {
    let mut pair = Pair::new(Settings::default());
    pair.federate.disconnected(pair.now);
    events(&mut pair.federate);
    pair.rti.request(pair.now, body("callback")).unwrap();
    transmitted(&mut pair.rti, pair.now);
    pair.reconnect();
    pair.exchange();
    assert!(matches!(
        &events(&mut pair.federate)[..],
        [Event::Running, Event::Request { body, .. }] if *body == "callback"
    ));
    assert!(pair.rti.is_running());
}

#[test]
fn session_whose_lost_messages_were_dropped_is_not_resumed() {
    let settings = Settings { kept_len_max: 1000, ..Settings::default() };
    let mut pair = Pair::new(settings);
    for _ in 0..20 {
        pair.rti.request(pair.now, body("some callback")).unwrap();
    }
    transmitted(&mut pair.rti, pair.now);
    assert!(pair.rti.kept_len() <= 1000);
    pair.cut();
    pair.reconnect();
    let refused = ResumeRefusal::NotKept;
    assert_eq!(events(&mut pair.rti), [Event::Ended(End::NotResumed(refused))]);
    let down = transmitted(&mut pair.rti, pair.now);
    assert_eq!(down[24..], hex("00000002 80000000"));
    assert_eq!(events(&mut pair.rti), [Event::Disconnect]);
    pair.federate.receive(pair.now, &down);
    let expected = [Event::Ended(End::NotResumed(refused)), Event::Disconnect];
    assert_eq!(events(&mut pair.federate), expected);
}

#[test]
fn client_that_no_longer_keeps_a_lost_message_is_refused() {
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
            kind: FrameKind::ResumeRequest,
        };
        [&header.to_bytes(8)[..], &hex("80000000 00000003")].concat()
    };
    let (arrival, Greeting::Resume(resume)) = arrive(&Settings::default(), pair.now, &bytes) else {
        panic!("expected a request to resume")
    };
    pair.rti.resume(pair.now, arrival, resume);
    let expected = [Event::Ended(End::NotResumed(ResumeRefusal::NotKept))];
    assert_eq!(events(&mut pair.rti), expected);
}

#[test]
fn session_unknown_to_the_rti_is_not_resumed() {
    let mut pair = Pair::new(Settings::default());
    pair.cut();
    pair.federate.connected(pair.now);
    transmitted(&mut pair.federate, pair.now);
    let refusal = ResumeRefusal::UnknownSession;
    let bytes = refuse_resume(id(), refusal);
    assert_eq!(bytes.len(), 32);
    pair.federate.receive(pair.now, &bytes);
    let expected = [Event::Ended(End::NotResumed(refusal)), Event::Disconnect];
    assert_eq!(events(&mut pair.federate), expected);
    assert_eq!(pair.federate.request(pair.now, body("call")), None);
}

#[test]
fn duplicate_message_is_delivered_once() {
    let mut pair = Pair::new(Settings::default());
    let call = frame(FrameKind::CallRequest, 5, None, b"call");
    pair.rti.receive(pair.now, &[&call[..], &call].concat());
    pair.rti.receive(pair.now, &frame(FrameKind::CallRequest, 4, None, b"older"));
    assert_eq!(events(&mut pair.rti).len(), 1);
}
