//! `hemiola compare`: compares two results or two recordings.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use hemiola_analyze::cycles::compare::compare as compare_summaries;
use hemiola_analyze::cycles::report::json::{self, ReadError};
use hemiola_analyze::cycles::summary::Summary;
use hemiola_analyze::sched::compare::compare as compare_reports;
use hemiola_analyze::sched::{Options, Report, analyze};
use hemiola_report::json::pretty;
use hemiola_report::table::Table;
use hemiola_report::terminal;

use crate::args::Compare;
use crate::diagnostics::{Failure, shown};
use crate::recording::{self, Problems};
use crate::report::SUMMARY;

pub(crate) fn compare(args: &Compare) -> Result<ExitCode, Failure> {
    let (a, b) = (args.a.as_path(), args.b.as_path());
    let names = [a, b].map(|path| path.display().to_string());
    let names = names.each_ref().map(String::as_str);
    match [a.is_dir(), b.is_dir()] {
        [true, true] => {
            let [of_a, of_b] = [summary(a)?, summary(b)?];
            let comparison = compare_summaries(names, &of_a, &of_b);
            let problems = |path: &Path, of: &Summary| Problems::print(path, of.lacks());
            let problems = problems(a, &of_a).and(problems(b, &of_b));
            let whole = Whole { comparison: &comparison, problems: &problems };
            show(args.json, &whole, || vec![comparison.table()]);
            Ok(problems.exit_code(args.strict))
        }
        [false, false] => {
            let [(a, of_a), (b, of_b)] = [report(a)?, report(b)?];
            let comparison = compare_reports(names, &a, &b);
            let problems = of_a.and(of_b);
            let whole = Whole { comparison: &comparison, problems: &problems };
            show(args.json, &whole, || comparison.tables());
            Ok(problems.exit_code(args.strict))
        }
        [of_a, _] => {
            let (folder, file) = if of_a { (a, b) } else { (b, a) };
            Err(Failure::bad_input(format!(
                "error: {} is a folder and {} is not\nhint: compare two result folders or two recordings; a result folder \
                 has its recordings in traces/",
                shown(folder),
                shown(file)
            )))
        }
    }
}

/// The output of `--json`: the comparison and the problems of the recordings or folders.
#[derive(serde::Serialize)]
struct Whole<'a, C: serde::Serialize> {
    #[serde(flatten)]
    comparison: &'a C,
    problems: &'a Problems,
}

fn show(json: bool, comparison: &impl serde::Serialize, tables: impl FnOnce() -> Vec<Table>) {
    if json {
        print!("{}", pretty(comparison));
    } else {
        println!("{}", tables().iter().map(terminal::table).collect::<Vec<_>>().join("\n"));
    }
}

fn summary(folder: &Path) -> Result<Summary, Failure> {
    let path = folder.join(SUMMARY);
    let text = fs::read_to_string(&path).map_err(|error| {
        let hint = format!("create it with `hemiola report {}`", shown(folder));
        Failure::unreadable(&path, error, &hint)
    })?;
    json::read(&text).map_err(|error| {
        let hint = match error {
            ReadError::Newer { .. } => String::new(),
            _ => format!("\nhint: `hemiola report {}` makes it again", shown(folder)),
        };
        Failure::bad_input(format!("error: {}: {error}{hint}", shown(path)))
    })
}

fn report(file: &Path) -> Result<(Report, Problems), Failure> {
    let opened = recording::open(file)?;
    let report = analyze(&opened.recording, &Options::default());
    let problems = opened.problems(&report);
    Ok((report, problems))
}
