//! From the walk over a recording to rows of segments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hemiola_stats::growth::{make_room, push_slowly};
use hemiola_trace::{Entry, EventKind, Recording, perfetto};
use hemiola_units::Instant;

use super::jobs::{Busy, End, Marked};
use super::track::{State, Track};
use super::{Counter, INTERRUPT, Mark, NOBODY, RESERVATION, Row, Subject, Timeline};
use crate::sched::follow::{Doing, Follow, Several};
use crate::sched::tally::Code;
use crate::sched::{self, Options, Report, Walk};
use crate::spill::{Outside, Spill};

/// The maximum number of rows. Threads that appear later are left out.
pub const ROWS_MAX: usize = 1 << 20;

impl Timeline {
    /// Goes through a recording, without any period given.
    #[must_use]
    pub fn build(recording: &Recording) -> Self {
        Self::with_report(recording, &Options::default()).0
    }

    /// Goes through a recording and returns the timeline with the figures, which count the same jobs.
    #[must_use]
    pub fn with_report(recording: &Recording, options: &Options) -> (Self, Report) {
        Self::follow(recording, options, None)
    }

    /// As [`Timeline::with_report`], for a recording of any length: most segments are outside the memory of the
    /// process. Segments that cannot be read back later are [`State::Unknown`].
    #[must_use]
    pub fn spilling(
        recording: &Recording,
        options: &Options,
        spill: Arc<dyn Spill>,
    ) -> (Self, Report) {
        Self::follow(recording, options, Some(Outside::new(spill)))
    }

    fn follow(
        recording: &Recording,
        options: &Options,
        outside: Option<Outside>,
    ) -> (Self, Report) {
        let mut builder = Builder::new(recording, outside.clone());
        let walk = sched::walk(recording, options, None, outside, &mut builder);
        builder.finish(recording, walk)
    }
}

pub(super) struct Builder<'r> {
    pub(super) timeline: Timeline,
    /// The place of each name.
    names: BTreeMap<String, u32>,
    /// The row of each processor by its number.
    processors: Vec<Option<u32>>,
    page_fault: [Option<u32>; 2],
    /// The system calls of each thread that makes any.
    calls: BTreeMap<usize, Track>,
    /// The place of the name of each system call.
    call_names: BTreeMap<u16, u32>,
    /// The jobs that programs marked and that were seen in part: the track, and the start, ns.
    in_part: BTreeSet<(usize, u64)>,
    recording: &'r Recording,
    /// Where segments go that are not kept in memory.
    outside: Option<Outside>,
    /// The first moment that a program marked, ns.
    marked_from: Option<u64>,
    /// The end of the walk and of all that programs marked, ns.
    to: u64,
}

impl<'r> Builder<'r> {
    fn new(recording: &'r Recording, outside: Option<Outside>) -> Self {
        let length = recording.cpus.iter().max().map_or(0, |cpu| usize::from(*cpu) + 1);
        let mut processors = vec![None; length];
        let rows = |subject: fn(u16) -> Subject| recording.cpus.iter().map(move |c| subject(*c));
        for (index, cpu) in recording.cpus.iter().enumerate() {
            processors[usize::from(*cpu)] = Some(index as u32);
        }
        let rows = rows(Subject::Processor).chain(rows(Subject::Interrupts));
        let rows = rows.map(|subject| Row::of(subject, outside.as_ref())).collect();
        let timeline = Timeline { rows, threads: 2 * recording.cpus.len(), ..Timeline::default() };
        Self {
            timeline,
            names: BTreeMap::new(),
            processors,
            page_fault: [None; 2],
            calls: BTreeMap::new(),
            call_names: BTreeMap::new(),
            in_part: BTreeSet::new(),
            recording,
            outside,
            marked_from: None,
            to: 0,
        }
    }

    fn processor_row(&self, cpu: u16) -> Option<usize> {
        Some(*self.processors.get(usize::from(cpu))?.as_ref()? as usize)
    }

