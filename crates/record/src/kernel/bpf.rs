//! Recording by programs of our own behind the kernel's tracepoints.
//!
//! They are written here, instruction by instruction: so they fit the running kernel, whose structures they are told
//! from its own description ([`btf`]), and no compiler is needed. One map holds a ring of 16-byte slots for each
//! processor, another the names of new threads; the reader maps both. Nobody is woken and nothing is copied twice.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use hemiola_rt::sys::bpf::{self, LoadError};
use hemiola_rt::sys::mapping::SharedWords;
use hemiola_trace::sched::{Thread, Tid, What};
use hemiola_units::{Bytes, Instant};

use super::capture::Outlet;
use super::permission::Permission;
use super::stream::Stream;
use super::{CaptureError, Interface, Options};
use programs::{LICENSE, Maps, NAME_RECORD, NAME_WORDS, Program, Writer};
use ring::{Reader, Shape};

mod assembler;
mod btf;
mod programs;
mod ring;
mod word;

/// Room for that many threads that begin or change their name between two readings: 1 MiB.
const NAMES: Shape = Shape { slots: 1 << 14, slot_words: NAME_WORDS };

/// The smallest and the largest ring of a processor, in slots. A map's value must be smaller than 2 GiB.
const SLOTS_MIN: u64 = 1 << 10;
const SLOTS_MAX: u64 = 1 << 26;

/// A recording under way.
#[derive(Debug)]
pub(super) struct Session {
    shape: Shape,
    events: SharedWords,
    rings: Vec<(Reader, Stream)>,
    names: SharedWords,
    names_reader: Reader,
    /// Writes all threads there are.
    iterator: OwnedFd,
    programs: Vec<OwnedFd>,
    /// The programs at their tracepoints, until the recording is stopped.
    links: Vec<OwnedFd>,
    /// The program that tells of arrivals, as long as it is not needed.
    arrivals: Option<OwnedFd>,
    /// Events the programs were kept from noting.
    misses: u64,
    /// Whether all threads must be asked for: at the beginning, and when names were lost.
    ask: bool,
}

