//! Recordings of `perf record` and `perf sched record`: the file `perf.data`.
//!
//! ```text
//! "PERFILE2" · its size · size of an attribute · where the attributes, the data and the event types are · features
//! attributes    of each event: what its samples hold, and where its identifiers are
//! data          records: samples, switches, names, forks, lost events
//! features      where each is: the tracepoints' formats, the kernel's release, the clock …
//! ```
//!
//! Source: Linux, tools/perf/Documentation/perf.data-file-format.txt, and perf_event_open(2).

mod record;

use std::collections::BTreeMap;

use hemiola_units::Instant;

use crate::error::{Errors, ReadError};
use crate::recording::{Decoder, Lane, Learner, Scanned, Stream};
use crate::sched::{Tid, What};
use crate::source::Window;
use crate::tracepoint::{Cursor, Format, Tracepoints, head};

use record::{HEAD, Layout, Record, kind};

pub(crate) use record::Records;

/// How a file begins.
pub(crate) const MAGIC: &[u8] = b"PERFILE2";
/// How one begins that was written on a big-endian machine.
pub(crate) const MAGIC_BIG_ENDIAN: &[u8] = b"2ELIFREP";

/// The answer to a file of a big-endian machine.
pub(crate) fn refuse_big_endian() -> Scanned {
    Scanned::refused(unsupported(
        0,
        "a perf.data of a big-endian machine is not read; analyse it there, or record with trace-cmd",
    ))
}

/// Looks through a file.
pub(crate) fn scan(mut window: Window<'_>) -> Scanned {
    let mut errors = Errors::default();
    match about(&mut window, &mut errors) {
        Ok(about) => scan_records(window, about, errors),
        Err(error) => Scanned::refused(error),
    }
}

fn unsupported(offset: u64, what: impl Into<String>) -> ReadError {
    ReadError::Unsupported { offset: offset as usize, what: what.into() }
}

fn malformed(offset: u64, reason: impl Into<String>) -> ReadError {
    ReadError::Malformed { offset: offset as usize, reason: reason.into() }
}

/// What a file says of itself.
struct About {
    layouts: Vec<(u64, Layout)>,
    /// The clock, as in clock_gettime(2); `None`: perf's own.
    clock: Option<i32>,
    /// Whether an event asked for records of switches.
    switch_records: bool,
    formats: Vec<String>,
    big_endian_formats: bool,
    release: Option<String>,
    version: Option<String>,
    /// The clock's moment when the recording began, and in nanoseconds since 1970 UTC.
    began: Option<(u64, u64)>,
    /// Where the records are.
    data: (u64, u64),
}

/// A part of the file: where, and how long.
fn section(cursor: &mut Cursor<'_, '_>) -> Result<(u64, u64), ReadError> {
    Ok((cursor.u64()?, cursor.u64()?))
}

/// The size of the head of a file, and of one that was written into a pipe.
const FILE_HEAD: u64 = 104;
const PIPE_HEAD: u64 = 16;

/// The most attributes and identifiers there may be: events times processors of the largest machines.
const IDS_MAX: usize = 1 << 22;

// Numbers of features.
const TRACING_DATA: u32 = 1;
const OS_RELEASE: u32 = 4;
const PERF_VERSION: u32 = 5;
const CLOCK_DATA: u32 = 29;

/// `CLOCK_MONOTONIC`, and others of clock_gettime(2).
const MONOTONIC: i32 = 1;

fn about(window: &mut Window<'_>, errors: &mut Errors) -> Result<About, ReadError> {
    let mut cursor = Cursor { window, at: MAGIC.len() as u64, big_endian: false };
    let size = cursor.u64()?;
    if size == PIPE_HEAD {
        let what = "a perf.data written into a pipe; let perf record write into a file";
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
            "perf did not end the recording: its records are read, but not what they mean",
        ));
        about.data.1 = u64::MAX;
    }
    // What features there are stands behind the data, in the order of their numbers.
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
            // The last 16 bytes say where the identifiers are.
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
            return Err(malformed(offset, "no attributes: nothing says what the records hold"));
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

