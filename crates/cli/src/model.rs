//! `hemiola model`: predicts what a design costs, with ranges, before it is built.
//!
//! Exit codes: 0, or with `--gate` 1 if a verdict is not as it should be; 2 for an error.

pub(crate) mod check;
mod lists;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hemiola_diagnostic::render;
use hemiola_measure::Progress as _;
use hemiola_model::export::{page, sweeps, tables};
use hemiola_model::file::{self, Measurements};
use hemiola_model::machine;
use hemiola_model::summary::{Summary, analyze_with_progress};
use hemiola_record::Folder;
use hemiola_report::json::pretty;
use hemiola_report::terminal;

use crate::args::{Model, Modelling};
use crate::diagnostics::{Failure, gate, shown};
use crate::measure::{MAKE_MACHINE_FILE, read_machine};
use crate::progress::Progress;
use crate::report::{PAGE, SUMMARY};

/// The model's file in a folder.
const FILE_NAME: &str = "model.toml";

pub(crate) fn model(args: &Model) -> Result<ExitCode, Failure> {
    match &args.action {
        Some(Modelling::Check(args)) => check::check(args),
        Some(Modelling::Units(of)) => lists::units(of),
        Some(Modelling::Figures(of)) => lists::figures(of),
        None => evaluate(args),
    }
}

fn evaluate(args: &Model) -> Result<ExitCode, Failure> {
    let path = args.path.as_deref().expect("clap requires a path without a subcommand");
    let measurements = args.machine.as_deref().map(measurements).transpose()?;
    let (text, summary) = read(path, measurements.as_ref())?;
    let csv = match args.csv {
        true => Some(sweeps::csv(&summary).ok_or_else(|| no_sweep(path))?),
        false => None,
    };
    let folder = args.output.as_deref().map(|output| write(output, &text, &summary)).transpose()?;
    let code = print(&summary, csv.as_deref(), args.json, args.gate);
    if let Some(folder) = folder.filter(|_| !args.json && csv.is_none()) {
        println!("{}", folder.display());
    }
    Ok(code)
}

/// Reads a model and computes it. Returns its text, too.
fn read(given: &Path, measurements: Option<&Measurements>) -> Result<(String, Summary), Failure> {
    let (text, model) = open(given, measurements)?;
    let mut shown = Shown { since: Instant::now(), progress: None };
    let of = measurements.map(|found| found.of.as_str());
    let summary = analyze_with_progress(&model, of, &mut |done, chain| shown.tick(done, chain));
    shown.end();
    Ok((text, summary))
}

/// Progress that is shown if it takes long.
struct Shown {
    since: Instant,
    progress: Option<Progress>,
}

impl Shown {
    /// Most models take less.
    const PATIENCE: Duration = Duration::from_secs(1);

    fn tick(&mut self, done: f64, chain: &str) {
        if self.since.elapsed() >= Self::PATIENCE {
            self.progress.get_or_insert_with(Progress::new).tick(done, chain);
        }
    }

    fn end(&self) {
        if let Some(progress) = &self.progress {
            progress.end();
        }
    }
}

/// Reads a model. Returns its text, too.
fn open(
    given: &Path,
    measurements: Option<&Measurements>,
) -> Result<(String, file::Model), Failure> {
    let path = if given.is_dir() { given.join(FILE_NAME) } else { given.to_owned() };
    let text = fs::read_to_string(&path).map_err(|error| {
        let hint = format!("give a model file or a folder with a {FILE_NAME}");
        Failure::unreadable(&path, error, &hint)
    })?;
    let model = file::read(&text, measurements).map_err(|problems| {
        Failure::bad_input(render(&problems, &text, &path.display().to_string()))
    })?;
    Ok((text, model))
}

/// Writes a model, its results and its page into a new folder.
fn write(output: &Path, text: &str, summary: &Summary) -> Result<PathBuf, Failure> {
    let folder = Folder::create(output).map_err(|error| Failure::unusable(&error))?;
    let subtitle = crate::args::command_line();
    let page = page::page(summary, &subtitle).render();
    folder.write(FILE_NAME, text.as_bytes()).map_err(Failure::failed)?;
    folder.write(SUMMARY, pretty(summary).as_bytes()).map_err(Failure::failed)?;
    folder.write(PAGE, page.as_bytes()).map_err(Failure::failed)?;
    Ok(folder.keep())
}

fn no_sweep(path: &Path) -> Failure {
    Failure::bad_input(format!(
        "error: {} has no sweep\nhint: a [[sweep]] states the figure that varies, and its values",
        shown(path)
    ))
}

/// Prints the results of a model, and returns the verdict on them.
fn print(summary: &Summary, csv: Option<&str>, json: bool, is_gate: bool) -> ExitCode {
    if let Some(csv) = csv {
        print!("{csv}");
    } else if json {
        print!("{}", pretty(summary));
    } else {
        let (tables, conditions) = (tables::tables(summary), tables::conditions(summary));
        print!("{}", terminal::document(&summary.title, &tables, &summary.problems, &conditions));
    }
    gate(is_gate, &summary.failures)
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
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure::unreadable(&path, error, MAKE_MACHINE_FILE))?;
    Measurements::of_summary(&text)
        .map_err(|error| Failure::bad_input(format!("error: {}: {error}", shown(path))))
}
