//! The description in a `trace.dat` file, in either version.

use super::{MAGIC, unsupported};
use crate::compressed::Method;
use crate::error::ReadError;
use crate::source::Window;
use crate::tracepoint::{Cursor, Head, PageLayout, formats, head, page_layout};

/// The place of a processor's pages.
pub(super) struct Data {
    pub(super) cpu: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// The description of a file.
pub(super) struct About {
    pub(super) big_endian: bool,
    pub(super) page_size: u64,
    pub(super) layout: PageLayout,
    pub(super) formats: Vec<String>,
    /// The clock, as the kernel names it.
    pub(super) clock: Option<String>,
    pub(super) uname: Option<String>,
    pub(super) version: Option<String>,
    /// Lines with the number and the name of a thread.
    pub(super) names: String,
    pub(super) data: Vec<Data>,
    /// The number of further instances of the tracer, which are not read.
    pub(super) instances: usize,
}

/// Reads the part before the pages.
pub(super) fn about(window: &mut Window<'_>) -> Result<About, ReadError> {
    let mut cursor = Cursor { window, at: 0, big_endian: false };
    cursor.expect(MAGIC)?;
    let version = cursor.text()?;
    let order = cursor.number::<1>()?;
    cursor.big_endian = order == 1;
    let word = cursor.number::<1>()?;
    let page_size = cursor.u32()?;
    if order > 1 || ![4, 8].contains(&word) || !(4096..=1 << 20).contains(&page_size) {
        let reason = format!("byte order {order}, words of {word} and pages of {page_size} bytes");
        return Err(ReadError::Malformed { offset: MAGIC.len(), reason });
    }
    let mut about = About {
        big_endian: cursor.big_endian,
        page_size,
        layout: PageLayout::parse(""),
        formats: Vec::new(),
        clock: None,
        uname: None,
        version: None,
        names: String::new(),
        data: Vec::new(),
        instances: 0,
    };
    match version.as_str() {
        "6" => version_6(&mut cursor, &mut about)?,
        "7" => version_7(&mut cursor, &mut about)?,
        _ => {
            let what = format!(
                "version `{version}` of trace.dat; 6 and 7 are supported: \
                 trace-cmd convert --file-version 7 --compression none -i FILE -o NEW"
            );
            return Err(unsupported(MAGIC.len() as u64, what));
        }
    }
    let sizes = about.data.iter().fold(0_u64, |sum, data| sum.saturating_add(data.size));
    if about.data.len() > CPUS_MAX || sizes > cursor.window.size() {
        let reason = format!("{} processors with {sizes} bytes in all", about.data.len());
        return Err(ReadError::Malformed {
            offset: 0,
            reason: reason + ": more than there can be",
        });
    }
    Ok(about)
}

/// The most processors that Linux can have (`NR_CPUS`).
const CPUS_MAX: usize = 8192;

fn version_6(cursor: &mut Cursor<'_, '_>, about: &mut About) -> Result<(), ReadError> {
    let Head { layout, formats } = head(cursor)?;
    (about.layout, about.formats) = (layout, formats);
    let symbols = cursor.u32()?;
    cursor.skip(symbols)?;
    let texts = cursor.u32()?;
    cursor.skip(texts)?;
    let names = cursor.u64()?;
    about.names = cursor.text_of(names)?;
    let cpus = cursor.u32()?;
    let mut instances = Vec::new();
    loop {
        let offset = cursor.at;
        match cursor.bytes(10)? {
            b"options  \0" => loop {
                let id = cursor.u16()?;
                if id == 0 {
                    break;
                }
                let size = cursor.u32()?;
                let end = cursor.at.saturating_add(size);
                if id == BUFFER {
                    instances.push(cursor.u64()?);
                } else {
                    about.option(id, size, cursor)?;
                }
                let done = cursor.at;
                cursor.skip(end.saturating_sub(done))?;
            },
            b"flyrecord\0" => break,
            b"latency  \0" => {
                return Err(unsupported(
                    offset,
                    "a recording of latencies as text contains no switches",
                ));
            }
            _ => {
                let reason = "expected options or the processors' data: the recording was not finished; \
                              trace-cmd restore puts its parts together";
                return Err(ReadError::Malformed {
                    offset: offset as usize,
                    reason: reason.into(),
                });
            }
        }
    }
    let mut data = flyrecord(cursor, cpus)?;
    // An instance's data are where its option says, after the same word.
    about.instances = instances.len();
    if data.iter().all(|data| data.size == 0)
        && let Some(&offset) = instances.first()
    {
        cursor.at = offset;
        cursor.expect(b"flyrecord\0")?;
        data = flyrecord(cursor, cpus)?;
        about.instances -= 1;
    }
    about.data = data;
    Ok(())
}

fn flyrecord(cursor: &mut Cursor<'_, '_>, cpus: u64) -> Result<Vec<Data>, ReadError> {
    let mut data = Vec::new();
    for cpu in 0..cpus {
        data.push(Data { cpu, offset: cursor.u64()?, size: cursor.u64()? });
    }
    Ok(data)
}

// Numbers of options.
const BUFFER: u64 = 3;
const TRACE_CLOCK: u64 = 4;
const UNAME: u64 = 5;
const VERSION: u64 = 9;
const HEADER_INFO: u64 = 16;
const EVENT_FORMATS: u64 = 18;
const CMDLINES: u64 = 21;

/// The most sections of options that are followed: a longer chain is circular.
const SECTIONS_MAX: usize = 1000;

fn version_7(cursor: &mut Cursor<'_, '_>, about: &mut About) -> Result<(), ReadError> {
    let compression = cursor.text()?;
    cursor.text()?;
    let method = match compression.as_str() {
        "none" => None,
        "zstd" => Some(Method::Zstd),
        "zlib" => Some(Method::Zlib),
        _ => {
            let what = format!(
                "the recording is compressed with {compression}; \
                 trace-cmd convert --compression none -i FILE -o NEW makes one that can be read"
            );
            return Err(unsupported(cursor.at, what));
        }
    };
    let mut section = cursor.u64()?;
    for _ in 0..SECTIONS_MAX {
        if section == 0 {
            break;
        }
        cursor.at = section;
        let end = begin_section(cursor, 0, method)?;
        section = 0;
        while cursor.at < end {
            let id = cursor.u16()?;
            let size = cursor.u32()?;
            let after = cursor.at.saturating_add(size);
            match id {
                0 => {
                    section = cursor.u64()?;
                    break;
                }
                HEADER_INFO => {
                    let at = cursor.u64()?;
                    about.layout = part(cursor, at, HEADER_INFO, method, page_layout)?;
                }
                EVENT_FORMATS => {
                    let at = cursor.u64()?;
                    about.formats = part(cursor, at, EVENT_FORMATS, method, formats)?;
                }
                CMDLINES => {
                    let at = cursor.u64()?;
                    about.names = part(cursor, at, CMDLINES, method, |cursor| {
                        let length = cursor.u64()?;
                        cursor.text_of(length)
                    })?;
                }
                BUFFER => {
                    let (clock, page_size, data) = buffer(cursor, method)?;
                    let empty = |data: &[Data]| data.iter().all(|data| data.size == 0);
                    if empty(&about.data) && !empty(&data) {
                        (about.clock, about.data) = (Some(clock), data);
                        about.page_size = page_size;
                    } else if !empty(&data) {
                        about.instances += 1;
                    }
                }
                _ => about.option(id, size, cursor)?,
            }
            cursor.at = after;
        }
    }
    Ok(())
}

/// Reads the header of a section with this number, and returns where the section ends.
fn begin_section(
    cursor: &mut Cursor<'_, '_>,
    expected: u64,
    method: Option<Method>,
) -> Result<u64, ReadError> {
    let offset = cursor.at;
    let (id, flags) = (cursor.u16()?, cursor.u16()?);
    cursor.u32()?;
    let size = cursor.u64()?;
    if id != expected {
        let reason = format!("expected section {expected}, found {id}");
        return Err(ReadError::Malformed { offset: offset as usize, reason });
    }
    match method.filter(|_| flags & COMPRESSED != 0) {
        None => Ok(cursor.at.saturating_add(size)),
        Some(method) => {
            cursor.at = decompress(cursor, method)?;
            Ok(cursor.window.size())
        }
    }
}

/// The flag of a compressed section.
const COMPRESSED: u64 = 1;

/// Decompresses the piece at the cursor, whose sizes precede it. Returns the offset of the result.
fn decompress(cursor: &mut Cursor<'_, '_>, method: Method) -> Result<u64, ReadError> {
    let offset = cursor.at as usize;
    let (packed, unpacked) = (cursor.u32()?, cursor.u32()?);
    let bytes = cursor.bytes(packed)?.to_vec();
    let (at, result) = cursor.window.append(method, &bytes);
    let malformed = |reason| ReadError::Malformed { offset, reason };
    result.map_err(|error| malformed(format!("a compressed part is damaged: {error}")))?;
    match cursor.window.size() - at {
        found if found == unpacked => Ok(at),
        found => Err(malformed(format!("a compressed part of {unpacked} bytes has {found}"))),
    }
}

/// Decompresses the chunks of a processor's pages, which are then contiguous.
fn decompress_pages(
    cursor: &mut Cursor<'_, '_>,
    method: Method,
    data: &mut Data,
) -> Result<(), ReadError> {
    let back = std::mem::replace(&mut cursor.at, data.offset);
    data.offset = cursor.window.size();
    for _ in 0..cursor.u32()? {
        decompress(cursor, method)?;
    }
    data.size = cursor.window.size() - data.offset;
    cursor.at = back;
    Ok(())
}

/// Reads the section at an offset, and returns to the present one.
fn part<T>(
    cursor: &mut Cursor<'_, '_>,
    at: u64,
    id: u64,
    method: Option<Method>,
    read: impl FnOnce(&mut Cursor<'_, '_>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let back = std::mem::replace(&mut cursor.at, at);
    begin_section(cursor, id, method)?;
    let value = read(cursor)?;
    cursor.at = back;
    Ok(value)
}

/// Reads the option of an instance's data: its clock, its page size, and the places of its pages.
fn buffer(
    cursor: &mut Cursor<'_, '_>,
    method: Option<Method>,
) -> Result<(String, u64, Vec<Data>), ReadError> {
    let section = cursor.u64()?;
    cursor.text()?;
    let clock = cursor.text()?;
    let offset = cursor.at as usize;
    let page_size = cursor.u32()?;
    if !(4096..=1 << 20).contains(&page_size) {
        let reason = format!("pages of {page_size} bytes");
        return Err(ReadError::Malformed { offset, reason });
    }
    let mut data = Vec::new();
    for _ in 0..cursor.u32()? {
        data.push(Data { cpu: cursor.u32()?, offset: cursor.u64()?, size: cursor.u64()? });
    }
    if let Some(method) = method {
        let back = std::mem::replace(&mut cursor.at, section.saturating_add(2));
        let compressed = cursor.u16()? & COMPRESSED != 0;
        cursor.at = back;
        let packed = |data: &&mut Data| compressed && data.size > 0;
        for data in data.iter_mut().filter(packed) {
            decompress_pages(cursor, method, data)?;
        }
    }
    Ok((clock, page_size, data))
}

impl About {
    /// Processes an option that both versions have.
    fn option(&mut self, id: u64, size: u64, cursor: &mut Cursor<'_, '_>) -> Result<(), ReadError> {
        let place = match id {
            TRACE_CLOCK => &mut self.clock,
            UNAME => &mut self.uname,
            VERSION => &mut self.version,
            _ => return Ok(()),
        };
        let text = cursor.text_of(size)?;
        let text = text.trim_end_matches(['\0', '\n']);
        // The clock's option lists all clocks, with the selected one in brackets.
        let one = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let text = if id == TRACE_CLOCK { one.map_or(text, |(one, _)| one) } else { text };
        if place.is_none() {
            *place = Some(text.to_owned());
        }
        Ok(())
    }
}
