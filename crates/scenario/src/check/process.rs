//! One process or unit: its task, its release, its settings.

use std::ops::Range;

use hemiola_simplex::fault::{Class, FaultKind};
use hemiola_simplex::{Gain, Settings};
use hemiola_units::{Overrun, Rate, Span};

use super::Checker;
use super::mixed::Step;
use crate::plan::{
    InjectedFault, Message, Order, Process, Release, Task, Unit, UnitProgram, UnitState,
};
use crate::section::{At, Section};
use hemiola_diagnostic::{Problem, did_you_mean};

/// What processes and units of one variant share.
pub(super) struct Cycle<'r> {
    pub(super) variant: &'r str,
    pub(super) rate: Rate,
    /// The rule, when the variant has a decision process.
    pub(super) decision: Option<&'r Settings>,
    /// The value of a list that this variant is for.
    pub(super) step: Option<&'r Step<'r>>,
}

/// A process with the places later checks point at.
pub(super) struct Written<'s> {
    pub(super) process: Process,
    pub(super) name_at: Range<usize>,
    pub(super) sends: Vec<At<&'s str>>,
    pub(super) receives: Vec<At<&'s str>>,
    pub(super) after: Vec<At<&'s str>>,
    /// Whether what it sends and receives could be read; when not, empty lists mean nothing.
    pub(super) ends_known: bool,
}

/// Keys that belong to some tasks only.
const OWN_KEYS: [(&str, &[&str]); 16] = [
    ("order", &["io"]),
    ("command_within", &["io"]),
    ("gain", &["monolithic", "controller"]),
    ("compute", &["workload"]),
    ("share", &["workload"]),
    ("takes_turns", &["workload"]),
    ("threads", &["benchmark"]),
    ("memory", &["benchmark"]),
    ("turn", &["benchmark"]),
    ("command", &["command"]),
    ("rate", &["workload"]),
    ("overrun", &["io", "monolithic", "workload"]),
    ("lead", &["io", "monolithic", "decision", "workload"]),
    ("deadline", &["io", "monolithic", "controller", "decision", "workload"]),
    ("sends", &["io", "controller", "decision"]),
    ("receives", &["io", "controller", "decision"]),
];

/// What a task receives and sends; `None` for tasks without channels.
pub(super) const fn ports(task: &Task) -> Option<(Message, Message)> {
    match task {
        Task::Io { .. } => Some((Message::Command, Message::Sensors)),
        Task::Controller { .. } | Task::Decision => Some((Message::Sensors, Message::Command)),
        Task::Plant
        | Task::Monolithic { .. }
        | Task::Workload { .. }
        | Task::Benchmark { .. }
        | Task::Command { .. }
        | Task::Rti { .. }
        | Task::Federate(_)
        | Task::Timer => None,
    }
}

