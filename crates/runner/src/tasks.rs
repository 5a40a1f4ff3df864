//! The tasks of a scenario, as the runner knows them: one file a task, one line of [`kind`] each.
//!
//! A task's file holds its [`TaskKind`], which states how the runner prepares, supervises and records its processes,
//! and the [`Task`](crate::task::Task) itself. Nothing else in this crate distinguishes tasks.

mod benchmark;
mod command;
mod controller;
mod decision;
mod io;
mod monolithic;
mod plant;
mod timer;
mod universe;
mod workload;

pub(crate) mod unit;

use std::os::fd::BorrowedFd;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use hemiola_scenario::{Plan, Process, Task, Variant};
use hemiola_trace::perfetto::Names;
use hemiola_trace::result::{Role, RunRecord, VariantRecord};
use hemiola_units::{RtiAddress, Span};

use crate::campaign::Injection;
use crate::federation;
use crate::launch::{Finished, Line};
use crate::spec::{Limits, NodeSpec, Port, RunSpec};
use crate::wiring::Wiring;

pub(crate) use controller::Fault;
pub(crate) use io::IoFacts;
pub use universe::check_universe;
pub(crate) use workload::compute;

/// The kind of a task. Adding a task adds a line here, and the compiler asks for it.
pub(crate) fn kind(task: &Task) -> &'static TaskKind {
    match task {
        Task::Plant => &plant::KIND,
        Task::Io { .. } => &io::KIND,
        Task::Monolithic { .. } => &monolithic::KIND,
        Task::Controller { .. } => &controller::KIND,
        Task::Decision => &decision::KIND,
        Task::Workload { .. } => &workload::KIND,
        Task::Benchmark { .. } => &benchmark::KIND,
        Task::Command { .. } => &command::KIND,
        Task::Rti { .. } => &federation::RTI,
        Task::Federate(_) => &federation::FEDERATE,
        Task::Universe(_) => &universe::KIND,
        Task::Timer => &timer::KIND,
    }
}

/// How the runner deals with the processes of one task.
#[derive(Clone, Copy)]
pub(crate) struct TaskKind {
    /// Its role in the record.
    pub(crate) role: Role,
    /// The program of its process.
    pub(crate) body: Body,
    /// Whether the control cycle waits for it, so that its time counts in the cycle's cost.
    pub(crate) is_in_cycle: bool,
    /// Whether it is a process of ours, which records and listens on the stop channel.
    pub(crate) is_ours: bool,
    /// Whether the processes after it are started only once it is ready.
    pub(crate) is_ready_first: bool,
    /// Whether the run fails when it stops before its last cycle, even in an orderly way.
    pub(crate) must_complete: bool,
    /// How it learns that the run is over.
    pub(crate) stop_by: StopBy,
    /// The consequence when its process ends before the run does.
    pub(crate) early_end: EarlyEnd,
    /// Time from starting the processes of its run to their first release.
    pub(crate) start_delay: Span,
    /// Whether the run is over when it has done all its cycles.
    pub(crate) paces: fn(&Process, &Variant) -> bool,
    /// The turns in which it works, for a load that does not work from the beginning to the end.
    pub(crate) turns: fn(&Process, &RunSpec) -> Option<Turns>,
    /// Everything its process needs beside its channels.
    pub(crate) equip: for<'w> fn(&Supplies<'w>) -> Equipment<'w>,
    /// Names its marks in the trace.
    pub(crate) name_marks: fn(&mut Names),
    /// Adds to the record of its variant before any run: features, load, federation.
    pub(crate) describe: fn(Described<'_>, &mut VariantRecord),
    /// Adds its report to the record of a run. The report is [`Value::Null`] when the task sent none.
    pub(crate) collect: fn(&Value, &mut RunRecord),
    /// The text of the source files written for it, for the report's lines of code.
    pub(crate) sources: &'static [&'static str],
}

/// The program of a task's process.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    /// The loop of [`crate::node`] around the task that this prepares.
    Loop(fn(&NodeSpec) -> Result<Box<dyn crate::task::Task>, String>),
    /// This, from the preparation to the end.
    Own(fn(NodeSpec, &mut Line) -> Result<Finished, String>),
}

