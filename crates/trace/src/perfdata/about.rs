//! The description in a `perf.data` file: its events, its clock and its features.

use super::record::Layout;
use super::{MAGIC, malformed, unsupported};
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
const CLOCK_DATA: u32 = 29;

/// `CLOCK_MONOTONIC`, and others of clock_gettime(2).
pub(super) const MONOTONIC: i32 = 1;

pub(super) fn about(window: &mut Window<'_>, errors: &mut Errors) -> Result<About, ReadError> {
    let mut cursor = Cursor { window, at: MAGIC.len() as u64, big_endian: false };
    let size = cursor.u64()?;
    if size == PIPE_HEAD {
        let what = "a perf.data written to a pipe; let perf record write to a file";
        return Err(unsupported(0, what));
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
    let mut about = About {
        layouts: Vec::new(),
        clock: None,
        switch_records: false,
        formats: Vec::new(),
        big_endian_formats: false,
        release: None,
        version: None,
        began: None,
        data,
    };
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

impl About {
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
            let layout = Layout { sample_type: word(24), read_format: word(32) };
            let flags = word(40);
            if flags >> 25 & 1 != 0 {
                self.clock = Some((word(88) >> 32) as i32);
            }
            self.switch_records |= flags >> 26 & 1 != 0;
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
