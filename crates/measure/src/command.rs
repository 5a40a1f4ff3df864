//! Measures commands: the time that each takes, the processor time and the memory that it uses, and how they compare.
//!
//! The commands run in turns, A B B A, so that a drift of the machine affects all of them alike. [`subjects`] makes the
//! commands from their texts and parameters, [`measure`] runs them with their setups and cleanups, and [`Results`] is
//! the outcome in the format of hyperfine.

mod markdown;
mod once;
mod process;
mod report;
mod result;
mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use hemiola_units::{Bytes, Span};
use thiserror::Error;

use crate::measurement::Progress;

pub use markdown::markdown;
pub use once::{Measured, Once, measure};
pub use process::Processes;
pub use report::tables;
pub use result::{CommandResult, Compared, Contradiction, NotResults, Results};
pub use text::{BadCommand, Parameter, Template, Written, subjects};

/// A command to measure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Its name in tables.
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// A text for the shell, which runs before each reading and is not measured.
    pub prepare: Option<String>,
    /// A text for the shell, which runs once before the first run.
    pub setup: Option<String>,
    /// A text for the shell, which runs once after the last run.
    pub cleanup: Option<String>,
    /// The values of the parameters in its text.
    pub parameters: BTreeMap<String, String>,
}

/// One run of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The time of the preparation before it.
    pub prepared: Span,
    /// From before the start of its process until its end was seen.
    pub wall: Span,
    /// Processor time in user space, with that of its children.
    pub user: Span,
    /// Processor time in the kernel, with that of its children.
    pub system: Span,
    /// The most memory in RAM.
    pub memory_max: Bytes,
    /// The exit status; `None` if a signal ended it.
    pub exit_code: Option<i32>,
}

/// How often the commands run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// Runs of each command before the first reading.
    pub warm_up: u32,
    /// Readings of each command; `None`: see [`Repetition::rounds`].
    pub runs: Option<u32>,
}

/// The fewest readings of a command: six rounds A B B A, which a comparison needs.
const RUNS_MIN: u32 = 12;

/// The most readings of a command that are taken unless a number is given.
const RUNS_MAX: u32 = 2_000;

/// The time for which each command is measured, with its preparation, unless the fewest readings take longer.
const TIME: Span = Span::from_millis(3_000);

impl Repetition {
    /// The number of rounds when the first `taken` rounds of `commands` commands took `took`: those of three seconds
    /// for each command, 12 to 2,000.
    #[must_use]
    pub fn rounds(self, taken: u32, commands: usize, took: Span) -> u32 {
        self.runs.unwrap_or_else(|| {
            let round = took.secs_f64().max(1e-9) / f64::from(taken);
            let fit = (TIME.secs_f64() * commands as f64 / round) as u32;
            fit.clamp(RUNS_MIN, RUNS_MAX)
        })
    }
}

/// Why commands cannot be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The program could not be started.
    #[error("{what} cannot be started: {source}{hint}")]
    Start {
        /// The command or what runs beside it.
        what: String,
        /// The system's error.
        source: std::io::Error,
        /// What to do about it.
        hint: &'static str,
    },
    /// The command or what runs beside it failed.
    #[error("{what} failed {when}: {how}{stderr}")]
    Failed {
        /// The command or what runs beside it.
        what: String,
        /// In which run.
        when: String,
        /// Its exit status or signal.
        how: String,
        /// The end of what it wrote to standard error, on lines of its own, or a hint.
        stderr: String,
    },
    /// A cleanup was interrupted, or did not run because another one was.
    #[error("{what} did not run to its end")]
    Unfinished {
        /// The cleanup.
        what: String,
    },
    /// A signal interrupted the measurement.
    #[error("interrupted; nothing was kept")]
    Interrupted,
}

/// Runs commands: a process each, or something that tests can foresee.
pub trait CommandRunner {
    /// Prepares and runs a command once; `when` names the run in errors.
    ///
    /// # Errors
    /// See [`CommandError`].
    fn run(&mut self, subject: &Subject, when: &str) -> Result<Run, CommandError>;

    /// Runs what runs once for a command. Nothing, unless the runner can have setups and cleanups.
    ///
    /// # Errors
    /// See [`CommandError`].
    fn once(&mut self, _subject: &Subject, _once: Once) -> Result<(), CommandError> {
        Ok(())
    }

    /// Begins with the readings, after the warm-up runs.
    fn begin(&mut self) {}

    /// Ends a round of readings of all commands.
    fn end_round(&mut self) {}
}

