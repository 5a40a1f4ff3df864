//! Lines through points, with intervals and marked places: the staircase of a memory.

use super::{Ranged, Show, length};
use crate::plot::{Anchor, Axis, Drawing, LEFT, RIGHT, Scale, WIDTH, legend_height, series};

/// Lines over a common horizontal axis.
///
/// ```
/// use hemiola_report::charts::{Along, Lines, Marker, Point, Series};
/// use hemiola_report::plot::Scale;
/// use hemiola_report::text::{round_duration, size};
///
/// let point = |x, y| Point { x, y: f64::into(y) };
/// let svg = Lines {
///     description: "Latency of dependent loads over the size of the buffer",
///     x: Along { name: "buffer", scale: Scale::Binary, show: &size },
///     y: Along { name: "one load", scale: Scale::Logarithmic, show: &round_duration },
///     series: vec![Series {
///         name: "random order".into(),
///         points: vec![point(1024.0, 1.2), point(65_536.0, 4.0)],
///     }],
///     markers: vec![Marker { at: 32_768.0, name: "L1 as the kernel says".into() }],
/// }
/// .draw();
/// assert!(svg.starts_with("<svg") && svg.contains("L1 as the kernel says"));
/// ```
#[derive(Clone)]
pub struct Lines<'a> {
    /// Its text for screen readers.
    pub description: &'a str,
    /// The horizontal axis.
    pub x: Along<'a>,
    /// The vertical axis; its name appears in tips.
    pub y: Along<'a>,
    /// The lines.
    pub series: Vec<Series>,
    /// Upright lines at places of the horizontal axis.
    pub markers: Vec<Marker>,
}

/// An axis with its name and number format.
#[derive(Clone, Copy)]
pub struct Along<'a> {
    /// Its name.
    pub name: &'a str,
    /// How values map to positions. Logarithmic scales leave out values that are not positive.
    pub scale: Scale,
    /// How its numbers are written.
    pub show: Show<'a>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// A point on a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How much, with its interval.
    pub y: Ranged,
}

/// A place worth a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Where, in the values of the axis.
    pub at: f64,
    /// Its name.
    pub name: String,
}

/// Pixels a row of marker names is high.
const ROW: f64 = 16.0;

impl Lines<'_> {
    /// The chart as one SVG element.
    #[must_use]
    pub fn draw(&self) -> String {
        let height = 410.0;
        let names: Vec<(String, String)> = self
            .series
            .iter()
            .enumerate()
            .map(|(index, line)| (format!("line {}", series(index)), line.name.clone()))
            .collect();
        let drawable =
            |scale: Scale, value: f64| value.is_finite() && (scale == Scale::Linear || value > 0.0);
        let markers: Vec<&Marker> =
            self.markers.iter().filter(|marker| drawable(self.x.scale, marker.at)).collect();
        let points: Vec<Vec<Point>> = self
            .series
            .iter()
            .map(|line| {
                let shown = |point: &&Point| {
                    drawable(self.x.scale, point.x)
                        && drawable(self.y.scale, point.y.value)
                        && point.y.is_finite()
                };
                line.points.iter().filter(shown).copied().collect()
            })
            .collect();
        let all = || points.iter().flatten();
        let places = all().map(|point| point.x).chain(markers.iter().map(|marker| marker.at));
        let x = Axis::over(places, self.x.scale).on(LEFT, RIGHT);
        let rows = marker_rows(&markers, &x);
        let top = legend_height(LEFT, WIDTH, &names) + rows_height(&rows);
        let y = Axis::over(all().flat_map(|point| point.y.all()), self.y.scale);
        let y = y.on(height - 48.0, top);

        let mut drawing = Drawing::new(WIDTH, height, self.description);
        drawing.grid_y(&y, &x, self.y.show);
        drawing.grid_x(&x, &y, self.x.show);
        marker_lines(&mut drawing, &markers, &rows, &x, [top, height - 48.0]);
        for (index, points) in points.iter().enumerate() {
            let class = series(index);
            for point in points {
                if let Some([low, high]) = point.y.ends {
                    let place = x.at(point.x);
                    let stroke = format!("strokes {class}");
                    drawing.span(&stroke, [place, y.at(low)], [place, y.at(high)]);
                }
            }
            let places: Vec<[f64; 2]> =
                points.iter().map(|point| [x.at(point.x), y.at(point.y.value)]).collect();
            drawing.curve(&format!("line {class}"), &places);
            for (point, place) in points.iter().zip(places) {
                let tip = format!(
                    "{}, {} {}: {} {}",
                    self.series[index].name,
                    self.x.name,
                    (self.x.show)(point.x),
                    self.y.name,
                    point.y.words(self.y.show)
                );
                drawing.dot(&format!("fill {class}"), place, &tip);
            }
        }
        drawing.legend(LEFT, &names);
        drawing.name_x(&x, self.x.name);
        drawing.finish()
    }
}

