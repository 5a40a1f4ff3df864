//! Starts, hosts and supervises the processes of a plan, and collects what they recorded.
//!
//! [`run`] takes a checked `scenario::Plan` and leaves a result folder: the plan as understood, the
//! profile as granted, the conditions, a trace of every run. In reading order:
//!
//! * `run`: the order of things, from the folder to the last trace.
//! * `stage`: one run of one variant; `wiring` its kernel objects, `launch` its processes, `units` its
//!   replacement units while it runs, `collect` its trace.
//! * `node`: THE periodic loop, in the child; `task` and `tasks/` what is done in it; `io` and `card` the
//!   I/O code that every program of the ladder shares.
//! * `control`: the socket behind `hemiola unit …`; `guardian`: what cleans up after a killed runner.
//! * `kernel`: the kernel's side of each run, in the same trace; `floors`: what a hand-over costs meanwhile.
//! * `campaign`: injected faults, counted.
//! * `federation`: an RTI and federates as processes of a run, in several modes.
//!
//! What this crate does not do: it computes no figure. The folder is read by `analyze`.

mod campaign;
mod card;
mod collect;
pub mod control;
mod federation;
mod floors;
mod guardian;
mod io;
mod kernel;
mod launch;
mod node;
mod run;
mod run_id;
mod size;
mod stage;
mod status;
mod task;
mod tasks;
mod units;
mod wiring;

pub use guardian::guardian_main;
pub use node::node_main;
pub use run::{Options, Outcome, Progress, RunError, run};
pub use run_id::RunId;

/// The hidden subcommands of the one binary: its own processes are started by these words.
pub mod subcommand {
    /// A process of a scenario: [`crate::node_main`].
    pub const NODE: &str = crate::launch::SUBCOMMAND;
    /// The guardian of a run: [`crate::guardian_main`].
    pub const GUARDIAN: &str = crate::guardian::SUBCOMMAND;
    /// A process of a measurement: [`hemiola_probe::peer_main`].
    pub const PROBE: &str = "probe-peer";
}
