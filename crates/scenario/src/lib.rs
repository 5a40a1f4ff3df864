//! Reads a scenario and checks all of it before anything starts.
//!
//! In reading order:
//!
//! * [`read`]: turns a text into a [`Plan`], or reports every [`Problem`](hemiola_diagnostic::Problem).
//! * [`Plan`]: the checked scenario, with all names resolved and all defaults filled in. Its users need no
//!   further checks.
//! * [`Facts`]: the machine that the scenario is checked for; [`Overrides`]: values of the command line that
//!   replace those of the scenario.
//! * [`document`]: the same strict checks for the TOML files of other crates.
//! * [`TABLE`]: the keys of a scenario as data, for JSON schemas and guides.
//!
//! ```
//! use hemiola_diagnostic::render;
//! use hemiola_scenario::{Facts, Overrides, read};
//!
//! let facts = Facts {
//!     cpus_online: "0-1".parse().unwrap(),
//!     priority_max: 99,
//!     executable: &|program| program == "/bin/true",
//!     module: None,
//!     universe: &|_| Ok(()),
//! };
//! let source = r#"
//! title = "One process"
//! rate = "50Hz"
//! duration = "5s"
//! [plant]
//! model = "sei-fit"
//! [[variant]]
//! name = "monolithic"
//! [variant.processes]
//! loop = { task = "monolithic", gain = "baselin" }
//! "#;
//! let problems = read(source, &facts, &Overrides::default()).unwrap_err();
//! assert!(render(&problems, source, "one.toml").contains("did you mean \"baseline\"?"));
//! let plan = read(&source.replace("baselin\"", "baseline\""), &facts, &Overrides::default());
//! assert_eq!(plan.unwrap().variants[0].processes[1].name, "loop");
//! ```
//!
//! This crate opens no file, makes no system call and prints nothing.

#![forbid(unsafe_code)]

mod check;
pub mod document;
mod facts;
mod guide;
mod keys;
mod plan;
mod read;
mod schema;
mod section;
mod shape;

pub use facts::{Facts, ModuleCheck, Overrides, UniverseCheck};
pub use plan::*;
pub use read::{TABLE, read};
