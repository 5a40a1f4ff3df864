//! The values that inputs of a model can have: bounds, readings, and waits for a tick.

use hemiola_diagnostic::render;
use hemiola_model::export::{page, tables};
use hemiola_model::file;
use hemiola_model::summary::{Summary, analyze, analyze_with_progress};
use hemiola_units::Random;

use crate::{model, refused};

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

#[test]
fn a_negative_variation_of_a_service_time_is_refused() {
    let text = refused(&one("value = \"10 ms\"", "mg1(50/s, x, -1)", ""));
    assert!(text.contains("`-1` is negative here"), "{text}");
    // In samples it has no valid value.
    let varied = "title = \"t\"\n[figures.v]\nvalue = 0.1\nstochastic = 0.1\nsource = \"guess\"\nreason = \"r\"\n\
        [chains.c]\ncalls = [{ name = \"serve\", cost = \"mg1(50/s, 10 ms, v)\" }]\ndeadline = \"1 s\"\n";
    let found = kept(&model(varied));
    assert!((found - 0.8413).abs() < 0.006, "{found}");
}

#[test]
fn names_that_no_formula_can_have_are_reported() {
    let source = "title = \"t\"\n[components.s.operations]\na = { cost = \"1 ms\" }\n\
        [chains.c]\ncalls = [{ to = \"s.a\" }, { to = \"web page\", times = 2 }]\n\
        [what_if.w.operations.\"5 req\"]\ncost = \"1 ms\"\n";
    let text = refused(source);
    assert!(text.contains("no operation is called \"web page\""), "{text}");
    assert!(text.contains("no operation is called \"5 req\""), "{text}");
}

#[test]
fn impossible_values_are_reported_together() {
    let source = "title = \"t\"\n[figures]\nh = { value = 1.4, source = \"guess\", reason = \"r\" }\n\
        [components.s.operations]\na = { cost = \"1 ms / 0\" }\nb = { cost = \"h * 1 ms + (1 - h) * 2 ms\" }\n\
        c = { cost = \"s.a + 1 ms\" }\n\
        [chains.c]\ncalls = [{ to = \"s.a\", times = -3 }, { to = \"s.b\" }, { to = \"s.c\" }]\n";
    let text = refused(source);
    for message in ["no finite value", "must not be negative", "a share of 1.400"] {
        assert_eq!(text.matches(message).count(), 1, "{message}: {text}");
    }
}

#[test]
fn no_table_shows_what_is_not_a_number() {
    let expected = "value = \"0 s\"";
    let measured = "[[chains.c.measured]]\ncircumstances = \"here\"\nvalue = \"0 s\"\n\
        [[chains.c.measured]]\ncircumstances = \"there\"\nvalue = \"1 s\"\n";
    let pareto = "value = \"10 ms\"\nshape = 1.5\ndistribution = \"pareto\"";
    let zero = "[[chains.c.measured]]\ncircumstances = \"here\"\nvalue = \"0 s\"";
    let what_if = "deadline = \"1 s\"\n[what_if.w]\nfigures.x = \"2 s\"";
    for (figure, chain) in [(expected, measured), (pareto, zero), (pareto, what_if)] {
        let summary = model(&one(figure, "x", chain));
        for table in tables::tables(&summary) {
            for cell in table.rows.iter().flatten() {
                assert!(
                    !cell.contains("inf") && !cell.contains("NaN"),
                    "{cell} in {}",
                    table.title
                );
            }
        }
        let page = page::page(&summary, "").render();
        for wrong in ["NaN", "inf s", "-inf"] {
            let place =
                page.find(wrong).map(|at| page[..at].chars().rev().take(300).collect::<String>());
            let place = place.map(|text| text.chars().rev().collect::<String>());
            assert!(place.is_none(), "{figure}: {wrong} after {place:?}");
        }
    }
}

/// Texts of models that together use nearly every key.
const TEXTS: [&str; 5] = [
    include_str!("../../../../examples/8-image-retrieval/model.toml"),
    include_str!("../../../../examples/9-web-shop/model.toml"),
    include_str!("../../../../examples/9-web-shop/layers.toml"),
    include_str!("../../../../examples/9-web-shop/risks.toml"),
    include_str!("../../../../examples/10-context-switch-model/model.toml"),
];

