//! Encodes entries into packets, as a stream.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use hemiola_units::Instant;
use hemiola_wire::{put_bytes, put_number, put_varint};
use prost::Message;

use super::kernel::Kernel;
use super::packet::{
    AnnotationName, AnnotationValue, ClockReading, ClockSnapshot, CounterDescriptor,
    DebugAnnotation, InternedData, InternedName, ProcessDescriptor, ProcessTree,
    SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE, SystemInfo, TYPE_INSTANT,
    TYPE_SLICE_BEGIN, TYPE_SLICE_END, ThreadDescriptor, TracePacket, TracePacketDefaults,
    TrackDescriptor, TrackEvent, TrackEventDefaults, TreeProcess, TreeThread, Utsname,
};
use super::seal::{SEAL_LEN, put_closing, seal};
use super::{
    CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_REALTIME, CONDITIONS, Counter, Names, RAW_NAMES,
    category, counters,
};
use crate::event::{Entry, EventKind, Shape, source, words_to_text};
use crate::sched::{Event, Thread};

/// Writes a trace to an output.
///
/// Each call passes complete packets to one `write_all`, so no buffer is needed in between, and the file on disk is
/// readable at any time.
///
/// # Errors
/// Every method fails if the output fails. The file may then end within a packet, so the writer refuses everything
/// after that.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    out: W,
    buffer: Vec<u8>,
    tracks: Vec<TrackState>,
    /// The tracks of the processes, and of their threads by both numbers. Perfetto takes a second description of a
    /// number for another process or thread.
    processes: BTreeMap<u32, u64>,
    threads: BTreeMap<(u32, u32), u64>,
    kernel: Kernel,
    /// The kernel's release, if it is in the conditions.
    release: Option<String>,
    began: Instant,
    /// Packets written.
    packets: u64,
    broken: bool,
}

/// Identifies a track of one [`TraceWriter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrackId(usize);

