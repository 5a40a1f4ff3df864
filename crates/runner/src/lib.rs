//! Starts, hosts and supervises the processes of a plan, and collects their records.
//!
//! [`run`] takes a checked `scenario::Plan` and leaves a result folder: the plan, the granted profiles, the conditions,
//! and a trace of every run. A process has three forms on its way: the `Process` of the plan, the running `Task`, and
//! the record.
//!
//! ```text
//! scenario::Process       what the scenario asks for
//!   run.rs                which variant runs when
//!   stage.rs              kernel objects (wiring.rs); a TaskKind equips the process (tasks.rs)
//!   launch.rs             NodeSpec (spec.rs): the same Process, the run, the equipment, as one line of JSON
//!   ── the child ──
//!   node.rs               takes the profile, then runs THE periodic loop
//! tasks/<task>.rs         the Task in the loop, on its ports (task.rs)
//!   ── the runner ──
//!   stage/supervise.rs    watches the processes; serves the units (units.rs, control.rs); injects faults (campaign.rs)
//!   stage/finish.rs       stops them; a TaskKind reads the report of its task; the trace (collect.rs, kernel.rs)
//! trace::result           ProcessRecord and ProcessRun in run.json
//! ```
//!
//! A new task is one file in `tasks/` with its `TaskKind`, a line of `tasks::kind`, and its
//! declaration in `scenario`. Beside that:
//!
//! * `io` and `card`: the I/O code that every program of the ladder shares.
//! * `federation`: the tasks of the RTI and of federates.
//! * `guardian`: cleans up after a runner that was killed.
//! * [`live`]: universes that serve requests while they run; [`compiler`] compiles their functions beside the steps.
//! * `sandboxed`: units as WebAssembly, which the decision module calls.
//! * `journal`: the record as it grows, on the disk before every run.
//! * `floors`: the cost of a hand-over, measured between the runs.
//!
//! This crate computes no figure: `analyze` reads the folder.

mod audience;
mod campaign;
mod card;
mod checkpoints;
mod collect;
pub mod compiler;
pub mod control;
mod federation;
mod floors;
mod guardian;
mod io;
mod journal;
mod kernel;
mod launch;
pub mod live;
pub mod modules;
mod node;
mod reader;
mod run;
mod run_id;
mod sandboxed;
mod spec;
mod stage;
mod status;
mod strays;
mod task;
mod tasks;
mod units;
mod wiring;

pub use guardian::guardian_main;
pub use node::node_main;
pub use run::{Options, Outcome, Progress, RunError, run};
pub use run_id::RunId;
pub use sandboxed::check_module;
pub use tasks::check_universe;

/// Whether this build can run units as WebAssembly.
pub const HAS_SANDBOX: bool = hemiola_sandbox::IS_AVAILABLE;

/// The hidden subcommands by which the binary starts its own processes.
pub mod subcommand {
    /// A process of a scenario: [`crate::node_main`].
    pub const NODE: &str = crate::launch::SUBCOMMAND;
    /// The guardian of a run: [`crate::guardian_main`].
    pub const GUARDIAN: &str = crate::guardian::SUBCOMMAND;
    /// A process of a measurement: [`hemiola_probe::peer_main`].
    pub const PROBE: &str = "probe-peer";
}
