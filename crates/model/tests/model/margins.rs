//! Verdicts and margins of models, judged by the whole distribution of a result.

use hemiola_model::cache::{Algorithm, Popularity, simulate};
use hemiola_model::export::page::page;
use hemiola_model::export::tables::tables;
use hemiola_model::file::{self, Measurements};
use hemiola_model::summary::analyze;
use hemiola_model::uncertain::Verdict;
use hemiola_units::Random;

use crate::{model, refused};

/// A model with one chain of one step, which costs the figure `x`.
fn one(figure: &str, chain: &str) -> String {
    format!(
        "title = \"t\"\n[figures.x]\n{figure}\nsource = \"guess\"\nreason = \"r\"\n\
         [chains.c]\ncalls = [{{ name = \"step\", cost = \"x\" }}]\n{chain}\n"
    )
}

/// The verdicts on these measured times of the step, which takes from 5 to 20 µs, most likely 6.
fn verdicts(measured: &[&str]) -> Vec<String> {
    let observations: String = measured
        .iter()
        .map(|value| {
            format!("[[chains.c.measured]]\ncircumstances = \"here\"\nvalue = \"{value}\"\n")
        })
        .collect();
    let figure = "value = \"6 us\"\nlow = \"5 us\"\nhigh = \"20 us\"";
    let summary = model(&one(figure, &observations));
    summary.chains[0].budget.held.iter().map(|held| held.verdict.clone()).collect()
}

#[test]
fn a_reading_is_judged_by_its_place_in_the_predicted_distribution() {
    let found = verdicts(&["17 us", "1 us", "5.5 us", "21 us"]);
    assert!(found[0].starts_with("inside the expected range"), "{found:?}");
    assert!(found[1].starts_with("shorter than expected"), "{found:?}");
    assert!(found[2].starts_with("inside the expected range"), "{found:?}");
    assert!(found[3].starts_with("longer than expected"), "{found:?}");
}

#[test]
fn the_distribution_of_a_chain_is_that_of_its_figure() {
    let of = |figure: &str| model(&one(figure, "")).chains[0].cost.distribution.clone();
    let steps = of("low = \"10 us\"\nhigh = \"20 us\"");
    assert!(steps.is_sorted_by(|a, b| a.time_ns < b.time_ns));
    for step in &steps {
        let expected = (step.time_ns - 10e3) / 10e3;
        let found = step.probability;
        assert!((found.value - expected).abs() < 0.01, "{step:?}");
        assert!(found.low <= found.value && found.value <= found.high, "{step:?}");
    }
    // An offset of the same size for all readings shifts it either way.
    let shifted = of("value = \"15 us\"\nstochastic = \"1 us\"\nsystematic = \"2 us\"");
    let middle = shifted[shifted.len() / 2].probability;
    assert!(middle.low < 0.03 && middle.high > 0.97, "{middle:?}");
    assert_eq!(of("value = \"15 us\""), []);
}

#[test]
fn a_sweep_has_the_cost_for_each_value() {
    let sweep = "deadline = \"25 us\"\n[[sweep]]\nfigure = \"x\"\nvalues = [\"5 us\", \"0.02 ms\", \"40 us\"]";
    let figure = "value = \"10 us\"\nstochastic = \"1 us\"";
    let summary = model(&one(figure, sweep));
    let steps = &summary.chains[0].sweeps[0].steps;
    let names: Vec<&str> = steps.iter().map(|step| step.cost.name.as_str()).collect();
    assert_eq!(names, ["5 µs", "20 µs", "40 µs"]);
    for (step, nominal) in steps.iter().zip([5e3, 20e3, 40e3]) {
        let cost = &step.cost.cost;
        // The range scales in proportion.
        assert!((cost.nominal_ns - nominal).abs() < 1e-6, "{cost:?}");
        assert!((cost.std_ns / nominal - 0.1).abs() < 0.01, "{cost:?}");
        assert!((step.value * 1e9 - nominal).abs() < 1e-6, "{step:?}");
    }
    let kept = steps.iter().map(|step| step.cost.deadline.as_ref().unwrap().verdict);
    assert_eq!(kept.collect::<Vec<_>>(), [Verdict::Kept, Verdict::Kept, Verdict::Missed]);
    let table = tables(&summary).into_iter().find(|table| table.title.starts_with("x: ")).unwrap();
    assert_eq!((table.rows.len(), table.rows[2][5].as_str()), (3, "missed"));
    let titles = page(&summary, "").figures.into_iter().map(|figure| figure.title);
    assert!(titles.filter(|title| title.starts_with("x: ")).count() == 1);
    for (sweep, message) in [
        ("[[sweep]]\nfigure = \"y\"\nvalues = [\"1 us\"]", "no figure is called"),
        ("[[sweep]]\nfigure = \"x\"\nvalues = [\"1 us\", \"1 MiB\"]", "but this is"),
        ("[[sweep]]\nfigure = \"x\"\nvalues = [\"1 us\", \"-1 us\"]", "in the sweep of"),
    ] {
        let text = refused(&one(figure, sweep));
        assert!(text.contains(message), "{sweep}: {text}");
    }
}

