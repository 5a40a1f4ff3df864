//! Federates that do not read, do not answer, or send as fast as they can.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use hemiola_fedpro::message;
use hemiola_hla::call::TimeCall;
use hemiola_hla::{EncodedInterval, LogicalInterval, Reply};

use super::peer::{Peer, opened, update, value, whole};
use super::scene::Scene;

const MIB: u64 = 1 << 20;

/// Calls without an answer that a publisher makes.
const AHEAD: usize = 200;

/// Sends updates of 1 KiB as fast as the RTI accepts them until `stops` is set, and counts them in `sent`.
fn flood(
    publisher: &mut Peer,
    instance: super::peer::Instance,
    stops: &AtomicBool,
    sent: &AtomicU64,
) {
    let body = message::encode_call(&update(instance, vec![7; 1024]));
    let mut tickets = std::collections::VecDeque::new();
    while !stops.load(Ordering::Relaxed) {
        while tickets.len() < AHEAD {
            tickets.push_back(publisher.send(body.clone()));
        }
        let answer = publisher.answer(tickets.pop_front().unwrap()).expect("it is not closed");
        assert!(answer.len() < 16, "no exception");
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_federate_that_never_reads_is_evicted_and_the_others_continue() {
    let scene = Scene::begin("never-reads", &["--stall-max", "500ms"]);
    let before = scene.rti.memory_max();
    let mut publisher = Peer::joined(scene.address(), "Stalled");
    let instance = publisher.register();
    let mut deaf = Peer::joined(scene.address(), "Stalled");
    deaf.subscribe();
    let (stops, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    scope(|threads| {
        threads.spawn(|| flood(&mut publisher, instance, &stops, &sent));
        // The sender is slowed down until the federate that does not read is evicted; others are not.
        scene.rti.says("session evicted", 1);
        let then = sent.load(Ordering::Relaxed);
        while sent.load(Ordering::Relaxed) < then + 10_000 {
            sleep(Duration::from_millis(1));
        }
        scene.others_go_on();
        stops.store(true, Ordering::Relaxed);
    });
    assert!(scene.rti.memory_grown(before) < 64 * MIB, "{} bytes", scene.rti.memory_max());
    scene.end();
}

#[test]
fn a_slow_reader_slows_down_its_senders_and_loses_nothing() {
    let scene = Scene::begin("slow", &[]);
    let before = scene.rti.memory_max();
    let mut publisher = Peer::joined(scene.address(), "Slow");
    let instance = publisher.register();
    let mut slow = Peer::joined(scene.address(), "Slow");
    slow.subscribe();
    assert_eq!(slow.callback().name(), "DiscoverObjectInstance");
    const UPDATES: u64 = 40_000;
    scope(|threads| {
        threads.spawn(|| {
            let mut tickets = std::collections::VecDeque::new();
            for number in 0..UPDATES {
                let mut bytes = vec![0; 1024];
                bytes[..8].copy_from_slice(&number.to_be_bytes());
                tickets.push_back(publisher.send(message::encode_call(&update(instance, bytes))));
                if tickets.len() == AHEAD {
                    publisher.answer(tickets.pop_front().unwrap()).unwrap();
                }
            }
            for ticket in tickets {
                publisher.answer(ticket).unwrap();
            }
        });
        for number in 0..UPDATES {
            if number % 2000 == 0 {
                sleep(Duration::from_millis(50));
            }
            assert_eq!(value(slow.callback())[..8], number.to_be_bytes());
        }
        scene.others_go_on();
    });
    assert!(scene.rti.memory_grown(before) < 64 * MIB, "{} bytes", scene.rti.memory_max());
    scene.end();
}

#[test]
fn a_flood_without_a_reader_stays_within_the_memory_limit_and_the_others_continue() {
    let scene = Scene::begin("flood", &[]);
    let before = scene.rti.memory_max();
    let mut publishers: Vec<Peer> =
        (0..3).map(|_| Peer::joined(scene.address(), "Flood")).collect();
    let (stops, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    scope(|threads| {
        for publisher in &mut publishers {
            threads.spawn(|| {
                let instance = publisher.register();
                flood(publisher, instance, &stops, &sent);
            });
        }
        while sent.load(Ordering::Relaxed) < 30_000 {
            sleep(Duration::from_millis(1));
        }
        scene.others_go_on();
        stops.store(true, Ordering::Relaxed);
    });
    assert!(scene.rti.memory_grown(before) < 64 * MIB, "{} bytes", scene.rti.memory_max());
    scene.end();
}

/// Writes frames of this kind and payload without reading until the RTI accepts no more. Returns the connection.
fn pour(scene: &Scene, kind: u32, payload: &[u8]) -> TcpStream {
    let before = scene.rti.memory_max();
    let (mut stream, session) = opened(scene.address());
    stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let stuck = (0..20_000).any(|turn| {
        let frames = (1..=1000).map(|number| whole(turn * 1000 + number, session, kind, payload));
        stream.write_all(&frames.flatten().collect::<Vec<u8>>()).is_err()
    });
    assert!(stuck, "everything was taken");
    scene.others_go_on();
    let grown = scene.rti.memory_grown(before);
    assert!(grown < 96 * MIB, "{grown} bytes");
    stream
}

#[test]
fn calls_with_unread_answers_are_no_longer_accepted() {
    let scene = Scene::begin("unread-answers", &["--stall-max", "3s"]);
    let _stream = pour(&scene, 20, &[0x0a, 0]);
    scene.rti.says("session evicted", 1);
    scene.end();
}

#[test]
fn invalid_bodies_with_unread_answers_are_no_longer_accepted() {
    let scene = Scene::begin("unread-refusals", &["--stall-max", "3s"]);
    let _stream = pour(&scene, 20, &[0xFF]);
    scene.rti.says("session evicted", 1);
    scene.end();
}

#[test]
fn heartbeats_with_unread_answers_are_no_longer_accepted() {
    let scene = Scene::begin("unread-heartbeats", &[]);
    // No federate waits for this session, so the RTI only stops reading from it until it counts as silent.
    let _stream = pour(&scene, 3, &[]);
    scene.end();
}

#[test]
fn a_federate_that_never_answers_callbacks_still_gets_them() {
    let scene = Scene::begin("never-answers", &[]);
    let before = scene.rti.memory_max();
    let mut publisher = Peer::joined(scene.address(), "Silent");
    let instance = publisher.register();
    let mut silent = Peer::joined(scene.address(), "Silent");
    silent.answers_callbacks = false;
    silent.subscribe();
    assert_eq!(silent.callback().name(), "DiscoverObjectInstance");
    for number in 0..40_000_u64 {
        publisher.call(update(instance, number.to_be_bytes().to_vec())).unwrap();
        assert_eq!(value(silent.callback()), number.to_be_bytes()[..]);
    }
    assert!(scene.rti.memory_grown(before) < 64 * MIB, "{} bytes", scene.rti.memory_max());
    scene.end();
}

#[test]
fn a_federate_that_never_advances_holds_back_only_its_own_federation() {
    let scene = Scene::begin("never-advances", &[]);
    let lookahead = EncodedInterval::from(LogicalInterval::float(1.0).unwrap());
    let mut lazy = Peer::joined(scene.address(), "Held back");
    assert_eq!(lazy.call(TimeCall::EnableTimeRegulation { lookahead }), Ok(Reply::Done));
    let mut eager = Peer::joined(scene.address(), "Held back");
    assert_eq!(eager.call(TimeCall::EnableTimeConstrained), Ok(Reply::Done));
    assert_eq!(eager.callback().name(), "TimeConstrainedEnabled");
    let time = hemiola_hla::LogicalTime::float(10.0).unwrap().into();
    assert_eq!(eager.call(TimeCall::TimeAdvanceRequest { time }), Ok(Reply::Done));
    scene.others_go_on();
    assert!(eager.callbacks.is_empty());
    // After its end, no federate holds back another.
    drop(lazy.stream.shutdown(std::net::Shutdown::Both));
    drop(lazy);
    scene.rti.says("session detached", 1);
    scene.end();
}
