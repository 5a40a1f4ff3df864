//! `hemiola measure`: this machine's figures of merit, commands, experiments, and comparisons of machines.

mod command;
mod link;
mod recorded;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use hemiola_diagnostic::{Problem, render};
use hemiola_measure::command::Processes;
use hemiola_measure::experiment::{self, ExperimentError, Own, Report};
use hemiola_measure::link::{WithLink, catalogue};
use hemiola_measure::set::{self, Budget};
use hemiola_measure::{
    Alone, Interrupted, Probes, ReadingSource, Series, Survey, identity, kernel_caches, recovery,
    report,
};
use hemiola_model::machine::{FILE_NAME, Machine, MachineError};
use hemiola_probe::{FigureOfMerit, Load, Peers, Setting};
use hemiola_record::{Folder, FolderError, conditions};
use hemiola_report::json::pretty;
use hemiola_report::terminal;
use hemiola_report::text::counted;
use hemiola_rt::clock::{Calibration, MonotonicClock};
use hemiola_rt::sys::cpu;
use hemiola_runner::subcommand;
use hemiola_trace::result::Conditions;
use hemiola_units::{Policy, Priority};

use crate::args::{self, CompareMachines, Measure, Measuring, Set};
use crate::diagnostics::{Failure, gate, shown};
use crate::progress::Progress;
use crate::report::{PAGE, SUMMARY};
use crate::run::{default_folder, interruption, name, now_unix_s};

use link::connect;

/// What to do about a command of an experiment that fails.
const FAILURE_HINT: &str = "sh -c 'COMMAND || true' measures a command that fails";

/// Real-time priority of the measuring threads unless an experiment sets another.
const PRIORITY: u8 = 80;

pub(crate) fn measure(args: Measure) -> Result<ExitCode, Failure> {
    match args.action {
        None => survey(&args.set),
        Some(Measuring::Experiment { path, output, machine, gate: is_gate }) => {
            let report = experiment(&path, output.as_deref(), machine.as_deref())
                .map_err(Failure::apart_from_verdicts)?;
            Ok(gate(is_gate, &report.failures()))
        }
        Some(Measuring::Command(args)) => command::command(&args),
        Some(Measuring::Link(args)) => link::link(&args),
        Some(Measuring::Compare(args)) => compare(&args),
    }
}

/// Measures a set of figures and writes them into a folder.
fn survey(args: &Set) -> Result<ExitCode, Failure> {
    let figures = set::select(hemiola_probe::catalogue(), args.quick, &args.only)
        .map_err(|error| Failure::bad_input(format!("error: {error}")))?;
    let interrupted = interruption()?;
    let _alone = Alone::on_this_machine().map_err(Failure::failed)?;
    let folder = folder(args.output.as_deref(), "measure")?;
    let calibration = Calibration::measure();
    let mut known = read_conditions(calibration);
    let started = now_unix_s();
    let priority = Priority::try_from(PRIORITY).expect("it is a priority");
    let setting = Setting {
        load: load(args.load),
        scheduling: Policy::Fifo { priority },
        ..setting(None, calibration)?
    };
    let (load, cpu) = (setting.load, setting.cpu);
    let mut source = Probes::start(setting).map_err(Failure::failed)?;

    let series = read(&figures, &mut source, args.quick, &interrupted)?;
    let meanwhile = source.meanwhile();
    drop(source);
    conditions::finish(&mut known);
    let survey = Survey::of(&series, started, known, load, meanwhile, kernel_caches(cpu));
    let folder = write(folder, &survey)?;
    let (tables, conditions) = (report::tables(&survey), report::conditions(&survey));
    print!("{}", terminal::document("Figures of merit", &tables, &survey.notes, &conditions));
    println!("{}", folder.display());
    Ok(ExitCode::SUCCESS)
}

