//! The time from an update to the answering update of another federate, through the RTI. The floor is a relay with the
//! same hops in the same run; the order is A B B A.
//!
//! `cargo bench -p hemiola-federate --bench round_trip -- [blocks=N] [count=N] [len=BYTES] [over=tcp|shm]
//! [placement=WORDS]`. Prints quantiles over all round trips, and the median over the blocks of the ratio of medians.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod bench;

use bench::federation::Member;
use bench::relay::{self, Kind};
use bench::{Orders, Peer, Placement, Rti, Transport, next_order, quantile, report};
use hemiola_federate::hla::Callback;
use hemiola_rt::clock::{Clock, MonotonicClock};

fn main() {
    bench::main(&[("asker", asker), ("answerer", answerer)], measure);
}

/// A way to pass messages between two processes.
struct Subject {
    name: String,
    asker: Peer,
    _others: Vec<Peer>,
    samples: Vec<u64>,
    medians: Vec<f64>,
}

impl Subject {
    fn federation(transport: Transport, waits: bool, placement: Placement, len: &str) -> Self {
        let rti = Rti::start(placement);
        let mut orders = vec![rti.order(transport), len.into()];
        orders.extend(waits.then(|| "waits=yes".into()));
        let answerer = Peer::client("answerer", placement, &orders);
        let asker = Peer::client("asker", placement, &orders);
        let name = if waits { "each call waits" } else { "default" };
        Self::new(format!("{}, {name}", transport.word()), asker, vec![answerer, rti.peer])
    }

    fn floor(kind: Kind, placement: Placement, len: usize) -> Self {
        let (server, orders) = relay::start("relay", kind, 2, len, placement);
        let asker = Peer::client("ping", placement, &orders);
        let answerer = Peer::client("pong", placement, &orders);
        Self::new(format!("floor: {}", kind.word()), asker, vec![answerer, server])
    }

    fn new(name: String, asker: Peer, others: Vec<Peer>) -> Self {
        Self { name, asker, _others: others, samples: vec![], medians: vec![] }
    }

    fn block(&mut self, count: u64, is_kept: bool) {
        let line = self.asker.ask(&count.to_string());
        let mut samples: Vec<u64> =
            line.split(' ').map(|sample| sample.parse().expect("a number")).collect();
        if is_kept {
            self.samples.extend(&samples);
            samples.sort_unstable();
            self.medians.push(quantile(&samples, 0.5));
        }
    }
}

fn measure(orders: &Orders) {
    let (blocks, count) = (orders.number("blocks", 4), orders.number("count", 500));
    let len = orders.number("len", 64) as usize;
    bench::print_conditions();
    println!("round trips of {len} B, µs; {blocks} blocks of {count}");
    for placement in bench::placements(orders) {
        for transport in Transport::wanted(orders) {
            let floors: &[Kind] = match transport {
                Transport::Tcp => &[Kind::Tcp],
                Transport::SharedMemory => &[Kind::Stream, Kind::Bell],
            };
            let order = format!("len={len}");
            let mut subjects: Vec<Subject> =
                floors.iter().map(|kind| Subject::floor(*kind, placement, len)).collect();
            for waits in [false, true] {
                subjects.push(Subject::federation(transport, waits, placement, &order));
            }
            bench::in_turns(&mut subjects, (blocks, count), Subject::block);
            print(placement, &mut subjects, floors.len());
        }
    }
}

fn print(placement: Placement, subjects: &mut [Subject], floors: usize) {
    println!(
        "{placement:20} {:28} {:>8} {:>8} {:>8} {:>8}  of the floors",
        "", "p50", "p90", "p99", "max"
    );
    let floor_medians: Vec<Vec<f64>> =
        subjects[..floors].iter().map(|floor| floor.medians.clone()).collect();
    for subject in subjects {
        subject.samples.sort_unstable();
        let at = |share| quantile(&subject.samples, share);
        let ratios: Vec<String> = floor_medians
            .iter()
            .map(|floor| format!("{:.2}", bench::ratio(&subject.medians, floor)))
            .collect();
        println!(
            "{:20} {:28} {:8.1} {:8.1} {:8.1} {:8.1}  {}",
            "",
            subject.name,
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0),
            ratios.join(" "),
        );
    }
}

/// Publishes an object of its own and subscribes to the other federate's.
fn enter(orders: &Orders) -> (Member, hemiola_federate::hla::ObjectInstanceHandle) {
    let mut member = Member::join(orders);
    let (body, now) = (member.body, member.now);
    member.federate.publish_object_class_attributes(body, &[now]).expect("permitted");
    member.federate.subscribe_object_class_attributes(body, &[now]).expect("permitted");
    let object = member.federate.register_object_instance(body).expect("permitted");
    (member, object)
}

fn reflected(member: &mut Member) {
    let look = |_: &mut _, callback| match callback {
        Callback::ReflectAttributeValues { .. } => Ok(Some(())),
        _ => Ok(None),
    };
    member.federate.handle_until(look).unwrap_or_else(|_| std::process::exit(0));
}

fn asker(orders: &Orders) {
    let (mut member, object) = enter(orders);
    let value = [(member.now, Member::value(orders))];
    report("joined");
    while let Some(count) = next_order() {
        let samples: Vec<String> = (0..count.parse().expect("a number"))
            .map(|_| {
                let start = MonotonicClock.now();
                member.federate.update_attribute_values(object, &value, "").expect("permitted");
                reflected(&mut member);
                (MonotonicClock.now() - start).nanos().to_string()
            })
            .collect();
        report(samples.join(" "));
    }
}

fn answerer(orders: &Orders) {
    let (mut member, object) = enter(orders);
    let value = [(member.now, Member::value(orders))];
    report("joined");
    loop {
        reflected(&mut member);
        member.federate.update_attribute_values(object, &value, "").expect("permitted");
    }
}
