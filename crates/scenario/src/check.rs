//! The semantic checks: they resolve names, fill in defaults and report contradictions.

mod campaign;
mod decision;
mod federation;
mod links;
mod mixed;
mod plant;
mod process;
mod profile;
#[cfg(test)]
mod tests;
mod variant;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hemiola_plant::Settings as PlantSettings;
use hemiola_simplex::fault::{Class, FaultKind};
use hemiola_units::{Rate, Span};

use self::decision::Rule;
use self::profile::NamedProfile;
use crate::document::{At, Entry};
use crate::facts::{Facts, Overrides};
use crate::keys::{self, Scenario};
use crate::plan::{CardSettings, KernelTrace, Plan};
use hemiola_diagnostic::{Problem, did_you_mean};

/// The A/D conversions of one cycle.
const READ_CONVERSIONS: i64 = 2;
/// The conversions of one cycle: those, and one D/A.
const CONVERSIONS: i64 = READ_CONVERSIONS + 1;

/// The state that the checks share: the machine, the values at the top of the document, and the findings.
struct Checker<'c> {
    facts: &'c Facts<'c>,
    overrides: &'c Overrides,
    allow_less: bool,
    /// The rate of variants that state none.
    rate: Rate,
    /// Where it is stated, unless the command line states it.
    rate_at: Option<Range<usize>>,
    duration: Span,
    /// Where `duration` is stated; `None` when the command line states it.
    duration_at: Option<Range<usize>>,
    /// Warm-up plus duration.
    run_length: Span,
    profiles: BTreeMap<String, NamedProfile>,
    /// Whether every profile and priority so far could be read: only then are priorities compared.
    priorities_are_known: bool,
    rule: Rule,
    plant: Option<PlantSettings>,
    step_at: Option<Range<usize>>,
    /// Where a linear plant is stated, until it is found to have no model: once is enough for all variants.
    linear_at: Option<Range<usize>>,
    plant_profile: Option<profile::Chosen>,
    card: CardSettings,
    conversion_at: Option<Range<usize>>,
    /// Whether anything may run at a real-time priority that a federation's modes choose.
    runs_high: bool,
    /// The highest priority that only `allow_less` lets through.
    priority_beyond: Option<u8>,
    /// Which of "first" and "last" the profiles use.
    words_for_cpus: BTreeSet<&'static str>,
    problems: Vec<Problem>,
    notes: Vec<String>,
}

