//! The requests of the page: recordings, windows of their timelines, jobs, figures.
//!
//! Times in requests and responses are nanoseconds from the start of the recording, so that they are exact in the page.
//! A window has many spans, so it is binary, little-endian:
//!
//! ```text
//! u32             rows
//! per row         u32 spans
//! per span        f32 x   f32 width   u32 key   4 × u8 share: running, waiting, blocked, unknown
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Json, Router};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use hemiola_analyze::sched::compare::compare as compare_reports;
use hemiola_analyze::sched::{
    self, Culprit, Distribution, Explainer, Interference, Miss, PeriodFrom, TaskReport,
    ThreadReport,
};
use hemiola_analyze::timeline::find::{Place, Query as Search, What, find as find_places};
use hemiola_analyze::timeline::jobs::{self, Job};
use hemiola_analyze::timeline::{
    Gap, PIXELS_MAX, Row, Segment, State as Doing, Subject, range as ranges,
};
use hemiola_model::schedulability::verdict;

use super::plots;
use super::source::{Loaded, Source, SourceError, Sources};

/// The report of a result folder has inline styles.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// Rows in one request.
const ROWS_MAX: usize = 400;
/// Jobs or marks of one row that are listed individually.
const DETAILS_MAX: usize = 400;
/// Places that are listed for a search.
const FOUND_MAX: usize = 200;
/// Segments of one row beyond which its wake-ups are not listed.
const SEGMENTS_MAX: usize = 2_000;
/// Segments of one row beyond which its jobs are not listed.
const SEGMENTS_WITH_JOBS_MAX: usize = 100_000;
/// Threads that are listed in a measured range.
const THREADS_MAX: usize = 100;
/// Gaps that are listed individually.
const GAPS_MAX: usize = 2_000;

/// The answers to all requests of the page.
pub(crate) fn answers(sources: Arc<Sources>) -> Router {
    Router::new()
        .route("/{token}/report", answer(report_page))
        .nest("/{token}/api", routes())
        .with_state(sources)
}

fn routes() -> Router<Arc<Sources>> {
    Router::new()
        .route("/sources", answer(list))
        .route("/recording", answer(recording))
        .route("/window", answer(window))
        .route("/details", answer(details))
        .route("/job", answer(job))
        .route("/slice", answer(slice))
        .route("/range", answer(range))
        .route("/find", answer(find))
        .route("/report", answer(report))
        .route("/compare", answer(compare))
        .route("/plot/utilization", answer(utilization))
        .route("/plot/counters", answer(counters))
        .route("/plot/response", answer(response))
}

/// Answers a request with what `answer` makes of the state and the query.
pub(crate) fn answer<S, Q, A>(answer: fn(&S, Q) -> Result<A, Refusal>) -> MethodRouter<Arc<S>>
where
    S: Send + Sync + 'static,
    Q: DeserializeOwned + Send + 'static,
    A: IntoResponse + Send + 'static,
{
    get(async move |State(state): State<Arc<S>>, Query(query): Query<Q>| {
        beside(move || answer(&state, query)).await
    })
}

/// Does the work on another thread, so that the server keeps answering while it reads, computes or waits.
pub(crate) async fn beside<A: Send + 'static>(
    work: impl FnOnce() -> Result<A, Refusal> + Send + 'static,
) -> Result<A, Refusal> {
    let failed = |_| Refusal(StatusCode::INTERNAL_SERVER_ERROR, "the computation failed".into());
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

/// Selects nothing.
#[derive(Deserialize)]
struct Nothing {}

/// Selects a recording.
#[derive(Deserialize)]
struct Of {
    #[serde(default, rename = "r")]
    recording: usize,
}

/// Selects a time range of some rows.
#[derive(Deserialize)]
struct Stretch {
    #[serde(default, rename = "r")]
    recording: usize,
    from: u64,
    to: u64,
    #[serde(default, rename = "px")]
    pixels: u32,
    /// Comma-separated row numbers.
    #[serde(default)]
    rows: String,
}

/// Selects a time, or a job, in a row.
#[derive(Deserialize)]
struct Moment {
    #[serde(default, rename = "r")]
    recording: usize,
    row: usize,
    #[serde(default)]
    at: u64,
    /// The number of the job, instead of a time.
    #[serde(default)]
    job: Option<usize>,
}

/// Selects what happened from a time on.
#[derive(Deserialize)]
struct Wanted {
    #[serde(default, rename = "r")]
    recording: usize,
    text: String,
    #[serde(default)]
    from: u64,
}

/// Why a request failed.
pub(crate) struct Refusal(pub(crate) StatusCode, pub(crate) String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

impl From<SourceError> for Refusal {
    fn from(error: SourceError) -> Self {
        Self(StatusCode::NOT_FOUND, error.to_string())
    }
}

/// The report page of the recording's result folder.
fn report_page(sources: &Sources, of: Of) -> Result<Response, Refusal> {
    let page = sources.get(of.recording).ok().and_then(|source| source.report.clone());
    let Some(Ok(bytes)) = page.map(std::fs::read) else {
        let reason = "this recording has no report".to_owned();
        return Err(Refusal(StatusCode::NOT_FOUND, reason));
    };
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, REPORT_POLICY),
    ];
    Ok((headers, bytes).into_response())
}

