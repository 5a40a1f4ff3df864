//! The calls of a value's formulas, and what is known if figures differ from call to call.
//!
//! A sample holds one value of each figure. In reality, a figure that varies can have another value in each call of an
//! operation or a step, and in each number of calls. The formulas of the file are the *parts* of a value: their
//! figures have one value for each call of the part. The formulas made of calls only add parts up, multiply them by
//! numbers of calls, and take the longest of calls at the same time. Decision 0076 has the rules and their proofs.

use std::collections::{BTreeMap, BTreeSet};

use super::NETWORK;
use super::definitions::{CHUNKS, counted_by, is_other_cost};
use super::trends::Ranges;
use crate::expression::{
    Expression, Function, Interval, OPERANDS, Operation, Trend, Value, WholeCalls,
};
use crate::uncertain::{Definition, Distribution, Network, Repeats};
use hemiola_quantity::Dimension;

/// The figures of a value that vary in more than one call, and what is known if they differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Calls {
    pub(super) figures: Vec<String>,
    pub(super) repeats: Repeats,
}

impl Calls {
    /// Each figure has one value.
    pub(super) const EQUAL: Self = Self { figures: Vec::new(), repeats: Repeats::NONE };

    /// Those behind a time of this name, with a limit of that name if there is one. Nothing is known if a figure of the
    /// limit varies in more than one call there.
    pub(super) fn of(network: &Network, value: &str, limit: Option<&str>) -> Self {
        let parts = parts(network, &[value], Depth::Formulas);
        let repeated = repeated(&parts);
        let mut nested = Nested::of(network, &parts);
        let of_limit = limit.map_or_else(BTreeSet::new, |limit| varying(network, limit));
        if let Some(limit) = limit {
            nested.add_limit(network, limit);
        }
        let figures: BTreeSet<&str> = repeated.keys().chain(&nested.figures).copied().collect();
        if figures.is_empty() {
            return Self::EQUAL;
        }
        let repeats = repeats(network, &parts, &repeated, &nested, &of_limit);
        Self { figures: figures.into_iter().map(str::to_owned).collect(), repeats }
    }
}

/// A formula of the model, or a figure that is called by its name.
#[derive(Debug, Default)]
struct Part<'n> {
    /// The greatest number of its calls.
    calls: f64,
    /// Whether it is called beside others.
    is_beside: bool,
    /// Whether it is a number of calls.
    is_count: bool,
    /// The numbers that its calls are multiplied by.
    counts: BTreeSet<&'n str>,
    /// Its figures that vary.
    figures: BTreeSet<&'n str>,
}

impl Part<'_> {
    /// Whether a number of its calls varies with this figure.
    fn is_counted_with(&self, network: &Network, figure: &str) -> bool {
        self.counts.iter().any(|count| varying(network, count).contains(figure))
    }
}

/// The names of the figures that vary behind a value.
fn varying<'n>(network: &'n Network, name: &str) -> BTreeSet<&'n str> {
    let inputs = network.inputs_of(name).expect(NETWORK).into_iter();
    let varies = inputs.filter(|input| input.distribution != Distribution::Exact);
    varies.map(|input| input.name.as_str()).collect()
}

/// How far a value is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// Down to the formulas of the model.
    Formulas,
    /// Down to the figures, each of which has one value in a formula.
    Figures,
}

/// Whether the formula is one of the model, and not made of them. Sums of other costs than time count as such, too,
/// because they consist of calls in either case.
fn is_written(network: &Network, definition: &Definition) -> bool {
    network.definition(&definition.name).expect(NETWORK).1 || is_other_cost(&definition.name)
}

