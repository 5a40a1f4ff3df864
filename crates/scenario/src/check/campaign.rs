//! Checks of campaigns: the faults, the number of runs, and the variants.

use hemiola_simplex::fault::{Class, FaultKind};
use hemiola_units::Span;

use super::Checker;
use crate::document::{At, Entry};
use crate::keys::{self, CampaignKeys, ProcessFaultKeys, Scenario, SimulatedKeys};
use crate::plan::{Campaign, ProcessFaults, SimulatedFaults, Task, UnitState, Variant};
use hemiola_diagnostic::Problem;

/// Faults of a controller's output can be simulated; the others need a real process.
const OUTPUT: &[Class] = &[Class::Output];
const PROCESS: &[Class] = &[Class::Message, Class::Process];

/// The settings that both parts of a campaign have.
struct Course {
    runs: u32,
    duration: Span,
    fault_after: Span,
}

impl Checker<'_> {
    pub(super) fn campaign(
        &mut self,
        keys: &CampaignKeys<'_>,
        root: &Scenario<'_>,
        variants: &[At<Variant>],
    ) -> Campaign {
        if !keys.simulated.is_present && !keys.process.is_present {
            self.wrong(
                &keys.section.at,
                "the campaign has no faults",
                "write simulated = { kinds = \"all\" }, process = { … }, or both",
            );
        }
        if self.plant.is_none() && !root.plant.is_present {
            self.wrong(&keys.section.at, "a campaign needs a plant", "add the table [plant]");
        }
        let (simulated, process) = (keys.simulated.get(), keys.process.get());
        Campaign {
            simulated: simulated.map(|keys| self.simulated(keys, root)),
            process: process.map(|keys| self.process_faults(keys, root, variants)),
        }
    }

    fn simulated(&mut self, keys: &SimulatedKeys<'_>, root: &Scenario<'_>) -> SimulatedFaults {
        let course = self.course(&keys.runs, &keys.duration, &keys.fault_after, root);
        let Course { runs, duration, fault_after } = course;
        let gain = self.gain(&At { value: keys.gain.value(), at: keys.gain.at().clone() });
        self.pendulum_has_model(self.rate.period(), self.rate_at.clone());
        SimulatedFaults {
            kinds: self.kinds(&keys.kinds, OUTPUT),
            runs,
            duration,
            fault_after,
            gain,
            decision: self.settings_for(self.rate.period(), "the simulated campaign"),
            rate: self.rate,
        }
    }

    fn process_faults(
        &mut self,
        keys: &ProcessFaultKeys<'_>,
        root: &Scenario<'_>,
        variants: &[At<Variant>],
    ) -> ProcessFaults {
        let course = self.course(&keys.runs, &keys.duration, &keys.fault_after, root);
        let Course { runs, duration, fault_after } = course;
        let supervised = |variant: &Variant| variant.decision.is_some();
        let with = self.variant_of(&keys.with, variants);
        if let Some(variant) = with
            && !(supervised(variant)
                && variant.units.iter().any(|unit| unit.state == UnitState::Active))
        {
            self.wrong(
                &keys.with.key_at,
                format!("variant \"{}\" has no decision process with an active unit", variant.name),
                "the fault goes into the active unit",
            );
        }
        let without = self.variant_of(&keys.without, variants);
        if let Some(variant) = without {
            let controls =
                |task: &Task| matches!(task, Task::Controller { .. } | Task::Monolithic { .. });
            if supervised(variant)
                || !variant.processes.iter().any(|process| controls(&process.task))
            {
                self.wrong(
                    &keys.without.key_at,
                    format!(
                        "variant \"{}\" must have a controller and no decision process",
                        variant.name
                    ),
                    "the fault goes into a process with task = \"controller\" or \"monolithic\"",
                );
            }
        }
        if !keys.with.is_present && !keys.without.is_present {
            self.wrong(
                &keys.section.at,
                "process faults need a variant to run in",
                "write with = \"…\" and without = \"…\", the names of two variants",
            );
        }
        let name = |variant: Option<&Variant>| variant.map(|variant| variant.name.clone());
        ProcessFaults {
            kinds: self.kinds(&keys.kinds, PROCESS),
            runs,
            duration,
            fault_after,
            with: name(with),
            without: name(without),
        }
    }

    fn course(
        &mut self,
        runs: &Entry<u32>,
        duration: &Entry<Span>,
        after: &Entry<Span, Span>,
        root: &Scenario<'_>,
    ) -> Course {
        let stated = duration.get().or(root.duration.get()).copied();
        let duration = self.overrides.duration.or(stated).unwrap_or(keys::DURATION);
        let mut fault_after = after.value();
        if fault_after >= duration {
            // A default, or a duration from the command line, is no error in the file.
            if after.stated.is_some() && self.overrides.duration.is_none() {
                self.wrong(
                    &after.key_at,
                    format!(
                        "the fault starts after {fault_after}, but a run ends after {duration}"
                    ),
                    "leave time to observe its effect",
                );
            } else {
                let sooner = duration / 2;
                if after.stated.is_some() {
                    self.notes.push(format!(
                        "fault_after shortened from {fault_after} to {sooner} to fit a run of {duration}"
                    ));
                }
                fault_after = sooner;
            }
        }
        let runs = runs.get().copied().unwrap_or(root.runs.value());
        Course { runs: self.overrides.runs.unwrap_or(runs), duration, fault_after }
    }

    fn kinds(&mut self, chosen: &Entry<Vec<At<&str>>>, classes: &[Class]) -> Vec<FaultKind> {
        if chosen.items().is_empty() {
            return super::faults(classes).collect();
        }
        let mut kinds: Vec<FaultKind> = Vec::with_capacity(chosen.items().len());
        for name in chosen.items() {
            let Some(kind) = self.fault(name, "fault of this class", classes) else { continue };
            if kinds.contains(&kind) {
                let message = format!("\"{}\" is listed twice", kind.name());
                self.problem(Problem::new(name.at.clone(), message));
            } else {
                kinds.push(kind);
            }
        }
        kinds
    }

    fn variant_of<'r>(
        &mut self,
        name: &Entry<&str>,
        variants: &'r [At<Variant>],
    ) -> Option<&'r Variant> {
        let name = name.stated.as_ref()?;
        let found = variants.iter().find(|variant| variant.value.name == name.value);
        if found.is_none() {
            let names: Vec<&str> =
                variants.iter().map(|variant| variant.value.name.as_str()).collect();
            let absent = "add one: [[variant]]";
            self.unknown(name.value, &name.at, "there is no variant", &names, absent);
        }
        found.map(|variant| &variant.value)
    }
}
