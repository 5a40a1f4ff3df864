//! The safety controller in the decision module.

use crate::matrix::Vector;
use crate::{CLIP_VOLTS, Gain, Model, Region, RegionError, Settings};

/// A gain and the region from which it provably recovers.
#[derive(Clone, Debug, PartialEq)]
pub struct SafetyController {
    gain: Gain,
    region: Region,
}

impl SafetyController {
    /// Creates a safety controller after checking its region against this model.
    ///
    /// # Errors
    /// If this gain does not recover from the whole region at this period.
    pub fn new(model: &Model, gain: Gain, region: Region) -> Result<Self, RegionError> {
        region.check(model, &gain, CLIP_VOLTS)?;
        Ok(Self { gain, region })
    }

    /// Creates the safety controller of these settings for a model of their plant.
    ///
    /// # Errors
    /// If it does not recover from the whole region at this period.
    pub fn of(settings: &Settings, model: &Model) -> Result<Self, RegionError> {
        let region = match settings.region {
            Some(region) => region,
            None => Region::of(model, &settings.safety)?,
        };
        Self::new(model, settings.safety, region)
    }

    /// Returns the command in V in this state.
    #[must_use]
    pub fn command(&self, x: &Vector) -> f64 {
        self.gain.command(x)
    }

    /// Returns the gain.
    #[must_use]
    pub const fn gain(&self) -> &Gain {
        &self.gain
    }

    /// Returns the region from which it recovers.
    #[must_use]
    pub const fn region(&self) -> &Region {
        &self.region
    }
}
