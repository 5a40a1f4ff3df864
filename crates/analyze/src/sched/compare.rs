//! Compares two recordings: which figures differ by more than noise, and which threads made the difference.
//!
//! Threads are paired by name, those with the same name in the order of their numbers; marked tasks by name. The means
//! of execution time, latency, response time and interval are compared. The interval of a mean follows from the batch
//! means in the report, which show how the figure varies within the recording ([`Estimate::of_mean`]). All figures are
//! judged together ([`differing`]). Neither recording shows the variation from one start of a program to the next, so
//! the verdict is [`ChangeVerdict::DiffersWithinRuns`] at most.
//!
//! [`Estimate::of_mean`]: hemiola_stats::Estimate::of_mean

use std::collections::BTreeMap;

use serde::Serialize;

use super::list::List;
use super::name::Name;
use super::report::{Blocking, Distribution, Interference, Report, TaskReport, ThreadReport};
use hemiola_report::table::Table;
use hemiola_report::text::{count, difference_cells, duration, percent};
use hemiola_stats::{Change, ChangeVerdict, Covers, Difference, differing};

/// The number of marked tasks and periodic threads shown with every figure. Others are shown where they differ.
const SHOWN_MAX: usize = 8;

/// The minimum share of a difference for a thread to be named as its cause.
const CAUSE_MIN: f64 = 0.1;

/// The maximum number of names in one remark; the rest are counted.
const NAMES_MAX: usize = 5;

/// Two recordings compared; every difference is B minus A.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The names of A and B.
    pub names: [String; 2],
    /// How long each saw, ns.
    pub length_ns: [u64; 2],
    /// Switches a second.
    pub switches_per_s: [f64; 2],
    /// Share of all processors' time in which something ran.
    pub utilization: [f64; 2],
    /// Deadlines missed.
    pub missed_deadlines: [u64; 2],
    /// Marked tasks that both have, then threads, in A's order.
    pub pairs: Vec<Pair>,
    /// Threads and tasks that only one has, and differences that limit the comparison: a sentence each.
    pub remarks: Vec<String>,
}

/// A thread or a task in both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Its name.
    pub name: String,
    /// Whether it is a marked task, and not a thread.
    pub marked: bool,
    /// Whether it has a period in both.
    pub periodic: bool,
    /// Its thread in A and B.
    pub tids: [u32; 2],
    /// Invocations or jobs seen as a whole.
    pub invocations: [u64; 2],
    /// U.
    pub utilization: [f64; 2],
    /// Deadlines missed.
    pub missed: [u64; 2],
    /// The figures that both have.
    pub figures: Vec<ComparedFigure>,
    /// The thread that made most of the difference of its mean response, or of its latency where there is no response;
    /// `None` if no thread made a tenth of it.
    pub cause: Option<Cause>,
}

/// One figure in both, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ComparedFigure {
    /// Of what.
    pub of: What,
    /// Arithmetic means.
    pub mean_ns: [f64; 2],
    /// 99th percentiles.
    pub p99_ns: [u64; 2],
    /// Greatest observed.
    pub max_ns: [u64; 2],
    /// Difference of the means with its interval at 95 %; `None` with too few observations.
    pub difference_ns: Option<Difference>,
    /// The verdict.
    pub verdict: ChangeVerdict,
}

/// The figures that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// C.
    Execution,
    /// From release to start.
    Latency,
    /// From release to finish.
    Response,
    /// From release to release.
    Interval,
}

/// A thread that delayed another, in both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// By name.
    pub name: String,
    /// How.
    pub way: Way,
    /// For [`Way::Awaited`]: what kept that thread from running for the longest time meanwhile.
    pub behind: Option<String>,
    /// For each invocation, on average, ns.
    pub each_ns: [f64; 2],
}

/// How one thread delays another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// It had the processor while the other was ready.
    HadProcessor,
    /// The other slept within its invocations until this one woke it.
    Awaited,
}

