//! Recording with the kernel's perf event buffers.
//!
//! There are three modes, depending on what is permitted: the tracepoints of the system; if tracefs hides their
//! numbers, the switches of the system without wake-ups; and without any privilege, the switches of the caller's own
//! process. In the last mode each thread has an event on each processor, which its children inherit.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use hemiola_rt::sys::mapping::page_size;
use hemiola_rt::sys::perf::{self, Attributes, Buffer, EventSource};
use hemiola_trace::sched::{Left, PRIORITY_UNKNOWN, Thread, Tid, What};
use hemiola_units::{Bytes, CpuSet, Instant};
use rustix::io::Errno;

use super::capture::Outlet;
use super::permission::Permission;
use super::stream::Stream;
use super::threads;
use super::{CaptureError, Interface, Options, Target};
use record::Record;
use tracepoint::Tracepoint;

mod record;
mod tracepoint;

/// The smallest buffer that is tried if the limit on locked memory allows no larger one.
const PAGES_MIN: usize = 8;

/// A recording in progress.
#[derive(Debug)]
pub(super) struct Session {
    way: Way,
    processors: Vec<Processor>,
    /// Names reported since the last call. A new thread has its parent's name, so the parent is stored with it.
    news: Vec<(Thread, Option<Tid>)>,
    /// The name of each thread: a new one has its parent's.
    names: BTreeMap<Tid, String>,
    /// Whether all threads must be listed.
    ask: bool,
    stopped: bool,
}

#[derive(Clone, Debug)]
enum Way {
    Tracepoints(Vec<Tracepoint>),
    Switches,
    /// One process.
    Own(u32),
}

/// One processor, and what is open there while it is online.
#[derive(Debug)]
struct Processor {
    stream: Stream,
    buffer: Option<Buffer>,
    /// The first one owns the buffer.
    events: Vec<OwnedFd>,
    len: usize,
    /// Losses reported by records in the buffer.
    lost: u64,
}

