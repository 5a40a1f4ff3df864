//! Round trips of 64 bytes between two processes on one processor: bare mechanisms and channels.
//!
//! `cargo bench -p hemiola-probe --features pubsub`. Mechanisms are interleaved; the table has medians over all rounds,
//! with FIFO 80 and 79 if permitted.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program's purpose is its table"
)]

use hemiola_probe::hand_over::{self, Circumstances, Mechanism};
use hemiola_probe::{Load, Peers, Setting};
use hemiola_rt::clock::Calibration;
use hemiola_units::{Delivery, Policy, Priority};

const PEER: &str = "--peer";
const ROUNDS: usize = 8;
const SAMPLES: u64 = 5_000;
const SAMPLES_AT_RATE: u64 = 40;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == PEER) {
        if let Err(error) = hemiola_probe::peer_main(&arguments[at + 1]) {
            eprintln!("{error}");
            std::process::exit(1);
        }
        return;
    }
    // `cargo test` also runs benches, with this argument; then there is nothing to time.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let peers = Peers {
        program: std::env::current_exe().expect("a running program has a path"),
        arguments: vec![PEER.into()],
    };
    let setting = Setting {
        cpu: 0,
        other_cpu: None,
        scheduling: Policy::Fifo { priority: Priority::try_from(80).expect("80 is one") },
        load: Load::Idle,
        peers,
        calibration: Calibration::measure(),
        directory: std::env::temp_dir(),
    };
    let channel = |endpoint: &str, delivery| Mechanism::Channel {
        endpoint: endpoint.parse().expect("it is written above"),
        delivery,
    };
    let queue = Delivery::Queue(8.try_into().expect("8 is not 0"));
    let subjects = [
        ("yield raw", Mechanism::Yield),
        ("pipe raw", Mechanism::Pipe),
        ("futex raw", Mechanism::Futex),
        ("shm latest", channel("shm:x", Delivery::Latest)),
        ("shm queue", channel("shm:x", queue)),
        ("mq raw", Mechanism::MessageQueue),
        ("mq latest", channel("mq:x", Delivery::Latest)),
        ("mq queue", channel("mq:x", queue)),
        ("pubsub raw", Mechanism::PubSub),
        ("pubsub latest", channel("pubsub:x", Delivery::Latest)),
        ("pubsub queue", channel("pubsub:x", queue)),
    ];
    let at_rate = Circumstances::AtRate("50Hz".parse().expect("it is a rate"));
    for (title, circumstances, samples, rounds) in [
        ("back to back", Circumstances::BackToBack, SAMPLES, ROUNDS),
        ("at 50 Hz", at_rate, SAMPLES_AT_RATE, 3),
    ] {
        let mut figures = vec![(Vec::new(), Vec::new(), String::new()); subjects.len()];
        for _ in 0..rounds {
            for ((name, mechanism), figure) in subjects.iter().zip(&mut figures) {
                match hand_over::measure(&setting, mechanism, circumstances, samples) {
                    Ok(samples) => {
                        figure.0.extend(samples.down);
                        figure.1.extend(samples.up);
                        figure.2 = samples.granted.scheduling.to_string();
                    }
                    Err(error) => {
                        if figure.2.is_empty() {
                            eprintln!("{name} {title}: {error}");
                        }
                        figure.2 = "-".into();
                    }
                }
            }
        }
        println!("one way, µs, {title}");
        println!(
            "{:14} {:>9} {:>9} {:>9} {:>9} {:>11}  scheduling",
            "", "down p50", "p99", "up p50", "p99", "round trip"
        );
        for ((name, _), (down, up, scheduling)) in subjects.iter().zip(&mut figures) {
            if down.is_empty() {
                continue;
            }
            // Before the others are sorted.
            let mut both: Vec<u64> = down.iter().zip(&*up).map(|(down, up)| down + up).collect();
            println!(
                "{name:14} {:9.2} {:9.2} {:9.2} {:9.2} {:11.2}  {scheduling}",
                quantile(down, 0.5),
                quantile(down, 0.99),
                quantile(up, 0.5),
                quantile(up, 0.99),
                quantile(&mut both, 0.5),
            );
        }
    }
}

/// The nearest-rank quantile, in microseconds.
fn quantile(nanos: &mut [u64], share: f64) -> f64 {
    nanos.sort_unstable();
    let rank = ((nanos.len() - 1) as f64 * share).round() as usize;
    nanos[rank] as f64 * 1e-3
}
