//! The figures of a result folder: the schema of `summary.json`, and how it is filled.
//!
//! `docs/reference/summary.md` explains every key; a test keeps the two together.

use std::collections::BTreeMap;

use hemiola_stats::{Estimate, Spread};
use hemiola_trace::result::{Conditions, FaultFigures, UniverseRun};
use hemiola_units::{Granted, Profile};
use serde::{Deserialize, Serialize};

use super::authority::Control;
use super::federation::ModeFigures;
use super::metrics::Figures;
use super::mixed::{MixedFigures, SeriesFigures};

/// The layout of the schema. It rises when a key changes its meaning or goes away; a reader refuses a larger one.
///
/// Layout 1 called the list of programs `rungs` instead of `variants`. It is still read.
pub const FORMAT: u32 = 2;

/// The file in a result folder that holds a [`Summary`].
pub const FILE_NAME: &str = "summary.json";

/// Everything `summary.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// The scenario's title.
    pub title: String,
    /// `"ladder"`, `"campaign"`, `"mixed-load"`, `"federation"` or `"scenario"`.
    pub kind: String,
    /// When the run started, seconds since 1970 UTC.
    pub started_unix_s: u64,
    /// Under which conditions.
    pub conditions: Conditions,
    /// The cost of a hand-over on this machine, measured in the same run.
    pub floor: FloorSummary,
    /// The programs, in the scenario's order.
    #[serde(alias = "rungs")]
    pub variants: Vec<VariantSummary>,
    /// The fault kinds of a campaign.
    pub faults: Vec<FaultSummary>,
    /// Benchmarks beside a load: the programs of each series together.
    #[serde(default)]
    pub series: Vec<SeriesFigures>,
    /// The modes of a federation, in the scenario's order.
    #[serde(default)]
    pub modes: Vec<ModeFigures>,
    /// The kernel's side of the runs, and what recording it costs.
    #[serde(default)]
    pub kernel: KernelFigures,
    /// The cost of recording.
    pub marks: MarkCost,
    /// The names of both measured states; empty for the pendulum, whose position and angle are measured.
    #[serde(default)]
    pub measured: Vec<String>,
    /// Why the folder does not hold everything that the scenario asks for; `None` if it does.
    #[serde(default)]
    pub incomplete: Option<String>,
    /// Reasons why the run is a failure, a sentence each; see [`failures`](super::verdict::failures).
    #[serde(default)]
    pub failures: Vec<String>,
    /// Data that could not be read or is inconsistent, a sentence each. Figures with a
    /// problem are based on less than was recorded.
    pub problems: Vec<String>,
}

impl Summary {
    /// What the folder lacks of what its scenario asks for and its runs recorded, a sentence each, the gravest first.
    pub fn lacks(&self) -> impl Iterator<Item = String> {
        let incomplete =
            self.incomplete.iter().map(|reason| format!("the run is incomplete: {reason}"));
        incomplete.chain(self.problems.iter().cloned())
    }

    /// Whether a program is a control loop, with one cycle over all its processes: neither a benchmark nor a mode of a
    /// federation.
    #[must_use]
    pub fn is_loop(&self, variant: &VariantSummary) -> bool {
        variant.mixed.is_none() && self.modes.iter().all(|mode| mode.name != variant.name)
    }
}

/// The cost of one hand-over on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FloorSummary {
    /// The cheapest switch from one process to another: the median of `yield` back to back, or else of the
    /// cheapest mechanism measured.
    pub context_switch_ns: Option<f64>,
    /// By mechanism, under both circumstances.
    pub by_mechanism: BTreeMap<String, MechanismFloor>,
}

/// One mechanism's hand-over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MechanismFloor {
    /// One after the other, caches and clock frequency warm.
    pub back_to_back: Option<FloorFigures>,
    /// Once per period, the processor idle in between, as in the loop.
    pub at_rate: Option<FloorFigures>,
}

/// The measured times of a hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloorFigures {
    /// How many.
    pub samples: u64,
    /// Least, ns.
    pub min_ns: f64,
    /// Mean, ns.
    pub mean_ns: f64,
    /// Median, ns.
    pub p50_ns: f64,
    /// 99th percentile, ns.
    pub p99_ns: f64,
    /// Greatest observed, ns.
    pub max_ns: f64,
}

