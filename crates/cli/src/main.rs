//! `hemiola`: the one command. Each subcommand has a file of its name; all options are declared in `args`.

// The standard macros panic when the reader has closed the pipe, as in `hemiola report … --csv | head` or with
// `2>&1 | head`.
macro_rules! print {
    ($($text:tt)*) => { $crate::write_stdout(format_args!($($text)*)) };
}
macro_rules! println {
    ($($text:tt)*) => { $crate::write_stdout(format_args!("{}\n", format_args!($($text)*))) };
}
macro_rules! eprint {
    ($($text:tt)*) => { $crate::write_stderr(format_args!($($text)*)) };
}
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::write_stderr(format_args!("{}\n", format_args!($($text)*))) };
}

#[cfg(feature = "jemalloc")]
mod allocator;
mod analyze;
mod args;
mod compare;
mod diagnostics;
mod features;
mod fom;
mod generate;
mod measure;
mod model;
mod progress;
mod recording;
mod report;
mod rti;
mod run;
mod schema;
mod spill;
mod trace;
mod unit;
mod universe;
mod view;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use hemiola_report::text::printable_lines;

use args::{Args, Command, Hidden};
use diagnostics::Failure;

/// Writes to standard output. If the reader has closed the pipe, exits quietly as SIGPIPE would.
fn write_stdout(text: std::fmt::Arguments<'_>) {
    /// The exit code that a shell reports for SIGPIPE.
    const BROKEN_PIPE: i32 = 128 + 13;
    let mut stdout = std::io::stdout();
    if let Err(error) = stdout.write_fmt(text).and_then(|()| stdout.flush()) {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            std::process::exit(BROKEN_PIPE);
        }
        eprintln!("error: cannot write to standard output: {error}");
        std::process::exit(1);
    }
}

/// Writes to standard error. What could control a terminal, such as the name of a file, is escaped. If the reader has
/// closed the pipe, the command goes on, and its exit status says how it ended.
fn write_stderr(text: std::fmt::Arguments<'_>) {
    let _ = std::io::stderr().write_all(printable_lines(&text.to_string()).as_bytes());
}

/// Prints what clap says: help, or what is wrong with the command line. Its messages repeat arguments as they are, so
/// those with characters that could control a terminal are printed without colours, escaped.
fn refused(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    if !error.use_stderr() || printable_lines(&text) == text {
        error.exit();
    }
    eprint!("{text}");
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn main() -> ExitCode {
    if let Some(code) = trace::held(std::env::args_os()) {
        return code;
    }
    // The processes of a run are this binary too; the first argument selects the role before clap sees the rest.
    let words: Vec<String> = args::words().skip(1).collect();
    match Hidden::of(&words) {
        Some(Hidden::Node) => return hemiola_runner::node_main(),
        Some(Hidden::Guardian(run)) => {
            hemiola_runner::guardian_main(&run);
            return ExitCode::SUCCESS;
        }
        Some(Hidden::ProbePeer(orders)) => {
            return match hemiola_probe::peer_main(&orders) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => Failure::failed(error).report(),
            };
        }
        None => {}
    }
    let args = match Args::try_parse_from(args::with_help(std::env::args_os())) {
        Ok(args) => args,
        Err(error) => return refused(&error),
    };
    let done = match args.command {
        Command::Run(run) => run::run(&run),
        Command::Report(report) => report::report(&report),
        Command::Analyze(analyze) => {
            analyze::analyze(&analyze).map_err(Failure::apart_from_verdicts)
        }
        Command::Compare(compare) => {
            compare::compare(&compare).map_err(Failure::apart_from_verdicts)
        }
        Command::Measure(measure) => measure::measure(measure),
        Command::Model(model) => model::model(&model).map_err(Failure::apart_from_verdicts),
        Command::Trace(trace) => trace::trace(&trace),
        Command::Unit(unit) => unit::unit(unit),
        Command::Fom(args::Fom::Check(check)) => fom::check(&check),
        Command::Universe(universe) => universe::universe(&universe),
        Command::Rti(rti) => rti::rti(&rti),
        Command::View(view) => view::view(&view),
        Command::Generate(generate) => generate::generate(&generate),
        Command::Schema(schema) => {
            print!("{}", schema::text(&schema));
            Ok(ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|failure| failure.report())
}