/// Returns the plan of a document whose shape was checked, and its problems. The plan is valid only when
/// there are no problems.
pub(crate) fn check(
    root: &Scenario<'_>,
    facts: &Facts<'_>,
    overrides: &Overrides,
) -> (Plan, Vec<Problem>) {
    let warmup = root.warmup.value();
    let (duration, duration_at) = match (overrides.duration, &root.duration.stated) {
        (Some(duration), _) => (duration, None),
        (None, Some(At { value, at })) => (*value, Some(at.clone())),
        (None, None) => (keys::DURATION, None),
    };
    let mut checker = Checker {
        facts,
        overrides,
        allow_less: root.allow_less.value(),
        rate: overrides.rate.or(root.rate.get().copied()).unwrap_or_else(fallback_rate),
        rate_at: root.rate.stated.as_ref().map(|rate| rate.at.clone()),
        duration,
        duration_at,
        run_length: warmup + duration,
        profiles: BTreeMap::new(),
        priorities_are_known: true,
        rule: Rule::default(),
        plant: None,
        step_at: None,
        linear_at: None,
        plant_profile: None,
        card: CardSettings { conversion_time: Span::ZERO },
        conversion_at: None,
        runs_high: federation::runs_high(root),
        priority_beyond: None,
        words_for_cpus: BTreeSet::new(),
        problems: Vec::new(),
        notes: Vec::new(),
    };
    checker.overrides_are_in_range();
    checker.profiles(root);
    checker.plant = root.plant.get().map(|plant| checker.plant(plant));
    checker.rule = checker.rule(&root.decision.or_empty());
    checker.card(root);
    let variants = match root.federation.get() {
        Some(federation) => checker.federation(federation, root),
        None => checker.variants(root),
    };
    let campaign = root.campaign.get().map(|campaign| checker.campaign(campaign, root, &variants));
    checker.something_runs(root);
    checker.note_profiles();
    // The variants of a list share their notes; keep one of each.
    let mut notes: Vec<String> = Vec::new();
    for note in std::mem::take(&mut checker.notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let plan = Plan {
        title: root.title.text(),
        description: root.description.get().map_or("", |text| text.trim()).into(),
        seed: root.seed.value(),
        duration,
        warmup,
        runs: overrides.runs.unwrap_or(root.runs.value()),
        allow_less: checker.allow_less,
        plant: checker.plant,
        card: checker.card,
        variants: variants.into_iter().map(|variant| variant.value).collect(),
        kernel: kernel(root, overrides),
        campaign,
        notes,
    };
    (plan, checker.problems)
}

/// Whether the kernel's events are recorded: as the command line or the scenario states, else where permitted.
fn kernel(root: &Scenario<'_>, overrides: &Overrides) -> KernelTrace {
    let stated = root.trace.get().and_then(|trace| trace.kernel.get().copied());
    match overrides.kernel.or(stated) {
        None => KernelTrace::WherePermitted,
        Some(true) => KernelTrace::Required,
        Some(false) => KernelTrace::Off,
    }
}

/// The rate used by the checks when the document's own rate is unreadable; never part of a plan.
fn fallback_rate() -> Rate {
    Rate::from_period(Span::from_millis(20)).expect("20 ms is within a rate's range")
}

impl Checker<'_> {
    /// Adds a problem unless it is already known: several variants may share one faulty value.
    fn problem(&mut self, problem: Problem) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Adds a problem with a hint.
    fn wrong(&mut self, at: &Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.problem(Problem::new(at.clone(), message).hint(hint));
    }

    fn overrides_are_in_range(&mut self) {
        let Overrides { runs, duration, conversion_time, .. } = *self.overrides;
        if let Some(time) = conversion_time.filter(|time| *time < Span::ZERO) {
            let message = format!("--conversion-time is {time}; it must not be negative");
            self.problem(Problem::new(None, message));
        }
        if let Some(runs) = runs.filter(|runs| !(1..=keys::RUNS_MAX).contains(&i64::from(*runs))) {
            let max = keys::RUNS_MAX;
            self.problem(Problem::new(
                None,
                format!("--runs is {runs}; it must be from 1 to {max}"),
            ));
        }
        if let Some(duration) = duration
            .filter(|duration| !(Span::from_nanos(1)..=crate::shape::LENGTH_MAX).contains(duration))
        {
            let max = crate::shape::LENGTH_MAX;
            self.problem(Problem::new(
                None,
                format!("--duration is {duration}; it must be above zero and at most {max}"),
            ));
        }
    }

    fn card(&mut self, root: &Scenario<'_>) {
        if let Some(card) = root.card.get() {
            self.card.conversion_time = card.conversion_time.value();
            self.conversion_at = card.conversion_time.stated.as_ref().map(|time| time.at.clone());
        }
        if let Some(time) = self.overrides.conversion_time {
            self.card.conversion_time = time;
            self.conversion_at = None;
        }
    }

    /// Checks that a run has at least one cycle, and that plant and card fit into it.
    fn period_fits(&mut self, period: Span) {
        if self.duration.is_positive() && self.duration < period {
            let message =
                format!("a run of {} is shorter than one period of {period}", self.duration);
            self.problem(Problem::new(self.duration_at.clone(), message));
        }
        let spent = self.card.conversion_time * CONVERSIONS;
        if spent >= period {
            let message = format!(
                "the {CONVERSIONS} conversions of a cycle take {spent}, but the period is {period}"
            );
            let problem = Problem::new(self.conversion_at.clone(), message);
            self.problem(problem.hint("shorten conversion_time or lower the rate"));
        }
        self.plant_step_fits(period);
        self.plant_has_model(period);
    }

    fn something_runs(&mut self, root: &Scenario<'_>) {
        let variants =
            root.variant.is_present && !(root.variant.is_array && root.variant.items().is_empty());
        if !variants && !root.campaign.is_present && !root.federation.is_present {
            self.wrong(
                &root.section.at,
                "there is nothing to run",
                "add at least one [[variant]], a [campaign] or a [federation]",
            );
        }
    }

    /// Returns the fault of this name, or reports that these classes have none of this name.
    fn fault(&mut self, name: &At<&str>, noun: &str, classes: &[Class]) -> Option<FaultKind> {
        let found = FaultKind::named(name.value).filter(|kind| classes.contains(&kind.class()));
        if found.is_none() {
            let names: Vec<&str> = faults(classes).map(FaultKind::name).collect();
            self.unknown(name.value, &name.at, &format!("there is no {noun}"), &names, "");
        }
        found
    }

    /// Reports a name that is not among `names`; `absent` is the hint if there are none.
    fn unknown(
        &mut self,
        name: &str,
        at: &Range<usize>,
        message: &str,
        names: &[&str],
        absent: &str,
    ) {
        let message = format!("{message} \"{}\"", name.escape_debug());
        let label = did_you_mean(name, names.iter().copied()).unwrap_or_default();
        let hint = match names {
            [] => absent.to_owned(),
            names => format!("choose from {}", names.join(", ")),
        };
        self.problem(Problem::new(at.clone(), message).label(label).hint(hint));
    }

    /// Returns the program and its arguments. Reports a program that cannot be started.
    fn command(&mut self, command: &Entry<Vec<At<&str>>>) -> (String, Vec<String>) {
        let Some((program, arguments)) = command.items().split_first() else {
            if command.is_array {
                self.wrong(
                    &command.key_at,
                    "command is empty",
                    "write the program and its arguments: [\"./program\", \"argument\"]",
                );
            }
            return (String::new(), Vec::new());
        };
        let has_nul = |argument: &At<&str>| argument.value.contains('\0');
        if !has_nul(program) && !(self.facts.executable)(program.value) {
            let name = program.value.escape_debug();
            let hint = if program.value.contains('/') {
                "paths are relative to the scenario's folder; check that the program is built and executable (chmod +x)"
            } else {
                "a name without a slash is looked up in PATH; write \"./name\" for a program beside the scenario"
            };
            self.wrong(&program.at, format!("\"{name}\" is not an executable program"), hint);
        }
        // The system ends an argument at its first NUL.
        for argument in command.items().iter().filter(|argument| has_nul(argument)) {
            let shown = argument.value.escape_debug();
            let message = format!("the argument \"{shown}\" contains a NUL character");
            self.wrong(
                &argument.at,
                message,
                "no program can be given such an argument; remove \\u0000",
            );
        }
        let arguments = arguments.iter().map(|argument| argument.value.to_owned()).collect();
        (program.value.to_owned(), arguments)
    }
}

/// The faults of these classes.
fn faults(classes: &[Class]) -> impl Iterator<Item = FaultKind> {
    FaultKind::ALL.iter().copied().filter(|kind| classes.contains(&kind.class()))
}
