//! Checks of real-time load beside a benchmark: shares, turns, and lists that expand one variant into several.

use hemiola_units::{Bytes, Rate, Span};

use super::Checker;
use super::process::Written;
use crate::document::OneOrMany;
use crate::keys::{ProcessKeys, VariantKeys};
use crate::plan::Task;
use hemiola_diagnostic::Problem;

/// The shortest turn: shorter turns would lose too much of the work in progress when a turn ends.
const TURN_MIN: Span = Span::from_millis(10);
/// Turns of one comparison: without the load, with it twice, without it.
const TURNS: i64 = 4;

/// One value of a list, which sets one of the expanded variants apart.
pub(super) struct Step<'s> {
    /// The process whose list it is.
    pub(super) process: &'s str,
    /// The value in the variant's name.
    pub(super) word: String,
    value: Value,
}

enum Value {
    Rate(Rate),
    Share(f64),
}

impl Step<'_> {
    /// The rate, if the value is one.
    pub(super) fn rate(&self) -> Option<Rate> {
        if let Value::Rate(rate) = self.value { Some(rate) } else { None }
    }

    /// The share of a processor in percent, if the value is one.
    fn share(&self) -> Option<f64> {
        if let Value::Share(share) = self.value { Some(share) } else { None }
    }
}

/// The share of a processor that a process asks for, percent.
fn share(name: &str, keys: &ProcessKeys<'_>, step: Option<&Step<'_>>) -> Option<f64> {
    let stepped = step.filter(|step| step.process == name).and_then(Step::share);
    stepped.or(match keys.share.get() {
        Some(OneOrMany::One(share)) => Some(*share),
        _ => None,
    })
}

/// Whether a process has a share of zero and is left out, as the control of a list of shares.
pub(super) fn rests(name: &str, keys: &ProcessKeys<'_>, step: Option<&Step<'_>>) -> bool {
    share(name, keys, step) == Some(0.0)
}

impl Checker<'_> {
    /// Returns the values to expand a variant for: those of its list, or a single `None`.
    pub(super) fn steps<'s>(&mut self, keys: &VariantKeys<'s>) -> Vec<Option<Step<'s>>> {
        let mut steps: Vec<Option<Step<'s>>> = Vec::new();
        for (name, process) in keys.processes.items() {
            let step = |word: String, value| {
                let good = |c: char| c.is_ascii_alphanumeric() || c == '.';
                let word = word.chars().filter(|c| good(*c)).collect();
                Some(Step { process: name.value, word, value })
            };
            let (rate, share) = (&process.rate, &process.share);
            for (is_list, key_at) in
                [(rate.is_array, &rate.key_at), (share.is_array, &share.key_at)]
            {
                if is_list && !steps.is_empty() {
                    self.wrong(
                        key_at,
                        "this variant has a second list",
                        "a variant has at most one list; add another variant",
                    );
                } else if is_list && *key_at == rate.key_at {
                    if let Some(OneOrMany::Many(rates)) = rate.get() {
                        let rates = rates.iter().map(|rate| rate.value);
                        steps.extend(rates.map(|rate| step(rate.to_string(), Value::Rate(rate))));
                    }
                } else if is_list && let Some(OneOrMany::Many(shares)) = share.get() {
                    let shares = shares.iter().map(|share| share.value);
                    steps.extend(shares.map(|share| step(share.to_string(), Value::Share(share))));
                }
            }
        }
        if steps.is_empty() { vec![None] } else { steps }
    }

    /// The processor time of one job of a workload.
    pub(super) fn compute(
        &mut self,
        keys: &ProcessKeys<'_>,
        name: &str,
        step: Option<&Step<'_>>,
        period: Span,
    ) -> Span {
        let (is_compute, is_share) = (keys.compute.is_present, keys.share.is_present);
        if is_compute && is_share {
            self.wrong(
                &keys.share.key_at,
                format!("\"{name}\" has both compute and share"),
                "share is compute divided by the period; keep one",
            );
        }
        if let Some(share) = share(name, keys, step) {
            return Span::from_secs_f64(period.secs_f64() * share / 100.0);
        }
        if !is_compute && !is_share {
            let what = "the processor time of one job; or write share";
            self.missing(&keys.section, name, "compute", what);
        }
        let Some(compute) = &keys.compute.stated else { return Span::ZERO };
        if compute.value >= period {
            let message =
                format!("\"{name}\" would compute for {} in each {period}", compute.value);
            self.wrong(&compute.at, message, "keep compute under the period");
        }
        compute.value
    }

    /// The length of a benchmark's turn.
    pub(super) fn turn(&mut self, keys: &ProcessKeys<'_>) -> Span {
        let turn = keys.turn.value();
        let at = keys.turn.at();
        if turn < TURN_MIN {
            let message = format!("turn is {turn}, too short to count work");
            let hint = format!("use at least {TURN_MIN}; 100ms is usual");
            self.wrong(at, message, hint);
        } else if turn * TURNS > self.duration {
            let message =
                format!("a run of {} is shorter than four turns of {turn}", self.duration);
            let hint =
                "the load rests in the first and fourth turn and works in the second and third";
            self.wrong(at, message, hint);
        }
        turn
    }

    pub(super) fn benchmark(&mut self, keys: &ProcessKeys<'_>, turn: Span) -> Task {
        const MEMORY_MAX: Bytes = Bytes(1 << 30);
        if let Some(memory) = keys.memory.stated.as_ref().filter(|size| size.value > MEMORY_MAX) {
            let message = format!("memory is {}; it must be at most {MEMORY_MAX}", memory.value);
            self.problem(Problem::new(memory.at.clone(), message));
        }
        Task::Benchmark { threads: keys.threads.value(), memory: keys.memory.value(), turn }
    }

    /// Checks that there is at most one benchmark, and at most one load that takes turns with it and has a
    /// release in each turn.
    pub(super) fn turns_fit(&mut self, keys: &VariantKeys<'_>, written: &[Written<'_>]) {
        let turn = |task: &Task| match task {
            Task::Benchmark { turn, .. } => Some(*turn),
            _ => None,
        };
        let mut benchmarks =
            written.iter().filter_map(|w| Some((turn(&w.process.task)?, &w.name_at)));
        let benchmark = benchmarks.next();
        for (_, at) in benchmarks {
            self.wrong(
                at,
                "this variant has a second benchmark",
                "a variant has at most one; it can have many threads",
            );
        }
        let takes_turns =
            |w: &&Written<'_>| matches!(w.process.task, Task::Workload { takes_turns: true, .. });
        let mut takers = written.iter().filter(takes_turns);
        let Some(taker) = takers.next() else { return };
        for other in takers {
            self.wrong(
                &other.name_at,
                "this variant has a second load that takes turns",
                "the benchmark measures the effect of one load at a time",
            );
        }
        match benchmark {
            None => self.wrong(
                &taker.name_at,
                format!("\"{}\" takes turns, but there is no benchmark", taker.process.name),
                "add a process with task = \"benchmark\"",
            ),
            Some((turn, _)) if taker.process.period > turn => {
                let at = keys.processes.key_at.clone();
                let message = format!(
                    "\"{}\" has a period of {}, longer than a turn of {turn}",
                    taker.process.name, taker.process.period
                );
                self.problem(Problem::new(at, message).hint("lengthen the benchmark's turn"));
            }
            Some(_) => {}
        }
    }
}
