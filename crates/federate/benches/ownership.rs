//! The time of an ownership transfer: from the request of an attribute that another federate owns to the notification
//! that it has been acquired. The owner gives it up when it is asked, and takes it back in the same way.
//!
//! `cargo bench -p hemiola-federate --bench ownership -- [blocks=N] [count=N] [over=tcp|shm] [placement=WORDS]`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod bench;

use bench::federation::Member;
use bench::{Orders, Peer, Rti, Transport, next_order, quantile, report};
use hemiola_federate::hla::call::OwnershipCall;
use hemiola_federate::hla::{Callback, Data, ObjectInstanceHandle};
use hemiola_rt::clock::{Clock, MonotonicClock};

fn main() {
    let roles: &[bench::Role] = &[("owner", owner), ("seeker", seeker)];
    bench::main(roles, measure);
}

struct Subject {
    transport: Transport,
    _rti: Rti,
    _owner: Peer,
    seeker: Peer,
    samples: Vec<u64>,
}

fn measure(orders: &Orders) {
    let (blocks, count) = (orders.number("blocks", 4), orders.number("count", 2000));
    bench::print_conditions();
    println!("ownership transfers, µs; {blocks} blocks of {count}");
    println!("{:20} {:4} {:>8} {:>8} {:>8} {:>8}", "", "", "p50", "p90", "p99", "max");
    for placement in bench::placements(orders) {
        let mut subjects: Vec<Subject> = Transport::wanted(orders)
            .into_iter()
            .map(|transport| {
                let rti = Rti::start(placement);
                let order = [rti.order(transport)];
                let owner = Peer::client("owner", placement, &order);
                let seeker = Peer::client("seeker", placement, &order);
                Subject { transport, _rti: rti, _owner: owner, seeker, samples: Vec::new() }
            })
            .collect();
        bench::in_turns(&mut subjects, (blocks, count), |subject, count, is_kept| {
            let line = subject.seeker.ask(&count.to_string());
            if is_kept {
                let samples = line.split(' ').map(|one| one.parse::<u64>().expect("a number"));
                subject.samples.extend(samples);
            }
        });
        for Subject { transport, samples, .. } in &mut subjects {
            samples.sort_unstable();
            let at = |share| quantile(samples, share);
            println!(
                "{placement:20} {:4} {:8.1} {:8.1} {:8.1} {:8.1}",
                transport.word(),
                at(0.5),
                at(0.9),
                at(0.99),
                at(1.0),
            );
        }
    }
}

/// A federate that gives the attribute up whenever it is asked.
struct Party {
    member: Member,
    object: ObjectInstanceHandle,
}

impl Party {
    /// Requests the attribute from its owner.
    fn acquire(&mut self) {
        let call = OwnershipCall::AttributeOwnershipAcquisition {
            object_instance: self.object,
            desired_attributes: vec![self.member.now],
            user_supplied_tag: Data::new(),
        };
        self.member.federate.call(call).expect("permitted");
    }

    /// Waits until it owns the attribute.
    fn acquired(&mut self) {
        let look = |_: &mut _, callback| match callback {
            Callback::AttributeOwnershipAcquisitionNotification { .. } => Ok(Some(())),
            _ => Ok(None),
        };
        self.member.federate.handle_until(look).unwrap_or_else(|_| std::process::exit(0));
    }

    /// Waits until another federate wants the attribute, and gives it up.
    fn yield_once(&mut self) {
        let look = |_: &mut _, callback| match callback {
            Callback::RequestAttributeOwnershipRelease { .. } => Ok(Some(())),
            _ => Ok(None),
        };
        self.member.federate.handle_until(look).unwrap_or_else(|_| std::process::exit(0));
        let call = OwnershipCall::AttributeOwnershipDivestitureIfWanted {
            object_instance: self.object,
            attributes: vec![self.member.now],
            user_supplied_tag: Data::new(),
        };
        self.member.federate.call(call).expect("permitted");
    }
}

fn owner(orders: &Orders) {
    let mut member = Member::join(orders);
    let (body, now) = (member.body, member.now);
    member.federate.publish_object_class_attributes(body, &[now]).expect("permitted");
    let object = member.federate.register_object_instance(body).expect("permitted");
    let mut party = Party { member, object };
    report("joined");
    loop {
        party.yield_once();
        party.acquire();
        party.acquired();
    }
}

fn seeker(orders: &Orders) {
    let mut member = Member::join(orders);
    let (body, now) = (member.body, member.now);
    member.federate.publish_object_class_attributes(body, &[now]).expect("permitted");
    member.federate.subscribe_object_class_attributes(body, &[now]).expect("permitted");
    let look = |_: &mut _, callback| match callback {
        Callback::DiscoverObjectInstance { object_instance, .. } => Ok(Some(object_instance)),
        _ => Ok(None),
    };
    let object = member.federate.handle_until(look).expect("the owner has registered it");
    let mut party = Party { member, object };
    report("joined");
    while let Some(count) = next_order() {
        let samples: Vec<String> = (0..count.parse().expect("a number"))
            .map(|_| {
                let start = MonotonicClock.now();
                party.acquire();
                party.acquired();
                let nanos = (MonotonicClock.now() - start).nanos();
                party.yield_once();
                nanos.to_string()
            })
            .collect();
        report(samples.join(" "));
    }
}
