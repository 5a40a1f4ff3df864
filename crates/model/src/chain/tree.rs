//! The tree of calls of a chain: every call of every operation, in the order they are written.

use thiserror::Error;

use super::definitions::{Piece, chain_name, made, target_name, times_name, works};
use crate::file::{Chain, Model, Target, Work};
use crate::quantity::Dimension;

/// More nodes than a person reads are one repeated operation that should be a count.
const NODES_MAX: usize = 1_000;
/// Deeper than any layering.
const DEPTH_MAX: usize = 60;

/// A tree that is too large to be looked at.
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
    /// What is called.
    pub(crate) name: String,
    /// Its name in the network: all its calls in the chain with all they call.
    pub(crate) total: String,
    /// Its name in the network: the same without what they call.
    pub(crate) own: String,
    /// Its name in the network: how often it is called in the chain.
    pub(crate) times: String,
    /// The node whose calls it is.
    parent: Option<usize>,
    /// How often each call of the parent makes it.
    times_each: String,
    /// What one costs, with what it calls.
    target: String,
    /// What one costs alone; `None` for no time of its own.
    target_own: Option<String>,
    at: std::ops::Range<usize>,
}

/// The nodes of a chain's tree, each behind the one that calls it.
pub(crate) fn nodes(model: &Model, chain: &Chain) -> Result<Vec<Node>, TreeError> {
    let works = works(model, &[]);
    let find = |name: &str| works.get(name).copied();
    let mut nodes = Vec::new();
    visit(&find, &chain.name, &chain_name(&chain.name), &chain.work, None, &mut nodes)?;
    Ok(nodes)
}

fn visit<'m>(
    find: &dyn Fn(&str) -> Option<&'m Work>,
    chain: &str,
    caller: &str,
    work: &Work,
    parent: Option<usize>,
    nodes: &mut Vec<Node>,
) -> Result<(), TreeError> {
    let depth = parent.map_or(0, |parent| nodes[parent].depth + 1);
    if depth > DEPTH_MAX {
        return Err(TreeError::Depth);
    }
    for (index, call) in work.calls.iter().enumerate() {
        if nodes.len() == NODES_MAX {
            return Err(TreeError::Nodes);
        }
        let target = target_name(caller, index, call);
        let called = match &call.target {
            Target::Operation(name) => find(name),
            Target::Step { .. } => None,
        };
        let target_own = match called {
            // A step and a request to a cache are all their own.
            None => Some(target.clone()),
            Some(work) => work.cost.is_some().then(|| format!("{target}.own")),
        };
        let total = format!("chain.{chain}.node_{}", nodes.len());
        nodes.push(Node {
            depth,
            name: call.target.name().to_owned(),
            own: format!("{total}.own"),
            times: format!("{total}.times"),
            total,
            parent,
            times_each: times_name(caller, index, call),
            target: target.clone(),
            target_own,
            at: call.at.clone(),
        });
        if let Some(work) = called {
            visit(find, chain, &target, work, Some(nodes.len() - 1), nodes)?;
        }
    }
    Ok(())
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
