//! What programs marked, by name: slices, single moments and counters, of our own marks and of Perfetto's track events.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hemiola_stats::Stream;
use hemiola_trace::sched::Tid;
use hemiola_trace::track_event::EventTrack;
use hemiola_trace::{EventKind, Recording, perfetto};

use super::TEXTS_MAX;
use super::report::{ExactValues, MarkKind, MarkReport, MarkedText, MarkedValues};

/// The marks of a recording: slices first, those that took longest before all others, then counters and instants, by
/// how often they occur, and then system calls, as slices.
pub(super) fn marks(recording: &Recording, calls: Vec<MarkReport>) -> Vec<MarkReport> {
    let ours = recording.tracks.iter().flat_map(of_program);
    let names = &recording.track_events.names;
    let foreign = &recording.track_events.tracks;
    let mut all: Vec<MarkReport> = ours
        .chain(foreign.iter().flat_map(|track| of_slices(track, names)))
        .chain(foreign.iter().flat_map(|track| of_instants(track, names)))
        .chain(foreign.iter().filter_map(|track| of_counter(track, recording)))
        .chain(calls)
        .collect();
    all.sort_by_cached_key(|mark| {
        let together = mark.duration_ns.as_ref().map(|of| of.mean * of.count as f64);
        let rank = Reverse((together.unwrap_or(0.0) as u64, mark.count));
        (mark.kind, rank, mark.track.clone(), mark.tid, mark.name.clone())
    });
    all
}

/// The marks of one of our tracks. A mark that is always 0 is a plain event.
fn of_program(track: &perfetto::Track) -> Vec<MarkReport> {
    let mut found = BTreeMap::<u16, Named>::new();
    for entry in track.entries.iter().filter(|entry| entry.kind.named() == EventKind::Mark) {
        let named = found.entry(entry.arg).or_default();
        named.count += 1;
        entry.value().into_iter().for_each(|value| named.values.add(value, entry.whole()));
        entry.text().into_iter().for_each(|text| *named.texts.entry(text).or_default() += 1);
    }
    let mark = |(arg, Named { count, values, texts }): (u16, Named)| {
        let values = Some(values).filter(|values| !values.is_always_zero());
        let values = values.and_then(|values| values.report(""));
        let (texts, other_texts) = most_frequent(texts);
        MarkReport {
            name: track.names.get(EventKind::Mark, arg).unwrap_or("mark").to_owned(),
            track: track.name.clone(),
            tid: if track.tid == 0 { track.pid } else { track.tid },
            pid: track.pid,
            kind: if values.is_some() { MarkKind::Counter } else { MarkKind::Instant },
            count,
            values,
            texts,
            other_texts,
            ..MarkReport::default()
        }
    };
    found.into_iter().map(mark).collect()
}

/// The marks of one name on one of our tracks.
#[derive(Default)]
struct Named {
    count: u64,
    values: Values,
    texts: BTreeMap<String, u64>,
}

/// The most frequent texts, and how many marks have others.
fn most_frequent(texts: BTreeMap<String, u64>) -> (Vec<MarkedText>, u64) {
    let mut texts: Vec<MarkedText> =
        texts.into_iter().map(|(text, count)| MarkedText { text, count }).collect();
    texts.sort_by_key(|of| Reverse(of.count));
    let others = texts.split_off(texts.len().min(TEXTS_MAX));
    (texts, others.iter().map(|of| of.count).sum())
}

fn of_slices(track: &EventTrack, names: &[String]) -> Vec<MarkReport> {
    let mut found = BTreeMap::<u32, (Stream, u64)>::new();
    for slice in &track.slices {
        let (lengths, incomplete) = found.entry(slice.name).or_default();
        match slice.is_whole {
            true => lengths.push(slice.to.nanos() - slice.from.nanos()),
            false => *incomplete += 1,
        }
    }
    let mark = |(name, (lengths, incomplete)): (u32, (Stream, u64))| MarkReport {
        count: lengths.count(),
        incomplete,
        duration_ns: lengths.distribution(),
        ..of_track(track, &names[name as usize], MarkKind::Slice)
    };
    found.into_iter().map(mark).collect()
}

