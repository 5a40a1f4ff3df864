//! Verdicts on chains whose calls may differ from each other.

use hemiola_model::budget::BudgetLine;
use hemiola_model::export::tables;
use hemiola_model::summary::Summary;
use hemiola_model::uncertain::Verdict::{self, Kept, Missed, Undecided};
use hemiola_units::Random;

use crate::model;

/// The first line of the budget of the first chain.
fn line(summary: &Summary) -> &BudgetLine {
    &summary.chains[0].budget.lines[0]
}

/// A model with these figures and this chain.
fn source(figures: &[(&str, &str)], rest: &str) -> String {
    let figures: String = figures
        .iter()
        .map(|(name, keys)| format!("{name} = {{ {keys}, source = \"guess\", reason = \"r\" }}\n"))
        .collect();
    format!("title = \"t\"\nsamples = 20000\n[figures]\n{figures}{rest}")
}

/// 2 % of the values of `m` are 50 ms, the others 1 ms.
const RARE: [(&str, &str); 3] = [
    ("a", "value = \"1 ms\""),
    ("b", "value = \"50 ms\""),
    ("m", "mixture = [{ of = \"a\", share = \"98 %\" }, { of = \"b\", share = \"2 %\" }]"),
];

/// A chain with these calls and this deadline.
fn chain(calls: &str, deadline: &str) -> String {
    format!("[chains.c]\ncalls = [{calls}]\ndeadline = \"{deadline}\"\n")
}

#[test]
fn rare_times_in_several_calls_are_not_known_to_be_kept() {
    // Of twelve independent calls all are short in 0.98^12 = 78 % of the runs.
    let mut readings = vec!["\"1 ms\""; 98];
    readings.extend(["\"40 ms\"", "\"50 ms\""]);
    let readings = format!("readings = [{}]", readings.join(", "));
    let step = "{ name = \"x\", cost = \"m\" }";
    let operation = "[components.s.operations]\nx = { cost = \"m\" }\n[components.p.operations]\n\
                     x = { parallel = true, calls = [{ to = \"s.x\" }, { to = \"s.x\", times = 5 }] }\n";
    for text in [
        source(&RARE, &chain("{ name = \"x\", cost = \"m\", times = 12 }", "13 ms")),
        source(&[("m", &readings)], &chain("{ name = \"x\", cost = \"m\", times = 6 }", "10 ms")),
        // At several places, by several steps, and at the same time.
        source(
            &RARE,
            &format!("{operation}{}", chain(&["{ to = \"s.x\" }"; 8].join(", "), "9 ms")),
        ),
        source(&RARE, &chain(&[step; 8].join(", "), "9 ms")),
        source(&RARE, &format!("{operation}{}", chain("{ to = \"p.x\" }", "9 ms"))),
        // An uncertain number of calls.
        source(
            &[&RARE[..], &[("n", "value = 6, low = 2, high = 9")]].concat(),
            &chain("{ name = \"x\", cost = \"m\", times = \"n\" }", "13 ms"),
        ),
    ] {
        let summary = model(&text);
        let found = line(&summary);
        assert_eq!((found.verdict, found.margin_ns), (Some(Undecided), None), "{text}");
        let margin = found.expected_margin.unwrap();
        assert_eq!(margin.equal, Some(Kept), "{text}");
        assert!((margin.probability.value - 0.98).abs() < 0.005, "{margin:?}");
        assert!(margin.probability.low < 0.91, "{margin:?}");
        assert_eq!(found.differ, ["m"]);
        let (problems, failures) = (summary.problems.join("\n"), summary.failures.join("\n"));
        for text in [&problems, &failures] {
            assert!(text.contains("may differ from call to call"), "{text}");
        }
        let cells = tables::tables(&summary).into_iter().flat_map(|table| table.rows).flatten();
        assert!(cells.into_iter().any(|cell| cell == "undecided: calls may differ"));
    }
    // One call, and calls that are long together.
    let one = source(&RARE, &chain("{ name = \"x\", cost = \"12 * m\" }", "13 ms"));
    assert_eq!(line(&model(&one)).verdict, Some(Kept));
    // No call can be longer.
    let all = source(&RARE, &chain("{ name = \"x\", cost = \"m\", times = 12 }", "600 ms"));
    assert_eq!(line(&model(&all)).verdict, Some(Kept));
}

