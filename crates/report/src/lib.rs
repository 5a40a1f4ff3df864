//! Tables, charts and pages: how the results of a run, a recording, a measurement or a model are shown.
//!
//! In reading order:
//!
//! * [`text`]: numbers with units as people read them.
//! * [`table`]: a [`table::Table`] is data; [`terminal`] draws it in characters, [`page`] in HTML.
//! * [`charts`]: whole charts from data, made of the shapes in [`plot`], as SVG.
//! * [`page`]: a [`page::Page`] is one HTML file that needs nothing else.
//! * [`csv`] and [`json`]: the same results for other programs.
//! * [`conditions`]: the machine's conditions, which every report ends with.
//!
//! This crate knows neither cycles nor scheduling: it draws what it is given.
//!
//! ```
//! use hemiola_report::{table::Table, terminal};
//!
//! let table = Table::new("Clock", ["Read", "ns"], vec![vec!["fast".into(), "9.7".into()]]);
//! assert!(terminal::table(&table).contains("fast  9.7"));
//! ```

#![forbid(unsafe_code)]

pub mod charts;
pub mod conditions;
pub mod csv;
pub mod json;
pub mod page;
pub mod plot;
pub mod table;
pub mod terminal;
pub mod text;
