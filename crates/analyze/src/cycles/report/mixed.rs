//! The tables, figures and cards of a benchmark beside a load.

use crate::cycles::mixed::{MixedFigures, SeriesFigures};
use crate::cycles::summary::Summary;
use hemiola_report::charts::{Along, Lines, Point, Ranged, Series, Show};
use hemiola_report::page::Figure;
use hemiola_report::page::{Card, Tone};
use hemiola_report::plot::Scale;
use hemiola_report::table::Table;
use hemiola_report::text::{NONE, count, duration, micros, percent};
use hemiola_stats::{Estimate, Spread};

/// Each program of the summary that is a benchmark beside a load, with its name.
fn programs(summary: &Summary) -> impl Iterator<Item = (&str, &MixedFigures)> {
    summary
        .variants
        .iter()
        .filter_map(|variant| Some((variant.name.as_str(), variant.mixed.as_ref()?)))
}

/// All tables; without rows where the summary has no such program.
pub(in crate::cycles) fn tables(summary: &Summary) -> [Table; 3] {
    [overheads(summary), series(summary), wake_ups(summary)]
}

fn value(estimate: Option<Estimate>, show: fn(f64) -> String) -> String {
    estimate.map_or(NONE.into(), |estimate| show(estimate.value))
}

fn interval(estimate: Option<Estimate>, show: fn(f64) -> String) -> String {
    estimate.map_or(NONE.into(), |e| format!("{} … {}", show(e.low), show(e.high)))
}

fn percent2(share: f64) -> String {
    format!("{:.2}", 100.0 * share)
}

fn whole(value: f64) -> String {
    count(value.max(0.0).round() as u64)
}

fn overheads(summary: &Summary) -> Table {
    let row = |(name, figures): (&str, &MixedFigures)| {
        vec![
            name.to_owned(),
            figures.load.as_ref().map_or(NONE.into(), |_| whole(figures.rate_hz)),
            count(figures.comparisons),
            value(figures.share, percent2),
            value(figures.share_by_switches, percent2),
            value(figures.score, percent2),
            value(figures.overhead, percent2),
            interval(figures.overhead, percent2),
            value(figures.per_release_ns, micros),
            value(figures.deviation_ns, micros),
            value(figures.switches_per_s, whole),
        ]
    };
    let heads = "Program|Rate, Hz|n|Load, %|switches|Score|Overhead, %|95 %|Per release|Deviation|Switches/s"
        .split('|');
    let note = "The benchmark's score is what it gets done in turns with the load over what it does in turns \
                without it, in percent; overhead = 100 − load − score: what neither has. Load: processor time \
                by the clock of its thread, and by the switches in the kernel's record. Medians over \
                n comparisons of four turns. Per release, µs: the overhead over the releases, what each costs the \
                rest besides the load's own time. Deviation, µs: what the kernel's accounting charges the load around \
                each release beyond the time between its switches (the paper, 5.2). Switches/s: those the \
                load brings.";
    let rows = programs(summary).map(row).collect();
    Table::new("Real-time load beside a benchmark", heads, rows).with_note(note)
}

fn series(summary: &Summary) -> Table {
    let row = |series: &SeriesFigures| {
        vec![
            series.name.clone(),
            value(series.overhead, percent2),
            interval(series.overhead, percent2),
            value(series.per_release_ns, micros),
            interval(series.per_release_ns, micros),
        ]
    };
    let heads = ["Series", "Mean overhead, %", "95 %", "One release, µs", "95 %"];
    let note = "Over the runs: the mean overhead of a series' programs with a load, and the slope of the overhead \
                over the rate, which is what one release takes from the rest besides the load's own time.";
    let rows = summary.series.iter().map(row).collect();
    Table::new("Overhead by series", heads, rows).with_note(note)
}

fn wake_ups(summary: &Summary) -> Table {
    let cells = |spread: Option<Spread>| match spread {
        Some(spread) => [spread.p50, spread.p99, spread.max].map(|ns| micros(ns as f64)),
        None => [NONE; 3].map(String::from),
    };
    let rows = programs(summary).flat_map(|(name, figures)| {
        figures.wake_ups.iter().map(move |thread| {
            let mut row = vec![name.to_owned(), thread.name.clone()];
            row.extend(cells(thread.without_ns).into_iter().chain(cells(thread.with_ns)));
            row
        })
    });
    let heads = "Program|Thread|p50|p99|Max|With: p50|p99|Max".split('|');
    Table::new(
        "Wake-up of the other threads without the load and with it, µs",
        heads,
        rows.collect(),
    )
    .with_prose(&[1])
    .with_note("Start − release in turns without the load, and in turns with it.")
}