#[test]
fn allotments_and_what_ifs_know_of_calls() {
    let text = source(
        &[&RARE[..], &[("n", "value = 1")]].concat(),
        "[components.s.operations]\nx = { cost = \"m\" }\n[chains.c]\n\
         calls = [{ to = \"s.x\", times = \"n\" }]\ndeadline = \"13 ms\"\nbudget = { \"s.x\" = \"13 ms\" }\n\
         [what_if.more.figures]\nn = 12\n[[sweep]]\nfigure = \"n\"\nvalues = [1, 12]\n",
    );
    let summary = model(&text);
    let chain = &summary.chains[0];
    let verdicts: Vec<Option<Verdict>> =
        chain.budget.lines.iter().map(|line| line.verdict).collect();
    assert_eq!(verdicts, [Some(Kept), Some(Kept)]);
    let steps = &chain.sweeps[0].steps;
    let deadlines = [chain.what_ifs[0].deadline, steps[0].cost.deadline, steps[1].cost.deadline];
    let found = deadlines.map(|margin| margin.map(|margin| (margin.verdict, margin.equal)));
    let [more, one, twelve] = found.map(Option::unwrap);
    assert_eq!((more, twelve), ((Undecided, Some(Kept)), (Undecided, Some(Kept))));
    assert_eq!(one, (Kept, None));
    let lines = model(&text.replace("n = { value = 1,", "n = { value = 12,")).chains[0]
        .budget
        .lines
        .clone();
    assert_eq!([lines[0].verdict, lines[1].verdict], [Some(Undecided); 2]);
}

#[test]
fn calls_that_even_out_are_not_known_to_miss() {
    // A sum of 100 independent times is 100 ± 3 ms; a hundred times one of them is 100 ± 30 ms, and 93 % keep 144 ms.
    let figures = [("m", "value = \"1 ms\", stochastic = \"0.3 ms\"")];
    let calls = "{ name = \"x\", cost = \"m\", times = 100 }";
    let found = |deadline: &str| model(&source(&figures, &chain(calls, deadline)));
    let summary = found("144 ms");
    let margin = line(&summary).expected_margin.unwrap();
    assert_eq!((margin.verdict, margin.equal), (Undecided, Some(Missed)), "{margin:?}");
    assert!((margin.probability.value - 0.929).abs() < 0.01, "{margin:?}");
    assert!(margin.probability.high > 0.99, "{margin:?}");
    // The mean of the longest 2.5 % is 170 ms; that of the others 98 ms.
    for (deadline, verdict) in
        [("165 ms", Undecided), ("175 ms", Kept), ("100 ms", Undecided), ("95 ms", Missed)]
    {
        let summary = found(deadline);
        assert_eq!(line(&summary).verdict, Some(verdict), "{deadline} {:?}", line(&summary));
        if verdict == Kept {
            // The rest of the deadline that is left however the calls differ.
            assert!(
                (line(&summary).margin_ns.unwrap() / 1e6 - 4.9).abs() < 1.5,
                "{:?}",
                line(&summary)
            );
        }
    }
    // An unknown constant is the same in each call.
    let same = [("m", "value = \"1 ms\", systematic = \"0.3 ms\"")];
    for (deadline, verdict) in [("131 ms", Kept), ("129 ms", Missed)] {
        let summary = model(&source(&same, &chain(calls, deadline)));
        assert_eq!(line(&summary).verdict, Some(verdict), "{deadline}");
    }
}

