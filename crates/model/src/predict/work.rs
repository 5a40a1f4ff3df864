//! The work of a process in one cycle, in instructions and cache lines.

use hemiola_scenario::Task;

/// The work of one process in one cycle: minimum, most likely value, maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Instructions executed.
    pub instructions: [f64; 3],
    /// Different cache lines touched, code and data.
    pub lines: [f64; 3],
    /// Time stamps taken.
    pub stamps: u32,
    /// Whether it includes the card's conversions.
    pub converts: bool,
}

/// Processor cycles per instruction: at least one in a dependent chain, more in code that runs once per period, where
/// branches are mispredicted and instructions are decoded again. A guess.
pub const CYCLES_PER_INSTRUCTION: [f64; 3] = [1.0, 2.0, 4.0];

/// Lines of the card's two registers that move between processors in a cycle when the plant runs on another one:
/// number, value and reader count of each.
pub const CARD_LINES: u32 = 6;

/// The work of a task in a cycle; `None` if it is not part of the control cycle.
///
/// Counted with valgrind's lackey over 30 cycles of a release build on x86-64 with cache lines of 64 B. The likely
/// value is the count from taking a message to the end of the job. The minimum allows 10 % for another compiler, the
/// maximum 50 % for occasional work (a status message, an event). The kernel's work is part of the hand-overs.
#[must_use]
pub fn of(task: &Task) -> Option<Work> {
    let around = |counted: f64| [0.9 * counted, counted, 1.5 * counted];
    let work = |instructions, lines, stamps, converts| {
        let (instructions, lines) = (around(instructions), around(lines));
        Some(Work { instructions, lines, stamps, converts })
    };
    match task {
        Task::Io { .. } => work(1450.0, 140.0, 6, true),
        Task::Monolithic { .. } => work(1300.0, 120.0, 4, true),
        Task::Controller { .. } => work(1435.0, 128.0, 4, false),
        Task::Decision => work(2900.0, 330.0, 4, false),
        Task::Plant
        | Task::Workload { .. }
        | Task::Benchmark { .. }
        | Task::Command { .. }
        | Task::Rti { .. }
        | Task::Federate(_)
        | Task::Universe(_)
        | Task::Timer => None,
    }
}