    /// The row of a thread, made when the thread first does something.
    pub(super) fn row(&mut self, thread: usize) -> Option<&mut Row> {
        let row = self.timeline.threads + thread;
        if row >= ROWS_MAX {
            return None;
        }
        if row >= self.timeline.rows.len() {
            let (outside, rows) = (self.outside.as_ref(), &mut self.timeline.rows);
            let more = row + 1 - rows.len();
            make_room(rows, more, more);
            rows.resize_with(row + 1, || Row::of(Subject::nobody(), outside));
        }
        self.timeline.rows.get_mut(row)
    }

    fn track(&mut self, thread: usize) -> Option<&mut Track> {
        self.row(thread).map(|row| &mut row.track)
    }

    fn key(&self, code: Code) -> u32 {
        match (code, code.as_thread()) {
            (Code::INTERRUPT, _) => INTERRUPT,
            (Code::RESERVATION, _) => RESERVATION,
            (_, Some(thread)) if self.timeline.threads + thread < ROWS_MAX => {
                (self.timeline.threads + thread) as u32
            }
            _ => NOBODY,
        }
    }
}

impl Follow for Builder<'_> {
    fn restart(&mut self) {
        self.timeline.rows.truncate(self.timeline.threads);
        for row in &mut self.timeline.rows {
            row.track = Track::outside(self.outside.clone());
        }
        self.timeline.names.clear();
        self.names.clear();
        self.page_fault = [None; 2];
        self.calls.clear();
        self.call_names.clear();
        self.in_part.clear();
    }

    fn processor(&mut self, cpu: u16, at: u64, has: Code) {
        let state = match has {
            Code::IDLE => State::Rest,
            _ if has.as_thread().is_some() => State::Running,
            _ => State::Unknown,
        };
        let key = self.key(has);
        if let Some(row) = self.processor_row(cpu) {
            self.timeline.rows[row].track.push(at, state, key);
        }
    }

    fn interrupt(&mut self, cpu: u16, at: u64, serves: Option<Code>) {
        let Some(row) = self.processor_row(cpu) else { return };
        let track = &mut self.timeline.rows[row + self.timeline.threads / 2].track;
        match serves.and_then(Code::as_interrupt) {
            Some(number) => track.push(at, State::Running, number),
            None => track.push(at, State::Rest, NOBODY),
        }
    }

    fn thread(&mut self, thread: usize, at: u64, doing: Doing) {
        let (state, key) = match doing {
            Doing::Asleep => (State::Rest, NOBODY),
            Doing::Blocked => (State::Blocked, NOBODY),
            Doing::Woken(by) => (State::Ready, self.key(by)),
            Doing::Preempted(by) => (State::Preempted, self.key(by)),
            Doing::Throttled => (State::Throttled, NOBODY),
            Doing::Running(cpu) => (State::Running, u32::from(cpu)),
            Doing::Unseen => (State::Unknown, NOBODY),
        };
        if let Some(track) = self.track(thread) {
            track.push(at, state, key);
        }
    }

    fn release(&mut self, thread: usize) {
        self.track(thread).map(Track::release);
    }

    fn close(&mut self, thread: usize, complete: bool) {
        if !complete {
            self.track(thread).map(Track::in_part);
        }
    }

    fn over(&mut self, thread: usize, finish: u64, next: u64) {
        if let Some(row) = self.row(thread) {
            push_slowly(&mut row.busy.ends, End { finish, next });
        }
    }

    fn left(&mut self, thread: usize, finish: u64) {
        if let Some(row) = self.row(thread) {
            push_slowly(&mut row.busy.left, finish);
        }
    }

    fn several(&mut self, thread: usize, several: Several) {
        if let Some(row) = self.row(thread) {
            push_slowly(&mut row.busy.several, several);
        }
    }

    fn marked(&mut self, track: usize, start: u64, complete: bool) {
        if !complete {
            self.in_part.insert((track, start));
        }
    }

    fn call(&mut self, thread: usize, at: u64, number: Option<u16>) {
        let name = number.map(|number| match self.call_names.get(&number) {
            Some(name) => *name,
            None => {
                let name = self.name(&self.recording.call_name(number));
                *self.call_names.entry(number).insert_entry(name).get()
            }
        });
        let outside = &self.outside;
        let track = self.calls.entry(thread).or_insert_with(|| Track::outside(outside.clone()));
        match name {
            Some(name) => {
                // Neighbours of one name stay apart.
                track.release();
                track.push(at, State::Running, name.min(NOBODY));
            }
            None => track.push(at, State::Rest, NOBODY),
        }
    }

    fn page_fault(&mut self, thread: usize, at: u64, in_kernel: bool) {
        let words = ["page fault", "page fault in the kernel"];
        let slot = usize::from(in_kernel);
        let name = match self.page_fault[slot] {
            Some(name) => name,
            None => {
                let name = self.name(words[slot]);
                *self.page_fault[slot].insert(name)
            }
        };
        if let Some(row) = self.row(thread) {
            row.marks.push(Mark { at, name });
        }
    }

    /// Packs all tracks now: the figures, which are made next, need memory too.
    fn end(&mut self, at: u64) {
        let entries = self.recording.tracks.iter().flat_map(|track| &track.entries);
        let events = self.recording.track_events.tracks.iter().filter_map(|track| track.span());
        let events = events.flat_map(|(first, last)| [first, last]);
        (self.marked_from, self.to) = (None, at);
        for marked in entries.map(|entry| entry.at).chain(events).map(Instant::nanos) {
            self.marked_from = Some(self.marked_from.map_or(marked, |from| from.min(marked)));
            self.to = self.to.max(marked);
        }
        let rows = self.timeline.rows.iter_mut().map(|row| &mut row.track);
        let tracks = rows.chain(self.calls.values_mut());
        tracks.filter(|track| !track.is_empty()).for_each(|track| track.close(self.to));
    }
}

