//! The fault campaign: the outcomes of every kind of fault are counted, without and with the decision module.
//!
//! Faults of a controller's output are simulated, many times faster than real time. Faults of a process
//! are injected into real processes: a unit of the scenario's Simplex variant, or the controller of its variant
//! without a decision module.

use std::collections::BTreeMap;
use std::fs;

use hemiola_plant::Settings as PlantSettings;
use hemiola_record::FolderError;
use hemiola_rt::sys::process::{Signal, signal_group};
use hemiola_scenario::{Campaign, ProcessFaults, SimulatedFaults, UnitProgram, UnitState, Variant};
use hemiola_simplex::campaign::Campaign as Simulation;
use hemiola_simplex::fault::FaultKind;
use hemiola_simplex::simulate::Outcome;
use hemiola_simplex::{Fault, Gain, REASONS};
use hemiola_trace::event::source;
use hemiola_trace::result::{FaultFigures, FaultRecord, KernelRun, Role, RunRecord};
use hemiola_trace::{Entry, EventKind, perfetto};
use hemiola_units::Span;

use crate::RunError;
use crate::journal::Journal;
use crate::run::{Context, Progress};
use crate::stage::Stage;
use crate::tasks::Fault as Injected;

/// How long a stopped process stays stopped.
const STOPPED: Span = Span::from_millis(500);

/// Runs a campaign: the simulated kinds of fault, then those of real processes.
pub(crate) fn run(
    context: &Context<'_>,
    campaign: &Campaign,
    journal: &mut Journal<'_>,
    progress: &mut dyn Progress,
) -> Result<(), RunError> {
    let simulated = campaign.simulated.as_ref().map_or(0, |faults| faults.kinds.len());
    let real = campaign.process.as_ref().map_or(0, |faults| faults.kinds.len());
    let total = simulated + real;
    if let Some(faults) = &campaign.simulated {
        for (index, &kind) in faults.kinds.iter().enumerate() {
            progress.begin(kind.name(), index + 1, total);
            let record = simulate(context, faults, kind, progress)?;
            context.check_interruption()?;
            journal.add_fault(record)?;
        }
    }
    if let Some(faults) = &campaign.process {
        journal.save_under_way()?;
        for (index, &kind) in faults.kinds.iter().enumerate() {
            progress.begin(kind.name(), simulated + index + 1, total);
            let record = inject(context, faults, kind, progress)?;
            context.check_interruption()?;
            journal.add_fault(record)?;
        }
    }
    Ok(())
}

fn simulate(
    context: &Context<'_>,
    faults: &SimulatedFaults,
    kind: FaultKind,
    progress: &mut dyn Progress,
) -> Result<FaultRecord, RunError> {
    let failed = |reason: String| RunError::Start { process: kind.name().to_owned(), reason };
    let plant = context.plan.plant.clone().unwrap_or_default();
    let simulation = Simulation {
        plant: PlantSettings { seed: context.plan.seed, ..plant },
        period: faults.rate.period(),
        decision: faults.decision.clone(),
        gain: faults.gain,
        fault_from: faults.fault_after,
        duration: faults.duration,
        seed: context.plan.seed,
        ..Simulation::default()
    };
    let mut count = |with: bool| {
        let mut tally = Tally::default();
        for run in 0..faults.runs {
            if context.is_interrupted() {
                break;
            }
            let outcome = simulation.run_once(kind, with, run);
            tally.add_simulated(&outcome.map_err(|e| failed(e.to_string()))?, faults.fault_after);
            let doing = if with { "with the decision module" } else { "without" };
            let half = if with { 0.5 } else { 0.0 };
            progress.tick(half + 0.5 * f64::from(run + 1) / f64::from(faults.runs), doing);
        }
        Ok::<_, RunError>(Some(tally.figures()))
    };
    let without = count(false)?;
    let with = count(true)?;
    Ok(FaultRecord { kind: kind.name().to_owned(), process: false, with, without, kernel: None })
}

fn inject(
    context: &Context<'_>,
    faults: &ProcessFaults,
    kind: FaultKind,
    progress: &mut dyn Progress,
) -> Result<FaultRecord, RunError> {
    let variant = |name: &Option<String>| name.as_ref().and_then(|name| context.plan.variant(name));
    let mut kernel: Option<KernelRun> = None;
    let mut count =
        |variant: Option<&Variant>, part: f64| -> Result<Option<FaultFigures>, RunError> {
            let Some(variant) = variant else { return Ok(None) };
            let mut tally = Tally::default();
            for number in 1..=faults.runs {
                if context.is_interrupted() {
                    break;
                }
                let after = faults.fault_after;
                let injected = Injection::of_campaign(kind, after, u64::from(number), variant);
                let mut scaled = Scaled { progress, part, run: number - 1, runs: faults.runs };
                let times = (Span::ZERO, faults.duration);
                let trace = format!("{}-{}", variant.name, kind.name());
                let stage = Stage::prepare_with(context, variant, number, injected, times, &trace)?;
                let (record, ended_early) = stage.run(&mut scaled);
                if let Some(error) = ended_early {
                    return Err(error);
                }
                tally.add(context, variant, &record, after)?;
                kernel = kernel.into_iter().chain(record.kernel).reduce(KernelRun::and);
            }
            Ok(Some(tally.figures()))
        };
    let without = count(variant(&faults.without), 0.0)?;
    let with = count(variant(&faults.with), 0.5)?;
    Ok(FaultRecord { kind: kind.name().to_owned(), process: true, with, without, kernel })
}

