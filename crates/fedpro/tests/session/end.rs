//! How sessions end: by goodbye, by silence, by closing.

use super::*;

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
