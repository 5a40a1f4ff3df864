//! Recordings of `perf record` and `perf sched record`: the file `perf.data`.
//!
//! ```text
//! "PERFILE2" · its size · size of an attribute · where the attributes, the data and the event types are · features
//! attributes    of each event: the contents of its samples, and where its identifiers are
//! data          records: samples, switches, names, forks, lost events
//! features      where each is: the tracepoints' formats, the kernel's release, the clock …
//! ```
//!
//! Source: Linux, tools/perf/Documentation/perf.data-file-format.txt, and perf_event_open(2).

mod about;
mod record;

use hemiola_units::Instant;

use crate::compressed::{LAST_BLOCK, Method};
use crate::error::{Errors, ReadError};
use crate::recording::{Decoded, Decoder, Lane, Learner, Scanned, Single};
use crate::sched::{Tid, What};
use crate::source::Window;
use crate::tracepoint::{Format, Tracepoints};
use crate::track_event::TrackEvents;

use about::{About, MONOTONIC, about};
use record::{HEAD, Record, kind};

pub(crate) use record::Records;

/// The first bytes of a file.
pub(crate) const MAGIC: &[u8] = b"PERFILE2";
/// The first bytes of a file written on a big-endian machine.
pub(crate) const MAGIC_BIG_ENDIAN: &[u8] = b"2ELIFREP";

/// Refuses a file of a big-endian machine.
pub(crate) fn refuse_big_endian() -> Scanned {
    Scanned::refused(unsupported(
        0,
        "perf.data files of big-endian machines are not supported; analyse it there, or record with trace-cmd",
    ))
}

/// Scans a file.
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

/// The name of the condition with the machine's architecture, as uname(2) has it.
pub(crate) const ARCHITECTURE: &str = "architecture";

/// How many bytes of records are decoded at once.
const STRETCH: u64 = 64 << 10;

/// How many bytes of the file are looked at together.
const PIECE: u64 = 256 << 10;

/// The most lanes of overlapping events of one processor: buffers that perf wrote in turns.
const LANES_MAX: usize = 256;

