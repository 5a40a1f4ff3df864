//! Sources of readings.

use hemiola_probe::load::{self, LoadGuard};
use hemiola_probe::{ProbeError, Readings, Setting};
use thiserror::Error;

use crate::command::CommandError;

/// Why readings could not be taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A probe failed.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// A command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// A source of readings of figures by name.
pub trait ReadingSource {
    /// Takes `count` readings.
    ///
    /// # Errors
    /// See [`ReadError`].
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ReadError>;
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
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ReadError> {
        Ok(hemiola_probe::measure(name, &self.setting, count)?)
    }
}
