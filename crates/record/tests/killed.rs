//! A recording process that is killed in mid-mark leaves whole entries, and its successor goes on.

use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use hemiola_record::{Drain, Recorder, create_log};
use hemiola_rt::clock::MonotonicClock;
use hemiola_rt::shared::Segment;
use hemiola_trace::perfetto::{Names, TraceWriter, read};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Instant;

const CHILD: &str = "HEMIOLA_TEST_RECORDS_UNTIL_KILLED";

/// Not a test by itself: the process the test below starts and kills. It gets its log as standard input.
#[test]
fn records_until_killed() {
    let Some(first) = std::env::var_os(CHILD) else { return };
    let first: u64 = first.into_string().unwrap().parse().unwrap();
    let fd = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let mut recorder = Recorder::attach(fd, MonotonicClock).unwrap();
    for n in first.. {
        recorder.mark(EventKind::Mark, n as u16, n as u32, n, !n);
    }
}

/// A process that does not outlive the test, not even a failing one.
struct Recording(Child);

impl Drop for Recording {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn start(log: &Segment, first: u64) -> Recording {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::records_until_killed", "--nocapture"])
        .env(CHILD, first.to_string())
        .stdin(Stdio::from(log.fd().try_clone_to_owned().unwrap()))
        .stdout(Stdio::null())
        .spawn();
    Recording(child.unwrap())
}

fn assert_whole(entry: &Entry) {
    assert_eq!(entry.b, !entry.a);
    assert_eq!((entry.arg, entry.cycle), (entry.a as u16, entry.a as u32));
}

#[test]
fn a_killed_recorder_leaves_whole_entries_and_a_successor_goes_on() {
    // So small that it is full most of the time, too.
    let log = create_log("test", 300).unwrap();
    let mut file = Vec::new();
    let writer = TraceWriter::new(&mut file, Instant::ZERO, 0, &[]).unwrap();
    let mut drain = Drain::new(writer);
    let track = drain.add(log.try_clone().unwrap(), 1, "killed", Names::default()).unwrap();

    for generation in 1..=4_u64 {
        let mut child = start(&log, generation << 40);
        let enough = drain.tally(track).entries + 5000;
        while drain.tally(track).entries < enough {
            assert!(child.0.try_wait().unwrap().is_none(), "the child ended by itself");
            drain.drain().unwrap();
            std::thread::yield_now();
        }
        drop(child);
        drain.drain().unwrap();
        assert_eq!(drain.drain().unwrap(), 0);
    }
    let tally = drain.tally(track);
    assert_eq!(tally.damaged, 0);
    drain.trace_mut().close().unwrap();

    let (trace, errors) = read(&file);
    assert_eq!(errors, []);
    let entries = &trace.tracks[0].entries;
    let marks: Vec<&Entry> = entries.iter().filter(|entry| entry.kind == EventKind::Mark).collect();
    marks.iter().for_each(|entry| assert_whole(entry));
    assert!(marks.is_sorted_by(|one, next| one.a < next.a && one.at <= next.at));
    assert_eq!(marks.len() as u64, tally.entries);
    let lost = entries.iter().filter(|entry| entry.kind == EventKind::Lost).map(|entry| entry.a);
    assert_eq!(lost.sum::<u64>(), tally.lost);
    for generation in 1..=4 {
        assert!(marks.iter().any(|entry| entry.a >> 40 == generation));
    }
}
