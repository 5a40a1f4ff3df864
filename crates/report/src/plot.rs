//! Plots as inline SVG whose colours come from the page's style sheet.
//!
//! Strokes and fills are named by classes (`s0` … `s6` for series, `grid`,
//! `floor`, …), so one drawing serves a light page, a dark one and print.

use std::fmt::Write;

/// The width of a drawing over the whole page, pixels.
pub const WIDTH: f64 = 920.0;
/// The left edge of its plane, after the numbers of the vertical axis.
pub const LEFT: f64 = 70.0;
/// The right edge of its plane.
pub const RIGHT: f64 = WIDTH - 20.0;

/// The class of a series by its number: `s0` … `s6`, then again from the first.
#[must_use]
pub fn series(index: usize) -> String {
    format!("s{}", index % 7)
}

/// The width of a letter at 12 pixels, estimated high.
pub(crate) const LETTER: f64 = 7.3;

/// The length of a text, pixels.
pub(crate) fn length(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}

/// How values map to positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equal lengths.
    Linear,
    /// Equal factors are equal lengths; numbers at powers of ten.
    Logarithmic,
    /// The same with numbers at powers of two, for sizes.
    Binary,
}

/// One axis: values from `low` to `high` on pixels from `start` to `end`.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    /// The axis that contains all `values` with a small margin. Logarithmic axes ignore values that are not positive.
    pub fn over(values: impl Iterator<Item = f64>, scale: Scale) -> Self {
        let usable = |value: &f64| value.is_finite() && (scale == Scale::Linear || *value > 0.0);
        let (low, high) = values
            .filter(usable)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = match scale {
            _ if low > high => (1.0, 10.0),
            Scale::Logarithmic | Scale::Binary => (low / 1.25, high * 1.25),
            // Large enough that the ends differ from the value, whatever its size.
            Scale::Linear if low == high => {
                let margin = (low.abs() / 20.0).max(1.0);
                ((low - margin).max(f64::MIN), (high + margin).min(f64::MAX))
            }
            Scale::Linear => (low, high),
        };
        Self { scale, low, high, start: 0.0, end: 1.0 }
    }

    /// The axis on these pixels.
    #[must_use]
    pub const fn on(mut self, start: f64, end: f64) -> Self {
        self.start = start;
        self.end = end;
        self
    }

    /// The pixel of a value, held within the axis.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            // The halves, because the whole length may be more than the greatest number.
            Scale::Linear => (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0),
            Scale::Logarithmic | Scale::Binary => {
                (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
            }
        };
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// Where lines and numbers stand: 1, 2, 5 times powers of ten, or powers of two, few enough to read.
    #[must_use]
    pub fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let rough = self.high / 4.0 - self.low / 4.0;
                let power = 10f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0]
                    .into_iter()
                    .map(|factor| factor * power)
                    .find(|step| *step >= rough)
                    .unwrap_or(rough);
                let first = (self.low / step).ceil() as i64;
                let last = (self.high / step).floor() as i64;
                (first..=last).map(|n| n as f64 * step).collect()
            }
            Scale::Logarithmic => {
                let decades = (self.high / self.low).log10();
                let factors: &[f64] = if decades > 3.5 {
                    &[1.0]
                } else if decades > 1.5 {
                    &[1.0, 3.0]
                } else {
                    &[1.0, 2.0, 5.0]
                };
                let first = self.low.log10().floor() as i32;
                let last = self.high.log10().ceil() as i32;
                (first..=last)
                    .flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)))
                    .filter(|tick| (self.low..=self.high).contains(tick))
                    .collect()
            }
            Scale::Binary => {
                let (first, last) =
                    (self.low.log2().ceil() as i32, self.high.log2().floor() as i32);
                let step = ((last - first) / 11 + 1).max(1);
                (first..=last)
                    .filter(|power| power.rem_euclid(step) == 0)
                    .map(|power| 2f64.powi(power))
                    .collect()
            }
        }
    }
}

/// The anchor of a text.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// At its beginning.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

/// A drawing under construction.
#[derive(Debug)]
pub struct Drawing {
    body: String,
    width: f64,
    height: f64,
}

