//! The bodies of the fuzz targets, as ordinary functions, so that they also run under proptest.

use crate::perfetto;
use crate::recording::Recording;
use crate::sched::{Event, What};

/// Reads arbitrary bytes as a trace, and writes the decoded part again.
///
/// # Panics
/// If the rewritten trace differs from the decoded part, or has errors.
pub fn trace_file(bytes: &[u8]) {
    let (trace, errors) = perfetto::read(bytes);
    assert!(errors.len() <= perfetto::ERRORS_MAX);

    let (began, unix_ns) = trace.began.unwrap_or_default();
    let conditions: Vec<(&str, &str)> =
        trace.conditions.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let mut file = Vec::new();
    let mut writer = perfetto::TraceWriter::new(&mut file, began, unix_ns, &conditions)
        .expect("a vector takes everything");
    for track in &trace.tracks {
        let id = writer
            .process(track.pid, &track.name, track.names.clone())
            .expect("a vector takes everything");
        writer.entries(id, &track.entries).expect("a vector takes everything");
    }
    writer.close().expect("a vector takes everything");
    let (again, errors) = perfetto::read(&file);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(again.tracks.len(), trace.tracks.len());
    for (one, other) in again.tracks.iter().zip(&trace.tracks) {
        assert_eq!((one.pid, &one.name, &one.entries), (other.pid, &other.name, &other.entries));
    }
    assert_eq!(again.conditions, trace.conditions);
}

/// Reads arbitrary bytes as a recording of any format, and iterates over the events.
///
/// # Panics
/// If there are more errors or events than the bytes allow, the events are out of order, or they differ in a second
/// iteration.
pub fn recording(bytes: &[u8]) {
    let (read, errors) = Recording::read(bytes);
    assert!(errors.len() <= crate::ERRORS_MAX);
    let mut last = None;
    let mut count = 0_usize;
    for event in read.events() {
        assert!(Some(event.at) >= last, "{event:?} after {last:?}");
        assert!(read.cpus.contains(&event.cpu), "{event:?}");
        last = Some(event.at);
        count += 1;
    }
    // An event takes at least two bytes in any format, and a gap replaces something that takes bytes as well. Other
    // files may be compressed, and so may packets: these are the tags of their fields, 50 and 133.
    let is_packed = bytes.windows(2).any(|two| matches!(two, [0x92, 0x03] | [0xAA, 0x08]));
    let is_plain = bytes.first() == Some(&0x0A) && !is_packed;
    let sizes = if is_plain { bytes.len() } else { usize::MAX };
    assert!(count <= sizes, "{count} events in {} bytes", bytes.len());
    assert!(read.threads.is_sorted_by_key(|thread| (thread.tid, thread.since)));
    let sum = |events: &mut dyn Iterator<Item = Event>| {
        events.fold(0_u64, |sum, event| {
            let lost = u64::from(matches!(event.what, What::Lost(_)));
            sum.rotate_left(7).wrapping_add(event.at.nanos()).wrapping_add(lost)
        })
    };
    assert_eq!(sum(&mut read.events()), sum(&mut read.events()));
}
