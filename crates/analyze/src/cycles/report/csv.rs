//! Every cycle as a line of a table for other programs (RFC 4180).

use std::fmt::Write;

use hemiola_report::csv::quoted;

use crate::cycles::analysis::Analysis;

/// All cycles of all runs after the warm-up, one line each behind a heading; times in ns.
#[must_use]
pub fn cycles(analysis: &Analysis) -> String {
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
    fn every_cycle_is_one_line() {
        let analysis = ladder_analysis();
        let text = cycles(&analysis);
        let cycles: usize = analysis.observed.iter().flatten().map(|run| run.cycles.len()).sum();
        assert_eq!(text.lines().count(), cycles + 1);
        assert!(text.lines().all(|line| line.split(',').count() == 11));
    }
}