/// One program with its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantSummary {
    /// The scenario's name of it.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Its period, ns.
    pub period_ns: i64,
    /// Its features, by the names of the feature table.
    pub features: Vec<String>,
    /// Lines of code it is made of.
    pub lines_of_code: u32,
    /// Hand-overs in one cycle.
    pub hand_overs: u32,
    /// How many of them go up, to a process of higher priority.
    pub hand_overs_up: u32,
    /// Their mechanism.
    pub hand_over_mechanism: String,
    /// The median of a chain of processes with the same hand-overs, priorities, rate and leads that do nothing else;
    /// `None` without hand-overs or if it was not measured.
    pub floor_ns: Option<f64>,
    /// Median cycle over that floor.
    pub ratio_to_floor: Option<f64>,
    /// Hand-overs × the median of one back to back, hand-overs down and up each with their own median.
    pub floor_back_to_back_ns: Option<f64>,
    /// Median cycle over that floor.
    pub ratio_to_floor_back_to_back: Option<f64>,
    /// Median cycle over the median cycle of the first program.
    pub ratio_to_first: Option<f64>,
    /// The same with each one's timing overhead subtracted, as the report does for its 18.5 ×.
    pub ratio_to_first_adjusted: Option<f64>,
    /// The profiles each process requested and was granted.
    pub profiles: Vec<ProfileSummary>,
    /// Each run alone.
    pub runs: Vec<RunSummary>,
    /// All runs together.
    pub combined: Figures,
    /// Cycle times of all runs: lower edge in ns and count of each bin that is not empty, 100 bins a decade.
    pub histogram: Vec<(f64, u64)>,
    /// The benchmark in it and its load; `None` for a loop.
    #[serde(default)]
    pub mixed: Option<MixedFigures>,
}

/// The profile a process requested, and the one it was granted in its first run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileSummary {
    /// The process.
    pub name: String,
    /// The requested profile.
    pub asked: Profile,
    /// The granted profile; `None` if it never ran.
    pub granted: Option<Granted>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Counted from 1.
    pub number: u32,
    /// How long it lasted, ns.
    pub duration_ns: i64,
    /// Why it ended before its time.
    pub stopped_early: Option<String>,
    /// Time from the start to the loss of the plant, ns; `None` if it was not lost.
    #[serde(default)]
    pub fallen_after_ns: Option<i64>,
    /// Stops of its processes by a signal or a tracer, a sentence each.
    #[serde(default)]
    pub disturbances: Vec<String>,
    /// The time line of authority and the faults that were found; `None` without a decision module.
    #[serde(default)]
    pub control: Option<Control>,
    /// The outcomes of its universes.
    #[serde(default)]
    pub universes: Vec<UniverseRun>,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The effect of a fault kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultSummary {
    /// The kind's name.
    pub kind: String,
    /// Whether real processes ran, or the simulation.
    pub process: Setting,
    /// With the decision module.
    pub with: Option<FaultEffect>,
    /// Without it.
    pub without: Option<FaultEffect>,
    /// The runs in which the decision module found no fault.
    #[serde(default)]
    pub undetected: Option<Undetected>,
}

/// The outcome of the runs of a fault kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultEffect {
    /// The counts.
    #[serde(flatten)]
    pub figures: FaultFigures,
    /// The greatest share of lost runs that is compatible with none among so many, at 95 %; `None` if some were lost.
    #[serde(default)]
    pub lost_share_max: Option<f64>,
}

/// Runs with a fault that the decision module did not find.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undetected {
    /// The number of such runs.
    pub runs: u64,
    /// Whether the fault could do no harm in them.
    pub is_harmless: bool,
    /// The reason.
    pub because: String,
}

/// Where a fault was injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// Into real processes.
    Process,
    /// Into the simulation.
    Simulated,
}

/// The cost of one mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MarkCost {
    /// Two marks back to back, over all processes and runs, ns; `None` if none were taken.
    pub pair_ns: Option<Spread>,
    /// One mark by those pairs: their mean without the greatest hundredth, ns.
    pub cost_ns: Option<f64>,
    /// That over one bare read of the clock.
    pub ratio_to_clock_read: Option<f64>,
}

