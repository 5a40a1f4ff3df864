//! Limits with a range, and what measurements add to the verdict on them.

use hemiola_analyze::sched::RecordedFigure;
use hemiola_model::budget::BudgetLine;
use hemiola_model::export::tables;
use hemiola_model::file::Measurements;
use hemiola_model::summary::Summary;
use hemiola_model::uncertain::Verdict::{self, Kept, Missed, Undecided};
use hemiola_stats::{Estimate, mean_and_std};
use hemiola_units::Random;

use crate::{model, with};

/// A figure with these keys.
fn figure(name: &str, keys: &str) -> String {
    format!("{name} = {{ {keys}, source = \"guess\", reason = \"r\" }}\n")
}

/// The first line of the budget of the first chain.
fn line(summary: &Summary) -> &BudgetLine {
    &summary.chains[0].budget.lines[0]
}

/// The share of pairs of independent normal values of which the first is at most the second.
fn share(first: [f64; 2], second: [f64; 2]) -> f64 {
    const PAIRS: u32 = 400_000;
    let mut random = Random::from_seed(31);
    let mut kept = 0;
    for _ in 0..PAIRS {
        let [a, b] = [first, second].map(|[mean, std]| (mean + std * random.normal()).max(0.0));
        kept += u32::from(a <= b);
    }
    f64::from(kept) / f64::from(PAIRS)
}

#[test]
fn an_uncertain_deadline_is_sampled_with_the_time() {
    for (deadline, std) in [(300.0, 100.0), (300.0, 30.0), (220.0, 10.0)] {
        let source = format!(
            "title = \"t\"\n[figures]\n{}{}[chains.c]\ncalls = [{{ name = \"m\", cost = \"t\" }}]\ndeadline = \"d\"\n",
            figure("t", "value = \"200 us\", stochastic = \"10 us\""),
            figure("d", &format!("value = \"{deadline} us\", stochastic = \"{std} us\"")),
        );
        let summary = model(&source);
        let margin = line(&summary).expected_margin.unwrap();
        let expected = share([200.0, 10.0], [deadline, std]);
        assert!((margin.probability.value - expected).abs() < 0.005, "{margin:?} {expected}");
        let verdict = if expected < 0.975 { Missed } else { Kept };
        assert_eq!(
            (line(&summary).verdict, margin.verdict),
            (Some(verdict), verdict),
            "{deadline} {std}"
        );
        // The rest of the deadline with 97.5 % is a quantile of a normal difference.
        let rest = deadline - 200.0 - 1.96 * (std * std + 100.0_f64).sqrt();
        let found = line(&summary).margin_ns.unwrap() / 1e3;
        // The deadline has no values below 0.
        assert!((found - rest).abs() < 0.05 * std.max(10.0), "{found} {rest}");
    }
}

#[test]
fn an_offset_of_a_deadline_counts_at_its_worst() {
    let source = |deadline: &str| {
        format!(
            "title = \"t\"\n[figures]\n{}{}[components.s.operations]\na = {{ cost = \"t\" }}\n\
             [chains.c]\ncalls = [{{ to = \"s.a\" }}]\ndeadline = \"{deadline}\"\nbudget = {{ \"s.a\" = \"{deadline}\" }}\n\
             [what_if.late.figures]\nt = \"6 ms\"\n",
            figure("t", "value = \"5 ms\""),
            figure("b", "value = \"6 ms\", stochastic = \"2 ms\", systematic = \"1 ms\""),
        )
    };
    let summary = model(&source("b"));
    // 69 % at the nominal deadline of 6 ms, and 50 % at 5 ms.
    let part = &summary.chains[0].budget.lines[1];
    for line in [line(&summary), part] {
        let chance = line.expected_margin.unwrap().probability;
        assert!(
            (chance.value - 0.691).abs() < 0.01 && (chance.low - 0.5).abs() < 0.02,
            "{chance:?}"
        );
        assert_eq!(line.verdict, Some(Missed));
    }
    let late = summary.chains[0].what_ifs[0].deadline.unwrap();
    assert!((late.probability.value - 0.5).abs() < 0.01 && late.verdict == Missed, "{late:?}");
    assert_eq!(summary.failures.len(), 2, "{:?}", summary.failures);
    // A figure in the time and in its limit is the same value in both.
    let summary = model(&source("2 * t"));
    assert_eq!(line(&summary).expected_margin.unwrap().probability.low, 1.0);
}

