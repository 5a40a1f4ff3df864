//! Recordings whose figures are known: periodic tasks under a simulated scheduler.
//!
//! The scheduler has fixed priorities, mutexes under three protocols, and above them `SCHED_DEADLINE`: earliest
//! deadline first among threads that each have a constant-bandwidth server (Abeni and Buttazzo, "Integrating Multimedia
//! Applications in Hard Real-Time Systems", 1998; the kernel's rules in `Documentation/scheduler/sched-deadline.rst`).

mod locks;
mod processor;
mod server;
mod truth;

use std::collections::BTreeSet;

use hemiola_trace::Recording;
use hemiola_trace::sched::{Context, Event, Left, Reservation, Thread, Tid, What};
use hemiola_units::{Instant, Random};

use super::DelayKind;
use processor::Processor;

/// A periodic task.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// The name of its thread.
    pub name: String,
    /// The number of its thread.
    pub tid: u32,
    /// Where it runs.
    pub cpu: u16,
    /// The kernel's priority: less is more urgent; each task of a processor has its own.
    pub priority: i16,
    /// T, ns.
    pub period_ns: u64,
    /// Its first release, ns.
    pub offset_ns: u64,
    /// A release is up to this much late, ns; less than the period.
    pub jitter_ns: u64,
    /// C is drawn uniformly from here …
    pub execution_min_ns: u64,
    /// … to here.
    pub execution_max_ns: u64,
    /// It runs under `SCHED_DEADLINE`; its priority is then ignored.
    pub reservation: Option<Reservation>,
    /// It ends its jobs with sched_yield(2): the next one is released when the reservation is replenished, and
    /// `period_ns` is ignored. Only with a reservation.
    pub yields: bool,
    /// Its last act in each job is to ask to sleep until the next release.
    pub asks: bool,
    /// It asks for each release whose number is a multiple of this one only, and sleeps until the others without
    /// asking; 0 is as 1.
    pub asks_every: u64,
    /// It leaves out the releases that have passed at the end of a job.
    pub skips: bool,
    /// A timer releases it (timerfd_create(2)): it reads how often that has expired, which begins one job, and does not
    /// sleep if it has.
    pub timer: bool,
    /// When it is created, ns, and asks to sleep until its first release, which comes later. Otherwise it exists when
    /// the recording begins.
    pub created_ns: Option<u64>,
    /// Each of its jobs locks a mutex once. Not together with a reservation.
    pub section: Option<Section>,
    /// Each of its jobs sleeps once until a timer wakes it. Not together with a mutex or a reservation.
    pub sleep: Option<Sleep>,
}

/// Invocations of a thread alone on processor 1, at the priority of `SCHED_FIFO` 59.
#[derive(Clone, Debug)]
pub struct Alone {
    /// Its number.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// When it was created, ns; 0 if before the recording.
    pub created_ns: u64,
    /// Each wake-up by a timer and for how long it then runs, ns. One that comes before the thread sleeps is late.
    pub wake_ups: Vec<(u64, u64)>,
}

impl Alone {
    /// The recording.
    #[must_use]
    pub fn recording(&self) -> Recording {
        const PRIORITY: i16 = 40;
        let (tid, idle, mut now) = (Tid(self.tid), Tid::IDLE, 0);
        let mut events = Vec::new();
        for (at, length) in &self.wake_ups {
            let (at, left) = ((*at).max(now + 1), Left::Preempted);
            let context = Context::Interrupt;
            let mut push =
                |at, what| events.push(Event { at: Instant::from_nanos(at), cpu: 1, what });
            push(at, What::Wake { tid, waker: idle, context, target: 1 });
            push(at, What::Switch { prev: idle, left, next: tid, priority: PRIORITY });
            now = at + length;
            let left = Left::Sleeping;
            push(now, What::Switch { prev: tid, left, next: idle, priority: 120 });
        }
        let (since, new) = (Instant::from_nanos(self.created_ns), self.created_ns > 0);
        let thread = Thread { tid, since, pid: self.pid, name: "alone".into(), new };
        Recording::new(events, vec![thread], Vec::new())
    }
}

