//! The report of a result folder: which tables, figures and cards it has, for people and for other programs.

mod control;
pub mod csv;
pub(super) mod federation;
mod figures;
pub mod json;
pub(super) mod mixed;
pub mod page;
mod tables;
pub mod terminal;
mod typical;
mod universe;
