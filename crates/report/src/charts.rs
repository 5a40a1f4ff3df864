//! Complete charts from data: lines with intervals, histogram, waterfall, tornado, bars side by side.
//!
//! Each is a struct of its data with a method `draw` that returns one SVG element for a
//! [`Figure`](crate::page::Figure), in the classes and colours of the page.

mod histogram;
mod lines;
mod side_by_side;
mod tornado;
mod waterfall;

pub use histogram::{Bin, Histogram};
pub use lines::{Along, Lines, Marker, Point, Series};
pub use side_by_side::{Group, SideBySide};
pub use tornado::{Effect, Tornado};
pub use waterfall::{Step, Waterfall};

use crate::plot::{Anchor, Drawing, LETTER, WIDTH, length};
use hemiola_stats::Estimate;

/// How a chart writes its values.
pub type Show<'a> = &'a dyn Fn(f64) -> String;

/// A value with the ends of its interval, where it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranged {
    /// The value.
    pub value: f64,
    /// Low and high.
    pub ends: Option<[f64; 2]>,
}

impl Ranged {
    /// All its numbers.
    fn all(self) -> impl Iterator<Item = f64> {
        [self.value].into_iter().chain(self.ends.into_iter().flatten())
    }

    /// Whether it can be drawn.
    fn is_finite(self) -> bool {
        self.all().all(f64::is_finite)
    }

    /// Value and interval in words. Where they are too long, a unit that all of them have is written once.
    fn words(self, show: Show<'_>) -> String {
        let Some(ends) = self.ends else { return show(self.value) };
        let [value, low, high] = [self.value, ends[0], ends[1]].map(show);
        let words = format!("{value} ({low} … {high})");
        if length(&words) <= WORDS_WIDTH[1] {
            return words;
        }
        let split = [&value, &low, &high].map(|text| text.rsplit_once(' '));
        match split {
            [Some((value, unit)), Some((low, second)), Some((high, third))]
                if unit == second && unit == third =>
            {
                format!("{value} ({low} … {high}) {unit}")
            }
            _ => words,
        }
    }
}

impl From<f64> for Ranged {
    fn from(value: f64) -> Self {
        Self { value, ends: None }
    }
}

impl From<&Estimate> for Ranged {
    fn from(estimate: &Estimate) -> Self {
        Self { value: estimate.value, ends: Some([estimate.low, estimate.high]) }
    }
}

/// The width of the names to the left of bars: that of the longest, up to a third of the drawing.
fn names_width<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    names.map(length).fold(60.0, f64::max).min(300.0) + 16.0
}

/// The gap before the words to the right of bars.
const GAP_BEFORE_WORDS: f64 = 16.0;

/// The least and the most width of these words.
const WORDS_WIDTH: [f64; 2] = [204.0, WIDTH / 2.0];

/// The width of the words to the right of bars, with the gap before them: that of the longest, within limits.
fn words_width(words: impl Iterator<Item = String>) -> f64 {
    let [least, most] = WORDS_WIDTH;
    words.map(|text| length(&text)).fold(least, f64::max).min(most) + GAP_BEFORE_WORDS
}

/// The middle of a text that is centred on `x` and stays within the pixels from `start` to the right edge.
fn middle_within(x: f64, start: f64, text: &str) -> f64 {
    let half = length(text) / 2.0;
    x.clamp(start + half, (WIDTH - half).max(start + half))
}

/// Draws the name to the left of a row, shortened if it is too long. The tip of the bar has the full name.
fn name_row(drawing: &mut Drawing, class: &str, from: f64, y: f64, name: &str) {
    let room = ((from - 12.0) / LETTER) as usize;
    let shown = if name.chars().count() > room {
        name.chars().take(room.saturating_sub(1)).chain(['…']).collect()
    } else {
        name.to_owned()
    };
    drawing.text(class, [from - 12.0, y], Anchor::End, &shown);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the texts of a drawing begin and end, with their bases: pixels.
    fn texts(svg: &str) -> Vec<(String, f64, f64, String)> {
        let text = |line: &str| {
            let of = |key: &str| line.split(key).nth(1)?.split('"').next().map(str::to_owned);
            let words = line.strip_suffix("</text>")?.rsplit('>').next()?.to_owned();
            let (x, length) = (of(" x=\"")?.parse::<f64>().ok()?, length(&words));
            let begin = match of("text-anchor=\"")?.as_str() {
                "start" => x,
                "middle" => x - length / 2.0,
                _ => x - length,
            };
            Some((words, begin, begin + length, of(" y=\"")?))
        };
        svg.lines().filter_map(text).collect()
    }

    /// Every text is in the drawing, and none touches another one on the same line.
    fn check(svg: &str) {
        let texts = texts(svg);
        assert!(texts.len() > 3, "{svg}");
        for (index, (words, begin, end, base)) in texts.iter().enumerate() {
            assert!(*begin >= 0.0 && *end <= WIDTH, "{words}: {begin} to {end}");
            for (other, from, to, _) in texts[..index].iter().filter(|text| text.3 == *base) {
                assert!(end <= from || to <= begin, "{words} touches {other}");
            }
        }
    }

    #[test]
    fn long_values_stay_in_the_drawing_and_apart() {
        let show = |value: f64| format!("{value:.6} kEUR/transaction");
        let name = "the fetch of one page from the database of the warehouse in the other town";
        let ranged = Ranged { value: 0.25, ends: Some([0.125, 0.375]) };
        let step = || Step { name: name.to_owned(), value: ranged };
        let limit = Some(Marker { at: 0.8, name: "limit".to_owned() });
        let waterfall = Waterfall {
            description: "",
            parts: vec![step(), step()],
            wholes: vec![step()],
            limit,
            show: &show,
        };
        check(&waterfall.draw());
        let limit = Some(Marker { at: 0.0, name: "limit".to_owned() });
        check(&Waterfall { limit, parts: Vec::new(), ..waterfall }.draw());
        let group = Group { name: name.to_owned(), values: vec![Some(ranged), Some(0.5.into())] };
        let columns = vec!["expected".to_owned(), "measured".to_owned()];
        let scale = crate::plot::Scale::Linear;
        let groups = vec![group];
        check(&SideBySide { description: "", columns, groups, scale, show: &show }.draw());
        let effect = Effect { name: name.to_owned(), at_low: 0.125, at_high: 0.375 };
        let effects = vec![effect];
        check(&Tornado { description: "", nominal: 0.25, effects, show: &show }.draw());
    }
}
