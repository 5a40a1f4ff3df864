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

use crate::plot::{Anchor, Drawing};
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

    /// Value and interval in words.
    fn words(self, show: Show<'_>) -> String {
        match self.ends {
            Some([low, high]) => {
                format!("{} ({} … {})", show(self.value), show(low), show(high))
            }
            None => show(self.value),
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

/// The width of a letter in pixels, estimated high.
const LETTER: f64 = 7.3;

/// The length of a text, pixels.
fn length(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}

/// The width of the names to the left of bars: that of the longest, up to a third of the drawing.
fn names_width<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    names.map(length).fold(60.0, f64::max).min(300.0) + 16.0
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
