//! Bodies of the fuzz targets: ordinary functions, so that they also run under proptest.

use crate::perfetto;

/// Reads arbitrary bytes as a trace, and writes what was understood again.
///
/// # Panics
///
/// When the rewritten trace differs from what was understood, or has errors.
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
    let (again, errors) = perfetto::read(&file);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(again.tracks.len(), trace.tracks.len());
    for (one, other) in again.tracks.iter().zip(&trace.tracks) {
        assert_eq!((one.pid, &one.name, &one.entries), (other.pid, &other.name, &other.entries));
    }
    assert_eq!(again.conditions, trace.conditions);
}
