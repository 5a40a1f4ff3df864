//! Where readings come from.

use hemiola_probe::load::{self, LoadGuard};
use hemiola_probe::{ProbeError, Readings, Setting};

/// Gives readings of figures by name.
pub trait Source {
    /// Takes `count` readings.
    ///
    /// # Errors
    /// See [`ProbeError`].
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ProbeError>;
}

/// This machine, through its probes, under a load that lasts as long as this.
#[derive(Debug)]
pub struct Probes {
    setting: Setting,
    _load: Option<LoadGuard>,
}

impl Probes {
    /// Starts the setting's load.
    ///
    /// # Errors
    /// When its process cannot be started.
    pub fn start(setting: Setting) -> Result<Self, ProbeError> {
        Ok(Self { _load: load::start(&setting)?, setting })
    }
}

impl Source for Probes {
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ProbeError> {
        hemiola_probe::measure(name, &self.setting, count)
    }
}