/// Compares B with A; `names` are what the table calls them.
pub fn compare(names: [&str; 2], a: &Report, b: &Report) -> Comparison {
    let mut pairs = Vec::new();
    let mut changes = Vec::new();
    let mut remarks = Vec::new();
    let task = |task: &TaskReport| (task.name.clone(), task.track as u64);
    let thread = |thread: &ThreadReport| (thread.name.to_string(), u64::from(thread.tid));
    let (tasks, only) = paired([&a.tasks, &b.tasks], task);
    remarks.extend(only_in(names, only, "marked tasks", |task| task.name.clone()));
    let (threads, only) = paired([&a.threads, &b.threads], thread);
    remarks.extend(only_in(names, only, "threads", |thread| thread.name.to_string()));
    for sides in tasks.into_iter().map(|two| two.map(Side::of_task)) {
        pairs.push(pair(true, sides, &mut changes));
    }
    for sides in threads.into_iter().map(|two| two.map(Side::of_thread)) {
        pairs.push(pair(false, sides, &mut changes));
    }
    judge(&mut pairs, &changes);
    for (report, name) in [(a, names[0]), (b, names[1])] {
        if report.lost_events > 0 || !report.gaps.is_empty() {
            remarks.push(format!(
                "{name} has {} gaps ({} events lost): what happened in them is in no figure",
                report.gaps.len(),
                count(report.lost_events)
            ));
        }
    }
    let both = [a, b];
    let seconds = |report: &Report| (length(report) as f64 * 1e-9).max(1e-9);
    Comparison {
        names: names.map(Into::into),
        length_ns: both.map(length),
        switches_per_s: both.map(|report| report.switches as f64 / seconds(report)),
        utilization: both.map(|report| report.utilization),
        missed_deadlines: both.map(|report| report.missed_deadlines),
        pairs,
        remarks,
    }
}

fn length(report: &Report) -> u64 {
    report.to_ns.saturating_sub(report.from_ns)
}

/// The items that both have, in A's order, and the items that only A and only B have.
type Paired<'a, T> = (Vec<[&'a T; 2]>, [Vec<&'a T>; 2]);

/// Pairs what has the same name: the first of A with the first of B by the number that `key` gives, and so on.
fn paired<T>([a, b]: [&[T]; 2], key: impl Fn(&T) -> (String, u64)) -> Paired<'_, T> {
    // By name and rank among those of that name.
    let ranked = |all: &[T]| {
        let mut keys: Vec<((String, u64), usize)> =
            all.iter().enumerate().map(|(at, one)| (key(one), at)).collect();
        keys.sort_unstable();
        let mut found: BTreeMap<(String, usize), usize> = BTreeMap::new();
        let mut rank = 0;
        for (place, ((name, _), at)) in keys.iter().enumerate() {
            rank = if place > 0 && keys[place - 1].0.0 == *name { rank + 1 } else { 0 };
            found.insert((name.clone(), rank), *at);
        }
        found
    };
    let (of_a, of_b) = (ranked(a), ranked(b));
    let mut both: Vec<[usize; 2]> =
        of_a.iter().filter_map(|(key, at)| Some([*at, *of_b.get(key)?])).collect();
    both.sort_unstable();
    let alone = |all: &BTreeMap<_, usize>, other: &BTreeMap<_, usize>| {
        let mut alone: Vec<usize> =
            all.iter().filter(|(key, _)| !other.contains_key(*key)).map(|(_, at)| *at).collect();
        alone.sort_unstable();
        alone
    };
    let only_a = alone(&of_a, &of_b).into_iter().map(|at| &a[at]).collect();
    let only_b = alone(&of_b, &of_a).into_iter().map(|at| &b[at]).collect();
    (both.into_iter().map(|[at_a, at_b]| [&a[at_a], &b[at_b]]).collect(), [only_a, only_b])
}

