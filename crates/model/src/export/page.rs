//! `report.html` of a model: the waterfall, the tornado, and all tables.

use hemiola_report::charts::{Effect, Marker, Ranged, Step, Tornado, Waterfall};
use hemiola_report::page::{Card, Figure, Page, Tone};

use super::tables::{SWINGS_MAX, conditions, tables};
use crate::budget::time;
use crate::summary::{ChainSummary, Summary, words};

/// The page of a model. `subtitle` is the line below its title: the command line.
#[must_use]
pub fn page(summary: &Summary, subtitle: &str) -> Page {
    Page {
        title: summary.title.clone(),
        // A model has no start time.
        started: "Model".to_owned(),
        subtitle: subtitle.to_owned(),
        cards: summary.chains.iter().flat_map(cards).collect(),
        problems: summary.problems.clone(),
        figures: summary.chains.iter().flat_map(figures).collect(),
        tables: tables(summary),
        conditions: conditions(summary),
    }
}

fn cards(chain: &ChainSummary) -> Vec<Card> {
    let cost = &chain.cost;
    let range = &cost.monte_carlo;
    let whole = &chain.budget.lines[0];
    let tone = match whole.expected_margin.map(|margin| margin.is_kept()) {
        None => Tone::Plain,
        Some(true) => Tone::Good,
        Some(false) => Tone::Bad,
    };
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

fn figures(chain: &ChainSummary) -> Vec<Figure> {
    let name = words(&chain.title, &chain.name);
    let step = |share: &crate::chain::OwnTime| Step {
        name: share.name.clone(),
        value: Ranged::from(share.own_ns),
    };
    let cost = &chain.cost;
    let whole = Ranged {
        value: cost.monte_carlo.mean_ns,
        ends: Some([cost.monte_carlo.low_ns, cost.monte_carlo.high_ns]),
    };
    let mut wholes = vec![Step { name: "mean".to_owned(), value: whole }];
    wholes.extend(chain.budget.held.iter().filter(|held| held.name == chain.name).map(|held| {
        Step {
            name: format!("measured, {}", held.circumstances),
            value: Ranged::from(held.measured_ns),
        }
    }));
    let limit = chain.deadline_ns.map(|at| Marker { at, name: "deadline".to_owned() });
    let waterfall = Waterfall {
        description: &format!("Where the time of {name} goes"),
        parts: chain.waterfall.iter().map(step).collect(),
        wholes,
        limit,
        show: &time,
    };
    let effect = |swing: &crate::chain::Swing| Effect {
        name: swing.input.clone(),
        at_low: swing.at_low_ns,
        at_high: swing.at_high_ns,
    };
    let swings = &chain.cost.tornado;
    let mut figures = vec![Figure {
        title: format!("Where the time goes: {name}"),
        caption: "Each part starts where the previous one ends and shows its own time over all its calls. \
                  The interval at the sum contains 95 % of the samples."
            .to_owned(),
        svg: vec![waterfall.draw()],
    }];
    if !swings.is_empty() {
        let tornado = Tornado {
            description: &format!("How far each input moves {name}"),
            nominal: cost.first_order.nominal_ns,
            effects: swings.iter().take(SWINGS_MAX).map(effect).collect(),
            show: &time,
        };
        figures.push(Figure {
            title: format!("Which input matters: {name}"),
            caption:
                "The cost with one input at a time at the ends of its 95 % range, all others at their \
                      expected values. The inputs at the top are the ones worth measuring better."
                    .to_owned(),
            svg: vec![tornado.draw()],
        });
    }
    figures
}
