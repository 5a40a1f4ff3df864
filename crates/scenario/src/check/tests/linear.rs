//! Custom linear plants, and what is wrong with them, each with one message.

use hemiola_plant::Model as Plant;

use super::*;
use crate::Gain;

const TANKS: &str = include_str!("../../../../../examples/14-two-tanks/scenario.toml");

#[test]
fn the_tanks_take_the_place_of_the_pendulum() {
    let plan = plan(TANKS);
    let plant = plan.plant.unwrap();
    let Plant::Linear(tanks) = &plant.model else { panic!("{plant:?}") };
    assert_eq!(tanks.states, ["Upper, mm", "Lower, mm"]);
    assert_eq!(tanks.dynamics.a[1], [0.1, -0.1, 0.0, 0.0]);
    assert_eq!((tanks.measured, tanks.full_scale), ([0, 1], [75.0, 75.0]));
    assert_eq!(plant.start.to_array(), [20.0, -10.0, 0.0, 0.0]);
    assert_eq!(plant.wiring.metres_per_volt, 15.0);
    let decision = plan.variants[0].decision.as_ref().unwrap();
    assert_eq!(decision.plant, plant.model);
    assert_eq!(decision.safety, Gain([-0.05, -0.03, 0.0, 0.0]));
    assert_eq!((decision.region, decision.performance), (None, None));
    assert_eq!(plan.notes, Vec::<String>::new());
}

#[test]
fn a_stated_region_and_a_single_sensor_are_taken() {
    let edits = [
        ("measured = [\"Upper, mm\", \"Lower, mm\"]", "measured = [\"Lower, mm\"]"),
        ("full_scale = [75, 75]\n", ""),
        ("accept_below", "region = [[0.0005, 0.0001], [0.0001, 0.0005]]\naccept_below"),
    ];
    let source = edits.iter().fold(TANKS.to_owned(), |source, (from, to)| {
        assert!(source.contains(from));
        source.replacen(from, to, 1)
    });
    let plan = plan(&source);
    let Plant::Linear(tanks) = &plan.plant.as_ref().unwrap().model else { panic!() };
    assert_eq!((tanks.measured, tanks.full_scale), ([1, 1], [75.0, 75.0]));
    let region = plan.variants[0].decision.as_ref().unwrap().region.unwrap();
    assert_eq!(region.matrix()[0], [0.0005, 0.0001, 0.0, 0.0]);
    assert_eq!(region.matrix()[3], [0.0, 0.0, 0.0, 1.0]);
}

/// Each edit makes one mistake; its only message has these words, and the caret is under this text.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    ("[ 0.1, -0.1]", "[0.1]", "a row of a has 1 numbers, but the plant has 2 states", "[0.1]"),
    ("    [ 0.1, -0.1],\n", "", "a has 1 rows, but the plant has 2 states", "["),
    ("[ 0.1, -0.1]", "[\"x\", -0.1]", "a must be finite numbers here", "\"x\""),
    ("b = [3.0, 0.0]", "b = [3.0, nan]", "b must be finite numbers here", "nan"),
    ("b = [3.0, 0.0]", "b = [3.0]", "b has 1 numbers, but the plant has 2 states", "[3.0]"),
    ("b = [3.0, 0.0]     #", "#", "the linear plant needs \"b\"", "linear"),
    ("limits = [60, 60]", "limits = [60, 0]", "a limit is 0; it must be above zero", "[60, 0]"),
    ("limits = [60, 60]", "limits = []", "limits has 0 numbers here", "[]"),
    ("states = [\"Upper, mm\", \"Lower, mm\"]", "states = []", "the plant has 0 states", "[]"),
    (
        "\"Upper, mm\", \"Lower",
        "\"Upper, mm\", \"Upper",
        "\"Upper, mm\" a second time",
        "\"Upper, mm\"]",
    ),
    ("\"Upper, mm\", \"Lower", "\" \", \"Lower", "named \" \" without a letter", "\" \""),
    (
        "measured = [\"Upper, mm\", \"Lower, mm\"]",
        "measured = [\"Upper, mm\", \"Lover, mm\"]",
        "the plant has no state \"Lover, mm\"",
        "\"Lover, mm\"",
    ),
    (
        "measured = [\"Upper, mm\", \"Lower, mm\"]",
        "measured = []",
        "0 states are measured; the card has two A/D channels",
        "[]",
    ),
    ("[75, 75]", "[75]", "full_scale has 1 numbers, but 2 states are measured", "[75]"),
    ("[75, 75]", "[75, 59]", "full_scale is 59, below the limit of its state", "[75, 59]"),
    ("[75, 75]", "[75, 601]", "full_scale is 601, more than 10 times the limit", "[75, 601]"),
    ("[20, -10]", "[20, -60]", "\"Lower, mm\" starts at -60, but its limit is 60", "[20, -60]"),
    ("step = \"1ms\"", "model = \"ip01\"", "model belongs to the pendulum", "model"),
    ("step = \"1ms\"", "stiction = 0.1", "stiction belongs to the pendulum", "stiction"),
    (
        "[-0.1,  0.0]",
        "[-900,  0.0]",
        "the plant changes too fast for an integrator step",
        "\"1ms\"",
    ),
    ("safety = [-0.05, -0.03]", "safety = [-0.05]", "the gain has 1 numbers", "[-0.05]"),
    (
        "safety = [-0.05, -0.03]",
        "safety = \"lqr\"",
        "the gain \"lqr\" is one of the pendulum",
        "\"lqr\"",
    ),
    ("safety = [-0.05, -0.03]", "#", "a linear plant needs a safety controller", "decision"),
    ("gain = [-0.1, -0.08]", "gain = \"baseline\"", "is one of the pendulum", "\"baseline\""),
    ("safety = [-0.05, -0.03]", "safety = [0.2, 0]", "the region is not invariant", "[0.2, 0]"),
    ("strikes", "region = [[1, 0]]\nstrikes", "region has 1 rows", "[[1, 0]]"),
    (
        "strikes",
        "region = [[1, 2], [2, 1]]\nstrikes",
        "not symmetric and positive definite",
        "[[1, 2], [2, 1]]",
    ),
    (
        "strikes",
        "region = [[1e-4, 0], [0, 1e-4]]\nstrikes",
        "the controller requests up to 5.831 V, beyond 4.95",
        "[[1e-4, 0], [0, 1e-4]]",
    ),
    ("accept_below = 0.6", "accept_below = 1.0", "accepted at V = 1 and written", "1.0"),
];

