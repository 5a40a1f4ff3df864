//! Checkpoints of a universe that runs, and how a run goes on from one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use hemiola_report::text;
use hemiola_rt::file::{replace, replaceable};
use hemiola_stats::{Distribution, Stream};
use hemiola_world::{RunSoFar, World};
use serde::Serialize;

use crate::args::UniverseRun;
use crate::diagnostics::{Failure, shown};

/// Writes checkpoints when they are due.
pub(super) struct Checkpoints {
    file: PathBuf,
    every: Option<u64>,
    made: CheckpointsMade,
    ns: Stream,
}

/// The checkpoints of a run.
#[derive(Clone, Serialize)]
pub(super) struct CheckpointsMade {
    file: String,
    written: u64,
    failed: u64,
    /// Why the last one that failed did.
    pub(super) failure: Option<String>,
    /// Of the last one.
    bytes: usize,
    /// From the state to the synchronized file, ns.
    ns: Option<Distribution>,
}

impl Checkpoints {
    /// Those that the command line asks for, if it does.
    pub(super) fn of(args: &UniverseRun) -> Result<Option<Self>, Failure> {
        let Some(file) = args.checkpoint.clone() else { return Ok(None) };
        replaceable(&file).map_err(|error| {
            let file = shown(&file);
            Failure::bad_input(format!("error: no checkpoint can be written to {file}: {error}"))
        })?;
        let made = CheckpointsMade {
            file: file.display().to_string(),
            written: 0,
            failed: 0,
            failure: None,
            bytes: 0,
            ns: None,
        };
        Ok(Some(Self { file, every: args.every, made, ns: Stream::default() }))
    }

    /// Whether a checkpoint is due after a step.
    pub(super) fn is_due(&self, step: u64, is_last: bool) -> bool {
        is_last || self.every.is_some_and(|every| step.is_multiple_of(every))
    }

    /// Writes a checkpoint. If that fails, the run goes on, and the file stays as it was.
    pub(super) fn write(&mut self, world: &World, run: &RunSoFar) {
        let step = world.steps();
        let began = Instant::now();
        let bytes = world.checkpoint(run);
        match replace(&self.file, [&bytes[..]]) {
            Ok(()) => {
                self.made.written += 1;
                self.made.bytes = bytes.len();
                self.ns.push(began.elapsed().as_nanos() as u64);
            }
            Err(error) => self.fail(format!(
                "the checkpoint of step {step} cannot be written to {}: {error}",
                shown(&self.file)
            )),
        }
    }

    fn fail(&mut self, reason: String) {
        eprintln!("warning: {reason}; the run goes on");
        self.made.failed += 1;
        self.made.failure = Some(reason);
    }

    pub(super) fn made(self) -> CheckpointsMade {
        CheckpointsMade { ns: self.ns.distribution(), ..self.made }
    }
}

impl CheckpointsMade {
    pub(super) fn text(&self) -> String {
        let Self { file, written, failed, bytes, ns, .. } = self;
        let mean = ns.as_ref().map_or(0.0, |ns| ns.mean);
        let failed = if *failed == 0 { String::new() } else { format!("; {failed} failed") };
        format!(
            "checkpoints: {} written to {file}, {} bytes, {} each{failed}",
            text::count(*written),
            text::count(*bytes as u64),
            text::duration(mean)
        )
    }
}

/// The world of a checkpoint and its run.
pub(super) fn resumed(file: &Path) -> Result<(World, RunSoFar), Failure> {
    let wrong = |reason: String| {
        let message = format!("error: {} is not resumed: {reason}", shown(file));
        let hint =
            "\nhint: name a file that `hemiola universe run --checkpoint` of this version wrote";
        Failure::bad_input(message + hint)
    };
    let bytes = fs::read(file).map_err(|error| wrong(format!("it cannot be read: {error}")))?;
    World::resume(&bytes).map_err(|error| wrong(error.to_string()))
}
