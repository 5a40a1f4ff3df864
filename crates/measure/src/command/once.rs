//! The setup of each command before the first run, and its cleanup after the last one.

use std::sync::atomic::{AtomicBool, Ordering};

use hemiola_report::text::printable;

use super::{CommandError, CommandRunner, Repetition, Run, Subject, take};
use crate::measurement::Progress;

/// What runs once for each command and is not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Once {
    /// Before the first run.
    Setup,
    /// After the last run.
    Cleanup,
}

impl Once {
    /// The text for the shell, if the command has one.
    pub(super) fn text(self, subject: &Subject) -> Option<&str> {
        match self {
            Self::Setup => subject.setup.as_deref(),
            Self::Cleanup => subject.cleanup.as_deref(),
        }
    }

    /// Its name in errors.
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Cleanup => "cleanup",
        }
    }

    /// When it runs, in errors.
    pub(super) const fn when(self) -> &'static str {
        match self {
            Self::Setup => "before the first run",
            Self::Cleanup => "after the last run",
        }
    }
}

/// A text that runs beside a command, in errors.
pub(super) fn what(noun: &str, text: &str, subject: &Subject) -> String {
    format!("the {noun} `{}` of `{}`", printable(text), printable(&subject.name))
}

/// The outcome of [`measure`].
#[derive(Debug)]
pub struct Measured {
    /// The runs of each command, or why there are none.
    pub runs: Result<Vec<Vec<Run>>, CommandError>,
    /// The cleanups that failed or did not run to their end.
    pub not_cleaned_up: Vec<CommandError>,
}

/// Runs the setups of all commands, then the commands as [`take`] does, then the cleanups.
///
/// The cleanup of a command runs if its setup was started, also after a failure or an interruption: the flag
/// `interrupted` is cleared before the first one. A further interruption ends the cleanups.
pub fn measure(
    subjects: &[Subject],
    repetition: Repetition,
    runner: &mut dyn CommandRunner,
    progress: &mut dyn Progress,
    interrupted: &AtomicBool,
) -> Measured {
    let (started, is_set_up) = set_up(subjects, runner, progress, interrupted);
    let runs = is_set_up.and_then(|()| take(subjects, repetition, runner, progress, interrupted));
    let was_interrupted = interrupted.swap(false, Ordering::Relaxed);
    let not_cleaned_up = clean_up(&subjects[..started], runner, interrupted);
    match was_interrupted || interrupted.load(Ordering::Relaxed) {
        true => Measured { runs: Err(CommandError::Interrupted), not_cleaned_up },
        false => Measured { runs, not_cleaned_up },
    }
}

/// Runs the setups up to the first that fails; the number of those that were started.
fn set_up(
    subjects: &[Subject],
    runner: &mut dyn CommandRunner,
    progress: &mut dyn Progress,
    interrupted: &AtomicBool,
) -> (usize, Result<(), CommandError>) {
    for (index, subject) in subjects.iter().enumerate() {
        progress.tick(0.0, &subject.name);
        let mut done = runner.once(subject, Once::Setup);
        if interrupted.load(Ordering::Relaxed) {
            done = Err(CommandError::Interrupted);
        }
        if done.is_err() {
            return (index + 1, done);
        }
    }
    (subjects.len(), Ok(()))
}

/// Runs all cleanups, also if one fails; after an interruption, no other one is started.
fn clean_up(
    subjects: &[Subject],
    runner: &mut dyn CommandRunner,
    interrupted: &AtomicBool,
) -> Vec<CommandError> {
    let mut failed = Vec::new();
    for subject in subjects {
        let Some(text) = Once::Cleanup.text(subject) else { continue };
        let is_stopped = interrupted.load(Ordering::Relaxed);
        let done = if is_stopped { Ok(()) } else { runner.once(subject, Once::Cleanup) };
        match done {
            Err(CommandError::Interrupted) => failed.push(unfinished(text, subject)),
            Err(error) => failed.push(error),
            Ok(()) if is_stopped => failed.push(unfinished(text, subject)),
            Ok(()) => {}
        }
    }
    failed
}

fn unfinished(text: &str, subject: &Subject) -> CommandError {
    CommandError::Unfinished { what: what(Once::Cleanup.noun(), text, subject) }
}

#[cfg(test)]
mod tests {
    use hemiola_units::{Bytes, Span};

    use super::*;
    use crate::command::{Parameter, Processes, Template, Written, subjects};
    use crate::synthetic::Silent;

