//! The capacity of a chain: how often it can run in a time, and which part limits it.
//!
//! A part that carries C calls in a time and is called n times in the chain lets the chain run C/n times. The capacity
//! of the chain is the least of these. Where they vary, a part needs n/C of the time on average, and lets the chain run
//! as often as this mean says: the mean of C/n is greater, and a part that is slow now and then does not reach it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::NETWORK;
use super::amount::{Amount, InputEffect, Judged, effects};
use super::definitions::{Piece, capacity_name, chain_name, demand_name, made};
use super::limit::{Limit, Rest};
use super::tree::Node;
use crate::expression::Interval;
use crate::file::{Chain, Model};
use crate::uncertain::{Network, Predicted, Verdict};
use hemiola_quantity::Dimension;

/// The capacity of a chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// Its unit, such as `req/s`; all values below are in it.
    pub unit: String,
    /// How often the chain can run. Its mean is the rate that lasts: 1 over the mean of the time that the bottleneck
    /// needs each time.
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

/// Before the number of a part, in the name of the time that it needs each time that the chain runs.
const PERIOD: &str = "period";

/// Before the number of a part, in the name of the share of its capacity that the demand takes.
const LOAD: &str = "load";

/// The name of the greatest of these shares.
fn load_name(chain: &str) -> String {
    format!("chain.{chain}.load")
}

/// The name of the load that can be carried for long: 1.
fn full_load_name(chain: &str) -> String {
    format!("chain.{chain}.load.full")
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
        let period = part_name(name, PERIOD, index);
        let text = format!("{calls} / {}", capacity_name(&carrier.target));
        pieces.push(made(period.clone(), &text, at, Dimension::NONE / model.capacity));
        if chain.demand.is_some() {
            let text = format!("{} * {period}", demand_name(name));
            pieces.push(made(part_name(name, LOAD, index), &text, at, Dimension::NONE));
        }
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
            pieces.push(made(full_load_name(name), "1", at, Dimension::NONE));
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
    let mean = sustained(network, model, chain, parts.len(), &predicted);
    let demand = demand.map(|demand| {
        let (rest, of_load) = judge(network, model, chain, parts.len());
        let new: Vec<String> = of_load.into_iter().filter(|one| !warnings.contains(one)).collect();
        warnings.extend(new);
        // The load that is not exceeded with the required probability, and not on average.
        let margin = demand / (rest.limit - rest.margin) - demand;
        Judged::of(&Rest { limit: demand, margin, ..rest })
    });
    let unit = model.units.base_unit(model.capacity);
    Some(Capacity {
        unit,
        expected: Amount { mean, ..Amount::of(&predicted) },
        bottleneck,
        demand,
        parts,
        inputs: if is_plain { Vec::new() } else { effects(network, &name) },
        warnings: if is_plain { Vec::new() } else { warnings },
    })
}

/// How often the chain can run for long, without systematic offsets: each part needs its mean time for it.
fn sustained(
    network: &Network,
    model: &Model,
    chain: &Chain,
    parts: usize,
    whole: &Predicted,
) -> f64 {
    if whole.std == 0.0 && whole.central.undefined() == 0 {
        return whole.mean;
    }
    let part = |index| {
        let name = part_name(&chain.name, PERIOD, index);
        let range = network.range(&name).expect(NETWORK);
        (name, range)
    };
    let parts: Vec<(String, Interval)> = (0..parts).map(part).collect();
    let least = parts.iter().map(|(_, range)| range.low).fold(f64::NEG_INFINITY, f64::max);
    // The others are never the slowest.
    let longest = parts.iter().filter(|(_, range)| range.high.is_nan() || range.high >= least);
    let period = |(name, _): &(String, Interval)| {
        let found = network.predict(name, model.samples, model.seed).expect(NETWORK);
        // A part that never carries anything has no time for it.
        if found.mean.is_nan() { f64::INFINITY } else { found.mean }
    };
    longest.map(period).fold(0.0, f64::max).recip()
}

/// The verdict on the demand of a chain as a limit of its load, and warnings about the samples.
///
/// What a part carries varies with time, so it need not carry the demand in each run, but on average: the load is a
/// limit of a mean. The mean of the greatest load of each sample is too great if several parts take turns at being the
/// slowest, so each part then has its own.
fn judge(network: &Network, model: &Model, chain: &Chain, parts: usize) -> (Rest, Vec<String>) {
    let full = full_load_name(&chain.name);
    let judged = |name: String| {
        let limit =
            Limit::new(network, model, [name.clone(), full.clone()], chain.probability, false);
        let is_short = |load: &Predicted| limit.is_short(load);
        let found = network.predict_until(&name, model.samples, model.seed, &is_short);
        let (load, warnings) = found.expect(NETWORK);
        let rest = limit.judge(&load);
        let of_share = limit.of_share(&load);
        (rest, of_share, warnings)
    };
    let (whole, (share_margin, by_share), warnings) = judged(load_name(&chain.name));
    if parts == 1 || whole.verdict == Verdict::Kept || by_share == Verdict::Missed {
        return (whole, warnings);
    }
    let mut rest = Rest { margin: share_margin, verdict: by_share, ..whole };
    for index in 0..parts {
        let (part, ..) = judged(part_name(&chain.name, LOAD, index));
        let verdict = rest.verdict.worse(part.verdict);
        if verdict != rest.verdict {
            rest.doubt = part.doubt;
        }
        rest = Rest { margin: rest.margin.min(part.margin), verdict, ..rest };
    }
    (rest, warnings)
}