#[test]
fn calls_at_the_same_time_are_as_long_as_the_longest() {
    let figures = [("m", "low = \"1 ms\", high = \"2 ms\"")];
    let rest = |keys: &str| {
        format!(
            "[components.s.operations]\nx = {{ cost = \"m\" }}\n\
             p = {{ parallel = true, calls = [{}] }}\n[chains.c]\ncalls = [{{ to = \"s.p\" }}]\n{keys}\n",
            ["{ to = \"s.x\" }"; 10].join(", ")
        )
    };
    // The mean of the longest of ten is 1.91 ms.
    for (keys, verdict) in [
        ("deadline = \"1.99 ms\"", Undecided),
        ("deadline = \"1.9999 ms\"", Kept),
        ("deadline = \"1.6 ms\"", Undecided),
        ("deadline = \"1.05 ms\"", Missed),
        ("deadline = \"1.8 ms\"\nprobability = 0.6\nof_mean = true", Undecided),
        ("deadline = \"2 ms\"\nprobability = 0.6\nof_mean = true", Kept),
    ] {
        let summary = model(&source(&figures, &rest(keys)));
        assert_eq!(line(&summary).verdict, Some(verdict), "{keys} {:?}", line(&summary));
        let about_mean = summary.problems.join("\n").contains("whether the mean of c keeps");
        assert_eq!(about_mean, keys.contains("of_mean") && verdict == Undecided, "{keys}");
    }
}

#[test]
fn figures_with_opposite_effects_in_several_calls_are_undecided() {
    // The sum is 3 ms if the figure is the same in both calls, and up to 5 ms if it is not.
    let figures = [("m", "low = \"0 ms\", high = \"2 ms\"")];
    let calls = "{ name = \"x\", cost = \"m\" }, { name = \"y\", cost = \"3 ms - m\" }";
    for (deadline, verdict) in [("3.5 ms", Undecided), ("2.5 ms", Undecided), ("5 ms", Kept)] {
        let summary = model(&source(&figures, &chain(calls, deadline)));
        assert_eq!(line(&summary).verdict, Some(verdict), "{deadline}");
    }
    // So are figures that vary together, and a formula that holds several calls.
    let pair = [
        ("m", "value = \"5 ms\", stochastic = \"1 ms\""),
        ("n", "value = \"5 ms\", stochastic = \"1 ms\""),
    ];
    let correlated = format!(
        "[[correlation]]\nfirst = \"m\"\nsecond = \"n\"\ncoefficient = -1\n{}",
        chain(
            "{ name = \"x\", cost = \"m\", times = 2 }, { name = \"y\", cost = \"n\", times = 2 }",
            "21 ms"
        )
    );
    assert_eq!(line(&model(&source(&pair, &correlated))).verdict, Some(Undecided));
    let nested = "[components.s.operations]\nx = { cost = \"m\" }\n\
                  y = { calls = [{ to = \"s.x\", times = 12 }] }\n[components.u.operations]\n\
                  z = { cost = \"s.y + 1 ms\" }\n";
    let nested = format!("{nested}{}", chain("{ to = \"u.z\" }", "14 ms"));
    for formula in ["s.y + 1 ms", "max(s.y, 2 ms)", "s.y + m", "0.5 * s.x * 2 * 12"] {
        let summary = model(&source(&RARE, &nested.replace("s.y + 1 ms", formula)));
        let found = (line(&summary).verdict, line(&summary).differ.len());
        assert_eq!(found, (Some(Undecided), 1), "{formula}");
    }
    let once = nested.replace("s.y + 1 ms", "max(s.x, 2 ms)");
    assert_eq!(line(&model(&source(&RARE, &once))).verdict, Some(Kept));
    // A deadline that counts on the value of one of several calls.
    let of_limit = chain("{ name = \"x\", cost = \"m\", times = 2 }", "2 * m + 1 ms");
    assert_eq!(line(&model(&source(&pair[..1], &of_limit))).verdict, Some(Undecided));
}

#[test]
fn numbers_of_calls_without_a_bound_are_not_known_to_be_kept() {
    // A divisor that can be 0 within five standard scores.
    let rate = [&RARE[..], &[("f", "value = 1, stochastic = 0.21")]].concat();
    let calls = "{ name = \"x\", cost = \"m\", times = \"ceil(6 / f)\" }";
    let summary = model(&source(&rate, &chain(calls, "20 ms")));
    assert_eq!(line(&summary).verdict, Some(Undecided), "{:?}", line(&summary));
    // Calls that never happen, of an operation with such a number of calls.
    let never = "[components.s.operations]\nx = { cost = \"m\" }\n\
                 y = { calls = [{ to = \"s.x\", times = \"ceil(6 / f)\" }] }\n";
    let calls = "{ to = \"s.y\", times = 0 }, { to = \"s.x\" }";
    let summary = model(&source(&rate, &format!("{never}{}", chain(calls, "20 ms"))));
    assert_eq!(line(&summary).verdict, Some(Kept), "{:?}", line(&summary));
}

