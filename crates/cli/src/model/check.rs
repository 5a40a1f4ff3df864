//! `hemiola model check`: compares the predicted cost of a run on this machine with the measured cost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hemiola_measure::identity;
use hemiola_model::machine::FILE_NAME;
use hemiola_model::predict::{self, tables};
use hemiola_report::json::pretty;
use hemiola_report::terminal;
use hemiola_scenario::Plan;

use crate::args::Check;
use crate::diagnostics::{Failure, gate};
use crate::measure::read_machine;

/// The plan in a result folder.
const PLAN: &str = "plan.json";

/// The folder of the results of `run` and `measure`.
const RESULTS: &str = "results";

pub(super) fn check(args: &Check) -> Result<ExitCode, Failure> {
    let summary = crate::report::make(&args.folder)?.summary;
    let plan = args.folder.join(PLAN);
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::failed(format!("{} cannot be read: {error}", plan.display()))
    };
    let text = fs::read_to_string(&plan).map_err(|error| cannot(&error))?;
    let plan: Plan = serde_json::from_str(&text).map_err(|error| cannot(&error))?;

    let path = match &args.machine {
        Some(given) => given.clone(),
        None => newest()?,
    };
    let machine = read_machine(&path)?;
    let shown = path.display();
    machine
        .must_be(&identity(&summary.conditions))
        .map_err(|error| Failure::bad_input(format!("error: {shown}: {error}")))?;
    let refused = |error| Failure::bad_input(format!("error: {shown}: {error}"));
    let predictions = predict::predict(&plan, &machine).map_err(refused)?;
    if predictions.is_empty() {
        return Err(Failure::bad_input(format!(
            "error: {} contains no program with a control loop, so there is no cycle to predict",
            args.folder.display()
        )));
    }
    let responses = predict::responses(&plan, &machine, &predictions, &summary).map_err(refused)?;
    let held = predict::compare(predictions, &summary);
    let verdict = || Ok(gate(args.gate, &predict::failures(&held)));
    if args.json {
        print!("{}", pretty(&predict::Report { held: &held, responses: &responses }));
        return verdict();
    }
    let title = format!("{}: predicted and measured", summary.title);
    let conditions = [
        ("Machine".to_owned(), path.display().to_string()),
        ("Run".to_owned(), args.folder.display().to_string()),
    ];
    print!("{}", terminal::document(&title, &tables::tables(&held, &responses), &[], &conditions));
    verdict()
}

/// The newest machine file, by the date and time in the folder names.
pub(crate) fn newest() -> Result<PathBuf, Failure> {
    let measured = |folder: &Path| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = folder.join(FILE_NAME);
        (name.starts_with("measure-") && file.is_file()).then_some(file)
    };
    let folders = fs::read_dir(RESULTS).into_iter().flatten().flatten();
    folders.filter_map(|entry| measured(&entry.path())).max().ok_or_else(|| {
        Failure::failed(format!(
            "there is no {RESULTS}/measure-*/{FILE_NAME}\nhint: measure this machine with `hemiola measure`, or give \
             a {FILE_NAME} with --machine"
        ))
    })
}
