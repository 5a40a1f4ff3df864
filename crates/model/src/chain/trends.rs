//! The direction in which a value moves with each name behind it.
//!
//! A name stands for all its calls, each of which can have another value. So the value moves with a name in a direction
//! only if it does at each place of the name.

use std::collections::BTreeMap;

use super::NETWORK;
use crate::expression::{Interval, Operation, Trend};
use crate::uncertain::Network;

/// The values that names can have: those of formulas of the model are never negative.
pub(super) struct Ranges<'n>(BTreeMap<&'n str, Interval>);

impl<'n> Ranges<'n> {
    /// Those of the names behind some values.
    pub(super) fn of_values(network: &'n Network, values: &[&str]) -> Self {
        let mut ranges = BTreeMap::new();
        for value in values {
            for input in network.inputs_of(value).expect(NETWORK) {
                let name = input.name.as_str();
                ranges.insert(name, network.range(name).expect(NETWORK));
            }
            for definition in network.definitions_of(value).expect(NETWORK) {
                let name = definition.name.as_str();
                let (_, is_physical) = network.definition(name).expect(NETWORK);
                let mut found = definition.expression.evaluate(&ranges).expect(NETWORK);
                if is_physical {
                    found = Interval { low: found.low.max(0.0), high: found.high.max(0.0) };
                }
                ranges.insert(name, found);
            }
        }
        Self(ranges)
    }

    /// That of a name.
    pub(super) fn of(&self, name: &str) -> Interval {
        self.0.get(name).copied().unwrap_or(Interval::ALL)
    }
}

/// The direction in which a time moves with each name behind some values, if it moves with the values in the given
/// directions. The formulas behind `leaf` do not count.
pub(super) fn trends<'n>(
    network: &'n Network,
    values: &[(&'n str, Trend)],
    ranges: &Ranges<'_>,
    leaf: Option<&str>,
) -> BTreeMap<&'n str, Trend> {
    let mut found: BTreeMap<&str, Trend> = values.iter().copied().collect();
    // Each definition is behind those that it depends on.
    for definition in network.definitions().iter().rev() {
        let name = definition.name.as_str();
        let Some(trend) = found.get(name).copied().filter(|_| leaf != Some(name)) else { continue };
        let (_, is_physical) = network.definition(name).expect(NETWORK);
        let formula = &definition.expression;
        let inner = formula.trends(&|name| ranges.of(name), is_physical);
        for (step, inner) in formula.steps().iter().zip(inner) {
            let Operation::Name(used) = &step.operation else { continue };
            let here = trend.of(inner);
            found.entry(used).and_modify(|known| *known = known.and(here)).or_insert(here);
        }
    }
    found
}
