//! Whether a run did what it is for: the plant stood, every voltage and checkpoint was written, and nobody held a
//! process up.

use crate::cycles::summary::{RunSummary, Summary, VariantSummary};

/// The reasons why runs of a summary are failures, a line for each such run, in the order of programs and runs. An
/// incomplete folder says so elsewhere.
///
/// A dropped release counts as a voltage that was not written, like a cycle without one.
#[must_use]
pub fn failures(summary: &Summary) -> Vec<String> {
    let of_variant = |variant: &VariantSummary| -> Vec<String> {
        variant.runs.iter().filter_map(|run| of_run(&variant.name, run)).collect()
    };
    summary.variants.iter().flat_map(of_variant).collect()
}

fn of_run(variant: &str, run: &RunSummary) -> Option<String> {
    let fallen =
        run.fallen_after_ns.map(|ns| format!("the plant was lost after {:.3} s", ns as f64 / 1e9));
    let missed = match run.figures.actuations_missed {
        0 => None,
        1 => Some("1 voltage was not written in its cycle".into()),
        many => Some(format!("{many} voltages were not written in their cycles")),
    };
    let unwritten = run.universes.iter().filter_map(|universe| {
        let failure = universe.checkpoints.as_ref()?.failure.as_ref()?;
        Some(format!("{}: {failure}", universe.process))
    });
    let disturbances = run.disturbances.iter().cloned();
    let all: Vec<String> =
        fallen.into_iter().chain(missed).chain(unwritten).chain(disturbances).collect();
    (!all.is_empty()).then(|| format!("{variant}, run {}: {}", run.number, all.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::synthetic::ladder_analysis;

    #[test]
    fn a_run_in_which_all_went_well_is_no_failure() {
        assert_eq!(failures(&ladder_analysis().summary), Vec::<String>::new());
    }

    #[test]
    fn every_failed_run_is_a_line_with_its_reasons() {
        let mut summary = ladder_analysis().summary;
        summary.variants[0].runs[1].fallen_after_ns = Some(1_234_000_000);
        summary.variants[1].runs[0].figures.actuations_missed = 1;
        summary.variants[3].runs[0].figures.actuations_missed = 7;
        summary.variants[3].runs[0].disturbances = vec!["io was stopped".into()];
        assert_eq!(
            failures(&summary),
            [
                "Monolithic, run 2: the plant was lost after 1.234 s",
                "Shared memory, run 1: 1 voltage was not written in its cycle",
                "Simplex (1), run 1: 7 voltages were not written in their cycles; io was stopped",
            ]
        );
    }
}
