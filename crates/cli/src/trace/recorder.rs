//! The recorder: drains the events of the kernel and the marks of programs in rounds, and writes the recorded ones.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use hemiola_record::Reservations;
use hemiola_record::accounting::Accounts;
use hemiola_record::kernel::{Capture, CaptureError, Tally as KernelTally};
use hemiola_record::marks::{Call, CallKind, Marks, Task, UNKNOWN};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_trace::sched::{Event, Thread, What};
use hemiola_trace::{Entry, Missing, PAUSED_AFTER, PAUSED_BEFORE};
use hemiola_units::{Instant, Span};
use thiserror::Error;

use super::control::{Request, Verb};
use super::file::TraceFile;
use super::keep::{EVENTS_MAX, Kept};
use super::misses::{self, Misses};
use super::notes::{Notes, TEXTS_MAX};
use super::ranges::Ranges;
use crate::diagnostics::shown;

/// Settings of a recording.
pub(super) struct Settings {
    /// Nothing is recorded until a program calls start.
    pub(super) paused: bool,
    /// Only this much of the end is kept.
    pub(super) keep: Option<Span>,
    /// A missed deadline ends the recording.
    pub(super) until_miss: bool,
    /// A program's call of trigger ends the recording.
    pub(super) until_call: bool,
    /// Whether the numbers of threads in `/proc` are those of the kernel's events.
    pub(super) are_numbers_known: bool,
    /// The path of the file.
    pub(super) output: PathBuf,
}

/// Why a recording failed.
#[derive(Debug, Error)]
pub(super) enum Broken {
    #[error("{0}")]
    Capture(#[from] CaptureError),
    #[error("the trace cannot be written: {0}\nhint: the file contains everything recorded before")]
    File(#[from] io::Error),
}

/// Result of a recording.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Time from the beginning to the end of the recorder.
    pub(super) length: Span,
    /// Of this, the time in which recording was not paused.
    pub(super) recorded: Span,
    /// Context switches and other kernel events that were recorded.
    pub(super) switches: u64,
    pub(super) others: u64,
    /// Entries of programs' tasks that were recorded.
    pub(super) marks: u64,
    /// Tasks of programs, and marks of theirs that were lost.
    pub(super) tasks: u64,
    pub(super) lost_marks: u64,
    /// Lost kernel events.
    pub(super) lost: u64,
    /// What else could not be recorded, as the file states it.
    pub(super) missing: Vec<(Missing, u64)>,
    /// Size of the file in bytes.
    pub(super) size: u64,
    /// Whether the recording covers the whole system, and contains wake-ups.
    pub(super) system: bool,
    pub(super) wakes: bool,
    /// How much of the end a flight recorder kept, and whether its memory was full.
    pub(super) kept: Option<(Span, bool)>,
}

/// A recording in progress.
pub(super) struct Recorder {
    capture: Capture,
    marks: Option<Marks>,
    settings: Settings,
    file: TraceFile,
    kept: Option<Kept>,
    ranges: Ranges,
    misses: Misses,
    /// The recorder's own track.
    notes: Notes,
    /// Data of one round: events by processor, entries by task.
    events: Vec<Vec<Event>>,
    entries: Vec<(Task, Vec<Entry>)>,
    accounts: Accounts,
    reservations: Reservations,
    began: Instant,
    /// When the programs of the kernel began to be stopped, one after the other: later events lack their companions.
    ended: Option<Instant>,
    /// The start in nanoseconds since 1970 UTC, and the conditions, which snapshots need again.
    unix_ns: u64,
    conditions: Vec<(String, String)>,
    outcome: Outcome,
}

impl Recorder {
    /// Begins to record.
    pub(super) fn begin(
        capture: Capture,
        marks: Option<Marks>,
        settings: Settings,
        file: File,
        unix_ns: u64,
        conditions: &[(String, String)],
    ) -> Result<Self, Broken> {
        let began = MonotonicClock.now();
        let pid = std::process::id();
        let pid = if settings.are_numbers_known { pid } else { UNKNOWN | pid };
        let mut recorder = Self {
            capture,
            marks,
            file: TraceFile::begin(file, began, unix_ns, conditions)?,
            kept: settings.keep.map(|length| Kept::new(length, EVENTS_MAX)),
            ranges: Ranges::new(!settings.paused),
            settings,
            misses: Misses::default(),
            notes: Notes::new(pid),
            events: Vec::new(),
            entries: Vec::new(),
            accounts: Accounts::read(),
            reservations: Reservations::default(),
            began,
            ended: None,
            unix_ns,
            conditions: conditions.to_vec(),
            outcome: Outcome::default(),
        };
        recorder.learn_threads()?;
        Ok(recorder)
    }

    /// The latest time for the next round.
    pub(super) fn next_round(&self) -> Instant {
        MonotonicClock.now() + self.capture.advised_interval()
    }

