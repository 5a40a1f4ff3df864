//! `hemiola analyze`: the analysis of a recording as tables, JSON, CSV or a text chart.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use hemiola_analyze::sched::{
    self, MarkReport, Of, Options, Report, TaskReport, ThreadReport, Wanted, Who, csv, gantt,
    tables,
};
use hemiola_diagnostic::did_you_mean;
use hemiola_model::machine::{Figure, Machine};
use hemiola_model::schedulability::{SchedulabilityVerdict, doubts_of_jobs, missed_of, verdict};
use hemiola_report::json::InPieces;
use hemiola_report::table::Table;
use hemiola_report::terminal;
use hemiola_report::text::{count, duration};
use hemiola_trace::Recording;
use hemiola_units::Span;

use crate::args::{Analyze, Period, Stretch};
use crate::diagnostics::{Failure, gate, shown};
use crate::measure::read_machine;
use crate::model::check::newest;
use crate::recording::{self, Problems};
use crate::spill::SpillFile;

/// Width of the chart.
const COLUMNS: usize = 120;

/// Jobs of one thread that are searched for the slowest ones.
const JOBS_MAX: usize = 1_000_000;

/// The machine figure for the cost of a switch between two processes on one processor.
const SWITCH: &str = "context_switch.pipe.same_core.warm";

/// The output of `--json`: the report and the verdict on it.
#[derive(serde::Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    report: &'a Report,
    schedulability: &'a SchedulabilityVerdict,
    problems: &'a Problems,
}

pub(crate) fn analyze(args: &Analyze) -> Result<ExitCode, Failure> {
    let opened = recording::open(&args.file)?;
    let recording = &opened.recording;
    let options = options(&args.period);
    let spill = Arc::new(SpillFile::new());
    let report = sched::analyze_spilling(recording, &options, Arc::clone(&spill) as _);
    let problems = opened.problems(&report);
    if let Some(problem) = spill.problem() {
        eprintln!("warning: {problem}");
    }
    for period in &args.period {
        must_exist(&report, &period.of)?;
    }
    let judge = || Ok::<_, Failure>(verdict(&report, switch(args.machine.as_deref())?));
    let mut judged = None;
    if args.json {
        let schedulability = judged.insert(judge()?);
        let whole = Whole { report: &report, schedulability, problems: &problems };
        print!("{}", InPieces(&whole));
    } else if args.csv {
        print!("{}", csv::write(&report));
    } else if let Some(stretch) = args.gantt {
        print!("{}", picture(args, recording, &report, stretch)?);
    } else {
        let title = format!("Analysis of {}", args.file.display());
        let mut notes = report.notes.clone();
        let tables = match &args.thread {
            Some(name) => one_thread(recording, &options, &report, name)?,
            None => {
                let schedulability = judged.insert(judge()?);
                let mut tables = everything(args, &report)?;
                tables.extend(schedulability.tables());
                notes.extend_from_slice(&schedulability.notes);
                tables
            }
        };
        // Tables already show the counters read from `/proc` and the reservations of threads.
        let conditions: Vec<(String, String)> = recording
            .conditions
            .iter()
            .filter(|(name, _)| !name.starts_with("proc.") && !name.starts_with("sched."))
            .cloned()
            .collect();
        print!("{}", terminal::document(&title, &tables, &notes, &conditions));
    }
    let code = problems.exit_code(args.strict);
    if !args.gate || code != ExitCode::SUCCESS {
        return Ok(code);
    }
    let judged = judged.map_or_else(judge, Ok)?;
    Ok(gate(true, &not_kept(&report, &judged, &args.period)))
}

