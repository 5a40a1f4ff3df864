//! Checks of one process or unit: its task, its release, its settings.

use std::ops::Range;

use hemiola_simplex::fault::{Class, FaultKind};
use hemiola_simplex::{Gain, Settings};
use hemiola_units::{Overrun, Rate, Span};

use super::Checker;
use super::mixed::Step;
use crate::document::{At, Entry, OneOrMany, Section};
use crate::keys::{OrderWord, ProcessKeys, TaskWord, UnitKeys};
use crate::plan::{
    InjectedFault, Message, Order, Process, Release, Task, Unit, UnitProgram, UnitState, UnitUser,
    UniverseSettings, sandboxed_budget,
};
use crate::section::GainText;

/// The time that a cycle needs after the answers are due: a lead that began within it would delay the voltage.
const AFTER_ANSWERS: Span = Span::from_micros(50);

/// The settings that the processes and units of one variant share.
pub(super) struct Cycle<'r> {
    pub(super) variant: &'r str,
    pub(super) rate: Rate,
    /// The rule, when the variant has a decision process.
    pub(super) decision: Option<&'r Settings>,
    /// The value of the list that this variant is expanded for.
    pub(super) step: Option<&'r Step<'r>>,
}

impl Cycle<'_> {
    /// The longest lead: what a period has left once the answers are due and used. Programs without a decision process
    /// have the same room as one whose answers are due after half the period, so that both are as warm at every rate.
    fn lead_room(&self, period: Span) -> Span {
        // A workload may have a period of its own, which has nothing to do with the answers.
        let decision = self.decision.filter(|_| period == self.rate.period());
        let due = decision.map_or(Span::ZERO, |decision| decision.answer_within);
        (period - due.max(period / 2) - AFTER_ANSWERS).max(Span::ZERO)
    }

    /// The budget of a unit that states none; a unit without a decision process is a problem of its own.
    pub(super) fn budget(&self, is_sandboxed: bool) -> Span {
        match self.decision {
            Some(decision) if is_sandboxed => sandboxed_budget(decision.answer_within),
            Some(decision) => decision.budget(),
            None => self.rate.period(),
        }
    }
}

/// A process, and the places in the source that later checks point at.
pub(super) struct Written<'s> {
    pub(super) process: Process,
    pub(super) name_at: Range<usize>,
    pub(super) sends: Vec<At<&'s str>>,
    pub(super) receives: Vec<At<&'s str>>,
    pub(super) after: Vec<At<&'s str>>,
    /// Whether `sends` and `receives` could be read; if not, they are empty.
    pub(super) ends_known: bool,
}

/// The messages that a task receives and sends; `None` for tasks without channels.
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
        | Task::Universe(_)
        | Task::Timer => None,
    }
}

