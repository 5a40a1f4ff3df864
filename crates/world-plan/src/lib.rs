//! Plans of redefinition: how a universe becomes another one while it runs.
//!
//! In reading order:
//!
//! * [`Plan`]: the steps from one checked definition to another one, and both conversions of rows.
//! * [`Conversion`]: for each element, the element that its rows come from, and the source of each property.
//! * [`Missing`]: a property that gets no value, with a converter to write.
//! * [`Plan::text`] and [`missing_text`]: the same for people.
//! * [`scalars`]: how the scalars of a value come from those of a value of another type, if nothing is lost.
//!
//! ```
//! use hemiola_world_lang::{Sources, check};
//! use hemiola_world_plan::Plan;
//!
//! let universe = |text: &str, before| {
//!     let mut definition = check(&Sources::of("u.uml", text).unwrap(), before).unwrap();
//!     definition.universes.remove(0)
//! };
//! let before = universe("universe u { element e { property v : real; } }", None);
//! let after = universe("universe u { element e { property w : real was v; property n : integer; } }", None);
//! let plan = Plan::of(&before, &after);
//! let steps: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
//! assert_eq!(
//!     steps,
//!     ["rename property e.v to e.w", "insert property e.n : integer, with its default"]
//! );
//! assert!(plan.forward.missing.is_empty());
//! ```
//!
//! A plan knows nothing of the entities of a world: whether each row has a value is found when the world prepares the
//! redefinition. This crate opens no file and reads no clock.

#![forbid(unsafe_code)]

mod conversion;
mod same;
mod scalars;
mod steps;
mod text;

pub use conversion::{Conversion, Missing, Origin, Source};
pub use scalars::{ScalarSource, scalars};
pub use steps::{Change, Plan, Step};
pub use text::missing_text;