impl Session {
    /// Starts recording.
    pub(super) fn start(
        options: &Options,
        permission: Permission,
        cpus: u16,
    ) -> Result<Self, CaptureError> {
        let extras = options.interrupts || options.page_faults || options.calls;
        let way = match options.target {
            _ if permission.perf_system() => match tracepoint::find(options) {
                Some(tracepoints) => Way::Tracepoints(tracepoints),
                None if extras => {
                    return Err(CaptureError::Unsupported(
                        "interrupts, page faults and system calls need the files of /sys/kernel/tracing, which are \
                         missing or not readable; BPF programs (CAP_BPF) work without them"
                            .into(),
                    ));
                }
                None => Way::Switches,
            },
            Target::Process(pid) if !extras && permission.perf_own() => Way::Own(pid),
            _ => return Err(permission.refuse(options, Interface::Perf)),
        };
        let tids: Vec<Option<u32>> = match way {
            Way::Own(pid) => {
                threads::of_tree(pid).iter().map(|thread| Some(thread.tid.0)).collect()
            }
            _ => vec![None],
        };
        if let (Way::Own(pid), []) = (&way, tids.as_slice()) {
            return Err(CaptureError::NoProcess(*pid));
        }
        let page = page_size();
        let len = (options.buffer.0 as usize).clamp(PAGES_MIN * page, 1 << 30).next_power_of_two();
        let mut session = Self {
            processors: (0..cpus).map(|cpu| Processor::new(cpu, len)).collect(),
            way,
            news: Vec::new(),
            names: BTreeMap::new(),
            ask: true,
            stopped: false,
        };
        for processor in &mut session.processors {
            processor.open(&session.way, &tids).map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => permission.refuse(options, Interface::Perf),
                io::ErrorKind::OutOfMemory => {
                    CaptureError::Memory { buffer: Bytes(len as u64), cpus: cpus.into(), error }
                }
                _ => CaptureError::Kernel { step: "opening perf events".into(), error },
            })?;
        }
        // Threads that started since they were listed inherited the events of their parents.
        session
            .enable()
            .map_err(|error| CaptureError::Kernel { step: "enabling perf events".into(), error })?;
        Ok(session)
    }

    fn enable(&self) -> io::Result<()> {
        self.processors
            .iter()
            .flat_map(|processor| &processor.events)
            .try_for_each(|event| perf::enable(event.as_fd()))
    }

    /// Returns the approximate number of events that the smallest buffer can hold.
    pub(super) fn capacity(&self) -> u32 {
        // Bytes that a switch takes, with all its records.
        let record = match self.way {
            Way::Tracepoints(_) => 168,
            Way::Switches => 64,
            Way::Own(_) => 24,
        };
        let open = self.processors.iter().filter(|processor| processor.buffer.is_some());
        open.map(|processor| processor.len / record).min().unwrap_or(0) as u32
    }

    /// Whether wake-ups are reported.
    pub(super) const fn has_wakes(&self) -> bool {
        matches!(self.way, Way::Tracepoints(_))
    }

    /// Whether every thread is recorded.
    pub(super) const fn is_system(&self) -> bool {
        !matches!(self.way, Way::Own(_))
    }

    pub(super) fn streams(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.processors.iter_mut().map(|processor| &mut processor.stream)
    }

    /// Delivers the present contents of the buffers.
    pub(super) fn drain(
        &mut self,
        online: &CpuSet,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CaptureError> {
        let tracepoints = match &self.way {
            Way::Tracepoints(tracepoints) => tracepoints.as_slice(),
            _ => &[],
        };
        for processor in &mut self.processors {
            let system = !matches!(self.way, Way::Own(_));
            processor.drain(tracepoints, !system, &mut self.news, outlet);
            let cpu = processor.stream.cpu();
            if !online.contains(cpu) && system {
                // The kernel has removed the events, and does not restore them.
                processor.close();
            } else if processor.buffer.is_none() && online.contains(cpu) && system && !self.stopped
            {
                let reopened = processor.open(&self.way, &[None]);
                let enabled = reopened.and_then(|()| {
                    processor.events.iter().try_for_each(|event| perf::enable(event.as_fd()))
                });
                enabled.map_err(|error| CaptureError::Kernel {
                    step: format!("watching processor {cpu} again"),
                    error,
                })?;
            }
        }
        Ok(())
    }

    /// Stops recording. The contents of the buffers remain for a last [`Self::drain`].
    pub(super) fn stop(&mut self) {
        for event in self.processors.iter().flat_map(|processor| &processor.events) {
            // An open event can always be disabled; a record that still arrives is valid too.
            let _ = perf::disable(event.as_fd());
        }
        self.stopped = true;
    }

    /// Delivers the losses that no later event reported.
    pub(super) fn last_losses(&mut self, now: Instant, outlet: &mut Outlet<'_>) {
        for processor in &mut self.processors {
            let counted = processor
                .events
                .iter()
                .filter_map(|event| perf::lost(event.as_fd()).ok().flatten());
            let lost = counted.sum::<u64>().saturating_sub(processor.lost);
            processor.events.clear();
            if lost > 0 {
                let lost = What::Lost(u32::try_from(lost).unwrap_or(u32::MAX));
                outlet.push(&mut processor.stream, now, lost);
                outlet.flush(processor.stream.cpu());
            }
        }
    }

    /// Returns the threads that became known since the last call.
    pub(super) fn threads(&mut self) -> Vec<Thread> {
        let mut threads = match (std::mem::take(&mut self.ask), &self.way) {
            (false, _) => Vec::new(),
            (true, Way::Own(pid)) => threads::of_tree(*pid),
            (true, _) => threads::all(),
        };
        self.names.extend(threads.iter().map(|thread| (thread.tid, thread.name.clone())));
        self.news.sort_by_key(|(thread, _)| thread.since);
        for (mut thread, parent) in self.news.drain(..) {
            if let Some(parent) = parent {
                thread.name = self.names.get(&parent).cloned().unwrap_or_default();
            }
            self.names.insert(thread.tid, thread.name.clone());
            threads.push(thread);
        }
        threads
    }
}

impl Processor {
    const fn new(cpu: u16, len: usize) -> Self {
        Self { stream: Stream::new(cpu), buffer: None, events: Vec::new(), len, lost: 0 }
    }

