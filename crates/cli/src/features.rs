//! The test that demonstrates each feature ticked in the feature table.

use std::collections::BTreeMap;

/// Feature, package and test.
const TESTS: [(&str, &str, &str); 8] = [
    (
        "separate processes",
        "hemiola",
        "ladder::every_variant_balances_the_pendulum_in_processes_of_its_own",
    ),
    ("data integrity", "hemiola-bus", "shm_latest::torn_messages_are_never_seen"),
    ("ordered events", "hemiola-bus", "mq_queue::queue_keeps_order"),
    ("unknown receivers", "hemiola-bus", "pubsub_latest::every_receiver_gets_the_newest"),
    (
        "safety checking and recovery",
        "hemiola",
        "campaign::no_process_fault_loses_the_pendulum_behind_the_decision_module",
    ),
    (
        "analytic redundancy",
        "hemiola-simplex",
        "decision::a_unit_with_too_many_strikes_retires_and_its_predecessor_takes_over",
    ),
    (
        "sandboxed units",
        "hemiola --features sandbox",
        "sandboxed::a_hostile_module_in_shadow_fails_alone_and_by_its_name",
    ),
    (
        "live upgrade",
        "hemiola",
        "units::a_unit_written_in_c_takes_the_plant_over_and_gives_it_back",
    ),
];

/// The command that runs each feature's test.
pub(crate) fn tests() -> BTreeMap<String, String> {
    let command = |package: &str, test: &str| format!("cargo test -p {package} {test}");
    TESTS
        .iter()
        .map(|(feature, package, test)| ((*feature).to_owned(), command(package, test)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The source of each test module.
    const SOURCES: [(&str, &str); 8] = [
        ("ladder", include_str!("../tests/ladder.rs")),
        ("campaign", include_str!("../tests/campaign.rs")),
        ("units", include_str!("../tests/units.rs")),
        ("sandboxed", include_str!("../tests/sandboxed.rs")),
        ("decision", include_str!("../../simplex/tests/main/decision.rs")),
        ("shm_latest", include_str!("../../bus/src/conformance.rs")),
        ("mq_queue", include_str!("../../bus/src/conformance.rs")),
        ("pubsub_latest", include_str!("../../bus/src/conformance.rs")),
    ];

    #[test]
    fn every_feature_has_an_existing_test() {
        for (feature, _, test) in TESTS {
            let (module, function) = test.split_once("::").unwrap();
            let (_, source) = SOURCES.iter().find(|(known, _)| *known == module).unwrap();
            assert!(source.contains(&format!("fn {function}(")), "{feature}: no test {test}");
        }
    }
}
