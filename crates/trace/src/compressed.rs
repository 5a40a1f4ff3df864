//! Decompression of whole recordings and of their parts, within a limit.

use std::io::{self, Read};

use flate2::read::{MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

/// The most bytes that one file may become; they are in memory. A file that would become larger is refused.
pub(crate) const DECOMPRESSED_MAX: usize = 1 << 30;

/// A method of compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Zstd,
    Gzip,
    Zlib,
}

impl Method {
    /// Returns the method of a file that begins with these bytes.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Self::Zstd),
            [0x1F, 0x8B, ..] => Some(Self::Gzip),
            _ => None,
        }
    }

    /// Decompresses bytes. On an error, what was decompressed before it is in `out`, at most `max` bytes.
    pub(crate) fn decompress(self, bytes: &[u8], max: usize, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Zstd => zstd(bytes, max, out),
            Self::Gzip => bounded(MultiGzDecoder::new(bytes), max, out),
            Self::Zlib => bounded(ZlibDecoder::new(bytes), max, out),
        }
    }
}

/// Reads to the end, or fails when there are more than `max` bytes.
fn bounded(reader: impl Read, max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    reader.take(max as u64 + 1).read_to_end(out)?;
    if out.len() <= max {
        return Ok(());
    }
    out.truncate(max);
    Err(io::Error::other(format!(
        "it becomes larger than {max} bytes; decompress it to a file first"
    )))
}

/// Decompresses frames, one after the other.
fn zstd(mut bytes: &[u8], max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    while !bytes.is_empty() {
        match StreamingDecoder::new(&mut bytes) {
            Ok(decoder) => bounded_frame(decoder, max, out)?,
            // A frame for other programs.
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => bytes = bytes.get(length as usize..).unwrap_or(&[]),
            Err(error) => return Err(io::Error::other(error)),
        }
    }
    Ok(())
}

fn bounded_frame(reader: impl Read, max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    let mut frame = Vec::new();
    let result = bounded(reader, max - out.len(), &mut frame);
    out.append(&mut frame);
    result
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn frames_and_members_are_joined_and_a_bomb_stops_at_the_limit() {
        let bytes = vec![7; 300_000];
        for (packed, method) in [(zstd(&bytes), Method::Zstd), (gzip(&bytes), Method::Gzip)] {
            assert_eq!(Method::of(&packed), Some(method));
            let mut out = Vec::new();
            method.decompress(&[&packed[..], &packed].concat(), 600_000, &mut out).unwrap();
            assert_eq!(out.len(), 600_000);
            out.clear();
            let error = method.decompress(&packed, 100_000, &mut out).unwrap_err();
            assert!(error.to_string().contains("larger than 100000 bytes"), "{error}");
            assert_eq!(out.len(), 100_000);
            // The part before a cut is kept.
            out.clear();
            assert!(method.decompress(&packed[..packed.len() - 1], 600_000, &mut out).is_err());
        }
        let skipped = [&[0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3], &zstd(b"text")[..]].concat();
        let mut out = Vec::new();
        Method::Zstd.decompress(&skipped, 10, &mut out).unwrap();
        assert_eq!(out, b"text");
    }
}
