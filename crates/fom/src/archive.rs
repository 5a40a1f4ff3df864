//! Reads modules from a ZIP archive that a client sends.
//!
//! The lengths come from the central directory, because streaming writers leave them empty in front of an entry.

use miniz_oxide::inflate::{TINFLStatus, decompress_slice_iter_to_slice};
use rawzip::{CompressionMethod, ZipArchive};

use crate::limits::{ARCHIVE_LEN_MAX, ENTRIES_MAX, MODULE_LEN_MAX};
use crate::problem::{Problem, ProblemKind};

/// The first bytes of every ZIP archive that has an entry.
const SIGNATURE: [u8; 4] = *b"PK\x03\x04";

/// One file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The path inside the archive.
    pub(crate) name: String,
    /// The unpacked bytes.
    pub(crate) content: Vec<u8>,
}

/// Whether these bytes look like an archive.
#[must_use]
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(&SIGNATURE)
}

const fn claimed_len(len: u64) -> usize {
    if len > ARCHIVE_LEN_MAX as u64 { ARCHIVE_LEN_MAX } else { len as usize }
}

/// Returns the length of all files according to the directory of the archive, in bytes. 0 if there is no directory.
pub(crate) fn expanded_len(bytes: &[u8]) -> usize {
    let Ok(archive) = ZipArchive::from_slice(bytes) else { return 0 };
    let entries = archive.entries().take(ENTRIES_MAX).map_while(Result::ok);
    let len: usize = entries.map(|entry| claimed_len(entry.uncompressed_size_hint())).sum();
    len.min(ARCHIVE_LEN_MAX)
}

/// Returns the files of an archive in its order. Folders are skipped.
///
/// `name` is the name of the archive in problems.
///
/// # Errors
/// All problems of the archive: it is not an archive, has no entry, uses a compression other than deflate, fails a
/// checksum, or unpacks to more than the [limits](crate::limits).
pub(crate) fn open(bytes: &[u8], name: &str) -> Result<Vec<Entry>, Vec<Problem>> {
    let unreadable =
        |what: String| Problem::new(ProblemKind::Unreadable, format!("{name}: {what}"));
    let archive = ZipArchive::from_slice(bytes)
        .map_err(|error| vec![unreadable(format!("not a ZIP archive: {error}"))])?;
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    let mut left = ARCHIVE_LEN_MAX;
    for (number, entry) in archive.entries().enumerate() {
        if number == ENTRIES_MAX {
            problems.push(unreadable(format!("more than {ENTRIES_MAX} entries")));
            break;
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                problems.push(unreadable(format!("entry {}: {error}", number + 1)));
                break;
            }
        };
        if entry.is_dir() {
            continue;
        }
        let path = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
        let inflated = archive.get_entry(entry.wayfinder()).map_err(|error| error.to_string());
        let content = inflated.and_then(|file| {
            let most = left.min(MODULE_LEN_MAX).min(claimed_len(entry.uncompressed_size_hint()));
            let content = inflate(file.data(), entry.compression_method(), most)?;
            let sum = rawzip::crc32(&content);
            if sum == entry.crc32() { Ok(content) } else { Err("the checksum is wrong".to_owned()) }
        });
        match content {
            Ok(content) => {
                left -= content.len();
                files.push(Entry { name: path, content });
            }
            Err(what) => problems.push(unreadable(format!("{path}: {what}"))),
        }
    }
    if files.is_empty() && problems.is_empty() {
        problems.push(unreadable("the archive is empty".to_owned()));
    }
    if problems.is_empty() { Ok(files) } else { Err(problems) }
}

/// Unpacks bytes to at most `most` bytes, into one allocation of this length: one that grew would be copied, and take
/// three times the memory while it is.
fn inflate(bytes: &[u8], method: CompressionMethod, most: usize) -> Result<Vec<u8>, String> {
    let too_long = || format!("unpacks to more than {most} bytes");
    if method == CompressionMethod::STORE {
        return if bytes.len() <= most { Ok(bytes.to_vec()) } else { Err(too_long()) };
    }
    if method != CompressionMethod::DEFLATE {
        return Err("the compression is not deflate".to_owned());
    }
    let mut unpacked = vec![0; most];
    let len = decompress_slice_iter_to_slice(&mut unpacked, [bytes].into_iter(), false, true)
        .map_err(|status| match status {
            TINFLStatus::HasMoreOutput => too_long(),
            TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => {
                "cannot be unpacked: the data ends too early".to_owned()
            }
            _ => "cannot be unpacked: the data is damaged".to_owned(),
        })?;
    unpacked.truncate(len);
    Ok(unpacked)
}

#[cfg(test)]
mod tests;
