//! The cost of a chain of calls, and the inputs that it depends on.

use serde::Serialize;

use crate::expression::Interval;
use crate::file::{Chain, Model};
use crate::uncertain::{Contribution, Estimate, Network};

pub(crate) mod definitions;
pub(crate) mod tree;

use tree::Node;

/// A time with its expected range, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// The time at the nominal values of all figures.
    pub nominal_ns: f64,
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
            low_ns: ns(estimate.low),
            high_ns: ns(estimate.high),
            std_ns: ns(estimate.std),
            systematic_ns: ns(estimate.systematic),
        }
    }
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
        let end = |value: f64| value.is_finite().then(|| ns(value));
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
    /// By samples.
    pub monte_carlo: Expected,
    /// The mean of the samples, ns.
    pub mean_ns: f64,
    /// Where the three disagree.
    pub warnings: Vec<String>,
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
}

/// The cost of a chain in a network that contains it.
pub(crate) fn cost(network: &Network, model: &Model, chain: &Chain) -> Cost {
    let name = definitions::chain_name(&chain.name);
    let found = network
        .propagate(&name, model.samples, model.seed)
        .expect("the reader checked every name and the number of samples");
    Cost {
        first_order: Expected::of(&found.first_order),
        interval: Bounds::of(found.interval),
        monte_carlo: Expected::of(&found.monte_carlo),
        mean_ns: ns(found.monte_carlo.mean),
        warnings: found.warnings,
        tornado: found.first_order.contributions.iter().map(Swing::of).collect(),
    }
}

/// The tree of a chain with its costs.
pub(crate) fn tree(network: &Network, nodes: &[Node]) -> Vec<TreeNode> {
    let nominal =
        |name: &str| network.nominal(name).expect("the tree's formulas are in the network");
    let node = |node: &Node| TreeNode {
        depth: node.depth,
        name: node.name.clone(),
        calls: nominal(&node.times),
        total: Expected::of(
            &network.first_order(&node.total).expect("the tree's formulas are in the network"),
        ),
        own_ns: ns(nominal(&node.own)),
    };
    nodes.iter().map(node).collect()
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

/// The own times of a chain that are not zero, in the order of the first calls.
pub(crate) fn waterfall(tree: &[TreeNode]) -> Vec<OwnTime> {
    let mut shares: Vec<OwnTime> = Vec::new();
    for node in tree.iter().filter(|node| node.own_ns != 0.0) {
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
