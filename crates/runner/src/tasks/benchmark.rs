//! What is left for the others: threads that compute and walk through memory without rest, and count.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_trace::EventKind;
use hemiola_trace::result::WORK;
use hemiola_units::{Bytes, Instant, Span};

use crate::task::{Job, Ports, Task};

/// Steps of arithmetic in a unit of work, each waiting for the one before.
const STEPS: u32 = 4_000;
/// Lines of memory visited in a unit of work.
const LINES: usize = 512;
/// Words of a line of the caches.
const LINE: usize = 64 / size_of::<u64>();

/// What the benchmark needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BenchmarkWork {
    /// How many threads.
    pub(crate) threads: u32,
    /// What each of them walks through.
    pub(crate) memory: Bytes,
    /// When the first turn begins, from the first release.
    pub(crate) from: Span,
    /// How many turns are counted.
    pub(crate) turns: u64,
}

/// It is released once in a turn, to start its threads and later to record what they counted in a turn that
/// is over; the threads do the work. A unit of work is about 10 µs, and counts in the turn it ends in.
pub(super) struct Benchmark {
    work: BenchmarkWork,
    turn: Span,
    crew: Option<Crew>,
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

/// What one thread got done in each turn: nobody else writes to it.
type Count = Vec<AtomicU64>;

impl Benchmark {
    pub(super) fn prepare(work: BenchmarkWork, turn: Span) -> Self {
        Self { work, turn, crew: None, marked: 0 }
    }

    /// Starts the threads. They inherit the profile, which is why it is not done earlier.
    fn start(&self, epoch: Instant) -> Crew {
        let count = || (0..self.work.turns).map(|_| AtomicU64::new(0)).collect();
        let counts: Arc<Vec<Count>> = Arc::new((0..self.work.threads).map(|_| count()).collect());
        let over = Arc::new(AtomicBool::new(false));
        let origin = epoch + self.work.from;
        let thread = |index: usize| {
            let (counts, over, turn) = (Arc::clone(&counts), Arc::clone(&over), self.turn);
            let words = (self.work.memory.0 as usize / size_of::<u64>()).max(LINE);
            let run = move || toil(words, origin, turn, &counts[index], &over);
            let started = std::thread::Builder::new().name(format!("benchmark-{index}")).spawn(run);
            started.ok()
        };
        // A thread the system refuses is missing in every turn alike, and a score is a ratio of turns.
        let threads = (0..self.work.threads as usize).filter_map(thread).collect();
        Crew { origin, counts, over, threads }
    }

    /// Records the turns before `end`.
    fn mark(&mut self, end: u64, ports: &mut dyn Ports) {
        let Some(crew) = &self.crew else { return };
        for turn in self.marked..end.min(self.work.turns) {
            let done = |count: &Count| count[turn as usize].load(Ordering::Relaxed);
            let work = crew.counts.iter().map(done).sum();
            let began = crew.origin + self.turn * turn as i64;
            ports.mark(EventKind::Mark, WORK, began.nanos(), work);
        }
        self.marked = self.marked.max(end.min(self.work.turns));
    }
}

impl Task for Benchmark {
    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports) {
        if self.crew.is_none() {
            self.crew = Some(self.start(job.release - self.turn * job.cycle as i64));
        }
        let Some(crew) = &self.crew else { return };
        let begun = (job.release - crew.origin).nanos() / self.turn.nanos();
        // One turn later than it ended: a thread that lost the processor counts when it has it again.
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

/// Works until it is told to stop.
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

    /// Ports that only keep what is marked.
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
        let work = BenchmarkWork { threads: 2, memory: Bytes(4096), from: turn, turns: 4 };
        let mut benchmark = Benchmark::prepare(work, turn);
        let epoch = MonotonicClock.now();
        let mut marks = Marks::default();
        for cycle in 0..6 {
            let release = epoch + turn * cycle as i64;
            std::thread::sleep((release - MonotonicClock.now()).to_duration());
            benchmark.step(&Job { cycle, release, message: &[] }, &mut marks);
        }
        assert!(marks.0.len() < 4, "a turn that just ended waits for those who are late");
        benchmark.close(&mut marks);
        let begun: Vec<u64> = marks.0.iter().map(|(began, _)| *began - epoch.nanos()).collect();
        assert_eq!(begun, [10_000_000, 20_000_000, 30_000_000, 40_000_000]);
        assert!(marks.0.iter().map(|(_, work)| work).sum::<u64>() > 0);
    }
}
