//! From the events of a recording to rows of segments, in one pass.

use std::collections::BTreeMap;

use hemiola_trace::sched::{Context, Event, Interrupt, Left, Tid, What};
use hemiola_trace::{Entry, EventKind, Recording, perfetto};

use super::jobs::Marked;
use super::track::{State, Track};
use super::{Counter, Gap, INTERRUPT, Mark, NOBODY, Row, Subject, Timeline};

/// The maximum number of rows. Threads that appear later are left out.
pub const ROWS_MAX: usize = 1 << 20;

/// The greatest number a thread can have (proc_sys_kernel(5), `pid_max`); greater ones in a damaged file are looked up
/// the slow way.
const TID_MAX: u32 = 1 << 22;

/// The processor of a thread that is on none.
const NOWHERE: u16 = u16::MAX;

/// Gaps kept one by one.
const GAPS_MAX: usize = 100_000;

impl Timeline {
    /// Reads the whole recording once.
    #[must_use]
    pub fn build(recording: &Recording) -> Self {
        let mut builder = Builder::new(recording);
        for event in recording.events() {
            builder.event(&event);
        }
        builder.finish(recording)
    }
}

/// The state of a processor.
#[derive(Clone, Copy, Default)]
struct Processor {
    row: u32,
    /// The row of the running thread; [`NOBODY`] if idle or unknown.
    running: u32,
    /// The moment of its last event; none yet: nothing is known of the time before.
    last: Option<u64>,
    interrupts_open: u32,
}

struct Builder {
    timeline: Timeline,
    processors: Vec<Option<Processor>>,
    /// How many there are: the rows of interrupts come after so many.
    cpus: u32,
    /// The row of a thread by its number + 1; 0: none.
    rows: Vec<u32>,
    far: BTreeMap<u32, u32>,
    /// For each row, the processor it was last on.
    home: Vec<u16>,
    /// Moments from which a number stands for another thread, the next last.
    reborn: Vec<(u64, u32)>,
    first: Option<u64>,
    last: u64,
    page_fault: [Option<u32>; 2],
}

impl Builder {
    fn new(recording: &Recording) -> Self {
        let mut timeline = Timeline::default();
        let length = recording.cpus.iter().max().map_or(0, |cpu| usize::from(*cpu) + 1);
        let mut processors = vec![None; length];
        for (index, cpu) in recording.cpus.iter().enumerate() {
            let processor =
                Processor { row: index as u32, running: NOBODY, ..Processor::default() };
            processors[usize::from(*cpu)] = Some(processor);
            timeline.rows.push(Row::of(Subject::Processor(*cpu)));
        }
        timeline.rows.extend(recording.cpus.iter().map(|cpu| Row::of(Subject::Interrupts(*cpu))));
        let mut reborn: Vec<(u64, u32)> = recording
            .threads
            .iter()
            .filter(|thread| thread.new && thread.since.nanos() > 0)
            .map(|thread| (thread.since.nanos(), thread.tid.0))
            .collect();
        reborn.sort_unstable_by(|a, b| b.cmp(a));
        let home = vec![NOWHERE; timeline.rows.len()];
        Self {
            timeline,
            processors,
            cpus: recording.cpus.len() as u32,
            rows: Vec::new(),
            far: BTreeMap::new(),
            home,
            reborn,
            first: None,
            last: 0,
            page_fault: [None; 2],
        }
    }

    fn event(&mut self, event: &Event) {
        let at = event.at.nanos();
        self.first.get_or_insert(at);
        self.last = self.last.max(at);
        self.timeline.events += 1;
        while self.reborn.last().is_some_and(|(since, _)| *since <= at) {
            let (_, tid) = self.reborn.pop().expect("there is a last");
            self.forget(tid);
        }
        let Some(Some(mut processor)) = self.processors.get(usize::from(event.cpu)).copied() else {
            return;
        };
        match event.what {
            What::Switch { prev, left, next, .. } => {
                self.timeline.switches += 1;
                self.switch(event.cpu, &mut processor, at, (prev, left), next);
            }
            What::Wake { tid, waker, context, .. } => {
                if let Some(row) = self.row(tid)
                    && !matches!(
                        self.track(row).last().0,
                        State::Running | State::Ready | State::Preempted
                    )
                {
                    let waker = match context {
                        Context::Interrupt => INTERRUPT,
                        Context::Thread | Context::Unknown => self.row(waker).unwrap_or(NOBODY),
                    };
                    self.track(row).push(at, State::Ready, waker);
                }
            }
            What::InterruptEntry(interrupt) => {
                processor.interrupts_open += 1;
                let number = match interrupt {
                    Interrupt::Hard(number) => u32::from(number),
                    Interrupt::Soft(number) => u32::from(number) + (1 << 16),
                };
                self.interrupts(processor).push(at, State::Running, number);
            }
            What::InterruptExit(_) => {
                processor.interrupts_open = processor.interrupts_open.saturating_sub(1);
                if processor.interrupts_open == 0 {
                    self.interrupts(processor).push(at, State::Rest, NOBODY);
                }
            }
            What::PageFault(in_kernel) => {
                let words = ["page fault", "page fault in the kernel"];
                let slot = usize::from(in_kernel);
                let name = match self.page_fault[slot] {
                    Some(name) => name,
                    None => *self.page_fault[slot].insert(self.timeline.name(words[slot])),
                };
                if processor.running != NOBODY {
                    let row = &mut self.timeline.rows[processor.running as usize];
                    row.marks.push(Mark { at, name });
                }
            }
            What::CallEntry(_) | What::CallExit(_) => {}
            What::Lost(lost) => {
                self.timeline.lost += u64::from(lost);
                let from = processor.last.or(self.first).unwrap_or(at);
                self.gap(event.cpu, &mut processor, from, at, lost);
            }
            What::Online(_) => self.gap(event.cpu, &mut processor, at, at, 0),
        }
        processor.last = Some(at);
        self.processors[usize::from(event.cpu)] = Some(processor);
    }

