//! Makes tracks of the events that were collected: puts them on the recording's clock, nests slices, and finds the
//! thread or process of each track.

use std::collections::BTreeMap;

use hemiola_units::Instant;

use super::{Foreign, Kind, Raw, RawTrack, UNNAMED};
use crate::error::ReadError;
use crate::perfetto::clocks::{Clock, Relations};
use crate::perfetto::packet::{CounterDescriptor, TrackDescriptor};
use crate::sched::{Thread, Tid};
use crate::track_event::{EventTrack, Moment, Slice, TrackEvents};

/// Slices that are nested more deeply are left out, as by Perfetto's own reader.
const DEPTH_MAX: usize = 512;

/// Parents of a track that are followed to find its thread or process.
const PARENTS_MAX: usize = 64;

impl Foreign {
    /// The threads that descriptions of tracks name.
    pub(in crate::perfetto) fn threads(&self) -> impl Iterator<Item = Thread> + '_ {
        self.tracks.iter().filter_map(|track| {
            let Owner { pid, tid: tid @ 1.., .. } = Owner::stated(&track.description)? else {
                return None;
            };
            let name = track.description.thread.as_ref()?.thread_name.clone().unwrap_or_default();
            Some(Thread { tid: Tid(tid), since: Instant::ZERO, pid, name, new: false })
        })
    }

    /// Makes the tracks that have events, and reports what is left out.
    pub(in crate::perfetto) fn finish(
        mut self,
        relations: &Relations,
    ) -> (TrackEvents, Vec<ReadError>) {
        let owners: Vec<Owner> = self.tracks.iter().map(|track| self.owner(track)).collect();
        let clocks = self.clocks.iter().map(|key| relations.of(*key)).collect();
        let names = Used { all: std::mem::take(&mut self.names), ..Used::default() };
        let mut making = Making { clocks, names, end: 0, unplaced: BTreeMap::new(), too_deep: 0 };
        let mut tracks = std::mem::take(&mut self.tracks);
        tracks.iter_mut().for_each(|track| making.place(track));
        let made = tracks.into_iter().zip(owners).map(|(track, owner)| making.make(track, owner));
        let tracks = made.filter(|track| !track.is_empty() || track.unmatched > 0).collect();
        let errors = self.errors(&making);
        (TrackEvents { names: making.names.kept, tracks }, errors)
    }

    /// The thread or process of a track: its own, or that of the nearest parent that has one.
    fn owner(&self, track: &RawTrack) -> Owner {
        let mut description = &track.description;
        if let Some(own) = Owner::stated(description) {
            return own;
        }
        for _ in 0..PARENTS_MAX {
            let parent = description.parent_uuid.and_then(|uuid| self.known_tracks.get(&uuid));
            let Some(parent) = parent.map(|&index| &self.tracks[index]) else { break };
            description = &parent.description;
            if let Some(owner) = Owner::stated(description) {
                return Owner { is_own: false, ..owner };
            }
        }
        Owner::default()
    }

    fn errors(&self, making: &Making<'_>) -> Vec<ReadError> {
        let known = self.left_out.iter().map(|(reason, left_out)| {
            let place =
                left_out.first.map(|at| format!("; the first is in the packet at byte {at}"));
            let reason = format!("{}{}", reason.text(), place.unwrap_or_default());
            ReadError::LeftOut { events: left_out.events, reason }
        });
        let unplaced = making.unplaced.iter().map(|(&clock, &events)| {
            let key = self.clocks[usize::from(clock)];
            let reason = format!(
                "no clock snapshot relates their clock, {}, to that of the recording",
                key.words()
            );
            ReadError::LeftOut { events, reason }
        });
        let too_deep = (making.too_deep > 0).then(|| {
            let reason = format!("slices inside more than {DEPTH_MAX} others");
            ReadError::LeftOut { events: making.too_deep, reason }
        });
        known.chain(unplaced).chain(too_deep).collect()
    }
}

/// The thread or process of a track.
#[derive(Clone, Copy, Debug, Default)]
struct Owner {
    pid: u32,
    tid: u32,
    is_own: bool,
}

impl Owner {
    /// The one that a description states.
    fn stated(description: &TrackDescriptor) -> Option<Self> {
        let number =
            |number: i64| i32::try_from(number).map_or(0, |number| number.max(0)).unsigned_abs();
        let is_own = true;
        if let Some(thread) = &description.thread {
            let (pid, tid) =
                (number(thread.pid.unwrap_or(0).into()), number(thread.tid.unwrap_or(0)));
            return Some(Self { pid, tid, is_own });
        }
        let process = description.process.as_ref()?;
        Some(Self { pid: number(process.pid.unwrap_or(0).into()), tid: 0, is_own })
    }
}

/// The names that are used, in the order of their first use.
#[derive(Default)]
struct Used {
    all: Vec<String>,
    kept: Vec<String>,
    /// The new place of each.
    places: BTreeMap<u32, u32>,
}

impl Used {
    fn place(&mut self, name: u32) -> u32 {
        *self.places.entry(name).or_insert_with(|| {
            let text = self.all.get_mut(name as usize).map(std::mem::take);
            self.kept.push(text.unwrap_or_else(|| "unnamed".into()));
            self.kept.len() as u32 - 1
        })
    }
}

