//! The budget of a chain: allotted, expected and measured times.

use serde::Serialize;

use crate::chain::definitions::{Piece, allotment_name, made};
use crate::chain::tree::Node;
use crate::chain::{self, Expected, Margin, ROUNDING, TreeNode, ns};
use crate::file::{Chain, Model, Observation};
use crate::summary::{percent, undecided};
use crate::uncertain::{Chance, Network, Predicted, Verdict};
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
    /// The rest of the allotment after the expected time.
    pub expected_margin: Option<Margin>,
    /// The rest of the allotment, ns: after the measured time, or else after the time that is kept with the required
    /// probability.
    pub margin_ns: Option<f64>,
    /// Whether the allotment is kept, by the measured time or else with the required probability.
    pub verdict: Option<Verdict>,
}

/// Where a measured time lies in the predicted distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Within its middle 95 %.
    Inside,
    /// Outside, but the interval of the measurement overlaps the middle 95 %.
    Undecided,
    /// Below.
    Shorter,
    /// Above.
    Longer,
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
    /// The share of the predicted distribution up to the measured time.
    pub share_below: Chance,
    /// Where it lies.
    pub place: Place,
    /// Measured time over expected mean.
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

/// The budget of a chain with the distribution `whole`, and its tree.
pub(crate) fn budget(
    network: &Network,
    model: &Model,
    chain: &Chain,
    nodes: &[Node],
    whole: &Predicted,
) -> (Budget, Vec<TreeNode>) {
    let measured = |of: Option<&str>| {
        let found = chain.observations.iter().find(|one| one.of.as_deref() == of);
        found.map(|one| ns(one.value.value))
    };
    let allotted = |name: &str| allotted(network, chain, name);
    let scattered = scattered(chain, nodes);
    let totals: Vec<Predicted> = nodes
        .iter()
        .map(|node| {
            let allotted = allotted(&node.name);
            let is_judged = allotted.is_some() || measured(Some(&node.name)).is_some();
            chain::part(network, model, &node.total, is_judged, allotted, chain.probability)
        })
        .collect();
    let tree = chain::tree(network, nodes, &totals);
    let of_chain = Part { name: &chain.name, depth: 0, places: 1, predicted: whole };
    let mut lines =
        vec![of_chain.line(deadline(network, chain), measured(None), chain.probability)];
    let mut held = observed(chain, None, whole);
    for (node, predicted) in nodes.iter().zip(&totals) {
        let name = node.name.as_str();
        let apart = scattered.iter().any(|(one, _)| *one == name);
        let (limit, reading) =
            if apart { (None, None) } else { (allotted(name), measured(Some(name))) };
        let part = Part { name, depth: node.depth + 1, places: 1, predicted };
        lines.push(part.line(limit, reading, chain.probability));
        if !apart {
            held.extend(observed(chain, Some(name), predicted));
        }
    }
    for (index, (name, places)) in scattered.into_iter().enumerate() {
        let last =
            nodes.iter().rposition(|node| node.name == name).expect("the name is one of theirs");
        let (limit, required) = (allotted(name), chain.probability);
        let total = part_name(&chain.name, index, last);
        let predicted = &chain::part(network, model, &total, true, limit, required);
        let part = Part { name, depth: 1, places, predicted };
        lines.push(part.line(limit, measured(Some(name)), required));
        held.extend(observed(chain, Some(name), predicted));
    }
    let remarks = remarks(chain, &lines, &tree);
    (Budget { lines, held, remarks }, tree)
}

/// Why every formula of a budget has a value.
const CHECKED: &str = "the budget's formulas are in the network";

/// The deadline of a chain, ns, at the nominal values of the figures in it.
pub(crate) fn deadline(network: &Network, chain: &Chain) -> Option<f64> {
    chain.deadline.as_ref()?;
    Some(ns(network.nominal(&format!("chain.{}.deadline", chain.name)).expect(CHECKED)))
}

/// The time allotted to an operation in a chain, ns.
fn allotted(network: &Network, chain: &Chain, name: &str) -> Option<f64> {
    let index = chain.budget.iter().position(|(of, _)| of == name)?;
    Some(ns(network.nominal(&allotment_name(&chain.name, index)).expect(CHECKED)))
}

/// A part of a chain with its distribution.
struct Part<'p> {
    name: &'p str,
    depth: usize,
    places: usize,
    predicted: &'p Predicted,
}

impl Part<'_> {
    fn line(&self, limit: Option<f64>, measured_ns: Option<f64>, required: f64) -> BudgetLine {
        let expected_margin = limit.map(|limit| Margin::of(self.predicted, limit, required));
        let (margin_ns, verdict) = match (limit, measured_ns, expected_margin) {
            (Some(limit), Some(measured), _) => {
                let is_kept = measured <= limit;
                let verdict = if is_kept { Verdict::Kept } else { Verdict::Missed };
                (Some(limit - measured), Some(verdict))
            }
            (_, _, Some(margin)) => (margin.margin_ns, Some(margin.verdict)),
            (_, _, None) => (None, None),
        };
        BudgetLine {
            name: self.name.to_owned(),
            depth: self.depth,
            places: self.places,
            allotted_ns: limit,
            expected: Expected::of_samples(self.predicted),
            measured_ns,
            expected_margin,
            margin_ns,
            verdict,
        }
    }
}

