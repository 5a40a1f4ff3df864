//! Linux for real time: clocks, releases, profiles, and memory shared between processes.
//!
//! In reading order:
//!
//! * [`clock`]: [`FastClock`](clock::FastClock) shows `CLOCK_MONOTONIC` at the cost of a counter reading;
//!   [`ManualClock`](clock::ManualClock) is for tests.
//! * [`periodic`]: absolute releases and what a late task does ([`Periodic`](periodic::Periodic)).
//! * [`profile`] and [`privilege`]: asking for priority, processors and locked memory; what was given,
//!   what was refused, and how to allow it.
//! * [`shared`]: the newest value, the queue, the log and the stream, in memory that outlives any of its users.
//! * [`sys`]: the system calls under all this.
//!
//! A periodic process begins like this:
//!
//! ```
//! use hemiola_rt::clock::{Clock, FastClock};
//! use hemiola_rt::{periodic::Periodic, profile};
//! use hemiola_units::{Overrun, Profile, Span};
//!
//! // prepare: ask, and say what was not given
//! let granted = profile::apply(&Profile::ordinary());
//! assert!(granted.refusals.is_empty());
//! let mut clock = FastClock::calibrate();
//!
//! // run: nothing but the clock's and the channels' system calls
//! let epoch = clock.now() + Span::from_millis(1);
//! let mut releases = Periodic::new(epoch, "1kHz".parse()?, Overrun::Skip);
//! for _ in 0..3 {
//!     let release = releases.wait(&mut clock)?;
//!     assert!(release.start >= release.at);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All unsafe code of the workspace is in [`sys`] and [`shared`], safe from outside. The crate knows no
//! scenario, no message and no file format, and it prints nothing.

#[cfg(not(loom))]
pub mod clock;
#[cfg(not(loom))]
pub mod periodic;
#[cfg(not(loom))]
pub mod privilege;
#[cfg(not(loom))]
pub mod profile;
pub mod shared;
#[cfg(not(loom))]
pub mod sys;
