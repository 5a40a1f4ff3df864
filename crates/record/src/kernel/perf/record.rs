//! The records of a perf buffer, as far as they are requested.
//!
//! Every record ends with process, thread and time; those of tracepoints begin with them, after their header:
//!
//! ```text
//!  2 lost    id, count                  4 exit, 7 fork   process, parent, thread, its parent, time
//!  3 name    process, thread, text      9 tracepoint     length, its fields
//!  14 switch                            15 switch of a whole processor   the other one's process, thread
//! ```
//!
//! Source: perf_event_open(2), "MMAP layout".

use hemiola_trace::sched::{Left, Thread, Tid, What};
use hemiola_units::Instant;

use super::tracepoint::Tracepoint;

const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPTED: u16 = 1 << 14;

/// More words than the longest requested tracepoint has, with its length.
const RAW_WORDS: usize = 16;

/// A decoded record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// An event, and the thread that ran.
    Event(Instant, What, Tid),
    /// A switch, reported by the departing thread, or by the arriving one, which does not know how the other left.
    Switch { at: Instant, prev: Tid, left: Option<Left>, next: Tid },
    /// A watched thread got its processor.
    In(Instant, Tid),
    /// A watched thread left its processor, for an unknown thread.
    Out(Instant, Tid, Left),
    /// A thread changed its name.
    Name(Thread),
    /// A thread started, with the name of the given parent.
    Began(Thread, Tid),
    /// A watched thread ended, and left its processor without another record.
    Ended(Instant, Tid),
}

/// Decodes a record; `None` if it has no meaning here.
pub(super) fn decode(record: &[u64], tracepoints: &[Tracepoint]) -> Option<Record> {
    let header = halves(*record.first()?);
    let (kind, misc) = (header.0, header.1 as u16);
    if kind == 9 {
        let [_, identity, time, data @ ..] = record else { return None };
        let running = Tid(halves(*identity).1);
        let mut bytes = [[0_u8; 8]; RAW_WORDS];
        bytes.iter_mut().zip(data).for_each(|(bytes, word)| *bytes = word.to_ne_bytes());
        let (len, raw) = bytes.as_flattened().split_first_chunk()?;
        let raw = raw.get(..u32::from_ne_bytes(*len) as usize)?;
        let id = u16::from_ne_bytes(*raw.first_chunk()?);
        let tracepoint = tracepoints.iter().find(|tracepoint| tracepoint.id == id)?;
        return Some(Record::Event(Instant::from_nanos(*time), tracepoint.decode(raw)?, running));
    }
    let [_, body @ .., identity, time] = record else { return None };
    let (at, tid) = (Instant::from_nanos(*time), Tid(halves(*identity).1));
    let out = misc & SWITCH_OUT != 0;
    let left = if misc & SWITCH_OUT_PREEMPTED != 0 { Left::Preempted } else { Left::Sleeping };
    Some(match (kind, body) {
        (2, [_, count]) => {
            Record::Event(at, What::Lost(u32::try_from(*count).unwrap_or(u32::MAX)), tid)
        }
        (3, [identity, text @ ..]) => {
            let (pid, tid) = halves(*identity);
            let text: Vec<u8> = text.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let text = text.split(|byte| *byte == 0).next()?;
            let name = String::from_utf8_lossy(text).into_owned();
            Record::Name(Thread { tid: Tid(tid), since: at, pid, name, new: false })
        }
        (7, [processes, threads, time]) => {
            let ((pid, _), (tid, parent)) = (halves(*processes), halves(*threads));
            let since = Instant::from_nanos(*time);
            let thread = Thread { tid: Tid(tid), since, pid, name: String::new(), new: true };
            Record::Began(thread, Tid(parent))
        }
        (4, [_, threads, time]) => {
            Record::Ended(Instant::from_nanos(*time), Tid(halves(*threads).0))
        }
        (14, []) if out => Record::Out(at, tid, left),
        (14, []) => Record::In(at, tid),
        (15, [other]) => {
            let other = Tid(halves(*other).1);
            let (prev, left, next) =
                if out { (tid, Some(left), other) } else { (other, None, tid) };
            Record::Switch { at, prev, left, next }
        }
        _ => return None,
    })
}

/// Splits a word into its two 32-bit numbers, in memory order.
const fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn word(first: u32, second: u32) -> u64 {
        let [a, b, c, d] = first.to_ne_bytes();
        let [e, f, g, h] = second.to_ne_bytes();
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    }

    #[test]
    fn switches_name_the_departing_thread_and_its_state() {
        let at = Instant::from_nanos(5);
        let record = [word(14, SWITCH_OUT.into()), word(3, 4), 5];
        assert_eq!(decode(&record, &[]), Some(Record::Out(at, Tid(4), Left::Sleeping)));
        assert_eq!(decode(&[word(14, 0), word(3, 4), 5], &[]), Some(Record::In(at, Tid(4))));
        let preempted = u32::from(SWITCH_OUT | SWITCH_OUT_PREEMPTED);
        let wide = [word(15, preempted), word(8, 9), word(3, 4), 5];
        let left = Record::Switch { at, prev: Tid(4), left: Some(Left::Preempted), next: Tid(9) };
        assert_eq!(decode(&wide, &[]), Some(left));
        let came = Record::Switch { at, prev: Tid(9), left: None, next: Tid(4) };
        assert_eq!(decode(&[word(15, 0), word(8, 9), word(3, 4), 5], &[]), Some(came));
    }

    #[test]
    fn losses_and_names_are_decoded() {
        let lost = Record::Event(Instant::from_nanos(5), What::Lost(12), Tid(4));
        assert_eq!(decode(&[word(2, 0), 77, 12, word(3, 4), 5], &[]), Some(lost));
        let text = u64::from_ne_bytes(*b"io\0\0\0\0\0\0");
        let name = Thread {
            tid: Tid(4),
            since: Instant::from_nanos(5),
            pid: 3,
            name: "io".into(),
            new: false,
        };
        assert_eq!(
            decode(&[word(3, 0), word(3, 4), text, word(3, 4), 5], &[]),
            Some(Record::Name(name))
        );
    }

    proptest! {
        #[test]
        fn no_record_makes_decoding_panic(words in prop::collection::vec(any::<u64>(), 0..20), kind in 0..20_u32) {
            decode(&words, &[]);
            let mut words = words;
            if let Some(first) = words.first_mut() {
                *first = word(kind, 0);
            }
            decode(&words, &[]);
        }
    }
}
