//! From recorded events to jobs, from jobs to cycles, from cycles to figures, reports and comparisons.
//!
//! In reading order:
//!
//! * [`jobs`]: the entries of a run become [`jobs::Job`]s and those, by number, [`jobs::Cycle`]s.
//! * [`segments`]: where the time of a cycle goes, process by process and hand-over by hand-over.
//! * [`misses`]: every missed deadline, explained in words with figures.
//! * [`metrics`]: what a run showed, condensed to [`metrics::Figures`].
//! * [`stats`]: the statistics of the whole project: quantiles, intervals of means and medians that
//!   know how readings depend on each other, intervals of the next measurement, paired and independent
//!   comparisons, outliers, changes of level. Its page says which question is answered by what.
//! * [`summary`]: [`summary::analyze`] turns a result folder into the schema of `summary.json`.
//! * [`federation`]: a federation in its modes: cycles, the RTI's share of them, who was late because of whom.
//! * [`timeline`]: who ran where and who waited, at any magnification: what the page draws.
//! * [`tables`], [`figures`]: what the report says and draws; [`text`]: how it writes figures.
//! * [`sched`]: what a recording of the scheduler comes to, thread by thread: C, T, U, response times, who delayed
//!   whom.
//! * [`export`]: terminal, page, JSON, CSV. [`mod@compare`]: two summaries side by side.
//!
//! Other reports stand on the same surface: [`export::page::Page`] takes cards, figures and tables to
//! one HTML file, [`export::terminal::document`] the same tables to a terminal; [`charts`] draws lines
//! with intervals, waterfalls, tornados and bars by their data, [`plot`] anything else.
//!
//! ```
//! use hemiola_analyze::export::{html, json, terminal};
//! use hemiola_analyze::summary::analyze;
//! use hemiola_analyze::tables::Detail;
//! use hemiola_trace::result::RunFolder;
//!
//! fn report(folder: &RunFolder, read: impl Fn(&str) -> std::io::Result<Vec<u8>>) -> [String; 3] {
//!     let analysis = analyze(folder, read);
//!     let features = std::collections::BTreeMap::new();
//!     [
//!         json::write(&analysis.summary),
//!         terminal::render(&analysis.summary, Detail::Short),
//!         html::render(&analysis, &features),
//!     ]
//! }
//! ```
//!
//! This crate reads no clock and touches no file: bytes and data are passed in, text comes out.

#![forbid(unsafe_code)]

pub mod federation;
pub mod jobs;
pub mod metrics;
pub mod misses;
pub mod mixed;
pub mod occupancy;
pub mod sched;
pub mod segments;
pub mod stats;
pub mod summary;
pub mod timeline;

pub mod charts;
pub mod compare;
pub mod export;
pub mod figures;
pub mod fuzzing;
pub mod plot;
pub mod tables;
pub mod text;
pub mod witness;

#[cfg(test)]
mod synthetic;