/// The work on all tracks.
struct Making<'r> {
    /// The conversion of each clock, if it can be converted.
    clocks: Vec<Option<&'r Clock>>,
    names: Used,
    /// The last moment of any track.
    end: u64,
    /// Events that cannot be placed, by clock.
    unplaced: BTreeMap<u16, u64>,
    too_deep: u64,
}

impl Making<'_> {
    /// Puts the events of a track on the recording's clock and sorts them.
    fn place(&mut self, track: &mut RawTrack) {
        track.events.retain_mut(|raw| self.convert(raw.clock, &mut raw.at));
        track.values.retain_mut(|(time, _)| self.convert(time.clock, &mut time.at));
        track.events.sort_by_key(|raw| raw.at);
        track.values.sort_by_key(|(time, _)| time.at);
    }

    fn convert(&mut self, clock: u16, at: &mut u64) -> bool {
        match self.clocks[usize::from(clock)] {
            Some(clock) => {
                *at = clock.convert(*at);
                self.end = self.end.max(*at);
                true
            }
            None => {
                *self.unplaced.entry(clock).or_default() += 1;
                false
            }
        }
    }

    fn make(&mut self, raw: RawTrack, owner: Owner) -> EventTrack {
        let RawTrack { description, events, values, .. } = raw;
        let (scale, unit) = description.counter.as_ref().map_or((1.0, String::new()), scale);
        let value =
            |(time, value): (super::Time, f64)| (Instant::from_nanos(time.at), value * scale);
        let mut track = EventTrack {
            pid: owner.pid,
            tid: owner.tid,
            is_own: owner.is_own,
            name: name(&description, owner),
            values: values.into_iter().map(value).collect(),
            unit,
            ..EventTrack::default()
        };
        self.nest(&events, &mut track);
        track
    }

    /// Makes slices and instants of events in order of time.
    fn nest(&mut self, events: &[Raw], track: &mut EventTrack) {
        let mut open: Vec<usize> = Vec::new();
        let mut beyond = 0_u64;
        for raw in events {
            let at = Instant::from_nanos(raw.at);
            match raw.kind {
                Kind::Begin if open.len() == DEPTH_MAX => {
                    (beyond, self.too_deep) = (beyond + 1, self.too_deep + 1);
                }
                Kind::Begin => self.begin(raw, &mut open, track),
                Kind::End if beyond > 0 => beyond -= 1,
                Kind::End => match open.pop() {
                    Some(slice) => {
                        (track.slices[slice].to, track.slices[slice].is_whole) = (at, true)
                    }
                    None => track.unmatched += 1,
                },
                Kind::Instant => {
                    track.instants.push(Moment { at, name: self.names.place(raw.name) });
                }
                Kind::State => {
                    end_all(&mut open, track, at, true);
                    if raw.name != UNNAMED {
                        self.begin(raw, &mut open, track);
                    }
                }
                Kind::Cut => {
                    end_all(&mut open, track, at, false);
                    beyond = 0;
                }
            }
        }
        end_all(&mut open, track, Instant::from_nanos(self.end), false);
    }

    fn begin(&mut self, raw: &Raw, open: &mut Vec<usize>, track: &mut EventTrack) {
        let (from, name, depth) =
            (Instant::from_nanos(raw.at), self.names.place(raw.name), open.len() as u16);
        open.push(track.slices.len());
        track.slices.push(Slice { from, to: from, name, depth, is_whole: false });
    }
}

/// Ends all open slices at a moment.
fn end_all(open: &mut Vec<usize>, track: &mut EventTrack, at: Instant, is_whole: bool) {
    for slice in open.drain(..) {
        (track.slices[slice].to, track.slices[slice].is_whole) = (at, is_whole);
    }
}

/// The name of a track.
fn name(description: &TrackDescriptor, owner: Owner) -> String {
    let counter = description.counter.as_ref().and_then(|counter| counter.kind);
    let thread = description.thread.as_ref().and_then(|thread| thread.thread_name.clone());
    let process = description.process.as_ref().and_then(|process| process.process_name.clone());
    let name =
        thread.or(process).filter(|name| !name.is_empty()).or_else(|| description.name.clone());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| match (counter, owner) {
        (Some(THREAD_TIME), _) => "thread time".into(),
        (Some(THREAD_INSTRUCTIONS), _) => "thread instructions".into(),
        (_, Owner { tid: tid @ 1.., is_own: true, .. }) => format!("thread {tid}"),
        (_, Owner { pid: pid @ 1.., is_own: true, .. }) => format!("process {pid}"),
        _ => "track".into(),
    })
}

/// `CounterDescriptor.BuiltinCounterType`: processor time of the thread, ns.
const THREAD_TIME: i32 = 1;
/// `CounterDescriptor.BuiltinCounterType`: instructions of the thread.
const THREAD_INSTRUCTIONS: i32 = 2;

/// What to multiply the values of a counter by, and their unit then.
fn scale(counter: &CounterDescriptor) -> (f64, String) {
    let unit = match (counter.kind, counter.unit) {
        (Some(THREAD_TIME), _) | (_, Some(1)) => "ns",
        (_, Some(3)) => "B",
        _ => "",
    };
    let unit =
        counter.unit_name.clone().filter(|unit| !unit.is_empty()).unwrap_or_else(|| unit.into());
    (counter.unit_multiplier.filter(|by| *by != 0).map_or(1.0, |by| by as f64), unit)
}
