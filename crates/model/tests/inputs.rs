//! The values that inputs of a model can have: bounds, readings, and waits for a tick.

use hemiola_diagnostic::render;
use hemiola_model::file;
use hemiola_model::summary::{Summary, analyze};

/// The results of a model.
#[track_caller]
fn model(source: &str) -> Summary {
    match file::read(source, None) {
        Ok(model) => analyze(&model, None),
        Err(problems) => panic!("{}", render(&problems, source, "model.toml")),
    }
}

/// The rendered problems of a model that is refused.
#[track_caller]
fn refused(source: &str) -> String {
    let problems = file::read(source, None).expect_err("the model is refused");
    render(&problems, source, "model.toml")
}

/// A model with the figure `x` and one chain of one step.
fn one(figure: &str, cost: &str, chain: &str) -> String {
    format!(
        "title = \"t\"\n[figures.x]\n{figure}\nsource = \"guess\"\nreason = \"r\"\n\
         [chains.c]\ncalls = [{{ name = \"step\", cost = \"{cost}\" }}]\n{chain}\n"
    )
}

/// The share of samples that keep the deadline of the first chain.
fn kept(summary: &Summary) -> f64 {
    summary.chains[0].budget.lines[0].expected_margin.unwrap().probability.value
}

#[test]
fn a_stated_least_value_below_zero_holds() {
    // A normal difference of two clocks with a standard deviation of 2 ms is above −1 ms with 69.15 %.
    for least in
        ["at_least = \"-100 ms\"", "low = \"-3.92 ms\"\nhigh = \"3.92 ms\"\nat_least = \"-1 s\""]
    {
        let width = if least.starts_with("low") {
            "distribution = \"normal\""
        } else {
            "stochastic = \"2 ms\""
        };
        let figure = format!("value = \"0 ms\"\n{width}\n{least}");
        let found = kept(&model(&one(&figure, "10 ms - x", "deadline = \"11 ms\"")));
        assert!((found - 0.6915).abs() < 0.005, "{least}: {found}");
    }
    // Without the key, a duration of 0 ms has no negative values.
    let figure = "value = \"0 ms\"\nstochastic = \"2 ms\"";
    assert_eq!(kept(&model(&one(figure, "10 ms - x", "deadline = \"11 ms\""))), 1.0);
}

#[test]
fn readings_and_ends_beyond_the_bounds_of_a_figure_are_refused() {
    let figure = |keys: &str| one(keys, "x + 5 ms", "");
    let text = refused(&figure("readings = [\"1 ms\", \"-2 ms\", \"3 ms\"]"));
    assert!(text.contains("this reading is -2 ms; it must be at least 0 s"), "{text}");
    assert!(text.contains("model.toml:3:22") && text.contains("at_least"), "{text}");
    let text = refused(&figure("readings = [\"1 ms\", \"2 ms\", \"9 ms\"]\nat_most = \"8 ms\""));
    assert!(text.contains("this reading is 9 ms; it must be at most 8 ms"), "{text}");
    let text = refused(&figure("low = \"-1 ms\"\nhigh = \"3 ms\""));
    assert!(text.contains("its low end is -1 ms; it must be at least 0 s"), "{text}");
    // A difference can be negative, and all of its readings count.
    let readings = "readings = [\"1 ms\", \"-2 ms\", \"3 ms\"]\nat_least = \"-5 ms\"";
    let mean = model(&figure(readings)).chains[0].cost.monte_carlo.mean_ns;
    assert!((mean - (5e6 + 2e6 / 3.0)).abs() < 0.02e6, "{mean}");
    model(&figure("low = \"-1 ms\"\nhigh = \"3 ms\"\nat_least = \"0 s\""));
}
