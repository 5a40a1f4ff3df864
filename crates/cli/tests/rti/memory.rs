//! The memory account of the process: its peak stays within the account and 32 MiB, calls beyond a quota are refused,
//! and freed memory goes back to the system.

use std::time::{Duration, Instant};

use hemiola_hla::call::{FederationCall, ObjectCall, TimeCall};
use hemiola_hla::{Call, Data, Exception, LogicalInterval, LogicalTime, OrderType, ResignAction};

use super::peer::Peer;
use super::scene::{Rti, Scene};
use crate::command::{PROGRAM, Running};
use crate::machine::{Machine, PATIENCE};

const MIB: u64 = 1 << 20;

/// The process besides its account.
const BESIDES: u64 = 32 * MIB;

/// The value of a message for the far future.
const VALUE_LEN: usize = 60_000;

/// Makes calls until one is refused by a quota of memory, at most `count`. Returns how many were carried out.
fn until_refused(peer: &mut Peer, count: u32, call: impl Fn(u32) -> Call) -> u32 {
    for number in 0..count {
        if let Err(refusal) = peer.call(call(number)) {
            assert_eq!(refusal.exception, Exception::RTIinternalError, "{refusal}");
            assert!(refusal.details.contains("-memory-max): "), "{refusal}");
            return number;
        }
        peer.callbacks.clear();
    }
    panic!("{count} calls were carried out");
}

/// A sender that regulates, a receiver that is not granted any time, and the sender's call for the far future.
fn in_time(scene: &Scene, federation: &str) -> (Peer, Peer, impl Fn(u32) -> Call + use<>) {
    let mut sender = Peer::joined(scene.address(), federation);
    let (object_instance, attribute) = sender.register();
    let order_type = Some(OrderType::TimeStamp);
    let attributes = vec![attribute];
    sender
        .call(TimeCall::ChangeAttributeOrderType { object_instance, attributes, order_type })
        .unwrap();
    let lookahead = LogicalInterval::float(1.0).unwrap().into();
    sender.call(TimeCall::EnableTimeRegulation { lookahead }).unwrap();
    let mut receiver = Peer::joined(scene.address(), federation);
    receiver.subscribe();
    receiver.call(TimeCall::EnableTimeConstrained).unwrap();
    let far = move |number: u32| {
        Call::from(ObjectCall::UpdateAttributeValuesWithTime {
            object_instance,
            attribute_values: vec![(attribute, vec![7; VALUE_LEN].into())],
            user_supplied_tag: Data::new(),
            time: LogicalTime::float(1e6 + f64::from(number)).unwrap().into(),
        })
    };
    (sender, receiver, far)
}

/// Four federations whose senders send into the far future until that is refused. Returns the number of messages.
fn fill(scene: &Scene) -> (Vec<(Peer, Peer)>, u64) {
    let pairs: Vec<_> = (0..4).map(|number| in_time(scene, &format!("Future {number}"))).collect();
    let mut messages = 0;
    let filled = pairs.into_iter().map(|(mut sender, receiver, far)| {
        messages += u64::from(until_refused(&mut sender, 20_000, far));
        (sender, receiver)
    });
    (filled.collect(), messages)
}

fn resign(peer: &mut Peer) {
    let resign_action = Some(ResignAction::CancelThenDeleteThenDivest);
    peer.call(FederationCall::ResignFederationExecution { resign_action }).unwrap();
}

#[test]
fn messages_for_the_far_future_stay_within_the_account_and_are_given_back() {
    let scene = Scene::begin("far-future", &["--memory-max", "64MiB"]);
    let before = scene.rti.memory();
    let (mut pairs, messages) = fill(&scene);
    assert!(messages * VALUE_LEN as u64 > 32 * MIB, "{messages} messages fit");
    assert!(scene.rti.memory_max() <= 64 * MIB + BESIDES, "{} bytes", scene.rti.memory_max());
    let status = scene.hemiola(&["rti", "status", scene.rti.shm()]).stdout;
    assert!(status.contains("calls refused by the limit of a session "), "{status}");
    scene.others_go_on();
    pairs.iter_mut().for_each(|(_, receiver)| resign(receiver));
    // Memory is given back whenever the account has fallen by another 16 MiB, so up to that much may remain.
    let limit = Instant::now() + PATIENCE;
    while scene.rti.memory() > before + 24 * MIB {
        let kept = scene.rti.memory();
        assert!(Instant::now() < limit, "{kept} bytes are kept, {before} before");
        std::thread::sleep(Duration::from_millis(10));
    }
    scene.end();
}

#[test]
fn reserved_names_stay_within_the_account() {
    let scene = Scene::begin("names", &["--memory-max", "64MiB"]);
    let mut calls = 0;
    for who in 0..4 {
        let mut peer = Peer::joined(scene.address(), "Names");
        calls += until_refused(&mut peer, 20_000, |number| {
            let names = (0..500).map(|name| format!("{who}.{number:0>200}.{name}"));
            let object_instance_names = names.collect();
            ObjectCall::ReserveMultipleObjectInstanceNames { object_instance_names }.into()
        });
    }
    assert!(u64::from(calls) * 500 * 250 > 16 * MIB, "{calls} calls");
    assert!(scene.rti.memory_max() <= 64 * MIB + BESIDES, "{} bytes", scene.rti.memory_max());
    scene.end();
}

#[test]
fn a_limit_of_the_address_space_refuses_calls_and_ends_nothing() {
    let scene = Scene::begin_after("address-space", "ulimit -v 262144", &[]);
    let (_pairs, messages) = fill(&scene);
    assert!(messages * VALUE_LEN as u64 > 32 * MIB, "{messages} messages fit");
    scene.others_go_on();
    let status = scene.hemiola(&["rti", "status", scene.rti.shm()]).stdout;
    assert!(status.contains("limited by RLIMIT_AS of 256MiB"), "{status}");
    let log = scene.end();
    assert!(log.contains("the memory limit was lowered to "), "{log}");
}

#[test]
fn an_address_space_without_room_for_an_account_is_refused_with_the_least_that_suffices() {
    let machine = Machine::take("too-narrow");
    let narrow = "ulimit -v 80000 && exec timeout 20 \"$0\" rti --listen 127.0.0.1:0";
    let refused = Running::start(machine.command("sh", &["-c", narrow, PROGRAM])).end();
    let message = refused.with_code(1).stderr;
    assert!(message.contains("RLIMIT_AS of 80000KiB leaves too little memory"), "{message}");
    let hint = message.lines().find_map(|line| line.strip_prefix("hint: raise it to at least "));
    let least = hint.and_then(|hint| hint.strip_suffix("MiB")).expect("the message has a hint");
    let sufficient = format!("ulimit -v {}", least.parse::<u64>().unwrap() * 1024);
    Rti::start_after(&machine, &sufficient, &[]).stop();
    machine.nothing_is_left();
}