impl Session {
    /// Begins to record.
    pub(super) fn start(
        options: &Options,
        permission: Permission,
        cpus: u16,
    ) -> Result<Self, CaptureError> {
        let refused = |step: &str| {
            let (step, options) = (step.to_string(), options.clone());
            move |error: io::Error| match error.kind() {
                io::ErrorKind::PermissionDenied => permission.refuse(&options, Interface::Bpf),
                _ => CaptureError::Kernel { step, error },
            }
        };
        let description =
            fs::read("/sys/kernel/btf/vmlinux").map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => CaptureError::Unsupported(
                    "it was built without BTF, there is no /sys/kernel/btf/vmlinux".into(),
                ),
                _ => CaptureError::Kernel { step: "reading /sys/kernel/btf/vmlinux".into(), error },
            })?;
        let description = btf::Btf::parse(&description)
            .map_err(|error| CaptureError::Unsupported(error.to_string()))?;

        let slots = (options.buffer.0 / 16).clamp(SLOTS_MIN, SLOTS_MAX).next_power_of_two() as u32;
        let shape = Shape { slots, slot_words: 2 };
        let memory = |error: io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied => permission.refuse(options, Interface::Bpf),
            _ => CaptureError::Memory {
                buffer: Bytes(shape.bytes().into()),
                cpus: cpus.into(),
                error,
            },
        };
        let events =
            bpf::create_array(c"hemiola_events", shape.bytes(), cpus.into()).map_err(memory)?;
        let names = bpf::create_array(c"hemiola_names", NAMES.bytes(), 1).map_err(memory)?;
        let map = |fd: &OwnedFd, len| {
            SharedWords::map(fd.as_fd(), len).map_err(refused("mapping a buffer"))
        };

        let maps = Maps {
            events: events.as_fd(),
            event_slots: slots,
            names: names.as_fd(),
            name_slots: NAMES.slots,
        };
        let writer = Writer::new(&description, maps).map_err(CaptureError::Unsupported)?;
        let iterator = writer.threads().map_err(CaptureError::Unsupported)?;
        let load = |program: &Program| {
            load(program).map_err(|LoadError { error, log }| match error.kind() {
                io::ErrorKind::PermissionDenied => permission.refuse(options, Interface::Bpf),
                _ => CaptureError::Unsupported(format!(
                    "it does not take the program for {}: {error}: {}",
                    program.name.to_string_lossy(),
                    log.lines()
                        .rfind(|line| !line.starts_with("processed"))
                        .unwrap_or("no reason given"),
                )),
            })
        };
        let iterator = load(&iterator)?;
        let mut attempts = writer.contexts().into_iter().map(|context| {
            let tracepoints =
                writer.tracepoints(options, context).map_err(CaptureError::Unsupported)?;
            let programs = tracepoints.iter().map(load).collect::<Result<Vec<_>, _>>()?;
            Ok((tracepoints, programs))
        });
        let first = attempts.next().expect("there always is a last way");
        let (tracepoints, programs) =
            first.or_else(|refused| attempts.next().unwrap_or(Err(refused)))?;
        drop(attempts);
        let arrivals = writer.arrivals().and_then(|program| load(&program).ok());
        let mut session = Self {
            shape,
            events: map(&events, shape.bytes() as usize * usize::from(cpus))?,
            rings: (0..cpus)
                .map(|cpu| (Reader::new(shape, cpu.into()), Stream::new(cpu)))
                .collect(),
            names: map(&names, NAMES.bytes() as usize)?,
            names_reader: Reader::new(NAMES, 0),
            iterator,
            links: programs
                .iter()
                .zip(&tracepoints)
                .map(|(fd, program)| {
                    let step = format!("attaching to {}", program.name.to_string_lossy());
                    bpf::attach(fd.as_fd()).map_err(refused(&step))
                })
                .collect::<Result<_, _>>()?,
            programs,
            arrivals,
            misses: 0,
            ask: true,
        };
        if session.is_first_process_hidden() {
            session.watch_arrivals();
        }
        Ok(session)
    }

    /// Whether this kernel keeps threads from being seen that every kernel has: then nobody tells when they leave.
    fn is_first_process_hidden(&self) -> bool {
        /// The inode of the name space in which the first process has the number 1 (`include/linux/proc_ns.h`).
        const INITIAL: &str = "pid:[4026531836]";
        let namespace = fs::read_link("/proc/self/ns/pid");
        namespace.is_ok_and(|namespace| namespace.as_os_str() == INITIAL)
            && self.list().is_ok_and(|threads| threads.iter().all(|thread| thread.tid != Tid(1)))
    }

    /// From now on who comes tells so where nobody told who left. That costs a little with every switch, so it is done
    /// only on a kernel where such switches are seen, or rather not seen.
    fn watch_arrivals(&mut self) {
        if let Some(program) = self.arrivals.take()
            && !self.links.is_empty()
            && let Ok(link) = bpf::attach(program.as_fd())
        {
            self.links.push(link);
            self.programs.push(program);
        }
    }

    /// How many events a processor's buffer holds.
    pub(super) const fn capacity(&self) -> u32 {
        self.shape.slots
    }

    pub(super) fn streams(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.rings.iter_mut().map(|(_, stream)| stream)
    }

    /// Gives out what the rings hold now.
    pub(super) fn drain(&mut self, outlet: &mut Outlet<'_>) {
        let words = self.events.words();
        let gaps = outlet.tally.gaps;
        for (reader, stream) in &mut self.rings {
            // What comes meanwhile is for the next time, or a busy processor would keep the reader here.
            let mut left = self.shape.slots as usize;
            while left > 0 {
                let batch = left.min(Outlet::BATCH);
                let count = reader.take(words, batch, |slot| {
                    let (time, word) =
                        (slot[0].load(Ordering::Relaxed), slot[1].load(Ordering::Relaxed));
                    // A word of no meaning is none that a program of ours stores.
                    let what = word::decode(word, stream.running()).unwrap_or(What::Lost(0));
                    outlet.push(stream, Instant::from_nanos(time), what);
                });
                outlet.flush(stream.cpu());
                left = if count < batch { 0 } else { left - count };
            }
        }
        if outlet.tally.gaps > gaps {
            self.watch_arrivals();
        }
        self.report_misses(outlet);
    }

    /// Ends the recording; what the rings hold stays there for a last [`Self::drain`].
    pub(super) fn stop(&mut self) {
        self.links.clear();
    }

    /// Gives out the losses after which nothing came any more.
    pub(super) fn last_losses(&mut self, now: Instant, outlet: &mut Outlet<'_>) {
        for (reader, stream) in &mut self.rings {
            let lost = reader.take_lost(self.events.words());
            if lost > 0 {
                outlet.push(stream, now, What::Lost(u32::try_from(lost).unwrap_or(u32::MAX)));
                outlet.flush(stream.cpu());
            }
        }
    }

    /// A program that is interrupted does not run again in the interrupt. Such an event is missing on some processor:
    /// nobody knows which, so on all.
    fn report_misses(&mut self, outlet: &mut Outlet<'_>) {
        // A kernel that does not count them, before 5.12, does not keep programs from running either.
        let misses = |program: &OwnedFd| bpf::recursion_misses(program.as_fd()).unwrap_or(0);
        let misses: u64 = self.programs.iter().map(misses).sum();
        if misses == self.misses {
            return;
        }
        outlet.tally.lost += misses - self.misses;
        self.misses = misses;
        for (_, stream) in &mut self.rings {
            outlet.push(stream, Instant::ZERO, What::Lost(0));
            outlet.flush(stream.cpu());
        }
    }

    /// What became known of threads since the last call.
    pub(super) fn threads(&mut self) -> Result<Vec<Thread>, CaptureError> {
        let mut threads = Vec::new();
        if self.names_reader.take_lost(self.names.words()) > 0 {
            self.ask = true;
        }
        // Asked for first, for who begins meanwhile is in the ring then.
        if std::mem::take(&mut self.ask) {
            let failed = |error| CaptureError::Kernel { step: "listing the threads".into(), error };
            threads = self.list().map_err(failed)?;
        }
        self.names_reader.take(self.names.words(), usize::MAX, |slot| {
            threads.push(thread(slot.iter().map(|word| word.load(Ordering::Relaxed))));
        });
        Ok(threads)
    }
}

