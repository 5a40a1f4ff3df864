//! The charts of a model: for each chain where its time goes, how likely each time is, its budget, which input matters
//! and what changes and sweeps would bring; for each cache its hit ratio over its size.

use hemiola_report::charts::{
    Along, Bin, Effect, Group, Histogram, Lines, Marker, Point, Ranged, Series, SideBySide, Step,
    Tornado, Waterfall,
};
use hemiola_report::page::Figure;
use hemiola_report::plot::Scale;
use hemiola_report::text::size;
use hemiola_scenario::document::Word;

use crate::budget::{BudgetLine, time};
use crate::chain::{Amount, Capacity, Carrier, Expected, OtherCost, OwnCost, OwnTime, Swing, UpTo};
use crate::export::tables::SWINGS_MAX;
use crate::summary::{CacheSummary, ChainSummary, Summary, SweepCost, SweepStep, words};
use crate::text::percent;

pub(super) fn figures(summary: &Summary) -> Vec<Figure> {
    let of_chain: [fn(&ChainSummary) -> Option<Figure>; 5] =
        [where_time_goes, how_likely, budget, which_input_matters, what_ifs];
    let chains = summary.chains.iter().flat_map(|chain| {
        let is_timed = chain.takes_time();
        let own = of_chain.into_iter().filter(move |_| is_timed);
        let own = own.filter_map(move |figure| figure(chain));
        let swept = chain.sweeps.iter().filter(move |_| is_timed);
        let swept = swept.map(move |sweep| swept_chart(summary, chain, sweep));
        let others = chain.costs.iter().filter_map(move |cost| where_it_goes(summary, chain, cost));
        let carriers =
            chain.capacity.iter().map(move |capacity| carriers(summary, chain, capacity));
        own.chain(swept).chain(others).chain(carriers)
    });
    chains.chain(summary.caches.iter().filter_map(hit_ratio)).collect()
}

fn name_of(chain: &ChainSummary) -> &str {
    words(&chain.title, &chain.name)
}

/// The mean with its 95 %, unless they have no end.
fn mean(cost: &Expected) -> Ranged {
    let ends = [cost.low_ns, cost.high_ns];
    Ranged { value: cost.mean_ns, ends: Some(ends).filter(|ends| ends[1].is_finite()) }
}

fn deadline(chain: &ChainSummary) -> Option<Marker> {
    chain.deadline_ns.map(|at| Marker { at, name: "deadline".to_owned() })
}

fn where_time_goes(chain: &ChainSummary) -> Option<Figure> {
    let name = name_of(chain);
    let step = |share: &OwnTime| Step { name: share.name.clone(), value: share.own_ns.into() };
    let mut wholes = vec![Step { name: "mean".to_owned(), value: mean(&chain.cost.monte_carlo) }];
    wholes.extend(chain.budget.held.iter().filter(|held| held.name == chain.name).map(|held| {
        Step { name: format!("measured, {}", held.circumstances), value: held.measured_ns.into() }
    }));
    let waterfall = Waterfall {
        description: &format!("Where the time of {name} goes"),
        parts: chain.waterfall.iter().map(step).collect(),
        wholes,
        limit: deadline(chain),
        show: &time,
    };
    Some(Figure {
        title: format!("Where the time goes: {name}"),
        caption: "Each part starts where the previous one ends and shows its own time over all its calls. \
                  The interval at the sum contains 95 % of the samples."
            .to_owned(),
        svg: vec![waterfall.draw()],
    })
}

fn how_likely(chain: &ChainSummary) -> Option<Figure> {
    let name = name_of(chain);
    let steps = &chain.cost.distribution;
    let bin = |ends: &[UpTo]| Bin {
        ends: [ends[0].time_ns, ends[1].time_ns],
        share: ends[1].probability.value - ends[0].probability.value,
    };
    let histogram = Histogram {
        description: &format!("How often {name} takes how long"),
        x: Along { name: "time", scale: Scale::Linear, show: &time },
        bins: steps.windows(2).map(bin).collect(),
        markers: deadline(chain).into_iter().collect(),
    };
    let point = |step: &UpTo| {
        let probability = step.probability;
        let y =
            Ranged { value: probability.value, ends: Some([probability.low, probability.high]) };
        Point { x: step.time_ns, y }
    };
    let up_to = Lines {
        description: &format!("How likely {name} takes at most how long"),
        x: Along { name: "time", scale: Scale::Linear, show: &time },
        y: Along { name: "probability", scale: Scale::Linear, show: &percent },
        series: vec![Series {
            name: "probability of at most this time".to_owned(),
            points: steps.iter().map(point).collect(),
        }],
        markers: deadline(chain).into_iter().collect(),
    };
    (!steps.is_empty()).then(|| Figure {
        title: format!("How likely each time is: {name}"),
        caption: "The middle 99 % of the samples. Above, their share in each step of time; below, the share up \
                  to each time. The interval is what systematic offsets and the number of samples leave open."
            .to_owned(),
        svg: vec![histogram.draw(), up_to.draw()],
    })
}

