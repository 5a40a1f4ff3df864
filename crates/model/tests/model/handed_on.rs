//! Figures that a model takes from the summary of another one.

use hemiola_model::file::Measurements;
use hemiola_model::summary::Summary;
use hemiola_model::uncertain::Verdict;
use hemiola_report::json::pretty;

use crate::{model, with};

/// The results of a model that takes figures from the results of another one.
fn after(upstream: &str, downstream: &str) -> Summary {
    let text = pretty(&model(upstream));
    let found = Measurements::of_summary(&text).unwrap();
    with(downstream, Some(&found))
}

/// The verdict on the mean of a chain of this cost within a deadline. Its figures `a` and `b` are chains of a model
/// with these costs over uniform `u` and a mixture `m`.
fn handed_on(costs: [&str; 2], cost: &str, deadline: &str) -> (Verdict, Summary) {
    let figure = |name: &str, keys: &str| {
        format!("{name} = {{ {keys}, source = \"guess\", reason = \"r\" }}\n")
    };
    let chain = |name: &str, cost: &str| {
        format!("[chains.{name}]\ncalls = [{{ name = \"s\", cost = \"{cost}\" }}]\n")
    };
    let upstream = [
        "title = \"up\"\n[figures]\n".to_owned(),
        figure("x", "value = \"1 ms\", systematic = \"0.5 ms\""),
        figure("u", "low = 0, high = 1"),
        figure("short", "value = \"1 ms\""),
        figure("long", "value = \"1 s\""),
        figure(
            "m",
            "mixture = [{ of = \"short\", share = 0.98 }, { of = \"long\", share = 0.02 }]",
        ),
        chain("a", costs[0]),
        chain("b", costs[1]),
    ];
    let downstream = [
        "title = \"down\"\n[figures]\n".to_owned(),
        figure("a", "value = \"1 ms\", measured = \"chain.a\""),
        figure("b", "value = \"2 ms\", measured = \"chain.b\""),
        chain("k", cost),
        format!("deadline = \"{deadline}\"\nof_mean = true\nprobability = \"60 %\"\n"),
    ];
    let summary = after(&upstream.concat(), &downstream.concat());
    (summary.chains[0].budget.lines[0].verdict.unwrap(), summary)
}

#[test]
fn an_offset_of_another_model_stays_an_offset() {
    // Up to 1.5 ms and 3 ms, for any number of runs.
    for (deadline, verdict) in [("4.2 ms", Verdict::Missed), ("4.6 ms", Verdict::Kept)] {
        let (found, summary) = handed_on(["x", "2 * x"], "a + b", deadline);
        assert_eq!(found, verdict, "{deadline}");
        assert!(summary.inputs[0].range.ends_with("known within 500 µs"), "{:?}", summary.inputs);
    }
}

#[test]
fn an_open_mean_of_another_model_stays_open() {
    let rare = "1 ms + 1000 s * floor(u + 1e-6)";
    for cost in [rare, "1 ms / u"] {
        let (found, summary) = handed_on([cost, "x"], "a", "100 s");
        assert_eq!(found, Verdict::Undecided, "{cost}");
        let problems = summary.problems.join("\n");
        assert!(
            problems.contains("the mean of a figure of another model is not known"),
            "{problems}"
        );
        assert!(summary.inputs[0].range.ends_with("whose mean is open"), "{:?}", summary.inputs);
    }
    assert_eq!(handed_on([rare, "x"], "b", "1.6 ms").0, Verdict::Kept);
}

#[test]
fn a_mean_beyond_the_middle_of_the_samples_of_another_model_is_taken() {
    // 98 % of 1 ms and 2 % of 1 s: 20.98 ms on average.
    for (deadline, verdict) in [("18 ms", Verdict::Missed), ("30 ms", Verdict::Kept)] {
        let (found, summary) = handed_on(["m", "x"], "a", deadline);
        assert_eq!(found, verdict, "{deadline} {:?}", summary.chains[0].budget.lines[0]);
        let mean = summary.chains[0].cost.monte_carlo.mean_ns;
        assert!((mean / 20.98e6 - 1.0).abs() < 0.1, "{mean}");
    }
}
