//! What a user writes down about a run.
//!
//! [`Plan`] is what it means.

#![forbid(unsafe_code)]

mod facts;
mod plan;
mod problem;

pub use facts::{Facts, Overrides};
pub use plan::*;
pub use problem::{Problem, render};
