//! One processor: from event to event, its threads advance, block, are throttled, and take it from each other.

use hemiola_trace::sched::{Context, Event, Left, Tid, What};
use hemiola_units::{Instant, Random};

use super::locks::Locks;
use super::server::Server;
use super::truth::Truth;
use super::{START_UP_NS, Task, TrueJob};
use crate::sched::DelayKind;

pub(super) struct Processor<'t> {
    cpu: u16,
    tasks: Vec<&'t Task>,
    threads: Vec<Thread>,
    locks: Locks,
    /// Of each thread.
    truth: Vec<Truth>,
    random: Random,
    events: &'t mut Vec<Event>,
    finished: Vec<Vec<TrueJob>>,
    running: Option<usize>,
    now: u64,
}

struct Thread {
    /// The job under way.
    job: Option<Pending>,
    server: Option<Server>,
    released: u64,
    /// The next release.
    release: u64,
    /// When it is created, if it is not yet.
    created: Option<u64>,
}

struct Pending {
    job: TrueJob,
    started: bool,
    /// Its processor time so far.
    done: u64,
    lock: Lock,
    /// Until when it sleeps within the job.
    asleep_until: Option<u64>,
    /// It has slept, or need not.
    has_slept: bool,
    /// It is the start-up of its thread.
    is_start_up: bool,
}

