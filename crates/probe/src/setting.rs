//! Where and how readings are taken.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use hemiola_rt::clock::Calibration;
use hemiola_units::Policy;
use serde::{Deserialize, Serialize};

use crate::ProbeError;

/// Everything a probe is told besides the name of its figure.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The processor the measuring thread runs on.
    pub cpu: u16,
    /// Another processor, for what crosses between two; `None` on a machine with one.
    pub other_cpu: Option<u16>,
    /// What the measuring threads and processes ask for; less is granted where it is refused, and said.
    pub scheduling: Policy,
    /// What else the machine does meanwhile.
    pub load: Load,
    /// How a second process is started.
    pub peers: Peers,
    /// For the clocks of all processes.
    pub calibration: Calibration,
    /// Where the file probes make their files, `std::env::temp_dir()` unless somebody says; nothing stays.
    pub directory: PathBuf,
}

impl Setting {
    /// The other processor, or that figure `name` lacks it.
    pub(crate) fn across(&self, name: &str) -> Result<u16, ProbeError> {
        let what = "a second processor; this measurement was given only one";
        self.other_cpu.ok_or_else(|| ProbeError::lacking(name, what))
    }
}

/// Where the two sides of a measurement run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Both on [`Setting::cpu`].
    SameCore,
    /// The far one on [`Setting::other_cpu`].
    Across,
}

impl Placement {
    /// Both, in the order of the catalogue.
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

/// The processes that play the other part: this program executed again.
#[derive(Clone, Debug)]
pub struct Peers {
    /// The program, usually `std::env::current_exe()`.
    pub program: PathBuf,
    /// Arguments that lead it to [`crate::peer_main`]; the orders follow as the last one.
    pub arguments: Vec<OsString>,
}

/// What else the machine does while readings are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Nothing of ours.
    #[default]
    Idle,
    /// One ordinary process that computes without rest on the other processor (on the same where there is one).
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
