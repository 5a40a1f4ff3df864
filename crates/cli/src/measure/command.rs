//! `hemiola measure command`: commands measured in turns and compared.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::ExitCode;

use hemiola_diagnostic::nearest;
use hemiola_measure::Alone;
use hemiola_measure::command::{
    self, BadCommand, CommandError, Measured, Parameter, Processes, Repetition, Results, Subject,
    Template, Written,
};
use hemiola_report::json::pretty;
use hemiola_report::terminal;
use hemiola_report::text::counted;
use hemiola_rt::sys::usage::memory_max;

use crate::args::Commands;
use crate::diagnostics::{Failure, shown};
use crate::progress::Progress;
use crate::run::interruption_unless_ignored;

const FAILURE_HINT: &str = "`--ignore-failure` measures commands that fail";

pub(super) fn command(args: &Commands) -> Result<ExitCode, Failure> {
    let bad_input = |error: String| Failure::bad_input(format!("error: {error}"));
    let subjects = command::subjects(
        &templates(args).map_err(bad_input)?,
        &parameters(args)?,
        args.shell.as_deref(),
    )
    .map_err(|error| bad_input(error.to_string() + hint(&error)))?;
    let imported = args.import_json.iter().map(|path| import(path));
    let imported = imported.collect::<Result<Vec<_>, _>>()?;
    let mut read = args.import_json.iter().zip(&imported);
    if let Some((path, _)) = read.find(|(_, read)| read.results.is_empty()) {
        return Err(bad_input(format!("{} has no results to compare", shown(path))));
    }
    if subjects.is_empty() && imported.is_empty() {
        return Err(bad_input(
            "there is nothing to measure\nhint: hemiola measure command -- gzip --keep --force FILE".into(),
        ));
    }
    // Names and files are checked first: a mistake in them would make the measurement worthless.
    let others = imported.iter().flat_map(|read| &read.results).map(|result| &result.command);
    let names: Vec<&String> = subjects.iter().map(|subject| &subject.name).chain(others).collect();
    let baseline = baseline(args.baseline.as_deref(), &names)?;
    let exports = exports(args).map_err(bad_input)?;
    for path in exports.iter().filter(|export| !export.is_output()).map(|export| export.path) {
        writable(path).map_err(|error| bad_input(unwritable(path, &error)))?;
    }

    let (mut results, cleaned_up) = measured(args, &subjects)?;
    let in_turns = results.results.len();
    results.results.extend(imported.into_iter().flat_map(|read| read.results));
    // Files come first: a terminal that is gone, or a full disk behind the standard output, must not cost the
    // measurement.
    let mut written = Ok(());
    for export in exports.iter().filter(|export| !export.is_output()) {
        let done = fs::write(export.path, (export.text)(&results));
        written = written.and(done.map_err(|error| unwritable(export.path, &error)));
    }
    match exports.iter().find(|export| export.is_output()) {
        Some(export) => print!("{}", (export.text)(&results)),
        None => {
            let tables = command::tables(&results, in_turns, args.warmup, baseline);
            let texts: Vec<String> = tables.iter().map(terminal::table).collect();
            println!("{}", texts.join("\n\n"));
        }
    }
    match (cleaned_up, written) {
        (Err(failure), Err(error)) => Err(failure.and(error)),
        (Ok(()), Err(error)) => Err(Failure::failed(error)),
        (cleaned_up, Ok(())) => cleaned_up.map(|()| ExitCode::SUCCESS),
    }
}

/// The results in another format, and the file for them.
struct Export<'a> {
    path: &'a Path,
    text: fn(&Results) -> String,
}

impl Export<'_> {
    /// Whether it takes the place of the tables on the standard output.
    fn is_output(&self) -> bool {
        self.path == Path::new("-")
    }
}

/// What `args` wants written, each into a place of its own.
fn exports(args: &Commands) -> Result<Vec<Export<'_>>, String> {
    let json = args.export_json.as_deref();
    let json = json.map(|path| Export { path, text: |results| pretty(results) });
    let markdown =
        args.export_markdown.as_deref().map(|path| Export { path, text: command::markdown });
    if let (Some(json), Some(markdown)) = (&json, &markdown)
        && json.path == markdown.path
    {
        let place = if json.is_output() { "the standard output".into() } else { shown(json.path) };
        return Err(format!(
            "error: {place} cannot take both JSON and Markdown\nhint: give each a place of its own"
        ));
    }
    Ok(json.into_iter().chain(markdown).collect())
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be written: {error}", shown(path))
}

/// Checks that a file can be written, and leaves it as it is. A pipe or a device is not opened: that has effects.
fn writable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => Ok(()),
        Ok(_) => OpenOptions::new().append(true).open(path).map(drop),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match OpenOptions::new().write(true).create_new(true).open(path) {
                Ok(_) => fs::remove_file(path),
                // A link to a file that is not there yet.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

fn hint(error: &BadCommand) -> &'static str {
    match error {
        BadCommand::NeedsShell { .. } => {
            "\nhint: add `--shell sh`, or quote it if the program itself shall receive it"
        }
        BadCommand::SetsVariable { .. } => "\nhint: add `--shell sh`, or put `env` before it",
        _ => "",
    }
}