fn no_row(row: usize) -> Refusal {
    Refusal(StatusCode::NOT_FOUND, format!("there is no row {row}"))
}

fn list(sources: &Sources, _: Nothing) -> Result<Json<Value>, Refusal> {
    sources.look_again();
    let shown = sources.first_shown();
    let list: Vec<Value> = sources
        .all()
        .iter()
        .map(|source| {
            let (grows, version) = source.state();
            json!({
                "name": source.name,
                "path": source.path.display().to_string(),
                "report": source.report.is_some(),
                "grows": grows,
                "version": version,
            })
        })
        .collect();
    let version = env!("CARGO_PKG_VERSION");
    Ok(Json(json!({ "recordings": list, "shown": shown, "version": version })))
}

/// What the page shows of a recording before any window of it. Times are from its beginning, ns.
#[derive(Serialize)]
struct Overview<'r> {
    version: u64,
    from_ns: u64,
    duration_ns: u64,
    began_unix_ms: Option<i64>,
    events: u64,
    switches: u64,
    lost: u64,
    /// Processor, from, to, lost events.
    gaps: Vec<(u16, u64, u64, u64)>,
    gaps_all: usize,
    /// Gaps in which events were lost.
    gaps_lost: usize,
    /// Stretches for which nothing was to be recorded: pauses, and times when a processor was offline.
    pauses: usize,
    names: &'r [String],
    conditions: &'r [(String, String)],
    problems: Vec<String>,
    /// Whether the file is still being written.
    in_progress: bool,
    rows: Vec<ShownRow<'r>>,
}

/// A row of the page.
#[derive(Serialize)]
struct ShownRow<'r> {
    row: usize,
    running_ns: u64,
    waiting_ns: u64,
    segments: usize,
    #[serde(flatten)]
    subject: ShownSubject<'r>,
}

/// The subject of a row, as the page names it.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum ShownSubject<'r> {
    Cpu { cpu: u16 },
    Irq { cpu: u16 },
    Thread { tid: u32, pid: u32, name: &'r str, marked: usize, marks: usize },
    Slices { below: Option<usize>, pid: u32, name: &'r str, depth: u16, marks: usize },
}

fn recording(sources: &Sources, of: Of) -> Result<Response, Refusal> {
    let loaded = sources.loaded(of.recording)?;
    let source = sources.get(of.recording)?;
    Ok(Json(overview(&source, &loaded)).into_response())
}

fn overview<'r>(source: &Source, loaded: &'r Loaded) -> Overview<'r> {
    let timeline = &loaded.timeline;
    let from = timeline.from.nanos();
    let below = |row: usize| match timeline.rows[row].subject {
        Subject::Slices { below, .. } => below,
        _ => None,
    };
    let above: BTreeSet<usize> = timeline.slice_rows().filter_map(below).collect();
    let rows = timeline.rows.iter().enumerate();
    let rows = rows.filter(|(index, row)| is_shown(row) || above.contains(index));
    let gaps = timeline.gaps.iter().take(GAPS_MAX).map(|gap| {
        let [begin, end] = [gap.from_ns, gap.to_ns].map(|at| at.saturating_sub(from));
        (gap.cpu, begin, end, gap.lost)
    });
    let (own, grows) = (hemiola_trace::is_ours(&loaded.conditions), source.grows());
    let real = timeline.gaps.iter().filter(|gap| gap.lost > 0 || gap.from_ns < gap.to_ns);
    let (losses, pauses): (Vec<&Gap>, Vec<&Gap>) = real.partition(|gap| gap.is_loss(own));
    Overview {
        version: loaded.version,
        from_ns: from,
        duration_ns: timeline.to.nanos().saturating_sub(from),
        began_unix_ms: loaded.began.map(|(at, unix)| {
            let wall = i128::from(unix) + i128::from(from) - i128::from(at.nanos());
            (wall / 1_000_000) as i64
        }),
        events: timeline.events,
        switches: timeline.switches,
        lost: timeline.lost,
        gaps: gaps.collect(),
        gaps_all: timeline.gaps.len(),
        gaps_lost: losses.len(),
        pauses: Gap::stretches(pauses).0,
        names: &timeline.names,
        conditions: &loaded.conditions,
        problems: loaded.problems(grows),
        in_progress: loaded.is_in_progress(grows),
        rows: rows.map(|(index, row)| ShownRow::of(loaded, index, row)).collect(),
    }
}

