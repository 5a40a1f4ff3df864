//! What is known of a computed value.

use super::network::Network;
use super::program::Program;
use crate::expression::Interval;
use crate::quantity::Dimension;

/// A value with its uncertainty, in base units.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// At the nominal values of the inputs.
    pub nominal: f64,
    /// The mean over the stochastic parts; to first order the same as the nominal value.
    pub mean: f64,
    /// Standard deviation from the stochastic parts, which add quadratically.
    pub std: f64,
    /// Half width from the systematic parts, which add linearly.
    pub systematic: f64,
    /// Lower end of the range that holds 95 % of what the stochastic parts do, whatever the systematic ones
    /// are.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Effective degrees of freedom (JCGM 100:2008, G.4: Welch and Satterthwaite); infinite where no input
    /// states any. Monte Carlo: samples less one.
    pub freedom: f64,
    /// What each input contributes, the largest swing first; inputs that do not matter at all are left out.
    pub contributions: Vec<Contribution>,
    /// Monte Carlo: samples that have no finite value, left out of everything above.
    pub undefined: usize,
}

/// What one input contributes to a value, in base units of the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The input.
    pub input: String,
    /// Its share of the variance. First order: shares add up to 1, and with correlated inputs one may be negative.
    /// Monte Carlo: the squared correlation of input and value, so they add up to less where the model is
    /// not linear.
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

/// One value's uncertainty, computed in three ways.
#[derive(Clone, Debug, PartialEq)]
pub struct Propagation {
    /// What the value counts.
    pub dimension: Dimension,
    /// By derivatives at the nominal values.
    pub first_order: Estimate,
    /// The worst case: inputs without bounds are taken to three standard deviations.
    pub interval: Interval,
    /// By samples.
    pub monte_carlo: Estimate,
    /// Where the three disagree, and which to trust, one sentence or two each.
    pub warnings: Vec<String>,
}

impl Contribution {
    /// What `input` (its index) contributes beside its `share` and `effect`: the value is computed with it
    /// at its ends and everything else nominal.
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
            systematic: with(nominal(input) + known.systematic) - with(nominal(input)),
            at_low: with(low),
            at_high: with(high),
        }
    }

    /// The largest swing first, equal ones in the order of the inputs; without those that change nothing but
    /// the last digits.
    pub(super) fn sorted(mut all: Vec<Self>, nominal: f64) -> Vec<Self> {
        // An input at whose nominal value there is an extreme swings to one side only.
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
