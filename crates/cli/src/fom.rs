//! `hemiola fom check`: reads, merges and shows object model modules.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hemiola_fom::tree::{Contents, tree};
use hemiola_fom::{Base, Modules, Problem, ProblemKind, merge_with_problems, read, render};

use crate::args::FomCheck;
use crate::diagnostics::{Failure, shown};

pub(crate) fn check(args: &FomCheck) -> Result<ExitCode, Failure> {
    let (mut modules, mut problems, mut unread) = (Modules::new(), Vec::new(), Vec::new());
    for file in files(&args.files, &mut unread) {
        let name = file.display().to_string();
        match fs::read(&file) {
            Ok(bytes) => match read(&name, &bytes) {
                Ok((found, doubts)) => {
                    modules.extend(found);
                    problems.extend(doubts);
                }
                Err(found) => problems.extend(found),
            },
            Err(error) => unread.push(cannot_be_read(&file, &error)),
        }
    }
    // If a module could not be read, every reference to its definitions would be reported as well.
    let whole = unread.is_empty() && !problems.iter().any(Problem::is_fatal);
    let base = if args.no_mim { Base::Nothing } else { Base::Standard };
    let (model, found) = merge_with_problems(&modules, base, None);
    let wanted =
        |problem: &Problem| problem.kind == ProblemKind::Incomplete && (args.partial || !whole);
    let (lacking, found): (Vec<Problem>, Vec<Problem>) = found.into_iter().partition(wanted);
    problems.extend(found);

    let errors = unread.len() + problems.iter().filter(|problem| problem.is_error()).count();
    if errors == 0 || args.tree {
        let contents = if args.all { Contents::All } else { Contents::Modules };
        print!("{}", tree(&model, contents));
        if args.partial {
            needs(&lacking);
        }
    }
    let mut text = unread.join("\n\n");
    if !text.is_empty() && !problems.is_empty() {
        text.push_str("\n\n");
    }
    text += &render(&problems);
    if errors == 0 {
        eprint!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let harmless = unread.is_empty() && !problems.iter().any(Problem::is_fatal);
    let count = match (errors, harmless) {
        (1, false) => "1 error".to_owned(),
        (1, true) => "1 error, which a federation ignores with a warning".to_owned(),
        (_, false) => format!("{errors} errors"),
        (_, true) => format!("{errors} errors, which a federation ignores with warnings"),
    };
    Err(Failure::bad_input(format!("{}\n\n{count}", text.trim_end())))
}

/// Prints what the modules need from others.
fn needs(lacking: &[Problem]) {
    if !lacking.is_empty() {
        println!("\nneeded from other modules");
    }
    for problem in lacking {
        let place = problem.places.first().map(|(place, _)| place.name()).unwrap_or_default();
        println!("  {}  {place}", problem.message);
    }
}

/// The named files; a folder stands for the modules in it, sorted by name.
fn files(named: &[PathBuf], unread: &mut Vec<String>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        match inside(path) {
            Ok(found) if found.is_empty() => {
                unread.push(format!("error: {} contains no .xml or .zip file", shown(path)));
            }
            Ok(found) => files.extend(found),
            Err(error) => unread.push(cannot_be_read(path, &error)),
        }
    }
    files
}

fn inside(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "xml" || extension == "zip") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn cannot_be_read(path: &Path, error: &io::Error) -> String {
    format!("error: {} cannot be read: {error}", shown(path))
}
