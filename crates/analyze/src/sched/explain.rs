//! Explains in one sentence why a job was late, or took as long as it did.

use std::collections::BTreeMap;

use super::report::{
    Behind, Culprit, Delay, DelayKind, Distribution, Job, Miss, Report, TaskReport, ThreadReport,
};
use hemiola_report::text::duration;

/// Smaller parts of the time to be explained are left out.
const TELLING: f64 = 0.05;
/// The maximum number of parts in a sentence.
const PARTS_MAX: usize = 4;

/// Explains many jobs of one report in the same words.
pub struct Explainer<'r> {
    report: &'r Report,
    /// The thread with a number; the busiest one if the number was reused.
    threads: BTreeMap<u32, &'r ThreadReport>,
    /// The number of threads with a name.
    namesakes: BTreeMap<&'r str, u32>,
}

/// Returns one sentence: by how much the job was late, or how long it took, and where the time went, longest part
/// first.
///
/// Of the processor time, only the excess over the median counts.
#[must_use]
pub fn explain(job: &Job, report: &Report) -> String {
    Explainer::new(report).explain(job)
}

/// The complete job with the median response time, to compare others with.
#[must_use]
pub fn median_job(jobs: &[Job]) -> Option<&Job> {
    let mut complete: Vec<&Job> = jobs.iter().filter(|job| job.complete).collect();
    let middle = complete.len().checked_sub(1)? / 2;
    Some(*complete.select_nth_unstable_by_key(middle, |job| (job.response_ns(), job.release_ns)).1)
}

impl<'r> Explainer<'r> {
    /// Looks up the names and usual execution times of a report.
    #[must_use]
    pub fn new(report: &'r Report) -> Self {
        let (mut threads, mut namesakes) = (BTreeMap::new(), BTreeMap::new());
        for thread in &report.threads {
            threads.entry(thread.tid).or_insert(thread);
            *namesakes.entry(thread.name.as_str()).or_default() += 1;
        }
        Self { report, threads, namesakes }
    }

    /// The name of a job's task or thread.
    pub(super) fn name(&self, job: &Job) -> String {
        let marked = job.track.and_then(|track| self.task(track));
        marked.map_or_else(|| self.thread_name(job.tid), |task| task.name.clone())
    }

    /// See [`explain()`](super::explain()).
    #[must_use]
    pub fn explain(&self, job: &Job) -> String {
        let late = job.lateness_ns().and_then(|late| u64::try_from(late).ok());
        self.explain_jobs(job, late, 1, "")
    }

    /// The same of a missed deadline, which may be that of several jobs.
    pub(super) fn explain_miss(&self, miss: &Miss) -> String {
        let Miss { jobs, missed, late_ns, last_late_ns, .. } = *miss;
        if jobs == 1 {
            return self.explain(&miss.job);
        }
        let last = match u64::try_from(last_late_ns) {
            Ok(late @ 1..) => format!("the last {}", duration(late as f64)),
            _ => "the last not".into(),
        };
        let several =
            format!(" at most, {missed} of {jobs} jobs without a sleep between them, {last}");
        self.explain_jobs(&miss.job, Some(late_ns), missed, &several)
    }

    /// `several` is said of jobs that are told as one, `jobs` of which were late, by `late` at most: what they compute
    /// usually explains nothing.
    fn explain_jobs(&self, job: &Job, late: Option<u64>, jobs: u64, several: &str) -> String {
        let late = late.filter(|late| *late > 0);
        let (amount, head) = match late {
            Some(late) => (late, format!("{} late{several}", duration(late as f64))),
            None => (
                job.response_ns(),
                format!("{} from release to finish", duration(job.response_ns() as f64)),
            ),
        };
        let mut parts: Vec<(u64, String)> =
            job.delays.iter().map(|delay| (delay.ns, self.delay(job, delay))).collect();
        let usual = self.usual(job).map_or(0, |execution| execution.p50);
        let more = job.execution_ns.saturating_sub(usual.saturating_mul(jobs));
        let computing = duration(job.execution_ns as f64);
        let each = if jobs > 1 { " each" } else { "" };
        let usually = format!("usually {}{each}", duration(usual as f64));
        parts.push((more, format!("{computing} computing ({usually})")));
        parts.sort_by_key(|part| std::cmp::Reverse(part.0));
        let telling =
            |part: &&(u64, String)| part.0 > 0 && part.0 as f64 >= TELLING * amount as f64;
        let mut told: Vec<String> =
            parts.iter().filter(telling).take(PARTS_MAX).map(|part| part.1.clone()).collect();
        if let Some(deadline) =
            job.deadline_ns.map(|deadline| deadline.saturating_sub(job.release_ns))
            && late.is_some()
            && job.complete
            && usual > deadline
        {
            told.push(format!(
                "its usual execution time alone exceeds its deadline of {}",
                duration(deadline as f64)
            ));
        }
        if !job.complete {
            told.push("a part of it was not seen".into());
        }
        if told.is_empty() {
            told.push(format!("{computing} computing, as usual, and nothing that held it up"));
        }
        format!("{head}: {}", told.join(", "))
    }

