//! The selection of figures to measure, and the time for each.

use hemiola_diagnostic::nearest;
use hemiola_probe::FigureOfMerit;
use hemiola_units::Span;
use thiserror::Error;

use crate::derive;

/// The time for a set, and the number of blocks of each figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// For all figures together; exceeded only if even the fewest readings take longer.
    pub time: Span,
    /// The most blocks of each figure, spread over the whole time; if time is short, down to `BLOCKS_MIN`.
    pub blocks: u32,
    /// Readings of the first block, which shows the cost of one reading.
    pub pilot: u32,
}

impl Budget {
    /// Under 20 s including the folder and the report.
    pub const QUICK: Self = Self { time: Span::from_millis(15_000), blocks: 10, pilot: BLOCK_MIN };
    /// Under 5 minutes.
    pub const FULL: Self = Self { time: Span::from_millis(240_000), blocks: 10, pilot: BLOCK_MIN };
}

/// The most readings of one block; another block would be more informative than further readings.
const BLOCK_MAX: u32 = 500;

/// The fewest readings of one block, so that one bad reading does not decide its median.
const BLOCK_MIN: u32 = 5;

/// The fewest blocks that give an interval for the next measurement.
const BLOCKS_MIN: u32 = 5;

/// No figure has this prefix.
#[derive(Debug, Error)]
#[error(
    "the name of no figure in this set begins with `{prefix}`{}",
    near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
)]
pub struct UnknownPrefix {
    /// The prefix.
    pub prefix: String,
    /// The figure with the nearest name.
    pub near: Option<String>,
}

/// The figures of `catalogue` to measure: all, or those whose names begin with one of `only`; with `quick`, only the
/// quick ones of these. A figure requested by its full name is always included. A derived figure such as
/// `memory.latency.l1` selects the figures it is derived from.
///
/// # Errors
/// A prefix that matches no figure.
pub fn select(
    catalogue: Vec<FigureOfMerit>,
    quick: bool,
    only: &[String],
) -> Result<Vec<FigureOfMerit>, UnknownPrefix> {
    let matches = |figure: &FigureOfMerit, prefix: &String| {
        let derived = derive::is_derived(prefix) && derive::is_source(&figure.name);
        figure.name == *prefix
            || ((figure.name.starts_with(prefix.as_str()) || derived) && (figure.quick || !quick))
    };
    for prefix in only {
        if !catalogue.iter().any(|figure| matches(figure, prefix)) {
            let near = nearest(prefix, catalogue.iter().map(|figure| figure.name.as_str()));
            return Err(UnknownPrefix { prefix: prefix.clone(), near: near.map(Into::into) });
        }
    }
    let wanted = |figure: &FigureOfMerit| {
        if only.is_empty() {
            figure.quick || !quick
        } else {
            only.iter().any(|prefix| matches(figure, prefix))
        }
    };
    Ok(catalogue.into_iter().filter(wanted).collect())
}

/// The number of further blocks that fit into `left` after `pilot` readings of each figure took `costs`.
#[must_use]
pub fn blocks(costs: &[Span], budget: Budget, left: Span) -> u32 {
    let round: f64 = costs.iter().map(|cost| cost.secs_f64()).sum::<f64>();
    let round = round * f64::from(BLOCK_MIN) / f64::from(budget.pilot);
    let most = budget.blocks.max(1) - 1;
    ((left.secs_f64() / round.max(1e-9)) as u32).clamp(most.min(BLOCKS_MIN - 1), most)
}

