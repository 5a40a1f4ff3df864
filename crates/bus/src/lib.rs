//! Channels that pass messages between the processes of a scenario.
//!
//! In reading order:
//!
//! * [`Sender`] and [`Receiver`]: what every channel does, and how it may fail.
//! * [`Spec`], [`Channel`], [`Handle`]: one process creates a channel and owns it; another gets its handle and opens
//!   an end with [`open_sender`] or [`open_receiver`].
//!
//! A channel carries whole messages of bounded size and has a stated [`Delivery`]: `Latest` keeps the newest message,
//! `Queue(n)` keeps up to `n` in order and refuses more.
//!
//! | | `local:` | `shm:` | `mq:` | `pubsub:` |
//! |---|---|---|---|---|
//! | exists in | this process | memory without a name | the kernel | `/dev/shm`, under the run's name |
//! | receivers of a latest channel | any number | any number, read-only | 1 | 16, unknown to the sender |
//! | receivers of a queue | 1 | 1 | 1 | 16, each with its own buffer |
//! | a late receiver gets | existing messages | existing messages | existing messages | later messages only |
//! | full queue | refuses | refuses | refuses | refuses if any receiver is full; the others get it |
//! | sending or receiving may block | for a copy | never | never | never |
//! | wake-up by | condition variable | futex | poll | select on a socket |
//!
//! Every channel has one sender at a time. After a process is killed, opening the same end again takes over: messages
//! that were sent completely stay, and a partly written one was never sent.
//!
//! ```
//! use hemiola_bus::{Channel, Spec, open_receiver, open_sender};
//! use hemiola_units::Delivery;
//!
//! let spec = Spec {
//!     endpoint: "local:angle".parse()?,
//!     delivery: Delivery::Latest,
//!     message_size: 8,
//!     run: "example".into(),
//! };
//! let channel = Channel::create(&spec)?;
//! let mut sender = open_sender(&channel.handle())?;
//! let mut receiver = open_receiver(&channel.handle())?;
//!
//! sender.send(&1.0f64.to_le_bytes())?;
//! sender.send(&2.0f64.to_le_bytes())?;
//! let mut buffer = [0; 8];
//! assert_eq!(receiver.receive(&mut buffer)?, Some(&2.0f64.to_le_bytes()[..]));
//! assert_eq!(receiver.receive(&mut buffer)?, None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not in this crate: addresses, discovery, byte order, anything beyond one machine. Its cost is measured by the
//! probes.
//!
//! [`Delivery`]: hemiola_units::Delivery

mod channel;
#[cfg(feature = "testing")]
pub mod conformance;
mod local;
mod mqueue;
mod open;
#[cfg(feature = "pubsub")]
pub mod pubsub;
mod shared_memory;

pub use channel::{ReceiveError, Receiver, SendError, Sender};
pub use hemiola_rt::shared::Readiness;
pub use open::{
    Channel, CreateError, End, Handle, MESSAGE_SIZE_MAX, OpenError, QUEUE_LENGTH_MAX, RUN_LEN_MAX,
    Receivers, Spec, open_receiver, open_sender,
};

/// Returns the time on `CLOCK_MONOTONIC`.
fn now() -> hemiola_units::Instant {
    use hemiola_rt::clock::Clock;
    hemiola_rt::clock::MonotonicClock.now()
}
