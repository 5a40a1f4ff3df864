//! A model as formulas for the uncertainty engine.
//!
//! Names in the network: figures as written; `component.operation` and `cache.request`, the whole cost;
//! `component.operation.own`, without the operations it calls; `chain.NAME`; `chain.NAME.node_K` and `.node_K.own`,
//! a node of the chain's tree with all its calls; below operations, requests and chains, `.costs.KIND`, a cost besides
//! time, and `.capacity`. Every other definition has a name below one of these.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::ROUNDING;
use crate::cache::{Cache, Format};
use crate::expression::{Expression, Interval};
use crate::file::{Call, Chain, Formula, Model, ModelFigure, Resources, Target, WhatIf, Work};
use crate::uncertain::{Correlation, Definition, Distribution, Input, Network, NetworkError};
use hemiola_quantity::{Dimension, Quantity};

/// A formula with its place in the file and its required dimension.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) definition: Definition,
    /// The place of its text or, if generated, of the table it comes from.
    pub(crate) at: Range<usize>,
    /// Whether the file contains this formula literally.
    pub(crate) written: bool,
    /// Whether a value below zero has a meaning: money that is earned.
    pub(crate) may_be_negative: bool,
    /// Whether it is the capacity of an operation, a step or a cache, or the demand of a chain.
    pub(crate) is_capacity: bool,
    pub(crate) dimension: Dimension,
}

/// The hit ratio of one cache with its uncertainty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HitRatio {
    pub(crate) nominal: f64,
    pub(crate) std: f64,
    pub(crate) systematic: f64,
}

/// The parts of a network.
#[derive(Clone, Debug)]
pub(crate) struct Definitions {
    pub(crate) inputs: Vec<Input>,
    pub(crate) correlations: Vec<Correlation>,
    pub(crate) pieces: Vec<Piece>,
}

/// The formulas of a model with the what-ifs of `path` applied in order.
pub(crate) fn definitions<'m>(
    model: &'m Model,
    path: &[&'m WhatIf],
    hit_ratio: &dyn Fn(&Cache) -> HitRatio,
) -> Definitions {
    let mut inputs = figures(model, path);
    let mut pieces = Vec::new();
    for (name, work) in works(model, path) {
        work_pieces(name, work, &mut pieces);
        resource_pieces(name, work, model, &mut pieces);
    }
    for cache in &model.caches {
        let HitRatio { nominal, std, systematic } = hit_ratio(cache);
        let name = &cache.name;
        let ratio = Input::exact(hit_ratio_name(cache), Quantity::number(nominal))
            .offset_within(systematic);
        let ratio = ratio.within(Interval { low: 0.0, high: 1.0 });
        let ratio = if std > 0.0 { ratio.varying(Distribution::Normal { std }) } else { ratio };
        let chunks = f64::from(cache.geometry().chunks_per_request);
        inputs.push(ratio);
        inputs.push(Input::exact(format!("{name}{CHUNKS}"), Quantity::number(chunks)));
        cache_pieces(cache, &mut pieces);
        own_pieces(&request_name(cache), "", true, &cache.resources, &cache.at, model, &mut pieces);
    }
    for chain in &model.chains {
        work_pieces(&chain_name(&chain.name), &chain.work, &mut pieces);
        resource_pieces(&chain_name(&chain.name), &chain.work, model, &mut pieces);
        limit_pieces(chain, model, &mut pieces);
        let written = |name: String, formula: &Formula| written(name, formula, Dimension::TIME);
        let name = &chain.name;
        pieces.extend(chain.deadline.as_ref().map(|formula| written(deadline_name(name), formula)));
        pieces.extend(chain.deadline.as_ref().map(|formula| {
            beyond(&chain_name(name), &deadline_name(name), &formula.at, Dimension::TIME)
        }));
        for (index, (_, formula)) in chain.budget.iter().enumerate() {
            pieces.push(written(allotment_name(name, index), formula));
        }
    }
    for (table, overhead) in model.overheads.iter().enumerate() {
        for (index, rate) in overhead.rates.iter().enumerate() {
            pieces.push(written(overhead_name(table, "rate", index), rate, Dimension::RATE));
        }
        for (index, cost) in overhead.costs.iter().enumerate() {
            pieces.push(written(overhead_name(table, "cost", index), cost, Dimension::TIME));
        }
    }
    Definitions { inputs, correlations: model.correlations.clone(), pieces }
}