#[test]
fn a_time_and_its_limit_share_their_figures() {
    let source = format!(
        "title = \"t\"\n[figures]\n{}[chains.c]\ncalls = [{{ name = \"m\", cost = \"t + 1 ms\" }}]\n\
         deadline = \"t + 1.5 ms\"\n",
        figure("t", "value = \"5 ms\", stochastic = \"1 ms\", systematic = \"2 ms\""),
    );
    let summary = model(&source);
    assert_eq!(line(&summary).verdict, Some(Kept));
    assert!((line(&summary).margin_ns.unwrap() - 0.5e6).abs() < 1.0);
}

#[test]
fn an_uncertain_limit_of_a_cost_is_sampled_with_the_cost() {
    let source = format!(
        "title = \"t\"\n[units]\nreq = {{ quantity = \"requests\" }}\nEUR = {{ quantity = \"money\" }}\n\
         [costs]\nmoney = \"EUR/req\"\n[figures]\n{}{}[chains.c]\n\
         calls = [{{ name = \"m\", costs.money = \"p\" }}]\nlimits.money = \"l\"\n",
        figure("p", "value = \"1 EUR/req\", stochastic = \"0.01 EUR/req\""),
        figure("l", "value = \"1.2 EUR/req\", stochastic = \"0.4 EUR/req\""),
    );
    let limit = model(&source).chains[0].costs[0].limit.unwrap();
    let expected = share([1.0, 0.01], [1.2, 0.4]);
    assert!((limit.probability.value - expected).abs() < 0.005, "{limit:?} {expected}");
    assert_eq!(limit.verdict, Missed);
}

/// The verdict of a chain that takes from 1.5 to `high` µs, with these measured times.
fn measured(high: &str, deadline: &str, times: &[&str]) -> (Verdict, f64, Option<f64>) {
    let observations: String = times
        .iter()
        .map(|time| {
            format!("[[chains.c.measured]]\ncircumstances = \"{time}\"\nvalue = \"{time}\"\n")
        })
        .collect();
    let source = format!(
        "title = \"t\"\n[figures]\n{}[chains.c]\ncalls = [{{ name = \"m\", cost = \"t\" }}]\n\
         deadline = \"{deadline}\"\n{observations}",
        figure("t", &format!("low = \"1.5 us\", high = \"{high}\"")),
    );
    let summary = model(&source);
    let line = line(&summary);
    assert_eq!(
        summary.failures.iter().any(|text| text.contains("the deadline of")),
        line.verdict != Some(Kept)
    );
    (line.verdict.unwrap(), line.margin_ns.unwrap(), line.measured_ns)
}

#[test]
fn the_verdict_is_that_of_the_prediction_whatever_short_times_were_measured() {
    // 5 % of the predicted times keep the deadline.
    for times in [&["1.9 us", "10 us"][..], &["10 us", "1.9 us"], &["1.9 us"], &[]] {
        assert_eq!(measured("11 us", "2 us", times).0, Missed, "{times:?}");
    }
    assert_eq!(
        measured("11 us", "2 us", &["1.9 us", "10 us"]),
        measured("11 us", "2 us", &["10 us", "1.9 us"])
    );
}

#[test]
fn of_measured_times_the_longest_counts_in_every_order() {
    let times = ["1.9 us", "3 us", "2.5 us"];
    for deadline in ["2.1 us", "2.7 us", "4 us"] {
        let mut found = Vec::new();
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            found.push(measured("2 us", deadline, &order.map(|at| times[at])));
        }
        assert!(found.iter().all(|one| *one == found[0]), "{deadline}: {found:?}");
        // The prediction alone keeps each of them; the longest time keeps only the last.
        let expected = if deadline == "4 us" { Kept } else { Missed };
        assert_eq!((found[0].0, found[0].2), (expected, Some(3e3)), "{deadline}");
        assert_eq!(measured("2 us", deadline, &[]).0, Kept);
        let limit: f64 = deadline.trim_end_matches(" us").parse().unwrap();
        assert!((found[0].1 - (limit - 3.0) * 1e3).abs() < 1.0, "{found:?}");
    }
}

/// Log-normal times of jobs with this median and spread, in µs.
pub(crate) fn jobs(count: usize, median: f64, sigma: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::from_seed(seed);
    (0..count).map(|_| median * (sigma * random.normal()).exp()).collect()
}

/// The measurements of a recording with these jobs, as its analysis gives them.
pub(crate) fn recorded(jobs: &[f64]) -> Measurements {
    let mut sorted = jobs.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (mean, std) = mean_and_std(jobs).unwrap();
    let estimate = Estimate::of_mean(jobs).unwrap();
    let figure = RecordedFigure {
        name: "jobs.work.response".into(),
        unit: "ns",
        mean: Estimate {
            value: mean * 1e3,
            low: estimate.low * 1e3,
            high: estimate.high * 1e3,
            std: std * 1e3,
            ..estimate
        },
        values: sorted.into_iter().map(|job| (job * 1e3, 1)).collect(),
    };
    Measurements::of_recording("a recording".into(), vec![figure])
}