impl Thread {
    /// The job that begins now is for all expirations of its timer so far.
    const fn read(&mut self, task: &Task, now: u64) {
        while task.timer && self.release <= now {
            self.released += 1;
            self.release += task.period_ns;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
    Before,
    Waiting,
    Holding,
    After,
}

impl<'t> Processor<'t> {
    pub(super) fn new(
        cpu: u16,
        tasks: Vec<&'t Task>,
        mut random: Random,
        events: &'t mut Vec<Event>,
    ) -> Self {
        let thread = |task: &&Task| Thread {
            job: None,
            server: task.reservation.map(Server::new),
            released: 0,
            release: task.offset_ns + random.below(task.jitter_ns + 1),
            created: task.created_ns,
        };
        Self {
            cpu,
            threads: tasks.iter().map(thread).collect(),
            finished: vec![Vec::new(); tasks.len()],
            truth: tasks.iter().map(|_| Truth::default()).collect(),
            tasks,
            locks: Locks::default(),
            random,
            events,
            running: None,
            now: 0,
        }
    }

    /// Returns the finished jobs of each task.
    pub(super) fn run(mut self, length: u64) -> Vec<Vec<TrueJob>> {
        while let Some(at) = self.next().filter(|at| *at < length) {
            self.advance(at);
            let left = self.running.and_then(|running| self.reach(running));
            self.replenish();
            let left = self.release(left);
            self.dispatch(left);
        }
        self.finished
    }

    /// The next moment at which anything changes.
    fn next(&self) -> Option<u64> {
        let idle = self.threads.iter().filter(|thread| thread.job.is_none());
        let throttled = self.threads.iter().filter(|thread| thread.job.is_some());
        let throttled = throttled.filter_map(|thread| thread.server?.throttled_until);
        let asleep = self.threads.iter().filter_map(|thread| thread.job.as_ref()?.asleep_until);
        let reached = self.running.map(|running| self.now + self.remaining(running));
        let released = idle.map(|thread| thread.created.unwrap_or(thread.release));
        released.chain(throttled).chain(asleep).chain(reached).min()
    }

    /// The processor time until the running thread locks, unlocks, ends its job, or has used up its budget.
    fn remaining(&self, running: usize) -> u64 {
        let thread = &self.threads[running];
        let Some(job) = &thread.job else { return 0 };
        let ahead = self.milestone(running, job) - job.done;
        thread.server.map_or(ahead, |server| ahead.min(server.budget))
    }

    /// The processor time of a job at its next change of state.
    fn milestone(&self, index: usize, job: &Pending) -> u64 {
        let whole = job.job.execution_ns;
        if let Some(sleep) = self.tasks[index].sleep.filter(|_| !job.has_slept) {
            return sleep.after_ns.min(whole);
        }
        let Some(section) = self.tasks[index].section else { return whole };
        match job.lock {
            Lock::Before | Lock::Waiting => section.after_ns.min(whole),
            Lock::Holding => (section.after_ns + section.length_ns).min(whole),
            Lock::After => whole,
        }
    }

    fn advance(&mut self, at: u64) {
        if let Some(running) = self.running {
            self.blame(running, at);
            let thread = &mut self.threads[running];
            if let Some(job) = &mut thread.job {
                job.done += at - self.now;
            }
            if let Some(server) = &mut thread.server {
                server.budget -= at - self.now;
            }
        }
        self.now = at;
    }

    /// The running thread delays all others that could run.
    fn blame(&mut self, running: usize, at: u64) {
        for index in (0..self.tasks.len()).filter(|index| *index != running) {
            if self.urgency(index).is_none() {
                continue;
            }
            let Some(job) = &self.threads[index].job else { continue };
            let kind = if job.started { DelayKind::Preempted } else { DelayKind::BeforeStart };
            self.truth[index].waits(self.tasks[running].tid, kind, self.now, at);
        }
    }

    /// Carries out what the running thread has reached. Returns how it leaves the processor, if it does.
    fn reach(&mut self, running: usize) -> Option<Left> {
        while let Some(job) = &self.threads[running].job {
            if job.done < self.milestone(running, job) {
                return self.exhaust(running);
            }
            if let Some(sleep) = self.tasks[running].sleep.filter(|_| !job.has_slept) {
                let is_over = job.done >= job.job.execution_ns;
                let until = (!is_over).then_some(self.now + sleep.length_ns);
                let job = self.threads[running].job.as_mut().expect("it is under way");
                (job.has_slept, job.asleep_until) = (true, until);
                let Some(until) = until else { continue };
                if sleep.asked_in_ten > 0 && self.random.below(10) < sleep.asked_in_ten {
                    self.push(What::SleepUntil(Instant::from_nanos(until).into()));
                }
                return Some(Left::Sleeping);
            }
            let section = self.tasks[running].section;
            let mutex = section.map_or(0, |section| section.mutex);
            let next = match job.lock {
                Lock::Before if self.locks.lock(mutex, running) => Lock::Holding,
                Lock::Before | Lock::Waiting => Lock::Waiting,
                Lock::Holding => {
                    self.unlock(mutex, running);
                    Lock::After
                }
                Lock::After => return Some(self.finish(running)),
            };
            self.threads[running].job.as_mut().expect("it is under way").lock = next;
            if next == Lock::Waiting {
                self.truth[running].blocks(self.now);
                return Some(Left::Sleeping);
            }
        }
        None
    }

    /// Throttles the running thread if its budget is used up.
    fn exhaust(&mut self, running: usize) -> Option<Left> {
        let now = self.now;
        let server = self.threads[running].server.as_mut().filter(|server| server.budget == 0)?;
        server.throttle(now);
        server.throttled_until.map(|_| Left::Preempted)
    }

    fn unlock(&mut self, mutex: u32, holder: usize) {
        let Some(next) = self.locks.unlock(mutex, &self.tasks) else { return };
        if let Some(job) = &mut self.threads[next].job {
            job.lock = Lock::Holding;
        }
        let of_holder = self.truth[holder].longest_since(self.truth[next].blocked_since());
        self.truth[next].is_given(self.tasks[holder].tid, of_holder, self.now);
        self.wake(next, Tid(self.tasks[holder].tid), Context::Thread);
    }

    fn finish(&mut self, running: usize) -> Left {
        let now = self.now;
        let thread = &mut self.threads[running];
        let pending = thread.job.take();
        let is_start_up = pending.as_ref().is_some_and(|pending| pending.is_start_up);
        if let Some(Pending { mut job, .. }) = pending.filter(|pending| !pending.is_start_up) {
            job.finish_ns = now;
            job.delays = self.truth[running].take();
            self.finished[running].push(job);
        }
        let task = self.tasks[running];
        while task.skips && thread.release < now {
            thread.released += 1;
            thread.release += task.period_ns;
        }
        let is_asked = task.asks && thread.released.is_multiple_of(task.asks_every.max(1));
        if is_asked || is_start_up {
            let until = Instant::from_nanos(thread.release).into();
            let (at, cpu) = (Instant::from_nanos(now), self.cpu);
            self.events.push(Event { at, cpu, what: What::SleepUntil(until) });
        }
        match &mut thread.server {
            Some(server) if self.tasks[running].yields => {
                thread.release = server.next_period().max(now);
                server.budget = 0;
                Left::Yielded
            }
            _ => Left::Sleeping,
        }
    }

    fn replenish(&mut self) {
        let now = self.now;
        for server in self.threads.iter_mut().filter_map(|thread| thread.server.as_mut()) {
            if server.throttled_until.is_some_and(|until| until <= now) {
                server.replenish(now);
            }
        }
    }

    /// Releases the jobs that are due. Returns how the running thread leaves now: it stays if its next job is late.
    fn release(&mut self, mut left: Option<Left>) -> Option<Left> {
        for index in 0..self.tasks.len() {
            let now = self.now;
            let job = self.threads[index].job.as_mut();
            if job.and_then(|job| job.asleep_until.take_if(|until| *until <= now)).is_some() {
                let waker = self.running.map_or(Tid::IDLE, |running| Tid(self.tasks[running].tid));
                self.wake(index, waker, Context::Interrupt);
                continue;
            }
            let thread = &self.threads[index];
            if let Some(created) = thread.created {
                if created <= now {
                    self.create(index);
                }
                continue;
            }
            if thread.job.is_some() || thread.release > self.now {
                continue;
            }
            let yields = self.tasks[index].yields && thread.released > 0;
            let late = thread.release < self.now && self.running == Some(index);
            if late || (yields && self.running == Some(index)) {
                left = None;
            } else if !yields {
                let waker = self.running.map_or(Tid::IDLE, |running| Tid(self.tasks[running].tid));
                self.wake(index, waker, Context::Interrupt);
            }
            self.begin(index, late, yields);
        }
        left
    }

    fn create(&mut self, index: usize) {
        let job = TrueJob {
            release_ns: self.now,
            start_ns: self.now,
            finish_ns: 0,
            execution_ns: START_UP_NS,
            delays: Vec::new(),
        };
        self.threads[index].created = None;
        self.threads[index].job = Some(Pending {
            job,
            started: false,
            done: 0,
            lock: Lock::After,
            asleep_until: None,
            has_slept: true,
            is_start_up: true,
        });
        self.wake(index, Tid::IDLE, Context::Thread);
    }

    fn begin(&mut self, index: usize, late: bool, yields: bool) {
        let task = self.tasks[index];
        let range = task.execution_max_ns - task.execution_min_ns + 1;
        let execution_ns = (task.execution_min_ns + self.random.below(range)).max(1);
        let jitter = self.random.below(task.jitter_ns + 1);
        let thread = &mut self.threads[index];
        let job = TrueJob {
            release_ns: thread.release,
            start_ns: self.now,
            finish_ns: 0,
            execution_ns,
            delays: Vec::new(),
        };
        let lock = if task.section.is_some() { Lock::Before } else { Lock::After };
        thread.job = Some(Pending {
            job,
            started: late,
            done: 0,
            lock,
            asleep_until: None,
            has_slept: false,
            is_start_up: false,
        });
        thread.released += 1;
        thread.release = task.offset_ns + thread.released * task.period_ns + jitter;
        if late {
            thread.read(task, self.now);
        }
        match &mut thread.server {
            Some(server) if yields => server.replenish(self.now),
            Some(server) if !late => server.wake(self.now),
            Some(server) if server.budget == 0 => server.throttle(self.now),
            _ => {}
        }
    }

    /// Gives the processor to the most urgent thread.
    fn dispatch(&mut self, left: Option<Left>) {
        let next = (0..self.tasks.len()).filter_map(|index| Some((self.urgency(index)?, index)));
        let next = next.min().map(|(_, index)| index);
        if let Some(index) = next
            && let Some(job) = self.threads[index].job.as_mut()
            && !job.started
        {
            job.started = true;
            job.job.start_ns = self.now;
            if !job.is_start_up {
                self.threads[index].read(self.tasks[index], self.now);
            }
        }
        if next == self.running && left.is_none() {
            return;
        }
        let tid =
            |index: Option<usize>| index.map_or(Tid::IDLE, |index| Tid(self.tasks[index].tid));
        let priority = next.map_or(120, |index| self.priority(index));
        let (prev, left) = (tid(self.running), left.unwrap_or(Left::Preempted));
        let what = What::Switch { prev, left, next: tid(next), priority };
        self.running = next;
        if let Some(next) = next {
            self.truth[next].runs();
        }
        self.push(what);
    }

    /// The less, the more urgent; `None` if the thread is not ready.
    fn urgency(&self, index: usize) -> Option<(u8, u64)> {
        let thread = &self.threads[index];
        let job = thread.job.as_ref()?;
        match thread.server {
            Some(server) => server.throttled_until.is_none().then_some((0, server.deadline)),
            None => {
                let priority = i32::from(self.priority(index)) - i32::from(i16::MIN);
                let waits = job.lock == Lock::Waiting || job.asleep_until.is_some();
                (!waits).then_some((1, u64::from(priority.unsigned_abs())))
            }
        }
    }

    fn priority(&self, index: usize) -> i16 {
        match self.threads[index].server {
            Some(_) => -1,
            None => self.locks.priority(index, &self.tasks),
        }
    }

    fn wake(&mut self, index: usize, waker: Tid, context: Context) {
        let tid = Tid(self.tasks[index].tid);
        self.push(What::Wake { tid, waker, context, target: self.cpu });
    }

    fn push(&mut self, what: What) {
        self.events.push(Event { at: Instant::from_nanos(self.now), cpu: self.cpu, what });
    }
}
