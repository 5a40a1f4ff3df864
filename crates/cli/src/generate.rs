//! `hemiola generate`: man pages and shell completions for packages, and the files with which programs mark or manage.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_complete::{Generator, Shell};
use clap_mangen::Man;
use hemiola_rt::file::replace;

use crate::args::{Args, Generate};
use crate::diagnostics::{Failure, shown};

pub(crate) fn generate(args: &Generate) -> Result<ExitCode, Failure> {
    write(&args.folder).map_err(|(path, error)| {
        let hint = "give a folder that this user may write, on a disk with 1 MiB of room";
        Failure::failed(format!("{} cannot be written: {error}\nhint: {hint}", shown(path)))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The files for programs in C, C++ and Python.
const FOR_PROGRAMS: [(&str, &str); 4] = [
    ("include/hemiola_mark.h", include_str!("../../mark/include/hemiola_mark.h")),
    ("include/hemiola_manager.h", include_str!("../../manager/include/hemiola_manager.h")),
    ("python/hemiola_mark.py", include_str!("../../mark/python/hemiola_mark.py")),
    ("python/hemiola_manager.py", include_str!("../../manager/python/hemiola_manager.py")),
];

/// Writes one man page for each subcommand, one completion script for each shell, and the files for programs. Each file
/// is whole or not there. Returns the path that could not be written.
fn write(folder: &Path) -> Result<(), (PathBuf, io::Error)> {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let mut files = Vec::new();
    man_pages(command, &mut files);
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Args::command(), "hemiola", &mut script);
        files.push((format!("completions/{}", shell.file_name("hemiola")), script));
    }
    let for_programs = FOR_PROGRAMS.into_iter();
    files.extend(for_programs.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())));
    for (name, bytes) in files {
        let file = folder.join(name);
        let parent = file.parent().map_or(Ok(()), fs::create_dir_all);
        let written = parent.and_then(|()| replace(&file, [&*bytes]));
        written.map_err(|error| (file, error))?;
    }
    Ok(())
}

/// Adds the man pages of a command and its subcommands.
fn man_pages(command: Command, files: &mut Vec<(String, Vec<u8>)>) {
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        man_pages(subcommand.clone(), files);
    }
    let (page, mut text) = (Man::new(command), Vec::new());
    page.render(&mut text).expect("memory takes every byte");
    files.push((format!("man/{}", page.get_filename()), text));
}
