//! Real-time Linux: clocks, releases, profiles, and memory shared between processes.
//!
//! In reading order:
//!
//! * [`clock`]: [`FastClock`](clock::FastClock) reads `CLOCK_MONOTONIC` at the cost of reading a counter;
//!   [`ManualClock`](clock::ManualClock) is for tests.
//! * [`periodic`]: absolute releases and the overrun policies of a late task ([`Periodic`](periodic::Periodic)).
//! * [`profile`] and [`privilege`]: requests for priority, processors and locked memory; the answer lists what
//!   was granted, what was refused, and how to allow it.
//! * [`mod@file`]: replaces a file so that a crash leaves the old one or the new one.
//! * [`program`]: where a program is that a user names.
//! * [`shared`]: the latest value, the queue, the log and the stream, in memory that outlives each of its users.
//! * [`sys`]: the system calls underneath.
//!
//! A periodic process begins like this:
//!
//! ```
//! use hemiola_rt::clock::{Clock, FastClock};
//! use hemiola_rt::{periodic::Periodic, profile};
//! use hemiola_units::{Overrun, Profile, Span};
//!
//! // prepare: ask, and report every refusal
//! let granted = profile::apply(&Profile::ordinary());
//! assert!(granted.refusals.is_empty());
//! let mut clock = FastClock::calibrate();
//!
//! // run: no system calls other than those of the clock and the channels
//! let epoch = clock.now() + Span::from_millis(1);
//! let mut releases = Periodic::new(epoch, "1kHz".parse()?, Overrun::Skip);
//! for _ in 0..3 {
//!     let release = releases.wait(&mut clock)?;
//!     assert!(release.start >= release.at);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All unsafe code of the workspace is in [`sys`] and [`shared`], behind safe interfaces. The crate knows no
//! scenario, message or file format, and prints nothing.

#[cfg(not(loom))]
pub mod clock;
#[cfg(not(loom))]
pub mod file;
#[cfg(not(loom))]
pub mod periodic;
#[cfg(not(loom))]
pub mod privilege;
#[cfg(not(loom))]
pub mod profile;
#[cfg(not(loom))]
pub mod program;
pub mod shared;
#[cfg(not(loom))]
pub mod sys;
