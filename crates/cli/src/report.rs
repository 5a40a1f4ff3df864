//! `hemiola report`: rebuilds figures, tables and the page of a result folder from the folder alone.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use hemiola_analyze::cycles::analysis::{Analysis, analyze};
use hemiola_analyze::cycles::report::{csv, json, page, terminal};
use hemiola_report::table::Detail;
use hemiola_trace::result::{FILE_NAME, FORMAT, RunFolder};

use crate::args::Report;
use crate::diagnostics::{Failure, shown};
use crate::features;

/// File of the figures, for other programs.
pub(crate) const SUMMARY: &str = "summary.json";
/// File of the page, for people.
pub(crate) const PAGE: &str = "report.html";

pub(crate) fn report(args: &Report) -> Result<ExitCode, Failure> {
    let analysis = analyzed(&args.folder)?;
    if args.json {
        print!("{}", json::write(&analysis.summary));
    } else if args.csv {
        print!("{}", csv::write(&analysis));
    } else {
        print!("{}", terminal::render(&analysis.summary, Detail::Full));
        println!("{}", args.folder.display());
    }
    // The figures are printed wherever the folder is, also on a disk that is full or that others may write only.
    if let Err(unwritten) = write(&args.folder, &analysis) {
        eprintln!("warning: {SUMMARY} and {PAGE} are not renewed: {unwritten}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Analyses the folder and writes `summary.json` and `report.html` into it.
pub(crate) fn make(folder: &Path) -> Result<Analysis, Failure> {
    let analysis = analyzed(folder)?;
    write(folder, &analysis).map_err(Failure::failed)?;
    Ok(analysis)
}

fn analyzed(folder: &Path) -> Result<Analysis, Failure> {
    let path = folder.join(FILE_NAME);
    let text = fs::read_to_string(&path).map_err(|error| {
        let hint = "`hemiola run` prints the result folder on its last line";
        Failure::unreadable(&path, error, hint)
    })?;
    let result: RunFolder = serde_json::from_str(&text).map_err(|error| {
        Failure::bad_input(format!("error: {} is not a result: {error}", shown(&path)))
    })?;
    if result.format > FORMAT {
        return Err(Failure::bad_input(format!(
            "error: {} has format {}, but this version reads formats up to {FORMAT}\nhint: use a newer hemiola",
            shown(&path),
            result.format
        )));
    }
    Ok(analyze(&result, |trace| fs::read(folder.join(trace))))
}

/// Writes `summary.json` and `report.html`, or returns what cannot be written and what to do.
fn write(folder: &Path, analysis: &Analysis) -> Result<(), String> {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        hemiola_rt::file::replace(&path, [text.as_bytes()]).map_err(|error| {
            let hint = hint(error.kind(), folder);
            format!("{} cannot be written: {error}{hint}", shown(&path))
        })
    };
    write(SUMMARY, json::write(&analysis.summary))?;
    write(PAGE, page::render(analysis, &features::tests()))
}

/// What to do about a folder that cannot be written.
fn hint(error: ErrorKind, folder: &Path) -> String {
    let folder = shown(folder);
    match error {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("\nhint: free some space, then run `hemiola report {folder}`")
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            format!(
                "\nhint: copy {folder} to a place where you may write, and run `hemiola report` there"
            )
        }
        _ => String::new(),
    }
}
