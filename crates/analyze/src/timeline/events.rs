//! From the track events of other programs to rows of slices, marks and counters.

use hemiola_trace::track_event::{EventTrack, Slice};

use super::build::{Builder, ROWS_MAX};
use super::track::State;
use super::{Counter, Mark, NOBODY, Subject};

impl Builder<'_> {
    /// Adds a track: `names` are those of its slices and instants, and `thread` is its thread, if it has one.
    pub(super) fn events(&mut self, names: &[String], track: &EventTrack, thread: Option<usize>) {
        let thread = thread.map(|thread| self.timeline.threads + thread);
        let thread = thread.filter(|row| *row < self.timeline.slices);
        self.counter(track, thread);
        let depth =
            track.slices.iter().map(|slice| usize::from(slice.depth) + 1).max().unwrap_or(0);
        // Without a thread to which they belong, instants stand in a row of the track.
        let own = thread.filter(|_| track.is_own);
        let depth = depth.max(usize::from(own.is_none() && !track.instants.is_empty()));
        let first = self.timeline.rows.len();
        if first + depth > ROWS_MAX {
            return;
        }
        for depth in 0..depth {
            let below = if depth == 0 { thread } else { Some(thread.unwrap_or(first)) };
            // The name of a thread is in the row above.
            let is_named = depth == 0 && own.is_none();
            let name = if is_named { track.name.clone() } else { String::new() };
            let subject = Subject::Slices { below, pid: track.pid, name, depth: depth as u16 };
            self.add_row(subject);
        }
        for slice in &track.slices {
            let name = self.name(&names[slice.name as usize]);
            self.slice(slice, name, first);
        }
        for instant in &track.instants {
            let name = self.name(&names[instant.name as usize]);
            let row = own.unwrap_or(first);
            self.timeline.rows[row].marks.push(Mark { at: instant.at.nanos(), name });
        }
    }

    fn slice(&mut self, slice: &Slice, name: u32, first: usize) {
        let from = slice.from.nanos();
        let to = slice.to.nanos().max(from.saturating_add(1));
        let track = &mut self.timeline.rows[first + usize::from(slice.depth)].track;
        // Neighbours of one name stay apart.
        track.release();
        track.push(from, State::Running, name.min(NOBODY));
        track.push(to, State::Rest, NOBODY);
    }

    fn counter(&mut self, track: &EventTrack, thread: Option<usize>) {
        if track.values.is_empty() {
            return;
        }
        let owner = match thread.map(|row| &self.timeline.rows[row].subject) {
            Some(Subject::Thread { name, .. }) => format!("{name} "),
            _ => String::new(),
        };
        let unit = if track.unit.is_empty() { String::new() } else { format!(" ({})", track.unit) };
        let name = format!("{owner}{}{unit}", track.name);
        let points = track.values.iter().map(|(at, value)| (at.nanos(), *value)).collect();
        self.timeline.counters.push(Counter { row: thread, name, points });
    }
}

#[cfg(test)]
mod tests {
    use hemiola_trace::Recording;
    use hemiola_trace::track_event::{Moment, TrackEvents};
    use hemiola_units::Instant;

    use super::super::find::{Place, Query, What, find};
    use super::super::{Segment, Timeline};
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    fn slice(from: u64, to: u64, name: u32, depth: u16) -> Slice {
        Slice { from: at(from), to: at(to), name, depth, is_whole: true }
    }

    /// A thread with nested slices, and a track without a thread.
    fn timeline() -> Timeline {
        let names = ["outer", "inner", "tick"].map(str::to_owned).to_vec();
        let thread = EventTrack {
            pid: 5,
            tid: 6,
            is_own: true,
            slices: vec![
                slice(100, 200, 0, 0),
                slice(110, 110, 1, 1),
                slice(110, 120, 1, 1),
                slice(200, 300, 0, 0),
            ],
            instants: vec![Moment { at: at(150), name: 2 }],
            ..EventTrack::default()
        };
        let alone = EventTrack {
            name: "requests".into(),
            instants: vec![Moment { at: at(400), name: 2 }],
            values: vec![(at(50), 1.0)],
            unit: "B".into(),
            ..EventTrack::default()
        };
        let track_events = TrackEvents { names, tracks: vec![thread, alone] };
        let mut recording = Recording::new(Vec::new(), Vec::new(), Vec::new());
        recording.track_events = track_events;
        Timeline::build(&recording)
    }

    fn segments(timeline: &Timeline, row: usize) -> Vec<(u64, u64, &str)> {
        let track = &timeline.rows[row].track;
        let all = (0..track.len()).map(|index| track.segment(index));
        let slices = all.filter(|segment| segment.state == State::Running);
        let brief = |of: Segment| (of.from, of.to, timeline.names[of.key as usize].as_str());
        slices.map(brief).collect()
    }

    #[test]
    fn each_level_of_nesting_is_a_row_below_the_thread() {
        let timeline = timeline();
        assert_eq!((timeline.from, timeline.to), (at(50), at(400)));
        assert_eq!((timeline.thread_rows(), timeline.slice_rows()), (0..1, 1..4));
        // Neighbours of one name stay apart, and a slice without a length is seen.
        assert_eq!(segments(&timeline, 1), [(100, 200, "outer"), (200, 300, "outer")]);
        assert_eq!(segments(&timeline, 2), [(110, 111, "inner"), (111, 120, "inner")]);
        let below = |row: usize| match &timeline.rows[row].subject {
            Subject::Slices { below, name, depth, .. } => (*below, name.as_str(), *depth),
            subject => panic!("{subject:?}"),
        };
        assert_eq!(
            [1, 2, 3].map(below),
            [(Some(0), "", 0), (Some(0), "", 1), (None, "requests", 0)]
        );
    }

    #[test]
    fn instants_stand_in_the_row_of_their_thread_or_track() {
        let timeline = timeline();
        let marks =
            |row: usize| timeline.rows[row].marks.iter().map(|mark| mark.at).collect::<Vec<_>>();
        assert_eq!([marks(0), marks(1), marks(3)], [vec![150], vec![], vec![400]]);
        let Counter { row, name, points } = &timeline.counters[0];
        assert_eq!((*row, name.as_str(), &points[..]), (None, "requests (B)", &[(50, 1.0)][..]));
    }

    #[test]
    fn a_search_finds_slices_and_instants_by_their_names_and_tracks() {
        let timeline = timeline();
        let places = |text: &str| {
            let (places, more) = find(&timeline, &Query::new(text), 0, 10);
            assert!(!more);
            places.into_iter().map(|Place { at, row, .. }| (at, row)).collect::<Vec<_>>()
        };
        assert_eq!(places("inner"), [(110, 2), (111, 2)]);
        assert_eq!(places("tick"), [(150, 0), (400, 3)]);
        assert_eq!(places("requests tick"), [(400, 3)]);
        // The slices of a thread are found by the number of the thread too.
        assert_eq!(places("6 outer"), [(100, 1), (200, 1)]);
        assert_eq!(places("running"), []);
        let (all, _) = find(&timeline, &Query::new("outer"), 150, 10);
        assert_eq!(all, [Place { at: 200, row: 1, what: What::Mark(0) }]);
    }
}
