//! Communication between two real processes.

use hemiola_probe::communication::{Exchange, ExchangeQuantity, Mechanism};
use hemiola_probe::{Placement, ProbeError, Setting};
use hemiola_units::Delivery;

use crate::setting;

#[test]
fn an_unmet_requirement_is_reported() {
    let needs = |mechanism, placement, size, setting: &Setting| {
        let exchange = Exchange { mechanism, quantity: ExchangeQuantity::Latency, placement, size };
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
fn messages_of_any_supported_size_are_measured() {
    let channel =
        Mechanism::Channel { endpoint: "mq:x".parse().unwrap(), delivery: Delivery::Latest };
    for (mechanism, size) in [(channel, 8), (Mechanism::Pipe, 100_001), (Mechanism::Yield, 65)] {
        let same_core = Placement::SameCore;
        let exchange =
            Exchange { mechanism, quantity: ExchangeQuantity::Latency, placement: same_core, size };
        let readings = exchange.measure(&setting(), 2).unwrap();
        assert!(readings.values.iter().all(|nanos| *nanos > 0.0), "{readings:?}");
    }
}
