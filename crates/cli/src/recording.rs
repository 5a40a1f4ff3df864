//! Reads recordings and reports their problems: on standard error, in JSON, and with `--strict` in the exit status. The
//! gate of a model or an experiment is always strict, because its verdict rests on the recording.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use hemiola_analyze::sched::Report;
use hemiola_report::text::{count, counted, were};
use hemiola_trace::source::OpenFile;
use hemiola_trace::{EventKind, ReadError, Recording};

use crate::diagnostics::{Failure, shown};

/// Problems printed per file, and sentences about them; the rest are counted.
const PRINTED_MAX: usize = 5;

/// A recording and the problems that were found while its file was read.
pub(crate) struct Opened {
    pub(crate) recording: Recording,
    file: String,
    unread: Vec<ReadError>,
}

impl Opened {
    /// The problems of the recording with this analysis: those of the file, and lost events, which are printed here.
    pub(crate) fn problems(&self, report: &Report) -> Problems {
        let lost = losses(&self.recording, report);
        for loss in &lost {
            eprintln!("warning: {}: {loss}", self.file);
        }
        let texts = self.unread.iter().map(ToString::to_string).chain(lost);
        Problems(texts.map(|text| Problem { file: self.file.clone(), text }).collect())
    }
}

/// The sentence about a whole recording without any event.
pub(crate) const NOTHING: &str = "is a recording without any event\n\
    hint: with `--paused`, recording begins when somebody starts it";

/// The losses while the recording was made, as problems. Empty if it is complete.
pub(crate) fn losses(recording: &Recording, report: &Report) -> Vec<String> {
    let is_ours = recording.is_ours();
    let gaps = match report.gaps.iter().filter(|gap| gap.is_loss(is_ours)).count() {
        0 => None,
        1 => Some("in one gap".to_owned()),
        more => Some(format!("in {} gaps", count(more as u64))),
    };
    let entries = recording.tracks.iter().flat_map(|track| &track.entries);
    let lost_marks = entries.filter(|entry| entry.kind == EventKind::Lost);
    let marks = lost_marks.fold(0_u64, |sum, entry| sum.saturating_add(entry.a));
    let events = match (report.lost_events.saturating_sub(marks), gaps) {
        (0, None) => None,
        (0, Some(gaps)) => Some(format!("an unknown number of kernel events was lost {gaps}")),
        (lost, gaps) => {
            let gaps = gaps.map_or_else(String::new, |gaps| format!(" {gaps}"));
            Some(format!("{} lost{gaps}", were(lost, "kernel event")))
        }
    };
    let marks = (marks > 0).then(|| format!("{} lost", were(marks, "program mark")));
    events.into_iter().chain(marks).collect()
}

/// The problems of the recordings that a command reads.
#[derive(Debug, Default, serde::Serialize)]
#[serde(transparent)]
pub(crate) struct Problems(Vec<Problem>);

/// A problem of a file.
#[derive(Debug, serde::Serialize)]
struct Problem {
    file: String,
    text: String,
}

impl Problems {
    /// The problems of a result folder, which are printed here.
    pub(crate) fn print(folder: &Path, texts: impl Iterator<Item = String>) -> Self {
        let file = folder.display().to_string();
        let all: Vec<Problem> = texts.map(|text| Problem { file: file.clone(), text }).collect();
        print_first(&shown(folder), all.iter().map(|problem| &problem.text));
        Self(all)
    }

    /// The problems of both.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The problems as sentences; those of many are counted.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let sentence = |problem: &Problem| format!("{}: {}", problem.file, problem.text);
        let more = self.0.len().saturating_sub(PRINTED_MAX);
        let more = (more > 0).then(|| {
            let problems = counted(more as u64, "more problem");
            format!("{problems} of recordings")
        });
        self.0.iter().take(PRINTED_MAX).map(sentence).chain(more).collect()
    }

    /// The exit code of a command that has printed its results: with `--strict`, problems are a verdict.
    pub(crate) fn exit_code(&self, strict: bool) -> ExitCode {
        match self.0.len() {
            count @ 1.. if strict => {
                let problems = if count == 1 { "problem" } else { "problems" };
                eprintln!(
                    "error: the results above rest on data with {count} {problems} (--strict)"
                );
                ExitCode::FAILURE
            }
            _ => ExitCode::SUCCESS,
        }
    }
}