/// The kernel's side of the runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelFigures {
    /// By which interface it was recorded, `"bpf"` or `"perf"`; `None` if it was not.
    pub interface: Option<String>,
    /// Why not, where it was wanted.
    pub refused: Option<String>,
    /// Events in all traces.
    pub events: u64,
    /// Events missing there: the kernel's buffers had no room.
    pub lost_events: u64,
    /// Places where an unknown number of events is missing, for example switches that the kernel does not show.
    pub gaps: u64,
    /// One hand-over without the recording, ns: the median of the readings.
    pub hand_over_ns: Option<f64>,
    /// The time the recording adds to a hand-over, ns, measured in turns; `None` below 6 rounds.
    pub price_ns: Option<Estimate>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hemiola_stats::Spread;
    use hemiola_trace::result::{
        CheckpointsRun, ModuleRun, MonitorRun, RedefinitionRun, UniverseRun,
    };
    use hemiola_units::Refusal;
    use serde_json::Value;

    use super::Undetected;
    use crate::cycles::phases::PhaseFigures;
    use crate::cycles::synthetic::ladder_analysis;
    use crate::cycles::witness::CycleDelay;

    /// All keys of objects in `value`, those that are names given by the data left out.
    fn keys(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    found.insert(key.clone());
                    match value {
                        Value::Object(named) if key == "by_mechanism" || key == "found_as" => {
                            named.values().for_each(|value| keys(value, found));
                        }
                        _ => keys(value, found),
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
            _ => {}
        }
    }

    #[test]
    fn the_reference_names_every_key_and_no_other() {
        let mut summary = ladder_analysis().summary;
        let granted = summary.variants[0].profiles[0].granted.as_mut().unwrap();
        let refusal = ["FIFO 80", "RLIMIT_RTPRIO is 0", "ulimit -r 80"].map(String::from);
        let [asked, because, remedy] = refusal;
        granted.refusals.push(Refusal { asked, because, remedy });
        let delay = CycleDelay { name: "kworker/0:1".into(), cycles: 1, total_ns: 2, max_ns: 2 };
        summary.variants[0].combined.delayed_by.push(delay);
        summary.variants[3].runs[0].control = Some(crate::cycles::authority::tests::control());
        summary.variants[0].combined.phases.push(PhaseFigures {
            process: "world".into(),
            phase: "update".into(),
            ns: Spread::of(&[1]).unwrap(),
            share: 1.0,
        });
        let because = "there was no fault".into();
        summary.faults[0].undetected = Some(Undetected { runs: 1, is_harmless: true, because });
        let monitors = vec![MonitorRun::default()];
        let redefinitions = vec![RedefinitionRun::default()];
        let (modules, checkpoints) = (vec![ModuleRun::default()], Some(CheckpointsRun::default()));
        let more = UniverseRun { modules, checkpoints, ..UniverseRun::default() };
        let universe = UniverseRun { monitors, redefinitions, ..more };
        summary.variants[0].runs[0].universes.push(universe);
        let mut written = BTreeSet::new();
        keys(&serde_json::to_value(&summary).unwrap(), &mut written);
        let mixed = crate::cycles::mixed::tests::summary();
        keys(&serde_json::to_value(&mixed).unwrap(), &mut written);
        let modes = crate::cycles::federation::tests::summary();
        keys(&serde_json::to_value(&modes).unwrap(), &mut written);
        // Parameters of the policies that the example does not use.
        written.extend(["priority", "runtime", "deadline", "period"].map(String::from));

        let page = include_str!("../../../../docs/reference/summary.md");
        let documented: BTreeSet<String> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split(" |").next())
            .flat_map(|cell| cell.split(", "))
            // `runs[].number` is the key `number` of each run.
            .filter_map(|key| key.trim_matches('`').rsplit('.').next().map(String::from))
            .collect();
        let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| -> Vec<String> {
            a.difference(b).cloned().collect()
        };
        assert_eq!(only(&written, &documented), Vec::<String>::new(), "not documented");
        assert_eq!(only(&documented, &written), Vec::<String>::new(), "not written");
    }

    #[test]
    fn every_cause_is_documented() {
        use crate::cycles::misses::Cause::*;
        let page = include_str!("../../../../docs/reference/summary.md");
        for cause in [
            LateWakeUp,
            PreviousOverrun,
            Stall,
            SlowHandOver,
            LongExecution,
            ChargedInterrupt,
            MissingAnswer,
            RecordLost,
        ] {
            let name = serde_json::to_value(cause).unwrap();
            assert!(page.contains(&format!("| {} |", name.as_str().unwrap())), "{name}");
        }
    }
}
