//! Output formats of a computed model: tables and a page. `summary.json` is the summary itself.

pub mod page;
pub mod tables;
