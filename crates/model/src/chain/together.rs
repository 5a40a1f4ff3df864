//! Figures of one recording that a chain takes as independent ones.

use super::NETWORK;
use super::definitions::chain_name;
use crate::file::{Chain, Model};
use crate::uncertain::{Distribution, Input, Network};

/// The note on the recorded figures of a chain, if there are several and no correlation says how they vary together.
pub(crate) fn note(network: &Network, model: &Model, chain: &Chain) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let inputs = network.inputs_of(&chain_name(&chain.name)).expect(NETWORK);
    for input in &inputs {
        add(model, input, &mut names);
    }
    if names.len() < 2 || names.iter().all(|name| network.is_correlated(name)) {
        return None;
    }
    Some(format!(
        "{}: {} were recorded together, but their times are drawn independently; if long times of one come with long \
         times of another, state a correlation, or record the time of the whole chain",
        chain.name,
        names.join(" and ")
    ))
}

/// Adds the names of an input and of the parts of a mixture that are recorded jobs.
fn add<'n>(model: &Model, input: &'n Input, names: &mut Vec<&'n str>) {
    let figure = model.figures.iter().find(|figure| figure.input.name == input.name);
    let taken = figure.and_then(|figure| figure.taken.as_ref());
    let is_recorded = taken.is_some_and(|taken| taken.jobs.is_some());
    if is_recorded && !names.contains(&input.name.as_str()) {
        names.push(&input.name);
    }
    if let Distribution::Mixture(parts) = &input.distribution {
        parts.iter().for_each(|(_, part)| add(model, part, names));
    }
}
