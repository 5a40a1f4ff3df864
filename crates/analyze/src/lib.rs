//! From recorded events to figures that explain them.
//!
//! Three ways through the same recordings, none of which knows the others:
//!
//! * [`cycles`]: a result folder of `hemiola run`. Marks become jobs, jobs become cycles, cycles become a
//!   [`cycles::summary::Summary`] and its report.
//! * [`sched`]: any recording of the kernel's scheduler. For each thread C, T, U and response times, and which thread
//!   delayed which.
//! * [`timeline`]: who ran and who waited, where and when, at any magnification. The page draws it.
//!
//! ```
//! use hemiola_analyze::cycles::analysis::analyze;
//! use hemiola_analyze::cycles::report::{json, page, terminal};
//! use hemiola_report::table::Detail;
//! use hemiola_trace::result::RunFolder;
//!
//! fn report(folder: &RunFolder, read: impl Fn(&str) -> std::io::Result<Vec<u8>>) -> [String; 3] {
//!     let analysis = analyze(folder, read);
//!     let features = std::collections::BTreeMap::new();
//!     [
//!         json::write(&analysis.summary),
//!         terminal::render(&analysis.summary, Detail::Short),
//!         page::render(&analysis, &features),
//!     ]
//! }
//! ```
//!
//! This crate reads no clock and touches no file: bytes and data are passed in, text comes out. It judges figures with
//! `hemiola-stats` and shows them with `hemiola-report`.

#![forbid(unsafe_code)]

pub mod cycles;
pub mod fuzzing;
pub mod sched;
mod spill;
pub mod timeline;

pub use spill::Spill;
