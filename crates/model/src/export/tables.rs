//! The tables of a model; the terminal and the page show the same ones.

use hemiola_report::table::{Alignment, Table};
use hemiola_report::text::{count, size};
use hemiola_scenario::document::Word;

use crate::budget::time;
use crate::cache::robustness::Variation;
use crate::chain::{Bounds, Expected};
use crate::overhead::OverheadTable;
use crate::summary::{CacheSummary, CacheVariant, ChainSummary, Summary, percent, words};

/// The text for a missing figure.
const NONE: &str = "–";

/// Inputs in a tornado; further ones change next to nothing.
pub(super) const SWINGS_MAX: usize = 12;

/// All tables of a model except empty ones.
#[must_use]
pub fn tables(summary: &Summary) -> Vec<Table> {
    let mut tables = vec![costs(summary)];
    for chain in &summary.chains {
        tables.push(budget(chain));
        tables.push(waterfall(chain));
        tables.push(tornado(chain));
        tables.push(what_ifs(chain));
        tables.push(held(chain));
    }
    for cache in &summary.caches {
        tables.push(designs(cache));
        tables.push(changes(cache));
    }
    tables.extend(summary.overheads.iter().map(overhead));
    tables.push(inputs(summary));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn heading(chain: &ChainSummary) -> &str {
    words(&chain.title, &chain.name)
}

/// `"71.5 ms … 72.5 ms"`.
fn range(low_ns: f64, high_ns: f64) -> String {
    format!("{} … {}", time(low_ns), time(high_ns))
}

fn expected(cost: &Expected) -> String {
    range(cost.low_ns, cost.high_ns)
}

fn bounds(bounds: &Bounds) -> String {
    match (bounds.low_ns, bounds.high_ns) {
        (Some(low), Some(high)) => range(low, high),
        (Some(low), None) => format!("from {}", time(low)),
        (None, Some(high)) => format!("up to {}", time(high)),
        (None, None) => "unbounded".into(),
    }
}

fn optional(nanos: Option<f64>) -> String {
    nanos.map_or(NONE.into(), time)
}

fn costs(summary: &Summary) -> Table {
    let row = |chain: &ChainSummary| {
        let cost = &chain.cost;
        vec![
            heading(chain).to_owned(),
            time(cost.first_order.nominal_ns),
            expected(&cost.first_order),
            expected(&cost.monte_carlo),
            bounds(&cost.interval),
            optional(chain.deadline_ns),
        ]
    };
    let heads =
        ["Chain", "Expected", "First order, 95 %", "Monte Carlo, 95 %", "Worst case", "Deadline"];
    Table::new("Cost", heads, summary.chains.iter().map(row).collect()).with_note(
        "Stochastic parts add in quadrature, systematic ones linearly. The worst case takes every input to the end of \
         its range at once, or to three standard deviations if the range is unbounded.",
    )
}

fn budget(chain: &ChainSummary) -> Table {
    let row = |line: &crate::budget::BudgetLine| {
        let places = if line.places > 1 { ", all calls" } else { "" };
        vec![
            format!("{}{}{places}", "\u{a0}\u{a0}".repeat(line.depth), line.name),
            optional(line.allotted_ns),
            time(line.expected.nominal_ns),
            expected(&line.expected),
            optional(line.measured_ns),
            optional(line.margin_ns),
        ]
    };
    let heads = ["Part", "Allotted", "Expected", "95 %", "Measured", "Margin"];
    let rows = chain.budget.lines.iter().map(row).collect();
    Table::new(format!("Budget: {}", heading(chain)), heads, rows).with_note(
        "Each part includes its calls. The margin is the allotment minus the measured time, or minus the upper end of \
         the range if nothing was measured.",
    )
}

fn waterfall(chain: &ChainSummary) -> Table {
    let mut shares: Vec<_> = chain.waterfall.iter().collect();
    shares.sort_by(|a, b| b.own_ns.total_cmp(&a.own_ns));
    let row = |share: &&crate::chain::OwnTime| {
        vec![share.name.clone(), time(share.own_ns), percent(share.share)]
    };
    let rows = shares.iter().map(row).collect();
    let title = format!("Where the time goes: {}", heading(chain));
    Table::new(title, ["Part", "Own time", "Share"], rows).with_note("Own time excludes calls.")
}

fn tornado(chain: &ChainSummary) -> Table {
    let nominal = chain.cost.first_order.nominal_ns;
    let row = |swing: &crate::chain::Swing| {
        vec![
            swing.input.clone(),
            time(swing.at_low_ns),
            time(swing.at_high_ns),
            percent(swing.width_ns() / nominal),
            percent(swing.share),
        ]
    };
    let rows = chain.cost.tornado.iter().take(SWINGS_MAX).map(row).collect();
    let heads = ["Input", "At its low end", "At its high end", "Swing", "Share of variance"];
    Table::new(format!("Which input matters: {}", heading(chain)), heads, rows)
}

fn what_ifs(chain: &ChainSummary) -> Table {
    if chain.what_ifs.is_empty() {
        return Table::new("", ["What if"], Vec::new());
    }
    let deadline = |high_ns: f64| match chain.deadline_ns {
        None => NONE,
        Some(deadline) if high_ns <= deadline => "kept",
        Some(_) => "missed",
    };
    let cost = &chain.cost;
    let mut rows = vec![vec![
        "the model as it is".to_owned(),
        String::new(),
        time(cost.first_order.nominal_ns),
        expected(&cost.monte_carlo),
        String::new(),
        String::new(),
        deadline(cost.monte_carlo.high_ns).to_owned(),
    ]];
    for variant in &chain.what_ifs {
        let sign = if variant.difference_ns < 0.0 { "" } else { "+" };
        rows.push(vec![
            words(&variant.title, &variant.name).to_owned(),
            variant.after.clone().unwrap_or_default(),
            time(variant.cost.nominal_ns),
            expected(&variant.cost),
            format!("{sign}{}", time(variant.difference_ns)),
            format!("{} ×", number(variant.factor)),
            deadline(variant.cost.high_ns).to_owned(),
        ]);
    }
    let heads = ["Variation", "Based on", "Expected", "95 %", "Difference", "Factor", "Deadline"];
    Table::new(format!("What if: {}", heading(chain)), heads, rows).with_prose(&[1, 6]).with_note(
        "The difference is to the variation that this one is based on, the factor to the model as it is. A deadline is \
         kept if the upper end of the range keeps it.",
    )
}

fn held(chain: &ChainSummary) -> Table {
    let row = |held: &crate::budget::ObservedTime| {
        vec![
            held.name.clone(),
            held.taken_from.as_ref().map_or_else(
                || held.circumstances.clone(),
                |name| format!("{} ({name})", held.circumstances),
            ),
            time(held.measured_ns),
            time(held.expected.nominal_ns),
            expected(&held.expected),
            format!("{} ×", number(held.factor)),
            held.verdict.clone(),
        ]
    };
    let heads = ["Part", "Measured under", "Measured", "Expected", "95 %", "Ratio", "Verdict"];
    let rows = chain.budget.held.iter().map(row).collect();
    Table::new(format!("Compared with measurement: {}", heading(chain)), heads, rows)
        .with_prose(&[1, 6])
}

/// Three significant digits.
fn number(value: f64) -> String {
    hemiola_quantity::Quantity::number(value).to_string()
}

const CACHE_HEADS: [&str; 6] =
    ["Variation", "Slots", "Hit ratio by formula", "simulated", "Reach the source", "Mean request"];

fn cache_row(variant: &CacheVariant) -> Vec<String> {
    let Variation { what, slots, theory, simulated, standard_error, .. } = &variant.variation;
    let simulated_words = match standard_error {
        Some(error) => format!("{:.1} ± {:.1} %", simulated * 100.0, error * 100.0),
        None => format!("{:.1} %", simulated * 100.0),
    };
    vec![
        what.clone(),
        count(*slots as u64),
        theory.map_or(NONE.into(), |theory| format!("{:.1} %", theory * 100.0)),
        simulated_words,
        format!("{:.1} %", (1.0 - simulated) * 100.0),
        time(variant.response_ns),
    ]
}

fn designs(cache: &CacheSummary) -> Table {
    let mut rows: Vec<Vec<String>> = cache.designs.iter().map(cache_row).collect();
    let mut without = vec![NONE.to_owned(); CACHE_HEADS.len()];
    without[0] = "without a cache".to_owned();
    without[4] = "100 %".to_owned();
    without[5] = time(cache.without_ns);
    rows.push(without);
    let title = format!("Cache: {}", words(&cache.title, &cache.name));
    Table::new(title, CACHE_HEADS, rows).with_note(format!(
        "{} of {}, chunks of {}, objects of {}, kept {}. By formula: Che's approximation for LRU, extended by the \
         second chance for CLOCK, the limit of long use for LFU; no formula is known for ARC.",
        cache.algorithm.word().to_uppercase(),
        size(cache.size_bytes),
        size(cache.chunk_bytes),
        size(cache.object_bytes),
        cache.format.word()
    ))
}

fn changes(cache: &CacheSummary) -> Table {
    let title = format!("When requests change: {}", words(&cache.title, &cache.name));
    Table::new(title, CACHE_HEADS, cache.changes.iter().map(cache_row).collect())
}

fn overhead(table: &OverheadTable) -> Table {
    let mut columns = vec![("Rate, 1/s".to_owned(), Alignment::Right)];
    for cost in &table.costs_ns {
        columns.push((format!("Time per s at {}", time(*cost)), Alignment::Right));
        columns.push(("Load".to_owned(), Alignment::Right));
    }
    let row = |(rate, loads): (&f64, &Vec<crate::overhead::Load>)| {
        let whole = *rate == rate.trunc() && *rate >= 0.0;
        let mut row = vec![if whole { count(*rate as u64) } else { number(*rate) }];
        for load in loads {
            row.push(time(load.each_second_ns));
            row.push(percent(load.share));
        }
        row
    };
    Table {
        title: format!("Overhead: {}", table.title),
        note: "Rate × cost: the time used in each second of one processor.".to_owned(),
        columns,
        rows: table.rates.iter().zip(&table.loads).map(row).collect(),
    }
}

fn inputs(summary: &Summary) -> Table {
    let row = |input: &crate::summary::InputFigure| {
        vec![
            input.name.clone(),
            input.value.clone(),
            input.range.clone(),
            input.source.to_owned(),
            match &input.taken_from {
                Some(name) => format!("{name}: {}", input.reason),
                None => input.reason.clone(),
            },
        ]
    };
    let rows = summary.inputs.iter().map(row).collect();
    let heads = ["Figure", "Value", "Range", "Source", "Reason"];
    Table::new("Inputs", heads, rows).with_prose(&[2, 3, 4])
}

/// Names and values of the settings that all figures depend on.
#[must_use]
pub fn conditions(summary: &Summary) -> Vec<(String, String)> {
    let mut conditions = Vec::new();
    if !summary.description.is_empty() {
        conditions.push(("About".to_owned(), summary.description.trim().to_owned()));
    }
    conditions.extend([
        ("Seed".to_owned(), summary.seed.to_string()),
        ("Monte Carlo samples".to_owned(), count(summary.samples as u64)),
    ]);
    if let Some(of) = &summary.measurements_of {
        conditions.push(("Measurements of".to_owned(), of.clone()));
    }
    conditions
}
