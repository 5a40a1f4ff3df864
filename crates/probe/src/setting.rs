//! The settings of a measurement: processors, scheduling, load, directory.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use hemiola_rt::clock::Calibration;
use hemiola_units::Policy;
use serde::{Deserialize, Serialize};

use crate::ProbeError;

/// The settings of a probe besides the name of its figure.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The processor the measuring thread runs on.
    pub cpu: u16,
    /// Another processor, for figures across two; `None` on a machine with one.
    pub other_cpu: Option<u16>,
    /// The scheduling that measuring threads and processes request; if less is granted, the readings say so.
    pub scheduling: Policy,
    /// The load on the machine.
    pub load: Load,
    /// How a second process is started.
    pub peers: Peers,
    /// The calibration of the clocks of all processes.
    pub calibration: Calibration,
    /// The directory for the files of file probes, by default `std::env::temp_dir()`; no file remains.
    pub directory: PathBuf,
}

impl Setting {
    /// The other processor, or an error for figure `name`.
    pub(crate) fn across(&self, name: &str) -> Result<u16, ProbeError> {
        let what = "a second processor, but this measurement was given only one";
        self.other_cpu.ok_or_else(|| ProbeError::lacking(name, what))
    }
}

/// The placement of the two sides of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Both on [`Setting::cpu`].
    SameCore,
    /// The far one on [`Setting::other_cpu`].
    Across,
}

impl Placement {
    /// Both placements, in the order of the catalogue.
    pub const ALL: [Self; 2] = [Self::SameCore, Self::Across];

    /// The word in the name of a figure.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::SameCore => "same_core",
            Self::Across => "across",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::SameCore => "same core",
            Self::Across => "across cores",
        })
    }
}

/// How to start peer processes: this program executed again.
#[derive(Clone, Debug)]
pub struct Peers {
    /// The program, usually `std::env::current_exe()`.
    pub program: PathBuf,
    /// Arguments that make it call [`crate::peer_main`] with the orders, which follow as the last argument.
    pub arguments: Vec<OsString>,
}

/// The load on the machine during a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// No load of ours.
    #[default]
    Idle,
    /// One ordinary process that computes without rest on the other processor (or the only one).
    BusyNeighbour,
    /// One ordinary process that writes through a buffer larger than the last cache, on the other processor.
    CachePolluter,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Idle => "idle",
            Self::BusyNeighbour => "busy neighbour",
            Self::CachePolluter => "cache polluter",
        })
    }
}