impl<W: Write> TraceWriter<W> {
    /// Begins a trace at the time `began` on the monotonic clock, which is `unix_ns` nanoseconds since 1970 UTC, with
    /// the conditions of the run as names and texts.
    pub fn new(
        out: W,
        began: Instant,
        unix_ns: u64,
        conditions: &[(&str, &str)],
    ) -> io::Result<Self> {
        let release = conditions.iter().find(|(name, _)| *name == "kernel");
        let mut writer = Self {
            out,
            buffer: Vec::new(),
            tracks: Vec::new(),
            processes: BTreeMap::new(),
            threads: BTreeMap::new(),
            kernel: Kernel::default(),
            // The first word of the entry, from uname(2).
            release: release.and_then(|(_, text)| text.split(' ').next()).map(str::to_owned),
            began,
            packets: 0,
            broken: false,
        };
        let reading = |clock, ns| ClockReading {
            clock_id: Some(clock),
            timestamp: Some(ns),
            ..ClockReading::default()
        };
        writer.packet(&TracePacket {
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![
                    reading(CLOCK_MONOTONIC, began.nanos()),
                    // The clock that Perfetto assumes for the kernel's events.
                    reading(CLOCK_BOOTTIME, began.nanos()),
                    reading(CLOCK_REALTIME, unix_ns),
                ],
                primary_trace_clock: Some(CLOCK_MONOTONIC),
            }),
            trusted_packet_sequence_id: Some(CONDITIONS_SEQUENCE),
            sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED),
            ..TracePacket::default()
        });
        writer.packet(&TracePacket {
            timestamp: Some(began.nanos()),
            timestamp_clock_id: Some(CLOCK_MONOTONIC),
            trusted_packet_sequence_id: Some(CONDITIONS_SEQUENCE),
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(CONDITIONS_TRACK),
                name: Some("conditions".into()),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        });
        writer.hand_over()?;
        writer.conditions(began, conditions)?;
        Ok(writer)
    }

    /// Adds conditions that became known at the time `at`, such as those of the end.
    pub fn conditions(&mut self, at: Instant, conditions: &[(&str, &str)]) -> io::Result<()> {
        let texts = conditions.iter().map(|&(name, text)| DebugAnnotation {
            name: Some(AnnotationName::Text(name.into())),
            value: Some(AnnotationValue::Text(text.into())),
        });
        self.packet(&TracePacket {
            timestamp: Some(at.nanos()),
            timestamp_clock_id: Some(CLOCK_MONOTONIC),
            trusted_packet_sequence_id: Some(CONDITIONS_SEQUENCE),
            track_event: Some(TrackEvent {
                kind: Some(TYPE_INSTANT),
                track_uuid: Some(CONDITIONS_TRACK),
                categories: vec![CONDITIONS.into()],
                name: Some("conditions".into()),
                debug_annotations: texts.collect(),
                ..TrackEvent::default()
            }),
            ..TracePacket::default()
        });
        self.hand_over()
    }

    /// Adds the track of a process; `names` are the names of the numbers in its entries.
    pub fn process(&mut self, pid: u32, name: &str, names: Names) -> io::Result<TrackId> {
        self.track(pid, pid, Some(name), name, names)
    }

    /// Adds the track of a task in a thread of a process, whose own name does not change; `names` as above. The first
    /// task of a thread has the track of the thread, and each further one a track below it.
    pub fn task(&mut self, pid: u32, tid: u32, name: &str, names: Names) -> io::Result<TrackId> {
        self.track(pid, tid, None, name, names)
    }

    /// Sets the name of `arg` of `kind` for later entries of the track.
    ///
    /// # Panics
    /// If the track belongs to another writer.
    pub fn name(&mut self, track: TrackId, kind: EventKind, arg: u16, name: &str) {
        self.tracks[track.0].names.insert(kind, arg, name);
    }

    fn track(
        &mut self,
        pid: u32,
        tid: u32,
        process: Option<&str>,
        name: &str,
        names: Names,
    ) -> io::Result<TrackId> {
        let track = TrackId(self.tracks.len());
        self.tracks.push(TrackState {
            name: name.into(),
            names,
            event_names: BTreeMap::new(),
            described: [false; 3],
            described_marks: BTreeSet::new(),
            open_cycle: None,
            process: 0,
        });
        let is_new = !self.processes.contains_key(&pid);
        let process_uuid = *self.processes.entry(pid).or_insert(track.uuid());
        let thread_uuid = *self.threads.entry((pid, tid)).or_insert(track.own_uuid());
        self.tracks[track.0].process = process_uuid;
        let pid = pid.cast_signed();
        let annotation_names = [(CYCLE, "cycle"), (LATENESS, "lateness_ns")]
            .into_iter()
            .chain((RAW..).zip(RAW_NAMES))
            .chain(EventKind::ALL.into_iter().flat_map(|kind| {
                let fields = kind.fields().into_iter().enumerate();
                fields.filter_map(move |(index, field)| Some((field_iid(kind, index), field?.name)))
            }));
        self.packet(&TracePacket {
            trusted_packet_sequence_id: Some(track.sequence()),
            sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED),
            interned_data: Some(InternedData {
                event_categories: EventKind::ALL
                    .into_iter()
                    .filter(|&kind| kind != EventKind::Finish)
                    .map(|kind| InternedName::new(category_iid(kind), category(kind)))
                    .collect(),
                event_names: Vec::new(),
                debug_annotation_names: annotation_names
                    .map(|(iid, name)| InternedName::new(iid, name))
                    .collect(),
            }),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(CLOCK_MONOTONIC),
                track_event_defaults: Some(TrackEventDefaults {
                    track_uuid: Some(track.own_uuid()),
                    ..TrackEventDefaults::default()
                }),
            }),
            // Again, under the same number, if its name has become known.
            track_descriptor: (is_new || process.is_some()).then(|| TrackDescriptor {
                uuid: Some(process_uuid),
                process: Some(ProcessDescriptor {
                    pid: Some(pid),
                    process_name: process.map(str::to_owned),
                }),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        });
        let own = if thread_uuid == track.own_uuid() {
            TrackDescriptor {
                parent_uuid: Some(process_uuid),
                thread: Some(ThreadDescriptor {
                    pid: Some(pid),
                    tid: Some(tid.into()),
                    thread_name: Some(name.into()),
                }),
                ..TrackDescriptor::default()
            }
        } else {
            TrackDescriptor {
                parent_uuid: Some(thread_uuid),
                name: Some(name.into()),
                ..TrackDescriptor::default()
            }
        };
        self.packet(&TracePacket {
            trusted_packet_sequence_id: Some(track.sequence()),
            track_descriptor: Some(TrackDescriptor { uuid: Some(track.own_uuid()), ..own }),
            ..TracePacket::default()
        });
        self.hand_over()?;
        Ok(track)
    }

    /// Adds entries to a track, in recorded order.
    ///
    /// # Panics
    /// If the track belongs to another writer.
    pub fn entries(&mut self, track: TrackId, entries: &[Entry]) -> io::Result<()> {
        for entry in entries {
            for &(_, counter) in counters(entry.kind) {
                self.describe(track, counter);
            }
            if entry.value().is_some_and(|value| value != 0.0) {
                self.describe_mark(track, entry);
            }
            let packet = self.tracks[track.0].event(track, entry);
            self.packet(&packet);
        }
        self.hand_over()
    }

    /// Adds the kernel's events of one processor, in order; later calls continue from there.
    ///
    /// Each call ends its packets, so few large calls give a smaller file than many small ones. Add the names of
    /// threads first ([`TraceWriter::threads`]), so that Perfetto's own page shows them.
    pub fn kernel(&mut self, cpu: u16, events: &[Event]) -> io::Result<()> {
        self.announce();
        let Self { kernel, buffer, packets, .. } = self;
        kernel.events(cpu, events, &mut |bundle| bundle_packet(buffer, packets, bundle));
        self.hand_over()
    }

    /// Adds information about threads, in order of time for each thread number.
    pub fn threads(&mut self, threads: &[Thread]) -> io::Result<()> {
        self.announce();
        let (before, since): (Vec<&Thread>, Vec<&Thread>) =
            threads.iter().partition(|thread| thread.since == Instant::ZERO);
        for threads in before.chunks(TREE_MAX) {
            for thread in threads {
                self.kernel.learn(thread);
            }
            self.process_tree(self.began, threads);
        }
        for thread in since {
            let Self { kernel, buffer, packets, .. } = self;
            kernel.change(thread, &mut |bundle| bundle_packet(buffer, packets, bundle));
            // Its process is not part of the event for a new name.
            if self.kernel.learn(thread) && !thread.new {
                self.process_tree(thread.since, &[thread]);
            }
        }
        self.hand_over()
    }

    /// Adds the packet that describes these threads at that time.
    fn process_tree(&mut self, at: Instant, threads: &[&Thread]) {
        let numbers = |thread: &Thread| (thread.tid.0.cast_signed(), thread.pid.cast_signed());
        let processes = threads.iter().filter(|thread| thread.tid.0 == thread.pid);
        let tree = ProcessTree {
            processes: processes
                .map(|thread| TreeProcess {
                    pid: Some(numbers(thread).1),
                    cmdline: vec![thread.name.clone().into_bytes()],
                    cmdline_is_comm: Some(true),
                })
                .collect(),
            threads: threads
                .iter()
                .map(|thread| TreeThread {
                    tid: Some(numbers(thread).0),
                    name: Some(thread.name.clone().into_bytes()),
                    tgid: Some(numbers(thread).1).filter(|&pid| pid != 0),
                })
                .collect(),
        };
        self.packet(&TracePacket {
            process_tree: Some(tree),
            timestamp: Some(at.nanos()),
            trusted_packet_sequence_id: Some(CONDITIONS_SEQUENCE),
            ..TracePacket::default()
        });
    }

    /// Describes the kernel, once: readers need its release to interpret the states of threads.
    fn announce(&mut self) {
        if std::mem::replace(&mut self.kernel.announced, true) {
            return;
        }
        // States are written as since 4.14, for any kernel.
        let release = self.release.clone().unwrap_or_else(|| "4.14".into());
        self.packet(&TracePacket {
            system_info: Some(SystemInfo {
                utsname: Some(Utsname { sysname: Some("Linux".into()), release: Some(release) }),
            }),
            trusted_packet_sequence_id: Some(CONDITIONS_SEQUENCE),
            ..TracePacket::default()
        });
    }

    /// Returns the output, to sync it.
    pub const fn get_ref(&self) -> &W {
        &self.out
    }

    /// Describes a counter track before its first value, so that no process has empty ones.
    fn describe(&mut self, track: TrackId, counter: Counter) {
        let described = &mut self.tracks[track.0].described[counter as usize];
        if std::mem::replace(described, true) {
            return;
        }
        let (name, unit) = counter.name_and_unit();
        self.counter(track, track.counter_uuid(counter), name.into(), unit);
    }

    /// Describes the counter track of a mark. Marks that are always 0 are plain events and have none.
    fn describe_mark(&mut self, track: TrackId, entry: &Entry) {
        let state = &mut self.tracks[track.0];
        if !state.described_marks.insert(entry.arg) {
            return;
        }
        let mark = state.names.get(entry.kind, entry.arg).unwrap_or("mark");
        let name = format!("{} {mark}", state.name);
        self.counter(track, track.mark_uuid(entry.arg), name, "");
    }

    fn counter(&mut self, track: TrackId, uuid: u64, name: String, unit: &str) {
        self.packet(&TracePacket {
            trusted_packet_sequence_id: Some(track.sequence()),
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(uuid),
                parent_uuid: Some(self.tracks[track.0].process),
                name: Some(name),
                counter: Some(CounterDescriptor {
                    unit_name: Some(unit.into()),
                    ..CounterDescriptor::default()
                }),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        });
    }

    /// Adds the record that closes the file; without it, readers report that the recorder was stopped before the end.
    /// Nothing may follow.
    pub fn close(&mut self) -> io::Result<()> {
        self.buffer.extend(closing(self.packets));
        self.hand_over()
    }

    /// Returns the bytes that would close the file as it is now, for a copy of it.
    pub fn closing(&self) -> Vec<u8> {
        closing(self.packets)
    }

    fn packet(&mut self, packet: &TracePacket) {
        begin_packet(&mut self.buffer, packet.encoded_len());
        let start = self.buffer.len();
        packet.encode(&mut self.buffer).expect("a vector grows as needed");
        seal(&mut self.buffer, start);
        self.packets += 1;
    }

    fn hand_over(&mut self) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("the trace ended at an earlier error"));
        }
        let written = self.out.write_all(&self.buffer).and_then(|()| self.out.flush());
        self.broken = written.is_err();
        self.buffer.clear();
        written
    }
}

