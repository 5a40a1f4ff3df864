//! From recorded events to jobs, from jobs to cycles, from cycles to figures, reports and comparisons.
//!
//! In reading order:
//!
//! * [`jobs`]: the entries of a run become [`jobs::Job`]s and those, by number, [`jobs::Cycle`]s.
//! * [`misses`]: every missed deadline, explained in words with figures.
//! * [`metrics`]: what a run showed, condensed to [`metrics::Figures`].
//! * [`stats`]: quantiles, intervals, comparisons, histograms; the one place for them.
//! * [`summary`]: [`summary::analyze`] turns a result folder into the schema of `summary.json`.
//! * [`tables`], [`figures`]: what the report says and draws; [`text`]: how it writes figures.
//! * [`export`]: terminal, page, JSON, CSV. [`mod@compare`]: two summaries side by side.
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

pub mod jobs;
pub mod metrics;
pub mod misses;
pub mod stats;
pub mod summary;

pub mod compare;
pub mod export;
pub mod figures;
mod plot;
pub mod tables;
pub mod text;

#[cfg(test)]
mod synthetic;
