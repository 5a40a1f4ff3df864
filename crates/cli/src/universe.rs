//! `hemiola universe`: checks, formats, shows and runs definitions of simulated worlds, and views and redefines those
//! that run.

mod ask;
mod checkpoint;
mod interface;
mod plan;
mod redefine;
mod run;
mod view;
mod watch;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hemiola_report::text::counted;
use hemiola_rt::file;
use hemiola_world_lang::wire::{self, Lengths};
use hemiola_world_lang::{Definition, Problem, Sources, check, format, render, show};

use crate::args::{Universe, UniverseFiles, UniverseFormat, UniverseTokens};
use crate::diagnostics::{Failure, shown};

pub(crate) fn universe(action: &Universe) -> Result<ExitCode, Failure> {
    match action {
        Universe::Check(files) => {
            for universe in checked(files)?.universes {
                let (elements, entities) = (universe.elements.len(), universe.entities.len());
                println!(
                    "universe {} is sound: {}, {}",
                    universe.name,
                    counted(elements as u64, "element"),
                    counted(entities as u64, "entity")
                );
            }
        }
        Universe::Show(files) => print!("{}", show(&checked(files)?)),
        Universe::Format(files) => return formatted(files),
        Universe::Tokens(files) => tokens(files)?,
        Universe::Plan(args) if args.after.is_empty() => return ask::plan(args),
        Universe::Plan(args) => return plan::plan(args),
        Universe::Interface(args) => print!("{}", interface::interface(args)?),
        Universe::Status(args) => return ask::status(args),
        Universe::View(args) => return view::view(args),
        Universe::Watch(args) => return watch::watch(args),
        Universe::Apply(args) => return ask::apply(args),
        Universe::RollBack(chosen) => return ask::roll_back(chosen),
        Universe::Run(args) => return run::run(args),
    }
    Ok(ExitCode::SUCCESS)
}

fn checked(files: &UniverseFiles) -> Result<Definition, Failure> {
    let before = match &files.after[..] {
        [] => None,
        after => Some(definition(after, None)?),
    };
    definition(&files.files, before.as_ref())
}

fn definition(files: &[PathBuf], before: Option<&Definition>) -> Result<Definition, Failure> {
    let sources = read(files)?;
    let definition = check(&sources, before).map_err(|problems| refused(&problems, &sources))?;
    if definition.universes.is_empty() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let names = names.join(", ");
        return Err(Failure::bad_input(format!(
            "error: {names}: no universe is defined\nhint: begin with `universe NAME {{`"
        )));
    }
    Ok(definition)
}

fn read(files: &[PathBuf]) -> Result<Sources, Failure> {
    let mut sources = Sources::default();
    let mut unread = Vec::new();
    for file in files {
        match fs::read_to_string(file) {
            Ok(text) => {
                let added = sources.add(file.display().to_string(), text);
                unread.extend(added.err().map(|error| format!("error: {error}")));
            }
            Err(error) => unread.push(format!("error: {} cannot be read: {error}", shown(file))),
        }
    }
    if unread.is_empty() { Ok(sources) } else { Err(Failure::bad_input(unread.join("\n\n"))) }
}

fn refused(problems: &[Problem], sources: &Sources) -> Failure {
    let count = match problems.len() {
        1 => "1 error".to_owned(),
        many => format!("{many} errors"),
    };
    Failure::bad_input(format!("{}\n{count}", render(problems, sources)))
}

fn formatted(files: &UniverseFormat) -> Result<ExitCode, Failure> {
    let mut other = 0;
    for file in &files.files {
        let sources = read(std::slice::from_ref(file))?;
        let canonical = format(&sources).map_err(|problems| refused(&problems, &sources))?;
        if canonical == sources.files()[0].text {
            continue;
        }
        other += 1;
        if files.check {
            println!("{} is not in canonical form", shown(file));
        } else {
            rewrite(file, &canonical)?;
        }
    }
    Ok(if files.check && other > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Writes a text in place of the one that the file has.
fn rewrite(file: &Path, text: &str) -> Result<(), Failure> {
    file::replace(file, [text.as_bytes()])
        .map_err(|error| Failure::failed(format!("{} cannot be written: {error}", shown(file))))
}

/// Table 6.3 of the thesis for each text.
fn tokens(files: &UniverseTokens) -> Result<(), Failure> {
    let sources = read(&files.files)?;
    let names = sources.files().iter().map(|source| source.name.chars().count());
    let width = names.max().unwrap_or(0).max(24);
    println!(
        "{:<width$} {:>8} {:>17} {:>17} {:>17} {:>17}",
        "bytes of", "text", "compressed", "tokens", "tokens compr.", "sent"
    );
    for source in sources.files() {
        let Lengths { text, packed, tokens, packed_tokens, sent } = wire::lengths(source);
        let share =
            |bytes: usize| format!("{bytes} ({:.1} %)", 100.0 * bytes as f64 / text.max(1) as f64);
        let cells = [packed, tokens, packed_tokens, sent].map(share);
        let [packed, tokens, packed_tokens, sent] = cells;
        println!(
            "{:<width$} {text:>8} {packed:>17} {tokens:>17} {packed_tokens:>17} {sent:>17}",
            source.name
        );
    }
    println!("");
    println!(
        "{:<width$} {:>26} {:>26} {:>26}",
        "µs, best of 20, for", "compress with dictionary", "expand", "tokens"
    );
    for source in sources.files() {
        let packed = wire::compress(&source.text);
        let times = [
            best(|| drop(wire::compress(&source.text))),
            best(|| drop(wire::expand(&packed))),
            best(|| drop(wire::tokens(source))),
        ];
        let [compress, expand, tokens] =
            times.map(|time| format!("{:.1}", time.as_secs_f64() * 1e6));
        println!("{:<width$} {compress:>26} {expand:>26} {tokens:>26}", source.name);
    }
    Ok(())
}

/// The shortest of twenty runs: what the work itself takes.
fn best(work: impl Fn()) -> Duration {
    let times = (0..20).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    times.min().unwrap_or_default()
}