/// A sleep within a job.
#[derive(Clone, Copy, Debug)]
pub struct Sleep {
    /// The processor time of the job before it sleeps, ns; a shorter job does not sleep.
    pub after_ns: u64,
    /// How long, ns.
    pub length_ns: u64,
    /// In so many of ten jobs, drawn at random, it asks to sleep until a time.
    pub asked_in_ten: u64,
}

/// The part of a job in which it holds a mutex.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The number of the mutex.
    pub mutex: u32,
    /// The protocol of that mutex, the same for all tasks that use it.
    pub protocol: Protocol,
    /// The processor time of the job before it locks, ns.
    pub after_ns: u64,
    /// The processor time for which it holds the mutex, ns; a shorter job unlocks at its end.
    pub length_ns: u64,
}

/// The priority of a thread that holds a mutex (pthread_mutexattr_setprotocol(3)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Its own.
    None,
    /// That of the most urgent thread that waits for the mutex.
    Inheritance,
    /// That of the most urgent thread that ever locks the mutex.
    Ceiling,
}

/// The true times of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrueJob {
    /// Its wake-up, ns.
    pub release_ns: u64,
    /// When it first ran, ns.
    pub start_ns: u64,
    /// When it went to sleep, ns.
    pub finish_ns: u64,
    /// Its processor time, ns.
    pub execution_ns: u64,
    /// What delayed it, by other threads only.
    pub delays: Vec<TrueDelay>,
}

/// The true delay of a job by one thread in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrueDelay {
    /// The way.
    pub kind: DelayKind,
    /// The thread; for [`DelayKind::Blocked`], the one that handed the mutex over.
    pub tid: u32,
    /// How long, ns.
    pub ns: u64,
    /// For [`DelayKind::Blocked`]: the longest time for which that thread was ready meanwhile and did not run, ns …
    pub behind_ns: u64,
    /// … and the threads that ran in it.
    pub behind: BTreeSet<u32>,
}

/// The processor time of a task that is created until it asks for its first release, ns.
const START_UP_NS: u64 = 20_000;

/// Runs tasks from 0 to `length_ns`, without any cost of switching.
///
/// Returns the recording and for each task its finished jobs. A release that comes before the job before is finished
/// follows it without a wake-up, as with a thread that finds the time it wants to sleep until in the past.
#[must_use]
pub fn run(tasks: &[Task], length_ns: u64, seed: u64) -> (Recording, Vec<Vec<TrueJob>>) {
    let random = Random::from_seed(seed);
    let mut events = Vec::new();
    let mut jobs = vec![Vec::new(); tasks.len()];
    let mut cpus: Vec<u16> = tasks.iter().map(|task| task.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    for cpu in cpus {
        let own: Vec<usize> = (0..tasks.len()).filter(|index| tasks[*index].cpu == cpu).collect();
        let of_own: Vec<&Task> = own.iter().map(|index| &tasks[*index]).collect();
        let finished =
            Processor::new(cpu, of_own, random.fork(u64::from(cpu)), &mut events).run(length_ns);
        for (index, finished) in own.into_iter().zip(finished) {
            jobs[index] = finished;
        }
    }
    let mut recording = Recording::new(events, tasks.iter().map(thread).collect(), Vec::new());
    recording.conditions =
        tasks.iter().filter_map(|task| Some(task.reservation?.condition(Tid(task.tid)))).collect();
    (recording, jobs)
}

fn thread(task: &Task) -> Thread {
    Thread {
        tid: Tid(task.tid),
        since: Instant::from_nanos(task.created_ns.unwrap_or(0)),
        pid: task.tid,
        name: task.name.clone(),
        new: task.created_ns.is_some(),
    }
}
