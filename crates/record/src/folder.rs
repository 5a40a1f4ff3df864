//! The result folder, created before anything is measured, so that a full or read-only disk is found first.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use hemiola_rt::file::replace;
use serde::Serialize;
use thiserror::Error;

/// The file that marks a folder as being filled, so that no other process fills it too.
const CLAIM: &str = ".being-filled";

/// A result folder that is being filled. If it is dropped before it is [preserved](Self::preserve), its contents are
/// removed, and the folder too if it was created here.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    made: bool,
    kept: Cell<bool>,
}

/// Why a result folder cannot be filled.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FolderError {
    /// It cannot be created or written: choose another.
    #[error("the result folder {} cannot be written: {source}; choose another with --output", path.display())]
    Refused {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is not empty, or another process is filling it.
    #[error("the result folder {} is not empty; name a new one with --output, or remove it", .0.display())]
    InUse(PathBuf),
    /// A file of it could not be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error, often a full disk.
        source: io::Error,
    },
}

impl Folder {
    /// Creates the folder, or takes over an empty one, and checks that it can be written. Of several processes that
    /// try at once, one succeeds.
    ///
    /// # Errors
    /// [`FolderError::InUse`] or [`FolderError::Refused`]; nothing is left behind.
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
        // Checked only after the claim: files that another process created before are seen, and after it there can be
        // none.
        let others = fs::read_dir(path).map_err(refused)?.flatten();
        if others.into_iter().any(|entry| entry.file_name() != CLAIM) {
            let _ = fs::remove_file(path.join(CLAIM));
            return Err(FolderError::InUse(path.into()));
        }
        Ok(Self { path: path.into(), made, kept: Cell::new(false) })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a folder in it.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn inner(&self, name: &str) -> Result<(), FolderError> {
        let path = self.path.join(name);
        fs::create_dir(&path).map_err(|source| FolderError::Write { path, source })
    }

    /// Writes a file in one step, through a temporary file, so that a crash leaves the old or the new one.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        replace(&self.path.join(name), [bytes])
            .map_err(|source| FolderError::Write { path: self.path.join(name), source })
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// [`FolderError::Write`].
    ///
    /// # Panics
    /// If the value has no JSON form, such as a map with keys that are not strings.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), FolderError> {
        let mut text = serde_json::to_string_pretty(value).expect("plain data has a JSON form");
        text.push('\n');
        self.write(name, text.as_bytes())
    }

    /// Keeps the contents from now on, however the process ends.
    pub fn preserve(&self) {
        self.kept.set(true);
    }

    /// Removes the contents after all when it is dropped.
    pub fn abandon(&self) {
        self.kept.set(false);
    }

    /// Returns whether the contents are kept already.
    #[must_use]
    pub const fn is_preserved(&self) -> bool {
        self.kept.get()
    }

    /// Keeps the folder and returns its path.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        self.preserve();
        self.path.clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.kept.get() {
            let _ = fs::remove_file(self.path.join(CLAIM));
            return;
        }
        if self.made {
            let _ = fs::remove_dir_all(&self.path);
        } else if let Ok(entries) = fs::read_dir(&self.path) {
            // The folder existed before and was empty: leave it so.
            for entry in entries.flatten() {
                let _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_simultaneous_attempts_one_gets_the_folder() {
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
    fn a_folder_that_is_not_kept_is_removed() {
        let path = scratch("gone");
        let folder = Folder::create(&path).unwrap();
        folder.write("a.json", b"{}").unwrap();
        folder.inner("traces").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_preserved_folder_stays_when_it_is_dropped() {
        let path = scratch("preserved");
        let folder = Folder::create(&path).unwrap();
        folder.write("a.json", b"{}").unwrap();
        assert!(!folder.is_preserved());
        folder.preserve();
        drop(folder);
        let left: Vec<_> = fs::read_dir(&path).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, ["a.json"]);
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn an_existing_empty_folder_is_left_empty() {
        let path = scratch("empty");
        fs::create_dir(&path).unwrap();
        drop(Folder::create(&path).unwrap());
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        fs::remove_dir(&path).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_empty_is_refused_and_unchanged() {
        let path = scratch("full");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("x"), "x").unwrap();
        assert!(matches!(Folder::create(&path), Err(FolderError::InUse(_))));
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
        fs::remove_dir_all(&path).unwrap();
    }
}
