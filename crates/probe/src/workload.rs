//! Whole call chains at small scale, executed for real, to validate models of them.
//!
//! They follow two examples of Muller, "Modeling and Analysis: Inputs and Uncertainties": a screen of 3 × 3 images,
//! whose cost is not where the code suggests ([`ImageRetrieval`], section 1.1), and the picture cache of a web shop
//! ([`PictureCache`], section 2.3). The parts of a chain are measured too, under their own names, so a prediction needs
//! no guess.
//!
//! Files are in the setting's directory and in the page cache: reading one costs its system call and its copy, not the
//! device.

use crate::catalogue::Probe;
use crate::stage::{Stage, pair};
use crate::{Overhead, ProbeError};

mod image_retrieval;
mod picture_cache;

pub use image_retrieval::ImageRetrieval;
pub(crate) use image_retrieval::{Orders, run_peer};
pub use picture_cache::PictureCache;

pub(crate) fn probes() -> Vec<Probe> {
    let images = ImageRetrieval::ALL.into_iter().map(ImageRetrieval::probe);
    images.chain(PictureCache::ALL.into_iter().map(PictureCache::probe)).collect()
}

/// `count` readings of one `run` each, after an uncounted one; a run has `operations` operations.
fn runs(
    stage: &mut Stage,
    count: u32,
    operations: u64,
    run: &mut impl FnMut() -> std::io::Result<()>,
) -> Result<(Vec<f64>, Overhead), ProbeError> {
    let doing = || ProbeError::doing("run the measured work");
    run().map_err(doing())?;
    let pair = pair(&stage.clock);
    let mut values = Vec::with_capacity(count as usize);
    for _ in 0..count {
        stage.rest_if_due();
        let mut outcome = Ok(());
        let nanos = stage.time(|| outcome = run());
        outcome.map_err(doing())?;
        values.push((nanos - pair.value) / operations as f64);
    }
    Ok((values, pair.per(operations)))
}

/// The table from stored to displayed brightness: black up to `low`, white from `high`, linear in between, the same in
/// three colours.
fn window(low: u8, high: u8) -> [u32; 256] {
    std::array::from_fn(|stored| {
        let (low, high) = (f64::from(low), f64::from(high));
        let share = ((stored as f64 - low) / (high - low)).clamp(0.0, 1.0);
        // A byte in each of the three lower places.
        (share * 255.0) as u32 * 0x01_01_01
    })
}

/// Converts each byte of `stored` for display.
fn shown(stored: &[u8], table: &[u32; 256], shown: &mut [u32]) {
    for (shown, stored) in shown.iter_mut().zip(stored) {
        *shown = table[usize::from(*stored)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brightness_is_black_below_the_window_and_white_above() {
        let table = window(50, 150);
        assert_eq!([table[0], table[50], table[150], table[255]], [0, 0, 0xFF_FFFF, 0xFF_FFFF]);
        assert_eq!(table[100], 0x7F_7F7F);
        let mut pixels = [0; 2];
        shown(&[200, 10], &table, &mut pixels);
        assert_eq!(pixels, [0xFF_FFFF, 0]);
    }
}
