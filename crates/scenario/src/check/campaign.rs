//! Campaigns: which faults, how often, in which rungs.

use hemiola_units::Span;

use super::Checker;
use crate::plan::{Campaign, Gain, ProcessFaults, Rung, SimulatedFaults, Task, UnitState};
use crate::problem::Problem;
use crate::section::{At, Section};

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
        rungs: &[At<Rung>],
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
            process: process.map(|section| self.process_faults(&section, root, rungs)),
        }
    }

    fn simulated(&mut self, section: &Section<'_>, root: &Section<'_>) -> SimulatedFaults {
        let Course { runs, duration, fault_after } = self.course(section, root);
        let gain = match section.gain("gain") {
            Some(gain) => self.gain(gain),
            None => Gain::Named("experimental".into()),
        };
        SimulatedFaults {
            kinds: self.kinds(section, self.facts.output_faults),
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
        rungs: &[At<Rung>],
    ) -> ProcessFaults {
        let Course { runs, duration, fault_after } = self.course(section, root);
        let supervised = |rung: &Rung| rung.decision.is_some();
        let with = self.rung_of(section, "with", rungs);
        if let Some(rung) = with
            && !(supervised(rung) && rung.units.iter().any(|unit| unit.state == UnitState::Active))
        {
            self.problem(
                Problem::new(
                    section.key_at("with"),
                    format!("rung \"{}\" has no decision process with an active unit", rung.name),
                )
                .hint("the fault goes into the active unit"),
            );
        }
        let without = self.rung_of(section, "without", rungs);
        if let Some(rung) = without {
            let controls =
                |task: &Task| matches!(task, Task::Controller { .. } | Task::Monolithic { .. });
            if supervised(rung) || !rung.processes.iter().any(|process| controls(&process.task)) {
                self.problem(
                    Problem::new(
                        section.key_at("without"),
                        format!("rung \"{}\" is not one controller without a decision process", rung.name),
                    )
                    .hint("the fault goes into a process with task = \"controller\" or \"monolithic\""),
                );
            }
        }
        if !section.has("with") && !section.has("without") {
            self.problem(
                Problem::new(section.at.clone(), "process faults need a rung to happen in")
                    .hint("say with = \"…\" and without = \"…\", the names of two rungs"),
            );
        }
        let name = |rung: Option<&Rung>| rung.map(|rung| rung.name.clone());
        ProcessFaults {
            kinds: self.kinds(section, self.facts.process_faults),
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

    fn kinds(&mut self, section: &Section<'_>, known: &[&str]) -> Vec<String> {
        let chosen = section.texts("kinds");
        if chosen.is_empty() {
            return known.iter().map(|kind| (*kind).to_owned()).collect();
        }
        let mut kinds: Vec<String> = Vec::with_capacity(chosen.len());
        for kind in chosen {
            self.known(kind.value, &kind.at, "fault of this sort", known);
            if kinds.iter().any(|other| other == kind.value) {
                self.problem(Problem::new(
                    kind.at,
                    format!("\"{}\" is in the list already", kind.value.escape_debug()),
                ));
            } else {
                kinds.push(kind.value.into());
            }
        }
        kinds
    }

    fn rung_of<'r>(
        &mut self,
        section: &Section<'_>,
        key: &str,
        rungs: &'r [At<Rung>],
    ) -> Option<&'r Rung> {
        let name = section.text(key)?;
        let found = rungs.iter().find(|rung| rung.value.name == name.value);
        if found.is_none() {
            let names: Vec<&str> = rungs.iter().map(|rung| rung.value.name.as_str()).collect();
            let message = format!("there is no rung \"{}\"", name.value.escape_debug());
            let hint = match names.is_empty() {
                true => "write it: [[rung]]".into(),
                false => format!("there are {}", names.join(", ")),
            };
            let label = super::did_you_mean(name.value, names);
            self.problem(Problem::new(name.at, message).label(label).hint(hint));
        }
        found.map(|rung| &rung.value)
    }
}
