//! What a recorder could not record, besides lost events that have a place in the recording.
//!
//! A recorder writes each count into the conditions of its file, so that every reader reports it as a problem. If a
//! condition occurs several times, the last one counts: a recorder repeats it when the count has grown.

use std::fmt;

use crate::error::ReadError;

/// A part of what happened that a recording lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// Gaps in the kernel's events of which it is unknown how many events they lack.
    Gaps,
    /// Processors that came online after the start.
    Processors,
    /// Tasks that found no free lane.
    Tasks,
    /// Marks whose task had no place for another name.
    NamedMarks,
    /// Marks that no program should write.
    InvalidMarks,
    /// Calls of start, stop or trigger that found no free place.
    Calls,
    /// Marks of the recorder's own track whose text had no place.
    Texts,
    /// Tasks whose threads could not be found in another PID namespace.
    Threads,
    /// PID namespaces between the recorder and the events of the kernel.
    Namespaces,
}

impl Missing {
    /// All of them, in the order in which they are reported.
    pub const ALL: [Self; 9] = [
        Self::Gaps,
        Self::Processors,
        Self::Tasks,
        Self::NamedMarks,
        Self::InvalidMarks,
        Self::Calls,
        Self::Texts,
        Self::Threads,
        Self::Namespaces,
    ];

    /// Returns the name of its condition, whose text is the count.
    #[must_use]
    pub const fn condition(self) -> &'static str {
        match self {
            Self::Gaps => "missing.gaps",
            Self::Processors => "missing.processors",
            Self::Tasks => "missing.tasks",
            Self::NamedMarks => "missing.named-marks",
            Self::InvalidMarks => "missing.invalid-marks",
            Self::Calls => "missing.calls",
            Self::Texts => "missing.texts",
            Self::Threads => "missing.threads",
            Self::Namespaces => "missing.namespaces",
        }
    }

    fn of(condition: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|missing| missing.condition() == condition)
    }

    /// Returns the sentence about so many of them.
    #[must_use]
    pub fn sentence(self, count: u64) -> impl fmt::Display {
        Sentence { missing: self, count }
    }
}

struct Sentence {
    missing: Missing,
    count: u64,
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, more] = match self.missing {
            Missing::Gaps => [
                "gap has an unknown number of lost events",
                "gaps have an unknown number of lost events",
            ],
            Missing::Processors => [
                "processor came online later and was not recorded",
                "processors came online later and were not recorded",
            ],
            Missing::Tasks => [
                "task was not recorded: at most 63 can be marked at a time",
                "tasks were not recorded: at most 63 can be marked at a time",
            ],
            Missing::NamedMarks => [
                "mark was not recorded: a task can have at most 32 names of marks",
                "marks were not recorded: a task can have at most 32 names of marks",
            ],
            Missing::InvalidMarks => ["invalid mark was left out", "invalid marks were left out"],
            Missing::Calls => [
                "call of start, stop or trigger was lost",
                "calls of start, stop or trigger were lost",
            ],
            Missing::Texts => [
                "mark of the recording was left out: it can have at most 16,384 different texts",
                "marks of the recording were left out: it can have at most 16,384 different texts",
            ],
            Missing::Threads => [
                "task is in another PID namespace and its thread unknown: its jobs have no execution times",
                "tasks are in other PID namespaces and their threads unknown: their jobs have no execution times",
            ],
            Missing::Namespaces => [
                "PID namespace hides the names and processes of threads from the recorder",
                "PID namespaces hide the names and processes of threads from the recorder",
            ],
        };
        write!(f, "{} {}", self.count, if self.count == 1 { one } else { more })
    }
}

/// Adds conditions to those of a recording. The count of a [`Missing`] replaces an earlier one.
pub(crate) fn add(
    conditions: &mut Vec<(String, String)>,
    more: impl IntoIterator<Item = (String, String)>,
) {
    for (name, text) in more {
        let earlier = Missing::of(&name)
            .and_then(|_| conditions.iter_mut().find(|(known, _)| *known == name));
        match earlier {
            Some(earlier) => earlier.1 = text,
            None => conditions.push((name, text)),
        }
    }
}

/// Returns what these conditions state to be missing, as problems of the file.
pub(crate) fn problems(conditions: &[(String, String)]) -> impl Iterator<Item = ReadError> {
    Missing::ALL.into_iter().filter_map(|what| {
        let found = conditions.iter().find(|(name, _)| name == what.condition());
        let count = found?.1.parse().ok().filter(|count| *count > 0)?;
        Some(ReadError::Missing { what, count })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recording;
    use crate::perfetto::TraceWriter;
    use hemiola_units::Instant;

    #[test]
    fn what_a_recorder_could_not_record_is_a_problem_of_its_file_with_the_last_count() {
        let mut file = Vec::new();
        let at = Instant::from_nanos(1);
        let mut writer = TraceWriter::new(&mut file, at, 0, &[("kernel", "6.1")]).unwrap();
        for tasks in ["1", "7"] {
            writer.conditions(at, &[("missing.tasks", tasks), ("missing.calls", "0")]).unwrap();
        }
        writer.close().unwrap();
        let (recording, errors) = Recording::read(&file);
        assert_eq!(errors, [ReadError::Missing { what: Missing::Tasks, count: 7 }]);
        assert_eq!(
            errors[0].to_string(),
            "7 tasks were not recorded: at most 63 can be marked at a time"
        );
        let stated = recording.conditions.iter().filter(|(name, _)| name == "missing.tasks");
        assert_eq!(stated.count(), 1);
    }

    #[test]
    fn every_part_has_its_own_condition_and_sentence() {
        for missing in Missing::ALL {
            assert_eq!(Missing::of(missing.condition()), Some(missing));
            let [one, two] = [1, 2].map(|count| missing.sentence(count).to_string());
            assert!(one.starts_with("1 ") && two.starts_with("2 ") && one[2..] != two[2..]);
        }
    }
}
