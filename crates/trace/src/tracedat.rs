//! Recordings of `trace-cmd record`: the file `trace.dat`, versions 6 and 7, which may be compressed.
//!
//! ```text
//! 17 08 44 "tracing" version 0 · byte order · size of a word · size of a page
//! version 6   descriptions of pages and events, symbols, names of threads, options, then where each processor's
//!             pages are
//! version 7   compression, where the options are; they contain the places of all else
//! pages       of the kernel's ring buffers, unchanged
//! ```
//!
//! Sections of a compressed file, and chunks of its pages, are decompressed one by one and appended to the window.
//!
//! Source: trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5).

mod about;
mod page;

use crate::error::{Errors, ReadError};
use crate::recording::{Decoder, Lane, Learner, Scanned, Stream};
use crate::sched::Tid;
use crate::source::Window;
use crate::tracepoint::{Format, Tracepoints};
use crate::track_event::TrackEvents;

use about::{About, Data, about};

pub(crate) use page::Pages;

/// The first bytes of a file.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Scans a file.
pub(crate) fn scan(mut window: Window<'_>) -> Scanned {
    match about(&mut window) {
        Ok(about) => scan_pages(window, about),
        Err(error) => Scanned::refused(error),
    }
}

fn unsupported(offset: u64, what: impl Into<String>) -> ReadError {
    ReadError::Unsupported { offset: offset as usize, what: what.into() }
}

/// How many pages are decoded at once.
const STRETCH_PAGES: u64 = 16;

fn scan_pages(mut window: Window<'_>, about: About) -> Scanned {
    let mut errors = Errors::default();
    let mut conditions = vec![("recorded by".to_owned(), recorder(&about))];
    match about.clock.as_deref() {
        None | Some("mono") => {}
        Some(clock @ ("x86-tsc" | "counter" | "uptime" | "ppc-tb" | "s390-tod")) => {
            let what = format!("times on the clock `{clock}` are not in nanoseconds; record with -C mono");
            return Scanned::refused(unsupported(0, what));
        }
        Some(clock) => conditions.push((
            "kernel clock".into(),
            format!(
                "`{clock}`: its relation to CLOCK_MONOTONIC is unknown; record with -C mono to see marks beside it"
            ),
        )),
    }
    if about.instances > 0 {
        let text = format!("the file contains {} more instances of the tracer", about.instances);
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
            let damaged = pages.each(bytes, &mut stream, &mut |fact| learner.take(fact));
            if damaged > 0 {
                let reason =
                    format!("{damaged} pages of processor {cpu} are damaged and replaced by gaps");
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
        track_events: TrackEvents::default(),
        lanes,
        decoder: Decoder::TraceDat(pages),
        has_gaps: false,
        errors,
        appended: window.into_appended(),
    }
}

fn recorder(about: &About) -> String {
    match about.version.as_deref().and_then(|version| version.split_whitespace().next()) {
        Some(version) => format!("trace-cmd {version}"),
        None => "trace-cmd".into(),
    }
}
