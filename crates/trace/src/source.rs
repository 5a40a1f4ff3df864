//! Access to the bytes of a recording: in memory, or in a file that is read as needed.

use std::io;
use std::os::unix::fs::FileExt;

use crate::compressed::{DECOMPRESSED_MAX, Method};

/// Bytes of known length with random access.
pub trait ByteSource: Send + Sync {
    /// Returns the number of bytes.
    fn size(&self) -> u64;

    /// Fills the buffer with the bytes from `offset` on.
    ///
    /// # Errors
    /// If there are too few bytes, or they cannot be read.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl ByteSource for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        (&self[..]).read_exact_at(buffer, offset)
    }
}

impl ByteSource for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = from.checked_add(buffer.len()).and_then(|to| self.get(from..to));
        buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// An open file, for example a `std::fs::File`, and its length when it was opened.
///
/// Bytes written later are not seen; bytes cut off later cause an error when they are needed.
#[derive(Debug)]
pub struct OpenFile<F> {
    /// The file.
    pub file: F,
    /// Its length in bytes.
    pub size: u64,
}

impl<F: FileExt + Send + Sync> ByteSource for OpenFile<F> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

/// A piece of a source in memory, which moves as needed.
pub(crate) struct Window<'a> {
    source: &'a dyn ByteSource,
    /// The offset of the buffer in the source.
    at: u64,
    buffer: Vec<u8>,
    /// Bytes that follow those of the source: its decompressed parts.
    appended: Vec<u8>,
}

/// A source, and its decompressed parts behind it.
pub(crate) struct Appended {
    pub(crate) source: std::sync::Arc<dyn ByteSource>,
    pub(crate) parts: Vec<u8>,
}

impl ByteSource for Appended {
    fn size(&self) -> u64 {
        self.source.size() + self.parts.len() as u64
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match offset.checked_sub(self.source.size()) {
            Some(offset) => self.parts.read_exact_at(buffer, offset),
            None => self.source.read_exact_at(buffer, offset),
        }
    }
}

/// How many bytes are read ahead.
const AHEAD: u64 = 256 << 10;

impl<'a> Window<'a> {
    pub(crate) const fn new(source: &'a dyn ByteSource) -> Self {
        Self { source, at: 0, buffer: Vec::new(), appended: Vec::new() }
    }

    /// The size of the source with the parts appended to it.
    pub(crate) fn size(&self) -> u64 {
        self.source.size() + self.appended.len() as u64
    }

    /// Decompresses bytes and appends the result behind the source. Returns its offset. After an error, the result is
    /// what could be decompressed.
    pub(crate) fn append(&mut self, method: Method, bytes: &[u8]) -> (u64, io::Result<()>) {
        let offset = self.size();
        let mut part = Vec::new();
        let left = DECOMPRESSED_MAX - self.appended.len();
        let result = method.decompress(bytes, left, &mut part);
        self.appended.append(&mut part);
        (offset, result)
    }

    /// Returns the appended parts.
    pub(crate) fn into_appended(self) -> Vec<u8> {
        self.appended
    }

    /// Returns the `length` bytes at `offset`.
    pub(crate) fn get(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        if let Some(from) = offset.checked_sub(self.source.size()) {
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            let found = from.checked_add(length).and_then(|to| self.appended.get(from..to));
            return Ok(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        }
        let end = offset.checked_add(length as u64).filter(|&end| end <= self.source.size());
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        if offset < self.at || end > self.at + self.buffer.len() as u64 {
            let until = end.max(offset.saturating_add(AHEAD).min(self.source.size()));
            self.buffer.resize((until - offset) as usize, 0);
            self.at = offset;
            if let Err(error) = self.source.read_exact_at(&mut self.buffer, offset) {
                self.buffer.clear();
                return Err(error);
            }
        }
        let from = (offset - self.at) as usize;
        Ok(&self.buffer[from..from + length])
    }

    /// Returns at most `length` bytes at `offset`, fewer at the end.
    pub(crate) fn some(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let size = self.source.size();
        let end = if offset < size { size } else { self.size() };
        let left = end.saturating_sub(offset);
        self.get(offset, usize::try_from(left).map_or(length, |left| left.min(length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_gives_any_piece_and_refuses_pieces_beyond_the_end() {
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|at| at as u8).collect();
        let mut window = Window::new(&bytes);
        for at in [0, 7, 300_000, 299_999, 999_990] {
            assert_eq!(window.get(at, 10).unwrap(), &bytes[at as usize..at as usize + 10]);
        }
        assert!(window.get(999_991, 10).is_err());
        assert!(window.get(u64::MAX, 10).is_err());
        assert_eq!(window.some(999_999, 10).unwrap(), &bytes[999_999..]);
        assert_eq!(window.some(2_000_000, 10).map(<[u8]>::len).ok(), None);
    }
}
