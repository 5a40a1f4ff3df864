//! Collects the track events of other programs, and makes tracks of them when all packets have been read.
//!
//! Packets of different sequences write to the same track in any order, and a clock or a track may be described after
//! its first event. So events are kept as they are read, and sorted, nested and named at the end (decision 0058).
//!
//! What cannot be placed on the recording's clock is counted and reported, never guessed. Field numbers and meanings
//! follow `track_event.proto`, `track_descriptor.proto` and `counter_descriptor.proto` in Perfetto's public repository.

mod make;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::clocks::ClockKey;
use super::packet::{CounterDescriptor, TrackDescriptor, TrackEvent};
use super::read::Sequence;

/// The most clocks of one trace on which events can be.
const CLOCKS_MAX: usize = u16::MAX as usize;

/// The time stamp of a packet: a clock by its index, and the reading, ns.
#[derive(Clone, Copy, Debug)]
struct Time {
    clock: u16,
    at: u64,
}

/// An event of a track, as it was read: 16 bytes.
#[derive(Clone, Copy, Debug)]
struct Raw {
    at: u64,
    name: u32,
    clock: u16,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Begin,
    End,
    Instant,
    /// From now on this is the state of the track; without a name it has none.
    State,
    /// Packets of the sequence were lost: it is not known what is open.
    Cut,
}

/// The name of an event without one.
const UNNAMED: u32 = u32::MAX;

/// The events and the description of a track.
#[derive(Default)]
struct RawTrack {
    description: TrackDescriptor,
    is_described: bool,
    events: Vec<Raw>,
    values: Vec<(Time, f64)>,
}

/// Why events are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    Timestamp,
    Machine,
    State,
    Phase,
    Clocks,
    Difference,
}

impl Reason {
    const fn text(self) -> &'static str {
        match self {
            Self::Timestamp => "no timestamp",
            Self::Machine => "of another machine, whose clocks are not those of this recording",
            Self::State => "packets on which they depend are lost",
            Self::Phase => {
                "a legacy phase other than B, E, I and R: record them with a newer Perfetto SDK"
            }
            Self::Clocks => "on more clocks than are supported",
            Self::Difference => "differences of a counter that is described only after them",
        }
    }
}

/// The events of other programs, as they are read.
#[derive(Default)]
pub(super) struct Foreign {
    names: Vec<String>,
    known_names: BTreeMap<String, u32>,
    tracks: Vec<RawTrack>,
    /// The place of each track by its number.
    known_tracks: BTreeMap<u64, usize>,
    /// The clocks on which events are, and their places.
    clocks: Vec<ClockKey>,
    known_clocks: BTreeMap<ClockKey, u16>,
    left_out: BTreeMap<Reason, LeftOut>,
}

/// Events that are left out for one reason.
#[derive(Default)]
struct LeftOut {
    events: u64,
    /// The offset of the first one's packet, if it is known.
    first: Option<usize>,
}

