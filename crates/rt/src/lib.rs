//! Linux for real time.

#[cfg(not(loom))]
pub mod clock;
#[cfg(not(loom))]
pub mod periodic;
pub mod shared;
#[cfg(not(loom))]
pub mod sys;
