//! Quantiles, intervals, comparisons and histograms: all figures of the project are judged here.
//!
//! Which function answers which question:
//!
//! | question | answer |
//! |---|---|
//! | how is a stream distributed that is too long to keep | [`Stream`], [`Distribution`] |
//! | how is a set of observations distributed | [`Spread`], [`quantile`], [`median`], [`mean_and_std`], [`histogram`] |
//! | how sure is a quantile of independent observations | [`quantile_interval`] |
//! | how sure is a mean or median of readings in their order | [`Estimate::of_mean`], [`Estimate::of_median`] |
//! | how sure is a median of readings in blocks, where is the next one | [`median_of_blocks`], [`median_of_times`] |
//! | how do A and B differ that were read in turns, A B B A | [`paired_difference`] |
//! | how do two sets differ that were not read in turns | [`Change`]; for many at once [`differing`] |
//! | how likely may an event be that was never seen | [`bound_of_none`] |
//! | how likely is an event that some of the trials had | [`share_interval`] |
//! | which values stand apart from all others | [`outliers`]; counted by their distance: [`OutlierClasses`] |
//! | how many independent readings are dependent ones worth | [`effective_samples`] |
//!
//! Functions take whole numbers (`i64`, mostly nanoseconds) and finite `f64`: [`Value`]. They return `None` for too few
//! or infinite values and never guess. They drop no outlier; medians are not affected by a few.
//!
//! A quantile here is always one of the observations (nearest rank: Hyndman and Fan, "Sample
//! Quantiles in Statistical Packages", 1996, definition 1), so a reported p99.9 was really observed. A [`median`] of an
//! even number is the mean of the two in the middle.

#![forbid(unsafe_code)]

mod change;
#[cfg(test)]
mod coverage;
mod dependence;
mod distribution;
#[cfg(test)]
mod few;
pub mod growth;
mod histogram;
mod independent;
mod interval;
mod numbers;
mod outlier;
mod paired;
mod repeat;
mod share;
mod sort;
mod spread;
mod stream;
mod value;

pub use change::{Change, ChangeVerdict, Covers, Difference, differing};
pub use dependence::effective_samples;
pub use distribution::student_quantile;
pub use histogram::histogram;
pub use interval::{Estimate, LEVEL, NORMAL_975, bound_of_none, quantile_interval};
pub use numbers::Numbers;
pub use outlier::{OutlierClasses, outliers};
pub use paired::paired_difference;
pub use repeat::{in_blocks, median_of_blocks, median_of_times};
pub use share::share_interval;
pub use sort::sorted_many;
pub use spread::{Spread, mean_and_std, median, quantile};
pub use stream::{Bins, Distribution, Stream};
pub use value::{Value, sorted};