/// The parts of some values with figures that vary, by their names.
fn parts<'n>(
    network: &'n Network,
    values: &[&'n str],
    depth: Depth,
) -> BTreeMap<&'n str, Part<'n>> {
    let mut parts: BTreeMap<&str, Part<'_>> = BTreeMap::new();
    for value in values {
        parts.entry(value).or_default().calls = 1.0;
    }
    let uses_of = |definition: &'n Definition| {
        let formula = &definition.expression;
        // A figure has one value in a formula of the model, but sums of operations are sums of calls.
        let is_of_calls = !is_written(network, definition)
            || formula.names().all(|(name, _)| network.definition(name).is_some());
        let uses = uses(network, definition).filter(|_| is_of_calls);
        match depth {
            Depth::Formulas => uses,
            Depth::Figures => uses.or_else(|| Some(names(network, definition))),
        }
    };
    // Each definition is behind those that it depends on.
    for definition in network.definitions().iter().rev() {
        let name = definition.name.as_str();
        if !parts.contains_key(name) {
            continue;
        }
        let Some(uses) = uses_of(definition) else { continue };
        let caller = parts.remove(name).expect("it was found");
        for used in uses {
            let part = parts.entry(used.name).or_default();
            if caller.calls > 0.0 && used.times > 0.0 {
                part.calls += caller.calls * used.times;
            }
            part.is_beside |= caller.is_beside || used.is_beside;
            part.is_count |= caller.is_count || used.is_count;
            part.counts.extend(caller.counts.iter().chain(&used.counts));
        }
    }
    for (name, part) in &mut parts {
        part.figures = varying(network, name);
    }
    parts.retain(|_, part| part.calls > 0.0 && !part.figures.is_empty());
    parts
}

/// The names in a formula of which a figure has one value there. A request to a cache is one for each chunk.
fn names<'n>(network: &'n Network, definition: &'n Definition) -> Vec<Use<'n>> {
    let formula = &definition.expression;
    if is_written(network, definition) {
        let is_call = |name: &str| network.definition(name).is_some();
        let is_of_calls = formula.names().any(|(name, _)| is_call(name));
        let found = if is_of_calls { uses(network, definition) } else { None };
        let mut names: Vec<Use<'_>> = Vec::new();
        for used in found.unwrap_or_else(|| other_uses(network, formula)) {
            match names.iter_mut().find(|one| one.name == used.name) {
                Some(figure) if !is_call(used.name) => {
                    figure.is_beside |= used.is_beside;
                    figure.is_count |= used.is_count;
                    figure.counts.extend(used.counts);
                }
                None if !is_call(used.name) => names.push(Use { times: 1.0, ..used }),
                _ => names.push(used),
            }
        }
        return names;
    }
    let names: BTreeSet<&str> = formula.names().map(|(name, _)| name).collect();
    let chunks = names.iter().find(|name| name.ends_with(CHUNKS));
    let times = chunks.map_or(1.0, |chunks| whole(network.greatest(chunks).expect(NETWORK)));
    names.into_iter().map(|name| Use { times, ..Use::once(name) }).collect()
}

/// The names in a formula of any form. A factor of an operation can be a number of its calls, and operations in other
/// functions than sums, extremes, absolute and rounded values can have any number of calls.
fn other_uses<'n>(network: &'n Network, formula: &'n Expression) -> Vec<Use<'n>> {
    /// An operand: its operations, each with its factor, and its range.
    struct Operand<'n>(Vec<(&'n str, f64)>, Interval);
    let greatest = |range: Interval| range.low.abs().max(range.high.abs());
    let mut uses = Vec::new();
    let mut stack: Vec<Operand<'_>> = Vec::new();
    for step in formula.steps() {
        let operand = match &step.operation {
            Operation::Constant(constant) => {
                Operand(Vec::new(), Interval::constant(constant.value))
            }
            Operation::Phase => Operand(Vec::new(), Interval { low: 0.0, high: 1.0 }),
            Operation::Name(name) => {
                let range = network.range(name).expect(NETWORK);
                if network.definition(name).is_some() {
                    Operand(vec![(name, 1.0)], range)
                } else {
                    uses.push(Use::once(name));
                    Operand(Vec::new(), range)
                }
            }
            Operation::Apply(function) => {
                let b = stack.pop().expect(OPERANDS);
                let no_operand = Operand(Vec::new(), b.1);
                let a =
                    if function.is_binary() { stack.pop().expect(OPERANDS) } else { no_operand };
                let range = Interval::apply(*function, &a.1, &b.1);
                let factor = match function {
                    Function::Multiply if a.0.is_empty() => greatest(a.1),
                    Function::Multiply if b.0.is_empty() => greatest(b.1),
                    Function::Divide if b.0.is_empty() => {
                        let one = Interval::constant(1.0);
                        greatest(Interval::apply(*function, &one, &b.1))
                    }
                    Function::Add
                    | Function::Subtract
                    | Function::Minimum
                    | Function::Maximum
                    | Function::Negate
                    | Function::Absolute
                    | Function::Ceiling
                    | Function::Floor
                    | Function::Round => 1.0,
                    _ => f64::INFINITY,
                };
                let called = a.0.into_iter().chain(b.0);
                Operand(called.map(|(name, times)| (name, times * factor)).collect(), range)
            }
        };
        stack.push(operand);
    }
    let called = stack.pop().map_or_else(Vec::new, |Operand(called, _)| called);
    let use_of = |(name, times)| Use { times: whole(times), is_beside: true, ..Use::once(name) };
    uses.extend(called.into_iter().map(use_of));
    uses
}

