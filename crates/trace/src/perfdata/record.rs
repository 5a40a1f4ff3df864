//! The records of `perf.data`: where they contain time, processor and thread.

use crate::recording::{Decoded, Fact, Process, Sink, Stream};
use crate::sched::{Left, PRIORITY_UNKNOWN, Tid, What};
use crate::tracepoint::Tracepoints;

use hemiola_units::Instant;

/// Types of records (perf_event_open(2), `enum perf_event_type`).
pub(super) mod kind {
    pub(in super::super) const LOST: u32 = 2;
    pub(in super::super) const COMM: u32 = 3;
    pub(in super::super) const FORK: u32 = 7;
    pub(in super::super) const SAMPLE: u32 = 9;
    pub(in super::super) const LOST_SAMPLES: u32 = 13;
    pub(in super::super) const SWITCH: u32 = 14;
    pub(in super::super) const SWITCH_CPU_WIDE: u32 = 15;
    // Perf's own, only in its files.
    pub(in super::super) const HEADER_ATTR: u32 = 64;
    pub(in super::super) const TRACING_DATA: u32 = 66;
    pub(in super::super) const AUXTRACE: u32 = 71;
    pub(in super::super) const HEADER_FEATURE: u32 = 80;
    pub(in super::super) const COMPRESSED: u32 = 81;
    pub(in super::super) const COMPRESSED_2: u32 = 83;
}

/// `misc` of a switch: the thread leaves; and: it would have continued.
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

// Bits of `sample_type`.
const IP: u64 = 1;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const IDENTIFIER: u64 = 1 << 16;

/// The layout of an event's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Layout {
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
}

/// The common fields of a record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    tid: u32,
    time: Option<u64>,
    pub(super) cpu: Option<u32>,
}

/// Where a layout has the fields of a sample, if no field before them varies in length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offsets {
    tid: Option<usize>,
    time: Option<usize>,
    cpu: Option<usize>,
    raw: Option<usize>,
    /// The length of the fields before the raw data.
    fixed: usize,
}

/// A record: its type, its `misc` and its body.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) kind: u32,
    pub(super) misc: u16,
    pub(super) body: &'a [u8],
}

/// The length of a record's header.
pub(super) const HEAD: usize = 8;

impl<'a> Record<'a> {
    /// Splits off the first record.
    pub(super) fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, _) = bytes.split_first_chunk::<HEAD>()?;
        let (kind, misc, size) = Self::head(*head);
        let (record, rest) = bytes.split_at_checked(size)?;
        Some((Self { kind, misc, body: record.get(HEAD..)? }, rest))
    }

    /// Returns type, `misc` and the size of the whole record.
    pub(super) fn head(head: [u8; HEAD]) -> (u32, u16, usize) {
        let [a, b, c, d, e, f, g, h] = head;
        let size = u16::from_le_bytes([g, h]);
        (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]), size.into())
    }
}

/// Reads numbers one after the other.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn u32(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*word))
    }

    fn u64(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn skip(&mut self, words: u64) -> Option<()> {
        let bytes = usize::try_from(words.checked_mul(8)?).ok()?;
        self.0 = self.0.get(bytes..)?;
        Some(())
    }
}

impl Layout {
    pub(super) const fn has_time(self) -> bool {
        self.sample_type & TIME != 0
    }

    pub(super) const fn has_cpu(self) -> bool {
        self.sample_type & CPU != 0
    }

    pub(super) const fn has_identifier(self) -> bool {
        self.sample_type & IDENTIFIER != 0
    }

    /// Returns the places of the fields of a sample, if all of them are at fixed ones.
    fn offsets(self) -> Option<Offsets> {
        let has = |bit| self.sample_type & bit != 0;
        if has(READ) || has(CALLCHAIN) {
            return None;
        }
        let mut at = 0;
        let mut place = |bit, length| {
            let found = has(bit).then_some(at);
            at += if found.is_some() { length } else { 0 };
            found
        };
        for bit in [IDENTIFIER, IP] {
            place(bit, 8);
        }
        let (tid, time) = (place(TID, 8).map(|at| at + 4), place(TIME, 8));
        for bit in [ADDR, ID, STREAM_ID] {
            place(bit, 8);
        }
        let cpu = place(CPU, 8);
        place(PERIOD, 8);
        Some(Offsets { tid, time, cpu, raw: place(RAW, 4), fixed: at })
    }

    /// Returns the common fields of a sample, and its raw data.
    fn sample(self, body: &[u8]) -> Option<(Place, &[u8])> {
        let has = |bit| self.sample_type & bit != 0;
        let mut words = Words(body);
        let mut place = Place::default();
        words.skip(u64::from(has(IDENTIFIER)) + u64::from(has(IP)))?;
        if has(TID) {
            words.u32()?;
            place.tid = words.u32()?;
        }
        if has(TIME) {
            place.time = Some(words.u64()?);
        }
        words.skip([ADDR, ID, STREAM_ID].into_iter().filter(|&bit| has(bit)).count() as u64)?;
        if has(CPU) {
            place.cpu = Some(words.u32()?);
            words.u32()?;
        }
        words.skip(u64::from(has(PERIOD)))?;
        if has(READ) {
            self.skip_read(&mut words)?;
        }
        if has(CALLCHAIN) {
            let count = words.u64()?;
            words.skip(count)?;
        }
        if !has(RAW) {
            return Some((place, &[]));
        }
        let size = words.u32()? as usize;
        Some((place, words.0.get(..size)?))
    }

