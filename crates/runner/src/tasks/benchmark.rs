//! A benchmark of the processor time left over: threads that compute and walk through memory without rest, and count.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_scenario::{Process, Task as Settings};
use hemiola_trace::EventKind;
use hemiola_trace::result::{MixedRecord, Role, VariantRecord, WORK};
use hemiola_units::{Bytes, Instant, Span};

use super::{Body, Described, TaskKind, mismatch, whole};
use crate::spec::NodeSpec;
use crate::task::{Job, Ports, Task};

/// Steps of arithmetic in a unit of work, each waiting for the one before.
const STEPS: u32 = 4_000;
/// Cache lines visited in a unit of work.
const LINES: usize = 512;
/// Words of a cache line.
const LINE: usize = 64 / size_of::<u64>();

pub(super) const KIND: TaskKind = TaskKind {
    name_marks: |names| names.insert(EventKind::Mark, WORK, "work"),
    describe,
    ..TaskKind::new(Role::Benchmark, Body::Loop(prepare))
};

fn prepare(spec: &NodeSpec) -> Result<Box<dyn Task>, String> {
    let Settings::Benchmark { threads, memory, turn } = spec.process.task else {
        return mismatch();
    };
    let (from, turns) = (spec.run.warmup, whole(spec.run.duration, turn));
    let work = Work { threads, memory, turn, from, turns };
    Ok(Box::new(Benchmark { work, crew: None, marked: 0 }))
}

fn describe(of: Described<'_>, record: &mut VariantRecord) {
    let Some(mixed) = of.variant.mixed() else { return };
    let rate = |load: &Process| 1.0 / load.period.secs_f64();
    let share = |load: &Process| match load.task {
        Settings::Workload { compute, .. } => compute.secs_f64() / load.period.secs_f64(),
        _ => 0.0,
    };
    record.mixed = Some(MixedRecord {
        series: of.variant.series.clone().unwrap_or_else(|| of.variant.name.clone()),
        benchmark: mixed.benchmark.name.clone(),
        load: mixed.load.map(|load| load.name.clone()),
        share: mixed.load.map_or(0.0, share),
        rate_hz: mixed.load.map_or(0.0, rate),
        turn: mixed.turn,
    });
}

/// The work of a run.
struct Work {
    threads: u32,
    /// Memory that each thread walks through.
    memory: Bytes,
    turn: Span,
    /// When the first turn begins, from the first release.
    from: Span,
    /// Turns that are counted.
    turns: u64,
}

/// The task is released once in a turn: first to start the threads, later to record what they counted in a turn
/// that is over. The threads do the work. A unit of work is about 10 µs, and counts in the turn it ends in.
struct Benchmark {
    work: Work,
    crew: Option<Crew>,
    /// Turns recorded so far.
    marked: u64,
}

/// The threads at work.
struct Crew {
    /// When the first turn begins.
    origin: Instant,
    counts: Arc<Vec<Count>>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Units of work that one thread did in each turn; no other thread writes to it.
type Count = Vec<AtomicU64>;

impl Benchmark {
    /// Starts the threads. They inherit the profile, so this must come after it was applied.
    fn start(&self, epoch: Instant) -> Crew {
        let count = || (0..self.work.turns).map(|_| AtomicU64::new(0)).collect();
        let counts: Arc<Vec<Count>> = Arc::new((0..self.work.threads).map(|_| count()).collect());
        let over = Arc::new(AtomicBool::new(false));
        let origin = epoch + self.work.from;
        let thread = |index: usize| {
            let (counts, over, turn) = (Arc::clone(&counts), Arc::clone(&over), self.work.turn);
            let words = (self.work.memory.0 as usize / size_of::<u64>()).max(LINE);
            let run = move || toil(words, origin, turn, &counts[index], &over);
            let started = std::thread::Builder::new().name(format!("benchmark-{index}")).spawn(run);
            started.ok()
        };
        // A thread that the system refuses is missing in every turn alike, and a score is a ratio of turns.
        let threads = (0..self.work.threads as usize).filter_map(thread).collect();
        Crew { origin, counts, over, threads }
    }

