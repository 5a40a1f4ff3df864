//! The measurement of a set of figures, block by block in round-robin order.

use std::sync::atomic::{AtomicBool, Ordering};

use hemiola_probe::FigureOfMerit;
use hemiola_rt::clock::Clock;
use hemiola_units::Span;
use thiserror::Error;

use crate::series::Series;
use crate::set::{self, Budget, counts};
use crate::source::ReadingSource;

/// An observer of a measurement's progress.
pub trait Progress {
    /// Reports the completed fraction, 0 to 1, and the current activity.
    fn tick(&mut self, fraction: f64, doing: &str);
}

/// A signal interrupted the measurement; its readings are discarded.
#[derive(Debug, Error)]
#[error("interrupted; nothing was kept")]
pub struct Interrupted;

/// The least time over which the blocks are spread.
const SPREAD: Span = Span::from_millis(5_000);

/// Measures all `figures`: block 1 of each, then block 2 of each and so on, so that every figure samples all states of
/// the machine during the measurement; the blocks of a few cheap figures are spread over five seconds. A figure whose
/// probe fails is not tried again; [`Series::failed`] has the reason.
///
/// A signal handler may set `interrupted` at any time. The current readings are finished first: they take less than a
/// second, or fail because the same signal ended their processes.
///
/// # Errors
/// [`Interrupted`].
pub fn measure(
    figures: &[FigureOfMerit],
    source: &mut dyn ReadingSource,
    budget: Budget,
    clock: &dyn Clock,
    progress: &mut dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Vec<Series>, Interrupted> {
    let start = clock.now();
    let end = start + budget.time;
    let mut all: Vec<Series> =
        figures.iter().map(|figure| Series::new(figure.name.clone(), figure.unit)).collect();
    let mut planned = vec![budget.pilot; figures.len()];
    let (mut block, mut blocks) = (0, budget.blocks);
    while block < blocks {
        for (index, (series, count)) in all.iter_mut().zip(&planned).enumerate() {
            if series.failed.is_some() {
                continue;
            }
            let parts = f64::from(block) + index as f64 / figures.len() as f64;
            progress.tick(parts / f64::from(blocks), &series.name);
            take(series, source, *count, clock);
            if interrupted.load(Ordering::Relaxed) {
                return Err(Interrupted);
            }
        }
        // The first block shows the cost of a reading.
        if block == 0 {
            let costs: Vec<_> = all.iter().map(|series| series.took).collect();
            let left = end.since(clock.now());
            blocks = 1 + set::blocks(&costs, budget, left);
            planned = counts(&costs, budget.pilot, left, blocks - 1);
        }
        block += 1;
        // Blocks of a few cheap figures would otherwise all see the same state of the machine.
        let spread = Span::from_nanos(SPREAD.min(budget.time).nanos() / i64::from(blocks));
        let next = start + spread * i64::from(block);
        let rest = if block < blocks { next.since(clock.now()) } else { Span::ZERO };
        source.end_block(rest);
    }
    Ok(all)
}

/// Reads one block of `count` readings into `series`.
pub(crate) fn take(
    series: &mut Series,
    source: &mut dyn ReadingSource,
    count: u32,
    clock: &dyn Clock,
) {
    let before = clock.now();
    match source.read(&series.name, count) {
        Ok(readings) => series.add(readings, clock.now().since(before)),
        Err(error) => series.failed = Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Silent, Synthetic};

    const BUDGET: Budget = Budget { time: Span::from_millis(100), blocks: 5, pilot: 8 };

    fn measured(source: &mut Synthetic, stop: bool) -> Result<Vec<Series>, Interrupted> {
        let (catalogue, clock) = (source.catalogue(), source.clock.clone());
        measure(&catalogue, source, BUDGET, &clock, &mut Silent, &AtomicBool::new(stop))
    }

    #[test]
    fn blocks_of_all_figures_alternate() {
        let mut source = Synthetic::new(&[("a", 1.0, 0.1), ("b", 2.0, 0.1)]);
        let series = measured(&mut source, false).unwrap();
        assert_eq!(source.read, ["a", "b"].repeat(5));
        assert!(series.iter().all(|series| series.blocks.len() == 5));
        assert_eq!(series[0].blocks[0].len(), 8);
        // 10 µs per reading and 100 ms in total: every later block has the maximum number of readings.
        assert_eq!(series[0].blocks[1].len(), 500);
        let figure = series[1].figure().unwrap();
        assert!((figure.value - 2.0).abs() < 0.5 && figure.low < figure.value, "{figure:?}");
        assert_eq!((figure.blocks, figure.circumstances.as_str()), (5, "idle"));
    }

    #[test]
    fn blocks_are_spread_over_the_measurement() {
        // The readings of a block take 5 ms at most, and the time is 100 ms.
        let mut source = Synthetic::new(&[("a", 1.0, 0.1)]);
        measured(&mut source, false).unwrap();
        let ms: Vec<i64> = source.ended.iter().map(|at| (at.nanos() / 1_000_000) as i64).collect();
        assert_eq!(ms, [20, 40, 60, 80, 85]);
    }

    #[test]
    fn a_failing_figure_is_read_once_and_keeps_the_reason() {
        let mut source = Synthetic::new(&[("a", 1.0, 0.1), ("gone", 0.0, 0.0)]);
        let series = measured(&mut source, false).unwrap();
        assert_eq!(source.read.iter().filter(|name| *name == "gone").count(), 1);
        assert_eq!(series[1].failed.as_deref(), Some("`gone` needs a second processor"));
        assert!(series[1].figure().is_none() && series[0].blocks.len() == 5);
    }

    #[test]
    fn an_interrupted_measurement_ends_after_the_current_readings() {
        let mut source = Synthetic::new(&[("a", 1.0, 0.1), ("b", 1.0, 0.1)]);
        assert!(measured(&mut source, true).is_err());
        assert_eq!(source.read, ["a"]);
    }
}
