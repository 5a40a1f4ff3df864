//! From a result folder to its [`Summary`].

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use hemiola_stats::{Spread, histogram, median, paired_difference};
use hemiola_trace::Recording;
use hemiola_trace::perfetto::Names;
use hemiola_trace::result::{
    FederationRecord, Floor, KernelRun, MixedRecord, Role, RunFolder, RunRecord, VariantRecord,
};
use hemiola_units::{Profile, Span};

use super::authority::Control;
use super::faults;
use super::federation::{self, ModeFigures};
use super::jobs::Process;
use super::metrics::{Figures, Observed, mark_cost, processes};
use super::mixed::{self, MixedFigures, MixedRun};
use super::summary::{
    FORMAT, FloorFigures, FloorSummary, KernelFigures, MarkCost, MechanismFloor, ProfileSummary,
    RunSummary, Summary, VariantSummary,
};
use super::verdict;
use super::witness::Witness;

/// A summary with the cycles it was made from.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The figures.
    pub summary: Summary,
    /// The observations of each run, by variant and run.
    pub observed: Vec<Vec<Observed>>,
}

/// Analyses a result folder. `read` gives the bytes of a trace by the path in the folder.
///
/// A trace that cannot be read, or only in part, becomes a sentence in [`Summary::problems`].
pub fn analyze<E: Display>(
    folder: &RunFolder,
    mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
) -> Analysis {
    let mut problems = Vec::new();
    let observed: Vec<Vec<Observed>> =
        folder.variants.iter().map(|variant| observe(variant, &mut read, &mut problems)).collect();
    let floor = floors(&folder.floors);
    let mut variants: Vec<VariantSummary> = folder
        .variants
        .iter()
        .zip(&observed)
        .map(|(record, observed)| variant_summary(record, observed, &floor))
        .collect();
    compare_to_first(&mut variants);
    let mixed: Vec<(&MixedRecord, Vec<&MixedRun>)> = folder
        .variants
        .iter()
        .zip(&observed)
        .filter_map(|(record, observed)| Some((record.mixed.as_ref()?, mixed_runs(observed))))
        .collect();
    let series = mixed::series(&mixed);
    let modes = folder.variants.iter().zip(&observed).filter_map(|(record, observed)| {
        let runs: Vec<&federation::ModeRun> =
            observed.iter().filter_map(|run| run.federation.as_ref()).collect();
        Some(ModeFigures::of(&record.name, record.federation.as_ref()?, &runs))
    });
    let modes = modes.collect();

    let mut pairs: Vec<i64> =
        observed.iter().flatten().flat_map(|run| run.pairs.iter().copied()).collect();
    pairs.sort_unstable();
    let cost_ns = mark_cost(&pairs);
    let read_ns = folder.conditions.clock.read_ns;
    let mut summary = Summary {
        format: FORMAT,
        title: folder.title.clone(),
        kind: folder.scenario.clone(),
        started_unix_s: folder.started_unix_s,
        conditions: folder.conditions.clone(),
        floor,
        variants,
        faults: folder.faults.iter().map(faults::summary).collect(),
        series,
        modes,
        kernel: kernel(folder),
        marks: MarkCost {
            pair_ns: Spread::of(&pairs),
            cost_ns,
            ratio_to_clock_read: cost_ns.filter(|_| read_ns > 0.0).map(|cost| cost / read_ns),
        },
        measured: folder.measured.clone(),
        incomplete: folder.incomplete.clone(),
        failures: Vec::new(),
        problems,
    };
    summary.failures = verdict::failures(&summary);
    Analysis { summary, observed }
}

