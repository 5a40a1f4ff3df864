//! Jobs that programs marked, merged with the kernel's events: a delay of a thread delays its open jobs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hemiola_trace::{Entry, EventKind, Recording};

use super::blame::Waited;
use super::blame::{self, Begun};
use super::culprits::{Culprits, Taken};
use super::report::Job;
use super::tally::Code;
use super::threads::{Mode, State};
use super::{CULPRITS_MAX, DELAYS_MAX, Options, Who};
use hemiola_stats::Stream;

/// The tracks of a recording as tasks, and which mark comes next.
pub(super) struct Marks<'r> {
    /// One for each track, in their order.
    pub(super) tasks: Vec<Task<'r>>,
    /// When each track's next mark is due.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// The first of these.
    next: u64,
    /// Whether the kernel's side was recorded too.
    kernel: bool,
}

/// A track and its jobs.
pub(super) struct Task<'r> {
    pub(super) tid: u32,
    pub(super) pid: u32,
    pub(super) name: &'r str,
    /// Whether there is any job in it.
    pub(super) has_jobs: bool,
    entries: &'r [Entry],
    pub(super) given: Option<u64>,
    pub(super) open: Option<Open>,
    /// The release before, if nothing was lost since.
    released: Option<u64>,
    pub(super) jobs: u64,
    pub(super) incomplete: u64,
    pub(super) missed: u64,
    pub(super) skipped: u64,
    pub(super) lateness_max: Option<i64>,
    pub(super) execution: Stream,
    pub(super) latency: Stream,
    pub(super) response: Stream,
    pub(super) blocking: Stream,
    /// The greatest of a job.
    pub(super) suspension: u64,
    pub(super) interval: Stream,
    pub(super) deadline: Stream,
    pub(super) culprits: Culprits<CULPRITS_MAX>,
}

/// A job that has begun.
pub(super) struct Open {
    release: u64,
    start: u64,
    cycle: u32,
    /// Its thread's processor time before.
    running_before: u64,
    pub(super) delays: Culprits<DELAYS_MAX>,
    /// Everything since its release was seen.
    sound: bool,
    /// How often its thread had been lost from sight.
    cuts: u64,
}