/// The same measurements without the single jobs.
fn means(jobs: &[f64]) -> Measurements {
    let estimate = Estimate::of_mean(jobs).unwrap();
    let text = format!(
        r#"{{"title": "means", "figures": [{{"name": "jobs.work.response", "value": {}, "unit": "µs", "low": {}, "high": {},
            "samples": {}, "circumstances": "here"}}]}}"#,
        estimate.value,
        estimate.low,
        estimate.high,
        jobs.len(),
    );
    Measurements::of_summary(&text).unwrap()
}

/// A chain of one measured step, with this deadline and these further keys.
fn work(deadline: &str, keys: &str) -> String {
    format!(
        "title = \"t\"\n[figures]\n{}[chains.c]\ncalls = [{{ name = \"m\", cost = \"d\" }}]\n\
         deadline = \"{deadline}\"\n{keys}\n",
        figure(
            "d",
            "value = \"500 us\", shape = 2.0, distribution = \"weibull\", measured = \"jobs.work.response\""
        ),
    )
}

#[test]
fn a_recorded_figure_is_the_distribution_of_its_jobs() {
    let jobs = jobs(400, 450.0, 0.75, 3);
    for deadline in [300.0, 700.0, 1500.0, 9000.0] {
        let summary = with(&work(&format!("{deadline} us"), ""), Some(&recorded(&jobs)));
        let kept = jobs.iter().filter(|job| **job <= deadline).count() as f64 / 400.0;
        let margin = line(&summary).expected_margin.unwrap();
        assert!((margin.probability.value - kept).abs() < 0.005, "{deadline}: {margin:?} {kept}");
        // The range that 400 jobs leave open.
        assert!(margin.probability.low <= kept && kept <= margin.probability.high);
        assert!(kept == 0.0 || margin.probability.low < kept - 0.01, "{margin:?}");
    }
    assert_eq!(line(&with(&work("700 us", ""), Some(&recorded(&jobs)))).verdict, Some(Missed));
    assert_eq!(line(&with(&work("9 ms", ""), Some(&recorded(&jobs)))).verdict, Some(Kept));
}

#[test]
fn few_jobs_never_prove_that_a_deadline_is_kept() {
    // The deadline is the 97 % quantile of the true distribution: it is missed.
    let deadline = 450.0 * (0.75_f64 * 1.880_794).exp();
    let mut wrong = 0;
    for seed in 0..60 {
        for count in [20, 60, 200] {
            let jobs = jobs(count, 450.0, 0.75, 100 + seed);
            let text =
                work(&format!("{deadline} us"), "").replace("title", "samples = 2000\ntitle");
            wrong += u32::from(line(&with(&text, Some(&recorded(&jobs)))).verdict == Some(Kept));
        }
    }
    assert_eq!(wrong, 0);
}

#[test]
fn few_samples_of_jobs_never_prove_that_calls_miss_a_deadline() {
    // Each of three calls can be the one whose time counts. A quarter of the jobs keep a third of the deadline: 33 % at
    // most for so few jobs, and 36 % with the error of so few samples.
    let jobs = jobs(400, 450.0, 0.75, 3);
    let mut sorted = jobs.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let found = |rank: usize| {
        let text = work(&format!("{} us", 3.0 * sorted[rank]), "")
            .replace("title", "samples = 2000\ntitle")
            .replace("cost = \"d\"", "cost = \"d\", times = 3");
        line(&with(&text, Some(&recorded(&jobs)))).verdict
    };
    assert_eq!((found(99), found(40)), (Some(Undecided), Some(Missed)));
}