/// Whether a row has anything to show.
fn is_shown(row: &Row) -> bool {
    match row.subject {
        Subject::Interrupts(_) => row.track.totals().of(Doing::Running) > 0,
        _ => !row.track.is_empty() || !row.marked.is_empty() || !row.marks.is_empty(),
    }
}

impl<'r> ShownRow<'r> {
    fn of(loaded: &Loaded, index: usize, row: &'r Row) -> Self {
        let totals = row.track.totals();
        let marks = row.marks.len();
        let subject = match &row.subject {
            Subject::Processor(cpu) => ShownSubject::Cpu { cpu: *cpu },
            Subject::Interrupts(cpu) => ShownSubject::Irq { cpu: *cpu },
            Subject::Thread { tid, pid, name } => {
                ShownSubject::Thread { tid: *tid, pid: *pid, name, marked: row.marked.len(), marks }
            }
            Subject::Slices { below, pid, name, depth } => {
                ShownSubject::Slices { below: *below, pid: *pid, name, depth: *depth, marks }
            }
        };
        Self {
            row: index,
            running_ns: loaded.running(index),
            waiting_ns: totals.of(Doing::Ready),
            segments: row.track.len(),
            subject,
        }
    }
}

impl Stretch {
    fn rows(&self) -> Result<Vec<usize>, Refusal> {
        let wrong =
            |_| Refusal(StatusCode::BAD_REQUEST, "`rows` must be comma-separated numbers".into());
        let words = self.rows.split(',').filter(|word| !word.is_empty()).take(ROWS_MAX);
        words.map(|word| word.parse().map_err(wrong)).collect()
    }
}

