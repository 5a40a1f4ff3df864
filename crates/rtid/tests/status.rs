//! Reports of an RTI over the local socket and to an observer; errors of listening.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use hemiola_rtid::{Observer, Options, Report, ServeError, Server};
use hemiola_units::Instant;

use crate::carrier::ask;
use crate::peer::{Peer, Rti, on_loopback, update};

fn name(test: &str) -> String {
    format!("test-{}-{test}", std::process::id())
}

fn all_of(mut stream: impl Read) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_local_socket_answers_one_line_and_closes() {
    let name = name("lines");
    let rti = Rti::start(Options { local: Some(name.clone()), ..on_loopback() });
    let mut federate = Peer::join(rti.address, "Demo");
    let object = federate.register();
    federate.call(update(object, vec![1, 2, 3])).unwrap();
    let report: Report = serde_json::from_str(&all_of(ask(&name, "status 1\n"))).unwrap();
    assert_eq!((report.federations.len(), report.sessions.len()), (1, 1));
    assert_eq!(report.federations[0].federates[0].session, report.sessions[0].number);
    assert_eq!(report.received.messages, report.work.calls);
    assert!(report.sessions[0].received.bytes > 100);
    let metrics = all_of(ask(&name, "metrics 1\n"));
    assert!(metrics.contains("# TYPE"), "{metrics}");
    for wrong in ["status 2\n", "status 1\nstatus 1\n", "\n", &"x".repeat(1025)] {
        assert_eq!(all_of(ask(&name, wrong)), "", "{wrong}");
    }
    federate.call(update(object, vec![1, 2, 3])).unwrap();
}

#[test]
fn a_line_may_arrive_in_pieces() {
    let name = name("pieces");
    let _rti = Rti::start(Options { local: Some(name.clone()), ..on_loopback() });
    let mut socket = ask(&name, "sta");
    std::thread::sleep(std::time::Duration::from_millis(20));
    socket.write_all(b"tus 1\n").unwrap();
    assert!(all_of(socket).starts_with('{'));
}

#[test]
fn a_stopped_rti_refuses_requests() {
    let rti = Rti::start(on_loopback());
    let stopper = rti.stopper.clone();
    rti.stop();
    assert!(stopper.status().is_err() && stopper.connect().is_err());
}

#[test]
fn the_error_names_an_address_in_use() {
    let name = name("taken");
    let first = Rti::start(Options { local: Some(name.clone()), ..on_loopback() });
    let again = Server::bind(Options { listen: vec![first.address], ..on_loopback() });
    let error = again.unwrap_err();
    assert!(matches!(&error, ServeError::Listen { address, .. } if *address == first.address));
    let again = Server::bind(Options { local: Some(name.clone()), ..on_loopback() });
    assert!(again.unwrap_err().to_string().contains(&name));
}

/// Turns of the loop, as reported to an observer.
type Turns = Arc<Mutex<Vec<(Instant, Instant, u32, u32)>>>;

struct Keeps(Turns);

impl Observer for Keeps {
    fn busy(&mut self, from: Instant, to: Instant, calls: u32, callbacks: u32) {
        self.0.lock().unwrap().push((from, to, calls, callbacks));
    }
}

#[test]
fn an_observer_sees_every_call_and_turns_that_do_not_overlap() {
    let turns = Turns::default();
    let observer = Box::new(Keeps(Arc::clone(&turns)));
    let rti = Rti::start(Options { observer: Some(observer), ..on_loopback() });
    let mut publisher = Peer::join(rti.address, "Demo");
    let object = publisher.register();
    let mut subscriber = Peer::join(rti.address, "Demo");
    subscriber.subscribe();
    for _ in 0..10 {
        publisher.call(update(object, vec![0; 8])).unwrap();
        subscriber.callback();
    }
    let summary = rti.stop();
    let turns = turns.lock().unwrap();
    assert!(turns.iter().all(|(from, to, ..)| from <= to));
    assert!(turns.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    assert_eq!(turns.iter().map(|turn| u64::from(turn.2)).sum::<u64>(), summary.calls);
    // Ten reflections and one discovery.
    assert_eq!(turns.iter().map(|turn| turn.3).sum::<u32>(), 11);
}