/// A model of 10 ms and as many milliseconds as `load`, which is 0 in the model.
fn loaded(figure: &str, rest: &str) -> String {
    format!(
        "title = \"t\"\n[figures]\nload = {{ {figure}, source = \"guess\", reason = \"r\" }}\n\
         [chains.c]\ncalls = [{{ name = \"m\", cost = \"10 ms + load * 1 ms\" }}]\n\
         deadline = \"15.2 ms\"\n{rest}"
    )
}

#[test]
fn a_figure_of_zero_keeps_the_width_of_its_range_in_a_what_if_and_a_sweep() {
    let figure = "value = 0, stochastic = 0.5, systematic = 0.2";
    let summary = model(&loaded(
        figure,
        "[what_if.five]\nfigures.load = 5\n[[sweep]]\nfigure = \"load\"\nvalues = [0, 5]\n",
    ));
    let chain = &summary.chains[0];
    let own = chain.cost.monte_carlo;
    assert_eq!(chain.sweeps[0].steps[0].cost.cost, own);
    for found in [&chain.what_ifs[0], &chain.sweeps[0].steps[1].cost] {
        assert!((found.cost.std_ns - own.std_ns).abs() < 1.0, "{found:?}");
        assert!((found.cost.low_ns - own.low_ns - 5e6).abs() < 1.0, "{found:?}");
        assert!((found.cost.high_ns - own.high_ns - 5e6).abs() < 1.0, "{found:?}");
        assert_eq!(found.deadline.unwrap().verdict, Verdict::Missed);
    }
    let texts: Vec<&String> =
        summary.problems.iter().filter(|text| text.contains("load is 0 in the model")).collect();
    assert_eq!(texts.len(), 2, "{:?}", summary.problems);
    // Readings move with the value, too.
    let summary =
        model(&loaded("value = 0, readings = [0, 0, 0, 4]", "[what_if.five]\nfigures.load = 5\n"));
    assert!((summary.chains[0].what_ifs[0].cost.high_ns - 19e6).abs() < 1.0);
    // An exact figure has no range that could be lost.
    let summary = model(&loaded("value = 0", "[what_if.five]\nfigures.load = 5\n"));
    assert_eq!(summary.problems, Vec::<String>::new());
}

#[test]
fn a_range_survives_a_what_if_that_sets_its_figure_to_zero() {
    let summary = model(&loaded(
        "value = 4, stochastic = 0.4",
        "[what_if.none]\nfigures.load = 0\n[what_if.again]\nafter = \"none\"\nfigures.load = 4\n",
    ));
    let chain = &summary.chains[0];
    assert_eq!(chain.what_ifs[0].cost.std_ns, 0.0);
    assert_eq!(chain.what_ifs[1].cost, chain.cost.monte_carlo);
}

#[test]
fn a_negative_value_of_a_positive_distribution_is_refused_in_a_what_if() {
    for figure in [
        "low = 1, high = 9, distribution = \"log-normal\"",
        "value = 2, shape = 1.5, distribution = \"weibull\"",
        "value = 2, shape = 3, distribution = \"pareto\"",
    ] {
        let text = refused(&loaded(figure, "[what_if.neg]\nfigures.load = -3\n"));
        assert!(
            text.contains("value is greater than 0") && text.contains("what-if \"neg\""),
            "{text}"
        );
    }
}

