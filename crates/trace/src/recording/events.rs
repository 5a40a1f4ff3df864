//! The kernel's events of all processors, merged by time while they are decoded.

use std::slice;

use hemiola_units::Instant;

use crate::error::{Errors, ReadError};
use crate::perfdata::Records;
use crate::perfetto::kernel::Bundles;
use crate::sched::{Context, Event, Left, Tid, What};
use crate::source::ByteSource;
use crate::tracedat::Pages;

/// The kernel's events in a file: where those of each processor are, and how they are decoded.
pub(crate) struct Index {
    pub(crate) source: std::sync::Arc<dyn ByteSource>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) decoder: Decoder,
}

/// Where one processor's events are.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) cpu: u16,
    /// In order of time.
    pub(crate) stretches: Vec<Stretch>,
}

/// Bytes of a file that are events of one processor; none: a gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// The moments of its first and its last event, on the file's own clock.
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

    /// Adds bytes whose first and last event are at these moments.
    pub(crate) fn push(&mut self, offset: u64, length: u32, first: Instant, last: Instant) {
        self.stretches.push(Stretch { offset, length, first, last });
    }

    /// The moment of the last event.
    pub(crate) fn end(&self) -> Instant {
        self.stretches.last().map_or(Instant::ZERO, |stretch| stretch.last)
    }

    /// Something of this processor, at that place of the file, cannot be understood.
    pub(crate) fn gap(&mut self, offset: u64) {
        if let Some(&Stretch { last, length: 1.., .. }) = self.stretches.last() {
            self.stretches.push(Stretch { offset, length: 0, first: last, last });
        }
    }

    /// Puts the stretches in order of time, and says where they overlap: there the clock stepped back.
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

/// How events are decoded.
pub(crate) enum Decoder {
    Nothing,
    Perfetto(Bundles),
    TraceDat(Pages),
    PerfData(Records),
}

impl Decoder {
    /// Adds the events in these bytes, which were looked through once when the file was opened.
    fn decode(&self, bytes: &[u8], stream: &mut Stream) {
        match self {
            Self::Nothing => {}
            Self::Perfetto(bundles) => bundles.decode(bytes, stream),
            Self::TraceDat(pages) => pages.decode(bytes, stream),
            Self::PerfData(records) => records.decode(bytes, stream),
        }
    }
}

/// One processor's events as they are decoded, kept in order.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) cpu: u16,
    /// Who runs, as far as is known.
    pub(crate) running: Tid,
    pub(crate) events: Vec<Event>,
    last: Instant,
    /// Events left out because the clock had stepped back before them.
    left_out: u32,
    /// By how much the clock stepped back, at most.
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

    /// Whether an event at that moment can be taken; one that cannot counts as lost.
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

    /// Begins anew, for another processor.
    pub(crate) fn begin(&mut self, cpu: u16) {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        *self = Self { events, ..Self::new(cpu) };
    }

    /// By how much the clock stepped back at most since this was asked last.
    pub(crate) fn stepped_back(&mut self) -> Option<u64> {
        let back_ns = std::mem::take(&mut self.back_ns);
        (back_ns > 0).then_some(back_ns)
    }

    /// Something is missing here, and nobody can say how much.
    pub(crate) fn gap(&mut self) {
        self.push(self.last, What::Lost(0));
    }

    /// A switch from that thread comes next: if another one runs, something is missing before it.
    #[inline]
    pub(crate) fn follows(&mut self, at: Instant, prev: Tid) {
        if prev != self.running && ![prev, self.running].contains(&Tid::UNKNOWN) {
            self.push(at, What::Lost(0));
        }
    }

    /// Takes in an event that tells everything.
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, what: What) {
        if self.admit(at) {
            match what {
                What::Switch { next, .. } => self.running = next,
                What::Lost(_) | What::Online(_) => self.running = Tid::UNKNOWN,
                _ => {}
            }
            self.events.push(Event { at, cpu: self.cpu, what });
        }
    }

    /// Takes in a switch of which only the next thread is told.
    #[inline]
    pub(crate) fn switch(&mut self, at: Instant, left: Left, next: Tid, priority: i16) {
        if self.admit(at) {
            let what = What::Switch { prev: self.running, left, next, priority };
            self.running = next;
            self.events.push(Event { at, cpu: self.cpu, what });
        }
    }

    /// Takes in a wake-up done by whoever runs.
    #[inline]
    pub(crate) fn wake(&mut self, at: Instant, tid: Tid, context: Context, target: u16) {
        if self.admit(at) {
            let what = What::Wake { tid, waker: self.running, context, target };
            self.events.push(Event { at, cpu: self.cpu, what });
        }
    }
}

/// Every event of the kernel, in order of time.
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

/// The processors' events merged: one of them is read until another's come first.
struct Merge<'a> {
    index: &'a Index,
    cursors: Vec<Cursor<'a>>,
    /// The one that is read.
    now: usize,
    /// Until which moment it may be.
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

    /// Finds the processor whose event is the earliest, and until when it stays so.
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

/// One processor's place in its events.
struct Cursor<'a> {
    lane: &'a Lane,
    /// How many stretches were decoded.
    at: usize,
    bytes: Vec<u8>,
    stream: Stream,
    /// How many of the decoded events were given out.
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
            self.bytes.resize(stretch.length as usize, 0);
            match index.source.read_exact_at(&mut self.bytes, stretch.offset) {
                Ok(()) => index.decoder.decode(&self.bytes, &mut self.stream),
                Err(_) => self.stream.gap(),
            }
        }
    }
}