impl Drawing {
    /// An empty drawing. `description` is its text for screen readers.
    #[must_use]
    pub fn new(width: f64, height: f64, description: &str) -> Self {
        // Among others it has a row of its own.
        let class = if width < WIDTH { "" } else { " class=\"wide\"" };
        let body = format!(
            "<svg{class} viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n",
            escaped(description)
        );
        Self { body, width, height }
    }

    /// The finished SVG element.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.body.push_str("</svg>\n");
        self.body
    }

    /// One line of SVG.
    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        self.body.write_fmt(element).expect("a String takes everything");
        self.body.push('\n');
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    /// One line of text on the base line through the point.
    pub fn text(&mut self, class: &str, [x, y]: [f64; 2], anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escaped(text)
        ));
    }

    /// A rectangle that shows `tip` under the pointer.
    pub fn bar(&mut self, class: &str, [x, y]: [f64; 2], [w, h]: [f64; 2], tip: &str) {
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\">\
             <title>{}</title></rect>",
            escaped(tip)
        ));
    }

    /// A dot that shows `tip` under the pointer.
    pub fn dot(&mut self, class: &str, [x, y]: [f64; 2], tip: &str) {
        self.put(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"><title>{}</title></circle>",
            escaped(tip)
        ));
    }

    /// A line through the points.
    pub fn curve(&mut self, class: &str, points: &[[f64; 2]]) {
        let points: Vec<String> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        self.put(format_args!("<polyline class=\"{class}\" points=\"{}\"/>", points.join(" ")));
    }

    /// Upright strokes in one path, each at least 1.5 pixels long: many points in little space.
    pub fn strokes(&mut self, class: &str, strokes: &[(f64, f64, f64)]) {
        let mut path = String::new();
        for (x, top, bottom) in strokes {
            let bottom = bottom.max(top + 1.5);
            write!(path, "M{x:.1} {top:.1}V{bottom:.1}").expect("a String takes everything");
        }
        self.put(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
    }

    /// Horizontal grid lines with their numbers on the left of `x`.
    pub fn grid_y(&mut self, axis: &Axis, x: &Axis, show: impl Fn(f64) -> String) {
        for tick in axis.ticks() {
            let y = axis.at(tick);
            self.line("grid", [x.start, y], [x.end, y]);
            self.text("tick", [x.start - 8.0, y + 4.0], Anchor::End, &show(tick));
        }
    }

    /// Upright grid lines with their numbers below `y`. A number that would touch the one before it is left out.
    pub fn grid_x(&mut self, axis: &Axis, y: &Axis, show: impl Fn(f64) -> String) {
        let mut free = f64::NEG_INFINITY;
        for tick in axis.ticks() {
            let x = axis.at(tick);
            self.line("grid", [x, y.start], [x, y.end]);
            let number = show(tick);
            let half = length(&number) / 2.0;
            if x - half >= free {
                self.text("tick", [x, y.start.max(y.end) + 18.0], Anchor::Middle, &number);
                free = x + half;
            }
        }
    }

    /// A span between two ends along a line, each with a cap: the interval of what stands between.
    /// Upright when the ends have the same horizontal position.
    pub fn span(&mut self, class: &str, from: [f64; 2], to: [f64; 2]) {
        const CAP: f64 = 4.0;
        let (dx, dy) = if from[0] == to[0] { (CAP, 0.0) } else { (0.0, CAP) };
        self.line(class, from, to);
        for [x, y] in [from, to] {
            self.line(class, [x - dx, y - dy], [x + dx, y + dy]);
        }
    }

    /// The names of series with their strokes along the top, from the pixel `x` on, in as many rows as
    /// [`legend_height`] makes room for.
    pub fn legend(&mut self, x: f64, series: &[(String, String)]) {
        for ((class, name), [x, y]) in series.iter().zip(legend_places(x, self.width, series)) {
            self.line(class, [x, y - 4.0], [x + 20.0, y - 4.0]);
            self.text("label", [x + 26.0, y], Anchor::Start, name);
        }
    }

    /// The name of the horizontal axis, in the middle below.
    pub fn name_x(&mut self, x: &Axis, name: &str) {
        let position = [(x.start + x.end) / 2.0, self.height - 6.0];
        self.text("label", position, Anchor::Middle, name);
    }
}