fn of_instants(track: &EventTrack, names: &[String]) -> Vec<MarkReport> {
    let mut found = BTreeMap::<u32, u64>::new();
    track.instants.iter().for_each(|instant| *found.entry(instant.name).or_default() += 1);
    let mark = |(name, count): (u32, u64)| MarkReport {
        count,
        ..of_track(track, &names[name as usize], MarkKind::Instant)
    };
    found.into_iter().map(mark).collect()
}

/// The counter of a track that is one; its name is that of the track.
fn of_counter(track: &EventTrack, recording: &Recording) -> Option<MarkReport> {
    let mut values = Values::default();
    track.values.iter().for_each(|(_, value)| values.add(*value, None));
    let (first, _) = track.values.first()?;
    let thread = recording.thread(Tid(track.tid), *first).filter(|_| track.tid != 0);
    Some(MarkReport {
        track: thread.map_or_else(String::new, |thread| thread.name.clone()),
        count: track.values.len() as u64,
        values: values.report(&track.unit),
        ..of_track(track, &track.name, MarkKind::Counter)
    })
}

fn of_track(track: &EventTrack, name: &str, kind: MarkKind) -> MarkReport {
    MarkReport {
        name: name.to_owned(),
        track: track.name.clone(),
        tid: track.tid,
        pid: track.pid,
        kind,
        ..MarkReport::default()
    }
}

/// The values of a counter.
#[derive(Clone, Copy, Debug)]
struct Values {
    /// Of the finite ones.
    count: u64,
    not_finite: u64,
    min: f64,
    max: f64,
    sum: f64,
    /// The sum of the values times [`SCALE`], which is finite.
    scaled_sum: f64,
    last: f64,
    /// Least, greatest and last, exactly; `None` once a value was not given exactly.
    whole: Option<[i128; 3]>,
}

/// 2^-64: the sum of any values times this is finite.
const SCALE: f64 = 1.0 / (1_u128 << 64) as f64;

/// The greatest whole number up to which a floating-point number holds each exactly.
const EXACT_MAX: u128 = 1 << f64::MANTISSA_DIGITS;

impl Default for Values {
    fn default() -> Self {
        let [min, max] = [f64::INFINITY, f64::NEG_INFINITY];
        let whole = Some([i128::MAX, i128::MIN, 0]);
        let (count, not_finite) = (0, 0);
        Self { count, not_finite, min, max, sum: 0.0, scaled_sum: 0.0, last: 0.0, whole }
    }
}

impl Values {
    /// Adds a value, and the whole number that it is, if that is known exactly.
    fn add(&mut self, value: f64, whole: Option<i128>) {
        if value.is_finite() {
            self.count += 1;
            (self.min, self.max) = (self.min.min(value), self.max.max(value));
            (self.sum, self.last) = (self.sum + value, value);
            self.scaled_sum += value * SCALE;
            let both = self.whole.zip(whole);
            self.whole = both.map(|([min, max, _], last)| [min.min(last), max.max(last), last]);
        } else {
            self.not_finite += 1;
        }
    }

    /// Whether all of them are 0, which is also so without any.
    fn is_always_zero(&self) -> bool {
        self.not_finite == 0 && (self.count == 0 || (self.min == 0.0 && self.max == 0.0))
    }

    /// The arithmetic mean of the finite values, of which there is at least one.
    fn mean(&self) -> f64 {
        let count = self.count as f64;
        if self.sum.is_finite() { self.sum / count } else { self.scaled_sum / count / SCALE }
    }

    fn report(self, unit: &str) -> Option<MarkedValues> {
        let Self { count, not_finite, min, max, last, whole, .. } = self;
        let is_rounded = |whole: &[i128; 3]| whole.iter().any(|one| one.unsigned_abs() > EXACT_MAX);
        let exact = whole.filter(|whole| count > 0 && is_rounded(whole)).map(|whole| {
            let [min, max, last] = whole.map(|one| one.to_string());
            ExactValues { min, max, last }
        });
        let [min, mean, max, last] = match count {
            0 => [f64::NAN; 4],
            _ => [min, self.mean(), max, last],
        };
        (count > 0 || not_finite > 0).then(|| {
            let unit = unit.to_owned();
            MarkedValues { unit, min, mean, max, last, not_finite, exact }
        })
    }
}

