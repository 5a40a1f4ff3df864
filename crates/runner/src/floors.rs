//! What one hand-over costs by a mechanism alone, measured between the variants of the same run.

use std::collections::BTreeMap;

use hemiola_probe::hand_over::{self, Circumstances, Mechanism};
use hemiola_probe::{Load, Peers, Setting};
use hemiola_scenario::{Process, Variant};
use hemiola_trace::result::{Floor, VariantRecord};
use hemiola_units::{Policy, Priority};

use crate::kernel;
use crate::run::{Context, Progress};

/// Priority of the process that asks; the one that answers is one below.
const PRIORITY: u8 = 80;
/// Hand-overs each way measured back to back before each variant.
const BACK_TO_BACK: u64 = 1_000;
/// Hand-overs each way measured at the variant's rate before each variant, as far as the time below allows.
const AT_RATE_MAX: u64 = 500;
/// The most time the measurement at rate may take before each variant, about.
const AT_RATE_SECONDS: f64 = 1.0;

/// Hand-overs each way of one reading of the price of the kernel's record.
const PRICE_COUNT: u64 = 400;
/// Readings of it are four a round, one round before each variant up to so many.
const PRICE_ROUNDS_MAX: usize = 20;

/// One hand-over, ns, without the kernel's record, twice with it, and without.
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
    let recorded = kernel::disturb().map_err(|error| error.to_string())?;
    let with = [reading()?, reading()?];
    drop(recorded);
    Ok([first, with[0], with[1], reading()?])
}

/// One-way times in ns by mechanism, circumstances and direction.
#[derive(Debug, Default)]
pub(crate) struct Floors {
    samples: BTreeMap<(String, &'static str, &'static str), Vec<u64>>,
    /// Medians of a hand-over without the kernel's record and with it, A B B A.
    price: Vec<f64>,
    noted: Vec<String>,
}

impl Floors {
    /// Measures what this variant's hand-overs stand on, where its loop runs.
    pub(crate) fn measure(
        &mut self,
        context: &Context<'_>,
        variant: &Variant,
        record: &VariantRecord,
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
            // A round that was not whole would turn the order of all that follow.
            match price_round(&setting, mechanism) {
                Ok(round) => self.price.extend(round),
                Err(reason) => self.note(format!("no price of recording: {reason}"), progress),
            }
        }
        let Some(mechanism) = mechanism else { return };
        // Under the same circumstances as the program that is held against it.
        let recorded = context.records_kernel.then(kernel::disturb).transpose();
        if let Err(error) = &recorded {
            self.note(format!("no floors: {error}"), progress);
            return;
        }
        let at_rate = ((AT_RATE_SECONDS * variant.rate.hertz()) as u64).clamp(10, AT_RATE_MAX);
        let circumstances = [
            ("back-to-back", Circumstances::BackToBack, BACK_TO_BACK),
            ("at-rate", Circumstances::AtRate(variant.rate), at_rate),
        ];
        for (name, circumstances, count) in circumstances {
            if context.is_interrupted() {
                return;
            }
            match hand_over::measure(&setting, &mechanism, circumstances, count) {
                Ok(samples) => {
                    if let Some(refusal) = samples.granted.refusals.first() {
                        self.note(
                            format!("the floors are those of a shared processor: {refusal}"),
                            progress,
                        );
                    }
                    for (direction, samples) in [("down", samples.down), ("up", samples.up)] {
                        let key = (record.hand_over_mechanism.clone(), name, direction);
                        self.samples.entry(key).or_default().extend(samples);
                    }
                }
                Err(error) => {
                    self.note(
                        format!("no floor for {}: {error}", record.hand_over_mechanism),
                        progress,
                    );
                }
            }
        }
    }

    /// Says something once.
    fn note(&mut self, note: String, progress: &mut dyn Progress) {
        if !self.noted.contains(&note) {
            progress.note(&note);
            self.noted.push(note);
        }
    }

    /// The readings of the price of the kernel's record, in their order.
    pub(crate) fn take_price(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.price)
    }

    pub(crate) fn into_records(self) -> Vec<Floor> {
        self.samples
            .into_iter()
            .filter(|(_, samples)| !samples.is_empty())
            .map(|((mechanism, circumstances, direction), samples_ns)| Floor {
                mechanism,
                direction: direction.into(),
                circumstances: circumstances.into(),
                samples_ns,
            })
            .collect()
    }
}