    /// Returns what a delay of a job consists of: how long, in which way, and by which culprit.
    #[must_use]
    pub fn delay(&self, job: &Job, delay: &Delay) -> String {
        let who = self.who(delay.who);
        let ns = duration(delay.ns as f64);
        let text = match (delay.kind, delay.who) {
            (DelayKind::NotWoken, Culprit::SomeInterrupt) => {
                format!("{ns} until a timer or device woke it")
            }
            (DelayKind::NotWoken, _) => format!("{ns} until {who} woke it"),
            (DelayKind::Earlier, _) => format!("{ns} busy with what came before"),
            (DelayKind::BeforeStart, Culprit::Idle) => {
                format!("{ns} until the idle processor began")
            }
            (DelayKind::BeforeStart, _) => format!("{ns} waiting while {who} had the processor"),
            (DelayKind::Preempted, _) => format!("{ns} preempted by {who}"),
            (DelayKind::Throttled, _) => format!("{ns} throttled{}", self.budget(job)),
            (DelayKind::Blocked, Culprit::Thread(_)) => {
                format!("{ns} waiting until {who} woke it (lock holder?)")
            }
            (DelayKind::Blocked, Culprit::SomeInterrupt) => {
                format!("{ns} waiting for a timer or device")
            }
            (DelayKind::Blocked, _) => format!("{ns} waiting for an unknown thread"),
            (DelayKind::Interrupted, _) => format!("{ns} of {who}"),
        };
        match delay.behind.filter(|behind| behind.ns as f64 >= TELLING * delay.ns as f64) {
            Some(Behind { who: third, ns }) => {
                format!("{text} after {} behind {}", duration(ns as f64), self.who(third))
            }
            None => text,
        }
    }

    /// The execution times of the same task or thread.
    fn usual(&self, job: &Job) -> Option<&'r Distribution> {
        match job.track {
            Some(track) => self.task(track)?.execution_ns.as_ref(),
            None => self.threads.get(&job.tid)?.execution_ns.as_ref(),
        }
    }

    /// The reservation of a job's thread, in words.
    fn budget(&self, job: &Job) -> String {
        let reservation = self.threads.get(&job.tid).and_then(|thread| thread.reservation);
        reservation.map_or(String::new(), |of| {
            let [runtime, period] = [of.runtime_ns, of.period_ns].map(|ns| duration(ns as f64));
            format!(" after {runtime} of processor time in a period of {period}")
        })
    }

    fn task(&self, track: usize) -> Option<&'r TaskReport> {
        self.report.tasks.iter().find(|task| task.track == track)
    }

    fn who(&self, culprit: Culprit) -> String {
        match culprit {
            Culprit::Thread(tid) => self.thread_name(tid),
            Culprit::Interrupt(_) | Culprit::SoftInterrupt(_) => culprit.name(),
            Culprit::SomeInterrupt => "interrupts".into(),
            Culprit::Idle => "no thread".into(),
            Culprit::Reservation => culprit.name(),
            Culprit::Unknown => "an unknown thread".into(),
            Culprit::Others => "several others".into(),
        }
    }

    /// The name of a thread, with its number if another thread has the same name.
    fn thread_name(&self, tid: u32) -> String {
        let Some(thread) = self.threads.get(&tid) else { return format!("thread {tid}") };
        match self.namesakes.get(thread.name.as_str()) {
            Some(2..) => format!("{} [{tid}]", thread.name),
            _ => thread.name.to_string(),
        }
    }
}