/// Parts that mutations insert.
const PARTS: [&str; 24] = [
    "0",
    "-1",
    "1e308",
    "1e-308",
    "nan",
    "\"\"",
    "periodic(1 ms)",
    "mg1(50/s, 10 ms, -1)",
    " / 0",
    "web page",
    "5 req",
    "\u{e9}",
    "%",
    "[",
    "]",
    "\"",
    "=",
    "\n",
    "1 ms",
    "chain.c",
    "s.a",
    "at_least = \"-1 s\"\n",
    "shape = 1.1\n",
    "12345678901234567890",
];

/// A text with up to three parts removed, repeated, swapped or inserted.
fn mutated(text: &str, random: &mut Random) -> String {
    let mut text = text.to_owned();
    for _ in 0..=random.below(3) {
        let mut place = |text: &str| {
            let at = random.below(text.len() as u64 + 1) as usize;
            (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
        };
        let (one, other) = (place(&text), place(&text));
        let (from, to) = (one.min(other), one.max(other));
        let to =
            (from..=to.min(from + 40)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(from);
        let part = text[from..to].to_owned();
        match random.below(4) {
            0 => text.replace_range(from..to, ""),
            1 => text.insert_str(to, &part),
            2 => {
                let new = PARTS[random.below(PARTS.len() as u64) as usize];
                text.replace_range(from..to, new);
            }
            _ => text.insert_str(from, PARTS[random.below(PARTS.len() as u64) as usize]),
        }
    }
    text
}

#[test]
fn no_changed_file_makes_the_model_panic() {
    /// Cheap enough for a debug build: the reader sees all of them, the computation those that it accepts.
    const FILES: u32 = 600;
    let mut random = Random::from_seed(14);
    let mut accepted = 0;
    for number in 0..FILES {
        let text = mutated(TEXTS[number as usize % TEXTS.len()], &mut random);
        let read = |text: &str| std::panic::catch_unwind(|| file::read(text, None));
        let Ok(found) = read(&text) else { panic!("file {number} panics the reader:\n{text}") };
        match found {
            Err(problems) => {
                assert!(!render(&problems, &text, "model.toml").is_empty());
            }
            Ok(mut model) if number % 3 == 0 => {
                model.samples = 100;
                for cache in &mut model.caches {
                    cache.simulated = 1_000;
                }
                let shown = std::panic::catch_unwind(|| {
                    let summary = analyze(&model, None);
                    page::page(&summary, "").render()
                });
                assert!(shown.is_ok(), "file {number} panics:\n{text}");
                accepted += 1;
            }
            Ok(_) => {}
        }
    }
    assert!(accepted > 10, "{accepted}");
}

#[test]
fn hints_name_the_most_servers_and_the_operations() {
    let text = refused(&one("value = \"1 ms\"", "mmc(1 / x, x / 2, 100000)", ""));
    assert!(text.contains("has 100000 servers") && text.contains("from 1 to 10000"), "{text}");
    let text = refused(
        "title = \"t\"\n[components.s.operations]\na = { cost = \"1 ms\" }\nlonger = { cost = \"1 ms\" }\n\
         [chains.c]\ncalls = [{ to = \"elsewhere.entirely\" }]\n",
    );
    assert!(text.contains("known: s.a, s.longer"), "{text}");
}

#[test]
fn progress_names_each_chain_before_it_is_computed() {
    let chains: String = ["a", "b", "c", "d"]
        .map(|name| format!("[chains.{name}]\ncalls = [{{ name = \"m\", cost = \"1 ms\" }}]\n"))
        .concat();
    let model = file::read(&format!("title = \"t\"\n{chains}"), None).unwrap();
    let mut told = Vec::new();
    let _ =
        analyze_with_progress(&model, None, &mut |done, chain| told.push((done, chain.to_owned())));
    let expected = [(0.0, "a"), (0.25, "b"), (0.5, "c"), (0.75, "d")];
    assert_eq!(told, expected.map(|(done, chain)| (done, chain.to_owned())));
}
