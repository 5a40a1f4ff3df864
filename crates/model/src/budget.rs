//! The budget of a chain: allotted, expected and measured times.

use serde::Serialize;

use crate::chain::definitions::{Piece, allotment_name, beyond, chain_name, deadline_name, made};
use crate::chain::limit::{Doubt, Limit, Rest};
use crate::chain::tree::Node;
use crate::chain::{self, Expected, Margin, ROUNDING, TreeNode, ns};
use crate::file::{Chain, Model, Observation};
use crate::summary::undecided;
use crate::text::{percent, shown};
use crate::uncertain::{Chance, Network, Predicted, SAMPLES_MAX, Verdict};
use hemiola_quantity::{Dimension, Quantity, Units};

/// A line of the budget: the chain, a call in it, or all calls of an operation that is called at several places.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetLine {
    /// The operation or step; the chain's name for the first line.
    pub name: String,
    /// Layers above it; 0 for the chain.
    pub depth: usize,
    /// The number of places in the tree that the line covers.
    pub places: usize,
    /// The allotted time at the best values of the figures in it, ns.
    pub allotted_ns: Option<f64>,
    /// The expected time.
    pub expected: Expected,
    /// The longest measured time, ns: of recorded jobs the time that is kept with the required probability or, if the
    /// limit is one of the mean and it is longer, their mean.
    pub measured_ns: Option<f64>,
    /// The rest of the allotment after the expected time.
    pub expected_margin: Option<Margin>,
    /// The rest of the allotment, ns: after the time that is kept with the required probability or, if it is longer,
    /// the longest measured one.
    pub margin_ns: Option<f64>,
    /// Whether the allotment is kept: the worst of the prediction's verdict and those of the measured times, none of
    /// which can make a predicted miss a success.
    pub verdict: Option<Verdict>,
    /// The parts of which only the mean is known, if the verdict of the prediction depends on them: measured means,
    /// queues and caches.
    pub means: Vec<String>,
    /// The figures that may differ from call to call, if the verdict of the prediction depends on that.
    pub differ: Vec<String>,
    /// Why the prediction's verdict is open, if neither means nor calls are the reason.
    #[serde(skip)]
    pub(crate) doubt: Option<Doubt>,
    /// By how much the mean exceeds an allotment of the mean that enough of the samples keep, ns.
    #[serde(skip)]
    pub mean_exceeds_by_ns: Option<f64>,
}

impl BudgetLine {
    /// Whether the prediction does not tell because only a mean is known.
    pub(crate) fn is_undecided_by_mean(&self) -> bool {
        let has_other_reason = self.doubt.is_some() || !self.differ.is_empty();
        let is_of_mean =
            |margin: Margin| margin.mean.is_some() && margin.verdict == Verdict::Undecided;
        !has_other_reason && self.expected_margin.is_some_and(is_of_mean)
    }
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
    for (value, name) in judged(chain, nodes) {
        if let Some(index) = chain.budget.iter().position(|(of, _)| *of == name) {
            let limit = allotment_name(&chain.name, index);
            pieces.push(beyond(&value, &limit, &chain.work.at, Dimension::TIME));
        }
    }
    pieces
}

/// The value that an allotment limits, and the name that it is allotted to: each node that is called at one place, and
/// the sums of the others.
fn judged<'n>(chain: &Chain, nodes: &'n [Node]) -> Vec<(String, &'n str)> {
    let scattered = scattered(chain, nodes);
    let is_alone = |node: &&Node| !scattered.iter().any(|(name, _)| *name == node.name);
    let alone = nodes.iter().filter(is_alone);
    let alone = alone.map(|node| (node.total.clone(), node.name.as_str()));
    let sum = |(index, (name, _)): (usize, &(&'n str, usize))| {
        (sum_name(chain, nodes, index, name), *name)
    };
    alone.chain(scattered.iter().enumerate().map(sum)).collect()
}

/// The name of the total of all calls of a scattered operation.
fn sum_name(chain: &Chain, nodes: &[Node], index: usize, name: &str) -> String {
    let last = nodes.iter().rposition(|node| node.name == name);
    part_name(&chain.name, index, last.expect("the name is one of theirs"))
}

/// The budget of a chain with the distribution `whole`, and its tree.
pub(crate) fn budget(
    network: &Network,
    model: &Model,
    chain: &Chain,
    nodes: &[Node],
    whole: &Predicted,
) -> (Budget, Vec<TreeNode>) {
    let measured = |of: Option<&str>| -> Vec<&Observation> {
        chain.observations.iter().filter(|one| one.of.as_deref() == of).collect()
    };
    let allotted = |name: &str, value: &str| allotted(network, model, chain, name, value);
    let scattered = scattered(chain, nodes);
    let is_apart = |name: &str| scattered.iter().any(|(one, _)| *one == name);
    let limits: Vec<Option<Limit<'_>>> = nodes
        .iter()
        .map(|node| if is_apart(&node.name) { None } else { allotted(&node.name, &node.total) })
        .collect();
    let totals: Vec<Predicted> = nodes
        .iter()
        .zip(&limits)
        .map(|(node, limit)| {
            let is_judged = limit.is_some() || !measured(Some(&node.name)).is_empty();
            chain::part(network, model, &node.total, is_judged, limit.as_ref())
        })
        .collect();
    let tree = chain::tree(network, nodes, &totals);
    let of_chain = Part { name: &chain.name, depth: 0, places: 1, predicted: whole };
    let mut budget = Budget { lines: Vec::new(), held: Vec::new(), remarks: Vec::new() };
    budget.add(&of_chain, deadline(network, model, chain).as_ref(), &measured(None));
    for ((node, predicted), limit) in nodes.iter().zip(&totals).zip(&limits) {
        let name = node.name.as_str();
        let part = Part { name, depth: node.depth + 1, places: 1, predicted };
        let readings = if is_apart(name) { Vec::new() } else { measured(Some(name)) };
        budget.add(&part, limit.as_ref(), &readings);
    }
    for (index, (name, places)) in scattered.iter().enumerate() {
        let total = sum_name(chain, nodes, index, name);
        let limit = allotted(name, &total);
        let predicted = &chain::part(network, model, &total, true, limit.as_ref());
        let part = Part { name, depth: 1, places: *places, predicted };
        budget.add(&part, limit.as_ref(), &measured(Some(name)));
    }
    let remarks = remarks(chain, &budget.lines, &tree);
    budget.remarks.extend(remarks);
    (budget, tree)
}

/// The deadline of a chain.
pub(crate) fn deadline<'n>(
    network: &'n Network,
    model: &'n Model,
    chain: &Chain,
) -> Option<Limit<'n>> {
    chain.deadline.as_ref()?;
    let names = [chain_name(&chain.name), deadline_name(&chain.name)];
    Some(Limit::new(network, model, names, chain.probability, !chain.of_mean))
}

