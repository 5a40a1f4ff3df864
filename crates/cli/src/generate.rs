//! `hemiola generate`: man pages and shell completions for packages, and the files with which programs mark or manage.

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

/// The files for programs in C, C++ and Python.
const FOR_PROGRAMS: [(&str, &str); 4] = [
    ("include/hemiola_mark.h", include_str!("../../mark/include/hemiola_mark.h")),
    ("include/hemiola_manager.h", include_str!("../../manager/include/hemiola_manager.h")),
    ("python/hemiola_mark.py", include_str!("../../mark/python/hemiola_mark.py")),
    ("python/hemiola_manager.py", include_str!("../../manager/python/hemiola_manager.py")),
];

/// Writes one man page for each subcommand, one completion script for each shell, and the files for programs.
fn write(folder: &Path) -> io::Result<()> {
    let (man, completions) = (folder.join("man"), folder.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    clap_mangen::generate_to(Args::command(), man)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Args::command(), "hemiola", &completions)?;
    }
    for (name, text) in FOR_PROGRAMS {
        let file = folder.join(name);
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(file, text)?;
    }
    Ok(())
}
