//! Values with uncertainty, and the uncertainty of the results computed from them.
//!
//! An [`Input`] has a nominal value, a stochastic part (its [`Distribution`]) and a systematic part (an
//! offset within ± a bound, the same for every reading). A [`Network`] holds inputs, their
//! [`Correlation`]s and [`Definition`]s computed from them. A name used twice is the same value twice, so common
//! parts cancel or add up. [`Network::propagate`] computes the uncertainty of one definition in three ways that
//! check each other:
//!
//! * **first order**: exact derivatives at the nominal values; stochastic parts add in quadrature, systematic parts
//!   linearly (JCGM 100:2008, 5.1.2 and 5.2.2);
//! * **intervals**: worst-case bounds;
//! * **Monte Carlo**: seeded samples of every input (JCGM 101:2008), without systematic offsets and at the offsets
//!   that make a quantile of the value least or greatest.
//!
//! Verdicts, margins and probabilities come from the samples: [`Predicted`] is the whole distribution. The other two
//! explain and check.
//!
//! [`Propagation::warnings`] explains where they disagree.
//!
//! ```
//! use hemiola_model::expression::Expression;
//! use hemiola_quantity::Quantity;
//! use hemiola_model::uncertain::{Definition, Distribution, Input, Network};
//!
//! let time = |text: &str| text.parse::<Quantity>().unwrap();
//! let start = Input::exact("start", time("10 µs")).varying(Distribution::Normal { std: 2e-6 });
//! let end = Input::exact("end", time("14 µs")).varying(Distribution::Normal { std: 2e-6 });
//! let expression = Expression::parse("end - start").unwrap();
//! let duration = Definition { name: "duration".into(), expression };
//! let network = Network::new(vec![start, end], &[], vec![duration]).unwrap();
//!
//! let found = network.propagate("duration", 10_000, 1).unwrap();
//! let shown = |value| Quantity { value, dimension: found.dimension }.to_string();
//! assert_eq!(shown(found.first_order.nominal), "4 µs");
//! assert_eq!(shown(found.first_order.std), "2.83 µs");
//! assert!(found.warnings.is_empty());
//! ```
//!
//! This module uses no clock and no thread: the same network, sample count and seed give the same numbers.

mod affine;
mod agreement;
mod correlation;
mod derivative;
mod direction;
mod distribution;
mod estimate;
mod extremes;
mod first_order;
mod known_mean;
mod monte_carlo;
mod network;
mod offsets;
mod predicted;
mod program;
mod repeats;
mod search;
mod tail;

pub use correlation::{Correlation, CorrelationError};
pub use distribution::{Distribution, Input};
pub use estimate::{Contribution, Estimate, Propagation};
pub use network::{
    Definition, Network, NetworkError, PropagateError, SAMPLES_MAX, SAMPLES_MIN, SAMPLES_MORE,
};
pub(crate) use predicted::CONFIDENCE;
pub use predicted::{Chance, Predicted, Samples, Verdict};
pub(crate) use repeats::Repeats;

#[cfg(test)]
mod tests;
