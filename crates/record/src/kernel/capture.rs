//! A recording in progress, through either interface.

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::cpu;
use hemiola_trace::sched::{Event, Thread, What};
use hemiola_units::{Instant, Span};

use super::permission::Permission;
use super::stream::Stream;
use super::{CaptureError, Interface, Options, Tally, bpf, perf};

/// The rate in events per second of one processor that is assumed until more are seen: 400,000 switches with a
/// wake-up each.
const RATE_EXPECTED: f64 = 800_000.0;

/// Buffers are emptied at least this often, so that a live view is not older.
const INTERVAL_MAX: Span = Span::from_millis(100);
/// The shortest interval, because a reader that never sleeps is a load of its own.
const INTERVAL_MIN: Span = Span::from_millis(5);

/// A recording of the kernel, until it is stopped or dropped.
#[derive(Debug)]
pub struct Capture {
    source: Session,
    tally: Tally,
    /// Events of one batch.
    events: Vec<Event>,
    /// When the buffers were last emptied.
    drained: Instant,
    /// The highest rate of one processor.
    rate_max: f64,
    wakes: bool,
    stopped: bool,
}

#[derive(Debug)]
enum Session {
    Bpf(bpf::Session),
    Perf(perf::Session),
}

impl Capture {
    /// Starts recording. Everything that happens after this returns is in the buffers.
    ///
    /// # Errors
    /// [`CaptureError::NotPermitted`] names the missing privilege. [`CaptureError::Unsupported`] means that the
    /// requested interface is not available; another may be.
    pub fn start(options: &Options) -> Result<Self, CaptureError> {
        let permission = Permission::read();
        let cpus = cpu::present().iter().max().map_or(1, |last| last + 1);
        let bpf = || bpf::Session::start(options, permission, cpus).map(Session::Bpf);
        let perf = || perf::Session::start(options, permission, cpus).map(Session::Perf);
        let source = match options.interface {
            Some(Interface::Bpf) => bpf()?,
            Some(Interface::Perf) => perf()?,
            None if !permission.bpf() => perf()?,
            None => match bpf() {
                Err(CaptureError::Unsupported(_) | CaptureError::NotPermitted(_)) => perf()?,
                outcome => outcome?,
            },
        };
        let (events, drained) = (Vec::new(), MonotonicClock.now());
        Ok(Self {
            source,
            tally: Tally::default(),
            events,
            drained,
            rate_max: RATE_EXPECTED,
            wakes: options.wakes,
            stopped: false,
        })
    }

    /// Returns the interface in use.
    #[must_use]
    pub const fn interface(&self) -> Interface {
        match self.source {
            Session::Bpf(_) => Interface::Bpf,
            Session::Perf(_) => Interface::Perf,
        }
    }

    /// Whether wake-ups are recorded, if requested: perf events do not report them without privilege.
    #[must_use]
    pub const fn has_wakes(&self) -> bool {
        match &self.source {
            Session::Bpf(_) => self.wakes,
            Session::Perf(session) => self.wakes && session.has_wakes(),
        }
    }

    /// Whether the whole system is recorded, not just one process.
    #[must_use]
    pub const fn is_system(&self) -> bool {
        match &self.source {
            Session::Bpf(_) => true,
            Session::Perf(session) => session.is_system(),
        }
    }

