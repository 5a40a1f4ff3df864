//! The recordings to show: trace files and the traces of result folders, loaded on first use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use hemiola_analyze::Spill;
use hemiola_analyze::sched::{self, Report};
use hemiola_analyze::timeline::{State, Timeline, jobs, range};
use hemiola_trace::ReadError;
use hemiola_trace::result::{FILE_NAME, RunFolder};
use hemiola_units::Span;

use crate::diagnostics::{Failure, shown};
use crate::recording::{self, NOTHING};
use crate::report::PAGE;
use crate::spill::SpillFile;

/// Recordings held in memory. Beyond this number the least recently used one is unloaded and read again when needed.
const LOADED_MAX: usize = 4;

/// Rows whose jobs are kept in a list. Beyond this number the lists are made anew.
const LISTED_MAX: usize = 64;

/// Jobs in these lists altogether. Beyond this number the lists are made anew.
const JOBS_MAX: usize = 1 << 20;

/// A file that has not changed for this long is no longer being written.
const STILL: Duration = Duration::from_secs(5);

/// A growing file is read again after this multiple of the last reading time, which leaves most time for the page.
const PAUSE_FACTOR: u32 = 4;

/// All recordings that the page can show.
pub(crate) struct Sources {
    list: RwLock<Vec<Arc<Source>>>,
    /// Folders of runs that may still add traces.
    folders: Vec<PathBuf>,
    /// Index of the first recording of the second path on the command line.
    second: Option<usize>,
    /// The periods given on the command line.
    options: Arc<sched::Options>,
    /// The measured cost of one context switch.
    pub(crate) switch: Option<Span>,
}

/// One trace file.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The report page of its result folder.
    pub(crate) report: Option<PathBuf>,
    options: Arc<sched::Options>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    loaded: Option<Arc<Loaded>>,
    looked_at: Option<Instant>,
    version: u64,
    reading: bool,
}

/// A recording with everything computed from it.
pub(crate) struct Loaded {
    /// How many times the file has been read.
    pub(crate) version: u64,
    /// The recorder and its conditions.
    pub(crate) conditions: Vec<(String, String)>,
    /// The start: on the monotonic clock, and in nanoseconds since 1970 UTC.
    pub(crate) began: Option<(hemiola_units::Instant, u64)>,
    pub(crate) timeline: Timeline,
    /// The figures, from the same walk.
    pub(crate) report: Report,
    /// How long interrupts took of the time of each row in which a thread ran, ns.
    interrupted: BTreeMap<usize, u64>,
    /// The problems of the file, without that it has no end yet.
    problems: Vec<String>,
    /// Whether the file had no end while it was still being written.
    is_open: bool,
    jobs: Mutex<BTreeMap<usize, Arc<jobs::List>>>,
    bytes: u64,
    took: Duration,
    at: Instant,
}

/// Why a recording cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    #[error(
        "{} cannot be read: {error}\nhint: give a trace file, or a result folder of `hemiola run`",
        shown(.path)
    )]
    Read { path: PathBuf, error: std::io::Error },
    #[error(
        "{} contains no trace\nhint: a result folder has its traces in traces/",
        shown(.path)
    )]
    Empty { path: PathBuf },
    #[error("{} is not a recording: {reason}", shown(.path))]
    NoRecording { path: PathBuf, reason: String },
    #[error("{} {NOTHING}", shown(.path))]
    Nothing { path: PathBuf },
    #[error("there is no recording {0}")]
    NoSuch(usize),
}

impl SourceError {
    /// The failure that the command reports.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::NoSuch(_) => Failure::failed(self),
            Self::Read { .. }
            | Self::Empty { .. }
            | Self::NoRecording { .. }
            | Self::Nothing { .. } => Failure::bad_input(format!("error: {self}")),
        }
    }
}

impl Sources {
    pub(crate) fn open(
        paths: &[PathBuf],
        options: sched::Options,
        switch: Option<Span>,
    ) -> Result<Self, SourceError> {
        let options = Arc::new(options);
        let mut list = Vec::new();
        let mut folders = Vec::new();
        let mut second = None;
        for path in paths {
            let found = if path.is_dir() {
                folders.push(path.clone());
                traces_of(path, &options)?
            } else {
                vec![Source::new(file_name(path), path.clone(), None, &options)]
            };
            if found.is_empty() {
                return Err(SourceError::Empty { path: path.clone() });
            }
            second = (!list.is_empty()).then_some(list.len());
            list.extend(found);
        }
        tell_apart(&mut list);
        let list = RwLock::new(list.into_iter().map(Arc::new).collect());
        Ok(Self { list, folders, second, options, switch })
    }