/// The most threads in one packet.
const TREE_MAX: usize = 1000;

/// Appends the packet of a bundle of the kernel's events, and counts it.
fn bundle_packet(buffer: &mut Vec<u8>, packets: &mut u64, bundle: &[u8]) {
    let mut sequence = Vec::new();
    put_number(&mut sequence, 10, CONDITIONS_SEQUENCE.into());
    let mut length = Vec::new();
    put_varint(&mut length, bundle.len() as u64);
    begin_packet(buffer, 1 + length.len() + bundle.len() + sequence.len());
    let start = buffer.len();
    put_bytes(buffer, 1, bundle);
    buffer.append(&mut sequence);
    seal(buffer, start);
    *packets += 1;
}

/// Begins a packet with so many bytes before its checksum.
fn begin_packet(buffer: &mut Vec<u8>, length: usize) {
    // Field 1, length-delimited: `Trace.packet`.
    buffer.push(0x0A);
    put_varint(buffer, (length + SEAL_LEN) as u64);
}

/// Returns the packet that closes a file of so many packets.
fn closing(packets: u64) -> Vec<u8> {
    let mut content = Vec::new();
    put_number(&mut content, 10, CONDITIONS_SEQUENCE.into());
    put_closing(&mut content, packets);
    let mut packet = Vec::new();
    begin_packet(&mut packet, content.len());
    let start = packet.len();
    packet.append(&mut content);
    seal(&mut packet, start);
    packet
}