    /// Passes everything recorded so far to `each`, in batches of one processor, and frees the kernel's buffers.
    ///
    /// The events of one processor are in the order of time, across all calls; a batch never mixes processors.
    ///
    /// # Errors
    /// If the kernel does not allow a returning processor to be watched.
    pub fn drain(&mut self, each: &mut dyn FnMut(u16, &[Event])) -> Result<Tally, CaptureError> {
        // Before the buffers are read: a processor that is offline now has nothing more to come.
        let (now, online) = (MonotonicClock.now(), cpu::online());
        let mut outlet = Outlet {
            each,
            events: &mut self.events,
            tally: &mut self.tally,
            cpu: 0,
            count: 0,
            count_max: 0,
        };
        match &mut self.source {
            Session::Bpf(session) => {
                session.drain(&mut outlet);
                if self.stopped {
                    session.last_losses(now, &mut outlet);
                }
                outlet.follow(&online, now, session.streams());
            }
            Session::Perf(session) => {
                session.drain(&online, &mut outlet)?;
                if self.stopped {
                    session.last_losses(now, &mut outlet);
                }
                outlet.follow(&online, now, session.streams());
            }
        }
        let count = outlet.count_max as f64;
        let seconds = (now - self.drained).secs_f64();
        // Over a shorter time, a rate means little.
        if seconds >= INTERVAL_MIN.secs_f64() {
            self.rate_max = self.rate_max.max(count / seconds);
            self.drained = now;
        }
        Ok(self.tally)
    }

    /// Returns the threads that became known since the last call; the first time, every thread.
    ///
    /// A thread may be reported after its first events, so call this once more after the last [`Self::drain`].
    ///
    /// # Errors
    /// If the kernel does not list its threads.
    pub fn threads(&mut self) -> Result<Vec<Thread>, CaptureError> {
        match &mut self.source {
            Session::Bpf(session) => session.threads(),
            Session::Perf(session) => Ok(session.threads()),
        }
    }

    /// Returns how long the caller may wait until the next [`Self::drain`]: the time in which the busiest processor,
    /// or one as busy as assumed, fills a quarter of its buffer; at most 100 ms.
    #[must_use]
    pub fn advised_interval(&self) -> Span {
        let capacity = match &self.source {
            Session::Bpf(session) => session.capacity(),
            Session::Perf(session) => session.capacity(),
        };
        Span::from_secs_f64(f64::from(capacity) / 4.0 / self.rate_max)
            .clamp(INTERVAL_MIN, INTERVAL_MAX)
    }

    /// Stops recording. The contents of the buffers remain for a last [`Self::drain`], which also reports losses that
    /// no later event reported.
    pub fn stop(&mut self) {
        match &mut self.source {
            Session::Bpf(session) => session.stop(),
            Session::Perf(session) => session.stop(),
        }
        self.stopped = true;
    }
}

/// Passes events to the caller, in batches of one processor.
pub(super) struct Outlet<'a> {
    each: &'a mut dyn FnMut(u16, &[Event]),
    events: &'a mut Vec<Event>,
    pub(super) tally: &'a mut Tally,
    /// The processor whose events are being counted.
    cpu: u16,
    count: usize,
    /// The highest count of one processor.
    count_max: usize,
}

impl Outlet<'_> {
    /// The approximate number of events in a batch: 200 KB, which stay in a near cache.
    pub(super) const BATCH: usize = 1 << 13;

    pub(super) const fn is_full(&self) -> bool {
        self.events.len() >= Self::BATCH
    }

    pub(super) fn push(&mut self, stream: &mut Stream, at: Instant, what: What) {
        stream.push(at, what, self.events, self.tally);
    }

    /// Passes the batch of processor `cpu` to the caller.
    pub(super) fn flush(&mut self, cpu: u16) {
        if !self.events.is_empty() {
            (self.each)(cpu, self.events);
            self.count = self.events.len() + if self.cpu == cpu { self.count } else { 0 };
            (self.cpu, self.count_max) = (cpu, self.count_max.max(self.count));
            self.events.clear();
        }
    }

    /// Reports processors that went offline or online.
    fn follow<'s>(
        &mut self,
        online: &hemiola_units::CpuSet,
        now: Instant,
        streams: impl Iterator<Item = &'s mut Stream>,
    ) {
        let mut watched = 0;
        for stream in streams {
            let present = online.contains(stream.cpu());
            watched += u16::from(present);
            if present != stream.is_online() {
                self.push(stream, now, What::Online(present));
                self.flush(stream.cpu());
            }
        }
        let all = online.iter().count() as u16;
        self.tally.unwatched = self.tally.unwatched.max(all.saturating_sub(watched));
    }
}
