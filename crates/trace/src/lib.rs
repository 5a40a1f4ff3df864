//! The events that can be recorded, the file that stores them, and the data of a result folder.
//!
//! In reading order:
//!
//! * [`event`]: an [`Entry`] is one event, 32 bytes, stamped on the monotonic clock; its [`EventKind`] defines the
//!   meaning of its values.
//! * [`perfetto`]: the trace file, a Perfetto trace: [`perfetto::TraceWriter`] streams entries into it,
//!   [`perfetto::read`] returns them without loss.
//! * [`track_event`]: slices, instants and counters of other programs in a Perfetto trace.
//! * [`sched`]: events of the kernel's scheduler: switches, wake-ups, interrupts, gaps.
//! * [`recording`]: kernel and programs together, from any supported file: a Perfetto trace, `trace.dat` of
//!   trace-cmd, `perf.data` of perf, each also compressed; [`source`]: access to its bytes. The kernel's events stay in
//!   the file and are decoded during iteration.
//! * [`Missing`]: what a recorder could not record, as its file states it.
//! * [`result`]: the other data of a result folder, above all the conditions of the run.
//! * [`fuzzing`]: the bodies of the fuzz targets for trace files and recordings.
//!
//! This crate reads no clock and opens no file: callers pass bytes and writers.

#![forbid(unsafe_code)]

mod call;
mod compressed;
mod error;
pub mod event;
pub mod fuzzing;
mod missing;
mod perfdata;
pub mod perfetto;
pub mod recording;
pub mod result;
pub mod sched;
pub mod source;
mod tracedat;
mod tracepoint;
pub mod track_event;

pub use call::call_name;
pub use error::{ERRORS_MAX, ReadError};
pub use event::{Entry, EventKind};
pub use missing::Missing;
pub use recording::{PAUSED_AFTER, PAUSED_BEFORE, Recording, is_ours};
