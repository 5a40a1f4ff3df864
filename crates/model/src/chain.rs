//! The cost of a chain of calls in time and otherwise, its capacity, and the inputs that they depend on.

use serde::Serialize;

use crate::budget;
use crate::expression::Interval;
use crate::file::{Chain, Model};
use crate::uncertain::{Chance, Contribution, Estimate, Network, Predicted, Verdict};

mod amount;
mod calls;
pub(crate) mod capacity;
pub(crate) mod costs;
pub(crate) mod definitions;
pub(crate) mod limit;
pub(crate) mod together;
pub(crate) mod tree;
mod trends;

pub use amount::{Amount, InputEffect, Judged};
pub use capacity::{Capacity, Carrier};
pub use costs::{OtherCost, OwnCost};

use limit::{Evidence, Limit, Rest};
use tree::Node;

/// Why a name of a chain has a value.
const NETWORK: &str = "the formulas of the chain are in the network";

/// A time with its expected range, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// The time at the nominal values of all figures.
    pub nominal_ns: f64,
    /// Its mean; to first order the nominal time.
    pub mean_ns: f64,
    /// Lower end of the range that contains it with 95 % probability, for any systematic offset.
    pub low_ns: f64,
    /// Its upper end.
    pub high_ns: f64,
    /// Standard deviation of its stochastic part.
    pub std_ns: f64,
    /// Half width of its systematic part.
    pub systematic_ns: f64,
}

impl Expected {
    pub(crate) fn of(estimate: &Estimate) -> Self {
        Self {
            nominal_ns: ns(estimate.nominal),
            mean_ns: ns(estimate.mean),
            low_ns: ns(estimate.low),
            high_ns: ns(estimate.high),
            std_ns: ns(estimate.std),
            systematic_ns: ns(estimate.systematic),
        }
    }

    pub(crate) fn of_samples(predicted: &Predicted) -> Self {
        Self {
            nominal_ns: ns(predicted.nominal),
            mean_ns: ns(predicted.mean),
            low_ns: ns(predicted.low()),
            high_ns: ns(predicted.high()),
            std_ns: ns(predicted.std),
            systematic_ns: ns(predicted.systematic),
        }
    }
}

/// Whether a limit is kept, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Margin {
    /// The probability of keeping the limit.
    pub probability: Chance,
    /// The limit minus the time that is kept with the required probability, ns, for any systematic offset; `None` if
    /// no time is, because too many samples have no valid value, and if the samples do not tell.
    pub margin_ns: Option<f64>,
    /// Whether the limit is kept with the required probability.
    pub verdict: Verdict,
    /// The verdict on the mean, if it depends on parts of which only the mean is known. [`Self::verdict`] is then
    /// undecided if the limit is one of each run, and this one else.
    pub mean: Option<Verdict>,
    /// The verdict if each figure has one value in all calls, where [`Self::verdict`] is undecided because values may
    /// differ from call to call.
    pub equal: Option<Verdict>,
}

/// The share of a time that rounding can change: a time that equals its limit keeps it.
pub(crate) const ROUNDING: f64 = 1e-12;

impl Margin {
    /// Of a limit of time.
    pub(crate) fn of(rest: &Rest) -> Self {
        let is_told = rest.margin.is_finite() && rest.verdict != Verdict::Undecided;
        Self {
            probability: rest.probability,
            margin_ns: is_told.then(|| ns(rest.margin)),
            verdict: rest.verdict,
            mean: rest.mean,
            equal: rest.equal,
        }
    }
}

/// The time that is kept with a probability, for any systematic offset.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantile {
    /// The probability.
    pub probability: f64,
    /// The time, ns; `None` if too many samples have no valid value.
    pub time_ns: Option<f64>,
}

/// How likely a time is not exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UpTo {
    /// The time, ns.
    pub time_ns: f64,
    /// The probability of at most this time.
    pub probability: Chance,
}

/// The steps of [`Cost::distribution`].
const STEPS: usize = 40;

/// The shares between which the steps are.
const MIDDLE: [f64; 2] = [0.005, 0.995];

