//! Makes traces, with what belongs to one: each process marks what happens into shared memory, and one drain
//! writes it all to a file.
//!
//! In reading order:
//!
//! * [`create_log`]: the memory a process records into, made by whoever drains it.
//! * [`Recorder`]: the writing side. A mark stamps itself, costs about a clock read, never waits, makes no
//!   system call and allocates nothing.
//! * [`Drain`]: the reading side. It turns the logs of many processes into one trace file beside the run;
//!   whatever a process recorded before it died is in there.
//! * [`kernel`]: what the kernel does with its processors, recorded while it happens.
//! * [`Marks`]: the same for programs that know nothing of Hemiola but one header: what their tasks mark, and what
//!   they ask of the recorder.
//! * [`conditions`]: what figures depend on besides the program, read from the kernel.
//! * [`accounting`]: processor use as the kernel's own accounts have it.
//! * [`Folder`]: where results go, whole or not at all.
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
//! What a mark means is in [`hemiola_trace::event`]; this crate gives it no meaning. It starts no thread:
//! who drains, and how often, is the caller's business.

#![forbid(unsafe_code)]

pub mod accounting;
pub mod conditions;
mod drain;
mod folder;
pub mod kernel;
pub mod marks;
mod recorder;

pub use drain::{AddError, Drain, Tally};
pub use folder::{Folder, FolderError, write_whole};
pub use marks::Marks;
pub use recorder::{LOG_CAPACITY, Recorder, create_log};
