//! `hemiola`: the one command. Each subcommand lives in a file of its name; options are declared once,
//! in `args`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a command is for")]

mod args;
mod compare;
mod diagnostics;
mod features;
mod fom;
mod measure;
mod model;
mod progress;
mod report;
mod run;
mod unit;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command, Hidden};
use diagnostics::Failure;

fn main() -> ExitCode {
    // The processes of a run are this same program: they are told apart by their first word, before the
    // command line proper is looked at.
    let words: Vec<String> = std::env::args().skip(1).collect();
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
    let args = Args::parse();
    let done = match args.command {
        Command::Run(run) => run::run(&run),
        Command::Report(report) => report::report(&report),
        Command::Compare(compare) => compare::compare(&compare),
        Command::Measure(measure) => measure::measure(measure),
        Command::Model(model) => model::model(&model),
        Command::Unit(unit) => unit::unit(unit),
        Command::Fom(args::Fom::Check(check)) => fom::check(&check),
        Command::Schema => {
            print!("{}", hemiola_scenario::schema());
            Ok(ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|failure| failure.report())
}
