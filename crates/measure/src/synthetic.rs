//! A synthetic machine defined by rules, on a manual clock, for tests.

use std::collections::BTreeMap;

use hemiola_probe::{FigureOfMerit, Overhead, ProbeError, Readings, Unit};
use hemiola_rt::clock::{Clock, ManualClock};
use hemiola_trace::result::{ClockConditions, Conditions};
use hemiola_units::{Bytes, CpuSet, Granted, Instant, Policy, Random, Span};
use serde_json::Value;

use hemiola_model::machine::{self, FORMAT, Identity, Machine};

use crate::{Progress, ReadError, ReadingSource};

/// A figure's value and the scatter of its readings.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) value: f64,
    /// Standard deviation of the blocks, as a share of the value.
    pub(crate) noise: f64,
    /// Uncertainty of the subtracted overhead.
    pub(crate) systematic: f64,
}

/// A source of readings by rules; a figure without a positive value cannot be measured.
pub(crate) struct Synthetic {
    pub(crate) clock: ManualClock,
    pub(crate) rules: BTreeMap<String, Rule>,
    /// Names in the order they were read.
    pub(crate) read: Vec<String>,
    /// When blocks ended, after the rest.
    pub(crate) ended: Vec<Instant>,
    random: Random,
}

/// How long one reading takes.
const READING: Span = Span::from_micros(10);

impl Synthetic {
    pub(crate) fn new(rules: &[(&str, f64, f64)]) -> Self {
        let rule = |(name, value, noise): &(&str, f64, f64)| {
            ((*name).to_owned(), Rule { value: *value, noise: *noise, systematic: 0.0 })
        };
        Self {
            clock: ManualClock::default(),
            rules: rules.iter().map(rule).collect(),
            read: Vec::new(),
            ended: Vec::new(),
            random: Random::from_seed(7),
        }
    }

    /// Its figures as a catalogue.
    pub(crate) fn catalogue(&self) -> Vec<FigureOfMerit> {
        let figure = |name: &String| FigureOfMerit {
            name: name.clone(),
            title: "a rule".into(),
            unit: Unit::Nanoseconds,
            quick: true,
        };
        self.rules.keys().map(figure).collect()
    }
}

impl ReadingSource for Synthetic {
    fn end_block(&mut self, rest: Span) {
        self.clock.advance(rest.max(Span::ZERO));
        self.ended.push(self.clock.now());
    }

    fn read(&mut self, name: &str, count: u32) -> Result<Readings, ReadError> {
        self.read.push(name.to_owned());
        let lacking =
            || ProbeError::Lacking { name: name.into(), what: "a second processor".into() };
        let rule = *self.rules.get(name).filter(|rule| rule.value > 0.0).ok_or_else(lacking)?;
        self.clock.advance(Span::from_nanos(READING.nanos() * i64::from(count)));
        let block = rule.value * (1.0 + rule.noise * self.random.normal());
        let values = (0..count).map(|_| block * (1.0 + 0.01 * self.random.normal())).collect();
        Ok(Readings {
            name: name.into(),
            unit: Unit::Nanoseconds,
            values,
            batch: 1,
            overhead: Overhead { value: 20.0, uncertainty: rule.systematic },
            granted: Granted {
                scheduling: Policy::Other { nice: 0 },
                cpus: CpuSet::one(0).expect("a processor"),
                lock_memory: false,
                prefault_stack: Bytes(0),
                refusals: vec![],
            },
            circumstances: vec![("load".into(), "idle".into())],
            notes: vec!["from a rule".into()],
        })
    }
}

/// Ignores progress.
pub(crate) struct Silent;

impl Progress for Silent {
    fn tick(&mut self, fraction: f64, _doing: &str) {
        assert!((0.0..=1.0).contains(&fraction), "{fraction}");
    }
}

/// A figure with the interval `value` ± `half`.
pub(crate) fn figure(name: &str, value: f64, half: f64) -> machine::Figure {
    machine::Figure {
        name: name.into(),
        value,
        unit: "ns".into(),
        low: value - half,
        high: value + half,
        std: half,
        systematic: 0.0,
        p99: value + half,
        samples: 500,
        blocks: 10,
        batch: 1,
        overhead: 0.0,
        circumstances: "idle".into(),
    }
}

pub(crate) fn machine(figures: Vec<machine::Figure>) -> Machine {
    Machine {
        format: FORMAT,
        measured_unix_s: 0,
        identity: Identity {
            cpu_model: "Test CPU".into(),
            cpus_online: 2,
            kernel: "6.1".into(),
            virtualized: None,
        },
        disturbance: None,
        meanwhile: None,
        figures,
    }
}

pub(crate) fn conditions() -> Conditions {
    Conditions {
        hemiola_version: "0.1.0".into(),
        commit: None,
        kernel: "6.1".into(),
        cpu_model: "Test CPU".into(),
        cpus_online: 2,
        preempt: "voluntary".into(),
        clock: ClockConditions {
            source: "tsc".into(),
            read_ns: 22.0,
            fast_read_ns: 10.0,
            resolution_ns: 1.0,
        },
        rt_runtime_us: 950_000,
        rt_period_us: 1_000_000,
        load_average_1m: 0.1,
        steal_ticks_delta: Some(0),
        virtualized: None,
        allow_less: true,
        command_line: "hemiola measure".into(),
    }
}

/// The keys in `value` that `docs/reference/machine.md` does not document.
pub(crate) fn undocumented(value: &Value) -> Vec<String> {
    let page = include_str!("../../../docs/reference/machine.md");
    let mut found = Vec::new();
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if ![format!("`{key}`"), format!("[{key}]")].iter().any(|name| page.contains(name))
                {
                    found.push(key.clone());
                }
                // Documented with the summary of a run.
                if key != "conditions" {
                    found.extend(undocumented(value));
                }
            }
        }
        Value::Array(values) => found.extend(values.iter().flat_map(undocumented)),
        _ => {}
    }
    found
}
