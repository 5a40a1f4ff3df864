//! Decodes a page of the kernel's ring buffer into its records.
//!
//! ```text
//! 8 bytes         time of the page
//! 4 or 8 bytes    bytes used · bit 30: the number of lost events follows the records · bit 31: some were lost
//! records         bits 0..5 of the first word: length in words, or
//!                   0   the length is in the next word
//!                   29  padding
//!                   30  27 and 32 bits of time to add
//!                   31  27 and 32 bits of time, absolute
//!                 bits 5..32: nanoseconds since the previous record (big-endian machines count from the other end)
//! ```
//!
//! Source: Linux, include/linux/ring_buffer.h and kernel/trace/ring_buffer.c.

use hemiola_units::Instant;

use crate::recording::{Fact, Sink, Stream};
use crate::sched::What;
use crate::tracepoint::{PageLayout, Tracepoints};

/// The bits of the word that contain the bytes used.
const USED: u64 = (1 << 27) - 1;
const LOST: u64 = 1 << 31;
const LOST_COUNTED: u64 = 1 << 30;

/// The description needed to read the pages of a file.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(super) tracepoints: Tracepoints,
    pub(super) layout: PageLayout,
    pub(super) page_size: usize,
    /// The number to add to every time.
    pub(super) add: u64,
}

impl Pages {
    /// Appends the events of whole pages.
    pub(crate) fn decode(&self, bytes: &[u8], stream: &mut Stream) {
        self.each(bytes, stream, &mut |_| ());
    }

