//! `report.html` of a model: charts of its chains and caches, and all tables.

mod charts;

use hemiola_report::page::{Card, Page, Tone};

use super::tables::{conditions, tables};
use crate::budget::time;
use crate::chain::Judged;
use crate::summary::{ChainSummary, Summary, words};
use crate::uncertain::Verdict;

/// The page of a model. `subtitle` is the line below its title: the command line.
#[must_use]
pub fn page(summary: &Summary, subtitle: &str) -> Page {
    Page {
        title: summary.title.clone(),
        // A model has no start time.
        started: "Model".to_owned(),
        subtitle: subtitle.to_owned(),
        cards: summary.chains.iter().flat_map(|chain| cards(summary, chain)).collect(),
        problems: summary.problems.clone(),
        figures: charts::figures(summary),
        tables: tables(summary),
        conditions: conditions(summary),
    }
}

fn cards(summary: &Summary, chain: &ChainSummary) -> Vec<Card> {
    let mut cards = if chain.takes_time() { of_time(chain) } else { Vec::new() };
    let name = words(&chain.title, &chain.name);
    let tone = |judged: Option<Judged>| tone(judged.map(|judged| judged.verdict));
    for cost in chain.other_costs().into_iter().map(|at| &chain.costs[at]) {
        let note = format!("{} of {name}", cost.name);
        let value = summary.show(cost.expected.mean, cost.dimension);
        cards.push(Card::new(cost.name.clone(), value, note, tone(cost.limit)));
    }
    if let Some(capacity) = &chain.capacity {
        let note = format!("{name}; bottleneck: {}", capacity.bottleneck);
        let value = summary.show(capacity.expected.mean, chain.capacity_dimension);
        cards.push(Card::new("capacity", value, note, tone(capacity.demand)));
    }
    cards
}

fn tone(verdict: Option<Verdict>) -> Tone {
    match verdict {
        None | Some(Verdict::Undecided) => Tone::Plain,
        Some(Verdict::Kept) => Tone::Good,
        Some(Verdict::Missed) => Tone::Bad,
    }
}

fn of_time(chain: &ChainSummary) -> Vec<Card> {
    let cost = &chain.cost;
    let range = &cost.monte_carlo;
    let whole = &chain.budget.lines[0];
    let tone = tone(whole.expected_margin.map(|margin| margin.verdict));
    let note = format!("{} … {} (95 %)", time(range.low_ns), time(range.high_ns));
    let name = words(&chain.title, &chain.name);
    let mut cards = vec![Card::new(name, time(range.mean_ns), note, tone)];
    let largest = chain.waterfall.iter().max_by(|a, b| a.own_ns.total_cmp(&b.own_ns));
    if let Some(largest) = largest {
        let note = format!("largest part of {name}");
        cards.push(Card::new(largest.name.clone(), time(largest.own_ns), note, Tone::Plain));
    }
    cards
}
