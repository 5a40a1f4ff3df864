//! Every mark is in the trace or counted as lost.

use std::cell::Cell;
use std::io::{self, Write};

use hemiola_record::{Drain, Intake, LOG_CAPACITY, Recorder, create_log, log_capacity};
use hemiola_rt::clock::MonotonicClock;
use hemiola_rt::shared::{LogWriter, Segment};
use hemiola_trace::perfetto::{Names, TraceWriter, read};
use hemiola_trace::{Entry, EventKind, ReadError};
use hemiola_units::{Instant, Span};
use proptest::prelude::*;

fn drain(file: &mut Vec<u8>) -> Drain<&mut Vec<u8>> {
    Drain::new(TraceWriter::new(file, Instant::ZERO, 0, &[]).unwrap())
}

fn recorder(log: &Segment) -> Recorder<MonotonicClock> {
    Recorder::new(log.try_clone().unwrap(), MonotonicClock).unwrap()
}

proptest! {
    #[test]
    fn every_mark_of_every_process_is_in_the_trace_or_counted(
        capacity in 1..20_u32,
        steps in prop::collection::vec((0..2_usize, 0..30_u32), 0..30),
    ) {
        let mut file = Vec::new();
        let mut drain = drain(&mut file);
        let logs = [create_log("one", capacity).unwrap(), create_log("other", capacity).unwrap()];
        let mut recorders = [recorder(&logs[0]), recorder(&logs[1])];
        let tracks = logs.map(|log| drain.add(log, 1, "x", Names::default()).unwrap());
        let mut marked = [0, 0];
        for (process, count) in steps {
            for _ in 0..count {
                recorders[process].mark(EventKind::Mark, 0, marked[process], 0, 0);
                marked[process] += 1;
            }
            drain.drain().unwrap();
        }
        let tallies = tracks.map(|track| drain.tally(track));
        let (trace, errors) = read(&file);
        prop_assert_eq!(errors, [ReadError::Unfinished]);
        for process in 0..2 {
            let tally = tallies[process];
            prop_assert_eq!(tally.entries + tally.lost, u64::from(marked[process]));
            prop_assert_eq!(tally.lost, recorders[process].lost());
            let entries = &trace.tracks[process].entries;
            let cycles = entries.iter().filter(|entry| entry.kind == EventKind::Mark).map(|e| e.cycle);
            prop_assert!(cycles.clone().is_sorted());
            prop_assert_eq!(cycles.count() as u64, tally.entries);
            let lost = entries.iter().filter(|entry| entry.kind == EventKind::Lost).map(|entry| entry.a);
            prop_assert_eq!(lost.sum::<u64>(), tally.lost);
        }
    }
}

/// An output during whose writes something else happens.
struct Slow<F>(F);

impl<F: FnMut()> Write for Slow<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Marks that a log of 100 entries loses while 1000 are made during one write of the output, and another thread takes
/// them after every so many.
fn lost_during_a_write(taken_every: u32) -> u64 {
    let log = create_log("test", 100).unwrap();
    let mut recorder = recorder(&log);
    let first = recorder.mark(EventKind::Mark, 0, 0, 0, 0);
    let intake: Cell<Option<Intake>> = Cell::new(None);
    let output = Slow(|| {
        let Some(intake) = intake.take() else { return };
        for number in 1..=1000 {
            recorder.mark(EventKind::Mark, 0, number, 0, 0);
            if number % taken_every == 0 {
                intake.take();
            }
        }
    });
    let mut drain = Drain::new(TraceWriter::new(output, first, 0, &[]).unwrap());
    let track = drain.add(log, 1, "x", Names::default()).unwrap();
    intake.set(Some(drain.intake()));
    let mut written = drain.drain().unwrap() as u64;
    while let count @ 1.. = drain.drain_at_most(70, |_| {}).unwrap() {
        assert!(count <= 70);
        written += count as u64;
    }
    let tally = drain.tally(track);
    assert_eq!(tally.entries + tally.lost, 1001);
    // And the entries that report losses.
    assert!(written >= tally.entries);
    tally.lost
}

#[test]
fn a_slow_output_costs_no_mark_while_another_thread_takes_them_in_time() {
    assert_eq!(lost_during_a_write(u32::MAX), 900);
    assert_eq!(lost_during_a_write(100), 0);
    assert_eq!(lost_during_a_write(125), 8 * 25);
}

#[test]
fn what_has_its_stamp_already_and_pairs_are_recorded_as_documented() {
    let log = create_log("test", 100).unwrap();
    let mut recorder = recorder(&log);
    let at = Instant::from_nanos(4);
    let stamped = Entry { at, kind: EventKind::Start, arg: u16::MAX, cycle: 3, a: 2, b: 0 };
    recorder.push(stamped);
    recorder.measure_pair(10);

    let mut file = Vec::new();
    let mut drain = drain(&mut file);
    drain.add(log, 1, "x", Names::default()).unwrap();
    assert_eq!(drain.drain().unwrap(), 11);
    let (trace, _) = read(&file);
    let entries = &trace.tracks[0].entries;
    assert_eq!(entries[0], stamped);
    let pairs = &entries[1..];
    assert!(pairs.iter().all(|entry| entry.kind == EventKind::Pair));
    assert_eq!(pairs[0].b, 0);
    for pair in pairs.windows(2) {
        assert_eq!(pair[1].at - pair[0].at, Span::from_nanos(pair[1].b as i64));
    }
}

#[test]
fn what_no_recorder_writes_is_counted_and_left_out() {
    let log = create_log("test", 100).unwrap();
    let mut writer = LogWriter::attach(log.try_clone().unwrap()).unwrap();
    writer.push([1, 0xFFFF, 2, 3]);
    recorder(&log).mark(EventKind::Mark, 0, 0, 0, 0);
    let mut file = Vec::new();
    let mut drain = drain(&mut file);
    let track = drain.add(log, 1, "x", Names::default()).unwrap();
    assert_eq!(drain.drain().unwrap(), 1);
    let tally = drain.tally(track);
    assert_eq!((tally.entries, tally.lost, tally.damaged), (1, 0, 1));
}

#[test]
fn a_log_holds_a_second_of_every_usual_rate() {
    let capacity = |rate: &str| log_capacity(rate.parse().unwrap());
    assert_eq!(["1mHz", "50Hz", "1kHz"].map(capacity), [LOG_CAPACITY; 3]);
    assert_eq!([capacity("2kHz"), capacity("5kHz"), capacity("8kHz")], [1 << 15, 1 << 17, 1 << 17]);
    assert_eq!(capacity("1MHz"), 1 << 17);
    for hertz in [50, 500, 1000, 1025, 2000, 3333, 5000, 8000] {
        assert!(capacity(&format!("{hertz}Hz")) >= 16 * hertz);
    }
}