impl<'r> Marks<'r> {
    pub(super) fn of(recording: &'r Recording, options: &Options) -> Self {
        let task = |track: &'r hemiola_trace::perfetto::Track| {
            let tid = if track.tid == 0 { track.pid } else { track.tid };
            let given = options.periods.iter().find(|(who, _)| match who {
                Who::Name(name) => *name == track.name,
                Who::Tid(number) => *number == tid,
            });
            Task {
                tid,
                pid: track.pid,
                name: &track.name,
                has_jobs: track.entries.iter().any(|entry| entry.kind == EventKind::Start),
                entries: &track.entries,
                given: given.map(|(_, period)| period.nanos().max(1).unsigned_abs()),
                open: None,
                released: None,
                jobs: 0,
                incomplete: 0,
                missed: 0,
                skipped: 0,
                lateness_max: None,
                execution: Stream::default(),
                latency: Stream::default(),
                response: Stream::default(),
                blocking: Stream::default(),
                suspension: 0,
                interval: Stream::default(),
                deadline: Stream::default(),
                culprits: Culprits::default(),
            }
        };
        let mut marks = Self {
            tasks: recording.tracks.iter().map(task).collect(),
            due: BinaryHeap::new(),
            next: u64::MAX,
            kernel: recording.events().next().is_some(),
        };
        for track in 0..marks.tasks.len() {
            marks.schedule(track, 0);
        }
        marks
    }

    /// The next mark, if it is due at that moment.
    #[inline]
    pub(super) fn due(&mut self, at: u64) -> Option<(u64, usize)> {
        if self.next > at {
            return None;
        }
        let Reverse(first) = self.due.pop()?;
        self.next = self.due.peek().map_or(u64::MAX, |next| next.0.0);
        Some(first)
    }

    /// Takes the due mark of a track and schedules the next one.
    pub(super) fn take(&mut self, track: usize) -> Option<Entry> {
        let (entry, rest) = self.tasks[track].entries.split_first()?;
        self.tasks[track].entries = rest;
        self.schedule(track, entry.at.nanos());
        Some(*entry)
    }

    /// Schedules the next relevant mark of a track. If its clock went back, time stands still.
    fn schedule(&mut self, track: usize, now: u64) {
        let entries = &mut self.tasks[track].entries;
        let matters = |entry: &Entry| {
            matches!(entry.kind, EventKind::Start | EventKind::Finish | EventKind::Lost)
        };
        let Some(next) = entries.iter().position(matters) else {
            *entries = &[];
            return;
        };
        *entries = &entries[next..];
        // `u64::MAX` stands for the end of the recording.
        let at = entries[0].at.nanos().max(now).min(u64::MAX - 1);
        self.due.push(Reverse((at, track)));
        self.next = self.due.peek().map_or(u64::MAX, |next| next.0.0);
    }

    #[inline]
    pub(super) fn delay(&mut self, mark: u32, taken: Taken) {
        if let Some(open) = &mut self.tasks[mark as usize].open {
            open.delays.add(taken);
        }
    }

    /// Events of a track are lost.
    pub(super) fn lose(&mut self, track: usize, state: &mut State) {
        let task = &mut self.tasks[track];
        task.released = None;
        task.incomplete += u64::from(task.open.take().is_some());
        state.open_marks.retain(|mark| *mark as usize != track);
    }

    /// The recording ends. Counts the jobs whose deadline has passed although their thread was there to finish them,
    /// and returns their number. Of a task that marks its deadlines, the latest of those before counts.
    pub(super) fn end(&mut self, at: u64, until: impl Fn(u32) -> u64) -> u64 {
        let mut late = 0;
        for task in &mut self.tasks {
            let Some(open) = &task.open else { continue };
            let longest = task.deadline.ends_between(0, u64::MAX).map(|ends| ends.1);
            let Some(after) = longest.or(task.given) else { continue };
            if open.release.saturating_add(after) < until(task.tid).min(at) {
                task.missed += 1;
                late += 1;
            }
        }
        late
    }

    /// A job begins; `running` is its thread's processor time until now.
    pub(super) fn start(
        &mut self,
        track: usize,
        thread: usize,
        entry: &Entry,
        state: &mut State,
        running: u64,
    ) {
        let task = &mut self.tasks[track];
        let at = entry.at.nanos();
        let release = if entry.a == 0 || entry.a > at { at } else { entry.a };
        if task.open.take().is_some() {
            task.incomplete += 1;
            state.open_marks.retain(|mark| *mark as usize != track);
        }
        task.skipped += u64::from(entry.arg);
        if let Some(before) = task.released.replace(release) {
            task.interval.push(release.saturating_sub(before));
        }
        let invocation = &state.invocation;
        let is_begun = invocation.open && invocation.release >= release;
        let runs = state.mode == Mode::Running;
        let sound = runs && (!is_begun || invocation.sound);
        let begun = is_begun.then(|| Begun {
            release: invocation.release,
            waker: invocation.waker.unwrap_or(Code::UNKNOWN),
            delays: &invocation.delays,
        });
        let delays = match runs {
            true => blame::until_start(Code::thread(thread), release, at, begun),
            false => Culprits::default(),
        };
        let running_before = running;
        let cuts = state.cuts;
        task.open = Some(Open {
            release,
            start: at,
            cycle: entry.cycle,
            running_before,
            delays,
            sound,
            cuts,
        });
        state.open_marks.push(track as u32);
    }

    /// Ends a job. Returns it and by how much it was late, ns.
    pub(super) fn finish(
        &mut self,
        track: usize,
        entry: &Entry,
        states: &mut [State],
        thread: usize,
        running: u64,
        waits: Waited,
    ) -> Option<(Job, u64)> {
        let task = &mut self.tasks[track];
        let state = &mut states[thread];
        let open = task.open.take()?;
        state.open_marks.retain(|mark| *mark as usize != track);
        let at = entry.at.nanos();
        let marked = (entry.a != 0 && entry.a != u64::MAX).then_some(entry.a);
        let deadline = marked.or_else(|| Some(open.release.saturating_add(task.given?)));
        let seen = open.sound && state.mode == Mode::Running && state.cuts == open.cuts;
        let complete = seen || !self.kernel;
        let execution = if seen { running.saturating_sub(open.running_before) } else { entry.b };
        if complete {
            task.jobs += 1;
            task.execution.push(execution);
            task.latency.push(open.start - open.release);
            task.response.push(at.saturating_sub(open.release));
            if let Some(blocking) = waits.blocking {
                task.blocking.push(blocking);
            }
            task.suspension = task.suspension.max(waits.suspension);
        } else {
            task.incomplete += 1;
        }
        task.culprits.add_all(&open.delays);
        let mut late = 0;
        if let Some(deadline) = deadline {
            task.deadline.push(deadline.saturating_sub(open.release));
            let lateness = i64::try_from(i128::from(at) - i128::from(deadline)).unwrap_or(i64::MAX);
            task.lateness_max = Some(task.lateness_max.map_or(lateness, |most| most.max(lateness)));
            late = at.saturating_sub(deadline);
            task.missed += u64::from(late > 0);
        }
        let tid = state.tid;
        let job = Job {
            tid,
            track: Some(track),
            number: u64::from(open.cycle),
            release_ns: open.release,
            start_ns: open.start,
            finish_ns: at,
            deadline_ns: deadline,
            execution_ns: execution,
            delays: open.delays.delays(|index| states[index].tid),
            complete,
        };
        Some((job, late))
    }
}
