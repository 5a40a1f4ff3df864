//! `hemiola universe status`, `plan`, `apply` and `roll-back` of a universe that runs.

use std::path::PathBuf;
use std::process::ExitCode;

use hemiola_report::json::pretty;
use hemiola_report::table::Table;
use hemiola_report::{terminal, text};
use hemiola_runner::control::ask;
use hemiola_runner::control::universe::{
    LastRow, Pace, SourceText, UniverseAnswer, UniverseRequest, UniverseStatus, Universes,
};
use hemiola_trace::result::{ModuleRun, MonitorRun};

use super::read;
use crate::args;
use crate::diagnostics::Failure;

pub(crate) fn plan(args: &args::UniversePlan) -> Result<ExitCode, Failure> {
    done(&args.chosen, &UniverseRequest::Plan(texts(&args.files)?))
}

pub(crate) fn apply(args: &args::UniverseApply) -> Result<ExitCode, Failure> {
    done(&args.chosen, &UniverseRequest::Apply(texts(&args.files)?))
}

pub(crate) fn roll_back(chosen: &args::UniverseChosen) -> Result<ExitCode, Failure> {
    done(chosen, &UniverseRequest::RollBack)
}

pub(crate) fn status(args: &args::UniverseStatus) -> Result<ExitCode, Failure> {
    match answer(&args.chosen, &UniverseRequest::Status)? {
        UniverseAnswer::Status(status) if args.json => print!("{}", pretty(&status)),
        UniverseAnswer::Status(status) => print!("{}", status_text(&status)),
        other => println!("{}", sentence(other)?),
    }
    Ok(ExitCode::SUCCESS)
}

fn texts(files: &[PathBuf]) -> Result<Vec<SourceText>, Failure> {
    let sources = read(files)?;
    let text = |file: &hemiola_world_lang::Source| SourceText {
        name: file.name.clone(),
        text: file.text.clone(),
    };
    Ok(sources.files().iter().map(text).collect())
}

fn done(chosen: &args::UniverseChosen, request: &UniverseRequest) -> Result<ExitCode, Failure> {
    println!("{}", sentence(answer(chosen, request)?)?);
    Ok(ExitCode::SUCCESS)
}

fn answer(
    chosen: &args::UniverseChosen,
    request: &UniverseRequest,
) -> Result<UniverseAnswer, Failure> {
    ask::<Universes>(chosen.run.as_deref(), request).map_err(Failure::failed)
}

fn sentence(answer: UniverseAnswer) -> Result<String, Failure> {
    match answer {
        UniverseAnswer::Done(text) => Ok(text),
        UniverseAnswer::Refused(text) => Err(Failure::failed(text)),
        UniverseAnswer::Unsound(text) => Err(Failure::bad_input(text)),
        UniverseAnswer::Status(_)
        | UniverseAnswer::Definition(_)
        | UniverseAnswer::Sample(_)
        | UniverseAnswer::Managed(_)
        | UniverseAnswer::Ended(_)
        | UniverseAnswer::Redefined => Err(Failure::failed("the answer is not a sentence")),
    }
}

fn status_text(status: &UniverseStatus) -> String {
    let mut parts = vec![format!(
        "universe {}: step {}, {} entities\n{}\n{}",
        status.universe,
        text::count(status.step),
        text::count(status.entities),
        pace_text(status.step, &status.pace),
        last_text(status.last.as_ref()),
    )];
    let elements = status.elements.iter();
    let rows = elements.map(|row| vec![row.element.clone(), text::count(row.entities)]);
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        parts.push(terminal::table(&Table::new("Entities", ["element", "entities"], rows)));
    }
    if !status.monitors.is_empty() {
        parts.push(terminal::table(&monitor_table(&status.monitors)));
    }
    if !status.modules.is_empty() {
        parts.push(terminal::table(&module_table(&status.modules)));
    }
    parts.join("\n\n") + "\n"
}

fn pace_text(steps: u64, pace: &Pace) -> String {
    let elapsed = pace.elapsed.secs_f64();
    let rate = if elapsed > 0.0 { steps as f64 / elapsed } else { 0.0 };
    match pace.period {
        None => format!("{rate:.1} steps/s so far"),
        Some(period) => format!(
            "a step every {}, {rate:.1} steps/s so far; {} late, {} left out",
            text::duration(period.nanos() as f64),
            text::count(pace.late),
            text::count(pace.skipped)
        ),
    }
}

fn last_text(last: Option<&LastRow>) -> String {
    let Some(LastRow { step, what, no_way_back }) = last else {
        return "not redefined".to_owned();
    };
    let back = no_way_back.as_ref().map_or("it can be rolled back".to_owned(), |reason| {
        format!("it cannot be rolled back: {reason}")
    });
    format!("redefined after step {}: {what}; {back}", text::count(*step))
}

/// The rows of monitors.
pub(super) fn monitor_table(monitors: &[MonitorRun]) -> Table {
    let row = |monitor: &MonitorRun| {
        let MonitorRun { monitor: name, sent, outside, unchanged, faults, held, .. } = monitor;
        let counts = [sent, outside, unchanged, faults, held].map(|rows| text::count(*rows));
        let saved = text::percent(1.0 - *sent as f64 / monitor.offered().max(1) as f64);
        [vec![name.clone()], counts.to_vec(), vec![saved, text::count(monitor.bytes_saved())]]
            .concat()
    };
    let heads =
        ["monitor", "sent", "outside", "unchanged", "faults", "held", "saved", "bytes saved"];
    Table::new("Rows of the monitors", heads, monitors.iter().map(row).collect()).with_note(
        "outside: a condition on the row alone did not hold; unchanged: one that reads last_sent; held: a manager had \
         not read enough of what it was sent before; saved: rows that were not sent.",
    )
}

/// What became of modules of users.
pub(super) fn module_table(modules: &[ModuleRun]) -> Table {
    let row = |run: &ModuleRun| {
        let ModuleRun { module, blocks, kept, restarts, strikes, evicted, last, fuel } = run;
        let counts = [*blocks, *kept, *restarts, (*strikes).into()].map(text::count);
        let per_block = text::count(fuel / blocks.max(&1));
        let evicted = evicted.map_or(text::NONE.to_owned(), text::count);
        let last = last.clone().unwrap_or_else(|| text::NONE.to_owned());
        [vec![module.clone()], counts.to_vec(), vec![per_block, evicted, last]].concat()
    };
    let heads =
        ["module", "blocks", "kept", "restarts", "strikes", "fuel", "evicted", "last failure"];
    let rows = modules.iter().map(row).collect();
    Table::new("Modules of users", heads, rows).with_prose(&[0, 7]).with_note(
        "kept: blocks that kept their rows, because the module failed; fuel: of a block; evicted: the step.",
    )
}
