//! The result folder: made before anything runs, so that a full or forbidden disk is found first.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::RunError;

/// A result folder that is being filled. Dropped without [`keep`](Self::keep) it is removed again, if
/// this run made it: nothing half-done stays behind.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    made: bool,
    kept: bool,
}

impl Folder {
    /// Makes the folder, or takes over an empty one, and proves that it can be written. Of two runs that
    /// try this at once, the one that makes `traces` has it.
    pub(crate) fn create(path: &Path) -> Result<Self, RunError> {
        let refused = |source| RunError::Folder { path: path.into(), source };
        let made = !path.exists();
        if !made && fs::read_dir(path).map_err(refused)?.next().is_some() {
            return Err(RunError::FolderInUse(path.into()));
        }
        fs::create_dir_all(path).map_err(refused)?;
        if let Err(source) = fs::create_dir(path.join("traces")) {
            if source.kind() == io::ErrorKind::AlreadyExists {
                return Err(RunError::FolderInUse(path.into()));
            }
            if made {
                let _ = fs::remove_dir(path);
            }
            return Err(refused(source));
        }
        let folder = Self { path: path.into(), made, kept: false };
        fs::create_dir(path.join("logs")).map_err(refused)?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file whole: to a neighbour first, so that a crash leaves the old or the new one.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), RunError> {
        write_whole(&self.path.join(name), bytes)
            .map_err(|source| RunError::Write { path: self.path.join(name), source })
    }

    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), RunError> {
        let mut text = serde_json::to_string_pretty(value).expect("plain data has a JSON form");
        text.push('\n');
        self.write(name, text.as_bytes())
    }

    /// Leaves the folder in place.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.kept = true;
        std::mem::take(&mut self.path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        if self.made {
            let _ = fs::remove_dir_all(&self.path);
        } else if let Ok(entries) = fs::read_dir(&self.path) {
            // The folder was the user's and empty: it is left as it was found.
            for entry in entries.flatten() {
                let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
            }
        }
    }
}

/// Replaces a file in one step.
///
/// # Errors
/// When the folder cannot be written; a full disk shows here and leaves no fragment.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = File::create(&part)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_who_want_a_folder_at_once_one_gets_it() {
        let path = scratch("race");
        let start = std::sync::Barrier::new(8);
        let won = std::thread::scope(|scope| {
            let one = || {
                start.wait();
                Folder::create(&path).map(Folder::keep)
            };
            let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
            all.into_iter().map(|one| one.join().unwrap()).filter(Result::is_ok).count()
        });
        assert_eq!(won, 1);
        assert!(path.join("traces").exists() && path.join("logs").exists());
        fs::remove_dir_all(&path).unwrap();
    }

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("hemiola-folder-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_folder_that_is_not_kept_is_gone() {
        let path = scratch("gone");
        let folder = Folder::create(&path).unwrap();
        folder.write("a.json", b"{}").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn an_empty_folder_of_the_users_is_left_empty() {
        let path = scratch("empty");
        fs::create_dir(&path).unwrap();
        drop(Folder::create(&path).unwrap());
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        fs::remove_dir(&path).unwrap();
    }

    #[test]
    fn a_folder_with_something_in_it_is_refused() {
        let path = scratch("full");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("x"), "x").unwrap();
        assert!(matches!(Folder::create(&path), Err(RunError::FolderInUse(_))));
        fs::remove_dir_all(&path).unwrap();
    }
}