/// The time allotted to an operation in a chain, whose time is the value of this name.
fn allotted<'n>(
    network: &'n Network,
    model: &'n Model,
    chain: &Chain,
    name: &str,
    value: &str,
) -> Option<Limit<'n>> {
    let index = chain.budget.iter().position(|(of, _)| of == name)?;
    let names = [value.to_owned(), allotment_name(&chain.name, index)];
    Some(Limit::new(network, model, names, chain.probability, !chain.of_mean))
}

/// A part of a chain with its distribution.
struct Part<'p> {
    name: &'p str,
    depth: usize,
    places: usize,
    predicted: &'p Predicted,
}

impl Budget {
    /// Adds a part with its allotment and its measurements.
    fn add(&mut self, part: &Part<'_>, limit: Option<&Limit<'_>>, measured: &[&Observation]) {
        let rest = limit.map(|limit| limit.judge(part.predicted));
        self.lines.push(part.line(limit, rest.as_ref(), measured));
        let observed = |one: &&Observation| ObservedTime::of(one, part.name, part.predicted);
        self.held.extend(measured.iter().map(observed));
        let warnings = rest.into_iter().flat_map(|rest| rest.warnings);
        self.remarks.extend(warnings.map(|text| format!("{} and its limit: {text}", part.name)));
    }
}

impl Part<'_> {
    fn line(
        &self,
        limit: Option<&Limit<'_>>,
        rest: Option<&Rest>,
        measured: &[&Observation],
    ) -> BudgetLine {
        let expected_margin = rest.map(Margin::of);
        let mut verdict = expected_margin.map(|margin| margin.verdict);
        let mut times: Vec<f64> = Vec::new();
        let mut least = f64::INFINITY;
        for observation in measured {
            let Some(limit) = limit else {
                times.push(observation.value.value);
                continue;
            };
            let objection = limit.object(observation);
            times.push(objection.time);
            verdict = verdict.map(|verdict| verdict.worse(objection.verdict));
            least = least.min(ns(objection.margin));
        }
        let margin_ns =
            expected_margin.and_then(|margin| match (margin.margin_ns, margin.verdict) {
                (Some(margin), _) => Some(margin.min(least)),
                // No time is kept.
                (None, Verdict::Missed) => None,
                (None, _) => least.is_finite().then_some(least),
            });
        BudgetLine {
            name: self.name.to_owned(),
            depth: self.depth,
            places: self.places,
            allotted_ns: limit.map(|limit| ns(limit.nominal())),
            expected: Expected::of_samples(self.predicted),
            measured_ns: times.into_iter().reduce(f64::max).map(ns),
            margin_ns: margin_ns.filter(|_| verdict != Some(Verdict::Undecided)),
            expected_margin,
            verdict,
            means: rest.map_or_else(Vec::new, |rest| rest.means.clone()),
            differ: rest.map_or_else(Vec::new, |rest| rest.differ.clone()),
            doubt: rest.and_then(|rest| rest.doubt),
            mean_exceeds_by_ns: rest.and_then(|rest| rest.mean_exceeds_by).map(ns),
        }
    }
}

