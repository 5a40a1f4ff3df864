//! Measures this machine's figures of merit, and runs experiments that state their expectation first.
//!
//! In reading order:
//!
//! * [`set`]: the selection of figures from the probes' catalogue, and the time for each.
//! * [`Alone`]: the right to measure, which one process holds at a time.
//! * [`ReadingSource`]: a source of readings; [`Probes`] takes them from the machine.
//! * [`Meanwhile`]: the work of others on the machine during a measurement.
//! * [`measure`]: measures a set block by block in round-robin order; each figure becomes a [`Series`].
//! * [`staircase`]: the storage levels visible in the latency over the working-set size.
//! * [`Survey`]: all results, for `machine.toml` and `summary.json`; [`report`]: as tables and a page.
//! * [`compare()`]: two machines side by side.
//! * [`command`]: commands measured in turns and compared.
//! * [`link`]: the network between two hosts.
//! * [`experiment`]: an experiment in seven steps, from its text to its verdict.
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
//! A figure is the median of the readings of several blocks taken at different times, with the interval
//! that contains a repeat in 95 of 100 cases. Consecutive readings are correlated, so one long block would give too
//! narrow an interval. The statistics are those of `stats`, the readings those of `probe`.

#![forbid(unsafe_code)]

mod activity;
mod alone;
pub mod command;
pub mod compare;
pub mod derive;
pub mod experiment;
pub mod instruments;
mod kernel;
pub mod link;
mod measurement;
pub mod recovery;
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

pub use activity::{Activity, Counters, Meanwhile};
pub use alone::{Alone, NotAlone};
pub use compare::compare;
pub use kernel::{identity, kernel_caches};
pub use measurement::{Interrupted, Progress, measure};
pub use series::Series;
pub use source::{Probes, ReadError, ReadingSource};
pub use summary::{FORMAT, LinkSummary, Missing, Summary, SummaryFigure};
pub use survey::Survey;
