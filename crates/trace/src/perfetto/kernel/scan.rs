//! Scans a trace once: where each processor's bundles are, the threads, and the marks of programs.

use std::collections::BTreeMap;

use hemiola_units::Instant;
use hemiola_wire::{Value, WireError, WireReader};
use prost::Message;

use super::read::Bundles;
use super::{States, bundle};
use crate::compressed::Method;
use crate::error::{Errors, ReadError};
use crate::perfetto::Trace;
use crate::perfetto::clocks::Clock;
use crate::perfetto::packet::{ProcessTree, TracePacket};
use crate::perfetto::read::{Finished, Reader};
use crate::perfetto::seal::{CHECKSUM, CLOSING, Seals, Soundness, soundness};
use crate::recording::{Decoder, Lane, Learner, Scanned};
use crate::sched::{Thread, Tid};
use crate::source::{ByteSource, Window};

/// The longest packet that is read; a longer one is damaged or too large to keep in memory.
const PACKET_MAX: u64 = 256 << 20;

/// The byte before the length of a packet: field 1, `Trace.packet`.
const PACKET: u8 = 0x0A;

/// Scans a trace.
pub(crate) fn scan(window: Window<'_>) -> Scanned {
    let (scan, appended) = Scan::of(window);
    Scanned { appended, ..scan.finish() }
}

/// Reads only the marks of programs.
pub(in super::super) fn read(source: &dyn ByteSource) -> (Trace, Vec<ReadError>) {
    let (Scan { reader, lanes, mut errors, .. }, _) = Scan::of(Window::new(source));
    let Finished { trace, errors: left_out, .. } = reader.finish(!lanes.is_empty());
    left_out.into_iter().for_each(|error| errors.push(error));
    (trace, errors.0)
}

/// How far to search for the next sound packet after damage.
const SEARCH_MAX: usize = 4 << 20;

/// How many bytes of candidates that search may read; ours are seldom longer than 64 KiB.
const HASHED_MAX: usize = 256 << 20;

/// Returns the offset of the next packet that agrees with its checksum.
fn next_sound(window: &mut Window<'_>, offset: u64) -> Option<u64> {
    let bytes = window.some(offset, SEARCH_MAX).ok()?;
    let mut budget = HASHED_MAX;
    let sound = |at: &usize| {
        let mut wire = WireReader::new(&bytes[at + 1..]);
        let length = wire.varint().ok().and_then(|length| usize::try_from(length).ok());
        let packet = length.and_then(|length| wire.rest().get(..length));
        let packet = packet.filter(|packet| packet.len() <= budget);
        budget -= packet.map_or(0, <[u8]>::len);
        packet.is_some_and(|packet| soundness(packet) == Soundness::Sound)
    };
    let mut begins = (0..bytes.len()).filter(|&at| bytes[at] == PACKET);
    begins.find(sound).map(|at| offset + at as u64)
}

/// Returns offset and length of the contents of the packet that begins at `offset`, in a file or a part of it that ends
/// at `size`.
fn packet_at(window: &mut Window<'_>, offset: u64, size: u64) -> Result<(u64, usize), ReadError> {
    let at = offset as usize;
    let head = window
        .some(offset, 11)
        .map_err(|error| ReadError::Io { offset: at, reason: error.to_string() })?;
    let Some((&PACKET, rest)) = head.split_first() else {
        return Err(ReadError::NoPacket { offset: at });
    };
    let mut wire = WireReader::new(rest);
    let length = wire.varint().map_err(|error| match error {
        WireError::Truncated => ReadError::Truncated { offset: at },
        WireError::Malformed => ReadError::NoPacket { offset: at },
    })?;
    let start = offset + (head.len() - wire.rest().len()) as u64;
    if length > size - start {
        return Err(ReadError::Truncated { offset: at });
    }
    if length > PACKET_MAX {
        let what = format!("a packet of {length} bytes; at most {PACKET_MAX} are supported");
        return Err(ReadError::Unsupported { offset: at, what });
    }
    Ok((start, length as usize))
}

