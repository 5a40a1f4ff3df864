//! The keys of a federation.

use hemiola_trace::result::{PriorityMode, Synchronization};
use hemiola_units::{Bytes, Span};

use crate::document::{Named, OneOrMany, Shape, Word};
use crate::plan::SATELLITES;
use crate::{sections, words};

/// The most federates of a federation.
const FEDERATES_MAX: usize = 30;
/// The most exchanges between them.
const EXCHANGES_MAX: usize = 256;

sections! {
    /// `[federation]`
    pub(crate) struct FederationKeys<'s> = "a federation" {
        must master: &'s str, Shape::Text, "The federate with the timer; it runs at the scenario's rate.";
        may sync: OneOrMany<Synchronization>, Shape::Words(Synchronization::WORDS),
            else "both",
            "How federates keep step. interaction: the master sends one at the beginning of each of its cycles, and \
             the others wait for it. time-management: all federates are regulating and constrained.";
        may priority: OneOrMany<PriorityMode>, Shape::Words(PriorityMode::WORDS),
            else "both", "low: ordinary scheduling. high: FIFO, with the priorities of the federates and the RTI.";
        may affinity: OneOrMany<Affinity>, Shape::Words(Affinity::WORDS),
            else "both",
            "free: all processors. pinned: the processors of the federates and the RTI, with memory locked.";
        may rti: &'s str = "shm", Shape::Text,
            "Transport to the RTI: \"shm\", \"tcp\" on loopback at a free port, or \"tcp:ADDRESS:PORT\".";
        may rti_priority: u8 = 50, Shape::Whole(1, 99), "FIFO priority of the RTI.";
        may rti_cpus: &'s str, Shape::Cpus, else "all", "Processors of the RTI.";
        may rti_namespace: &'s str, Shape::Name, else "the runner's",
            "Network name space of the RTI (ip-netns(8)); needs root.";
        may compute: f64 = 25.0, Shape::Number(0.0, 90.0), "How much of its cycle each federate computes, in percent.";
        may bare: Span, Shape::LengthOrZero,
            else "a quarter of the duration",
            "How long a bare timer runs before and after each run, for comparison: a task that does nothing, with the \
             master's rate, profile and way of waiting. 0 for none.";
        may orbit: OrbitKeys<'s>, Shape::One(OrbitKeys::TABLE), "Orbit of the formation.";
        must federates: Named<'s, FederateKeys<'s>>, Shape::Named(FederateKeys::TABLE, FEDERATES_MAX),
            "Federates, in start order.";
        must exchanges: Vec<ExchangeKeys<'s>>, Shape::Many(ExchangeKeys::TABLE, EXCHANGES_MAX),
            "Data that federates send to each other.";
    }

    /// `[federation.federates.NAME]`
    pub(crate) struct FederateKeys<'s> = "a federate" by model {
        must model: FederateWord, Shape::Word(FederateWord::WORDS),
            "board: a satellite's on-board computer. dynamics: its motion. payload: a program that only computes.";
        must satellite: usize, Shape::Whole(1, SATELLITES as i64), of ["board", "dynamics"], "Number of the satellite.";
        may every: u32 = 1, Shape::Whole(1, 1000), "Length of its cycle, in cycles of the master; 1 for the master.";
        may compute: f64, Shape::Number(0.0, 90.0), else "the federation's",
            "How much of its cycle it computes, in percent.";
        may priority: u8 = 40, Shape::Whole(1, 99), "FIFO priority in modes with priority high.";
        may cpus: &'s str, Shape::Cpus, else "all", "Processors in modes with affinity pinned.";
        may namespace: &'s str, Shape::Name, else "the runner's", "Network name space.";
    }

    /// `[[federation.exchanges]]`
    pub(crate) struct ExchangeKeys<'s> = "an exchange" {
        must from: &'s str, Shape::Text, "The federate that sends, at the end of its cycle.";
        must to: &'s str, Shape::Text, "The federate that receives, at the start of its next cycle.";
        may size: Bytes = Bytes(64), Shape::Size,
            "Size of one message: at least 64B from dynamics, 40B from board, 8B from payload; at most 64KiB.";
        may mid_cycle: bool = false, Shape::Boolean,
            "Receive in the middle of the same cycle instead; their cycles must be the same, and a federate has at \
             most one.";
    }

    /// `[federation.orbit]`
    pub(crate) struct OrbitKeys<'s> = "the orbit" {
        may altitude_km: f64 = 700.0, Shape::Number(150.0, 100_000.0), "Altitude above the equator.";
        may satellites: Vec<SatelliteKeys<'s>>, Shape::Many(SatelliteKeys::TABLE, SATELLITES),
            else "opposite each other", "The ellipse of each satellite.";
    }

    /// `[[federation.orbit.satellites]]`
    pub(crate) struct SatelliteKeys<'s> = "a satellite" {
        may radial: f64 = 100.0, Shape::Number(0.0, 1e5), "Height of its ellipse, m.";
        may normal: f64 = 50.0, Shape::Number(0.0, 1e5), "Amplitude across the plane, m.";
        may phase_deg: f64, Shape::Number(-360.0, 360.0), else "0, then 180", "Initial phase on it.";
    }
}

words!(Synchronization { Interaction "interaction", TimeManagement "time-management" });
words!(PriorityMode { Low "low", High "high" });
words! {
    /// Whether processes are pinned to their processors and lock their memory.
    pub(crate) enum Affinity { Free "free", Pinned "pinned" }
}
words! {
    /// The models of federates.
    pub(crate) enum FederateWord { Board "board", Dynamics "dynamics", Payload "payload" }
}
