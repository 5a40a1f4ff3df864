//! The trace file as a whole: written, truncated, damaged, read.

use proptest::prelude::*;

use super::*;
use crate::event::source;
use crate::fuzzing;

fn entry(kind: EventKind, at: u64, cycle: u32, arg: u16, a: u64, b: u64) -> Entry {
    Entry { at: Instant::from_nanos(at), kind, arg, cycle, a, b }
}

/// The entries of an I/O process in cycle `n`, a day after boot.
fn cycle(n: u32) -> Vec<Entry> {
    let release = 86_400_000_000_000 + u64::from(n) * 20_000_000;
    let at = |us: u64| release + us * 1000 + 7;
    let (x, angle, volts) = (0.013 * f64::from(n), -0.02, 1.25);
    vec![
        entry(EventKind::Start, at(30), n, 0, release, 0),
        entry(EventKind::Sample, at(35), n, 0, f64::to_bits(x), f64::to_bits(angle)),
        entry(EventKind::Send, at(36), n, 0, 0, 0),
        entry(EventKind::Receive, at(80), n, 1, 0, 0),
        entry(EventKind::Actuate, at(85), n, source::unit(1), f64::to_bits(volts), f64::to_bits(x)),
        entry(EventKind::Finish, at(90), n, 0, release + 20_000_000, 31_234),
    ]
}

/// A file with one process, and the end of each of its entries' packets.
fn file(entries: &[Entry], names: Names) -> (Vec<u8>, Vec<usize>) {
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, Instant::from_nanos(1), 2, &[("k", "v")]).unwrap();
    let track = writer.process(77, "io", names).unwrap();
    let mut ends = vec![writer.get_ref().len()];
    for entry in entries {
        writer.entries(track, std::slice::from_ref(entry)).unwrap();
        ends.push(writer.get_ref().len());
    }
    writer.close().unwrap();
    (file, ends)
}

fn any_entry() -> impl Strategy<Value = Entry> {
    (0..EventKind::ALL.len(), any::<(u64, u32, u16, u64, u64)>()).prop_map(
        |(kind, (at, cycle, arg, a, b))| {
            // Few cycles, so that starts and finishes sometimes match.
            entry(EventKind::ALL[kind], at, cycle % 3, arg, a, b)
        },
    )
}

#[test]
fn a_cycle_takes_less_than_60_bytes_an_entry() {
    let entries: Vec<Entry> = (0..1000).flat_map(cycle).collect();
    let (file, ends) = file(&entries, Names::default());
    let per_entry = (file.len() - ends[0]) as f64 / entries.len() as f64;
    assert!(per_entry < 60.0, "{per_entry}");
}

#[test]
fn the_two_ends_of_a_slice_match_by_track_and_category() {
    use super::packet::{TYPE_SLICE_BEGIN, TYPE_SLICE_END, TracePacket};
    use prost::Message;

    let (file, ends) = file(&cycle(1), Names::default());
    let event = |index: usize, kind| {
        // One byte of tag and one of length, for packets of this size.
        let packet = TracePacket::decode(&file[ends[index] + 2..ends[index + 1]]).unwrap();
        let event = packet.track_event.unwrap();
        assert_eq!(event.kind, Some(kind));
        (event.track_uuid, event.category_iids)
    };
    assert_eq!(event(0, TYPE_SLICE_BEGIN), event(5, TYPE_SLICE_END));
}

#[test]
fn conditions_clock_and_names_survive_the_round_trip() {
    let mut names = Names::default();
    names.insert_all(EventKind::Send, &[(0, "sensors")]);
    names.insert_all(EventKind::Switch, &[(3, "left the region")]);
    let mut entries = cycle(5);
    entries.push(entry(EventKind::Switch, 9, 5, 3, 16, 2));
    let (file, _) = file(&entries, names);
    let (trace, errors) = read(&file);
    assert_eq!(errors, []);
    assert_eq!(trace.conditions, [("k".into(), "v".into())]);
    assert_eq!(trace.began, Some((Instant::from_nanos(1), 2)));
    assert_eq!(trace.foreign_packets, 0);
    let track = &trace.tracks[0];
    assert_eq!((track.pid, track.name.as_str()), (77, "io"));
    assert_eq!(track.entries, entries);
    assert_eq!(track.names.get(EventKind::Send, 0), Some("sensors"));
    assert_eq!(track.names.get(EventKind::Switch, 3), Some("left the region"));
    assert_eq!(track.names.get(EventKind::Actuate, 17), Some("unit 1"));
    assert_eq!(track.names.get(EventKind::Receive, 1), None);
}

