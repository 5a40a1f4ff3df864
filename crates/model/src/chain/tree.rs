//! The tree of calls of a chain in the order they are written.

use thiserror::Error;

use super::definitions::{Piece, chain_name, made, target_name, times_name, works};
use crate::file::{Chain, Model, Target, Work};
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
    /// The name of the cost of one call, including its own calls.
    target: String,
    /// The name of the cost of one call alone; `None` if it has no time of its own.
    target_own: Option<String>,
    at: std::ops::Range<usize>,
}

/// The nodes of a chain's tree, each after its caller.
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
            // A step or a cache request calls nothing.
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
            parallel: work.parallel,
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