    fn switch(
        &mut self,
        cpu: u16,
        processor: &mut Processor,
        at: u64,
        (prev, left): (Tid, Left),
        next: Tid,
    ) {
        let before = self.row(prev);
        let after = self.row(next);
        // Another thread seemed to run: a switch is missing without a reported loss.
        if processor.running != NOBODY && prev != Tid::UNKNOWN && before != Some(processor.running)
        {
            self.track(processor.running).push(at, State::Unknown, NOBODY);
        }
        if let Some(row) = before {
            let (state, key) = match left {
                Left::Preempted => (State::Preempted, after.unwrap_or(NOBODY)),
                Left::Yielded => (State::Ready, NOBODY),
                Left::Uninterruptible | Left::Stopped => (State::Blocked, NOBODY),
                // If the recording does not say how threads leave, they count as asleep, as in the figures.
                Left::Sleeping | Left::Dead | Left::Idle | Left::Unknown => (State::Rest, NOBODY),
            };
            self.track(row).push(at, state, key);
            // A thread that ended is nowhere: no gap makes it unknown again.
            self.home[row as usize] = if left == Left::Dead { NOWHERE } else { cpu };
        }
        if let Some(row) = after {
            self.track(row).push(at, State::Running, u32::from(cpu));
            self.home[row as usize] = cpu;
        }
        let state = match next {
            Tid::IDLE => State::Rest,
            Tid::UNKNOWN => State::Unknown,
            _ => State::Running,
        };
        processor.running = after.unwrap_or(NOBODY);
        self.track(processor.row).push(at, state, processor.running);
    }

    /// Marks the processor and the threads last on it as unknown, from `from` until their next event.
    fn gap(&mut self, cpu: u16, processor: &mut Processor, from: u64, to: u64, lost: u32) {
        self.track(processor.row).push(from, State::Unknown, NOBODY);
        if processor.interrupts_open > 0 {
            self.interrupts(*processor).push(from, State::Rest, NOBODY);
        }
        processor.interrupts_open = 0;
        processor.running = NOBODY;
        for (row, home) in self.timeline.rows.iter_mut().zip(&self.home) {
            if *home == cpu {
                row.track.push(from, State::Unknown, NOBODY);
            }
        }
        if self.timeline.gaps.len() < GAPS_MAX {
            self.timeline.gaps.push(Gap { cpu, from, to, lost });
        }
    }

    fn track(&mut self, row: u32) -> &mut Track {
        &mut self.timeline.rows[row as usize].track
    }

    fn interrupts(&mut self, processor: Processor) -> &mut Track {
        self.track(processor.row + self.cpus)
    }

    fn forget(&mut self, tid: u32) {
        if let Some(row) = self.rows.get_mut(tid as usize) {
            *row = 0;
        }
        self.far.remove(&tid);
    }

    /// The row of a thread, made when it is seen first; the idle thread and unknown ones have none.
    fn row(&mut self, tid: Tid) -> Option<u32> {
        if tid == Tid::IDLE || tid == Tid::UNKNOWN {
            return None;
        }
        let known = match self.rows.get(tid.0 as usize) {
            Some(row) => *row,
            None => self.far.get(&tid.0).copied().unwrap_or(0),
        };
        if known > 0 {
            return Some(known - 1);
        }
        let row = self.timeline.rows.len();
        if row >= ROWS_MAX {
            return None;
        }
        let subject = Subject::Thread { tid: tid.0, pid: 0, name: String::new() };
        self.timeline.rows.push(Row::of(subject));
        self.home.push(NOWHERE);
        if tid.0 < TID_MAX {
            if self.rows.len() <= tid.0 as usize {
                self.rows.resize(tid.0 as usize + 1, 0);
            }
            self.rows[tid.0 as usize] = row as u32 + 1;
        } else {
            self.far.insert(tid.0, row as u32 + 1);
        }
        Some(row as u32)
    }

