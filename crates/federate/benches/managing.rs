//! What periodic reports of the management object model cost: 100 federates, and a manager that subscribes to all
//! attributes of them and has them report every second.
//!
//! `cargo bench -p hemiola-federate --bench managing -- [blocks=N] [seconds=N] [over=tcp|shm]`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod bench;

use bench::federation::Member;
use bench::{Cores, Orders, Peer, Placement, Rti, Transport, next_order, report};
use hemiola_federate::Span;
use hemiola_federate::hla::encoding::{HLAinteger32BE, decode};
use hemiola_federate::hla::{AttributeHandle, Callback, FederateHandle};

fn main() {
    let roles: &[bench::Role] = &[("crowd", crowd), ("manager", manager)];
    bench::main(roles, measure);
}

const FEDERATES: u64 = 100;

/// The attributes that the standard reports periodically or on change.
const ATTRIBUTES: [&str; 12] = [
    "HLAfederateName",
    "HLAfederateType",
    "HLAtimeConstrained",
    "HLAtimeRegulating",
    "HLAlogicalTime",
    "HLAlookahead",
    "HLAGALT",
    "HLALITS",
    "HLAROlength",
    "HLATSOlength",
    "HLAreflectionsReceived",
    "HLAupdatesSent",
];

fn measure(orders: &Orders) {
    let (blocks, seconds) = (orders.number("blocks", 5), orders.number("seconds", 4));
    let placement = Placement { cores: Cores::Any, is_fifo: false };
    bench::print_conditions();
    println!(
        "{FEDERATES} federates report {} attributes every second; {blocks} blocks of {seconds} s, medians",
        ATTRIBUTES.len()
    );
    println!("{:4} {:12} {:>22} {:>14}", "", "", "RTI, % of a processor", "reports/s");
    for transport in Transport::wanted(orders) {
        let mut subjects = [false, true].map(|reports| {
            let rti = Rti::start(placement);
            let order = [rti.order(transport)];
            let crowd = Peer::client("crowd", placement, &order);
            let order = [rti.order(transport), format!("period={}", u8::from(reports))];
            let manager = Peer::client("manager", placement, &order);
            (reports, rti, crowd, manager, Vec::new(), Vec::new())
        });
        for _ in 0..blocks {
            for (_, rti, _, manager, shares, counts) in &mut subjects {
                let used = rti.peer.used();
                let count = manager.ask(&seconds.to_string());
                let used = (rti.peer.used() - used).secs_f64();
                shares.push(used / seconds as f64 * 100.0);
                counts.push(count.parse::<f64>().expect("a number") / seconds as f64);
            }
        }
        for (reports, .., shares, counts) in &subjects {
            println!(
                "{:4} {:12} {:22.2} {:14.1}",
                transport.word(),
                if *reports { "each second" } else { "no reports" },
                bench::median(shares),
                bench::median(counts),
            );
        }
    }
}

fn crowd(orders: &Orders) {
    let members: Vec<Member> = (0..FEDERATES).map(|_| Member::join(orders)).collect();
    report("joined");
    while next_order().is_some() {}
    drop(members);
}

/// Subscribes to the federates, sets their period, and counts reflections for the ordered number of seconds.
fn manager(orders: &Orders) {
    let mut federate = Member::join(orders).federate;
    let class = federate.get_object_class_handle("HLAmanager.HLAfederate").expect("it is standard");
    let handles: Vec<AttributeHandle> = ATTRIBUTES
        .iter()
        .map(|name| federate.get_attribute_handle(class, name).expect("it is standard"))
        .collect();
    let whom = federate.get_attribute_handle(class, "HLAfederateHandle").expect("it is standard");
    federate
        .subscribe_object_class_attributes(class, &[&handles[..], &[whom]].concat())
        .expect("permitted");
    federate.request_class_attribute_value_update(class, &[whom], "").expect("permitted");
    let mut federates: Vec<FederateHandle> = Vec::new();
    let look = |_: &mut _, callback| {
        if let Callback::ReflectAttributeValues { attribute_values, .. } = callback {
            let handle = attribute_values.iter().find(|(attribute, _)| *attribute == whom);
            federates.extend(handle.and_then(|(_, value)| decode::<FederateHandle>(value).ok()));
        }
        Ok((federates.len() > FEDERATES as usize).then_some(()))
    };
    federate.handle_until(look).expect("the RTI runs");
    let timing = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAadjust.HLAsetTiming";
    let timing = federate.get_interaction_class_handle(timing).expect("it is standard");
    let of = federate.parameter::<FederateHandle>(timing, "HLAfederate").expect("it is standard");
    let period =
        federate.parameter::<HLAinteger32BE>(timing, "HLAreportPeriod").expect("it is standard");
    federate.publish_interaction_class(timing).expect("permitted");
    let seconds = HLAinteger32BE(orders.number("period", 1) as i32);
    for one in federates {
        let values = [of.with(&one), period.with(&seconds)];
        federate.send_interaction(timing, &values, "").expect("permitted");
    }
    federate.confirm().expect("permitted");
    report("joined");
    while let Some(count) = next_order() {
        let mut left: i64 = count.parse::<i64>().expect("a number") * 1_000_000_000;
        let mut reflections = 0_u32;
        let clock = std::time::Instant::now();
        let all = left;
        while left > 0 {
            let callback = federate.evoke(Span::from_nanos(left)).expect("the RTI runs");
            reflections +=
                u32::from(matches!(callback, Some(Callback::ReflectAttributeValues { .. })));
            left = all - clock.elapsed().as_nanos() as i64;
        }
        report(reflections);
    }
}
