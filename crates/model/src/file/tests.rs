//! Problems of a model are reported with their places, all at once.

use hemiola_diagnostic::render;

use super::{Measurements, read};
use crate::summary::analyze;

/// The rendered problems of a model.
fn problems_of(source: &str) -> String {
    match read(source, None) {
        Ok(model) => panic!("it was accepted: {model:?}"),
        Err(problems) => render(&problems, source, "model.toml"),
    }
}

/// A model with a figure named `a`, followed by `rest`.
fn with_figure(rest: &str) -> String {
    format!(
        "title = \"t\"\n[figures]\na = {{ value = \"1 ms\", source = \"guess\", reason = \"r\" }}\n{rest}"
    )
}

/// The rendered problems of a figure with these keys.
fn figure_problems(keys: &str) -> String {
    problems_of(&format!("title = \"t\"\n[figures.x]\nsource = \"guess\"\nreason = \"r\"\n{keys}"))
}

#[test]
fn units_that_do_not_fit_are_shown_in_the_formula() {
    let text = problems_of(&with_figure(
        "[chains.c]\ncalls = [{ name = \"s\", cost = \"a + 3 KiB\" }]\ndeadline = \"5\"\n",
    ));
    assert!(text.contains("units do not fit") && text.contains("model.toml:5:"), "{text}");
    let text =
        problems_of(&with_figure("[chains.c]\ncalls = [{ name = \"s\", cost = \"a * a\" }]\n"));
    assert!(text.contains("expected time"), "{text}");
    let text = problems_of(&with_figure(
        "[chains.c]\ncalls = [{ name = \"s\", cost = \"a\", times = \"a\" }]\n",
    ));
    assert!(text.contains("this is time; expected a number"), "{text}");
}

#[test]
fn a_circle_of_calls_is_named() {
    let source = r#"
title = "t"
[components.x]
operations.one = { calls = [{ to = "y.two" }] }
[components.y]
operations.two = { calls = [{ to = "x.one" }] }
[chains.c]
calls = [{ to = "x.one" }]
"#;
    let text = problems_of(source);
    assert!(text.contains("a circle of calls: x.one -> y.two -> x.one"), "{text}");
    assert!(text.contains("model.toml:"), "{text}");
}

#[test]
fn a_circle_closed_by_a_what_if_is_named() {
    let source = r#"
title = "t"
[components.x]
operations.one = { cost = "1 ms" }
operations.two = { calls = [{ to = "x.one" }] }
[chains.c]
calls = [{ to = "x.two" }]
[what_if.round]
operations."x.one" = { calls = [{ to = "x.two" }] }
"#;
    assert!(problems_of(source).contains("a circle of calls"), "{}", problems_of(source));
}

#[test]
fn unknown_names_come_with_the_nearest_one() {
    let text = problems_of(&with_figure(
        "[components.disk]\noperations.read = { cost = \"aa\" }\n[chains.c]\ncalls = [{ to = \"disk.raed\" }]\n",
    ));
    assert!(text.contains("nothing is named \"aa\""), "{text}");
    let text = problems_of(&with_figure(
        "[components.disk]\noperations.read = { cost = \"a\" }\n[chains.c]\ncalls = [{ to = \"disk.raed\" }]\n\
         [what_if.w]\nfigures = { b = 1 }\nafter = \"v\"\n",
    ));
    assert!(text.contains("did you mean \"disk.read\"?"), "{text}");
    assert!(
        text.contains("no figure is called \"b\"") && text.contains("no what-if before"),
        "{text}"
    );
}

#[test]
fn an_unknown_operation_is_reported_once() {
    let text = problems_of(&with_figure("[chains.c]\ncalls = [{ to = \"disk.read\" }]\n"));
    // Not a second time as a name of a generated formula.
    assert_eq!(text.matches("error:").count(), 1, "{text}");
}