/// The progress of one run among several of a kind.
struct Scaled<'p> {
    progress: &'p mut dyn Progress,
    part: f64,
    run: u32,
    runs: u32,
}

impl Progress for Scaled<'_> {
    fn begin(&mut self, _part: &str, _number: usize, _of: usize) {}
    fn tick(&mut self, fraction: f64, doing: &str) {
        let done = (f64::from(self.run) + fraction) / f64::from(self.runs);
        self.progress.tick(self.part + 0.5 * done, doing);
    }
    fn note(&mut self, note: &str) {
        self.progress.note(note);
    }
}

/// Figures of the runs of one kind with real processes.
#[derive(Default)]
struct Tally {
    runs: u64,
    lost: u64,
    earliest_loss: Option<Span>,
    peak_v: f64,
    /// Cycles until a fault was found, in the runs in which one was.
    detections: Vec<u64>,
    found_as: BTreeMap<String, u64>,
    false_switches: u64,
}

impl Tally {
    fn add_simulated(&mut self, outcome: &Outcome, after: Span) {
        self.runs += 1;
        self.peak_v = self.peak_v.max(outcome.peak_v);
        self.add_loss(outcome.lost_at, after);
        self.add_found(outcome.found);
        self.false_switches += outcome.false_switches;
    }

    fn add_found(&mut self, found: Option<(Fault, u64)>) {
        let Some((fault, after)) = found else { return };
        self.detections.push(after);
        *self.found_as.entry(fault.name().to_owned()).or_default() += 1;
    }

    fn add_loss(&mut self, at: Option<Span>, after: Span) {
        let Some(at) = at else { return };
        self.lost += 1;
        let loss = at - after;
        self.earliest_loss = Some(self.earliest_loss.map_or(loss, |earliest| earliest.min(loss)));
    }

    fn add(
        &mut self,
        context: &Context<'_>,
        variant: &Variant,
        record: &RunRecord,
        after: Span,
    ) -> Result<(), RunError> {
        self.runs += 1;
        self.peak_v = self.peak_v.max(record.peak_v);
        self.add_loss(record.fallen_after, after);
        let path = context.folder.join(&record.trace);
        let bytes = fs::read(&path).map_err(|source| FolderError::Write { path, source })?;
        let (trace, _) = perfetto::read(&bytes);
        let from = cycle_at(variant, after);
        let entries = trace.tracks.iter().flat_map(|track| &track.entries);
        self.add_found(found(entries.clone(), from));
        self.false_switches += entries.filter(|entry| is_false_switch(entry, from)).count() as u64;
        Ok(())
    }

    fn figures(self) -> FaultFigures {
        let detected = self.detections.len() as f64;
        FaultFigures {
            runs: self.runs,
            lost: self.lost,
            earliest_loss_ns: self.earliest_loss.map(|span| span.nanos().max(0) as u64),
            peak_v: self.peak_v,
            detection_cycles: (detected > 0.0)
                .then(|| self.detections.iter().sum::<u64>() as f64 / detected),
            found_as: self.found_as,
            false_switches: self.false_switches,
        }
    }
}

/// The first fault of a unit that the decision module found, and the cycles from the injected fault until then.
fn found<'e>(entries: impl Iterator<Item = &'e Entry>, from: u64) -> Option<(Fault, u64)> {
    let of_unit = entries.filter(|entry| entry.kind == EventKind::Fault && entry.a != u64::MAX);
    let blamed = of_unit.filter_map(|entry| {
        let fault = Fault::from_code(entry.arg).filter(|fault| fault.blames())?;
        Some((fault, u64::from(entry.cycle).checked_sub(from)?))
    });
    blamed.min_by_key(|(_, after)| *after)
}

/// Whether a unit lost control because of a fault before the injected fault began.
fn is_false_switch(entry: &Entry, from: u64) -> bool {
    let for_fault = REASONS.iter().any(|(code, _)| *code == entry.arg && *code > 100);
    entry.kind == EventKind::Switch
        && for_fault
        && u64::from(entry.cycle) < from
        && u16::try_from(entry.a).is_ok_and(|before| source::slot(before).is_some())
}

