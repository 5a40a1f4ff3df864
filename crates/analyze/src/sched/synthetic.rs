//! Recordings whose figures are known: periodic tasks under a simulated fixed-priority scheduler.

use hemiola_trace::Recording;
use hemiola_trace::sched::{Context, Event, Left, Thread, Tid, What};
use hemiola_units::{Instant, Random};

/// A periodic task.
#[derive(Clone, Debug)]
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
}

/// The true times of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrueJob {
    /// Its wake-up, ns.
    pub release_ns: u64,
    /// When it first ran, ns.
    pub start_ns: u64,
    /// When it went to sleep, ns.
    pub finish_ns: u64,
    /// Its processor time, ns.
    pub execution_ns: u64,
}

/// Runs tasks from 0 to `length_ns` under preemptive fixed priorities, without any cost of switching.
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
        Processor {
            tasks,
            cpu,
            random: random.fork(u64::from(cpu)),
            events: &mut events,
            running: None,
            now: 0,
        }
        .run(&own, length_ns, &mut jobs);
    }
    let thread = |task: &Task| Thread {
        tid: Tid(task.tid),
        since: Instant::ZERO,
        pid: task.tid,
        name: task.name.clone(),
        new: false,
    };
    (Recording::new(events, tasks.iter().map(thread).collect(), Vec::new()), jobs)
}

/// A job under way.
struct Pending {
    job: TrueJob,
    remaining: u64,
    started: bool,
}

struct Processor<'t> {
    tasks: &'t [Task],
    cpu: u16,
    random: Random,
    events: &'t mut Vec<Event>,
    running: Option<usize>,
    now: u64,
}

impl Processor<'_> {
    fn run(mut self, own: &[usize], length: u64, jobs: &mut [Vec<TrueJob>]) {
        let tasks = self.tasks;
        let mut released = vec![0_u64; tasks.len()];
        let mut pending: Vec<Option<Pending>> = tasks.iter().map(|_| None).collect();
        let mut release: Vec<u64> = tasks.iter().map(|task| task.offset_ns).collect();
        for &index in own {
            release[index] += self.random.below(tasks[index].jitter_ns + 1);
        }
        loop {
            let next = own
                .iter()
                .copied()
                .filter(|index| pending[*index].is_none())
                .map(|index| release[index])
                .min();
            let done =
                self.running.and_then(|index| Some(self.now + pending[index].as_ref()?.remaining));
            let at = next.into_iter().chain(done).min().unwrap_or(u64::MAX);
            if at >= length {
                return;
            }
            if let Some(job) = self.running.and_then(|index| pending[index].as_mut()) {
                job.remaining -= at - self.now;
            }
            self.now = at;
            let mut left = Left::Preempted;
            if done == Some(at)
                && let Some(index) = self.running
                && let Some(Pending { mut job, .. }) = pending[index].take()
            {
                job.finish_ns = at;
                jobs[index].push(job);
                left = Left::Sleeping;
            }
            for &index in own
                .iter()
                .filter(|index| pending[**index].is_none() && release[**index] <= at)
                .collect::<Vec<_>>()
            {
                let late = release[index] < at && self.running == Some(index);
                if late {
                    left = Left::Preempted;
                } else {
                    let waker = self.running.map_or(Tid::IDLE, |running| Tid(tasks[running].tid));
                    let (tid, context) = (Tid(tasks[index].tid), Context::Interrupt);
                    self.push(What::Wake { tid, waker, context, target: self.cpu });
                }
                pending[index] = Some(self.job(index, release[index], late));
                released[index] += 1;
                let task = &tasks[index];
                release[index] = task.offset_ns
                    + released[index] * task.period_ns
                    + self.random.below(task.jitter_ns + 1);
            }
            self.dispatch(own, &mut pending, left);
        }
    }

    fn job(&mut self, index: usize, release_ns: u64, started: bool) -> Pending {
        let task = &self.tasks[index];
        let range = task.execution_max_ns - task.execution_min_ns + 1;
        let execution_ns = (task.execution_min_ns + self.random.below(range)).max(1);
        let job = TrueJob { release_ns, start_ns: self.now, finish_ns: 0, execution_ns };
        Pending { job, remaining: execution_ns, started }
    }

    /// Gives the processor to the most urgent.
    fn dispatch(&mut self, own: &[usize], pending: &mut [Option<Pending>], left: Left) {
        let ready = own.iter().copied().filter(|index| pending[*index].is_some());
        let next = ready.min_by_key(|index| self.tasks[*index].priority);
        if let Some(job) = next.and_then(|index| pending[index].as_mut())
            && !job.started
        {
            job.started = true;
            job.job.start_ns = self.now;
        }
        let ended = left == Left::Sleeping;
        if next == self.running && !ended {
            return;
        }
        let tid =
            |index: Option<usize>| index.map_or(Tid::IDLE, |index| Tid(self.tasks[index].tid));
        let priority = next.map_or(120, |index| self.tasks[index].priority);
        let what = What::Switch { prev: tid(self.running), left, next: tid(next), priority };
        self.running = next;
        self.push(what);
    }

    fn push(&mut self, what: What) {
        self.events.push(Event { at: Instant::from_nanos(self.now), cpu: self.cpu, what });
    }
}