impl Checker<'_> {
    /// Reads one process; `None` if its task is unreadable.
    pub(super) fn process<'s>(
        &mut self,
        name: &At<&'s str>,
        keys: &ProcessKeys<'s>,
        cycle: &Cycle<'_>,
    ) -> Option<Written<'s>> {
        // The check of the shape has reported an unreadable task. Its other keys cannot be judged.
        let word = *keys.task.get()?;
        let stated = match keys.rate.get() {
            Some(OneOrMany::One(rate)) => Some(*rate),
            _ => None,
        };
        let step = cycle.step.filter(|step| step.process == name.value);
        let rate = step.and_then(Step::rate).or(stated).unwrap_or(cycle.rate);
        let period = match word {
            TaskWord::Workload => rate.period(),
            TaskWord::Benchmark => self.turn(keys),
            _ => cycle.rate.period(),
        };
        let task = self.task(word, name.value, keys, cycle, period);
        let receives = keys.receives.items().to_vec();
        let release = match &task {
            Task::Controller { .. } | Task::Decision => Release::On {
                channel: receives.first().map_or("", |channel| channel.value).into(),
                lead: self.lead(name.value, &keys.lead, period, cycle),
            },
            Task::Command { .. } => Release::Own,
            // It runs once per turn, to record the counts of its threads in the previous turn.
            Task::Benchmark { turn, .. } => Release::Every {
                rate: Rate::from_period(*turn).unwrap_or(cycle.rate),
                overrun: Overrun::Skip,
                lead: Span::ZERO,
            },
            _ => Release::Every {
                rate: if word == TaskWord::Workload { rate } else { cycle.rate },
                overrun: keys.overrun.value(),
                lead: self.lead(name.value, &keys.lead, period, cycle),
            },
        };
        let chosen = self.chosen(&keys.profile, Some(&keys.priority), None);
        let sends = keys.sends.items().to_vec();
        let names = |texts: &[At<&str>]| texts.iter().map(|text| text.value.to_owned()).collect();
        Some(Written {
            process: Process {
                name: name.value.into(),
                task,
                release,
                period,
                deadline: self.deadline(name.value, &keys.deadline, period),
                profile: chosen.profile,
                profile_name: chosen.name,
                sends: names(&sends),
                receives: names(&receives),
            },
            name_at: name.at.clone(),
            sends,
            receives,
            after: keys.after.items().to_vec(),
            ends_known: keys.sends.is_array && keys.receives.is_array,
        })
    }

    fn task(
        &mut self,
        word: TaskWord,
        name: &str,
        keys: &ProcessKeys<'_>,
        cycle: &Cycle<'_>,
        period: Span,
    ) -> Task {
        match word {
            TaskWord::Io => Task::Io { order: self.order(keys, cycle) },
            TaskWord::Monolithic => Task::Monolithic { gain: self.gain_of(&keys.gain) },
            TaskWord::Controller => Task::Controller { gain: self.gain_of(&keys.gain) },
            TaskWord::Decision => Task::Decision,
            TaskWord::Workload => Task::Workload {
                compute: self.compute(keys, name, cycle.step, period),
                takes_turns: keys.takes_turns.value(),
            },
            TaskWord::Benchmark => self.benchmark(keys, period),
            TaskWord::Command => {
                let (program, arguments) = self.command(&keys.command);
                Task::Command { program, arguments }
            }
            TaskWord::Universe => Task::Universe(self.universe(keys, period)),
        }
    }

    fn universe(&mut self, keys: &ProcessKeys<'_>, period: Span) -> UniverseSettings {
        let texts = |entry: &Entry<Vec<At<&str>>>| {
            entry.items().iter().map(|text| text.value.into()).collect()
        };
        let settings = UniverseSettings {
            definition: texts(&keys.definition),
            populate: texts(&keys.populate),
            monitor: texts(&keys.monitor),
            birth: texts(&keys.birth),
            death: texts(&keys.death),
            module: texts(&keys.module),
            entities_max: keys.entities_max.value(),
            step: keys.step.get().copied().unwrap_or(period),
            workers: keys.workers.value(),
            interpret: keys.interpret.value(),
            checkpoint: keys.checkpoint.get().map(|file| (*file).into()),
            checkpoint_every: keys.checkpoint_every.get().copied(),
        };
        if keys.checkpoint_every.is_present && !keys.checkpoint.is_present {
            let hint = "name the file: checkpoint = \"world.checkpoint\"";
            let message = "checkpoint_every has no effect without checkpoint";
            self.wrong(&keys.checkpoint_every.key_at, message, hint);
        }
        if settings.definition.is_empty() {
            if keys.definition.is_array {
                let hint = "write the files of one universe: [\"world.uml\"]";
                self.wrong(&keys.definition.key_at, "definition is empty", hint);
            }
        } else if let Err(reason) = (self.facts.universe)(&settings) {
            let hint = "`hemiola universe check` shows every problem of a definition; `hemiola universe run` takes the \
                        same texts";
            self.wrong(&keys.definition.key_at, reason, hint);
        }
        settings
    }

    fn gain_of(&mut self, entry: &Entry<GainText<'_>>) -> Gain {
        entry.stated.as_ref().map_or(Gain([0.0; 4]), |gain| self.gain(gain))
    }

    pub(super) fn missing(&mut self, section: &Section<'_>, name: &str, key: &str, what: &str) {
        self.wrong(&section.at, format!("\"{name}\" needs \"{key}\""), format!("{key} is {what}"));
    }

    fn order(&mut self, keys: &ProcessKeys<'_>, cycle: &Cycle<'_>) -> Order {
        if keys.order.value() == OrderWord::WriteFirst {
            if keys.command_within.is_present {
                let message = "command_within has no effect with order = \"write-first\", which waits for no command";
                self.wrong(&keys.command_within.key_at, message, "write order = \"read-first\"");
            }
            return Order::WriteFirst;
        }
        let period = cycle.rate.period();
        // Half a period if there is no `answer_within`.
        let answer = cycle.decision.map(|decision| decision.answer_within);
        let earliest = answer.unwrap_or(Span::ZERO);
        let midpoint = earliest + (period - earliest) / 2;
        let default = match answer {
            Some(answer) => (answer + answer / 2).min(midpoint),
            None => midpoint,
        };
        let Some(stated) = &keys.command_within.stated else {
            return Order::ReadFirst { command_within: default };
        };
        let fits = stated.value > earliest && stated.value < period;
        let command_within = if fits {
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
                    "command_within is {}; it must be above answer_within, which is {answer}",
                    stated.value
                ),
                _ => format!(
                    "command_within is {}; it must be below the period of {period}",
                    stated.value
                ),
            };
            self.wrong(
                &stated.at,
                message,
                format!("keep it between answer_within and the period, such as {default}"),
            );
            default
        };
        Order::ReadFirst { command_within }
    }

    fn deadline(&mut self, name: &str, deadline: &Entry<Span>, period: Span) -> Span {
        let Some(deadline) = &deadline.stated else { return period };
        if deadline.value <= period {
            return deadline.value;
        }
        let stated = deadline.value;
        if self.overrides.rate.is_some() {
            self.notes.push(format!(
                "{name}: deadline shortened from {stated} to the period of {period}"
            ));
        } else {
            self.wrong(
                &deadline.at,
                format!("the deadline of \"{name}\" is {stated}, beyond its period of {period}"),
                "keep the deadline at or below the period",
            );
        }
        period
    }

    /// How long before its release a process wakes; not at all where a rate from the command line leaves no room.
    fn lead(
        &mut self,
        name: &str,
        lead: &Entry<Span, Span>,
        period: Span,
        cycle: &Cycle<'_>,
    ) -> Span {
        let Some(lead) = &lead.stated else { return Span::ZERO };
        let (stated, room) = (lead.value, cycle.lead_room(period));
        if stated <= room {
            return stated;
        }
        let due = period - room - AFTER_ANSWERS;
        let sum = format!(
            "of its period of {period} only {room} are left: {due} until answers are due, {AFTER_ANSWERS} to use them"
        );
        if self.overrides.rate.is_some() {
            self.notes.push(format!("{name}: no lead of {stated}, because {sum}"));
        } else {
            let message = format!("the lead of \"{name}\" is {stated}, but {sum}");
            let hint =
                "the process keeps the processor busy for that long in each period; 100us is usual";
            self.wrong(&lead.at, message, hint);
        }
        Span::ZERO
    }

    /// Reads one unit; `first` states whether it is in the first slot.
    pub(super) fn unit(&mut self, keys: &UnitKeys<'_>, cycle: &Cycle<'_>, first: bool) -> Unit {
        let name = keys.name.get().copied().unwrap_or_default();
        let program = self.unit_program(name, keys);
        let fault = keys.fault.stated.as_ref().map(|kind| {
            let classes = [Class::Output, Class::Message, Class::Process];
            let kind = self.fault(kind, "fault", &classes).unwrap_or(FaultKind::None);
            let after = keys.fault_after.value();
            if after >= self.run_length {
                self.wrong(
                    &keys.fault_after.key_at,
                    format!(
                        "the fault starts after {after}, but a run ends after {}",
                        self.run_length
                    ),
                    "a run lasts warmup plus duration",
                );
            }
            InjectedFault { kind, after }
        });
        if keys.fault_after.is_present && !keys.fault.is_present {
            self.wrong(
                &keys.fault_after.key_at,
                "fault_after needs a fault",
                "name the fault: fault = \"…\"",
            );
        }
        let default = if first { UnitState::Active } else { UnitState::Shadow };
        let chosen = self.chosen(&keys.profile, Some(&keys.priority), None);
        Unit {
            name: name.into(),
            program,
            fault,
            state: keys.state.get().copied().unwrap_or(default),
            budget: keys
                .budget
                .get()
                .copied()
                .unwrap_or_else(|| cycle.budget(keys.wasm.is_present)),
            profile: chosen.profile,
            profile_name: chosen.name,
            user: self.user(name, keys),
        }
    }

    /// The user of a unit's program. Other units are code of ours, or have no process.
    fn user(&mut self, name: &str, keys: &UnitKeys<'_>) -> Option<UnitUser> {
        if keys.user.is_present && !keys.command.is_present {
            self.wrong(
                &keys.user.key_at,
                format!("unit \"{name}\" has a user but no command"),
                "only a program of yours can have a user of its own; leave user out",
            );
        }
        keys.user.get().copied()
    }

    fn unit_program(&mut self, name: &str, keys: &UnitKeys<'_>) -> UnitProgram {
        if let Some(file) = keys.wasm.stated.as_ref() {
            return self.module(name, keys, file);
        }
        match (keys.gain.is_present, keys.command.is_present) {
            (true, true) => {
                self.wrong(
                    &keys.command.key_at,
                    format!("unit \"{name}\" has both a gain and a command"),
                    "gain runs the built-in controller, command runs your program; keep one",
                );
            }
            (false, false) => self.missing(
                &keys.section,
                name,
                "gain",
                "the name of a gain or four numbers; or write a command, or wasm",
            ),
            _ => {}
        }
        if keys.command.is_present {
            let (program, arguments) = self.command(&keys.command);
            return UnitProgram::Command { program, arguments };
        }
        UnitProgram::Gain(self.gain_of(&keys.gain))
    }

    /// Reads the file of a sandboxed unit. It has no process, so keys of processes are wrong.
    fn module(&mut self, name: &str, keys: &UnitKeys<'_>, file: &At<&str>) -> UnitProgram {
        let others = [
            (keys.gain.is_present, &keys.gain.key_at, "gain"),
            (keys.command.is_present, &keys.command.key_at, "command"),
            (keys.profile.is_present, &keys.profile.key_at, "profile"),
            (keys.priority.is_present, &keys.priority.key_at, "priority"),
            (keys.fault.is_present, &keys.fault.key_at, "fault"),
        ];
        for (_, at, key) in others.into_iter().filter(|(is_present, ..)| *is_present) {
            self.wrong(
                at,
                format!("unit \"{name}\" has wasm and {key}"),
                "a sandboxed unit has no process of its own: the decision process calls it; leave one of the two out",
            );
        }
        if let Some(Err(reason)) = self.facts.module.map(|check| check(file.value)) {
            let message = format!("\"{}\" cannot be a unit: {reason}", file.value);
            self.wrong(
                &file.at,
                message,
                "docs/guide/units.md describes what a module must export",
            );
        }
        UnitProgram::Module { file: file.value.to_owned() }
    }

    /// Reports a reference to something that the variant does not have.
    pub(super) fn no_such<'n>(
        &mut self,
        noun: &str,
        text: &At<&str>,
        names: impl Iterator<Item = &'n str>,
    ) {
        let names: Vec<&str> = names.collect();
        let absent = format!("this variant defines no {noun}");
        let message = format!("the variant has no {noun}");
        self.unknown(text.value, &text.at, &message, &names, &absent);
    }
}
