//! The safety controller that lives inside the decision module.

use crate::matrix::Vector;
use crate::{CLIP_VOLTS, Gain, Model, Region, RegionError};

/// A gain and the region from which it provably recovers.
#[derive(Clone, Debug, PartialEq)]
pub struct SafetyController {
    gain: Gain,
    region: Region,
}

impl SafetyController {
    /// A safety controller whose region was checked against this model.
    ///
    /// # Errors
    /// When the region is not one from which this gain recovers at this period.
    pub fn new(model: &Model, gain: Gain, region: Region) -> Result<Self, RegionError> {
        region.check(model, &gain, CLIP_VOLTS)?;
        Ok(Self { gain, region })
    }

    /// The command in V in this state.
    #[must_use]
    pub fn command(&self, x: &Vector) -> f64 {
        self.gain.command(x)
    }

    /// The gain.
    #[must_use]
    pub const fn gain(&self) -> &Gain {
        &self.gain
    }

    /// The region from which it recovers.
    #[must_use]
    pub const fn region(&self) -> &Region {
        &self.region
    }
}
