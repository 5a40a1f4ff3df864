//! Compares two summaries: which medians differ by more than noise.
//!
//! With two or more runs on both sides, the noise between runs decides (Welch's interval over the runs' medians),
//! because cycles within a run depend on each other and a machine's state changes from run to run. With a single run on
//! either side only the noise within the runs is known, which is smaller; the verdict then says so. Each program is
//! another chance of a false alarm, so all are judged together ([`differing`]).

use serde::{Deserialize, Serialize};

use crate::cycles::summary::{Summary, VariantSummary};
use hemiola_report::table::Table;
use hemiola_report::text::{difference_cells, micros};
use hemiola_stats::{Change, ChangeVerdict, Covers, Difference, Estimate, differing};

/// Two summaries compared. All differences are B minus A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The names of A and B.
    pub names: [String; 2],
    /// The programs that both have, in A's order.
    pub variants: Vec<VariantComparison>,
    /// Programs that only one has, and conditions that differ, a sentence each.
    pub remarks: Vec<String>,
}

/// One program in both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantComparison {
    /// Its name.
    pub name: String,
    /// Median cycle of A and B, all runs together, ns.
    pub p50_ns: [i64; 2],
    /// 99th percentile of A and B, ns.
    pub p99_ns: [i64; 2],
    /// Greatest cycle observed in A and B, ns.
    pub max_ns: [i64; 2],
    /// Deadlines missed in A and B.
    pub deadlines_missed: [u64; 2],
    /// Difference of the medians with its interval at 95 %, ns; `None` if there are too few runs and cycles.
    pub median_difference_ns: Option<Difference>,
    /// The verdict.
    pub verdict: ChangeVerdict,
}

/// Compares B with A; `names` are what the tables call them.
pub fn compare(names: [&str; 2], a: &Summary, b: &Summary) -> Comparison {
    let find = |summary: &'_ Summary, name: &str| {
        summary.variants.iter().position(|variant| variant.name == name)
    };
    let mut remarks = Vec::new();
    for (summary, other, name) in [(a, b, names[0]), (b, a, names[1])] {
        for variant in
            summary.variants.iter().filter(|variant| find(other, &variant.name).is_none())
        {
            remarks.push(format!("{} is only in {name}", variant.name));
        }
    }
    let (of_a, of_b) = (&a.conditions, &b.conditions);
    for (what, in_a, in_b) in [
        ("kernel", &of_a.kernel, &of_b.kernel),
        ("processor", &of_a.cpu_model, &of_b.cpu_model),
        ("preemption", &of_a.preempt, &of_b.preempt),
        ("clock", &of_a.clock.source, &of_b.clock.source),
    ] {
        if in_a != in_b {
            remarks.push(format!("the {what} differs: {in_a} and {in_b}"));
        }
    }
    let recorded = |summary: &Summary| summary.kernel.interface.clone();
    if recorded(a) != recorded(b) {
        let word =
            |summary| recorded(summary).map_or("not".into(), |interface| format!("by {interface}"));
        remarks.push(format!("the kernel's side was recorded {} and {}", word(a), word(b)));
    }
    let pairs = a
        .variants
        .iter()
        .filter_map(|variant| Some((variant, &b.variants[find(b, &variant.name)?])));
    let (mut variants, changes): (Vec<_>, Vec<_>) =
        pairs.clone().filter_map(|(a, b)| compare_variants(a, b)).unzip();
    let without = |side: fn((&VariantSummary, &VariantSummary)) -> bool| -> Vec<&str> {
        pairs.clone().filter(|pair| side(*pair)).map(|(a, _)| a.name.as_str()).collect()
    };
    let lacking = [without(|(a, _)| !has_cycles(a)), without(|(_, b)| !has_cycles(b))];
    for (programs, name) in lacking.iter().zip(names).filter(|(programs, _)| !programs.is_empty()) {
        remarks.push(format!("no cycle times in {name}: {}", programs.join(", ")));
    }
    if variants.is_empty() && remarks.is_empty() {
        remarks.push("neither has a program with cycle times to compare".into());
    }
    remarks.extend(judge(&mut variants, &changes));
    Comparison { names: names.map(Into::into), variants, remarks }
}

fn has_cycles(variant: &VariantSummary) -> bool {
    variant.combined.cycle_ns.is_some()
}

/// Where a change was found.
#[derive(Clone, Copy)]
enum Found {
    BetweenRuns(Change),
    WithinRuns(Change),
}