impl ObservedTime {
    fn of(observation: &Observation, name: &str, predicted: &Predicted) -> Self {
        let value = observation.value.value;
        let expected = Expected::of_samples(predicted);
        let share_below = predicted.at_most(value * (1.0 + ROUNDING));
        let (low, high) = observation.interval();
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
    remarks.extend(lines.iter().filter_map(|line| overrun(line, chain)));
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
fn overrun(line: &BudgetLine, chain: &Chain) -> Option<String> {
    let required = chain.probability;
    let (verdict, name) = (line.verdict?, &line.name);
    let (allotted, margin) = (time(line.allotted_ns?), line.expected_margin?);
    let text = match (verdict, margin.verdict) {
        (Verdict::Kept, _) => return None,
        (Verdict::Undecided, _) if line.is_undecided_by_mean() => format!(
            "{}; state the time of each run, as a recording with its jobs or a figure with its range does, or set of_mean \
             if the limit is one of the mean",
            of_mean(margin.mean, &line.means)
        ),
        (Verdict::Undecided, _) if !line.differ.is_empty() => {
            let Chance { value, low, high } = margin.probability;
            let [value, low, high, required] = [value, low, high, required].map(percent);
            let range = match chain.of_mean {
                true => "but the mean may be greater if they differ".to_owned(),
                false => format!("and {low} to {high} of the runs if they differ"),
            };
            format!(
                "{}: {value} of the samples keep it, {range}, where {required} is required; state what is the same in \
                 all calls as systematic, or the time of all calls as one figure",
                of_calls(&line.differ)
            )
        }
        (Verdict::Undecided, Verdict::Kept) => {
            "it is predicted to, but a measured time does not tell".to_owned()
        }
        (Verdict::Undecided, _) if line.doubt.is_some() => {
            doubt(line.doubt?, margin.probability, chain.of_mean)
        }
        (Verdict::Undecided, _) => {
            return Some(undecided(
                &format!("{name} keeps its {allotted}"),
                margin.probability,
                required,
            ));
        }
        (Verdict::Missed, Verdict::Missed) if line.mean_exceeds_by_ns.is_some() => {
            let by = line.mean_exceeds_by_ns.map_or_else(String::new, time);
            let share = percent(margin.probability.value);
            format!("{share} of the samples keep it, but the mean exceeds it by {by}")
        }
        (Verdict::Missed, Verdict::Missed) => {
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
                |margin| format!("{} more is needed to keep it", time(-margin)),
            );
            format!("{keep}, and {needed} with {}", percent(required))
        }
        (Verdict::Missed, _) => match line.measured_ns {
            Some(measured) => format!("{} measured", time(measured)),
            None => return None,
        },
    };
    Some(match verdict {
        Verdict::Undecided => {
            let runs = if chain.of_mean { "the mean" } else { "each run" };
            format!("whether {runs} of {name} keeps its {allotted} is undecided: {text}")
        }
        _ => format!("{name} takes more than its {allotted}: {text}"),
    })
}

/// The reason why a verdict is open that more samples do not decide, and what to do.
pub(crate) fn doubt(doubt: Doubt, probability: Chance, of_mean: bool) -> String {
    let Chance { value, low, high } = probability;
    let [value, low, high] = [value, low, high].map(percent);
    match doubt {
        Doubt::Jobs(jobs) if of_mean => format!(
            "{jobs} independent jobs do not tell their mean, or the share of them that keeps it ({low} to {high}), so \
             exactly; record more jobs"
        ),
        Doubt::Jobs(jobs) => format!(
            "{value} of the samples keep it, and {jobs} independent jobs leave {low} to {high}; record more jobs"
        ),
        Doubt::Tail => "the samples lack the end of a tail that the mean depends on; state the greatest possible value \
                        of the figure as at_most, or its least one as at_least where it is a divisor, or one with a \
                        shorter tail"
            .to_owned(),
        Doubt::Rare => format!(
            "the mean depends on values so rare that the samples do not tell it; set samples, up to {SAMPLES_MAX}, or \
             narrow the ranges of the figures"
        ),
        Doubt::OtherModel => {
            "the mean of a figure of another model is not known: its samples there do not tell it; decide the limit \
             there, or put both models into one file"
                .to_owned()
        }
        Doubt::Mean => format!(
            "the mean of the samples is so near that they do not tell; set samples, up to {SAMPLES_MAX}, or narrow the \
             systematic parts if they are named above"
        ),
    }
}

/// The reason why a limit of each run is undecided: the verdict on the mean, and the parts of which nothing else is
/// known.
pub(crate) fn of_mean(mean: Option<Verdict>, means: &[String]) -> String {
    let means = means.join(", ");
    match mean {
        Some(Verdict::Kept) => format!("the mean is kept, but only the mean of {means} is known"),
        _ => format!("only the mean of {means} is known, and the mean is not known to be kept"),
    }
}

/// The reason why a limit is undecided: values may differ from call to call.
pub(crate) fn of_calls(differ: &[String]) -> String {
    let (differ, have) = (differ.join(", "), if differ.len() == 1 { "has" } else { "have" });
    format!("{differ} {have} one value in all calls of a sample, but may differ from call to call")
}

/// Nanoseconds as text with a unit.
pub(crate) fn time(nanos: f64) -> String {
    let time = Quantity { value: nanos / 1e9, dimension: Dimension::TIME };
    shown(Units::built_in(), time)
}