/// Whether no run need have a number of calls in this range: no whole number lies within, and not both ends are whole.
/// From 0 to 0.1 and from 1 to 1.1 are means, as 0.05 is.
pub(super) fn is_mean(Interval { low, high }: Interval) -> bool {
    const ROUNDED: f64 = 1e-9;
    let [below, above] = [low, high].map(|end| end.abs() * ROUNDED);
    let whole = (high + above).floor() - (low - below).ceil() + 1.0;
    let is_within = (low + below).floor() + 1.0 < high - above;
    let is_one = high - low <= above;
    whole < 1.0 || whole < 2.0 && !is_within && !is_one
}

/// A number of calls or a formula of the model with each uncertain number of calls rounded, and each factor of an
/// operation that is not whole, so that a time which moves with it in the direction `trend` is not less; `None` if
/// there is none.
pub(super) fn with_whole_calls(
    network: &Network,
    definition: &Definition,
    trend: Trend,
    ranges: &Ranges<'_>,
) -> Option<WholeCalls> {
    let (name, formula) = (&definition.name, &definition.expression);
    let is_uncertain = |Interval { low, high }: Interval| low < high;
    if counted_by(name).is_some() && is_number(network, name) {
        let range = network.interval(name).expect(NETWORK);
        return is_uncertain(range).then(|| formula.clone().with_whole_result(trend));
    }
    let is_operation = |name: &str| {
        network.definition(name).is_some_and(|(_, is_written)| !is_written)
            && !is_number(network, name)
    };
    let range = |name: &str| network.interval(name).expect(NETWORK);
    let is_whole = |range: Interval| !is_uncertain(range) && !is_mean(range);
    if !is_written(network, definition) {
        return None;
    }
    let (_, is_physical) = network.definition(name).expect(NETWORK);
    let trends = formula.trends(&|name| ranges.of(name), is_physical);
    let trends = trends.into_iter().map(|inner| trend.of(inner)).collect();
    formula.with_whole_factors(trends, &is_operation, &range, &is_whole)
}

/// A name in a formula made of calls.
struct Use<'n> {
    name: &'n str,
    /// The greatest number of calls, rounded up: the last one may be a part of a call.
    times: f64,
    is_beside: bool,
    is_count: bool,
    counts: Vec<&'n str>,
}

impl<'n> Use<'n> {
    fn once(name: &'n str) -> Self {
        Self { name, times: 1.0, is_beside: false, is_count: false, counts: Vec::new() }
    }
}

