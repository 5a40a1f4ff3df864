//! The figures of a summary.

use crate::cycles::analysis::Analysis;
use crate::cycles::metrics::Observed;
use crate::cycles::summary::{Summary, VariantSummary};
use hemiola_report::charts::{Along, Lines, Point, Series};
use hemiola_report::page::Figure;
use hemiola_report::plot::{
    Anchor, Axis, Drawing, LEFT, RIGHT, Scale, WIDTH, legend_height, series,
};
use hemiola_report::text::{count, duration, percent, round_duration};
use hemiola_stats::quantile;

/// All figures of the report that its data allows.
pub(super) fn figures(analysis: &Analysis) -> Vec<Figure> {
    let summary = &analysis.summary;
    let mixed = super::mixed::figures(summary);
    let modes = super::federation::figures(summary);
    if summary.variants.iter().all(|variant| variant.combined.cycle_ns.is_none()) {
        return mixed;
    }
    let times: Vec<Vec<i64>> = analysis
        .observed
        .iter()
        .map(|runs| runs.iter().flat_map(Observed::times).collect())
        .collect();
    if !modes.is_empty() {
        let both = [percentiles(summary, &times), distributions(summary, &times)];
        return modes.into_iter().chain(both).collect();
    }
    let mut figures = vec![cost(summary, Overhead::Included)];
    figures.extend(super::typical::figure(analysis));
    figures.extend([percentiles(summary, &times), distributions(summary, &times)]);
    figures.push(overhead(summary));
    figures.extend(pairs(analysis));
    figures.extend([cost(summary, Overhead::Subtracted), scatter(summary, &times)]);
    figures.extend(mixed);
    figures
}

/// What a figure of cycle times does with the time that its time stamps took.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overhead {
    Included,
    Subtracted,
}

/// Figures 7 and 21 of CMU/SEI-2000-TR-006: min, mean, adjusted maximum and maximum by program, and the floor.
fn cost(summary: &Summary, overhead: Overhead) -> Figure {
    type Pick = fn(&VariantSummary) -> Option<f64>;
    const LINES: [(&str, &str, Pick); 5] = [
        ("max", "maximum", |variant| variant.combined.cycle_ns.map(|c| c.spread.max as f64)),
        ("adjusted", "adjusted maximum", |variant| {
            variant.combined.cycle_ns.map(|c| c.adjusted_max as f64)
        }),
        ("mean", "mean", |variant| variant.combined.cycle_ns.map(|c| c.spread.mean)),
        ("min", "minimum", |variant| variant.combined.cycle_ns.map(|c| c.spread.min as f64)),
        ("floor", "floor of its hand-overs", |variant| variant.floor_ns),
    ];
    let value = |class: &str, pick: Pick, variant: &VariantSummary| {
        let is_whole = overhead == Overhead::Included || class == "floor";
        let stamps = if is_whole { 0.0 } else { variant.combined.timing_overhead_ns };
        pick(variant).map(|ns| ns - stamps).filter(|ns| *ns > 0.0)
    };
    let names = LINES.map(|(class, name, _)| (format!("line {class}"), name.to_string()));
    let height = 410.0;
    let (top, bottom) = (legend_height(LEFT, WIDTH, &names), height - 44.0);
    let values = summary
        .variants
        .iter()
        .flat_map(|variant| LINES.map(|(class, _, pick)| value(class, pick, variant)));
    let y = Axis::over(values.flatten(), Scale::Logarithmic).on(bottom, top);
    let x = Axis::over([0.0, 1.0].into_iter(), Scale::Linear).on(LEFT, RIGHT);
    let step = (RIGHT - LEFT) / summary.variants.len() as f64;
    let at = |index: usize| LEFT + (index as f64 + 0.5) * step;
    let (title, description, caption) = words(overhead);
    let mut drawing = Drawing::new(WIDTH, height, description);
    drawing.grid_y(&y, &x, round_duration);
    for (class, name, pick) in LINES {
        let line = format!("line {class}");
        let mut points = Vec::new();
        for (index, variant) in summary.variants.iter().enumerate() {
            let Some(value) = value(class, pick, variant) else { continue };
            points.push([at(index), y.at(value)]);
            let tip = format!("{}: {name} {}", variant.name, duration(value));
            if class == "mean" {
                let above = [at(index), y.at(value) - 10.0];
                drawing.text("label strong", above, Anchor::Middle, &duration(value));
            }
            drawing.dot(&format!("dot {class}"), [at(index), y.at(value)], &tip);
        }
        drawing.curve(&line, &points);
    }
    for (index, variant) in summary.variants.iter().enumerate() {
        for (line, words) in broken(&variant.name, (step / 7.0) as usize).iter().enumerate() {
            let position = [at(index), bottom + 20.0 + 15.0 * line as f64];
            drawing.text("label", position, Anchor::Middle, words);
        }
    }
    drawing.legend(LEFT, &names);
    Figure { title: title.into(), caption: caption.into(), svg: vec![drawing.finish()] }
}

