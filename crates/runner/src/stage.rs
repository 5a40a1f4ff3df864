//! One run of one variant, in three parts: this file makes the kernel objects and starts the processes, `supervise`
//! watches them, `finish` stops them and makes the record. `describe` is the record of the variant before any run.
//!
//! A [`TaskKind`] holds all differences between tasks; nothing here knows a task.

mod describe;
mod finish;
mod stops;
mod supervise;

use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant as WallInstant};

use hemiola_scenario::{Process, Variant};
use hemiola_trace::Entry;
use hemiola_units::{Granted, Refusal, RtiAddress, Span};

use crate::RunError;
use crate::campaign::Injection;
use crate::collect::Collector;
use crate::kernel::Recording;
use crate::launch::{Finished, Launched, Message, describe as describe_exit};
use crate::run::Context;
use crate::spec::{NodeSpec, RunSpec};
use crate::tasks::{self, EarlyEnd, Equipment, Supplies, TaskKind};
use crate::units::Units;
use crate::wiring::Wiring;

use stops::Stops;

pub(crate) use describe::describe;

/// How long a process may take to prepare: opening, locking memory, warming up.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(20);

/// A process of the run.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) kind: &'static TaskKind,
    pub(crate) launched: Launched,
    pub(crate) granted: Option<Granted>,
    /// The user id of its own that it has.
    user: Option<u32>,
    pub(crate) finished: Option<Finished>,
    pub(crate) exit: Option<String>,
    /// Time since the first release when it was found to have ended before the run.
    ended_after: Option<Span>,
    /// Whether the run is over when it has done all its cycles.
    paces: bool,
    /// The consequence of its early end.
    pub(crate) early_end: EarlyEnd,
    /// Entries it has recorded when it was last seen to make progress, and when that was.
    progress: (u64, WallInstant),
    lost_events: u64,
}

/// A run of a variant, from its kernel objects to its record.
pub(crate) struct Stage<'r> {
    context: &'r Context<'r>,
    variant: &'r Variant,
    run: RunSpec,
    wiring: Wiring,
    members: Vec<Member>,
    units: Option<Units>,
    collector: Collector,
    trace: String,
    injected: Vec<Injection>,
    kernel: Option<Recording>,
    stops: Stops,
    /// Why the run ended early as a part of an experiment with faults.
    stopped_early: Option<String>,
    /// Where the RTI of a federation listens, once it does.
    rti: Option<RtiAddress>,
}

impl<'r> Stage<'r> {
    /// Starts every process and waits until all are prepared.
    pub(crate) fn prepare(
        context: &'r Context<'r>,
        variant: &'r Variant,
        number: u32,
    ) -> Result<Self, RunError> {
        let injected = Injection::of_scenario(variant, u64::from(number));
        let (warmup, duration) = (context.plan.warmup, context.plan.duration);
        Self::prepare_with(context, variant, number, injected, (warmup, duration), &variant.name)
    }

    /// The same with faults to come, another duration, and another name for the trace.
    pub(crate) fn prepare_with(
        context: &'r Context<'r>,
        variant: &'r Variant,
        number: u32,
        injected: Vec<Injection>,
        lengths: (Span, Span),
        name: &str,
    ) -> Result<Self, RunError> {
        let trace = format!("traces/{name}-{number}.pftrace");
        let wiring = Wiring::create(context, variant)?;
        let kernel = if context.records_kernel { "recorded" } else { "not recorded" };
        let about = [
            ("title", context.plan.title.clone()),
            ("program", variant.name.clone()),
            ("run", number.to_string()),
            ("period", variant.rate.period().to_string()),
            ("kernel's side", kernel.into()),
        ];
        let about = hemiola_record::conditions::for_trace(context.conditions, &about);
        let collector = Collector::create(&context.folder.join(&trace), variant, &about)?;
        let units = wiring.supervision.is_some().then(|| Units::new(variant));
        let (id, plan, calibration) = (&context.id, context.plan, context.calibration);
        let mut stage = Self {
            context,
            variant,
            run: RunSpec::new(id, plan, variant, number, lengths, calibration),
            wiring,
            members: Vec::new(),
            units,
            collector,
            trace,
            injected,
            kernel: None,
            stops: Stops::default(),
            stopped_early: None,
            rti: None,
        };
        for process in &variant.processes {
            let kind = tasks::kind(&process.task);
            let index = stage.launch(process, kind, kind.equip)?;
            if kind.is_ready_first {
                stage.await_ready(index)?;
            }
        }
        stage.try_with_units(Units::launch_first)?;
        for index in 0..stage.members.len() {
            stage.await_ready(index)?;
        }
        stage.await_sandboxed()?;
        stage.check_refusals()?;
        // Started last: the record is of the run, without the preparation.
        stage.kernel = context.records_kernel.then(Recording::start).transpose()?;
        Ok(stage)
    }

