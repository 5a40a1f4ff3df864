//! The kernel's events of all processors, merged by time while they are decoded.

use std::slice;

use hemiola_units::Instant;

use crate::error::{Errors, ReadError};
use crate::perfdata::Records;
use crate::perfetto::kernel::Bundles;
use crate::sched::{Context, Event, Left, Tid, What};
use crate::source::ByteSource;
use crate::tracedat::Pages;

/// The kernel's events in a file: where those of each processor are, and how to decode them.
pub(crate) struct Index {
    pub(crate) source: std::sync::Arc<dyn ByteSource>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) decoder: Decoder,
    /// The scan found gaps.
    pub(crate) has_gaps: bool,
}

/// The places of one processor's events.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) cpu: u16,
    /// In order of time.
    pub(crate) stretches: Vec<Stretch>,
}

/// Bytes of a file that contain events of one processor; with length 0, a gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// The times of its first and its last event, on the file's own clock.
    pub(crate) first: Instant,
    pub(crate) last: Instant,
}

impl Lane {
    pub(crate) const fn new(cpu: u16) -> Self {
        Self { cpu, stretches: Vec::new() }
    }

    /// Adds the bytes whose events are in the stream, if there are any.
    pub(crate) fn add(&mut self, offset: u64, length: usize, stream: &Stream) {
        if let ([first, ..], [.., last]) = (&stream.events[..], &stream.events[..]) {
            self.push(offset, length as u32, first.at, last.at);
        }
    }

    /// Adds bytes whose first and last event have these times.
    pub(crate) fn push(&mut self, offset: u64, length: u32, first: Instant, last: Instant) {
        self.stretches.push(Stretch { offset, length, first, last });
    }

    /// Returns the time of the last event.
    pub(crate) fn end(&self) -> Instant {
        self.stretches.last().map_or(Instant::ZERO, |stretch| stretch.last)
    }

    /// Adds a gap at a place of the file where events of this processor cannot be decoded.
    pub(crate) fn gap(&mut self, offset: u64) {
        if let Some(&Stretch { last, length: 1.., .. }) = self.stretches.last() {
            self.stretches.push(Stretch { offset, length: 0, first: last, last });
        }
    }

    /// Sorts the stretches by time, and reports overlaps, where the clock stepped back.
    pub(crate) fn sort(&mut self, errors: &mut Errors) {
        self.stretches.sort_by_key(|stretch| stretch.first);
        let mut last = Instant::ZERO;
        for stretch in &self.stretches {
            if stretch.first < last {
                let back_ns = last.nanos() - stretch.first.nanos();
                let offset = stretch.offset as usize;
                errors.push(ReadError::ClockStep { cpu: self.cpu, offset, back_ns });
            }
            last = last.max(stretch.last);
        }
    }
}

/// How to decode events.
pub(crate) enum Decoder {
    Nothing,
    Perfetto(Bundles),
    TraceDat(Pages),
    PerfData(Records),
}

impl Decoder {
    /// Appends the events of the stretch at that place of the file, if they were kept when it was scanned.
    fn recall(&self, offset: u64, stream: &mut Stream) -> bool {
        match self {
            Self::PerfData(records) => records.recall(offset, stream),
            _ => false,
        }
    }

    /// Appends the events in these bytes, which were scanned when the file was opened.
    fn decode(&self, bytes: &[u8], stream: &mut Stream) {
        match self {
            Self::Nothing => {}
            Self::Perfetto(bundles) => bundles.decode(bytes, stream),
            Self::TraceDat(pages) => pages.decode(bytes, stream),
            Self::PerfData(records) => records.decode(bytes, stream),
        }
    }
}

/// Takes the events of one processor as they are decoded.
pub(crate) trait Sink {
    /// The processor.
    fn cpu(&self) -> u16;

    /// Adds a gap if another thread than the one of the next switch is running.
    fn follows(&mut self, at: Instant, prev: Tid);

    /// Adds a complete event.
    fn push(&mut self, at: Instant, what: What);
}

/// The event of one record, seen alone.
#[derive(Debug)]
pub(crate) struct Single {
    pub(crate) cpu: u16,
    pub(crate) event: Option<(Instant, What)>,
}

impl Sink for Single {
    #[inline]
    fn cpu(&self) -> u16 {
        self.cpu
    }

    /// Nothing is known of what comes before.
    #[inline]
    fn follows(&mut self, _: Instant, _: Tid) {}

    #[inline]
    fn push(&mut self, at: Instant, what: What) {
        self.event = Some((at, what));
    }
}

/// The events of one processor during decoding, kept in order.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) cpu: u16,
    /// The running thread, as far as known.
    pub(crate) running: Tid,
    pub(crate) events: Vec<Event>,
    last: Instant,
    /// Events skipped because the clock had stepped back.
    left_out: u32,
    /// The largest step back of the clock.
    back_ns: u64,
}

impl Stream {
    pub(crate) const fn new(cpu: u16) -> Self {
        Self {
            cpu,
            running: Tid::UNKNOWN,
            events: Vec::new(),
            last: Instant::ZERO,
            left_out: 0,
            back_ns: 0,
        }
    }

    /// Whether an event at that time can be accepted; otherwise it counts as lost.
    #[inline]
    fn admit(&mut self, at: Instant) -> bool {
        if at < self.last {
            self.left_out = self.left_out.saturating_add(1);
            self.back_ns = self.back_ns.max(self.last.nanos() - at.nanos());
            return false;
        }
        if self.left_out > 0 {
            let what = What::Lost(std::mem::take(&mut self.left_out));
            self.running = Tid::UNKNOWN;
            self.events.push(Event { at, cpu: self.cpu, what });
        }
        self.last = at;
        true
    }

