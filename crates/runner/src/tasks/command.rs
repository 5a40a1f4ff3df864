//! Any other program: the child applies the profile and executes the program in its place.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use hemiola_rt::program;
use hemiola_rt::sys::process;
use hemiola_scenario::Task;
use hemiola_trace::result::Role;

use super::{Body, EarlyEnd, Equipment, StopBy, Supplies, TaskKind};
use crate::launch::{Finished, Line};
use crate::spec::NodeSpec;

/// The program as it is executed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Foreign {
    /// A path, or a name to look up.
    program: String,
    arguments: Vec<String>,
    /// Added to the environment.
    environment: Vec<(String, String)>,
}

impl Foreign {
    /// A relative path starts in the scenario's folder.
    pub(super) fn new(
        scenario_folder: &Path,
        program: &str,
        arguments: &[String],
        environment: Vec<(String, String)>,
    ) -> Self {
        let program = if program.contains('/') {
            let path = scenario_folder.join(program);
            std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned()
        } else {
            program.to_owned()
        };
        Self { program, arguments: arguments.to_vec(), environment }
    }

    /// Whether its file exists for the run's user.
    fn exists(&self) -> bool {
        program::places(Path::new(""), &self.program).iter().any(|path| path.exists())
    }
}

pub(super) const KIND: TaskKind = TaskKind {
    is_ours: false,
    stop_by: StopBy::Signal,
    early_end: EarlyEnd::FailureAtOnce,
    equip,
    ..TaskKind::new(Role::Command, Body::Own(run))
};

fn equip<'w>(supplies: &Supplies<'w>) -> Equipment<'w> {
    let Task::Command { program, arguments } = &supplies.process.task else {
        return Equipment::NONE;
    };
    // A manager finds the universe of its run by it.
    let environment = vec![("HEMIOLA_RUN".to_owned(), supplies.run.id.to_string())];
    Equipment::new(&Foreign::new(supplies.scenario_folder, program, arguments, environment), [])
}

/// The usual reason why a unit with a user id of its own ends at once.
const NOT_READABLE: &str = "; it has a user id of its own, which files and folders that are not open to all users \
                            refuse: open them, or write user = \"run\"";

fn run(spec: NodeSpec, line: &mut Line) -> Result<Finished, String> {
    let foreign: Foreign = spec.facts()?;
    let exists = foreign.exists();
    let granted = hemiola_rt::profile::apply(&spec.process.profile);
    let user = spec.limits.map_or(Ok(None), |limits| limits.settle(&granted))?;
    if spec.limits.is_some() {
        let taken = process::take_no_privileges();
        taken.map_err(|error| format!("no new privileges: {error}"))?;
    }
    line.await_start(granted, user)?;
    let error = Command::new(&foreign.program)
        .args(&foreign.arguments)
        .envs(foreign.environment)
        .stdin(Stdio::null())
        .exec();
    let (error, remedy) = match error.kind() {
        // For a user to whom a folder of PATH is closed, a program that does not exist is one that is refused.
        ErrorKind::PermissionDenied if !exists => (Errno::NOENT.into(), ""),
        ErrorKind::PermissionDenied if user.is_some() => (error, NOT_READABLE),
        _ => (error, ""),
    };
    Err(format!("{} cannot be executed: {error}{remedy}", foreign.program))
}
