//! Utilization bounds: the quick tests for rate-monotonic priorities.
//!
//! Both are applied to each task i together with the tasks of higher priority. Effects that the theorems do not cover
//! are charged to the task itself as time in which it cannot run (Sha, Klein and Goodenough, "Rate Monotonic Analysis
//! for Real-Time Systems", 1991, for blocking and for deadlines before the period):
//!
//! ```text
//! B′ᵢ = Bᵢ + max(0, Tᵢ − Dᵢ + Jᵢ) + Σ ⌈Jⱼ / Tⱼ⌉·Cⱼ          over all tasks j of higher priority
//! ```
//!
//! That is safe: since ⌈(w + J) / T⌉ ≤ ⌈w / T⌉ + ⌈J / T⌉, a task that finishes within its period with blocking B′
//! finishes within D − J of its release with blocking B.

use crate::response_time::{Task, TaskSet};
use crate::schedulability::Answer;

/// Rounding error of a sum that is mathematically exact.
const ROUNDING: f64 = 1e-12;

/// The task that is closest to a bound or furthest beyond it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The task.
    pub task: String,
    /// The value for it and the tasks of higher priority.
    pub value: f64,
    /// The limit of the value.
    pub limit: f64,
}

impl Bound {
    /// Yes within the bound, open beyond it.
    #[must_use]
    pub fn answer(&self) -> Answer {
        if self.value <= self.limit + ROUNDING { Answer::Yes } else { Answer::Open }
    }
}

/// The bound of Liu and Layland ("Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment", 1973,
/// theorem 5): n tasks keep their deadlines if they use at most n (2^(1/n) − 1) of the processor. `None` if there is no
/// task, or if a task has a higher priority than one with a shorter period.
#[must_use]
pub fn liu_layland(set: &TaskSet) -> Option<Bound> {
    nearest(set, |before, own| {
        let n = before.len() as f64 + 1.0;
        (before.iter().sum::<f64>() + own, n * (2f64.powf(1.0 / n) - 1.0))
    })
}

/// The bound of Bini, Buttazzo and Buttazzo ("Rate Monotonic Analysis: The Hyperbolic Bound", 2003): tasks keep their
/// deadlines if the product of all Uᵢ + 1 is at most 2. `None` in the same cases.
#[must_use]
pub fn hyperbolic(set: &TaskSet) -> Option<Bound> {
    nearest(set, |before, own| {
        (before.iter().map(|share| share + 1.0).product::<f64>() * (own + 1.0), 2.0)
    })
}

/// The density test for global earliest deadline first on several processors (Goossens, Funk and Baruah,
/// "Priority-Driven Scheduling of Periodic Task Systems on Multiprocessors", 2003, with C / min(D, T) for the
/// utilization as in Bertogna, Cirinei and Lipari, 2005): tasks keep their deadlines if the sum of the densities is at
/// most m − (m − 1)·δ of the densest task. `None` if there is no task.
#[must_use]
pub fn density(set: &TaskSet, processors: usize) -> Option<Bound> {
    let density =
        |task: &Task| set.work(task) as f64 / task.deadline.min(task.period).nanos() as f64;
    let densest = set.tasks().iter().max_by(|a, b| density(a).total_cmp(&density(b)))?;
    let m = processors as f64;
    Some(Bound {
        task: densest.name.clone(),
        value: set.tasks().iter().map(density).sum(),
        limit: m - (m - 1.0) * density(densest),
    })
}

/// Applies a bound to each task: `ask` maps the shares of the tasks of higher priority and its own to the value and its
/// limit.
fn nearest(set: &TaskSet, ask: impl Fn(&[f64], f64) -> (f64, f64)) -> Option<Bound> {
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
