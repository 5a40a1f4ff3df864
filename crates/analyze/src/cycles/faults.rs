//! What a campaign showed of each kind of fault: as what it was found, how likely a loss may still be, and why a fault
//! that was not found is harmless.

use hemiola_stats::bound_of_none;
use hemiola_trace::result::{FaultFigures, FaultRecord};

use super::summary::{FaultEffect, FaultSummary, Setting, Undetected};

/// The name of the control group, which has no fault.
const NO_FAULT: &str = "none";

pub(super) fn summary(record: &FaultRecord) -> FaultSummary {
    FaultSummary {
        kind: record.kind.clone(),
        process: if record.process { Setting::Process } else { Setting::Simulated },
        undetected: record.with.as_ref().and_then(|figures| undetected(&record.kind, figures)),
        with: record.with.clone().map(effect),
        without: record.without.clone().map(effect),
    }
}

fn effect(figures: FaultFigures) -> FaultEffect {
    let lost_share_max = bound_of_none(figures.runs).filter(|_| figures.lost == 0);
    FaultEffect { figures, lost_share_max }
}

/// The runs in which the decision module found no fault; `None` if it found one in each, or if the record does not say.
fn undetected(kind: &str, figures: &FaultFigures) -> Option<Undetected> {
    let found: u64 = figures.found_as.values().sum();
    let is_recorded = found > 0 || figures.detection_cycles.is_none();
    let runs = figures.runs.checked_sub(found).filter(|runs| *runs > 0 && is_recorded)?;
    let (is_harmless, because) = judge(kind, figures);
    Some(Undetected { runs, is_harmless, because })
}

/// Whether a fault that was not found is harmless, and why.
fn judge(kind: &str, figures: &FaultFigures) -> (bool, String) {
    let FaultFigures { lost, peak_v, .. } = *figures;
    if lost > 0 {
        (false, format!("the plant was lost in {lost} runs"))
    } else if kind == NO_FAULT {
        (true, "there was no fault".into())
    } else if peak_v < 1.0 {
        let because = "so the safety controller could always recover the plant";
        (true, format!("V stayed below 1 ({peak_v:.3} at most), {because}"))
    } else {
        let because = "from where the safety controller may not recover the plant";
        (false, format!("V reached {peak_v:.3}, {because}"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn figures(runs: u64, lost: u64, peak_v: f64, found: &[(&str, u64)]) -> FaultFigures {
        let found_as: BTreeMap<String, u64> =
            found.iter().map(|(name, runs)| ((*name).to_owned(), *runs)).collect();
        FaultFigures {
            runs,
            lost,
            earliest_loss_ns: None,
            peak_v,
            detection_cycles: (!found.is_empty()).then_some(1.0),
            found_as,
            false_switches: 0,
        }
    }

    /// Runs without detection, whether they are harmless, and the reason.
    fn check(kind: &str, figures: &FaultFigures, expected: Option<(u64, bool, &str)>) {
        let found = undetected(kind, figures);
        let found = found.as_ref().map(|u| (u.runs, u.is_harmless, u.because.as_str()));
        assert_eq!(found, expected, "{kind}: {figures:?}");
    }

    #[test]
    fn a_fault_that_was_not_found_is_judged_by_what_the_plant_did() {
        let recoverable = "V stayed below 1 (0.150 at most), so the safety controller could always recover the plant";
        check("bias", &figures(20, 0, 0.15, &[]), Some((20, true, recoverable)));
        check("late-1", &figures(20, 0, 0.15, &[("late", 18)]), Some((2, true, recoverable)));
        check("late-1", &figures(20, 0, 0.15, &[("late", 18), ("missing", 2)]), None);
        check("none", &figures(20, 0, 0.1, &[]), Some((20, true, "there was no fault")));
        let beyond = "V reached 1.200, from where the safety controller may not recover the plant";
        check("adversary", &figures(20, 0, 1.2, &[]), Some((20, false, beyond)));
        check(
            "drift",
            &figures(3, 2, 9.0, &[("late", 1)]),
            Some((2, false, "the plant was lost in 2 runs")),
        );
        // Recorded before the names were.
        check(
            "late-1",
            &FaultFigures { detection_cycles: Some(1.0), ..figures(20, 0, 0.15, &[]) },
            None,
        );
    }

    #[test]
    fn only_a_loss_that_never_happened_has_a_bound() {
        let bound = |runs, lost| effect(figures(runs, lost, 0.5, &[])).lost_share_max;
        assert!((bound(20, 0).unwrap() - 0.1391).abs() < 1e-4);
        assert_eq!((bound(20, 1), bound(0, 0)), (None, None));
    }
}
