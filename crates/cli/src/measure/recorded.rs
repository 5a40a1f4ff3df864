//! The readings of an experiment that were taken before it: in CSV files, and as jobs in recordings.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hemiola_analyze::sched::{self, Of, Options, Wanted};
use hemiola_diagnostic::did_you_mean;
use hemiola_measure::experiment::{BadReadings, Experiment, Origin, enough, read_csv};

use crate::diagnostics::{Failure, shown};
use crate::recording::{self, Problems};

/// The most jobs of a task that are read.
const JOBS_MAX: usize = 1_000_000;

/// The recorded readings of all cases, by figure, with the problems of the recordings. Files are looked up from
/// `folder`.
pub(super) fn recorded(
    plan: &Experiment,
    folder: &Path,
) -> Result<(BTreeMap<String, Vec<f64>>, Problems), Failure> {
    let (mut all, mut problems) = (BTreeMap::new(), Problems::default());
    for case in &plan.cases {
        let readings = match &case.origin {
            Origin::Probe | Origin::Command(_) => continue,
            Origin::Readings { file, column, scale } => {
                column_of(&folder.join(file), column.as_deref(), *scale)?
            }
            Origin::Jobs { recording, task } => {
                let (readings, of_file) = jobs(&folder.join(recording), task)?;
                problems = problems.and(of_file);
                readings
            }
        };
        all.insert(case.figure.clone(), readings);
    }
    Ok((all, problems))
}

fn column_of(path: &Path, column: Option<&str>, scale: f64) -> Result<Vec<f64>, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::unreadable(path, error, "give a CSV file of readings"))?;
    read_csv(&text, column, scale).map_err(|error| bad(path, &error))
}

/// The response times of a task's complete jobs, ns, with the problems of the recording.
fn jobs(path: &Path, task: &str) -> Result<(Vec<f64>, Problems), Failure> {
    let opened = recording::open(path)?;
    let recording = &opened.recording;
    let names = || recording.tracks.iter().map(|track| track.name.as_str());
    let tracks: Vec<usize> =
        names().enumerate().filter(|(_, name)| *name == task).map(|(track, _)| track).collect();
    let [first, others @ ..] = tracks.as_slice() else {
        let hint = did_you_mean(task, names())
            .unwrap_or_else(|| "`hemiola analyze` lists the tasks that programs mark".into());
        let text = format!("error: {} has no task called {task:?}\nhint: {hint}", shown(path));
        return Err(Failure::bad_input(text));
    };
    let options = Options::default();
    let wanted =
        |track| Wanted { of: Of::Track(track), from_ns: 0, to_ns: u64::MAX, max: JOBS_MAX };
    // The first walk also shows what is missing.
    let (report, mut jobs) = sched::report_and_jobs(recording, &options, &wanted(*first));
    jobs.extend(others.iter().flat_map(|track| sched::jobs(recording, &options, &wanted(*track))));
    let complete = jobs.into_iter().filter(|job| job.complete);
    let readings = enough(complete.map(|job| job.response_ns() as f64).collect());
    let readings = readings.map_err(|error| bad(path, &error))?;
    Ok((readings, opened.problems(&report)))
}

fn bad(path: &Path, error: &BadReadings) -> Failure {
    Failure::bad_input(format!("error: {}: {error}", shown(path)))
}
