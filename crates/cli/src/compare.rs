//! `hemiola compare`: two results side by side.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use hemiola_analyze::compare::compare as compare_summaries;
use hemiola_analyze::export::{json, terminal};
use hemiola_analyze::summary::Summary;

use crate::args::Compare;
use crate::diagnostics::Failure;
use crate::report::SUMMARY;

pub(crate) fn compare(args: &Compare) -> Result<ExitCode, Failure> {
    let (a, b) = (summary(&args.a)?, summary(&args.b)?);
    let names = [args.a.display().to_string(), args.b.display().to_string()];
    let comparison = compare_summaries([&names[0], &names[1]], &a, &b);
    if args.json {
        let text = serde_json::to_string_pretty(&comparison).expect("plain data has a JSON form");
        println!("{text}");
    } else {
        println!("{}", terminal::table(&comparison.table()));
    }
    Ok(ExitCode::SUCCESS)
}

fn summary(folder: &Path) -> Result<Summary, Failure> {
    let path = folder.join(SUMMARY);
    let text = fs::read_to_string(&path).map_err(|error| {
        Failure::failed(format!(
            "{} cannot be read: {error}\nhint: make it with: hemiola report {}",
            path.display(),
            folder.display()
        ))
    })?;
    json::read(&text).map_err(|error| Failure::failed(format!("{}: {error}", path.display())))
}
