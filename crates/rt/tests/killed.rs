//! SIGKILL at any instruction of either end leaves whole messages and a structure that still works.

use hemiola_rt::shared::{
    Access, LATEST_SLOTS, LatestReader, LatestWriter, LogReader, LogWriter, PushError, QueueReader,
    QueueWriter, ReadError, Readiness, Segment, SegmentKind,
};
use hemiola_units::Instant;

use crate::child::{Peer, inherited, say};

const ROUNDS: u64 = 12;
/// Long enough that a kill often hits the copying.
const SIZE: usize = 4096;

/// A message with `value` in every word, so that any mixture of two shows.
fn message(value: u64) -> Vec<u8> {
    value.to_le_bytes().repeat(SIZE / 8)
}

fn value(bytes: &[u8]) -> u64 {
    let value = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    assert_eq!(bytes, message(value), "a torn message");
    value
}

fn again(segment: &Segment) -> Segment {
    Segment::from_fd(segment.fd().try_clone_to_owned().unwrap(), Access::ReadWrite).unwrap()
}

fn mine() -> Segment {
    Segment::from_fd(inherited(), Access::ReadWrite).unwrap()
}

pub(crate) fn latest_writer() {
    let mut writer = LatestWriter::attach(mine()).unwrap();
    loop {
        let next = u64::from(writer.published()) + 1;
        writer.publish(&message(next)).unwrap();
    }
}