#[cfg(test)]
mod tests {
    use hemiola_trace::Entry;
    use hemiola_trace::track_event::{Moment, Slice, TrackEvents};
    use hemiola_units::Instant;

    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn slices_instants_and_counters_are_counted_by_track_and_name() {
        let slice = |from, to, name, is_whole| Slice {
            from: at(from),
            to: at(to),
            name,
            depth: 0,
            is_whole,
        };
        let frames = EventTrack {
            pid: 5,
            tid: 6,
            is_own: true,
            name: "main".into(),
            slices: vec![slice(0, 40, 0, true), slice(50, 60, 0, true), slice(70, 90, 1, false)],
            instants: vec![Moment { at: at(3), name: 1 }, Moment { at: at(4), name: 1 }],
            ..EventTrack::default()
        };
        let memory = EventTrack {
            pid: 5,
            name: "memory".into(),
            values: [3.0, f64::NAN, 5.0].map(|value| (at(1), value)).into(),
            unit: "B".into(),
            ..EventTrack::default()
        };
        let track_events = TrackEvents {
            names: vec!["frame".into(), "jank".into()],
            tracks: vec![memory, frames],
        };
        let mut recording = Recording::new(Vec::new(), Vec::new(), Vec::new());
        recording.track_events = track_events;
        let found = marks(&recording, Vec::new());
        let brief = |mark: &MarkReport| (mark.kind, mark.name.clone(), mark.count, mark.incomplete);
        assert_eq!(
            found.iter().map(brief).collect::<Vec<_>>(),
            [
                (MarkKind::Slice, "frame".into(), 2, 0),
                (MarkKind::Slice, "jank".into(), 0, 1),
                (MarkKind::Counter, "memory".into(), 3, 0),
                (MarkKind::Instant, "jank".into(), 2, 0),
            ]
        );
        let lengths = found[0].duration_ns.as_ref().unwrap();
        assert_eq!((lengths.min, lengths.mean, lengths.max), (10, 25.0, 40));
        let [min, mean, max, last] = [3.0, 4.0, 5.0, 5.0];
        let (unit, not_finite, exact) = ("B".into(), 1, None);
        let values = MarkedValues { unit, min, mean, max, last, not_finite, exact };
        assert_eq!(found[2].values, Some(values));
        assert_eq!((found[0].tid, found[0].track.as_str(), found[2].tid), (6, "main", 0));
    }

    #[test]
    fn the_most_frequent_texts_of_a_mark_are_listed_and_the_others_counted() {
        let mark = |text: u64| Entry {
            at: at(1),
            kind: EventKind::MarkText,
            arg: 0,
            cycle: 0,
            a: text,
            b: 0,
        };
        let common = u64::from_le_bytes(*b"timeout\0");
        let rare = (0..40).map(|number| 0x6130 + (number % 10) + ((number / 10) << 16));
        let texts = [common].into_iter().chain(rare).chain([common]);
        let entries = texts.map(mark).collect();
        let track = perfetto::Track { entries, ..perfetto::Track::default() };
        let found = marks(&Recording::new(Vec::new(), Vec::new(), vec![track]), Vec::new());
        let [mark] = &found[..] else { panic!("{found:?}") };
        assert_eq!((mark.kind, mark.count, mark.texts.len()), (MarkKind::Instant, 42, TEXTS_MAX));
        assert_eq!(mark.texts[0], MarkedText { text: "timeout".into(), count: 2 });
        assert_eq!(mark.other_texts, 9);
    }

