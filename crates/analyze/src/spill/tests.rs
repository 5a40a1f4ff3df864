//! Figures and timelines that are mostly outside the memory, against those that are in it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use hemiola_trace::Recording;
use hemiola_trace::sched::{Event, What};
use hemiola_trace::source::ByteSource;

use super::Spill;
use crate::sched::synthetic::{Task, run};
use crate::sched::{Options, Report, analyze, analyze_spilling};
use crate::timeline::find::{Query, find};
use crate::timeline::{Segment, State, Timeline, Track, jobs};

/// Room for a number of bytes, which can be read back or not.
pub(crate) struct Room {
    bytes: Mutex<Vec<u8>>,
    kept_max: usize,
    max: usize,
    is_readable: bool,
}

impl Room {
    pub(crate) fn new(kept_max: usize, max: usize, is_readable: bool) -> Arc<Self> {
        Arc::new(Self { bytes: Mutex::default(), kept_max, max, is_readable })
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap()
    }
}

impl ByteSource for Room {
    fn size(&self) -> u64 {
        self.bytes().len() as u64
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if !self.is_readable {
            return Err(io::ErrorKind::Other.into());
        }
        self.bytes().read_exact_at(buffer, offset)
    }
}

impl Spill for Room {
    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        let mut all = self.bytes();
        if all.len() + bytes.len() > self.max {
            return Err(io::ErrorKind::StorageFull.into());
        }
        all.extend(bytes);
        Ok((all.len() - bytes.len()) as u64)
    }

    fn clear(&self) -> io::Result<()> {
        self.bytes().clear();
        Ok(())
    }

    fn kept_max(&self) -> usize {
        self.kept_max
    }
}

/// Four threads on two processors; with `gaps`, events are lost at times, so that the recording is read twice.
fn recording(gaps: bool) -> Recording {
    let task = |n: u32, period_ns: u64| Task {
        name: format!("task {n}"),
        tid: 100 + n,
        cpu: (n % 2) as u16,
        priority: n as i16,
        period_ns,
        jitter_ns: 20_000,
        execution_min_ns: period_ns / 10,
        execution_max_ns: period_ns / 5,
        ..Task::default()
    };
    let tasks = [1, 2, 3, 8].map(|n| task(n, u64::from(n) * 100_000));
    let (recording, _) = run(&tasks, 1_000_000_000, 1);
    let lose = |(number, event): (usize, Event)| match event.what {
        What::Switch { .. } if gaps && number % 20_000 == 19_999 => {
            Event { what: What::Lost(1), ..event }
        }
        _ => event,
    };
    Recording::new(recording.events().enumerate().map(lose).collect(), Vec::new(), Vec::new())
}

fn build(recording: &Recording, room: &Arc<Room>) -> (Timeline, Report) {
    Timeline::spilling(recording, &Options::default(), Arc::clone(room) as Arc<dyn Spill>)
}

fn segments(track: &Track) -> Vec<Segment> {
    track.between(0, u64::MAX).collect()
}

/// Compares whatever the page shows of both.
fn must_be_the_same(one: &Timeline, other: &Timeline) {
    assert_eq!((one.from, one.to, one.rows.len()), (other.from, other.to, other.rows.len()));
    let (from, to) = (one.from.nanos(), one.to.nanos());
    let middle = from + (to - from) / 2;
    for (number, (row, same)) in one.rows.iter().zip(&other.rows).enumerate() {
        assert_eq!(segments(&row.track), segments(&same.track), "row {number}");
        assert_eq!(jobs::of(row), jobs::of(same), "row {number}");
        for (from, to, pixels) in
            [(from, to, 700), (middle, middle + 3_000_000, 1_000), (middle, to, 3)]
        {
            let [drawn, as_well] = [one, other].map(|of| of.window(from, to, pixels, number));
            assert_eq!(drawn, as_well, "row {number}");
            let totals = row.track.totals_between(from, to);
            assert_eq!(totals, same.track.totals_between(from, to), "row {number}");
        }
    }
    for text in ["woken", "running 103", "lost"] {
        let [found, as_well] = [one, other].map(|of| find(of, &Query::new(text), middle, 50));
        assert_eq!(found, as_well, "{text}");
    }
}

#[test]
fn a_timeline_outside_the_memory_shows_what_one_in_memory_shows() {
    for gaps in [false, true] {
        let recording = recording(gaps);
        let (plain, figures) = Timeline::with_report(&recording, &Options::default());
        let count: usize = plain.rows.iter().map(|row| row.track.len()).sum();
        for (kept_max, max) in [(0, usize::MAX), (100_000, usize::MAX), (0, 60_000), (0, 0)] {
            let room = Room::new(kept_max, max, true);
            let (timeline, report) = build(&recording, &room);
            must_be_the_same(&plain, &timeline);
            assert_eq!(report, figures);
            match (kept_max, max) {
                // Two bytes of each segment at least are outside, and of one walk only.
                (0, usize::MAX) => {
                    let size = room.size() as usize;
                    assert!((2 * count..7 * count).contains(&size), "{size} bytes of {count}");
                }
                (_, usize::MAX) => assert!(room.size() > 0),
                _ => assert!(room.size() <= max as u64),
            }
        }
    }
}

#[test]
fn segments_that_cannot_be_read_back_are_unknown() {
    let recording = recording(false);
    let plain = Timeline::build(&recording);
    let room = Room::new(0, usize::MAX, false);
    let (timeline, _) = build(&recording, &room);
    let (from, to) = (timeline.from.nanos(), timeline.to.nanos());
    for (number, (row, plain)) in timeline.rows.iter().zip(&plain.rows).enumerate() {
        let all = segments(&row.track);
        assert_eq!(row.track.len(), plain.track.len());
        assert!(all.iter().all(|segment| segment.state == State::Unknown), "row {number}");
        assert!(all.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert!(jobs::of(row).is_empty());
        let middle = from + (to - from) / 2;
        let spans = timeline.window(middle, middle + 50_000, 1_000, number);
        assert!(spans.iter().all(|span| span.shares == [0, 0, 0, 255]), "{spans:?}");
    }
}

#[test]
fn the_figures_are_the_same_wherever_the_observations_are() {
    for gaps in [false, true] {
        let recording = recording(gaps);
        let plain = analyze(&recording, &Options::default());
        for (kept_max, max) in [(0, usize::MAX), (60_000, usize::MAX), (0, 20_000), (0, 0)] {
            let room = Room::new(kept_max, max, true);
            let spill = Arc::clone(&room) as Arc<dyn Spill>;
            assert_eq!(analyze_spilling(&recording, &Options::default(), spill), plain);
            assert_eq!(room.size() > 0, max > 0);
        }
    }
}

#[test]
fn figures_without_observations_that_cannot_be_read_back_say_so() {
    let recording = recording(false);
    let room = Room::new(0, usize::MAX, false);
    let report = analyze_spilling(&recording, &Options::default(), room);
    let said = report.notes.iter().filter(|note| note.contains("could not be read back")).count();
    assert_eq!(said, 1, "{:?}", report.notes);
    let is_cut = |of: &crate::sched::ThreadReport| {
        of.execution_ns.as_ref().is_none_or(|execution| execution.count < of.invocations)
    };
    assert!(report.threads.iter().all(is_cut));
}
