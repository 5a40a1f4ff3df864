//! The time in which a federate with default options looks up, subscribes to and unsubscribes from 10,000 classes.
//!
//! `cargo bench -p hemiola-federate --bench set_up -- [blocks=N] [count=N] [over=tcp|shm] [placement=WORDS]`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod bench;

use bench::federation::Member;
use bench::{Orders, Peer, Rti, Transport, next_order, report};
use hemiola_federate::Span;
use hemiola_federate::hla::call::SupportCall;
use hemiola_federate::hla::{AttributeHandle, Call, ObjectClassHandle, Reply};
use hemiola_rt::clock::{Clock, MonotonicClock};

fn main() {
    bench::main(&[("beginner", beginner)], measure);
}

/// What a beginner does, in this order.
const STEPS: [&str; 3] = ["look-ups", "subscriptions", "unsubscriptions"];

fn measure(orders: &Orders) {
    let (blocks, count) = (orders.number("blocks", 5), orders.number("count", 10_000));
    bench::print_conditions();
    println!(
        "{blocks} blocks of {count} classes, until the RTI has carried out all calls; medians"
    );
    println!("{:20} {:4} {:16} {:>8} {:>12}", "", "", "", "ms", "RTI CPU ms");
    for placement in bench::placements(orders).into_iter().take(1) {
        for transport in Transport::wanted(orders) {
            let rti = Rti::start(placement);
            let orders = [rti.order(transport), format!("classes={count}")];
            let mut peer = Peer::client("beginner", placement, &orders);
            let mut results = STEPS.map(|_| (vec![], vec![]));
            // The first block warms up.
            for block in 0..=blocks {
                for (step, (times, used)) in STEPS.iter().zip(&mut results) {
                    let before = rti.peer.used();
                    let time: f64 = peer.ask(step).parse().expect("a number");
                    if block > 0 {
                        times.push(time);
                        used.push((rti.peer.used() - before).micros_f64() * 1e-3);
                    }
                }
            }
            for (step, (times, used)) in STEPS.iter().zip(&results) {
                println!(
                    "{placement:20} {:4} {step:16} {:8.1} {:12.1}",
                    transport.word(),
                    bench::median(times),
                    bench::median(used),
                );
            }
        }
    }
}

/// Does the ordered steps and reports the milliseconds of each.
fn beginner(orders: &Orders) {
    let mut member = Member::join(orders);
    let count = orders.number("classes", 0);
    let mut classes = Vec::new();
    report("joined");
    while let Some(step) = next_order() {
        let start = MonotonicClock.now();
        match &*step {
            "look-ups" => classes = look_up(&mut member, count),
            "subscriptions" => subscribe(&mut member, &classes),
            _ => unsubscribe(&mut member, &classes),
        }
        let took: Span = MonotonicClock.now() - start;
        report(took.micros_f64() * 1e-3);
    }
}

fn look_up(member: &mut Member, count: u64) -> Vec<(ObjectClassHandle, AttributeHandle)> {
    let name = |number| format!("HLAobjectRoot.C{number}");
    let calls = (0..count).map(|number| {
        Call::from(SupportCall::GetObjectClassHandle { object_class_name: name(number) })
    });
    let replies = member.federate.call_all(calls).expect("the RTI runs");
    let classes: Vec<ObjectClassHandle> = replies.into_iter().map(class_of).collect();
    let calls = classes.iter().map(|class| {
        let (object_class, attribute_name) = (*class, "Now".into());
        Call::from(SupportCall::GetAttributeHandle { object_class, attribute_name })
    });
    let replies = member.federate.call_all(calls).expect("the RTI runs");
    classes.into_iter().zip(replies.into_iter().map(attribute_of)).collect()
}

fn class_of(reply: Result<Reply, hemiola_federate::Error>) -> ObjectClassHandle {
    match reply.expect("the model has it") {
        Reply::ObjectClass(class) => class,
        other => panic!("{other:?}"),
    }
}

fn attribute_of(reply: Result<Reply, hemiola_federate::Error>) -> AttributeHandle {
    match reply.expect("the model has it") {
        Reply::Attribute(attribute) => attribute,
        other => panic!("{other:?}"),
    }
}

fn subscribe(member: &mut Member, classes: &[(ObjectClassHandle, AttributeHandle)]) {
    for (class, attribute) in classes {
        let all = &[*attribute];
        member.federate.subscribe_object_class_attributes(*class, all).expect("permitted");
    }
    member.federate.confirm().expect("permitted");
}

fn unsubscribe(member: &mut Member, classes: &[(ObjectClassHandle, AttributeHandle)]) {
    for (class, _) in classes {
        member.federate.unsubscribe_object_class(*class).expect("permitted");
    }
    member.federate.confirm().expect("permitted");
}
