//! Real-time load beside a benchmark: shares, turns, and lists that make one variant several.

use hemiola_units::{Bytes, Rate, Span};

use super::Checker;
use super::process::Written;
use crate::document::OneOrMany;
use crate::keys::{ProcessKeys, VariantKeys};
use crate::plan::Task;
use hemiola_diagnostic::Problem;

/// The shortest turn: what a thread is in the middle of when a turn ends must not count.
const TURN_MIN: Span = Span::from_millis(10);
/// Turns of one comparison: without the load, with it twice, without it.
const TURNS: i64 = 4;

/// One value of a list: what is different in one of the variants that a variant with a list stands for.
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
    /// The rate, where it is one.
    pub(super) fn rate(&self) -> Option<Rate> {
        if let Value::Rate(rate) = self.value { Some(rate) } else { None }
    }

    /// The share of a processor in percent, where it is one.
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

/// Whether a process has a share of nothing and is left out: the control of a list of shares.
pub(super) fn rests(name: &str, keys: &ProcessKeys<'_>, step: Option<&Step<'_>>) -> bool {
    share(name, keys, step) == Some(0.0)
}

impl Checker<'_> {
    /// What a variant is to be run for: once for each value of its list, or once.
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
                    self.problem(
                        Problem::new(key_at.clone(), "a second list in this variant")
                            .hint("a variant has one list at most; write another variant"),
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
            self.problem(
                Problem::new(
                    keys.share.key_at.clone(),
                    format!("\"{name}\" has compute and share"),
                )
                .hint("a share is compute over the period; keep one"),
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
            self.problem(
                Problem::new(compute.at.clone(), message).hint("keep compute under the period"),
            );
        }
        compute.value
    }

    /// The length of a benchmark's turn.
    pub(super) fn turn(&mut self, keys: &ProcessKeys<'_>) -> Span {
        let turn = keys.turn.value();
        let at = keys.turn.stated.as_ref().map_or(&keys.section.at, |turn| &turn.at).clone();
        if turn < TURN_MIN {
            let message = format!("a turn of {turn} is too short to count work in");
            let hint = format!("{TURN_MIN} at least; 100ms is usual");
            self.problem(Problem::new(at, message).hint(hint));
        } else if turn * TURNS > self.duration {
            let message = format!("a run of {} does not have four turns of {turn}", self.duration);
            let hint =
                "the load rests in the first, works in the second and third, rests in the fourth";
            self.problem(Problem::new(at, message).hint(hint));
        }
        turn
    }

    pub(super) fn benchmark(&mut self, keys: &ProcessKeys<'_>, turn: Span) -> Task {
        const MEMORY_MAX: Bytes = Bytes(1 << 30);
        if let Some(memory) = keys.memory.stated.as_ref().filter(|size| size.value > MEMORY_MAX) {
            let message = format!("each thread would walk through {}", memory.value);
            let hint = format!("{MEMORY_MAX} at most");
            self.problem(Problem::new(memory.at.clone(), message).hint(hint));
        }
        Task::Benchmark { threads: keys.threads.value(), memory: keys.memory.value(), turn }
    }

    /// One benchmark at most, and one load that takes turns with it, often enough to have any.
    pub(super) fn turns_are_taken(&mut self, keys: &VariantKeys<'_>, written: &[Written<'_>]) {
        let turn = |task: &Task| match task {
            Task::Benchmark { turn, .. } => Some(*turn),
            _ => None,
        };
        let mut benchmarks =
            written.iter().filter_map(|w| Some((turn(&w.process.task)?, &w.name_at)));
        let benchmark = benchmarks.next();
        for (_, at) in benchmarks {
            self.problem(
                Problem::new(at.clone(), "a second benchmark")
                    .hint("a variant has one at most; it can have many threads"),
            );
        }
        let takes_turns =
            |w: &&Written<'_>| matches!(w.process.task, Task::Workload { takes_turns: true, .. });
        let mut takers = written.iter().filter(takes_turns);
        let Some(taker) = takers.next() else { return };
        for other in takers {
            self.problem(
                Problem::new(other.name_at.clone(), "a second load takes turns")
                    .hint("what one load costs the rest is told by that load alone"),
            );
        }
        match benchmark {
            None => self.problem(
                Problem::new(
                    taker.name_at.clone(),
                    format!("\"{}\" takes turns with nothing", taker.process.name),
                )
                .hint("turns are those of a benchmark: add a process with task = \"benchmark\""),
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
