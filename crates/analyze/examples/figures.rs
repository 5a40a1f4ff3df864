//! Analyses a recording of any supported format and prints the figures as JSON: `figures FILE`. It shows what the
//! analysis costs without the rest of the command.

#![expect(clippy::disallowed_types, reason = "it reads a file")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is the report")]

use std::env;
use std::fs::File;
use std::io;
use std::sync::Arc;

use hemiola_analyze::sched::{Options, analyze};
use hemiola_report::json::InPieces;
use hemiola_trace::Recording;
use hemiola_trace::source::OpenFile;

fn main() -> io::Result<()> {
    let path = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: figures FILE"))?;
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let (recording, errors) = Recording::open(Arc::new(OpenFile { file, size }));
    errors.iter().for_each(|error| eprintln!("{error}"));
    print!("{}", InPieces(&analyze(&recording, &Options::default())));
    Ok(())
}
