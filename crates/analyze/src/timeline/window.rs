//! The spans to draw for a row: single segments where they are wider than a pixel, otherwise shares of a pixel.

use super::sweep::Sweep;
use super::track::{Segment, State, Track};

/// Pixels a window may have.
pub const PIXELS_MAX: u32 = 32_768;

/// A piece of a row to be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Pixels from the beginning of the window.
    pub x: f32,
    /// Pixels.
    pub width: f32,
    /// The key of the segment, or of the thread that ran most in the pixel.
    pub key: u32,
    /// How much of it was running, waiting for a processor, blocked and unknown: 255 is all of it. One that is not 0 is
    /// never rounded to 0, so that nothing short disappears.
    pub shares: [u8; 4],
}

pub(super) fn window(track: &Track, from: u64, to: u64, pixels: u32) -> Vec<Span> {
    let pixels = pixels.min(PIXELS_MAX);
    let mut spans = Vec::new();
    if track.is_empty() || to <= from || pixels == 0 {
        return spans;
    }
    let pixel = (to - from) as f64 / f64::from(pixels);
    let x = |at: u64| ((at - from) as f64 / pixel) as f32;
    let mut sweep = Sweep::new(track, from);
    while let Some(segment) = sweep.segment().filter(|segment| segment.from < to) {
        let Segment { from: at, to: end, key, .. } = segment;
        let end = end.min(to);
        let stop = if (end - at) as f64 >= pixel {
            end
        } else {
            let number = ((at - from) as f64 / pixel).floor() + 1.0;
            let end_of_pixel = from.saturating_add((number * pixel) as u64);
            // Over hundreds of days a pixel's end may be rounded to before where we are.
            let onward = at.saturating_add(pixel.max(1.0) as u64);
            if end_of_pixel > at { end_of_pixel } else { onward }.min(to)
        };
        let totals = sweep.pass(stop);
        let shares = totals.all().map(|ns| share(ns, stop - at));
        if shares != [0; 4] {
            let key = if totals.of(State::Running) > 0 { totals.top } else { key };
            spans.push(Span { x: x(at), width: x(stop) - x(at), key, shares });
        }
    }
    spans
}

fn share(part: u64, whole: u64) -> u8 {
    (part.min(whole) as u128 * 255).div_ceil(u128::from(whole.max(1))) as u8
}