#[test]
fn a_mean_does_not_tell_about_single_runs() {
    let jobs = jobs(400, 450.0, 0.75, 3);
    let found = means(&jobs);
    let summary = with(&work("700 us", ""), Some(&found));
    let line_ = line(&summary);
    assert_eq!((line_.verdict, line_.margin_ns), (Some(Undecided), None));
    assert_eq!(line_.means, ["d"]);
    let shown: Vec<String> =
        tables::tables(&summary).into_iter().flat_map(|table| table.rows).flatten().collect();
    assert!(shown.iter().any(|cell| cell == "undecided: the mean is kept"), "{shown:?}");
    let text = summary.problems.join("\n");
    assert!(text.contains("only the mean of d is known") && text.contains("of_mean"), "{text}");
    assert_eq!(summary.failures.len(), 1, "{:?}", summary.failures);
    assert!(summary.failures[0].contains("the mean is kept"), "{:?}", summary.failures);
    // A mean that misses the deadline does not keep it, and a verdict on the mean is one.
    assert_eq!(line(&with(&work("500 us", ""), Some(&found))).verdict, Some(Missed));
    let of_mean = with(&work("700 us", "of_mean = true"), Some(&found));
    assert_eq!((line(&of_mean).verdict, of_mean.failures.len()), (Some(Kept), 0));
    let shown: Vec<String> =
        tables::tables(&of_mean).into_iter().flat_map(|table| table.rows).flatten().collect();
    assert!(shown.iter().any(|cell| cell == "the mean is kept"), "{shown:?}");
    // Without measurements the file's distribution decides.
    assert_eq!(line(&model(&work("700 us", ""))).verdict, Some(Missed));
    // Part of a mixture, too.
    let mixture = work("700 us", "").replace("cost = \"d\"", "cost = \"e\"").replace(
        "[chains.c]",
        "e = { mixture = [{ of = \"d\", share = 1 }], source = \"guess\", reason = \"r\" }\n[chains.c]",
    );
    assert_eq!(line(&with(&mixture, Some(&found))).verdict, Some(Undecided));
}

#[test]
fn recorded_jobs_beyond_a_deadline_refute_a_prediction_that_keeps_it() {
    let jobs = jobs(400, 450.0, 0.75, 3);
    let source = |deadline: &str| {
        format!(
            "title = \"t\"\n[chains.c]\ncalls = [{{ name = \"m\", cost = \"600 us\" }}]\ndeadline = \"{deadline}\"\n\
             measured = [{{ circumstances = \"jobs\", measured = \"jobs.work.response\" }}]\n"
        )
    };
    // The mean is below 700 µs, but a fifth of the jobs are not.
    let summary = with(&source("700 us"), Some(&recorded(&jobs)));
    assert_eq!(
        (line(&summary).expected_margin.unwrap().verdict, line(&summary).verdict),
        (Kept, Some(Missed))
    );
    assert!(line(&summary).measured_ns.unwrap() > 1e6, "{:?}", line(&summary));
    assert_eq!(line(&with(&source("9 ms"), Some(&recorded(&jobs)))).verdict, Some(Kept));
}

/// A chain of one step, with a deadline of 60 ms and these further keys: a queue with a load of 80 %, whose mean time
/// is 50 ms, or a cache in front of a source that takes 100 ms.
fn in_the_mean(cost: &str, keys: &str) -> String {
    format!(
        "title = \"t\"\nsamples = 2000\n[figures]\n{}{}[caches.near]\nalgorithm = \"lru\"\nsize = \"100 B\"\n\
         object = \"1 B\"\nhit = \"1 ms\"\nmiss = \"100 ms\"\nsimulate = 20000\n\
         requests = {{ distribution = \"uniform\", objects = 200 }}\n\
         [chains.c]\ncalls = [{{ name = \"m\", cost = \"{cost}\" }}]\ndeadline = \"60 ms\"\n{keys}\n",
        figure("rate", "value = \"80/s\""),
        figure("service", "value = \"10 ms\""),
    )
}

#[test]
fn the_mean_time_of_a_queue_or_a_cache_does_not_tell_about_single_runs() {
    // 70 % of the times in the queue keep 60 ms, and half of the requests; the means are 50 ms.
    for (cost, name) in [
        ("mm1(rate, service)", "mm1(rate, service)"),
        ("1 ms + max(mmc(rate, 2 * service, 2), 2 ms)", "mmc(rate, 2 * service, 2)"),
        ("mg1(rate, service, 1)", "mg1(rate, service, 1)"),
        ("near.request", "near.request"),
        ("near.hit_ratio * near.hit + (1 - near.hit_ratio) * near.miss", "near.request"),
    ] {
        let summary = model(&in_the_mean(cost, ""));
        let line_ = line(&summary);
        assert_eq!((line_.verdict, line_.margin_ns), (Some(Undecided), None), "{cost}");
        assert_eq!(
            (&line_.means[..], &summary.chains[0].cost.means[..]),
            (&[name.to_owned()][..], &[name.to_owned()][..])
        );
        assert_eq!(line_.expected_margin.unwrap().mean, Some(Kept), "{cost}");
        let text = summary.problems.join("\n");
        let expected = format!("the mean is kept, but only the mean of {name} is known");
        assert!(text.contains(&expected) && text.contains("of_mean"), "{text}");
        assert!(
            summary.failures.len() == 1 && summary.failures[0].contains(&expected),
            "{:?}",
            summary.failures
        );
        let shown = tables::tables(&summary);
        let cells: Vec<&String> = shown.iter().flat_map(|table| &table.rows).flatten().collect();
        assert!(cells.iter().any(|cell| *cell == "undecided: the mean is kept"), "{cells:?}");
        assert!(cells.iter().any(|cell| cell.ends_with(", mean")), "{cells:?}");
        assert!(
            shown[0].note.contains(&format!("only the mean of {name} is known")),
            "{}",
            shown[0].note
        );
        let of_mean = model(&in_the_mean(cost, "of_mean = true"));
        assert_eq!((line(&of_mean).verdict, of_mean.failures.len()), (Some(Kept), 0), "{cost}");
    }
    // An allotment, and the deadline of a what-if.
    let part = "[components.s.operations]\na = { cost = \"mm1(rate, service)\" }\n\
         [chains.c]\ncalls = [{ to = \"s.a\" }]\nbudget = { \"s.a\" = \"55 ms\" }\n\
         deadline = \"60 ms\"\n[what_if.busier.figures]\nrate = \"81/s\"\n";
    let text = in_the_mean("1 ms", "");
    let (figures, _) = text.split_once("[chains.c]").unwrap();
    let summary = model(&format!("{figures}{part}"));
    let lines = &summary.chains[0].budget.lines;
    assert_eq!((lines[0].verdict, lines[1].verdict), (Some(Undecided), Some(Undecided)));
    let deadline = summary.chains[0].what_ifs[0].deadline.unwrap();
    assert_eq!((deadline.verdict, deadline.mean), (Undecided, Some(Kept)));
}