    /// Starts a process, which the guardian watches, with a recorder of its own. Returns its index.
    pub(crate) fn launch(
        &mut self,
        process: &Process,
        kind: &'static TaskKind,
        equip: impl for<'w> FnOnce(&Supplies<'w>) -> Equipment<'w>,
    ) -> Result<usize, RunError> {
        let (context, wiring) = (self.context, &self.wiring);
        let name = process.name.clone();
        let Equipment { facts, mut descriptors, sends, receives, limits } = equip(&Supplies {
            process,
            run: &self.run,
            wiring,
            injected: &self.injected,
            rti: self.rti.as_ref(),
            scenario_folder: context.scenario_folder,
        });
        let log = self.collector.log(&name)?;
        descriptors.extend(wiring.descriptors(&process.sends, &process.receives));
        if kind.is_ours {
            descriptors.extend(wiring.stop_descriptor());
            descriptors.push(log.fd());
        }
        let port = |channels: &[String]| wiring.port(channels.first()?);
        let spec = NodeSpec {
            run: self.run.clone(),
            facts,
            sends: sends.or_else(|| port(&process.sends)),
            receives: receives.or_else(|| port(&process.receives)),
            stop: wiring.stop_handle(),
            log: log.fd().as_raw_fd(),
            limits,
            process: process.clone(),
        };
        let paces = (kind.paces)(process, self.variant);
        let output = context.folder.join(format!("logs/{name}.log"));
        let launched = Launched::start(spec, &descriptors, &output)
            .map_err(|e| RunError::Start { process: name.clone(), reason: e.to_string() })?;
        drop(descriptors);
        let watched = context.guardian.borrow_mut().watch(launched.pid());
        watched.map_err(RunError::system("the guardian process"))?;
        self.collector.attach(&name, launched.pid(), log, kind)?;
        self.members.push(Member {
            name,
            kind,
            launched,
            granted: None,
            user: None,
            finished: None,
            exit: None,
            ended_after: None,
            paces,
            early_end: match kind.early_end {
                EarlyEnd::FailureWithoutFaults if !self.injected.is_empty() => EarlyEnd::Expected,
                early_end => early_end,
            },
            progress: (0, WallInstant::now()),
            lost_events: 0,
        });
        Ok(self.members.len() - 1)
    }

    fn await_ready(&mut self, index: usize) -> Result<(), RunError> {
        let limit = WallInstant::now() + PREPARE_TIMEOUT;
        while self.members[index].granted.is_none() {
            let ready = self.receive_ready(index, Duration::from_millis(20));
            if ready.map_err(|reason| self.not_started(index, reason))? {
                break;
            }
            // Federates wait for each other: the error names the process that failed, not one that waits for it.
            for other in 0..self.members.len() {
                if self.members[other].launched.ended().is_some() {
                    let ready = self.receive_ready(other, Duration::ZERO);
                    ready.map_err(|reason| self.not_started(other, reason))?;
                }
            }
            if WallInstant::now() > limit {
                let reason = format!("not ready after {} s", PREPARE_TIMEOUT.as_secs());
                return Err(self.not_started(index, reason));
            }
            if self.context.is_interrupted() {
                return Err(RunError::Interrupted);
            }
        }
        Ok(())
    }

    /// Waits until the sandboxed units that the variant begins with are prepared.
    fn await_sandboxed(&mut self) -> Result<(), RunError> {
        let limit = WallInstant::now() + PREPARE_TIMEOUT;
        while !self.with_units(Units::are_first_prepared).unwrap_or(Ok(true))? {
            if WallInstant::now() > limit {
                let reason = format!("not ready after {} s", PREPARE_TIMEOUT.as_secs());
                return Err(RunError::Start { process: "a sandboxed unit".into(), reason });
            }
            self.context.check_interruption()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn not_started(&self, index: usize, reason: String) -> RunError {
        RunError::Start { process: self.members[index].name.clone(), reason }
    }

    /// Receives that a process is ready, waiting for it at most this long. Returns whether it is.
    ///
    /// # Errors
    /// The reason, when it failed or has ended.
    pub(crate) fn receive_ready(
        &mut self,
        index: usize,
        timeout: Duration,
    ) -> Result<bool, String> {
        let member = &mut self.members[index];
        let ended = member.launched.ended();
        let reason = match (member.launched.receive(timeout), ended) {
            (Some(Message::Ready { granted, user, rti }), _) => {
                member.granted = Some(granted);
                member.user = user;
                self.rti = rti.or(self.rti.take());
                return Ok(true);
            }
            (Some(Message::Failed(reason)), _) => reason,
            (Some(_), _) => "it sent an unexpected message".into(),
            (None, None) => return Ok(false),
            (None, Some(status)) => {
                let output = output_tail(self.context, &member.name);
                format!("{} while preparing{output}", describe_exit(status))
            }
        };
        Err(reason)
    }

    fn check_refusals(&self) -> Result<(), RunError> {
        let refusals: Vec<(String, Refusal)> = self
            .members
            .iter()
            .flat_map(|member| {
                let granted = member.granted.iter().flat_map(|granted| &granted.refusals);
                granted.map(|refusal| (member.name.clone(), refusal.clone()))
            })
            .collect();
        if refusals.is_empty() || self.context.plan.allow_less {
            Ok(())
        } else {
            Err(RunError::Refused(refusals))
        }
    }

    /// The number of states of a plant that is not the pendulum.
    pub(crate) fn states(&self) -> Option<usize> {
        let plant = self.context.plan.plant.as_ref()?;
        plant.model.linear().map(|linear| linear.states.len())
    }

    pub(crate) fn variant(&self) -> &'r Variant {
        self.variant
    }

    pub(crate) fn wiring(&mut self) -> &mut Wiring {
        &mut self.wiring
    }

    pub(crate) fn injected(&self) -> &[Injection] {
        &self.injected
    }

    /// The folder that relative paths of the scenario start in.
    pub(crate) fn scenario_folder(&self) -> &'r Path {
        self.context.scenario_folder
    }

    pub(crate) fn members(&mut self) -> &mut [Member] {
        &mut self.members
    }

    /// Takes the events of the decision module since the last call.
    pub(crate) fn take_decided(&mut self) -> Vec<Entry> {
        self.collector.take_decided()
    }

    /// Kills the processes that processes of the run have left behind; returns whether there was none.
    pub(crate) fn end_strays(&mut self) -> bool {
        let running =
            |member: &mut Member| member.launched.ended().is_none().then(|| member.launched.pid());
        let mut known: Vec<u32> = self.members.iter_mut().filter_map(running).collect();
        known.push(self.context.guardian.borrow().pid());
        self.context.adoption.end_strays(&known)
    }

    /// Calls `action` with the variant's units, if it has a decision process, and with the rest of the stage.
    pub(crate) fn with_units<T>(
        &mut self,
        action: impl FnOnce(&mut Units, &mut Self) -> T,
    ) -> Option<T> {
        let mut units = self.units.take()?;
        let result = action(&mut units, self);
        self.units = Some(units);
        Some(result)
    }

    fn try_with_units(
        &mut self,
        action: impl FnOnce(&mut Units, &mut Self) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        self.with_units(action).unwrap_or(Ok(()))
    }
}

/// The end of what a process printed, indented on lines of its own; empty when it printed nothing.
fn output_tail(context: &Context<'_>, name: &str) -> String {
    const LINES: usize = 8;
    let text =
        fs::read_to_string(context.folder.join(format!("logs/{name}.log"))).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let tail = &lines[lines.len().saturating_sub(LINES)..];
    tail.iter().map(|line| format!("\n  {name}: {line}")).collect()
}