    /// Records the turns before `end`.
    fn mark(&mut self, end: u64, ports: &mut dyn Ports) {
        let Some(crew) = &self.crew else { return };
        for turn in self.marked..end.min(self.work.turns) {
            let done = |count: &Count| count[turn as usize].load(Ordering::Relaxed);
            let work = crew.counts.iter().map(done).sum();
            let began = crew.origin + self.work.turn * turn as i64;
            ports.mark(EventKind::Mark, WORK, began.nanos(), work);
        }
        self.marked = self.marked.max(end.min(self.work.turns));
    }
}

impl Task for Benchmark {
    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports) {
        if self.crew.is_none() {
            self.crew = Some(self.start(job.release - self.work.turn * job.cycle as i64));
        }
        let Some(crew) = &self.crew else { return };
        let begun = (job.release - crew.origin).nanos() / self.work.turn.nanos();
        // One turn after its end: a thread that lost the processor counts once it has it again.
        self.mark(u64::try_from(begun - 1).unwrap_or(0), ports);
    }

    fn close(&mut self, ports: &mut dyn Ports) {
        if let Some(crew) = &mut self.crew {
            crew.over.store(true, Ordering::Relaxed);
            for thread in crew.threads.drain(..) {
                let _ = thread.join();
            }
        }
        self.mark(self.work.turns, ports);
    }
}

/// Works until `over` is set.
fn toil(words: usize, origin: Instant, turn: Span, counts: &Count, over: &AtomicBool) {
    let mut memory = vec![1u64; words];
    let (mut number, mut place) = (1u64, 0);
    while !over.load(Ordering::Relaxed) {
        for _ in 0..STEPS {
            number = black_box(number).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        for _ in 0..LINES {
            place = (place + LINE) % words;
            memory[place] = memory[place].wrapping_add(number);
        }
        black_box(&mut memory);
        let since = (MonotonicClock.now() - origin).nanos();
        if let Ok(index) = usize::try_from(since.div_euclid(turn.nanos()))
            && let Some(count) = counts.get(index)
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ports that keep the marks and do nothing else.
    #[derive(Default)]
    struct Marks(Vec<(u64, u64)>);

    impl Ports for Marks {
        fn now(&mut self) -> Instant {
            MonotonicClock.now()
        }
        fn mark(&mut self, kind: EventKind, arg: u16, a: u64, b: u64) {
            assert_eq!((kind, arg), (EventKind::Mark, WORK));
            self.0.push((a, b));
        }
        fn send(&mut self, _message: &[u8]) -> bool {
            false
        }
        fn receive(&mut self, _buffer: &mut [u8]) -> Option<usize> {
            None
        }
        fn wait(&mut self, _until: Instant) -> bool {
            false
        }
    }

    #[test]
    fn every_turn_is_recorded_once_and_in_order() {
        let turn = Span::from_millis(10);
        let work = Work { threads: 2, memory: Bytes(4096), turn, from: turn, turns: 4 };
        let mut benchmark = Benchmark { work, crew: None, marked: 0 };
        let epoch = MonotonicClock.now();
        let mut marks = Marks::default();
        for cycle in 0..6 {
            let release = epoch + turn * cycle as i64;
            std::thread::sleep((release - MonotonicClock.now()).to_duration());
            benchmark.step(&Job { cycle, release, message: &[] }, &mut marks);
        }
        assert!(marks.0.len() < 4, "a turn that just ended waits for late threads");
        benchmark.close(&mut marks);
        let begun: Vec<u64> = marks.0.iter().map(|(began, _)| *began - epoch.nanos()).collect();
        assert_eq!(begun, [10_000_000, 20_000_000, 30_000_000, 40_000_000]);
        assert!(marks.0.iter().map(|(_, work)| work).sum::<u64>() > 0);
    }
}
