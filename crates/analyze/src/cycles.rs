//! From the marks of a run to jobs, from jobs to cycles, from cycles to the figures of a result folder.
//!
//! In reading order:
//!
//! * [`jobs`]: the entries of a run become [`jobs::Job`]s, and jobs with the same number become [`jobs::Cycle`]s.
//! * [`segments`]: where the time of a cycle goes, process by process and hand-over by hand-over.
//! * [`typical`]: a cycle that stands for the others.
//! * [`phases`]: the phases of the steps of universes.
//! * [`misses`]: every missed deadline, explained in words with figures.
//! * [`witness`], [`occupancy`] and `waiting`: who had the processors of a run, and who waited, by the kernel's record.
//! * [`authority`]: who commanded a Simplex program when and why, and which faults its decision module found.
//! * `faults`: what a campaign showed of each kind of fault.
//! * [`mixed`]: a benchmark beside a real-time load.
//! * [`federation`]: a federation in its modes: its cycles, the RTI's share of them, which federate delayed which.
//! * [`metrics`]: what one run showed, condensed to [`metrics::Figures`].
//! * [`summary`]: the schema of `summary.json`; [`analysis::analyze`] fills it from a result folder.
//! * [`verdict`]: whether a run is a failure, and why.
//! * [`report`]: the tables, figures and page of a summary, and its JSON and CSV.
//! * [`compare`]: two summaries side by side.

pub mod analysis;
pub mod authority;
pub mod compare;
mod faults;
pub mod federation;
pub mod jobs;
pub mod metrics;
pub mod misses;
pub mod mixed;
pub mod occupancy;
pub mod phases;
pub mod report;
pub mod segments;
pub mod summary;
pub mod typical;
pub mod verdict;
mod waiting;
pub mod witness;

#[cfg(test)]
mod synthetic;