fn window(sources: &Sources, stretch: Stretch) -> Result<Response, Refusal> {
    let loaded = sources.loaded(stretch.recording)?;
    let timeline = &loaded.timeline;
    let base = timeline.from.nanos();
    let (from, to) = (base.saturating_add(stretch.from), base.saturating_add(stretch.to));
    let rows = stretch.rows()?;
    let mut bytes = Vec::with_capacity(1 << 16);
    bytes.extend((rows.len() as u32).to_le_bytes());
    for row in rows {
        let spans = timeline.window(from, to, stretch.pixels.min(PIXELS_MAX), row);
        bytes.extend((spans.len() as u32).to_le_bytes());
        for span in spans {
            bytes.extend(span.x.to_le_bytes());
            bytes.extend(span.width.to_le_bytes());
            bytes.extend(span.key.to_le_bytes());
            bytes.extend(span.shares);
        }
    }
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

/// Jobs, marks and wake-ups of rows, if there are few enough to list.
fn details(sources: &Sources, stretch: Stretch) -> Result<Json<Value>, Refusal> {
    let loaded = sources.loaded(stretch.recording)?;
    let base = loaded.timeline.from.nanos();
    let (from, to) = (base.saturating_add(stretch.from), base.saturating_add(stretch.to));
    let mut rows = serde_json::Map::new();
    for index in stretch.rows()? {
        let Some(row) = loaded.timeline.rows.get(index) else { continue };
        let inside = row.track.at(to).unwrap_or(0) - row.track.at(from.min(to)).unwrap_or(0);
        // A list of all jobs of a long row takes time and memory, and so many jobs would not be drawn one by one.
        let list = match inside {
            0..=SEGMENTS_WITH_JOBS_MAX => loaded.jobs(index),
            _ => Arc::default(),
        };
        let listed = list.foremost(from, to, DETAILS_MAX);
        let listed: Vec<Value> =
            listed.iter().map(|(number, job)| brief(job, *number, base)).collect();
        let first = row.marks.partition_point(|mark| mark.at < from);
        let marks = &row.marks[first..row.marks.partition_point(|mark| mark.at < to).max(first)];
        let marks: Vec<Value> = match marks.len() {
            0..=DETAILS_MAX => {
                marks.iter().map(|mark| json!([mark.at.saturating_sub(base), mark.name])).collect()
            }
            _ => Vec::new(),
        };
        let wakes = loaded.timeline.wake_ups(index, from, to, SEGMENTS_MAX);
        let wakes: Vec<Value> =
            wakes.iter().map(|(at, by)| json!([at.saturating_sub(base), by])).collect();
        let about = json!({ "jobs": listed, "marks": marks, "wakes": wakes });
        rows.insert(index.to_string(), about);
    }
    Ok(Json(Value::Object(rows)))
}

fn brief(job: &Job, number: usize, base: u64) -> Value {
    let relative = |at: u64| at as i64 - base as i64;
    json!({
        "job": number,
        "release": relative(job.release),
        "finish": relative(job.finish),
        "deadline": job.deadline.map(relative),
        "late": job.late(),
        "cycle": job.cycle,
        "whole": job.whole,
    })
}

/// The slice of another program at a moment: its name, beginning and end.
fn slice(sources: &Sources, moment: Moment) -> Result<Json<Value>, Refusal> {
    let loaded = sources.loaded(moment.recording)?;
    let base = loaded.timeline.from.nanos();
    let row = loaded.timeline.rows.get(moment.row).ok_or_else(|| no_row(moment.row))?;
    let index = row.track.at(base.saturating_add(moment.at));
    let segment = index.map(|index| row.track.segment(index));
    let is_slice = |segment: &Segment| segment.state == Doing::Running;
    let describe = |segment: Segment| {
        let [from, to] = [segment.from, segment.to].map(|at| at.saturating_sub(base));
        json!({ "name": segment.key, "from": from, "to": to })
    };
    Ok(Json(json!({ "slice": segment.filter(is_slice).map(describe) })))
}

/// One job and the median job: how each spent its time and what delayed it.
fn job(sources: &Sources, moment: Moment) -> Result<Json<Value>, Refusal> {
    let loaded = sources.loaded(moment.recording)?;
    if moment.row >= loaded.timeline.rows.len() {
        return Err(no_row(moment.row));
    }
    let list = loaded.jobs(moment.row);
    let base = loaded.timeline.from.nanos();
    let number = match moment.job {
        Some(job) => Some(job.min(list.len().saturating_sub(1))).filter(|_| !list.is_empty()),
        None => list.at(base.saturating_add(moment.at)),
    };
    let describe =
        |number: usize| list.get(number).map(|job| describe_job(&loaded, moment.row, &job, number));
    Ok(Json(json!({
        "count": list.len(),
        "all": loaded.timeline.rows[moment.row].busy.number(list.len(), u64::MAX),
        "job": number.and_then(describe),
        "median": list.median().and_then(describe),
        "slowest": list.slowest(),
    })))
}

fn describe_job(loaded: &Loaded, row: usize, job: &Job, number: usize) -> Value {
    let timeline = &loaded.timeline;
    let base = timeline.from.nanos();
    let account = jobs::account(timeline, row, job, number);
    let explainer = Explainer::new(&loaded.report);
    let explained = account.job.as_ref().map(|job| explainer.explain(job));
    let delay = |of: &sched::Job, delay: &sched::Delay| {
        let by = match delay.who {
            Culprit::Thread(tid) => timeline.row_of(tid, of.finish_ns),
            _ => None,
        };
        let words = explainer.delay(of, delay);
        json!({ "kind": delay.kind, "who": delay.who, "by": by, "ns": delay.ns, "words": words })
    };
    let delays = account.job.iter().flat_map(|of| of.delays.iter().map(move |one| (of, one)));
    let delays: Vec<Value> = delays.map(|(of, one)| delay(of, one)).collect();
    let pieces: Vec<Value> = account
        .pieces
        .iter()
        .map(|piece| {
            let at = piece.from as i64 - base as i64;
            json!([at, piece.to - piece.from, piece.state as u8, piece.key])
        })
        .collect();
    let task = loaded.report.tasks.iter().find(|task| Some(task.track) == job.track);
    let task = task.map(|task| task.name.as_str());
    let busy = &timeline.rows[row].busy;
    let mut value = brief(job, number, base);
    if let Some(value) = value.as_object_mut() {
        value.extend([
            ("number".into(), json!(busy.number(number, job.release))),
            ("jobs".into(), json!(busy.count(job.release))),
            ("task".into(), json!(task)),
            ("response".into(), json!(job.response())),
            ("running".into(), json!(account.running)),
            ("interrupted".into(), json!(account.interrupted)),
            ("waiting".into(), json!(account.waiting)),
            ("blocked".into(), json!(account.blocked)),
            ("asleep".into(), json!(account.asleep)),
            ("unknown".into(), json!(account.unknown)),
            ("woken_by".into(), json!(account.woken_by)),
            ("delays".into(), json!(delays)),
            ("words".into(), json!(explained)),
            ("pieces".into(), json!(pieces)),
        ]);
    }
    value
}

/// A stretch in figures: the processors, and the busiest threads with their jobs.
fn range(sources: &Sources, stretch: Stretch) -> Result<Json<Value>, Refusal> {
    let loaded = sources.loaded(stretch.recording)?;
    let timeline = &loaded.timeline;
    let base = timeline.from.nanos();
    let (from, to) = (base.saturating_add(stretch.from), base.saturating_add(stretch.to));
    let threads = ranges::threads(timeline, from, to);
    let thread = |of: &ranges::InRange| {
        let jobs = ranges::jobs(timeline, of.row, &loaded.jobs(of.row), from, to);
        json!({
            "row": of.row,
            "running": of.totals.of(Doing::Running),
            "waiting": of.totals.of(Doing::Ready),
            "blocked": of.totals.of(Doing::Blocked),
            "unknown": of.totals.of(Doing::Unknown),
            "jobs": jobs.count,
            "execution_mean": (jobs.count > 0).then(|| jobs.execution_ns / jobs.count),
            "execution_max": jobs.execution_max_ns,
        })
    };
    let cpus = timeline.rows.iter().enumerate().filter_map(|(row, of)| match of.subject {
        Subject::Processor(_) => {
            let running = of.track.totals_between(from, to).of(Doing::Running);
            Some(json!({ "row": row, "running": running }))
        }
        _ => None,
    });
    Ok(Json(json!({
        "cpus": cpus.collect::<Vec<_>>(),
        "threads": threads.iter().take(THREADS_MAX).map(thread).collect::<Vec<_>>(),
        "count": threads.len(),
    })))
}

/// Events and marks that a text selects.
fn find(sources: &Sources, wanted: Wanted) -> Result<Json<Value>, Refusal> {
    let loaded = sources.loaded(wanted.recording)?;
    let base = loaded.timeline.from.nanos();
    let from = base.saturating_add(wanted.from);
    let (places, more) = find_places(&loaded.timeline, &Search::new(&wanted.text), from, FOUND_MAX);
    let describe = |&Place { at, row, what }: &Place| {
        let (mark, state, key) = match what {
            What::Mark(name) => (Some(name), None, None),
            What::Begins(state, key) => (None, Some(state as u8), Some(key)),
        };
        json!({ "at": at.saturating_sub(base), "row": row, "mark": mark, "state": state, "key": key })
    };
    let places: Vec<Value> = places.iter().map(describe).collect();
    Ok(Json(json!({ "places": places, "more": more })))
}

/// The figures that the page shows. All figures, which `hemiola analyze --json` prints, may have hundreds of megabytes.
#[derive(Serialize)]
struct Figures<'r> {
    switches: u64,
    lost_events: u64,
    threads: Vec<ShownThread>,
    tasks: Vec<OfRow<'r, TaskReport>>,
    misses: Vec<OfRow<'r, Miss>>,
    missed_deadlines: u64,
    notes: &'r [String],
    verdict: Value,
}

