//! Summaries as text for people and for programs.

pub mod csv;
pub mod html;
pub mod json;
pub mod page;
pub mod terminal;