    /// Drains everything up to now. Returns the reason why a flight recorder should end here, if there is one.
    pub(super) fn round(&mut self) -> Result<Option<String>, Broken> {
        let Self { capture, marks, events, entries, .. } = self;
        let tally = capture.drain(&mut |cpu, batch| {
            let index = usize::from(cpu);
            if events.len() <= index {
                events.resize(index + 1, Vec::new());
            }
            events[index].extend_from_slice(batch);
        })?;
        self.outcome.lost = tally.lost;
        let mut reason = None;
        if let Some(marks) = marks {
            marks.drain(&mut |task, batch| entries.push((task.clone(), batch.to_vec())));
            // Read last: every call made before the newest entry is then known.
            for call in marks.calls() {
                reason = reason.or(self.called(&call));
            }
        }
        // Threads come before the events that refer to them.
        self.learn_threads()?;
        self.pass_on()?;
        let now = MonotonicClock.now();
        self.state_missing(now, &tally)?;
        if let Some(kept) = &mut self.kept {
            kept.prune(now);
        }
        Ok(reason.or_else(|| self.misses.take(now)))
    }

    /// Writes what could not be recorded so far, whenever it is more than before. A flight recorder writes it at its
    /// end.
    fn state_missing(&mut self, at: Instant, kernel: &KernelTally) -> Result<(), Broken> {
        let marks = self.marks.as_ref().map(Marks::tally).unwrap_or_default();
        (self.outcome.tasks, self.outcome.lost_marks) = (marks.tasks, marks.lost);
        let of_marks = [
            (Missing::Tasks, marks.refused_tasks.into()),
            (Missing::NamedMarks, marks.nameless),
            (Missing::InvalidMarks, marks.damaged),
            (Missing::Calls, marks.refused_calls.into()),
            (Missing::Texts, self.notes.refused()),
            (Missing::Threads, marks.unknown_threads),
            (Missing::Namespaces, u64::from(!self.settings.are_numbers_known)),
        ];
        let missing = kernel.missing().into_iter().chain(of_marks);
        let missing = missing.filter(|(_, count)| *count > 0).collect();
        if missing != self.outcome.missing {
            self.outcome.missing = missing;
            if self.kept.is_none() {
                self.file.conditions(at, &self.missing())?;
            }
        }
        Ok(())
    }

    /// Conditions that state what could not be recorded.
    fn missing(&self) -> Vec<(String, String)> {
        let missing = self.outcome.missing.iter();
        missing.map(|(what, count)| (what.condition().to_owned(), count.to_string())).collect()
    }

    /// Drains the rest and ends the recording; the trace states the reason if there is one.
    pub(super) fn end(mut self, reason: Option<&str>) -> Result<Outcome, Broken> {
        let accounts = Accounts::read();
        self.ended = Some(MonotonicClock.now());
        self.capture.stop();
        self.round()?;
        if let Some(reason) = reason {
            self.notes.add(MonotonicClock.now(), reason);
            self.pass_on()?;
        }
        self.learn_threads()?;
        let now = MonotonicClock.now();
        let mut said: Vec<(String, String)> = Vec::new();
        if let Some(mut kept) = self.kept.take() {
            let length = kept.first().map_or(Span::ZERO, |first| now - first);
            self.outcome.kept = Some((length, kept.is_crowded()));
            kept.spill(&mut self.file)?;
            said.push(("kept".into(), length.to_string()));
            said.extend(self.missing());
        } else if self.ranges.is_everything() {
            // The accounts cover the whole time, so they are left out if only parts were recorded.
            let (start, stop) = (self.accounts, accounts);
            let system = self.capture.is_system();
            said.extend(match system {
                true => Accounts::between(&start, &stop),
                false => Accounts::between(&start.of_threads(), &stop.of_threads()),
            });
        }
        said.extend(self.reservations.conditions());
        said.extend(reason.map(|reason| ("trigger".to_owned(), reason.to_owned())));
        (self.outcome.system, self.outcome.wakes) =
            (self.capture.is_system(), self.capture.has_wakes());
        self.outcome.length = now - self.began;
        self.outcome.recorded = self.outcome.length;
        if !self.ranges.is_everything() {
            let extent = self.ranges.extent(self.began, now);
            self.outcome.recorded = extent.recorded;
            // Pauses in between show in the events, those at the ends do not.
            let pauses = [(PAUSED_BEFORE, extent.before), (PAUSED_AFTER, extent.after)];
            let pauses = pauses.into_iter().filter(|(_, length)| *length > Span::ZERO);
            said.extend(pauses.map(|(name, length)| (name.to_owned(), length.to_string())));
        }
        self.outcome.size = self.file.end(now, &said)?;
        Ok(self.outcome)
    }

    /// Handles a program's call. Returns a reason to end if the call is a trigger of this recording.
    fn called(&mut self, call: &Call) -> Option<String> {
        let at = Instant::from_nanos(call.at).min(MonotonicClock.now());
        match call.kind {
            CallKind::Start | CallKind::Stop => {
                let recording = call.kind == CallKind::Start;
                if self.ranges.set(at, recording) {
                    self.notes.switched(at, recording);
                }
                None
            }
            CallKind::Trigger => {
                self.notes.add(at, &format!("trigger: {}", call.text));
                let reason = format!("process {} triggered: {}", call.pid, call.text);
                (self.kept.is_some() && self.settings.until_call).then_some(reason)
            }
        }
    }

