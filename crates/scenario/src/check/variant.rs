//! Checks of one variant: its processes, units and channels together.

use std::collections::BTreeSet;
use std::ops::Range;

use hemiola_simplex::{Share, admit};
use hemiola_units::{Overrun, Policy, Rate, Span};

use super::Checker;
use super::mixed::{Step, rests};
use super::process::{Cycle, Written};
use super::profile::{rank, share_a_processor};
use crate::document::At;
use crate::keys::{ProcessKeys, Scenario, TaskWord, VariantKeys};
use crate::plan::{Process, Release, Task, Unit, UnitState, UniverseSettings, Variant};
use hemiola_diagnostic::Problem;

impl Checker<'_> {
    /// Reads all variants, each with the place of its name in the source.
    pub(super) fn variants(&mut self, root: &Scenario<'_>) -> Vec<At<Variant>> {
        let mut names = Names::default();
        let mut variants = Vec::new();
        for keys in root.variant.items() {
            let at = keys.name.at();
            for step in self.steps(keys) {
                let notes = self.notes.len();
                let variant = self.variant(keys, step.as_ref());
                if self.facts.module.is_none() && variant.units.iter().any(Unit::is_sandboxed) {
                    self.notes.truncate(notes);
                    self.lacks_sandbox(keys, &variant, root.variant.items().len());
                    continue;
                }
                if !variant.name.is_empty() {
                    names.claim(self, "variant", &variant.name, at);
                }
                variants.push(At { value: variant, at: at.clone() });
            }
        }
        variants
    }

    /// Leaves out a variant that this build cannot run; that is a problem only if no other one remains.
    fn lacks_sandbox(&mut self, keys: &VariantKeys<'_>, variant: &Variant, variants: usize) {
        let build = "build hemiola with --features sandbox";
        if variants > 1 {
            self.notes.push(format!(
                "{} is left out: it has units as WebAssembly, and this build has no sandbox; {build}",
                variant.name
            ));
        } else {
            let message = format!("\"{}\" has units as WebAssembly", variant.name);
            self.wrong(keys.name.at(), message, format!("this build has no sandbox; {build}"));
        }
    }

    fn variant(&mut self, keys: &VariantKeys<'_>, step: Option<&Step<'_>>) -> Variant {
        let as_written = keys.name.text();
        let name = step.map_or(as_written.clone(), |step| format!("{as_written}-{}", step.word));
        let label = format!("variant \"{name}\"");
        let own = keys.rate.get().copied();
        let rate = self.overrides.rate.or(own).unwrap_or(self.rate);
        let own_at = keys.rate.stated.as_ref().map(|rate| rate.at.clone());

        let named: Vec<&(At<&str>, ProcessKeys<'_>)> = keys
            .processes
            .items()
            .iter()
            .filter(|(name, keys)| !rests(name.value, keys, step))
            .collect();
        let controls = |keys: &ProcessKeys<'_>| {
            use TaskWord::{Controller, Decision, Monolithic};
            matches!(keys.task.get(), Some(Monolithic | Controller | Decision))
        };
        let rate_at = own_at.or_else(|| self.rate_at.clone());
        if !named.iter().any(|(_, keys)| controls(keys))
            || self.pendulum_has_model(rate.period(), rate_at)
        {
            self.period_fits(rate.period());
        }
        let is_decision = |keys: &ProcessKeys<'_>| keys.task.get() == Some(&TaskWord::Decision);
        let decision = named
            .iter()
            .any(|(_, keys)| is_decision(keys))
            .then(|| self.settings_for(rate.period(), &label));
        let cycle = Cycle { variant: &label, rate, decision: decision.as_ref(), step };

        let written: Vec<Written<'_>> =
            named.iter().filter_map(|(name, keys)| self.process(name, keys, &cycle)).collect();
        if let Some(decision) = &decision {
            self.recovers_in_time(decision, rate.period(), &written, &label);
        }
        let mut units: Vec<(Unit, Range<usize>)> = keys
            .units
            .items()
            .iter()
            .enumerate()
            .map(|(slot, keys)| {
                let at = keys.budget.stated.as_ref().map_or(keys.name.at(), |stated| &stated.at);
                (self.unit(keys, &cycle, slot == 0), at.clone())
            })
            .collect();
        self.units_have_room(&mut units, &cycle);

        self.no_name_twice(&written, &units);
        self.no_checkpoint_twice(&written);
        self.sandboxed_units_fit(&units, decision.as_ref());
        // `written` lacks processes with an unreadable task, so these checks would report false problems.
        if written.len() == named.len() {
            self.one_actuates(keys, &written);
            self.units_are_supervised(keys, &written, &units);
            self.turns_fit(keys, &written);
        }
        let channels =
            self.channels(keys, &written, written.len() == named.len(), !units.is_empty());
        let mut processes = self.start_order(written);
        if let (Some(plant), true) =
            (self.plant_process(), processes.iter().any(|p| actuates(&p.task)))
        {
            processes.insert(0, plant);
        }
        Variant {
            name,
            description: keys.description.get().map_or("", |text| text.trim()).into(),
            rate,
            channels,
            processes,
            units: units.into_iter().map(|(unit, _)| unit).collect(),
            decision,
            series: step.map(|_| as_written),
            federation: None,
        }
    }

    fn no_name_twice(&mut self, written: &[Written<'_>], units: &[(Unit, Range<usize>)]) {
        let mut names = Names::default();
        for process in written {
            let name = &process.process.name;
            if name == "plant" && self.plant.is_some() {
                self.wrong(
                    &process.name_at,
                    "\"plant\" is reserved for the plant's process",
                    "choose another name",
                );
            }
            names.claim(self, "process", name, &process.name_at);
        }
        for (unit, at) in units.iter().filter(|(unit, _)| !unit.name.is_empty()) {
            if unit.name == "plant" {
                self.wrong(
                    at,
                    "\"plant\" is reserved for the plant's process",
                    "choose another name",
                );
            }
            names.claim(self, "process or unit", &unit.name, at);
        }
    }

    /// Checks that no two universes write their checkpoints to the same file.
    fn no_checkpoint_twice(&mut self, written: &[Written<'_>]) {
        let mut files = Names::default();
        for Written { process, name_at, .. } in written {
            if let Task::Universe(UniverseSettings { checkpoint: Some(file), .. }) = &process.task {
                files.claim(self, "checkpoint", file, name_at);
            }
        }
    }

    /// Checks that exactly one process moves the plant; none if there is no plant.
    fn one_actuates(&mut self, keys: &VariantKeys<'_>, written: &[Written<'_>]) {
        let mut actuating = written.iter().filter(|process| actuates(&process.process.task));
        let first = actuating.next();
        match (first, self.plant.is_some()) {
            (None, false) if written.is_empty() => self.wrong(
                &keys.processes.key_at,
                "this variant has no process",
                "add one: name = { task = \"…\" }",
            ),
            (None, true) => self.wrong(
                &keys.name.key_at,
                "no process of this variant moves the plant",
                "it needs a process with task = \"io\" or task = \"monolithic\"",
            ),
            (Some(process), false) => self.wrong(
                &process.name_at,
                format!("\"{}\" has no plant to move", process.process.name),
                "add the table [plant]",
            ),
            _ => {}
        }
        let first = first.map_or("", |process| process.process.name.as_str());
        for other in actuating {
            self.wrong(
                &other.name_at,
                format!("\"{}\" and \"{first}\" both move the plant", other.process.name),
                "a variant has one process with task io or monolithic",
            );
        }
    }

    /// Checks that units have a decision process above them and that at most one of them is active.
    fn units_are_supervised(
        &mut self,
        keys: &VariantKeys<'_>,
        written: &[Written<'_>],
        units: &[(Unit, Range<usize>)],
    ) {
        let mut decisions = written.iter().filter(|p| p.process.task == Task::Decision);
        let decision = decisions.next();
        for other in decisions {
            self.wrong(
                &other.name_at,
                "this variant has a second decision process",
                "a variant has at most one",
            );
        }
        if decision.is_none() && !units.is_empty() {
            self.wrong(
                &keys.units.key_at,
                "units need a decision process",
                "add a process with task = \"decision\"; \
                         to run a controller without one, write task = \"controller\"",
            );
        }
        let mut active = units.iter().filter(|(unit, _)| unit.state == UnitState::Active);
        if let Some((first, _)) = active.next() {
            for (other, at) in active {
                let message = format!("\"{}\" and \"{}\" are both active", other.name, first.name);
                let hint = "only one unit can be active; the first unit is, unless it has state = \"shadow\"";
                self.wrong(at, message, hint);
            }
        }
        let above =
            written.iter().filter(|p| matches!(p.process.task, Task::Decision | Task::Io { .. }));
        for process in above {
            for (unit, at) in units {
                self.unit_is_below(unit, at, &process.process);
            }
        }
    }

    /// Checks that calls of sandboxed units leave half of the time for answers to the others.
    fn sandboxed_units_fit(
        &mut self,
        units: &[(Unit, Range<usize>)],
        decision: Option<&hemiola_simplex::Settings>,
    ) {
        let Some(half) = decision.map(|decision| decision.answer_within / 2) else { return };
        let mut together = Span::ZERO;
        for (unit, at) in units.iter().filter(|(unit, _)| unit.is_sandboxed()) {
            together += unit.budget;
            if together > half && together - unit.budget <= half {
                let message = format!(
                    "the budgets of sandboxed units add up to {together}, beyond half of answer_within, which is {half}"
                );
                self.wrong(
                    at,
                    message,
                    "lower their budgets; the decision process calls them one after the other",
                );
            }
        }
    }

    /// Checks that there is room for the budgets of all units until answers are due.
    fn units_have_room(&mut self, units: &mut [(Unit, Range<usize>)], cycle: &Cycle<'_>) {
        let Some(decision) = cycle.decision else { return };
        let shares: Vec<(String, Share)> =
            units.iter().map(|(unit, _)| (unit.name.clone(), unit.share())).collect();
        let shares: Vec<(&str, &Share)> =
            shares.iter().map(|(name, share)| (name.as_str(), share)).collect();
        for (slot, (name, share)) in shares.iter().enumerate() {
            let Err(problem) = admit(name, share, &shares[..slot], decision.answer_within) else {
                continue;
            };
            if self.overrides.rate.is_some() {
                self.notes.push(format!(
                    "{}: budgets of its units shortened to fit answer_within of {}",
                    cycle.variant, decision.answer_within
                ));
                for (unit, _) in units {
                    unit.budget = cycle.budget(unit.is_sandboxed());
                }
                return;
            }
            let hint = "give the units smaller budgets, or the cycle a longer answer_within";
            self.wrong(&units[slot].1, problem.to_string(), hint);
        }
    }

    /// Checks that a unit in an endless loop cannot keep the processor from its supervisor.
    fn unit_is_below(&mut self, unit: &Unit, at: &Range<usize>, process: &Process) {
        let (below, above) = (&unit.profile.scheduling, &process.profile.scheduling);
        let ordinary = matches!((below, above), (Policy::Other { .. }, Policy::Other { .. }));
        if !self.priorities_are_known
            || ordinary
            || rank(below) < rank(above)
            || !share_a_processor(&unit.profile, &process.profile)
        {
            return;
        }
        self.wrong(
            at,
            format!(
                "unit \"{}\" at {below} could keep the processor from \"{}\" at {above}",
                unit.name, process.name
            ),
            "give units a lower priority than io and decision",
        );
    }

    fn plant_process(&self) -> Option<Process> {
        let (plant, chosen) = (self.plant.as_ref()?, self.plant_profile.as_ref()?);
        Some(Process {
            name: "plant".into(),
            task: Task::Plant,
            release: Release::Every {
                rate: Rate::from_period(plant.step)?,
                overrun: Overrun::CatchUp,
                lead: Span::ZERO,
            },
            period: plant.step,
            deadline: plant.step,
            profile: chosen.profile.clone(),
            profile_name: chosen.name.clone(),
            sends: Vec::new(),
            receives: Vec::new(),
        })
    }

    /// Sorts the processes so that every `after` holds; otherwise as written.
    fn start_order(&mut self, written: Vec<Written<'_>>) -> Vec<Process> {
        let names: Vec<String> = written.iter().map(|w| w.process.name.clone()).collect();
        let mut waiting: Vec<Written<'_>> = Vec::with_capacity(written.len());
        for mut process in written {
            for after in &process.after {
                // The plant comes first in any case.
                if after.value != "plant" && !names.iter().any(|name| name == after.value) {
                    self.no_such("process", after, names.iter().map(String::as_str));
                }
            }
            process.after.retain(|after| names.iter().any(|name| name == after.value));
            waiting.push(process);
        }
        let mut ordered = Vec::with_capacity(waiting.len());
        while !waiting.is_empty() {
            let ready = waiting.iter().position(|candidate| {
                let blocks =
                    |after: &At<&str>| waiting.iter().any(|w| w.process.name == after.value);
                !candidate.after.iter().any(blocks)
            });
            let Some(ready) = ready else {
                self.start_cycle(&waiting);
                break;
            };
            ordered.push(waiting.remove(ready).process);
        }
        ordered
    }

    /// Reports processes that wait for one another. Each process in `waiting` waits for another one in it.
    fn start_cycle(&mut self, waiting: &[Written<'_>]) {
        let next = |index: usize| {
            let after = waiting[index].after.iter().enumerate().find_map(|(which, after)| {
                let target = waiting.iter().position(|w| w.process.name == after.value)?;
                Some((target, which))
            });
            after.expect("a process that is not ready waits for one of these")
        };
        // After `waiting.len()` steps, the walk is on the circle.
        let start = (0..waiting.len()).fold(0, |index, _| next(index).0);
        let mut circle = vec![waiting[start].process.name.as_str()];
        let mut index = next(start).0;
        while index != start {
            circle.push(&waiting[index].process.name);
            index = next(index).0;
        }
        circle.push(circle[0]);
        let at = waiting[start].after[next(start).1].at.clone();
        let circle = circle.join(" after ");
        self.problem(
            Problem::new(at, format!("no process can start first: {circle}"))
                .hint("remove one \"after\" of the circle"),
        );
    }
}

/// Whether the task reads and writes the converter card.
fn actuates(task: &Task) -> bool {
    matches!(task, Task::Io { .. } | Task::Monolithic { .. })
}

/// The names used so far.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn claim(&mut self, checker: &mut Checker<'_>, noun: &str, name: &str, at: &Range<usize>) {
        if !self.0.insert(name.into()) {
            checker.problem(
                Problem::new(at.clone(), format!("another {noun} is already named \"{name}\""))
                    .hint("choose another name"),
            );
        }
    }
}
