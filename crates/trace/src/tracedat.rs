//! Recordings of `trace-cmd record`: the file `trace.dat`, versions 6 and 7, uncompressed.
//!
//! ```text
//! 17 08 44 "tracing" version 0 · byte order · size of a word · size of a page
//! version 6   descriptions of pages and events, symbols, names of threads, options, then where each processor's
//!             pages are
//! version 7   compression, where the options are; they say where everything else is
//! pages       of the kernel's ring buffers, as they were
//! ```
//!
//! Source: trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5).

mod page;

use crate::error::{Errors, ReadError};
use crate::recording::{Decoder, Lane, Learner, Scanned, Stream};
use crate::sched::Tid;
use crate::source::Window;
use crate::tracepoint::{Cursor, Format, Head, PageLayout, Tracepoints, head};

pub(crate) use page::Pages;

/// How a file begins.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Where a processor's pages are.
struct Data {
    cpu: u64,
    offset: u64,
    size: u64,
}

/// What a file says of itself.
struct About {
    big_endian: bool,
    page_size: u64,
    layout: PageLayout,
    formats: Vec<String>,
    /// The clock, as the kernel names it.
    clock: Option<String>,
    uname: Option<String>,
    version: Option<String>,
    /// Lines of numbers and names of threads.
    names: String,
    data: Vec<Data>,
    /// More instances of the tracer than the one that is read.
    instances: usize,
}

/// Looks through a file.
pub(crate) fn scan(mut window: Window<'_>) -> Scanned {
    match about(&mut window) {
        Ok(about) => scan_pages(window, about),
        Err(error) => Scanned::refused(error),
    }
}

fn unsupported(offset: u64, what: impl Into<String>) -> ReadError {
    ReadError::Unsupported { offset: offset as usize, what: what.into() }
}

/// Reads what stands before the pages.
fn about(window: &mut Window<'_>) -> Result<About, ReadError> {
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
                "version `{version}` of trace.dat; 6 and 7 are read: \
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

/// The most processors: as Linux can have (`NR_CPUS`).
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
                    "a recording of latencies as text has no switches in it",
                ));
            }
            _ => {
                let reason = "options or the processors' data should stand here: the recording was not ended; \
                              trace-cmd restore puts its parts together";
                return Err(ReadError::Malformed {
                    offset: offset as usize,
                    reason: reason.into(),
                });
            }
        }
    }
    let mut data = flyrecord(cursor, cpus)?;
    // An instance's data stand where its option says, behind the same word.
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

/// The most sections of options that are followed: a longer chain goes in a circle.
const SECTIONS_MAX: usize = 1000;