    #[test]
    fn our_own_marks_are_counters_if_they_have_numbers_and_instants_otherwise() {
        let entry = |kind, arg, a| Entry { at: at(1), kind, arg, cycle: 0, a, b: 0 };
        let entries = vec![
            entry(EventKind::MarkUnsigned, 0, 0),
            entry(EventKind::MarkUnsigned, 1, 4),
            entry(EventKind::MarkSigned, 1, u64::MAX),
            entry(EventKind::MarkText, 2, 0x6b6f),
            entry(EventKind::Start, 0, 0),
        ];
        let mut track =
            perfetto::Track { pid: 9, name: "loop".into(), entries, ..perfetto::Track::default() };
        track.names.insert_all(EventKind::Mark, &[(0, "tick"), (1, "depth"), (2, "state")]);
        let found = marks(&Recording::new(Vec::new(), Vec::new(), vec![track]), Vec::new());
        let brief = |mark: &MarkReport| (mark.kind, mark.name.clone(), mark.count, mark.tid);
        assert_eq!(
            found.iter().map(brief).collect::<Vec<_>>(),
            [
                (MarkKind::Counter, "depth".into(), 2, 9),
                (MarkKind::Instant, "state".into(), 1, 9),
                (MarkKind::Instant, "tick".into(), 1, 9),
            ]
        );
        assert_eq!(found[0].values.as_ref().map(|of| (of.min, of.max)), Some((-1.0, 4.0)));
    }

    #[test]
    fn whole_numbers_that_floating_point_rounds_are_in_json_as_text_too() {
        let exact = |marks: &[(EventKind, u64)]| {
            let entry = |&(kind, a)| Entry { at: at(1), kind, arg: 0, cycle: 0, a, b: 0 };
            let entries = marks.iter().map(entry).collect();
            let track = perfetto::Track { entries, ..perfetto::Track::default() };
            let found = marks_of(track);
            let json = serde_json::to_value(&found.values).unwrap();
            json.get("exact").map(ToString::to_string)
        };
        let [unsigned, signed] = [EventKind::MarkUnsigned, EventKind::MarkSigned];
        let least = i64::MIN.cast_unsigned();
        assert_eq!(
            exact(&[(unsigned, u64::MAX), (signed, least + 1), (unsigned, (1 << 53) + 1)])
                .as_deref(),
            Some(
                r#"{"last":"9007199254740993","max":"18446744073709551615","min":"-9223372036854775807"}"#
            )
        );
        // Floating point holds these exactly, and a mixture with real numbers is not whole.
        assert_eq!(exact(&[(unsigned, 1 << 53), (signed, (-(1_i64 << 53)).cast_unsigned())]), None);
        assert_eq!(exact(&[(unsigned, u64::MAX), (EventKind::MarkReal, 0.5_f64.to_bits())]), None);
    }

    #[test]
    fn values_that_are_not_finite_are_counted_and_great_ones_have_a_mean() {
        let values = |reals: &[f64]| {
            let entry = |value: &f64| Entry {
                at: at(1),
                kind: EventKind::MarkReal,
                arg: 0,
                cycle: 0,
                a: value.to_bits(),
                b: 0,
            };
            let entries = reals.iter().map(entry).collect();
            let found = marks_of(perfetto::Track { entries, ..perfetto::Track::default() });
            assert_eq!((found.kind, found.count), (MarkKind::Counter, reals.len() as u64));
            found.values.unwrap()
        };
        let [nan, infinite] = [f64::NAN, f64::INFINITY];
        let some = values(&[1.0, nan, infinite, -infinite, 3.0, nan]);
        assert_eq!((some.min, some.mean, some.max, some.not_finite), (1.0, 2.0, 3.0, 4));
        let none = values(&[nan, nan]);
        assert!(none.mean.is_nan() && none.not_finite == 2, "{none:?}");
        let json = serde_json::to_value(&none).unwrap();
        assert_eq!((&json["mean"], &json["not_finite"]), (&serde_json::Value::Null, &2.into()));
        let great = values(&[1.5e308, 1.5e308, 1.5e308]);
        assert!((great.mean / 1.5e308 - 1.0).abs() < 1e-15, "{great:?}");
        assert_eq!(values(&[f64::MAX, f64::MIN, 3.0]).mean, 1.0);
        assert_eq!(values(&[5e-324, 5e-324]).mean, 5e-324);
    }

    fn marks_of(track: perfetto::Track) -> MarkReport {
        let mut found = marks(&Recording::new(Vec::new(), Vec::new(), vec![track]), Vec::new());
        found.remove(0)
    }
}
