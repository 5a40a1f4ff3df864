//! What TOML may say about a federation.

use super::{Shape, Table, may, must};
use crate::plan::SATELLITES;

/// Federates of a federation.
const FEDERATES_MAX: usize = 30;
/// Exchanges between them.
const EXCHANGES_MAX: usize = 256;

pub(crate) static FEDERATION: Table = Table {
    noun: "a federation",
    keys: &[
        must("master", Shape::Text, "The federate with the timer; the scenario's rate is its."),
        may(
            "sync",
            Shape::Words(&["interaction", "time-management"]),
            "How federates keep step; a list runs each; default both.",
        ),
        may(
            "priority",
            Shape::Words(&["low", "high"]),
            "Ordinary processes, or FIFO with the priorities below; a list runs each; default both.",
        ),
        may(
            "affinity",
            Shape::Words(&["free", "pinned"]),
            "Any processor, or those below with memory locked; a list runs each; default both.",
        ),
        may(
            "rti",
            Shape::Text,
            "How federates reach the RTI: \"shm\", \"tcp\" or \"tcp:ADDRESS:PORT\"; default shm.",
        ),
        may("rti_priority", Shape::Whole(1, 99), "FIFO priority of the RTI; default 50."),
        may("rti_cpus", Shape::Cpus, "Processors of the RTI; default any."),
        may("rti_namespace", Shape::Name, "Network name space of the RTI; default the runner's."),
        may(
            "compute",
            Shape::Number(0.0, 90.0),
            "Percent of its own cycle that each federate computes; default 25.",
        ),
        may(
            "bare",
            Shape::LengthOrZero,
            "Length of the bare timer before and after each run, 0 for none; default a quarter of the duration.",
        ),
        may("orbit", Shape::One(&ORBIT), "Where the formation flies."),
        must("federates", Shape::Named(&FEDERATE, FEDERATES_MAX), "In the order of starting."),
        must("exchanges", Shape::Many(&EXCHANGE, EXCHANGES_MAX), "Who tells whom."),
    ],
};

static FEDERATE: Table = Table {
    noun: "a federate",
    keys: &[
        must("model", Shape::Word(&["board", "dynamics", "payload"]), "What it simulates."),
        may("satellite", Shape::Whole(1, SATELLITES as i64), "Of board and dynamics: which."),
        may("every", Shape::Whole(1, 1000), "Its cycle in cycles of the master; default 1."),
        may("compute", Shape::Number(0.0, 90.0), "Instead of the federation's."),
        may("priority", Shape::Whole(1, 99), "In modes of high priority; default 40."),
        may("cpus", Shape::Cpus, "In modes with affinity; default any."),
        may("namespace", Shape::Name, "Network name space; default the runner's."),
    ],
};

static EXCHANGE: Table = Table {
    noun: "an exchange",
    keys: &[
        must("from", Shape::Text, "The federate that sends, at the end of its cycle."),
        must("to", Shape::Text, "The federate that receives, at the beginning of its next."),
        may("size", Shape::Size, "Of one message, 64KiB at most; default 64B."),
        may(
            "mid_cycle",
            Shape::Boolean,
            "Received in the middle of the same cycle instead; default false.",
        ),
    ],
};

static ORBIT: Table = Table {
    noun: "the orbit",
    keys: &[
        may("altitude_km", Shape::Number(150.0, 100_000.0), "Above the equator; default 700."),
        may(
            "satellites",
            Shape::Many(&SATELLITE, SATELLITES),
            "Where each flies; default on one ellipse, opposite to each other.",
        ),
    ],
};

static SATELLITE: Table = Table {
    noun: "a satellite",
    keys: &[
        may("radial", Shape::Number(0.0, 1e5), "Height of its ellipse, m; default 100."),
        may("normal", Shape::Number(0.0, 1e5), "Amplitude across the plane, m; default 50."),
        may("phase_deg", Shape::Number(-360.0, 360.0), "Where on it; default 0, then 180."),
    ],
};
