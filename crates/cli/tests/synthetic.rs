//! A synthetic recording of any length: periodic threads under fixed priorities on two processors.

use std::collections::BTreeMap;
use std::io;

use hemiola_trace::perfetto::{Names, TraceWriter};
use hemiola_trace::sched::{Context, Event, Left, Thread, Tid, What};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::{Instant, Random};

/// Tid, name, processor, period and least and greatest execution time in µs; the more urgent first.
const THREADS: [(u32, &str, u16, u64, [u64; 2]); 11] = [
    (101, "ping", 0, 50, [3, 6]),
    (102, "control", 0, 1_000, [90, 160]),
    (103, "sensors", 0, 2_000, [150, 260]),
    (104, "network", 0, 5_300, [300, 900]),
    (105, "logger", 0, 40_000, [2_000, 9_000]),
    (106, "batch", 0, 1_000_000, [500_000, 600_000]),
    (201, "pong", 1, 60, [4, 9]),
    (202, "audio", 1, 2_670, [200, 420]),
    (203, "video", 1, 16_667, [2_500, 5_200]),
    (204, "compositor", 1, 16_667, [800, 2_000]),
    (205, "indexer", 1, 1_000_000, [400_000, 450_000]),
];

/// The thread that marks its jobs, with the deadline of each in µs.
const MARKS: (u32, u64) = (103, 450);

/// When the recording begins, ns.
const BEGIN: u64 = 5_000_000_000;

/// Writes at least `events` events. Returns their number and the time of the last one.
pub(crate) fn write(output: impl io::Write, events: u64) -> io::Result<(u64, u64)> {
    let begin = Instant::from_nanos(BEGIN);
    let mut writer = TraceWriter::new(output, begin, 0, &[("made by", "a simulation")])?;
    let threads: Vec<Thread> = THREADS
        .iter()
        .map(|(tid, name, ..)| Thread {
            tid: Tid(*tid),
            since: Instant::ZERO,
            pid: tid / 100 * 100,
            name: (*name).to_owned(),
            new: false,
        })
        .collect();
    writer.threads(&threads)?;
    let mut processors = [Processor::new(0), Processor::new(1)];
    let mut random = Random::from_seed(7);
    let (mut written, mut until, mut last) = (0, BEGIN, BEGIN);
    while written < events {
        until += 100_000_000;
        for processor in &mut processors {
            processor.simulate(until, &mut random);
            written += processor.events.len() as u64;
            last = processor.events.last().map_or(last, |event| last.max(event.at.nanos()));
            writer.kernel(processor.cpu, &processor.events)?;
            processor.events.clear();
        }
    }
    let track = writer.process(MARKS.0, "sensors", Names::default())?;
    writer.entries(track, &processors[0].marks)?;
    writer.close()?;
    Ok((written, last))
}

/// A processor and its threads.
struct Processor {
    cpu: u16,
    now: u64,
    /// For each of its threads: the next release, the remaining time of its job, the release of that job.
    threads: BTreeMap<usize, (u64, u64, u64)>,
    running: Option<usize>,
    events: Vec<Event>,
    marks: Vec<Entry>,
    cycle: u32,
}

impl Processor {
    fn new(cpu: u16) -> Self {
        let own = THREADS.iter().enumerate().filter(|(_, thread)| thread.2 == cpu);
        let threads = own.map(|(index, _)| (index, (BEGIN + 1_000 * index as u64, 0, 0))).collect();
        Self {
            cpu,
            now: BEGIN,
            threads,
            running: None,
            events: Vec::new(),
            marks: Vec::new(),
            cycle: 0,
        }
    }

    fn simulate(&mut self, until: u64, random: &mut Random) {
        while self.now < until {
            let release = self.threads.values().map(|(next, ..)| *next).min().unwrap_or(until);
            let finish = self.running.map_or(u64::MAX, |index| self.now + self.threads[&index].1);
            let at = release.min(finish).max(self.now);
            if let Some(running) = self.running {
                let left = &mut self.threads.get_mut(&running).expect("it is one of them").1;
                *left -= at - self.now;
            }
            self.now = at;
            if finish <= release {
                let done = self.running.expect("a thread is running");
                self.mark(EventKind::Finish, done);
                self.choose(Left::Sleeping);
            } else {
                self.release(random);
            }
        }
    }

    fn release(&mut self, random: &mut Random) {
        let now = self.now;
        let tid_now = self.running.map_or(Tid::IDLE, |index| Tid(THREADS[index].0));
        for (index, (next, left, released)) in &mut self.threads {
            if *next > now {
                continue;
            }
            let (tid, _, cpu, period, [least, most]) = THREADS[*index];
            *next += period * 1_000;
            // A release during an unfinished job is dropped.
            if *left == 0 {
                *left = (least * 1_000) + random.below((most - least) * 1_000 + 1);
                *released = now;
                let (at, context) = (Instant::from_nanos(now), Context::Interrupt);
                let what = What::Wake { tid: Tid(tid), waker: tid_now, context, target: cpu };
                self.events.push(Event { at, cpu, what });
            }
        }
        self.choose(Left::Preempted);
    }

    /// Switches to the most urgent ready thread, a little later.
    fn choose(&mut self, left: Left) {
        let ready =
            self.threads.iter().find(|(_, (_, left, _))| *left > 0).map(|(index, _)| *index);
        if ready == self.running {
            return;
        }
        let tid = |index: Option<usize>| index.map_or(Tid::IDLE, |index| Tid(THREADS[index].0));
        let (prev, next) = (tid(self.running), tid(ready));
        self.now += 700;
        let at = Instant::from_nanos(self.now);
        let priority = ready.map_or(120, |index| index as i16);
        self.events.push(Event {
            at,
            cpu: self.cpu,
            what: What::Switch { prev, left, next, priority },
        });
        self.running = ready;
        if let Some(index) = ready
            && self.marks.last().is_none_or(|mark| mark.kind == EventKind::Finish)
        {
            self.mark(EventKind::Start, index);
        }
    }

    fn mark(&mut self, kind: EventKind, index: usize) {
        if THREADS[index].0 != MARKS.0 {
            return;
        }
        let released = self.threads[&index].2;
        let deadline = released + MARKS.1 * 1_000;
        let a = if kind == EventKind::Start { released } else { deadline };
        // A thread that was just switched in marks a little later.
        let (at, cycle) = (Instant::from_nanos(self.now + 50), self.cycle);
        self.cycle += u32::from(kind == EventKind::Finish);
        self.marks.push(Entry { at, kind, arg: 0, cycle, a, b: 0 });
    }
}
