//! The tables of a model; the terminal and the page show the same ones.

use hemiola_quantity::Dimension;
use hemiola_report::table::{Alignment, Table};
use hemiola_report::text::{count, size};
use hemiola_scenario::document::Word;

use crate::budget::time;
use crate::cache::robustness::Variation;
use crate::chain::{Amount, Bounds, Capacity, Expected, InputEffect, Judged, Margin, OtherCost};
use crate::file::Model;
use crate::overhead::OverheadTable;
use crate::summary::{
    CacheSummary, CacheVariant, ChainSummary, InputFigure, ListedUnit, Summary, SweepCost,
    SweepStep, WhatIfCost, listed_units, words,
};
use crate::text::percent;
use crate::uncertain::{Chance, Verdict};

/// The text for a missing figure.
const NONE: &str = "–";

/// Inputs in a tornado; further ones change next to nothing.
pub(super) const SWINGS_MAX: usize = 12;

/// All tables of a model except empty ones.
#[must_use]
pub fn tables(summary: &Summary) -> Vec<Table> {
    let mut tables =
        vec![costs(summary), quantiles(summary), other_costs(summary), capacities(summary)];
    for chain in &summary.chains {
        if chain.takes_time() {
            tables.push(budget(chain));
            tables.push(waterfall(chain));
            tables.push(tornado(chain));
            tables.push(what_ifs(chain));
            tables.extend(chain.sweeps.iter().map(|sweep| swept(chain, sweep)));
            tables.push(held(chain));
        }
        for cost in &chain.costs {
            tables.push(parts(summary, chain, cost));
            tables.push(effects(summary, chain, &cost.name, &cost.inputs, cost.dimension));
        }
        if let Some(capacity) = &chain.capacity {
            let of = chain.capacity_dimension;
            tables.push(carriers(summary, chain, capacity));
            tables.push(effects(summary, chain, "capacity", &capacity.inputs, of));
        }
        tables.extend(other_variations(summary, chain));
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

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Kept => "kept",
        Verdict::Missed => "missed",
        Verdict::Undecided => "undecided",
    }
}

/// The verdict of a margin.
fn of_margin(margin: Option<&Margin>) -> String {
    outcome(margin.map(|margin| margin.verdict), margin)
}

/// A verdict on a time, with the verdict on the mean if nothing else is known, and the reason if calls may differ.
fn outcome(verdict: Option<Verdict>, margin: Option<&Margin>) -> String {
    if verdict == Some(Verdict::Undecided) && margin.is_some_and(|margin| margin.equal.is_some()) {
        return format!("{}: calls may differ", word(Verdict::Undecided));
    }
    match (verdict, margin.and_then(|margin| margin.mean)) {
        (Some(Verdict::Kept), Some(Verdict::Kept)) => "the mean is kept".to_owned(),
        (Some(Verdict::Undecided), Some(Verdict::Kept)) => {
            format!("{}: the mean is kept", word(Verdict::Undecided))
        }
        (Some(Verdict::Undecided), Some(_)) => {
            format!("{}: only the mean is known", word(Verdict::Undecided))
        }
        (verdict, _) => verdict.map_or(NONE, word).to_owned(),
    }
}

/// `"99.8 %"`: the share of the samples that keep a limit, with the range that systematic offsets and the number of
/// samples leave open if that is wider than the digits shown.
fn probability(margin: Option<&Margin>) -> String {
    margin.map_or(NONE.into(), |margin| match margin.mean {
        Some(_) => format!("{}, mean", chance(margin.probability)),
        None => chance(margin.probability),
    })
}

fn chance(chance: Chance) -> String {
    let shown = |share: f64| format!("{:.1}", share * 100.0);
    let [low, high] = [shown(chance.low), shown(chance.high)];
    if low == high {
        format!("{low} %")
    } else {
        format!("{} % ({low} … {high})", shown(chance.value))
    }
}

/// A margin, or the reason for its absence.
fn rest(nanos: Option<f64>, verdict: Option<Verdict>) -> String {
    match (nanos, verdict) {
        (None, Some(_)) => "not determined".to_owned(),
        (nanos, _) => optional(nanos),
    }
}

/// The range to first order; a time whose standard deviation is infinite has none.
fn first_order(cost: &Expected) -> String {
    if cost.high_ns.is_finite() {
        range(cost.low_ns.max(0.0), cost.high_ns)
    } else {
        "not determined".to_owned()
    }
}

