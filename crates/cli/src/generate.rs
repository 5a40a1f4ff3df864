//! `hemiola generate`: man pages and shell completions, for packages.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Args, Generate};
use crate::diagnostics::Failure;

pub(crate) fn generate(args: &Generate) -> Result<ExitCode, Failure> {
    match write(&args.folder) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failure::failed(format!("{}: {error}", args.folder.display()))),
    }
}

/// Writes one man page for each subcommand that help lists, and one completion script for each shell.
fn write(folder: &Path) -> io::Result<()> {
    let (man, completions) = (folder.join("man"), folder.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(Args::command(), man)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Args::command(), "hemiola", &completions)?;
    }
    Ok(())
}
