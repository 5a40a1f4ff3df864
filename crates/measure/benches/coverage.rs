//! How often the stated interval contains the value of a repeated measurement; it should be 95 of 100.
//!
//! Measures each figure repeatedly as `hemiola measure` does, all figures in turns, and counts how often the interval
//! of one measurement contains the value of the next. Arguments: repeats (100) and prefixes of figures (a small set).
//! The blocks of a small set are spread over five seconds, which is how long a repeat takes.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::sync::atomic::AtomicBool;

use hemiola_measure::set::{Budget, select};
use hemiola_measure::{Probes, Progress, Series, measure};
use hemiola_model::machine::Figure;
use hemiola_probe::{Load, Peers, Setting};
use hemiola_rt::clock::{Calibration, MonotonicClock};
use hemiola_rt::sys::cpu;
use hemiola_units::{Policy, Priority};

/// The argument that starts this program as the peer of a probe.
const PEER: &str = "play-peer";

/// One figure of each kind: the clock, the processor, the kernel, two processes, storage.
const SET: [&str; 7] = [
    "clock.read",
    "processor.instruction",
    "system_call.empty",
    "context_switch.pipe.same_core.warm",
    "context_switch.yield.same_core.warm",
    "memory.latency.64KiB",
    "creation.thread",
];

struct Silent;

impl Progress for Silent {
    fn tick(&mut self, _fraction: f64, _doing: &str) {}
}

fn main() {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [PEER, orders] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        hemiola_probe::peer_main(orders).expect("the peer runs");
        return;
    }
    let repeats: usize = words.first().and_then(|word| word.parse().ok()).unwrap_or(100);
    let only: Vec<String> = match words.get(1..) {
        Some([]) | None => SET.map(Into::into).into(),
        Some(prefixes) => prefixes.to_vec(),
    };
    let figures = select(hemiola_probe::catalogue(), false, &only).expect("the set is known");
    let online: Vec<u16> = cpu::online().iter().collect();
    let setting = Setting {
        cpu: online[online.len() - 1],
        other_cpu: (online.len() > 1).then(|| online[0]),
        scheduling: Policy::Fifo { priority: Priority::try_from(80).expect("a priority") },
        load: Load::Idle,
        peers: Peers {
            program: std::env::current_exe().expect("this program"),
            arguments: vec![PEER.into()],
        },
        calibration: Calibration::measure(),
        directory: std::env::temp_dir(),
    };
    let mut source = Probes::start(setting).expect("no load process is started");
    let interrupted = AtomicBool::new(false);
    let mut measured: Vec<Vec<Figure>> = vec![Vec::new(); figures.len()];
    for _ in 0..repeats {
        let series = measure(
            &figures,
            &mut source,
            Budget::QUICK,
            &MonotonicClock,
            &mut Silent,
            &interrupted,
        )
        .expect("the measurement is not interrupted");
        for (all, series) in measured.iter_mut().zip(&series) {
            all.extend(Series::figure(series));
        }
    }
    println!("{:<44} {:>8} {:>9} {:>14}", "figure", "repeats", "covered", "half width");
    let (mut covered_of_all, mut pairs_of_all) = (0, 0);
    for (figure, all) in figures.iter().zip(&measured) {
        let pairs = all.len().saturating_sub(1).max(1);
        let covered = all
            .windows(2)
            .filter(|pair| (pair[0].low..=pair[0].high).contains(&pair[1].value))
            .count();
        covered_of_all += covered;
        pairs_of_all += pairs;
        let width: f64 = all.iter().map(|f| (f.high - f.low) / 2.0 / f.value).sum();
        println!(
            "{:<44} {:>8} {:>7.0} % {:>12.1} %",
            figure.name,
            all.len(),
            100.0 * covered as f64 / pairs as f64,
            100.0 * width / all.len().max(1) as f64,
        );
    }
    println!("{:<44} {:>17.0} %", "all", 100.0 * covered_of_all as f64 / pairs_of_all as f64);
    println!("meanwhile {}", source.meanwhile().words());
}
