//! The shipped model of the risks of a cache: exceptional cases with probabilities, checked by calculation.
//!
//! The cases are those of Muller, "Modeling and Analysis: Inputs and Uncertainties", figure 2.11.

use hemiola_model::summary::{ChainSummary, Summary};
use hemiola_model::uncertain::Verdict::{Kept, Missed};

use crate::model;

const RISKS: &str = include_str!("../../../../examples/9-web-shop/risks.toml");

fn chain<'s>(summary: &'s Summary, name: &str) -> &'s ChainSummary {
    summary.chains.iter().find(|chain| chain.name == name).unwrap()
}

/// The mean time of a request to the cache as modelled, ms.
fn request(summary: &Summary, name: &str) -> f64 {
    summary.caches.iter().find(|cache| cache.name == name).unwrap().designs[0].response_ns / 1e6
}

#[test]
fn pages_with_and_without_exceptional_cases_take_the_times_of_their_parts() {
    let summary = model(RISKS);
    let requests = ["normal", "beside_report", "of_reader"].map(|name| request(&summary, name));
    // The misses cost 27 ms, and beside the report 54 ms.
    let pages = requests.map(|request| 10.0 + 12.0 * request);
    for (page, expected) in pages.iter().zip([161.5, 418.7, 312.8]) {
        assert!((page - expected).abs() < 1.5, "{pages:?}");
    }
    let [normal, report, reader] = requests;
    let usual = 0.995 * 0.97;
    let request = usual * (0.9 * normal + 0.1 * report) + 0.995 * 0.03 * reader + 0.005 * 27.0;
    let mean = chain(&summary, "risky").cost.monte_carlo.mean_ns / 1e6;
    assert!((mean - (10.0 + 12.0 * request)).abs() < 1.0, "{mean} {request}");
    assert!((mean - 191.7).abs() < 1.5, "{mean}");
    assert_eq!(chain(&summary, "uncached").cost.monte_carlo.mean_ns, 334e6);
}

#[test]
fn the_risks_make_the_deadline_missed_and_the_remedies_make_it_kept() {
    let summary = model(RISKS);
    let line = |name: &str| &chain(&summary, name).budget.lines[0];
    assert_eq!(line("expected").expected_margin.unwrap().mean, Some(Kept));
    let margin = line("risky").expected_margin.unwrap();
    assert_eq!(margin.verdict, Missed);
    // 90 % without the report, 97 % without a reader of the whole catalogue, 99.5 % without a restart.
    let near = |value: f64, expected: f64| {
        assert!((value - expected).abs() < 0.003, "{value} {expected}");
    };
    near(margin.probability.value, 0.9 * 0.97 * 0.995);
    let kept = |name: &str| {
        let found = chain(&summary, "risky").what_ifs.iter().find(|what_if| what_if.name == name);
        found.unwrap().deadline.unwrap().probability.value
    };
    near(kept("report_at_night"), 0.97 * 0.995);
    near(kept("reader_refused"), 0.995);
}

#[test]
fn better_technology_leaves_little_for_the_cache_to_save() {
    let summary = model(RISKS);
    let with = |chain_name: &str| {
        let what_ifs = &chain(&summary, chain_name).what_ifs;
        let found = what_ifs.iter().find(|what_if| what_if.name == "new_technology").unwrap();
        found.cost.mean_ns / 1e6
    };
    let today = |name: &str| chain(&summary, name).cost.monte_carlo.mean_ns / 1e6;
    assert!((today("uncached") - today("expected") - 172.4).abs() < 1.5);
    assert_eq!(with("uncached"), 28.0);
    assert!((with("uncached") - with("expected") - 9.3).abs() < 0.2, "{}", with("expected"));
}