/// Opens a recording in any supported format, and prints the problems of its file.
///
/// # Errors
/// When the file cannot be read, or has neither scheduling events nor marks.
pub(crate) fn open(path: &Path) -> Result<Opened, Failure> {
    if path.is_dir() {
        return Err(Failure::bad_input(folder(path)));
    }
    let unread = |error| {
        let hint = "give a recording made by `hemiola trace` or another supported tool";
        Failure::unreadable(path, error, hint)
    };
    let (recording, errors, _) = read(path).map_err(unread)?;
    let is_empty = recording.tracks.is_empty() && recording.track_events.tracks.is_empty();
    if recording.cpus.is_empty() && is_empty && errors.is_empty() && recording.is_ours() {
        return Err(Failure::bad_input(format!("error: {} {NOTHING}", shown(path))));
    }
    if recording.cpus.is_empty() && is_empty {
        let reason = errors.first().map_or_else(
            || "it contains no context switch and no mark".into(),
            ToString::to_string,
        );
        return Err(Failure::bad_input(format!(
            "error: {} is not a recording: {reason}\nhint: `hemiola trace -o NEW.trace -- PROGRAM` makes one",
            shown(path)
        )));
    }
    print_first(&shown(path), errors.iter());
    Ok(Opened { recording, file: path.display().to_string(), unread: errors })
}

/// Prints the first problems of a file or folder, and how many there are besides.
fn print_first(file: &str, problems: impl ExactSizeIterator<Item = impl Display>) {
    let more = problems.len().saturating_sub(PRINTED_MAX);
    for problem in problems.take(PRINTED_MAX) {
        eprintln!("warning: {file}: {problem}");
    }
    if more > 0 {
        eprintln!("warning: {file}: {}", counted(more as u64, "more problem"));
    }
}

/// The traces that are in a result folder, by their names.
pub(crate) fn traces_in(folder: &Path) -> Vec<PathBuf> {
    let entries = [folder.to_path_buf(), folder.join("traces")].into_iter();
    let entries = entries.filter_map(|place| std::fs::read_dir(place).ok()).flatten();
    let is_trace = |path: &PathBuf| {
        path.extension().is_some_and(|end| {
            ["pftrace", "trace", "perfetto-trace"].iter().any(|known| end == *known)
        })
    };
    let mut found: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_trace).collect();
    found.sort();
    found
}

/// The error for a folder, which may be a result folder with traces.
fn folder(path: &Path) -> String {
    let hint = match traces_in(path).first() {
        Some(trace) => format!("give one of its traces, such as {}", shown(trace)),
        None => "give a file that `hemiola trace` or another supported tool wrote".into(),
    };
    format!("error: {} is a folder, not a recording\nhint: {hint}", shown(path))
}

/// Reads the recording in the current content of the file. Returns its problems and the file's size in bytes, too.
pub(crate) fn read(path: &Path) -> io::Result<(Recording, Vec<ReadError>, u64)> {
    if is_stream(path) {
        let bytes = streamed(path)?;
        let size = bytes.len() as u64;
        let (recording, errors) = Recording::open(bytes);
        return Ok((recording, errors, size));
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let (recording, errors) = Recording::open(Arc::new(OpenFile { file, size }));
    Ok((recording, errors, size))
}

/// Whether a recording there can be read only once, from its beginning to its end: `-` is standard input, and a shell
/// passes `<(COMMAND)` as the path of a pipe.
pub(crate) fn is_stream(path: &Path) -> bool {
    let is_other = |found: std::fs::Metadata| !found.is_file() && !found.is_dir();
    path == Path::new("-") || path.metadata().is_ok_and(is_other)
}

/// The most bytes read from all streams together, which are kept in memory.
const STREAMED_MAX: u64 = 1 << 30;

/// Returns everything from a stream. It is read once, however often it is needed.
fn streamed(path: &Path) -> io::Result<Arc<Vec<u8>>> {
    static READ: Mutex<BTreeMap<PathBuf, Arc<Vec<u8>>>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = read.get(path) {
        return Ok(Arc::clone(bytes));
    }
    let before: u64 = read.values().map(|bytes| bytes.len() as u64).sum();
    let left = STREAMED_MAX.saturating_sub(before);
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(left + 1).read_to_end(&mut bytes)?;
    } else {
        File::open(path)?.take(left + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > left {
        return Err(io::Error::other("it is longer than 1 GiB; write it to a file first"));
    }
    let bytes = Arc::new(bytes);
    read.insert(path.to_owned(), Arc::clone(&bytes));
    Ok(bytes)
}
