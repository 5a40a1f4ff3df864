//! Campaigns: which faults, how often, in which variants.

use hemiola_simplex::Gain;
use hemiola_simplex::fault::{Class, FaultKind};
use hemiola_units::Span;

use super::Checker;
use crate::plan::{Campaign, ProcessFaults, SimulatedFaults, Task, UnitState, Variant};
use crate::section::{At, Section};
use hemiola_diagnostic::{Problem, did_you_mean};

/// Faults of a controller's output can be simulated; the others need a real process.
const OUTPUT: &[Class] = &[Class::Output];
const PROCESS: &[Class] = &[Class::Message, Class::Process];

/// How often, how long, and when: what both parts of a campaign say.
struct Course {
    runs: u32,
    duration: Span,
    fault_after: Span,
}

impl Checker<'_> {
    pub(super) fn campaign(
        &mut self,
        section: &Section<'_>,
        root: &Section<'_>,
        variants: &[At<Variant>],
    ) -> Campaign {
        if !section.has("simulated") && !section.has("process") {
            self.problem(
                Problem::new(section.at.clone(), "the campaign has no faults")
                    .hint("say simulated = { kinds = \"all\" }, process = { … }, or both"),
            );
        }
        if self.plant.is_none() && !root.has("plant") {
            self.problem(
                Problem::new(section.at.clone(), "a campaign needs a plant to lose")
                    .hint("describe the apparatus: [plant]"),
            );
        }
        let simulated = section.section("simulated");
        let process = section.section("process");
        Campaign {
            simulated: simulated.map(|section| self.simulated(&section, root)),
            process: process.map(|section| self.process_faults(&section, root, variants)),
        }
    }

    fn simulated(&mut self, section: &Section<'_>, root: &Section<'_>) -> SimulatedFaults {
        let Course { runs, duration, fault_after } = self.course(section, root);
        let gain = match section.gain("gain") {
            Some(gain) => self.gain(gain),
            None => Gain::named("experimental").expect("the table of gains has it"),
        };
        SimulatedFaults {
            kinds: self.kinds(section, OUTPUT),
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
        section: &Section<'_>,
        root: &Section<'_>,
        variants: &[At<Variant>],
    ) -> ProcessFaults {
        let Course { runs, duration, fault_after } = self.course(section, root);
        let supervised = |variant: &Variant| variant.decision.is_some();
        let with = self.variant_of(section, "with", variants);
        if let Some(variant) = with
            && !(supervised(variant)
                && variant.units.iter().any(|unit| unit.state == UnitState::Active))
        {
            self.problem(
                Problem::new(
                    section.key_at("with"),
                    format!(
                        "variant \"{}\" has no decision process with an active unit",
                        variant.name
                    ),
                )
                .hint("the fault goes into the active unit"),
            );
        }
        let without = self.variant_of(section, "without", variants);
        if let Some(variant) = without {
            let controls =
                |task: &Task| matches!(task, Task::Controller { .. } | Task::Monolithic { .. });
            if supervised(variant)
                || !variant.processes.iter().any(|process| controls(&process.task))
            {
                self.problem(
                    Problem::new(
                        section.key_at("without"),
                        format!("variant \"{}\" is not one controller without a decision process", variant.name),
                    )
                    .hint("the fault goes into a process with task = \"controller\" or \"monolithic\""),
                );
            }
        }
        if !section.has("with") && !section.has("without") {
            self.problem(
                Problem::new(section.at.clone(), "process faults need a variant to happen in")
                    .hint("say with = \"…\" and without = \"…\", the names of two variants"),
            );
        }
        let name = |variant: Option<&Variant>| variant.map(|variant| variant.name.clone());
        ProcessFaults {
            kinds: self.kinds(section, PROCESS),
            runs,
            duration,
            fault_after,
            with: name(with),
            without: name(without),
        }
    }

    fn course(&mut self, section: &Section<'_>, root: &Section<'_>) -> Course {
        let stated = section.parsed::<Span>("duration").or_else(|| root.parsed("duration"));
        let duration = self
            .overrides
            .duration
            .or(stated.map(|stated| stated.value))
            .unwrap_or(Span::from_millis(5_000));
        let after = section.parsed::<Span>("fault_after").map(|after| after.value);
        let mut fault_after = after.unwrap_or(Span::from_millis(2_000));
        if fault_after >= duration {
            // Only what the file itself says can be wrong in the file.
            if after.is_some() && self.overrides.duration.is_none() {
                self.problem(
                    Problem::new(
                        section.key_at("fault_after"),
                        format!("the fault would come after {fault_after}, but a run ends after {duration}"),
                    )
                    .hint("leave time to see what it does"),
                );
            } else {
                let sooner = duration / 2;
                if after.is_some() {
                    self.notes.push(format!(
                        "fault_after shortened from {fault_after} to {sooner} to fit a run of {duration}"
                    ));
                }
                fault_after = sooner;
            }
        }
        Course { runs: self.runs(section, self.runs(root, 1)), duration, fault_after }
    }

    fn kinds(&mut self, section: &Section<'_>, classes: &[Class]) -> Vec<FaultKind> {
        let chosen = section.texts("kinds");
        if chosen.is_empty() {
            return super::faults(classes).collect();
        }
        let mut kinds: Vec<FaultKind> = Vec::with_capacity(chosen.len());
        for name in chosen {
            let Some(kind) = self.fault(&name, "fault of this sort", classes) else { continue };
            if kinds.contains(&kind) {
                let message = format!("\"{}\" is in the list already", kind.name());
                self.problem(Problem::new(name.at, message));
            } else {
                kinds.push(kind);
            }
        }
        kinds
    }

    fn variant_of<'r>(
        &mut self,
        section: &Section<'_>,
        key: &str,
        variants: &'r [At<Variant>],
    ) -> Option<&'r Variant> {
        let name = section.text(key)?;
        let found = variants.iter().find(|variant| variant.value.name == name.value);
        if found.is_none() {
            let names: Vec<&str> =
                variants.iter().map(|variant| variant.value.name.as_str()).collect();
            let message = format!("there is no variant \"{}\"", name.value.escape_debug());
            let hint = match names.is_empty() {
                true => "write it: [[variant]]".into(),
                false => format!("there are {}", names.join(", ")),
            };
            let label = did_you_mean(name.value, names).unwrap_or_default();
            self.problem(Problem::new(name.at, message).label(label).hint(hint));
        }
        found.map(|variant| &variant.value)
    }
}
