//! A computed model as text: tables for a terminal, `summary.json`, a page.

pub mod json;
pub mod page;
pub mod tables;