/// Figures with the row of their thread: a number may be used again.
#[derive(Serialize)]
struct OfRow<'r, T> {
    row: Option<usize>,
    #[serde(flatten)]
    of: &'r T,
}

/// A thread with the culprit that delayed it most.
#[derive(Serialize)]
struct ShownThread {
    tid: u32,
    running_ns: u64,
    invocations: u64,
    period_ns: Option<u64>,
    period_from: Option<PeriodFrom>,
    utilization: f64,
    missed: u64,
    execution_ns: Option<Brief>,
    latency_ns: Option<Brief>,
    response_ns: Option<Brief>,
    preempted_by: Option<[Interference; 1]>,
}

/// A distribution in a table.
#[derive(Serialize)]
struct Brief {
    mean: f64,
    p50: u64,
    p99: u64,
    max: u64,
}

impl ShownThread {
    fn of(thread: &ThreadReport) -> Self {
        let brief = |of: &Option<Distribution>| {
            let of = of.as_ref()?;
            Some(Brief { mean: of.mean, p50: of.p50, p99: of.p99, max: of.max })
        };
        Self {
            tid: thread.tid,
            running_ns: thread.running_ns,
            invocations: thread.invocations,
            period_ns: thread.period_ns,
            period_from: thread.period_from,
            utilization: thread.utilization,
            missed: thread.missed,
            execution_ns: brief(&thread.execution_ns),
            latency_ns: brief(&thread.latency_ns),
            response_ns: brief(&thread.response_ns),
            preempted_by: thread.preempted_by.first().map(|most| [most]),
        }
    }
}

