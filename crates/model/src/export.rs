//! Output formats of a computed model: tables, a page, and its sweeps as comma-separated values.
//! `summary.json` is the summary itself.

pub mod page;
pub mod sweeps;
pub mod tables;
