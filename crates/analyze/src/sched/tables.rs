//! The tables of a report.

use super::report::{Distribution, Interference, Job, MarkKind, MarkReport, Report, ThreadReport};
use super::{explain, median_job};
use hemiola_report::table::Table;
use hemiola_report::text::{NONE, count, duration, number, percent, printable};

/// How many rows the tables of threads, delays and misses have; the JSON has all.
const ROWS_MAX: usize = 24;
/// The minimum share of the time in which processors must have been seen for their load to be stated.
const SEEN_MIN: f64 = 0.5;
/// The maximum number of culprits shown for one thread.
const CULPRITS_SHOWN: usize = 4;
/// How many of the slowest jobs of a thread are explained.
const SLOWEST: usize = 5;

/// The title of the table that holds `/proc` against the recording.
pub const TWO_METHODS: &str = "Processor use by two methods";

/// The tables of a report, empty ones left out.
#[must_use]
pub fn tables(report: &Report) -> Vec<Table> {
    let mut tables = vec![
        tasks(report),
        marks(report, |_| true),
        texts(report, |_| true),
        calls(report, |_| true),
        threads(report),
        interference(report),
        blocking(report),
        misses(report),
        processors(report),
        accounting(report),
    ];
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Everything about one thread. `jobs` are its own; the slowest of them are explained.
pub fn thread_tables(report: &Report, thread: &ThreadReport, jobs: &[Job]) -> Vec<Table> {
    let title = format!("{} [{}]", thread.name, thread.tid);
    let distribution = |name: &str, found: &Option<Distribution>| {
        let Distribution { count: n, min, mean, p50, p90, p99, max, std, .. } = found.as_ref()?;
        let figures =
            [*min as f64, *mean, *p50 as f64, *p90 as f64, *p99 as f64, *max as f64, *std];
        let mut row = vec![name.to_owned(), count(*n)];
        row.extend(figures.map(duration));
        Some(row)
    };
    let rows = [
        distribution("execution", &thread.execution_ns),
        distribution("latency", &thread.latency_ns),
        distribution("response", &thread.response_ns),
        distribution("interval", &thread.interval_ns),
        distribution("blocking", &thread.blocking_ns),
    ];
    let heads = "Time|Count|Min|Mean|p50|p90|p99|Max|Std".split('|');
    let figures = Table::new(title, heads, rows.into_iter().flatten().collect()).with_note(format!(
        "Priority {}; processors {}; T {}, release jitter {}; {} of processor time, {} ready, {} blocked, {} asleep; {} preemptions, {} \
         migrations; {} invocations seen in part only.{}",
        priority(thread.priority),
        list(thread.cpus.iter().map(u16::to_string)),
        time(thread.period_ns),
        time(thread.release_jitter_ns),
        duration(thread.running_ns as f64),
        duration(thread.waiting_ns as f64),
        duration(thread.blocked_ns as f64),
        duration(thread.sleeping_ns as f64),
        count(thread.preemptions),
        count(thread.migrations),
        count(thread.incomplete),
        reserved(thread),
    ));
    let by = thread
        .preempted_by
        .iter()
        .take(ROWS_MAX)
        .map(|entry| interference_row("", &entry).split_off(1));
    let by = Table::new(
        "Threads that had the processor while it was ready",
        ["By", "In total", "Before it began", "Times", "Longest"],
        by.collect(),
    );
    let waits = thread.blocked_by.iter();
    let waits = waits.map(|wait| {
        let times = [duration(wait.ns as f64), count(wait.times), duration(wait.longest_ns as f64)];
        std::iter::once(named(&wait.name, wait.tid)).chain(times).collect()
    });
    let waits = Table::new(
        "Threads that ended its waits within jobs",
        ["By", "In total", "Times", "Longest"],
        waits.collect(),
    );
    let wakers =
        thread.woken_by.iter().map(|waker| vec![named(&waker.name, waker.tid), count(waker.times)]);
    let wakers = Table::new("Threads that released it", ["By", "Times"], wakers.collect());
    let mut slowest: Vec<&Job> = jobs.iter().filter(|job| job.complete).collect();
    slowest.sort_by_key(|job| std::cmp::Reverse((job.response_ns(), job.release_ns)));
    slowest.truncate(SLOWEST);
    slowest.extend(median_job(jobs));
    let slowest =
        slowest.into_iter().map(|job| vec![when(report, job.release_ns), explain(job, report)]);
    let slowest = Table::new(
        "Its slowest jobs, and the median one last",
        ["Released at", "Why"],
        slowest.collect(),
    )
    .with_prose(&[1]);
    let mut tables = vec![figures, by, waits, wakers, slowest];
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// The reservation of a thread and its use, as a sentence.
fn reserved(thread: &ThreadReport) -> String {
    let Some(reservation) = thread.reservation else { return String::new() };
    let [runtime, deadline, period] =
        [reservation.runtime_ns, reservation.deadline_ns, reservation.period_ns]
            .map(|ns| duration(ns as f64));
    let throttled = duration(thread.throttled_ns as f64);
    format!(
        " SCHED_DEADLINE: {runtime} within {deadline} in each {period}; throttled {} times for {throttled}; {} deadlines \
         missed.",
        count(thread.throttles),
        count(thread.missed)
    )
}

fn threads(report: &Report) -> Table {
    let row = |thread: &ThreadReport| {
        let mut row = vec![
            thread.name.to_string(),
            thread.tid.to_string(),
            priority(thread.priority),
            count(thread.invocations),
        ];
        row.extend(execution(&thread.execution_ns));
        let period = thread.period_ns.map_or(NONE.to_owned(), |period| duration(period as f64));
        row.extend([period, percent(thread.utilization)]);
        row.extend(response(&thread.response_ns));
        row.extend([count(thread.preemptions), duration(thread.waiting_ns as f64)]);
        row
    };
    let shown =
        report.threads.iter().filter(|thread| thread.running_ns > 0 || thread.invocations > 0);
    let (all, rows) = (report.threads.len(), shown.take(ROWS_MAX).map(row).collect::<Vec<_>>());
    let more = match all.saturating_sub(rows.len()) {
        0 => String::new(),
        more => format!(" {} more threads are in --json and --csv.", count(more as u64)),
    };
    let heads =
        "Thread|Tid|Prio|Jobs|C min|mean|max|T|U|Response p50|p99|max|Preempted|Waited".split('|');
    let length_ns = report.to_ns - report.from_ns;
    let seen_ns: u64 = report.cpus.iter().map(|cpu| cpu.seen_ns).sum();
    let seen = seen_ns as f64 / (length_ns.max(1) as f64 * report.cpus.len().max(1) as f64);
    // Without the privilege, only the program's own threads are visible.
    let busy = match seen < SEEN_MIN {
        true => format!("processors seen {} of it", percent(seen)),
        false => format!("processors {} busy", percent(report.utilization)),
    };
    let title = format!(
        "Threads: {} switches in {}, {busy}, ΣC/T {}",
        count(report.switches),
        duration(length_ns as f64),
        percent(report.task_set_utilization),
    );
    Table::new(title, heads, rows).with_note(format!(
        "A job lasts from wake-up to sleep. C: processor time of a job, free of preemption. T: found in the wake-ups, \
         or given. U: C/T, without a period the share of the time. Response: from wake-up to sleep. Waited: ready \
         without a processor, altogether.{more}"
    ))
}

fn tasks(report: &Report) -> Table {
    let rows = report.tasks.iter().map(|task| {
        let mut row = vec![
            task.name.clone(),
            task.tid.to_string(),
            priority(task.priority),
            count(task.jobs),
        ];
        row.extend(execution(&task.execution_ns));
        row.extend([time(task.period_ns), time(task.deadline_ns), percent(task.utilization)]);
        row.extend(response(&task.response_ns));
        let late = task.lateness_max_ns.map_or(NONE.to_owned(), |late| duration(late as f64));
        row.extend([late, count(task.missed), count(task.skipped)]);
        row
    });
    let heads =
        "Task|Tid|Prio|Jobs|C min|mean|max|T|D|U|Response p50|p99|max|Lateness|Missed|Skipped"
            .split('|');
    Table::new("Marked tasks", heads, rows.collect()).with_note(
        "Jobs as the program marks them: response from release to finish, lateness the greatest finish − deadline.",
    )
}

/// What programs marked besides jobs, as far as it is wanted.
pub fn marks(report: &Report, is_wanted: impl Fn(&MarkReport) -> bool) -> Table {
    let wanted = wanted(report, |mark| mark.kind != MarkKind::Call && is_wanted(mark));
    let row = |mark: &&MarkReport| {
        let track = printable(&mark.track);
        let kind = match mark.kind {
            MarkKind::Slice | MarkKind::Call => "slice",
            MarkKind::Counter => "counter",
            MarkKind::Instant => "instant",
        };
        let not_finite = match mark.values.as_ref().map_or(0, |values| values.not_finite) {
            0 => String::new(),
            some => format!(" ({} not finite)", count(some)),
        };
        let figures = match (&mark.duration_ns, &mark.values) {
            (Some(of), _) => {
                let together = of.mean * of.count as f64;
                [of.min as f64, of.mean, of.max as f64, together].map(duration)
            }
            (None, Some(of)) => {
                let value = |value: f64| match value.is_finite() {
                    true => format!("{} {}", number(value), of.unit).trim_end().to_owned(),
                    false => NONE.to_owned(),
                };
                [value(of.min), value(of.mean), value(of.max), NONE.to_owned()]
            }
            (None, None) => [NONE; 4].map(str::to_owned),
        };
        let mut row = vec![
            if mark.tid == 0 { track } else { named(&track, Some(mark.tid)) },
            printable(&mark.name),
            kind.to_owned(),
            count(mark.count + mark.incomplete) + &not_finite,
        ];
        row.extend(figures);
        row
    };
    let more = beyond(&wanted);
    let rows = wanted.iter().take(ROWS_MAX).map(row).collect();
    Table::new("Marks", "Track|Mark|Kind|Count|Min|Mean|Max|Together".split('|'), rows)
        .with_prose(&[1])
        .with_note(format!(
            "Slices: from beginning to end, with everything that happened meanwhile; those without an end count, but are in \
             no other figure. Counters: their values.{more}"
        ))
}

/// The texts that programs marked, as far as they are wanted.
pub fn texts(report: &Report, is_wanted: impl Fn(&MarkReport) -> bool) -> Table {
    let wanted = wanted(report, is_wanted);
    let row = |mark: &MarkReport, text: String, times: u64| {
        let track = named(&printable(&mark.track), Some(mark.tid));
        vec![track, printable(&mark.name), text, count(times)]
    };
    let rows = wanted.iter().flat_map(|mark| {
        let others = (mark.other_texts > 0).then(|| ("other texts".to_owned(), mark.other_texts));
        let texts = mark.texts.iter().map(|of| (printable(&of.text), of.count));
        texts.chain(others).map(|(text, times)| row(mark, text, times))
    });
    let mut rows: Vec<_> = rows.collect();
    let more = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    let table = Table::new("Texts of marks", "Track|Mark|Text|Count".split('|'), rows);
    let table = table.with_prose(&[1, 2]);
    if more == 0 {
        table
    } else {
        table.with_note(format!("{} more are in --json.", count(more as u64)))
    }
}

fn wanted(report: &Report, is_wanted: impl Fn(&MarkReport) -> bool) -> Vec<&MarkReport> {
    report.marks.iter().filter(|mark| is_wanted(mark)).collect()
}

/// A sentence about the marks that a table leaves out.
fn beyond(marks: &[&MarkReport]) -> String {
    match marks.len().saturating_sub(ROWS_MAX) {
        0 => String::new(),
        more => format!(" {} more are in --json.", count(more as u64)),
    }
}

/// The system calls of threads, those that took longest before all others.
pub fn calls(report: &Report, is_wanted: impl Fn(&MarkReport) -> bool) -> Table {
    let wanted = wanted(report, |mark| mark.kind == MarkKind::Call && is_wanted(mark));
    let row = |mark: &&MarkReport| {
        let figures = mark.duration_ns.as_ref().map(|of| {
            let total = of.mean * of.count as f64;
            [of.min as f64, of.mean, of.p99 as f64, of.max as f64, total].map(duration)
        });
        let mut row = vec![
            named(&printable(&mark.track), Some(mark.tid)),
            mark.name.clone(),
            count(mark.count + mark.incomplete),
        ];
        row.extend(figures.unwrap_or_else(|| [NONE; 5].map(str::to_owned)));
        row
    };
    let rows = wanted.iter().take(ROWS_MAX).map(row).collect();
    Table::new("System calls", "Thread|Call|Count|Min|Mean|p99|Max|In total".split('|'), rows)
        .with_prose(&[1])
        .with_note(format!(
            "From entry to return, with all waiting in between. Calls whose return was not seen count, but are in no other \
             figure. Names are those of x86-64.{}",
            beyond(&wanted)
        ))
}

const INTERFERENCE: [&str; 6] = ["Thread", "By", "In total", "Before it began", "Times", "Longest"];

fn interference_row(thread: &str, entry: &Interference) -> Vec<String> {
    vec![
        thread.to_owned(),
        named(&entry.name, entry.tid),
        duration(entry.ns as f64),
        duration(entry.before_start_ns as f64),
        count(entry.times),
        duration(entry.longest_ns as f64),
    ]
}

fn interference(report: &Report) -> Table {
    let mut waiting: Vec<&ThreadReport> =
        report.threads.iter().filter(|thread| !thread.preempted_by.is_empty()).collect();
    waiting.sort_by_key(|thread| (rank(report, thread), std::cmp::Reverse(thread.waiting_ns)));
    let rows = waiting.into_iter().flat_map(|thread| {
        let own = thread.preempted_by.iter().take(CULPRITS_SHOWN).enumerate();
        own.map(|(index, entry)| {
            let name = named(&thread.name, Some(thread.tid));
            interference_row(if index == 0 { &name } else { "" }, &entry)
        })
    });
    let rows = rows.take(ROWS_MAX).collect();
    Table::new("Threads that had the processor while another was ready", INTERFERENCE, rows)
        .with_prose(&[1])
        .with_note("Before it began: after the wake-up, before the first instruction of a job; the rest is preemption.")
}

/// Tasks first, then real-time threads: a batch thread is meant to wait.
fn rank(report: &Report, thread: &ThreadReport) -> u8 {
    let is_task =
        thread.period_ns.is_some() || report.tasks.iter().any(|task| task.tid == thread.tid);
    match thread.priority {
        _ if is_task => 0,
        Some(..100) => 1,
        _ => 2,
    }
}

fn blocking(report: &Report) -> Table {
    let mut blocked: Vec<&ThreadReport> =
        report.threads.iter().filter(|thread| !thread.blocked_by.is_empty()).collect();
    blocked.sort_by_key(|thread| (rank(report, thread), std::cmp::Reverse(thread.blocked_ns)));
    let rows = blocked.into_iter().flat_map(|thread| {
        thread.blocked_by.iter().take(CULPRITS_SHOWN).map(|wait| {
            vec![
                named(&thread.name, Some(thread.tid)),
                named(&wait.name, wait.tid),
                duration(wait.ns as f64),
                count(wait.times),
                duration(wait.longest_ns as f64),
            ]
        })
    });
    let heads = ["Thread", "Woken by", "In total", "Times", "Longest"];
    let rows = rows.take(ROWS_MAX).collect();
    Table::new("Waits within jobs, and the threads that ended them", heads, rows)
        .with_prose(&[1])
        .with_note("The thread that ends the wait for a lock was holding it.")
}

fn misses(report: &Report) -> Table {
    let rows = report.misses.iter().take(ROWS_MAX).map(|miss| {
        let number = miss.job.number.to_string();
        vec![when(report, miss.job.release_ns), miss.name.clone(), number, miss.explanation.clone()]
    });
    Table::new("Missed deadlines, explained", ["Released at", "Task", "Job", "Why"], rows.collect())
        .with_prose(&[1, 3])
        .with_note(format!(
            "Deadlines missed: {}. Shown: the first {}.",
            count(report.missed_deadlines),
            report.misses.len().min(ROWS_MAX)
        ))
}

fn processors(report: &Report) -> Table {
    let rows = report.cpus.iter().map(|cpu| {
        vec![
            cpu.cpu.to_string(),
            count(cpu.switches),
            duration(cpu.seen_ns as f64),
            duration(cpu.busy_ns as f64),
            duration(cpu.idle_ns as f64),
            duration(cpu.interrupts_ns as f64),
            if cpu.seen_ns > 0 { percent(cpu.utilization) } else { "–".into() },
        ]
    });
    let heads = ["Processor", "Switches", "Seen", "Busy", "Idle", "Interrupts", "Busy share"];
    Table::new("Processors", heads, rows.collect())
}

fn accounting(report: &Report) -> Table {
    let Some(accounting) = &report.accounting else { return Table::new("", [""], Vec::new()) };
    let cpus = accounting.cpus.iter().map(|cpu| {
        vec![
            format!("processor {}", cpu.cpu),
            percent(cpu.proc_busy),
            percent(cpu.recorded_busy),
            format!("{:.2} %", (cpu.proc_busy - cpu.recorded_busy) * 100.0),
            count(cpu.switches_per_s.round() as u64),
            count(cpu.idle_switches_per_s.round() as u64),
        ]
    });
    let threads = accounting.threads.iter().map(|thread| {
        let difference = thread.proc_ns as f64 - thread.recorded_ns as f64;
        vec![
            named(&thread.name, Some(thread.tid)),
            duration(thread.proc_ns as f64),
            duration(thread.recorded_ns as f64),
            duration(difference),
            String::new(),
            String::new(),
        ]
    });
    let heads = ["Use", "By /proc", "By switches", "Difference", "Switches/s", "To or from idle/s"];
    let rows = cpus.chain(threads.take(ROWS_MAX)).collect();
    let cost = accounting.switch_cost.map_or(String::new(), |cost| {
        let [ns, low, high] = [cost.ns, cost.low_ns, cost.high_ns].map(duration);
        if cost.low_ns > 0.0 {
            format!(
                "By the difference a switch from or to idle costs {ns}, within [{low}, {high}] as far as /proc/stat \
                 resolves: what the recording charges to the idle thread and the kernel does not."
            )
        } else {
            format!(
                "The cost of a switch from or to idle is within [{low}, {high}], which contains zero: /proc/stat counts \
                 by its ticks, and there were too few such switches. Record longer."
            )
        }
    });
    Table::new(TWO_METHODS, heads, rows).with_note(cost)
}

fn execution(found: &Option<Distribution>) -> [String; 3] {
    match found {
        Some(found) => [found.min as f64, found.mean, found.max as f64].map(duration),
        None => [NONE; 3].map(str::to_owned),
    }
}

fn response(found: &Option<Distribution>) -> [String; 3] {
    match found {
        Some(found) => [found.p50, found.p99, found.max].map(|ns| duration(ns as f64)),
        None => [NONE; 3].map(str::to_owned),
    }
}

fn time(ns: Option<u64>) -> String {
    ns.map_or(NONE.to_owned(), |ns| duration(ns as f64))
}

/// A moment, as time since the recording began.
fn when(report: &Report, at: u64) -> String {
    format!("{:.6} s", at.saturating_sub(report.from_ns) as f64 * 1e-9)
}

fn named(name: &str, tid: Option<u32>) -> String {
    tid.map_or_else(|| name.to_owned(), |tid| format!("{name} [{tid}]"))
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// The kernel's priority as a user sets it (sched(7)): `rt 50`, `nice 0`, `dl` for a deadline.
#[must_use]
pub fn priority(priority: Option<i16>) -> String {
    match priority {
        None => NONE.into(),
        Some(..0) => "dl".into(),
        Some(urgent @ 0..=98) => format!("rt {}", 99 - urgent),
        Some(other) => format!("nice {}", other - 120),
    }
}