impl TaskKind {
    /// A task beside the loop that needs nothing but its channels, and whose early end fails the run.
    pub(crate) const fn new(role: Role, body: Body) -> Self {
        Self {
            role,
            body,
            is_in_cycle: false,
            is_ours: true,
            is_ready_first: false,
            must_complete: false,
            stop_by: StopBy::Channel,
            early_end: EarlyEnd::Failure,
            start_delay: Span::from_millis(30),
            paces: |_, _| false,
            turns: |_, _| None,
            equip: |_| Equipment::NONE,
            name_marks: |_| {},
            describe: |_, _| {},
            collect: |_, _| {},
            sources: &[],
        }
    }
}

/// The process that [`TaskKind::describe`] describes, and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Described<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) variant: &'p Variant,
    pub(crate) process: &'p Process,
}

/// The failure of a child whose kind does not fit its task: an error in [`kind`].
fn mismatch<T>() -> Result<T, String> {
    Err("its task is of another kind".into())
}

/// How a process learns that the run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopBy {
    /// By the stop channel.
    Channel,
    /// By SIGTERM: it may be a foreign program.
    Signal,
    /// By [`Message::Stop`](crate::launch::Message::Stop), after all others have ended: they need it until then.
    Message,
}

/// The consequence when a process ends before the run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EarlyEnd {
    /// The run fails.
    Failure,
    /// The run fails only if it ends as soon as it was started.
    FailureAtOnce,
    /// The run fails, except in an experiment with injected faults.
    FailureWithoutFaults,
    /// It is part of the experiment.
    Expected,
}

/// When a load works that takes turns: in the second and the third of every four.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// When the first turn begins, from the first release.
    pub(crate) from: Span,
    /// The length of one.
    pub(crate) turn: Span,
    /// How many times four turns there are.
    pub(crate) fours: u64,
}

impl Turns {
    /// When it begins to work each time, from the first release.
    pub(crate) fn beginnings(self) -> impl Iterator<Item = Span> {
        (0..self.fours).map(move |four| self.from + self.turn * (4 * four as i64 + 1))
    }

    /// Releases each time; the last job has its whole period.
    pub(crate) fn releases(self, period: Span) -> u64 {
        whole(self.turn * 2, period).max(1)
    }
}

/// How many times `part` fits into `length`.
pub(crate) fn whole(length: Span, part: Span) -> u64 {
    (length.nanos() / part.nanos().max(1)).max(0) as u64
}

/// The sources of a process's equipment.
pub(crate) struct Supplies<'w> {
    pub(crate) process: &'w Process,
    pub(crate) run: &'w RunSpec,
    pub(crate) wiring: &'w Wiring,
    /// Faults to come in this run.
    pub(crate) injected: &'w [Injection],
    /// Where the run's RTI listens, once it does.
    pub(crate) rti: Option<&'w RtiAddress>,
    /// Where relative paths of the scenario start.
    pub(crate) scenario_folder: &'w Path,
}

/// Everything a process gets beside its channels.
pub(crate) struct Equipment<'w> {
    /// Facts for the child, in its task's own form; see [`NodeSpec::facts`].
    pub(crate) facts: Value,
    /// Descriptors that it inherits.
    pub(crate) descriptors: Vec<BorrowedFd<'w>>,
    /// Its outgoing and its incoming channel, where that is not one of the scenario's.
    pub(crate) sends: Option<Port>,
    pub(crate) receives: Option<Port>,
    /// Limits at which the kernel stops it.
    pub(crate) limits: Option<Limits>,
}

impl<'w> Equipment<'w> {
    pub(crate) const NONE: Self = Self {
        facts: Value::Null,
        descriptors: Vec::new(),
        sends: None,
        receives: None,
        limits: None,
    };

    pub(crate) fn new(
        facts: &impl Serialize,
        descriptors: impl IntoIterator<Item = BorrowedFd<'w>>,
    ) -> Self {
        Self {
            facts: serde_json::to_value(facts).expect("plain data has a JSON form"),
            descriptors: descriptors.into_iter().collect(),
            ..Self::NONE
        }
    }
}
