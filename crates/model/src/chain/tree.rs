//! The tree of calls of a chain in the order they are written.

use std::collections::BTreeMap;

use thiserror::Error;

use super::definitions::{Piece, chain_name, made, target_name, times_name, works};
use crate::file::{Chain, Model, Target, WhatIf, Work};
use hemiola_quantity::Dimension;

/// A larger tree repeats an operation that should be counted by `times`.
const NODES_MAX: usize = 1_000;
/// Deeper than any real layering.
const DEPTH_MAX: usize = 60;

/// A tree beyond the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum TreeError {
    /// Too many calls.
    #[error(
        "this chain has more than {NODES_MAX} calls; count calls to the same operation by \"times\""
    )]
    Nodes,
    /// Too many layers.
    #[error("this chain is more than {DEPTH_MAX} calls deep")]
    Depth,
}

/// A call in the tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Layers above it.
    pub(crate) depth: usize,
    /// The operation or step.
    pub(crate) name: String,
    /// The network's name of the cost of all its calls, including their own calls.
    pub(crate) total: String,
    /// The network's name of the cost of all its calls alone.
    pub(crate) own: String,
    /// The network's name of the number of its calls in the chain.
    pub(crate) times: String,
    /// The calling node.
    parent: Option<usize>,
    /// Whether it runs at the same time as the other calls of its caller.
    parallel: bool,
    /// How often one call of the parent calls it.
    times_each: String,
    /// The network's name of the called operation or step, and of the cost of one call, including its own calls.
    pub(crate) target: String,
    /// Whether it is an operation, whose own costs are apart from those of its calls.
    pub(crate) calls_others: bool,
    /// Whether it states a capacity.
    pub(crate) has_capacity: bool,
    /// The name of the cost of one call alone; `None` if it has no time of its own.
    target_own: Option<String>,
    at: std::ops::Range<usize>,
}

/// The nodes of a chain's tree with the what-ifs of `path` applied, each after its caller.
pub(crate) fn nodes(
    model: &Model,
    path: &[&WhatIf],
    chain: &Chain,
) -> Result<Vec<Node>, TreeError> {
    let works = works(model, path);
    let mut builder = Builder { model, works, chain: &chain.name, nodes: Vec::new() };
    builder.visit(&chain_name(&chain.name), &chain.work, None)?;
    Ok(builder.nodes)
}

struct Builder<'m> {
    model: &'m Model,
    works: BTreeMap<&'m str, &'m Work>,
    chain: &'m str,
    nodes: Vec<Node>,
}

impl Builder<'_> {
    /// Adds the calls of `work`, and theirs.
    fn visit(&mut self, caller: &str, work: &Work, parent: Option<usize>) -> Result<(), TreeError> {
        let depth = parent.map_or(0, |parent| self.nodes[parent].depth + 1);
        if depth > DEPTH_MAX {
            return Err(TreeError::Depth);
        }
        for (index, call) in work.calls.iter().enumerate() {
            if self.nodes.len() == NODES_MAX {
                return Err(TreeError::Nodes);
            }
            let target = target_name(caller, index, call);
            let called = match &call.target {
                Target::Operation(name) => self.works.get(name.as_str()).copied(),
                Target::Step { .. } => None,
            };
            let target_own = match called {
                // A step or a cache request calls nothing.
                None => Some(target.clone()),
                Some(work) => work.cost.is_some().then(|| format!("{target}.own")),
            };
            let total = format!("chain.{}.node_{}", self.chain, self.nodes.len());
            self.nodes.push(Node {
                depth,
                name: call.target.name().to_owned(),
                own: format!("{total}.own"),
                times: format!("{total}.times"),
                total,
                parent,
                parallel: work.parallel,
                times_each: times_name(caller, index, call),
                calls_others: called.is_some(),
                has_capacity: self.has_capacity(&call.target, called),
                target: target.clone(),
                target_own,
                at: call.at.clone(),
            });
            if let Some(work) = called {
                self.visit(&target, work, Some(self.nodes.len() - 1))?;
            }
        }
        Ok(())
    }

    fn has_capacity(&self, target: &Target, called: Option<&Work>) -> bool {
        let resources = match (target, called) {
            (_, Some(work)) => Some(&work.resources),
            (Target::Step { resources, .. }, None) => Some(resources),
            (Target::Operation(name), None) => {
                let mut caches = self.model.caches.iter();
                let cache = caches.find(|cache| format!("{}.request", cache.name) == *name);
                cache.map(|cache| &cache.resources)
            }
        };
        resources.is_some_and(|resources| resources.capacity.is_some())
    }
}

/// For each node, whether it or one of its callers runs beside a longer branch, so that its time does not count.
pub(crate) fn beside(nodes: &[Node], totals: &[f64]) -> Vec<bool> {
    let mut beside: Vec<bool> = Vec::with_capacity(nodes.len());
    for (at, node) in nodes.iter().enumerate() {
        let caller = node.parent.is_some_and(|parent| beside[parent]);
        let siblings = (0..nodes.len()).filter(|other| nodes[*other].parent == node.parent);
        // Of equally long branches, the first one counts.
        let longest = siblings.reduce(|a, b| if totals[b] > totals[a] { b } else { a });
        beside.push(caller || node.parallel && longest != Some(at));
    }
    beside
}

/// The formulas of the nodes.
pub(crate) fn pieces(nodes: &[Node]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for node in nodes {
        let above = node.parent.map_or("1", |parent| &nodes[parent].times);
        let times = format!("{above} * {}", node.times_each);
        pieces.push(made(node.times.clone(), &times, &node.at, Dimension::NONE));
        let total = format!("{} * {}", node.times, node.target);
        pieces.push(made(node.total.clone(), &total, &node.at, Dimension::TIME));
        let own = match &node.target_own {
            Some(own) => format!("{} * {own}", node.times),
            None => "0 s".to_owned(),
        };
        pieces.push(made(node.own.clone(), &own, &node.at, Dimension::TIME));
    }
    pieces
}