/// Reads figures and shows the progress.
fn read(
    figures: &[FigureOfMerit],
    source: &mut dyn ReadingSource,
    is_quick: bool,
    interrupted: &AtomicBool,
) -> Result<Vec<Series>, Failure> {
    let budget = if is_quick { Budget::QUICK } else { Budget::FULL };
    let mut progress = Progress::new();
    let figures_counted = counted(figures.len() as u64, "figure");
    progress.print(&format!("{figures_counted}, at most about {}", budget.time));
    let series = hemiola_measure::measure(
        figures,
        source,
        budget,
        &MonotonicClock,
        &mut progress,
        interrupted,
    );
    progress.end();
    series.map_err(|error: Interrupted| Failure::interrupted(error))
}

/// Writes a survey into its folder and keeps it, if it has a figure.
fn write(folder: Folder, survey: &Survey) -> Result<PathBuf, Failure> {
    if survey.machine.figures.is_empty() {
        let reason = survey.missing.first().map_or("the set is empty", |first| &first.reason);
        return Err(Failure::failed(format!("no figure could be measured: {reason}")));
    }
    folder.write(FILE_NAME, survey.machine.write().as_bytes()).map_err(Failure::failed)?;
    folder.write_json(SUMMARY, &survey.summary()).map_err(Failure::failed)?;
    folder.write(PAGE, report::page(survey).as_bytes()).map_err(Failure::failed)?;
    if let Some(csv) = recovery::csv(&survey.machine.figures) {
        folder.write(recovery::FILE_NAME, csv.as_bytes()).map_err(Failure::failed)?;
    }
    Ok(folder.keep())
}

/// Runs an experiment, from its file to its verdict.
fn experiment(
    path: &Path,
    output: Option<&Path>,
    machine: Option<&Path>,
) -> Result<Report, Failure> {
    let file = if path.is_dir() { path.join("experiment.toml") } else { path.to_owned() };
    let text = fs::read_to_string(&file).map_err(|error| {
        let hint = "give an experiment file or a folder with an experiment.toml";
        Failure::unreadable(&file, error, hint)
    })?;
    let catalogue = [hemiola_probe::catalogue(), catalogue()].concat();
    let plan = experiment::read(&text, &experiment::known(&catalogue)).map_err(|problems| {
        Failure::bad_input(render(&problems, &text, &file.display().to_string()))
    })?;
    let beside = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let (recorded, problems) = recorded::recorded(&plan, beside.unwrap_or(Path::new("")))?;
    let calibration = Calibration::measure();
    let mut known = read_conditions(calibration);
    let machine = machine.map(|path| own_machine(path, &known)).transpose()?;
    let setting =
        Setting { load: plan.load, scheduling: plan.scheduling, ..setting(plan.cpu, calibration)? };

    let interrupted = interruption()?;
    let _alone = Alone::on_this_machine().map_err(Failure::failed)?;
    let folder = folder(output, &name(path))?;
    let started_unix_s = now_unix_s();
    let mut probes = Probes::start(setting).map_err(Failure::failed)?;
    let mut processes = Processes::new(FAILURE_HINT, &interrupted);
    processes.folder = beside.map(Path::to_owned);
    let mut link = plan.peer.as_deref().map(connect).transpose().map_err(Failure::failed)?;
    let mut figures = WithLink { others: &mut probes, link: link.as_mut() };
    let mut source = Own::new(&plan, &mut figures, &mut processes, &recorded);
    let mut progress = Progress::new();
    progress.print(&format!("{}: at most {}", plan.title, plan.within));
    let outcome = experiment::run(
        &plan,
        &catalogue,
        machine.as_ref(),
        &mut source,
        &MonotonicClock,
        &mut progress,
        &interrupted,
    );
    progress.end();
    let outcome = outcome.map_err(|error| match error {
        ExperimentError::Interrupted => Failure::interrupted(error),
        error => Failure::failed(error),
    })?;
    let meanwhile = probes.meanwhile();
    drop(probes);
    conditions::finish(&mut known);
    let report = Report {
        experiment: plan,
        outcome,
        started_unix_s,
        conditions: known,
        meanwhile,
        damage: problems.sentences(),
    };
    folder.write("experiment.toml", text.as_bytes()).map_err(Failure::failed)?;
    folder.write(SUMMARY, report.json().as_bytes()).map_err(Failure::failed)?;
    folder.write(PAGE, report.page().as_bytes()).map_err(Failure::failed)?;
    let folder = folder.keep();
    print!("{}", report.text());
    println!("{}", folder.display());
    Ok(report)
}