fn version_7(cursor: &mut Cursor<'_, '_>, about: &mut About) -> Result<(), ReadError> {
    let compression = cursor.text()?;
    cursor.text()?;
    if compression != "none" {
        let what = format!(
            "the recording is compressed with {compression}; \
             trace-cmd convert --compression none -i FILE -o NEW makes one that can be read"
        );
        return Err(unsupported(cursor.at, what));
    }
    let mut section = cursor.u64()?;
    for _ in 0..SECTIONS_MAX {
        if section == 0 {
            break;
        }
        cursor.at = section;
        let end = begin_section(cursor, 0)?;
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
                    about.layout = part(cursor, at, HEADER_INFO, head_page)?;
                }
                EVENT_FORMATS => {
                    let at = cursor.u64()?;
                    about.formats = part(cursor, at, EVENT_FORMATS, event_formats)?;
                }
                CMDLINES => {
                    let at = cursor.u64()?;
                    about.names = part(cursor, at, CMDLINES, |cursor| {
                        let length = cursor.u64()?;
                        cursor.text_of(length)
                    })?;
                }
                BUFFER => {
                    let (clock, page_size, data) = buffer(cursor)?;
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

/// Reads the head of a section of that number, and says where it ends.
fn begin_section(cursor: &mut Cursor<'_, '_>, expected: u64) -> Result<u64, ReadError> {
    let offset = cursor.at;
    let (id, flags) = (cursor.u16()?, cursor.u16()?);
    cursor.u32()?;
    let size = cursor.u64()?;
    if id != expected {
        let reason = format!("section {expected} should begin here, not {id}");
        return Err(ReadError::Malformed { offset: offset as usize, reason });
    }
    if flags & 1 != 0 {
        let what = "a compressed section; trace-cmd convert --compression none -i FILE -o NEW";
        return Err(unsupported(offset, what));
    }
    Ok(cursor.at.saturating_add(size))
}

/// Reads the section at a place, and comes back.
fn part<T>(
    cursor: &mut Cursor<'_, '_>,
    at: u64,
    id: u64,
    read: impl FnOnce(&mut Cursor<'_, '_>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let back = std::mem::replace(&mut cursor.at, at);
    begin_section(cursor, id)?;
    let value = read(cursor)?;
    cursor.at = back;
    Ok(value)
}

fn head_page(cursor: &mut Cursor<'_, '_>) -> Result<PageLayout, ReadError> {
    crate::tracepoint::page_layout(cursor)
}

fn event_formats(cursor: &mut Cursor<'_, '_>) -> Result<Vec<String>, ReadError> {
    crate::tracepoint::formats(cursor)
}

/// Reads the option of an instance's data: its clock, the size of its pages, and where they are.
fn buffer(cursor: &mut Cursor<'_, '_>) -> Result<(String, u64, Vec<Data>), ReadError> {
    cursor.u64()?;
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
    Ok((clock, page_size, data))
}

impl About {
    /// Takes in an option both versions have.
    fn option(&mut self, id: u64, size: u64, cursor: &mut Cursor<'_, '_>) -> Result<(), ReadError> {
        let place = match id {
            TRACE_CLOCK => &mut self.clock,
            UNAME => &mut self.uname,
            VERSION => &mut self.version,
            _ => return Ok(()),
        };
        let text = cursor.text_of(size)?;
        let text = text.trim_end_matches(['\0', '\n']);
        // The clock's option is the list of all, with brackets around the one.
        let one = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let text = if id == TRACE_CLOCK { one.map_or(text, |(one, _)| one) } else { text };
        if place.is_none() {
            *place = Some(text.to_owned());
        }
        Ok(())
    }
}

/// How many pages are decoded at once.
const STRETCH_PAGES: u64 = 16;

fn scan_pages(mut window: Window<'_>, about: About) -> Scanned {
    let mut errors = Errors::default();
    let mut conditions = vec![("recorded by".to_owned(), recorder(&about))];
    match about.clock.as_deref() {
        None | Some("mono") => {}
        Some(clock @ ("x86-tsc" | "counter" | "uptime" | "ppc-tb" | "s390-tod")) => {
            let what = format!("times on the clock `{clock}` are no nanoseconds; record with -C mono");
            return Scanned::refused(unsupported(0, what));
        }
        Some(clock) => conditions.push((
            "kernel clock".into(),
            format!(
                "`{clock}`: where it is on CLOCK_MONOTONIC is not known; record with -C mono to see marks beside it"
            ),
        )),
    }
    if about.instances > 0 {
        let text = format!("{} more instances of the tracer are in the file", about.instances);
        conditions.push(("left out".into(), text));
    }
    let formats: Vec<Format> =
        about.formats.iter().filter_map(|text| Format::parse(text)).collect();
    // "Linux name release machine"
    let release = about.uname.as_deref().and_then(|uname| uname.split(' ').nth(2));
    conditions.extend(release.map(|release| ("kernel".to_owned(), release.to_owned())));
    let tracepoints = Tracepoints::new(&formats, about.big_endian, release);
    if !tracepoints.has_switches() {
        errors.push(unsupported(
            0,
            "no sched_switch was recorded; record with -e sched_switch -e sched_waking",
        ));
    }
    let page_size = about.page_size as usize;
    let mut pages = Pages { tracepoints, layout: about.layout, page_size, add: 0 };

    let mut learner = Learner::default();
    let mut lanes = Vec::new();
    for Data { cpu, offset, size } in about.data {
        let Ok(cpu) = u16::try_from(cpu) else { continue };
        let left = window.size().saturating_sub(offset);
        if size > left {
            let reason = format!(
                "the file ends {} bytes before the pages of processor {cpu} do",
                size - left
            );
            errors.push(ReadError::Malformed { offset: offset as usize, reason });
        }
        let whole = size.min(left) / about.page_size;
        let mut lane = Lane::new(cpu);
        let mut stream = Stream::new(cpu);
        let mut done = 0;
        while done < whole {
            let count = STRETCH_PAGES.min(whole - done);
            let at = offset + done * about.page_size;
            let length = (count * about.page_size) as usize;
            let bytes = match window.get(at, length) {
                Ok(bytes) => bytes,
                Err(error) => {
                    errors.push(ReadError::Io { offset: at as usize, reason: error.to_string() });
                    break;
                }
            };
            stream.events.clear();
            let damaged = pages.each(bytes, &mut stream, &mut |told| learner.take(told));
            if damaged > 0 {
                let reason =
                    format!("{damaged} pages of processor {cpu} are damaged, and left out as gaps");
                errors.push(ReadError::Malformed { offset: at as usize, reason });
            }
            if let Some(back_ns) = stream.stepped_back() {
                errors.push(ReadError::ClockStep { cpu, offset: at as usize, back_ns });
            }
            lane.add(at, length, &stream);
            done += count;
        }
        lanes.push(lane);
    }
    for line in about.names.lines() {
        if let Some((number, name)) = line.split_once(' ')
            && let Ok(number) = number.parse()
        {
            learner.otherwise(Tid(number), name);
        }
    }
    pages.tracepoints.wakeups_only = !learner.waking;
    lanes.sort_by_key(|lane| lane.cpu);
    Scanned {
        conditions,
        began: None,
        threads: learner.threads(|at| at),
        tracks: Vec::new(),
        lanes,
        decoder: Decoder::TraceDat(pages),
        errors,
    }
}

fn recorder(about: &About) -> String {
    match about.version.as_deref().and_then(|version| version.split_whitespace().next()) {
        Some(version) => format!("trace-cmd {version}"),
        None => "trace-cmd".into(),
    }
}