/// The number of readings in each figure's next blocks after `pilot` readings of each took `costs`, with the time
/// `left` for `blocks` more of every figure. Each figure gets the same time. The time that cheap figures cannot use
/// (`BLOCK_MAX`) goes to the others, and the time that expensive ones need beyond it (`BLOCK_MIN`) comes from them.
#[must_use]
pub fn counts(costs: &[Span], pilot: u32, left: Span, blocks: u32) -> Vec<u32> {
    let each: Vec<f64> =
        costs.iter().map(|cost| cost.secs_f64().max(1e-9) / f64::from(pilot)).collect();
    let mut counts: Vec<Option<u32>> = vec![None; costs.len()];
    let mut time = left.secs_f64().max(0.0) / f64::from(blocks.max(1));
    loop {
        let open: Vec<usize> = (0..costs.len()).filter(|i| counts[*i].is_none()).collect();
        let share = time / open.len() as f64;
        let fits = |index: &usize| share / each[*index];
        let expensive = |index: &usize| fits(index) < f64::from(BLOCK_MIN);
        let cheap = |index: &usize| fits(index) > f64::from(BLOCK_MAX);
        // Fixes the figures at a limit, expensive ones first, and shares the rest again; at most once per figure.
        let (fixed, count) = match open.iter().any(expensive) {
            true => (open.iter().copied().filter(expensive).collect::<Vec<_>>(), BLOCK_MIN),
            false => (open.iter().copied().filter(cheap).collect(), BLOCK_MAX),
        };
        if fixed.is_empty() {
            for index in open {
                counts[index] = Some(fits(&index) as u32);
            }
            return counts.into_iter().flatten().collect();
        }
        for index in fixed {
            counts[index] = Some(count);
            time = (time - f64::from(count) * each[index]).max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_probe::Unit;
    use proptest::prelude::*;

    fn figure(name: &str, quick: bool) -> FigureOfMerit {
        FigureOfMerit { name: name.into(), title: "x".into(), unit: Unit::Nanoseconds, quick }
    }

    fn chosen(quick: bool, only: &[&str]) -> Vec<String> {
        let catalogue = vec![
            figure("clock.read", true),
            figure("clock.pair", false),
            figure("memory.latency.1KiB", true),
            figure("memory.latency.2KiB", false),
        ];
        let only: Vec<String> = only.iter().map(ToString::to_string).collect();
        match select(catalogue, quick, &only) {
            Ok(figures) => figures.into_iter().map(|figure| figure.name).collect(),
            Err(error) => vec![error.to_string()],
        }
    }

    #[test]
    fn a_set_is_all_quick_figures_or_those_with_a_prefix() {
        assert_eq!(chosen(false, &[]).len(), 4);
        assert_eq!(chosen(true, &[]), ["clock.read", "memory.latency.1KiB"]);
        assert_eq!(chosen(true, &["clock"]), ["clock.read"]);
        assert_eq!(chosen(true, &["clock.pair"]), ["clock.pair"]);
        assert_eq!(chosen(false, &["clock.pair", "memory"]).len(), 3);
    }

    #[test]
    fn a_derived_figure_selects_its_sources() {
        assert_eq!(chosen(true, &["memory.latency.l2"]), ["memory.latency.1KiB"]);
        assert_eq!(chosen(false, &["memory.size.l1"]).len(), 2);
    }

    #[test]
    fn an_unknown_prefix_is_reported_with_the_nearest_name() {
        assert_eq!(
            chosen(false, &["clock.raed"]),
            [
                "the name of no figure in this set begins with `clock.raed`; did you mean `clock.read`?"
            ]
        );
    }

    #[test]
    fn cheap_figures_get_the_most_readings_and_expensive_ones_the_fewest() {
        let costs = [Span::from_micros(8), Span::from_millis(8_000), Span::from_millis(80)];
        let counts = counts(&costs, 8, Span::from_millis(30_000), 4);
        assert_eq!((counts[0], counts[1]), (BLOCK_MAX, BLOCK_MIN));
        // The time that the second figure takes beyond its share is missing for the third.
        assert_eq!(counts[2], 249);
    }

    #[test]
    fn blocks_use_the_time_within_their_limits() {
        let costs = [Span::from_millis(1_000); 3];
        let more = |left| blocks(&costs, Budget::FULL, Span::from_millis(left));
        assert_eq!([more(0), more(20_000), more(1_000_000)], [4, 6, 9]);
        assert_eq!(blocks(&costs, Budget { blocks: 2, ..Budget::FULL }, Span::ZERO), 1);
    }

    proptest! {
        #[test]
        fn counts_keep_their_limits_and_the_time_if_possible(
            costs in prop::collection::vec(1i64..3_000, 1..60),
            left in 0i64..300,
            blocks in 1u32..9,
        ) {
            let spans: Vec<Span> = costs.iter().map(|ms| Span::from_millis(*ms)).collect();
            let counts = counts(&spans, 8, Span::from_millis(left * 1000), blocks);
            prop_assert!(counts.iter().all(|count| (BLOCK_MIN..=BLOCK_MAX).contains(count)));
            let takes = |count: &dyn Fn(usize) -> u32| -> f64 {
                (0..costs.len()).map(|i| f64::from(count(i)) * costs[i] as f64 / 8.0 / 1e3).sum()
            };
            let least = takes(&|_| BLOCK_MIN) * f64::from(blocks);
            let all = takes(&|index| counts[index]) * f64::from(blocks);
            prop_assert!(all <= (left as f64).max(least) * 1.001, "{all} of {left}, least {least}");
        }
    }
}