impl Builder<'_> {
    fn finish(mut self, recording: &Recording, walk: Walk) -> (Timeline, Report) {
        let Walk { report, events, threads, tasks, event_threads } = walk;
        let from = events.map(|(_, from)| from).into_iter().chain(self.marked_from).min();
        let to = self.to;
        for (thread, seen) in threads.into_iter().enumerate() {
            let Some(row) = self.row(thread) else { break };
            (row.deadline, row.startup) = (seen.deadline_ns, seen.startup_ns);
            row.subject = Subject::Thread { tid: seen.tid, pid: seen.pid, name: seen.name };
        }
        for (number, (thread, given)) in tasks.into_iter().enumerate() {
            let thread = thread.filter(|thread| self.row(*thread).is_some());
            let row = thread.map(|thread| self.timeline.threads + thread);
            self.timeline.tracks.push(row);
            if let Some(row) = row {
                self.program(number, &recording.tracks[number], row, given);
            }
        }
        self.timeline.slices = self.timeline.rows.len();
        self.calls();
        for (track, thread) in recording.track_events.tracks.iter().zip(event_threads) {
            self.events(&recording.track_events.names, track, thread);
        }
        let mut timeline = self.timeline;
        timeline.from = Instant::from_nanos(from.unwrap_or(0));
        timeline.to = Instant::from_nanos(to);
        timeline.events = events.map_or(0, |(count, _)| count);
        timeline.switches = report.switches;
        timeline.lost = report.lost_events;
        timeline.gaps.clone_from(&report.gaps);
        for row in &mut timeline.rows {
            row.finish(to);
        }
        (timeline, report)
    }

    /// Adds a row for the system calls of each thread.
    fn calls(&mut self) {
        for (thread, track) in std::mem::take(&mut self.calls) {
            let below = self.timeline.threads + thread;
            if below >= self.timeline.slices || self.timeline.rows.len() >= ROWS_MAX {
                continue;
            }
            let Subject::Thread { pid, .. } = self.timeline.rows[below].subject else { continue };
            let name = "system calls".to_owned();
            let subject = Subject::Slices { below: Some(below), pid, name, depth: 0 };
            self.timeline.rows.push(Row { track, ..Row::of(subject, None) });
        }
    }

    /// Adds the jobs and single moments that a program marked.
    fn program(&mut self, number: usize, track: &perfetto::Track, row: usize, given: Option<u64>) {
        let mut open: Option<&Entry> = None;
        let mut names: BTreeMap<(EventKind, u16), u32> = BTreeMap::new();
        let mut counters: BTreeMap<u16, Vec<(u64, f64)>> = BTreeMap::new();
        for entry in &track.entries {
            match entry.kind {
                EventKind::Start => open = Some(entry),
                EventKind::Finish => {
                    if let Some(start) = open.take() {
                        let whole = !self.in_part.contains(&(number, start.at.nanos()));
                        let marked = Marked { whole, ..Marked::of(number, start, entry, given) };
                        self.timeline.rows[row].marked.push(marked);
                    }
                }
                EventKind::Pair => {}
                kind => {
                    // The end of a job may be among what is lost.
                    open = open.filter(|_| kind != EventKind::Lost);
                    let at = entry.at.nanos();
                    if let Some(value) = entry.value() {
                        counters.entry(entry.arg).or_default().push((at, value));
                    }
                    let known = names.get(&(kind, entry.arg)).copied();
                    let name = known.unwrap_or_else(|| self.name_of(track, entry));
                    if kind != EventKind::MarkText {
                        names.insert((kind, entry.arg), name);
                    }
                    self.timeline.rows[row].marks.push(Mark { at, name });
                }
            }
        }
        self.counters(track, row, counters);
    }

    /// Adds the numbers of a track that are counters. A mark that is always 0 is a plain event.
    fn counters(
        &mut self,
        track: &perfetto::Track,
        row: usize,
        found: BTreeMap<u16, Vec<(u64, f64)>>,
    ) {
        for (arg, mut points) in found {
            if points.iter().all(|(_, value)| *value == 0.0) {
                continue;
            }
            points.sort_by_key(|(at, _)| *at);
            let mark = track.names.get(EventKind::Mark, arg).unwrap_or("mark");
            let name = format!("{} {mark}", track.name);
            self.timeline.counters.push(Counter { row: Some(row), name, points });
        }
    }

    /// Adds a row below all others.
    pub(super) fn add_row(&mut self, subject: Subject) {
        self.timeline.rows.push(Row::of(subject, self.outside.as_ref()));
    }

    /// Returns the number of a name.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let number = self.timeline.names.len() as u32;
        self.timeline.names.push(name.to_owned());
        self.names.insert(name.to_owned(), number);
        number
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
            Some(text) => self.name(&format!("{name}: {text}")),
            None => self.name(&name),
        }
    }
}

/// Names of marks from which on the texts of marks are no part of their names.
const NAMES_MAX: usize = 1000;

impl Row {
    fn of(subject: Subject, outside: Option<&Outside>) -> Self {
        let track = Track::outside(outside.cloned());
        let (marks, marked) = (Vec::new(), Vec::new());
        let (busy, deadline, startup) = (Busy::default(), None, None);
        Self { subject, track, marks, marked, busy, deadline, startup }
    }

    fn finish(&mut self, to: u64) {
        self.marks.sort_by_key(|mark| mark.at);
        self.marked.sort_by_key(|job| (job.start, job.finish));
        if self.track.is_empty() {
            // The kernel was not recorded: the marks of the program are the only source.
            for job in &self.marked {
                self.track.push(job.start, State::Running, NOBODY);
                self.track.push(job.finish, State::Rest, NOBODY);
            }
        }
        self.track.close(to);
    }
}

impl Subject {
    /// A thread of which nothing is known yet.
    const fn nobody() -> Self {
        Self::Thread { tid: 0, pid: 0, name: String::new() }
    }
}
