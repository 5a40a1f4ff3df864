//! Who does not read, or is not there, and what that means for the others.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use hemiola_hla::Reply;
use hemiola_rtid::{Options, Settings};
use hemiola_units::Span;

use crate::peer::{PATIENCE, Peer, Rti, on_loopback, update, value};

const VALUE_LEN: usize = 4096;

/// Patient for a moment, and with little room.
fn narrow() -> Options {
    with(Settings {
        congested_len: 256 << 10,
        backlog_len_max: 1 << 20,
        stall_max: Span::from_millis(500),
        ..Settings::default()
    })
}

fn with(settings: Settings) -> Options {
    Options { settings, ..on_loopback() }
}

fn two(rti: &Rti) -> (Peer, impl Fn(u32) -> hemiola_hla::call::ObjectCall, Peer) {
    let mut publisher = Peer::join(rti.address, "Demo");
    let object = publisher.register();
    let mut subscriber = Peer::join(rti.address, "Demo");
    subscriber.subscribe();
    let numbered = move |number: u32| {
        let mut bytes = vec![0; VALUE_LEN];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        update(object, bytes)
    };
    (publisher, numbered, subscriber)
}

#[test]
fn a_federate_that_does_not_read_slows_down_who_writes_and_is_given_up() {
    let rti = Rti::start(narrow());
    let (mut publisher, numbered, mut idle) = two(&rti);
    // More than all buffers of sockets hold, so it is not answered before the reader is gone.
    for number in 0..10_000 {
        assert_eq!(publisher.call(numbered(number)), Ok(Reply::Done));
    }
    let report = rti.stopper.status().unwrap();
    let reason = "it does not read, and others wait for it";
    assert_eq!(report.sessions_ended.get(reason), Some(&1), "{:?}", report.sessions_ended);
    assert_eq!(report.sessions.len(), 1);
    assert_eq!(report.federations[0].federates.len(), 1);
    idle.wait_for_end();
}

#[test]
fn a_federate_that_reads_slowly_gets_everything_and_is_not_given_up() {
    let rti = Rti::start(narrow());
    let (mut publisher, numbered, mut slow) = two(&rti);
    let calls = 5000_u32;
    let reader = std::thread::spawn(move || {
        for number in 0..calls {
            if number % 100 == 0 {
                std::thread::sleep(Duration::from_millis(20));
            }
            assert_eq!(value(slow.callback())[..4], number.to_be_bytes());
        }
    });
    let tickets: Vec<_> = (0..calls).map(|number| publisher.send(numbered(number))).collect();
    publisher.write();
    let mut backlog = 0;
    for ticket in tickets {
        publisher.reply(ticket).unwrap();
    }
    for session in rti.stopper.status().unwrap().sessions {
        backlog = backlog.max(session.backlog_bytes);
    }
    assert!(backlog < 512 << 10, "{backlog} bytes wait");
    reader.join().unwrap();
}

#[test]
fn a_federate_without_connection_slows_down_nobody_and_is_lost_when_too_much_waits() {
    let rti = Rti::start(narrow());
    let (mut publisher, numbered, mut away) = two(&rti);
    away.carrier = None;
    let began = Instant::now();
    let mut number = 0;
    while rti.stopper.status().unwrap().sessions.len() == 2 {
        publisher.call(numbered(number)).unwrap();
        number += 1;
        assert!(began.elapsed() < PATIENCE, "it was not given up");
    }
    assert!(number as usize * VALUE_LEN > 900 << 10, "it was lost after {number} updates");
}

#[test]
fn the_session_that_keeps_most_is_ended_when_all_keep_too_much() {
    let rti = Rti::start(with(Settings { memory_max: 2 << 20, ..Settings::default() }));
    let (mut publisher, numbered, mut idle) = two(&rti);
    let began = Instant::now();
    let mut number = 0;
    while rti.stopper.status().unwrap().sessions.len() == 2 {
        publisher.call(numbered(number)).unwrap();
        number += 1;
        assert!(began.elapsed() < PATIENCE, "nobody was ended");
    }
    idle.wait_for_end();
    publisher.call(numbered(number)).unwrap();
}

#[test]
fn there_are_no_more_connections_and_sessions_than_allowed() {
    let rti =
        Rti::start(with(Settings { sessions_max: 2, connections_max: 3, ..Settings::default() }));
    let (_publisher, _, _subscriber) = two(&rti);
    let mut third = Peer::new(rti.address);
    while third.end.is_none() {
        third.step();
    }
    let refusal = hemiola_fedpro::session::SessionRefusal::OutOfResources;
    assert_eq!(third.end, Some(hemiola_fedpro::End::Refused(refusal)));
    // Those that say nothing count too, until their time is over.
    let silent: Vec<_> =
        (0..5).map(|_| std::net::TcpStream::connect(rti.address).unwrap()).collect();
    let report = rti.stopper.status().unwrap();
    assert!(report.arrivals <= 1, "{}", report.arrivals);
    drop(silent);
}

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let mut options = on_loopback();
    options.settings.session.greeting_max = Span::from_millis(100);
    let rti = Rti::start(options);
    let mut silent = std::net::TcpStream::connect(rti.address).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(silent.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn frames_that_are_never_completed_count_as_memory() {
    let rti = Rti::start(with(Settings { memory_max: 4 << 20, ..Settings::default() }));
    let (mut publisher, numbered, _subscriber) = two(&rti);
    let mut greedy = std::net::TcpStream::connect(rti.address).unwrap();
    greedy.set_read_timeout(Some(PATIENCE)).unwrap();
    let new_session = [[0, 0, 0, 28, 0, 0, 0, 0], [0; 8], [0x80, 0, 0, 0, 0, 0, 0, 1]];
    greedy.write_all(&new_session.concat()).unwrap();
    greedy.write_all(&[0, 0, 0, 1]).unwrap();
    let mut status = [0; 28];
    greedy.read_exact(&mut status).unwrap();
    // The beginning of a call of eight megabytes.
    let mut header = status;
    header[..8].copy_from_slice(&[0, 128, 0, 0, 0, 0, 0, 1]);
    header[23] = 20;
    let written =
        greedy.write_all(&header[..24]).and_then(|()| greedy.write_all(&vec![0; 6 << 20]));
    let mut rest = [0; 8];
    // It is closed, perhaps before all was written.
    assert!(written.is_err() || !matches!(greedy.read(&mut rest), Ok(1..)));
    publisher.call(numbered(0)).unwrap();
    assert_eq!(rti.stopper.status().unwrap().sessions.len(), 2);
}