/// A remark for each side that has something alone.
fn only_in<T>(
    names: [&str; 2],
    only: [Vec<&T>; 2],
    what: &str,
    name: impl Fn(&T) -> String,
) -> Vec<String> {
    let remark = |(side, alone): (&str, Vec<&T>)| {
        let shown: Vec<String> = alone.iter().take(NAMES_MAX).map(|one| name(one)).collect();
        let more = match alone.len().saturating_sub(NAMES_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!shown.is_empty()).then(|| format!("{what} only in {side}: {}{more}", shown.join(", ")))
    };
    names.into_iter().zip(only).filter_map(remark).collect()
}

/// The compared figures of a thread or a task.
struct Side<'a> {
    name: &'a str,
    tid: u32,
    periodic: bool,
    invocations: u64,
    utilization: f64,
    missed: u64,
    distributions: [(What, &'a Option<Distribution>); 4],
    preempted_by: &'a List<Interference>,
    blocked_by: &'a List<Blocking>,
}

impl<'a> Side<'a> {
    fn of_thread(thread: &'a ThreadReport) -> Self {
        Self {
            name: &thread.name,
            tid: thread.tid,
            periodic: thread.period_ns.is_some(),
            invocations: thread.invocations,
            utilization: thread.utilization,
            missed: thread.missed,
            distributions: [
                (What::Execution, &thread.execution_ns),
                (What::Latency, &thread.latency_ns),
                (What::Response, &thread.response_ns),
                (What::Interval, &thread.interval_ns),
            ],
            preempted_by: &thread.preempted_by,
            blocked_by: &thread.blocked_by,
        }
    }

    fn of_task(task: &'a TaskReport) -> Self {
        Self {
            name: &task.name,
            tid: task.tid,
            periodic: task.period_ns.is_some(),
            invocations: task.jobs,
            utilization: task.utilization,
            missed: task.missed,
            distributions: [
                (What::Execution, &task.execution_ns),
                (What::Latency, &task.latency_ns),
                (What::Response, &task.response_ns),
                // Its releases are as the program plans them.
                (What::Interval, &None),
            ],
            preempted_by: &task.preempted_by,
            blocked_by: &task.blocked_by,
        }
    }
}

/// Pairs both sides, the verdicts still open. Adds one change for each difference to `changes`.
fn pair(marked: bool, sides: [Side<'_>; 2], changes: &mut Vec<Change>) -> Pair {
    let [a, b] = &sides;
    let mut figures = Vec::new();
    for ((of, in_a), (_, in_b)) in a.distributions.into_iter().zip(b.distributions) {
        let (Some(in_a), Some(in_b)) = (in_a, in_b) else { continue };
        let both = [in_a, in_b];
        let change = change(in_a, in_b);
        changes.extend(change);
        figures.push(ComparedFigure {
            of,
            mean_ns: both.map(|side| side.mean),
            p99_ns: both.map(|side| side.p99),
            max_ns: both.map(|side| side.max),
            difference_ns: change.map(|change| change.difference),
            verdict: ChangeVerdict::Unknown,
        });
    }
    Pair {
        name: a.name.into(),
        marked,
        periodic: a.periodic && b.periodic,
        tids: [a.tid, b.tid],
        invocations: [a.invocations, b.invocations],
        utilization: [a.utilization, b.utilization],
        missed: [a.missed, b.missed],
        cause: cause(&sides, &figures),
        figures,
    }
}

fn change(a: &Distribution, b: &Distribution) -> Option<Change> {
    Some(Change::of_estimates(&a.mean_interval?, &b.mean_interval?, Covers::Truth))
}

/// The thread whose delays changed most, for each invocation.
fn cause(sides: &[Side<'_>; 2], figures: &[ComparedFigure]) -> Option<Cause> {
    let of = |what| figures.iter().find(|figure| figure.of == what);
    let response = of(What::Response);
    let whole = response.or_else(|| of(What::Latency))?;
    let whole = whole.mean_ns[1] - whole.mean_ns[0];
    let mut all: BTreeMap<(Name, Way), [f64; 2]> = BTreeMap::new();
    for (index, side) in sides.iter().enumerate() {
        let had = side.preempted_by.iter().map(|by| (by.name, Way::HadProcessor, by.ns));
        // A latency ends at the start, before the thread can wait for another one.
        let awaited = side.blocked_by.iter().filter(|_| response.is_some());
        let awaited = awaited.map(|by| (by.name, Way::Awaited, by.ns));
        for (name, way, ns) in had.chain(awaited) {
            all.entry((name, way)).or_default()[index] +=
                ns as f64 / side.invocations.max(1) as f64;
        }
    }
    let share = |each: &[f64; 2]| (each[1] - each[0]) / whole;
    let ((name, way), each_ns) = all
        .into_iter()
        .filter(|(_, each)| share(each) >= CAUSE_MIN)
        .max_by(|a, b| share(&a.1).total_cmp(&share(&b.1)))?;
    // The side that has more of it shows why.
    let more = usize::from(each_ns[1] > each_ns[0]);
    let by = sides[more].blocked_by.iter().find(|by| way == Way::Awaited && by.name == name);
    let behind = by.and_then(|by| Some(by.behind.as_ref()?.name.to_string()));
    Some(Cause { name: name.to_string(), way, behind, each_ns })
}

/// Judges every figure that has a difference.
fn judge(pairs: &mut [Pair], changes: &[Change]) {
    let mut real = differing(changes).into_iter();
    for figure in pairs.iter_mut().flat_map(|pair| &mut pair.figures) {
        if figure.difference_ns.is_some() {
            figure.verdict = match real.next() {
                Some(true) => ChangeVerdict::DiffersWithinRuns,
                _ => ChangeVerdict::WithinNoise,
            };
        }
    }
}

impl Comparison {
    /// The number of figures that differ by more than noise.
    #[must_use]
    pub fn differences(&self) -> usize {
        let figures = self.pairs.iter().flat_map(|pair| &pair.figures);
        figures.filter(|figure| figure.verdict == ChangeVerdict::DiffersWithinRuns).count()
    }

    /// The tables that have rows: totals; every figure of the first tasks and periodic threads and the differing
    /// figures of the others; the threads that made the difference.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.totals(), self.figures(), self.causes()];
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    fn totals(&self) -> Table {
        let row = |what: &str, [a, b]: [String; 2]| vec![what.into(), a, b];
        let rows = vec![
            row("Length", self.length_ns.map(|ns| duration(ns as f64))),
            row("Switches a second", self.switches_per_s.map(|rate| count(rate.round() as u64))),
            row("Processors busy", self.utilization.map(percent)),
            row("Missed deadlines", self.missed_deadlines.map(count)),
        ];
        let judged = self.pairs.iter().flat_map(|pair| &pair.figures);
        let judged = judged.filter(|figure| figure.verdict != ChangeVerdict::Unknown).count();
        let found = format!("{} of {judged} figures differ by more than noise", self.differences());
        let mut note = vec![found];
        note.extend_from_slice(&self.remarks);
        let [a, b] = &self.names;
        Table::new(format!("{a} → {b}"), ["", a.as_str(), b.as_str()], rows)
            .with_note(note.join("; "))
    }

    fn figures(&self) -> Table {
        let mut rows = Vec::new();
        let mut whole = 0;
        for pair in &self.pairs {
            let is_whole = (pair.marked || pair.periodic) && whole < SHOWN_MAX;
            whole += usize::from(is_whole);
            let differs =
                |figure: &&ComparedFigure| figure.verdict == ChangeVerdict::DiffersWithinRuns;
            let shown = pair.figures.iter().filter(|figure| is_whole || differs(figure));
            rows.extend(shown.map(|figure| row(pair, figure)));
        }
        let heads =
            ["Thread", "Figure", "Mean", "Difference", "Interval at 95 %", "Verdict", "Max"];
        Table::new("Compared figures", heads, rows)
            .with_note(
                "All figures of the first tasks and periodic threads, and those of the others that differ. Noise is \
                 that within the recordings; what changes from one start to the next is in neither.",
            )
            .with_prose(&[1, 5])
    }

    fn causes(&self) -> Table {
        let is_delayed = |figure: &ComparedFigure| {
            matches!(figure.of, What::Latency | What::Response)
                && figure.verdict == ChangeVerdict::DiffersWithinRuns
        };
        let delayed = self.pairs.iter().filter(|pair| pair.figures.iter().any(is_delayed));
        let row = |pair: &Pair| {
            let Cause { name, way, behind, each_ns } = pair.cause.as_ref()?;
            let [a, b] = each_ns.map(duration);
            let way = match (way, behind) {
                (Way::HadProcessor, _) => format!("{name} had the processor"),
                (Way::Awaited, None) => format!("waited until {name} woke it"),
                (Way::Awaited, Some(third)) => {
                    format!("waited until {name} woke it, which was behind {third}")
                }
            };
            Some(vec![pair.name.clone(), way, a, b])
        };
        let [a, b] = &self.names;
        let heads = ["Thread", "Delay", a.as_str(), b.as_str()];
        Table::new("Threads that made the difference", heads, delayed.filter_map(row).collect())
            .with_note("The mean delay in each invocation of the thread, where it changed most.")
            .with_prose(&[1])
    }
}

fn row(pair: &Pair, figure: &ComparedFigure) -> Vec<String> {
    let between = |values: [f64; 2]| values.map(duration).join(" → ");
    let [difference, interval] = difference_cells(figure.difference_ns, figure.mean_ns[0]);
    vec![
        pair.name.clone(),
        match figure.of {
            What::Execution => "execution",
            What::Latency => "latency",
            What::Response => "response",
            What::Interval => "interval",
        }
        .into(),
        between(figure.mean_ns),
        difference,
        interval,
        match figure.verdict {
            ChangeVerdict::Differs | ChangeVerdict::DiffersWithinRuns => "differs",
            ChangeVerdict::WithinNoise => "within noise",
            ChangeVerdict::Unknown => "too little to say",
        }
        .into(),
        between(figure.max_ns.map(|ns| ns as f64)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::{Culprit, Options, analyze, synthetic};
    use hemiola_report::terminal;
    use hemiola_stats::Stream;

    use hemiola_units::Random;

    /// A thread whose invocations compute for `mean` ± 10 µs and respond `late` later.
    fn thread(name: &str, tid: u32, seed: u64, mean: u64, late: u64) -> ThreadReport {
        let mut random = Random::from_seed(seed);
        let (mut execution, mut response, mut interval) =
            (Stream::default(), Stream::default(), Stream::default());
        for _ in 0..5_000 {
            let noise = (random.uniform() * 20_000.0) as u64;
            execution.push(mean + noise);
            response.push(mean + noise + late);
            interval.push(990_000 + noise);
        }
        ThreadReport {
            name: name.into(),
            tid,
            invocations: 5_000,
            period_ns: Some(1_000_000),
            utilization: mean as f64 / 1e6,
            execution_ns: execution.distribution(),
            response_ns: response.distribution(),
            interval_ns: interval.distribution(),
            ..ThreadReport::default()
        }
    }

    fn report(threads: impl Into<Vec<ThreadReport>>) -> Report {
        Report {
            to_ns: 5_000_000_000,
            switches: 10_000,
            utilization: 0.25,
            threads: threads.into(),
            ..Report::default()
        }
    }

    fn by(name: &str, ns: u64) -> Interference {
        Interference {
            name: name.into(),
            tid: None,
            who: Culprit::Others,
            ns,
            before_start_ns: 0,
            times: 1,
            longest_ns: ns,
        }
    }

    #[test]
    fn a_recording_does_not_differ_from_itself() {
        let one =
            report([thread("control", 7, 1, 200_000, 50_000), thread("idle", 8, 2, 9_000, 0)]);
        let found = compare(["a", "b"], &one, &one);
        assert_eq!((found.pairs.len(), found.differences()), (2, 0));
        let all: Vec<_> = found.pairs.iter().flat_map(|pair| &pair.figures).collect();
        assert!(
            all.len() == 6 && all.iter().all(|figure| figure.verdict == ChangeVerdict::WithinNoise)
        );
        assert!(found.remarks.is_empty() && found.pairs.iter().all(|pair| pair.cause.is_none()));
    }

    #[test]
    fn noise_alone_differs_in_one_of_twenty_recordings_at_most() {
        let side = |seed| report([thread("control", 7, seed, 200_000, 50_000)]);
        let differs = |seed: &u64| {
            compare(["a", "b"], &side(2 * seed), &side(2 * seed + 1)).differences() > 0
        };
        let wrong = (0..100).filter(differs).count();
        assert!(wrong <= 7, "{wrong} of 100");
    }

    #[test]
    fn simulated_threads_differ_where_their_execution_does_and_in_what_follows_from_it() {
        let record = |seed, more: u64| {
            let task = |(tid, c, t): (u32, u64, u64)| synthetic::Task {
                name: format!("task {tid}"),
                tid,
                cpu: 0,
                priority: tid as i16,
                period_ns: t * 1000,
                offset_ns: 0,
                jitter_ns: 3_000,
                execution_min_ns: c * 900,
                execution_max_ns: c * 1100,
                ..synthetic::Task::default()
            };
            let tasks = [(10, 100 + more, 1000), (20, 500, 2500), (30, 20, 7000)].map(task);
            analyze(&synthetic::run(&tasks, 5_000_000_000, seed).0, &Options::default())
        };
        let before = record(1, 0);
        assert_eq!(compare(["a", "b"], &before, &record(2, 0)).differences(), 0);
        let found = compare(["a", "b"], &before, &record(3, 10));
        let differing: Vec<_> = found
            .pairs
            .iter()
            .flat_map(|pair| pair.figures.iter().map(move |figure| (pair, figure)))
            .filter(|(_, figure)| figure.verdict == ChangeVerdict::DiffersWithinRuns)
            .map(|(pair, figure)| (pair.name.as_str(), figure.of))
            .collect();
        assert!(differing.contains(&("task 10", What::Execution)), "{differing:?}");
        assert!(differing.contains(&("task 20", What::Response)), "{differing:?}");
        assert!(!differing.contains(&("task 20", What::Execution)), "{differing:?}");
        let delayed = found.pairs.iter().find(|pair| pair.name == "task 20").unwrap();
        assert_eq!(delayed.cause.as_ref().unwrap().name, "task 10");
    }

    #[test]
    fn a_thread_that_is_held_up_longer_differs_and_the_table_says_by_whom() {
        let mut before = thread("control", 7, 1, 200_000, 50_000);
        before.preempted_by =
            vec![by("kworker/1:0", 100_000_000), by("logger", 150_000_000)].into();
        let mut after = thread("control", 4711, 2, 200_000, 90_000);
        after.preempted_by = vec![by("logger", 350_000_000), by("kworker/1:0", 100_000_000)].into();
        let found = compare(
            ["before", "after"],
            &report([before]),
            &report([after, thread("new", 9, 3, 1, 0)]),
        );
        assert_eq!(found.pairs[0].tids, [7, 4711]);
        let cause = found.pairs[0].cause.as_ref().unwrap();
        assert_eq!((cause.name.as_str(), cause.each_ns), ("logger", [30_000.0, 70_000.0]));
        let text: Vec<String> = found.tables().iter().map(terminal::table).collect();
        insta::assert_snapshot!(text.join("\n"), @r"
before → after
──────────────────────────────────
                   before   after
──────────────────────────────────
Length             5.00 s  5.00 s
Switches a second   2 000   2 000
Processors busy    25.0 %  25.0 %
Missed deadlines        0       0
──────────────────────────────────
1 of 3 figures differ by more than noise; threads only in after: new
Compared figures
────────────────────────────────────────────────────────────────────────────────────────────────────────────
Thread   Figure                  Mean        Difference   Interval at 95 %  Verdict                     Max
────────────────────────────────────────────────────────────────────────────────────────────────────────────
control  execution    210 µs → 210 µs  -121 ns (-0.1 %)   -378 ns … 136 ns  within noise    220 µs → 220 µs
control  response     260 µs → 300 µs  39.9 µs (15.3 %)  39.6 µs … 40.1 µs  differs         270 µs → 310 µs
control  interval   1.00 ms → 1.00 ms  -121 ns (-0.0 %)   -378 ns … 136 ns  within noise  1.01 ms → 1.01 ms
────────────────────────────────────────────────────────────────────────────────────────────────────────────
All figures of the first tasks and periodic threads, and those of the others that differ. Noise is
that within the recordings; what changes from one start to the next is in neither.
Threads that made the difference
────────────────────────────────────────────────────
Thread   Delay                      before    after
────────────────────────────────────────────────────
control  logger had the processor  30.0 µs  70.0 µs
────────────────────────────────────────────────────
The mean delay in each invocation of the thread, where it changed most.
");
    }

    #[test]
    fn the_thread_behind_a_lock_holder_is_named_as_the_cause() {
        // `high` and `low` share a mutex without a protocol; in B, `middle` keeps `low` from handing it over.
        let record = |seed, middle: u64| {
            let section = |after_us: u64, length_us: u64| synthetic::Section {
                mutex: 0,
                protocol: synthetic::Protocol::None,
                after_ns: after_us * 1000,
                length_ns: length_us * 1000,
            };
            let task = |name: &str, tid, period_us: u64, execution_us: u64| synthetic::Task {
                name: name.into(),
                tid,
                priority: tid as i16,
                period_ns: period_us * 1000,
                execution_min_ns: execution_us * 900,
                execution_max_ns: execution_us * 1100,
                ..synthetic::Task::default()
            };
            let tasks = [
                synthetic::Task {
                    section: Some(section(50, 20)),
                    offset_ns: 1_100_000,
                    ..task("high", 10, 10_000, 100)
                },
                synthetic::Task { offset_ns: 1_200_000, ..task("middle", 20, 10_000, middle) },
                synthetic::Task {
                    section: Some(section(20, 400)),
                    offset_ns: 1_000_000,
                    ..task("low", 30, 10_000, 600)
                },
            ];
            analyze(&synthetic::run(&tasks, 5_000_000_000, seed).0, &Options::default())
        };
        let found = compare(["a", "b"], &record(1, 100), &record(2, 2_000));
        let high = found.pairs.iter().find(|pair| pair.name == "high").unwrap();
        let cause = high.cause.as_ref().expect("a thread made the difference");
        assert_eq!(cause.name, "low");
        assert_eq!((cause.way, cause.behind.as_deref()), (Way::Awaited, Some("middle")));
    }

    #[test]
    fn threads_of_one_name_are_paired_in_the_order_of_their_numbers() {
        let workers = |tids: &[u32]| {
            report(tids.iter().map(|tid| thread("worker", *tid, 1, 1000, 0)).collect::<Vec<_>>())
        };
        let found = compare(["a", "b"], &workers(&[30, 10, 20]), &workers(&[5, 6]));
        let tids: Vec<_> = found.pairs.iter().map(|pair| pair.tids).collect();
        assert_eq!(tids, [[10, 5], [20, 6]]);
        assert_eq!(found.remarks, ["threads only in a: worker"]);
    }

    #[test]
    fn few_invocations_say_too_little_and_gaps_are_said() {
        let mut stream = Stream::default();
        stream.push(1000);
        let few = ThreadReport {
            name: "once".into(),
            execution_ns: stream.distribution(),
            ..ThreadReport::default()
        };
        let mut side = report([few]);
        side.lost_events = 12;
        let found = compare(["a", "b"], &side, &report(side.threads.clone()));
        assert_eq!(found.pairs[0].figures[0].verdict, ChangeVerdict::Unknown);
        assert_eq!(
            found.remarks,
            ["a has 0 gaps (12 events lost): what happened in them is in no figure"]
        );
        assert_eq!(compare(["a", "b"], &Report::default(), &Report::default()).pairs, []);
    }
}