/// The state of a track's sequence.
#[derive(Debug)]
struct TrackState {
    name: String,
    names: Names,
    /// The interned event names: by kind and, where `arg` has a name, by `arg`.
    event_names: BTreeMap<(EventKind, Option<u16>), u64>,
    described: [bool; 3],
    /// The marks that have a counter track.
    described_marks: BTreeSet<u16>,
    open_cycle: Option<u32>,
    /// The track of its process.
    process: u64,
}

impl TrackState {
    fn event(&mut self, track: TrackId, entry: &Entry) -> TracePacket {
        let kind = entry.kind;
        let fields = kind.fields();
        let values = [entry.arg.into(), entry.a, entry.b];

        let mut event =
            TrackEvent { category_iids: vec![category_iid(kind)], ..TrackEvent::default() };
        let mut interned_data = None;
        event.kind = Some(match kind {
            EventKind::Start => TYPE_SLICE_BEGIN,
            EventKind::Finish => TYPE_SLICE_END,
            _ => TYPE_INSTANT,
        });
        if kind != EventKind::Finish {
            let (iid, new) = self.event_name(entry);
            event.name_iid = Some(iid);
            interned_data = new.map(|name| InternedData {
                event_names: vec![InternedName::new(iid, name)],
                ..InternedData::default()
            });
        }

        let mut annotate = |iid, value| {
            event
                .debug_annotations
                .push(DebugAnnotation { name: Some(AnnotationName::Iid(iid)), value: Some(value) });
        };
        if !(kind == EventKind::Finish && self.open_cycle == Some(entry.cycle)) {
            annotate(CYCLE, AnnotationValue::Uint(entry.cycle.into()));
        }
        for (index, (field, value)) in fields.into_iter().zip(values).enumerate() {
            if counters(kind).iter().any(|&(counted, _)| counted == index) {
                continue;
            }
            match field.map(|field| field.shape) {
                None if value == 0 => {}
                None => annotate(RAW + index as u64, AnnotationValue::Uint(value)),
                // Few jobs follow skipped releases, and few processes warm up.
                Some(Shape::Whole) if kind == EventKind::Start && value == 0 => {}
                Some(Shape::Real) => {
                    annotate(field_iid(kind, index), AnnotationValue::DoubleBits(value));
                }
                Some(Shape::Signed) => {
                    annotate(field_iid(kind, index), AnnotationValue::Int(value.cast_signed()));
                }
                Some(Shape::Text) if let Some(text) = words_to_text([entry.a, entry.b]) => {
                    annotate(field_iid(kind, index), AnnotationValue::Text(text));
                    // The text contains `b`.
                    break;
                }
                Some(_) => annotate(field_iid(kind, index), AnnotationValue::Uint(value)),
            }
        }
        if kind == EventKind::Finish {
            let lateness = entry.at - Instant::from_nanos(entry.a);
            annotate(LATENESS, AnnotationValue::Int(lateness.nanos()));
        }
        for &(index, counter) in counters(kind) {
            event.extra_double_counter_track_uuids.push(track.counter_uuid(counter));
            event.extra_double_counter_values.push(values[index]);
        }
        if let Some(value) = entry.value().filter(|_| self.described_marks.contains(&entry.arg)) {
            event.extra_double_counter_track_uuids.push(track.mark_uuid(entry.arg));
            event.extra_double_counter_values.push(value.to_bits());
        }

        match kind {
            EventKind::Start => self.open_cycle = Some(entry.cycle),
            EventKind::Finish => self.open_cycle = None,
            _ => {}
        }
        TracePacket {
            timestamp: Some(entry.at.nanos()),
            trusted_packet_sequence_id: Some(track.sequence()),
            sequence_flags: Some(SEQ_NEEDS_INCREMENTAL_STATE),
            track_event: Some(event),
            interned_data,
            ..TracePacket::default()
        }
    }

