//! Mixtures of figures, whose parts have bounds, ranges and systematic parts of their own.

use hemiola_model::summary::Summary;
use hemiola_model::uncertain::Verdict::{self, Kept, Missed};

use crate::model;

/// A model of a chain over `figures`, each a name and its keys, with these lines after it.
fn source(figures: &[(&str, &str)], rest: &str) -> String {
    let figures: String = figures
        .iter()
        .map(|(name, keys)| format!("{name} = {{ {keys}, source = \"guess\", reason = \"r\" }}\n"))
        .collect();
    format!("title = \"t\"\n[figures]\n{figures}{rest}")
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