/// The share of Pareto's times up to `time`, for a median of 10 ms.
fn pareto_up_to(shape: f64, time_ms: f64) -> f64 {
    1.0 - 0.5 * (10.0 / time_ms).powf(shape)
}

#[test]
fn a_verdict_that_the_samples_do_not_decide_is_undecided() {
    // 99.99966 % of the times keep 200 s: too few samples are beyond it to tell them from 99.9999 %.
    let truth = pareto_up_to(1.2, 200e3);
    assert!((truth - 0.999_996_6).abs() < 1e-7);
    let figure = "value = \"10 ms\"\nshape = 1.2\ndistribution = \"pareto\"";
    let chain = "deadline = \"200 s\"\nprobability = \"99.9999 %\"";
    let summary = model(&one(figure, chain));
    let line = &summary.chains[0].budget.lines[0];
    assert_eq!((line.verdict, line.margin_ns), (Some(Verdict::Undecided), None));
    let chance = line.expected_margin.unwrap().probability;
    assert!(chance.low < truth && truth < chance.high, "{chance:?}");
    let [failure] = &summary.failures[..] else { panic!("{:?}", summary.failures) };
    assert!(failure.contains("is undecided: the samples do not tell"), "{failure}");
    let text = summary.problems.join("\n");
    assert!(text.contains("with 99.9999 % is undecided"), "{text}");
    let table = tables(&summary).into_iter().find(|table| table.title.starts_with("Budget"));
    let row = &table.unwrap().rows[0];
    assert_eq!((row[5].as_str(), row[7].as_str()), ("not determined", "undecided"));
    // A time that cannot be exceeded needs no samples.
    let summary = model(&one("low = \"1 ms\"\nhigh = \"9 ms\"", &chain.replace("200 s", "10 ms")));
    assert_eq!(summary.failures, Vec::<String>::new());
}

#[test]
fn more_samples_are_drawn_until_they_decide_and_no_seed_gives_a_wrong_verdict() {
    // Of 100 samples, none decides that 97.5 % are kept; Φ(1.747) = 95.97 % are.
    let source = |seed: u64, deadline: f64| {
        let chain = format!("deadline = \"{deadline} us\"\n");
        let text = one("value = \"10 us\"\nstochastic = \"1 us\"", &chain);
        text.replacen("title = \"t\"", &format!("title = \"t\"\nsamples = 100\nseed = {seed}"), 1)
    };
    for seed in 1..=16 {
        let verdict = |deadline| model(&source(seed, deadline)).chains[0].budget.lines[0].verdict;
        assert_eq!(verdict(11.747), Some(Verdict::Missed), "seed {seed}");
        assert_eq!(verdict(12.2), Some(Verdict::Kept), "seed {seed}");
        // The 97.5 % quantile itself may be undecided, but 97.4 % are never kept.
        assert_ne!(verdict(11.943), Some(Verdict::Kept), "seed {seed}");
    }
}

#[test]
fn a_measured_time_below_zero_is_refused() {
    let observation =
        "[[chains.c.measured]]\ncircumstances = \"here\"\nvalue = \"-0.5 us\"".to_owned();
    let text = refused(&one("value = \"6 us\"", &observation));
    assert!(text.contains("a measured time must not be negative"), "{text}");
}

#[test]
fn no_alarm_above_the_greatest_possible_time() {
    // Uniform from 4 to 5.08 ms: to first order 5 ± 0.61 ms.
    let figure = "value = \"5 ms\"\nlow = \"4 ms\"\nhigh = \"5.08 ms\"";
    let summary = model(&one(figure, "deadline = \"5.1 ms\""));
    assert!(summary.chains[0].budget.lines[0].margin_ns.unwrap() > 0.0);
    assert_eq!(summary.problems.iter().filter(|text| text.contains("takes more")).count(), 0);
}