    /// The recordings that the page shows first: with two paths the first of each, otherwise the one being recorded
    /// now, or else the first.
    pub(crate) fn first_shown(&self) -> Vec<usize> {
        if let Some(second) = self.second {
            return vec![0, second];
        }
        let now = self.all().iter().position(|source| source.grows());
        vec![now.unwrap_or(0)]
    }

    pub(crate) fn all(&self) -> Vec<Arc<Source>> {
        self.list.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds traces that a run has begun since the last look.
    pub(crate) fn look_again(&self) {
        for folder in &self.folders {
            let found = traces_of(folder, &self.options).unwrap_or_default();
            let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
            for source in found {
                if list.iter().all(|known| known.path != source.path) {
                    list.push(Arc::new(source));
                }
            }
        }
    }

    pub(crate) fn get(&self, index: usize) -> Result<Arc<Source>, SourceError> {
        self.all().get(index).cloned().ok_or(SourceError::NoSuch(index))
    }

    /// The recording at this index, read if it is not in memory.
    pub(crate) fn loaded(&self, index: usize) -> Result<Arc<Loaded>, SourceError> {
        let loaded = self.get(index)?.loaded()?;
        self.forget_beyond(LOADED_MAX);
        Ok(loaded)
    }

    fn forget_beyond(&self, most: usize) {
        let list = self.all();
        let mut held: Vec<(Instant, &Arc<Source>)> = list
            .iter()
            .filter_map(|source| {
                let held = source.held();
                held.loaded.as_ref().and(held.looked_at).map(|at| (at, source))
            })
            .collect();
        held.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        for (_, source) in held.into_iter().skip(most) {
            source.held().loaded = None;
        }
    }
}

impl Source {
    fn new(
        name: String,
        path: PathBuf,
        report: Option<PathBuf>,
        options: &Arc<sched::Options>,
    ) -> Self {
        Self { name, path, report, options: Arc::clone(options), held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn loaded(&self) -> Result<Arc<Loaded>, SourceError> {
        let mut held = self.held();
        held.looked_at = Some(Instant::now());
        if let Some(loaded) = &held.loaded {
            return Ok(Arc::clone(loaded));
        }
        let loaded = Arc::new(self.read(held.version + 1)?);
        held.version = loaded.version;
        held.loaded = Some(Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Whether the file is still being written.
    pub(crate) fn grows(&self) -> bool {
        self.of_file().is_some_and(|metadata| grows(&metadata))
    }

    /// `None` for a stream, and if there is no such file any more.
    fn of_file(&self) -> Option<fs::Metadata> {
        fs::metadata(&self.path).ok().filter(fs::Metadata::is_file)
    }

    /// Whether the file is still being written, and the version to show now. A file that grew is read again in the
    /// background, for at most a fifth of the time.
    pub(crate) fn state(self: &Arc<Self>) -> (bool, u64) {
        let Some(metadata) = self.of_file() else { return (false, self.held().version) };
        let mut held = self.held();
        let grows = grows(&metadata);
        let due = held.loaded.as_ref().is_some_and(|loaded| loaded.is_due(metadata.len(), grows));
        if due && !held.reading {
            held.reading = true;
            let (source, version) = (Arc::clone(self), held.version + 1);
            std::thread::spawn(move || {
                let fresh = source.read(version);
                let mut held = source.held();
                held.reading = false;
                // After a failure the last good version stays, and a later request tries again.
                if let Ok(fresh) = fresh {
                    (held.version, held.loaded) = (version, Some(Arc::new(fresh)));
                }
            });
        }
        (grows, held.version)
    }
}

impl Source {
    fn read(&self, version: u64) -> Result<Loaded, SourceError> {
        let path = self.path.as_path();
        let begin = Instant::now();
        let unread = |error| SourceError::Read { path: path.into(), error };
        let (recording, errors, bytes) = recording::read(path).map_err(unread)?;
        // A recording in progress has no end yet. Whether this one is in progress may change at any time.
        let is_open = errors.contains(&ReadError::Unfinished) && self.grows();
        let expected = |error: &ReadError| is_open && *error == ReadError::Unfinished;
        let mut problems: Vec<String> =
            errors.iter().filter(|error| !expected(error)).map(ToString::to_string).collect();
        let spill = Arc::new(SpillFile::new());
        let (timeline, report) =
            Timeline::spilling(&recording, &self.options, Arc::clone(&spill) as Arc<dyn Spill>);
        problems.extend(recording::losses(&recording, &report));
        problems.extend(spill.problem());
        if timeline.rows.is_empty() && timeline.counters.is_empty() {
            if errors.is_empty() && recording.is_ours() {
                return Err(SourceError::Nothing { path: path.into() });
            }
            let reason = problems.into_iter().next();
            let reason =
                reason.unwrap_or_else(|| "it contains no scheduling events and no marks".into());
            return Err(SourceError::NoRecording { path: path.into(), reason });
        }
        Ok(Loaded {
            version,
            conditions: recording.conditions,
            began: recording.began,
            interrupted: range::interrupted(&timeline, 0, u64::MAX),
            timeline,
            report,
            problems,
            is_open,
            jobs: Mutex::default(),
            bytes,
            took: begin.elapsed(),
            at: Instant::now(),
        })
    }
}

impl Loaded {
    /// Whether the recording had no end when it was read and its file is still being written.
    pub(crate) const fn is_in_progress(&self, grows: bool) -> bool {
        self.is_open && grows
    }

    /// How long the thread of a row ran, or a processor was busy, ns. Interrupts are not the time of a thread.
    pub(crate) fn running(&self, row: usize) -> u64 {
        let running = self.timeline.rows[row].track.totals().of(State::Running);
        running.saturating_sub(self.interrupted.get(&row).copied().unwrap_or(0))
    }

    /// The problems of the file, which is still being written or not.
    pub(crate) fn problems(&self, grows: bool) -> Vec<String> {
        let unfinished = self.is_open && !grows;
        let unfinished = unfinished.then(|| ReadError::Unfinished.to_string());
        self.problems.iter().cloned().chain(unfinished).collect()
    }

    /// Whether to read the file again, which now has `len` bytes and is still being written or not: it has changed, or
    /// nobody will write its end any more.
    fn is_due(&self, len: u64, grows: bool) -> bool {
        let is_outdated = self.bytes != len || (self.is_open && !grows);
        is_outdated && self.at.elapsed() >= self.took * PAUSE_FACTOR
    }

    /// The jobs of a row, listed on first use.
    pub(crate) fn jobs(&self, row: usize) -> Arc<jobs::List> {
        // Only threads have jobs, and lists of no jobs would take the place of others.
        if !self.timeline.thread_rows().contains(&row) {
            return Arc::default();
        }
        let mut known = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = known.get(&row) {
            return Arc::clone(list);
        }
        let kept: usize = known.values().map(|list| list.len()).sum();
        if known.len() >= LISTED_MAX || kept >= JOBS_MAX {
            known.clear();
        }
        let list = Arc::new(jobs::of(&self.timeline.rows[row]));
        known.insert(row, Arc::clone(&list));
        list
    }
}

/// The traces of a result folder: those named in its `run.json`, or during the run those found in it.
fn traces_of(folder: &Path, options: &Arc<sched::Options>) -> Result<Vec<Source>, SourceError> {
    let report = Some(folder.join(PAGE)).filter(|page| page.exists());
    let record = folder.join(FILE_NAME);
    if let Ok(text) = fs::read_to_string(&record) {
        let run: RunFolder = serde_json::from_str(&text).map_err(|error| {
            SourceError::NoRecording { path: record.clone(), reason: error.to_string() }
        })?;
        let runs = run
            .variants
            .iter()
            .flat_map(|variant| variant.runs.iter().map(move |run| (variant, run)));
        return Ok(runs
            .map(|(variant, run)| {
                (format!("{} · run {}", variant.name, run.number), folder.join(&run.trace))
            })
            .filter(|(_, path)| path.exists())
            .map(|(name, path)| Source::new(name, path, report.clone(), options))
            .collect());
    }
    Ok(recording::traces_in(folder)
        .into_iter()
        .map(|path| Source::new(file_name(&path), path, report.clone(), options))
        .collect())
}

/// Names recordings by their paths where several have the same name.
fn tell_apart(list: &mut [Source]) {
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for source in &*list {
        *times.entry(source.name.clone()).or_default() += 1;
    }
    for source in list.iter_mut().filter(|source| times[&source.name] > 1) {
        source.name = source.path.display().to_string();
    }
}

/// Whether a file is still being written.
fn grows(metadata: &fs::Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    age.is_some_and(|age| age < STILL)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