/// The figures of both, the verdict still open, and their change.
fn compare_variants(
    a: &VariantSummary,
    b: &VariantSummary,
) -> Option<(VariantComparison, Option<Found>)> {
    let (cycle_a, cycle_b) = (a.combined.cycle_ns?.spread, b.combined.cycle_ns?.spread);
    let medians = |variant: &VariantSummary| -> Vec<i64> {
        variant.runs.iter().filter_map(|run| Some(run.figures.cycle_ns?.spread.p50)).collect()
    };
    let found = Change::of_means(&medians(a), &medians(b))
        .map(Found::BetweenRuns)
        .or_else(|| within_runs(a, b).map(Found::WithinRuns));
    let comparison = VariantComparison {
        name: a.name.clone(),
        p50_ns: [cycle_a.p50, cycle_b.p50],
        p99_ns: [cycle_a.p99, cycle_b.p99],
        max_ns: [cycle_a.max, cycle_b.max],
        deadlines_missed: [a.combined.deadlines_missed, b.combined.deadlines_missed],
        median_difference_ns: found.map(|found| found.change().difference),
        verdict: ChangeVerdict::Unknown,
    };
    Some((comparison, found))
}

impl Found {
    fn change(self) -> Change {
        let (Self::BetweenRuns(change) | Self::WithinRuns(change)) = self;
        change
    }
}

/// Judges every program, and remarks where the verdict differs from that of the interval alone.
fn judge(variants: &mut [VariantComparison], found: &[Option<Found>]) -> Vec<String> {
    let changes: Vec<Change> = found.iter().flatten().map(|found| found.change()).collect();
    let mut real = differing(&changes).into_iter();
    let mut remarks = Vec::new();
    for (variant, found) in variants.iter_mut().zip(found) {
        let Some(found) = found else { continue };
        let differs = real.next().expect("one for each change");
        variant.verdict = match found {
            _ if !differs => ChangeVerdict::WithinNoise,
            Found::BetweenRuns(_) => ChangeVerdict::Differs,
            Found::WithinRuns(_) => ChangeVerdict::DiffersWithinRuns,
        };
        if !differs && !found.change().difference.may_be_zero() {
            remarks.push(format!(
                "{} alone would differ, but so does one of {} programs by chance",
                variant.name,
                changes.len()
            ));
        }
    }
    remarks
}

/// The change of the medians by their intervals within the runs.
fn within_runs(a: &VariantSummary, b: &VariantSummary) -> Option<Change> {
    let of = |variant: &VariantSummary| {
        let spread = variant.combined.cycle_ns?.spread;
        let [low, high] = variant.combined.p50_interval_ns?;
        Some(Estimate {
            value: spread.p50 as f64,
            low: low as f64,
            high: high as f64,
            samples: variant.combined.observations,
            effective_samples: variant.combined.observations as f64,
            std: spread.std,
        })
    };
    Some(Change::of_estimates(&of(a)?, &of(b)?, Covers::Truth))
}