#[test]
fn a_margin_comes_from_the_skewed_distribution() {
    // The 97.5 % quantile of a log-normal time with median 10 ms and σ = 1 is 10 · e^1.96 = 71 ms.
    let sigma: f64 = 1.0;
    let (low, high) = (10.0 / (1.96 * sigma).exp(), 10.0 * (1.96 * sigma).exp());
    let figure = format!("low = \"{low} ms\"\nhigh = \"{high} ms\"\ndistribution = \"log-normal\"");
    let summary = model(&one(&figure, "deadline = \"56 ms\""));
    let margin = summary.chains[0].budget.lines[0].margin_ns.unwrap();
    assert!((margin + 15.0e6).abs() < 1.0e6, "{margin}");
}

#[test]
fn a_queue_with_more_work_than_capacity_is_refused_in_the_model_and_in_a_what_if() {
    let queue = |rate: &str| {
        format!(
            "title = \"t\"\n[figures.rate]\nvalue = \"{rate}\"\nsource = \"guess\"\nreason = \"r\"\n\
             [chains.c]\ncalls = [{{ name = \"serve\", cost = \"10 ms / (1 - rate * 10 ms)\" }}]\n\
             deadline = \"100 ms\"\n"
        )
    };
    let text = refused(&queue("144/s"));
    assert!(text.contains("1.44") && text.contains("model.toml:7:"), "{text}");
    let text = refused(&format!("{}[what_if.busy]\nfigures.rate = \"144/s\"\n", queue("50/s")));
    assert!(text.contains("1.44") && text.contains("what-if \"busy\""), "{text}");
    assert!(model(&queue("50/s")).problems.is_empty());
}

#[test]
fn a_share_above_one_is_refused() {
    let source = |ratio: &str| {
        format!(
            "title = \"t\"\n[figures.ratio]\nvalue = \"{ratio}\"\nsource = \"guess\"\nreason = \"r\"\n\
             [chains.c]\n\
             calls = [{{ name = \"get\", cost = \"ratio * 1 ms + (1 - ratio) * 2 ms\" }}]\n"
        )
    };
    assert_eq!(model(&source("0.4")).problems, Vec::<String>::new());
    let text = refused(&source("1.4"));
    assert!(text.contains("1.4") && text.contains("share"), "{text}");
}

#[test]
fn counts_and_times_below_zero_are_refused() {
    let source = |times: &str, cost: &str, chain: &str| {
        format!(
            "title = \"t\"\n[chains.c]\ncalls = [{{ name = \"s\", times = {times}, cost = \"{cost}\" }}]\n{chain}"
        )
    };
    let text = refused(&source("-3", "1 ms", ""));
    assert!(text.contains("must not be negative") && text.contains("model.toml:3:"), "{text}");
    assert!(refused(&source("1", "-1 ms", "")).contains("must not be negative"));
    assert!(refused(&source("1", "1 ms", "deadline = \"-1 ms\"")).contains("negative"));
    assert!(refused(&source("1", "200 us / 0", "")).contains("no finite value"));
}

#[test]
fn a_duration_is_never_negative() {
    let summary = model(&one("value = \"1 ms\"\nstochastic = \"1 ms\"", "deadline = \"4 ms\""));
    for table in tables(&summary) {
        for cell in table.rows.iter().flatten() {
            assert!(!cell.starts_with('-'), "{cell} in {}", table.title);
        }
    }
}

#[test]
fn an_absent_measured_figure_is_reported() {
    let measured = r#"{"title": "This machine", "figures": [
        {"name": "file.read", "value": 2000.0, "unit": "ns", "low": 1900.0, "high": 2100.0,
         "samples": 50, "circumstances": "idle"}]}"#;
    let measurements = Measurements::of_summary(measured).unwrap();
    let source = "title = \"t\"\n[figures.x]\nvalue = \"1 us\"\nsource = \"guess\"\nreason = \"r\"\n\
                  measured = \"file.raed\"\n\
                  [chains.c]\ncalls = [{ name = \"step\", cost = \"x\" }]\n\
                  [[chains.c.measured]]\ncircumstances = \"here\"\nmeasured = \"file.open\"\n";
    let model = file::read(source, Some(&measurements)).unwrap();
    let summary = analyze(&model, Some(&measurements.of));
    let text = summary.problems.join("\n");
    assert!(
        text.contains("\"file.raed\"") && text.contains("did you mean \"file.read\""),
        "{text}"
    );
    assert!(text.contains("\"file.open\""), "{text}");
}