fn distribution(predicted: &Predicted) -> Vec<UpTo> {
    let [low, high] = predicted.quantiles(MIDDLE);
    // Without an upper end the times up to the last one without systematic offsets are shown.
    let last = predicted.central.sorted().last().copied().unwrap_or(f64::NAN);
    let high = if high.is_finite() { high } else { last };
    let time = |step: usize| low + (high - low) * step as f64 / STEPS as f64;
    let up_to = |time| UpTo { time_ns: ns(time), probability: predicted.at_most(time) };
    // Neither end is a number if no sample has a valid value.
    if low < high { (0..=STEPS).map(|step| up_to(time(step))).collect() } else { Vec::new() }
}

/// The probabilities of [`Cost::quantiles`].
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

/// A quantile needs this number of samples beyond it.
const BEYOND_LEAST: f64 = 10.0;

/// Whether so many samples determine the quantile.
pub(crate) fn is_determined(probability: f64, samples: usize) -> bool {
    // Rounding makes (1 − 0.99) · 1000 a little less than 10.
    (1.0 - probability) * samples as f64 >= BEYOND_LEAST * (1.0 - 1e-9)
}

/// Seconds as nanoseconds, without the rounding error of the factor: 0.072 s is 72 000 000 ns.
pub(crate) fn ns(seconds: f64) -> f64 {
    let exact = seconds * 1e9;
    let rounded = (exact * 1e6).round() / 1e6;
    if rounded.is_finite() { rounded } else { exact }
}

/// The worst case, ns; an unbounded end is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The lower bound.
    pub low_ns: Option<f64>,
    /// The upper bound.
    pub high_ns: Option<f64>,
}

impl Bounds {
    fn of(interval: Interval) -> Self {
        // No duration is negative, even where the interval of a difference says so.
        let end = |value: f64| value.is_finite().then(|| ns(value).max(0.0));
        Self { low_ns: end(interval.low), high_ns: end(interval.high) }
    }
}

/// A chain's cost by all three methods.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// By derivatives at the nominal values.
    pub first_order: Expected,
    /// The worst case.
    pub interval: Bounds,
    /// By samples: what margins and verdicts are based on.
    pub monte_carlo: Expected,
    /// How far the mean may be from that of the samples, for any systematic offset, ns; `None` if that is not known.
    pub mean_within_ns: Option<f64>,
    /// The times kept with rising probability, as far as the samples determine them.
    pub quantiles: Vec<Quantile>,
    /// The probability of each of some times in equal steps over the middle 99 %; empty if the samples have one value.
    pub distribution: Vec<UpTo>,
    /// Where the three disagree.
    pub warnings: Vec<String>,
    /// The parts of which only the mean is known: measured means, queues and caches. The samples hold the mean time in
    /// them, so their quantiles are not those of single runs.
    pub means: Vec<String>,
    /// The effect of each input, the largest swing first.
    pub tornado: Vec<Swing>,
}

/// The effect of one input on a cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Swing {
    /// The input.
    pub input: String,
    /// The cost with the input alone at the lower end of its range, ns.
    pub at_low_ns: f64,
    /// The same at the upper end.
    pub at_high_ns: f64,
    /// Its share of the variance, to first order.
    pub share: f64,
}

impl Swing {
    fn of(contribution: &Contribution) -> Self {
        Self {
            input: contribution.input.clone(),
            at_low_ns: ns(contribution.at_low),
            at_high_ns: ns(contribution.at_high),
            share: contribution.share,
        }
    }

    /// The difference between the ends, ns.
    #[must_use]
    pub fn width_ns(&self) -> f64 {
        (self.at_high_ns - self.at_low_ns).abs()
    }
}

/// A node of a chain's tree: all calls of an operation or step at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreeNode {
    /// Layers above it.
    pub depth: usize,
    /// The operation or step.
    pub name: String,
    /// Number of calls in the whole chain.
    pub calls: f64,
    /// The time of all calls, including their own calls.
    pub total: Expected,
    /// Their own time, ns.
    pub own_ns: f64,
    /// Whether they run beside a longer branch, so that their time does not count.
    pub beside: bool,
}