fn costs(summary: &Summary) -> Table {
    let row = |chain: &ChainSummary| {
        let cost = &chain.cost;
        let first = &cost.first_order;
        let whole = &chain.budget.lines[0];
        vec![
            heading(chain).to_owned(),
            time(cost.monte_carlo.mean_ns),
            expected(&cost.monte_carlo),
            first_order(first),
            bounds(&cost.interval),
            optional(chain.deadline_ns),
            probability(whole.expected_margin.as_ref()),
        ]
    };
    let heads =
        ["Chain", "Mean", "95 %", "First order, 95 %", "Worst case", "Deadline", "Kept with"];
    let timed = summary.chains.iter().filter(|chain| chain.takes_time());
    Table::new("Cost", heads, timed.map(row).collect()).with_note(format!(
        "Mean and 95 % are those of the samples; the 95 % hold for any systematic offset. To first order, stochastic \
         parts add in quadrature and systematic ones linearly. The worst case takes every input to the end of its range \
         at once, or to three standard deviations if the range is unbounded.{}",
        about_means(summary)
    ))
}

/// A sentence for each chain with parts of which only the mean is known.
fn about_means(summary: &Summary) -> String {
    let timed = summary.chains.iter().filter(|chain| chain.takes_time());
    let of_mean = timed.filter(|chain| !chain.cost.means.is_empty());
    let sentence = |chain: &ChainSummary| {
        let (name, means) = (heading(chain), chain.cost.means.join(", "));
        format!(
            " {name}: only the mean of {means} is known, so times of single runs vary more than shown."
        )
    };
    of_mean.map(sentence).collect()
}

fn quantiles(summary: &Summary) -> Table {
    let shares: Vec<f64> = summary.chains.first().map_or_else(Vec::new, |chain| {
        chain.cost.quantiles.iter().map(|one| one.probability).collect()
    });
    let mut columns = vec![("Chain".to_owned(), Alignment::Left)];
    columns.extend(shares.iter().map(|share| (percent(*share), Alignment::Right)));
    let row = |chain: &ChainSummary| {
        let times = chain.cost.quantiles.iter().map(|one| match one.time_ns {
            Some(nanos) => time(nanos),
            None => "not determined".to_owned(),
        });
        std::iter::once(heading(chain).to_owned()).chain(times).collect()
    };
    Table {
        title: "Kept with probability".to_owned(),
        note: format!(
            "The time that is kept with this probability, for any systematic offset.{}",
            about_means(summary)
        ),
        columns,
        rows: summary.chains.iter().filter(|chain| chain.takes_time()).map(row).collect(),
    }
}

/// `"0.9 J … 1.1 J"` of a value that is not a time.
fn amount_range(summary: &Summary, amount: &Amount, of: Dimension) -> String {
    format!("{} … {}", summary.show(amount.low, of), summary.show(amount.high, of))
}

/// Limit, probability and verdict.
fn judged(summary: &Summary, judged: Option<&Judged>, of: Dimension) -> [String; 3] {
    let Some(judged) = judged else { return [NONE, NONE, NONE].map(str::to_owned) };
    let limit = summary.show(judged.limit, of);
    [limit, chance(judged.probability), word(judged.verdict).to_owned()]
}

fn other_costs(summary: &Summary) -> Table {
    let of_chain = |chain: &ChainSummary| {
        let row = |cost: &OtherCost| {
            let of = cost.dimension;
            let [limit, kept_with, verdict] = judged(summary, cost.limit.as_ref(), of);
            vec![
                heading(chain).to_owned(),
                cost.name.clone(),
                summary.show(cost.expected.mean, of),
                amount_range(summary, &cost.expected, of),
                limit,
                kept_with,
                verdict,
            ]
        };
        chain.other_costs().into_iter().map(|at| row(&chain.costs[at])).collect::<Vec<_>>()
    };
    let heads = ["Chain", "Cost", "Mean", "95 %", "Limit", "Kept with", "Verdict"];
    Table::new("Costs besides time", heads, summary.chains.iter().flat_map(of_chain).collect())
        .with_prose(&[1, 6])
        .with_note(
            "Each time that the chain runs, all calls included; calls at the same time add up.",
        )
}

