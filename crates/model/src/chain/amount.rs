//! A quantity of a chain that is not a time: a cost besides time, or a capacity.

use serde::Serialize;

use super::NETWORK;
use super::limit::{Doubt, Rest};
use crate::uncertain::{Chance, Contribution, Network, Predicted, Verdict};

/// A value with its expected range, in base units of its dimension. As JSON, a value that is not finite is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Amount {
    /// The value at the nominal values of all figures.
    pub nominal: f64,
    /// Its mean; of a capacity 1 over the mean of its inverse, which is the rate that lasts.
    pub mean: f64,
    /// Lower end of the range that contains it with 95 % probability, for any systematic offset.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Standard deviation of its stochastic part.
    pub std: f64,
    /// Half width of its systematic part.
    pub systematic: f64,
}

impl Amount {
    pub(crate) fn of(predicted: &Predicted) -> Self {
        Self {
            nominal: predicted.nominal,
            mean: predicted.mean,
            low: predicted.low(),
            high: predicted.high(),
            std: predicted.std,
            systematic: predicted.systematic,
        }
    }
}

/// The effect of one input on a cost besides time or a capacity, to first order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputEffect {
    /// The input.
    pub input: String,
    /// The value with the input alone at the lower end of its range.
    pub at_low: f64,
    /// The same at the upper end.
    pub at_high: f64,
    /// Its share of the variance.
    pub share: f64,
}

/// The effect of each input on the value of this name, the largest first.
pub(crate) fn effects(network: &Network, name: &str) -> Vec<InputEffect> {
    let effect = |one: Contribution| {
        let Contribution { input, at_low, at_high, share, .. } = one;
        InputEffect { input, at_low, at_high, share }
    };
    let found = network.first_order(name).expect(NETWORK);
    found.contributions.into_iter().map(effect).collect()
}

/// Whether a limit is kept or a demand is met, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The limit or the demand, in base units.
    pub limit: f64,
    /// The probability of keeping it.
    pub probability: Chance,
    /// The rest of the limit, or the capacity beyond the demand, with the required probability, in base units, for any
    /// systematic offset; `None` if it is not determined.
    pub margin: Option<f64>,
    /// Whether it is kept with the required probability and on average.
    pub verdict: Verdict,
    /// Why the verdict is open.
    #[serde(skip)]
    pub(crate) doubt: Option<Doubt>,
}

impl Judged {
    pub(crate) fn of(rest: &Rest) -> Self {
        let &Rest { limit, probability, margin, verdict, doubt, .. } = rest;
        let is_told = margin.is_finite() && verdict != Verdict::Undecided;
        Self { limit, probability, margin: is_told.then_some(margin), verdict, doubt }
    }
}