fn observe<E: Display>(
    variant: &VariantRecord,
    read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
    problems: &mut Vec<String>,
) -> Vec<Observed> {
    let observe_run = |run: &RunRecord| {
        let place = format!("{}, run {}", variant.name, run.number);
        let bytes = read(&run.trace).unwrap_or_else(|error| {
            problems.push(format!("{place}: cannot read {}: {error}", run.trace));
            Vec::new()
        });
        let (recording, errors) = Recording::open(Arc::new(bytes));
        if let Some(first) = errors.first() {
            problems.push(format!("{place}: {} is damaged: {first}", run.trace));
        }
        let tracks = recording.tracks.iter();
        let tracks = tracks.map(|track| (track.name.clone(), track.entries.clone()));
        let mut processes = processes(&variant.processes, tracks);
        processes.extend(silent_units(run, &processes));
        if variant.federation.is_some() {
            // Federates have cycles of their own, each at its rate, not parts of one.
            processes.iter_mut().for_each(|process| process.in_cycle = false);
        }
        let witness = Witness::of(&recording, run, &processes);
        let mut observed = Observed::of(&processes, run, variant.period, witness.as_ref());
        observed.control = Control::of(&processes, &names(&recording), run, variant.decision);
        observed.mixed = variant.mixed.as_ref().map(|mixed| {
            let load =
                processes.iter().position(|process| Some(&process.name) == mixed.load.as_ref());
            let kernel = witness
                .as_ref()
                .map(|witness| (witness.occupancy(), load.and_then(|load| witness.tid(load))));
            MixedRun::of(mixed, &processes, kernel)
        });
        if let Some(mode) = &variant.federation {
            let bare = bare_timers(mode, run, &place, read, problems);
            observed.take_federation(federation::ModeRun::of(
                mode,
                run,
                &processes,
                variant.period,
                witness.as_ref(),
                &bare,
            ));
        }
        if let Some(lost) = run.kernel.map(|kernel| kernel.lost).filter(|lost| *lost > 0) {
            problems
                .push(format!("{place}: {lost} events of the kernel are missing from its record"));
        }
        if observed.cycles.is_empty() && variant.mixed.is_none() {
            problems.push(format!("{place}: no cycle after the warm-up in {}", run.trace));
        }
        if let Some(reason) = &run.stopped_early {
            problems.push(format!("{place}: stopped early: {reason}"));
        }
        observed
    };
    variant.runs.iter().map(observe_run).collect()
}

/// The units whose programs record nothing, and which the scenario does not know.
fn silent_units(run: &RunRecord, known: &[Process]) -> Vec<Process> {
    let is_silent = |name: &str| known.iter().all(|process| process.name != name);
    let has_process = |name: &str| run.processes.iter().any(|process| process.name == name);
    let names = run.units.iter().map(|unit| &unit.name);
    let silent = names.filter(|name| is_silent(name) && has_process(name));
    silent
        .map(|name| Process {
            name: name.clone(),
            role: Role::Unit,
            in_cycle: false,
            entries: Vec::new(),
        })
        .collect()
}

/// The names of all codes in a recording of ours.
fn names(recording: &Recording) -> Names {
    let mut all = Names::default();
    for (kind, arg, name) in recording.tracks.iter().flat_map(|track| track.names.iter()) {
        all.insert(kind, arg, name);
    }
    all
}

/// The records of the bare timers of a run, by the paths of their traces.
fn bare_timers<E: Display>(
    mode: &FederationRecord,
    run: &RunRecord,
    place: &str,
    read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>,
    problems: &mut Vec<String>,
) -> BTreeMap<String, Vec<Process>> {
    let mut timers = BTreeMap::new();
    for timer in mode.bare.iter().filter(|timer| timer.run == run.number) {
        match read(&timer.trace) {
            Ok(bytes) => {
                let (recording, _) = Recording::open(Arc::new(bytes));
                let tracks = recording.tracks.iter();
                let tracks = tracks.map(|track| (track.name.clone(), track.entries.clone()));
                timers.insert(timer.trace.clone(), processes(&[], tracks));
            }
            Err(error) => problems.push(format!("{place}: cannot read {}: {error}", timer.trace)),
        }
    }
    timers
}

