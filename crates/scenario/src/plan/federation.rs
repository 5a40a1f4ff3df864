//! Federations: federates that exchange data through an RTI and keep step, in several modes of one run.

use std::net::SocketAddr;

use hemiola_trace::result::{PriorityMode, Synchronization};
use hemiola_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// What the processes of one variant have in common when they are a federation in one of its modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Federation {
    /// How the federates keep step.
    pub sync: Synchronization,
    /// At which priority everybody runs.
    pub priority: PriorityMode,
    /// Whether each process has its processors and locks its memory.
    pub affinity: bool,
    /// How federates reach the RTI.
    pub transport: Transport,
    /// The federate with the timer; the variant's rate is its.
    pub master: String,
    /// Who tells whom, in the order written. Names are those of federates, and no pair stands twice.
    pub exchanges: Vec<Exchange>,
    /// Where the satellites fly.
    pub orbit: OrbitSettings,
    /// How long a bare timer runs before and after each run of the mode; zero for not at all.
    pub bare: Span,
}

/// How federates reach their RTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Through shared memory.
    Shm,
    /// Through TCP; the RTI listens here, port 0 for any that is free.
    Tcp(SocketAddr),
}

impl Transport {
    /// The word for it, as in an address.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shm => "shm",
            Self::Tcp(_) => "tcp",
        }
    }
}

/// Data from one federate to another, once in each cycle of the sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Who sends at the end of its cycle.
    pub from: String,
    /// Who receives at the beginning of its next cycle …
    pub to: String,
    /// How much; at least what the sender's model has to say.
    pub bytes: Bytes,
    /// … or in the middle of the same one.
    pub mid_cycle: bool,
}

/// What a federate computes, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FederateSettings {
    /// What it simulates.
    pub model: Model,
    /// Its cycle in cycles of the master; 1 for the master itself.
    pub every: u32,
    /// Processor time it computes in each cycle, half of it before a reception in mid-cycle and half after.
    pub compute: Span,
    /// The network name space it runs in (ip-netns(8)); `None` for the runner's own.
    pub namespace: Option<String>,
}

/// What a federate simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// The board computer of a satellite: reads where it is, commands its thrusters.
    Board {
        /// Which, from 0.
        satellite: usize,
    },
    /// The dynamics of a satellite: integrates its motion under the thrusters.
    Dynamics {
        /// Which, from 0.
        satellite: usize,
    },
    /// Anything else aboard: it computes, and its data mean nothing to the motion.
    Payload,
}

impl Model {
    /// Bytes of the number every message begins with.
    const NUMBER: u64 = 8;

    /// The least size of its messages: a number, and what it has to say.
    #[must_use]
    pub const fn message_min(self) -> Bytes {
        match self {
            // Time and thrust.
            Self::Board { .. } => Bytes(Self::NUMBER + 32),
            // Time, position and velocity.
            Self::Dynamics { .. } => Bytes(Self::NUMBER + 56),
            Self::Payload => Bytes(Self::NUMBER),
        }
    }
}

/// Satellites of a formation.
pub const SATELLITES: usize = 2;

/// The circular orbit of the formation, and where each satellite is in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrbitSettings {
    /// Above the Earth's equator, m; 150 km to 100 000 km.
    pub altitude_m: f64,
    /// Each satellite's own ellipse.
    pub satellites: [Ellipse; SATELLITES],
}

/// A motion around the formation's reference point that closes once an orbit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ellipse {
    /// Its height, m; it is twice as long along the track.
    pub radial_m: f64,
    /// Its amplitude across the orbit's plane, m.
    pub normal_m: f64,
    /// How far from its highest point the satellite starts, degrees.
    pub phase_deg: f64,
}