/// A text of a feature: its length and its bytes.
fn text(cursor: &mut Cursor<'_, '_>) -> Result<String, ReadError> {
    let length = cursor.u32()?;
    Ok(cursor.text_of(length)?.trim_end_matches('\0').to_owned())
}

/// How many bytes of records are decoded at once.
const STRETCH: u64 = 64 << 10;

/// How many lanes of overlapping events one processor may have: buffers of perf that were written in turns.
const LANES_MAX: usize = 256;

fn scan_records(mut window: Window<'_>, about: About, mut errors: Errors) -> Scanned {
    let by = about.version.as_deref().map_or("perf".into(), |version| format!("perf {version}"));
    let mut conditions = vec![("recorded by".to_owned(), by)];
    conditions.extend(about.release.iter().map(|release| ("kernel".to_owned(), release.clone())));
    if about.clock != Some(MONOTONIC) {
        let clock = about.clock.map_or("perf's own".into(), |clock| format!("number {clock}"));
        let text = format!(
            "{clock}: where it is on CLOCK_MONOTONIC is not known; record with -k CLOCK_MONOTONIC to see marks beside it"
        );
        conditions.push(("kernel clock".into(), text));
    }
    let formats: Vec<Format> =
        about.formats.iter().filter_map(|text| Format::parse(text)).collect();
    let tracepoints =
        Tracepoints::new(&formats, about.big_endian_formats, about.release.as_deref());
    let switch_records = about.switch_records && !tracepoints.has_switches();
    if !switch_records && !tracepoints.has_switches() {
        errors.push(unsupported(0, "no switches were recorded; record with -e sched:sched_switch"));
    }
    let mut records = Records { layouts: about.layouts, tracepoints, switch_records };

    let mut scan = Scan { errors, ..Scan::default() };
    let (mut at, length) = about.data;
    let end = at.saturating_add(length).min(window.size());
    if length != u64::MAX && at.saturating_add(length) > window.size() {
        let reason = "the file ends before its records do";
        scan.errors.push(malformed(window.size(), reason));
    }
    let mut stream = Stream::new(0);
    while at < end {
        match record_at(&mut window, at, end) {
            Ok((bytes, skip)) => {
                let length = bytes.len() as u64;
                scan.record(&records, bytes, at, &mut stream);
                at = at.saturating_add(length).saturating_add(skip);
            }
            Err(error) => {
                scan.errors.push(error);
                break;
            }
        }
    }
    scan.end_run();
    let Scan { mut lanes, learner, errors, switches, broken, placed, .. } = scan;
    if learner.lost > placed {
        let text =
            format!("{} events more than at the gaps, nobody says where", learner.lost - placed);
        conditions.push(("lost".into(), text));
    }
    if broken > 0 {
        let text = format!(
            "at least {broken} of {switches} switches are missing, each a gap; without -a, perf leaves out those to \
             the recorded program from others"
        );
        conditions.push(("left out".into(), text));
    }
    lanes.sort_by_key(|lane| lane.cpu);
    records.tracepoints.in_turn = lanes.windows(2).all(|pair| pair[0].cpu != pair[1].cpu);
    records.tracepoints.wakeups_only = !learner.waking;
    Scanned {
        conditions,
        began: about.began.map(|(at, unix_ns)| (Instant::from_nanos(at), unix_ns)),
        threads: learner.threads(|at| at),
        tracks: Vec::new(),
        lanes,
        decoder: Decoder::PerfData(records),
        errors,
    }
}