/// The commands as written: the texts, then the program behind `--`.
fn templates(args: &Commands) -> Result<Vec<Template>, String> {
    let texts = args.texts.iter().cloned().map(Written::Text);
    let program = (!args.program.is_empty()).then(|| Written::Words(args.program.clone()));
    let commands: Vec<Written> = texts.chain(program).collect();
    let (count, names) = (commands.len(), &args.command_name);
    if names.len() > count {
        return Err(format!(
            "{} for {}: give at most one for each",
            counted(names.len() as u64, "name"),
            counted(count as u64, "command")
        ));
    }
    let beside =
        [("preparation", &args.prepare), ("setup", &args.setup), ("cleanup", &args.cleanup)];
    if let Some((noun, texts)) = beside.iter().find(|(_, of)| of.len() > 1 && of.len() != count) {
        return Err(format!(
            "{} for {}: give one for all, or one for each",
            counted(texts.len() as u64, noun),
            counted(count as u64, "command")
        ));
    }
    let one = |texts: &[String], index: usize| texts.get(index).or(texts.first()).cloned();
    let template = |(index, command): (usize, Written)| Template {
        name: names.get(index).cloned(),
        command,
        prepare: one(&args.prepare, index),
        setup: one(&args.setup, index),
        cleanup: one(&args.cleanup, index),
    };
    Ok(commands.into_iter().enumerate().map(template).collect())
}

fn parameters(args: &Commands) -> Result<Vec<Parameter>, Failure> {
    let parameter = |pair: &[String]| {
        let values: Vec<String> = pair[1].split(',').map(Into::into).collect();
        Parameter { name: pair[0].clone(), values }
    };
    let all: Vec<Parameter> = args.parameter_list.chunks(2).map(parameter).collect();
    for (index, parameter) in all.iter().enumerate() {
        if all[..index].iter().any(|other| other.name == parameter.name) {
            let name = &parameter.name;
            let text = format!(
                "error: the parameter `{name}` is given twice\nhint: list all its values once"
            );
            return Err(Failure::bad_input(text));
        }
    }
    Ok(all)
}

fn import(path: &Path) -> Result<Results, Failure> {
    let file = shown(path);
    let hint = "`hemiola measure command --export-json FILE` and `hyperfine --export-json FILE` write such files";
    let text = fs::read_to_string(path).map_err(|error| Failure::unreadable(path, error, hint))?;
    let (results, contradictions) = Results::read(&text)
        .map_err(|error| Failure::bad_input(format!("error: {file}: {error}\nhint: {hint}")))?;
    for contradiction in contradictions {
        eprintln!("note: {file}: {contradiction}");
    }
    Ok(results)
}

/// Measures the commands, if there are any. With the results is the failure of their cleanups, which loses no reading.
fn measured(
    args: &Commands,
    subjects: &[Subject],
) -> Result<(Results, Result<(), Failure>), Failure> {
    if subjects.is_empty() {
        return Ok((Results::default(), Ok(())));
    }
    let interrupted = interruption_unless_ignored()?;
    let _alone = Alone::on_this_machine().map_err(Failure::failed)?;
    let mut processes = Processes::new(FAILURE_HINT, &interrupted);
    processes.input.clone_from(&args.input);
    processes.shows_output = args.show_output;
    processes.ignores_failure = args.ignore_failure;
    if let Some(shell) = &args.shell {
        processes.shell.clone_from(shell);
    }
    let repetition = Repetition { warm_up: args.warmup, runs: args.runs };
    let mut progress = Progress::new();
    let measured =
        command::measure(subjects, repetition, &mut processes, &mut progress, &interrupted);
    progress.end();
    let Measured { runs, not_cleaned_up } = measured;
    let mut not_cleaned_up = not_cleaned_up.into_iter();
    let runs = match runs {
        Ok(runs) => runs,
        Err(error) => return Err(not_cleaned_up.fold(failure(error), Failure::and)),
    };
    let results = Results::of(subjects, &runs, &processes.meanwhile(), memory_max());
    let cleaned_up = match not_cleaned_up.next() {
        None => Ok(()),
        Some(first) => Err(not_cleaned_up.fold(Failure::failed(first), Failure::and)),
    };
    Ok((results, cleaned_up))
}

fn failure(error: CommandError) -> Failure {
    match error {
        CommandError::Interrupted => Failure::interrupted(error),
        CommandError::Start { ref source, .. } if source.kind() == ErrorKind::NotFound => {
            Failure::bad_input(format!("error: {error}"))
        }
        error => Failure::failed(error),
    }
}

/// The number of the result that the others are compared with: the first unless another is named.
fn baseline(name: Option<&str>, all: &[&String]) -> Result<usize, Failure> {
    let Some(name) = name else { return Ok(0) };
    let names = || all.iter().map(|name| name.as_str());
    if names().filter(|other| *other == name).count() > 1 {
        return Err(Failure::bad_input(format!(
            "error: several commands are called `{name}`\nhint: `-n NAME` gives each command to measure its own name"
        )));
    }
    names().position(|other| other == name).ok_or_else(|| {
        let near = nearest(name, names());
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Failure::bad_input(format!("error: no command is called `{name}`{near}"))
    })
}
