//! Decodes packets into entries, tolerating foreign and damaged ones.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_units::Instant;

use super::clocks::{Clock, ClockKey, Clocks};
use super::foreign::Foreign;
use super::packet::{
    AnnotationName, AnnotationValue, DebugAnnotation, InternedData, SEQ_INCREMENTAL_STATE_CLEARED,
    SEQ_NEEDS_INCREMENTAL_STATE, TYPE_SLICE_END, ThreadDescriptor, TracePacket, TrackDescriptor,
    TrackEvent,
};
use super::{CLOCK_MONOTONIC, CLOCK_REALTIME, CONDITIONS, RAW_NAMES, Trace, Track, counters};
use crate::error::ReadError;
use crate::event::{Entry, EventKind, Shape, text_to_words};
use crate::missing;
use crate::sched::{Thread, Tid};

/// Reads the marks of programs from a trace, and returns them with the errors.
///
/// The kernel's events are in [`Recording`](crate::Recording).
///
/// Packets of an unknown kind are counted and skipped. From a truncated file, all complete packets are read.
#[must_use]
pub fn read(bytes: &[u8]) -> (Trace, Vec<ReadError>) {
    super::kernel::read(&bytes)
}

/// Processes packets one by one.
#[derive(Default)]
pub(super) struct Reader {
    trace: Trace,
    ours: bool,
    sequences: BTreeMap<u32, Sequence>,
    /// The index in `trace.tracks` of each track.
    tracks: BTreeMap<u64, usize>,
    /// The cycle of the open slice on each track.
    open_cycles: BTreeMap<u64, u32>,
    /// The events of other programs.
    foreign: Foreign,
    clocks: Clocks,
}

/// The state of a sequence of packets.
#[derive(Default)]
pub(super) struct Sequence {
    /// Whether everything since the state was last cleared was read.
    is_intact: bool,
    /// By category; a job's slices are stored as [`EventKind::Start`].
    kinds: BTreeMap<u64, EventKind>,
    /// As indices of [`Foreign`].
    pub(super) event_names: BTreeMap<u64, u32>,
    annotation_names: BTreeMap<u64, String>,
    pub(super) default_track: Option<u64>,
    /// The clock of time stamps that state none; 0 for that of the trace.
    default_clock: u32,
    /// The counters of extra values that state none, for whole and real values.
    pub(super) counters: Vec<u64>,
    pub(super) real_counters: Vec<u64>,
    /// The values of counters whose values are differences.
    pub(super) sums: BTreeMap<u64, i64>,
    /// The tracks with events of this sequence, and the time of the last one, also from before its state was cleared.
    pub(super) tracks: BTreeSet<u64>,
    pub(super) last: Option<(u16, u64)>,
}

/// Everything that was read from a trace but the kernel's events.
pub(super) struct Finished {
    pub(super) trace: Trace,
    /// The threads that descriptions of tracks name.
    pub(super) threads: Vec<Thread>,
    /// The conversion of the kernel's events.
    pub(super) boot_clock: Clock,
    pub(super) errors: Vec<ReadError>,
}