/// Overhead over shares, or over rates: a figure for each kind of series there is.
pub(super) fn figures(summary: &Summary) -> Vec<Figure> {
    let of = |name: &str| -> Vec<&MixedFigures> {
        programs(summary).map(|(_, figures)| figures).filter(|f| f.series == name).collect()
    };
    let over_rates = |programs: &[&MixedFigures]| {
        let mut rates = programs.iter().filter(|f| f.load.is_some()).map(|f| f.rate_hz);
        let first = rates.next();
        rates.any(|rate| Some(rate) != first)
    };
    let (rates, shares): (Vec<_>, Vec<_>) = summary
        .series
        .iter()
        .map(|series| (series.name.as_str(), of(&series.name)))
        .partition(|(_, programs)| over_rates(programs));
    let by_share = Over {
        name: "share of the load",
        show: &percent,
        x: |figures| figures.share.map_or(0.0, |share| share.value),
    };
    let hertz = |rate: f64| format!("{} Hz", whole(rate));
    let by_rate = Over { name: "releases a second", show: &hertz, x: |figures| figures.rate_hz };
    let over_shares = (!shares.is_empty()).then(|| Figure {
        title: "Overhead over the load's share".into(),
        caption:
            "The benchmark's loss beyond the load's own processor time, at one rate, with the \
                  interval of the median. Table 5-1 of the paper found it independent of the share."
                .into(),
        svg: vec![by_share.draw(&shares)],
    });
    let over_rates = (!rates.is_empty()).then(|| Figure {
        title: "Overhead over the switch rate".into(),
        caption: "The same at one share, over releases a second; each brings two switches. Figure 5-4 of the paper \
                  found it growing."
            .into(),
        svg: vec![by_rate.draw(&rates)],
    });
    let wake = wake_up_figure(&rates.iter().chain(&shares).cloned().collect::<Vec<_>>());
    over_shares.into_iter().chain(over_rates).chain(wake).collect()
}

/// The horizontal axis of a figure of the overhead.
struct Over<'a> {
    name: &'a str,
    show: Show<'a>,
    x: fn(&MixedFigures) -> f64,
}

impl Over<'_> {
    fn draw(&self, series: &[(&str, Vec<&MixedFigures>)]) -> String {
        let line = |(name, programs): &(&str, Vec<&MixedFigures>)| {
            let point = |figures: &&MixedFigures| {
                Some(Point { x: (self.x)(figures), y: Ranged::from(figures.overhead.as_ref()?) })
            };
            let mut points: Vec<Point> = programs.iter().filter_map(point).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Series { name: (*name).to_owned(), points }
        };
        Lines {
            description: &format!("Overhead over the {}", self.name),
            x: Along { name: self.name, scale: Scale::Linear, show: self.show },
            y: Along { name: "overhead", scale: Scale::Linear, show: &percent },
            series: series.iter().map(line).collect(),
            markers: Vec::new(),
        }
        .draw()
    }
}

/// Median and 99th percentile of the wake-up in turns with the load, over the load's share of the processor.
fn wake_up_figure(series: &[(&str, Vec<&MixedFigures>)]) -> Option<Figure> {
    type Pick = fn(&Spread) -> i64;
    const QUANTILES: [(&str, Pick); 2] = [("median", |s| s.p50), ("99th percentile", |s| s.p99)];
    let mut lines = Vec::new();
    for (name, programs) in series {
        for (quantile, pick) in QUANTILES {
            let point = |figures: &&MixedFigures| {
                let spread = figures.wake_ups.first()?.with_ns?;
                let x = figures.share.map_or(0.0, |share| share.value);
                Some(Point { x, y: Ranged::from(pick(&spread) as f64) })
            };
            let mut points: Vec<Point> = programs.iter().filter_map(point).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            lines.push(Series { name: format!("{name}, {quantile}"), points });
        }
    }
    lines.iter().any(|line| !line.points.is_empty()).then(|| Figure {
        title: "Wake-up of an interactive thread".into(),
        caption: "How late an ordinary thread starts after its release while the load has its turns, over the \
                  load's share of the processor."
            .into(),
        svg: vec![
            Lines {
                description: "Wake-up latency over the share of the load",
                x: Along { name: "share of the load", scale: Scale::Linear, show: &percent },
                y: Along { name: "start − release", scale: Scale::Logarithmic, show: &duration },
                series: lines,
                markers: Vec::new(),
            }
            .draw(),
        ],
    })
}

/// The figures to see first.
pub(super) fn cards(summary: &Summary) -> Vec<Card> {
    let mut cards = Vec::new();
    for series in &summary.series {
        let plus_minus = |e: &Estimate, show: fn(f64) -> String| {
            format!("{} … {} over {} runs", show(e.low), show(e.high), e.samples)
        };
        if let Some(overhead) = &series.overhead {
            cards.push(Card::new(
                format!("Overhead, {}", series.name),
                percent(overhead.value),
                plus_minus(overhead, percent),
                Tone::Plain,
            ));
        }
        if let Some(release) = &series.per_release_ns {
            cards.push(Card::new(
                format!("One release costs the rest, {}", series.name),
                duration(release.value),
                plus_minus(release, duration),
                Tone::Plain,
            ));
        }
    }
    cards
}