/// The cost of a chain in a network that contains it, and its distribution, with enough samples for the verdict on its
/// deadline.
pub(crate) fn cost(network: &Network, model: &Model, chain: &Chain) -> (Cost, Predicted) {
    let name = definitions::chain_name(&chain.name);
    let deadline = budget::deadline(network, model, chain);
    let is_short = |found: &Predicted| deadline.as_ref().is_some_and(|limit| limit.is_short(found));
    let found = network
        .propagate_until(&name, model.samples, model.seed, &is_short)
        .expect("the reader checked every name and the number of samples");
    let quantile = |probability: f64| {
        let time = ns(found.predicted.limit(probability));
        Quantile { probability, time_ns: time.is_finite().then_some(time) }
    };
    let samples = found.predicted.central.count();
    let within = limit::mean_within(network, model, &name, &found.predicted);
    let determined = QUANTILES.into_iter().filter(|share| is_determined(*share, samples));
    let cost = Cost {
        first_order: Expected::of(&found.first_order),
        interval: Bounds::of(found.interval),
        monte_carlo: Expected::of(&found.monte_carlo),
        mean_within_ns: within.is_finite().then(|| ns(within)),
        quantiles: determined.map(quantile).collect(),
        distribution: distribution(&found.predicted),
        warnings: found.warnings,
        means: Evidence::of(network, model, &[&name]).all(),
        tornado: found.first_order.contributions.iter().map(Swing::of).collect(),
    };
    (cost, found.predicted)
}

/// Samples of a part of a chain; the chain itself has as many as the model states.
const PART_SAMPLES: usize = 20_000;

/// The distribution of a part of a chain, with enough samples for the verdict on its allotment. The samples are the
/// first ones of the chain's.
pub(crate) fn part(
    network: &Network,
    model: &Model,
    name: &str,
    is_judged: bool,
    allotted: Option<&Limit<'_>>,
) -> Predicted {
    let samples = if is_judged { model.samples } else { model.samples.min(PART_SAMPLES) };
    let is_short = |found: &Predicted| allotted.is_some_and(|limit| limit.is_short(found));
    let found = network.predict_until(name, samples, model.seed, &is_short);
    found.expect("the tree's formulas are in the network").0
}

/// The tree of a chain with its costs; `totals` are the distributions of its nodes.
pub(crate) fn tree(network: &Network, nodes: &[Node], totals: &[Predicted]) -> Vec<TreeNode> {
    let nominal =
        |name: &str| network.nominal(name).expect("the tree's formulas are in the network");
    let nominals: Vec<f64> = totals.iter().map(|total| total.nominal).collect();
    let beside = tree::beside(nodes, &nominals);
    let node = |((node, total), beside): ((&Node, &Predicted), bool)| TreeNode {
        depth: node.depth,
        name: node.name.clone(),
        calls: nominal(&node.times),
        total: Expected::of_samples(total),
        own_ns: ns(nominal(&node.own)),
        beside,
    };
    nodes.iter().zip(totals).zip(beside).map(node).collect()
}

/// A step of a waterfall: an operation's own time, over all places it is called from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnTime {
    /// The operation or step.
    pub name: String,
    /// Its own time in the chain, ns.
    pub own_ns: f64,
    /// Its share of the chain.
    pub share: f64,
}

/// The own times of a chain that count and are not zero, in the order of the first calls.
pub(crate) fn waterfall(tree: &[TreeNode]) -> Vec<OwnTime> {
    let mut shares: Vec<OwnTime> = Vec::new();
    for node in tree.iter().filter(|node| node.own_ns != 0.0 && !node.beside) {
        match shares.iter_mut().find(|share| share.name == node.name) {
            Some(share) => share.own_ns += node.own_ns,
            None => {
                shares.push(OwnTime { name: node.name.clone(), own_ns: node.own_ns, share: 0.0 });
            }
        }
    }
    let total: f64 = shares.iter().map(|share| share.own_ns).sum();
    for share in &mut shares {
        share.share = if total == 0.0 { 0.0 } else { share.own_ns / total };
    }
    shares
}