/// The names in a formula of sums, products with a number of calls, and maxima; `None` if it is another one.
fn uses<'n>(network: &'n Network, definition: &'n Definition) -> Option<Vec<Use<'n>>> {
    /// An operand: its names, its value if it is a constant, and the number if it is one without anything else.
    struct Operand<'n>(Vec<Use<'n>>, Option<f64>, Option<&'n str>);
    let may_be_negative = is_other_cost(&definition.name);
    let mut stack: Vec<Operand<'_>> = Vec::new();
    for step in definition.expression.steps() {
        let operand = match &step.operation {
            Operation::Constant(constant) => Operand(Vec::new(), Some(constant.value), None),
            Operation::Name(name) => {
                Operand(vec![Use::once(name)], None, is_number(network, name).then_some(name))
            }
            Operation::Phase => return None,
            Operation::Apply(function) if !function.is_binary() => return None,
            Operation::Apply(function) => {
                let Operand(mut b, of_b, number_b) = stack.pop().expect(OPERANDS);
                let Operand(mut a, of_a, number_a) = stack.pop().expect(OPERANDS);
                match function {
                    Function::Add => {}
                    Function::Multiply => {
                        let is_b = of_b.is_some() || of_a.is_none() && number_a.is_none();
                        let (count, of_count, number, called) = match is_b {
                            true => (&mut b, of_b, number_b, &mut a),
                            false => (&mut a, of_a, number_a, &mut b),
                        };
                        let times = match (of_count, number) {
                            (Some(times), _) => times,
                            (None, Some(number)) => {
                                count.iter_mut().for_each(|count| count.is_count = true);
                                called.iter_mut().for_each(|used| used.counts.push(number));
                                network.greatest(number).expect(NETWORK)
                            }
                            (None, None) => return None,
                        };
                        called.iter_mut().for_each(|used| used.times *= whole(times));
                    }
                    // No time is less than 0.
                    Function::Maximum
                        if !may_be_negative && (of_a == Some(0.0) || of_b == Some(0.0)) => {}
                    Function::Maximum => {
                        a.iter_mut().chain(&mut b).for_each(|used| used.is_beside = true);
                    }
                    _ => return None,
                }
                a.append(&mut b);
                let of_both = of_a.zip(of_b).map(|(a, b)| f64::apply(*function, &a, &b));
                Operand(a, of_both, None)
            }
        };
        stack.push(operand);
    }
    stack.pop().map(|Operand(uses, ..)| uses)
}

fn is_number(network: &Network, name: &str) -> bool {
    network.dimension(name).expect(NETWORK) == Dimension::NONE
}

/// The number of calls of which the last one may be a part; infinite if it has no bound.
fn whole(times: f64) -> f64 {
    const ROUNDED: f64 = 1e-9;
    if times.is_finite() { (times - times.abs() * ROUNDED).ceil().max(0.0) } else { f64::INFINITY }
}

/// The figures that vary in more than one call, each with the number of these calls.
fn repeated<'n>(parts: &BTreeMap<&'n str, Part<'n>>) -> BTreeMap<&'n str, f64> {
    let mut calls: BTreeMap<&str, f64> = BTreeMap::new();
    for part in parts.values() {
        for figure in &part.figures {
            *calls.entry(figure).or_default() += part.calls;
        }
    }
    calls.retain(|_, calls| *calls > 1.0);
    calls
}

/// The bounds that hold if these figures differ from call to call.
fn repeats(
    network: &Network,
    parts: &BTreeMap<&str, Part<'_>>,
    repeated: &BTreeMap<&str, f64>,
    nested: &Nested<'_>,
    of_limit: &BTreeSet<&str>,
) -> Repeats {
    let is_beside = parts.values().any(|part| {
        part.is_beside && part.figures.iter().any(|figure| repeated.contains_key(figure))
    });
    let linked = linked(network, parts, of_limit);
    let has_counts = parts.values().any(|part| {
        part.is_count || part.counts.iter().any(|count| !varying(network, count).is_empty())
    });
    let is_linked = linked && repeated.keys().any(|figure| network.is_correlated(figure));
    let mut is_known = nested.figures.is_empty()
        && !is_linked
        && repeated.iter().all(|(figure, calls)| calls.is_finite() && !of_limit.contains(figure));
    let mut is_product = false;
    let mut choices = 1.0;
    let mut shared: BTreeSet<&str> = BTreeSet::new();
    for (figure, calls) in repeated {
        let with: Vec<&str> = parts
            .iter()
            .filter(|(_, part)| part.figures.contains(figure))
            .map(|(name, _)| *name)
            .collect();
        if with.len() == 1 {
            continue;
        }
        shared.insert(figure);
        choices *= calls;
        is_product |= with.iter().any(|name| parts[name].is_counted_with(network, figure));
        is_known = is_known && network.is_one_way(&with, figure).expect(NETWORK);
    }
    // Calls of one part, of which each sample has the figures together. Where they add up, those of several parts need
    // no more choices than the steps between their shares of a whole.
    let mut steps = 1.0;
    for part in parts.values().filter(|part| part.calls > 1.0) {
        if part.figures.iter().all(|figure| shared.contains(figure)) {
            continue;
        }
        match part.is_beside || part.is_count {
            true => choices *= part.calls,
            false => steps += part.calls - 1.0,
        }
    }
    Repeats {
        choices: if is_known { choices * steps } else { f64::INFINITY },
        is_at_most_as_long: is_known && !is_beside,
        is_at_most_as_short: is_known && !is_beside && !is_product,
        has_same_mean: !(is_beside
            || is_product
            || nested.has_other_mean
            || is_linked && has_counts),
    }
}

