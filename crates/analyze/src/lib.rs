//! From recorded events to figures.

#![forbid(unsafe_code)]

pub mod jobs;
pub mod misses;
pub mod stats;
#[cfg(test)]
mod synthetic;
pub mod text;