impl Foreign {
    /// The index of a name.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        if let Some(known) = self.known_names.get(name) {
            return *known;
        }
        let index = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.known_names.insert(name.to_owned(), index);
        index
    }

    /// The name at an index.
    pub(super) fn text(&self, name: u32) -> &str {
        &self.names[name as usize]
    }

    /// Takes the description of a track; the first name and kind of several count.
    pub(super) fn describe(&mut self, mut new: TrackDescriptor) {
        let uuid = new.uuid.unwrap_or(0);
        let is_difference = new.counter.as_ref().is_some_and(is_incremental);
        let track = self.track(uuid);
        let description = &mut track.description;
        description.name = description.name.take().or_else(|| new.name.take());
        description.name = description.name.take().or_else(|| new.static_name.take());
        description.name = description.name.take().or_else(|| new.atrace_name.take());
        description.parent_uuid = description.parent_uuid.or(new.parent_uuid);
        description.process = description.process.take().or(new.process);
        description.thread = description.thread.take().or(new.thread);
        description.counter = description.counter.take().or(new.counter);
        let is_late = is_difference && !track.is_described;
        track.is_described = true;
        let lost = if is_late { std::mem::take(&mut track.values).len() } else { 0 };
        self.leave_out(Reason::Difference, lost, None);
    }

    /// Takes an event of a sequence. `time` is the clock and the reading of its packet.
    pub(super) fn event(
        &mut self,
        event: &TrackEvent,
        sequence: &mut Sequence,
        time: Option<(ClockKey, u64)>,
        offset: usize,
    ) {
        let Some((clock, at)) = time else {
            return self.leave_out(Reason::Timestamp, 1, Some(offset));
        };
        let Some(clock) = self.clock(clock) else {
            return self.leave_out(Reason::Clocks, 1, Some(offset));
        };
        let time = Time { clock, at };
        sequence.last = Some((clock, at));
        self.extra_values(event, sequence, time);
        let uuid = event.track_uuid.or(sequence.default_track).unwrap_or(0);
        let phase = event.legacy_event.as_ref().and_then(|legacy| legacy.phase).unwrap_or(0);
        let kind = match (event.kind.unwrap_or(0), u8::try_from(phase)) {
            (1, _) | (0, Ok(b'B')) => Kind::Begin,
            (2, _) | (0, Ok(b'E')) => Kind::End,
            (3, _) | (0, Ok(b'I' | b'i' | b'R')) => Kind::Instant,
            (5, _) => Kind::State,
            (4, _) => {
                let whole = event.counter_value.map(|value| (value as f64, Some(value)));
                let real = event.double_counter_value.map(|value| (value, None));
                if let Some((real, whole)) = real.or(whole) {
                    self.value(uuid, sequence, time, real, whole);
                }
                return;
            }
            _ => return self.leave_out(Reason::Phase, 1, Some(offset)),
        };
        let name = self.name_of(event, sequence);
        sequence.tracks.insert(uuid);
        self.track(uuid).events.push(Raw { at, name, clock, kind });
    }

    /// The name of an event.
    fn name_of(&mut self, event: &TrackEvent, sequence: &Sequence) -> u32 {
        let legacy = event.legacy_event.as_ref().and_then(|legacy| legacy.name_iid);
        let iid = event.name_iid.or(legacy);
        match (&event.name, iid.and_then(|iid| sequence.event_names.get(&iid))) {
            (Some(name), _) => self.name(name),
            (None, Some(known)) => *known,
            (None, None) => UNNAMED,
        }
    }

    /// Takes the values of counters that come with an event of any kind.
    fn extra_values(&mut self, event: &TrackEvent, sequence: &mut Sequence, time: Time) {
        let own = &event.extra_counter_track_uuids;
        for (place, value) in event.extra_counter_values.iter().enumerate() {
            let uuids = if own.is_empty() { &sequence.counters } else { own };
            let Some(&uuid) = uuids.get(place) else { break };
            self.value(uuid, sequence, time, *value as f64, Some(*value));
        }
        let own = &event.extra_double_counter_track_uuids;
        for (place, bits) in event.extra_double_counter_values.iter().enumerate() {
            let uuids = if own.is_empty() { &sequence.real_counters } else { own };
            let Some(&uuid) = uuids.get(place) else { break };
            self.value(uuid, sequence, time, f64::from_bits(*bits), None);
        }
    }

    /// Takes a value of a counter, which may be the difference to the one before it in its sequence.
    fn value(
        &mut self,
        uuid: u64,
        sequence: &mut Sequence,
        time: Time,
        real: f64,
        whole: Option<i64>,
    ) {
        let track = self.track(uuid);
        let value = match (track.description.counter.as_ref().is_some_and(is_incremental), whole) {
            (true, Some(difference)) => {
                let sum = sequence.sums.entry(uuid).or_default();
                *sum = sum.wrapping_add(difference);
                *sum as f64
            }
            _ => real,
        };
        track.values.push((time, value));
    }

    /// Packets of a sequence were lost before the next one: slices that it has begun end there.
    pub(super) fn cut(&mut self, sequence: &Sequence) {
        let Some((clock, at)) = sequence.last else { return };
        for uuid in &sequence.tracks {
            self.track(*uuid).events.push(Raw { at, name: UNNAMED, clock, kind: Kind::Cut });
        }
    }

    /// An event needs packets that are lost.
    pub(super) fn depends_on_lost(&mut self, offset: usize) {
        self.leave_out(Reason::State, 1, Some(offset));
    }

    /// An event is of another machine.
    pub(super) fn of_another_machine(&mut self, offset: usize) {
        self.leave_out(Reason::Machine, 1, Some(offset));
    }

    fn leave_out(&mut self, reason: Reason, events: usize, offset: Option<usize>) {
        if events > 0 {
            let left_out = self.left_out.entry(reason).or_default();
            left_out.events += events as u64;
            left_out.first = left_out.first.or(offset);
        }
    }

    fn track(&mut self, uuid: u64) -> &mut RawTrack {
        let tracks = &mut self.tracks;
        let index = *self.known_tracks.entry(uuid).or_insert_with(|| {
            tracks.push(RawTrack::default());
            tracks.len() - 1
        });
        &mut tracks[index]
    }

    fn clock(&mut self, key: ClockKey) -> Option<u16> {
        if let Some(known) = self.known_clocks.get(&key) {
            return Some(*known);
        }
        let index = (self.clocks.len() < CLOCKS_MAX).then_some(self.clocks.len() as u16)?;
        self.clocks.push(key);
        self.known_clocks.insert(key, index);
        Some(index)
    }
}

fn is_incremental(counter: &CounterDescriptor) -> bool {
    counter.is_incremental == Some(true)
}