/// The figures of a model with the what-ifs of `path` applied in order.
fn figures(model: &Model, path: &[&WhatIf]) -> Vec<Input> {
    let stated = path.iter().flat_map(|what_if| &what_if.figures);
    let stated: BTreeMap<&str, Quantity> =
        stated.map(|(name, value)| (name.as_str(), *value)).collect();
    let mut changed: BTreeMap<&str, Input> = BTreeMap::new();
    // A mixture is of figures before it.
    for ModelFigure { input, .. } in &model.figures {
        let mixed = input.with_parts(&changed);
        // From the range of the model, also where an earlier what-if of the path made it 0.
        let found = match stated.get(input.name.as_str()) {
            Some(value) => Some(mixed.as_ref().unwrap_or(input).scaled_to(*value)),
            None => mixed,
        };
        changed.extend(found.map(|found| (input.name.as_str(), found)));
    }
    let current = |figure: &ModelFigure| {
        let own = &figure.input;
        changed.get(own.name.as_str()).unwrap_or(own).clone()
    };
    model.figures.iter().map(current).collect()
}

/// The network of these parts. The formulas of the file are times, counts and rates, which are never negative, except
/// costs besides time.
pub(crate) fn physical(
    model: &Model,
    inputs: Vec<Input>,
    correlations: &[Correlation],
    pieces: Vec<Piece>,
) -> Result<Network, Vec<NetworkError>> {
    let written: BTreeSet<String> = pieces
        .iter()
        .filter(|piece| piece.written && !piece.may_be_negative)
        .map(|piece| piece.definition.name.clone())
        .collect();
    let definitions = pieces.into_iter().map(|piece| piece.definition).collect();
    let network = Network::with_units(model.units.clone(), inputs, correlations, definitions)?;
    Ok(network.never_negative(|name| written.contains(name)))
}

/// The work of each operation with the what-ifs of `path` applied.
pub(crate) fn works<'m>(model: &'m Model, path: &[&'m WhatIf]) -> BTreeMap<&'m str, &'m Work> {
    let own = model.components.iter().flat_map(|component| &component.operations);
    let replaced = path.iter().flat_map(|what_if| &what_if.operations);
    own.chain(replaced).map(|operation| (operation.name.as_str(), &operation.work)).collect()
}

/// The name of the hit ratio of a cache in the network.
pub(crate) fn hit_ratio_name(cache: &Cache) -> String {
    format!("{}.hit_ratio", cache.name)
}

/// After the name of a cache, in the name of the number of chunks that a request fetches.
pub(crate) const CHUNKS: &str = ".chunks";

/// The name of the cost of a request to a cache in the network.
pub(crate) fn request_name(cache: &Cache) -> String {
    format!("{}.request", cache.name)
}

/// The name of a chain in the network.
pub(crate) fn chain_name(chain: &str) -> String {
    format!("chain.{chain}")
}

/// The name of a chain's deadline in the network.
pub(crate) fn deadline_name(chain: &str) -> String {
    format!("chain.{chain}.deadline")
}

/// The name of the part of a value that is beyond its limit.
pub(crate) fn beyond_name(value: &str) -> String {
    format!("{value}.beyond")
}

/// The value minus its limit: more than 0 if the limit is not kept, by more than the error of rounding.
pub(crate) fn beyond(value: &str, limit: &str, at: &Range<usize>, of: Dimension) -> Piece {
    let text = format!("{value} - {limit} - {ROUNDING} * abs({limit})");
    made(beyond_name(value), &text, at, of)
}

/// The name of a chain's allotment in the network.
pub(crate) fn allotment_name(chain: &str, index: usize) -> String {
    format!("chain.{chain}.allotment_{index}")
}

/// The name of a rate or a cost of an overhead table in the network.
pub(crate) fn overhead_name(table: usize, what: &str, index: usize) -> String {
    format!("overhead.table_{table}.{what}_{index}")
}

fn written(name: String, formula: &Formula, dimension: Dimension) -> Piece {
    Piece {
        definition: Definition { name, expression: formula.expression.clone() },
        at: formula.at.clone(),
        written: true,
        may_be_negative: false,
        is_capacity: false,
        dimension,
    }
}

pub(crate) fn made(name: String, text: &str, at: &Range<usize>, dimension: Dimension) -> Piece {
    let expression = Expression::parse(text).expect("it consists of checked names");
    generated(name, expression, at, dimension)
}

