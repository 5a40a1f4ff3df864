//! Mixtures of figures, whose parts have bounds, ranges and systematic parts of their own.

use hemiola_model::summary::{ChainSummary, Summary};
use hemiola_model::uncertain::Verdict::{self, Kept, Missed};

use crate::model;

/// A model of a chain over `figures`, each a name and its keys, with these lines after it.
fn source(figures: &[(&str, &str)], rest: &str) -> String {
    let figures: String = figures
        .iter()
        .map(|(name, keys)| format!("{name} = {{ {keys}, source = \"guess\", reason = \"r\" }}\n"))
        .collect();
    format!("title = \"t\"\nsamples = 40000\n[figures]\n{figures}{rest}")
}

/// The keys of a mixture of two figures.
fn mixture([first, second]: [(&str, u32); 2]) -> String {
    let part = |(name, share): (&str, u32)| format!("{{ of = \"{name}\", share = \"{share} %\" }}");
    format!("mixture = [{}, {}]", part(first), part(second))
}

/// The verdict on the deadline of the chain at this place.
fn verdict(summary: &Summary, chain: usize) -> Verdict {
    summary.chains[chain].budget.lines[0].verdict.unwrap()
}

#[test]
fn a_what_if_and_a_sweep_of_a_part_change_the_mixtures_of_it() {
    let read = mixture([("hit", 90), ("miss", 10)]);
    let nested = mixture([("read", 50), ("hit", 50)]);
    let figures = [
        ("hit", "value = \"1 ms\""),
        ("miss", "value = \"10 ms\""),
        ("read", &read),
        ("nested", &nested),
    ];
    let summary = model(&source(
        &figures,
        "[chains.c]\ncalls = [{ name = \"r\", cost = \"read\" }]\ndeadline = \"20 ms\"\n\
         [chains.n]\ncalls = [{ name = \"r\", cost = \"nested\" }]\ndeadline = \"20 ms\"\n\
         [what_if.slow.figures]\nmiss = \"100 ms\"\n[what_if.again]\nafter = \"slow\"\nfigures.hit = \"2 ms\"\n\
         [what_if.both.figures]\nmiss = \"100 ms\"\nread = \"1.09 ms\"\n\
         [[sweep]]\nfigure = \"miss\"\nvalues = [\"10 ms\", \"100 ms\"]\n",
    ));
    for (chain, share) in [(0, 0.1), (1, 0.05)] {
        assert_eq!(verdict(&summary, chain), Kept);
        let found = &summary.chains[chain];
        let cost = |at: usize| (found.what_ifs[at].cost, found.what_ifs[at].deadline.unwrap());
        let mean = |hit: f64, miss: f64| ((1.0 - share) * hit + share * miss) * 1e6;
        for (at, mean) in [(0, mean(1.0, 100.0)), (1, mean(2.0, 100.0))] {
            let (cost, deadline) = cost(at);
            assert!((cost.nominal_ns - mean).abs() < 1.0, "{cost:?} {mean}");
            assert!((cost.mean_ns / mean - 1.0).abs() < 0.03, "{cost:?} {mean}");
            assert_eq!(deadline.verdict, Missed);
        }
        let steps = &found.sweeps[0].steps;
        let verdicts: Vec<Verdict> =
            steps.iter().map(|step| step.cost.deadline.unwrap().verdict).collect();
        assert_eq!(verdicts, [Kept, Missed], "{chain}");
    }
    // The mean of 1 ms and 100 ms is 10.9 ms; a tenth of that is stated, so the longest is 10 ms.
    let both = &summary.chains[0].what_ifs[2];
    assert!((both.cost.nominal_ns - 1.09e6).abs() < 1.0, "{both:?}");
    assert_eq!(both.deadline.unwrap().verdict, Kept);
}