#[test]
fn a_search_of_offsets_looks_at_the_quantile_that_many_calls_need() {
    // At the upper end of d, five independent calls keep 100 ms in 0.992^5 = 96 % of the runs.
    let mixture = |rare: &str, share: &str, rest: &str| {
        format!(
            "mixture = [{{ of = \"zero\", share = \"{rest} %\" }}, {{ of = \"{rare}\", share = \"{share} %\" }}]"
        )
    };
    let (a, b) = (mixture("long", "0.4", "99.6"), mixture("short", "0.8", "99.2"));
    let figures = [
        ("zero", "value = \"0 ms\""),
        ("long", "value = \"150 ms\""),
        ("short", "value = \"130 ms\""),
        ("a", &a),
        ("b", &b),
        ("d", "value = 0, systematic = 1"),
    ];
    let cost = "1 ms + (a + 1 ms) * max(0, -d) + b * max(0, d)";
    let calls = format!("{{ name = \"x\", cost = \"{cost}\", times = 5 }}");
    let summary = model(&source(&figures, &chain(&calls, "100 ms")));
    assert_ne!(line(&summary).verdict, Some(Kept), "{:?}", line(&summary));
}

#[test]
fn a_request_to_a_cache_has_the_mean_of_its_calls_only_if_they_add_up() {
    let cache = |formula: &str, deadline: &str| {
        let text = format!(
            "[caches.near]\nalgorithm = \"lru\"\nsize = \"100 B\"\nobject = \"1 B\"\n\
             hit = \"{formula}\"\nmiss = \"{formula}\"\nsimulate = 20000\n\
             requests = {{ distribution = \"uniform\", objects = 200 }}\n[components.s.operations]\n\
             x = {{ cost = \"m\" }}\ny = {{ cost = \"m\" }}\n[chains.c]\n\
             calls = [{{ to = \"near.request\" }}]\ndeadline = \"{deadline}\"\nprobability = 0.5\n\
             of_mean = true\n"
        );
        model(&source(&[("m", "low = \"1 ms\", high = \"2 ms\"")], &text))
    };
    // The longer one of two takes 1.67 ms on average.
    let summary = cache("max(s.x, s.y)", "1.6 ms");
    assert_eq!(line(&summary).verdict, Some(Undecided), "{:?}", line(&summary));
    let summary = cache("s.x + s.y", "3.2 ms");
    assert_eq!(line(&summary).verdict, Some(Kept), "{:?}", line(&summary));
}

#[test]
fn operations_in_a_formula_with_figures_count_with_all_their_calls() {
    let figures =
        [&RARE[..], &[("k", "value = \"1 ms\""), ("c", "value = 6"), ("h", "value = 0.5")]]
            .concat();
    let found = |formula: &str| {
        let text = format!(
            "[components.s.operations]\nx = {{ cost = \"m\" }}\nz = {{ cost = \"{formula}\" }}\n{}",
            chain("{ to = \"s.z\" }", "20 ms")
        );
        line(&model(&source(&figures, &text))).verdict
    };
    for formula in [
        "s.x + s.x + s.x + s.x + s.x + s.x + k",
        "12 * s.x + k",
        "(2 * c) * s.x",
        "(c + 6) * s.x",
        "c * s.x",
        "s.x * c",
        "24 * s.x / 2",
        "s.x / (1 - 5 / c)",
        "12 * min(s.x, 30 * k)",
        "max(s.x, s.x + 0 s, k)",
    ] {
        assert_eq!(found(formula), Some(Undecided), "{formula}");
    }
    for formula in ["s.x + k", "k + s.x / 2", "h * s.x + k", "(1 - h) * s.x + k", "abs(s.x - k)"] {
        assert_eq!(found(formula), Some(Kept), "{formula}");
    }
}

