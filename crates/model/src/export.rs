//! Output formats of a computed model: tables, `summary.json`, a page.

pub mod json;
pub mod page;
pub mod tables;
