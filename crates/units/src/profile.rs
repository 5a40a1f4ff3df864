//! Requests of a process to the operating system, and their results.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Bytes, CpuSet, Span};

/// A real-time priority, 1 (lowest) to 99 (highest), of `SCHED_FIFO` and `SCHED_RR` (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

/// A number that is not a real-time priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("priority {0} is outside 1 to 99")]
pub struct PriorityError(u8);

impl Priority {
    /// The number, 1 to 99.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Priority {
    type Error = PriorityError;
    fn try_from(number: u8) -> Result<Self, PriorityError> {
        if (1..=99).contains(&number) { Ok(Self(number)) } else { Err(PriorityError(number)) }
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

/// A scheduling policy with its parameters (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "policy")]
pub enum Policy {
    /// `SCHED_OTHER`, the ordinary time-sharing policy.
    Other {
        /// From −20 (most favoured) to 19.
        nice: i8,
    },
    /// `SCHED_FIFO`: runs until it blocks or a thread of higher priority is ready.
    Fifo {
        /// Higher numbers run first.
        priority: Priority,
    },
    /// `SCHED_RR`: like FIFO, but threads of equal priority share the processor in time slices.
    RoundRobin {
        /// Higher numbers run first.
        priority: Priority,
    },
    /// `SCHED_DEADLINE`: `runtime` of processor time within `deadline` of each release, every `period`.
    Deadline {
        /// Processor time per period.
        runtime: Span,
        /// Time after the release by which the runtime is provided.
        deadline: Span,
        /// Time between releases.
        period: Span,
    },
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Other { nice: 0 } => "OTHER".into(),
            Self::Other { nice } => format!("OTHER nice {nice}"),
            Self::Fifo { priority } => format!("FIFO {}", priority.0),
            Self::RoundRobin { priority } => format!("RR {}", priority.0),
            Self::Deadline { runtime, deadline, period } => {
                format!("DEADLINE {runtime}/{deadline}/{period}")
            }
        };
        f.pad(&text)
    }
}

/// The complete request of a process: no field has a hidden default that affects timing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// The scheduling policy.
    pub scheduling: Policy,
    /// The processors it may run on; `None` keeps the inherited ones.
    pub cpus: Option<CpuSet>,
    /// Whether all its memory, present and future, is locked (mlockall(2)).
    pub lock_memory: bool,
    /// How much stack to touch before the first release.
    pub prefault_stack: Bytes,
}

impl Profile {
    /// Returns the profile of an ordinary process, which requests nothing.
    #[must_use]
    pub const fn ordinary() -> Self {
        Self {
            scheduling: Policy::Other { nice: 0 },
            cpus: None,
            lock_memory: false,
            prefault_stack: Bytes(0),
        }
    }
}

/// The grants of a process, read back from the kernel, and the refusals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// The scheduling policy.
    pub scheduling: Policy,
    /// The processors it may run on.
    pub cpus: CpuSet,
    /// Whether its memory is locked.
    pub lock_memory: bool,
    /// How much stack was touched.
    pub prefault_stack: Bytes,
    /// Everything requested and not granted; empty if the whole profile was granted.
    pub refusals: Vec<Refusal>,
}

/// One refused request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The request: `"FIFO 80"`, `"locked memory"`.
    pub asked: String,
    /// The limit, capability or kernel setting that caused the refusal, with its present value.
    pub because: String,
    /// The remedy for the user, as a command if there is one.
    pub remedy: String,
}

impl Refusal {
    /// Whether the other one has the same cause and remedy, apart from the figures of a process, such as the bytes that
    /// it has mapped.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        without_figures(&self.because).eq(without_figures(&other.because))
            && without_figures(&self.remedy).eq(without_figures(&other.remedy))
    }

    /// Sentences about refusals, in the order of what was asked. Those that [are alike](Self::is_like) share one, which
    /// has the figures of the one with the greatest figure.
    #[must_use]
    pub fn sentences<'r>(refusals: impl IntoIterator<Item = &'r Self>) -> Vec<String> {
        let mut alike: Vec<(Vec<&str>, &Self)> = Vec::new();
        for refusal in refusals {
            match alike.iter_mut().find(|(_, known)| known.is_like(refusal)) {
                Some((asked, known)) => {
                    asked.push(&refusal.asked);
                    let size = |refusal: &Self| (refusal.because.len(), refusal.because.clone());
                    if size(refusal) > size(known) {
                        *known = refusal;
                    }
                }
                None => alike.push((vec![&refusal.asked], refusal)),
            }
        }
        for (asked, _) in &mut alike {
            asked.sort_unstable();
            asked.dedup();
        }
        alike.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let sentence = |(asked, Self { because, remedy, .. }): &(Vec<&str>, &Self)| {
            let were = if asked.len() == 1 { "was" } else { "were" };
            format!("{} {were} refused: {because}; {remedy}", asked.join(", "))
        };
        alike.iter().map(sentence).collect()
    }
}

/// The characters of a text without its numbers and the letters of their units, such as `8MiB`.
fn without_figures(text: &str) -> impl Iterator<Item = char> {
    let mut in_figure = false;
    text.chars().filter(move |c| {
        let unit = in_figure && matches!(c, 'K' | 'M' | 'G' | 'T');
        in_figure = c.is_ascii_digit();
        !in_figure && !unit
    })
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was refused: {}; {}", self.asked, self.because, self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_that_differ_in_figures_only_are_one_sentence() {
        let refusal = |asked: &str, because: &str, remedy: &str| Refusal {
            asked: asked.into(),
            because: because.into(),
            remedy: remedy.into(),
        };
        let refusals = [
            refusal("locked memory", "the limit is 8MiB, 42392KiB are mapped", "raise it"),
            refusal("FIFO 80", "the limit is 0", "raise it by `ulimit -r 99`"),
            refusal("FIFO 70", "the limit is 0", "raise it by `ulimit -r 99`"),
            refusal("locked memory", "the limit is 8MiB, 42556KiB are mapped", "raise it"),
            refusal("locked memory", "the limit is 8MiB, 41MiB are mapped", "raise it"),
            refusal("FIFO 80", "the limit is 0", "raise it by `ulimit -r 99`"),
            refusal("processors 9", "processor 9 is not online", "choose among 0-1"),
        ];
        assert_eq!(
            Refusal::sentences(&refusals),
            [
                "FIFO 70, FIFO 80 were refused: the limit is 0; raise it by `ulimit -r 99`",
                "locked memory was refused: the limit is 8MiB, 42556KiB are mapped; raise it",
                "processors 9 was refused: processor 9 is not online; choose among 0-1",
            ]
        );
    }

    #[test]
    fn priorities_outside_the_range_are_refused() {
        assert!(Priority::try_from(0).is_err());
        assert!(Priority::try_from(100).is_err());
        assert_eq!(Priority::try_from(99).unwrap().get(), 99);
    }
}
