//! Sources of readings.

use hemiola_probe::load::{self, LoadGuard};
use hemiola_probe::{ProbeError, Readings, Setting};
use hemiola_rt::clock::{Clock, MonotonicClock};
use hemiola_rt::sys::cpu;
use hemiola_rt::sys::timer::sleep_until;
use hemiola_units::Span;
use thiserror::Error;

use crate::activity::{Activity, Counters, Meanwhile};
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

    /// Ends a block of all figures, and rests before the next.
    fn end_block(&mut self, _rest: Span) {}
}

/// The probes of this machine, with the setting's load running until this is dropped.
#[derive(Debug)]
pub struct Probes {
    setting: Setting,
    _load: Option<LoadGuard>,
    /// The times at the beginning of the block.
    counters: Option<Counters>,
    blocks: Vec<Activity>,
}

impl Probes {
    /// Starts the setting's load.
    ///
    /// # Errors
    /// When its process cannot be started.
    pub fn start(setting: Setting) -> Result<Self, ProbeError> {
        let load = load::start(&setting)?;
        Ok(Self { setting, _load: load, counters: Counters::read(), blocks: Vec::new() })
    }

    /// The work of others during the blocks so far.
    #[must_use]
    pub fn meanwhile(&self) -> Meanwhile {
        Meanwhile::of(&self.blocks, cpus(), self.setting.load)
    }
}

fn cpus() -> u32 {
    cpu::online().iter().count() as u32
}

impl ReadingSource for Probes {
    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ReadError> {
        Ok(hemiola_probe::measure(name, &self.setting, count)?)
    }

    fn end_block(&mut self, rest: Span) {
        if rest > Span::ZERO {
            sleep_until(MonotonicClock.now() + rest);
        }
        // The times of blocks that are too short are counted together.
        let (before, now) = (self.counters, Counters::read());
        let activity = before.zip(now).and_then(|(before, now)| now.since(before, cpus()));
        if let Some(activity) = activity {
            self.blocks.push(activity);
            self.counters = now;
        }
    }
}