impl Checker<'_> {
    /// Reads one process; nothing when its task is unreadable.
    pub(super) fn process<'s>(
        &mut self,
        name: &At<&'s str>,
        section: &Section<'s>,
        cycle: &Cycle<'_>,
    ) -> Option<Written<'s>> {
        let word = section.text("task")?.value;
        self.own_keys(word, section);
        let stated = section.parsed::<Rate>("rate").map(|rate| rate.value);
        let step = cycle.step.filter(|step| step.process == name.value);
        let rate = step.and_then(Step::rate).or(stated).unwrap_or(cycle.rate);
        let period = match word {
            "workload" => rate.period(),
            "benchmark" => self.turn(section),
            _ => cycle.rate.period(),
        };
        let task = self.task(word, name.value, section, cycle, period)?;
        let receives = section.texts("receives");
        let release = match &task {
            Task::Controller { .. } | Task::Decision => Release::On {
                channel: receives.first().map_or("", |channel| channel.value).into(),
                lead: self.lead(name.value, section, period),
            },
            Task::Command { .. } => Release::Own,
            // It is set off once in a turn, to record what its threads counted in the one before.
            Task::Benchmark { turn, .. } => Release::Every {
                rate: Rate::from_period(*turn).unwrap_or(cycle.rate),
                overrun: Overrun::Skip,
                lead: Span::ZERO,
            },
            _ => Release::Every {
                rate: if word == "workload" { rate } else { cycle.rate },
                overrun: overrun(section),
                lead: self.lead(name.value, section, period),
            },
        };
        let chosen = self.chosen(section, None);
        let sends = section.texts("sends");
        let names = |texts: &[At<&str>]| texts.iter().map(|text| text.value.to_owned()).collect();
        Some(Written {
            process: Process {
                name: name.value.into(),
                task,
                release,
                period,
                deadline: self.deadline(name.value, section, period),
                profile: chosen.profile,
                profile_name: chosen.name,
                sends: names(&sends),
                receives: names(&receives),
            },
            name_at: name.at.clone(),
            sends,
            receives,
            after: section.texts("after"),
            ends_known: ["sends", "receives"]
                .iter()
                .all(|key| !section.has(key) || section.is_array(key)),
        })
    }

    fn own_keys(&mut self, task: &str, section: &Section<'_>) {
        for (key, tasks) in OWN_KEYS {
            if section.has(key) && !tasks.contains(&task) {
                let hint = match key {
                    "rate" => "its cycle has the rate of the variant: write it there".into(),
                    _ => format!("it belongs to the task {}", tasks.join(" or ")),
                };
                let message =
                    format!("{key} means nothing to the task \"{}\"", task.escape_debug());
                self.problem(Problem::new(section.key_at(key), message).hint(hint));
            }
        }
    }

    fn task(
        &mut self,
        word: &str,
        name: &str,
        section: &Section<'_>,
        cycle: &Cycle<'_>,
        period: Span,
    ) -> Option<Task> {
        let needed_gain = |checker: &mut Self| {
            if !section.has("gain") {
                checker.missing(section, name, "gain", "the name of a gain or four numbers");
            }
            section.gain("gain").map_or(Gain([0.0; 4]), |gain| checker.gain(gain))
        };
        Some(match word {
            "io" => Task::Io { order: self.order(section, cycle) },
            "monolithic" => Task::Monolithic { gain: needed_gain(self) },
            "controller" => Task::Controller { gain: needed_gain(self) },
            "decision" => Task::Decision,
            "workload" => Task::Workload {
                compute: self.compute(section, name, cycle.step, period),
                takes_turns: section.boolean("takes_turns").unwrap_or(false),
            },
            "benchmark" => self.benchmark(section, period),
            "command" => {
                if !section.has("command") {
                    self.missing(section, name, "command", "the program and its arguments");
                }
                let (program, arguments) = self.command(section);
                Task::Command { program, arguments }
            }
            _ => return None,
        })
    }

    pub(super) fn missing(&mut self, section: &Section<'_>, name: &str, key: &str, what: &str) {
        self.problem(
            Problem::new(section.at.clone(), format!("\"{name}\" needs \"{key}\""))
                .hint(format!("{key} is {what}")),
        );
    }

    fn order(&mut self, section: &Section<'_>, cycle: &Cycle<'_>) -> Order {
        let read_first = section.text("order").is_some_and(|order| order.value == "read-first");
        let stated = section.parsed::<Span>("command_within");
        if !read_first {
            if section.has("command_within") {
                self.problem(
                    Problem::new(
                        section.key_at("command_within"),
                        "command_within means nothing when io writes first, because it waits for nobody",
                    )
                    .hint("say order = \"read-first\""),
                );
            }
            return Order::WriteFirst;
        }
        let period = cycle.rate.period();
        // Half a period when nobody says how long an answer may take.
        let answer = cycle.decision.map(|decision| decision.answer_within);
        let earliest = answer.unwrap_or(Span::ZERO);
        let midpoint = earliest + (period - earliest) / 2;
        let default = match answer {
            Some(answer) => (answer + answer / 2).min(midpoint),
            None => midpoint,
        };
        let Some(stated) = stated else { return Order::ReadFirst { command_within: default } };
        let fits = stated.value > earliest && stated.value < period;
        let command_within =
            if fits {
                stated.value
            } else if self.overrides.rate.is_some() {
                self.notes.push(format!(
                    "{}: command_within changed from {} to {default} to fit the period of {period}",
                    cycle.variant, stated.value
                ));
                default
            } else {
                let message = match answer {
                    Some(answer) if stated.value <= answer => format!(
                        "io would give up after {}, before answers are due at {answer}",
                        stated.value
                    ),
                    _ => format!("io would wait {} in a period of {period}", stated.value),
                };
                self.problem(Problem::new(stated.at, message).hint(format!(
                    "keep it between answer_within and the period, such as {default}"
                )));
                default
            };
        Order::ReadFirst { command_within }
    }

    fn deadline(&mut self, name: &str, section: &Section<'_>, period: Span) -> Span {
        let Some(deadline) = section.parsed::<Span>("deadline") else { return period };
        if deadline.value <= period {
            return deadline.value;
        }
        let stated = deadline.value;
        if self.overrides.rate.is_some() {
            self.notes.push(format!(
                "{name}: deadline shortened from {stated} to the period of {period}"
            ));
        } else {
            self.problem(
                Problem::new(
                    deadline.at,
                    format!(
                        "the deadline of \"{name}\" is {stated}, beyond its period of {period}"
                    ),
                )
                .hint("keep the deadline at or under the period"),
            );
        }
        period
    }

    /// How long before its release a process wakes; at another rate than the file's as far as it fits.
    fn lead(&mut self, name: &str, section: &Section<'_>, period: Span) -> Span {
        let Some(lead) = section.parsed::<Span>("lead") else { return Span::ZERO };
        let half = period / 2;
        if lead.value <= half {
            return lead.value;
        }
        let stated = lead.value;
        if self.overrides.rate.is_some() {
            self.notes.push(format!("{name}: lead shortened from {stated} to {half}"));
        } else {
            let message =
                format!("the lead of \"{name}\" is {stated}, beyond half its period of {period}");
            let hint = "it keeps the processor busy for so long in each period; 100us is usual";
            self.problem(Problem::new(lead.at, message).hint(hint));
        }
        half
    }

    /// Reads one unit; `first` is whether it is in the first slot.
    pub(super) fn unit(&mut self, section: &Section<'_>, cycle: &Cycle<'_>, first: bool) -> Unit {
        let name = section.text("name").map_or("", |name| name.value);
        let program = self.unit_program(name, section);
        let fault = section.text("fault").map(|kind| {
            let classes = [Class::Output, Class::Message, Class::Process];
            let kind = self.fault(&kind, "fault", &classes).unwrap_or(FaultKind::None);
            let after = section.parsed("fault_after").map_or(Span::ZERO, |after| after.value);
            if after >= self.run_length {
                self.problem(
                    Problem::new(
                        section.key_at("fault_after"),
                        format!(
                            "the fault would come after {after}, but a run ends after {}",
                            self.run_length
                        ),
                    )
                    .hint("a run is warmup and duration"),
                );
            }
            InjectedFault { kind, after }
        });
        if section.has("fault_after") && !section.has("fault") {
            self.problem(
                Problem::new(section.key_at("fault_after"), "fault_after without a fault")
                    .hint("say what goes wrong with fault = \"…\""),
            );
        }
        let active = section.text("state").map_or(first, |state| state.value == "active");
        let chosen = self.chosen(section, None);
        Unit {
            name: name.into(),
            program,
            fault,
            state: if active { UnitState::Active } else { UnitState::Shadow },
            budget: self.budget(name, section, cycle),
            profile: chosen.profile,
            profile_name: chosen.name,
        }
    }

    fn unit_program(&mut self, name: &str, section: &Section<'_>) -> UnitProgram {
        match (section.has("gain"), section.has("command")) {
            (true, true) => {
                self.problem(
                    Problem::new(
                        section.key_at("command"),
                        format!("unit \"{name}\" has a gain and a command"),
                    )
                    .hint("a gain runs our own controller, a command yours; keep one"),
                );
            }
            (false, false) => self.missing(
                section,
                name,
                "gain",
                "the name of a gain or four numbers; or write a command",
            ),
            _ => {}
        }
        if section.has("command") {
            let (program, arguments) = self.command(section);
            return UnitProgram::Command { program, arguments };
        }
        let gain = section.gain("gain");
        UnitProgram::Gain(gain.map_or(Gain([0.0; 4]), |gain| self.gain(gain)))
    }

    fn budget(&mut self, name: &str, section: &Section<'_>, cycle: &Cycle<'_>) -> Span {
        let period = cycle.rate.period();
        let default = cycle.decision.map_or(period, |decision| decision.answer_within);
        let Some(budget) = section.parsed::<Span>("budget") else { return default };
        if budget.value <= period {
            return budget.value;
        }
        let stated = budget.value;
        if self.overrides.rate.is_some() {
            self.notes.push(format!(
                "{}: budget of unit {name} shortened from {stated} to {default} to fit the period of {period}",
                cycle.variant
            ));
        } else {
            self.problem(
                Problem::new(
                    budget.at,
                    format!("unit \"{name}\" may use {stated} in a period of {period}"),
                )
                .hint(format!("keep the budget under the period, such as {default}")),
            );
        }
        default
    }

    /// Complains about a reference to something the variant does not have.
    pub(super) fn no_such<'n>(
        &mut self,
        noun: &str,
        text: &At<&str>,
        names: impl Iterator<Item = &'n str>,
    ) {
        let names: Vec<&str> = names.collect();
        let hint = if names.is_empty() {
            format!("the variant has no {noun} at all")
        } else {
            format!("it has {}", names.join(", "))
        };
        let label = did_you_mean(text.value, names).unwrap_or_default();
        let message = format!("the variant has no {noun} \"{}\"", text.value.escape_debug());
        self.problem(Problem::new(text.at.clone(), message).label(label).hint(hint));
    }
}

fn overrun(section: &Section<'_>) -> Overrun {
    match section.text("overrun").map(|overrun| overrun.value) {
        Some("catch-up") => Overrun::CatchUp,
        Some("stop") => Overrun::Stop,
        _ => Overrun::Skip,
    }
}
