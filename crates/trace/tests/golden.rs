//! Recordings of other programs are read as those programs read them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hemiola_trace::Recording;
use hemiola_trace::perfetto::TraceWriter;
use hemiola_trace::sched::{Event, Interrupt, Left, PRIORITY_UNKNOWN, Tid, What};
use hemiola_trace::source::ByteSource;
use hemiola_units::Instant;

use crate::recording;

/// Formats an event like the lists in `data/traces`, which contain no gaps.
fn line(event: &Event) -> Option<String> {
    let what = match event.what {
        What::Switch { prev, left, next, priority } => {
            let left = match left {
                Left::Preempted | Left::Yielded => "R",
                Left::Sleeping => "S",
                Left::Uninterruptible => "D",
                Left::Stopped => "T",
                Left::Dead => "X",
                Left::Idle => "I",
                Left::Unknown => "?",
            };
            let priority = match priority {
                PRIORITY_UNKNOWN => "?".to_owned(),
                priority => priority.to_string(),
            };
            format!("switch {} {left} {} {priority}", prev.0.cast_signed(), next.0.cast_signed())
        }
        What::Wake { tid, waker, target, .. } => {
            format!("wake {} by {} on {target}", tid.0, waker.0)
        }
        What::InterruptEntry(Interrupt::Soft(vector)) => format!("soft+ {vector}"),
        What::InterruptExit(Interrupt::Soft(vector)) => format!("soft- {vector}"),
        What::Lost(_) => return None,
        _ => panic!("{event:?} is in none of them"),
    };
    Some(format!("{} {} {what}", event.at.nanos(), event.cpu))
}

/// Reads a recording, compares it with its list, and returns it with the number of its gaps.
fn check(file: &str) -> (Recording, usize) {
    let (read, errors) = Recording::read(&recording(file));
    assert_eq!(errors, [], "{file}");
    let (stem, _) = file.split_once('.').unwrap();
    let list = String::from_utf8(recording(&format!("{stem}.txt"))).unwrap();
    let lines: Vec<String> = read.events().filter_map(|event| line(&event)).collect();
    assert_eq!(lines, list.lines().collect::<Vec<_>>(), "{file}");
    assert!([&[0, 1][..], &[0]].contains(&&read.cpus[..]), "{file}");
    let gaps = read.events().filter(|event| matches!(event.what, What::Lost(_))).count();
    (read, gaps)
}

fn name(recording: &Recording, tid: u32) -> &str {
    recording.thread(Tid(tid), Instant::MAX).map_or("", |thread| &thread.name)
}

#[test]
fn our_file_is_read_as_by_perfettos_own_definitions() {
    let (read, gaps) = check("hemiola.trace");
    assert_eq!(gaps, 0);
    assert_eq!(name(&read, 15), "rcu_preempt");
    assert!(read.threads.iter().any(|thread| thread.new && thread.name == "load4.sh"));
}

#[test]
fn a_perf_recording_of_a_system_is_read_as_by_perf() {
    let (read, gaps) = check("perf-system.data");
    // The kernel did not report one switch, from the idle thread to `sleep`: the next one shows it.
    assert_eq!(gaps, 1);
    assert_eq!(name(&read, 18), "migration/0");
    // The readings of both clocks, taken together by perf.
    assert!(read.began.is_some_and(|(_, unix_ns)| unix_ns > 1_700_000_000_000_000_000));
    assert!(read.conditions.contains(&("kernel".into(), "6.18.44-generic".into())));
}

#[test]
fn switch_records_of_perf_are_read_as_switches() {
    let (read, gaps) = check("perf-switches.data");
    assert!(gaps < read.events().count() / 20, "{gaps}");
}

#[test]
fn a_perf_recording_on_another_clock_says_so() {
    let (read, _) = check("perf-program.data");
    assert!(
        read.conditions.iter().any(|(name, _)| name == "kernel clock"),
        "{:?}",
        read.conditions
    );
    assert_eq!(read.began, None);
}

