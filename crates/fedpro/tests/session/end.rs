//! How sessions end: by termination, by silence, by closing.

use super::*;

#[test]
fn session_that_is_not_resumed_expires() {
    let mut pair = Pair::new(Settings::default());
    pair.cut();
    let end = pair.now + seconds(600);
    assert_eq!(pair.rti.deadline(), Some(end));
    pair.rti.tick(end - Span::from_nanos(1));
    assert_eq!(events(&mut pair.rti), []);
    pair.rti.tick(end);
    assert_eq!(events(&mut pair.rti), [Event::Ended(End::Expired)]);
    // The federate tries every five seconds.
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
fn silent_connection_is_given_up() {
    let mut pair = Pair::new(Settings::default());
    let silent = pair.now + seconds(180);
    assert_eq!(pair.rti.deadline(), Some(silent));
    pair.rti.tick(silent);
    assert_eq!(events(&mut pair.rti), [Event::Disconnect]);
    assert!(!pair.rti.is_running() && !pair.rti.has_ended());
    for beat in [50, 100, 150] {
        pair.federate.tick(START + seconds(beat));
        assert!(pair.federate.has_output());
        transmitted(&mut pair.federate, START + seconds(beat));
    }
    assert_eq!(pair.federate.deadline(), Some(silent));
    pair.federate.tick(silent);
    assert_eq!(events(&mut pair.federate), [Event::Disconnect, Event::Connect]);
}

#[test]
fn termination_without_a_disconnect_call_ends_the_session() {
    let mut pair = Pair::new(Settings::default());
    pair.rti.request(pair.now, body("callback")).unwrap();
    pair.rti.receive(pair.now, &frame(FrameKind::TerminateSession, 1, None, b""));
    assert_eq!(events(&mut pair.rti), [Event::Ended(End::Terminated)]);
    // The answer is the last frame: a client stops reading there.
    let down = transmitted(&mut pair.rti, pair.now);
    assert_eq!(down, frame(FrameKind::SessionTerminated, 1, None, b""));
    assert_eq!(events(&mut pair.rti), [Event::Disconnect]);
}

#[test]
fn server_that_closes_a_session_sends_nothing() {
    let mut pair = Pair::new(Settings::default());
    pair.rti.request(pair.now, body("callback")).unwrap();
    pair.rti.close(pair.now);
    assert_eq!(events(&mut pair.rti), [Event::Ended(End::Closed), Event::Disconnect]);
    assert_eq!(transmitted(&mut pair.rti, pair.now), b"");
}

#[test]
fn termination_without_an_answer_ends_the_session() {
    let mut pair = Pair::new(Settings::default());
    pair.federate.terminate(pair.now);
    transmitted(&mut pair.federate, pair.now);
    assert_eq!(pair.federate.deadline(), Some(pair.now + seconds(180)));
    pair.federate.tick(pair.now + seconds(180));
    assert_eq!(events(&mut pair.federate), [Event::Disconnect, Event::Ended(End::Terminated)]);
}
