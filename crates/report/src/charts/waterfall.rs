//! A waterfall: parts that add up to a whole.

use super::{GAP_BEFORE_WORDS, Ranged, Show, middle_within, name_row, names_width, words_width};
use crate::charts::Marker;
use crate::plot::{Anchor, Axis, Drawing, RIGHT, Scale, WIDTH};

/// Parts one after the other, each beginning where the last one ended, then wholes that begin at 0.
#[derive(Clone)]
pub struct Waterfall<'a> {
    /// Its text for screen readers.
    pub description: &'a str,
    /// The parts in their order; a negative one goes back.
    pub parts: Vec<Step>,
    /// Separate bars below: the sum, the measured value.
    pub wholes: Vec<Step>,
    /// A bound to hold them against: the deadline.
    pub limit: Option<Marker>,
    /// How values are written.
    pub show: Show<'a>,
}

/// A bar of a waterfall.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// How much, with its interval.
    pub value: Ranged,
}

const ROW: f64 = 30.0;

impl Waterfall<'_> {
    /// The chart as one SVG element; what is not finite is left out.
    #[must_use]
    pub fn draw(&self) -> String {
        let finite = |step: &&Step| step.value.is_finite();
        // Each bar with where it begins.
        let mut bars: Vec<(f64, &Step, &str)> = Vec::new();
        let mut sum = 0.0;
        for part in self.parts.iter().filter(finite) {
            bars.push((sum, part, if part.value.value < 0.0 { "fill s2" } else { "fill s0" }));
            sum += part.value.value;
        }
        let parts = bars.len();
        bars.extend(self.wholes.iter().filter(finite).map(|whole| (0.0, whole, "fill s1")));
        let limit = self.limit.as_ref().filter(|limit| limit.at.is_finite());

        let from = names_width(bars.iter().map(|(_, step, _)| step.name.as_str()));
        let values = bars.iter().flat_map(|(start, step, _)| {
            step.value.all().map(move |value| start + value).chain([*start])
        });
        let values = values.chain(limit.map(|limit| limit.at)).chain([0.0]);
        let words = bars.iter().map(|(_, step, _)| step.value.words(self.show));
        let right = RIGHT - words_width(words);
        let x = Axis::over(values, Scale::Linear).on(from, right);
        let top = if limit.is_some() { 24.0 } else { 6.0 };
        let bottom = top + ROW * bars.len() as f64;
        let mut drawing = Drawing::new(WIDTH, bottom + 24.0, self.description);
        let y = Axis::over([0.0, 1.0].into_iter(), Scale::Linear).on(bottom, top);
        drawing.grid_x(&x, &y, self.show);
        for (index, (start, step, class)) in bars.iter().enumerate() {
            let row = top + ROW * index as f64;
            let (begin, end) = (x.at(*start), x.at(start + step.value.value));
            let tip = format!("{}: {}", step.name, step.value.words(self.show));
            let size = [(end - begin).abs().max(1.0), ROW - 10.0];
            drawing.bar(class, [begin.min(end), row + 5.0], size, &tip);
            if let Some([low, high]) = step.value.ends {
                let middle = row + ROW / 2.0;
                let ends = [low, high].map(|end| [x.at(start + end), middle]);
                drawing.span("span", ends[0], ends[1]);
            }
            if index + 1 < parts {
                drawing.line("axis", [end, row + ROW - 5.0], [end, row + ROW + 5.0]);
            }
            let strong = if index < parts { "label" } else { "label strong" };
            name_row(&mut drawing, strong, from, row + ROW / 2.0 + 4.0, &step.name);
            let place = [right + GAP_BEFORE_WORDS, row + ROW / 2.0 + 4.0];
            drawing.text("tick", place, Anchor::Start, &step.value.words(self.show));
        }
        if let Some(limit) = limit {
            let place = x.at(limit.at);
            drawing.line("median", [place, 18.0], [place, bottom]);
            let words = format!("{} {}", limit.name, (self.show)(limit.at));
            let middle = middle_within(place, 0.0, &words);
            drawing.text("label", [middle, 13.0], Anchor::Middle, &words);
        }
        drawing.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::duration;

    fn step(name: &str, value: f64) -> Step {
        Step { name: name.into(), value: value.into() }
    }

    #[test]
    fn parts_begin_where_the_last_ended() {
        let svg = Waterfall {
            description: "a cycle",
            parts: vec![step("one", 100.0), step("two", 300.0), step("saved", -200.0)],
            wholes: vec![step("sum", 200.0)],
            limit: Some(Marker { at: 400.0, name: "deadline".into() }),
            show: &duration,
        }
        .draw();
        // Left edges and widths of the bars.
        let number = |bar: &str, key: &str| -> f64 {
            bar.split(key).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        let bars: Vec<(f64, f64)> = svg
            .lines()
            .filter(|line| line.starts_with("<rect"))
            .map(|bar| (number(bar, " x=\""), number(bar, "width=\"")))
            .collect();
        let [one, two, saved, sum] = bars[..] else { panic!("{svg}") };
        assert!((one.0 + one.1 - two.0).abs() < 0.2);
        assert!((saved.0 + saved.1 - (two.0 + two.1)).abs() < 0.2);
        assert!((sum.0 - one.0).abs() < 0.2 && (saved.0 - (sum.0 + sum.1)).abs() < 0.2);
        assert!(svg.contains("deadline 400 ns"));
    }

    #[test]
    fn nothing_to_show_is_a_drawing_too() {
        let parts = vec![step("bad", f64::NAN)];
        let chart =
            Waterfall { description: "", parts, wholes: Vec::new(), limit: None, show: &duration };
        assert!(!chart.draw().contains("<rect"));
    }
}
