//! Hand-overs between real processes, with or without real-time priority.

use hemiola_probe::hand_over::{self, Circumstances, Mechanism};
use hemiola_units::Delivery;

use crate::setting;

#[test]
fn every_mechanism_that_sleeps_is_measured_in_both_directions() {
    let channel =
        Mechanism::Channel { endpoint: "shm:floor".parse().unwrap(), delivery: Delivery::Latest };
    let mut mechanisms =
        vec![Mechanism::Yield, Mechanism::Pipe, Mechanism::Futex, Mechanism::MessageQueue, channel];
    if cfg!(feature = "pubsub") {
        mechanisms.push(Mechanism::PubSub);
    }
    for mechanism in mechanisms {
        let back_to_back = Circumstances::BackToBack;
        let samples = hand_over::measure(&setting(), &mechanism, back_to_back, 50).unwrap();
        assert_eq!((samples.down.len(), samples.up.len()), (50, 50), "{mechanism:?}");
        let nanos = samples.down.iter().zip(&samples.up);
        assert!(nanos.into_iter().all(|(down, up)| down + up > 0), "{mechanism:?}");
    }
}

#[test]
fn a_rate_spreads_the_samples() {
    let at_rate = Circumstances::AtRate("1kHz".parse().unwrap());
    let samples = hand_over::measure(&setting(), &Mechanism::Pipe, at_rate, 20).unwrap();
    assert_eq!(samples.down.len(), 20);
}

#[test]
fn mechanisms_that_keep_the_only_processor_busy_are_rejected() {
    let at_rate = Circumstances::AtRate("1kHz".parse().unwrap());
    for (mechanism, circumstances, needs) in [
        (Mechanism::Yield, at_rate, "`hand_over` needs another mechanism at a rate"),
        (Mechanism::Spin, Circumstances::BackToBack, "`hand_over` needs a mechanism that gives up"),
    ] {
        let error = hand_over::measure(&setting(), &mechanism, circumstances, 20).unwrap_err();
        assert!(error.to_string().starts_with(needs), "{error}");
    }
}