    /// Skips the values of counters (`read_format`).
    fn skip_read(self, words: &mut Words<'_>) -> Option<()> {
        // The times enabled and running, then for each value itself, its identifier and its losses.
        let times = u64::from((self.read_format & 3).count_ones());
        let each = 1 + u64::from((self.read_format & 0b1_0100).count_ones());
        let count = if self.read_format & 8 != 0 { words.u64()? } else { 1 };
        words.skip(times.checked_add(count.checked_mul(each)?)?)
    }

    /// Returns the common fields at the end of a record that is not a sample.
    fn tail(self, body: &[u8]) -> Option<Place> {
        let has = |bit| self.sample_type & bit != 0;
        let fields = [TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER];
        let length = 8 * fields.into_iter().filter(|&bit| has(bit)).count();
        let mut words = Words(body.get(body.len().checked_sub(length)?..)?);
        let mut place = Place::default();
        if has(TID) {
            words.u32()?;
            place.tid = words.u32()?;
        }
        if has(TIME) {
            place.time = Some(words.u64()?);
        }
        words.skip(u64::from(has(ID)) + u64::from(has(STREAM_ID)))?;
        if has(CPU) {
            place.cpu = Some(words.u32()?);
        }
        Some(place)
    }
}

impl Offsets {
    /// As [`Layout::sample`], without looking at each bit of the layout.
    #[inline]
    fn sample<'b>(&self, body: &'b [u8]) -> Option<(Place, &'b [u8])> {
        let (fixed, rest) = body.split_at_checked(self.fixed)?;
        let small = |at: usize| {
            let bytes = fixed.get(at..)?.first_chunk()?;
            Some(u32::from_le_bytes(*bytes))
        };
        let word = |at: usize| {
            let bytes = fixed.get(at..)?.first_chunk()?;
            Some(u64::from_le_bytes(*bytes))
        };
        let place = Place {
            tid: self.tid.and_then(small).unwrap_or(0),
            time: self.time.and_then(word),
            cpu: self.cpu.and_then(small),
        };
        let Some(raw) = self.raw else { return Some((place, &[])) };
        Some((place, rest.get(..small(raw)? as usize)?))
    }
}

/// The layout of the records of one identifier.
#[derive(Clone, Copy, Debug)]
struct Identified {
    id: u64,
    layout: Layout,
    /// Of its samples, if their fields are at fixed places.
    offsets: Option<Offsets>,
}

/// The description needed to read the records of a file.
#[derive(Debug)]
pub(crate) struct Records {
    /// By identifier, ascending; the first is used for records without one.
    layouts: Vec<Identified>,
    pub(super) tracepoints: Tracepoints,
    /// Whether switches are reported by their own records, because the tracepoint is missing.
    pub(super) switch_records: bool,
    /// Events that need not be decoded again.
    pub(crate) decoded: Decoded,
}

impl Records {
    /// Creates a reader of records with these layouts, by identifier, ascending.
    pub(super) fn new(
        layouts: Vec<(u64, Layout)>,
        tracepoints: Tracepoints,
        switch_records: bool,
    ) -> Self {
        let identified = |(id, layout): (u64, Layout)| {
            let offsets = layout.offsets();
            Identified { id, layout, offsets }
        };
        let layouts = layouts.into_iter().map(identified).collect();
        Self { layouts, tracepoints, switch_records, decoded: Decoded::default() }
    }

    /// Appends the events of records.
    pub(crate) fn decode(&self, mut bytes: &[u8], stream: &mut Stream) {
        while let Some((record, rest)) = Record::split(bytes) {
            self.record(record, self.place(record), stream, &mut |_| ());
            bytes = rest;
        }
    }

    /// Appends the events of the stretch at that place of the file, if the scan has kept them.
    pub(crate) fn recall(&self, offset: u64, stream: &mut Stream) -> bool {
        let Some(events) = self.decoded.of(offset) else { return false };
        for (at, what) in events {
            if let What::Switch { prev, .. } = what
                && self.tracepoints.in_turn
            {
                stream.follows(at, prev);
            }
            stream.push(at, what);
        }
        true
    }

