//! A recording from its file, with what is wrong with it said on standard error.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use hemiola_trace::source::OpenFile;
use hemiola_trace::{ReadError, Recording};

use crate::diagnostics::Failure;

/// Problems of one file that are said; the rest are counted.
const SAID_MAX: usize = 5;

/// Opens a recording of any format that is read.
///
/// # Errors
/// When the file cannot be read, or nothing in it says who ran when.
pub(crate) fn open(path: &Path) -> Result<Recording, Failure> {
    let unread = |error| {
        Failure::failed(format!(
            "{} cannot be read: {error}\nhint: give a file that `hemiola trace` wrote, or another tool's recording",
            path.display()
        ))
    };
    let (recording, errors, _) = read(path).map_err(unread)?;
    if recording.cpus.is_empty() && recording.tracks.is_empty() {
        let reason = errors.first().map_or_else(
            || "it holds no switch of threads and no mark".into(),
            ToString::to_string,
        );
        return Err(Failure::bad_input(format!(
            "error: {} is no recording: {reason}\nhint: `hemiola trace -o {} -- PROGRAM` makes one",
            path.display(),
            path.display()
        )));
    }
    for error in errors.iter().take(SAID_MAX) {
        eprintln!("warning: {}: {error}", path.display());
    }
    if let Some(more @ 1..) = errors.len().checked_sub(SAID_MAX) {
        eprintln!("warning: {}: {more} more problems", path.display());
    }
    Ok(recording)
}

/// A recording as far as its file goes now, what is wrong with it, and the bytes of the file.
pub(crate) fn read(path: &Path) -> io::Result<(Recording, Vec<ReadError>, u64)> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let (recording, errors) = Recording::open(Arc::new(OpenFile { file, size }));
    Ok((recording, errors, size))
}