fn generated(
    name: String,
    expression: Expression,
    at: &Range<usize>,
    dimension: Dimension,
) -> Piece {
    let definition = Definition { name, expression };
    Piece {
        definition,
        at: at.clone(),
        written: false,
        may_be_negative: false,
        is_capacity: false,
        dimension,
    }
}

/// `name` = own cost + Σ times × called, or own cost + max(times × called) if the calls are parallel. Each call has its
/// own sum, so formulas do not grow with the number of calls.
fn work_pieces(name: &str, work: &Work, pieces: &mut Vec<Piece>) {
    let own = format!("{name}.own");
    pieces.push(match &work.cost {
        Some(cost) => written(own.clone(), cost, Dimension::TIME),
        None => made(own.clone(), "0 s", &work.at, Dimension::TIME),
    });
    let mut sum = if work.parallel { "0 s".to_owned() } else { own.clone() };
    for (index, call) in work.calls.iter().enumerate() {
        let (times, target) = call_pieces(name, index, call, pieces);
        let next = format!("{name}.sum_{index}");
        let text = match (&call.target, work.parallel) {
            // However often it is called.
            (Target::Step { cost: None, .. }, _) => sum,
            (_, true) => format!("max({sum}, {times} * {target})"),
            (_, false) => format!("{sum} + {times} * {target}"),
        };
        pieces.push(made(next.clone(), &text, &call.at, Dimension::TIME));
        sum = next;
    }
    let whole = if work.parallel { format!("{own} + {sum}") } else { sum };
    pieces.push(made(name.to_owned(), &whole, &work.at, Dimension::TIME));
}

/// The names or numbers for the count and the cost of a call.
fn call_pieces(name: &str, index: usize, call: &Call, pieces: &mut Vec<Piece>) -> (String, String) {
    let times = match &call.times {
        None => "1".to_owned(),
        Some(times) => {
            let count = format!("{name}{TIMES}{index}");
            pieces.push(written(count.clone(), times, Dimension::NONE));
            count
        }
    };
    let target = match &call.target {
        Target::Operation(operation) => operation.clone(),
        Target::Step { cost, .. } => {
            let step = format!("{name}.step_{index}");
            pieces.push(match cost {
                Some(cost) => written(step.clone(), cost, Dimension::TIME),
                None => made(step.clone(), "0 s", &call.at, Dimension::TIME),
            });
            step
        }
    };
    (times, target)
}

/// The name of the count of call number `index` of `caller`, or `"1"`.
pub(crate) fn times_name(caller: &str, index: usize, call: &Call) -> String {
    call.times.as_ref().map_or("1".into(), |_| format!("{caller}{TIMES}{index}"))
}

/// Between a caller and the number of its call, in the name of a count.
const TIMES: &str = ".times_";

/// The caller, if this is the name of a count of calls. An operation can have such a name, too, but is a time.
pub(crate) fn counted_by(name: &str) -> Option<&str> {
    let (caller, index) = name.rsplit_once(TIMES)?;
    index.bytes().all(|digit| digit.is_ascii_digit()).then_some(caller)
}

/// The name of the cost of one call number `index` of `caller`.
pub(crate) fn target_name(caller: &str, index: usize, call: &Call) -> String {
    match &call.target {
        Target::Operation(operation) => operation.clone(),
        Target::Step { .. } => format!("{caller}.step_{index}"),
    }
}

/// The name of a cost besides time of an operation, a step, a cache's request or a chain.
pub(crate) fn cost_name(of: &str, kind: &str) -> String {
    format!("{of}.costs.{kind}")
}

/// Whether this is the name of such a cost, or of a part of it.
pub(crate) fn is_other_cost(name: &str) -> bool {
    name.contains(".costs.")
}

/// The name of such a cost without that of calls.
pub(crate) fn own_cost_name(of: &str, kind: &str) -> String {
    format!("{of}.costs.{kind}.own")
}

/// The name of the capacity of an operation, a step, a cache's request or a chain.
pub(crate) fn capacity_name(of: &str) -> String {
    format!("{of}.capacity")
}

/// The name of a limit of a chain in the network.
pub(crate) fn limit_name(chain: &str, kind: &str) -> String {
    format!("chain.{chain}.limits.{kind}")
}

