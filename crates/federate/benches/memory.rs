//! What memory an RTI takes: with 100 federates and 10,000 objects, and while a publisher floods a subscriber that does
//! not read for a while.
//!
//! `cargo bench -p hemiola-federate --bench memory -- [over=tcp|shm]`.

#![expect(clippy::print_stdout, reason = "a benchmark is for its output")]

mod bench;

use bench::federation::{Member, publisher, subscriber};
use bench::{Cores, Orders, Peer, Placement, Rti, Transport, say, told};
use hemiola_federate::hla::Callback;

fn main() {
    let roles: &[bench::Role] =
        &[("publisher", publisher), ("subscriber", subscriber), ("crowd", crowd)];
    bench::main(roles, measure);
}

const FEDERATES: u64 = 100;
const OBJECTS: u64 = 10_000;
const FLOOD: u64 = 300_000;
const FLOOD_LEN: u64 = 1024;
/// How long the subscriber does not read.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(1500);

fn measure(orders: &Orders) {
    let placement = Placement { cores: Cores::Any, is_fifo: false };
    bench::print_conditions();
    println!("memory of the RTI's process, MiB: now, and the most there was");
    for transport in Transport::wanted(orders) {
        let mut rti = Rti::start(placement);
        print(transport, "nobody", &rti);
        for subscribes in ["no", "yes"] {
            rti = Rti::start(placement);
            let orders = [rti.order(transport), format!("subscribes={subscribes}")];
            let _crowd = Peer::client("crowd", placement, &orders);
            let what = match subscribes {
                "no" => "100 federates, 10,000 objects, nobody subscribes",
                _ => "100 federates, 10,000 objects, each knows all",
            };
            print(transport, what, &rti);
        }
        rti = Rti::start(placement);
        let orders = [rti.order(transport), format!("len={FLOOD_LEN}")];
        let mut sink = Peer::client("subscriber", placement, &orders);
        let mut source = Peer::client("publisher", placement, &orders);
        source.tell(&FLOOD.to_string());
        std::thread::sleep(PAUSE);
        print(transport, "flooded, while nobody reads", &rti);
        assert_eq!(sink.ask(&FLOOD.to_string()), "ready");
        assert_eq!(sink.says(), "done");
        print(transport, "flooded, after everything was received", &rti);
    }
}

fn print(transport: Transport, what: &str, rti: &Rti) {
    let (now, peak) = rti.peer.memory();
    println!("{:4} {what:50} {now:6.1} ≤{peak:6.1}", transport.word());
}

/// Federates with as many objects each. If they subscribe, each has discovered those of all others in the end.
fn crowd(orders: &Orders) {
    let subscribes = orders.text("subscribes") == Some("yes");
    let members = (0..FEDERATES).map(|_| {
        let mut member = Member::join(orders);
        let (body, now) = (member.body, member.now);
        member.federate.publish_object_class_attributes(body, &[now]).expect("it may");
        if subscribes {
            member.federate.subscribe_object_class_attributes(body, &[now]).expect("it may");
        }
        member
    });
    let mut members: Vec<Member> = members.collect();
    for member in &mut members {
        for _ in 0..OBJECTS / FEDERATES {
            member.federate.register_object_instance(member.body).expect("it may");
        }
    }
    if subscribes {
        for member in &mut members {
            let mut left = OBJECTS - OBJECTS / FEDERATES;
            let look = |_: &mut _, callback| {
                left -= u64::from(matches!(callback, Callback::DiscoverObjectInstance { .. }));
                Ok((left == 0).then_some(()))
            };
            member.federate.wait_for(look).expect("the RTI is there");
        }
    }
    say("joined");
    while told().is_some() {}
}