fn capacities(summary: &Summary) -> Table {
    let row = |chain: &ChainSummary| {
        let capacity = chain.capacity.as_ref()?;
        let of = chain.capacity_dimension;
        let [demand, kept_with, verdict] = judged(summary, capacity.demand.as_ref(), of);
        Some(vec![
            heading(chain).to_owned(),
            summary.show(capacity.expected.mean, of),
            amount_range(summary, &capacity.expected, of),
            capacity.bottleneck.clone(),
            demand,
            kept_with,
            verdict,
        ])
    };
    let heads = ["Chain", "Capacity", "95 %", "Bottleneck", "Demand", "Met with", "Verdict"];
    Table::new("Capacity", heads, summary.chains.iter().filter_map(row).collect())
        .with_prose(&[3, 6])
        .with_note(
            "How often the chain can run for long: 1 over the mean time that its bottleneck needs each time. 95 %: how \
             often the bottleneck lets it, from run to run.",
        )
}

/// The own costs of the parts of a chain, the largest first.
fn parts(summary: &Summary, chain: &ChainSummary, cost: &OtherCost) -> Table {
    let mut parts: Vec<_> = cost.parts.iter().collect();
    parts.sort_by(|a, b| b.own.abs().total_cmp(&a.own.abs()));
    let row = |part: &&crate::chain::OwnCost| {
        vec![part.name.clone(), summary.show(part.own, cost.dimension), percent(part.share)]
    };
    let title = format!("Where the {} goes: {}", cost.name, heading(chain));
    Table::new(title, ["Part", "Own", "Share"], parts.iter().map(row).collect())
        .with_note("Own cost at the best single values, over all calls.")
}

/// The inputs that a cost besides time or the capacity depends on.
fn effects(
    summary: &Summary,
    chain: &ChainSummary,
    what: &str,
    inputs: &[InputEffect],
    of: Dimension,
) -> Table {
    let row = |effect: &InputEffect| {
        let [low, high] = [effect.at_low, effect.at_high].map(|end| summary.show(end, of));
        vec![effect.input.clone(), low, high, percent(effect.share)]
    };
    let rows = inputs.iter().take(SWINGS_MAX).map(row).collect();
    let title = format!("Which input matters for the {what}: {}", heading(chain));
    Table::new(title, ["Input", "At its low end", "At its high end", "Share of variance"], rows)
}

/// The parts of a chain with a capacity, the tightest first.
fn carriers(summary: &Summary, chain: &ChainSummary, capacity: &Capacity) -> Table {
    let of = chain.capacity_dimension;
    let row = |part: &crate::chain::Carrier| {
        vec![
            part.name.clone(),
            number(part.calls),
            summary.show(part.capacity, of),
            if part.calls == 0.0 { NONE.to_owned() } else { summary.show(part.chain, of) },
            part.load.map_or(NONE.into(), percent),
        ]
    };
    let title = format!("Capacity of each part: {}", heading(chain));
    let heads = ["Part", "Calls", "Carries", "Chain runs at most", "Load"];
    Table::new(title, heads, capacity.parts.iter().map(row).collect()).with_note(
        "At the best single values. Calls: each time that the chain runs. Load: the share of what the part carries \
         that the demand takes.",
    )
}

