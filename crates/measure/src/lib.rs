//! Measures this machine's figures of merit, and runs experiments that state their expectation first.
//!
//! In reading order:
//!
//! * [`set`]: which figures of the probes' catalogue, and how much time they get.
//! * [`Alone`]: the right to measure, which one process has at a time.
//! * [`Source`]: where readings come from; [`Probes`] takes them from the machine.
//! * [`measure`]: a set, block by block, round robin; each figure becomes a [`Series`].
//! * [`staircase`]: the levels of storage, found in the latencies over the size of the set.
//! * [`Survey`]: everything measured, as `machine.toml` and `summary.json`; [`report`]: as tables and a page.
//! * [`compare()`]: two machines side by side.
//! * [`experiment`]: a question in the paper's seven steps, from its text to its verdict.
//!
//! ```
//! use hemiola_measure::staircase::{Point, levels};
//!
//! // A cache of 32 KiB in front of a slow memory.
//! let latency = |kib: u64| if kib <= 32 { 1.0 } else { 1.0 * 32.0 / kib as f64 + 80.0 * (1.0 - 32.0 / kib as f64) };
//! let points: Vec<Point> = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
//!     .map(|kib| Point { size: kib << 10, latency: latency(kib) })
//!     .into();
//! let found = levels(&points, None);
//! assert_eq!((found[0].name.as_str(), found[0].size), ("l1", Some(32 << 10)));
//! assert_eq!(found[1].name, "memory");
//! ```
//!
//! A figure here is the median of medians of several blocks of readings, taken at different times, with the
//! interval that a repeat falls into in 95 of 100 cases: neighbouring readings share the machine's mood, so
//! one long block would promise more than it can keep. How figures are judged is `stats`' business,
//! how readings are taken is `probe`'s.

#![forbid(unsafe_code)]

mod alone;
pub mod compare;
pub mod derive;
pub mod experiment;
mod kernel;
mod measurement;
pub mod report;
mod series;
pub mod set;
mod source;
pub mod staircase;
mod summary;
mod survey;
#[cfg(test)]
mod synthetic;
mod text;

pub use alone::{Alone, NotAlone};
pub use compare::compare;
pub use kernel::{identity, kernel_caches};
pub use measurement::{Interrupted, Progress, measure};
pub use series::Series;
pub use source::{Probes, Source};
pub use summary::{FORMAT, Missing, Summary, SummaryFigure};
pub use survey::Survey;