#[test]
fn a_file_cut_at_any_byte_gives_every_whole_packet() {
    let entries: Vec<Entry> = (0..2).flat_map(cycle).collect();
    let (file, ends) = file(&entries, Names::default());
    for cut in ends[0]..*ends.last().unwrap() {
        let (trace, errors) = read(&file[..cut]);
        let whole = trace.tracks[0].entries.len();
        assert_eq!(trace.tracks[0].entries, entries[..whole]);
        assert!(ends[whole] <= cut && cut < ends[whole + 1]);
        // The description of a counter before the entry is a separate packet, after which a cut is clean.
        let (unfinished, rest) = errors.split_last().unwrap();
        assert_eq!(*unfinished, ReadError::Unfinished);
        assert!(rest.len() <= 1);
        assert!(rest.iter().all(|error| matches!(error, ReadError::Truncated { .. })));
    }
    for cut in 0..ends[0] {
        assert!(read(&file[..cut]).0.tracks.iter().all(|track| track.entries.is_empty()));
    }
}

#[test]
fn a_malformed_packet_loses_only_itself() {
    let entries = cycle(1);
    let (mut file, ends) = file(&entries, Names::default());
    // In the second entry's packet, the first field gets an impossible wire type; the checksum says so too.
    file[ends[1] + 2] = 0x47;
    let (trace, errors) = read(&file);
    assert_eq!(errors, [ReadError::Checksum { offset: ends[1] }]);
    let lost = entry(EventKind::Lost, entries[0].at.nanos(), 1, 0, 1, 0);
    assert_eq!(trace.tracks[0].entries, [&[entries[0], lost], &entries[2..]].concat());
    // The same in a file without checksums.
    let (unsealed, _) = read(&unsealed(&file));
    assert_eq!(unsealed.tracks[0].entries, trace.tracks[0].entries);
}

/// The file as it was before packets had checksums and a closing record.
pub(super) fn unsealed(mut file: &[u8]) -> Vec<u8> {
    let mut old = Vec::new();
    while let Some((_, rest)) = file.split_first() {
        file = rest;
        let length = prost::decode_length_delimiter(&mut file).unwrap();
        let (packet, rest) = file.split_at(length);
        file = rest;
        let content = &packet[..packet.len() - seal::SEAL_LEN];
        let mut wire = hemiola_wire::WireReader::new(content);
        let fields: Vec<u32> = std::iter::from_fn(|| Some(wire.field().ok()??.0)).collect();
        if !fields.contains(&seal::CLOSING) {
            old.push(0x0A);
            hemiola_wire::put_varint(&mut old, content.len() as u64);
            old.extend(content);
        }
    }
    old
}

#[test]
fn a_file_without_checksums_is_read_and_foreign_packets_are_counted_and_skipped() {
    let entries = cycle(1);
    let (file, _) = file(&entries, Names::default());
    let mut file = unsealed(&file);
    // A packet of field 900, as in Perfetto's own tests, with a text.
    file.extend([0x0A, 0x07, 0xA2, 0x38, 0x04, 0x0A, 0x02, b'h', b'i']);
    let (trace, errors) = read(&file);
    assert_eq!(errors, []);
    assert_eq!(trace.foreign_packets, 1);
    assert_eq!(trace.tracks[0].entries, entries);
}

/// Everything that a reader takes from a file.
fn all(bytes: &[u8]) -> (Trace, Vec<crate::sched::Event>, Vec<crate::sched::Thread>) {
    let (recording, _) = crate::Recording::read(bytes);
    let events = recording.events().collect();
    let (trace, _) = read(bytes);
    (trace, events, recording.threads)
}

#[test]
fn a_flipped_bit_is_reported_or_changes_nothing() {
    use crate::sched::{Event, Left, Thread, Tid, What};
    let at = |n: u64| Instant::from_nanos(5_000 + n * 700);
    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(&mut bytes, at(0), 9, &[("kernel", "6.1")]).unwrap();
    let thread = |tid| Thread {
        tid: Tid(tid),
        since: Instant::ZERO,
        pid: 7,
        name: format!("thread {tid}"),
        new: false,
    };
    writer.threads(&[thread(7), thread(8)]).unwrap();
    let track = writer.task(7, 8, "control", Names::default()).unwrap();
    for round in 0..4 {
        for cpu in 0..2 {
            let switch = |n: u64| {
                let [prev, next] = [7 + n % 2, 7 + (n + 1) % 2].map(|tid| Tid(tid as u32));
                let what = What::Switch { prev, left: Left::Sleeping, next, priority: 120 };
                Event { at: at(n), cpu, what }
            };
            let events: Vec<Event> = (round * 10..round * 10 + 10).map(switch).collect();
            writer.kernel(cpu, &events).unwrap();
        }
        writer.entries(track, &cycle(round as u32)).unwrap();
    }
    writer.close().unwrap();

    let expected = all(&bytes);
    assert_eq!(crate::Recording::read(&bytes).1, []);
    let mut reported = 0;
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (_, errors) = crate::Recording::read(&bytes);
        reported += usize::from(!errors.is_empty());
        assert!(
            !errors.is_empty() || all(&bytes) == expected,
            "bit {bit} changes figures silently"
        );
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    // A flipped bit of the length of the last packet alone could pass, and does not.
    assert_eq!(reported, bytes.len() * 8);
}