/// Title, description for screen readers and caption of [`cost`].
const fn words(overhead: Overhead) -> (&'static str, &'static str, &'static str) {
    match overhead {
        Overhead::Included => (
            "Cost against steps of communication",
            "Cycle time of each program, figures in Table 2",
            "Time of one cycle by program, communication growing from left to right, all runs together, timing \
             overhead included. The floor is what the machine charges for the same chain of hand-overs without any \
             program, measured in this run.",
        ),
        Overhead::Subtracted => (
            "Cost without the timing overhead",
            "Cycle time of each program without its timing overhead, figures in Tables 2 and 15",
            "The same, with the mean cost of a cycle's time stamps subtracted. It is measured with pairs of marks \
             back to back, and a mark in the middle of a program may cost more.",
        ),
    }
}

/// A name in lines of about `width` letters, broken between words.
fn broken(name: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// Cycle time against the share of cycles that exceed it.
fn percentiles(summary: &Summary, times: &[Vec<i64>]) -> Figure {
    let names = variant_names(summary);
    let height = 390.0;
    let (top, bottom) = (legend_height(LEFT, WIDTH, &names), height - 48.0);
    let longest = times.iter().map(Vec::len).max().unwrap_or(1).max(10) as f64;
    let y = Axis::over(times.iter().flatten().map(|t| *t as f64), Scale::Logarithmic);
    let y = y.on(bottom, top);
    // The share beyond the percentile falls by ten for each step to the right.
    let x = Axis::over([0.0, longest.log10()].into_iter(), Scale::Linear).on(LEFT, RIGHT);
    let mut drawing = Drawing::new(
        WIDTH,
        height,
        "Percentiles of cycle time of each program, figures in Table 2",
    );
    drawing.grid_y(&y, &x, round_duration);
    for nines in 0..=longest.log10() as i32 {
        let position = x.at(f64::from(nines));
        drawing.line("grid", [position, top], [position, bottom]);
        let name = match nines {
            0 => "0".into(),
            1 => "90 %".into(),
            2 => "99 %".into(),
            n => format!("99.{} %", "9".repeat(n as usize - 2)),
        };
        drawing.text("tick", [position, bottom + 18.0], Anchor::Middle, &name);
    }
    for (index, times) in times.iter().enumerate() {
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let depth = (sorted.len().max(1) as f64).log10();
        let mut points: Vec<[f64; 2]> = (0..=160)
            .map(|step| depth * f64::from(step) / 160.0)
            .filter_map(|nines| {
                let value = quantile(&sorted, 1.0 - 10f64.powf(-nines))?;
                Some([x.at(nines), y.at(value as f64)])
            })
            .collect();
        // The one greatest cycle stands at the very end.
        points.extend(sorted.last().map(|most| [x.at(depth), y.at(*most as f64)]));
        drawing.curve(&format!("line {}", series(index)), &points);
    }
    drawing.legend(LEFT, &names);
    drawing.name_x(&x, "percentile");
    Figure {
        title: "Percentiles".into(),
        caption: "The time that the given share of cycles does not exceed. Each step to the right is ten \
                  times rarer; a line ends where its program has no more cycles."
            .into(),
        svg: vec![drawing.finish()],
    }
}

fn variant_names(summary: &Summary) -> Vec<(String, String)> {
    let name = |(index, variant): (usize, &VariantSummary)| {
        (format!("line {}", series(index)), variant.name.clone())
    };
    summary.variants.iter().enumerate().map(name).collect()
}

/// One histogram for each program, each on its own axis.
fn distributions(summary: &Summary, times: &[Vec<i64>]) -> Figure {
    const BINS: usize = 56;
    let (width, height) = (300.0, 170.0);
    let (top, bottom) = (30.0, height - 34.0);
    let one = |(index, (variant, times)): (usize, (&VariantSummary, &Vec<i64>))| {
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let (low, high) = (quantile(&sorted, 0.0)?, quantile(&sorted, 0.95)?);
        let median = quantile(&sorted, 0.5)?;
        // A third of the width shows how the tail begins; the rest is counted in words.
        let high = high.max(low + BINS as i64) + (high - low) / 2;
        let mut counts = [0u64; BINS];
        for time in sorted.iter().filter(|time| **time < high) {
            counts[((time - low) as i128 * BINS as i128 / i128::from(high - low)) as usize] += 1;
        }
        let beyond = sorted.len() - sorted.partition_point(|time| *time < high);
        let x = Axis::over([low as f64, high as f64].into_iter(), Scale::Linear);
        let x = x.on(10.0, width - 10.0);
        let y = Axis::over([0.0, *counts.iter().max()? as f64].into_iter(), Scale::Linear);
        let y = y.on(bottom, top);
        let description = format!("Distribution of the cycle time of {}", variant.name);
        let mut drawing = Drawing::new(width, height, &description);
        let bin_width = (width - 20.0) / BINS as f64;
        for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let from = low as f64 + (high - low) as f64 * bin as f64 / BINS as f64;
            let height = (bottom - y.at(*count as f64)).max(1.0);
            let position = [x.at(from), bottom - height];
            let tip = format!("from {}: {count}", duration(from));
            let class = format!("fill {}", series(index));
            drawing.bar(&class, position, [(bin_width - 0.6).max(0.6), height], &tip);
        }
        drawing.line("axis", [10.0, bottom], [width - 10.0, bottom]);
        let mark = x.at(median as f64);
        drawing.line("median", [mark, top], [mark, bottom]);
        drawing.text("label strong", [10.0, 16.0], Anchor::Start, &variant.name);
        let median = format!("median {}", duration(median as f64));
        drawing.text("tick", [width - 10.0, 16.0], Anchor::End, &median);
        drawing.text("tick", [10.0, bottom + 16.0], Anchor::Start, &duration(low as f64));
        let end = match beyond {
            0 => duration(high as f64),
            n => format!("{} · {} beyond", duration(high as f64), count(n as u64)),
        };
        drawing.text("tick", [width - 10.0, bottom + 16.0], Anchor::End, &end);
        Some(drawing.finish())
    };
    Figure {
        title: "Distribution".into(),
        caption: "How often a cycle took how long, from the least to half as far again as \
                  the 95th percentile, each program on its own axis. Longer cycles are counted on the \
                  right and drawn in the two figures around this one."
            .into(),
        svg: summary.variants.iter().zip(times).enumerate().filter_map(one).collect(),
    }
}

