//! The tables of universes: their steps, the phases of a step, the rows of their monitors, their redefinitions, modules
//! and checkpoints.

use hemiola_report::table::Table;
use hemiola_report::text::{NONE, count, micros, percent};
use hemiola_stats::Spread;
use hemiola_trace::result::{CheckpointsRun, ModuleRun, MonitorRun, RedefinitionRun, UniverseRun};

use crate::cycles::phases::PhaseFigures;
use crate::cycles::summary::{RunSummary, Summary, VariantSummary};

/// The tables of all universes; without rows if there are none.
pub(super) fn tables(summary: &Summary) -> [Table; 6] {
    [
        steps(summary),
        phases(summary),
        monitors(summary),
        redefinitions(summary),
        modules(summary),
        checkpoints(summary),
    ]
}

/// Every universe of every run.
fn universes(
    summary: &Summary,
) -> impl Iterator<Item = (&VariantSummary, &RunSummary, &UniverseRun)> {
    let runs = summary
        .variants
        .iter()
        .flat_map(|variant| variant.runs.iter().map(move |run| (variant, run)));
    runs.flat_map(|(variant, run)| {
        run.universes.iter().map(move |universe| (variant, run, universe))
    })
}

/// The first cells of a row about a universe in a run, or about a part of it with this name.
fn place(
    variant: &VariantSummary,
    run: &RunSummary,
    universe: &UniverseRun,
    name: &str,
) -> [String; 4] {
    [variant.name.clone(), run.number.to_string(), universe.process.clone(), name.to_owned()]
}

fn steps(summary: &Summary) -> Table {
    let row = |(variant, run, universe): (&VariantSummary, &RunSummary, &UniverseRun)| {
        let UniverseRun { steps, entities, births, unborn, deaths, faults, .. } = universe;
        let counts = [steps, entities, births, unborn, deaths, faults].map(|number| count(*number));
        let rest = [
            universe.step.to_string(),
            universe.first_fault.clone().unwrap_or_else(|| NONE.into()),
        ];
        [&place(variant, run, universe, &universe.universe)[..], &counts, &rest].concat()
    };
    let heads =
        "Program|Run|Process|Universe|Steps|Entities|Births|No room|Deaths|Faults|Step|First fault"
            .split('|');
    Table::new("Universes", heads, universes(summary).map(row).collect()).with_prose(&[2, 3, 11]).with_note(
        "Counted from the first release, warm-up included; entities at the end. No room: births beyond entities_max. Step: its simulated length. Faults: \
         updates that left their row as it was.",
    )
}

fn phases(summary: &Summary) -> Table {
    let row = |(variant, phase): (&VariantSummary, &PhaseFigures)| {
        let Spread { mean, p50, p99, max, .. } = phase.ns;
        let times = [mean, p50 as f64, p99 as f64, max as f64];
        let place = [variant.name.clone(), phase.process.clone(), phase.phase.clone()];
        [&place[..], &times.map(micros), &[percent(phase.share)]].concat()
    };
    let rows = summary
        .variants
        .iter()
        .flat_map(|variant| variant.combined.phases.iter().map(move |phase| (variant, phase)))
        .map(row)
        .collect();
    let heads = "Program|Process|Phase|Mean|p50|p99|Max|Share".split('|');
    Table::new("Phases of a step, all runs together, µs", heads, rows).with_prose(&[1, 2])
}

fn monitors(summary: &Summary) -> Table {
    let rows = universes(summary).flat_map(|(variant, run, universe)| {
        let row = move |monitor: &MonitorRun| {
            let MonitorRun { sent, outside, unchanged, faults, held, .. } = monitor;
            let counts = [sent, outside, unchanged, faults, held].map(|rows| count(*rows));
            let saved = percent(1.0 - *sent as f64 / monitor.offered().max(1) as f64);
            let saved = [saved, count(monitor.bytes_saved())];
            [&place(variant, run, universe, &monitor.monitor)[..], &counts, &saved].concat()
        };
        universe.monitors.iter().map(row)
    });
    let heads = "Program|Run|Process|Monitor|Sent|Outside|Unchanged|Faults|Held|Saved|Bytes saved";
    let heads = heads.split('|');
    Table::new("Rows of the monitors", heads, rows.collect())
        .with_prose(&[2, 3])
        .with_note(MONITORS_NOTE)
}