/// What does not let `--gate` pass. A stated period is also a deadline, and without a job nobody knows that it is kept,
/// nor where the wake-ups leave it open. Nor does anybody know it of a task of whose marked jobs none was seen to its
/// end, where a job states its deadline. Where periods are stated, other threads count only if their jobs are marked.
fn not_kept(
    report: &Report,
    schedulability: &SchedulabilityVerdict,
    periods: &[Period],
) -> Vec<String> {
    let unjudged = periods.iter().filter(|Period { of, .. }| jobs_of(report, of) == 0);
    let unjudged = unjudged.map(|Period { of, period }| {
        format!("no job of {of} was seen to its end, so nothing shows that it keeps {period}")
    });
    let doubtful = periods.iter().flat_map(|Period { of, period }| {
        let threads = report.threads.iter().filter(|thread| is_called(thread, of));
        let unmarked = threads.filter(|thread| {
            thread.has_foreign_marks || report.tasks.iter().all(|task| task.tid != thread.tid)
        });
        let doubts = unmarked.flat_map(doubts_of_jobs);
        doubts.map(move |doubt| format!("it is not known that {of} keeps {period}: {doubt}"))
    });
    let is_stated = |task: &&TaskReport| periods.iter().any(|Period { of, .. }| is_task(task, of));
    let unseen = report.tasks.iter().filter(|task| task.jobs == 0 && task.incomplete > 0);
    let unseen = unseen.filter(|task| !is_stated(task)).map(|task| {
        let deadline = task.deadline_ns.map_or_else(
            || "a deadline".to_owned(),
            |ns| format!("its deadline of {}", duration(ns as f64)),
        );
        format!(
            "no job of {} was seen to its end, so nothing shows that it keeps {deadline}",
            task.name
        )
    });
    let stated = stated_threads(report, periods);
    let missed = stated.as_ref().map(|tids| missed_of(report, tids));
    let missed = match missed.unwrap_or(report.missed_deadlines) {
        0 => None,
        1 => Some("a deadline was missed".to_owned()),
        more => Some(format!("{} deadlines were missed", count(more))),
    };
    let not_kept = stated.map_or_else(
        || schedulability.not_kept().collect(),
        |tids| schedulability.not_kept_by(&tids),
    );
    let not_kept = not_kept.into_iter().map(str::to_owned);
    missed.into_iter().chain(not_kept).chain(unjudged).chain(doubtful).chain(unseen).collect()
}

/// The threads on which somebody stated a requirement, with `--period` or by marks; nothing if none was stated with
/// `--period`.
fn stated_threads(report: &Report, periods: &[Period]) -> Option<Vec<u32>> {
    let is_named =
        |thread: &&ThreadReport| periods.iter().any(|Period { of, .. }| is_called(thread, of));
    let named = report.threads.iter().filter(is_named).map(|thread| thread.tid);
    let all = named.chain(report.tasks.iter().map(|task| task.tid));
    (!periods.is_empty()).then(|| all.collect())
}

/// The complete jobs of the threads and tasks of this name or number.
fn jobs_of(report: &Report, name: &str) -> u64 {
    let threads = report.threads.iter().filter(|thread| is_called(thread, name));
    let tasks = report.tasks.iter().filter(|task| is_task(task, name));
    let of_tasks = tasks.map(|task| task.jobs);
    threads.map(|thread| thread.invocations).chain(of_tasks).sum()
}

/// The options for these `--period` arguments.
pub(crate) fn options(periods: &[Period]) -> Options {
    let periods = periods.iter().map(|Period { of, period }| (who(of), *period)).collect();
    Options { periods, ..Options::default() }
}

fn who(text: &str) -> Who {
    text.parse().map_or_else(|_| Who::Name(text.to_owned()), Who::Tid)
}

fn everything(args: &Analyze, report: &Report) -> Result<Vec<Table>, Failure> {
    let mut tables = tables::tables(report);
    // Put the directly measured cost beside the difference of the two methods.
    if let Some(direct) =
        machine(args.machine.as_deref())?.as_ref().and_then(|machine| machine.figure(SWITCH))
        && let Some(table) = tables.iter_mut().find(|table| table.title == tables::TWO_METHODS)
    {
        table.note += &format!(
            " Measured directly ({SWITCH}): {} [{}, {}].",
            duration(direct.value),
            duration(direct.low),
            duration(direct.high)
        );
    }
    Ok(tables)
}

/// The machine file named by the user, or else the newest one if it can be read.
fn machine(given: Option<&Path>) -> Result<Option<Machine>, Failure> {
    match given {
        Some(path) => read_machine(path).map(Some),
        None => Ok(newest().ok().and_then(|path| read_machine(&path).ok())),
    }
}

