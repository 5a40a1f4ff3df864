//! Limits of the mean of many runs.

use hemiola_model::summary::Summary;
use hemiola_model::uncertain::Verdict::{Kept, Missed, Undecided};

use crate::limits::{jobs, recorded};
use crate::{model, with};

/// A chain of an operation that takes 0.2 ms to 0.3 ms, and has a limit and a measurement `of` it.
fn measured(of: &str, limit: &str, keys: &str) -> String {
    format!(
        "title = \"t\"\n[figures]\nt = {{ low = \"0.2 ms\", high = \"0.3 ms\", source = \"guess\", reason = \"r\" }}\n\
         [components.c.operations.f]\ncost = \"t\"\n[chains.k]\ncalls = [{{ to = \"c.f\" }}]\nprobability = \"60 %\"\n\
         {limit}\n{keys}\nmeasured = [{{ {of}circumstances = \"here\", measured = \"jobs.work.response\" }}]\n"
    )
}

#[test]
fn a_measured_mean_of_jobs_counts_for_a_limit_of_the_mean() {
    // Six of ten jobs take 0.22 ms, the others more: the mean is longer than the time that 60 % keep.
    let longer = jobs(200, 340.0, 0.2, 5);
    let times: Vec<f64> =
        longer.chunks(2).flat_map(|two| [220.0, two[0], 220.0, two[1], 220.0]).collect();
    let mean = times.iter().sum::<f64>() / 500.0;
    assert!((268.0..282.0).contains(&mean), "{mean}");
    let recording = recorded(&times);
    let found = |summary: &Summary, line: usize| {
        let line = &summary.chains[0].budget.lines[line];
        (line.verdict.unwrap(), line.measured_ns.unwrap() / 1e3, line.margin_ns)
    };
    for (of, line, limit) in [
        ("", 0, "deadline = \"LIMIT us\""),
        ("of = \"c.f\", ", 1, "budget = { \"c.f\" = \"LIMIT us\" }"),
    ] {
        let verdict = |us: f64, keys: &str| {
            let limit = limit.replace("LIMIT", &us.to_string());
            found(&with(&measured(of, &limit, keys), Some(&recording)), line)
        };
        let (of_each, time, _) = verdict(265.0, "");
        assert_eq!((of_each, time), (Kept, 220.0));
        let (of_mean, time, margin) = verdict(265.0, "of_mean = true");
        assert_eq!(of_mean, Missed);
        assert!((time - mean).abs() < 0.01 && margin.unwrap() < 0.0, "{time} {margin:?}");
        // The mean keeps it, but its interval does not.
        assert_eq!(verdict(mean + 1.0, "of_mean = true").0, Undecided);
        assert_eq!(verdict(mean + 15.0, "of_mean = true").0, Kept);
        // A mean that keeps the limit does not help if too few jobs do.
        let keys = "of_mean = true".to_owned();
        let of_most = measured(of, &limit.replace("LIMIT", "310"), &keys);
        let of_most = of_most.replace("60 %", "90 %");
        let (of_share, time, _) = found(&with(&of_most, Some(&recording)), line);
        assert_eq!(of_share, Missed);
        assert!(time > mean, "{time}");
    }
}

/// A model of a chain with this cost over uniform and normal figures, and a limit of its mean.
fn of_mean(cost: &str, deadline_ms: f64, samples: u32) -> Summary {
    model(&format!(
        "title = \"t\"\nsamples = {samples}\n[figures]\n\
         t = {{ low = \"0 ms\", high = \"2 ms\", distribution = \"uniform\", source = \"guess\", reason = \"r\" }}\n\
         k = {{ low = 0.99, high = 1.01, distribution = \"uniform\", source = \"guess\", reason = \"r\" }}\n\
         u = {{ low = 1e-6, high = 1, distribution = \"uniform\", source = \"guess\", reason = \"r\" }}\n\
         n = {{ value = 0, stochastic = 1, source = \"guess\", reason = \"r\" }}\n\
         [chains.k]\ncalls = [{{ name = \"s\", cost = \"{cost}\" }}]\ndeadline = \"{deadline_ms} ms\"\n\
         of_mean = true\nprobability = \"20 %\"\n"
    ))
}

#[test]
fn more_samples_are_drawn_while_a_mean_is_open() {
    for (deadline, expected) in [(1.1, Kept), (1.01, Kept), (0.99, Missed), (0.9, Missed)] {
        let summary = of_mean("t * k", deadline, 100);
        let line = &summary.chains[0].budget.lines[0];
        assert_eq!(line.verdict, Some(expected), "{deadline}: {:?}", summary.problems);
    }
}

#[test]
fn a_bound_is_asked_for_only_where_there_is_none() {
    for (cost, deadline, reason) in [
        // The mean is 13.8 ms.
        ("1 ms / u", 14.0, "values so rare that the samples do not tell it; set samples"),
        ("exp(4 * n) * 1 ms", 1e9, "state the greatest possible value of the figure as at_most"),
        ("t * k", 1.0, "the mean of the samples is so near"),
    ] {
        let summary = of_mean(cost, deadline, 10_000);
        let chain = &summary.chains[0];
        assert_eq!(chain.budget.lines[0].verdict, Some(Undecided), "{cost}");
        let remarks = &chain.budget.remarks;
        assert!(remarks.iter().any(|text| text.contains(reason)), "{cost}: {remarks:?}");
    }
}

#[test]
fn a_mean_number_of_calls_does_not_hide_why_a_mean_is_open() {
    for times in ["2", "2.5"] {
        for (cost, limit, unit) in [
            (
                "costs = { energy = \"1 J * exp(4 * n)\" }",
                "limits = { energy = \"1e9 J\" }",
                "energy = \"J\"\n",
            ),
            ("cost = \"1 ms * exp(4 * n)\"", "deadline = \"1e6 s\"\nof_mean = true", ""),
        ] {
            let summary = model(&format!(
                "title = \"t\"\nsamples = 10000\n[costs]\n{unit}[figures]\n\
                 n = {{ value = 0, stochastic = 1, source = \"guess\", reason = \"r\" }}\n\
                 [components.c.operations]\na = {{ {cost} }}\n\
                 [chains.k]\ncalls = [{{ to = \"c.a\", times = {times} }}]\nprobability = \"20 %\"\n{limit}\n"
            ));
            let text = summary.problems.join("\n");
            assert!(text.contains("lack the end of a tail"), "{times}, {cost}: {text}");
            assert!(!text.contains("set samples") && !text.contains("set of_mean"), "{text}");
        }
    }
}