impl Comparison {
    /// The comparison as a table.
    #[must_use]
    pub fn table(&self) -> Table {
        let [a, b] = &self.names;
        let row = |variant: &VariantComparison| {
            let [difference, interval] =
                difference_cells(variant.median_difference_ns, variant.p50_ns[0] as f64);
            let pair = |values: [i64; 2]| values.map(|value| micros(value as f64)).join(" → ");
            vec![
                variant.name.clone(),
                pair(variant.p50_ns),
                difference,
                interval,
                match variant.verdict {
                    ChangeVerdict::Differs => "differs",
                    ChangeVerdict::WithinNoise => "within noise",
                    ChangeVerdict::DiffersWithinRuns => "differs, one run only",
                    ChangeVerdict::Unknown => "too little to say",
                }
                .into(),
                pair(variant.p99_ns),
                pair(variant.max_ns),
                variant.deadlines_missed.map(|missed| missed.to_string()).join(" → "),
            ]
        };
        let heads =
            "Program|p50, µs|Difference|Interval at 95 %|Verdict|p99, µs|Max, µs|Missed".split('|');
        let rows = self.variants.iter().map(row).collect();
        Table::new(format!("{a} → {b}: cycle time"), heads, rows)
            .with_prose(&[4])
            .with_note(self.remarks.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::synthetic::analysis;
    use hemiola_report::terminal;

    #[test]
    fn a_summary_does_not_differ_from_itself() {
        let summary = analysis(3, 40).summary;
        let comparison = compare(["a", "b"], &summary, &summary);
        assert_eq!(comparison.variants.len(), 4);
        assert!(
            comparison.variants.iter().all(|variant| variant.verdict == ChangeVerdict::WithinNoise)
        );
        assert!(comparison.remarks.is_empty());
    }

    #[test]
    fn a_program_without_cycles_is_named() {
        let before = analysis(3, 40).summary;
        let mut after = before.clone();
        after.variants[1].combined.cycle_ns = None;
        let comparison = compare(["before", "after"], &before, &after);
        assert_eq!(comparison.variants.len(), 3);
        assert_eq!(comparison.remarks, ["no cycle times in after: Shared memory"]);
        let [mut a, mut b] = [before, after];
        a.variants.clear();
        b.variants.clear();
        let nothing = compare(["a", "b"], &a, &b).remarks;
        assert_eq!(nothing, ["neither has a program with cycle times to compare"]);
    }

    #[test]
    fn a_slower_program_differs_and_the_table_says_by_how_much() {
        let before = analysis(3, 40).summary;
        let mut after = before.clone();
        after.variants.remove(0);
        let slower = |ns: &mut i64| *ns += 1_000;
        for figures in after.variants[0].runs.iter_mut().map(|run| &mut run.figures) {
            slower(&mut figures.cycle_ns.as_mut().unwrap().spread.p50);
        }
        slower(&mut after.variants[0].combined.cycle_ns.as_mut().unwrap().spread.p50);
        let comparison = compare(["before", "after"], &before, &after);
        assert_eq!(comparison.variants[0].verdict, ChangeVerdict::Differs);
        assert_eq!(comparison.variants[1].verdict, ChangeVerdict::WithinNoise);
        insta::assert_snapshot!(terminal::table(&comparison.table()), @r"
before → after: cycle time
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Program             p50, µs        Difference    Interval at 95 %  Verdict           p99, µs        Max, µs  Missed
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Shared memory   8.02 → 9.02  1.00 µs (12.5 %)    910 ns … 1.09 µs  differs       18.1 → 18.1    20.6 → 20.6   0 → 0
Message queues  10.4 → 10.4      0 ns (0.0 %)  -70.7 ns … 70.7 ns  within noise  26.1 → 26.1    28.1 → 28.1   0 → 0
Simplex (1)     19.5 → 19.5      0 ns (0.0 %)    -104 ns … 104 ns  within noise  41.0 → 41.0  20020 → 20020   1 → 1
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
Monolithic is only in before
");
    }

    #[test]
    fn one_of_many_programs_may_differ_by_chance() {
        let before = analysis(3, 40).summary;
        let median = |variant: &mut VariantSummary, run: usize, ns: i64| {
            variant.runs[run].figures.cycle_ns.as_mut().unwrap().spread.p50 = ns;
        };
        let set = |summary: &mut Summary, medians: [i64; 3]| {
            for (run, ns) in medians.into_iter().enumerate() {
                median(&mut summary.variants[0], run, ns);
            }
        };
        let (mut a, mut b) = (before.clone(), before);
        // 10 µs and 12 µs, each ± 0.71 µs: t = 3.46, p = 0.026, not below 0.05 / 4.
        set(&mut a, [9_293, 10_000, 10_707]);
        set(&mut b, [11_293, 12_000, 12_707]);
        let comparison = compare(["a", "b"], &a, &b);
        assert!(!comparison.variants[0].median_difference_ns.unwrap().may_be_zero());
        assert_eq!(comparison.variants[0].verdict, ChangeVerdict::WithinNoise);
        assert_eq!(
            comparison.remarks,
            ["Monolithic alone would differ, but so does one of 4 programs by chance"]
        );
        // By itself it does differ.
        a.variants.truncate(1);
        assert_eq!(compare(["a", "b"], &a, &b).variants[0].verdict, ChangeVerdict::Differs);
    }

    #[test]
    fn one_run_on_a_side_is_said() {
        let before = analysis(1, 40).summary;
        let mut after = before.clone();
        let figures = &mut after.variants[0].combined;
        figures.cycle_ns.as_mut().unwrap().spread.p50 += 5_000;
        figures.p50_interval_ns = figures.p50_interval_ns.map(|ends| ends.map(|end| end + 5_000));
        let comparison = compare(["a", "b"], &before, &after);
        assert_eq!(comparison.variants[0].verdict, ChangeVerdict::DiffersWithinRuns);
        assert_eq!(comparison.variants[1].verdict, ChangeVerdict::WithinNoise);
    }
}