/// The directly measured cost of one switch, which the verdict on the processors takes into account.
pub(crate) fn switch(given: Option<&Path>) -> Result<Option<Span>, Failure> {
    let machine = machine(given)?;
    let figure = machine.as_ref().and_then(|machine| machine.figure(SWITCH));
    let is_time = |figure: &&Figure| figure.unit == "ns" && figure.value > 0.0;
    Ok(figure.filter(is_time).map(|figure| Span::from_nanos(figure.value.ceil() as i64)))
}

fn one_thread(
    recording: &Recording,
    options: &Options,
    report: &Report,
    name: &str,
) -> Result<Vec<Table>, Failure> {
    let marks = tables::marks(report, |mark| is_marked_by(mark, name));
    if marks.rows.is_empty() {
        must_exist(report, name)?;
    }
    let threads = report.threads.iter().filter(|thread| is_called(thread, name));
    let mut tables: Vec<Table> = threads
        .flat_map(|thread| {
            let wanted =
                Wanted { of: Of::Thread(thread.tid), from_ns: 0, to_ns: u64::MAX, max: JOBS_MAX };
            let jobs = sched::jobs(recording, options, &wanted);
            tables::thread_tables(report, thread, &jobs)
        })
        .collect();
    tables.push(marks);
    tables.push(tables::texts(report, |mark| is_marked_by(mark, name)));
    tables.push(tables::calls(report, |mark| is_marked_by(mark, name)));
    tables.retain(|table| !table.rows.is_empty());
    Ok(tables)
}

/// Whether a mark is of the thread or track that a user names.
fn is_marked_by(mark: &MarkReport, name: &str) -> bool {
    match who(name) {
        Who::Tid(tid) => mark.tid == tid,
        Who::Name(name) => mark.track == name,
    }
}

fn picture(
    args: &Analyze,
    recording: &Recording,
    report: &Report,
    stretch: Stretch,
) -> Result<String, Failure> {
    let moment = |span: Span| report.from_ns.saturating_add(span.nanos().unsigned_abs());
    let (from_ns, to_ns) = (moment(stretch.from), moment(stretch.to).min(report.to_ns));
    if from_ns >= to_ns {
        return Err(Failure::bad_input(format!(
            "error: {} ends after {}, before the requested start at {}",
            shown(&args.file),
            duration((report.to_ns - report.from_ns) as f64),
            stretch.from
        )));
    }
    let only = match &args.thread {
        Some(name) => {
            must_exist(report, name)?;
            report.threads.iter().find(|thread| is_called(thread, name)).map(|thread| thread.tid)
        }
        None => None,
    };
    Ok(gantt::gantt(recording, report, gantt::Stretch { from_ns, to_ns, columns: COLUMNS, only }))
}

fn is_called(thread: &ThreadReport, name: &str) -> bool {
    match who(name) {
        Who::Tid(tid) => thread.tid == tid,
        Who::Name(name) => *thread.name == *name || thread.names_before.contains(&name),
    }
}

fn is_task(task: &TaskReport, name: &str) -> bool {
    who(name) == Who::Tid(task.tid) || task.name == name
}

/// Fails if no thread or task of the recording has this name or number.
pub(crate) fn must_exist(report: &Report, name: &str) -> Result<(), Failure> {
    let tasks = report.tasks.iter().map(|task| task.name.as_str());
    let threads = report.threads.iter().map(|thread| thread.name.as_str());
    let is_thread = report.threads.iter().any(|thread| is_called(thread, name));
    if is_thread || report.tasks.iter().any(|task| is_task(task, name)) {
        return Ok(());
    }
    let named = report.threads.iter().find(|thread| *thread.name == *name);
    let wanted = match named {
        Some(_) => format!("has the number {name}"),
        None => format!("is named {name:?}"),
    };
    let named =
        named.map(|of| format!("the thread of that name has the number {}: give that", of.tid));
    let similar = || did_you_mean(name, tasks.chain(threads));
    let hint = named.or_else(similar).unwrap_or_else(|| {
        "run `hemiola analyze` without --thread and --period to list every thread that ran"
            .to_owned()
    });
    Err(Failure::bad_input(format!(
        "error: no thread or task of the recording {wanted}\nhint: {hint}"
    )))
}