#[test]
fn compressed_and_piped_recordings_of_perf_are_read_as_by_perf() {
    // Both are compressed as a whole, too.
    for file in ["perf-zstd.data.gz", "perf-pipe.data.gz"] {
        let (read, _) = check(file);
        assert_eq!(name(&read, 18), "migration/0", "{file}");
        assert!(read.conditions.contains(&("kernel".into(), "6.18.44-generic".into())), "{file}");
        assert!(read.conditions.iter().all(|(name, _)| name != "kernel clock"), "{file}");
    }
}

#[test]
fn a_compressed_file_of_trace_cmd_is_read_like_the_one_it_was_made_from() {
    let (read, _) = check("trace-cmd-zstd.dat");
    let (plain, _) = check("trace-cmd-6.dat");
    assert_eq!(read.threads, plain.threads);
}

#[test]
fn both_versions_of_trace_cmd_files_are_read_as_by_trace_cmd() {
    for file in ["trace-cmd-6.dat", "trace-cmd-7.dat"] {
        let (read, _) = check(file);
        assert_eq!(name(&read, 18), "migration/0", "{file}");
        assert!(read.conditions.iter().all(|(name, _)| name != "kernel clock"), "{file}");
        assert!(read.threads.iter().any(|thread| thread.new), "{file}");
    }
}

#[test]
fn foreign_recordings_survive_our_own_file() {
    for file in ["perf-system.data", "perf-switches.data", "trace-cmd-6.dat", "trace-cmd-7.dat"] {
        let (read, _) = Recording::read(&recording(file));
        let mut bytes = Vec::new();
        let mut writer = TraceWriter::new(&mut bytes, Instant::ZERO, 0, &[]).unwrap();
        writer.threads(&read.threads).unwrap();
        for &cpu in &read.cpus {
            let events: Vec<Event> = read.events().filter(|event| event.cpu == cpu).collect();
            writer.kernel(cpu, &events).unwrap();
        }
        writer.close().unwrap();
        let (again, errors) = Recording::read(&bytes);
        assert_eq!(errors, []);
        assert!(again.events().eq(read.events()), "{file}");
        assert_eq!(again.threads, read.threads, "{file}");
    }
}

/// Counts how often bytes are read.
struct Counting(Vec<u8>, AtomicUsize);

impl ByteSource for Counting {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read_exact_at(buffer, offset)
    }
}

/// Puts a record without an event behind each record of a `perf.data` file. The new records, and the table of features
/// that follows them, are at the end of the file.
fn with_records_without_events(file: &[u8]) -> Vec<u8> {
    const RECORD: [u8; 8] = [1, 0, 0, 0, 0, 0, 8, 0];
    let word = |at: usize| u64::from_le_bytes(*file[at..].first_chunk().unwrap()) as usize;
    let (from, to) = (word(40), word(40) + word(48));
    let (mut records, mut at) = (Vec::new(), from);
    while at < to {
        let size = usize::from(u16::from_le_bytes(*file[at + 6..].first_chunk().unwrap()));
        records.extend_from_slice(&file[at..at + size]);
        records.extend_from_slice(&RECORD);
        at += size;
    }
    let mut made = file.to_vec();
    made[40..48].copy_from_slice(&(file.len() as u64).to_le_bytes());
    made[48..56].copy_from_slice(&(records.len() as u64).to_le_bytes());
    made.extend_from_slice(&records);
    made.extend_from_slice(&file[to..]);
    made
}

#[test]
fn records_without_events_do_not_divide_what_is_read_together() {
    let file = recording("perf-system.data");
    let read = |bytes: Vec<u8>| {
        let source = Arc::new(Counting(bytes, AtomicUsize::new(0)));
        let (recording, errors) = Recording::open(Arc::clone(&source) as _);
        assert_eq!(errors, []);
        let before = source.1.load(Ordering::Relaxed);
        let events: Vec<Event> = recording.events().collect();
        (events, source.1.load(Ordering::Relaxed) - before)
    };
    let (events, reads) = read(file.clone());
    assert!(reads < events.len() / 2, "{reads}");
    assert_eq!(read(with_records_without_events(&file)), (events, reads));
}
