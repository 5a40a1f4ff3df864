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
/// checksum, or unpacks to another length than its directory says or to more than the [limits](crate::limits).
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
            let claim = claimed_len(entry.uncompressed_size_hint());
            let most = left.min(MODULE_LEN_MAX);
            if claim > most {
                return Err(format!("unpacks to more than {most} bytes"));
            }
            left -= claim;
            let content = inflate(file.data(), entry.compression_method(), claim)?;
            let sum = rawzip::crc32(&content);
            if sum == entry.crc32() { Ok(content) } else { Err("the checksum is wrong".to_owned()) }
        });
        match content {
            Ok(content) => files.push(Entry { name: path, content }),
            Err(what) => problems.push(unreadable(format!("{path}: {what}"))),
        }
    }
    if files.is_empty() && problems.is_empty() {
        problems.push(unreadable("the archive is empty".to_owned()));
    }
    if problems.is_empty() { Ok(files) } else { Err(problems) }
}

/// Unpacks bytes into one allocation of the length that the directory claims: one that grew would be copied, and take
/// three times the memory while it is. Another length is refused, so that the claims add up to the memory.
fn inflate(bytes: &[u8], method: CompressionMethod, claim: usize) -> Result<Vec<u8>, String> {
    let differs = |len: String| format!("unpacks to {len} bytes, and the directory says {claim}");
    let mut unpacked = match method {
        CompressionMethod::STORE if bytes.len() == claim => return Ok(bytes.to_vec()),
        CompressionMethod::STORE => return Err(differs(bytes.len().to_string())),
        CompressionMethod::DEFLATE => vec![0; claim],
        _ => return Err("the compression is not deflate".to_owned()),
    };
    match decompress_slice_iter_to_slice(&mut unpacked, [bytes].into_iter(), false, true) {
        Ok(len) if len == claim => Ok(unpacked),
        Ok(len) => Err(differs(len.to_string())),
        Err(TINFLStatus::HasMoreOutput) => Err(differs("more".to_owned())),
        Err(TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput) => {
            Err("cannot be unpacked: the data ends too early".to_owned())
        }
        Err(_) => Err("cannot be unpacked: the data is damaged".to_owned()),
    }
}

#[cfg(test)]
mod tests;