    /// Notes what runs. The text `fail` fails, and `stop` interrupts and fails.
    struct Noted<'i> {
        ran: Vec<String>,
        interrupted: &'i AtomicBool,
    }

    impl Noted<'_> {
        fn end(&self, what: &str) -> Result<(), CommandError> {
            match what {
                "stop" => {
                    self.interrupted.store(true, Ordering::Relaxed);
                    Err(CommandError::Interrupted)
                }
                "fail" => Err(CommandError::Failed {
                    what: what.into(),
                    when: String::new(),
                    how: String::new(),
                    stderr: String::new(),
                }),
                _ => Ok(()),
            }
        }
    }

    impl CommandRunner for Noted<'_> {
        fn run(&mut self, subject: &Subject, _: &str) -> Result<Run, CommandError> {
            self.ran.push(format!("run {}", subject.name));
            self.end(&subject.name)?;
            let [prepared, wall, user, system] = [Span::from_millis(1); 4];
            Ok(Run { prepared, wall, user, system, memory_max: Bytes(1), exit_code: Some(0) })
        }

        fn once(&mut self, subject: &Subject, once: Once) -> Result<(), CommandError> {
            let Some(text) = once.text(subject) else { return Ok(()) };
            self.ran.push(format!("{} {text}", once.noun()));
            self.end(text)
        }
    }

    /// What ran of commands with these names, setups and cleanups, whether there are readings, and how many cleanups
    /// were not done.
    fn ran(all: &[[&str; 3]], runs: u32) -> (String, bool, usize) {
        let subjects: Vec<Subject> = all
            .iter()
            .map(|[name, setup, cleanup]| Subject {
                name: (*name).into(),
                setup: (!setup.is_empty()).then(|| (*setup).into()),
                cleanup: (!cleanup.is_empty()).then(|| (*cleanup).into()),
                ..Subject::default()
            })
            .collect();
        let interrupted = AtomicBool::new(false);
        let mut runner = Noted { ran: Vec::new(), interrupted: &interrupted };
        let repetition = Repetition { warm_up: 0, runs: Some(runs) };
        let measured = measure(&subjects, repetition, &mut runner, &mut Silent, &interrupted);
        (runner.ran.join(", "), measured.runs.is_ok(), measured.not_cleaned_up.len())
    }

    #[test]
    fn processes_run_the_texts_of_each_command_with_its_parameters() {
        let folder = std::env::temp_dir().join(format!("hemiola-once-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let note = |what: &str| Some(format!("printf '{what}{{n}} ' >> order"));
        let template = |command: &str| Template {
            setup: note("s"),
            prepare: note("p"),
            cleanup: note("c"),
            ..Template::from(Written::Text(command.into()))
        };
        let parameter = Parameter { name: "n".into(), values: vec!["1".into(), "2".into()] };
        let interrupted = AtomicBool::new(false);
        let ran = |commands: &[&str]| {
            let templates: Vec<Template> = commands.iter().copied().map(template).collect();
            let subjects = subjects(&templates, std::slice::from_ref(&parameter), None).unwrap();
            let mut processes = Processes::new("repair it", &interrupted);
            processes.folder = Some(folder.clone());
            let repetition = Repetition { warm_up: 1, runs: Some(2) };
            let measured =
                measure(&subjects, repetition, &mut processes, &mut Silent, &interrupted);
            let order = folder.join("order");
            let ran = std::fs::read_to_string(&order).unwrap();
            std::fs::remove_file(order).unwrap();
            (ran, measured.runs.map_err(|error| error.to_string()))
        };
        let (order, runs) = ran(&["true {n}", "sh -c 'exit 0' {n}"]);
        assert_eq!(runs.unwrap().iter().map(Vec::len).collect::<Vec<_>>(), [2; 4]);
        let (there, back) = ("p1 p2 p1 p2", "p2 p1 p2 p1");
        assert_eq!(order, format!("s1 s2 s1 s2 {there} {there} {back} c1 c2 c1 c2 "));
        let (order, runs) = ran(&["test {n} = 1"]);
        let error = "`test 2 = 1` failed in warm-up run 1: exit status: 1\nhint: repair it";
        assert_eq!((order.as_str(), runs), ("s1 s2 p1 p2 c1 c2 ", Err(error.to_owned())));
        std::fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn setups_come_before_all_runs_and_cleanups_after_them() {
        let expected =
            "setup 1, setup 2, run a, run b, run c, run c, run b, run a, cleanup 3, cleanup 4";
        let all = ran(&[["a", "1", "3"], ["b", "2", ""], ["c", "", "4"]], 2);
        assert_eq!(all, (expected.into(), true, 0));
    }

    #[test]
    fn after_a_setup_that_fails_no_command_runs_and_what_was_started_is_cleaned_up() {
        let expected = "setup 1, setup fail, cleanup 4, cleanup 5";
        let all = ran(&[["a", "1", "4"], ["b", "fail", "5"], ["c", "3", "6"]], 2);
        assert_eq!(all, (expected.into(), false, 0));
    }

    #[test]
    fn cleanups_run_after_a_run_or_a_cleanup_that_failed() {
        let all = ran(&[["a", "", "fail"], ["fail", "", "2"], ["c", "", "3"]], 2);
        assert_eq!(all, ("run a, run fail, cleanup fail, cleanup 2, cleanup 3".into(), false, 1));
        let all = ran(&[["a", "", "fail"], ["b", "", "2"]], 1);
        assert_eq!(all, ("run a, run b, cleanup fail, cleanup 2".into(), true, 1));
    }

    #[test]
    fn cleanups_run_after_an_interruption_and_a_further_one_ends_them() {
        let all = ran(&[["stop", "", "1"], ["b", "", "2"]], 2);
        assert_eq!(all, ("run stop, cleanup 1, cleanup 2".into(), false, 0));
        let all = ran(&[["a", "stop", "1"], ["b", "", "2"]], 2);
        assert_eq!(all, ("setup stop, cleanup 1".into(), false, 0));
        let all = ran(&[["a", "", "1"], ["b", "", "stop"], ["c", "", "3"]], 1);
        assert_eq!(all, ("run a, run b, run c, cleanup 1, cleanup stop".into(), false, 2));
    }
}
