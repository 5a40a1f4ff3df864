//! `hemiola model`: predicts what a design costs, with ranges, before it is built.
//!
//! Exit codes: 0, or with `--gate` 1 if a verdict is not as it should be; 2 for an error.

pub(crate) mod check;
mod lists;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use hemiola_diagnostic::render;
use hemiola_model::export::{page, tables};
use hemiola_model::file::{self, Measurements};
use hemiola_model::machine;
use hemiola_model::summary::analyze;
use hemiola_record::Folder;
use hemiola_report::json::pretty;
use hemiola_report::terminal;

use crate::args::{Model, Modelling};
use crate::diagnostics::{Failure, gate};
use crate::measure::read_machine;
use crate::report::{PAGE, SUMMARY};

/// The model's file in a folder.
const FILE_NAME: &str = "model.toml";

pub(crate) fn model(args: &Model) -> Result<ExitCode, Failure> {
    let result = match &args.action {
        Some(Modelling::Check(args)) => check::check(args),
        Some(Modelling::Units) => lists::units(),
        Some(Modelling::Figures) => lists::figures(),
        None => evaluate(args),
    };
    result.map_err(Failure::apart_from_verdicts)
}

fn evaluate(args: &Model) -> Result<ExitCode, Failure> {
    let given = args.path.as_deref().expect("clap requires a path without a subcommand");
    let path = if given.is_dir() { given.join(FILE_NAME) } else { given.to_owned() };
    let text = fs::read_to_string(&path).map_err(|error| {
        Failure::failed(format!(
            "{} cannot be read: {error}\nhint: give a model file or a folder with a {FILE_NAME}",
            path.display()
        ))
    })?;
    let measurements = args.machine.as_deref().map(measurements).transpose()?;
    let model = file::read(&text, measurements.as_ref()).map_err(|problems| {
        Failure::bad_input(render(&problems, &text, &path.display().to_string()))
    })?;
    let folder = args.output.as_deref().map(Folder::create).transpose().map_err(Failure::failed)?;
    let summary = analyze(&model, measurements.as_ref().map(|found| found.of.as_str()));
    let folder = match folder {
        None => None,
        Some(folder) => {
            let subtitle = std::env::args().collect::<Vec<_>>().join(" ");
            let page = page::page(&summary, &subtitle).render();
            folder.write(FILE_NAME, text.as_bytes()).map_err(Failure::failed)?;
            folder.write(SUMMARY, pretty(&summary).as_bytes()).map_err(Failure::failed)?;
            folder.write(PAGE, page.as_bytes()).map_err(Failure::failed)?;
            Some(folder.keep())
        }
    };
    let verdict = || Ok(gate(args.gate, &summary.failures));
    if args.json {
        print!("{}", pretty(&summary));
        return verdict();
    }
    let (tables, conditions) = (tables::tables(&summary), tables::conditions(&summary));
    print!("{}", terminal::document(&summary.title, &tables, &summary.problems, &conditions));
    if let Some(folder) = folder {
        println!("{}", folder.display());
    }
    verdict()
}

/// The measured figures of a machine, or of any result with figures in its `summary.json`.
fn measurements(given: &Path) -> Result<Measurements, Failure> {
    let mut path = given.to_owned();
    if given.is_dir() && !given.join(machine::FILE_NAME).exists() {
        path.push(SUMMARY);
    }
    if path.extension().is_none_or(|ending| ending != "json") {
        return Ok(Measurements::of_machine(&read_machine(&path)?));
    }
    let text = fs::read_to_string(&path).map_err(|error| {
        let path = path.display();
        Failure::failed(format!(
            "{path} cannot be read: {error}\nhint: create it with `hemiola measure`"
        ))
    })?;
    Measurements::of_summary(&text)
        .map_err(|error| Failure::bad_input(format!("error: {}: {error}", path.display())))
}