#[derive(Default)]
struct Scan {
    reader: Reader,
    learner: Learner,
    lanes: BTreeMap<u16, Lane>,
    errors: Errors,
    release: Option<String>,
    /// The number to add to the bundles' clock for the boot clock, and the clock's id.
    other_clock: Option<(u64, u64)>,
    seals: Seals,
}

/// Packets that a packet holds in compressed form.
type Compressed = Vec<(Method, Vec<u8>)>;

impl Scan {
    /// Scans a file. Returns also the packets that it held in compressed form.
    fn of(mut window: Window<'_>) -> (Self, Vec<u8>) {
        let mut scan = Self::default();
        let mut offset = 0;
        let size = window.size();
        while offset < size {
            match scan.next(&mut window, offset, size) {
                Some(next) => offset = next,
                None => break,
            }
        }
        let seals = std::mem::take(&mut scan.seals);
        scan.errors.0.extend(seals.end(!scan.errors.0.is_empty(), size));
        (scan, window.into_appended())
    }

    /// Processes the packet at that offset of a file of that size. Returns the offset of the next one; `None` if there
    /// is none.
    fn next(&mut self, window: &mut Window<'_>, offset: u64, size: u64) -> Option<u64> {
        let (start, length) = match packet_at(window, offset, size) {
            Ok(found) => found,
            Err(error) => {
                self.errors.push(error);
                return self.resume(window, offset);
            }
        };
        let packet = match window.get(start, length) {
            Ok(packet) => packet,
            Err(error) => {
                self.errors
                    .push(ReadError::Io { offset: offset as usize, reason: error.to_string() });
                return None;
            }
        };
        if let Err(error) = self.seals.packet(packet, offset) {
            self.errors.push(error);
            return self.resume(window, offset);
        }
        for (method, bytes) in self.packet(packet, offset, start) {
            self.compressed(window, method, &bytes, offset);
        }
        Some(start + length as u64)
    }

    /// Processes the packets that the packet at that offset holds in compressed form. The decompressed ones stay in
    /// memory behind the file, within the limit of all compressed files. Problems of it have the offset of the packet,
    /// which is a place in the file.
    fn compressed(&mut self, window: &mut Window<'_>, method: Method, bytes: &[u8], offset: u64) {
        let (mut at, decompressed) = window.append(method, bytes);
        let end = window.size();
        let mut problem = decompressed.err().map(|error| error.to_string());
        while at < end {
            let packet = packet_at(window, at, end).and_then(|(start, length)| {
                let io = |error: std::io::Error| ReadError::Io {
                    offset: offset as usize,
                    reason: error.to_string(),
                };
                Ok((window.get(start, length).map_err(io)?, start, length))
            });
            match packet {
                Ok((packet, start, length)) => {
                    if !self.packet(packet, offset, start).is_empty() {
                        problem
                            .get_or_insert("it contains packets that were compressed twice".into());
                    }
                    at = start + length as u64;
                }
                // The end is cut where decompression failed.
                Err(_) => {
                    problem.get_or_insert("what it contains are no whole packets".into());
                    break;
                }
            }
        }
        if let Some(problem) = problem {
            let reason = format!("its compressed packets are damaged or too large: {problem}");
            self.errors.push(ReadError::Packet { offset: offset as usize, reason });
            self.gap(offset);
        }
    }

    /// Continues behind damage at that offset, if the file has checksums by which a packet is recognized.
    fn resume(&mut self, window: &mut Window<'_>, offset: u64) -> Option<u64> {
        let next = self.seals.sealed().then(|| next_sound(window, offset + 1)).flatten()?;
        self.gap(offset);
        Some(next)
    }

    /// Marks a gap everywhere, because events of any processor or program may be missing.
    fn gap(&mut self, offset: u64) {
        self.lanes.values_mut().for_each(|lane| lane.gap(offset));
        self.reader.gap();
    }

