//! Sources of readings.

use hemiola_probe::load::{self, LoadGuard};
use hemiola_probe::{ProbeError, Readings, Setting};
use hemiola_units::Span;
use thiserror::Error;

use crate::activity::{Meanwhile, Watch};
use crate::command::CommandError;
use crate::link::LinkError;

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
    /// The other host of a link failed.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// A source of readings of figures by name.
pub trait ReadingSource {
    /// Takes `count` readings.
    ///
    /// # Errors
    /// See [`ReadError`].
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ReadError>;

    /// Ends a block of all figures, and rests before the next.
    fn end_block(&mut self, _rest: Span) {}
}

/// The probes of this machine, with the setting's load running until this is dropped.
#[derive(Debug)]
pub struct Probes {
    setting: Setting,
    _load: Option<LoadGuard>,
    watch: Watch,
}

impl Probes {
    /// Starts the setting's load.
    ///
    /// # Errors
    /// When its process cannot be started.
    pub fn start(setting: Setting) -> Result<Self, ProbeError> {
        let load = load::start(&setting)?;
        Ok(Self { setting, _load: load, watch: Watch::start() })
    }

    /// The work of others during the blocks so far.
    #[must_use]
    pub fn meanwhile(&self) -> Meanwhile {
        self.watch.meanwhile(self.setting.load)
    }
}

impl ReadingSource for Probes {
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ReadError> {
        Ok(hemiola_probe::measure(name, &self.setting, count)?)
    }

    fn end_block(&mut self, rest: Span) {
        self.watch.end_block(rest);
    }
}
