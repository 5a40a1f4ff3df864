//! Summaries as text for people and for programs.

pub mod csv;
pub mod json;
pub mod terminal;
