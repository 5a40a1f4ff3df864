//! The description in a `perf.data` file: its events, its clock and its features.

use super::record::{HEAD, Layout, Record, kind};
use super::{MAGIC, malformed, record_at, unsupported};
use crate::error::{Errors, ReadError};
use crate::source::Window;
use crate::tracepoint::{Cursor, head};

/// The description of a file.
pub(super) struct About {
    pub(super) layouts: Vec<(u64, Layout)>,
    /// The clock, as in clock_gettime(2); `None` for perf's own.
    pub(super) clock: Option<i32>,
    /// Whether an event requested records of switches.
    pub(super) switch_records: bool,
    pub(super) formats: Vec<String>,
    pub(super) big_endian_formats: bool,
    pub(super) release: Option<String>,
    pub(super) version: Option<String>,
    pub(super) architecture: Option<String>,
    /// The time of the start on the clock, and in nanoseconds since 1970 UTC.
    pub(super) began: Option<(u64, u64)>,
    /// Where the records are.
    pub(super) data: (u64, u64),
}

/// Offset and length of a part of the file.
fn section(cursor: &mut Cursor<'_, '_>) -> Result<(u64, u64), ReadError> {
    Ok((cursor.u64()?, cursor.u64()?))
}

/// The size of the header of a file, and of one written to a pipe.
const FILE_HEAD: u64 = 104;
const PIPE_HEAD: u64 = 16;

/// The most attributes and identifiers: events times processors of the largest machines.
const IDS_MAX: usize = 1 << 22;

// Numbers of features.
const TRACING_DATA: u32 = 1;
const OS_RELEASE: u32 = 4;
const PERF_VERSION: u32 = 5;
const ARCHITECTURE: u32 = 6;
const CLOCK_DATA: u32 = 29;

/// `CLOCK_MONOTONIC`, and others of clock_gettime(2).
pub(super) const MONOTONIC: i32 = 1;

pub(super) fn about(window: &mut Window<'_>, errors: &mut Errors) -> Result<About, ReadError> {
    let mut cursor = Cursor { window, at: MAGIC.len() as u64, big_endian: false };
    let size = cursor.u64()?;
    if size == PIPE_HEAD {
        return piped(&mut cursor);
    }
    if size < FILE_HEAD {
        return Err(malformed(8, format!("a head of {size} bytes")));
    }
    let attr_size = cursor.u64()?;
    let attrs = section(&mut cursor)?;
    let data = section(&mut cursor)?;
    section(&mut cursor)?;
    let mut features = [0; 4];
    for word in &mut features {
        *word = cursor.u64()?;
    }
    let mut about = About::of(data);
    about.attributes(&mut cursor, attr_size, attrs)?;
    if data.1 == 0 {
        errors.push(malformed(
            data.0,
            "perf did not finish the recording: its records are read, but not their descriptions",
        ));
        about.data.1 = u64::MAX;
    }
    // The sections of the features follow the data, in the order of their numbers.
    cursor.at = data.0.saturating_add(data.1);
    for feature in (0..256).filter(|&bit| features[bit as usize / 64] >> (bit % 64) & 1 != 0) {
        if data.1 == 0 {
            break;
        }
        let (offset, length) = match section(&mut cursor) {
            Ok(found) => found,
            Err(error) => {
                errors.push(error);
                break;
            }
        };
        let back = std::mem::replace(&mut cursor.at, offset);
        if let Err(error) = about.feature(&mut cursor, feature, length) {
            errors.push(error);
        }
        (cursor.at, cursor.big_endian) = (back, false);
    }
    Ok(about)
}

/// Reads the description of a recording that perf wrote to a pipe: records before the first sample.
fn piped(cursor: &mut Cursor<'_, '_>) -> Result<About, ReadError> {
    let mut about = About::of((PIPE_HEAD, u64::MAX));
    let mut at = PIPE_HEAD;
    while at < cursor.window.size() {
        let end = cursor.window.size();
        let (bytes, skip) = record_at(cursor.window, at, end)?;
        let Some((record, _)) = Record::split(bytes) else { break };
        let (length, body) = (bytes.len() as u64, record.body.to_vec());
        cursor.at = at + HEAD as u64;
        match record.kind {
            kind::SAMPLE | kind::COMPRESSED | kind::COMPRESSED_2 => break,
            kind::HEADER_ATTR => {
                // The attribute states its own size; its identifiers follow.
                let size = body.get(4..8).and_then(|size| size.first_chunk());
                let size = size.map_or(0, |&size| u32::from_le_bytes(size) as usize);
                let (attr, ids) = body
                    .split_at_checked(size)
                    .filter(|_| ATTR_SIZES.contains(&(size as u64)))
                    .ok_or_else(|| malformed(at, format!("an attribute of {size} bytes")))?;
                let layout = about.attribute(attr);
                let ids = ids
                    .chunks_exact(8)
                    .map(|id| id.iter().rev().fold(0, |id, &byte| id << 8 | u64::from(byte)));
                let before = about.layouts.len();
                about.layouts.extend(ids.map(|id| (id, layout)));
                if about.layouts.len() == before {
                    about.layouts.push((0, layout));
                }
                if about.layouts.len() > IDS_MAX {
                    return Err(malformed(at, "too many identifiers of events"));
                }
            }
            kind::TRACING_DATA => {
                let size = cursor.u32()?;
                // The description follows the record, which is padded.
                cursor.at = at.saturating_add(length);
                about.feature(cursor, TRACING_DATA, size)?;
            }
            kind::HEADER_FEATURE => {
                let feature = cursor.u64()?;
                let left = length.saturating_sub(HEAD as u64 + 8);
                about.feature(cursor, u32::try_from(feature).unwrap_or(u32::MAX), left)?;
            }
            _ => {}
        }
        cursor.big_endian = false;
        at = at.saturating_add(length).saturating_add(skip);
    }
    about.check_layouts(PIPE_HEAD)?;
    Ok(about)
}

