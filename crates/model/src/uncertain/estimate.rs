//! The uncertainty of a computed value.

use super::network::Network;
use super::predicted::Predicted;
use super::program::Program;
use crate::expression::Interval;
use hemiola_quantity::Dimension;

/// A value with its uncertainty, in base units.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The value at the nominal values of the inputs.
    pub nominal: f64,
    /// The mean over the stochastic parts; to first order equal to the nominal value.
    pub mean: f64,
    /// Standard deviation of the stochastic parts, which add in quadrature.
    pub std: f64,
    /// Half width from the systematic parts, which add linearly.
    pub systematic: f64,
    /// Lower end of the range that contains 95 % of the stochastic variation for any systematic offset.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Effective degrees of freedom (JCGM 100:2008, G.4: Welch and Satterthwaite); infinite if no input
    /// states any. Monte Carlo: sample count minus one.
    pub freedom: f64,
    /// Contribution of each input, the largest swing first; inputs without effect are left out.
    pub contributions: Vec<Contribution>,
    /// Monte Carlo: samples without a finite value, left out of everything above.
    pub undefined: usize,
}

/// The contribution of one input to a value, in base units of the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The input.
    pub input: String,
    /// Its share of the variance. First order: shares add up to 1; with correlated inputs one may be negative.
    /// Monte Carlo: the squared correlation of input and value; shares add up to less than 1 where the model
    /// is not linear.
    pub share: f64,
    /// Change of the value when the input is larger by one standard deviation.
    pub effect: f64,
    /// Change of the value when the input is larger by its systematic part.
    pub systematic: f64,
    /// The value with this input alone at the lower end of its 95 % range (systematic part included).
    pub at_low: f64,
    /// The same at the upper end: the bars of a tornado run from one to the other.
    pub at_high: f64,
}

/// One value's uncertainty by all three methods.
#[derive(Clone, Debug, PartialEq)]
pub struct Propagation {
    /// The dimension of the value.
    pub dimension: Dimension,
    /// By derivatives at the nominal values.
    pub first_order: Estimate,
    /// The worst case, with unbounded inputs taken to three standard deviations.
    pub interval: Interval,
    /// By samples.
    pub monte_carlo: Estimate,
    /// The samples themselves.
    pub predicted: Predicted,
    /// Disagreements of the methods, and which one to trust.
    pub warnings: Vec<String>,
}

impl Contribution {
    /// The contribution of the input at this index, with the given `share` and `effect`. The ends are computed
    /// with all other inputs at their nominal values.
    pub(super) fn of(
        network: &Network,
        program: &Program,
        input: usize,
        share: f64,
        effect: f64,
    ) -> Self {
        let nominal = |index: usize| network.inputs()[index].nominal.value;
        let with =
            |value: f64| program.value(|index| if index == input { value } else { nominal(index) });
        let known = &network.inputs()[input];
        let [low, high] = known.range_95();
        Self {
            input: known.name.clone(),
            share,
            effect,
            systematic: with(nominal(input) + known.offset_of_mean()) - with(nominal(input)),
            at_low: with(low),
            at_high: with(high),
        }
    }

    /// Sorts by falling swing, equal ones in input order, and drops inputs that change only the last digits.
    pub(super) fn sorted(mut all: Vec<Self>, nominal: f64) -> Vec<Self> {
        // At an extreme of the model, an input swings the value to one side only.
        let swing = |one: &Self| {
            let ends = [one.at_low, one.at_high];
            ends.into_iter().fold(nominal, f64::max) - ends.into_iter().fold(nominal, f64::min)
        };
        let largest = all.iter().map(swing).fold(nominal.abs(), f64::max);
        let counts = |change: f64| change > largest * 1e-12;
        all.retain(|one| counts(swing(one)) || counts(one.systematic.abs()));
        all.sort_by(|one, other| swing(other).total_cmp(&swing(one)));
        all
    }
}