/// Where the names of a legend stand, broken into rows at `width`.
fn legend_places(start: f64, width: f64, series: &[(String, String)]) -> Vec<[f64; 2]> {
    let (mut x, mut y) = (start, 14.0);
    let place = |(_, name): &(String, String)| {
        // 7.3 pixels a letter at 12 pixels: wide enough to keep names apart.
        let length = 48.0 + 7.3 * name.chars().count() as f64;
        if x + length > width && x > start {
            (x, y) = (start, y + 20.0);
        }
        let place = [x, y];
        x += length;
        place
    };
    series.iter().map(place).collect()
}

/// The height of a legend over a drawing of that width.
#[must_use]
pub fn legend_height(start: f64, width: f64, series: &[(String, String)]) -> f64 {
    legend_places(start, width, series).last().map_or(0.0, |[_, y]| y + 18.0)
}

/// The text as it may stand in SVG.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_numbers() {
        let axis = |values: [f64; 2], scale| Axis::over(values.into_iter(), scale).ticks();
        assert_eq!(axis([0.0, 100.0], Scale::Linear), [0.0, 50.0, 100.0]);
        assert_eq!(axis([2.0, 40.0], Scale::Logarithmic), [2.0, 5.0, 10.0, 20.0, 50.0]);
        assert_eq!(axis([1.0, 1e6], Scale::Logarithmic).len(), 7);
    }

    #[test]
    fn sizes_stand_at_powers_of_two() {
        let axis = |from: f64, to: f64| Axis::over([from, to].into_iter(), Scale::Binary).ticks();
        assert_eq!(axis(1024.0, 8192.0), [1024.0, 2048.0, 4096.0, 8192.0]);
        let staircase = axis(1024.0, 1024.0 * 1024.0 * 1024.0);
        assert!(staircase.len() <= 12 && staircase.contains(&1_048_576.0), "{staircase:?}");
    }

    #[test]
    fn only_a_drawing_over_the_whole_page_is_wide() {
        let head = |width| Drawing::new(width, 10.0, "").finish();
        assert!(head(WIDTH).starts_with("<svg class=\"wide\" viewBox=\"0 0 920 10\""));
        assert!(head(300.0).starts_with("<svg viewBox=\"0 0 300 10\""));
    }

    #[test]
    fn names_cannot_break_out_of_the_drawing() {
        let mut drawing = Drawing::new(10.0, 10.0, "a \"b\"");
        drawing.text("tick", [0.0, 0.0], Anchor::Start, "</svg><script>");
        let svg = drawing.finish();
        assert!(!svg.contains("<script>") && svg.contains("&quot;b&quot;"), "{svg}");
    }

    #[test]
    fn values_of_any_size_have_an_axis_with_numbers() {
        for values in [
            [0.0; 2],
            [1e16; 2],
            [u64::MAX as f64; 2],
            [-1e300; 2],
            [f64::MAX; 2],
            [f64::MIN, f64::MAX],
            [f64::MIN_POSITIVE, 0.0],
        ] {
            let axis = Axis::over(values.into_iter(), Scale::Linear).on(0.0, 100.0);
            assert!(
                values.iter().all(|value| (0.0..=100.0).contains(&axis.at(*value))),
                "{values:?}"
            );
            let ticks = axis.ticks();
            let places: Vec<f64> = ticks.iter().map(|tick| axis.at(*tick)).collect();
            assert!((1..=9).contains(&places.len()), "{values:?}: {ticks:?}");
            assert!(places.is_sorted_by(|a, b| a < b), "{values:?}: {places:?}");
        }
    }

    proptest! {
        #[test]
        fn every_value_lies_on_its_axis(
            values in prop::collection::vec(-1e9f64..1e12, 0..20),
            probe in -1e12f64..1e12,
        ) {
            for scale in [Scale::Linear, Scale::Logarithmic, Scale::Binary] {
                let axis = Axis::over(values.iter().copied(), scale).on(10.0, 200.0);
                prop_assert!((10.0..=200.0).contains(&axis.at(probe)));
                prop_assert!(axis.ticks().len() < 40);
            }
        }
    }
}