/// The height of these rows of names, pixels.
pub(super) fn rows_height(rows: &[usize]) -> f64 {
    ROW * rows.iter().max().map_or(0.0, |row| *row as f64 + 1.0)
}

/// Draws the markers over a plane from its top to its bottom, their names in rows above it.
pub(super) fn marker_lines(
    drawing: &mut Drawing,
    markers: &[&Marker],
    rows: &[usize],
    x: &Axis,
    [top, bottom]: [f64; 2],
) {
    for (marker, row) in markers.iter().zip(rows) {
        let place = x.at(marker.at);
        let base = top - ROW * *row as f64 - 5.0;
        drawing.line("median", [place, base + 2.0], [place, bottom]);
        drawing.text("label", name_place(marker, x, base), Anchor::Start, &marker.name);
    }
}

/// Where the name of a marker begins: beside its line, and within the drawing.
fn name_place(marker: &Marker, x: &Axis, base: f64) -> [f64; 2] {
    [(x.at(marker.at) + 4.0).min(WIDTH - length(&marker.name)).max(0.0), base]
}

/// The row of each marker's name, counted from the plane upwards, so that names do not cross.
///
/// Names stand to the right of their lines, and a line passes all rows below its name: so the rows are
/// given from the right to the left.
pub(super) fn marker_rows(markers: &[&Marker], x: &Axis) -> Vec<usize> {
    let mut order: Vec<usize> = (0..markers.len()).collect();
    order.sort_by(|a, b| markers[*b].at.total_cmp(&markers[*a].at));
    let mut rows = vec![0; markers.len()];
    let mut taken: Vec<Vec<[f64; 2]>> = Vec::new();
    for index in order {
        let [from, _] = name_place(markers[index], x, 0.0);
        let line = x.at(markers[index].at);
        let ends = [from.min(line) - 4.0, from + length(&markers[index].name) + 4.0];
        let crosses =
            |row: &Vec<[f64; 2]>| row.iter().any(|other| ends[0] < other[1] && other[0] < ends[1]);
        let row = taken.iter().position(|row| !crosses(row)).unwrap_or(taken.len());
        if row == taken.len() {
            taken.push(Vec::new());
        }
        taken[row].push(ends);
        rows[index] = row;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{round_duration, size};

    fn staircase(points: Vec<Point>, markers: Vec<Marker>) -> String {
        Lines {
            description: "a staircase",
            x: Along { name: "buffer", scale: Scale::Binary, show: &size },
            y: Along { name: "load", scale: Scale::Logarithmic, show: &round_duration },
            series: vec![Series { name: "random".into(), points }],
            markers,
        }
        .draw()
    }

    #[test]
    fn every_point_has_a_dot_and_its_interval() {
        let point = |x: f64| Point { x, y: Ranged { value: x / 1e3, ends: Some([1.0, 90.0]) } };
        let svg = staircase(vec![point(1024.0), point(4096.0), point(65_536.0)], Vec::new());
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("strokes s0").count(), 9);
        assert!(svg.contains("random, buffer 4 KiB: load 4.1 ns (1 ns … 90 ns)"), "{svg}");
    }

    #[test]
    fn what_has_no_place_is_left_out() {
        let bad = [0.0, -1.0, f64::NAN, f64::INFINITY];
        let points = bad
            .iter()
            .flat_map(|bad| [Point { x: *bad, y: 1.0.into() }, Point { x: 1.0, y: (*bad).into() }]);
        let markers = bad.iter().map(|bad| Marker { at: *bad, name: "nowhere".into() }).collect();
        let svg = staircase(points.collect(), markers);
        assert!(!svg.contains("<circle") && !svg.contains("nowhere"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn names_of_near_markers_stand_in_rows() {
        let marker = |at: f64| Marker { at, name: "L2 of 512 KiB as the kernel says".into() };
        let markers = [marker(65_536.0), marker(131_072.0), marker(1e9)];
        let x = Axis::over([1024.0, 1e9].into_iter(), Scale::Binary).on(LEFT, RIGHT);
        assert_eq!(marker_rows(&markers.iter().collect::<Vec<_>>(), &x), [1, 0, 0]);
    }
}