#[test]
fn a_what_if_carries_its_problems() {
    let source = "title = \"t\"\n[figures]\n\
        rate = { value = \"10/s\", stochastic = \"5/s\", source = \"guess\", reason = \"r\" }\n\
        [chains.c]\ncalls = [{ name = \"serve\", cost = \"10 ms / (1 - rate * 10 ms)\" }]\n\
        deadline = \"100 ms\"\n[what_if.busy]\nfigures.rate = \"90/s\"\n";
    let text = model(source).problems.join("\n");
    assert!(text.contains("busy"), "{text}");
}

#[test]
fn a_stated_range_that_contradicts_its_distribution_is_refused() {
    let figure = "value = \"2 ms\"\nlow = \"1 ms\"\nhigh = \"9 ms\"\ndistribution = ";
    let text = refused(&one(&format!("{figure}\"normal\""), ""));
    assert!(text.contains("middle of low and high"), "{text}");
    let text = refused(&one(&format!("{figure}\"log-normal\""), ""));
    assert!(text.contains("geometric middle"), "{text}");
}

#[test]
fn a_second_cache_sees_only_the_misses_of_the_first() {
    let source = |second: &str| {
        format!(
            "title = \"t\"\n\
             [caches.near]\nalgorithm = \"lru\"\nsize = \"100 KiB\"\nobject = \"1 KiB\"\n\
             hit = \"0.1 ms\"\nmiss = \"far.request\"\n\
             requests = {{ distribution = \"zipf\", exponent = 0.8, objects = 1000 }}\n\
             [caches.far]\nalgorithm = \"lru\"\nsize = \"200 KiB\"\nobject = \"1 KiB\"\n\
             hit = \"1 ms\"\nmiss = \"10 ms\"\n{second}\n\
             [chains.c]\ncalls = [{{ to = \"near.request\" }}]\n"
        )
    };
    let text =
        refused(&source("requests = { distribution = \"zipf\", exponent = 0.8, objects = 1000 }"));
    assert!(text.contains("behind = \"near\""), "{text}");
    let summary = model(&source("behind = \"near\""));
    let [near, far] = &summary.caches[..] else { panic!() };
    let [near, far] = [near, far].map(|cache| cache.designs[0].variation.simulated);
    // With the requests of the first cache it would hit more often.
    let requests = Popularity::zipf(1_000, 0.8);
    let alone = simulate::simulate(Algorithm::Lru, &requests, 200, 50_000, 1).hit_ratio;
    assert!(0.05 < far && far < alone - 0.1, "{far} {alone}");
    let expected = near * 0.1e6 + (1.0 - near) * (far * 1e6 + (1.0 - far) * 10e6);
    let mean = summary.chains[0].cost.monte_carlo.mean_ns;
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean} {expected}");
}

#[test]
fn of_parallel_calls_the_longest_counts() {
    let source = |first: &str, second: &str| {
        format!(
            "title = \"t\"\n[figures]\n\
             a = {{ {first}, source = \"guess\", reason = \"r\" }}\n\
             b = {{ {second}, source = \"guess\", reason = \"r\" }}\n\
             [components.x.operations]\n\
             one = {{ cost = \"a\" }}\ntwo = {{ cost = \"b\" }}\n\
             both = {{ cost = \"1 ms\", parallel = true, \
             calls = [{{ to = \"x.one\" }}, {{ to = \"x.two\", times = 2 }}] }}\n\
             [chains.c]\ncalls = [{{ to = \"x.both\" }}]\n"
        )
    };
    let summary = model(&source("value = \"3 ms\"", "value = \"2 ms\""));
    let chain = &summary.chains[0];
    assert!((chain.cost.monte_carlo.mean_ns - 5e6).abs() < 1e-3);
    let parts: Vec<(&str, f64)> =
        chain.waterfall.iter().map(|part| (part.name.as_str(), part.own_ns)).collect();
    assert_eq!(parts, [("x.both", 1e6), ("x.two", 4e6)]);
    // The mean of the greater of two uniform times from 0 to 3 ms is 2 ms.
    let wide = "low = \"0 ms\", high = \"3 ms\"";
    let half = "low = \"0 ms\", high = \"1.5 ms\"";
    let mean = model(&source(wide, half)).chains[0].cost.monte_carlo.mean_ns;
    assert!((mean - 3e6).abs() < 0.02e6, "{mean}");
}