/// Figure 20: how much of the mean is the measuring itself.
fn overhead(summary: &Summary) -> Figure {
    const ROW: f64 = 34.0;
    let height = 12.0 + ROW * summary.variants.len() as f64;
    let (from, to) = (190.0, RIGHT - 190.0);
    let mean = |variant: &VariantSummary| variant.combined.cycle_ns.map_or(0.0, |c| c.spread.mean);
    let x = Axis::over(summary.variants.iter().map(mean).chain([0.0]), Scale::Linear).on(from, to);
    let description = "Timing overhead of each program, figures in Table 15";
    let mut drawing = Drawing::new(WIDTH, height, description);
    for (index, variant) in summary.variants.iter().enumerate() {
        let figures = &variant.combined;
        let y = 6.0 + ROW * index as f64;
        let (whole, part) = (x.at(mean(variant)) - from, x.at(figures.timing_overhead_ns) - from);
        let words = format!(
            "{} of {} · {}",
            duration(figures.timing_overhead_ns),
            duration(mean(variant)),
            percent(figures.timing_overhead_share)
        );
        drawing.text("label", [from - 12.0, y + 18.0], Anchor::End, &variant.name);
        drawing.bar("fill rest", [from, y + 4.0], [whole.max(1.0), ROW - 14.0], &words);
        drawing.bar("fill overhead", [from, y + 4.0], [part.max(1.0), ROW - 14.0], &words);
        drawing.text("tick", [from + whole + 8.0, y + 18.0], Anchor::Start, &words);
    }
    Figure {
        title: "Timing overhead".into(),
        caption: "The mean cycle, and in it the share spent taking time stamps.".into(),
        svg: vec![drawing.finish()],
    }
}

