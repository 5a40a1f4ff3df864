//! Sources of readings.

use hemiola_probe::load::{self, LoadGuard};
use hemiola_probe::{ProbeError, Readings, Setting};

/// A source of readings of figures by name.
pub trait ReadingSource {
    /// Takes `count` readings.
    ///
    /// # Errors
    /// See [`ProbeError`].
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ProbeError>;
}

/// The probes of this machine, with the setting's load running until this is dropped.
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

impl ReadingSource for Probes {
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ProbeError> {
        hemiola_probe::measure(name, &self.setting, count)
    }
}
