//! Every cycle as a line of a table for other programs (RFC 4180); for a campaign every kind of fault.

use std::fmt::Write;

use hemiola_report::csv::quoted;

use crate::cycles::analysis::Analysis;
use crate::cycles::summary::{FaultEffect, FaultSummary, Setting, Summary};

/// The table of a result: that of a campaign has no cycles.
#[must_use]
pub fn write(analysis: &Analysis) -> String {
    let is_campaign = !analysis.summary.faults.is_empty();
    if is_campaign { faults(&analysis.summary) } else { cycles(analysis) }
}

/// The outcome of every kind of fault, with the decision module and without, one line each behind a heading.
fn faults(summary: &Summary) -> String {
    let mut text = String::from(
        "fault,injected_into,decision_module,runs,lost,lost_share_max,earliest_loss_ns,peak_v,detection_cycles,\
         found_as,undetected,harmless,because,false_switches\n",
    );
    for fault in &summary.faults {
        for (module, effect) in [("with", &fault.with), ("without", &fault.without)] {
            if let Some(effect) = effect {
                text += &fault_line(fault, module, effect);
            }
        }
    }
    text
}

fn fault_line(fault: &FaultSummary, module: &str, effect: &FaultEffect) -> String {
    let FaultEffect { figures, lost_share_max } = effect;
    let into = match fault.process {
        Setting::Process => "process",
        Setting::Simulated => "simulated",
    };
    let found: Vec<String> =
        figures.found_as.iter().map(|(name, runs)| format!("{name}:{runs}")).collect();
    let undetected = fault.undetected.as_ref().filter(|_| module == "with");
    let cells = [
        quoted(&fault.kind),
        into.into(),
        module.into(),
        figures.runs.to_string(),
        figures.lost.to_string(),
        optional(*lost_share_max),
        optional(figures.earliest_loss_ns),
        figures.peak_v.to_string(),
        optional(figures.detection_cycles),
        found.join(";"),
        optional(undetected.map(|undetected| undetected.runs)),
        optional(undetected.map(|undetected| undetected.is_harmless)),
        undetected.map_or(String::new(), |undetected| quoted(&undetected.because)),
        figures.false_switches.to_string(),
    ];
    cells.join(",") + "\n"
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// All cycles of all runs after the warm-up, one line each behind a heading; times in ns.
fn cycles(analysis: &Analysis) -> String {
    let mut text = String::from(
        "program,run,cycle,release_ns,release_latency_ns,cycle_ns,lateness_ns,stamps,skipped,complete,actuated\n",
    );
    for (variant, observed) in analysis.summary.variants.iter().zip(&analysis.observed) {
        let program = quoted(&variant.name);
        for (run, observed) in variant.runs.iter().zip(observed) {
            for row in &observed.cycles {
                let lateness = row.lateness.map_or(String::new(), |late| late.nanos().to_string());
                writeln!(
                    text,
                    "{program},{},{},{},{},{},{lateness},{},{},{},{}",
                    run.number,
                    row.cycle,
                    row.release.nanos(),
                    row.latency.nanos(),
                    row.time.nanos(),
                    row.stamps,
                    row.skipped,
                    row.complete,
                    row.actuated
                )
                .expect("a String takes everything");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::synthetic::ladder_analysis;

    #[test]
    fn a_campaign_has_a_line_for_each_fault_and_side() {
        let text = write(&ladder_analysis());
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert!(lines.iter().all(|line| line.len() == 14), "{text}");
        let sides: Vec<_> = lines[1..].iter().map(|line| (line[0], line[2])).collect();
        let expected =
            [("stuck output", "with"), ("stuck output", "without"), ("busy loop", "with")];
        assert_eq!(sides, expected);
        assert!(lines[1][5].starts_with("0.00299"), "{text}");
        assert_eq!(lines[1][9..], ["leaves-region:1000", "", "", "", "0"]);
        assert_eq!((lines[2][4], lines[2][5], lines[2][6]), ("1000", "", "412000000"));
    }

    #[test]
    fn every_cycle_is_one_line() {
        let analysis = ladder_analysis();
        let text = cycles(&analysis);
        let cycles: usize = analysis.observed.iter().flatten().map(|run| run.cycles.len()).sum();
        assert_eq!(text.lines().count(), cycles + 1);
        assert!(text.lines().all(|line| line.split(',').count() == 11));
    }
}