#[test]
fn calls_behind_a_limit_can_differ() {
    let rare = "mixture = [{ of = \"a\", share = \"2 %\" }, { of = \"b\", share = \"98 %\" }]";
    // Twelve independent calls take 600 ms in 78 % of the runs.
    let text = |times: u32| {
        let old = format!("{{ name = \"o\", cost = \"m\", times = {times} }}");
        let old = chain(&old, "700 ms").replace("chains.c", "chains.old");
        let cost = format!("{{ name = \"x\", cost = \"{times} * 49 ms\" }}");
        source(&[RARE[0], RARE[1], ("m", rare)], &format!("{}{old}", chain(&cost, "chain.old")))
    };
    let summary = model(&text(12));
    assert_eq!(summary.chains[0].name, "c");
    assert_eq!(line(&summary).verdict, Some(Undecided), "{:?}", line(&summary));
    assert_eq!(line(&summary).differ, ["m"]);
    let once = model(&text(1));
    assert_eq!(line(&once).verdict, Some(Kept), "{:?}", line(&once));
}

#[test]
fn costs_in_units_of_time_are_averages_like_other_costs() {
    // 2 % of the calls cost 50 ms and the others 2 ms: 36 ms in twelve calls on average.
    let text = "[costs]\ncpu = \"s\"\n[chains.c]\n\
         calls = [{ name = \"x\", times = 12, costs = { cpu = \"max(m, 2 ms)\" } }]\n\
                limits = { cpu = \"38 ms\" }\n";
    let summary = model(&source(&RARE, text));
    let cost = &summary.chains[0].costs[0];
    assert_eq!(cost.limit.as_ref().unwrap().verdict, Kept, "{cost:?}");
}

/// A random chain, and how to simulate it.
struct Case {
    text: String,
    steps: Vec<Step>,
    parallel: bool,
    /// The number of calls of all steps.
    rounds: u32,
    deadline: f64,
}

/// Calls of one operation.
struct Step {
    figure: usize,
    /// How often it runs: at least, and at most.
    times: [u64; 2],
    /// The number of figures that are values of times.
    factor: f64,
    constant: f64,
}

/// The value of a figure, ms.
fn draw(figure: usize, random: &mut Random) -> f64 {
    let share = random.uniform();
    match figure {
        0 => 1.0 + 2.0 * share,
        1 => {
            if share < 0.97 {
                1.0
            } else {
                20.0
            }
        }
        2 => 2.0 - share.max(1e-12).ln(),
        _ => {
            if share < 0.5 {
                1.0
            } else {
                3.0
            }
        }
    }
}

const FIGURES: [(&str, &str); 8] = [
    ("e", "value = \"1 ms\""),
    ("f", "value = \"20 ms\""),
    ("g", "value = \"3 ms\""),
    ("tail", "value = \"0.69314718 ms\", shape = 1.0, distribution = \"weibull\""),
    ("m0", "low = \"1 ms\", high = \"3 ms\""),
    ("m1", "mixture = [{ of = \"e\", share = \"97 %\" }, { of = \"f\", share = \"3 %\" }]"),
    ("m3", "mixture = [{ of = \"e\", share = \"50 %\" }, { of = \"g\", share = \"50 %\" }]"),
    ("unused", "value = \"1 ms\""),
];

impl Case {
    fn random(random: &mut Random) -> Self {
        let mut whole = |low: u64, high: u64| low + random.bits() % (high - low + 1);
        let count = whole(1, 3);
        let parallel = whole(0, 3) == 0;
        let rounds = if whole(0, 2) == 0 { 2 } else { 1 };
        let steps: Vec<Step> = (0..count)
            .map(|_| {
                let least = whole(1, 6);
                let most = if whole(0, 3) == 0 { least + whole(1, 4) } else { least };
                let [factor, constant] = [whole(1, 3), whole(0, 2)].map(|number| number as f64);
                Step { figure: whole(0, 3) as usize, times: [least, most], factor, constant }
            })
            .collect();
        let mut case = Self { text: String::new(), steps, parallel, rounds, deadline: 0.0 };
        // Near a quantile of either way of calling.
        let mut totals: Vec<f64> = (0..400).map(|at| case.total(at % 2 == 0, random)).collect();
        totals.sort_unstable_by(f64::total_cmp);
        let at = [30, 120, 200, 300, 360, 385, 392, 398, 399][(random.bits() % 9) as usize];
        case.deadline =
            (totals[at] * [0.97, 1.0, 1.1, 1.5][(random.bits() % 4) as usize] * 1e3).round() / 1e3;
        case.text = case.write();
        case
    }