    /// Opens the events for this processor; none if it is offline.
    fn open(&mut self, way: &Way, tids: &[Option<u32>]) -> io::Result<()> {
        let own = matches!(way, Way::Own(_));
        let base = Attributes {
            source: EventSource::Nothing,
            // Even beside the tracepoint, because the kernel silently drops the tracepoint's records for some threads.
            switches: true,
            names: true,
            inherit: own,
            kernel: !own,
        };
        for (index, tid) in tids.iter().enumerate() {
            match perf::open(&base, *tid, self.stream.cpu()) {
                Ok(event) => self.add(event)?,
                Err(error) if is(&error, Errno::NODEV) => return Ok(()),
                // The thread has ended since it was listed.
                Err(error) if own && is(&error, Errno::SRCH) => {}
                // A child with more privileges; the first thread is the process's own.
                Err(error)
                    if own && index > 0 && error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(error),
            }
        }
        if let Way::Tracepoints(tracepoints) = way {
            for tracepoint in tracepoints {
                let source = EventSource::Tracepoint(tracepoint.id.into());
                let attributes = Attributes { source, switches: false, names: false, ..base };
                self.add(perf::open(&attributes, None, self.stream.cpu())?)?;
            }
        }
        Ok(())
    }

    /// The first event gets a buffer, and the others write into it.
    fn add(&mut self, event: OwnedFd) -> io::Result<()> {
        match self.events.first() {
            Some(first) => perf::redirect(event.as_fd(), first.as_fd())?,
            None => {
                while self.buffer.is_none() {
                    match Buffer::map(event.as_fd(), self.len) {
                        Ok(buffer) => self.buffer = Some(buffer),
                        // Beyond the limit on locked memory: try a smaller one.
                        Err(error)
                            if error.kind() == io::ErrorKind::PermissionDenied
                                && self.len > PAGES_MIN * page_size() =>
                        {
                            self.len /= 2;
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        self.events.push(event);
        Ok(())
    }

    fn close(&mut self) {
        self.buffer = None;
        self.events.clear();
        self.lost = 0;
    }

    fn drain(
        &mut self,
        tracepoints: &[Tracepoint],
        own: bool,
        news: &mut Vec<(Thread, Option<Tid>)>,
        outlet: &mut Outlet<'_>,
    ) {
        let Self { stream, buffer: Some(buffer), lost, .. } = self else { return };
        let mut last = None;
        buffer.take(|words| {
            let Some(record) = record::decode(words, tracepoints) else { return };
            let running = stream.running();
            let switch =
                |prev, left, next| What::Switch { prev, left, next, priority: PRIORITY_UNKNOWN };
            let (at, what) = match record {
                Record::Event(at, what, tid) => {
                    // No switch has told yet whose event it is.
                    if running == Tid::UNKNOWN && what.is_of_running() {
                        outlet.push(stream, at, switch(Tid::UNKNOWN, Left::Unknown, tid));
                    }
                    (at, what)
                }
                // Known already from the tracepoint, or from the departing thread.
                Record::Switch { next, .. } if running == next => return,
                // The same, and the arriving thread has ended and has no number any more.
                Record::Switch { prev, next: Tid::UNKNOWN, .. } if running != prev => return,
                Record::Switch { at, prev, left, next } => {
                    // The departing thread may have ended too.
                    let prev = if prev == Tid::UNKNOWN { running } else { prev };
                    (at, switch(prev, left.unwrap_or(Left::Unknown), next))
                }
                // A thread that was listed and also inherited an event is reported twice.
                Record::In(_, tid) if last == Some((true, tid)) => return,
                Record::Out(_, tid, _) if last == Some((false, tid)) => return,
                Record::In(at, next) => {
                    last = Some((true, next));
                    (at, switch(Tid::UNKNOWN, Left::Unknown, next))
                }
                Record::Out(at, prev, left) => {
                    last = Some((false, prev));
                    (at, switch(prev, left, Tid::UNKNOWN))
                }
                Record::Ended(at, prev) if own && running == prev => {
                    (at, switch(prev, Left::Dead, Tid::UNKNOWN))
                }
                Record::Ended(..) => return,
                Record::Name(thread) => return news.push((thread, None)),
                Record::Began(thread, parent) => return news.push((thread, Some(parent))),
            };
            if let What::Lost(count) = what {
                *lost += u64::from(count);
            }
            outlet.push(stream, at, what);
            if outlet.is_full() {
                outlet.flush(stream.cpu());
            }
        });
        outlet.flush(stream.cpu());
    }
}

fn is(error: &io::Error, errno: Errno) -> bool {
    Errno::from_io_error(error) == Some(errno)
}
