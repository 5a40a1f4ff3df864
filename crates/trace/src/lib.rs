//! What a trace is: the events that can be recorded, the file they are kept in, and the data of a result folder.
//!
//! In reading order:
//!
//! * [`event`]: an [`Entry`] is one thing that happened, 32 bytes, stamped on the monotonic clock; its [`EventKind`]
//!   says what its values mean.
//! * [`perfetto`]: the trace file, a Perfetto trace: [`perfetto::TraceWriter`] streams entries into it,
//!   [`perfetto::read`] gives them back without loss.
//! * [`sched`]: what the kernel did with its processors: switches, wake-ups, interrupts, gaps.
//! * [`recording`]: kernel and programs together, whatever file they came from: a Perfetto trace, `trace.dat` of
//!   trace-cmd, `perf.data` of perf; [`source`]: where its bytes are. The kernel's events stay in the file and are
//!   decoded while they are gone through.
//! * [`result`]: what stands in a result folder beside the traces, the conditions of the run above all.
//! * [`fuzzing`]: the bodies of the fuzz targets for trace files and recordings.
//!
//! This crate reads no clock and touches no file: bytes and writers are passed in.

#![forbid(unsafe_code)]

mod error;
pub mod event;
pub mod fuzzing;
mod perfdata;
pub mod perfetto;
pub mod recording;
pub mod result;
pub mod sched;
pub mod source;
mod tracedat;
mod tracepoint;

pub use error::{ERRORS_MAX, ReadError};
pub use event::{Entry, EventKind};
pub use recording::Recording;