/// The cycle that is released at this time of the run.
fn cycle_at(variant: &Variant, after: Span) -> u64 {
    (after.nanos().max(0) as u64).div_ceil(variant.rate.period().nanos() as u64)
}

/// A fault to come in one run, in a unit or by the runner.
#[derive(Clone, Debug)]
pub(crate) struct Injection {
    kind: FaultKind,
    slot: usize,
    after: Span,
    fault: Injected,
    next: u32,
}

impl Injection {
    fn new(kind: FaultKind, slot: usize, after: Span, seed: u64, variant: &Variant) -> Self {
        let accept_below = variant.decision.as_ref().map_or(1.0, |decision| decision.accept_below);
        let fault = Injected { kind, from_cycle: cycle_at(variant, after), accept_below, seed };
        Self { kind, slot, after, fault, next: 0 }
    }

    /// The faults of a run of a campaign: one in the active unit, or the same in two units.
    fn of_campaign(kind: FaultKind, after: Span, seed: u64, variant: &Variant) -> Vec<Self> {
        let active =
            variant.units.iter().position(|unit| unit.state == UnitState::Active).unwrap_or(0);
        let mut slots = vec![active];
        if kind == FaultKind::TwoTogether && variant.units.len() > 1 {
            slots.push((active + 1) % variant.units.len());
        }
        slots.into_iter().map(|slot| Self::new(kind, slot, after, seed, variant)).collect()
    }

    /// The faults that a scenario gives its units.
    pub(crate) fn of_scenario(variant: &Variant, seed: u64) -> Vec<Self> {
        let faults = variant.units.iter().enumerate().filter_map(|(slot, unit)| {
            let fault = unit.fault.as_ref()?;
            Some(Self::new(fault.kind, slot, fault.after, seed, variant))
        });
        faults.collect()
    }

    /// The fault that the only controller carries out itself. Where no other can replace it, a replacement is the
    /// end of the old one, and a second failing unit changes nothing.
    pub(crate) fn in_controller(&self) -> Option<Injected> {
        let kind = match self.kind {
            FaultKind::StopContinue | FaultKind::None => return None,
            FaultKind::ReplaceLoop | FaultKind::FailureDuringReplacement => FaultKind::Crash,
            kind => kind,
        };
        Some(Injected { kind, ..self.fault.clone() })
    }

    /// The fault that the unit in this slot carries out itself.
    pub(crate) fn in_unit(&self, slot: usize) -> Option<Injected> {
        let by_runner = matches!(
            self.kind,
            FaultKind::StopContinue
                | FaultKind::None
                | FaultKind::ReplaceLoop
                | FaultKind::FailureDuringReplacement
        );
        (slot == self.slot && !by_runner).then(|| self.fault.clone())
    }

    /// Injects the faults that come from outside the unit, when they are due.
    pub(crate) fn tick(&mut self, stage: &mut Stage<'_>, elapsed: Span) {
        if elapsed < self.after {
            return;
        }
        match self.kind {
            FaultKind::StopContinue => {
                let mut victims = stage
                    .members()
                    .iter()
                    .filter(|m| matches!(m.kind.role, Role::Unit | Role::Controller));
                let Some(pid) = victims.nth(self.slot).map(|member| member.launched.pid()) else {
                    return;
                };
                if self.next == 0 {
                    let _ = signal_group(pid, Signal::STOP);
                    self.next = 1;
                } else if self.next == 1 && elapsed > self.after + STOPPED {
                    let _ = signal_group(pid, Signal::CONT);
                    self.next = 2;
                }
            }
            // As soon as one replacement is done, the next begins.
            FaultKind::ReplaceLoop => self.replace(stage, None),
            FaultKind::FailureDuringReplacement if self.next == 0 => {
                let fault =
                    Injected { kind: FaultKind::Crash, from_cycle: 0, ..self.fault.clone() };
                self.replace(stage, Some(fault));
            }
            _ => {}
        }
    }

    fn replace(&mut self, stage: &mut Stage<'_>, fault: Option<Injected>) {
        let Some(unit) = stage.variant().units.get(self.slot) else { return };
        let UnitProgram::Gain(gain) = &unit.program else { return };
        let (gain, first): (Gain, String) = (*gain, unit.name.clone());
        stage.with_units(|units, stage| {
            if !units.is_idle() {
                return;
            }
            let name = |n: u32| if n == 0 { first.clone() } else { format!("{first}-{n}") };
            if units
                .replace_by_itself(stage, &name(self.next), &name(self.next + 1), gain, fault)
                .is_ok()
            {
                self.next += 1;
            }
        });
    }
}
