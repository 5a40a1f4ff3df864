//! Figures measured by real threads and processes, with or without real-time priority.

mod chain;
mod communication;
mod figures;
mod file;
mod hand_over;
mod load;
mod workload;

use hemiola_probe::{Load, Peers, Setting, peer_main};
use hemiola_rt::clock::Calibration;
use hemiola_rt::sys::cpu;
use hemiola_units::Policy;

/// The peer process when a measurement executes this binary again; a no-op in a test run.
#[test]
fn peer() {
    let orders = std::env::args().next_back().unwrap();
    if orders.starts_with('{') {
        peer_main(&orders).unwrap();
        std::process::exit(0);
    }
}

/// Real-time priority, if granted, on the first two processors.
fn setting() -> Setting {
    let cpus: Vec<u16> = cpu::online().iter().collect();
    let arguments = ["peer", "--exact", "--nocapture", "--test-threads=1"];
    Setting {
        cpu: cpus[0],
        other_cpu: cpus.get(1).copied(),
        scheduling: Policy::Fifo { priority: 50.try_into().unwrap() },
        load: Load::Idle,
        peers: Peers {
            program: std::env::current_exe().unwrap(),
            arguments: arguments.map(Into::into).into(),
        },
        calibration: Calibration::measure(),
        directory: std::env::temp_dir(),
    }
}