fn kernel(folder: &RunFolder) -> KernelFigures {
    let of_runs =
        folder.variants.iter().flat_map(|variant| &variant.runs).filter_map(|run| run.kernel);
    let of_faults = folder.faults.iter().filter_map(|fault| fault.kernel);
    let all = of_runs.chain(of_faults).fold(KernelRun::default(), KernelRun::and);
    let readings = &folder.kernel.price_readings_ns;
    let without: Vec<f64> =
        readings.as_chunks::<4>().0.iter().flat_map(|round| [round[0], round[3]]).collect();
    KernelFigures {
        interface: folder.kernel.interface.clone(),
        refused: folder.kernel.refused.clone(),
        events: all.events,
        lost_events: all.lost,
        gaps: all.gaps,
        hand_over_ns: median(&without),
        price_ns: paired_difference(readings),
    }
}

fn floors(floors: &[Floor]) -> FloorSummary {
    let mut by_mechanism = BTreeMap::<String, MechanismFloor>::new();
    for floor in floors {
        let Some(figures) = floor_figures(&floor.samples_ns) else { continue };
        let entry = by_mechanism.entry(floor_key(&floor.mechanism, &floor.direction)).or_default();
        match floor.circumstances.as_str() {
            "at-rate" => entry.at_rate = Some(figures),
            _ => entry.back_to_back = Some(figures),
        }
    }
    let warm = |floor: &MechanismFloor| floor.back_to_back.map(|figures| figures.p50_ns);
    let context_switch_ns = by_mechanism
        .get("yield")
        .and_then(warm)
        .or_else(|| by_mechanism.values().filter_map(warm).min_by(f64::total_cmp));
    FloorSummary { context_switch_ns, by_mechanism }
}

/// The figures of one-way times in any order; `None` if the list is empty.
fn floor_figures(samples_ns: &[u64]) -> Option<FloorFigures> {
    let mut sorted: Vec<i64> =
        samples_ns.iter().map(|ns| i64::try_from(*ns).unwrap_or(i64::MAX)).collect();
    sorted.sort_unstable();
    let spread = Spread::of(&sorted)?;
    Some(FloorFigures {
        samples: sorted.len() as u64,
        min_ns: spread.min as f64,
        mean_ns: spread.mean,
        p50_ns: spread.p50 as f64,
        p99_ns: spread.p99 as f64,
        max_ns: spread.max as f64,
    })
}

/// A mechanism's name among the floors: the way down has the plain one.
fn floor_key(mechanism: &str, direction: &str) -> String {
    if direction == "up" { format!("{mechanism} up") } else { mechanism.to_owned() }
}

fn variant_summary(
    record: &VariantRecord,
    observed: &[Observed],
    floor: &FloorSummary,
) -> VariantSummary {
    let combined = Figures::of(observed);
    let floor_ns = floor_figures(&record.chain_ns).map(|chain| chain.p50_ns);
    let back_to_back = floor_back_to_back(record, floor);
    let median = combined.cycle_ns.map(|cycle| cycle.spread.p50 as f64);
    let over = |floor: Option<f64>| Some(median? / floor?);
    let times: Vec<i64> = observed.iter().flat_map(Observed::times).collect();
    VariantSummary {
        name: record.name.clone(),
        description: record.description.clone(),
        period_ns: record.period.nanos(),
        features: record.features.clone(),
        lines_of_code: record.lines_of_code,
        hand_overs: record.hand_overs,
        hand_overs_up: record.hand_overs_up,
        hand_over_mechanism: record.hand_over_mechanism.clone(),
        floor_ns,
        ratio_to_floor: over(floor_ns),
        floor_back_to_back_ns: back_to_back,
        ratio_to_floor_back_to_back: over(back_to_back),
        ratio_to_first: None,
        ratio_to_first_adjusted: None,
        profiles: profiles(record),
        runs: record
            .runs
            .iter()
            .zip(observed)
            .map(|(run, observed)| RunSummary {
                number: run.number,
                duration_ns: run.duration.nanos(),
                stopped_early: run.stopped_early.clone(),
                fallen_after_ns: observed.fallen_after.map(Span::nanos),
                disturbances: run.disturbances.clone(),
                control: observed.control.clone(),
                universes: run.universes.clone(),
                figures: Figures::of(std::slice::from_ref(observed)),
            })
            .collect(),
        combined,
        histogram: histogram(&times),
        mixed: record.mixed.as_ref().map(|mixed| MixedFigures::of(mixed, &mixed_runs(observed))),
    }
}

