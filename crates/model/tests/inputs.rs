//! The values that inputs of a model can have: bounds, readings, and waits for a tick.

use hemiola_diagnostic::render;
use hemiola_model::file;
use hemiola_model::summary::{Summary, analyze};
use hemiola_units::Random;

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

/// The share of waits for the next of the ticks at whole multiples of each period, in a row, that are up to `limit`:
/// a value appears, and each task in turn takes it over at its next tick.
fn simulated(periods: &[f64], limit: f64) -> f64 {
    const VALUES: u32 = 400_000;
    let mut random = Random::from_seed(7);
    let mut within = 0;
    for _ in 0..VALUES {
        // The tasks have no common origin.
        let start = random.between(0.0, 1e6);
        let mut now = start;
        for period in periods {
            let origin = random.between(0.0, 1e6);
            now = origin + ((now - origin) / period).ceil() * period;
        }
        within += u32::from(now - start <= limit);
    }
    f64::from(within) / f64::from(VALUES)
}

#[test]
fn a_value_waits_for_the_next_tick_of_a_period_as_in_a_simulation() {
    for (periods, limits) in [
        (&[10.0][..], [1.0, 5.0, 9.5]),
        (&[10.0, 4.0], [2.0, 7.0, 12.0]),
        (&[5.0, 5.0, 5.0], [3.0, 8.0, 13.0]),
    ] {
        let cost: Vec<String> =
            periods.iter().map(|period| format!("periodic({period} ms)")).collect();
        for limit in limits {
            let deadline = format!("deadline = \"{limit} ms\"");
            let summary = model(&one("value = \"1 ms\"", &cost.join(" + "), &deadline));
            let (found, expected) = (kept(&summary), simulated(periods, limit));
            assert!((found - expected).abs() < 0.006, "{periods:?} {limit}: {found} {expected}");
        }
    }
}

#[test]
fn the_wait_for_a_tick_has_the_moments_of_a_uniform_distribution() {
    // A period that varies, and two places with waits of their own.
    let source = "title = \"t\"\n[components.a.operations]\n\
        read = { cost = \"periodic(12 ms)\" }\nlook = { cost = \"1 ms + periodic(6 ms)\" }\n\
        [chains.c]\ncalls = [{ to = \"a.read\" }, { to = \"a.look\" }]\n\
        [chains.twice]\ncalls = [{ to = \"a.read\", times = 2 }]\n";
    let summary = model(source);
    let [cost, twice] = [&summary.chains[0].cost, &summary.chains[1].cost];
    assert_eq!(cost.first_order.nominal_ns, 10e6);
    let std = (144e12_f64 / 12.0 + 36e12 / 12.0).sqrt();
    for found in [cost.first_order.std_ns, cost.monte_carlo.std_ns] {
        assert!((found / std - 1.0).abs() < 0.01, "{found} {std}");
    }
    assert_eq!((cost.interval.low_ns, cost.interval.high_ns), (Some(1e6), Some(19e6)));
    // The same operation waits equally long.
    assert!((twice.monte_carlo.high_ns - 2.0 * 0.975 * 12e6).abs() < 0.1e6, "{twice:?}");
    assert_eq!(cost.tornado[0].input, "a.read.own.phase_0");
}

#[test]
fn a_periodic_wait_has_one_period_that_is_not_negative() {
    let text = refused(&one("value = \"1 ms\"", "periodic(x, x)", ""));
    assert!(text.contains("periodic takes one argument: the period, found 2"), "{text}");
    let text = refused(&one("value = \"1 ms\"", "5 ms + periodic(x - 2 ms)", ""));
    assert!(
        text.contains("`x - 2 ms` is negative here") && text.contains("model.toml:7:51"),
        "{text}"
    );
    let text = refused(&one("value = \"periodic(1 ms)\"", "x", ""));
    assert!(text.contains("a wait for a tick has no single value"), "{text}");
    let text = refused(&one("value = \"1 ms\"", "periodic(3 MiB)", ""));
    assert!(text.contains("expected time"), "{text}");
}