    /// Processes the contents of a packet: `offset` is that of the packet in the file, and `start` where these bytes
    /// are kept. Returns the packets that it holds in compressed form.
    fn packet(&mut self, packet: &[u8], offset: u64, start: u64) -> Compressed {
        let mut wire = WireReader::new(packet);
        let mut cold = false;
        let mut compressed = Compressed::new();
        while let Some(field) = wire.field().transpose() {
            match field {
                Ok((FTRACE_EVENTS, Value::Bytes(bytes))) => {
                    let within = bytes.as_ptr().addr() - packet.as_ptr().addr();
                    self.bundle(bytes, offset, start + within as u64);
                }
                Ok((COMPRESSED, Value::Bytes(bytes))) => {
                    compressed.push((Method::Zlib, bytes.to_vec()));
                }
                Ok((COMPRESSED_ZSTD, Value::Bytes(bytes))) => {
                    compressed.push((Method::Zstd, bytes.to_vec()));
                }
                Ok((CLOSING, value)) => self.seals.closes(value.number()),
                Ok((
                    TIMESTAMP | SEQUENCE | SEQUENCE_FLAGS | TRUSTED_UID | TRUSTED_PID | CHECKSUM,
                    _,
                )) => {}
                Ok(_) => cold = true,
                Err(malformed) => {
                    let reason = malformed.to_string();
                    self.errors.push(ReadError::Packet { offset: offset as usize, reason });
                    self.gap(offset);
                    return compressed;
                }
            }
        }
        if !cold {
            return compressed;
        }
        let offset = offset as usize;
        match TracePacket::decode(packet) {
            Ok(packet) => self.cold(packet, offset),
            Err(error) => {
                self.errors.push(ReadError::Packet { offset, reason: error.to_string() });
            }
        }
        compressed
    }

    /// Processes a rare packet, which is any packet but a bundle.
    fn cold(&mut self, packet: TracePacket, offset: usize) {
        if let Some(tree) = &packet.process_tree {
            self.process_tree(tree, packet.timestamp.unwrap_or(0));
        }
        if let Some(name) = packet.system_info.as_ref().and_then(|info| info.utsname.as_ref()) {
            self.release = name.release.clone().or(self.release.take());
        }
        if let Err(missing) = self.reader.packet(packet, offset) {
            self.errors.push(ReadError::Event { offset, missing });
        }
    }

    fn process_tree(&mut self, tree: &ProcessTree, at: u64) {
        for process in &tree.processes {
            let pid = process.pid.unwrap_or(0).cast_unsigned();
            let name =
                if process.cmdline_is_comm == Some(true) { process.cmdline.first() } else { None };
            let name = name.map_or("".into(), |name| String::from_utf8_lossy(name));
            self.learner.seen(Tid(pid), at, pid, &name);
        }
        for thread in &tree.threads {
            let tid = Tid(thread.tid.unwrap_or(0).cast_unsigned());
            let pid = thread.tgid.unwrap_or(0).cast_unsigned();
            let name = String::from_utf8_lossy(thread.name.as_deref().unwrap_or(b""));
            self.learner.seen(tid, at, pid, &name);
        }
    }

    fn bundle(&mut self, bytes: &[u8], packet: u64, offset: u64) {
        let at = packet as usize;
        let mut cpu = None;
        let mut clock = 0;
        let (mut own, mut boot) = (None, None);
        let mut wire = WireReader::new(bytes);
        while let Ok(Some((field, value))) = wire.field() {
            match field {
                bundle::CPU => cpu = Some(value.number()),
                bundle::FTRACE_CLOCK => clock = value.number(),
                bundle::FTRACE_TIMESTAMP => own = Some(value.number()),
                bundle::BOOT_TIMESTAMP => boot = Some(value.number()),
                _ => {}
            }
        }
        let Some(cpu) = cpu.and_then(|cpu| u16::try_from(cpu).ok()).filter(|&cpu| cpu < CPUS_MAX)
        else {
            let reason = format!("a bundle of events without a processor below {CPUS_MAX}");
            self.errors.push(ReadError::Packet { offset: at, reason });
            self.lanes.values_mut().for_each(|lane| lane.gap(offset));
            return;
        };
        if let (true, Some(own), Some(boot), None) = (clock != 0, own, boot, self.other_clock) {
            self.other_clock = Some((boot.wrapping_sub(own), clock));
        } else if clock != 0 && self.other_clock.is_none() {
            self.other_clock = Some((0, clock));
        }

        let lane = self.lanes.entry(cpu).or_insert_with(|| Lane::new(cpu));
        // Use the file's own clock, and count every wake-up: the rest is known only at the end.
        let bundles = Bundles { states: States::NOW, clock: Clock::default(), wakeups_only: true };
        let names = !self.reader.is_ours();
        let span = bundles.look(bytes, names, &mut |fact| self.learner.take(fact));
        if let Some(back_ns) = self.learner.back_ns.take() {
            self.errors.push(ReadError::ClockStep { cpu, offset: at, back_ns });
        }
        match span {
            Ok(Some((first, last))) => {
                let (first, last) = (Instant::from_nanos(first), Instant::from_nanos(last));
                lane.push(offset, bytes.len() as u32, first, last);
            }
            Ok(None) => {}
            Err(malformed) => {
                let reason = malformed.to_string();
                self.errors.push(ReadError::Packet { offset: at, reason });
                lane.gap(offset);
            }
        }
    }

