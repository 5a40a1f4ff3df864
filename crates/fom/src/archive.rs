//! Modules out of a ZIP archive, as clients send them.
//!
//! The central directory is read, because streaming writers leave the lengths in front of an entry empty.

use miniz_oxide::inflate::decompress_to_vec_with_limit;
use rawzip::{CompressionMethod, ZipArchive};

use crate::limits::{ARCHIVE_LEN_MAX, ENTRIES_MAX, MODULE_LEN_MAX};
use crate::problem::{Kind, Problem};

/// How every ZIP archive begins that has an entry.
const SIGNATURE: [u8; 4] = *b"PK\x03\x04";

/// One file out of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its path inside the archive.
    pub(crate) name: String,
    /// Its bytes.
    pub(crate) content: Vec<u8>,
}

/// Do these bytes look like an archive?
pub(crate) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(&SIGNATURE)
}

/// The files of an archive, in its order; folders are passed over.
///
/// `name` is what the archive is called in problems.
///
/// # Errors
/// Bytes that are no archive, have no entry, use a compression other than deflate, fail their checksum, or
/// unpack to more than the [limits](crate::limits). All of an archive's problems at once.
pub(crate) fn open(bytes: &[u8], name: &str) -> Result<Vec<Entry>, Vec<Problem>> {
    let unreadable = |what: String| Problem::new(Kind::Unreadable, format!("{name}: {what}"));
    let archive = ZipArchive::from_slice(bytes)
        .map_err(|error| vec![unreadable(format!("no ZIP archive: {error}"))])?;
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
            let most = left.min(MODULE_LEN_MAX);
            let content = inflate(file.data(), entry.compression_method(), most)?;
            let sum = rawzip::crc32(&content);
            if sum == entry.crc32() { Ok(content) } else { Err("its checksum is wrong".to_owned()) }
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

/// The bytes behind these, at most so many. Only as much is allocated as comes out.
fn inflate(bytes: &[u8], method: CompressionMethod, most: usize) -> Result<Vec<u8>, String> {
    let too_long = || format!("it unpacks to more than {most} bytes");
    if method == CompressionMethod::STORE {
        return if bytes.len() <= most { Ok(bytes.to_vec()) } else { Err(too_long()) };
    }
    if method != CompressionMethod::DEFLATE {
        return Err("its compression is not deflate".to_owned());
    }
    decompress_to_vec_with_limit(bytes, most).map_err(|error| {
        if error.status == miniz_oxide::inflate::TINFLStatus::HasMoreOutput {
            too_long()
        } else {
            format!("it cannot be unpacked: {error}")
        }
    })
}

#[cfg(test)]
mod tests;
