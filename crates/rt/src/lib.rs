//! Linux for real time.

pub mod clock;
pub mod shared;
#[cfg(not(loom))]
pub mod sys;
