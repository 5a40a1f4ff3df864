//! Why a job was late, or took as long as it did, in one sentence with figures.

use super::assemble::name_of;
use super::report::{Culprit, DelayKind, Distribution, Job, Report};
use crate::text::duration;

/// Parts smaller than this share of what is explained are left out.
const TELLING: f64 = 0.05;
/// So many parts are told at most.
const PARTS_MAX: usize = 4;

/// What a job's task or thread is called.
pub(super) fn name(job: &Job, report: &Report) -> String {
    let marked = job.track.and_then(|track| report.tasks.iter().find(|task| task.track == track));
    match marked {
        Some(task) => task.name.clone(),
        None => thread_name(job.tid, report),
    }
}

/// One sentence: by how much the job was late, or how long it took, and where the time went, the most first.
///
/// A part of the processor time is told only as far as it exceeds the usual, the median.
#[must_use]
pub fn explain(job: &Job, report: &Report) -> String {
    let late = job.lateness_ns().filter(|late| *late > 0);
    let (amount, head) = match late {
        Some(late) => (late as u64, format!("{} late", duration(late as f64))),
        None => (
            job.response_ns(),
            format!("{} from release to finish", duration(job.response_ns() as f64)),
        ),
    };
    let mut parts: Vec<(u64, String)> = job
        .delays
        .iter()
        .map(|delay| {
            let who = who(delay.who, report);
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
                (DelayKind::BeforeStart, _) => {
                    format!("{ns} waiting while {who} had the processor")
                }
                (DelayKind::Preempted, _) => format!("{ns} preempted by {who}"),
                (DelayKind::Blocked, Culprit::Thread(_)) => {
                    format!("{ns} waiting until {who} woke it (lock holder?)")
                }
                (DelayKind::Blocked, Culprit::SomeInterrupt) => {
                    format!("{ns} waiting for a timer or device")
                }
                (DelayKind::Blocked, _) => format!("{ns} waiting, it is not known for whom"),
                (DelayKind::Interrupted, _) => format!("{ns} of {who}"),
            };
            (delay.ns, text)
        })
        .collect();
    let usual = usual(job, report).map_or(0, |execution| execution.p50);
    let more = job.execution_ns.saturating_sub(usual);
    let computing = duration(job.execution_ns as f64);
    parts.push((more, format!("{computing} computing (usually {})", duration(usual as f64))));
    parts.sort_by_key(|part| std::cmp::Reverse(part.0));
    let telling = |part: &&(u64, String)| part.0 > 0 && part.0 as f64 >= TELLING * amount as f64;
    let mut told: Vec<String> =
        parts.iter().filter(telling).take(PARTS_MAX).map(|part| part.1.clone()).collect();
    if let Some(deadline) = job.deadline_ns.map(|deadline| deadline.saturating_sub(job.release_ns))
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

/// The job whose response time is the median of those that are complete: what to compare another one with.
#[must_use]
pub fn median_job(jobs: &[Job]) -> Option<&Job> {
    let mut complete: Vec<&Job> = jobs.iter().filter(|job| job.complete).collect();
    let middle = complete.len().checked_sub(1)? / 2;
    Some(*complete.select_nth_unstable_by_key(middle, |job| (job.response_ns(), job.release_ns)).1)
}

/// What the execution time of such jobs is.
fn usual<'r>(job: &Job, report: &'r Report) -> Option<&'r Distribution> {
    match job.track {
        Some(track) => report.tasks.iter().find(|task| task.track == track)?.execution_ns.as_ref(),
        None => report.threads.iter().find(|thread| thread.tid == job.tid)?.execution_ns.as_ref(),
    }
}

fn who(culprit: Culprit, report: &Report) -> String {
    match culprit {
        Culprit::Thread(tid) => thread_name(tid, report),
        Culprit::Interrupt(_) | Culprit::SoftInterrupt(_) => name_of(culprit),
        Culprit::SomeInterrupt => "interrupts".into(),
        Culprit::Idle => "nobody".into(),
        Culprit::Unknown => "somebody unknown".into(),
        Culprit::Others => "several others".into(),
    }
}

/// With its number where another thread has the same name.
fn thread_name(tid: u32, report: &Report) -> String {
    let Some(thread) = report.threads.iter().find(|thread| thread.tid == tid) else {
        return format!("thread {tid}");
    };
    let namesakes = report.threads.iter().filter(|other| other.name == thread.name).take(2).count();
    if namesakes > 1 { format!("{} [{tid}]", thread.name) } else { thread.name.clone() }
}