#[test]
fn a_mixture_has_the_same_values_in_a_correlation_as_alone() {
    let mixture = mixture([("long", 60), ("short", 40)]);
    for (long, bound) in [
        ("value = \"10 ms\", stochastic = \"10 ms\", at_least = \"8 ms\"", ""),
        // No time is less than 0.
        ("value = \"1 ms\", stochastic = \"10 ms\"", ""),
        ("low = \"0 ms\", high = \"10 ms\", at_least = \"5 ms\"", ", at_least = \"1.5 ms\""),
        // A bound at a value of the mixture keeps it.
        ("value = \"10 ms\", stochastic = \"10 ms\", at_least = \"8 ms\"", ", at_least = \"1 ms\""),
    ] {
        let mixture = format!("{mixture}{bound}");
        let summary = model(&source(
            &[
                ("long", long),
                ("short", "value = \"1 ms\""),
                ("mixed", &mixture),
                ("alone", &mixture),
                ("other", "value = \"1 ms\", stochastic = \"0.1 ms\""),
            ],
            "[[correlation]]\nfirst = \"mixed\"\nsecond = \"other\"\ncoefficient = 0.3\n\
             [chains.mixed]\ncalls = [{ name = \"m\", cost = \"mixed\" }]\ndeadline = \"9 ms\"\n\
             [chains.alone]\ncalls = [{ name = \"m\", cost = \"alone\" }]\ndeadline = \"9 ms\"\n",
        ));
        let [mixed, alone] = [0, 1].map(|chain| &summary.chains[chain]);
        let kept =
            |chain: &ChainSummary| chain.budget.lines[0].expected_margin.unwrap().probability.value;
        assert!(
            (kept(mixed) - kept(alone)).abs() < 0.01,
            "{long}: {} {}",
            kept(mixed),
            kept(alone)
        );
        for (one, other) in mixed.cost.quantiles.iter().zip(&alone.cost.quantiles) {
            let [one, other] = [one, other].map(|quantile| quantile.time_ns.unwrap());
            assert!((one / other - 1.0).abs() < 0.05, "{long}: {one} {other}");
        }
        let [one, other] = [mixed, alone].map(|chain| chain.cost.monte_carlo);
        assert!((one.mean_ns / other.mean_ns - 1.0).abs() < 0.02, "{long}: {one:?} {other:?}");
        assert!((one.low_ns - other.low_ns).abs() < 0.05e6, "{long}: {one:?} {other:?}");
    }
}

#[test]
fn the_systematic_part_of_a_part_counts_in_the_mixture() {
    let read = mixture([("hit", 90), ("miss", 10)]);
    let nested = mixture([("read", 50), ("hit", 50)]);
    let figures = [
        ("hit", "value = \"1 ms\""),
        ("miss", "value = \"10 ms\", stochastic = \"0.1 ms\", systematic = \"5 ms\""),
        ("read", &read),
        ("nested", &nested),
    ];
    let chain = |name: &str, cost: &str, deadline: &str, keys: &str| {
        format!(
            "[chains.{name}]\ncalls = [{{ name = \"r\", cost = \"{cost}\" }}]\ndeadline = \"{deadline}\"\n{keys}\n"
        )
    };
    let chains = [
        chain("near", "read", "14 ms", ""),
        chain("far", "read", "16 ms", ""),
        chain("nested", "nested", "14 ms", "probability = \"96 %\""),
        chain("nested_often", "nested", "14 ms", "probability = \"94 %\""),
        // The mean moves by 10 % of 5 ms.
        chain("mean", "read", "2.5 ms", "of_mean = true\nprobability = \"50 %\""),
        chain("mean_near", "read", "2.3 ms", "of_mean = true\nprobability = \"50 %\""),
        // The offset moves the distance up and down.
        chain("distance", "abs(read - 1 ms)", "12 ms", ""),
        chain("distance_far", "abs(read - 1 ms)", "15 ms", ""),
    ];
    let summary = model(&source(&figures, &chains.concat()));
    let verdicts: Vec<Verdict> = (0..chains.len()).map(|at| verdict(&summary, at)).collect();
    assert_eq!(verdicts[..6], [Missed, Kept, Missed, Kept, Kept, Missed]);
    assert_ne!(verdicts[6], Kept);
    assert_eq!(verdicts[7], Kept);
    let found = &summary.chains[0].budget.lines[0];
    let chance = found.expected_margin.unwrap().probability;
    assert!(chance.value == 1.0 && (chance.low - 0.9).abs() < 0.01, "{chance:?}");
}

#[test]
fn different_parts_of_a_mixture_can_have_opposite_offsets() {
    // At equal offsets, half of the distances are 5 ms; all are if the first is too short and the second too long.
    let mixed = mixture([("first", 50), ("second", 50)]);
    let figures = [
        ("first", "value = \"10 ms\", systematic = \"3 ms\""),
        ("second", "value = \"14 ms\", systematic = \"3 ms\""),
        ("mixed", &mixed),
    ];
    let chain = |deadline: &str| {
        format!(
            "[chains.c]\ncalls = [{{ name = \"r\", cost = \"abs(mixed - 12 ms)\" }}]\ndeadline = \"{deadline}\"\nprobability = \"40 %\"\n"
        )
    };
    let [near, far] = ["4.5 ms", "5.5 ms"]
        .map(|deadline| verdict(&model(&source(&figures, &chain(deadline))), 0));
    assert_ne!(near, Kept);
    assert_eq!(far, Kept);
}