/// Figure 19: what a pair of marks takes, by program and by run.
fn pairs(analysis: &Analysis) -> Option<Figure> {
    let programs = analysis.summary.variants.iter().zip(&analysis.observed);
    let by_program: Vec<Series> = programs
        .filter_map(|(variant, runs)| shares(&variant.name, runs.iter().map(|run| &run.pairs)))
        .collect();
    let longest = analysis.observed.iter().map(Vec::len).max().unwrap_or(0);
    let of_run = |run: usize| {
        let all = analysis.observed.iter().filter_map(move |runs| runs.get(run));
        shares(&format!("run {}", run + 1), all.map(|run| &run.pairs))
    };
    let by_run: Vec<Series> = (0..longest).filter_map(of_run).collect();
    let draw = |description: &str, series: Vec<Series>| {
        let x = Along { name: "share of the pairs", scale: Scale::Linear, show: &percent };
        let y = Along { name: "a pair", scale: Scale::Linear, show: &round_duration };
        Lines { description, x, y, series, markers: Vec::new() }.draw()
    };
    let mut svg = Vec::new();
    if by_run.len() > 1 {
        svg.push(draw("Pairs of marks by run, all programs together", by_run));
    }
    if !by_program.is_empty() {
        svg.insert(0, draw("Pairs of marks by program, all runs together", by_program));
    }
    (!svg.is_empty()).then(|| Figure {
        title: "What a time stamp costs".into(),
        caption: "The time between two marks back to back, taken before each run in every process of the cycle: a \
                  share of the pairs takes no longer. First by program, all runs together; then by run, all programs \
                  together. The greatest hundredth, into which interrupts fall, is left out."
            .into(),
        svg,
    })
}

/// The times that the given shares of all `pairs` do not exceed; `None` without pairs.
fn shares<'p>(name: &str, pairs: impl Iterator<Item = &'p Vec<i64>>) -> Option<Series> {
    let mut sorted: Vec<i64> = pairs.flatten().copied().collect();
    sorted.sort_unstable();
    let shares = [0.0, 0.01].into_iter().chain((1..20).map(|n| f64::from(n) / 20.0)).chain([0.99]);
    let points: Vec<Point> = shares
        .filter_map(|share| Some(Point { x: share, y: (quantile(&sorted, share)? as f64).into() }))
        .collect();
    (!points.is_empty()).then(|| Series { name: name.into(), points })
}