/// The costs besides time and the capacity of a chain in its what-ifs and over each sweep.
fn other_variations(summary: &Summary, chain: &ChainSummary) -> Vec<Table> {
    let shown = chain.other_costs();
    let swept = chain.sweeps.iter().flat_map(|sweep| &sweep.steps).map(|step| &step.cost);
    let has_capacity = chain.capacity.is_some()
        || chain.what_ifs.iter().chain(swept).any(|variant| variant.capacity.is_some());
    if shown.is_empty() && !has_capacity {
        return Vec::new();
    }
    let cells = |costs: &[OtherCost], capacity: Option<&Capacity>| {
        let mut row: Vec<String> = shown
            .iter()
            .map(|at| summary.show(costs[*at].expected.mean, costs[*at].dimension))
            .collect();
        if let Some(capacity) = capacity {
            row.push(summary.show(capacity.expected.mean, chain.capacity_dimension));
            row.push(capacity.bottleneck.clone());
        } else if has_capacity {
            row.extend([NONE, NONE].map(str::to_owned));
        }
        let limits = costs.iter().filter_map(|cost| cost.limit.map(|limit| (&*cost.name, limit)));
        let demand = capacity.and_then(|capacity| capacity.demand);
        let all: Vec<_> = limits.chain(demand.map(|demand| ("demand", demand))).collect();
        let with = |verdict: Verdict| {
            let with = all.iter().filter(|(_, judged)| judged.verdict == verdict);
            let names: Vec<&str> = with.map(|(name, _)| *name).collect();
            (!names.is_empty()).then(|| format!("{}: {}", word(verdict), names.join(", ")))
        };
        let not_kept: Vec<String> =
            [Verdict::Missed, Verdict::Undecided].into_iter().filter_map(with).collect();
        row.push(match (all.is_empty(), not_kept.is_empty()) {
            (true, _) => NONE.to_owned(),
            (false, true) => word(Verdict::Kept).to_owned(),
            (false, false) => not_kept.join("; "),
        });
        row
    };
    let of_variant = |name: &str, variant: &WhatIfCost| {
        let mut row = vec![name.to_owned()];
        row.extend(cells(&variant.costs, variant.capacity.as_ref()));
        row
    };
    let heads = |first: &str| {
        let mut heads = vec![first.to_owned()];
        heads.extend(shown.iter().map(|at| format!("{}, mean", chain.costs[*at].name)));
        if has_capacity {
            heads.extend(["Capacity, mean", "Bottleneck"].map(str::to_owned));
        }
        heads.push("Limits".to_owned());
        heads
    };
    let table = |title: String, first: &str, rows: Vec<Vec<String>>| {
        let heads = heads(first);
        let last = heads.len() - 1;
        let prose = if has_capacity { vec![last - 1, last] } else { vec![last] };
        Table::new(title, heads, rows).with_prose(&prose)
    };
    let mut tables = Vec::new();
    if !chain.what_ifs.is_empty() {
        let mut own = vec!["the model as it is".to_owned()];
        own.extend(cells(&chain.costs, chain.capacity.as_ref()));
        let row = |one: &WhatIfCost| of_variant(words(&one.title, &one.name), one);
        let rows = std::iter::once(own).chain(chain.what_ifs.iter().map(row)).collect();
        let title = format!("What if, costs besides time and capacity: {}", heading(chain));
        tables.push(table(title, "Variation", rows));
    }
    for sweep in &chain.sweeps {
        let row = |step: &SweepStep| of_variant(&step.cost.name, &step.cost);
        let of = words(&sweep.title, &sweep.figure);
        let title = format!("{of}, costs besides time and capacity: {}", heading(chain));
        tables.push(table(title, &sweep.figure, sweep.steps.iter().map(row).collect()));
    }
    tables
}

fn budget(chain: &ChainSummary) -> Table {
    let row = |line: &crate::budget::BudgetLine| {
        let places = if line.places > 1 { ", all calls" } else { "" };
        vec![
            format!("{}{}{places}", "\u{a0}\u{a0}".repeat(line.depth), line.name),
            optional(line.allotted_ns),
            time(line.expected.mean_ns),
            expected(&line.expected),
            optional(line.measured_ns),
            rest(line.margin_ns, line.verdict),
            probability(line.expected_margin.as_ref()),
            outcome(line.verdict, line.expected_margin.as_ref()),
        ]
    };
    let heads = ["Part", "Allotted", "Mean", "95 %", "Measured", "Margin", "Kept with", "Verdict"];
    let rows = chain.budget.lines.iter().map(row).collect();
    Table::new(format!("Budget: {}", heading(chain)), heads, rows).with_prose(&[7]).with_note(format!(
        "Each part includes its calls. The margin is the allotment minus the time that is kept with {} or, if it is longer, \
         the longest measured time. Kept with: the share of the samples that keep the allotment.",
        percent(chain.probability)
    ))
}