/// The sum of the cycle's hand-overs, each with the median of its direction.
fn floor_back_to_back(record: &VariantRecord, floor: &FloorSummary) -> Option<f64> {
    let all = [("down", record.hand_overs - record.hand_overs_up), ("up", record.hand_overs_up)];
    let sum = all.iter().filter(|(_, count)| *count > 0).try_fold(0.0, |sum, (way, count)| {
        let floor = floor.by_mechanism.get(&floor_key(&record.hand_over_mechanism, way))?;
        Some(sum + floor.back_to_back?.p50_ns * f64::from(*count))
    });
    sum.filter(|ns| *ns > 0.0)
}

/// The profiles of the scenario's processes, then those of units that were added while a run went on.
fn profiles(record: &VariantRecord) -> Vec<ProfileSummary> {
    let granted = |name: &str| {
        let mut runs = record.runs.iter().flat_map(|run| &run.processes);
        runs.find(|process| process.name == name).map(|process| process.granted.clone())
    };
    let of = |name: &str, asked: &Profile| ProfileSummary {
        name: name.into(),
        asked: asked.clone(),
        granted: granted(name),
    };
    let mut all: Vec<ProfileSummary> =
        record.processes.iter().map(|process| of(&process.name, &process.asked)).collect();
    for unit in record.runs.iter().flat_map(|run| &run.units) {
        let is_new = all.iter().all(|known| known.name != unit.name);
        // A sandboxed unit has no process.
        if is_new && granted(&unit.name).is_some() {
            all.push(of(&unit.name, &unit.asked));
        }
    }
    all
}

/// The benchmark observations of the runs of a program.
fn mixed_runs(observed: &[Observed]) -> Vec<&MixedRun> {
    observed.iter().filter_map(|run| run.mixed.as_ref()).collect()
}

