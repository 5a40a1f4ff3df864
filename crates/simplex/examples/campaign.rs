//! Prints the simulated fault campaign: `cargo run --release -p hemiola-simplex --example campaign [RUNS]`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use hemiola_simplex::campaign::{Campaign, Figures};
use hemiola_simplex::fault::FaultKind;

fn main() {
    let runs = std::env::args().nth(1).map_or(100, |text| text.parse().expect("a number of runs"));
    let mut campaign = Campaign::default();
    if let Some(threshold) = std::env::args().nth(2) {
        campaign.decision.accept_below = threshold.parse().expect("a threshold");
        campaign.decision.strikes = 0;
    }
    println!(
        "{:27} {:>6} {:>9} {:>7} | {:>5} {:>6} {:>6} {:>6} {:>5} {:>5} {:>5}",
        "kind",
        "lost",
        "earliest",
        "peak V",
        "lost",
        "peak V",
        "switch",
        "detect",
        "false",
        "poor",
        "safe"
    );
    for kind in FaultKind::ALL {
        let run = |with| campaign.run(*kind, with, runs).expect("the default campaign is sound");
        let (without, with): (Figures, Figures) = (run(false), run(true));
        let earliest =
            without.earliest_loss.map_or("-".into(), |at| format!("{:.2} s", at.secs_f64()));
        let detect = with.detection_cycles.map_or("-".into(), |cycles| format!("{cycles:.1}"));
        println!(
            "{:27} {:>6} {:>9} {:>7.2} | {:>5} {:>6.2} {:>6.1} {:>6} {:>5} {:>5} {:>5}",
            kind.name(),
            without.lost,
            earliest,
            without.peak_v,
            with.lost,
            with.peak_v,
            with.switches,
            detect,
            with.false_switches,
            with.poor_performance,
            with.failed_safe
        );
    }
}
