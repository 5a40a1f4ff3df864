//! A recording under way, by whichever interface.

use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::cpu;
use hemiola_trace::sched::{Event, Thread, What};
use hemiola_units::{Instant, Span};

use super::permission::Permission;
use super::stream::Stream;
use super::{CaptureError, Interface, Options, Tally, bpf, perf};

/// Events a second of one processor that buffers are judged by until more are seen: a switch and a wake-up, 400,000
/// times.
const RATE_EXPECTED: f64 = 800_000.0;

/// Buffers are emptied that often at least: what is looked at while it is recorded is not older.
const INTERVAL_MAX: Span = Span::from_millis(100);
/// And no more often, for a reader that never sleeps is a load of its own.
const INTERVAL_MIN: Span = Span::from_millis(5);

/// The kernel being recorded, until this is stopped or dropped.
#[derive(Debug)]
pub struct Capture {
    source: Source,
    tally: Tally,
    /// Events of one batch.
    events: Vec<Event>,
    /// When the buffers were emptied last.
    drained: Instant,
    /// The most events one processor had in a second.
    rate_max: f64,
    wakes: bool,
    stopped: bool,
}

#[derive(Debug)]
enum Source {
    Bpf(bpf::Session),
    Perf(perf::Session),
}

impl Capture {
    /// Begins to record. What happens from the return of this on is in the buffers.
    ///
    /// # Errors
    ///
    /// [`CaptureError::NotPermitted`] says which privilege is missing; [`CaptureError::Unsupported`], of an interface
    /// that was asked for, that another may do.
    pub fn start(options: &Options) -> Result<Self, CaptureError> {
        let permission = Permission::read();
        let cpus = cpu::present().iter().max().map_or(1, |last| last + 1);
        let bpf = || bpf::Session::start(options, permission, cpus).map(Source::Bpf);
        let perf = || perf::Session::start(options, permission, cpus).map(Source::Perf);
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

    /// The interface that is used.
    #[must_use]
    pub const fn interface(&self) -> Interface {
        match self.source {
            Source::Bpf(_) => Interface::Bpf,
            Source::Perf(_) => Interface::Perf,
        }
    }

    /// Whether wake-ups are recorded, as was asked for: perf events do not tell them to everybody.
    #[must_use]
    pub const fn has_wakes(&self) -> bool {
        match &self.source {
            Source::Bpf(_) => self.wakes,
            Source::Perf(session) => self.wakes && session.has_wakes(),
        }
    }

    /// Whether the whole system is recorded, or else one process only.
    #[must_use]
    pub const fn is_system(&self) -> bool {
        match &self.source {
            Source::Bpf(_) => true,
            Source::Perf(session) => session.is_system(),
        }
    }

    /// Gives everything recorded by now to `each`, in batches of one processor, and its room back to the kernel.
    ///
    /// The events of one processor come in the order of time, over all calls; one batch never has those of two.
    ///
    /// # Errors
    ///
    /// When the kernel does not let a processor be watched that came back.
    pub fn drain(&mut self, each: &mut dyn FnMut(u16, &[Event])) -> Result<Tally, CaptureError> {
        // Before the buffers are read: a processor that is away now has nothing more to come.
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
            Source::Bpf(session) => {
                session.drain(&mut outlet);
                if self.stopped {
                    session.last_losses(now, &mut outlet);
                }
                outlet.follow(&online, now, session.streams());
            }
            Source::Perf(session) => {
                session.drain(&online, &mut outlet)?;
                if self.stopped {
                    session.last_losses(now, &mut outlet);
                }
                outlet.follow(&online, now, session.streams());
            }
        }
        let count = outlet.count_max as f64;
        let seconds = (now - self.drained).secs_f64();
        // Over a shorter time a rate says little.
        if seconds >= INTERVAL_MIN.secs_f64() {
            self.rate_max = self.rate_max.max(count / seconds);
            self.drained = now;
        }
        Ok(self.tally)
    }

    /// What became known of threads since the last call; the first time every thread there is.
    ///
    /// A thread may be told of after its first events, so ask once more after the last [`Self::drain`].
    ///
    /// # Errors
    ///
    /// When the kernel does not list its threads.
    pub fn threads(&mut self) -> Result<Vec<Thread>, CaptureError> {
        match &mut self.source {
            Source::Bpf(session) => session.threads(),
            Source::Perf(session) => Ok(session.threads()),
        }
    }

    /// How long the caller may wait until the next [`Self::drain`]: the time in which the busiest processor seen, or
    /// one as busy as is expected at worst, fills a quarter of its buffer; 100 ms at most.
    #[must_use]
    pub fn advised_interval(&self) -> Span {
        let capacity = match &self.source {
            Source::Bpf(session) => session.capacity(),
            Source::Perf(session) => session.capacity(),
        };
        Span::from_secs_f64(f64::from(capacity) / 4.0 / self.rate_max)
            .clamp(INTERVAL_MIN, INTERVAL_MAX)
    }

    /// Ends the recording. What is in the buffers stays there for a last [`Self::drain`], which also tells of losses
    /// after which nothing came any more.
    pub fn stop(&mut self) {
        match &mut self.source {
            Source::Bpf(session) => session.stop(),
            Source::Perf(session) => session.stop(),
        }
        self.stopped = true;
    }
}

/// Where events go: to the caller, in batches of one processor.
pub(super) struct Outlet<'a> {
    each: &'a mut dyn FnMut(u16, &[Event]),
    events: &'a mut Vec<Event>,
    pub(super) tally: &'a mut Tally,
    /// Whose events are being counted.
    cpu: u16,
    count: usize,
    /// The most of one processor.
    count_max: usize,
}

impl Outlet<'_> {
    /// Events in a batch, about: 200 KB, which stay in a near cache.
    pub(super) const BATCH: usize = 1 << 13;

    pub(super) const fn is_full(&self) -> bool {
        self.events.len() >= Self::BATCH
    }

    pub(super) fn push(&mut self, stream: &mut Stream, at: Instant, what: What) {
        stream.push(at, what, self.events, self.tally);
    }

    /// Gives the batch of processor `cpu` to the caller.
    pub(super) fn flush(&mut self, cpu: u16) {
        if !self.events.is_empty() {
            (self.each)(cpu, self.events);
            self.count = self.events.len() + if self.cpu == cpu { self.count } else { 0 };
            (self.cpu, self.count_max) = (cpu, self.count_max.max(self.count));
            self.events.clear();
        }
    }

    /// Tells of processors that went or came.
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
