//! The tables of a summary. Terminal and page draw the same ones.
//!
//! Tables 1, 2, 3–14 and 15 are those of CMU/SEI-2000-TR-006 ("Simplex Architecture Performance and
//! Cost"), with quantiles and floors beside its figures.

use std::collections::BTreeMap;

use hemiola_report::conditions::machine_conditions;
use hemiola_report::table::{Alignment, Detail, Table};
use hemiola_report::text::{NONE, count, counted, duration, micros, percent, ratio};
use hemiola_stats::{OutlierClasses, Spread};
use hemiola_trace::result::FaultFigures;
use hemiola_units::Refusal;

use crate::cycles::metrics::{CycleTime, Figures, MISSES_KEPT_MAX};
use crate::cycles::misses::MissGroup;
use crate::cycles::summary::{
    FaultEffect, FaultSummary, FloorFigures, KernelFigures, Setting, Summary, Undetected,
    VariantSummary,
};
use crate::cycles::witness::CycleDelay;

/// Marks a program that has a feature.
const TICK: &str = "✓";

/// How many threads of those that delayed a program the table shows.
const DELAYS_SHOWN_MAX: usize = 4;

/// All tables of a summary that have rows, those of single programs last.
///
/// `feature_tests` names the test behind a feature.
pub(super) fn tables(
    summary: &Summary,
    feature_tests: &BTreeMap<String, String>,
    detail: Detail,
) -> Vec<Table> {
    let mut tables = Vec::new();
    // A benchmark has no cycle and a federation has many, so both have tables of their own.
    let mut loops = summary.clone();
    loops.variants.retain(|variant| summary.is_loop(variant));
    if !loops.variants.is_empty() {
        tables.push(features(&loops, feature_tests));
        tables.push(performance(&loops));
        tables.push(costs(&loops));
        tables.push(overhead(&loops));
    }
    tables.extend(super::mixed::tables(summary));
    tables.extend(super::federation::tables(summary, detail));
    tables.extend(super::universe::tables(summary));
    tables.push(floors(summary));
    tables.push(misses(&loops));
    tables.push(miss_causes(&loops));
    tables.push(delays(&loops));
    tables.push(faults(summary));
    tables.extend(super::control::tables(&loops, detail));
    if detail == Detail::Full {
        tables.extend(loops.variants.iter().map(runs));
        tables.push(processes(summary));
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// The features of all programs in order of first appearance.
fn feature_names(summary: &Summary) -> Vec<&String> {
    let mut names = Vec::new();
    for feature in summary.variants.iter().flat_map(|variant| &variant.features) {
        if !names.contains(&feature) {
            names.push(feature);
        }
    }
    names
}

fn features(summary: &Summary, tests: &BTreeMap<String, String>) -> Table {
    let names = summary.variants.iter().map(|variant| variant.name.as_str());
    let last = (!tests.is_empty()).then_some("Shown by the test");
    let heads: Vec<&str> = ["Feature"].into_iter().chain(names).chain(last).collect();
    let row = |feature: &String| {
        let has = |variant: &VariantSummary| variant.features.contains(feature);
        let mut row = vec![feature.clone()];
        row.extend(
            summary.variants.iter().map(|variant| if has(variant) { TICK } else { "" }.into()),
        );
        if !tests.is_empty() {
            row.push(tests.get(feature).cloned().unwrap_or_else(|| NONE.into()));
        }
        row
    };
    let rows = feature_names(summary).into_iter().map(row).collect();
    let mut table = Table::new("Table 1: features", heads, rows);
    for (_, alignment) in table.columns.iter_mut().skip(1).take(summary.variants.len()) {
        *alignment = Alignment::Centre;
    }
    table.with_prose(&[1 + summary.variants.len()])
}

fn performance(summary: &Summary) -> Table {
    let row = |variant: &VariantSummary| {
        let figures = &variant.combined;
        let mut row = vec![variant.name.clone(), variant.lines_of_code.to_string()];
        row.push(count(figures.observations));
        row.extend(cycle_columns(figures.cycle_ns));
        row.push(figures.deadlines_missed.to_string());
        row
    };
    let heads = "Program|Lines|Cycles|Min|Mean|p50|p99|p99.9|Max|Adj. max|Std|Missed".split('|');
    let rows = summary.variants.iter().map(row).collect();
    Table::new("Table 2: cycle time, all runs together, µs", heads, rows).with_note(
        "A cycle lasts from its first time stamp to its last, over all processes in the loop; \
         the timing overhead of Table 15 is included. Adj. max: without each run's last cycle.",
    )
}

/// Min, mean, p50, p99, p99.9, max, adjusted max, standard deviation in µs.
fn cycle_columns(cycle: Option<CycleTime>) -> [String; 8] {
    let Some(CycleTime { spread: s, adjusted_max, .. }) = cycle else {
        return [NONE; 8].map(Into::into);
    };
    let whole = [s.min, s.p50, s.p99, s.p999, s.max, adjusted_max].map(|ns| ns as f64);
    let [min, p50, p99, p999, max, adjusted] = whole;
    [min, s.mean, p50, p99, p999, max, adjusted, s.std].map(micros)
}

fn costs(summary: &Summary) -> Table {
    let or_none = |value: Option<f64>, show: fn(f64) -> String| value.map_or(NONE.into(), show);
    let row = |variant: &VariantSummary| {
        let figures = &variant.combined;
        vec![
            variant.name.clone(),
            match variant.hand_overs {
                0 => NONE.into(),
                n => format!("{n} {}", variant.hand_over_mechanism),
            },
            or_none(variant.floor_ns, micros),
            or_none(variant.ratio_to_floor, ratio),
            or_none(variant.floor_back_to_back_ns, micros),
            or_none(variant.ratio_to_floor_back_to_back, ratio),
            or_none(variant.ratio_to_first, ratio),
            or_none(variant.ratio_to_first_adjusted, ratio),
            format!("{:.1}", figures.context_switches_per_cycle),
            or_none(figures.release_latency_ns.map(|spread| spread.p50 as f64), micros),
            micros(figures.execution_per_cycle_ns),
            or_none(Some(figures.warm_up_per_cycle_ns).filter(|ns| *ns > 0.0), micros),
        ]
    };
    let heads = "Program|Hand-overs|Floor|Ratio|Floor b-b|Ratio b-b|To first|Adj.|Switches|Latency|CPU|Warm-up"
        .split('|');
    let rows = summary.variants.iter().map(row).collect();
    Table::new("Cost against the floor of the machine", heads, rows).with_note(
        "Floor, µs: the median of a chain of processes with the same hand-overs, priorities, rate and leads that do \
         nothing else, measured in this run. Floor b-b: the number of hand-overs × the median of one, back to back, \
         down and up each with their own. Ratios are of the median cycle. Adj.: ratio to the first program, timing \
         overhead subtracted from both. Switches: context switches in a cycle. Latency: median release latency, µs. CPU, warm-up: processor time of a cycle, and of warming up for it \
         before its release (lead), mean, µs.",
    )
}

/// The runs of one program side by side.
fn runs(variant: &VariantSummary) -> Table {
    let mut heads = vec!["Observation".to_string()];
    heads.extend(variant.runs.iter().map(|run| format!("Run {}", run.number)));
    heads.push("Combined".into());
    let all: Vec<&Figures> =
        variant.runs.iter().map(|run| &run.figures).chain([&variant.combined]).collect();
    let row = |name: &str, show: &dyn Fn(&Figures) -> String| {
        let mut row = vec![name.to_string()];
        row.extend(all.iter().map(|figures| show(figures)));
        row
    };
    let time = |show: fn(CycleTime) -> f64| {
        move |figures: &Figures| figures.cycle_ns.map_or(NONE.into(), |cycle| micros(show(cycle)))
    };
    let interval = |show: fn(&Figures) -> Option<[i64; 2]>| {
        move |figures: &Figures| {
            show(figures)
                .map_or(NONE.into(), |ends| ends.map(|end| micros(end as f64)).join(" to "))
        }
    };
    let classes = |show: fn(&OutlierClasses) -> [u64; 2]| {
        move |figures: &Figures| {
            figures
                .cycle_ns
                .map_or(NONE.into(), |cycle| show(&cycle.outliers).map(count).join(" + "))
        }
    };
    let rows = vec![
        row("Number of observations", &|f| count(f.observations)),
        row("Minimum cycle time, µs", &time(|c| c.spread.min as f64)),
        row("Mean", &time(|c| c.spread.mean)),
        row("Median", &time(|c| c.spread.p50 as f64)),
        row("  95 % interval", &interval(|f| f.p50_interval_ns)),
        row("p99", &time(|c| c.spread.p99 as f64)),
        row("  95 % interval", &interval(|f| f.p99_interval_ns)),
        row("p99.9", &time(|c| c.spread.p999 as f64)),
        row("Maximum", &time(|c| c.spread.max as f64)),
        row("Adjusted maximum", &time(|c| c.adjusted_max as f64)),
        row("Standard deviation", &time(|c| c.spread.std)),
        row("Low outliers, mild + severe", &classes(|o| [o.low_mild, o.low_severe])),
        row("High outliers, mild + severe", &classes(|o| [o.high_mild, o.high_severe])),
        row("Deadlines missed", &|f| f.deadlines_missed.to_string()),
        row("  of them ours", &|f| f.misses_ours.to_string()),
        row("Actuations missed", &|f| f.actuations_missed.to_string()),
        row("Peak V of the plant", &|f| f.peak_v.map_or(NONE.into(), |v| format!("{v:.3}"))),
        row("Switches of control", &|f| f.switches.to_string()),
        row("Events lost by the record", &|f| f.lost_events.to_string()),
    ];
    let note = format!(
        "{} {} lines of code; one cycle every {}. Intervals of quantiles are by order statistics, within the run. Mild \
         outliers lie more than 1.5, severe ones more than 3 interquartile ranges beyond the quartiles.",
        variant.description,
        variant.lines_of_code,
        duration(variant.period_ns as f64)
    );
    Table::new(format!("{}: runs", variant.name), heads, rows).with_note(note.trim_start())
}

fn processes(summary: &Summary) -> Table {
    let spread = |spread: Option<Spread>, show: fn(Spread) -> i64| {
        spread.map_or(NONE.into(), |spread| micros(show(spread) as f64))
    };
    let rows = summary
        .variants
        .iter()
        .flat_map(|variant| {
            variant.combined.processes.iter().map(move |process| (variant, process))
        })
        .map(|(variant, process)| {
            let profile = variant.profiles.iter().find(|profile| profile.name == process.name);
            let granted = profile.and_then(|profile| profile.granted.as_ref());
            vec![
                variant.name.clone(),
                process.name.clone(),
                granted.map_or(NONE.into(), |granted| {
                    format!("{} on {}", granted.scheduling, granted.cpus)
                }),
                count(process.jobs),
                spread(process.start_latency_ns, |s| s.p50),
                spread(process.response_ns, |s| s.p50),
                spread(process.response_ns, |s| s.p99),
                spread(process.response_ns, |s| s.max),
                spread(process.execution_ns, |s| s.p50),
                spread(process.execution_ns, |s| s.max),
                process.utilization.map_or(NONE.into(), percent),
            ]
        })
        .collect();
    let heads = "Program|Process|Granted|Jobs|Start p50|Response p50|p99|Max|Execution p50|Max observed|Utilization"
        .split('|');
    Table::new("Processes of the loop and loads, µs", heads, rows).with_prose(&[1, 2]).with_note(
        "Start and response are counted from the release of the cycle; execution is processor \
         time as the kernel counts it.",
    )
}

fn overhead(summary: &Summary) -> Table {
    let row = |variant: &VariantSummary| {
        let figures = &variant.combined;
        vec![
            variant.name.clone(),
            figures.cycle_ns.map_or(NONE.into(), |cycle| micros(cycle.spread.mean)),
            format!("{:.1}", figures.stamps_per_cycle),
            micros(figures.timing_overhead_ns),
            percent(figures.timing_overhead_share),
        ]
    };
    let pair = summary.marks.cost_ns.map_or(String::new(), |cost| {
        let ratio = summary
            .marks
            .ratio_to_clock_read
            .map_or(String::new(), |value| format!(", {} a bare clock read", ratio(value)));
        format!(" Here: {}{ratio}.", duration(cost))
    });
    let heads = ["Program", "Mean, µs", "Stamps/cycle", "Overhead, µs", "Share"];
    let rows = summary.variants.iter().map(row).collect();
    Table::new("Table 15: timing overhead as a share of the figure", heads, rows).with_note(format!(
        "Time stamps of a cycle × what a pair of marks takes back to back, the first and the last counting half.{pair}"
    ))
}

fn floors(summary: &Summary) -> Table {
    let rows = summary
        .floor
        .by_mechanism
        .iter()
        .flat_map(|(name, floor)| {
            [("back to back", floor.back_to_back), ("at rate", floor.at_rate)]
                .into_iter()
                .filter_map(move |(when, figures)| Some((name, when, figures?)))
        })
        .map(|(name, when, f): (&String, &str, FloorFigures)| {
            let mut row = vec![name.clone(), when.into(), count(f.samples)];
            row.extend([f.min_ns, f.mean_ns, f.p50_ns, f.p99_ns, f.max_ns].map(micros));
            row
        })
        .collect();
    let heads = "Mechanism|Measured|Samples|Min|Mean|p50|p99|Max".split('|');
    let title = "Floors: one hand-over between two processes on this machine, µs";
    Table::new(title, heads, rows).with_prose(&[1]).with_note(
        "Measured in the same run as the programs above. Down: to a process of lower priority, which \
         runs when the sender goes to sleep; up: to one of higher priority, which preempts.",
    )
}

fn misses(summary: &Summary) -> Table {
    let rows: Vec<Vec<String>> = summary
        .variants
        .iter()
        .flat_map(|variant| variant.runs.iter().map(move |run| (variant, run)))
        .flat_map(|(variant, run)| run.figures.misses.iter().map(move |miss| (variant, run, miss)))
        .take(MISSES_KEPT_MAX)
        .map(|(variant, run, miss)| {
            vec![
                variant.name.clone(),
                run.number.to_string(),
                miss.cycle.to_string(),
                if miss.ours { "ours" } else { "not ours" }.into(),
                miss.thread.clone().unwrap_or_else(|| NONE.into()),
                miss.explanation.clone(),
            ]
        })
        .collect();
    let total: u64 = summary.variants.iter().map(|variant| variant.combined.deadlines_missed).sum();
    let ours: u64 = summary.variants.iter().map(|variant| variant.combined.misses_ours).sum();
    let note = format!(
        "Deadlines missed: {total}. Missed cycles whose cause is in the programs of the loop: {ours}. Shown: {}.",
        rows.len()
    );
    let heads = ["Program", "Run", "Cycle", "Cause in", "Thread", "Explanation"];
    Table::new("Missed deadlines, explained", heads, rows).with_prose(&[3, 4, 5]).with_note(note)
}

/// All misses by cause; empty where each of them is explained in the table before.
fn miss_causes(summary: &Summary) -> Table {
    let of_variant = |variant: &VariantSummary| -> Vec<(String, MissGroup)> {
        let groups = variant.combined.miss_causes.iter();
        groups.map(|group| (variant.name.clone(), group.clone())).collect()
    };
    let groups: Vec<(String, MissGroup)> = summary.variants.iter().flat_map(of_variant).collect();
    let total: u64 = groups.iter().map(|(_, group)| group.cycles).sum();
    let shown = groups.into_iter().filter(|_| total > MISSES_KEPT_MAX as u64);
    let rows = shown.map(|(variant, group)| {
        vec![
            variant,
            group.cause.words().into(),
            if group.ours { "ours" } else { "not ours" }.into(),
            group.thread.unwrap_or_else(|| NONE.into()),
            count(group.cycles),
            group.explanation,
        ]
    });
    let heads =
        ["Program", "Cause", "Cause in", "Thread", "Cycles", "The first of them, explained"];
    Table::new("Missed deadlines by cause", heads, rows.collect())
        .with_prose(&[1, 2, 3, 5])
        .with_note(
            "All missed cycles, also those beyond the ones explained above. Thread: the one that had the processor.",
        )
}

fn delays(summary: &Summary) -> Table {
    let row = |variant: &VariantSummary, delay: &CycleDelay| {
        let share = delay.cycles as f64 / variant.combined.observations.max(1) as f64;
        vec![
            variant.name.clone(),
            delay.name.clone(),
            format!("{} ({})", count(delay.cycles), percent(share)),
            micros(delay.total_ns as f64 / delay.cycles.max(1) as f64),
            micros(delay.max_ns as f64),
        ]
    };
    let rows = summary.variants.iter().flat_map(|variant| {
        variant
            .combined
            .delayed_by
            .iter()
            .take(DELAYS_SHOWN_MAX)
            .map(move |delay| row(variant, delay))
    });
    let heads = ["Program", "Thread", "Cycles", "Mean, µs", "Max, µs"];
    Table::new("Other threads that had the loop's processor", heads, rows.collect()).with_prose(&[1]).with_note(
        "Threads outside the run that had the processor between the release of a cycle and its end, according to the \
         kernel's record, longest first.",
    )
}

fn faults(summary: &Summary) -> Table {
    let row = |fault: &FaultSummary| {
        let into = match fault.process {
            Setting::Process => "processes",
            Setting::Simulated => "simulated",
        };
        let mut row = vec![fault.kind.clone(), into.into()];
        row.extend(damage(fault.with.as_ref()));
        row.extend(detection(fault));
        row.extend(damage(fault.without.as_ref()));
        row
    };
    let heads =
        "Fault|Injected into|Lost with|Earliest|Peak V|Found as|After|False|Lost without|Earliest|Peak V"
            .split('|');
    let rows = summary.faults.iter().map(row).collect();
    let title = "Faults, with the decision module and without";
    Table::new(title, heads, rows).with_prose(&[1, 5]).with_note(
        "Lost: runs in which the plant was lost, of all runs; where it never was, the greatest share of lost runs that \
         is compatible with that, at 95 % (for many runs 3 ÷ runs). Found as: the first fault that the decision module \
         found, and in how many runs; after: cycles until then. False: switches away from a unit that had no fault.",
    )
}

/// Lost runs, the earliest loss, and the greatest V.
fn damage(effect: Option<&FaultEffect>) -> [String; 3] {
    let Some(FaultEffect { figures, lost_share_max }) = effect else {
        return [NONE; 3].map(Into::into);
    };
    let bound = lost_share_max.map_or(String::new(), |share| format!(" (≤ {})", percent(share)));
    [
        format!("{}/{}{bound}", figures.lost, figures.runs),
        figures.earliest_loss_ns.map_or(NONE.into(), |ns| duration(ns as f64)),
        format!("{:.3}", figures.peak_v),
    ]
}

/// How the decision module found a fault, after how many cycles, and switches away from sound units.
fn detection(fault: &FaultSummary) -> [String; 3] {
    let Some(FaultEffect { figures, .. }) = &fault.with else { return [NONE; 3].map(Into::into) };
    [
        found_as(figures, fault.undetected.as_ref()),
        figures.detection_cycles.map_or(NONE.into(), |cycles| format!("{cycles:.1}")),
        figures.false_switches.to_string(),
    ]
}

fn found_as(figures: &FaultFigures, undetected: Option<&Undetected>) -> String {
    let name = |(name, runs): (&String, &u64)| {
        if *runs == figures.runs { name.clone() } else { format!("{name} {runs}") }
    };
    let mut names: Vec<String> = figures.found_as.iter().map(name).collect();
    names.extend(undetected.map(|undetected| {
        let Undetected { runs, is_harmless, because } = undetected;
        let judgement = if *is_harmless { "harmless" } else { "not harmless" };
        format!("not found {runs} ({judgement}: {because})")
    }));
    if names.is_empty() { NONE.into() } else { names.join(", ") }
}

/// All sentences about what went wrong, the gravest first.
pub(super) fn problems(summary: &Summary) -> Vec<String> {
    let incomplete = summary.incomplete.as_ref();
    let incomplete = incomplete.map(|reason| format!("the run is incomplete: {reason}"));
    let failures = summary.failures.iter().cloned();
    incomplete.into_iter().chain(failures).chain(summary.problems.iter().cloned()).collect()
}

/// The conditions of a run as names and values: the machine's, then what was refused.
pub(super) fn conditions(summary: &Summary) -> Vec<(String, String)> {
    let mut list = machine_conditions(&summary.conditions);
    list.extend(kernel_side(&summary.kernel).map(|text| ("Kernel's side".to_string(), text)));
    let profiles = summary.variants.iter().flat_map(|variant| &variant.profiles);
    let granted = profiles.filter_map(|profile| profile.granted.as_ref());
    let refusals = Refusal::sentences(granted.flat_map(|granted| &granted.refusals));
    list.extend(refusals.into_iter().map(|text| ("Refused".to_string(), text)));
    list
}

/// Whether the kernel's side was recorded, and at what price; `None` when it was not requested.
fn kernel_side(kernel: &KernelFigures) -> Option<String> {
    let Some(interface) = &kernel.interface else {
        return Some(format!("not recorded: {}", kernel.refused.as_ref()?));
    };
    let price = match (&kernel.price_ns, kernel.hand_over_ns) {
        (Some(price), Some(without)) => format!(
            "; it adds {} ({} … {}) to a hand-over of {}, in turns A B B A",
            duration(price.value),
            duration(price.low),
            duration(price.high),
            duration(without)
        ),
        (None, Some(_)) => {
            "; what it adds to a hand-over was read too few times for an interval".to_owned()
        }
        _ => String::new(),
    };
    let lost = match kernel.lost_events {
        0 => String::new(),
        lost => format!(", {} lost", count(lost)),
    };
    let gaps = match kernel.gaps {
        0 => String::new(),
        gaps => format!(", {}", counted(gaps, "gap")),
    };
    let events = counted(kernel.events, "event");
    Some(format!("recorded by {interface}: {events}{lost}{gaps}{price}"))
}