    fn finish(mut self) -> Scanned {
        // Our own events leave out flags that are 0.
        let is_flagless = self.learner.without_flags && !self.reader.is_ours();
        let Finished { trace, threads: described, boot_clock: mut clock, errors } =
            self.reader.finish(!self.lanes.is_empty());
        errors.into_iter().for_each(|error| self.errors.push(error));
        let mut conditions = trace.conditions;
        if clock.steps.is_empty() && !self.lanes.is_empty() {
            conditions.push((
                "kernel clock".into(),
                "CLOCK_BOOTTIME: its relation to CLOCK_MONOTONIC is unknown".into(),
            ));
        }
        if let Some((add, number)) = self.other_clock {
            for step in &mut clock.steps {
                *step = (step.0.wrapping_sub(add), step.1.wrapping_add(add));
            }
            if clock.steps.is_empty() {
                clock.steps.push((0, add));
            }
            let name = match number {
                2 => "global",
                3 => "local",
                4 => "mono_raw",
                _ => "unknown",
            };
            let text =
                format!("ftrace's `{name}`, converted to CLOCK_MONOTONIC by one reading of both");
            conditions.push(("kernel clock".into(), text));
        }
        if is_flagless {
            conditions.push((
                "wake-ups".into(),
                "without flags: a thread that an interrupt interrupted counts as the waker".into(),
            ));
        }
        let wakeups_only = !self.learner.waking;
        let states = self.release.as_deref().map_or(States::NOW, States::of);
        let mut threads = self.learner.threads(|at| clock.convert(at));
        add_described(&mut threads, described);
        Scanned {
            conditions,
            began: trace.began,
            threads,
            tracks: trace.tracks.into_iter().filter(|track| !track.entries.is_empty()).collect(),
            track_events: trace.track_events,
            lanes: self.lanes.into_values().collect(),
            decoder: Decoder::Perfetto(Bundles { states, clock, wakeups_only }),
            has_gaps: false,
            errors: self.errors,
            appended: Vec::new(),
        }
    }
}

/// Adds the threads that only descriptions of tracks name, and the processes of threads for which nothing else does.
fn add_described(threads: &mut Vec<Thread>, described: Vec<Thread>) {
    let mut new: BTreeMap<Tid, Thread> = BTreeMap::new();
    for thread in described {
        let tid = thread.tid;
        let at = threads.partition_point(|known| known.tid < tid);
        if threads.get(at).is_none_or(|known| known.tid != tid) {
            new.entry(tid).or_insert(thread);
            continue;
        }
        let known = threads[at..].iter_mut().take_while(|known| known.tid == tid);
        known.filter(|known| known.pid == 0).for_each(|known| known.pid = thread.pid);
    }
    threads.extend(new.into_values());
    threads.sort_by_key(|thread| (thread.tid, thread.since));
}

/// Perfetto's own limit.
const CPUS_MAX: u16 = 1024;

// Fields of `TracePacket`.
const FTRACE_EVENTS: u32 = 1;
const TRUSTED_UID: u32 = 3;
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
const SEQUENCE_FLAGS: u32 = 13;
const COMPRESSED: u32 = 50;
const TRUSTED_PID: u32 = 79;
const COMPRESSED_ZSTD: u32 = 133;