fn redefinitions(summary: &Summary) -> Table {
    let rows = universes(summary).flat_map(|(variant, run, universe)| {
        let row = move |redefinition: &RedefinitionRun| {
            let RedefinitionRun { behind, what, plan, entities, ended, delay_ns, .. } =
                redefinition;
            let predicted = redefinition.predicted_ns;
            let list = |texts: &[String]| {
                if texts.is_empty() { NONE.to_owned() } else { texts.join("; ") }
            };
            let cells = [
                count(*behind),
                count(*entities),
                count(redefinition.bytes),
                predicted.map_or(NONE.to_owned(), |ns| micros(ns as f64)),
                micros(*delay_ns as f64),
                list(ended),
                list(plan),
            ];
            [&place(variant, run, universe, what)[..], &cells].concat()
        };
        universe.redefinitions.iter().map(row)
    });
    let heads = "Program|Run|Process|Definition|After step|Entities|Bytes|Predicted|Delay|Ended monitors|Plan";
    let heads = heads.split('|');
    Table::new("Redefinitions, µs", heads, rows.collect()).with_prose(&[2, 3, 9, 10]).with_note(
        "Definition: its texts, or how the universe returned to the one before. Bytes: written in columns. Delay: what \
         the next step waited for. Predicted: that time, from the plan and the numbers of rows.",
    )
}

fn modules(summary: &Summary) -> Table {
    let rows = universes(summary).flat_map(|(variant, run, universe)| {
        let row = move |module: &ModuleRun| {
            let ModuleRun { blocks, kept, restarts, strikes, evicted, last, fuel, .. } = module;
            let counts = [*blocks, *kept, *restarts, u64::from(*strikes), fuel / blocks.max(&1)];
            let evicted = evicted.map_or(NONE.into(), count);
            let last = last.clone().unwrap_or_else(|| NONE.into());
            let place = place(variant, run, universe, &module.module);
            [&place[..], &counts.map(count), &[evicted, last]].concat()
        };
        universe.modules.iter().map(row)
    });
    let heads = "Program|Run|Process|Module|Blocks|Kept|Restarts|Strikes|Fuel|Evicted|Last failure"
        .split('|');
    Table::new("Modules of users", heads, rows.collect()).with_prose(&[2, 3, 10]).with_note(
        "Kept: blocks that kept their rows, because the module failed. Fuel: of a block. Evicted: the step.",
    )
}

fn checkpoints(summary: &Summary) -> Table {
    let rows = universes(summary).filter_map(|(variant, run, universe)| {
        let checkpoints = universe.checkpoints.as_ref()?;
        let CheckpointsRun { written, failed, late, step, bytes, .. } = checkpoints;
        let counts = [written, failed, late, step, bytes].map(|number| count(*number));
        let CheckpointsRun { image_ns_mean, image_ns_max, write_ns_max, .. } = checkpoints;
        let times = [image_ns_mean, image_ns_max, write_ns_max].map(|ns| micros(*ns as f64));
        let failure = checkpoints.failure.clone().unwrap_or_else(|| NONE.into());
        let place = place(variant, run, universe, &checkpoints.file);
        Some([&place[..], &counts, &times, &[failure]].concat())
    });
    let heads = "Program|Run|Process|File|Written|Failed|Late|Step|Bytes|Image|Image max|Write max|Last failure"
        .split('|');
    Table::new("Checkpoints, µs", heads, rows.collect()).with_prose(&[2, 3, 12]).with_note(
        "Late: due while the one before was still being written. Step, bytes: of the last one written. Image: what a step lasted longer to take it. \
         Write: from the image to the synchronized file, beside the steps.",
    )
}

const MONITORS_NOTE: &str = "Outside: a condition on the row alone did not hold; unchanged: one that reads last_sent; \
                             held: a manager had not read enough of what it was sent before; saved: rows that \
                             were not sent.";