/// The sizes that an attribute can have.
const ATTR_SIZES: std::ops::RangeInclusive<u64> = 64..=4096;

impl About {
    const fn of(data: (u64, u64)) -> Self {
        Self {
            layouts: Vec::new(),
            clock: None,
            switch_records: false,
            formats: Vec::new(),
            big_endian_formats: false,
            release: None,
            version: None,
            architecture: None,
            began: None,
            data,
        }
    }

    /// Processes an attribute, and returns the layout of its samples.
    fn attribute(&mut self, attr: &[u8]) -> Layout {
        let word = |at: usize| {
            let word = attr.get(at..).and_then(|bytes| bytes.first_chunk());
            word.map_or(0, |&word| u64::from_le_bytes(word))
        };
        let flags = word(40);
        if flags >> 25 & 1 != 0 {
            self.clock = Some((word(88) >> 32) as i32);
        }
        self.switch_records |= flags >> 26 & 1 != 0;
        Layout { sample_type: word(24), read_format: word(32) }
    }

    /// Reads the attributes of the events and their identifiers.
    fn attributes(
        &mut self,
        cursor: &mut Cursor<'_, '_>,
        attr_size: u64,
        (offset, length): (u64, u64),
    ) -> Result<(), ReadError> {
        if !(80..=4096).contains(&attr_size) {
            return Err(malformed(16, format!("attributes of {attr_size} bytes")));
        }
        for index in 0..length / attr_size {
            cursor.at = offset.saturating_add(index * attr_size);
            let attr = cursor.bytes(attr_size)?.to_vec();
            let word = |at: usize| {
                attr.get(at..)
                    .and_then(|bytes| bytes.first_chunk())
                    .map_or(0, |&word| u64::from_le_bytes(word))
            };
            let layout = self.attribute(&attr);
            // The last 16 bytes contain offset and length of the identifiers.
            let end = attr_size as usize;
            cursor.at = word(end - 16);
            let ids = word(end - 8) / 8;
            if self.layouts.len() as u64 + ids > IDS_MAX as u64 {
                return Err(malformed(offset, format!("{ids} identifiers of one event")));
            }
            if ids == 0 {
                self.layouts.push((0, layout));
            }
            for _ in 0..ids {
                self.layouts.push((cursor.u64()?, layout));
            }
        }
        self.check_layouts(offset)
    }

    /// Sorts the layouts by identifier and checks that records can be told apart by them.
    fn check_layouts(&mut self, offset: u64) -> Result<(), ReadError> {
        self.layouts.sort_unstable();
        if self.layouts.is_empty() {
            return Err(malformed(
                offset,
                "no attributes: the contents of the records are unknown",
            ));
        }
        let layouts = || self.layouts.iter().map(|&(_, layout)| layout);
        if layouts().any(|layout| layout != self.layouts[0].1)
            && !layouts().all(Layout::has_identifier)
        {
            let what = "events with different samples and no identifiers; record them with one perf record";
            return Err(unsupported(offset, what));
        }
        if !layouts().all(Layout::has_time) || !layouts().all(Layout::has_cpu) {
            let what = "samples without a time or a processor; record with -T --sample-cpu";
            return Err(unsupported(offset, what));
        }
        Ok(())
    }

    fn feature(
        &mut self,
        cursor: &mut Cursor<'_, '_>,
        feature: u32,
        length: u64,
    ) -> Result<(), ReadError> {
        match feature {
            TRACING_DATA if length > 0 => {
                cursor.expect(crate::tracedat::MAGIC)?;
                cursor.text()?;
                cursor.big_endian = cursor.number::<1>()? == 1;
                self.big_endian_formats = cursor.big_endian;
                cursor.number::<1>()?;
                cursor.u32()?;
                self.formats = head(cursor)?.formats;
            }
            OS_RELEASE => self.release = Some(text(cursor)?),
            PERF_VERSION => self.version = Some(text(cursor)?),
            ARCHITECTURE => self.architecture = Some(text(cursor)?),
            CLOCK_DATA => {
                cursor.u32()?;
                let clock = cursor.u32()?;
                let (unix_ns, at) = (cursor.u64()?, cursor.u64()?);
                if clock == MONOTONIC as u64 {
                    self.began = Some((at, unix_ns));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Reads a text of a feature: its length and its bytes.
fn text(cursor: &mut Cursor<'_, '_>) -> Result<String, ReadError> {
    let length = cursor.u32()?;
    Ok(cursor.text_of(length)?.trim_end_matches('\0').to_owned())
}