/// Fills in every variant's ratio to the first one, raw and without the timing overhead.
fn compare_to_first(variants: &mut [VariantSummary]) {
    let median =
        |variant: &VariantSummary| variant.combined.cycle_ns.map(|cycle| cycle.spread.p50 as f64);
    let adjusted = |variant: &VariantSummary| {
        median(variant).map(|ns| ns - variant.combined.timing_overhead_ns).filter(|ns| *ns > 0.0)
    };
    let Some(first) = variants.first() else { return };
    let (first_raw, first_adjusted) = (median(first), adjusted(first));
    for variant in variants {
        variant.ratio_to_first = median(variant).zip(first_raw).map(|(this, first)| this / first);
        variant.ratio_to_first_adjusted =
            adjusted(variant).zip(first_adjusted).map(|(this, first)| this / first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::report::terminal;
    use crate::cycles::synthetic::{ladder, ladder_analysis};
    use hemiola_report::table::Detail;

    #[test]
    fn floors_and_ratios_follow_from_the_hand_overs() {
        let summary = ladder_analysis().summary;
        assert_eq!(summary.floor.context_switch_ns, Some(1150.0));
        let futex = summary.floor.by_mechanism["futex"].at_rate.unwrap();
        assert_eq!((futex.samples, futex.min_ns, futex.max_ns), (1000, 2340.0, 23_400.0));
        assert_eq!((futex.p50_ns, futex.p99_ns), (2600.0, 3900.0));
        assert!((futex.mean_ns - 2723.5).abs() < 1e-6, "{}", futex.mean_ns);
        let [monolithic, memory, queues, simplex] = summary.variants.as_slice() else { panic!() };
        assert_eq!((monolithic.floor_ns, monolithic.ratio_to_first), (None, Some(1.0)));
        assert_eq!((memory.floor_ns, queues.floor_back_to_back_ns), (Some(2000.0), None));
        let median = simplex.combined.cycle_ns.unwrap().spread.p50 as f64;
        // The chain as a whole, not four hand-overs of 2600 ns.
        assert_eq!(simplex.floor_ns, Some(8000.0));
        assert_eq!(simplex.ratio_to_floor, Some(median / 8000.0));
        assert_eq!(simplex.floor_back_to_back_ns, Some(4.0 * 2300.0));
        assert_eq!(summary.marks.pair_ns.unwrap().p50, 38);
        let cost = summary.marks.cost_ns.unwrap();
        assert!((39.4..=39.5).contains(&cost), "{cost}");
    }

    #[test]
    fn a_missing_or_damaged_trace_is_a_problem_and_the_others_still_count() {
        let (folder, mut traces) = ladder(2, 40);
        traces.remove("traces/monolithic-1.pftrace");
        let cut = traces.get_mut("traces/shared memory-2.pftrace").unwrap();
        cut.truncate(cut.len() / 2);
        let summary =
            analyze(&folder, |path| traces.get(path).cloned().ok_or("no such file")).summary;
        assert_eq!(
            summary.problems[0],
            "Monolithic, run 1: cannot read traces/monolithic-1.pftrace: no such file"
        );
        assert!(
            summary.problems.iter().any(|text| text.contains("is damaged")),
            "{:?}",
            summary.problems
        );
        assert_eq!(summary.variants[0].combined.observations, 38);
        assert_eq!(summary.variants[0].runs[0].figures.cycle_ns, None);
    }

    #[test]
    fn the_events_of_a_campaign_are_those_of_its_faults() {
        let (mut folder, _) = ladder(1, 40);
        folder.variants.clear();
        folder.kernel.interface = Some("bpf".into());
        folder.faults[1].kernel = Some(KernelRun { events: 1_200, lost: 3, gaps: 1 });
        let summary = analyze(&folder, |_| Err::<Vec<u8>, _>("no trace")).summary;
        let kernel = &summary.kernel;
        assert_eq!((kernel.events, kernel.lost_events, kernel.gaps), (1_200, 3, 1));
        let shown = terminal::render(&summary, Detail::Full);
        assert!(shown.contains("recorded by bpf: 1\u{a0}200 events, 3 lost, 1 gap"), "{shown}");
    }

    #[test]
    fn too_few_readings_of_what_recording_costs_are_said() {
        let (mut folder, _) = ladder(1, 40);
        folder.kernel.interface = Some("bpf".into());
        folder.kernel.price_readings_ns = vec![900.0, 1_000.0, 1_010.0, 905.0];
        let shown = |folder: &RunFolder| {
            let summary = analyze(folder, |_| Err::<Vec<u8>, _>("no trace")).summary;
            terminal::render(&summary, Detail::Full)
        };
        let few = shown(&folder);
        assert!(few.contains("was read too few times for an interval"), "{few}");
        folder.kernel.price_readings_ns = folder.kernel.price_readings_ns.repeat(6);
        let enough = shown(&folder);
        assert!(
            !enough.contains("too few times") && enough.contains("in turns A B B A"),
            "{enough}"
        );
    }

    #[test]
    fn the_histogram_counts_every_observation() {
        for variant in ladder_analysis().summary.variants {
            let counted: u64 = variant.histogram.iter().map(|(_, count)| count).sum();
            assert_eq!(counted, variant.combined.observations);
        }
    }
}
