//! What the kernel does with its processors, taken out of it while it happens.
//!
//! A [`Capture`] has the kernel note every switch and wake-up, on each processor into a buffer of its own, until it is
//! stopped, dropped or the process dies; nothing of it has a name or outlives its descriptors. The caller empties the
//! buffers ([`Capture::drain`]) at intervals fit to their size ([`Capture::advised_interval`]), from a thread of any
//! priority. What found no room is counted, and stands in the stream as [`What::Lost`] where it is missing.
//!
//! Two interfaces of the kernel do it. [`Interface::Bpf`] is the cheaper one: a program of our own behind each
//! tracepoint stores 16 bytes and wakes nobody. [`Interface::Perf`] needs less privilege, and for one's own programs
//! none.
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

use hemiola_units::{Bytes, Refusal};
use thiserror::Error;

mod bpf;
mod capture;
mod perf;
mod permission;
mod stream;
mod threads;

pub use capture::Capture;

/// What to record, and by which interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whose doings.
    pub target: Target,
    /// Wake-ups: without them nobody can say when a thread became ready, nor who woke it.
    pub wakes: bool,
    /// Interrupts, those of devices and soft ones.
    pub interrupts: bool,
    /// Page faults.
    pub page_faults: bool,
    /// System calls: their entries and exits.
    pub calls: bool,
    /// The interface to use; `None`: the cheapest that is permitted.
    pub interface: Option<Interface>,
    /// How large each processor's buffer is, rounded up to a power of two.
    pub buffer: Bytes,
}

/// Whose doings are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Every thread of the machine.
    System,
    /// A process with all its threads and children, present and future. Where the system may be recorded it is,
    /// because who takes the processor of a process is seen there only. Without the privilege the process's own
    /// switches are all there is, everybody else is [`Tid::UNKNOWN`], and children that have more privileges than the
    /// caller are left out.
    ///
    /// [`Tid::UNKNOWN`]: hemiola_trace::sched::Tid::UNKNOWN
    Process(u32),
}

/// An interface of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// Programs of ours behind the kernel's tracepoints: bpf(2). Needs `CAP_BPF` and `CAP_PERFMON`.
    Bpf,
    /// The kernel's own event buffers: perf_event_open(2). Needs `CAP_PERFMON` for the system, nothing for one's own
    /// processes.
    Perf,
}

/// What a capture has delivered and lost since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Events given to the caller, those that report losses not counted.
    pub events: u64,
    /// Events the kernel had no room for or could not note. Each stands in the stream as part of a `What::Lost` as
    /// soon as a later event of its processor does.
    pub lost: u64,
    /// Places where something is missing and nobody knows how much: a `What::Lost(0)` in the stream.
    pub gaps: u64,
    /// Processors that came after the capture began and have no buffer: what they do is not recorded.
    pub unwatched: u16,
}

/// Why the kernel is not recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// A privilege is missing: the sentence names it and how to give it.
    #[error("{} {}; {}", .0.asked, .0.because, .0.remedy)]
    NotPermitted(Refusal),
    /// This kernel cannot do it: says what it lacks. Another [`Interface`] may.
    #[error("this kernel cannot be recorded so: {0}")]
    Unsupported(String),
    /// There is no such process, or it has ended.
    #[error("there is no process {0} to record")]
    NoProcess(u32),
    /// The kernel gave no memory: ask for smaller buffers.
    #[error(
        "the kernel has no memory for buffers of {buffer} for each of {cpus} processors: {error}"
    )]
    Memory {
        /// What was asked for, for each processor.
        buffer: Bytes,
        /// For how many.
        cpus: usize,
        /// What the kernel answered.
        error: io::Error,
    },
    /// The kernel refused a step without a reason of those above.
    #[error("recording the kernel failed at {step}: {error}")]
    Kernel {
        /// What was tried.
        step: String,
        /// What the kernel answered.
        error: io::Error,
    },
}

/// The largest buffer unasked: 2 million events. A pipe passed to and fro on one processor is the worst load known,
/// with 400,000 switches a second and a wake-up each; it fills this in 2.6 s. The kernel lets ordinary threads run
/// at least 50 ms in each second, so a reader of any priority comes in time.
const BUFFER_MAX: u64 = 32 << 20;

/// All buffers together, unasked; on machines of more than 8 processors each gets less.
const BUFFERS_MAX: u64 = 256 << 20;

impl Default for Options {
    /// The whole system by the cheapest interface, switches and wake-ups, with buffers of 32 MiB for each processor
    /// (less beyond 8 of them, 2 MiB at least).
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