/// Runs all commands in turns. Odd rounds have the order of the first round, even rounds the reverse.
///
/// # Errors
/// The first command that cannot be started or fails, or an interruption.
pub fn take(
    subjects: &[Subject],
    repetition: Repetition,
    runner: &mut dyn CommandRunner,
    progress: &mut dyn Progress,
    interrupted: &AtomicBool,
) -> Result<Vec<Vec<Run>>, CommandError> {
    let mut all = vec![Vec::new(); subjects.len()];
    let once = |runner: &mut dyn CommandRunner, index: usize, when: &str| {
        let run = runner.run(&subjects[index], when);
        if interrupted.load(Ordering::Relaxed) { Err(CommandError::Interrupted) } else { run }
    };
    for round in 0..repetition.warm_up {
        for index in order(round, subjects.len()) {
            once(runner, index, &format!("in warm-up run {}", round + 1))?;
        }
    }
    runner.begin();
    let (mut round, mut rounds) = (0, repetition.runs.unwrap_or(RUNS_MIN));
    while round < rounds {
        for index in order(round, subjects.len()) {
            progress.tick(f64::from(round) / f64::from(rounds), &subjects[index].name);
            all[index].push(once(runner, index, &format!("in run {}", round + 1))?);
        }
        runner.end_round();
        round += 1;
        // The first round may be slower than all others.
        if round == 2 {
            let took: Span = all.iter().flatten().map(|run: &Run| run.prepared + run.wall).sum();
            rounds = repetition.rounds(round, subjects.len(), took);
        }
    }
    Ok(all)
}

/// The order of the commands in a round.
fn order(round: u32, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| if round.is_multiple_of(2) { place } else { count - 1 - place })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Silent;

    /// Commands that take as many ms as their names say.
    struct Foreseen {
        ran: Vec<String>,
    }

    /// The time of a preparation of [`Foreseen`].
    const PREPARATION: Span = Span::from_millis(100);

    /// What [`Foreseen`] calls the beginning of the readings and the end of a round.
    const BEGIN: &str = "begin";
    const END: &str = "end";

    impl CommandRunner for Foreseen {
        fn run(&mut self, subject: &Subject, _: &str) -> Result<Run, CommandError> {
            self.ran.push(subject.name.clone());
            let wall = Span::from_millis(subject.name.parse().unwrap());
            let (user, system, memory_max) = (wall, Span::ZERO, Bytes(1));
            let prepared = subject.prepare.as_ref().map_or(Span::ZERO, |_| PREPARATION);
            Ok(Run { prepared, wall, user, system, memory_max, exit_code: Some(0) })
        }

        fn begin(&mut self) {
            self.ran.push(BEGIN.into());
        }

        fn end_round(&mut self) {
            self.ran.push(END.into());
        }
    }

    fn ran(names: &[&str], warm_up: u32, runs: Option<u32>) -> Vec<String> {
        let mut all = events(names, warm_up, runs);
        all.retain(|event| ![BEGIN, END].contains(&event.as_str()));
        all
    }

    fn events(names: &[&str], warm_up: u32, runs: Option<u32>) -> Vec<String> {
        let subject = |name: &&str| Subject { name: (*name).into(), ..Subject::default() };
        let subjects: Vec<Subject> = names.iter().map(subject).collect();
        let mut runner = Foreseen { ran: Vec::new() };
        let repetition = Repetition { warm_up, runs };
        let never = AtomicBool::new(false);
        take(&subjects, repetition, &mut runner, &mut Silent, &never).unwrap();
        runner.ran
    }

    #[test]
    fn commands_run_in_turns() {
        assert_eq!(ran(&["1", "2"], 0, Some(4)), ["1", "2", "2", "1", "1", "2", "2", "1"]);
        assert_eq!(ran(&["1", "2", "3"], 0, Some(2)), ["1", "2", "3", "3", "2", "1"]);
    }

    #[test]
    fn warm_up_runs_come_first_and_are_not_readings() {
        let all = ran(&["1", "2"], 1, Some(2));
        assert_eq!(all, ["1", "2", "1", "2", "2", "1"]);
    }

    #[test]
    fn the_work_of_others_is_counted_by_rounds_of_readings() {
        let all = events(&["1", "2"], 1, Some(2));
        assert_eq!(all, ["1", "2", BEGIN, "1", "2", END, "2", "1", END]);
    }

    #[test]
    fn the_preparation_is_part_of_the_three_seconds() {
        let subject =
            Subject { name: "1".into(), prepare: Some("sync".into()), ..Subject::default() };
        let mut runner = Foreseen { ran: Vec::new() };
        let repetition = Repetition { warm_up: 0, runs: None };
        let never = AtomicBool::new(false);
        let runs = take(&[subject], repetition, &mut runner, &mut Silent, &never).unwrap();
        assert_eq!(runs[0].len(), 29);
    }

    #[test]
    fn each_command_gets_three_seconds_within_the_limits() {
        let count = |names: &[&str]| ran(names, 0, None).len() / names.len();
        assert_eq!(count(&["100"]), 30);
        assert_eq!(count(&["50", "150"]), 30);
        assert_eq!(count(&["10000"]), RUNS_MIN as usize);
        assert_eq!(count(&["1"]), RUNS_MAX as usize);
    }

    #[test]
    fn an_interruption_keeps_nothing() {
        let subject = Subject { name: "1".into(), ..Subject::default() };
        let repetition = Repetition { warm_up: 0, runs: Some(3) };
        let mut runner = Foreseen { ran: Vec::new() };
        let stop = AtomicBool::new(true);
        let taken = take(&[subject], repetition, &mut runner, &mut Silent, &stop);
        assert!(matches!(taken, Err(CommandError::Interrupted)) && runner.ran == [BEGIN, "1"]);
    }
}
