//! The events that the scan of a file has decoded, so that no iteration decodes them again.

use hemiola_units::Instant;

use crate::sched::What;

/// The most events kept: 16 MiB. Those after them are decoded in each iteration.
const EVENTS_MAX: usize = 1 << 20;

/// The first events of a file, by stretch, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    begins: Vec<Begin>,
    /// Each with its time since the first event of its stretch, ns.
    events: Vec<(u32, What)>,
    /// Whether the last stretch may get more events.
    is_open: bool,
    is_full: bool,
}

/// The beginning of a stretch.
#[derive(Clone, Copy, Debug)]
struct Begin {
    /// Its place in the file.
    offset: u64,
    first: Instant,
    /// The index of its first event.
    index: usize,
}

impl Decoded {
    /// A stretch begins, behind all others, with an event at that time.
    pub(crate) fn begin(&mut self, offset: u64, first: Instant) {
        self.is_open = !self.is_full;
        if self.is_open {
            self.begins.push(Begin { offset, first, index: self.events.len() });
        }
    }

    /// Adds an event to the stretch that began last. If there is no room for it, the stretch is not kept.
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, what: What) {
        if !self.is_open {
            return;
        }
        let first = self.begins.last().map_or(at, |begin| begin.first);
        let after = at.nanos().checked_sub(first.nanos()).and_then(|after| after.try_into().ok());
        match after {
            Some(after) if self.events.len() < EVENTS_MAX => self.events.push((after, what)),
            _ => self.drop_last(),
        }
    }

    #[cold]
    fn drop_last(&mut self) {
        self.is_full = self.events.len() >= EVENTS_MAX;
        self.is_open = false;
        if let Some(begin) = self.begins.pop() {
            self.events.truncate(begin.index);
        }
    }

    /// The events of the stretch at that place of the file, if they are kept.
    pub(crate) fn of(&self, offset: u64) -> Option<impl Iterator<Item = (Instant, What)>> {
        let place = self.begins.binary_search_by_key(&offset, |begin| begin.offset).ok()?;
        let Begin { first, index, .. } = self.begins[place];
        let end = self.begins.get(place + 1).map_or(self.events.len(), |next| next.index);
        let events = self.events[index..end].iter();
        Some(events.map(move |&(after, what)| {
            (Instant::from_nanos(first.nanos().saturating_add(after.into())), what)
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Decoder, Events, Kept, Recording};
    use super::*;
    use crate::sched::Event;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// The times of the events of a stretch.
    fn times(decoded: &Decoded, offset: u64) -> Option<Vec<u64>> {
        Some(decoded.of(offset)?.map(|(at, _)| at.nanos()).collect())
    }

    #[test]
    fn the_events_of_a_stretch_are_kept_as_a_whole_or_not_at_all() {
        let mut decoded = Decoded::default();
        let far = u64::from(u32::MAX) + 1;
        for (offset, after) in [(100, 7), (300, far), (500, 9)] {
            decoded.begin(offset, at(1000));
            for after in [0, 5, after, 2 * after] {
                decoded.push(at(1000 + after), What::Lost(1));
            }
        }
        assert_eq!(times(&decoded, 100).unwrap(), [1000, 1005, 1007, 1014]);
        assert_eq!(times(&decoded, 300), None);
        assert_eq!(times(&decoded, 500).unwrap(), [1000, 1005, 1009, 1018]);
        assert_eq!(times(&decoded, 501), None);
    }

    #[test]
    fn no_more_events_are_kept_than_there_is_room_for() {
        let mut decoded = Decoded::default();
        for offset in 0..3 {
            decoded.begin(offset, at(0));
            (0..EVENTS_MAX / 2 + 1).for_each(|_| decoded.push(at(0), What::Lost(1)));
        }
        decoded.begin(3, at(0));
        decoded.push(at(0), What::Lost(1));
        let kept = [0, 1, 2, 3].map(|offset| decoded.of(offset).map(Iterator::count));
        assert_eq!(kept, [Some(EVENTS_MAX / 2 + 1), None, None, None]);
        assert_eq!(size_of::<(u32, What)>(), 16);
    }

    #[test]
    fn kept_events_are_those_that_are_decoded_again() {
        let files = [
            &include_bytes!("../../../../data/traces/perf-system.data")[..],
            include_bytes!("../../../../data/traces/perf-switches.data"),
            include_bytes!("../../../../data/traces/perf-program.data"),
        ];
        let mut stretches = 0;
        for file in files {
            let recording = Recording::read(file).0;
            let kept: Vec<Event> = recording.events().collect();
            let Kept::File(index) = recording.kept else { panic!("the events are in a file") };
            let mut index = Arc::into_inner(index).unwrap();
            let Decoder::PerfData(records) = &mut index.decoder else {
                panic!("the file is perf's")
            };
            let decoded = std::mem::take(&mut records.decoded);
            stretches += decoded.begins.len();
            assert!(!kept.is_empty() && kept == Events::file(&index).collect::<Vec<Event>>());
        }
        assert!(stretches > 1, "{stretches}");
    }
}