    fn finish(mut self, recording: &Recording) -> Timeline {
        self.programs(recording);
        let (first, last) = (self.first.unwrap_or(0), self.last);
        let mut timeline = self.timeline;
        timeline.from = hemiola_units::Instant::from_nanos(first);
        timeline.to = hemiola_units::Instant::from_nanos(last);
        timeline.gaps.sort_by_key(|gap| gap.from);
        for row in &mut timeline.rows {
            row.marks.sort_by_key(|mark| mark.at);
            row.marked.sort_by_key(|job| (job.start, job.finish));
            if row.track.is_empty() {
                // The kernel was not recorded: the marks of the program are the only source.
                for job in &row.marked {
                    row.track.push(job.start, State::Running, NOBODY);
                    row.track.push(job.finish, State::Rest, NOBODY);
                }
            }
            row.track.close(last);
            if let Subject::Thread { tid, pid, name } = &mut row.subject {
                let until = row
                    .track
                    .len()
                    .checked_sub(1)
                    .map_or(last, |index| row.track.segment(index).from);
                let at = hemiola_units::Instant::from_nanos(until);
                if let Some(thread) = recording.thread(Tid(*tid), at) {
                    *pid = thread.pid;
                    name.clone_from(&thread.name);
                }
            }
        }
        name_rest(&mut timeline.rows, recording);
        timeline
    }

    /// Adds the jobs and single moments that programs marked.
    fn programs(&mut self, recording: &Recording) {
        for track in &recording.tracks {
            let tid = if track.tid == 0 { track.pid } else { track.tid };
            let Some(row) = self.row(Tid(tid)) else { continue };
            let mut open: Option<&Entry> = None;
            let mut names: BTreeMap<(EventKind, u16), u32> = BTreeMap::new();
            let mut counters: BTreeMap<u16, Vec<(u64, f64)>> = BTreeMap::new();
            for entry in &track.entries {
                let at = entry.at.nanos();
                self.first = Some(self.first.map_or(at, |first| first.min(at)));
                self.last = self.last.max(at);
                match entry.kind {
                    EventKind::Start => open = Some(entry),
                    EventKind::Finish => {
                        if let Some(start) = open.take() {
                            self.timeline.rows[row as usize].marked.push(Marked::of(start, entry));
                        }
                    }
                    EventKind::Pair => {}
                    kind => {
                        if let Some(value) = entry.value() {
                            counters.entry(entry.arg).or_default().push((at, value));
                        }
                        let known = names.get(&(kind, entry.arg)).copied();
                        let name = known.unwrap_or_else(|| self.name_of(track, entry));
                        if kind != EventKind::MarkText {
                            names.insert((kind, entry.arg), name);
                        }
                        self.timeline.rows[row as usize].marks.push(Mark { at, name });
                    }
                }
            }
            self.counters(track, row, counters);
        }
    }

    /// Adds the numbers of a track that are counters. A mark that is always 0 is a plain event.
    fn counters(
        &mut self,
        track: &perfetto::Track,
        row: u32,
        found: BTreeMap<u16, Vec<(u64, f64)>>,
    ) {
        for (arg, mut points) in found {
            if points.iter().all(|(_, value)| *value == 0.0) {
                continue;
            }
            points.sort_by_key(|(at, _)| *at);
            let mark = track.names.get(EventKind::Mark, arg).unwrap_or("mark");
            let name = format!("{} {mark}", track.name);
            self.timeline.counters.push(Counter { row: row as usize, name, points });
        }
    }

    /// Returns the number of the name of a mark, which contains its text if it has one.
    fn name_of(&mut self, track: &perfetto::Track, entry: &Entry) -> u32 {
        let kind = entry.kind.named();
        let name = match (kind, track.names.get(kind, entry.arg)) {
            (EventKind::Mark, Some(name)) => name.to_owned(),
            (kind, Some(name)) => format!("{} {name}", kind.name()),
            (kind, None) => kind.name().to_owned(),
        };
        match entry.text().filter(|_| self.timeline.names.len() < NAMES_MAX) {
            Some(text) => self.timeline.name(&format!("{name}: {text}")),
            None => self.timeline.name(&name),
        }
    }
}

/// Names of marks from which on the texts of marks are no part of their names.
const NAMES_MAX: usize = 1000;

/// Threads the kernel's side did not name are named after the programs that marked, or by their number.
fn name_rest(rows: &mut [Row], recording: &Recording) {
    for row in rows {
        let Subject::Thread { tid, pid, name } = &mut row.subject else { continue };
        let track = recording
            .tracks
            .iter()
            .find(|track| *tid == if track.tid == 0 { track.pid } else { track.tid });
        if let Some(track) = track.filter(|_| name.is_empty()) {
            *pid = track.pid;
            name.clone_from(&track.name);
        }
        if name.is_empty() {
            *name = format!("thread {tid}");
        }
    }
}

impl Row {
    fn of(subject: Subject) -> Self {
        Self { subject, track: Track::default(), marks: Vec::new(), marked: Vec::new() }
    }
}

impl Timeline {
    fn name(&mut self, name: &str) -> u32 {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) as u32
    }
}
