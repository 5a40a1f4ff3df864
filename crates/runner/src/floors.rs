//! The cost of hand-overs without any program, measured between the variants of the same run: of one by a mechanism
//! alone, and of the chain of a whole cycle.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_probe::chain::{self, Chain};
use hemiola_probe::hand_over::{self, Circumstances, Mechanism};
use hemiola_probe::{Load, Peers, Setting};
use hemiola_scenario::{Process, Release, Task, Variant};
use hemiola_trace::result::{Floor, VariantRecord};
use hemiola_units::{Granted, Policy, Priority, Rate, Refusal, Span};

use crate::kernel;
use crate::run::{Context, Progress};

/// Priority of the process that asks; the process that answers has one less.
const PRIORITY: u8 = 80;
/// Hand-overs each way measured back to back before each variant.
const BACK_TO_BACK: u64 = 1_000;
/// Hand-overs each way, and chains, measured at the variant's rate before each variant, within the time below.
const AT_RATE_MAX: u64 = 500;
/// Approximate limit of the time that each of these measurements takes before each variant.
const AT_RATE_SECONDS: f64 = 0.6;

/// How many samples at this rate there is time for.
fn samples_at(rate: Rate) -> u64 {
    ((AT_RATE_SECONDS * rate.hertz()) as u64).clamp(10, AT_RATE_MAX)
}

/// Hand-overs each way in one reading of the cost of recording the kernel.
const PRICE_COUNT: u64 = 400;
/// A round has four such readings; there is one before each variant, up to this many.
const PRICE_ROUNDS_MAX: usize = 20;

/// Readings of one hand-over, ns: without recording the kernel, twice with it, and without.
fn price_round(setting: &Setting, mechanism: &Mechanism) -> Result<[f64; 4], String> {
    let reading = || {
        let samples =
            hand_over::measure(setting, mechanism, Circumstances::BackToBack, PRICE_COUNT);
        let samples = samples.map_err(|error| error.to_string())?;
        let middle = |mut samples: Vec<u64>| {
            samples.sort_unstable();
            samples.get(samples.len() / 2).copied().unwrap_or(0) as f64
        };
        Ok::<f64, String>(f64::midpoint(middle(samples.down), middle(samples.up)))
    };
    let first = reading()?;
    let recorded = kernel::record_and_discard().map_err(|error| error.to_string())?;
    let with = [reading()?, reading()?];
    drop(recorded);
    Ok([first, with[0], with[1], reading()?])
}

/// One-way times in ns by mechanism, circumstances and direction.
#[derive(Debug, Default)]
pub(crate) struct Floors {
    samples: BTreeMap<(String, &'static str, &'static str), Vec<u64>>,
    /// Medians of a hand-over without recording the kernel and with it, A B B A.
    price: Vec<f64>,
    noted: Vec<String>,
    /// The requests that were refused to processes of floors, and reported.
    refused: BTreeSet<String>,
}

impl Floors {
    /// Measures the mechanism of this variant's hand-overs on the processor where its loop runs, and their chain.
    pub(crate) fn measure(
        &mut self,
        context: &Context<'_>,
        variant: &Variant,
        record: &mut VariantRecord,
        progress: &mut dyn Progress,
    ) {
        let mechanism = match record.hand_over_mechanism.as_str() {
            "futex" => Some(Mechanism::Futex),
            "mq" => Some(Mechanism::MessageQueue),
            "pubsub" => Some(Mechanism::PubSub),
            _ => None,
        };
        let Ok(program) = crate::launch::own_executable() else { return };
        let is_pinned = |process: &&Process| matches!(process.task.word(), "io" | "workload");
        let cpu = variant
            .processes
            .iter()
            .find(is_pinned)
            .and_then(|process| process.profile.cpus.as_ref()?.iter().next())
            .unwrap_or(0);
        let priority = Priority::try_from(PRIORITY).expect("it is a priority");
        let setting = Setting {
            cpu,
            other_cpu: None,
            scheduling: Policy::Fifo { priority },
            load: Load::Idle,
            peers: Peers { program, arguments: vec![crate::subcommand::PROBE.into()] },
            calibration: context.calibration,
            directory: std::env::temp_dir(),
        };
        progress.tick(0.0, "measuring what a hand-over costs");
        if context.records_kernel && self.price.len() < 4 * PRICE_ROUNDS_MAX {
            let mechanism = mechanism.as_ref().unwrap_or(&Mechanism::Futex);
            // An incomplete round would change the order of all rounds that follow.
            match price_round(&setting, mechanism) {
                Ok(round) => self.price.extend(round),
                Err(reason) => self.note(
                    format!("the cost of recording the kernel was not measured: {reason}"),
                    progress,
                ),
            }
        }
        let Some(mechanism) = mechanism else { return };
        // Under the same circumstances as the program that it is compared with.
        let recorded = context.records_kernel.then(kernel::record_and_discard).transpose();
        if let Err(error) = &recorded {
            self.note(format!("the floors were not measured: {error}"), progress);
            return;
        }
        let circumstances = [
            ("back-to-back", Circumstances::BackToBack, BACK_TO_BACK),
            ("at-rate", Circumstances::AtRate(variant.rate), samples_at(variant.rate)),
        ];
        for (name, circumstances, count) in circumstances {
            if context.is_interrupted() {
                return;
            }
            match hand_over::measure(&setting, &mechanism, circumstances, count) {
                Ok(samples) => {
                    self.note_refusals(&samples.granted, progress);
                    for (direction, samples) in [("down", samples.down), ("up", samples.up)] {
                        let key = (record.hand_over_mechanism.clone(), name, direction);
                        self.samples.entry(key).or_default().extend(samples);
                    }
                }
                Err(error) => {
                    self.note(
                        format!(
                            "the floor of {} was not measured: {error}",
                            record.hand_over_mechanism
                        ),
                        progress,
                    );
                }
            }
        }
        if !context.is_interrupted() {
            self.measure_chain(&setting, variant, record, progress);
        }
    }