#[test]
fn few_long_requests_do_not_make_the_others_late() {
    // 1 % of the requests take 10 s, which makes the mean 100 ms; all others take 1 ms.
    let rare = in_the_mean("near.request", "")
        .replace("objects = 200", "objects = 101")
        .replace("100 ms", "10 s");
    let summary = model(&rare);
    assert_eq!(line(&summary).verdict, Some(Undecided), "{:?}", line(&summary));
    assert_eq!(line(&summary).expected_margin.unwrap().mean, Some(Missed));
    let text = &summary.failures[0];
    assert!(text.contains("only the mean of near.request is known, and the mean"), "{text}");
    let of_mean = model(&rare.replace("deadline", "of_mean = true\ndeadline"));
    assert_eq!(line(&of_mean).verdict, Some(Missed));
}

#[test]
fn a_cache_with_requests_of_one_kind_and_an_overloaded_queue_are_told() {
    // All objects fit into the cache, so each request takes 1 ms.
    let all = in_the_mean("near.request", "").replace("objects = 200", "objects = 50");
    let summary = model(&all);
    assert_eq!((line(&summary).verdict, line(&summary).means.len()), (Some(Kept), 0));
    // In a tenth of the samples the queue never empties.
    let service = "service = { low = \"10.7 ms\", high = \"12.7 ms\", value = \"11.7 ms\"";
    let text = in_the_mean("mm1(rate, service)", "deadline = \"1000 s\"")
        .replace("deadline = \"60 ms\"\n", "");
    let summary = model(&text.replace("service = { value = \"10 ms\"", service));
    assert_eq!(line(&summary).verdict, Some(Missed), "{:?}", line(&summary));
}

#[test]
fn a_number_of_calls_that_no_run_can_have_is_a_mean() {
    let source = |times: &str, cost: &str| {
        format!(
            "title = \"t\"\nsamples = 2000\n[figures]\n{}{}[costs]\nenergy = \"J\"\n[chains.c]\ncalls = [\n\
             {{ name = \"usual\", cost = \"1 ms\" }},\n\
             {{ name = \"rare\", {cost}, times = {times} }},\n]\ndeadline = \"120 ms\"\n",
            figure("lost", "value = 0.1, stochastic = 0.02"),
            figure("blocks", "low = 0.3, high = 1.2"),
        )
    };
    let time = "cost = \"100 ms\"";
    for (times, name) in [
        ("0.05", "the 0.05 calls of chain.c"),
        ("\"1 / (1 - lost)\"", "the 1 / (1 - lost) calls of chain.c"),
    ] {
        let summary = model(&source(times, time));
        assert_eq!(line(&summary).verdict, Some(Undecided), "{times}");
        let text = summary.problems.join("\n");
        assert!(text.contains(&format!("only the mean of {name} is known")), "{text}");
        let costs = model(&source(times, "costs.energy = \"1 J\""));
        assert_eq!((line(&costs).verdict, line(&costs).means.len()), (Some(Kept), 0), "{times}");
    }
    // A number of parts, certain or not.
    for times in ["1", "\"0.1 * 10\"", "\"ceil(0.05)\"", "\"blocks\""] {
        let summary = model(&source(times, time));
        assert!(summary.chains[0].cost.means.is_empty(), "{times}: {:?}", line(&summary));
    }
}

