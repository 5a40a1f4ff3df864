//! The RTI as a process: federates and an RTI kernel, and what people want to know of them.
//!
//! * [`report`]: what is going on, as data; as JSON; for Prometheus.
//! * [`http`]: the report for a collector of metrics.
//! * [`Meter`]: how much goes by, and how fast.

pub mod http;
mod meter;
pub mod report;

pub use meter::Meter;
pub use report::Report;