fn scan_records(mut window: Window<'_>, about: About, mut errors: Errors) -> Scanned {
    let by = about.version.as_deref().map_or("perf".into(), |version| format!("perf {version}"));
    let mut conditions = vec![("recorded by".to_owned(), by)];
    conditions.extend(about.release.iter().map(|release| ("kernel".to_owned(), release.clone())));
    conditions.extend(about.architecture.iter().map(|of| (ARCHITECTURE.to_owned(), of.clone())));
    if about.clock != Some(MONOTONIC) {
        let clock = about.clock.map_or("perf's own".into(), |clock| format!("number {clock}"));
        let text = format!(
            "{clock}: its relation to CLOCK_MONOTONIC is unknown; record with -k CLOCK_MONOTONIC to see marks beside it"
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
    let mut records = Records::new(about.layouts, tracepoints, switch_records);

    // Events that may be dropped later are not kept.
    let decoded = (!records.tracepoints.wakes_twice()).then(Decoded::default);
    let mut scan = Scan { errors, decoded, ..Scan::default() };
    let (at, length) = about.data;
    let end = at.saturating_add(length).min(window.size());
    if length != u64::MAX && at.saturating_add(length) > window.size() {
        let reason = "the file ends before its records do";
        scan.errors.push(malformed(window.size(), reason));
    }
    scan.records(&records, &mut window, at, end);
    if !scan.packed.is_empty() {
        // Perf flushes its compressor after each record, but never ends the frame: an empty last block does.
        let mut packed = std::mem::take(&mut scan.packed);
        packed.extend(LAST_BLOCK);
        let (at, result) = window.append(Method::Zstd, &packed);
        if let Err(error) = result {
            scan.errors.push(malformed(0, format!("the compressed records are damaged: {error}")));
        }
        let end = window.size();
        scan.records(&records, &mut window, at, end);
    }
    let Scan { mut lanes, learner, errors, decoded, switches, broken, placed, .. } = scan;
    records.decoded = decoded.unwrap_or_default();
    if learner.lost > placed {
        let text =
            format!("{} events more than at the gaps, at unknown places", learner.lost - placed);
        conditions.push(("lost".into(), text));
    }
    if broken > 0 {
        let text = format!(
            "at least {broken} of {switches} switches are missing, each a gap; without -a, perf leaves out switches to \
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
        track_events: TrackEvents::default(),
        lanes,
        decoder: Decoder::PerfData(records),
        has_gaps: broken > 0 || placed > 0,
        errors,
        appended: window.into_appended(),
    }
}

/// Returns the bytes of the record at an offset, and how many bytes of additional data follow it.
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
    // These two are followed by data that their size does not include.
    let word = |at: usize, length: usize| {
        let bytes = bytes.get(at..at + length).unwrap_or(&[]);
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    };
    let skip = match kind {
        kind::TRACING_DATA => word(HEAD, 4).next_multiple_of(8),
        kind::AUXTRACE => word(HEAD, 8),
        _ => 0,
    };
    Ok((bytes, skip))
}

/// Returns the compressed contents of a record; nothing for other records.
fn packed(record: Record<'_>) -> &[u8] {
    match record.kind {
        kind::COMPRESSED => record.body,
        // The data's size precedes them, because the record is padded.
        kind::COMPRESSED_2 => record.body.split_first_chunk().map_or(&[], |(size, data)| {
            let size = usize::try_from(u64::from_le_bytes(*size)).unwrap_or(usize::MAX);
            data.get(..size).unwrap_or(data)
        }),
        _ => &[],
    }
}

#[derive(Default)]
struct Scan {
    lanes: Vec<Lane>,
    /// Records in order of time, of which those with events are all of one processor.
    run: Option<Run>,
    learner: Learner,
    errors: Errors,
    /// The first events, unless some of them may have to be dropped.
    decoded: Option<Decoded>,
    /// The running thread of each processor; the number of switches, and of those from another thread than that.
    running: Vec<Tid>,
    switches: u64,
    broken: u64,
    /// Lost events that are represented by gaps.
    placed: u64,
    /// The contents of compressed records: one zstd stream.
    packed: Vec<u8>,
}

struct Run {
    cpu: u16,
    offset: u64,
    length: u64,
    first: Instant,
    last: Instant,
}

impl Scan {
    /// Processes the records of a part of the file.
    fn records(&mut self, records: &Records, window: &mut Window<'_>, mut at: u64, end: u64) {
        while at < end {
            let length = (end - at).min(PIECE) as usize;
            let piece = window.get(at, length).unwrap_or(&[]);
            let done = self.whole_records(records, piece, at);
            if done > 0 {
                at += done;
                continue;
            }
            match record_at(window, at, end) {
                Ok((bytes, skip)) => {
                    let length = bytes.len() as u64;
                    if let Some((record, _)) = Record::split(bytes) {
                        self.record(records, record, length, at);
                    }
                    at = at.saturating_add(length).saturating_add(skip);
                    if skip > 0 {
                        self.end_run();
                    }
                }
                Err(error) => {
                    self.errors.push(error);
                    break;
                }
            }
        }
        self.end_run();
    }

    /// Processes the records at the beginning of a piece of the file, up to one that is not whole or has data behind
    /// it. Returns how many bytes they have.
    fn whole_records(&mut self, records: &Records, piece: &[u8], at: u64) -> u64 {
        let mut rest = piece;
        while let Some((record, after)) = Record::split(rest) {
            if matches!(record.kind, kind::TRACING_DATA | kind::AUXTRACE) {
                break;
            }
            let length = (rest.len() - after.len()) as u64;
            let place = at + (piece.len() - rest.len()) as u64;
            self.record(records, record, length, place);
            rest = after;
        }
        (piece.len() - rest.len()) as u64
    }

    /// Processes a record of that length at that offset.
    #[inline]
    fn record(&mut self, records: &Records, record: Record<'_>, length: u64, at: u64) {
        self.packed.extend_from_slice(packed(record));
        let place = records.place(record);
        let cpu = if records.has_events(record) {
            let cpu = place.map(|(place, _)| u16::try_from(place.cpu.unwrap_or(0)));
            let Some(Ok(cpu)) = cpu else { return self.damaged(at) };
            cpu
        } else {
            0
        };
        let mut single = Single { cpu, event: None };
        let learner = &mut self.learner;
        if records.record(record, place, &mut single, &mut |fact| learner.take(fact)).is_none() {
            self.damaged(at);
        }
        let Some((time, what)) = single.event else { return };
        if let What::Lost(lost) = what {
            self.placed += u64::from(lost);
            *self.running(cpu) = Tid::UNKNOWN;
        }
        if let What::Switch { prev, next, .. } = what {
            let before = std::mem::replace(self.running(cpu), next);
            self.switches += 1;
            self.broken +=
                u64::from(![prev, Tid::UNKNOWN].contains(&before) && prev != Tid::UNKNOWN);
        }
        match &mut self.run {
            Some(run)
                // Records without events may stand in between.
                if run.cpu == cpu
                    && run.last <= time
                    && at + length - run.offset <= STRETCH =>
            {
                run.length = at + length - run.offset;
                run.last = time;
            }
            _ => {
                self.end_run();
                self.run = Some(Run { cpu, offset: at, length, first: time, last: time });
                if let Some(decoded) = &mut self.decoded {
                    decoded.begin(at, time);
                }
            }
        }
        if let Some(decoded) = &mut self.decoded {
            decoded.push(time, what);
        }
    }

    fn running(&mut self, cpu: u16) -> &mut Tid {
        let cpu = usize::from(cpu);
        if cpu >= self.running.len() {
            self.running.resize(cpu + 1, Tid::UNKNOWN);
        }
        &mut self.running[cpu]
    }

    /// The record at that offset cannot be decoded; its processor is unknown.
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