#[test]
fn a_limit_of_the_mean_is_missed_by_the_mean_even_if_nearly_all_runs_keep_it() {
    let source = |deadline: &str, keys: &str| {
        format!(
            "title = \"t\"\n[figures]\n{}{}{}[costs]\nenergy = \"J\"\n[chains.c]\n\
             calls = [{{ name = \"m\", cost = \"d\", costs.energy = \"d * 1 W\" }}]\n\
             deadline = \"{deadline}\"\nlimits.energy = \"15 mJ\"\n{keys}\n",
            figure("usual", "value = \"1 ms\""),
            figure("long", "value = \"1 s\""),
            figure(
                "d",
                "mixture = [{ of = \"usual\", share = \"98 %\" }, { of = \"long\", share = \"2 %\" }]"
            ),
        )
    };
    // The mean is 21 ms.
    let each = model(&source("15 ms", ""));
    assert_eq!((line(&each).verdict, line(&each).margin_ns), (Some(Kept), Some(14e6)));
    let mean = model(&source("15 ms", "of_mean = true"));
    assert_eq!(line(&mean).verdict, Some(Missed), "{:?}", line(&mean));
    assert!(line(&mean).margin_ns.unwrap() < -4e6, "{:?}", line(&mean));
    let text = mean.problems.join("\n");
    assert!(text.contains("98 % of the samples keep it, but the mean exceeds it by"), "{text}");
    assert_eq!(line(&model(&source("25 ms", "of_mean = true"))).verdict, Some(Kept));
    // An uncertain limit, and that of another cost, which is an average.
    let uncertain = source("limit", "of_mean = true").replace(
        "usual = ",
        &format!("{}usual = ", figure("limit", "low = \"14 ms\", high = \"16 ms\"")),
    );
    assert_eq!(line(&model(&uncertain)).verdict, Some(Missed));
    assert_eq!(each.chains[0].costs[0].limit.unwrap().verdict, Missed);
}

#[test]
fn a_mean_is_not_known_if_some_samples_have_no_value() {
    // In 1.3 % of the samples the queue never empties; the mean of the others is far below the deadline.
    let source = |high: &str| {
        in_the_mean("mm1(rate, service)", "of_mean = true")
            .replace("\"60 ms\"", "\"1000 s\"")
            .replace(
                "service = { value = \"10 ms\"",
                &format!("service = {{ low = \"5 ms\", high = \"{high}\""),
            )
    };
    let found = |high: &str, deadline: &str| {
        line(&model(&source(high).replace("1000 s", deadline))).verdict
    };
    assert_eq!(found("12.6 ms", "1000 s"), Some(Undecided));
    assert_eq!(found("12.6 ms", "5 ms"), Some(Missed));
    assert_eq!(found("12.4 ms", "1000 s"), Some(Kept));
    // 4 % of the samples.
    assert_eq!(found("12.8 ms", "1000 s"), Some(Missed));
}

/// The verdict on the mean of a chain with this cost over the long tails p, of infinite variance, and l.
fn mean_of_long_tails(seed: u32, cost: &str, deadline: &str) -> Verdict {
    let figures = [
        figure("p", "value = \"1 ms\", shape = 1.02, distribution = \"pareto\""),
        figure("l", "low = \"0.1 us\", high = \"10 s\", distribution = \"log-normal\""),
        figure("t", "value = \"1 ms\", shape = 2.5, distribution = \"pareto\", at_most = \"1 s\""),
    ];
    let source = format!(
        "title = \"t\"\nseed = {seed}\n[figures]\n{}[chains.c]\ncalls = [{{ name = \"m\", cost = \"{cost}\" }}]\n\
         deadline = \"{deadline}\"\nof_mean = true\nprobability = \"80 %\"\n",
        figures.concat()
    );
    line(&model(&source)).verdict.unwrap()
}

#[test]
fn samples_do_not_tell_the_mean_of_a_tail_that_they_do_not_reach() {
    for seed in 1..=4 {
        // The mean of p is 25.85 ms and that of l, with a sigma of 4.7, 63 s: all but a few samples are far below.
        for (cost, deadline, expected) in [
            ("p", "23 ms", Missed),
            ("p", "26 ms", Kept),
            ("2 * p + 10 ms", "61 ms", Missed),
            ("2 * p + 10 ms", "62 ms", Kept),
            ("l", "20 s", Missed),
            ("l", "70 s", Kept),
            // No sum: the samples alone do not tell.
            ("max(p, 0.1 ms)", "26 ms", Undecided),
            ("l * (1 ms + p) / 1 ms", "1000 s", Undecided),
            ("t", "1.6 ms", Kept),
        ] {
            let found = mean_of_long_tails(seed, cost, deadline);
            assert_eq!(found, expected, "seed {seed}: {cost} within {deadline}");
        }
    }
}