fn budget(chain: &ChainSummary) -> Option<Figure> {
    let name = name_of(chain);
    let group = |line: &BudgetLine| Group {
        name: line.name.clone(),
        values: vec![
            line.allotted_ns.map(Ranged::from),
            Some(mean(&line.expected)),
            line.measured_ns.map(Ranged::from),
        ],
    };
    let is_compared = |line: &&BudgetLine| line.allotted_ns.is_some() || line.measured_ns.is_some();
    let groups: Vec<Group> = chain.budget.lines.iter().filter(is_compared).map(group).collect();
    let chart = SideBySide {
        description: &format!("Allotted, expected and measured times of {name}"),
        columns: ["allotted", "expected (95 %)", "measured"].map(str::to_owned).to_vec(),
        groups,
        scale: Scale::Linear,
        show: &time,
    };
    (!chart.groups.is_empty()).then(|| Figure {
        title: format!("Budget: {name}"),
        caption: "The allotted times, the mean expected ones with 95 % of the samples, and the measured ones."
            .to_owned(),
        svg: vec![chart.draw()],
    })
}

fn which_input_matters(chain: &ChainSummary) -> Option<Figure> {
    let name = name_of(chain);
    let effect = |swing: &Swing| Effect {
        name: swing.input.clone(),
        at_low: swing.at_low_ns,
        at_high: swing.at_high_ns,
    };
    let swings = &chain.cost.tornado;
    let tornado = Tornado {
        description: &format!("How far each input moves {name}"),
        nominal: chain.cost.first_order.nominal_ns,
        effects: swings.iter().take(SWINGS_MAX).map(effect).collect(),
        show: &time,
    };
    (!swings.is_empty()).then(|| Figure {
        title: format!("Which input matters: {name}"),
        caption:
            "The cost with one input at a time at the ends of its 95 % range, all others at their \
                  expected values. The inputs at the top are the ones worth measuring better."
                .to_owned(),
        svg: vec![tornado.draw()],
    })
}

fn what_ifs(chain: &ChainSummary) -> Option<Figure> {
    let name = name_of(chain);
    let as_it_is = Step { name: "as it is".to_owned(), value: mean(&chain.cost.monte_carlo) };
    let variants = chain.what_ifs.iter().map(|variant| Step {
        name: words(&variant.title, &variant.name).to_owned(),
        value: mean(&variant.cost),
    });
    let chart = Waterfall {
        description: &format!("What the changes would make of {name}"),
        parts: Vec::new(),
        wholes: std::iter::once(as_it_is).chain(variants).collect(),
        limit: deadline(chain),
        show: &time,
    };
    (!chain.what_ifs.is_empty()).then(|| Figure {
        title: format!("What if: {name}"),
        caption: "The mean and 95 % of the samples with each change. The deadline is that of the model as it is."
            .to_owned(),
        svg: vec![chart.draw()],
    })
}

/// Where a cost besides time goes.
fn where_it_goes(summary: &Summary, chain: &ChainSummary, cost: &OtherCost) -> Option<Figure> {
    let name = name_of(chain);
    let show = |value: f64| summary.show(value, cost.dimension);
    let Amount { mean, low, high, .. } = cost.expected;
    let whole = Ranged { value: mean, ends: Some([low, high]) };
    let step = |part: &OwnCost| Step { name: part.name.clone(), value: part.own.into() };
    let waterfall = Waterfall {
        description: &format!("Where the {} of {name} goes", cost.name),
        parts: cost.parts.iter().map(step).collect(),
        wholes: vec![Step { name: "mean".to_owned(), value: whole }],
        limit: cost.limit.map(|limit| Marker { at: limit.limit, name: "limit".to_owned() }),
        show: &show,
    };
    (!cost.parts.is_empty()).then(|| Figure {
        title: format!("Where the {} goes: {name}", cost.name),
        caption: "Each part starts where the previous one ends and shows its own cost over all its calls. The interval \
                  at the sum contains 95 % of the samples."
            .to_owned(),
        svg: vec![waterfall.draw()],
    })
}