    /// Like [`Pages::decode`], and reports other facts; returns the number of invalid pages.
    pub(super) fn each(
        &self,
        bytes: &[u8],
        stream: &mut Stream,
        fact: &mut impl FnMut(Fact<'_>),
    ) -> usize {
        let pages = bytes.chunks_exact(self.page_size);
        let damaged = pages.filter(|page| {
            let damaged = self.page(page, stream, fact).is_none();
            if damaged {
                stream.gap();
            }
            damaged
        });
        damaged.count()
    }

    fn page(
        &self,
        page: &[u8],
        stream: &mut Stream,
        fact: &mut impl FnMut(Fact<'_>),
    ) -> Option<()> {
        let mut time = self.number(page.get(..8)?);
        let word = self.number(page.get(8..8 + self.layout.word)?);
        let used = (word & USED) as usize;
        let records = page.get(self.layout.data..)?;
        let (mut rest, behind) = records.split_at_checked(used)?;
        if word & LOST != 0 {
            let counted = behind.get(..self.layout.word).filter(|_| word & LOST_COUNTED != 0);
            let lost = counted.map_or(0, |count| self.number(count));
            let lost = u32::try_from(lost).unwrap_or(u32::MAX);
            stream.push(Instant::from_nanos(time.wrapping_add(self.add)), What::Lost(lost));
        }
        let page_time = time;
        while let Some((head, after)) = rest.split_first_chunk::<4>() {
            let head = self.number(head);
            let (kind, step) = match self.tracepoints.big_endian {
                false => (head & 0x1F, head >> 5),
                true => (head >> 27, head & 0x7FF_FFFF),
            };
            let next_word = |bytes: &[u8]| bytes.get(..4).map(|bytes| self.number(bytes));
            let length = match kind {
                0 => {
                    time = time.wrapping_add(step);
                    let length = (next_word(after)? as usize).checked_sub(4)?;
                    let record = after.get(4..)?.get(..length)?;
                    self.tracepoints.record(record, time.wrapping_add(self.add), stream, fact);
                    4 + length.next_multiple_of(4)
                }
                // Padding without a time extends to the end of the page.
                29 if step == 0 => return Some(()),
                29 => {
                    time = time.wrapping_add(step);
                    next_word(after)? as usize
                }
                30 => {
                    time = time.wrapping_add(next_word(after)? << 27 | step);
                    4
                }
                31 => {
                    // Absolute times have 59 bits; the upper ones are those of the page's time.
                    time = next_word(after)? << 27 | step | page_time & !((1 << 59) - 1);
                    4
                }
                words => {
                    time = time.wrapping_add(step);
                    let length = 4 * words as usize;
                    let record = after.get(..length)?;
                    self.tracepoints.record(record, time.wrapping_add(self.add), stream, fact);
                    length
                }
            };
            rest = after.get(length..)?;
        }
        Some(())
    }

    /// Returns the number in these bytes.
    #[inline]
    fn number(&self, bytes: &[u8]) -> u64 {
        let add = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        match (bytes, self.tracepoints.big_endian) {
            (&[a, b, c, d], false) => u32::from_le_bytes([a, b, c, d]).into(),
            (bytes, false) => bytes.iter().rev().fold(0, add),
            (bytes, true) => bytes.iter().fold(0, add),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::{Event, Tid};
    use crate::tracepoint::Format;

    const FORMAT: &str = "name: sched_switch\nID: 7\n\
        field:unsigned short common_type; offset:0; size:2; signed:0;\n\
        field:pid_t prev_pid; offset:4; size:4; signed:1;\n\
        field:long prev_state; offset:8; size:8; signed:1;\n\
        field:pid_t next_pid; offset:16; size:4; signed:1;\n";

    /// A page under construction, of a machine of either byte order.
    struct Page {
        big_endian: bool,
        bytes: Vec<u8>,
    }

    impl Page {
        fn word(&mut self, word: u32) -> &mut Self {
            let bytes = if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
            self.bytes.extend(bytes);
            self
        }

        fn long(&mut self, word: u64) -> &mut Self {
            let bytes = if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
            self.bytes.extend(bytes);
            self
        }

        fn head(&mut self, kind: u32, step: u32) -> &mut Self {
            let word = if self.big_endian { kind << 27 | step } else { step << 5 | kind };
            self.word(word)
        }

        fn switch(&mut self, prev: u32, next: u32) -> &mut Self {
            let id = if self.big_endian { 7 << 16 } else { 7 };
            self.word(id).word(prev).long(1).word(next)
        }
    }

    #[test]
    fn every_kind_of_record_is_read_in_either_byte_order() {
        for big_endian in [false, true] {
            let mut page = Page { big_endian, bytes: Vec::new() };
            page.long(1_000_000);
            // Twenty bytes for each of the records 5 and 0, the words of time, and padding.
            let records = (4 + 20) + (8 + 20) + 8 + 8 + (4 + 20) + (8 + 4);
            page.long(records | LOST | LOST_COUNTED);
            page.head(5, 10).switch(1, 2);
            page.head(0, 10).word(24).switch(2, 3);
            page.head(30, 3).word(1);
            page.head(31, 5).word(1 << 10);
            page.head(5, 0).switch(3, 1);
            page.head(29, 1).word(8).word(0);
            page.long(17);
            page.bytes.resize(4096, 0);
            let formats = [Format::parse(FORMAT).unwrap()];
            let pages = Pages {
                tracepoints: Tracepoints::new(&formats, big_endian, None),
                layout: PageLayout::parse(""),
                page_size: 4096,
                add: 0,
            };
            let mut stream = Stream::new(3);
            assert_eq!(pages.each(&page.bytes, &mut stream, &mut |_| ()), 0);
            let fact = |event: &Event| match event.what {
                What::Switch { prev: Tid(prev), next: Tid(next), .. } => {
                    (event.at.nanos(), prev, next)
                }
                What::Lost(lost) => (event.at.nanos(), lost, 0),
                what => panic!("{what:?}"),
            };
            let absolute = (1 << 37) + 5;
            let expected =
                [(1_000_000, 17, 0), (1_000_010, 1, 2), (1_000_020, 2, 3), (absolute, 3, 1)];
            assert_eq!(stream.events.iter().map(fact).collect::<Vec<_>>(), expected);
        }
    }
}
