//! `hemiola model check`: compares the predicted cost of a run on this machine with the measured cost, or a model with
//! a recording.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hemiola_analyze::sched::{self, Options};
use hemiola_measure::identity;
use hemiola_model::file::Measurements;
use hemiola_model::machine::FILE_NAME;
use hemiola_model::predict::{self, tables};
use hemiola_model::summary::Summary;
use hemiola_report::json::pretty;
use hemiola_report::terminal;
use hemiola_scenario::Plan;

use crate::args::Check;
use crate::diagnostics::{Failure, gate, shown};
use crate::measure::read_machine;
use crate::recording;

/// The plan in a result folder.
const PLAN: &str = "plan.json";

/// The folder of the results of `run` and `measure`.
const RESULTS: &str = "results";

pub(super) fn check(args: &Check) -> Result<ExitCode, Failure> {
    match &args.model {
        Some(model) => recording(args, model),
        None => run(args),
    }
}

/// Compares a model with a recording, whose figures precede those of the machine.
fn recording(args: &Check, model: &Path) -> Result<ExitCode, Failure> {
    if args.path.is_dir() {
        return Err(Failure::bad_input(format!(
            "error: {} is a folder\nhint: with --model, give a recording, such as one in a result folder",
            shown(&args.path)
        )));
    }
    let opened = recording::open(&args.path)?;
    let recording = &opened.recording;
    let options = Options { observations: true, ..Options::default() };
    let report = sched::analyze(recording, &options);
    let problems = opened.problems(&report);
    let of = args.path.display().to_string();
    let mut found = Measurements::of_recording(of, sched::figures(recording, &report));
    let recorded: BTreeSet<String> = found.names().map(str::to_owned).collect();
    if let Some(machine) = &args.machine {
        found = found.and(super::measurements(machine)?);
    }
    let (_, mut summary) = super::read(model, Some(&found))?;
    // Nobody knows what the missing part would have shown.
    summary.failures.extend(problems.sentences());
    summary.problems.extend(problems.sentences());
    if !names_any(&summary, &recorded) {
        let text = format!(
            "nothing was compared: the model names no figure of {}, such as jobs.TASK.response",
            shown(&args.path)
        );
        summary.problems.push(text.clone());
        summary.failures.push(text);
    }
    Ok(super::print(&summary, None, args.json, args.gate))
}

/// Whether a model names a figure of a recording.
fn names_any(summary: &Summary, recorded: &BTreeSet<String>) -> bool {
    let held = summary.chains.iter().flat_map(|chain| &chain.budget.held);
    let measured = held.filter_map(|held| held.taken_from.as_ref());
    let inputs = summary.inputs.iter().filter_map(|input| input.taken_from.as_ref());
    measured.chain(inputs).any(|name| recorded.contains(name))
}

/// Compares a run with its prediction.
fn run(args: &Check) -> Result<ExitCode, Failure> {
    if args.path.is_file() {
        return Err(Failure::bad_input(format!(
            "error: {} is a file, not the result folder of a run\nhint: to compare a recording with a model, name the \
             model with --model",
            shown(&args.path)
        )));
    }
    let summary = crate::report::make(&args.path)?.summary;
    let plan = args.path.join(PLAN);
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::unreadable(&plan, error, "give a result folder of `hemiola run`")
    };
    let text = fs::read_to_string(&plan).map_err(|error| cannot(&error))?;
    let plan: Plan = serde_json::from_str(&text).map_err(|error| cannot(&error))?;

    let path = match &args.machine {
        Some(given) => given.clone(),
        None => newest()?,
    };
    let machine = read_machine(&path)?;
    let named = shown(&path);
    machine
        .must_be(&identity(&summary.conditions))
        .map_err(|error| Failure::bad_input(format!("error: {named}: {error}")))?;
    let refused = |error| Failure::bad_input(format!("error: {named}: {error}"));
    let predictions = predict::predict(&plan, &machine).map_err(refused)?;
    if predictions.is_empty() {
        return Err(Failure::bad_input(format!(
            "error: {} contains no program with a control loop, so there is no cycle to predict",
            shown(&args.path)
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
        ("Run".to_owned(), args.path.display().to_string()),
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
