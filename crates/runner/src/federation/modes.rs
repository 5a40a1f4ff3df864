//! Around the runs of a mode: the bare timer before and after, and what stands in the folder about it.

use hemiola_scenario::{Process, Release, Task, Variant};
use hemiola_trace::result::{
    BareRun, FederateRecord, FederationRecord, FederationRun, Role, VariantRecord,
};
use hemiola_units::Span;

use crate::RunError;
use crate::run::{Context, Progress};
use crate::stage::{Member, Stage};

/// The process of the bare timer.
const BARE: &str = "bare-timer";

/// What the folder says about a mode before it has run.
pub(crate) fn record(variant: &Variant) -> Option<FederationRecord> {
    let federation = variant.federation.as_ref()?;
    let federate = |process: &Process| {
        let Task::Federate(settings) = &process.task else { return None };
        let heard = |mid_cycle: bool| {
            let heard = federation.exchanges.iter().filter(move |exchange| {
                exchange.to == process.name && exchange.mid_cycle == mid_cycle
            });
            heard.map(|exchange| exchange.from.clone())
        };
        Some(FederateRecord {
            name: process.name.clone(),
            period: process.period,
            compute: settings.compute,
            hears: heard(false).collect(),
            hears_mid_cycle: heard(true).next(),
        })
    };
    let is_rti = |process: &&Process| matches!(process.task, Task::Rti { .. });
    Some(FederationRecord {
        sync: federation.sync,
        priority: federation.priority,
        affinity: federation.affinity,
        transport: federation.transport.word().into(),
        rti: variant.processes.iter().find(is_rti).map_or_else(String::new, |rti| rti.name.clone()),
        master: federation.master.clone(),
        federates: variant.processes.iter().filter_map(federate).collect(),
        bare: Vec::new(),
    })
}

/// What became of a federation, as its federates said at their end.
pub(crate) fn run_record(members: &[Member]) -> Option<FederationRun> {
    let federates = members.iter().filter(|member| member.role == Role::Federate);
    let finished: Vec<_> =
        federates.map(|member| member.finished.clone().unwrap_or_default()).collect();
    (!finished.is_empty()).then(|| FederationRun {
        trajectory: finished.iter().find_map(|finished| finished.trajectory),
        federates: finished.iter().map(|f| f.federate.unwrap_or_default()).collect(),
    })
}

/// Runs a bare timer with the master's rate, profile and way of waiting, before or after a run of a mode, and adds it
/// to the mode's record. Nothing when the scenario wants none, or a signal cut it short.
pub(crate) fn bare(
    context: &Context<'_>,
    variant: &Variant,
    record: &mut VariantRecord,
    number: u32,
    after: bool,
    progress: &mut dyn Progress,
) -> Result<(), RunError> {
    let (Some(federation), Some(recorded)) = (&variant.federation, &mut record.federation) else {
        return Ok(());
    };
    let Some(master) = variant.process(&federation.master) else { return Ok(()) };
    if !federation.bare.is_positive() || context.is_interrupted() {
        return Ok(());
    }
    let alone = Variant {
        name: BARE.into(),
        processes: vec![timer(master)],
        federation: None,
        ..variant.clone()
    };
    let warmup = context.plan.warmup.min(federation.bare / 4);
    let lengths = (warmup, federation.bare);
    let when = if after { "after" } else { "before" };
    let name = format!("{}-bare-{when}", variant.name);
    let stage = Stage::prepare_with(context, &alone, number, Vec::new(), lengths, &name)?;
    if let Some(run) = stage.run(progress)? {
        recorded.bare.push(BareRun {
            run: number,
            after,
            trace: run.trace,
            process: BARE.into(),
            warmup_cycles: run.warmup_cycles,
        });
    }
    Ok(())
}

/// The master without anything to do.
fn timer(master: &Process) -> Process {
    let Release::Every { rate, overrun, .. } = &master.release else {
        unreachable!("a checked plan's master has the timer")
    };
    Process {
        name: BARE.into(),
        task: Task::Timer,
        release: Release::Every { rate: *rate, overrun: *overrun, lead: Span::ZERO },
        ..master.clone()
    }
}
