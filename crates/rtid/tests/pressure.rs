//! Federates that do not read or have no connection, and their effect on the others.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use hemiola_hla::Reply;
use hemiola_rtid::{Options, Settings};
use hemiola_units::Span;

use crate::peer::{Peer, Rti, TIMEOUT, on_loopback, update, value};

const VALUE_LEN: usize = 4096;

/// Returns options with short timeouts and small queues.
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

/// Returns options with spools in files.
fn spooled() -> Options {
    let mut options = narrow();
    // The thread that writes the file may be late. The RTI holds a sender only when half of this memory is used.
    options.settings.backlog_len_max = 64 << 20;
    options.settings.spool_file_max = 64 << 20;
    options.settings.stall_max = Span::from_millis(60_000);
    options.spool = Some(std::env::temp_dir());
    options
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
fn a_federate_that_does_not_read_delays_its_publisher_and_is_evicted() {
    let rti = Rti::start(narrow());
    let (mut publisher, numbered, mut idle) = two(&rti);
    // More than the socket buffers hold, so the last replies arrive after the eviction.
    for number in 0..10_000 {
        assert_eq!(publisher.call(numbered(number)), Ok(Reply::Done));
    }
    let report = rti.stopper.status().unwrap();
    let reason = "it does not read";
    assert_eq!(report.sessions_ended.get(reason), Some(&1), "{:?}", report.sessions_ended);
    assert_eq!(report.sessions.len(), 1);
    assert_eq!(report.federations[0].federates.len(), 1);
    idle.wait_for_end();
}

#[test]
fn a_federate_that_reads_slowly_receives_everything_and_is_not_evicted() {
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
    assert!(backlog < 1 << 20, "{backlog} bytes are queued");
    reader.join().unwrap();
}

#[test]
fn a_federate_that_pauses_receives_everything_from_its_spool_file() {
    let rti = Rti::start(spooled());
    let (mut publisher, numbered, mut slow) = two(&rti);
    let mut number = 0;
    // The first parts are in the file, and its publisher waits for nothing but responses.
    while rti.stopper.status().unwrap().slow_reading.stored < 20 {
        publisher.call(numbered(number)).unwrap();
        number += 1;
        assert!(number < 20_000, "nothing is stored: {:?}", rti.stopper.status());
    }
    let report = rti.stopper.status().unwrap();
    assert_eq!(report.slow_reading.held, 0);
    for expected in 0..number {
        assert_eq!(value(slow.callback())[..4], expected.to_be_bytes());
    }
    let report = rti.stopper.status().unwrap();
    assert!(report.sessions.iter().all(|session| session.file_bytes == 0), "{report:?}");
    assert!(report.sessions_ended.is_empty(), "{report:?}");
}

#[test]
fn a_directory_for_spools_must_exist() {
    let options = Options { spool: Some("/proc/nowhere".into()), ..on_loopback() };
    let error = hemiola_rtid::Server::bind(options).unwrap_err();
    assert!(
        error.to_string().starts_with("cannot make a spool file in /proc/nowhere: "),
        "{error}"
    );
}

#[test]
fn a_detached_federate_delays_no_other_and_is_evicted_when_its_queue_is_full() {
    let rti = Rti::start(narrow());
    let (mut publisher, numbered, mut away) = two(&rti);
    away.carrier = None;
    let began = Instant::now();
    let mut number = 0;
    while rti.stopper.status().unwrap().sessions.len() == 2 {
        publisher.call(numbered(number)).unwrap();
        number += 1;
        assert!(began.elapsed() < TIMEOUT, "the detached federate was not evicted");
    }
    assert!(number as usize * VALUE_LEN > 900 << 10, "evicted after only {number} updates");
}

#[test]
fn the_session_that_uses_most_memory_is_evicted_at_the_common_limit() {
    let rti = Rti::start(with(Settings { memory_max: 2 << 20, ..Settings::default() }));
    let (mut publisher, numbered, mut idle) = two(&rti);
    let began = Instant::now();
    let mut number = 0;
    while rti.stopper.status().unwrap().sessions.len() == 2 {
        publisher.call(numbered(number)).unwrap();
        number += 1;
        assert!(began.elapsed() < TIMEOUT, "no session was evicted");
    }
    idle.wait_for_end();
    publisher.call(numbered(number)).unwrap();
}

#[test]
fn connections_and_sessions_are_limited() {
    let rti =
        Rti::start(with(Settings { sessions_max: 2, connections_max: 3, ..Settings::default() }));
    let (_publisher, _, _subscriber) = two(&rti);
    let mut third = Peer::new(rti.address);
    while third.end.is_none() {
        third.step();
    }
    let refusal = hemiola_fedpro::session::SessionRefusal::OutOfResources;
    assert_eq!(third.end, Some(hemiola_fedpro::End::Refused(refusal)));
    // Silent connections count until they time out.
    let silent: Vec<_> =
        (0..5).map(|_| std::net::TcpStream::connect(rti.address).unwrap()).collect();
    let report = rti.stopper.status().unwrap();
    assert!(report.arrivals <= 1, "{}", report.arrivals);
    drop(silent);
}

#[test]
fn a_silent_connection_is_closed() {
    let mut options = on_loopback();
    options.settings.session.greeting_max = Span::from_millis(100);
    let rti = Rti::start(options);
    let mut silent = std::net::TcpStream::connect(rti.address).unwrap();
    silent.set_read_timeout(Some(TIMEOUT)).unwrap();
    assert_eq!(silent.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn incomplete_frames_count_as_memory() {
    let rti = Rti::start(with(Settings { memory_max: 4 << 20, ..Settings::default() }));
    let (mut publisher, numbered, _subscriber) = two(&rti);
    let mut greedy = std::net::TcpStream::connect(rti.address).unwrap();
    greedy.set_read_timeout(Some(TIMEOUT)).unwrap();
    let new_session = [[0, 0, 0, 28, 0, 0, 0, 0], [0; 8], [0x80, 0, 0, 0, 0, 0, 0, 1]];
    greedy.write_all(&new_session.concat()).unwrap();
    greedy.write_all(&[0, 0, 0, 1]).unwrap();
    let mut status = [0; 28];
    greedy.read_exact(&mut status).unwrap();
    // The begin of a call of eight megabytes.
    let mut header = status;
    header[..8].copy_from_slice(&[0, 128, 0, 0, 0, 0, 0, 1]);
    header[23] = 20;
    let written =
        greedy.write_all(&header[..24]).and_then(|()| greedy.write_all(&vec![0; 6 << 20]));
    let mut rest = [0; 8];
    // The RTI closes the connection, perhaps before all bytes are written.
    assert!(written.is_err() || !matches!(greedy.read(&mut rest), Ok(1..)));
    publisher.call(numbered(0)).unwrap();
    assert_eq!(rti.stopper.status().unwrap().sessions.len(), 2);
}
