//! Recording with BPF programs attached to the kernel's tracepoints.
//!
//! The programs are assembled here for the running kernel, whose structure layouts come from its own description
//! ([`btf`]), so no compiler is needed. One map contains a ring of 16-byte slots for each processor, another the
//! names of new threads; the reader maps both. No thread is woken and nothing is copied twice.

use std::collections::BTreeSet;
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

/// Space for the threads that start or change their name between two readings: 1 MiB.
const NAMES: Shape = Shape { slots: 1 << 14, slot_words: NAME_WORDS };

/// The smallest and the largest ring of a processor, in slots. A map's value must be smaller than 2 GiB.
const SLOTS_MIN: u64 = 1 << 10;
const SLOTS_MAX: u64 = 1 << 26;

/// A recording in progress.
#[derive(Debug)]
pub(super) struct Session {
    shape: Shape,
    events: SharedWords,
    rings: Vec<(Reader, Stream)>,
    names: SharedWords,
    names_reader: Reader,
    /// The program that lists all threads.
    iterator: OwnedFd,
    programs: Vec<OwnedFd>,
    /// The attached programs but the one that reports arrivals, until the recording is stopped.
    links: Vec<OwnedFd>,
    /// The program that reports arrivals, until it is attached or the recording is stopped.
    arrivals: Option<OwnedFd>,
    /// The same once it is attached.
    arrivals_link: Option<OwnedFd>,
    /// Events that the programs could not record.
    misses: u64,
    /// Whether all threads must be listed: at the beginning, and after names were lost.
    ask: bool,
    /// Whether the kernel hides some threads from the programs. `/proc` has their names.
    hides: bool,
}

impl Session {
    /// Starts recording.
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
        let mut attempts = writer.causes().into_iter().map(|cause| {
            let tracepoints =
                writer.tracepoints(options, cause).map_err(CaptureError::Unsupported)?;
            let programs = tracepoints.iter().map(load).collect::<Result<Vec<_>, _>>()?;
            Ok((cause, tracepoints, programs))
        });
        let first = attempts.next().expect("there always is a last way");
        let (cause, mut tracepoints, mut programs) =
            first.or_else(|refused| attempts.find(Result::is_ok).unwrap_or(Err(refused)))?;
        drop(attempts);
        // Without it, a release is known only by the wake-up.
        if options.wakes
            && let Some(sleeps) = writer.sleeps(cause)
            && let Ok(program) = load(&sleeps)
        {
            tracepoints.push(sleeps);
            programs.push(program);
        }
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
            links: Vec::new(),
            programs: Vec::new(),
            arrivals,
            arrivals_link: None,
            misses: 0,
            ask: true,
            hides: false,
        };
        session.hides = session.is_first_process_hidden();
        // It works before the others and after them: no departure is reported where the next could stay unreported.
        if session.hides {
            session.watch_arrivals();
        }
        for (fd, program) in programs.into_iter().zip(&tracepoints) {
            let step = format!("attaching to {}", program.name.to_string_lossy());
            session.links.push(bpf::attach(fd.as_fd()).map_err(refused(&step))?);
            session.programs.push(fd);
        }
        Ok(session)
    }

    /// Whether this kernel hides threads that every kernel has. On such a kernel nothing reports when they leave a
    /// processor.
    fn is_first_process_hidden(&self) -> bool {
        /// The inode of the PID namespace in which the first process has number 1 (`include/linux/proc_ns.h`).
        const INITIAL: &str = "pid:[4026531836]";
        let namespace = fs::read_link("/proc/self/ns/pid");
        namespace.is_ok_and(|namespace| namespace.as_os_str() == INITIAL)
            && self.list().is_ok_and(|threads| threads.iter().all(|thread| thread.tid != Tid(1)))
    }

    /// Attaches the program by which arriving threads report themselves where no departure was reported. It adds a
    /// little to every switch, so it is used only on kernels where such switches are missing.
    fn watch_arrivals(&mut self) {
        if let Some(program) = self.arrivals.take()
            && let Ok(link) = bpf::attach(program.as_fd())
        {
            self.arrivals_link = Some(link);
            self.programs.push(program);
        }
    }

    /// Returns how many events the buffer of a processor can hold.
    pub(super) const fn capacity(&self) -> u32 {
        self.shape.slots
    }

    pub(super) fn streams(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.rings.iter_mut().map(|(_, stream)| stream)
    }

    /// Delivers the present contents of the rings.
    pub(super) fn drain(&mut self, outlet: &mut Outlet<'_>) {
        let words = self.events.words();
        let gaps = outlet.tally.gaps;
        for (reader, stream) in &mut self.rings {
            // Later events wait for the next call; otherwise a busy processor would keep the reader here.
            let mut left = self.shape.slots as usize;
            while left > 0 {
                let batch = left.min(Outlet::BATCH);
                let count = reader.take(words, batch, |slot| {
                    let (time, word) =
                        (slot[0].load(Ordering::Relaxed), slot[1].load(Ordering::Relaxed));
                    // A word without meaning comes from none of our programs.
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

    /// Stops recording. The contents of the rings remain for a last [`Self::drain`].
    pub(super) fn stop(&mut self) {
        self.links.clear();
        (self.arrivals, self.arrivals_link) = (None, None);
    }

    /// Delivers the losses that no later event reported.
    pub(super) fn last_losses(&mut self, now: Instant, outlet: &mut Outlet<'_>) {
        for (reader, stream) in &mut self.rings {
            let lost = reader.take_lost(self.events.words());
            if lost > 0 {
                outlet.push(stream, now, What::Lost(u32::try_from(lost).unwrap_or(u32::MAX)));
                outlet.flush(stream.cpu());
            }
        }
    }

    /// The kernel does not run a program again in an interrupt of itself. Such an event is missing on an unknown
    /// processor, so a loss is reported on all of them.
    fn report_misses(&mut self, outlet: &mut Outlet<'_>) {
        // Kernels before 5.12 do not count them, and do not skip programs either.
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

    /// Returns the threads that became known since the last call.
    pub(super) fn threads(&mut self) -> Result<Vec<Thread>, CaptureError> {
        let mut threads = Vec::new();
        if self.names_reader.take_lost(self.names.words()) > 0 {
            self.ask = true;
        }
        // List them first: a thread that starts meanwhile is then in the ring.
        if std::mem::take(&mut self.ask) {
            let failed = |error| CaptureError::Kernel { step: "listing the threads".into(), error };
            threads = self.list().map_err(failed)?;
            if self.hides {
                let listed: BTreeSet<Tid> = threads.iter().map(|thread| thread.tid).collect();
                let hidden = |thread: &Thread| !listed.contains(&thread.tid);
                threads.extend(super::threads::all().into_iter().filter(hidden));
            }
        }
        self.names_reader.take(self.names.words(), usize::MAX, |slot| {
            threads.push(thread(slot.iter().map(|word| word.load(Ordering::Relaxed))));
        });
        Ok(threads)
    }
}

impl Session {
    /// Lists every thread.
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

/// Parses the record of a name: time, thread and process, whether it is new, name.
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

/// Loads a program; if it is refused, loads it again to get the reason.
fn load(program: &Program) -> Result<OwnedFd, LoadError> {
    let load = |explain| bpf::load(&program.name, &program.code, LICENSE, program.place, explain);
    load(false).or_else(|_| load(true))
}
