//! Makes traces: each process records marks into shared memory, and one drain writes them all to a file.
//!
//! In reading order:
//!
//! * [`create_log`]: the memory that a process records into, created by the process that drains it.
//! * [`Recorder`]: the writing side. A mark stamps itself, costs about a clock read, never waits, makes no system
//!   call and allocates nothing.
//! * [`Drain`]: the reading side. It writes the logs of many processes to one trace file during the run, including
//!   everything that a process recorded before it died. Its [`Intake`] takes the entries out of the logs, in a thread
//!   of its own where the file may be slow.
//! * [`kernel`]: records what the kernel does with its processors.
//! * [`Marks`]: the same for programs that include only one header of Hemiola: the marks of their tasks, and their
//!   requests to the recorder.
//! * [`conditions`]: the conditions that figures depend on, read from the kernel.
//! * [`accounting`]: processor use according to the kernel's own accounting.
//! * [`Reservations`]: the parameters of `SCHED_DEADLINE` threads, read while these threads exist.
//! * [`Folder`]: the result folder, written completely or not at all.
//!
//! ```
//! use hemiola_record::{Drain, LOG_CAPACITY, Recorder, create_log};
//! use hemiola_rt::clock::{Clock, MonotonicClock};
//! use hemiola_trace::{EventKind, perfetto};
//!
//! let log = create_log("io", LOG_CAPACITY).unwrap();
//! let mut recorder = Recorder::new(log.try_clone().unwrap(), MonotonicClock).unwrap();
//!
//! let mut file = Vec::new();
//! let trace = perfetto::TraceWriter::new(&mut file, MonotonicClock.now(), 0, &[]).unwrap();
//! let mut drain = Drain::new(trace);
//! let track = drain.add(log, 42, "io", perfetto::Names::default()).unwrap();
//!
//! recorder.mark(EventKind::Send, 0, 7, 0, 0);
//! drain.drain().unwrap();
//! assert_eq!(drain.tally(track).entries, 1);
//! assert_eq!(perfetto::read(&file).0.tracks[0].entries[0].cycle, 7);
//! ```
//!
//! The meaning of a mark is defined in [`hemiola_trace::event`], not here. The crate starts no thread: the caller
//! decides which thread drains, and how often.

#![forbid(unsafe_code)]

pub mod accounting;
pub mod conditions;
mod drain;
mod folder;
mod intake;
pub mod kernel;
pub mod marks;
mod namespaces;
mod recorder;
mod reservations;

pub use drain::{AddError, Drain, Tally};
pub use folder::{Folder, FolderError};
pub use intake::Intake;
pub use marks::Marks;
pub use namespaces::sees_every_number;
pub use recorder::{LOG_CAPACITY, Recorder, create_log, log_capacity};
pub use reservations::Reservations;
