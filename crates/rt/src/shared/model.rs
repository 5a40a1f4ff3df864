//! Loom checks the structures at their smallest interesting sizes, over every order in which the accesses of two
//! threads can take effect: `RUSTFLAGS="--cfg loom" cargo test -p hemiola-rt --lib`.

use super::atomic::Ordering;
use super::layout::{ENTRY_SIZE, PUBLISHED_AT};
use super::memory_loom::Bell;
use super::*;

/// Returns both ends on one segment.
fn pair(kind: SegmentKind, slot_size: usize, slot_count: u32) -> (Segment, Segment) {
    let segment = Segment::create("model", kind, slot_size, slot_count).unwrap();
    let again = segment.try_clone().unwrap();
    (segment, again)
}

/// Checks every order with at most this many forced thread switches, which keeps the run at a few seconds.
///
/// Weakening any ordering in the three structures makes a test fail, except the release of `consumed`: it prevents a
/// load from seeing a later store, which loom does not model.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

fn message(value: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&value.to_ne_bytes());
    bytes[8..].copy_from_slice(&value.to_ne_bytes());
    bytes
}

#[test]
fn a_latest_value_is_read_whole_or_not_at_all() {
    // Two slots, so that the third message already overwrites the first.
    check(|| latest_from(0));
}

#[test]
fn a_latest_value_is_read_whole_where_its_count_wraps() {
    check(|| latest_from(u32::MAX - 2));
}

/// Publishes three messages to a concurrent reader, after `start` messages.
fn latest_from(start: u32) {
    let (a, b) = pair(SegmentKind::Latest, 16, 2);
    a.u32(PUBLISHED_AT).store(start, Ordering::Relaxed);
    let (mut writer, mut reader) =
        (LatestWriter::attach(a).unwrap(), LatestReader::attach(b).unwrap());
    let mut publish = move || {
        let next = writer.published().checked_add(1).unwrap_or(2);
        assert_eq!(writer.publish(&message(next.into())), Ok(next));
        next
    };
    // The message before the wrap is published in advance.
    let mut last = if start == 0 { 0 } else { publish() };
    let writing = loom::thread::spawn(move || (0..3).for_each(|_| _ = publish()));
    for _ in 0..2 {
        let mut buffer = [0; 16];
        match reader.read(&mut buffer) {
            Ok(Some(read)) => {
                assert_eq!(buffer, message(u64::from(read.number)));
                assert!(start != 0 || read.number > last);
                last = read.number;
            }
            Ok(None) | Err(ReadError::Torn { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    writing.join().unwrap();
}

#[test]
fn a_reader_that_tells_sleeps_through_no_message() {
    // A lost wake-up shows as a deadlock.
    check(|| {
        let (a, b) = pair(SegmentKind::Latest, 16, 4);
        let mut writer = LatestWriter::attach_for_one(a).unwrap();
        let mut reader = LatestReader::attach_alone(b).unwrap();
        let bell = Bell::new();
        let rung = bell.clone();
        let writing = loom::thread::spawn(move || {
            for value in 1..=2 {
                writer.publish(&message(value)).unwrap();
                if writer.must_wake() {
                    rung.ring();
                }
            }
        });
        let mut last = 0;
        while last < 2 {
            if reader.lie_down() {
                bell.wait();
            }
            reader.get_up();
            let mut buffer = [0; 16];
            last = reader.read(&mut buffer).unwrap().map_or(last, |read| read.number);
        }
        writing.join().unwrap();
    });
}

#[test]
fn a_queue_passes_each_message_whole_and_in_order() {
    for capacity in [1, 2] {
        check(move || {
            let (a, b) = pair(SegmentKind::Queue, 16, capacity);
            let (mut writer, mut reader) =
                (QueueWriter::attach(a).unwrap(), QueueReader::attach(b).unwrap());
            let writing = loom::thread::spawn(move || {
                (1..=3).filter(|value| writer.push(&message(*value)).is_ok()).collect::<Vec<_>>()
            });
            let mut popped = vec![];
            let mut pop = |popped: &mut Vec<u64>| {
                let mut buffer = [0; 16];
                let read = reader.pop(&mut buffer).unwrap();
                if read.is_some() {
                    let value = u64::from_ne_bytes(buffer[..8].try_into().unwrap());
                    assert_eq!(buffer, message(value));
                    popped.push(value);
                }
                read.is_some()
            };
            pop(&mut popped);
            pop(&mut popped);
            let pushed = writing.join().unwrap();
            while pop(&mut popped) {}
            assert_eq!(popped, pushed);
        });
    }
}

#[test]
fn a_log_keeps_or_counts_every_entry() {
    check(|| {
        let (a, b) = pair(SegmentKind::Log, ENTRY_SIZE, 2);
        let (mut writer, mut reader) =
            (LogWriter::attach(a).unwrap(), LogReader::attach(b).unwrap());
        let writing =
            loom::thread::spawn(move || (1..=4).for_each(|value| writer.push([value; 4])));
        let mut values = vec![];
        let mut drain = |values: &mut Vec<u64>| {
            let take = |entry: LogEntry| {
                assert_eq!(entry, [entry[0]; 4]);
                values.push(entry[0]);
            };
            reader.drain(take).unwrap();
            reader.lost()
        };
        drain(&mut values);
        writing.join().unwrap();
        let lost = drain(&mut values);
        assert!(values.is_sorted());
        assert_eq!(values.len() as u64 + lost, 4);
    });
}

/// Writes all bytes, sleeping while the ring is full.
fn write_all(stream: &mut Stream, mut bytes: &[u8], urgency: Urgency) {
    while !bytes.is_empty() {
        match stream.write(bytes, urgency).unwrap() {
            0 if stream.wants_room() => stream.hear(),
            count => bytes = &bytes[count..],
        }
    }
}

/// Reads until `bytes` have arrived or the stream ends, sleeping while there is nothing.
fn read_to(stream: &mut Stream, bytes: usize, wake: Wake) -> Vec<u8> {
    let mut all = vec![];
    while all.len() < bytes {
        let mut buffer = [0; 16];
        match stream.read(&mut buffer) {
            Ok(0) if stream.sleep(wake) => stream.hear(),
            Ok(count) => all.extend_from_slice(&buffer[..count]),
            Err(StreamEnded::Closed) => break,
            Err(error) => panic!("{error}"),
        }
    }
    all
}

#[test]
fn a_stream_passes_each_byte_once_and_wakes_both_ends() {
    // A lost ring shows as a deadlock. Only three bytes of the ring are free, so that two writes share a word and the
    // second waits for room.
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let (mut a, mut b) = Stream::pair(16);
        write_all(&mut a, b"abcdefghijklm", Urgency::Urgent);
        let writing = loom::thread::spawn(move || write_all(&mut a, b"nopqr", Urgency::Urgent));
        assert_eq!(read_to(&mut b, 18, Wake::Any), b"abcdefghijklmnopqr");
        writing.join().unwrap();
    });
}

#[test]
fn an_urgent_write_is_read_with_all_bytes_before_it() {
    check(|| {
        let (mut a, mut b) = Stream::pair(16);
        let writing = loom::thread::spawn(move || {
            write_all(&mut a, b"abc", Urgency::Lazy);
            write_all(&mut a, b"def", Urgency::Urgent);
            read_to(&mut a, 1, Wake::Urgent)
        });
        assert_eq!(read_to(&mut b, 6, Wake::Urgent), b"abcdef");
        write_all(&mut b, b"x", Urgency::Urgent);
        assert_eq!(writing.join().unwrap(), b"x");
    });
}
