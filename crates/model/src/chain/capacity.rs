//! The capacity of a chain: how often it can run in a time, and which part limits it.
//!
//! A part that carries C calls in a time and is called n times in the chain lets the chain run C/n times. The capacity
//! of the chain is the least of these.

use std::collections::BTreeMap;

use serde::Serialize;

use super::amount::{Amount, InputEffect, Judged, effects};
use super::definitions::{Piece, capacity_name, chain_name, demand_name, made};
use super::tree::Node;
use super::{NETWORK, ROUNDING};
use crate::file::{Chain, Model};
use crate::uncertain::{Network, Predicted};
use hemiola_quantity::Dimension;

/// The capacity of a chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// Its unit, such as `req/s`; all values below are in it.
    pub unit: String,
    /// How often the chain can run.
    pub expected: Amount,
    /// The part that limits it, at the nominal values of all figures.
    pub bottleneck: String,
    /// How often it has to run, and whether it can.
    pub demand: Option<Judged>,
    /// The parts with a capacity, the tightest first.
    pub parts: Vec<Carrier>,
    /// The effect of each input, the largest first.
    pub inputs: Vec<InputEffect>,
    /// Warnings about the samples.
    pub warnings: Vec<String>,
}

/// A part of a chain that can carry only so many calls, over all places that it is called from, at nominal values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Carrier {
    /// The operation or step.
    pub name: String,
    /// Its calls each time that the chain runs.
    pub calls: f64,
    /// The calls that it can carry.
    pub capacity: f64,
    /// How often it lets the chain run; not finite if the chain does not call it.
    pub chain: f64,
    /// The share of its capacity that the demand takes.
    pub load: Option<f64>,
}

/// The parts of a tree with a capacity, each with its nodes, in the order of the first calls.
fn carriers(nodes: &[Node]) -> Vec<(&Node, Vec<usize>)> {
    let mut found: Vec<(&Node, Vec<usize>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.has_capacity) {
        let place = *places.entry(&node.target).or_insert(found.len());
        if place == found.len() {
            found.push((node, Vec::new()));
        }
        found[place].1.push(at);
    }
    found
}

fn part_name(chain: &str, what: &str, index: usize) -> String {
    format!("chain.{chain}.capacity.{what}_{index}")
}

fn load_name(chain: &str) -> String {
    format!("chain.{chain}.load")
}

/// The formulas of the capacity of a chain, and of its load if there is a demand. None without a capacity.
pub(crate) fn pieces(model: &Model, chain: &Chain, nodes: &[Node]) -> Vec<Piece> {
    let (name, at) = (&chain.name, &chain.work.at);
    let mut pieces = Vec::new();
    let mut least: Option<String> = None;
    for (index, (carrier, places)) in carriers(nodes).into_iter().enumerate() {
        let calls = part_name(name, "calls", index);
        let mut sum = "0".to_owned();
        for place in places {
            let next = format!("{calls}.upto_{place}");
            let text = format!("{sum} + {}", nodes[place].times);
            pieces.push(made(next.clone(), &text, at, Dimension::NONE));
            sum = next;
        }
        pieces.push(made(calls.clone(), &sum, at, Dimension::NONE));
        let through = part_name(name, "through", index);
        let text = format!("{} / {calls}", capacity_name(&carrier.target));
        pieces.push(made(through.clone(), &text, at, model.capacity));
        let next = part_name(name, "least", index);
        let text = least.map_or(through.clone(), |least| format!("min({least}, {through})"));
        pieces.push(made(next.clone(), &text, at, model.capacity));
        least = Some(next);
    }
    if let Some(least) = least {
        let whole = capacity_name(&chain_name(name));
        if chain.demand.is_some() {
            let text = format!("{} / {whole}", demand_name(name));
            pieces.push(made(load_name(name), &text, at, Dimension::NONE));
        }
        pieces.push(made(whole, &least, at, model.capacity));
    }
    pieces
}

/// The capacity of a chain with this tree; `None` if no part states any. A variation `is_plain`: it has neither inputs
/// nor warnings.
pub(crate) fn capacity(
    network: &Network,
    model: &Model,
    chain: &Chain,
    nodes: &[Node],
    is_plain: bool,
) -> Option<Capacity> {
    let nominal = |name: &str| network.nominal(name).expect(NETWORK);
    let demand = chain.demand.as_ref().map(|_| nominal(&demand_name(&chain.name)));
    let part = |(index, (node, _)): (usize, (&Node, Vec<usize>))| {
        let through = nominal(&part_name(&chain.name, "through", index));
        Carrier {
            name: node.name.clone(),
            calls: nominal(&part_name(&chain.name, "calls", index)),
            capacity: nominal(&capacity_name(&node.target)),
            chain: through,
            load: demand.map(|demand| demand / through),
        }
    };
    let mut parts: Vec<Carrier> = carriers(nodes).into_iter().enumerate().map(part).collect();
    parts.sort_by(|a, b| a.chain.total_cmp(&b.chain));
    let bottleneck = parts.first()?.name.clone();
    let name = capacity_name(&chain_name(&chain.name));
    let found = network.predict_until(&name, model.samples, model.seed, &|_| false);
    let (predicted, mut warnings) = found.expect(NETWORK);
    let demand = demand.map(|demand| {
        let (most_load, required) = (1.0 + ROUNDING, chain.probability);
        let is_short = |load: &Predicted| load.is_short(most_load, required);
        let name = load_name(&chain.name);
        let found = network.predict_until(&name, model.samples, model.seed, &is_short);
        let (load, of_load) = found.expect(NETWORK);
        let new: Vec<String> = of_load.into_iter().filter(|one| !warnings.contains(one)).collect();
        warnings.extend(new);
        // The load that is not exceeded with the required probability.
        let margin = demand / load.limit(required) - demand;
        let verdict = load.verdict(most_load, required);
        Judged::of(demand, load.at_most(most_load), margin, verdict)
    });
    let unit = model.units.base_unit(model.capacity);
    Some(Capacity {
        unit,
        expected: Amount::of(&predicted),
        bottleneck,
        demand,
        parts,
        inputs: if is_plain { Vec::new() } else { effects(network, &name) },
        warnings: if is_plain { Vec::new() } else { warnings },
    })
}
