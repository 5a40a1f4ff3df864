//! Federations: federates that exchange data through an RTI and stay synchronized, in several modes.

use std::net::SocketAddr;

use hemiola_trace::result::{PriorityMode, Synchronization};
use hemiola_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// The settings of a federation in one of its modes, shared by the processes of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Federation {
    /// The synchronization of the federates.
    pub sync: Synchronization,
    /// The priority of its processes.
    pub priority: PriorityMode,
    /// Whether each process is pinned to its processors and locks its memory.
    pub affinity: bool,
    /// The transport between federates and RTI.
    pub transport: Transport,
    /// The federate with the timer; it runs at the variant's rate.
    pub master: String,
    /// The data that federates send to each other, in the order written. Each pair of federates occurs once.
    pub exchanges: Vec<Exchange>,
    /// The orbit of the satellites.
    pub orbit: OrbitSettings,
    /// The length of the bare timer before and after each run of the mode; zero for none.
    pub bare: Span,
}

/// The transport between federates and RTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Through shared memory.
    Shm,
    /// Through TCP; the RTI listens on this address, with port 0 for any free port.
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
    /// The federate that sends, at the end of its cycle.
    pub from: String,
    /// The federate that receives.
    pub to: String,
    /// The size of a message; at least [`Model::message_min`] of the sender.
    pub bytes: Bytes,
    /// Whether it receives in the middle of the same cycle, instead of at the start of its next one.
    pub mid_cycle: bool,
}

/// The model of a federate, its cycle, and its processor time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FederateSettings {
    /// The model that it simulates.
    pub model: Model,
    /// The length of its cycle, in cycles of the master; 1 for the master itself.
    pub every: u32,
    /// Processor time it computes in each cycle, half of it before a reception in mid-cycle and half after.
    pub compute: Span,
    /// The network name space it runs in (ip-netns(8)); `None` for the runner's own.
    pub namespace: Option<String>,
}

/// The model of a federate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// The board computer of a satellite: reads its position, commands its thrusters.
    Board {
        /// The number of the satellite, from 0.
        satellite: usize,
    },
    /// The dynamics of a satellite: integrates its motion under the thrusters.
    Dynamics {
        /// The number of the satellite, from 0.
        satellite: usize,
    },
    /// Any other device aboard: it computes, and its data do not affect the motion.
    Payload,
}

impl Model {
    /// Bytes of the sequence number at the start of every message.
    const NUMBER: u64 = 8;

    /// The smallest size of its messages: the sequence number and the data.
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

/// The number of satellites in a formation.
pub const SATELLITES: usize = 2;

/// The circular orbit of the formation, and the path of each satellite relative to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrbitSettings {
    /// Above the Earth's equator, m; 150 km to 100 000 km.
    pub altitude_m: f64,
    /// The ellipse of each satellite.
    pub satellites: [Ellipse; SATELLITES],
}

/// A closed motion around the formation's reference point, once per orbit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ellipse {
    /// Its height, m; it is twice as long along the track.
    pub radial_m: f64,
    /// Its amplitude across the orbit's plane, m.
    pub normal_m: f64,
    /// The initial angle of the satellite from the highest point, degrees.
    pub phase_deg: f64,
}
