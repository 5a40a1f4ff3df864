//! Bounds of utilisation: the quick tests of rate-monotonic priorities.
//!
//! Both are put to each task i and those that go before it. What the theorems do not know is charged to the task
//! itself, as time in which it cannot run (Sha, Klein and Goodenough, "Rate Monotonic Analysis for Real-Time
//! Systems", 1991, for blocking and for deadlines before the period):
//!
//! ```text
//! B′ᵢ = Bᵢ + max(0, Tᵢ − Dᵢ + Jᵢ) + Σ ⌈Jⱼ / Tⱼ⌉·Cⱼ          over all tasks j that go before
//! ```
//!
//! That is safe: with ⌈(w + J) / T⌉ ≤ ⌈w / T⌉ + ⌈J / T⌉, a task that ends within its period although it is kept
//! waiting for B′ ends within D − J of its release when it is kept waiting for B.

use crate::response_time::Set;
use crate::schedulability::Answer;

/// What rounding may add to a sum that is exact on paper.
const ROUNDING: f64 = 1e-12;

/// The task that comes nearest to a bound, or goes farthest beyond.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The task.
    pub task: String,
    /// What it and those before it come to.
    pub value: f64,
    /// What they may come to.
    pub limit: f64,
}

impl Bound {
    /// Yes within the bound; beyond it, nothing is said.
    #[must_use]
    pub fn answer(&self) -> Answer {
        if self.value <= self.limit + ROUNDING { Answer::Yes } else { Answer::Open }
    }
}

/// The bound of Liu and Layland ("Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment", 1973,
/// theorem 5): n tasks keep their deadlines when they use at most n (2^(1/n) − 1) of the processor. Nothing where
/// there is no task, or where one goes before another of a shorter period.
#[must_use]
pub fn liu_layland(set: &Set) -> Option<Bound> {
    nearest(set, |before, own| {
        let n = before.len() as f64 + 1.0;
        (before.iter().sum::<f64>() + own, n * (2f64.powf(1.0 / n) - 1.0))
    })
}

/// The bound of Bini, Buttazzo and Buttazzo ("Rate Monotonic Analysis: The Hyperbolic Bound", 2003): they do when the
/// product of all Uᵢ + 1 is at most 2. Nothing in the same cases.
#[must_use]
pub fn hyperbolic(set: &Set) -> Option<Bound> {
    nearest(set, |before, own| {
        (before.iter().map(|share| share + 1.0).product::<f64>() * (own + 1.0), 2.0)
    })
}

/// Puts a bound to each task: `ask` gets the shares of those before it and its own, and answers with what they come
/// to and what they may.
fn nearest(set: &Set, ask: impl Fn(&[f64], f64) -> (f64, f64)) -> Option<Bound> {
    let tasks = set.tasks();
    let mut nearest: Option<Bound> = None;
    for (index, task) in tasks.iter().enumerate() {
        let before: Vec<_> = (0..tasks.len()).filter(|other| set.delays(*other, index)).collect();
        if before.iter().any(|other| tasks[*other].period > task.period) {
            return None;
        }
        let period = |of: usize| i128::from(tasks[of].period.nanos());
        let late = before.iter().map(|other| {
            let jitter = i128::from(tasks[*other].jitter.nanos());
            (jitter + period(*other) - 1) / period(*other) * set.work(&tasks[*other])
        });
        let early = (task.period - task.deadline + task.jitter).nanos().max(0);
        let waits = i128::from(task.blocking.nanos()) + i128::from(early) + late.sum::<i128>();
        let own = (set.work(task) + waits) as f64 / period(index) as f64;
        let shares: Vec<f64> = before
            .iter()
            .map(|other| set.work(&tasks[*other]) as f64 / period(*other) as f64)
            .collect();
        let (value, limit) = ask(&shares, own);
        if nearest.as_ref().is_none_or(|known| value / limit >= known.value / known.limit) {
            nearest = Some(Bound { task: task.name.clone(), value, limit });
        }
    }
    nearest
}