#[test]
fn after_a_damaged_length_reading_resumes_at_the_next_sound_packet() {
    let entries: Vec<Entry> = (0..3).flat_map(cycle).collect();
    let (mut file, ends) = file(&entries, Names::default());
    file[ends[2] + 1] ^= 0x20;
    let (trace, errors) = read(&file);
    assert_eq!(errors, [ReadError::Checksum { offset: ends[2] }]);
    assert_eq!(trace.tracks[0].entries[..2], entries[..2]);
    assert_eq!(trace.tracks[0].entries[2].kind, EventKind::Lost);
    assert_eq!(trace.tracks[0].entries[3..], entries[3..]);
}

#[test]
fn other_bytes_are_refused_at_once() {
    assert_eq!(read(b"hello").1, [ReadError::NoPacket { offset: 0 }]);
    assert_eq!(read(&[0x0A; 1]).1, [ReadError::Truncated { offset: 0 }]);
    let endless = [[0x0A].as_slice(), &[0xFF; 20]].concat();
    assert_eq!(read(&endless).1, [ReadError::NoPacket { offset: 0 }]);
}

#[test]
fn a_writer_whose_output_failed_refuses_to_continue() {
    /// Accepts this many bytes, fails once, then accepts all.
    struct Full(usize, bool);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0 < bytes.len() && !self.1 {
                self.1 = true;
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.0 = self.0.saturating_sub(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = TraceWriter::new(Full(3000, false), Instant::ZERO, 0, &[]).unwrap();
    let track = writer.process(1, "io", Names::default()).unwrap();
    let entries: Vec<Entry> = (0..100).flat_map(cycle).collect();
    let error = writer.entries(track, &entries).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert!(writer.entries(track, &entries).is_err());
}

proptest! {
    #[test]
    fn any_entries_survive_the_round_trip(
        one in prop::collection::vec(any_entry(), 0..40),
        other in prop::collection::vec(any_entry(), 0..40),
        batch in 1..20_usize,
    ) {
        let mut file = Vec::new();
        let mut writer = TraceWriter::new(&mut file, Instant::ZERO, 0, &[]).unwrap();
        let first = writer.process(1, "one", Names::default()).unwrap();
        let second = writer.process(2, "other", Names::default()).unwrap();
        for (one, other) in one.chunks(batch).zip(other.chunks(batch)) {
            writer.entries(first, one).unwrap();
            writer.entries(second, other).unwrap();
        }
        writer.close().unwrap();
        let batches = one.len().div_ceil(batch).min(other.len().div_ceil(batch));
        let (trace, errors) = read(&file);
        prop_assert_eq!(errors, []);
        let kept = |entries: &[Entry]| entries[..entries.len().min(batches * batch)].to_vec();
        prop_assert_eq!(&trace.tracks[0].entries, &kept(&one));
        prop_assert_eq!(&trace.tracks[1].entries, &kept(&other));
    }

    #[test]
    fn arbitrary_bytes_never_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        fuzzing::trace_file(&bytes);
    }

    #[test]
    fn damaged_traces_never_break_the_reader(
        entries in prop::collection::vec(any_entry(), 0..10),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let (mut file, _) = file(&entries, Names::default());
        for (place, byte) in damage {
            let place = place.index(file.len());
            file[place] = byte;
        }
        fuzzing::trace_file(&file);
    }
}

#[test]
fn a_task_is_a_track_of_its_thread_and_can_name_marks_later() {
    let mut file = Vec::new();
    let mut writer = TraceWriter::new(&mut file, Instant::ZERO, 0, &[("k", "v")]).unwrap();
    let track = writer.task(40, 42, "control", Names::default()).unwrap();
    let at = Instant::from_nanos(7);
    let mark = |arg| Entry { at, kind: EventKind::Mark, arg, cycle: 0, a: 1, b: 0 };
    writer.name(track, EventKind::Mark, 0, "sensor");
    writer.entries(track, &[mark(0)]).unwrap();
    writer.name(track, EventKind::Mark, 1, "actuator");
    writer.entries(track, &[mark(1)]).unwrap();
    writer.conditions(at, &[("late", "w")]).unwrap();
    writer.close().unwrap();
    let (trace, errors) = read(&file);
    assert_eq!(errors, []);
    assert_eq!(trace.conditions, [("k".into(), "v".into()), ("late".into(), "w".into())]);
    let track = &trace.tracks[0];
    assert_eq!((track.pid, track.tid, track.name.as_str()), (40, 42, "control"));
    assert_eq!(track.entries, [mark(0), mark(1)]);
    let names: Vec<_> = (0..3).map(|arg| track.names.get(EventKind::Mark, arg)).collect();
    assert_eq!(names, [Some("sensor"), Some("actuator"), None]);
}

#[test]
fn the_numbers_of_a_mark_are_a_counter_from_the_first_that_is_not_0() {
    use super::packet::TracePacket;
    use prost::Message;

    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(&mut bytes, Instant::ZERO, 0, &[]).unwrap();
    let track = writer.task(7, 8, "control", Names::default()).unwrap();
    writer.name(track, EventKind::Mark, 0, "angle");
    let marks: Vec<Entry> = [0.0_f64, 0.25, -0.5]
        .iter()
        .map(|value| entry(EventKind::MarkReal, 5, 0, 0, value.to_bits(), 0))
        .collect();
    writer.entries(track, &marks).unwrap();

    let mut rest = &bytes[..];
    let (mut counter, mut values) = (None, Vec::new());
    while let Some((_, after)) = rest.split_first() {
        rest = after;
        let packet = TracePacket::decode_length_delimited(&mut rest).unwrap();
        if let Some(track) = packet.track_descriptor.filter(|track| track.counter.is_some()) {
            counter = Some((track.uuid.unwrap(), track.name.unwrap()));
        }
        if let Some(event) = packet.track_event {
            let bits = event.extra_double_counter_values;
            let uuids = event.extra_double_counter_track_uuids;
            values.extend(uuids.into_iter().zip(bits.into_iter().map(f64::from_bits)));
        }
    }
    let (uuid, name) = counter.unwrap();
    assert_eq!(name, "control angle");
    assert_eq!(values, [(uuid, 0.25), (uuid, -0.5)]);
    let (read, _) = read(&bytes);
    assert_eq!(read.tracks[0].entries, marks);
}

#[test]
fn a_process_and_a_thread_are_described_once_and_further_tasks_are_below_the_thread() {
    use super::packet::TracePacket;
    use prost::Message;

    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(&mut bytes, Instant::ZERO, 0, &[]).unwrap();
    let stated = [(7, 8, "alpha"), (7, 8, "beta"), (7, 9, "gamma"), (6, 6, "other")];
    let mark = entry(EventKind::Mark, 5, 0, 0, 3, 0);
    for (pid, tid, name) in stated {
        let track = writer.task(pid, tid, name, Names::default()).unwrap();
        writer.entries(track, &[mark]).unwrap();
    }
    writer.close().unwrap();

    let mut rest = &bytes[..];
    let (mut processes, mut threads, mut parents) = (Vec::new(), Vec::new(), Vec::new());
    while let Some((_, after)) = rest.split_first() {
        rest = after;
        let packet = TracePacket::decode_length_delimited(&mut rest).unwrap();
        let Some(track) = packet.track_descriptor else { continue };
        let uuid = track.uuid.unwrap();
        processes.extend(track.process.map(|process| (process.pid.unwrap(), uuid)));
        let parent = track.parent_uuid;
        threads.extend(track.thread.map(|thread| (thread.tid.unwrap(), uuid, parent.unwrap())));
        if track.counter.is_none() {
            parents.extend(track.name.zip(parent));
        } else {
            assert!(processes.iter().any(|(_, process)| parent == Some(*process)));
        }
    }
    let pids: Vec<i32> = processes.iter().map(|(pid, _)| *pid).collect();
    let tids: Vec<i64> = threads.iter().map(|(tid, ..)| *tid).collect();
    assert_eq!((pids, tids), (vec![7, 6], vec![8, 9, 6]));
    let of_seven = processes[0].1;
    assert_eq!([threads[0].2, threads[1].2], [of_seven; 2]);
    assert_eq!(parents, [("beta".to_owned(), threads[0].1)]);

    let (read, errors) = read(&bytes);
    assert_eq!(errors, []);
    let found = read.tracks.iter().map(|track| (track.pid, track.tid, track.name.as_str()));
    assert_eq!(found.collect::<Vec<_>>(), stated);
    assert!(read.tracks.iter().all(|track| track.entries == [mark]));
}
