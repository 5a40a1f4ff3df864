//! Quantiles, intervals, comparisons and histograms: the one place where figures are judged.
//!
//! Which question is answered by what:
//!
//! | question | answer |
//! |---|---|
//! | what does a stream too long to keep come to | [`Stream`], [`Distribution`] |
//! | what does a set of observations come to | [`Spread`], [`quantile`], [`median`], [`mean_and_std`] |
//! | how sure is a quantile of independent observations | [`quantile_interval`] |
//! | how sure is a mean or median of readings in their order | [`Estimate::of_mean`], [`Estimate::of_median`] |
//! | where will the next measurement's median lie | [`repeat_interval`] |
//! | how do A and B differ that were read in turns, A B B A | [`abba`], [`Paired`] |
//! | how do two sets differ that were not | [`Change`], [`differing`] for many at once |
//! | how are values distributed | [`histogram`] |
//! | do readings depend on each other | [`autocorrelation`], [`effective_samples`] |
//!
//! Everything works on whole numbers (`i64`, nanoseconds mostly) and on finite `f64`: [`Value`].
//! What cannot be said of too few or not finite values is `None`, never a guess. Nothing is dropped
//! silently: outliers are named, and the medians stand them.
//!
//! A quantile here is always one of the observations (nearest rank: Hyndman and Fan, "Sample
//! Quantiles in Statistical Packages", 1996, definition 1), so a reported p99.9 really happened.

#![forbid(unsafe_code)]

mod change;
#[cfg(test)]
mod coverage;
mod dependence;
mod distribution;
mod histogram;
mod independent;
mod interval;
mod paired;
mod repeat;
mod spread;
mod stream;
mod value;

pub use change::{Change, Covers, Difference, Verdict, differing};
pub use dependence::{autocorrelation, effective_samples};
pub use distribution::{student_quantile, student_tails};
pub use histogram::{BINS_PER_DECADE, histogram};
pub use interval::{Estimate, LEVEL, quantile_interval};
pub use paired::{Paired, Side, abba};
pub use repeat::repeat_interval;
pub use spread::{Spread, mean_and_std, median, quantile};
pub use stream::{BATCHES_MAX, Distribution, EXACT_MAX, Stream};
pub use value::{Value, sorted};