    /// Returns the largest step back of the clock since the last call.
    pub(crate) fn stepped_back(&mut self) -> Option<u64> {
        let back_ns = std::mem::take(&mut self.back_ns);
        (back_ns > 0).then_some(back_ns)
    }

    /// Adds a gap of unknown size.
    pub(crate) fn gap(&mut self) {
        self.push(self.last, What::Lost(0));
    }

    /// Adds a switch of which only the next thread is known.
    #[inline]
    pub(crate) fn switch(&mut self, at: Instant, left: Left, next: Tid, priority: i16) {
        if self.admit(at) {
            let what = What::Switch { prev: self.running, left, next, priority };
            self.running = next;
            self.events.push(Event { at, cpu: self.cpu, what });
        }
    }

    /// Adds a wake-up by the running thread.
    #[inline]
    pub(crate) fn wake(&mut self, at: Instant, tid: Tid, context: Context, target: u16) {
        if self.admit(at) {
            let what = What::Wake { tid, waker: self.running, context, target };
            self.events.push(Event { at, cpu: self.cpu, what });
        }
    }
}

impl Sink for Stream {
    #[inline]
    fn cpu(&self) -> u16 {
        self.cpu
    }

    #[inline]
    fn follows(&mut self, at: Instant, prev: Tid) {
        if prev != self.running && ![prev, self.running].contains(&Tid::UNKNOWN) {
            self.push(at, What::Lost(0));
        }
    }

    #[inline]
    fn push(&mut self, at: Instant, what: What) {
        if self.admit(at) {
            match what {
                What::Switch { next, .. } => self.running = next,
                What::Lost(_) | What::Online(_) => self.running = Tid::UNKNOWN,
                _ => {}
            }
            self.events.push(Event { at, cpu: self.cpu, what });
        }
    }
}

/// Iterates over every event of the kernel, in order of time.
pub struct Events<'a>(Way<'a>);

enum Way<'a> {
    Here(slice::Iter<'a, Event>),
    File(Merge<'a>),
}

impl<'a> Events<'a> {
    pub(super) fn here(events: &'a [Event]) -> Self {
        Self(Way::Here(events.iter()))
    }

    pub(super) fn file(index: &'a Index) -> Self {
        let cursors = index.lanes.iter().map(|lane| Cursor {
            lane,
            at: 0,
            bytes: Vec::new(),
            stream: Stream::new(lane.cpu),
            next: 0,
        });
        let mut cursors: Vec<Cursor<'_>> = cursors.collect();
        for cursor in &mut cursors {
            cursor.fill(index);
        }
        let mut merge = Merge { index, cursors, now: 0, until: Instant::ZERO };
        merge.choose();
        Self(Way::File(merge))
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        match &mut self.0 {
            Way::Here(events) => events.next().copied(),
            Way::File(merge) => merge.next(),
        }
    }
}

/// The processors' events merged: one processor is read until another has an earlier event.
struct Merge<'a> {
    index: &'a Index,
    cursors: Vec<Cursor<'a>>,
    /// The processor being read.
    now: usize,
    /// The time up to which it may be read.
    until: Instant,
}

impl Merge<'_> {
    #[inline]
    fn next(&mut self) -> Option<Event> {
        loop {
            let cursor = self.cursors.get_mut(self.now)?;
            match cursor.stream.events.get(cursor.next) {
                Some(&event) if event.at <= self.until => {
                    cursor.next += 1;
                    if cursor.next == cursor.stream.events.len() {
                        cursor.fill(self.index);
                        if cursor.next == cursor.stream.events.len() {
                            self.choose();
                        }
                    }
                    return Some(event);
                }
                Some(_) => self.choose(),
                None => return None,
            }
        }
    }

    /// Finds the processor with the earliest event, and until when it remains the earliest.
    fn choose(&mut self) {
        let mut first = (Instant::MAX, usize::MAX);
        let mut second = Instant::MAX;
        for (index, cursor) in self.cursors.iter().enumerate() {
            let Some(event) = cursor.stream.events.get(cursor.next) else { continue };
            if event.at < first.0 || first.1 == usize::MAX {
                second = first.0;
                first = (event.at, index);
            } else {
                second = second.min(event.at);
            }
        }
        (self.now, self.until) = (first.1, second);
    }
}

/// The position in one processor's events.
struct Cursor<'a> {
    lane: &'a Lane,
    /// The number of decoded stretches.
    at: usize,
    bytes: Vec<u8>,
    stream: Stream,
    /// The number of decoded events already returned.
    next: usize,
}

impl Cursor<'_> {
    /// Decodes the next stretch that has an event.
    fn fill(&mut self, index: &Index) {
        self.stream.events.clear();
        self.next = 0;
        while self.stream.events.is_empty() {
            let Some(stretch) = self.lane.stretches.get(self.at) else { return };
            self.at += 1;
            if stretch.length == 0 {
                self.stream.gap();
                continue;
            }
            if index.decoder.recall(stretch.offset, &mut self.stream) {
                continue;
            }
            self.bytes.resize(stretch.length as usize, 0);
            match index.source.read_exact_at(&mut self.bytes, stretch.offset) {
                Ok(()) => index.decoder.decode(&self.bytes, &mut self.stream),
                Err(_) => self.stream.gap(),
            }
        }
    }
}