fn compare(args: &CompareMachines) -> Result<ExitCode, Failure> {
    let (a, b) = (read_machine(&args.a)?, read_machine(&args.b)?);
    let names = [args.a.display().to_string(), args.b.display().to_string()];
    let comparison = hemiola_measure::compare([&names[0], &names[1]], &a, &b);
    if args.json {
        print!("{}", pretty(&comparison));
    } else {
        println!("{}", terminal::table(&comparison.table()));
    }
    Ok(ExitCode::SUCCESS)
}

fn load(word: args::Load) -> Load {
    match word {
        args::Load::Idle => Load::Idle,
        args::Load::BusyNeighbour => Load::BusyNeighbour,
        args::Load::CachePolluter => Load::CachePolluter,
    }
}

fn read_conditions(calibration: Calibration) -> Conditions {
    let command_line = crate::args::command_line();
    let commit = option_env!("HEMIOLA_COMMIT").map(str::to_owned);
    conditions::read(calibration, true, commit, command_line)
}

/// The setting on `cpu`, or on the last processor, which usually has the least kernel work.
fn setting(cpu: Option<u16>, calibration: Calibration) -> Result<Setting, Failure> {
    let online: Vec<u16> = cpu::online().iter().collect();
    let last = online.last().copied().unwrap_or(0);
    let cpu = cpu.unwrap_or(last);
    if !online.contains(&cpu) {
        let all = cpu::online();
        return Err(Failure::bad_input(format!(
            "error: processor {cpu} is not online on this machine; online: {all}"
        )));
    }
    let program = std::env::current_exe().map_err(Failure::failed)?;
    Ok(Setting {
        cpu,
        other_cpu: online.into_iter().rfind(|other| *other != cpu),
        scheduling: Policy::Other { nice: 0 },
        load: Load::Idle,
        peers: Peers { program, arguments: vec![subcommand::PROBE.into()] },
        calibration,
        directory: std::env::temp_dir(),
    })
}

/// Creates the requested folder, or one named by date and time, before anything is measured.
fn folder(output: Option<&Path>, name: &str) -> Result<Folder, Failure> {
    if let Some(path) = output {
        return Folder::create(path).map_err(|error| Failure::unusable(&error));
    }
    loop {
        match Folder::create(&default_folder(name)) {
            // Another measurement took this name in the same second.
            Err(FolderError::InUse(_)) => {}
            outcome => return outcome.map_err(|error| Failure::unusable(&error)),
        }
    }
}

/// What to do without a machine file.
pub(crate) const MAKE_MACHINE_FILE: &str = "create it with `hemiola measure`";

/// Reads a machine file, or the one in a folder.
pub(crate) fn read_machine(given: &Path) -> Result<Machine, Failure> {
    let path: PathBuf = if given.is_dir() { given.join(FILE_NAME) } else { given.to_owned() };
    let shown = shown(&path);
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure::unreadable(&path, error, MAKE_MACHINE_FILE))?;
    Machine::read(&text).map_err(|error| match error {
        MachineError::Text { at: Some(at), message } => {
            let hint = format!("give a machine.toml; {MAKE_MACHINE_FILE}");
            Failure::bad_input(render(&[Problem::new(at, message).hint(hint)], &text, &shown))
        }
        error => Failure::bad_input(format!("error: {shown}: {error}")),
    })
}

/// Like [`read_machine`], but fails if the file describes another machine.
fn own_machine(given: &Path, conditions: &Conditions) -> Result<Machine, Failure> {
    let machine = read_machine(given)?;
    machine
        .must_be(&identity(conditions))
        .map_err(|error| Failure::bad_input(format!("error: {}: {error}", shown(given))))?;
    Ok(machine)
}
