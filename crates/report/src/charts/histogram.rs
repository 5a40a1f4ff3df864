//! A histogram: how much of a distribution lies in each of its bins.

use super::lines::{marker_lines, marker_rows, rows_height};
use super::{Along, Marker};
use crate::plot::{Axis, Drawing, LEFT, RIGHT, Scale, WIDTH};

/// Shares of a whole as bars over the ranges that they are of.
///
/// ```
/// use hemiola_report::charts::{Along, Bin, Histogram};
/// use hemiola_report::plot::Scale;
/// use hemiola_report::text::duration;
///
/// let bin = |from: f64, share| Bin { ends: [from, from + 10.0], share };
/// let svg = Histogram {
///     description: "How long a request takes",
///     x: Along { name: "time", scale: Scale::Linear, show: &duration },
///     bins: vec![bin(10.0, 0.7), bin(20.0, 0.3)],
///     markers: Vec::new(),
/// }
/// .draw();
/// assert!(svg.contains("time 10 ns … 20 ns: 70 %"));
/// ```
#[derive(Clone)]
pub struct Histogram<'a> {
    /// Its text for screen readers.
    pub description: &'a str,
    /// The horizontal axis.
    pub x: Along<'a>,
    /// The bins from left to right.
    pub bins: Vec<Bin>,
    /// Upright lines at places of the horizontal axis.
    pub markers: Vec<Marker>,
}

/// A range of values and how much of the whole it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Its lower and upper end.
    pub ends: [f64; 2],
    /// Its share of the whole, from 0 to 1.
    pub share: f64,
}

/// The height of the drawing, pixels, without the names of markers.
const HEIGHT: f64 = 250.0;

impl Histogram<'_> {
    /// The chart as one SVG element; what is not finite is left out.
    #[must_use]
    pub fn draw(&self) -> String {
        let is_finite = |bin: &&Bin| bin.ends.iter().chain([&bin.share]).all(|of| of.is_finite());
        let bins: Vec<&Bin> = self.bins.iter().filter(is_finite).collect();
        let markers: Vec<&Marker> =
            self.markers.iter().filter(|marker| marker.at.is_finite()).collect();
        let places = bins.iter().flat_map(|bin| bin.ends);
        let places = places.chain(markers.iter().map(|marker| marker.at));
        let x = Axis::over(places, self.x.scale).on(LEFT, RIGHT);
        let rows = marker_rows(&markers, &x);
        let top = 8.0 + rows_height(&rows);
        let (height, bottom) = (top + HEIGHT, top + HEIGHT - 48.0);
        let shares = bins.iter().map(|bin| bin.share).chain([0.0]);
        let y = Axis::over(shares, Scale::Linear).on(bottom, top);
        let percent = |share: f64| format!("{} %", (share * 1e4).round() / 100.0);

        let mut drawing = Drawing::new(WIDTH, height, self.description);
        drawing.grid_y(&y, &x, percent);
        drawing.grid_x(&x, &y, self.x.show);
        for bin in bins {
            let [from, to] = bin.ends.map(|end| x.at(end));
            let tip = format!(
                "{} {} … {}: {}",
                self.x.name,
                (self.x.show)(bin.ends[0]),
                (self.x.show)(bin.ends[1]),
                percent(bin.share)
            );
            let above = y.at(bin.share);
            // A gap of a pixel tells neighbours apart.
            drawing.bar(
                "fill s0",
                [from, above],
                [(to - from - 1.0).max(0.5), bottom - above],
                &tip,
            );
        }
        marker_lines(&mut drawing, &markers, &rows, &x, [top, bottom]);
        drawing.name_x(&x, self.x.name);
        drawing.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::duration;

    fn draw(bins: Vec<Bin>, markers: Vec<Marker>) -> String {
        let x = Along { name: "time", scale: Scale::Linear, show: &duration };
        Histogram { description: "times", x, bins, markers }.draw()
    }

    #[test]
    fn the_height_of_a_bar_is_the_share_of_its_bin() {
        let bin = |from: f64, share| Bin { ends: [from, from + 10.0], share };
        let svg = draw(vec![bin(0.0, 0.2), bin(10.0, 0.8)], Vec::new());
        let heights: Vec<f64> = svg
            .lines()
            .filter(|line| line.starts_with("<rect"))
            .map(|bar| bar.split(" height=\"").nth(1).unwrap().split('"').next().unwrap())
            .map(|height| height.parse().unwrap())
            .collect();
        assert_eq!(heights.len(), 2);
        assert!((heights[1] / heights[0] - 4.0).abs() < 0.01, "{heights:?}");
        assert!(svg.contains("time 10 ns … 20 ns: 80 %"), "{svg}");
    }

    #[test]
    fn a_bin_without_a_place_is_left_out_and_a_limit_beyond_the_bins_is_shown() {
        let bad = [f64::NAN, f64::INFINITY].map(|bad| Bin { ends: [0.0, bad], share: 0.5 });
        let limit = Marker { at: 100.0, name: "deadline".into() };
        let svg = draw(bad.to_vec(), vec![limit]);
        assert!(!svg.contains("<rect") && svg.contains("deadline"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
