//! Means of values whose long tail is made by a formula, compared with their closed forms.

use hemiola_model::uncertain::Verdict::{self, Kept, Missed, Undecided};

use crate::model;

/// The verdict on the mean of a chain with this cost, over ordinary figures.
fn verdict(seed: u32, cost: &str, mean_ms: f64) -> Verdict {
    let figures = [
        ("n", "value = 0, stochastic = 1"),
        ("u", "low = 1e-6, high = 1, distribution = \"uniform\""),
        ("v", "low = 0, high = 1, distribution = \"uniform\""),
        (
            "rate",
            "low = \"60 MB/s\", value = \"100 MB/s\", high = \"140 MB/s\", distribution = \"normal\"",
        ),
        (
            "even",
            "low = \"80 MB/s\", value = \"100 MB/s\", high = \"120 MB/s\", distribution = \"normal\"",
        ),
    ];
    let figure = |(name, keys): (&str, &str)| {
        format!("{name} = {{ {keys}, source = \"guess\", reason = \"r\" }}\n")
    };
    let source = format!(
        "title = \"t\"\nseed = {seed}\n[figures]\n{}[chains.c]\ncalls = [{{ name = \"m\", cost = \"{cost}\" }}]\n\
         deadline = \"{mean_ms} ms\"\nof_mean = true\nprobability = \"50 %\"\n",
        figures.map(figure).concat()
    );
    model(&source).chains[0].budget.lines[0].verdict.unwrap()
}

#[test]
fn a_mean_that_depends_on_the_tail_of_a_formula_is_never_kept_by_too_short_samples() {
    // The mean of exp(σ·n) is exp(σ² / 2), that of n⁴ is 3, of n⁶ 15, and of 1 / u the logarithm of 1e6.
    let of_exponential = |sigma: f64| (sigma * sigma / 2.0).exp();
    let costs = [
        ("exp(n) * 1 ms", of_exponential(1.0)),
        ("exp(2 * n) * 1 ms", of_exponential(2.0)),
        ("exp(3 * n) * 1 ms", of_exponential(3.0)),
        ("exp(4 * n) * 1 ms", of_exponential(4.0)),
        ("exp(2 * n) * exp(-4 * n) * 1 ms", of_exponential(2.0)),
        ("n ^ 4 * 1 ms", 3.0),
        ("n ^ 6 * 1 ms", 15.0),
        ("1 ms / u", 1e6_f64.ln()),
        ("1000 ms + exp(3 * n) * 1 ms", 1000.0 + of_exponential(3.0)),
    ];
    for seed in 1..=8 {
        for (cost, mean) in costs {
            for share in [0.5, 0.9, 0.99] {
                let found = verdict(seed, cost, mean * share);
                assert_ne!(found, Kept, "seed {seed}: {cost} within {share} of its mean");
            }
        }
    }
}

#[test]
fn a_mean_is_told_where_the_samples_reach_the_tail_of_its_formula() {
    for seed in 1..=4 {
        for (cost, deadline, expected) in [
            // 1.65 ms, 7.39 ms, 3 ms.
            ("exp(n) * 1 ms", 1.75, Kept),
            ("exp(n) * 1 ms", 1.55, Missed),
            ("exp(2 * n) * 1 ms", 7.3, Undecided),
            ("exp(2 * n) * 1 ms", 7.5, Undecided),
            ("exp(2 * n) * 1 ms", 8.5, Kept),
            ("exp(2 * n) * 1 ms", 20.0, Kept),
            ("exp(2 * n) * 1 ms", 5.0, Missed),
            ("n ^ 4 * 1 ms", 3.3, Kept),
            // The mean is 13.8 ms, 2981 ms, and infinite.
            ("1 ms / u", 14.0, Undecided),
            ("exp(4 * n) * 1 ms", 1e9, Undecided),
            ("1 MB / rate", 1e3, Undecided),
            ("1 MB / even", 10.2, Kept),
            ("1 MB / even", 10.0, Missed),
        ] {
            let found = verdict(seed, cost, deadline);
            assert_eq!(found, expected, "seed {seed}: {cost} within {deadline} ms");
        }
    }
}

#[test]
fn a_mean_that_depends_on_rare_values_is_never_kept_without_them() {
    // Once in a million times 1000 s, once in 100,000, and two values that rise steeply near their ends.
    let costs = [
        ("1 ms + 1000 s * floor(v + 0.000001)", 2.0),
        ("1 ms + 1000 s * floor(v + 0.00001)", 11.0),
        ("1 ms + 1000 s * (1 - min(1, floor(v / 0.000001)))", 2.0),
        ("1 ms + 1e10 s * max(0, v - 0.99999)", 501.0),
        ("1 ms + 1e6 s * max(0, n - 4.5)", 695.0),
    ];
    for seed in 1..=8 {
        for (cost, mean) in costs {
            for share in [0.55, 0.9] {
                let found = verdict(seed, cost, mean * share);
                assert_ne!(found, Kept, "seed {seed}: {cost} within {share} of its mean");
            }
        }
        // What can only be a little greater does not matter.
        assert_eq!(verdict(seed, "1 ms + 1 s * floor(v + 0.000001)", 1.2), Kept, "seed {seed}");
        assert_eq!(verdict(seed, "1 ms + v * v * v * v * 1 ms", 1.21), Kept, "seed {seed}");
    }
}