/// Whether figures that vary together are in more than one part, or in the limit.
fn linked(network: &Network, parts: &BTreeMap<&str, Part<'_>>, of_limit: &BTreeSet<&str>) -> bool {
    let has_any =
        |figures: &BTreeSet<&str>| figures.iter().any(|figure| network.is_correlated(figure));
    let places = parts.values().filter(|part| has_any(&part.figures)).count();
    places + usize::from(has_any(of_limit)) > 1
}

/// Whether a formula has the same mean however the calls of its operations differ in their `repeated` figures: it is
/// linear in them, and nothing that it multiplies them by varies with these figures.
fn is_linear(network: &Network, formula: &Expression, repeated: &BTreeMap<&str, f64>) -> bool {
    if repeated.is_empty() {
        return true;
    }
    let is_repeated = |name: &str| repeated.contains_key(name);
    // For each operand, whether an operation is in it.
    let mut stack: Vec<bool> = Vec::new();
    for step in formula.steps() {
        let is_called = match &step.operation {
            Operation::Constant(_) | Operation::Phase => false,
            Operation::Name(name) => network.definition(name).is_some(),
            Operation::Apply(function) => {
                let b = stack.pop().expect(OPERANDS);
                let a = if function.is_binary() { stack.pop().expect(OPERANDS) } else { false };
                let is_linear = match function {
                    Function::Add | Function::Subtract | Function::Negate => true,
                    Function::Multiply => !(a && b),
                    Function::Divide => !b,
                    _ => !(a || b),
                };
                if !is_linear {
                    return false;
                }
                a || b
            }
        };
        stack.push(is_called);
    }
    !formula.names().any(|(name, _)| is_repeated(name))
        && !repeated.keys().any(|figure| network.is_correlated(figure))
}

/// The figures that vary in more than one call of the operations that formulas of parts name. They have one value in
/// a sample, and the formula can have any form.
struct Nested<'n> {
    figures: BTreeSet<&'n str>,
    /// Whether the mean depends on how these calls differ. A request to a cache is linear in its times, so its mean
    /// does not if they are sums of calls.
    has_other_mean: bool,
}

impl<'n> Nested<'n> {
    fn of(network: &'n Network, parts_: &BTreeMap<&'n str, Part<'n>>) -> Self {
        let mut nested = Self { figures: BTreeSet::new(), has_other_mean: false };
        for (definition, _) in parts_.keys().filter_map(|part| network.definition(part)) {
            if definition.expression.names().all(|(name, _)| network.definition(name).is_none()) {
                continue;
            }
            let inner = parts(network, &[&definition.name], Depth::Figures);
            let of_inner = repeated(&inner);
            let has_other_mean = |part: &Part<'_>| {
                let mut figures = part.figures.iter().filter(|one| of_inner.contains_key(*one));
                figures.any(|figure| part.is_beside || part.is_counted_with(network, figure))
            };
            let formula = &definition.expression;
            nested.has_other_mean |= match is_written(network, definition) {
                // The mean of a linear formula is known if those of its operations are.
                true if is_linear(network, formula, &of_inner) => {
                    let names = formula.names().map(|(name, _)| name);
                    let called = names.filter(|name| network.definition(name).is_some());
                    let called: Vec<&str> = called.collect();
                    parts(network, &called, Depth::Figures).values().any(has_other_mean)
                }
                true => true,
                false => inner.values().any(has_other_mean),
            };
            nested.figures.extend(of_inner.into_keys());
        }
        nested
    }

    /// Adds the figures of a limit that vary in more than one call there.
    fn add_limit(&mut self, network: &'n Network, limit: &'n str) {
        let repeated = repeated(&parts(network, &[limit], Depth::Figures));
        self.has_other_mean |= !repeated.is_empty();
        self.figures.extend(repeated.into_keys());
    }
}
