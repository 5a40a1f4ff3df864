//! What the checks must know about the machine. The caller provides it, because this crate does no I/O.

use std::fmt;

use hemiola_units::{CpuSet, Rate, Span};

/// The machine that a scenario is checked for.
#[derive(Clone)]
pub struct Facts<'f> {
    /// Processors that can be used now.
    pub cpus_online: CpuSet,
    /// The highest real-time priority this user may ask for; 0 for none.
    pub priority_max: u8,
    /// Whether a program can be started, given as the scenario writes it. Paths are relative to the
    /// scenario's folder; a name without a slash is looked up.
    pub executable: &'f dyn Fn(&str) -> bool,
}

impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("cpus_online", &self.cpus_online)
            .field("priority_max", &self.priority_max)
            .finish_non_exhaustive()
    }
}

/// Values of the command line that replace those of the scenario. They are checked the same way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Instead of `runs`, and of the runs a kind in a campaign.
    pub runs: Option<u32>,
    /// Instead of `duration`, and of the durations in a campaign.
    pub duration: Option<Span>,
    /// Instead of the rate of every variant. Lengths within the cycle that no longer fit the period are
    /// shortened to fit, each with a note in the plan: the same scenario, only faster. A rate that a
    /// process states for itself stays.
    pub rate: Option<Rate>,
    /// Instead of the card's conversion time.
    pub conversion_time: Option<Span>,
    /// Instead of `trace.kernel`.
    pub kernel: Option<bool>,
}