    /// Carries out a request of another program that concerns a moment. Returns a reason to end if it is a trigger of
    /// this recording.
    pub(super) fn request(&mut self, request: &Request) -> Result<Option<String>, String> {
        let at = request.at.min(MonotonicClock.now());
        match &request.verb {
            Verb::Start | Verb::Stop => {
                let recording = request.verb == Verb::Start;
                if self.ranges.set(at, recording) {
                    self.notes.switched(at, recording);
                }
                Ok(None)
            }
            Verb::Mark(text) if self.notes.add(at, text) => Ok(None),
            Verb::Mark(_) => Err(format!(
                "the recording has {TEXTS_MAX} different texts of marks already; mark with one of them"
            )),
            Verb::Trigger(_) if self.kept.is_none() => {
                Err("the recording has no trigger; start it with --keep".into())
            }
            Verb::Trigger(_) if !self.settings.until_call => {
                Err("a request is no trigger of this recording; start it with --trigger mark"
                    .into())
            }
            Verb::Trigger(text) => {
                self.notes.add(at, &format!("trigger: {text}"));
                Ok(Some(format!("requested: {text}")))
            }
            Verb::Snapshot(name) => self.snapshot(name).map(|()| None),
        }
    }

    /// Writes everything recorded up to the last round to a file of this name beside that of the recording.
    fn snapshot(&mut self, name: &str) -> Result<(), String> {
        let path = self.settings.output.with_file_name(format!("{name}.trace"));
        let failed = |error: io::Error| format!("{} cannot be written: {error}", shown(&path));
        let missing = self.missing();
        let Some(kept) = &mut self.kept else {
            // First, so that nothing is left behind if there is nothing to copy.
            let from = self.file.open();
            let from = from.map_err(|error| format!("the recording cannot be copied: {error}"))?;
            let to = File::create_new(&path).map_err(failed)?;
            return self.file.copy(from, to).map_err(failed);
        };
        let to = File::create_new(&path).map_err(failed)?;
        let (began, conditions) = (self.began, &self.conditions);
        let mut file = TraceFile::begin(to, began, self.unix_ns, conditions).map_err(failed)?;
        kept.spill(&mut file).map_err(failed)?;
        file.end(MonotonicClock.now(), &missing).map(drop).map_err(failed)
    }

    fn learn_threads(&mut self) -> Result<(), Broken> {
        let mut threads: Vec<Thread> = self.capture.threads()?;
        if !self.settings.are_numbers_known {
            // What /proc lists has the same numbers as other threads.
            threads.retain(|thread| thread.since > Instant::ZERO);
        }
        match &mut self.kept {
            Some(kept) => kept.threads(&threads),
            None => self.file.threads(&threads)?,
        }
        Ok(())
    }

    /// Filters the round and passes it to the file or the flight recorder.
    fn pass_on(&mut self) -> Result<(), Broken> {
        let mut ended = Vec::new();
        for (cpu, events) in (0..).zip(&mut self.events) {
            events.retain(|event| self.ended.is_none_or(|ended| event.at <= ended));
            if self.settings.until_miss {
                ended.extend(misses::ends(events));
            }
            self.reservations.notice(events);
            self.ranges.filter(cpu, events);
            let switches = events.iter().filter(|event| matches!(event.what, What::Switch { .. }));
            let switches = switches.count() as u64;
            self.outcome.switches += switches;
            self.outcome.others += events.len() as u64 - switches;
            match &mut self.kept {
                Some(kept) => kept.kernel(cpu, events),
                None => self.file.kernel(cpu, events)?,
            }
            // Release the memory of a burst.
            events.clear();
            events.shrink_to(ROUND_EVENTS);
        }
        for (task, mut entries) in self.entries.drain(..) {
            if self.settings.until_miss {
                self.misses.entries(&task, &entries, |at| self.ranges.holds(at));
            }
            entries.retain(|entry| self.ranges.holds(entry.at));
            self.outcome.marks += entries.len() as u64;
            match &mut self.kept {
                Some(kept) => kept.entries(&task, &entries),
                None => self.file.entries(&task, &entries)?,
            }
        }
        // Notes are recorded also during a pause.
        let (task, noted) = self.notes.take();
        match &mut self.kept {
            _ if noted.is_empty() => {}
            Some(kept) => kept.entries(task, &noted),
            None => self.file.entries(task, &noted)?,
        }
        // After the entries: what a thread marked before its end is among them.
        ended.into_iter().for_each(|(tid, at)| self.misses.ended(tid, at));
        Ok(())
    }
}

/// Events per processor for which memory is kept between rounds.
const ROUND_EVENTS: usize = 1 << 16;