/// How often each part lets a chain run.
fn carriers(summary: &Summary, chain: &ChainSummary, capacity: &Capacity) -> Figure {
    let name = name_of(chain);
    let show = |value: f64| summary.show(value, chain.capacity_dimension);
    let called = capacity.parts.iter().filter(|part| part.chain.is_finite());
    let part = |part: &Carrier| Step { name: part.name.clone(), value: part.chain.into() };
    let Amount { mean, low, high, .. } = capacity.expected;
    let whole = Ranged { value: mean, ends: Some([low, high]) };
    let chart = Waterfall {
        description: &format!("How often each part lets {name} run"),
        parts: Vec::new(),
        wholes: called
            .map(part)
            .chain([Step { name: "the chain, mean".to_owned(), value: whole }])
            .collect(),
        limit: capacity.demand.map(|demand| Marker { at: demand.limit, name: "demand".to_owned() }),
        show: &show,
    };
    Figure {
        title: format!("Capacity: {name}"),
        caption: "How often each part lets the chain run, the tightest first, and the chain itself with 95 % of the \
                  samples."
            .to_owned(),
        svg: vec![chart.draw()],
    }
}

fn swept_chart(summary: &Summary, chain: &ChainSummary, sweep: &SweepCost) -> Figure {
    let name = name_of(chain);
    let value = |value: f64| summary.show(value, sweep.dimension);
    let point = |step: &SweepStep| Point { x: step.value, y: mean(&step.cost.cost) };
    let mut points: Vec<Point> = sweep.steps.iter().map(point).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let chart = Lines {
        description: &format!("{name} over {}", sweep.figure),
        x: Along { name: &sweep.figure, scale: Scale::Linear, show: &value },
        y: Along { name: "mean", scale: Scale::Linear, show: &time },
        series: vec![Series { name: "mean (95 %)".to_owned(), points }],
        markers: vec![Marker { at: sweep.nominal, name: "as it is".to_owned() }],
    };
    Figure {
        title: format!("{}: {name}", words(&sweep.title, &sweep.figure)),
        caption: format!("The mean and 95 % of the samples for each value of {}.", sweep.figure),
        svg: vec![chart.draw()],
    }
}

fn hit_ratio(cache: &CacheSummary) -> Option<Figure> {
    let name = words(&cache.title, &cache.name);
    let simulated = cache.sizes.iter().map(|other| {
        let variation = &other.variant.variation;
        let ends = variation.standard_error.map(|error| {
            let value = variation.simulated;
            [(value - 2.0 * error).max(0.0), (value + 2.0 * error).min(1.0)]
        });
        let y = Ranged { value: variation.simulated, ends };
        Point { x: other.size_bytes, y }
    });
    let by_formula = cache.sizes.iter().filter_map(|other| {
        Some(Point { x: other.size_bytes, y: other.variant.variation.theory?.into() })
    });
    let series = |name: &str, points: Vec<Point>| Series { name: name.to_owned(), points };
    let mut lines =
        vec![series("simulated", simulated.collect()), series("by formula", by_formula.collect())];
    lines.retain(|line| line.points.len() > 1);
    let chart = Lines {
        description: &format!("Hit ratio of {name} over its size"),
        x: Along { name: "size", scale: Scale::Binary, show: &size },
        y: Along { name: "hit ratio", scale: Scale::Linear, show: &percent },
        series: lines,
        markers: vec![Marker { at: cache.size_bytes, name: "as it is".to_owned() }],
    };
    (!chart.series.is_empty()).then(|| Figure {
        title: format!("Hit ratio over size: {name}"),
        caption: format!(
            "The share of requests that {} of each size would answer. The interval is two standard errors of the \
             simulation.",
            cache.algorithm.word().to_uppercase()
        ),
        svg: vec![chart.draw()],
    })
}