#[test]
fn few_jobs_do_not_prove_that_their_mean_is_kept() {
    // Of the jobs, 2 % take 20 ms and the others 2 ms: 2.36 ms on average.
    let [mut wrong, mut kept] = [0, 0];
    for seed in 0..20 {
        let mut random = Random::from_seed(seed);
        let mut job = || if random.below(50) == 0 { 20e3 } else { 2e3 + 10.0 * random.normal() };
        let recorded = |jobs: Vec<f64>| recorded(&jobs);
        let few = recorded((0..400).map(|_| job()).collect());
        let many = recorded((0..4_000).map(|_| job()).collect());
        let verdict = |deadline: &str, found: &Measurements| {
            let keys = "of_mean = true\nprobability = \"90 %\"";
            line(&with(&work(deadline, keys), Some(found))).verdict.unwrap()
        };
        for deadline in ["2.2 ms", "2.35 ms"] {
            wrong += u32::from(verdict(deadline, &few) == Kept);
        }
        kept += u32::from(verdict("2.8 ms", &many) == Kept);
    }
    assert_eq!(wrong, 0);
    assert!(kept > 15, "{kept}");
}

#[test]
fn the_mean_of_another_model_stays_the_mean() {
    // 3 % of 300 ms and 97 % of 0.1 ms.
    let text = r#"{"title": "other", "kind": "model", "figures": [{"name": "chain.s", "value": 9.097e6, "unit": "ns",
        "low": 0.1e6, "high": 300e6, "systematic": 0, "samples": 100000, "circumstances": "the model as it is"}]}"#;
    let found = Measurements::of_summary(text).unwrap();
    let source = format!(
        "title = \"t\"\n[figures]\n{}[chains.c]\ncalls = [{{ name = \"m\", cost = \"f\" }}]\ndeadline = \"20 ms\"\n\
         of_mean = true\nprobability = \"60 %\"\n[what_if.more.figures]\nf = \"20 ms\"\n",
        figure("f", "value = \"10 ms\", measured = \"chain.s\"")
    );
    let summary = with(&source, Some(&found));
    let mean = summary.chains[0].cost.monte_carlo.mean_ns;
    assert!((mean / 9.097e6 - 1.0).abs() < 0.03, "{mean}");
    let more = summary.chains[0].what_ifs[0].cost.mean_ns;
    assert!((more / 20e6 - 1.0).abs() < 0.03, "{more}");
    assert_eq!(summary.inputs[0].range, "100 µs to 300 ms, of the samples of a model");
}

#[test]
fn the_what_ifs_show_the_verdict_with_the_measured_times() {
    let source = format!(
        "title = \"t\"\n[figures]\n{}[chains.c]\ncalls = [{{ name = \"m\", cost = \"g\" }}]\ndeadline = \"5 ms\"\n\
         measured = [{{ circumstances = \"c\", value = \"6 ms\" }}]\n[what_if.w.figures]\ng = \"1.1 ms\"\n",
        figure("g", "value = \"1 ms\", stochastic = \"0.1 ms\"")
    );
    let summary = model(&source);
    let rows: Vec<Vec<String>> =
        tables::tables(&summary).into_iter().flat_map(|table| table.rows).collect();
    let own = rows.iter().find(|row| row[0] == "the model as it is").unwrap();
    assert_eq!(own.last().map(String::as_str), Some("missed"), "{own:?}");
}