impl Reader {
    /// Processes the packet at that offset; the error names the missing field of an event of Hemiola.
    pub(super) fn packet(
        &mut self,
        packet: TracePacket,
        offset: usize,
    ) -> Result<(), &'static str> {
        let mut ours = packet.process_tree.is_some() || packet.system_info.is_some();
        let id = packet.trusted_packet_sequence_id.unwrap_or(0);
        let sequence = self.sequences.entry(id).or_default();
        let flags = packet.sequence_flags.unwrap_or(0);
        if packet.previous_packet_dropped.unwrap_or(0) != 0 {
            self.foreign.cut(sequence);
            sequence.forget(false);
        }
        if flags & SEQ_INCREMENTAL_STATE_CLEARED != 0
            || packet.incremental_state_cleared == Some(true)
        {
            sequence.forget(true);
        }
        if let Some(data) = packet.interned_data {
            ours |= sequence.intern(data, &mut self.foreign);
        }
        if let Some(defaults) = packet.trace_packet_defaults {
            sequence.default_clock = defaults.timestamp_clock_id.unwrap_or(0);
            if let Some(event) = defaults.track_event_defaults {
                sequence.default_track = event.track_uuid;
                sequence.counters = event.extra_counter_track_uuids;
                sequence.real_counters = event.extra_double_counter_track_uuids;
            }
        }
        if let Some(snapshot) = packet.clock_snapshot {
            self.clocks.snapshot(&snapshot, id);
            let reading = |id| {
                let clock = snapshot.clocks.iter().find(|clock| clock.clock_id == Some(id));
                clock.and_then(|clock| clock.timestamp)
            };
            if let (Some(monotonic), Some(unix_ns), None) =
                (reading(CLOCK_MONOTONIC), reading(CLOCK_REALTIME), self.trace.began)
            {
                self.trace.began = Some((Instant::from_nanos(monotonic), unix_ns));
                ours = true;
            }
        }
        let clock =
            packet.timestamp_clock_id.filter(|id| *id != 0).unwrap_or(sequence.default_clock);
        let time = packet.timestamp.map(|ticks| self.clocks.reading(clock, id, ticks));
        if let Some(descriptor) = packet.track_descriptor {
            let has_kinds = !self.sequences[&id].kinds.is_empty();
            self.describe(descriptor, has_kinds);
            ours = true;
        }
        if let Some(event) = packet.track_event {
            match (flags & SEQ_NEEDS_INCREMENTAL_STATE, packet.machine_id.unwrap_or(0)) {
                (_, 1..) => self.foreign.of_another_machine(offset),
                (1.., 0) if !self.sequences[&id].is_intact => self.foreign.depends_on_lost(offset),
                _ => self.event(packet.timestamp, id, event, time, offset)?,
            }
            ours = true;
        }
        self.trace.foreign_packets += u64::from(!ours);
        Ok(())
    }

    /// Marks a gap in every track, because a packet is missing that may have contained entries of any.
    pub(super) fn gap(&mut self) {
        for track in &mut self.trace.tracks {
            if let Some(&Entry { at, cycle, .. }) = track.entries.last() {
                let kind = EventKind::Lost;
                track.entries.push(Entry { at, kind, arg: 0, cycle, a: 1, b: 0 });
            }
        }
        self.sequences.values().for_each(|sequence| self.foreign.cut(sequence));
    }

    /// Whether Hemiola wrote the file, which is known from its conditions at the beginning.
    pub(super) fn is_ours(&self) -> bool {
        self.ours
    }

    /// Returns what was read. `has_kernel`: the trace has events of the kernel.
    pub(super) fn finish(self, has_kernel: bool) -> Finished {
        let Self { mut trace, foreign, clocks, .. } = self;
        let relations = clocks.relations(has_kernel);
        let ours = trace.tracks.iter().map(|track| Thread {
            tid: Tid(track.tid),
            since: Instant::ZERO,
            pid: track.pid,
            name: track.name.clone(),
            new: false,
        });
        let threads = ours.chain(foreign.threads()).filter(|thread| thread.tid.0 != 0).collect();
        let left_out;
        (trace.track_events, left_out) = foreign.finish(&relations);
        let errors = missing::problems(&trace.conditions).chain(left_out).collect();
        Finished { trace, threads, boot_clock: relations.into_boot_clock(), errors }
    }

    /// `has_kinds`: the sequence has events of Hemiola.
    fn describe(&mut self, descriptor: TrackDescriptor, has_kinds: bool) {
        match &descriptor.thread {
            Some(thread) => self.describe_thread(&descriptor, thread),
            None if has_kinds && descriptor.counter.is_none() => self.describe_task(&descriptor),
            None => {}
        }
        self.foreign.describe(descriptor);
    }

    fn describe_thread(&mut self, descriptor: &TrackDescriptor, thread: &ThreadDescriptor) {
        let Some(uuid) = descriptor.uuid else { return };
        let track = self.track(uuid);
        track.pid = thread.pid.unwrap_or(0).cast_unsigned();
        track.tid = thread.tid.and_then(|tid| u32::try_from(tid).ok()).unwrap_or(track.pid);
        track.name = thread.thread_name.clone().unwrap_or_default();
    }

    /// A further task of a thread has a track below that of the thread.
    fn describe_task(&mut self, descriptor: &TrackDescriptor) {
        let (Some(uuid), Some(name)) = (descriptor.uuid, &descriptor.name) else { return };
        let parent = descriptor.parent_uuid.and_then(|parent| self.tracks.get(&parent));
        let Some(&parent) = parent else { return };
        let Track { pid, tid, .. } = self.trace.tracks[parent];
        let track = self.track(uuid);
        (track.pid, track.tid, track.name) = (pid, tid, name.clone());
    }

    /// The track of that number, which may be new.
    fn track(&mut self, uuid: u64) -> &mut Track {
        let trace = &mut self.trace;
        let index = *self.tracks.entry(uuid).or_insert_with(|| {
            trace.tracks.push(Track::default());
            trace.tracks.len() - 1
        });
        &mut trace.tracks[index]
    }

    /// Processes an event, of Hemiola or of another program.
    fn event(
        &mut self,
        timestamp: Option<u64>,
        sequence: u32,
        event: TrackEvent,
        time: Option<(ClockKey, u64)>,
        offset: usize,
    ) -> Result<(), &'static str> {
        if event.categories.iter().any(|category| category == CONDITIONS) {
            self.ours = true;
            let more = event.debug_annotations.into_iter().filter_map(text);
            missing::add(&mut self.trace.conditions, more);
            return Ok(());
        }
        let sequence = self.sequences.entry(sequence).or_default();
        let kind = match event.category_iids.iter().find_map(|iid| sequence.kinds.get(iid)) {
            None => {
                self.foreign.event(&event, sequence, time, offset);
                return Ok(());
            }
            Some(EventKind::Start) if event.kind == Some(TYPE_SLICE_END) => EventKind::Finish,
            Some(&kind) => kind,
        };
        let at = Instant::from_nanos(timestamp.ok_or("timestamp")?);
        let uuid = event.track_uuid.or(sequence.default_track).ok_or("track")?;
        let &index = self.tracks.get(&uuid).ok_or("described track")?;

        let (mut cycle, values) = sequence.values(kind, &event);
        let arg = values[0] as u16;
        match kind {
            EventKind::Start => self.open_cycles.extend(cycle.map(|cycle| (uuid, cycle))),
            EventKind::Finish => {
                let open = self.open_cycles.remove(&uuid);
                cycle = cycle.or(open);
            }
            _ => {}
        }
        let cycle = cycle.ok_or("cycle")?;

        let track = &mut self.trace.tracks[index];
        if let Some(full) = event.name_iid.and_then(|iid| sequence.event_names.get(&iid))
            && let full = self.foreign.text(*full)
            && matches!(kind.fields()[0], Some(field) if field.shape == Shape::Code)
            && let Some(name) =
                full.strip_prefix(kind.named().name()).and_then(|rest| rest.strip_prefix(' '))
            && track.names.get(kind, arg).is_none()
        {
            track.names.insert(kind, arg, name);
        }
        track.entries.push(Entry { at, kind, arg, cycle, a: values[1], b: values[2] });
        Ok(())
    }
}

