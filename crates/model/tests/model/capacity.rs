//! Demands: what a chain can carry for long is 1 over the mean of the time that each part needs.

use hemiola_model::chain::Capacity;
use hemiola_model::summary::Summary;
use hemiola_model::uncertain::Verdict::{Kept, Missed, Undecided};

use crate::limits::{jobs, recorded};
use crate::{model, with};

/// A model of a chain with these figures, calls and further keys.
fn source(figures: &[(&str, &str)], calls: &str, keys: &str) -> String {
    let figure = |(name, keys): &(&str, &str)| {
        format!("{name} = {{ {keys}, source = \"guess\", reason = \"r\" }}\n")
    };
    let figures: String = figures.iter().map(figure).collect();
    format!(
        "title = \"t\"\n[units]\nreq = {{ quantity = \"requests\" }}\n[figures]\n{figures}\
         [components.c.operations.x]\ncapacity = \"100 req/s\"\n[chains.k]\ncalls = [{calls}]\n{keys}\n"
    )
}

/// The keys of a figure that is the second one in 2 % of the cases.
const RARELY: &str =
    "mixture = [{ of = \"usual\", share = 0.98 }, { of = \"rare\", share = 0.02 }]";

fn capacity(summary: &Summary) -> &Capacity {
    summary.chains[0].capacity.as_ref().unwrap()
}

#[test]
fn a_demand_is_met_only_if_it_is_met_on_average() {
    let calls = "{ to = \"c.x\", times = \"n\" }";
    let step = "{ name = \"s\", capacity = \"n\" }";
    for (values, calls, demand, sustained, expected) in [
        // 2.98 calls on average: 33.6 requests a second.
        (["1", "100"], calls, "90 req/s", 33.6, Missed),
        (["1", "100"], calls, "30 req/s", 33.6, Kept),
        // Chains that call nothing count, too: 2 calls on average.
        (["0", "100"], calls, "90 req/s", 50.0, Missed),
        (["0", "100"], calls, "45 req/s", 50.0, Kept),
        // 98 / 91 + 2 / 1 s for 100 requests.
        (["\"91 req/s\"", "\"1 req/s\""], step, "90 req/s", 32.5, Missed),
        (["\"91 req/s\"", "\"90.5 req/s\""], step, "90 req/s", 91.0, Kept),
        (["\"100 req/s\"", "\"0.1 req/s\""], step, "98.5 req/s", 4.77, Missed),
    ] {
        let [usual, rare] = values.map(|value| format!("value = {value}"));
        let figures = [("usual", &*usual), ("rare", &*rare), ("n", RARELY)];
        let summary = model(&source(&figures, calls, &format!("demand = \"{demand}\"")));
        let capacity = capacity(&summary);
        let found = capacity.demand.unwrap();
        let mean = capacity.expected.mean;
        assert_eq!(found.verdict, expected, "{values:?} {demand}: {found:?}");
        assert!((mean / sustained - 1.0).abs() < 0.05, "{values:?} {demand}: {mean}");
        assert_eq!(found.margin.unwrap() >= 0.0, expected == Kept, "{values:?} {found:?}");
        assert!((found.probability.value - 0.98).abs() < 0.03, "{found:?}");
        assert_eq!(summary.failures.len(), usize::from(expected == Missed), "{summary:?}");
    }
}

#[test]
fn parts_that_take_turns_at_being_the_slowest_each_carry_their_mean() {
    let figures = ["x", "y"]
        .map(|name| (name, "low = \"0.5 ms\", high = \"1.5 ms\", distribution = \"uniform\""));
    let calls =
        "{ name = \"s\", capacity = \"1 req / x\" }, { name = \"t\", capacity = \"1 req / y\" }";
    // Both together keep 1.11 ms in 37 % of the samples. The slower one has a mean of 1.17 ms, each of them of 1 ms.
    for (demand, share, expected) in
        [(900, 0.3, Kept), (900, 0.5, Missed), (980, 0.1, Kept), (1020, 0.1, Missed)]
    {
        let keys = format!("demand = \"{demand} req/s\"\nprobability = {share}");
        let summary = model(&source(&figures, calls, &keys));
        let found = capacity(&summary);
        assert_eq!(found.demand.unwrap().verdict, expected, "{demand} {share}: {found:?}");
        assert!((found.expected.mean - 1000.0).abs() < 10.0, "{found:?}");
    }
}

#[test]
fn few_recorded_jobs_leave_a_demand_open_as_they_do_a_deadline() {
    let figure = ("r", "value = \"1 ms\", measured = \"jobs.work.response\"");
    let step = "{ name = \"s\", capacity = \"1 req / r\" }";
    let text = source(&[figure], step, "demand = \"10 req/s\"");
    for (count, expected) in [(20, Undecided), (1000, Kept)] {
        let jobs = jobs(count, 450.0, 0.5, 3);
        let mean = jobs.iter().sum::<f64>() / count as f64;
        let summary = with(&text, Some(&recorded(&jobs)));
        let found = capacity(&summary);
        let demand = found.demand.unwrap();
        assert_eq!(demand.verdict, expected, "{demand:?}");
        assert!((found.expected.mean / (1e6 / mean) - 1.0).abs() < 0.01, "{found:?} {mean}");
        assert_eq!(summary.failures.len(), usize::from(expected == Undecided));
        let reason = "whether k meets its demand is undecided: 11 independent jobs do not tell";
        let is_told = summary.problems.iter().any(|problem| problem.contains(reason));
        assert_eq!(is_told, expected == Undecided, "{:?}", summary.problems);
    }
}
