//! The budget of a chain: allotted, expected and measured times.

use serde::Serialize;

use crate::chain::definitions::{Piece, allotment_name, made};
use crate::chain::tree::Node;
use crate::chain::{Expected, TreeNode, ns};
use crate::file::{Chain, Observation};
use crate::uncertain::Network;
use hemiola_quantity::{Dimension, Quantity};

/// A line of the budget: the chain, a call in it, or all calls of an operation that is called at several places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetLine {
    /// The operation or step; the chain's name for the first line.
    pub name: String,
    /// Layers above it; 0 for the chain.
    pub depth: usize,
    /// The number of places in the tree that the line covers.
    pub places: usize,
    /// The allotted time, ns.
    pub allotted_ns: Option<f64>,
    /// The expected time.
    pub expected: Expected,
    /// The measured time, ns: the first measurement in the file.
    pub measured_ns: Option<f64>,
    /// The rest of the allotment, ns, after the measured time or else the upper end of the expected range.
    pub margin_ns: Option<f64>,
}

/// A measured time compared with the expected one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObservedTime {
    /// The operation, or the chain.
    pub name: String,
    /// The circumstances of the measurement.
    pub circumstances: String,
    /// The measured time, ns.
    pub measured_ns: f64,
    /// The expected time.
    pub expected: Expected,
    /// Measured over expected.
    pub factor: f64,
    /// The result in words.
    pub verdict: String,
    /// The figure that the measurement comes from, if it comes from one.
    pub taken_from: Option<String>,
}

/// The budget of one chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Budget {
    /// The chain, its tree, and the operations called at several places that have an allotment or a measurement.
    pub lines: Vec<BudgetLine>,
    /// Every measurement.
    pub held: Vec<ObservedTime>,
    /// Contradictions, in words.
    pub remarks: Vec<String>,
}

/// The operations called at several places of a tree that have an allotment or a measurement, with the number of
/// places.
fn scattered<'n>(chain: &Chain, nodes: &'n [Node]) -> Vec<(&'n str, usize)> {
    let mut found: Vec<(&str, usize)> = Vec::new();
    for name in nodes.iter().map(|node| node.name.as_str()) {
        let places = nodes.iter().filter(|node| node.name == name).count();
        let allotted = chain.budget.iter().any(|(of, _)| of == name);
        let measured = chain.observations.iter().any(|one| one.of.as_deref() == Some(name));
        if places > 1 && (allotted || measured) && !found.contains(&(name, places)) {
            found.push((name, places));
        }
    }
    found
}

fn part_name(chain: &str, index: usize, node: usize) -> String {
    format!("chain.{chain}.part_{index}.upto_{node}")
}

/// Formulas for the total of all calls of each scattered operation.
pub(crate) fn pieces(chain: &Chain, nodes: &[Node]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (index, (name, _)) in scattered(chain, nodes).into_iter().enumerate() {
        let mut sum: Option<String> = None;
        for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.name == name) {
            let next = part_name(&chain.name, index, at);
            let text = sum.map_or(node.total.clone(), |sum| format!("{sum} + {}", node.total));
            pieces.push(made(next.clone(), &text, &chain.work.at, Dimension::TIME));
            sum = Some(next);
        }
    }
    pieces
}

/// The budget of a chain with the cost `whole`.
pub(crate) fn budget(
    network: &Network,
    chain: &Chain,
    nodes: &[Node],
    tree: &[TreeNode],
    whole: Expected,
) -> Budget {
    const CHECKED: &str = "the budget's formulas are in the network";
    let nominal = |name: &str| ns(network.nominal(name).expect(CHECKED));
    let measured = |of: Option<&str>| {
        let found = chain.observations.iter().find(|one| one.of.as_deref() == of);
        found.map(|one| ns(one.value.value))
    };
    let deadline =
        chain.deadline.as_ref().map(|_| nominal(&format!("chain.{}.deadline", chain.name)));
    let allotted = |name: &str| {
        let index = chain.budget.iter().position(|(of, _)| of == name);
        index.map(|index| nominal(&allotment_name(&chain.name, index)))
    };
    let mut lines = vec![BudgetLine::of(chain.name.clone(), 0, 1, deadline, whole, measured(None))];
    let scattered = scattered(chain, nodes);
    for node in tree {
        let name = node.name.as_str();
        let apart = scattered.iter().any(|(one, _)| *one == name);
        let (allotted, measured) =
            if apart { (None, None) } else { (allotted(name), measured(Some(name))) };
        let depth = node.depth + 1;
        lines.push(BudgetLine::of(name.to_owned(), depth, 1, allotted, node.total, measured));
    }
    for (index, (name, places)) in scattered.into_iter().enumerate() {
        let last =
            nodes.iter().rposition(|node| node.name == name).expect("the name is one of theirs");
        let part = part_name(&chain.name, index, last);
        let expected = Expected::of(&network.first_order(&part).expect(CHECKED));
        let (allotted, measured) = (allotted(name), measured(Some(name)));
        lines.push(BudgetLine::of(name.to_owned(), 1, places, allotted, expected, measured));
    }
    let held = chain.observations.iter().filter_map(|one| observed(one, &lines)).collect();
    let remarks = remarks(chain, &lines, tree);
    Budget { lines, held, remarks }
}