    fn write(&self) -> String {
        let mut figures = FIGURES.to_vec();
        let times: Vec<String> = self
            .steps
            .iter()
            .map(|step| {
                let [least, most] = step.times;
                let readings: Vec<String> = (least..=most).map(|one| one.to_string()).collect();
                format!("readings = [{}]", readings.join(", "))
            })
            .collect();
        let names: Vec<String> = (0..times.len()).map(|at| format!("n{at}")).collect();
        figures.extend(names.iter().zip(&times).map(|(name, keys)| (name.as_str(), keys.as_str())));
        let mut operations = String::from("[components.s.operations]\n");
        let mut calls = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let name = ["m0", "m1", "(2 ms + tail)", "m3"][step.figure];
            operations += &format!(
                "o{at} = {{ cost = \"{} * {name} + {} ms\" }}\n",
                step.factor, step.constant
            );
            calls.push(format!("{{ to = \"s.o{at}\", times = \"n{at}\" }}"));
        }
        operations +=
            &format!("all = {{ parallel = {}, calls = [{}] }}\n", self.parallel, calls.join(", "));
        let rest = chain(
            &format!("{{ to = \"s.all\", times = {} }}", self.rounds),
            &format!("{} ms", self.deadline),
        );
        source(&figures, &format!("{operations}{rest}"))
    }

    /// The time of one run, ms, whose calls have one value of each figure, or each its own one.
    fn total(&self, is_equal: bool, random: &mut Random) -> f64 {
        let one: Vec<f64> = (0..4).map(|figure| draw(figure, random)).collect();
        let calls = |step: &Step, random: &mut Random| {
            let [least, most] = step.times;
            least + random.bits() % (most - least + 1)
        };
        let once: Vec<u64> = self.steps.iter().map(|step| calls(step, random)).collect();
        let mut total = 0.0;
        for _ in 0..self.rounds {
            let times = self.steps.iter().zip(&once).map(|(step, once)| {
                let calls = if is_equal { *once } else { calls(step, random) };
                let call = |_| {
                    let value = if is_equal { one[step.figure] } else { draw(step.figure, random) };
                    step.factor * value + step.constant
                };
                (0..calls).map(call).sum::<f64>()
            });
            total += if self.parallel { times.fold(0.0, f64::max) } else { times.sum() };
        }
        total
    }
}

#[test]
fn verdicts_hold_whether_calls_are_equal_or_independent() {
    const RUNS: u32 = 6_000;
    let mut random = Random::from_seed(76);
    let mut found = [0; 3];
    for number in 0..120 {
        let case = Case::random(&mut random);
        let shares = [true, false].map(|is_equal| {
            let limit = case.deadline * (1.0 + 1e-9);
            let kept = (0..RUNS).filter(|_| case.total(is_equal, &mut random) <= limit).count();
            kept as f64 / f64::from(RUNS)
        });
        let verdict = line(&model(&case.text)).verdict.unwrap();
        // More than four standard errors.
        const NOISE: f64 = 0.009;
        let is_missed = shares.iter().any(|share| *share < 0.975 - NOISE);
        let is_kept = shares.iter().any(|share| *share > 0.975 + NOISE);
        let text = format!("{number}: {shares:?} {}", case.text);
        match verdict {
            Kept => assert!(!is_missed, "{text}"),
            Missed => assert!(!is_kept, "{text}"),
            Undecided => {}
        }
        found[verdict as usize] += 1;
    }
    assert!(found.iter().all(|number| *number >= 15), "{found:?}");
}
