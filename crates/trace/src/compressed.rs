//! Decompression of whole recordings and of their parts, within a limit.

use std::io::{self, Read};

use flate2::bufread::GzDecoder;
use flate2::read::ZlibDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

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
            Self::Gzip => gzip(bytes, max, out),
            Self::Zlib => bounded(ZlibDecoder::new(bytes), max, out),
        }
    }
}

/// Appends everything to `out`, or fails when that becomes longer than `max` bytes.
fn bounded(reader: impl Read, max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    let room = max.saturating_sub(out.len());
    reader.take(room as u64 + 1).read_to_end(out)?;
    if out.len() <= max {
        return Ok(());
    }
    out.truncate(max);
    Err(io::Error::other(format!(
        "it becomes larger than {max} bytes; decompress it to a file first"
    )))
}

/// The first bytes of a member (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];

/// Decompresses members, one after the other. Zeros after the last one are padding, which gzip(1) ignores too: a tape
/// or a disk image fills its last block with them.
fn gzip(mut bytes: &[u8], max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut member = GzDecoder::new(bytes);
        bounded(&mut member, max, out)?;
        bytes = member.into_inner();
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        // Another member begins with two fixed bytes. Anything else is no member that is damaged.
        if !bytes.starts_with(&GZIP_MAGIC[..bytes.len().min(2)]) {
            return Err(io::Error::other(format!(
                "something else follows the end of the compressed data: {} bytes",
                bytes.len()
            )));
        }
    }
}

/// An empty block that ends a Zstandard frame (RFC 8878, section 3.1.1.2).
pub(crate) const LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// Decompresses frames, one after the other.
fn zstd(mut bytes: &[u8], max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    while !bytes.is_empty() {
        let mut decoder = FrameDecoder::new();
        match decoder.init(&mut bytes) {
            Ok(()) => frame(&mut decoder, &mut bytes, max, out)?,
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

/// Decompresses a frame whose header was read.
fn frame(
    decoder: &mut FrameDecoder,
    bytes: &mut &[u8],
    max: usize,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    loop {
        let decoded = decoder.decode_blocks(&mut *bytes, BlockDecodingStrategy::UptoBlocks(1));
        if decoded.is_err() {
            // The decoder withholds the last bytes of an unfinished frame, to which later ones may refer. The zeros are
            // a checksum, in case the frame has one; it is not compared.
            let end = LAST_BLOCK.chain(&[0; 4][..]);
            decoder.decode_blocks(end, BlockDecodingStrategy::All).map_err(io::Error::other)?;
        }
        bounded(&mut *decoder, max, out)?;
        match decoded {
            Ok(false) => {}
            Ok(true) => return Ok(()),
            Err(_) if bytes.is_empty() => {
                return Err(io::Error::other(
                    "it ends within a block, which can be read only as a whole",
                ));
            }
            Err(error) => return Err(io::Error::other(error)),
        }
    }
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
    }

    #[test]
    fn zeros_after_the_last_member_are_padding_and_anything_else_is_damage() {
        let packed = gzip(b"text");
        for (after, is_padding) in [
            (&[0][..], true),
            (&[0; 10_240], true),
            (b"text", false),
            (&[0, 0, 0, 7], false),
            (&[&[0; 9], &packed[..]].concat(), false),
        ] {
            let mut out = Vec::new();
            let done = Method::Gzip.decompress(&[&packed, &packed, after].concat(), 100, &mut out);
            assert_eq!((done.is_ok(), &out[..]), (is_padding, &b"texttext"[..]), "{after:?}");
        }
        // It is named: nothing is cut off.
        let said = |after: &[u8]| {
            let bytes = [&packed[..], after].concat();
            Method::Gzip.decompress(&bytes, 100, &mut Vec::new()).unwrap_err().to_string()
        };
        for after in [&b"x"[..], b"text", b"a longer text that is no member"] {
            let expected = format!("follows the end of the compressed data: {} bytes", after.len());
            assert!(said(after).ends_with(&expected), "{}", said(after));
        }
        // A member that begins and is cut off is damage of another kind.
        assert!(!said(&packed[..9]).contains("follows"), "{}", said(&packed[..9]));
    }

    #[test]
    fn everything_before_a_cut_is_kept() {
        let bytes: Vec<u8> =
            (0..600_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 21) as u8 & 31).collect();
        for (packed, method) in [(zstd(&bytes), Method::Zstd), (gzip(&bytes), Method::Gzip)] {
            for (cut, least) in [(packed.len() / 2, 150_000), (packed.len() - 1, 500_000)] {
                let mut out = Vec::new();
                let error = method.decompress(&packed[..cut], 600_000, &mut out).unwrap_err();
                assert_eq!(error.to_string().contains("within a block"), method == Method::Zstd);
                assert!((least..=600_000).contains(&out.len()), "{method:?}: {}", out.len());
                assert!(bytes.starts_with(&out), "{method:?}: {cut}");
            }
        }
    }

    #[test]
    fn frames_for_other_programs_are_skipped() {
        let skipped = [&[0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3], &zstd(b"text")[..]].concat();
        let mut out = Vec::new();
        Method::Zstd.decompress(&skipped, 10, &mut out).unwrap();
        assert_eq!(out, b"text");
    }
}
