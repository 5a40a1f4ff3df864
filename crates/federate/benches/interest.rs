//! The cost of an update next to federates without interest in it: one publisher, one subscriber, and 0 to 200 others
//! that subscribe to another class.
//!
//! `cargo bench -p hemiola-federate --bench interest -- [blocks=N] [count=N] [over=tcp|shm] [placement=WORDS]`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod bench;

use bench::federation::{Member, publisher, subscriber};
use bench::{Orders, Peer, Rti, Transport, next_order, report};
use hemiola_rt::clock::{Clock, MonotonicClock};

fn main() {
    let roles: &[bench::Role] =
        &[("publisher", publisher), ("subscriber", subscriber), ("crowd", crowd)];
    bench::main(roles, measure);
}

const CROWDS: [usize; 4] = [0, 1, 20, 200];

fn measure(orders: &Orders) {
    let (blocks, count) = (orders.number("blocks", 4), orders.number("count", 50_000));
    bench::print_conditions();
    println!("{blocks} blocks of {count} updates of 64 B beside uninterested federates; medians");
    println!("{:20} {:4} {:>6} {:>10} {:>16}", "", "", "others", "updates/s", "RTI µs/update");
    let placements = bench::placements(orders);
    for placement in placements.into_iter().take(1) {
        for transport in Transport::wanted(orders) {
            let mut crowds = CROWDS.map(|size| {
                let rti = Rti::start(placement);
                let orders = [rti.order(transport), format!("size={size}")];
                let crowd = Peer::client("crowd", placement, &orders);
                let source = Peer::client("publisher", placement, &orders);
                let sink = Peer::client("subscriber", placement, &orders);
                (size, rti.peer, crowd, source, sink, vec![], vec![])
            });
            for block in 0..=blocks {
                for (_, rti, _, source, sink, rates, costs) in &mut crowds {
                    assert_eq!(sink.ask(&count.to_string()), "ready");
                    let (start, used) = (MonotonicClock.now(), rti.used());
                    source.send_line(&count.to_string());
                    assert_eq!(sink.read_line(), "done");
                    let seconds = (MonotonicClock.now() - start).secs_f64();
                    // The first block warms up.
                    if block > 0 {
                        rates.push(count as f64 / seconds);
                        costs.push((rti.used() - used).micros_f64() / count as f64);
                    }
                }
            }
            for (size, .., rates, costs) in &crowds {
                println!(
                    "{placement:20} {:4} {size:>6} {:10.0} {:16.2}",
                    transport.word(),
                    bench::median(rates),
                    bench::median(costs),
                );
            }
        }
    }
}

/// Federates that subscribe to another class.
fn crowd(orders: &Orders) {
    let members = (0..orders.number("size", 0)).map(|_| {
        let mut member = Member::join(orders);
        let federate = &mut member.federate;
        let other =
            federate.get_object_class_handle("HLAobjectRoot.Other").expect("the model has it");
        let now = federate.get_attribute_handle(other, "Now").expect("the model has it");
        federate.subscribe_object_class_attributes(other, &[now]).expect("permitted");
        member
    });
    let members: Vec<Member> = members.collect();
    report("joined");
    while next_order().is_some() {}
    drop(members);
}
