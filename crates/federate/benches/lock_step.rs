//! The rate at which a federation advances in lock step: every federate is regulating and constrained and sends one
//! update for the next step to all others. There are two floors in the same run, with the same hops: a barrier that
//! passes on the bytes of all updates at once, and a post that hands over each update to each receiver, with the length
//! of its callback.
//!
//! `cargo bench -p hemiola-federate --bench lock_step -- [blocks=N] [count=N] [size=N] [over=tcp|shm]
//! [placement=WORDS]`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod bench;

use bench::federation::Member;
use bench::relay::{self, Kind};
use bench::{Orders, Peer, Placement, Rti, Transport, next_order, report};
use hemiola_federate::Span;
use hemiola_federate::hla::{Callback, LogicalInterval, LogicalTime};
use hemiola_rt::clock::{Clock, MonotonicClock};

fn main() {
    bench::main(&[("stepper", stepper)], measure);
}

const SIZES: [u64; 6] = [2, 4, 8, 16, 32, 64];
/// The steps of a block times the federates, at most: a step of many takes long.
const STEPS_BY_SIZE: u64 = 16_000;
/// Bytes of an update.
const LEN: usize = 64;
/// Bytes of the callback for it.
const CALLBACK_LEN: usize = 138;

struct Subject {
    name: String,
    server: Peer,
    members: Vec<Peer>,
    rates: Vec<f64>,
    cpu: Vec<f64>,
}

impl Subject {
    fn federation(transport: Transport, placement: Placement, size: usize) -> Self {
        let rti = Rti::start(placement);
        let orders = [rti.order(transport), format!("size={size}")];
        let members = (0..size).map(|_| Peer::client("stepper", placement, &orders)).collect();
        Self::new(format!("steps over {}", transport.word()), rti.peer, members)
    }

    fn barrier(kind: Kind, placement: Placement, size: usize) -> Self {
        let (server, orders) = relay::start("barrier", kind, size, LEN, placement);
        let members = (0..size).map(|_| Peer::client("member", placement, &orders)).collect();
        Self::new(format!("barrier: {}", kind.word()), server, members)
    }

    fn post(kind: Kind, placement: Placement, size: usize) -> Self {
        let (server, orders) = relay::start("post", kind, size, CALLBACK_LEN, placement);
        let members = (0..size).map(|_| Peer::client("reader", placement, &orders)).collect();
        Self::new(format!("post: {}", kind.word()), server, members)
    }

    fn new(name: String, server: Peer, members: Vec<Peer>) -> Self {
        Self { name, server, members, rates: vec![], cpu: vec![] }
    }

    fn used(&self) -> Span {
        let peers = self.members.iter().chain([&self.server]);
        peers.fold(Span::ZERO, |sum, peer| sum + peer.used())
    }

    fn block(&mut self, count: u64, is_kept: bool) {
        let (start, used) = (MonotonicClock.now(), self.used());
        for member in &mut self.members {
            member.send_line(&count.to_string());
        }
        for member in &mut self.members {
            assert_eq!(member.read_line(), "done");
        }
        let seconds = (MonotonicClock.now() - start).secs_f64();
        let cpu = (self.used() - used).secs_f64();
        if is_kept {
            self.rates.push(count as f64 / seconds);
            self.cpu.push(cpu / count as f64 * 1e6);
        }
    }
}

fn measure(orders: &Orders) {
    let (blocks, count) = (orders.number("blocks", 4), orders.number("count", 2_000));
    bench::print_conditions();
    println!(
        "{blocks} blocks of up to {count} steps, each federate updates {LEN} B for all others; medians"
    );
    println!(
        "{:20} {:>2} {:18} {:>9} {:>14} {:>11} {:>12}",
        "", "", "", "steps/s", "of the barrier", "of the post", "CPU µs/step"
    );
    for placement in bench::placements(orders) {
        for size in SIZES.into_iter().filter(|size| orders.number("size", *size) == *size) {
            let count = count.min(STEPS_BY_SIZE / size);
            let clients = size as usize;
            for transport in Transport::wanted(orders) {
                let mut subjects = [
                    Subject::barrier(transport.relay(), placement, clients),
                    Subject::post(transport.relay(), placement, clients),
                    Subject::federation(transport, placement, clients),
                ];
                bench::in_turns(&mut subjects, (blocks, count), Subject::block);
                let [barrier, post, _] = subjects.each_ref().map(|one| one.rates.clone());
                for subject in &subjects {
                    println!(
                        "{placement:20} {size:>2} {:18} {:9.0} {:14.2} {:11.2} {:12.1}",
                        subject.name,
                        bench::median(&subject.rates),
                        bench::ratio(&subject.rates, &barrier),
                        bench::ratio(&subject.rates, &post),
                        bench::median(&subject.cpu),
                    );
                }
            }
        }
    }
}

/// Sends the update and the request to advance together.
fn stepper(orders: &Orders) {
    let mut member = Member::join(orders);
    let (body, stamped) = (member.body, member.stamped);
    let size = orders.number("size", 2);
    let federate = &mut member.federate;
    federate.publish_object_class_attributes(body, &[stamped]).expect("permitted");
    federate.subscribe_object_class_attributes(body, &[stamped]).expect("permitted");
    let object = federate.register_object_instance(body).expect("permitted");
    let step = LogicalInterval::integer(1).expect("1 is valid");
    federate.enable_time_constrained().expect("permitted");
    let constrained = |_: &mut _, callback| {
        Ok(matches!(callback, Callback::TimeConstrainedEnabled { .. }).then_some(()))
    };
    federate.handle_until(constrained).expect("the RTI runs");
    federate.enable_time_regulation(step).expect("permitted");
    let regulating = |federate: &mut hemiola_federate::Federate, callback| match callback {
        Callback::TimeRegulationEnabled { time } => federate.time(time).map(Some),
        _ => Ok(None),
    };
    let mut at = federate.handle_until(regulating).expect("the RTI runs");
    let value = [(stamped, Member::value(orders))];
    report("joined");
    while let Some(count) = next_order() {
        for _ in 0..count.parse().expect("a number") {
            let next: LogicalTime = at.plus(step).expect("far from the final time");
            let mut received = 0;
            federate
                .update_attribute_values_with_time(object, &value, "", next)
                .expect("permitted");
            at = federate
                .advance(next, |_, callback| {
                    received += u64::from(matches!(
                        callback,
                        Callback::ReflectAttributeValuesWithTime { .. }
                    ));
                    Ok(())
                })
                .expect("the RTI runs");
            assert!(received == size - 1, "{received} updates at {at:?}");
        }
        report("done");
    }
}