#[test]
fn a_latest_value_survives_its_writer_and_the_next_continues_the_count() {
    let segment = Segment::create("test", SegmentKind::Latest, SIZE, LATEST_SLOTS).unwrap();
    let read_only = segment.reopen_read_only().unwrap();
    let mut reader =
        LatestReader::attach(Segment::from_fd(read_only, Access::ReadOnly).unwrap()).unwrap();
    let mut buffer = [0; SIZE];
    for round in 0..ROUNDS {
        let mut writer = Peer::start("latest writer", segment.fd());
        // A different point of the writer's work each time, without reading a clock.
        for _ in 0..=37 * round {
            assert_eq!(reader.wait(Instant::MAX), Readiness::Ready);
            match reader.read(&mut buffer) {
                Ok(Some(read)) => assert_eq!(value(&buffer), u64::from(read.number)),
                Ok(None) | Err(ReadError::Torn { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        writer.kill();
        let last = reader.peek(&mut buffer).unwrap().unwrap();
        assert_eq!((u64::from(last.number), last.number), (value(&buffer), reader.published()));
        let _ = reader.read(&mut buffer);
    }
}

pub(crate) fn latest_reader() {
    let segment = Segment::from_fd(inherited(), Access::ReadOnly).unwrap();
    let mut reader = LatestReader::attach(segment).unwrap();
    let mut buffer = [0; SIZE];
    loop {
        say("waiting");
        assert_eq!(reader.wait(Instant::MAX), Readiness::Ready);
        let read = reader.read(&mut buffer).unwrap().unwrap();
        say(&format!("{} {}", read.number, value(&buffer)));
    }
}

#[test]
fn a_read_only_reader_is_woken_and_its_death_has_no_effect() {
    let segment = Segment::create("test", SegmentKind::Latest, SIZE, LATEST_SLOTS).unwrap();
    let read_only = segment.reopen_read_only().unwrap();
    let mut writer = LatestWriter::attach(segment).unwrap();
    for round in 1..=3u32 {
        let mut reader = Peer::start("latest reader", &read_only);
        assert_eq!(reader.says(), "waiting");
        if round > 1 {
            // A new reader finds the value its predecessor had read.
            assert_eq!(reader.says(), format!("{0} {0}", round - 1));
            assert_eq!(reader.says(), "waiting");
        }
        assert_eq!(writer.publish(&message(round.into())), Ok(round));
        assert_eq!(reader.says(), format!("{round} {round}"));
        reader.kill();
    }
}

pub(crate) fn queue_writer() {
    let mut writer = QueueWriter::attach(mine()).unwrap();
    // The count of messages survives in the queue, not in the writer: the first message shows the reader where this
    // writer starts.
    for next in 0.. {
        while let Err(error) = writer.push(&message(next)) {
            assert!(matches!(error, PushError::Full { .. }), "{error}");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_queue_survives_its_writer_and_the_next_continues_after_the_last_whole_message() {
    let segment = Segment::create("test", SegmentKind::Queue, SIZE, 3).unwrap();
    let mut reader = QueueReader::attach(again(&segment)).unwrap();
    let mut buffer = [0; SIZE];
    let mut number = 0;
    for round in 0..ROUNDS {
        let mut writer = Peer::start("queue writer", segment.fd());
        let mut expected = 0;
        let mut take = |reader: &mut QueueReader| {
            let Some(read) = reader.pop(&mut buffer).unwrap() else { return false };
            number += 1;
            assert_eq!((read.number, value(&buffer)), (number, expected));
            expected += 1;
            true
        };
        for _ in 0..=37 * round {
            assert_eq!(reader.wait(Instant::MAX), Readiness::Ready);
            assert!(take(&mut reader));
        }
        writer.kill();
        while take(&mut reader) {}
    }
}

pub(crate) fn queue_reader() {
    let mut reader = QueueReader::attach(mine()).unwrap();
    let mut buffer = [0; SIZE];
    loop {
        assert_eq!(reader.wait(Instant::MAX), Readiness::Ready);
        let read = reader.pop(&mut buffer).unwrap().unwrap();
        assert_eq!(value(&buffer), u64::from(read.number));
    }
}

#[test]
fn a_queue_survives_its_reader_and_the_next_takes_the_oldest_unread_message() {
    let segment = Segment::create("test", SegmentKind::Queue, SIZE, 3).unwrap();
    let mut writer = QueueWriter::attach(again(&segment)).unwrap();
    let mut next = 1;
    for round in 0..ROUNDS {
        let mut reader = Peer::start("queue reader", segment.fd());
        let until = next + 10 + 37 * round;
        while next < until {
            match writer.push(&message(next)) {
                Ok(()) => next += 1,
                Err(PushError::Full { .. }) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        }
        reader.kill();
    }
    let mut reader = QueueReader::attach(again(&segment)).unwrap();
    let mut buffer = [0; SIZE];
    let mut last = next - 1;
    let mut left = vec![];
    while let Some(read) = reader.pop(&mut buffer).unwrap() {
        assert_eq!(value(&buffer), u64::from(read.number));
        left.push(u64::from(read.number));
    }
    for number in left.iter().rev() {
        assert_eq!(*number, last);
        last -= 1;
    }
}

pub(crate) fn log_writer() {
    let mut writer = LogWriter::attach(mine()).unwrap();
    for value in 0.. {
        writer.push([value; 4]);
    }
}

#[test]
fn a_log_survives_its_writer_with_only_whole_entries() {
    let segment = Segment::create("test", SegmentKind::Log, 32, 1000).unwrap();
    let mut reader = LogReader::attach(again(&segment)).unwrap();
    for round in 0..ROUNDS {
        let mut writer = Peer::start("log writer", segment.fd());
        let (mut seen, mut last) = (0, None);
        let mut drain = |reader: &mut LogReader| {
            let take = |entry: [u64; 4]| {
                assert_eq!(entry, [entry[0]; 4]);
                assert!(Some(entry[0]) > last, "{entry:?} after {last:?}");
                last = Some(entry[0]);
            };
            seen += reader.drain(take).unwrap() as u64;
            seen
        };
        while drain(&mut reader) < 1 + 7919 * round {
            std::thread::yield_now();
        }
        writer.kill();
        drain(&mut reader);
        assert_eq!(reader.drain(|_| ()).unwrap(), 0);
    }
}
