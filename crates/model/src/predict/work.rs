//! How much a process works in one cycle, in instructions and cache lines.

use hemiola_scenario::Task;

/// The work of one process in one cycle: least, most likely, most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Instructions executed.
    pub instructions: [f64; 3],
    /// Different cache lines touched, code and data.
    pub lines: [f64; 3],
    /// Time stamps taken.
    pub stamps: u32,
    /// Whether the card's conversions are part of it.
    pub converts: bool,
}

/// Processor cycles of one instruction: at least one in a chain of them, more in code that runs once in a period,
/// where branches are not foreseen and instructions are decoded anew. A guess.
pub const CYCLES_PER_INSTRUCTION: [f64; 3] = [1.0, 2.0, 4.0];

/// Lines of the card's two registers that change processors in a cycle, with the plant on another one: number,
/// value and reader's count of each.
pub const CARD_LINES: u32 = 6;

/// What a task does in a cycle; nothing for those that are not part of the control cycle.
///
/// Counted with valgrind's lackey over 30 cycles of a release build on x86-64, the caches' lines being 64 B: the
/// likely value is what was counted from taking a message to the end of the job, the least leaves a
/// tenth to another compiler, the most half as much again for what only happens at times (a status
/// message, an event). The work of the kernel is part of the hand-overs.
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
        | Task::Timer => None,
    }
}