/// Figure 8: every cycle of every run, first to last.
fn scatter(summary: &Summary, times: &[Vec<i64>]) -> Figure {
    /// Pixels a column of strokes is wide.
    const COLUMN: f64 = 2.0;
    let names = variant_names(summary);
    let height = 410.0;
    let (top, bottom) = (legend_height(LEFT, WIDTH, &names), height - 48.0);
    let longest = times.iter().map(Vec::len).max().unwrap_or(1).max(1);
    let y = Axis::over(times.iter().flatten().map(|t| *t as f64), Scale::Logarithmic);
    let y = y.on(bottom, top);
    let x = Axis::over([0.0, longest as f64].into_iter(), Scale::Linear).on(LEFT, RIGHT);
    let mut drawing = Drawing::new(WIDTH, height, "Time of each cycle by program, in order");
    drawing.grid_y(&y, &x, round_duration);
    for tick in x.ticks() {
        drawing.text("tick", [x.at(tick), bottom + 18.0], Anchor::Middle, &count(tick as u64));
    }
    let per_column = (longest as f64 * COLUMN / (RIGHT - LEFT)).ceil().max(1.0) as usize;
    for (index, times) in times.iter().enumerate() {
        let column = |(number, times): (usize, &[i64])| {
            let least = times.iter().copied().min().unwrap_or(0) as f64;
            let most = times.iter().copied().max().unwrap_or(0) as f64;
            (x.at((number * per_column) as f64), y.at(most), y.at(least))
        };
        let strokes: Vec<_> = times.chunks(per_column).enumerate().map(column).collect();
        drawing.strokes(&format!("strokes {}", series(index)), &strokes);
    }
    drawing.legend(LEFT, &names);
    drawing.name_x(&x, "cycle, run after run");
    let caption = if per_column > 1 {
        format!(
            "Each stroke spans the times of {per_column} neighbouring cycles, so no extreme is lost."
        )
    } else {
        "Each stroke is one cycle.".into()
    };
    Figure { title: "Every cycle".into(), caption, svg: vec![drawing.finish()] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::synthetic::{analysis, ladder_analysis};

    fn titles(analysis: &Analysis) -> Vec<String> {
        figures(analysis).into_iter().map(|figure| figure.title).collect()
    }

    #[test]
    fn the_page_has_the_figures_of_the_report_in_its_order() {
        let expected = [
            "Cost against steps of communication",
            "A typical cycle",
            "Percentiles",
            "Distribution",
            "Timing overhead",
            "What a time stamp costs",
            "Cost without the timing overhead",
            "Every cycle",
        ];
        assert_eq!(titles(&ladder_analysis()), expected);
    }

    #[test]
    fn the_adjusted_cost_subtracts_the_overhead_from_every_figure_but_the_floor() {
        let summary = ladder_analysis().summary;
        let simplex = &summary.variants[3];
        let (spread, stamps) =
            (simplex.combined.cycle_ns.unwrap().spread, simplex.combined.timing_overhead_ns);
        let tip = |name: &str, ns: f64| format!("Simplex (1): {name} {}<", duration(ns));
        let [with, without] = [Overhead::Included, Overhead::Subtracted]
            .map(|overhead| cost(&summary, overhead).svg.concat());
        for (name, ns) in [("mean", spread.mean), ("minimum", spread.min as f64)] {
            assert!(with.contains(&tip(name, ns)), "{with}");
            assert!(without.contains(&tip(name, ns - stamps)), "{without}");
        }
        let floor = tip("floor of its hand-overs", simplex.floor_ns.unwrap());
        assert!(with.contains(&floor) && without.contains(&floor));
    }

    #[test]
    fn a_program_that_costs_less_than_its_time_stamps_has_no_adjusted_figure() {
        let mut summary = ladder_analysis().summary;
        summary.variants[0].combined.timing_overhead_ns = 1e12;
        let svg = cost(&summary, Overhead::Subtracted).svg.concat();
        assert!(!svg.contains("Monolithic: ") && svg.contains("Simplex (1): mean"), "{svg}");
    }

    #[test]
    fn pairs_of_marks_are_drawn_by_program_and_by_run() {
        let figure = pairs(&ladder_analysis()).unwrap();
        let [by_program, by_run] = &figure.svg[..] else { panic!("{figure:?}") };
        assert_eq!(by_program.matches("<polyline").count(), 4);
        assert_eq!(by_run.matches("<polyline").count(), 2);
        // Pairs of 38 and 41 ns in equal numbers.
        for tip in
            ["share of the pairs 0.0 %: a pair 38 ns", "share of the pairs 99.0 %: a pair 41 ns"]
        {
            assert!(by_program.contains(&format!("Simplex (1), {tip}")), "{by_program}");
            assert!(by_run.contains(&format!("run 2, {tip}")), "{by_run}");
        }
        assert_eq!(pairs(&analysis(1, 40)).unwrap().svg.len(), 1);
    }
}