#[test]
fn each_mistake_has_one_message_with_its_place() {
    let mut wrong = String::new();
    for (from, to, message, marked) in MISTAKES {
        let rendered = problems_of(TANKS, &[(from, to)]);
        let is_one = rendered.matches("error: ").count() == 1;
        if !is_one || !rendered.contains(message) || !marks(&rendered, marked) {
            wrong += &format!("for {to}: wanted {message} at {marked}\n{rendered}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Whether the first carets are under this text, or its beginning.
fn marks(rendered: &str, marked: &str) -> bool {
    let Some((above, _)) = rendered.split_once('^') else { return false };
    let line = above.lines().rev().nth(1).unwrap_or_default();
    let column = above.lines().last().unwrap_or_default().chars().count();
    line.chars().skip(column).collect::<String>().starts_with(marked)
}

/// The upper tank cannot be inferred from a sensor that does not show it when it does not drain into the lower one.
#[test]
fn a_plant_that_its_sensor_does_not_show_is_refused() {
    let edits = [
        ("[-0.1,  0.0]", "[ 0.1,  0.0]"),
        ("[ 0.1, -0.1]", "[ 0.0, -0.1]"),
        ("measured = [\"Upper, mm\", \"Lower, mm\"]", "measured = [\"Lower, mm\"]"),
        ("full_scale = [75, 75]", "full_scale = [75]"),
    ];
    let rendered = problems_of(TANKS, &edits);
    assert!(rendered.contains("what is measured does not show all of them"), "{rendered}");
    assert_eq!(rendered.matches("error: ").count(), 1, "{rendered}");
}

#[test]
fn gains_of_the_pendulum_still_have_four_numbers() {
    let rendered = problems_of(SIMPLEX, &[("\"experimental\"", "[1, 2]")]);
    assert!(rendered.contains("the gain has 2 numbers, but the plant has 4 states"), "{rendered}");
}

/// A whole period after the sample is too late for a pendulum at 50 Hz.
#[test]
fn a_pendulum_cannot_be_supervised_by_an_io_process_that_writes_first() {
    let edits = [("order = \"read-first\"\n", "")];
    insta::assert_snapshot!(problems_of(SIMPLEX, &edits), @r#"
    error: variant "simplex" cannot be supervised in cycles of 20ms: a command that is accepted at V = 0.6 and written 20ms after its sample may lead out of the region
     --> scenario.toml:5:2
      |
    5 | [decision]
      |  ^^^^^^^^
      = hint: keep accept_below at or below 0.21, and return_below too, or let io write sooner: order = "read-first" and command_within
    "#);
}

/// The sample is old before its conversions end, and a voltage leaves only when its own ends: 2 · 4 ms and 4 ms.
#[test]
fn conversions_count_as_latency() {
    let card = |time| format!("[card]\nconversion_time = \"{time}\"\n\n[decision]\n");
    let quick = SIMPLEX.replacen("[decision]\n", &card("1ms"), 1);
    assert_eq!(plan(&quick).card.conversion_time, Span::from_millis(1));
    insta::assert_snapshot!(problems_of(SIMPLEX, &[("[decision]\n", &card("4ms"))]), @r#"
    error: variant "simplex" cannot be supervised in cycles of 20ms: a command that is accepted at V = 0.6 and written 12ms after its sample may lead out of the region
     --> scenario.toml:8:2
      |
    8 | [decision]
      |  ^^^^^^^^
      = hint: keep accept_below at or below 0.46, or let io write sooner: order = "read-first" and command_within, and a shorter conversion_time
    "#);
}