    /// Returns the common fields of a record and its body; `None` if it is too short or of an unknown layout.
    #[inline]
    pub(super) fn place<'a>(&self, record: Record<'a>) -> Option<(Place, &'a [u8])> {
        let body = record.body;
        let of = self.identified(record)?;
        match (record.kind, &of.offsets) {
            (kind::SAMPLE, Some(offsets)) => offsets.sample(body),
            (kind::SAMPLE, None) => of.layout.sample(body),
            _ => Some((of.layout.tail(body)?, body)),
        }
    }

    /// Returns the layout of a record.
    #[inline]
    fn identified(&self, record: Record<'_>) -> Option<&Identified> {
        let (first, body) = (self.layouts.first()?, record.body);
        if !first.layout.has_identifier() {
            return Some(first);
        }
        // The first word of a sample, the last one of all other records.
        let at = if record.kind == kind::SAMPLE { 0 } else { body.len().checked_sub(8)? };
        let id = u64::from_le_bytes(*body.get(at..)?.first_chunk()?);
        // The kernel counts identifiers, so those of one recording mostly follow one another.
        let near = usize::try_from(id.wrapping_sub(first.id)).ok();
        match near.and_then(|near| self.layouts.get(near)).filter(|near| near.id == id) {
            Some(near) => Some(near),
            None => Some(self.search(id).unwrap_or(first)),
        }
    }

    /// Searches for an identifier. Records that perf makes itself have none.
    fn search(&self, id: u64) -> Option<&Identified> {
        let found = self.layouts.binary_search_by_key(&id, |of| of.id);
        found.ok().map(|found| &self.layouts[found])
    }

    /// Whether such a record can have events.
    #[inline]
    pub(super) fn has_events(&self, record: Record<'_>) -> bool {
        match record.kind {
            kind::SAMPLE | kind::LOST | kind::LOST_SAMPLES => true,
            kind::SWITCH | kind::SWITCH_CPU_WIDE => self.switch_records,
            _ => false,
        }
    }

    /// Processes a record at its place.
    #[inline]
    pub(super) fn record<'a>(
        &self,
        record: Record<'a>,
        place: Option<(Place, &'a [u8])>,
        sink: &mut impl Sink,
        fact: &mut impl FnMut(Fact<'_>),
    ) -> Option<()> {
        let mut words = Words(record.body);
        match record.kind {
            kind::SAMPLE => {
                let (place, raw) = place?;
                self.tracepoints.record(raw, place.time?, sink, fact);
            }
            kind::LOST | kind::LOST_SAMPLES => {
                let (place, _) = place?;
                words.skip(u64::from(record.kind == kind::LOST))?;
                let lost = words.u64()?;
                match place.time? {
                    // At the end, perf itself reports the total.
                    0 => fact(Fact::Lost(lost)),
                    time => {
                        let lost = u32::try_from(lost).unwrap_or(u32::MAX);
                        sink.push(Instant::from_nanos(time), What::Lost(lost));
                    }
                }
            }
            kind::COMM => {
                let (place, _) = place?;
                let (pid, tid) = (words.u32()?, words.u32()?);
                fact(Fact::Member(place.time.unwrap_or(0), Tid(tid), pid, until_zero(words.0)));
            }
            kind::FORK => {
                let (pid, _, tid, maker) = (words.u32()?, words.u32()?, words.u32()?, words.u32()?);
                fact(match words.u64()? {
                    // Perf reports what it found at its start in this way.
                    0 => Fact::Member(0, Tid(tid), pid, &[]),
                    time => Fact::Began(time, Tid(tid), Process::Number(pid, Tid(maker)), &[]),
                });
            }
            kind::SWITCH | kind::SWITCH_CPU_WIDE if self.switch_records => {
                let (place, _) = place?;
                let other = match record.kind {
                    kind::SWITCH => Tid::UNKNOWN,
                    _ => {
                        words.u32()?;
                        Tid(words.u32()?)
                    }
                };
                let this = Tid(place.tid);
                let left = match record.misc & (SWITCH_OUT | SWITCH_OUT_PREEMPT) {
                    SWITCH_OUT => Left::Sleeping,
                    0 => Left::Unknown,
                    _ => Left::Preempted,
                };
                let (prev, next) = match record.misc & SWITCH_OUT {
                    0 if record.kind == kind::SWITCH_CPU_WIDE => return Some(()),
                    0 => (other, this),
                    _ => (this, other),
                };
                let at = Instant::from_nanos(place.time?);
                if self.tracepoints.in_turn {
                    sink.follows(at, prev);
                }
                sink.push(at, What::Switch { prev, left, next, priority: PRIORITY_UNKNOWN });
            }
            _ => {}
        }
        Some(())
    }
}

/// Returns the bytes up to the first zero.
fn until_zero(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_at_fixed_places_are_those_that_are_found_bit_by_bit(
            bits in prop::collection::vec(any::<bool>(), 12),
            body in prop::collection::vec(0_u8..40, 0..120),
        ) {
            let all = [IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, IDENTIFIER];
            let chosen = all.into_iter().zip(&bits).filter(|(_, has)| **has);
            let sample_type = chosen.fold(0, |bits, (bit, _)| bits | bit);
            let layout = Layout { sample_type, read_format: 0 };
            let show = |found: Option<(Place, &[u8])>| format!("{found:?}");
            match layout.offsets() {
                Some(offsets) => prop_assert_eq!(show(offsets.sample(&body)), show(layout.sample(&body))),
                None => prop_assert!(sample_type & (READ | CALLCHAIN) != 0),
            }
        }
    }
}
