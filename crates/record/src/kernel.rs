//! Records what the kernel does with its processors, while it happens.
//!
//! A [`Capture`] makes the kernel record every switch and wake-up, into one buffer per processor, until it is stopped
//! or dropped or the process dies. It has no name and does not outlive its descriptors. The caller empties the
//! buffers ([`Capture::drain`]) at intervals that suit their size ([`Capture::advised_interval`]), from a thread of
//! any priority. Losses are counted, and appear in the stream as [`What::Lost`] where events are missing.
//!
//! There are two interfaces. [`Interface::Bpf`] is cheaper: a program at each tracepoint stores 16 bytes and wakes no
//! thread. [`Interface::Perf`] needs less privilege, and none for the caller's own programs.
//!
//! ```no_run
//! use hemiola_record::kernel::{Capture, Options};
//!
//! let mut capture = Capture::start(&Options::default())?;
//! std::thread::sleep(capture.advised_interval().to_duration());
//! capture.stop();
//! let tally = capture.drain(&mut |cpu, events| println!("{cpu}: {} events", events.len()))?;
//! assert_eq!(tally.lost, 0);
//! # Ok::<(), hemiola_record::kernel::CaptureError>(())
//! ```
//!
//! [`What::Lost`]: hemiola_trace::sched::What::Lost

use std::io;

use hemiola_trace::Missing;
use hemiola_units::{Bytes, Refusal};
use thiserror::Error;

mod bpf;
mod capture;
mod perf;
mod permission;
mod stream;
mod threads;

pub use capture::Capture;
pub(crate) use threads::numbers;

/// The events to record, and the interface to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The threads to record.
    pub target: Target,
    /// Wake-ups. Without them it is unknown when a thread became ready, and which thread woke it.
    pub wakes: bool,
    /// Interrupts of devices, and soft interrupts.
    pub interrupts: bool,
    /// Page faults.
    pub page_faults: bool,
    /// System calls: entry and exit.
    pub calls: bool,
    /// The interface to use; `None` for the cheapest that is permitted.
    pub interface: Option<Interface>,
    /// The size of each processor's buffer, rounded up to a power of two.
    pub buffer: Bytes,
}

/// The threads to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Every thread of the machine.
    System,
    /// A process with all its threads and children, present and future. If the system may be recorded, it is, because
    /// only that shows which threads take the processor from the process. Without the privilege, only the process's
    /// own switches are visible, every other thread is [`Tid::UNKNOWN`], and children with more privileges than the
    /// caller are left out.
    ///
    /// [`Tid::UNKNOWN`]: hemiola_trace::sched::Tid::UNKNOWN
    Process(u32),
}

/// A kernel interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// BPF programs at the kernel's tracepoints: bpf(2). Needs `CAP_BPF` and `CAP_PERFMON`.
    Bpf,
    /// The kernel's event buffers: perf_event_open(2). Needs `CAP_PERFMON` for the system, and nothing for the
    /// caller's own processes.
    Perf,
}

/// The number of events delivered and lost since a capture started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Events passed to the caller, without those that report losses.
    pub events: u64,
    /// Events that the kernel had no room for or could not record. Each is part of a `What::Lost` in the stream as
    /// soon as a later event of its processor appears.
    pub lost: u64,
    /// Places where an unknown number of events is missing: a `What::Lost(0)` in the stream.
    pub gaps: u64,
    /// Processors that came online after the capture started and have no buffer: they are not recorded.
    pub unwatched: u16,
}

impl Tally {
    /// Returns what could not be recorded and has no place in the stream, for the conditions of a file.
    #[must_use]
    pub fn missing(&self) -> [(Missing, u64); 2] {
        [(Missing::Gaps, self.gaps), (Missing::Processors, self.unwatched.into())]
    }
}

/// Why the kernel cannot be recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// A privilege is missing; the message names it and how to grant it.
    #[error("{} {}; {}", .0.asked, .0.because, .0.remedy)]
    NotPermitted(Refusal),
    /// The kernel lacks a feature, named in the message. Another [`Interface`] may work.
    #[error("this kernel cannot be recorded this way: {0}")]
    Unsupported(String),
    /// There is no such process, or it has ended.
    #[error("there is no process {0} to record")]
    NoProcess(u32),
    /// The kernel has too little memory: ask for smaller buffers.
    #[error(
        "the kernel has no memory for buffers of {buffer} for each of {cpus} processors: {error}"
    )]
    Memory {
        /// The requested size for each processor.
        buffer: Bytes,
        /// The number of processors.
        cpus: usize,
        /// The kernel's error.
        error: io::Error,
    },
    /// The kernel refused a step for another reason.
    #[error("recording the kernel failed at {step}: {error}")]
    Kernel {
        /// The step that failed.
        step: String,
        /// The kernel's error.
        error: io::Error,
    },
}

/// The largest default buffer: 2 million events. The worst known load is a byte passed to and fro through pipes on
/// one processor, with 400,000 switches per second and a wake-up each; it fills this buffer in 2.6 s. The kernel lets
/// ordinary threads run at least 50 ms in each second, so a reader of any priority is in time.
const BUFFER_MAX: u64 = 32 << 20;

/// The default size of all buffers together; with more than 8 processors, each gets less.
const BUFFERS_MAX: u64 = 256 << 20;

impl Default for Options {
    /// The whole system through the cheapest interface, switches and wake-ups, with buffers of 32 MiB for each
    /// processor (less for more than 8 of them, at least 2 MiB).
    fn default() -> Self {
        let cpus = hemiola_rt::sys::cpu::online().iter().count() as u64;
        let share = (BUFFERS_MAX / cpus.max(1)).clamp(2 << 20, BUFFER_MAX);
        Self {
            target: Target::System,
            wakes: true,
            interrupts: false,
            page_faults: false,
            calls: false,
            interface: None,
            buffer: Bytes(1 << share.ilog2()),
        }
    }
}
