//! Reads recordings and reports their problems on standard error.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use hemiola_trace::source::OpenFile;
use hemiola_trace::{ReadError, Recording};

use crate::diagnostics::Failure;

/// Problems printed per file; the rest are counted.
const PRINTED_MAX: usize = 5;

/// Opens a recording in any supported format.
///
/// # Errors
/// When the file cannot be read, or has neither scheduling events nor marks.
pub(crate) fn open(path: &Path) -> Result<Recording, Failure> {
    let unread = |error| {
        Failure::failed(format!(
            "{} cannot be read: {error}\nhint: give a recording made by `hemiola trace` or another supported tool",
            path.display()
        ))
    };
    let (recording, errors, _) = read(path).map_err(unread)?;
    if recording.cpus.is_empty() && recording.tracks.is_empty() {
        let reason = errors.first().map_or_else(
            || "it contains no context switch and no mark".into(),
            ToString::to_string,
        );
        return Err(Failure::bad_input(format!(
            "error: {} is not a recording: {reason}\nhint: `hemiola trace -o {} -- PROGRAM` makes one",
            path.display(),
            path.display()
        )));
    }
    for error in errors.iter().take(PRINTED_MAX) {
        eprintln!("warning: {}: {error}", path.display());
    }
    if let Some(more @ 1..) = errors.len().checked_sub(PRINTED_MAX) {
        eprintln!("warning: {}: {more} more problems", path.display());
    }
    Ok(recording)
}

/// Reads the recording in the current content of the file. Returns its problems and the file's size in bytes, too.
pub(crate) fn read(path: &Path) -> io::Result<(Recording, Vec<ReadError>, u64)> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let (recording, errors) = Recording::open(Arc::new(OpenFile { file, size }));
    Ok((recording, errors, size))
}