/// All measurements of an operation, or of the chain, against its distribution.
fn observed(chain: &Chain, of: Option<&str>, predicted: &Predicted) -> Vec<ObservedTime> {
    let own = chain.observations.iter().filter(|one| one.of.as_deref() == of);
    own.map(|one| ObservedTime::of(one, of.unwrap_or(&chain.name), predicted)).collect()
}

impl ObservedTime {
    fn of(observation: &Observation, name: &str, predicted: &Predicted) -> Self {
        let value = observation.value.value;
        let expected = Expected::of_samples(predicted);
        let share_below = predicted.at_most(value * (1.0 + ROUNDING));
        // The range of a repeated measurement, if known.
        let (low, high) = match &observation.taken {
            Some(taken) if taken.value > 0.0 => {
                let scale = value / taken.value;
                (taken.low * scale, taken.high * scale)
            }
            _ => (value, value),
        };
        let range = [predicted.low() * (1.0 - ROUNDING), predicted.high() * (1.0 + ROUNDING)];
        let place = place([low, value, high], range);
        let factor = ns(value) / expected.mean_ns;
        Self {
            name: name.to_owned(),
            circumstances: observation.circumstances.clone(),
            measured_ns: ns(value),
            expected,
            share_below,
            place,
            factor,
            verdict: verdict(place, share_below.value, factor),
            taken_from: observation.taken.as_ref().map(|taken| taken.name.clone()),
        }
    }
}

/// The place of a reading with its interval in a range.
fn place([low, value, high]: [f64; 3], range: [f64; 2]) -> Place {
    if range[0] <= value && value <= range[1] {
        Place::Inside
    } else if low <= range[1] && high >= range[0] {
        Place::Undecided
    } else if value > range[1] {
        Place::Longer
    } else {
        Place::Shorter
    }
}

fn verdict(place: Place, share_below: f64, factor: f64) -> String {
    let below = percent((share_below * 1000.0).round() / 1000.0);
    // There is no factor to a time of 0.
    let by = |factor: f64| match factor.is_finite() {
        true => format!(" by a factor of {factor:.1}"),
        false => String::new(),
    };
    match place {
        Place::Inside => format!("inside the expected range: {below} of it lies below"),
        Place::Undecided => "as expected, within the uncertainty of the measurement".to_owned(),
        Place::Longer => {
            format!("longer than expected{}: {below} of the expected times lie below", by(factor))
        }
        // A reading below most of a skewed range may still lie above none of its mean.
        Place::Shorter => {
            format!(
                "shorter than expected{}: {below} of the expected times lie below",
                by(factor.recip())
            )
        }
    }
}

fn remarks(chain: &Chain, lines: &[BudgetLine], tree: &[TreeNode]) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(lines.iter().filter_map(|line| overrun(line, chain.probability)));
    // An allotment inside another one is part of it.
    let allotted = |name: &str| {
        lines.iter().skip(1).rfind(|line| line.name == name).and_then(|line| line.allotted_ns)
    };
    let mut sum = 0.0;
    let mut counted: Vec<&str> = Vec::new();
    let mut inside: Option<usize> = None;
    for node in tree.iter().filter(|node| !node.beside) {
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

/// The sentence about an allotment that is not kept, or not known to be.
fn overrun(line: &BudgetLine, required: f64) -> Option<String> {
    let allotted = line.allotted_ns.filter(|_| line.verdict != Some(Verdict::Kept))?;
    if let (Some(Verdict::Undecided), Some(margin)) = (line.verdict, line.expected_margin) {
        let name = &line.name;
        let what = format!("{name} keeps its {}", time(allotted));
        return Some(undecided(&what, margin.probability, required));
    }
    let text = match (line.measured_ns, line.expected_margin) {
        (Some(measured), _) => format!("{} measured", time(measured)),
        (None, Some(margin)) => {
            let Chance { value, low, .. } = margin.probability;
            let keep = match value < required {
                true => format!("{} of the samples keep it", percent(value)),
                false => format!(
                    "{} of the samples keep it, but at the worst systematic offset perhaps only {}",
                    percent(value),
                    percent(low)
                ),
            };
            let needed = margin.margin_ns.map_or_else(
                || "no time is kept".to_owned(),
                |margin| format!("{} is kept", time(allotted - margin)),
            );
            format!("{keep}, and {needed} with {}", percent(required))
        }
        (None, None) => return None,
    };
    Some(format!("{} takes more than its {}: {text}", line.name, time(allotted)))
}

/// Nanoseconds as text with a unit.
pub(crate) fn time(nanos: f64) -> String {
    if !nanos.is_finite() {
        return "not determined".to_owned();
    }
    Quantity { value: nanos / 1e9, dimension: Dimension::TIME }.to_string()
}