impl Sequence {
    /// Forgets the state that later packets may refer to.
    fn forget(&mut self, is_intact: bool) {
        let (tracks, last) = (std::mem::take(&mut self.tracks), self.last);
        *self = Self { is_intact, tracks, last, ..Self::default() };
    }

    /// Stores names; returns whether any is a kind of Hemiola.
    fn intern(&mut self, data: InternedData, foreign: &mut Foreign) -> bool {
        let mut ours = false;
        for category in data.event_categories {
            let name = category.name.as_deref();
            let kind = EventKind::ALL.into_iter().find(|&kind| name == Some(super::category(kind)));
            if let (Some(iid), Some(kind)) = (category.iid, kind) {
                self.kinds.insert(iid, kind);
                ours = true;
            }
        }
        let pairs = |names: Vec<super::packet::InternedName>| {
            names.into_iter().filter_map(|name| Some((name.iid?, name.name?)))
        };
        let names = pairs(data.event_names).map(|(iid, name)| (iid, foreign.name(&name)));
        self.event_names.extend(names);
        self.annotation_names.extend(pairs(data.debug_annotation_names));
        ours
    }

    /// Returns the cycle, if stated, and `arg`, `a`, `b`.
    fn values(&self, kind: EventKind, event: &TrackEvent) -> (Option<u32>, [u64; 3]) {
        let fields = kind.fields();
        let mut cycle = None;
        let mut values = [0; 3];
        for annotation in &event.debug_annotations {
            if let (EventKind::MarkText, Some(AnnotationValue::Text(text))) =
                (kind, &annotation.value)
            {
                [values[1], values[2]] = text_to_words(text).unwrap_or_default();
                continue;
            }
            let Some(value) = number(annotation) else { continue };
            let Some(name) = self.name(annotation) else { continue };
            if name == "cycle" {
                cycle = Some(value as u32);
                continue;
            }
            let place = fields.iter().zip(RAW_NAMES).position(|(field, raw)| match field {
                Some(field) => field.name == name,
                None => raw == name,
            });
            if let Some(place) = place {
                values[place] = value;
            }
        }
        for (&(index, _), &bits) in counters(kind).iter().zip(&event.extra_double_counter_values) {
            values[index] = bits;
        }
        (cycle, values)
    }

    fn name<'a>(&'a self, annotation: &'a DebugAnnotation) -> Option<&'a str> {
        match annotation.name.as_ref()? {
            AnnotationName::Iid(iid) => self.annotation_names.get(iid).map(String::as_str),
            AnnotationName::Text(name) => Some(name),
        }
    }
}

fn number(annotation: &DebugAnnotation) -> Option<u64> {
    match annotation.value {
        Some(AnnotationValue::Uint(value) | AnnotationValue::DoubleBits(value)) => Some(value),
        Some(AnnotationValue::Int(value)) => Some(value.cast_unsigned()),
        _ => None,
    }
}

fn text(annotation: DebugAnnotation) -> Option<(String, String)> {
    match (annotation.name, annotation.value) {
        (Some(AnnotationName::Text(name)), Some(AnnotationValue::Text(text))) => Some((name, text)),
        _ => None,
    }
}