impl Session {
    /// Every thread there is.
    fn list(&self) -> io::Result<Vec<Thread>> {
        let mut bytes = Vec::new();
        bpf::iterate(self.iterator.as_fd())?.read_to_end(&mut bytes)?;
        let thread = |record: &[u8]| {
            let (words, _) = record.as_chunks();
            thread(words.iter().map(|word| u64::from_ne_bytes(*word)))
        };
        Ok(bytes.chunks_exact(NAME_RECORD).map(thread).collect())
    }
}

/// The record of a name: time, thread and process, whether it is new, name.
fn thread(mut words: impl Iterator<Item = u64>) -> Thread {
    let mut word = || words.next().unwrap_or(0);
    let (since, identity, new) = (Instant::from_nanos(word()), word(), word() != 0);
    let name = [word().to_ne_bytes(), word().to_ne_bytes()].concat();
    let len = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    Thread {
        tid: Tid(identity as u32),
        since,
        pid: (identity >> 32) as u32,
        name: String::from_utf8_lossy(&name[..len]).into_owned(),
        new,
    }
}

/// Loads a program; when it is refused, a second time for the reason.
fn load(program: &Program) -> Result<OwnedFd, LoadError> {
    let load = |explain| bpf::load(&program.name, &program.code, LICENSE, program.place, explain);
    load(false).or_else(|_| load(true))
}