/// The bytes of the record at a place, and how many that belong to it follow.
fn record_at<'w>(
    window: &'w mut Window<'_>,
    at: u64,
    end: u64,
) -> Result<(&'w [u8], u64), ReadError> {
    let io =
        |error: std::io::Error| ReadError::Io { offset: at as usize, reason: error.to_string() };
    if end - at < HEAD as u64 {
        return Err(malformed(at, "the file ends within a record"));
    }
    let head = window.get(at, HEAD).map_err(io)?;
    let head = *head.first_chunk().expect("so many bytes were asked for");
    let (kind, _, size) = Record::head(head);
    if size < HEAD {
        return Err(malformed(at, format!("a record of {size} bytes")));
    }
    if size as u64 > end - at {
        return Err(malformed(at, "the file ends within a record"));
    }
    let bytes = window.get(at, size).map_err(io)?;
    // These two are followed by data their size does not count.
    let word = |at: usize, length: usize| {
        let bytes = bytes.get(at..at + length).unwrap_or(&[]);
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    };
    let skip = match kind {
        kind::TRACING_DATA => word(HEAD, 4).next_multiple_of(8),
        kind::AUXTRACE => word(HEAD, 8),
        kind::COMPRESSED | kind::COMPRESSED_2 => {
            return Err(unsupported(at, "the records are compressed; record without -z"));
        }
        _ => 0,
    };
    Ok((bytes, skip))
}

#[derive(Default)]
struct Scan {
    lanes: Vec<Lane>,
    /// Records of one processor, one behind the other, in order of time.
    run: Option<Run>,
    learner: Learner,
    errors: Errors,
    /// Who runs on each processor; how many switches there are, and how many from another thread than that.
    running: BTreeMap<u16, Tid>,
    switches: u64,
    broken: u64,
    /// How many lost events there are gaps for.
    placed: u64,
}

struct Run {
    cpu: u16,
    offset: u64,
    length: u64,
    first: Instant,
    last: Instant,
}

impl Scan {
    fn record(&mut self, records: &Records, bytes: &[u8], at: u64, stream: &mut Stream) {
        let Some((record, _)) = Record::split(bytes) else { return };
        let cpu = match records.cpu(record) {
            None => 0,
            Some(Ok(cpu)) => cpu,
            Some(Err(())) => return self.damaged(at),
        };
        stream.begin(cpu);
        let learner = &mut self.learner;
        if records.record(record, stream, &mut |told| learner.take(told)).is_none() {
            self.damaged(at);
        }
        let Some(event) = stream.events.last() else { return };
        if let What::Lost(lost) = event.what {
            self.placed += u64::from(lost);
            self.running.remove(&cpu);
        }
        if let What::Switch { prev, next, .. } = event.what {
            let before = self.running.insert(cpu, next).unwrap_or(Tid::UNKNOWN);
            self.switches += 1;
            self.broken +=
                u64::from(![prev, Tid::UNKNOWN].contains(&before) && prev != Tid::UNKNOWN);
        }
        let length = bytes.len() as u64;
        match &mut self.run {
            Some(run)
                if run.cpu == cpu
                    && run.offset + run.length == at
                    && run.last <= event.at
                    && run.length + length <= STRETCH =>
            {
                run.length += length;
                run.last = event.at;
            }
            _ => {
                self.end_run();
                self.run = Some(Run { cpu, offset: at, length, first: event.at, last: event.at });
            }
        }
    }

    /// The record at that place cannot be understood, whosever it is.
    fn damaged(&mut self, at: u64) {
        self.errors.push(malformed(at, "a record shorter than its event says"));
        self.end_run();
        self.lanes.iter_mut().for_each(|lane| lane.gap(at));
    }

    /// Adds the run to the first lane of its processor that it continues.
    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let of_cpu = || self.lanes.iter().filter(|lane| lane.cpu == run.cpu);
        let place =
            self.lanes.iter().position(|lane| lane.cpu == run.cpu && lane.end() <= run.first);
        let place = match place {
            Some(place) => place,
            None if of_cpu().count() < LANES_MAX => {
                self.lanes.push(Lane::new(run.cpu));
                self.lanes.len() - 1
            }
            None => {
                let reason = "the times of the records are in no order";
                return self.errors.push(malformed(run.offset, reason));
            }
        };
        self.lanes[place].push(run.offset, run.length as u32, run.first, run.last);
    }
}
