//! `hemiola run`: runs a scenario, from its file to its report.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use hemiola_analyze::cycles::analysis::Analysis;
use hemiola_analyze::cycles::report::terminal;
use hemiola_record::FolderError;
use hemiola_report::table::Detail;
use hemiola_report::text::calendar;
use hemiola_rt::clock::unix_ns;
use hemiola_rt::privilege::Privileges;
use hemiola_rt::program;
use hemiola_rt::sys::cpu;
use hemiola_runner::{Options, Progress as _, RunError};
use hemiola_scenario::{Facts, Overrides, Plan};

use crate::args::Run;
use crate::diagnostics::{Failure, shown};
use crate::progress::Progress;
use crate::report;

/// How often the wait for a report looks for a signal.
const SIGNALS_CHECKED_EVERY: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &Run) -> Result<ExitCode, Failure> {
    let path = scenario_path(&args.scenario);
    let text = fs::read_to_string(&path).map_err(|error| {
        let hint = "give a scenario file or a folder with a scenario.toml";
        Failure::unreadable(&path, error, hint)
    })?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let overrides = Overrides {
        runs: args.runs,
        duration: args.duration,
        rate: args.rate,
        conversion_time: args.conversion_time,
        kernel: args.no_kernel.then_some(false),
    };
    let plan = read(&text, &path, &folder, &overrides)?;

    let interrupted = interruption()?;
    let mut options = Options {
        folder: args.output.clone().unwrap_or_else(|| default_folder(&name(&args.scenario))),
        scenario_folder: folder,
        scenario_text: text,
        command_line: crate::args::command_line(),
        commit: option_env!("HEMIOLA_COMMIT").map(str::to_owned),
    };
    let mut progress = Progress::new();
    plan.notes.iter().for_each(|note| progress.note(note));
    let outcome = loop {
        match hemiola_runner::run(&plan, options.clone(), &mut progress, &interrupted) {
            // Another run of this scenario took this name in the same second.
            Err(RunError::Folder(FolderError::InUse(_))) if args.output.is_none() => {
                options.folder = default_folder(&name(&args.scenario));
            }
            outcome => break outcome,
        }
    };
    progress.end();
    let outcome = outcome.map_err(|error| match error {
        RunError::Interrupted => {
            Failure::interrupted("interrupted before the first run began; nothing was kept")
        }
        RunError::Folder(error) => Failure::unusable(&error),
        error => Failure::failed(error),
    })?;
    if outcome.ended_early.is_some() {
        // The signal that ended the run does not end its report; another one does.
        interrupted.store(false, Ordering::Relaxed);
    }
    let made = make_report(&outcome.folder, &interrupted);
    if outcome.ended_early.is_some() || made.is_ok() {
        let analysis = made.as_ref().ok();
        let text = analysis.map(|analysis| terminal::render(&analysis.summary, Detail::Short));
        println!("{}{}", text.unwrap_or_default(), outcome.folder.display());
    }
    if let Some(error) = outcome.ended_early {
        return Err(early_end(&error, made.err()));
    }
    match made?.summary.failures.as_slice() {
        [] => Ok(ExitCode::SUCCESS),
        failures => Err(Failure::failed(failures.join("\nerror: "))),
    }
}

