//! The distribution of the values of a column, as a drawing.

use hemiola_report::plot::{Anchor, Axis, Drawing, Scale};
use hemiola_report::text::{count, number};

/// Bars of a histogram.
const BARS: usize = 40;
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 16.0;

/// A drawing of the values that are finite, with the number of all others.
pub(super) fn draw(values: &[f64]) -> String {
    let mut drawing = Drawing::new(WIDTH, HEIGHT, "Distribution of the values");
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = finite()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let others = values.len() - finite().count();
    if low > high {
        words(&mut drawing, 60.0, if others == 0 { "no rows" } else { "no finite value" });
    } else if is_one_value(low, high) {
        let rows = count((values.len() - others) as u64);
        words(&mut drawing, 60.0, &format!("{} in all {rows} rows", number(low)));
    } else if (high - low).is_finite() {
        bars(&mut drawing, &finite, low, high);
    } else {
        let ends = format!("from {} to {}", number(low), number(high));
        words(&mut drawing, 60.0, &ends);
    }
    if others > 0 {
        words(&mut drawing, 12.0, &format!("{} values are not finite", count(others as u64)));
    }
    drawing.finish()
}

/// Whether an axis cannot tell the two apart: it has at most some hundred pixels, and its ticks have few digits.
fn is_one_value(low: f64, high: f64) -> bool {
    high - low <= 1e-12 * low.abs().max(high.abs()).max(1e-290)
}

fn words(drawing: &mut Drawing, y: f64, text: &str) {
    drawing.text("label", [LEFT, y], Anchor::Start, text);
}

fn bars<I: Iterator<Item = f64>>(
    drawing: &mut Drawing,
    values: &impl Fn() -> I,
    low: f64,
    high: f64,
) {
    let mut counts = [0_u64; BARS];
    for value in values() {
        let share = (value - low) / (high - low);
        counts[((share * BARS as f64) as usize).min(BARS - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1) as f64;
    let x = Axis::over([low, high].into_iter(), Scale::Linear).on(LEFT, RIGHT);
    let y = Axis::over([0.0, most].into_iter(), Scale::Linear).on(HEIGHT - 28.0, 20.0);
    drawing.grid_y(&y, &x, number);
    drawing.grid_x(&x, &y, number);
    let (width, of_bar) = ((RIGHT - LEFT) / BARS as f64, (high - low) / BARS as f64);
    for (at, rows) in counts.iter().enumerate().filter(|(_, rows)| **rows > 0) {
        let top = y.at(*rows as f64).min(y.at(0.0) - 1.0);
        let from = low + at as f64 * of_bar;
        let ends = [from, from + of_bar].map(number);
        let tip = format!("{} rows from {} to {}", count(*rows), ends[0], ends[1]);
        let place = [LEFT + at as f64 * width + 0.5, top];
        drawing.bar("fill s0", place, [width - 1.0, y.at(0.0) - top], &tip);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of each bar.
    fn rows(drawing: &str) -> Vec<u64> {
        let tips = drawing.split("<title>").skip(1);
        tips.map(|tip| tip.split(" rows").next().unwrap().replace('\u{a0}', "").parse().unwrap())
            .collect()
    }

    #[test]
    fn every_finite_value_is_in_one_bar() {
        let values: Vec<f64> = (0..1000).map(f64::from).chain([f64::NAN, f64::INFINITY]).collect();
        let drawing = draw(&values);
        assert_eq!(rows(&drawing), [25; BARS]);
        assert!(drawing.contains("2 values are not finite"), "{drawing}");
        let drawing = draw(&[-1.0, 0.0, 0.0, 1.0]);
        assert_eq!(rows(&drawing), [1, 2, 1]);
    }

    #[test]
    fn values_that_no_axis_can_show_are_told_in_words() {
        for (values, expected) in [
            (vec![], "no rows"),
            (vec![f64::NAN], "no finite value"),
            (vec![3.0; 1200], "3 in all 1\u{a0}200 rows"),
            (vec![0.0, 5e-324], "0 in all 2 rows"),
            (vec![1e300, 1e300_f64.next_up()], "1.00e300 in all 2 rows"),
            (vec![f64::MIN, f64::MAX], "from -1.80e308 to 1.80e308"),
        ] {
            let drawing = draw(&values);
            assert!(drawing.contains(expected) && rows(&drawing).is_empty(), "{drawing}");
        }
    }
}
