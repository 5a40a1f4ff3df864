//! How many lines of code each program of the ladder is made of: the report's "lines of source code".
//!
//! Counted are the files written for the program, as they stand in this build, without blank lines; like
//! the report, with comments and without what every program shares (the plant, this runner). Tests at the
//! end of a file are left out.

use hemiola_scenario::{Task, Variant};
use hemiola_units::Endpoint;

const CARD: &str = include_str!("card.rs");
const IO: &str = include_str!("io.rs");
const TASK_MONOLITHIC: &str = include_str!("tasks/monolithic.rs");
const TASK_IO: &str = include_str!("tasks/io.rs");
const TASK_CONTROLLER: &str = include_str!("tasks/controller.rs");
const TASK_DECISION: &str = include_str!("tasks/decision.rs");
const STATUS: &str = include_str!("status.rs");
const UNITS: &str = include_str!("units.rs");
const SHARED_MEMORY: &str = include_str!("../../bus/src/shared_memory.rs");
const MESSAGE_QUEUE: &str = include_str!("../../bus/src/mqueue.rs");
const PUBSUB: &str = include_str!("../../bus/src/pubsub.rs");
const DECISION: [&str; 5] = [
    include_str!("../../simplex/src/decision.rs"),
    include_str!("../../simplex/src/performance.rs"),
    include_str!("../../simplex/src/region.rs"),
    include_str!("../../simplex/src/unit.rs"),
    include_str!("../../simplex/src/upgrade.rs"),
];

/// Lines of the parts this variant is made of.
pub(crate) fn lines_of_code(variant: &Variant) -> u32 {
    let mut parts: Vec<&str> = vec![CARD, IO];
    for process in &variant.processes {
        match &process.task {
            Task::Monolithic { .. } => parts.push(TASK_MONOLITHIC),
            Task::Io { .. } => parts.push(TASK_IO),
            Task::Controller { .. } => parts.push(TASK_CONTROLLER),
            Task::Decision => {
                parts.extend([TASK_DECISION, TASK_CONTROLLER, STATUS, UNITS, SHARED_MEMORY]);
                parts.extend(DECISION);
            }
            Task::Plant
            | Task::Workload { .. }
            | Task::Benchmark { .. }
            | Task::Command { .. }
            | Task::Rti { .. }
            | Task::Federate(_)
            | Task::Timer => {}
        }
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
