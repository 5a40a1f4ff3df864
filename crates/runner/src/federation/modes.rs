//! The record of a mode of a federation, and the bare timer that runs before and after each of its runs.

use hemiola_scenario::{Process, Release, Task, Variant};
use hemiola_trace::result::{BareRun, FederateRecord, FederationRecord, VariantRecord};
use hemiola_units::Span;

use crate::RunError;
use crate::run::{Context, Progress};
use crate::stage::Stage;

/// The name of the bare timer's process.
const BARE: &str = "bare-timer";

/// The record of a mode before it has run.
pub(super) fn record(variant: &Variant, rti: &str) -> Option<FederationRecord> {
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
    Some(FederationRecord {
        sync: federation.sync,
        priority: federation.priority,
        affinity: federation.affinity,
        transport: federation.transport.word().into(),
        rti: rti.into(),
        master: federation.master.clone(),
        federates: variant.processes.iter().filter_map(federate).collect(),
        bare: Vec::new(),
    })
}

/// Runs a bare timer with the master's rate, profile and way of waiting, before or after a run of a mode, and adds it
/// to the mode's record. Does nothing when the scenario wants none, and records none that a signal cut short.
pub(crate) fn run_bare_timer(
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
    let (run, ended_early) = stage.run(progress);
    if let Some(error) = ended_early {
        return Err(error);
    }
    recorded.bare.push(BareRun {
        run: number,
        after,
        trace: run.trace,
        process: BARE.into(),
        warmup_cycles: run.warmup_cycles,
    });
    Ok(())
}

/// A timer in place of the master.
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
