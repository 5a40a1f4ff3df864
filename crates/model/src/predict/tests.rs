//! Predictions of the pendulum ladder on a machine with round figures.

use hemiola_scenario::{Facts, Overrides, Plan, read};

use super::*;
use crate::machine::{FORMAT, Identity};

const LADDER: &str = include_str!("../../../../examples/1-pendulum-ladder/scenario.toml");

fn plan(source: &str, overrides: &Overrides) -> Plan {
    let facts = Facts {
        cpus_online: "0-1".parse().unwrap(),
        priority_max: 99,
        executable: &|_| true,
        module: None,
        universe: &|_| Ok(()),
    };
    read(source, &facts, overrides).unwrap()
}

fn figure(name: &str, value: f64) -> Figure {
    Figure {
        name: name.into(),
        value,
        unit: "ns".into(),
        low: 0.95 * value,
        high: 1.05 * value,
        std: 0.1 * value,
        systematic: 0.0,
        p99: 1.5 * value,
        samples: 100,
        blocks: 5,
        batch: 1,
        overhead: 0.0,
        circumstances: "made up".into(),
    }
}

/// Hand-overs at two rates and the other figures that a prediction needs.
fn machine() -> Machine {
    let mut figures = vec![
        figure("clock.fast_read", 10.0),
        figure("processor.instruction", 0.3),
        figure("memory.latency.l1", 1.0),
        figure("memory.latency.l2", 4.0),
        figure("memory.latency.l3", 15.0),
        figure("memory.latency.memory", 90.0),
        figure("context_switch.shared_memory.across.warm", 50.0),
    ];
    for mechanism in ["futex", "mq", "pubsub"] {
        let (cold, warm) = ((20_000.0, 5_000.0), (2_000.0, 2_000.0));
        let times = [("at_50Hz", cold), ("at_1kHz", (8_000.0, 3_000.0)), ("back_to_back", warm)];
        for (when, (down, up)) in times {
            figures.push(figure(&format!("hand_over.{mechanism}.down.{when}"), down));
            figures.push(figure(&format!("hand_over.{mechanism}.up.{when}"), up));
        }
    }
    Machine {
        format: FORMAT,
        measured_unix_s: 0,
        identity: Identity {
            cpu_model: "x".into(),
            cpus_online: 2,
            kernel: "k".into(),
            virtualized: None,
        },
        disturbance: None,
        meanwhile: None,
        figures,
    }
}

#[test]
fn the_parts_of_a_cycle_add_up_and_the_range_contains_the_sum() {
    let predictions = predict(&plan(LADDER, &Overrides::default()), &machine()).unwrap();
    assert_eq!(predictions.len(), 7);
    for prediction in &predictions {
        let sum: f64 = prediction.parts.iter().map(|part| part.time.expected).sum();
        let cycle = prediction.cycle;
        assert!((sum - cycle.expected).abs() < 1e-6 * sum, "{prediction:?}");
        assert!(cycle.low < cycle.expected && cycle.expected < cycle.high, "{prediction:?}");
        assert!(!prediction.contributions.is_empty());
    }
    let [monolithic, memory, .., simplex] = &predictions[..] else { panic!("seven programs") };
    assert!(monolithic.parts.iter().all(|part| matches!(part.kind, PartKind::Work(_))));
    assert_eq!(memory.parts[0].kind, PartKind::Down);
    assert_eq!(memory.parts[0].formula, "hand_over.futex.down.at_50Hz");
    let near = |part: &Part, expected: f64| (part.time.expected / expected - 1.0).abs() < 0.01;
    assert!(near(&memory.parts[0], 20_000.0));
    let kinds: Vec<String> = simplex.parts.iter().map(|part| part.kind.title()).collect();
    assert_eq!(
        kinds,
        [
            "hand-overs down",
            "hand-overs up",
            "work in io",
            "work in decision",
            "work in experimental",
            "work in baseline",
            "work in published-safety"
        ]
    );
    // Down: one cold, two between cold and warm. Up: two.
    assert!(near(&simplex.parts[0], 42_000.0) && near(&simplex.parts[1], 10_000.0));
}

#[test]
fn conversions_and_the_rate_of_the_run_count() {
    let time = |overrides: &Overrides| {
        predict(&plan(LADDER, overrides), &machine()).unwrap()[1].cycle.expected
    };
    let usual = time(&Overrides::default());
    let conversion_time = Some("29us".parse().unwrap());
    let slow = time(&Overrides { conversion_time, ..Overrides::default() });
    assert!((slow - usual - 87_000.0).abs() < 200.0, "{usual} {slow}");
    // 400 Hz is nearer to 1 kHz than to 50 Hz.
    let rate = Some("400Hz".parse().unwrap());
    let fast = time(&Overrides { rate, ..Overrides::default() });
    assert!((usual - fast - 12_000.0).abs() < 200.0, "{usual} {fast}");
}

#[test]
fn a_missing_figure_is_named_with_the_command_that_measures_all() {
    let mut machine = machine();
    machine.figures.retain(|figure| !figure.name.starts_with("hand_over.mq"));
    let error = predict(&plan(LADDER, &Overrides::default()), &machine).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the machine has no figure hand_over.mq.down.at_…; a prediction needs those of a complete `hemiola measure`, \
         without --quick and --only"
    );
}

#[test]
fn a_machine_without_a_third_cache_level_uses_the_next_one() {
    let mut machine = machine();
    machine.figures.retain(|figure| figure.name != "memory.latency.l3");
    assert!(predict(&plan(LADDER, &Overrides::default()), &machine).is_ok());
}

#[test]
fn impossible_figures_are_rejected() {
    let mut machine = machine();
    machine.figures[1].value = 0.0;
    let error = predict(&plan(LADDER, &Overrides::default()), &machine).unwrap_err();
    assert!(error.to_string().contains("processor.instruction = 0 ns"), "{error}");
}