fn report(sources: &Sources, of: Of) -> Result<Response, Refusal> {
    let loaded = sources.loaded(of.recording)?;
    let report = &loaded.report;
    let verdict = verdict(report, sources.switch);
    let words: Vec<&String> = verdict
        .processors
        .iter()
        .map(|processor| &processor.verdict)
        .chain(verdict.reservations.iter().map(|of| &of.verdict))
        .chain(&verdict.notes)
        .collect();
    let timeline = &loaded.timeline;
    let row = |task: &TaskReport| timeline.tracks.get(task.track).copied().flatten();
    let tasks = report.tasks.iter().map(|task| OfRow { row: row(task), of: task });
    let row = |miss: &Miss| timeline.row_of_job(&miss.job);
    let misses = report.misses.iter().map(|miss| OfRow { row: row(miss), of: miss });
    let figures = Figures {
        switches: report.switches,
        lost_events: report.lost_events,
        threads: report.threads.iter().map(ShownThread::of).collect(),
        tasks: tasks.collect(),
        misses: misses.collect(),
        missed_deadlines: report.missed_deadlines,
        notes: &report.notes,
        verdict: json!({ "words": words, "tables": verdict.tables() }),
    };
    Ok(Json(figures).into_response())
}

/// Selects two recordings.
#[derive(Deserialize)]
struct Two {
    a: usize,
    b: usize,
}

/// Compares two recordings; each difference is within noise or not.
fn compare(sources: &Sources, two: Two) -> Result<Json<Value>, Refusal> {
    let (a, b) = (sources.loaded(two.a)?, sources.loaded(two.b)?);
    let names = [sources.get(two.a)?.name.clone(), sources.get(two.b)?.name.clone()];
    let comparison = compare_reports([&names[0], &names[1]], &a.report, &b.report);
    Ok(Json(json!({ "tables": comparison.tables(), "remarks": comparison.remarks })))
}

fn utilization(sources: &Sources, stretch: Stretch) -> Result<Response, Refusal> {
    let loaded = sources.loaded(stretch.recording)?;
    Ok(drawing(plots::utilization(&loaded.timeline, stretch.from, stretch.to)))
}

/// The numbers that programs marked.
fn counters(sources: &Sources, stretch: Stretch) -> Result<Response, Refusal> {
    let loaded = sources.loaded(stretch.recording)?;
    Ok(drawing(plots::counters(&loaded.timeline, stretch.from, stretch.to)))
}

fn response(sources: &Sources, moment: Moment) -> Result<Response, Refusal> {
    let loaded = sources.loaded(moment.recording)?;
    if moment.row >= loaded.timeline.rows.len() {
        return Err(no_row(moment.row));
    }
    Ok(drawing(plots::response(&loaded.jobs(moment.row), loaded.timeline.from.nanos())))
}

fn drawing(svg: String) -> Response {
    ([(header::CONTENT_TYPE, "image/svg+xml")], svg).into_response()
}