/// Makes the report in a thread, which a signal leaves behind when the process ends. Each file of the report is written
/// whole or not at all.
fn make_report(folder: &Path, interrupted: &AtomicBool) -> Result<Analysis, Failure> {
    let (sender, receiver) = mpsc::channel();
    let path = folder.to_owned();
    std::thread::spawn(move || sender.send(report::make(&path)).ok());
    loop {
        match receiver.recv_timeout(SIGNALS_CHECKED_EVERY) {
            Ok(made) => return made,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::failed("the report could not be made: its thread ended"));
            }
            Err(RecvTimeoutError::Timeout) if interrupted.load(Ordering::Relaxed) => {
                return Err(Failure::interrupted(format!(
                    "interrupted while the report was made: `hemiola report {}` makes it from what was recorded",
                    shown(folder)
                )));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The failure of a run that ended before its time. Its last line states the reason; what a process printed, and why
/// there is no report, stand before it.
fn early_end(error: &RunError, unreported: Option<Failure>) -> Failure {
    let text = error.to_string();
    text.lines().skip(1).for_each(|line| eprintln!("{line}"));
    if let Some(unreported) = unreported {
        unreported.report();
    }
    match error {
        RunError::Interrupted => Failure::interrupted(
            "interrupted: the folder contains everything until then, marked incomplete",
        ),
        _ => Failure::failed(error.headline()),
    }
}

fn scenario_path(given: &Path) -> PathBuf {
    if given.is_dir() { given.join("scenario.toml") } else { given.to_owned() }
}

/// Reads the plan from the text, or reports every problem at once.
fn read(text: &str, path: &Path, folder: &Path, overrides: &Overrides) -> Result<Plan, Failure> {
    let module = |file: &str| hemiola_runner::check_module(&folder.join(file));
    let facts = Facts {
        cpus_online: cpu::online(),
        priority_max: priority_max(),
        executable: &|program| executable(folder, program),
        module: hemiola_runner::HAS_SANDBOX.then_some(&module),
        universe: &|settings| hemiola_runner::check_universe(folder, settings),
    };
    hemiola_scenario::read(text, &facts, overrides).map_err(|problems| {
        Failure::bad_input(hemiola_diagnostic::render(&problems, text, &path.display().to_string()))
    })
}

/// The highest real-time priority this user may request (sched(7), "Privileges and resource limits").
fn priority_max() -> u8 {
    let privileges = Privileges::read();
    if privileges.sys_nice {
        99
    } else {
        privileges.real_time_priority.hard.unwrap_or(99).min(99) as u8
    }
}

/// Whether a program can be started: a path from the scenario's folder, or a name in `PATH`.
pub(crate) fn executable(folder: &Path, program: &str) -> bool {
    program::is_executable(&program::places(folder, program))
}

/// A flag that Ctrl-C, SIGTERM and a closed terminal set.
pub(crate) fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    set_by(ending_signals())
}

/// Like [`interruption`], but signals that this process was started to ignore stay ignored, and so do they in the
/// programs that it starts: a shell without job control starts its background jobs so.
pub(crate) fn interruption_unless_ignored() -> Result<Arc<AtomicBool>, Failure> {
    set_by(ending_signals_unless_ignored())
}

/// The signals of [`interruption_unless_ignored`].
pub(crate) fn ending_signals_unless_ignored() -> impl Iterator<Item = i32> {
    ending_signals().filter(|signal| !is_ignored(*signal))
}

/// A flag that these signals set.
fn set_by(signals: impl Iterator<Item = i32>) -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in signals {
        signal_hook::flag::register(signal, Arc::clone(&interrupted)).map_err(Failure::failed)?;
    }
    Ok(interrupted)
}

/// The signals that end a command in order. nohup(1) starts programs that a closed terminal does not end.
pub(crate) fn ending_signals() -> impl Iterator<Item = i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let signals = [SIGINT, SIGTERM, SIGHUP];
    signals.into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP))
}

/// Whether this process was started to ignore the signal (proc_pid_status(5), `SigIgn`).
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The name of a scenario or an experiment: its file without the extension, or its folder.
pub(crate) fn name(path: &Path) -> String {
    let named = if path.is_dir() { path.file_name() } else { path.file_stem() };
    named.map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned())
}

/// `results/NAME-DATE-TIME`, with a number appended if that exists.
pub(crate) fn default_folder(name: &str) -> PathBuf {
    let stamp = stamp(now_unix_s());
    let base = PathBuf::from("results").join(format!("{name}-{stamp}"));
    let numbered = (2..).map(|n| base.with_file_name(format!("{name}-{stamp}-{n}")));
    std::iter::once(base.clone()).chain(numbered).find(|path| !path.exists()).unwrap_or(base)
}

/// Seconds since 1970.
pub(crate) fn now_unix_s() -> u64 {
    unix_ns() / 1_000_000_000
}

/// Formats seconds since 1970 as `20260131-235959` in UTC.
fn stamp(seconds: u64) -> String {
    let [year, month, day, hour, minute, second] = calendar(seconds);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamp_is_utc_date_and_time() {
        assert_eq!(stamp(0), "19700101-000000");
        assert_eq!(stamp(951_827_696), "20000229-123456");
        assert_eq!(stamp(1_798_761_599), "20261231-235959");
    }
}
