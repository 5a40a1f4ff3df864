//! The facts about the machine that the checks need. The caller provides them, because this crate does no I/O.

use std::fmt;

use hemiola_units::{CpuSet, Rate, Span};

use crate::plan::UniverseSettings;

/// Judges the file of a WebAssembly module; the error says why it cannot be a unit.
pub type ModuleCheck<'f> = dyn Fn(&str) -> Result<(), String> + 'f;

/// Judges the texts of a universe; the error says in one sentence why they make no world.
pub type UniverseCheck<'f> = dyn Fn(&UniverseSettings) -> Result<(), String> + 'f;

/// The machine that a scenario is checked for.
#[derive(Clone)]
pub struct Facts<'f> {
    /// The processors that are online.
    pub cpus_online: CpuSet,
    /// The highest real-time priority this user may ask for; 0 for none.
    pub priority_max: u8,
    /// Whether a program can be started, as written in the scenario: a path relative to the scenario's folder,
    /// or a name without a slash to look up in `PATH`.
    pub executable: &'f dyn Fn(&str) -> bool,
    /// Whether a file, as written in the scenario, is a module that can be a unit. `None` if this build has no sandbox.
    pub module: Option<&'f ModuleCheck<'f>>,
    /// Whether the texts of a universe, whose paths start in the scenario's folder, make a world.
    pub universe: &'f UniverseCheck<'f>,
}

impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts")
            .field("cpus_online", &self.cpus_online)
            .field("priority_max", &self.priority_max)
            .field("has_sandbox", &self.module.is_some())
            .finish_non_exhaustive()
    }
}

/// Values of the command line that replace those of the scenario, with the same checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Replaces `runs`, and the runs per kind of fault in a campaign.
    pub runs: Option<u32>,
    /// Replaces `duration`, and the durations in a campaign.
    pub duration: Option<Span>,
    /// Replaces the rate of every variant. Lengths that no longer fit the period are shortened, each with a note
    /// in the plan. A rate that a process states for itself stays.
    pub rate: Option<Rate>,
    /// Replaces the card's conversion time.
    pub conversion_time: Option<Span>,
    /// Replaces `trace.kernel`.
    pub kernel: Option<bool>,
}
