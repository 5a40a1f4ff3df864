//! One simulated processor with fixed priorities, which the programs of units share.

use hemiola_simplex::{Decision, SLOTS, Usage, policy_for};
use hemiola_units::{Policy, Priority, Random, Span};

/// What a unit does with the processor.
pub(crate) trait Program {
    /// Returns the processor time of the next answer, µs. With 0 it sleeps and never answers.
    fn demand(&mut self, random: &mut Random) -> i64;

    /// Whether it has moved to a processor of its own.
    fn is_elsewhere(&self) -> bool {
        false
    }
}

pub(crate) struct Task<P> {
    pub(crate) program: P,
    wanted: Policy,
    /// The cycle that it works for, and the work left, µs.
    work: Option<(u64, i64)>,
    /// The newest cycle answered, until the decision module has read that.
    published: Option<u64>,
    used: i64,
}

pub(crate) struct Processor<P> {
    pub(crate) tasks: Vec<Task<P>>,
    /// Threads of other programs that always want the processor, without real-time priority and nice value.
    pub(crate) load: i64,
    /// The remainder of the last share, which is a whole number of µs.
    remainder: i64,
    random: Random,
    cycle: u64,
}

/// The weight of a thread with the nice value 0.
const ORDINARY: i64 = 1024;

pub(crate) fn fifo(priority: u8) -> Policy {
    Policy::Fifo { priority: Priority::try_from(priority).unwrap() }
}

impl<P: Program> Processor<P> {
    /// The programs by slot, with the real-time priorities that they ask for.
    pub(crate) fn new(programs: impl IntoIterator<Item = (P, u8)>, seed: u64) -> Self {
        let task = |(program, priority)| Task {
            program,
            wanted: fifo(priority),
            work: None,
            published: None,
            used: 0,
        };
        let tasks = programs.into_iter().map(task).collect();
        Self { tasks, load: 0, remainder: 0, random: Random::from_seed(seed), cycle: 0 }
    }

    /// The rank of a task, higher first; tasks without real-time priority have 0, and those that are gone none.
    pub(crate) fn rank(&self, decision: &Decision, slot: usize) -> Option<u8> {
        Some(match self.policy(decision, slot)? {
            Policy::Fifo { priority } => priority.get(),
            _ => 0,
        })
    }

    fn policy(&self, decision: &Decision, slot: usize) -> Option<Policy> {
        let standing = decision.standing(slot as u8)?;
        Some(policy_for(standing, self.tasks[slot].wanted, fifo(75)))
    }

    /// The weight of a task without real-time priority, as in the table of the Linux scheduler.
    fn weight(&self, decision: &Decision, slot: usize) -> i64 {
        match self.policy(decision, slot) {
            Some(Policy::Other { nice: 19 }) => 15,
            _ => ORDINARY,
        }
    }

    /// Ends the processes of units that are gone, as the runner does.
    pub(crate) fn end_the_gone(&mut self, decision: &Decision) {
        for (slot, task) in (0..).zip(&mut self.tasks) {
            if decision.standing(slot).is_none() {
                task.work = Some((self.cycle, 0));
            }
        }
    }

    /// Gives each task its work for this cycle. One that still works on an earlier answer finishes that first.
    pub(crate) fn release(&mut self, cycle: u64) {
        self.cycle = cycle;
        for task in &mut self.tasks {
            if task.work.is_none() {
                task.work = Some((cycle, task.program.demand(&mut self.random)));
            }
        }
    }

    /// Lets the tasks use this much time, µs: real-time tasks by rank, the others in slices.
    pub(crate) fn run(&mut self, decision: &Decision, mut time: i64) {
        let (elsewhere, mut order): (Vec<usize>, Vec<usize>) =
            (0..self.tasks.len()).partition(|slot| self.tasks[*slot].program.is_elsewhere());
        for slot in elsewhere {
            self.work(slot, time);
        }
        order.sort_by_key(|slot| std::cmp::Reverse(self.rank(decision, *slot)));
        let (urgent, others): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|slot| self.rank(decision, *slot) > Some(0));
        for slot in urgent {
            while time > 0 && self.is_busy(slot) {
                time -= self.work(slot, time);
            }
        }
        while time > 0 && others.iter().any(|slot| self.is_busy(*slot)) {
            for slot in &others {
                let (weight, beside) = (self.weight(decision, *slot), ORDINARY * self.load);
                let slice = time.min(100);
                let share = (slice * weight + self.remainder) / (weight + beside);
                self.remainder = (slice * weight + self.remainder) % (weight + beside);
                let used = self.work(*slot, share);
                time -= if beside == 0 { used } else { slice };
            }
        }
    }

    /// The machine pauses: the kernel counts this time, µs, as the time of the task that was running.
    pub(crate) fn pause(&mut self, decision: &Decision, time: i64) -> Option<usize> {
        let running = (0..self.tasks.len())
            .filter(|slot| self.is_busy(*slot))
            .max_by_key(|slot| self.rank(decision, *slot))?;
        self.tasks[running].used += time;
        Some(running)
    }

    /// What each task did since the last call, and the cycle of its new answer.
    pub(crate) fn take(&mut self) -> [(Usage, Option<u64>); SLOTS] {
        std::array::from_fn(|slot| {
            let Some(task) = self.tasks.get_mut(slot) else { return Default::default() };
            let used = Span::from_micros(std::mem::take(&mut task.used));
            let runnable = task.work.is_some_and(|(_, left)| left > 0);
            (Usage { used, runnable, ending: false }, task.published.take())
        })
    }

    fn is_busy(&self, slot: usize) -> bool {
        self.tasks[slot].work.is_some_and(|(_, left)| left > 0)
    }

    /// Works for at most this time; returns the time used.
    fn work(&mut self, slot: usize, time: i64) -> i64 {
        let task = &mut self.tasks[slot];
        let Some((cycle, left)) = &mut task.work else { return 0 };
        let used = time.min(*left);
        *left -= used;
        task.used += used;
        if *left == 0 && used > 0 {
            task.published = Some(*cycle);
            // It was late: the newest sample is waiting already.
            let late = *cycle < self.cycle;
            task.work = late.then(|| (self.cycle, task.program.demand(&mut self.random)));
        }
        used
    }
}
