//! Messages go between two real processes, or it is said why not.

use hemiola_probe::communication::{Exchange, Mechanism, Quantity};
use hemiola_probe::{Placement, ProbeError, Setting};
use hemiola_units::Delivery;

use crate::setting;

#[test]
fn what_the_machine_or_the_mechanism_has_not_is_said() {
    let needs = |mechanism, placement, size, setting: &Setting| {
        let exchange = Exchange { mechanism, quantity: Quantity::Latency, placement, size };
        let outcome = exchange.measure(setting, 1);
        let Err(ProbeError::Lacking { name, what }) = outcome else { panic!("{outcome:?}") };
        format!("{name}: {what}")
    };
    let alone = Setting { other_cpu: None, ..setting() };
    for (mechanism, placement, size, setting, expected) in [
        (
            Mechanism::Pipe,
            Placement::Across,
            64,
            &alone,
            "communication.pipe.latency.across.64B: a second processor",
        ),
        (
            Mechanism::Spin,
            Placement::SameCore,
            64,
            &alone,
            "communication.shared_memory_spin.latency.same_core.64B: a processor for each process",
        ),
        (
            Mechanism::Udp,
            Placement::SameCore,
            1 << 16,
            &alone,
            "communication.udp.latency.same_core.64KiB: a mechanism that carries more than 65507 B",
        ),
        (
            Mechanism::MessageQueue,
            Placement::SameCore,
            1 << 24,
            &alone,
            "communication.mq.latency.same_core.16MiB: longer messages in queues than",
        ),
    ] {
        let text = needs(mechanism, placement, size, setting);
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn a_message_of_any_size_goes_by_any_mechanism_that_carries_it() {
    let channel =
        Mechanism::Channel { endpoint: "mq:x".parse().unwrap(), delivery: Delivery::Latest };
    for (mechanism, size) in [(channel, 8), (Mechanism::Pipe, 100_001), (Mechanism::Yield, 65)] {
        let same_core = Placement::SameCore;
        let exchange =
            Exchange { mechanism, quantity: Quantity::Latency, placement: same_core, size };
        let readings = exchange.measure(&setting(), 2).unwrap();
        assert!(readings.values.iter().all(|nanos| *nanos > 0.0), "{readings:?}");
    }
}
