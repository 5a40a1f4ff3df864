//! The feature table's ticks, each with the test that shows it.

use std::collections::BTreeMap;

/// Feature → the test behind it, as `package: path`.
const TESTS: [(&str, &str); 7] = [
    (
        "separate processes",
        "hemiola: ladder::every_rung_balances_the_pendulum_in_processes_of_its_own",
    ),
    ("data integrity", "hemiola-bus: conformance, torn_messages_are_never_seen"),
    ("ordered events", "hemiola-bus: conformance, order"),
    ("unknown receivers", "hemiola-bus: conformance, several receivers"),
    (
        "safety checking and recovery",
        "hemiola: campaign::no_process_fault_loses_the_pendulum_behind_the_decision_module",
    ),
    ("analytic redundancy", "hemiola-simplex: upgrades roll back to the unit before"),
    ("live upgrade", "hemiola: units::a_unit_written_in_c_takes_the_plant_over_and_gives_it_back"),
];

pub(crate) fn tests() -> BTreeMap<String, String> {
    TESTS.iter().map(|(feature, test)| ((*feature).to_owned(), (*test).to_owned())).collect()
}