#[test]
fn a_number_of_calls_that_is_a_share_or_a_factor_is_a_mean() {
    let found = |number: &str, call: &str, deadline: &str| {
        let source = format!(
            "title = \"t\"\n[figures]\n{}{}[components.d.operations.read]\ncost = \"slow\"\n\
             [chains.c]\ncalls = [{{ {call} }}]\ndeadline = \"{deadline}\"\n",
            figure("slow", "value = \"100 ms\""),
            figure("n", number),
        );
        let summary = model(&source);
        (line(&summary).verdict.unwrap(), !line(&summary).means.is_empty())
    };
    let calls = "to = \"d.read\", times = \"n\"";
    for (number, call, deadline) in [
        // From a share of 0 as from one of 1 %, as a range and as an offset.
        ("low = 0, high = \"10 %\"", calls, "15 ms"),
        ("low = \"1 %\", high = \"10 %\"", calls, "15 ms"),
        ("value = \"5 %\", systematic = \"5 %\"", calls, "15 ms"),
        ("low = 0, high = \"10 %\"", "to = \"d.read\", times = \"1 / (1 - n)\"", "120 ms"),
        ("low = 0, high = \"10 %\"", "name = \"s\", cost = \"n * d.read\"", "15 ms"),
        ("value = 20", "name = \"s\", cost = \"d.read / n + 1 ms\"", "15 ms"),
        ("value = 1", "name = \"s\", cost = \"0.05 * d.read\"", "15 ms"),
    ] {
        assert_eq!(found(number, call, deadline), (Undecided, true), "{number} {call}");
    }
    assert_eq!(found("low = 3, high = 5", calls, "499 ms"), (Undecided, true));
    assert_eq!(found("low = 0.9, high = 1.1", calls, "150 ms"), (Undecided, true));
    for (number, call, deadline) in [
        // No run has a part of a call.
        ("low = 3, high = 5", calls, "501 ms"),
        ("low = 0.9, high = 1.1", calls, "201 ms"),
        ("readings = [0, 0, 0, 1]", calls, "101 ms"),
        ("value = 2", "name = \"s\", cost = \"n * d.read\"", "201 ms"),
        ("value = \"5 %\"", "name = \"s\", cost = \"n * slow\"", "15 ms"),
        ("value = 2", "name = \"s\", cost = \"1 ms\", times = \"n\"", "2 ms"),
    ] {
        assert_eq!(found(number, call, deadline), (Kept, false), "{number} {call}");
    }
    // Part of the time of an operation is a limit like any other one.
    assert_eq!(found("value = 1", "to = \"d.read\"", "1.5 * d.read").0, Kept);
}

#[test]
fn an_open_verdict_names_what_would_decide_it() {
    let problems = |summary: Summary| summary.problems.join("\n");
    let jobs = jobs(100, 450.0, 0.3, 3);
    for keys in ["", "of_mean = true\nprobability = \"60 %\""] {
        let deadline = if keys.is_empty() { "1 ms" } else { "480 us" };
        let text = problems(with(&work(deadline, keys), Some(&recorded(&jobs))));
        assert!(text.contains("record more jobs") && !text.contains("set samples"), "{text}");
    }
    let tail = figure("p", "value = \"1 ms\", shape = 1.1, distribution = \"pareto\"");
    let text = problems(model(&format!(
        "title = \"t\"\n[figures]\n{tail}[chains.c]\ncalls = [{{ name = \"m\", cost = \"max(p, 1 us)\" }}]\n\
         deadline = \"9 ms\"\nof_mean = true\nprobability = \"90 %\"\n"
    )));
    assert!(text.contains("end of a tail") && !text.contains("set samples"), "{text}");
}

#[test]
fn a_single_request_to_a_cache_lies_between_a_hit_and_a_miss() {
    // A hit takes 1 ms and a miss 100 ms.
    let found = |calls: &str, deadline: &str| {
        let text = in_the_mean("near.request", "");
        let text = text.replace("{ name = \"m\", cost = \"near.request\" }", calls);
        let line_ = line(&model(&text.replace("60 ms", deadline))).clone();
        (line_.verdict.unwrap(), line_.means.is_empty())
    };
    let one = "{ to = \"near.request\" }";
    let two = "{ to = \"near.request\", times = 2 }";
    for (calls, deadline, verdict) in [
        (one, "101 ms", Kept),
        (one, "99 ms", Undecided),
        (one, "2 ms", Undecided),
        (one, "0.5 ms", Missed),
        (two, "201 ms", Kept),
        (two, "150 ms", Undecided),
        (two, "1.5 ms", Missed),
    ] {
        assert_eq!(found(calls, deadline), (verdict, verdict != Undecided), "{calls} {deadline}");
    }
}

#[test]
fn several_figures_of_one_recording_are_noted_unless_a_correlation_relates_them() {
    let found = recorded(&jobs(400, 450.0, 0.3, 3));
    let problems = |cost: &str, rest: &str| {
        let recorded = "value = \"500 us\", measured = \"jobs.work.response\"";
        let source = format!(
            "title = \"t\"\n[figures]\n{}{}{rest}\n[chains.c]\ncalls = [{{ name = \"m\", cost = \"{cost}\" }}]\n",
            figure("d", recorded),
            figure("e", recorded),
        );
        with(&source, Some(&found)).problems.join("\n")
    };
    let note = "c: d and e were recorded together, but their times are drawn independently";
    assert!(problems("d + e", "").contains(note));
    assert!(!problems("d", "").contains("recorded together"));
    let correlation = "[[correlation]]\nfirst = \"d\"\nsecond = \"e\"\ncoefficient = 0.9";
    assert!(!problems("d + e", correlation).contains("recorded together"));
}
