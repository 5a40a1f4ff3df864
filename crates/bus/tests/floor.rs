//! Hand-overs are measured by real processes, whatever they are granted.

use hemiola_bus::floor::{self, Circumstances, FloorError, Mechanism, Peers};
use hemiola_rt::clock::Calibration;
use hemiola_units::Delivery;

/// The processes of a measurement when it executes this binary again.
#[test]
fn peer() {
    let orders = std::env::args().next_back().unwrap();
    if orders.starts_with('{') {
        floor::peer_main(&orders).unwrap();
        std::process::exit(0);
    }
}

fn peers() -> Peers {
    let arguments = ["floor::peer", "--exact", "--nocapture", "--test-threads=1"];
    Peers {
        program: std::env::current_exe().unwrap(),
        arguments: arguments.map(Into::into).into(),
        cpu: 0,
        calibration: Calibration::measure(),
    }
}

#[test]
fn every_mechanism_is_measured_in_both_directions() {
    let channel =
        Mechanism::Channel { endpoint: "shm:floor".parse().unwrap(), delivery: Delivery::Latest };
    let mut mechanisms =
        vec![Mechanism::Yield, Mechanism::Pipe, Mechanism::Futex, Mechanism::MessageQueue, channel];
    if cfg!(feature = "pubsub") {
        mechanisms.push(Mechanism::PubSub);
    }
    for mechanism in mechanisms {
        let samples = floor::measure(&peers(), &mechanism, Circumstances::BackToBack, 50).unwrap();
        assert_eq!((samples.down.len(), samples.up.len()), (50, 50), "{mechanism:?}");
        assert_eq!(samples.round_trips()[7], samples.down[7] + samples.up[7]);
        assert!(samples.round_trips().iter().all(|nanos| *nanos > 0), "{mechanism:?}");
    }
}

#[test]
fn a_rate_spreads_the_samples() {
    let at_rate = Circumstances::AtRate("1kHz".parse().unwrap());
    let samples = floor::measure(&peers(), &Mechanism::Pipe, at_rate, 20).unwrap();
    assert_eq!(samples.down.len(), 20);
    let refused = floor::measure(&peers(), &Mechanism::Yield, at_rate, 20);
    assert!(matches!(refused, Err(FloorError::YieldAtRate)));
}

#[test]
fn a_program_that_is_no_peer_is_an_error() {
    for (program, expected) in [
        ("/bin/true", "a process of the measurement did not come up"),
        ("/nowhere", "cannot measure a hand-over: No such file or directory (os error 2)"),
    ] {
        let peers = Peers { program: program.into(), ..peers() };
        let error = floor::measure(&peers, &Mechanism::Pipe, Circumstances::BackToBack, 1);
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}
