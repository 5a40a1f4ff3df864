//! Problems of a text for a person: a sentence, the source line with carets, and a hint.
//!
//! * [`Problem`]: one error in one file, as data; [`render`]: such problems as text.
//! * [`Diagnostic`] and [`Label`]: one problem as it is shown, with places in any number of files;
//!   [`render_all`]: diagnostics as text.
//! * [`nearest`] and [`did_you_mean`]: the known word that a misspelt one probably stands for.
//!
//! ```
//! use hemiola_diagnostic::{Problem, did_you_mean, render};
//!
//! let problem = Problem::new(0..4, "a scenario has no key \"raet\"")
//!     .hint(did_you_mean("raet", ["rate", "runs"]).unwrap());
//! let text = render(&[problem], "raet = \"50Hz\"", "scenario.toml");
//! assert!(text.ends_with("1 | raet = \"50Hz\"\n  | ^^^^\n  = hint: did you mean \"rate\"?\n"));
//! ```

#![forbid(unsafe_code)]

mod problem;
mod render;
mod suggest;

pub use problem::{Problem, render};
pub use render::{Diagnostic, Label, Severity, line_column, render_all};
pub use suggest::{did_you_mean, nearest};