impl BudgetLine {
    fn of(
        name: String,
        depth: usize,
        places: usize,
        allotted_ns: Option<f64>,
        expected: Expected,
        measured_ns: Option<f64>,
    ) -> Self {
        let spent = measured_ns.unwrap_or(expected.high_ns);
        let margin_ns = allotted_ns.map(|allotted| allotted - spent);
        Self { name, depth, places, allotted_ns, expected, measured_ns, margin_ns }
    }
}

fn observed(observation: &Observation, lines: &[BudgetLine]) -> Option<ObservedTime> {
    let line = match &observation.of {
        None => lines.first()?,
        // The last line of the name covers all its places.
        Some(of) => lines.iter().skip(1).rfind(|line| line.name == *of)?,
    };
    let measured_ns = ns(observation.value.value);
    let expected = line.expected;
    let factor = measured_ns / expected.nominal_ns;
    // The range of a repeated measurement, if known.
    let (low_ns, high_ns) = match &observation.taken {
        Some(taken) if taken.value > 0.0 => {
            let scale = measured_ns / taken.value;
            (taken.low * scale, taken.high * scale)
        }
        _ => (measured_ns, measured_ns),
    };
    let verdict = if (expected.low_ns..=expected.high_ns).contains(&measured_ns) {
        "inside the expected range".to_owned()
    } else if low_ns <= expected.high_ns && high_ns >= expected.low_ns {
        "as expected, within the uncertainty of the measurement".to_owned()
    } else if factor >= 1.0 {
        format!("longer than expected by a factor of {factor:.1}")
    } else {
        format!("shorter than expected by a factor of {:.1}", 1.0 / factor)
    };
    Some(ObservedTime {
        name: line.name.clone(),
        circumstances: observation.circumstances.clone(),
        measured_ns,
        expected,
        factor,
        verdict,
        taken_from: observation.taken.as_ref().map(|taken| taken.name.clone()),
    })
}

fn remarks(chain: &Chain, lines: &[BudgetLine], tree: &[TreeNode]) -> Vec<String> {
    let mut remarks = Vec::new();
    for line in lines {
        let (Some(allotted), Some(margin)) = (line.allotted_ns, line.margin_ns) else { continue };
        if margin < 0.0 {
            let spent = if line.measured_ns.is_some() { "measured" } else { "expected at most" };
            remarks.push(format!(
                "{} takes more than its {}: {} {spent}",
                line.name,
                time(allotted),
                time(allotted - margin)
            ));
        }
    }
    // An allotment inside another one is part of it.
    let allotted = |name: &str| {
        lines.iter().skip(1).rfind(|line| line.name == name).and_then(|line| line.allotted_ns)
    };
    let mut sum = 0.0;
    let mut counted: Vec<&str> = Vec::new();
    let mut inside: Option<usize> = None;
    for node in tree {
        if inside.is_some_and(|depth| node.depth > depth) {
            continue;
        }
        let own = allotted(&node.name);
        inside = own.map(|_| node.depth);
        if let Some(own) = own
            && !counted.contains(&node.name.as_str())
        {
            counted.push(&node.name);
            sum += own;
        }
    }
    if let Some(deadline) = lines.first().and_then(|line| line.allotted_ns)
        && sum > deadline * (1.0 + 1e-9)
    {
        remarks.push(format!(
            "the allotments of {} add up to {}, more than its {}",
            chain.name,
            time(sum),
            time(deadline)
        ));
    }
    remarks.extend(chain.budget.iter().filter(|(of, _)| !lines.iter().any(|l| l.name == *of)).map(
        |(of, _)| format!("{of} has an allotment in {}, but is never called in it", chain.name),
    ));
    remarks
}

/// Nanoseconds as text with a unit.
pub(crate) fn time(nanos: f64) -> String {
    Quantity { value: nanos / 1e9, dimension: Dimension::TIME }.to_string()
}
