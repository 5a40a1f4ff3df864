//! The memory of an RTI: with 100 federates and 10,000 objects, while a publisher floods a subscriber that does not
//! read for a while, and before and after a burst of 500,000 discoveries.
//!
//! `cargo bench -p hemiola-federate --bench memory -- [over=tcp|shm]`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod bench;

use bench::federation::{Member, publisher, subscriber};
use bench::{Cores, Orders, Peer, Placement, Rti, Transport, next_order, report};
use hemiola_federate::Span;
use hemiola_federate::hla::call::ObjectCall;
use hemiola_federate::hla::{Call, Callback, ResignAction};

fn main() {
    let roles: &[bench::Role] = &[
        ("publisher", publisher),
        ("subscriber", subscriber),
        ("crowd", crowd),
        ("owner", owner),
        ("finder", finder),
    ];
    bench::main(roles, measure);
}

const FEDERATES: u64 = 100;
const OBJECTS: u64 = 10_000;
const FLOOD: u64 = 300_000;
const FLOOD_LEN: u64 = 1024;
/// How long the subscriber does not read.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(1500);

/// The objects and the federates that discover them in a burst: 500,000 discoveries.
const FOUND: u64 = 50_000;
const FINDERS: usize = 10;
/// Memory that is freed at once may come back a moment later.
const SETTLING: std::time::Duration = std::time::Duration::from_millis(2500);

fn measure(orders: &Orders) {
    let placement = Placement { cores: Cores::Any, is_fifo: false };
    bench::print_conditions();
    println!("memory of the RTI's process in MiB: present and peak");
    for transport in Transport::wanted(orders) {
        burst(transport, placement);
        let mut rti = Rti::start(placement);
        print(transport, "no federates", &rti);
        for (subscribes, reads, what) in [
            ("no", "later", "100 federates, 10,000 objects, no subscriber"),
            ("yes", "at-once", "100 federates, 10,000 objects, all subscribe"),
            ("yes", "later", "the same, read after the last registration"),
        ] {
            rti = Rti::start(placement);
            let (subscribes, reads) =
                (format!("subscribes={subscribes}"), format!("reads={reads}"));
            let orders = [rti.order(transport), subscribes, reads];
            let _crowd = Peer::client("crowd", placement, &orders);
            print(transport, what, &rti);
        }
        rti = Rti::start(placement);
        let orders = [rti.order(transport), format!("len={FLOOD_LEN}")];
        let mut sink = Peer::client("subscriber", placement, &orders);
        let mut source = Peer::client("publisher", placement, &orders);
        source.send_line(&FLOOD.to_string());
        std::thread::sleep(PAUSE);
        print(transport, "flooded, while the subscriber does not read", &rti);
        assert_eq!(sink.ask(&FLOOD.to_string()), "ready");
        assert_eq!(sink.read_line(), "done");
        print(transport, "flooded, after all updates were received", &rti);
    }
}

/// Federates discover the objects of another at once, read nothing for a while, then everything, and resign.
fn burst(transport: Transport, placement: Placement) {
    let rti = Rti::start(placement);
    let order = [rti.order(transport)];
    let _owner = Peer::client("owner", placement, &order);
    let mut finders: Vec<Peer> =
        (0..FINDERS).map(|_| Peer::client("finder", placement, &order)).collect();
    let print_both = |what: &str, finders: &[Peer]| {
        std::thread::sleep(SETTLING);
        print(transport, what, &rti);
        print_peer(transport, &format!("  one of the {FINDERS} federates"), &finders[0]);
    };
    print_both("before 500,000 discoveries", &finders);
    for finder in &mut finders {
        assert_eq!(finder.ask("subscribe"), "subscribed");
    }
    print_both("queued", &finders);
    for finder in &mut finders {
        assert_eq!(finder.ask("read"), "read");
    }
    print_both("all evoked, and the objects known", &finders);
    for finder in &mut finders {
        assert_eq!(finder.ask("resign"), "resigned");
    }
    print_both("the federates have resigned", &finders);
}

fn print(transport: Transport, what: &str, rti: &Rti) {
    print_peer(transport, what, &rti.peer);
}

fn print_peer(transport: Transport, what: &str, peer: &Peer) {
    let (now, peak) = peer.memory();
    println!("{:4} {what:50} {now:6.1} ≤{peak:6.1}", transport.word());
}

/// Registers objects.
fn owner(orders: &Orders) {
    let mut member = Member::join(orders);
    let (body, now) = (member.body, member.now);
    member.federate.publish_object_class_attributes(body, &[now]).expect("permitted");
    for _ in 0..FOUND / 1000 {
        let calls = (0..1000)
            .map(|_| Call::from(ObjectCall::RegisterObjectInstance { object_class: body }));
        let replies = member.federate.call_all(calls).expect("the RTI runs");
        assert!(replies.iter().all(Result::is_ok));
    }
    report("joined");
    while next_order().is_some() {}
}

/// Discovers them when it is told, and evokes the discoveries when it is told.
fn finder(orders: &Orders) {
    let mut member = Member::join(orders);
    let (body, now, federate) = (member.body, member.now, &mut member.federate);
    report("joined");
    while let Some(order) = next_order() {
        match &*order {
            "subscribe" => {
                federate.subscribe_object_class_attributes(body, &[now]).expect("permitted");
                federate.flush().expect("the RTI runs");
                report("subscribed");
            }
            "read" => {
                let mut left = FOUND;
                while left > 0 {
                    let callback = federate.evoke(Span::MAX).expect("the RTI runs");
                    left -= u64::from(callback.as_ref().is_some_and(is_discovery));
                }
                federate.flush().expect("the RTI runs");
                report("read");
            }
            _ => {
                federate.resign_federation_execution(ResignAction::NoAction).expect("permitted");
                report("resigned");
            }
        }
    }
}

const fn is_discovery(callback: &Callback) -> bool {
    matches!(callback, Callback::DiscoverObjectInstance { .. })
}

/// Federates with an equal number of objects. Subscribed federates discover the objects of all others: they evoke
/// callbacks throughout, or only after the last registration.
fn crowd(orders: &Orders) {
    let subscribes = orders.text("subscribes") == Some("yes");
    let reads_at_once = orders.text("reads") == Some("at-once");
    let members = (0..FEDERATES).map(|_| {
        let mut member = Member::join(orders);
        let (body, now) = (member.body, member.now);
        member.federate.publish_object_class_attributes(body, &[now]).expect("permitted");
        if subscribes {
            member.federate.subscribe_object_class_attributes(body, &[now]).expect("permitted");
        }
        member
    });
    let mut members: Vec<Member> = members.collect();
    let mut known = vec![0; members.len()];
    for registering in 0..members.len() {
        let member = &mut members[registering];
        for _ in 0..OBJECTS / FEDERATES {
            member.federate.register_object_instance(member.body).expect("permitted");
        }
        for (member, known) in members.iter_mut().zip(&mut known).filter(|_| reads_at_once) {
            while let Some(callback) = member.federate.evoke(Span::ZERO).expect("the RTI runs") {
                *known += u64::from(is_discovery(&callback));
            }
        }
    }
    let of_others = if subscribes { OBJECTS - OBJECTS / FEDERATES } else { 0 };
    for (member, known) in members.iter_mut().zip(known).filter(|_| subscribes) {
        let mut left = of_others - known;
        while left > 0 {
            let callback = member.federate.evoke(Span::MAX).expect("the RTI runs");
            left -= u64::from(callback.as_ref().is_some_and(is_discovery));
        }
        member.federate.flush().expect("the RTI runs");
    }
    report("joined");
    while next_order().is_some() {}
}
