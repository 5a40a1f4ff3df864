//! The description of tracepoints, which `trace.dat` and `perf.data` contain in the same form.

use crate::error::ReadError;
use crate::source::Window;

/// A position in a file from which numbers and texts are read in sequence.
pub(crate) struct Cursor<'w, 's> {
    pub(crate) window: &'w mut Window<'s>,
    pub(crate) at: u64,
    pub(crate) big_endian: bool,
}

impl Cursor<'_, '_> {
    /// Returns the next bytes; an error if the file ends before.
    pub(crate) fn bytes(&mut self, length: u64) -> Result<&[u8], ReadError> {
        let offset = self.at as usize;
        let left = self.window.size().saturating_sub(self.at);
        if length > left {
            return Err(ReadError::Malformed {
                offset,
                reason: format!("the file ends {} bytes too early", length - left),
            });
        }
        if length > PIECE_MAX {
            let reason = format!("a description of {length} bytes is too long");
            return Err(ReadError::Malformed { offset, reason });
        }
        self.at += length;
        self.window
            .get(self.at - length, length as usize)
            .map_err(|error| ReadError::Io { offset, reason: error.to_string() })
    }

    pub(crate) fn number<const N: usize>(&mut self) -> Result<u64, ReadError> {
        let big_endian = self.big_endian;
        let bytes = self.bytes(N as u64)?;
        let add = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        Ok(if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) })
    }

    pub(crate) fn u16(&mut self) -> Result<u64, ReadError> {
        self.number::<2>()
    }

    pub(crate) fn u32(&mut self) -> Result<u64, ReadError> {
        self.number::<4>()
    }

    pub(crate) fn u64(&mut self) -> Result<u64, ReadError> {
        self.number::<8>()
    }

    /// Reads a text that ends with a zero.
    pub(crate) fn text(&mut self) -> Result<String, ReadError> {
        let mut text = Vec::new();
        loop {
            match self.bytes(1)?[0] {
                0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
                _ if text.len() as u64 == TEXT_MAX => {
                    let reason = "a text without an end".into();
                    return Err(ReadError::Malformed { offset: self.at as usize, reason });
                }
                byte => text.push(byte),
            }
        }
    }

    /// Reads the next bytes as a text.
    pub(crate) fn text_of(&mut self, length: u64) -> Result<String, ReadError> {
        Ok(String::from_utf8_lossy(self.bytes(length)?).into_owned())
    }

    /// Skips this many bytes.
    pub(crate) fn skip(&mut self, length: u64) -> Result<(), ReadError> {
        let left = self.window.size().saturating_sub(self.at);
        if length > left {
            let reason = format!("the file ends {} bytes too early", length - left);
            return Err(ReadError::Malformed { offset: self.at as usize, reason });
        }
        self.at += length;
        Ok(())
    }

    /// Reads these bytes; an error for any others.
    pub(crate) fn expect(&mut self, expected: &[u8]) -> Result<(), ReadError> {
        let offset = self.at as usize;
        if self.bytes(expected.len() as u64)? == expected {
            return Ok(());
        }
        let expected = String::from_utf8_lossy(expected).replace('\0', "");
        Err(ReadError::Malformed { offset, reason: format!("expected `{expected}`") })
    }
}

/// The longest description that is read at once.
const PIECE_MAX: u64 = 64 << 20;
const TEXT_MAX: u64 = 4096;

/// The layout of a page of the kernel's ring buffer, according to its own description.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageLayout {
    /// The size of the word that contains the number of bytes used in the page.
    pub(crate) word: usize,
    /// The offset of the records.
    pub(crate) data: usize,
}

impl PageLayout {
    /// Parses the text of `header_page`; missing fields are as on a 64-bit kernel.
    pub(crate) fn parse(text: &str) -> Self {
        let field = |name: &str, what: &str| {
            let line = text.lines().find(|line| {
                let declared = line.split(';').next().unwrap_or("");
                declared.trim_end().ends_with(name)
            })?;
            let (_, rest) = line.split_once(what)?;
            rest.split(';').next()?.trim().parse::<usize>().ok()
        };
        let word = field(" commit", "size:").filter(|&size| size == 4).unwrap_or(8);
        let data = field(" data", "offset:").filter(|&data| data < 64).unwrap_or(8 + word);
        Self { word, data }
    }
}

/// The description of tracepoints.
pub(crate) struct Head {
    pub(crate) layout: PageLayout,
    /// The texts of the events' formats.
    pub(crate) formats: Vec<String>,
}

/// Reads `header_page` and `header_event`.
pub(crate) fn page_layout(cursor: &mut Cursor<'_, '_>) -> Result<PageLayout, ReadError> {
    cursor.expect(b"header_page\0")?;
    let length = cursor.u64()?;
    let layout = PageLayout::parse(&cursor.text_of(length)?);
    cursor.expect(b"header_event\0")?;
    let length = cursor.u64()?;
    cursor.skip(length)?;
    Ok(layout)
}

/// Skips the formats of ftrace's own events.
pub(crate) fn skip_ftrace_formats(cursor: &mut Cursor<'_, '_>) -> Result<(), ReadError> {
    for _ in 0..cursor.u32()? {
        let length = cursor.u64()?;
        cursor.skip(length)?;
    }
    Ok(())
}

/// Reads the events' formats, by system.
pub(crate) fn formats(cursor: &mut Cursor<'_, '_>) -> Result<Vec<String>, ReadError> {
    let mut formats = Vec::new();
    for _ in 0..cursor.u32()? {
        cursor.text()?;
        for _ in 0..cursor.u32()? {
            let length = cursor.u64()?;
            formats.push(cursor.text_of(length)?);
        }
    }
    Ok(formats)
}

/// Reads the part that `trace.dat` of version 6 and `perf.data` have in common, from `header_page` to before the
/// symbols.
pub(crate) fn head(cursor: &mut Cursor<'_, '_>) -> Result<Head, ReadError> {
    let layout = page_layout(cursor)?;
    skip_ftrace_formats(cursor)?;
    let formats = formats(cursor)?;
    Ok(Head { layout, formats })
}