#[test]
fn all_problems_are_reported_at_once() {
    let source = "titel = \"t\"\n[figures.x]\nvalue = \"1 sm\"\nsource = \"rumour\"\n\
                  [chains.c]\ncalls = [{ times = 2 }]\n";
    insta::assert_snapshot!(problems_of(source), @r#"
    error: a model has no key "titel"
     --> model.toml:1:1
      |
    1 | titel = "t"
      | ^^^^^ unknown
      = hint: did you mean "title"?

    error: a figure needs "reason"
     --> model.toml:2:10
      |
    2 | [figures.x]
      |          ^
      = hint: reason: Reason for this value.

    error: unknown unit "sm"; did you mean "s"?
     --> model.toml:3:12
      |
    3 | value = "1 sm"
      |            ^^

    error: source cannot be "rumour"
     --> model.toml:4:10
      |
    4 | source = "rumour"
      |          ^^^^^^^^
      = hint: choose from measured, data sheet, guess

    error: a call must name its operation or step
     --> model.toml:6:10
      |
    6 | calls = [{ times = 2 }]
      |          ^^^^^^^^^^^^^
      = hint: write to = "component.operation", or the name and cost of a step
    "#);
}

#[test]
fn an_impossible_range_is_refused() {
    for (keys, expected) in [
        ("value = \"1 ms\"\nstochastic = \"-1 us\"", "stochastic is negative"),
        ("value = \"1 ms\"\nsystematic = \"-1 us\"", "systematic is negative"),
        ("value = \"1 ms\"\nstochastic = \"1 KiB\"", "stochastic is information"),
        ("value = \"1 ms\"\nstochastic = \"1 us\"\ndistribution = \"exact\"", "does not vary"),
        ("value = \"1 ms\"\ndistribution = \"normal\"", "a normal distribution needs a width"),
        ("low = \"2 ms\"\nhigh = \"1 ms\"", "not above its low end"),
        ("low = \"2 ms\"", "has only one end"),
        ("low = \"1 ms\"\nhigh = \"2 ms\"\nvalue = \"3 ms\"", "outside its range"),
        ("low = \"1 ms\"\nhigh = \"2 ms\"\nstochastic = \"1 ms\"", "stated twice"),
        ("low = \"1 ms\"\nhigh = \"2 KiB\"", "its low end is time"),
        ("low = -1\nhigh = 2\ndistribution = \"log-normal\"", "above zero"),
        ("value = \"1 ms / 0\"", "no finite value"),
        ("value = \"y\"", "expected a value, found the name"),
        ("measured = \"clock.read\"", "has no value"),
        ("", "has no value"),
    ] {
        let text = figure_problems(keys);
        assert!(text.contains(expected), "{keys}: {text}");
        assert!(text.contains("model.toml:"), "{keys} has no place: {text}");
    }
}

#[test]
fn names_that_formulas_cannot_use_are_refused() {
    let text = problems_of(
        "title = \"t\"\n[figures]\na-b = { value = 1, source = \"guess\", reason = \"r\" }\n\
         chain = { value = 1, source = \"guess\", reason = \"r\" }\n\
         x = { value = 1, source = \"guess\", reason = \"r\" }\n[components.x]\noperations = {}\n",
    );
    assert!(text.contains("\"a-b\" cannot be named in a formula"), "{text}");
    assert!(text.contains("\"chain\" is reserved"), "{text}");
    assert!(text.contains("\"x\" is already the name of a figure"), "{text}");
}

#[test]
fn impossible_caches_are_refused() {
    let cache = |size: &str, requests: &str| {
        problems_of(&format!(
            "title = \"t\"\n[caches.k]\nalgorithm = \"lru\"\nsize = \"{size}\"\nobject = \"1 KiB\"\n\
             hit = \"1 us\"\nmiss = \"1 ms\"\nrequests = {{ {requests} }}\n"
        ))
    };
    let uniform = "distribution = \"uniform\", objects = 10";
    assert!(cache("1 B", uniform).contains("too small for one object"));
    assert!(cache("1 ms", uniform).contains("expected a number of bytes"));
    assert!(cache("1 MiB", "distribution = \"zipf\", objects = 10").contains("needs \"exponent\""));
    assert!(cache("1 MiB", "distribution = \"weights\", weights = [0, 0]").contains("add up"));
    assert!(
        cache("1 MiB", "distribution = \"uniform\", exponent = 1, objects = 3").contains("has no")
    );
}

#[test]
fn correlations_that_contradict_each_other_are_refused() {
    let figures: String = ["a", "b", "c"]
        .map(|name| {
            format!(
                "{name} = {{ value = 1, stochastic = 0.1, source = \"guess\", reason = \"r\" }}\n"
            )
        })
        .concat();
    let pairs: String = [("a", "b", 0.9), ("b", "c", 0.9), ("a", "c", -0.9)]
        .map(|(first, second, coefficient)| {
            format!(
                "[[correlation]]\nfirst = \"{first}\"\nsecond = \"{second}\"\ncoefficient = {coefficient}\n"
            )
        })
        .concat();
    let text = problems_of(&format!("title = \"t\"\n[figures]\n{figures}{pairs}"));
    assert!(text.contains("not positive semidefinite") && text.contains("model.toml:"), "{text}");
}

#[test]
fn a_tree_of_too_many_calls_is_refused() {
    // Each operation calls the next one twice: 2³⁰ calls.
    let mut source = String::from("title = \"t\"\n[components.x.operations]\n");
    for index in 0..30 {
        let next = index + 1;
        source += &format!(
            "o{index} = {{ calls = [{{ to = \"x.o{next}\" }}, {{ to = \"x.o{next}\" }}] }}\n"
        );
    }
    source += "o30 = { cost = \"1 ns\" }\n[chains.c]\ncalls = [{ to = \"x.o0\" }]\n";
    assert!(problems_of(&source).contains("more than 1000 calls"));
}

#[test]
fn a_what_if_extends_an_earlier_one() {
    let source = with_figure(
        "n = { value = 2, source = \"guess\", reason = \"r\" }\n\
         [components.x]\noperations.op = { cost = \"a\" }\n\
         [chains.c]\ncalls = [{ to = \"x.op\", times = \"n\" }]\n\
         [what_if.more]\nfigures = { n = 3 }\n\
         [what_if.dearer]\nafter = \"more\"\noperations.\"x.op\" = { cost = \"2 * a\" }\n",
    );
    let model = read(&source, None).unwrap_or_else(|found| panic!("{found:?}"));
    let summary = analyze(&model, None);
    let costs: Vec<f64> =
        summary.chains[0].what_ifs.iter().map(|variant| variant.cost.nominal_ns).collect();
    assert_eq!(costs, [3e6, 6e6]);
    assert_eq!(summary.chains[0].what_ifs[1].difference_ns, 3e6);
}

#[test]
fn a_what_if_keeps_the_dimension_of_a_figure() {
    let text = problems_of(&with_figure("[what_if.w]\nfigures = { a = \"3 KiB\" }\n"));
    assert!(text.contains("a is time, but this is information"), "{text}");
    assert!(text.contains("model.toml:5:"), "{text}");
}

#[test]
fn a_what_if_cannot_replace_the_request_of_a_cache() {
    let text = problems_of(&with_figure(
        "[caches.near]\nalgorithm = \"lru\"\nsize = \"10 KiB\"\nobject = \"1 KiB\"\nhit = \"a\"\nmiss = \"2 * a\"\n\
         requests = { distribution = \"uniform\", objects = 100 }\n\
         [chains.c]\ncalls = [{ to = \"near.request\" }]\n\
         [what_if.w]\noperations.\"near.request\" = { cost = \"a\" }\n",
    ));
    assert!(text.contains("\"near.request\" follows from the cache"), "{text}");
    assert_eq!(text.matches("error:").count(), 1, "{text}");
}

#[test]
fn another_value_of_a_figure_keeps_its_relative_range() {
    let figure = "title = \"t\"\n[figures.x]\nvalue = \"10 ms\"\nstochastic = \"1 ms\"\n\
                  systematic = \"1 ms\"\nsource = \"guess\"\nreason = \"r\"\n";
    let source = format!(
        "{figure}[chains.c]\ncalls = [{{ name = \"s\", cost = \"x\" }}]\n\
         [what_if.w]\nfigures = {{ x = \"20 ms\" }}\n"
    );
    let model = read(&source, None).unwrap_or_else(|found| panic!("{found:?}"));
    let cost = analyze(&model, None).chains[0].what_ifs[0].cost;
    assert!((cost.systematic_ns - 2e6).abs() < 1.0 && (cost.std_ns - 2e6).abs() < 2e4, "{cost:?}");
}

#[test]
fn an_operation_called_at_several_places_has_one_allotment() {
    let source = with_figure(
        "[components.x]\noperations.op = { cost = \"a\" }\n\
         operations.two = { calls = [{ to = \"x.op\" }, { to = \"x.op\", times = 2 }] }\n\
         [chains.c]\ncalls = [{ to = \"x.two\" }, { to = \"x.op\" }]\n\
         budget = { \"x.op\" = \"5 ms\" }\n\
         [[chains.c.measured]]\nof = \"x.op\"\nvalue = \"4.5 ms\"\ncircumstances = \"today\"\n",
    );
    let summary = analyze(&read(&source, None).unwrap_or_else(|found| panic!("{found:?}")), None);
    let budget = &summary.chains[0].budget;
    let names: Vec<(&str, usize)> =
        budget.lines.iter().map(|line| (line.name.as_str(), line.depth)).collect();
    assert_eq!(names, [("c", 0), ("x.two", 1), ("x.op", 2), ("x.op", 2), ("x.op", 1), ("x.op", 1)]);
    let all = budget.lines.last().unwrap();
    assert_eq!((all.places, all.expected.nominal_ns, all.margin_ns), (3, 4e6, Some(0.5e6)));
    assert_eq!(budget.lines[2].allotted_ns, None);
    assert!((budget.held[0].factor - 1.125).abs() < 1e-9);
}

#[test]
fn budgets_that_do_not_add_up_are_reported() {
    let source = with_figure(
        "[components.x]\noperations.op = { cost = \"a\" }\n\
         [chains.c]\ncalls = [{ to = \"x.op\", times = 3 }]\ndeadline = \"2 ms\"\n\
         budget = { \"x.op\" = \"2.5 ms\" }\n",
    );
    let summary = analyze(&read(&source, None).unwrap_or_else(|found| panic!("{found:?}")), None);
    let text = summary.problems.join("\n");
    assert!(
        text.contains(
            "c takes more than its 2 ms: 0 % of the samples keep it, and 1 ms more is needed to keep it with 97.5 %"
        ),
        "{text}"
    );
    assert!(text.contains("x.op takes more than its 2.5 ms"), "{text}");
    assert!(text.contains("add up to 2.5 ms, more than its 2 ms"), "{text}");
}

/// A summary with a figure that has these keys, and a model of which `measured` names a figure.
fn with_measurements(figures: &str, measured: &str) -> Result<f64, String> {
    let text = format!(
        "{{\"title\": \"o\", \"kind\": \"model\", \"format\": 2, \"figures\": [{figures}]}}"
    );
    let found = Measurements::of_summary(&text).map_err(|error| error.to_string())?;
    let source = format!(
        "title = \"t\"\n[figures]\na = {{ value = \"9 ns\", measured = \"{measured}\", source = \"guess\", reason = \
         \"r\" }}\n[chains.c]\ncalls = [{{ name = \"s\", cost = \"a\" }}]\n"
    );
    let model = read(&source, Some(&found)).map_err(|of| render(&of, &source, "model.toml"))?;
    Ok(model.figures[0].input.nominal.value * 1e9)
}

fn summary_figure(name: &str, value: &str, low: &str, high: &str) -> String {
    format!(
        "{{\"name\": \"{name}\", \"value\": {value}, \"unit\": \"ns\", \"low\": {low}, \"high\": {high}, \"samples\": \
         9, \"circumstances\": \"\"}}"
    )
}

#[test]
fn a_measured_figure_without_an_end_stops_only_those_who_use_it() {
    let figures = [
        summary_figure("open", "5", "1", "null"),
        summary_figure("low", "5", "null", "6"),
        summary_figure("none", "null", "null", "null"),
        summary_figure("whole", "5", "4", "6"),
    ]
    .join(", ");
    assert_eq!(with_measurements(&figures, "whole").map(f64::round), Ok(5.0));
    assert_eq!(with_measurements(&figures, "absent").map(f64::round), Ok(9.0));
    for (name, lack) in [
        ("open", "open without a finite upper end of its range"),
        ("low", "low without a finite lower end of its range"),
        ("none", "none without a finite value"),
    ] {
        let text = with_measurements(&figures, name).unwrap_err();
        assert!(text.contains(lack) && text.contains("model.toml:3:"), "{text}");
    }
}

#[test]
fn a_measured_figure_of_which_there_are_two_is_refused() {
    let both = [("twice", "5"), ("once", "5"), ("twice", "7")];
    let figures = both.map(|(name, value)| summary_figure(name, value, "4", "8")).join(", ");
    assert_eq!(with_measurements(&figures, "once").map(f64::round), Ok(5.0));
    let text = with_measurements(&figures, "twice").unwrap_err();
    assert!(text.contains("the measurements have twice more than once"), "{text}");
}

#[test]
fn a_summary_of_a_later_format_is_refused() {
    let newer = "{\"format\": 99, \"figures\": {}}";
    let error = Measurements::of_summary(newer).unwrap_err().to_string();
    assert!(error.contains("it has format 99") && error.contains("use a newer hemiola"), "{error}");
    // Files of other programs need none.
    for other in ["{\"figures\": []}", "{\"format\": \"mine\", \"figures\": []}"] {
        assert!(Measurements::of_summary(other).is_ok(), "{other}");
    }
}

#[test]
fn any_text_is_refused_or_read() {
    use proptest::prelude::*;
    let pieces = prop::sample::select(vec![
        "title = \"t\"\n",
        "[figures.x]\n",
        "value = \"1 ms\"\n",
        "source = \"guess\"\n",
        "reason = \"r\"\n",
        "[components.y]\n",
        "operations.z = { cost = \"x\" }\n",
        "[chains.c]\n",
        "calls = [{ to = \"y.z\" }]\n",
        "[what_if.w]\n",
        "figures = { x = \"2 ms\" }\n",
        "low = 1\n",
        "high = \"3 s\"\n",
        "times = \"",
        "\"",
        "[[overhead]]\n",
        "costs = [\"x\"]\n",
        "rates = [1, \"2/s\"]\n",
        "}",
        "cost = \"1 +\"\n",
        "[units]\n",
        "u = { quantity = \"q\", prefixes = true }\n",
        "v = { value = \"3 u\" }\n",
        "[costs]\n",
        "e = \"J/u\"\n",
        "costs.e = \"-2 J/v\"\n",
        "capacity = \"5 u/s\"\n",
        "demand = \"2 u/s\"\n",
        "µ",
    ]);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let sources = prop::collection::vec(pieces, 0..20).prop_map(|pieces| pieces.concat());
    runner
        .run(&sources, |source| {
            match read(&source, None) {
                Ok(mut model) => {
                    model.samples = 100;
                    assert!(analyze(&model, None).chains.len() <= 1);
                }
                Err(problems) => assert!(!render(&problems, &source, "f").is_empty()),
            }
            Ok(())
        })
        .unwrap();
}