    /// Measures the chain of this variant's hand-overs.
    fn measure_chain(
        &mut self,
        setting: &Setting,
        variant: &Variant,
        record: &mut VariantRecord,
        progress: &mut dyn Progress,
    ) {
        let Some(chain) = chain_of(variant) else { return };
        match chain::measure(setting, &chain, samples_at(variant.rate)) {
            Ok(times) => {
                self.note_refusals(&times.granted, progress);
                record.chain_ns.extend(times.nanos);
            }
            Err(error) => {
                let name = &record.name;
                self.note(format!("the floor of {name} was not measured: {error}"), progress);
            }
        }
    }

    /// Reports each kind of refusal once: its reason has figures that differ from process to process.
    fn note_refusals(&mut self, granted: &Granted, progress: &mut dyn Progress) {
        for Refusal { asked, because, remedy } in &granted.refusals {
            if self.refused.insert(asked.clone()) {
                progress.note(&format!(
                    "the floors were measured without {asked}, which was refused: {because}; {remedy}"
                ));
            }
        }
    }

    /// Reports a note once.
    fn note(&mut self, note: String, progress: &mut dyn Progress) {
        if !self.noted.contains(&note) {
            progress.note(&note);
            self.noted.push(note);
        }
    }

    /// The readings of the cost of recording the kernel, in their order.
    pub(crate) fn price(&self) -> &[f64] {
        &self.price
    }

    pub(crate) fn records(&self) -> Vec<Floor> {
        self.samples
            .iter()
            .filter(|(_, samples)| !samples.is_empty())
            .map(|((mechanism, circumstances, direction), samples_ns)| Floor {
                mechanism: mechanism.clone(),
                direction: (*direction).into(),
                circumstances: (*circumstances).into(),
                samples_ns: samples_ns.clone(),
            })
            .collect()
    }
}

/// The chain of a variant's hand-overs: over channels of the same kind, with the leads of the I/O process and of the
/// process that answers it. `None` for a variant without hand-overs.
fn chain_of(variant: &Variant) -> Option<Chain> {
    let find = |is_wanted: fn(&Task) -> bool| {
        variant.processes.iter().find(|process| is_wanted(&process.task))
    };
    let io = find(|task| matches!(task, Task::Io { .. }))?;
    let answering = find(|task| matches!(task, Task::Decision | Task::Controller { .. }));
    let channel = variant.channel(io.sends.first()?)?;
    let hand_overs = variant.hand_overs();
    (hand_overs.down > 0 && !hand_overs.mechanism.is_empty()).then(|| Chain {
        endpoint: channel.endpoint.clone(),
        delivery: channel.delivery,
        down: hand_overs.down,
        up: hand_overs.up,
        rate: variant.rate,
        leads: [lead(io), answering.map_or(Span::ZERO, lead)],
    })
}

const fn lead(process: &Process) -> Span {
    match process.release {
        Release::Every { lead, .. } | Release::On { lead, .. } => lead,
        Release::Federation | Release::Own => Span::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps the notes.
    struct Notes(Vec<String>);

    impl Progress for Notes {
        fn begin(&mut self, _: &str, _: usize, _: usize) {}
        fn tick(&mut self, _: f64, _: &str) {}
        fn note(&mut self, note: &str) {
            self.0.push(note.to_owned());
        }
    }

    #[test]
    fn a_refusal_is_noted_once_whatever_its_figures_are() {
        let refusal = |asked: &str, because: &str| Refusal {
            asked: asked.into(),
            because: because.into(),
            remedy: "raise it".into(),
        };
        let granted = |refusals| Granted {
            scheduling: Policy::Other { nice: 0 },
            cpus: "0".parse().unwrap(),
            lock_memory: false,
            prefault_stack: hemiola_units::Bytes(0),
            refusals,
        };
        let (mut floors, mut notes) = (Floors::default(), Notes(Vec::new()));
        for mapped in ["59480KiB are mapped", "59472KiB are mapped"] {
            let refusals = vec![refusal("locked memory", mapped), refusal("FIFO 80", "no right")];
            floors.note_refusals(&granted(refusals), &mut notes);
        }
        assert_eq!(
            notes.0,
            [
                "the floors were measured without locked memory, which was refused: 59480KiB are mapped; raise it",
                "the floors were measured without FIFO 80, which was refused: no right; raise it",
            ]
        );
    }
}