fn waterfall(chain: &ChainSummary) -> Table {
    let mut shares: Vec<_> = chain.waterfall.iter().collect();
    shares.sort_by(|a, b| b.own_ns.total_cmp(&a.own_ns));
    let row = |share: &&crate::chain::OwnTime| {
        vec![share.name.clone(), time(share.own_ns), percent(share.share)]
    };
    let rows = shares.iter().map(row).collect();
    let title = format!("Where the time goes: {}", heading(chain));
    Table::new(title, ["Part", "Own time", "Share"], rows)
        .with_note(
        "Own time at the best single values, without calls. Of parallel calls, only the longest counts.",
    )
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
    let judged = |margin: Option<&Margin>| [probability(margin), of_margin(margin)];
    let own = &chain.cost.monte_carlo;
    let mut rows = vec![vec![
        "the model as it is".to_owned(),
        String::new(),
        time(own.mean_ns),
        expected(own),
        String::new(),
        String::new(),
    ]];
    let line = &chain.budget.lines[0];
    let margin = line.expected_margin.as_ref();
    rows[0].extend([probability(margin), outcome(line.verdict, margin)]);
    for variant in &chain.what_ifs {
        let sign = if variant.difference_ns < 0.0 { "" } else { "+" };
        let mut row = vec![
            words(&variant.title, &variant.name).to_owned(),
            variant.after.clone().unwrap_or_default(),
            time(variant.cost.mean_ns),
            expected(&variant.cost),
            format!("{sign}{}", time(variant.difference_ns)),
            ratio(variant.factor),
        ];
        row.extend(judged(variant.deadline.as_ref()));
        rows.push(row);
    }
    let heads =
        ["Variation", "Based on", "Mean", "95 %", "Difference", "Factor", "Kept with", "Deadline"];
    let of_measured = match line.measured_ns {
        Some(_) => " Measured times count for the model as it is.",
        None => "",
    };
    Table::new(format!("What if: {}", heading(chain)), heads, rows).with_prose(&[1, 7]).with_note(format!(
        "Differences of means: to the variation that this one is based on; the factor is to the model as it is. A \
         deadline is kept if it is kept with {}, for any systematic offset.{of_measured}",
        percent(chain.probability)
    ))
}

fn swept(chain: &ChainSummary, sweep: &SweepCost) -> Table {
    let row = |step: &SweepStep| {
        let WhatIfCost { name, cost, factor, deadline, .. } = &step.cost;
        vec![
            name.clone(),
            time(cost.mean_ns),
            expected(cost),
            ratio(*factor),
            probability(deadline.as_ref()),
            of_margin(deadline.as_ref()),
        ]
    };
    let heads = [sweep.figure.as_str(), "Mean", "95 %", "Factor", "Kept with", "Deadline"];
    let title = format!("{}: {}", words(&sweep.title, &sweep.figure), heading(chain));
    Table::new(title, heads, sweep.steps.iter().map(row).collect()).with_prose(&[5])
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
            time(held.expected.mean_ns),
            expected(&held.expected),
            ratio(held.factor),
            held.verdict.clone(),
        ]
    };
    let heads = ["Part", "Measured under", "Measured", "Mean", "95 %", "Ratio", "Verdict"];
    let rows = chain.budget.held.iter().map(row).collect();
    Table::new(format!("Compared with measurement: {}", heading(chain)), heads, rows)
        .with_prose(&[1, 6])
}

/// `"1.5 ×"`; there is none to a time of 0.
fn ratio(factor: f64) -> String {
    if factor.is_finite() { format!("{} ×", number(factor)) } else { NONE.to_owned() }
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
    figures(&summary.inputs)
}

/// The figures that a model is based on.
#[must_use]
pub fn figures(inputs: &[InputFigure]) -> Table {
    let row = |input: &InputFigure| {
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
    let rows = inputs.iter().map(row).collect();
    let heads = ["Figure", "Value", "Range", "Source", "Reason"];
    Table::new("Inputs", heads, rows).with_prose(&[2, 3, 4])
}

/// The units of formulas: the built-in ones, and those that the model declares.
#[must_use]
pub fn units(model: Option<&Model>) -> Table {
    let row = |listed: ListedUnit| {
        let ListedUnit { symbol, quantity, value, unit, prefixes, declared_by } = listed;
        let one = match unit.as_str() {
            unit if unit == symbol => "base unit".to_owned(),
            "1" => value.to_string(),
            unit if value == 1.0 && unit.starts_with("1/") => unit.to_owned(),
            unit => format!("{value} {unit}"),
        };
        vec![symbol, quantity, one, prefixes.join(" "), declared_by.to_owned()]
    };
    let rows = listed_units(model).into_iter().map(row).collect();
    Table::new("Units", ["Unit", "Quantity", "Value", "Prefixes", "Declared by"], rows)
        .with_prose(&[1, 2, 3, 4])
        .with_note(
            "Units are joined by \"/\" and \"·\" and raised by \"^\", without blanks: \"GiB/s\", \"500/s\", \"m/s^2\". \
             A model declares further ones under [units].",
        )
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
