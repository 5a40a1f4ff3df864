//! The catalogue of all figures by name.

use hemiola_diagnostic::nearest;

use crate::{
    ProbeError, Readings, Setting, Unit, clock, communication, context_switch, creation, file,
    hand_over, idle, memory, page_fault, processor, system_call, wake_up, workload,
};

/// A figure that can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its dotted name.
    pub name: String,
    /// Its description, one line without a full stop.
    pub title: String,
    /// The unit of its readings.
    pub unit: Unit,
    /// Whether it is in the quick set.
    pub quick: bool,
}

impl Figure {
    /// A figure in nanoseconds.
    pub(crate) fn time(name: impl Into<String>, title: impl Into<String>, quick: bool) -> Self {
        Self { name: name.into(), title: title.into(), unit: Unit::Nanoseconds, quick }
    }
}

/// A module's figures, and its function that takes readings of a figure by the parts of its name.
struct Subject {
    figures: fn() -> Vec<Figure>,
    measure: fn(&[&str], &Setting, u32) -> Result<Readings, ProbeError>,
}

/// In the order of the catalogue.
const SUBJECTS: [Subject; 13] = [
    Subject { figures: clock::figures, measure: clock::measure },
    Subject { figures: processor::figures, measure: processor::measure },
    Subject { figures: system_call::figures, measure: system_call::measure },
    Subject { figures: context_switch::figures, measure: context_switch::measure },
    Subject { figures: idle::figures, measure: idle::measure },
    Subject { figures: creation::figures, measure: creation::measure },
    Subject { figures: wake_up::figures, measure: wake_up::measure },
    Subject { figures: page_fault::figures, measure: page_fault::measure },
    Subject { figures: memory::figures, measure: memory::measure },
    Subject { figures: hand_over::figures, measure: hand_over::measure_figure },
    Subject { figures: communication::figures, measure: communication::measure },
    Subject { figures: file::figures, measure: file::measure },
    Subject { figures: workload::figures, measure: workload::measure },
];

/// All figures of this build, subject by subject. Whether this machine supports a figure is known only when it is
/// measured.
#[must_use]
pub fn catalogue() -> Vec<Figure> {
    SUBJECTS.iter().flat_map(|subject| (subject.figures)()).collect()
}

/// Takes `count` readings of the figure `name`. The setting's load must already be running: the readings only carry its
/// name.
///
/// # Errors
/// See [`ProbeError`]; the measurement leaves no process and no file behind.
pub fn measure(name: &str, setting: &Setting, count: u32) -> Result<Readings, ProbeError> {
    let words: Vec<&str> = name.split('.').collect();
    let has = |subject: &&Subject| (subject.figures)().iter().any(|figure| figure.name == name);
    let Some(subject) = SUBJECTS.iter().find(has) else {
        let catalogue = catalogue();
        let nearest = nearest(name, catalogue.iter().map(|figure| figure.name.as_str()));
        return Err(ProbeError::Unknown { name: name.into(), nearest: nearest.map(Into::into) });
    };
    (subject.measure)(&words, setting, count.max(1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: Vec<String> = catalogue().into_iter().map(|figure| figure.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn a_misspelt_name_has_a_nearest_one() {
        let catalogue = catalogue();
        for (wrong, near) in [("clock.reed", Some("clock.read")), ("fortune", None)] {
            assert_eq!(nearest(wrong, catalogue.iter().map(|figure| figure.name.as_str())), near);
        }
    }
}
