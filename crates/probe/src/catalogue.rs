//! The catalogue of all figures by name.

use hemiola_diagnostic::nearest;

use crate::{
    ProbeError, Readings, Setting, Unit, clock, communication, context_switch, creation, file,
    hand_over, idle, interruption, memory, page_fault, processor, system_call, wake_up, workload,
};

/// A figure that can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureOfMerit {
    /// Its dotted name.
    pub name: String,
    /// Its description, one line without a full stop.
    pub title: String,
    /// The unit of its readings.
    pub unit: Unit,
    /// Whether it is in the quick set.
    pub quick: bool,
}

/// Takes that many readings of the figure of this name.
type Take = Box<dyn Fn(&str, &Setting, u32) -> Result<Readings, ProbeError>>;

/// A figure, and how its readings are taken.
pub(crate) struct Probe {
    figure: FigureOfMerit,
    take: Take,
}

impl Probe {
    pub(crate) fn new(
        figure: FigureOfMerit,
        take: impl Fn(&str, &Setting, u32) -> Result<Readings, ProbeError> + 'static,
    ) -> Self {
        Self { figure, take: Box::new(take) }
    }

    /// A probe of a figure in nanoseconds.
    pub(crate) fn time(
        name: impl Into<String>,
        title: impl Into<String>,
        quick: bool,
        take: impl Fn(&str, &Setting, u32) -> Result<Readings, ProbeError> + 'static,
    ) -> Self {
        let unit = Unit::Nanoseconds;
        Self::new(FigureOfMerit { name: name.into(), title: title.into(), unit, quick }, take)
    }
}

/// The probes of all subjects, in the order of the catalogue.
fn probes() -> impl Iterator<Item = Probe> {
    let subjects: [fn() -> Vec<Probe>; 14] = [
        clock::probes,
        processor::probes,
        system_call::probes,
        context_switch::probes,
        interruption::probes,
        idle::probes,
        creation::probes,
        wake_up::probes,
        page_fault::probes,
        memory::probes,
        hand_over::probes,
        communication::probes,
        file::probes,
        workload::probes,
    ];
    subjects.into_iter().flat_map(|probes| probes())
}

/// All figures of this build, subject by subject. Whether this machine supports a figure is known only when it is
/// measured.
#[must_use]
pub fn catalogue() -> Vec<FigureOfMerit> {
    probes().map(|probe| probe.figure).collect()
}

/// Takes `count` readings of the figure `name`. The setting's load must already be running: the readings only carry its
/// name.
///
/// # Errors
/// See [`ProbeError`]; the measurement leaves no process and no file behind.
pub fn measure(name: &str, setting: &Setting, count: u32) -> Result<Readings, ProbeError> {
    let Some(probe) = probes().find(|probe| probe.figure.name == name) else {
        let catalogue = catalogue();
        let nearest = nearest(name, catalogue.iter().map(|figure| figure.name.as_str()));
        return Err(ProbeError::Unknown { name: name.into(), nearest: nearest.map(Into::into) });
    };
    (probe.take)(name, setting, count.max(1))
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
