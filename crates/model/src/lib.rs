//! Performance models with uncertainty: the cost of a chain of calls, what uses up its budget, and whether a
//! measurement agrees with the model.
//!
//! In reading order:
//!
//! * [`expression`], [`uncertain`]: formulas over quantities (`hemiola_quantity`), and the uncertainty of a result.
//! * [`machine`]: the measured figures of merit of a machine.
//! * [`mod@file`]: a model as one TOML file: figures with their sources, operations, chains of calls, what-ifs.
//! * [`chain`], [`budget`], [`overhead`], [`cache`]: the questions asked of a model.
//! * [`summary`]: all answers; [`export`]: their tables, JSON and page.
//! * [`response_time`]: worst-case response times of periodic tasks; [`schedulability`]: every test of such a set,
//!   what it tolerates, and the verdict on what a recording shows.
//!
//! ```
//! use hemiola_model::{export::tables, file, summary};
//!
//! let model = file::read(
//!     r#"
//!     title = "Attributes of nine images"
//!     [figures.construct]
//!     value = "80 us"
//!     stochastic = "5 us"
//!     source = "guess"
//!     reason = "the report's figure"
//!     [chains.all]
//!     calls = [{ name = "attributes", times = "9 * 100", cost = "construct" }]
//!     "#,
//!     None,
//! )
//! .unwrap();
//! let summary = summary::analyze(&model, None);
//! assert_eq!(summary.chains[0].cost.first_order.nominal_ns, 72e6);
//! assert_eq!(tables::tables(&summary)[0].rows[0][1], "72 ms");
//! ```
//!
//! This crate reads no clock and touches no file: text and data are passed in, text comes out.

#![forbid(unsafe_code)]

pub mod expression;
pub mod machine;
pub mod predict;
pub mod uncertain;

pub mod budget;
pub mod cache;
pub mod chain;
pub mod export;
pub mod file;
pub mod overhead;
pub mod response_time;
pub mod schedulability;
pub mod summary;
mod text;

#[cfg(test)]
mod tests;
