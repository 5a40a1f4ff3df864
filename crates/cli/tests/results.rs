//! A result folder as other programs read it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use hemiola_trace::perfetto::{self, Trace, Track};
use hemiola_trace::result::{RunFolder, VariantRecord};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Policy;

pub(crate) struct Results {
    path: PathBuf,
}

impl Results {
    pub(crate) fn open(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn text(&self, name: &str) -> String {
        let path = self.path.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn summary(&self) -> Value {
        serde_json::from_str(&self.text("summary.json")).unwrap()
    }

    pub(crate) fn run(&self) -> RunFolder {
        serde_json::from_str(&self.text("run.json")).unwrap()
    }

    /// The trace of a variant's first run, without a mistake in it.
    pub(crate) fn trace(&self, variant: &VariantRecord) -> Trace {
        let bytes = fs::read(self.path.join(&variant.runs[0].trace)).unwrap();
        let (trace, mistakes) = perfetto::read(&bytes);
        assert!(mistakes.is_empty(), "{}: {mistakes:?}", variant.name);
        trace
    }
}

fn of(track: &Track, kind: EventKind) -> impl Iterator<Item = &Entry> {
    track.entries.iter().filter(move |entry| entry.kind == kind)
}

/// The voltages written by the process that has the card; asserts that there is one in each of its
/// cycles, and that no cycle is missing but those recorded as skipped.
pub(crate) fn actuations(trace: &Trace) -> Vec<&Entry> {
    let is_driver = |track: &&Track| of(track, EventKind::Sample).next().is_some();
    let driver = trace.tracks.iter().find(is_driver).expect("some process samples");
    let mut next = 0;
    for start in of(driver, EventKind::Start) {
        assert_eq!(start.cycle, next + u32::from(start.arg), "{}: a cycle is missing", driver.name);
        next = start.cycle + 1;
    }
    let cycles = |kind| of(driver, kind).map(|entry| entry.cycle).collect::<Vec<_>>();
    assert_eq!(
        cycles(EventKind::Actuate),
        cycles(EventKind::Start),
        "{}: one voltage a cycle",
        driver.name
    );
    assert!(next > 0, "{} did nothing", driver.name);
    of(driver, EventKind::Actuate).collect()
}

/// Asserts that the pendulum stood in every run of the variant. Without real-time priority, on a busy
/// machine, nothing is promised.
pub(crate) fn assert_stands(variant: &VariantRecord) {
    for run in &variant.runs {
        let real_time = |policy: &Policy| !matches!(policy, Policy::Other { .. });
        if !run.processes.iter().all(|process| real_time(&process.granted.scheduling)) {
            println!("skipped: needs real-time priority to promise that the pendulum stands");
            return;
        }
        assert_eq!(run.fallen_after, None, "{}", variant.name);
        assert!(run.peak_v > 0.0 && run.peak_v < 1.0, "{}: V = {}", variant.name, run.peak_v);
    }
}