    /// Returns the number of the event's name, and the name itself the first time.
    fn event_name(&mut self, entry: &Entry) -> (u64, Option<String>) {
        let kind = entry.kind;
        let coded = match kind.fields()[0] {
            Some(field) if field.shape == Shape::Code => {
                let given = self.names.get(kind, entry.arg).map(str::to_owned);
                given.or_else(|| (field.name == "source").then(|| source::name(entry.arg)))
            }
            _ => None,
        };
        let kind = kind.named();
        let key = (kind, coded.is_some().then_some(entry.arg));
        if let Some(&iid) = self.event_names.get(&key) {
            return (iid, None);
        }
        let iid = self.event_names.len() as u64 + 1;
        self.event_names.insert(key, iid);
        let name = match coded {
            Some(coded) => format!("{} {coded}", kind.name()),
            None if kind == EventKind::Start => self.name.clone(),
            None => kind.name().to_owned(),
        };
        (iid, Some(name))
    }
}

// The conditions have a sequence and a track of their own, before those of the processes.
const CONDITIONS_SEQUENCE: u32 = 1;
const CONDITIONS_TRACK: u64 = 1;

impl TrackId {
    // Each has eight track numbers: for its process, for itself and for its counters.
    const fn uuid(self) -> u64 {
        (self.0 as u64 + 1) * 8
    }

    const fn own_uuid(self) -> u64 {
        self.uuid() + 1
    }

    const fn counter_uuid(self, counter: Counter) -> u64 {
        self.uuid() + 2 + counter as u64
    }

    /// The counter track of the mark with that number, beyond the numbers of all others.
    const fn mark_uuid(self, mark: u16) -> u64 {
        (1 << 48) + ((self.0 as u64) << 16) + mark as u64
    }

    const fn sequence(self) -> u32 {
        self.0 as u32 + CONDITIONS_SEQUENCE + 1
    }
}

/// Returns the number of the category, which both ends of a slice share.
const fn category_iid(kind: EventKind) -> u64 {
    match kind {
        EventKind::Finish => EventKind::Start as u64,
        _ => kind as u64,
    }
}

// Numbers of the interned annotation names, the same on every sequence. All are below 128, so that each takes one byte.
const CYCLE: u64 = 1;
const LATENESS: u64 = 2;
const RAW: u64 = 3;

const fn field_iid(kind: EventKind, index: usize) -> u64 {
    RAW + 3 * kind as u64 + index as u64
}
