//! The record of a variant before it has run: its processes, what it can do, how much code it is made of.

use hemiola_scenario::{Plan, Process, Variant};
use hemiola_trace::result::{DecisionRecord, ProcessRecord, VariantRecord};
use hemiola_units::{Delivery, Endpoint};

use crate::tasks::{Described, TaskKind, kind, unit};

const CARD: &str = include_str!("../card.rs");
const IO: &str = include_str!("../io.rs");
const SHARED_MEMORY: &str = include_str!("../../../bus/src/shared_memory.rs");
const MESSAGE_QUEUE: &str = include_str!("../../../bus/src/mqueue.rs");
const PUBSUB: &str = include_str!("../../../bus/src/pubsub.rs");

pub(crate) fn describe(plan: &Plan, variant: &Variant) -> VariantRecord {
    let process = |process: &Process, kind: &TaskKind| ProcessRecord {
        name: process.name.clone(),
        role: kind.role,
        in_cycle: kind.is_in_cycle,
        asked: process.profile.clone(),
    };
    let processes = variant.processes.iter().map(|p| process(p, kind(&p.task)));
    let units = variant.units.iter().filter_map(|unit| {
        Some(process(&unit::process(variant, unit)?, unit::kind(&unit.program)?))
    });
    let hand_overs = variant.hand_overs();
    let mut record = VariantRecord {
        name: variant.name.clone(),
        description: variant.description.clone(),
        period: variant.rate.period(),
        hand_overs: hand_overs.down + hand_overs.up,
        hand_overs_up: hand_overs.up,
        hand_over_mechanism: hand_overs.mechanism.to_owned(),
        chain_ns: Vec::new(),
        lines_of_code: lines_of_code(variant),
        features: Vec::new(),
        processes: processes.chain(units).collect(),
        runs: Vec::new(),
        mixed: None,
        federation: None,
        decision: variant.decision.as_ref().map(|rule| DecisionRecord {
            accept_below: rule.accept_below,
            return_below: rule.return_below,
        }),
    };
    for process in &variant.processes {
        (kind(&process.task).describe)(Described { plan, variant, process }, &mut record);
    }
    let mut add = |feature: &str| {
        if !record.features.iter().any(|known| known == feature) {
            record.features.push(feature.to_owned());
        }
    };
    for channel in &variant.channels {
        if matches!(channel.delivery, Delivery::Queue(_)) {
            add("ordered events");
        }
        if matches!(channel.endpoint, Endpoint::PubSub(_)) {
            add("unknown receivers");
        }
    }
    record
}

/// The lines of code of the variant's program, the report's "lines of source code".
///
/// These are the files written for the program, as they stand in this build, with comments and without blank lines;
/// like the report, without the parts that every program shares (the plant, this runner). Tests at the end of a file
/// are left out.
fn lines_of_code(variant: &Variant) -> u32 {
    let processes = variant.processes.iter();
    let mut parts: Vec<&str> =
        processes.flat_map(|process| kind(&process.task).sources).copied().collect();
    if !parts.is_empty() {
        parts.extend([CARD, IO]);
    }
    parts.extend(variant.channels.iter().filter_map(|channel| match channel.endpoint {
        Endpoint::Local(_) => None,
        Endpoint::SharedMemory(_) => Some(SHARED_MEMORY),
        Endpoint::MessageQueue(_) => Some(MESSAGE_QUEUE),
        Endpoint::PubSub(_) => Some(PUBSUB),
    }));
    parts.sort_unstable();
    parts.dedup();
    parts.into_iter().map(lines).sum()
}

/// Lines that are not blank, up to the tests.
fn lines(source: &str) -> u32 {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim().is_empty()).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_and_tests_do_not_count() {
        assert_eq!(lines("//! One.\n\nfn two() {}\n  \n#[cfg(test)]\nmod tests {}\n"), 2);
    }
}
