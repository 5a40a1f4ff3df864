//! The costs of a chain besides time: energy, money, or whatever a model declares.

use serde::Serialize;

use super::NETWORK;
use super::amount::{Amount, InputEffect, Judged, effects};
use super::definitions::{chain_name, cost_name, limit_name, own_cost_name};
use super::limit::{Limit, mean_within};
use super::tree::Node;
use crate::file::{Chain, CostKind, Model};
use crate::uncertain::{Network, Predicted};
use hemiola_quantity::Dimension;

/// A cost of a chain besides time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherCost {
    /// Its name.
    pub name: String,
    /// Its unit, such as `J/req`; all values below are in it.
    pub unit: String,
    /// Its dimension.
    #[serde(skip)]
    pub dimension: Dimension,
    /// The cost of all calls.
    pub expected: Amount,
    /// How far the mean may be from that of the samples, for any systematic offset; `None` if that is not known.
    pub mean_within: Option<f64>,
    /// The most that it may be, and whether it is kept.
    pub limit: Option<Judged>,
    /// The figures that may differ from call to call, if the verdict on the limit is undecided because of that.
    pub differ: Vec<String>,
    /// The own cost of each part that has any, in the order of the first calls.
    pub parts: Vec<OwnCost>,
    /// The effect of each input, the largest first.
    pub inputs: Vec<InputEffect>,
    /// Warnings about the samples.
    pub warnings: Vec<String>,
}

/// The own cost of an operation or a step over all places it is called from, at nominal values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnCost {
    /// The operation or step.
    pub name: String,
    /// Its own cost, without that of calls.
    pub own: f64,
    /// Its share of the chain; 0 if the chain costs nothing.
    pub share: f64,
}

/// The costs of a chain with this tree besides time. A variation has no tree, and neither parts, inputs nor warnings.
pub(crate) fn costs(
    network: &Network,
    model: &Model,
    chain: &Chain,
    nodes: Option<&[Node]>,
) -> Vec<OtherCost> {
    let cost = |kind: &CostKind| {
        let name = cost_name(&chain_name(&chain.name), &kind.name);
        let limit = chain.limits.iter().find(|(of, _)| *of == kind.name);
        let limit = limit.map(|(of, _)| {
            let names = [name.clone(), limit_name(&chain.name, of)];
            // Such costs are averages.
            Limit::new(network, model, names, chain.probability, false)
        });
        let is_short =
            |predicted: &Predicted| limit.as_ref().is_some_and(|limit| limit.is_short(predicted));
        let found = network.predict_until(&name, model.samples, model.seed, &is_short);
        let (predicted, mut warnings) = found.expect(NETWORK);
        let mut differ = Vec::new();
        let limit = limit.map(|limit| {
            let rest = limit.judge(&predicted);
            let judged = Judged::of(&rest);
            differ = rest.differ;
            let new = rest.warnings.into_iter().filter(|one| !warnings.contains(one));
            let new: Vec<String> = new.collect();
            warnings.extend(new);
            judged
        });
        let within = mean_within(network, model, &name, &predicted);
        OtherCost {
            name: kind.name.clone(),
            unit: model.units.base_unit(kind.dimension),
            dimension: kind.dimension,
            expected: Amount::of(&predicted),
            mean_within: within.is_finite().then_some(within),
            limit,
            differ,
            parts: parts(network, nodes.unwrap_or_default(), &kind.name),
            inputs: nodes.map_or_else(Vec::new, |_| effects(network, &name)),
            warnings: nodes.map_or_else(Vec::new, |_| warnings),
        }
    };
    model.costs.iter().map(cost).collect()
}

fn parts(network: &Network, nodes: &[Node], kind: &str) -> Vec<OwnCost> {
    let mut parts: Vec<OwnCost> = Vec::new();
    for node in nodes {
        let of_call = match node.calls_others {
            true => own_cost_name(&node.target, kind),
            false => cost_name(&node.target, kind),
        };
        // A step has no formula for a cost that it does not state.
        let Some(own) = network.nominal(&of_call).ok().filter(|own| *own != 0.0) else { continue };
        let own = own * network.nominal(&node.times).expect(NETWORK);
        match parts.iter_mut().find(|part| part.name == node.name) {
            Some(part) => part.own += own,
            None => parts.push(OwnCost { name: node.name.clone(), own, share: 0.0 }),
        }
    }
    let total: f64 = parts.iter().map(|part| part.own).sum();
    for part in &mut parts {
        part.share = if total == 0.0 { 0.0 } else { part.own / total };
    }
    parts
}
