//! The result folder: made before anything is measured, so that a full or forbidden disk is found first.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

/// What the folder holds while it is being filled, so that nobody else fills it too.
const CLAIM: &str = ".being-filled";

/// A result folder that is being filled. Dropped without [`keep`](Self::keep) it is removed again, if
/// it was made here: nothing half-done stays behind.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    made: bool,
    kept: bool,
}

/// A result folder that cannot be filled.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FolderError {
    /// It cannot be made or written: choose another.
    #[error("the result folder {} cannot be written: {source}; choose another with --output", path.display())]
    Refused {
        /// The folder.
        path: PathBuf,
        /// The refusal.
        source: io::Error,
    },
    /// It holds something already, or somebody else is filling it.
    #[error("the result folder {} is not empty; name a new one with --output, or remove it", .0.display())]
    InUse(PathBuf),
    /// A file of it could not be written.
    #[error("{} cannot be written: {source}; nothing of this run was kept", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The refusal, often a full disk.
        source: io::Error,
    },
}

impl Folder {
    /// Makes the folder, or takes over an empty one, and proves that it can be written. Of two who try this at
    /// once, one has it.
    ///
    /// # Errors
    /// [`FolderError::InUse`] or [`FolderError::Refused`]; nothing is left behind then.
    pub fn create(path: &Path) -> Result<Self, FolderError> {
        let refused = |source| FolderError::Refused { path: path.into(), source };
        let made = !path.exists();
        fs::create_dir_all(path).map_err(refused)?;
        if let Err(source) = File::create_new(path.join(CLAIM)) {
            if source.kind() == io::ErrorKind::AlreadyExists {
                return Err(FolderError::InUse(path.into()));
            }
            if made {
                let _ = fs::remove_dir(path);
            }
            return Err(refused(source));
        }
        // Looked into only after the claim: what another has put there before is seen, and later he cannot.
        let others = fs::read_dir(path).map_err(refused)?.flatten();
        if others.into_iter().any(|entry| entry.file_name() != CLAIM) {
            let _ = fs::remove_file(path.join(CLAIM));
            return Err(FolderError::InUse(path.into()));
        }
        Ok(Self { path: path.into(), made, kept: false })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn inner(&self, name: &str) -> Result<(), FolderError> {
        let path = self.path.join(name);
        fs::create_dir(&path).map_err(|source| FolderError::Write { path, source })
    }

    /// Writes a file whole: to a neighbour first, so that a crash leaves the old or the new one.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        write_whole(&self.path.join(name), bytes)
            .map_err(|source| FolderError::Write { path: self.path.join(name), source })
    }

    /// Writes a value as JSON for people and programs.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    ///
    /// # Panics
    /// When the value has no JSON form, as a map with keys that are no texts.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), FolderError> {
        let mut text = serde_json::to_string_pretty(value).expect("plain data has a JSON form");
        text.push('\n');
        self.write(name, text.as_bytes())
    }

    /// Leaves the folder in place.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        self.kept = true;
        let _ = fs::remove_file(self.path.join(CLAIM));
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
                let folder = Folder::create(&path)?;
                folder.write("mine", b"")?;
                Ok::<_, FolderError>(folder.keep())
            };
            let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
            all.into_iter().map(|one| one.join().unwrap()).filter(Result::is_ok).count()
        });
        assert_eq!(won, 1);
        let left: Vec<_> = fs::read_dir(&path).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, ["mine"]);
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
        folder.inner("traces").unwrap();
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
    fn a_folder_with_something_in_it_is_refused_and_left_as_it_was() {
        let path = scratch("full");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("x"), "x").unwrap();
        assert!(matches!(Folder::create(&path), Err(FolderError::InUse(_))));
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
        fs::remove_dir_all(&path).unwrap();
    }
}
