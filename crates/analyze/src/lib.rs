//! From recorded events to figures.

#![forbid(unsafe_code)]

pub mod compare;
pub mod export;
pub mod figures;
pub mod jobs;
pub mod metrics;
pub mod misses;
mod plot;
pub mod stats;
pub mod summary;
#[cfg(test)]
mod synthetic;
pub mod tables;
pub mod text;
