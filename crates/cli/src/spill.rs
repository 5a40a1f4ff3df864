//! A temporary file for what the analysis of a long recording does not keep in memory.

use std::env;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::diagnostics::shown;
use hemiola_analyze::Spill;
use hemiola_rt::sys::unnamed::unnamed;
use hemiola_trace::source::ByteSource;

/// Bytes are collected up to this number and then written at once.
const TOGETHER: usize = 256 << 10;

/// A file without a name, made when it is needed. It disappears with the process.
#[derive(Debug)]
pub(crate) struct SpillFile {
    directories: Vec<PathBuf>,
    content: RwLock<Content>,
}

#[derive(Debug, Default)]
struct Content {
    /// The file, and the directory in which it is.
    file: Option<(File, PathBuf)>,
    written: u64,
    /// The bytes behind those written.
    waiting: Vec<u8>,
    /// The directory that takes no more, and why.
    failed: Option<String>,
}

impl SpillFile {
    /// The file will be in `TMPDIR`, or else in `/var/tmp`, because `/tmp` is often in memory itself.
    pub(crate) fn new() -> Self {
        match env::var_os("TMPDIR").filter(|path| !path.is_empty()) {
            Some(path) => Self::within(vec![path.into()]),
            None => Self::within(vec!["/var/tmp".into(), "/tmp".into()]),
        }
    }

    /// The file will be in the first of these directories in which one can be made.
    fn within(directories: Vec<PathBuf>) -> Self {
        Self { directories, content: RwLock::default() }
    }

    /// Why bytes stayed in memory that should be in the file.
    pub(crate) fn problem(&self) -> Option<String> {
        let failed = self.read().failed.clone()?;
        Some(format!(
            "temporary data cannot be written to {failed}; they stay in memory. Set TMPDIR to a directory on a disk with room"
        ))
    }

    fn read(&self) -> RwLockReadGuard<'_, Content> {
        self.content.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Content> {
        self.content.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Content {
    fn write_out(&mut self, directories: &[PathBuf]) -> io::Result<()> {
        let (file, directory) = match &mut self.file {
            Some(file) => file,
            none => none.insert(make(directories)?),
        };
        let written = file.write_all_at(&self.waiting, self.written);
        written.map_err(|error| of(directory, &error))?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }
}

/// Makes a file in the first directory that takes one. If none does, the error is that of the first.
fn make(directories: &[PathBuf]) -> io::Result<(File, PathBuf)> {
    let mut failed = None;
    for directory in directories {
        match unnamed(directory) {
            Ok(file) => return Ok((file, directory.clone())),
            Err(error) => failed = failed.or_else(|| Some(of(directory, &error))),
        }
    }
    Err(failed.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
}

/// An error with the directory in which it occurred.
fn of(directory: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("{}: {error}", shown(directory)))
}

impl ByteSource for SpillFile {
    fn size(&self) -> u64 {
        let content = self.read();
        content.written + content.waiting.len() as u64
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let content = self.read();
        match (offset.checked_sub(content.written), &content.file) {
            // A piece was appended as a whole, so it is in one place.
            (Some(offset), _) => content.waiting.read_exact_at(buffer, offset),
            (None, Some((file, _))) => file.read_exact_at(buffer, offset),
            (None, None) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Spill for SpillFile {
    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        let mut content = self.write();
        if let Some(failed) = &content.failed {
            return Err(io::Error::other(failed.clone()));
        }
        if content.waiting.len() + bytes.len() > TOGETHER
            && let Err(error) = content.write_out(&self.directories)
        {
            content.failed = Some(error.to_string());
            return Err(error);
        }
        let offset = content.written + content.waiting.len() as u64;
        content.waiting.extend(bytes);
        Ok(offset)
    }

    fn clear(&self) -> io::Result<()> {
        let mut content = self.write();
        content.waiting.clear();
        content.written = 0;
        content.file.as_ref().map_or(Ok(()), |(file, _)| file.set_len(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of different lengths, of which each byte is known.
    fn piece(number: usize) -> Vec<u8> {
        (0..number * 37 % 9_000).map(|at| (at * 7 + number) as u8).collect()
    }

    fn append(file: &SpillFile, pieces: std::ops::Range<usize>) -> Vec<(usize, u64)> {
        pieces.map(|number| (number, file.append(&piece(number)).unwrap())).collect()
    }

    fn check(file: &SpillFile, places: &[(usize, u64)]) {
        for (number, offset) in places {
            let mut read = vec![0; piece(*number).len()];
            file.read_exact_at(&mut read, *offset).unwrap();
            assert_eq!(read, piece(*number), "piece {number}");
        }
    }

    #[test]
    fn pieces_are_read_back_while_more_are_appended() {
        let file = SpillFile::within(vec![env::temp_dir()]);
        let first = append(&file, 0..100);
        check(&file, &first);
        let second = append(&file, 100..300);
        check(&file, &first);
        check(&file, &second);
        assert!(file.size() > 2 * TOGETHER as u64 && file.read().waiting.len() <= TOGETHER);
        assert!(file.read_exact_at(&mut [0], file.size()).is_err());
        file.clear().unwrap();
        assert_eq!((file.size(), file.problem()), (0, None));
        check(&file, &append(&file, 300..400));
    }

    #[test]
    fn without_a_directory_what_was_accepted_is_kept_and_more_is_refused() {
        let file = SpillFile::within(vec!["/does not exist".into(), "/nor does this".into()]);
        let mut places = Vec::new();
        let refused = (0..).find(|number| match file.append(&piece(*number)) {
            Ok(offset) => {
                places.push((*number, offset));
                false
            }
            Err(_) => true,
        });
        assert!(refused.is_some_and(|number| number > 10));
        check(&file, &places);
        assert!(file.append(b"more").is_err());
        let problem = file.problem().unwrap();
        assert!(problem.contains("/does not exist: No such file or directory"), "{problem}");
    }

    #[test]
    fn the_second_directory_takes_the_file_if_the_first_cannot() {
        let file = SpillFile::within(vec!["/does not exist".into(), env::temp_dir()]);
        let places = append(&file, 0..200);
        check(&file, &places);
        assert_eq!(file.problem(), None);
    }
}