#[test]
fn rounding_misses_no_limit() {
    // 0.1 + 0.2 is more than 0.3.
    let source = "title = \"t\"\n[chains.c]\n\
        calls = [{ name = \"a\", cost = \"0.1 s\" }, { name = \"b\", cost = \"0.2 s\" }]\n\
        deadline = \"0.3 s\"\n[[chains.c.measured]]\ncircumstances = \"here\"\nvalue = \"0.3 s\"\n";
    let summary = model(source);
    let line = &summary.chains[0].budget.lines[0];
    let margin = line.expected_margin.unwrap();
    assert_eq!((line.verdict, margin.probability.value), (Some(Verdict::Kept), 1.0));
    assert_eq!(summary.failures, Vec::<String>::new());
}

/// A model of one queue.
fn queue(formula: &str) -> String {
    format!(
        "title = \"t\"\n[figures]\n\
         rate = {{ value = \"80/s\", source = \"guess\", reason = \"r\" }}\n\
         service = {{ value = \"10 ms\", source = \"guess\", reason = \"r\" }}\n\
         [chains.c]\ncalls = [{{ name = \"serve\", cost = \"{formula}\" }}]\n"
    )
}

/// The mean time in a queue with random arrivals at 80 per second, by simulation: each customer takes the server that
/// is free first.
fn simulated(servers: usize, mut service: impl FnMut(&mut Random) -> f64) -> f64 {
    const CUSTOMERS: u32 = 1_000_000;
    let mut random = Random::from_seed(11);
    let mut free = vec![0.0; servers];
    let (mut now, mut sum) = (0.0, 0.0);
    for _ in 0..CUSTOMERS {
        now -= (1.0 - random.uniform()).ln() / 80.0;
        let first = free.iter_mut().min_by(|a, b| f64::total_cmp(a, b)).unwrap();
        *first = first.max(now) + service(&mut random);
        sum += *first - now;
    }
    sum / f64::from(CUSTOMERS)
}

#[test]
fn queues_take_as_long_as_in_a_simulation() {
    let exponential = |mean: f64| move |random: &mut Random| -mean * (1.0 - random.uniform()).ln();
    for (formula, expected) in [
        ("mm1(rate, service)", simulated(1, exponential(0.01))),
        ("mmc(rate, 3 * service, 4)", simulated(4, exponential(0.03))),
        ("mg1(rate, service, 0)", simulated(1, |_| 0.01)),
        // Uniform from 5 to 15 ms.
        ("mg1(rate, service, 1 / sqrt(12))", simulated(1, |random| random.between(0.005, 0.015))),
    ] {
        let mean = model(&queue(formula)).chains[0].cost.monte_carlo.mean_ns / 1e9;
        assert!((mean / expected - 1.0).abs() < 0.03, "{formula}: {mean} {expected}");
    }
    // 10 ms / (1 - 0.8).
    let mean = model(&queue("mm1(rate, service)")).chains[0].cost.monte_carlo.mean_ns;
    assert!((mean - 50e6).abs() < 1.0, "{mean}");
}

#[test]
fn an_overloaded_queue_is_refused_with_its_load() {
    let text = refused(&queue("mmc(rate, 5 * service, 3)"));
    assert!(text.contains("overloaded: its load is ρ = 1.333"), "{text}");
    let text = refused(&queue("mm1(rate)"));
    assert!(text.contains("mm1 takes two arguments: rate and service time, found 1"), "{text}");
    let text = refused(&queue("mm1(service, service)"));
    assert!(text.contains("it must be a number"), "{text}");
    let busy = format!("{}[what_if.busy]\nfigures.rate = \"120/s\"\n", queue("mm1(rate, service)"));
    let text = refused(&busy);
    assert!(text.contains("ρ = 1.200") && text.contains("what-if \"busy\""), "{text}");
}
