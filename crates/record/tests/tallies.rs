//! Every mark is in the trace or counted as lost.

use hemiola_record::{Drain, Recorder, create_log};
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
