//! Chains of hand-overs between real processes, with or without real-time priority.

use hemiola_probe::chain::{self, Chain};
use hemiola_units::{Delivery, Span};

use crate::setting;

#[test]
fn a_message_passes_through_every_process_of_a_chain_in_each_period() {
    let mut channels =
        vec![("shm:chain", Delivery::Latest), ("mq:chain", Delivery::Queue(8.try_into().unwrap()))];
    if cfg!(feature = "pubsub") {
        channels.push(("pubsub:chain", Delivery::Latest));
    }
    for (endpoint, delivery) in channels {
        for (down, up, lead) in [(1, 0, 0), (1, 1, 100), (3, 2, 100)] {
            let lead = Span::from_micros(lead);
            let (endpoint, rate) = (endpoint.parse().unwrap(), "1kHz".parse().unwrap());
            let chain = Chain { endpoint, delivery, down, up, rate, leads: [lead, lead * 2] };
            let times = chain::measure(&setting(), &chain, 20).unwrap();
            assert_eq!(times.nanos.len(), 20, "{chain:?}");
            assert!(times.nanos.iter().all(|nanos| *nanos > 0), "{chain:?}");
        }
    }
}