/// The name of the demand of a chain in the network.
pub(crate) fn demand_name(chain: &str) -> String {
    format!("chain.{chain}.demand")
}

/// `name.costs.KIND` = own cost + Σ times × called, for each cost besides time. Calls that run at the same time add up,
/// too. Beside them the capacities of the operation and its steps.
fn resource_pieces(name: &str, work: &Work, model: &Model, pieces: &mut Vec<Piece>) {
    own_pieces(name, ".own", true, &work.resources, &work.at, model, pieces);
    for (index, call) in work.calls.iter().enumerate() {
        if let Some(resources) = call.target.resources() {
            let target = target_name(name, index, call);
            own_pieces(&target, "", false, resources, &call.at, model, pieces);
        }
    }
    for kind in &model.costs {
        let mut sum = own_cost_name(name, &kind.name);
        for (index, call) in work.calls.iter().enumerate() {
            let is_free = |resources: &Resources| resources.cost(&kind.name).is_none();
            if call.target.resources().is_some_and(is_free) {
                continue;
            }
            let times = times_name(name, index, call);
            let target = cost_name(&target_name(name, index, call), &kind.name);
            let next = format!("{}.sum_{index}", cost_name(name, &kind.name));
            let text = format!("{sum} + {times} * {target}");
            pieces.push(made(next.clone(), &text, &call.at, kind.dimension));
            sum = next;
        }
        pieces.push(made(cost_name(name, &kind.name), &sum, &work.at, kind.dimension));
    }
}

/// The own costs besides time, each under its name with this `ending`, and the capacity if there is one. With `all`,
/// costs that are not stated have a formula, too: 0.
fn own_pieces(
    name: &str,
    ending: &str,
    all: bool,
    resources: &Resources,
    at: &Range<usize>,
    model: &Model,
    pieces: &mut Vec<Piece>,
) {
    for kind in &model.costs {
        let own = format!("{}{ending}", cost_name(name, &kind.name));
        if let Some(formula) = resources.cost(&kind.name) {
            let piece = written(own, formula, kind.dimension);
            pieces.push(Piece { may_be_negative: true, ..piece });
        } else if all {
            let zero = Quantity { value: 0.0, dimension: kind.dimension };
            pieces.push(generated(own, Expression::constant("0", zero), at, kind.dimension));
        }
    }
    let capacity = resources.capacity.as_ref();
    pieces.extend(capacity.map(|formula| {
        let piece = written(capacity_name(name), formula, model.capacity);
        Piece { is_capacity: true, ..piece }
    }));
}

/// The limits and the demand of a chain.
fn limit_pieces(chain: &Chain, model: &Model, pieces: &mut Vec<Piece>) {
    for (name, formula) in &chain.limits {
        if let Some(kind) = model.costs.iter().find(|kind| kind.name == *name) {
            let piece = written(limit_name(&chain.name, name), formula, kind.dimension);
            pieces.push(Piece { may_be_negative: true, ..piece });
            let value = cost_name(&chain_name(&chain.name), name);
            let limit = limit_name(&chain.name, name);
            pieces.push(beyond(&value, &limit, &formula.at, kind.dimension));
        }
    }
    let demand = chain.demand.as_ref();
    pieces.extend(demand.map(|formula| {
        let piece = written(demand_name(&chain.name), formula, model.capacity);
        Piece { is_capacity: true, ..piece }
    }));
}

fn cache_pieces(cache: &Cache, pieces: &mut Vec<Piece>) {
    let name = &cache.name;
    pieces.push(written(format!("{name}.hit"), &cache.hit, Dimension::TIME));
    pieces.push(written(format!("{name}.miss"), &cache.miss, Dimension::TIME));
    let processing = format!("{name}.processing");
    pieces.push(match &cache.processing {
        Some(formula) => written(processing, formula, Dimension::TIME),
        None => made(processing, "0 s", &cache.at, Dimension::TIME),
    });
    let share = match cache.format {
        Format::Raw => "1".to_owned(),
        Format::Processed => format!("(1 - {name}.hit_ratio)"),
    };
    let text = format!(
        "{name}.chunks * ({name}.hit_ratio * {name}.hit + (1 - {name}.hit_ratio) * {name}.miss) \
         + {share} * {name}.processing"
    );
    pieces.push(made(request_name(cache), &text, &cache.at, Dimension::TIME));
}
