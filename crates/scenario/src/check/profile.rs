//! Profiles: what processes ask the system for, and whether it could be granted.

use std::ops::Range;

use hemiola_units::{Bytes, CpuSet, Policy, Priority, Profile, Span};

use super::Checker;
use crate::section::{At, Section};
use hemiola_diagnostic::{Problem, did_you_mean};

/// A profile of the document.
#[derive(Clone, Debug)]
pub(super) struct NamedProfile {
    profile: Profile,
}

/// A process's profile with its name.
pub(super) struct Chosen {
    pub(super) name: Option<String>,
    pub(super) profile: Profile,
}

impl Checker<'_> {
    /// Reads all of [profiles].
    pub(super) fn profiles(&mut self, root: &Section<'_>) {
        for (name, section) in root.named("profiles") {
            let profile = Profile {
                scheduling: self.policy(name.value, &section),
                cpus: self.cpus(&section, "cpus"),
                lock_memory: section.boolean("lock_memory").unwrap_or(false),
                prefault_stack: section
                    .parsed("prefault_stack")
                    .map_or(Bytes(0), |size| size.value),
            };
            if let (Policy::Deadline { .. }, Some(cpus)) = (profile.scheduling, &profile.cpus)
                && !self.facts.cpus_online.iter().all(|cpu| cpus.contains(cpu))
            {
                self.problem(
                    Problem::new(
                        section.key_at("cpus"),
                        "a deadline profile cannot be bound to some of the processors",
                    )
                    .hint("the kernel admits SCHED_DEADLINE on all of them only; leave cpus out"),
                );
            }
            self.profiles.insert(name.value.into(), NamedProfile { profile });
        }
    }

    fn policy(&mut self, name: &str, section: &Section<'_>) -> Policy {
        let word = section.text("policy").map_or("other", |policy| policy.value);
        let own: &[&str] = match word {
            "fifo" | "rr" => &["priority"],
            "deadline" => &["runtime", "deadline", "period"],
            "other" => &["nice"],
            // Not a policy; the shape says so.
            _ => return Policy::Other { nice: 0 },
        };
        for key in ["nice", "priority", "runtime", "deadline", "period"] {
            if section.has("policy") && section.has(key) && !own.contains(&key) {
                self.problem(
                    Problem::new(
                        section.key_at(key),
                        format!("{key} means nothing to the policy \"{}\"", word.escape_debug()),
                    )
                    .hint(format!("it takes {}", own.join(", "))),
                );
            }
        }
        match word {
            "fifo" => Policy::Fifo { priority: self.priority(name, section) },
            "rr" => Policy::RoundRobin { priority: self.priority(name, section) },
            "deadline" => self.deadline_policy(name, section),
            _ => Policy::Other { nice: section.whole("nice").map_or(0, |nice| nice.value) },
        }
    }

    fn priority(&mut self, name: &str, section: &Section<'_>) -> Priority {
        match section.whole::<u8>("priority") {
            Some(number) => self.permitted(&number).unwrap_or_else(lowest),
            None => {
                if !section.has("priority") {
                    self.problem(
                        Problem::new(
                            section.at.clone(),
                            format!("profile \"{name}\" needs a priority"),
                        )
                        .hint("from 1 to 99; higher runs first"),
                    );
                }
                lowest()
            }
        }
    }

    /// The priority, with a complaint when this user may not ask for it and must have it.
    pub(super) fn permitted(&mut self, number: &At<u8>) -> Option<Priority> {
        let priority = Priority::try_from(number.value).ok()?;
        let asked = number.value;
        if asked <= self.facts.priority_max {
            return Some(priority);
        }
        if self.allow_less {
            self.priority_beyond = self.priority_beyond.max(Some(asked));
        } else {
            let message = format!("priority {asked} is asked for, but {}", self.priority_limit());
            let hint = format!(
                "raise it for this shell: sudo prlimit --pid $$ --rtprio={asked}; \
                 or go on with less: allow_less = true"
            );
            self.problem(Problem::new(number.at.clone(), message).hint(hint));
        }
        Some(priority)
    }

    fn priority_limit(&self) -> String {
        match self.facts.priority_max {
            0 => "this user may have no real-time priority".into(),
            limit => format!("this user's limit is {limit}"),
        }
    }

    /// Says once what `allow_less` let through and what this machine makes of the words for processors.
    pub(super) fn note_profiles(&mut self) {
        if let Some(asked) = self.priority_beyond {
            let limit = self.priority_limit();
            self.notes.push(format!("priorities up to {asked} are asked for, but {limit}"));
        }
        if self.words_for_cpus.len() == 2 && self.facts.cpus_online.iter().count() == 1 {
            self.notes.push("\"first\" and \"last\" are the same processor here".into());
        }
    }

    fn deadline_policy(&mut self, name: &str, section: &Section<'_>) -> Policy {
        let mut length = |key: &str| {
            if !section.has(key) {
                self.problems.push(
                    Problem::new(section.at.clone(), format!("profile \"{name}\" needs a {key}"))
                        .hint(
                            "the policy \"deadline\" gives runtime within deadline of each period",
                        ),
                );
            }
            section.parsed::<Span>(key).map(|length| length.value)
        };
        let (runtime, period) = (length("runtime"), length("period"));
        let deadline = section.parsed("deadline").map(|length| length.value).or(period);
        if let (Some(runtime), Some(deadline), Some(period)) = (runtime, deadline, period)
            && !(runtime <= deadline && deadline <= period)
        {
            self.problem(
                Problem::new(
                    section.key_at("runtime"),
                    format!(
                        "{runtime} of processor time within {deadline} every {period} is impossible"
                    ),
                )
                .hint("keep runtime ≤ deadline ≤ period"),
            );
        }
        let or_zero = |length: Option<Span>| length.unwrap_or(Span::ZERO);
        Policy::Deadline {
            runtime: or_zero(runtime),
            deadline: or_zero(deadline),
            period: or_zero(period),
        }
    }

    /// The processors stated under `key`, with a complaint when some are not there.
    pub(super) fn cpus(&mut self, section: &Section<'_>, key: &str) -> Option<CpuSet> {
        let text = section.text(key)?;
        let online = &self.facts.cpus_online;
        if let Some(word) = ["first", "last"].into_iter().find(|word| *word == text.value) {
            self.words_for_cpus.insert(word);
        }
        let chosen = match text.value {
            "first" => online.iter().next().and_then(CpuSet::one)?,
            "last" => online.iter().last().and_then(CpuSet::one)?,
            list => list.parse().ok()?,
        };
        let missing = CpuSet::from_cpus(chosen.iter().filter(|cpu| !online.contains(*cpu)));
        if let Some(missing) = missing {
            self.problem(
                Problem::new(
                    text.at,
                    format!("processor {missing} is not there; online are {online}"),
                )
                .hint("\"first\" and \"last\" fit every machine"),
            );
        }
        Some(chosen)
    }

    /// The profile a process or unit names, or `default` when it names none, with its own priority.
    pub(super) fn chosen(&mut self, section: &Section<'_>, default: Option<&str>) -> Chosen {
        let named = section.text("profile");
        let name = named
            .as_ref()
            .map(|name| name.value)
            .or(default.filter(|name| self.profiles.contains_key(*name)));
        let mut profile = Profile::ordinary();
        if let Some(name) = name {
            match self.profiles.get(name) {
                Some(found) => profile = found.profile.clone(),
                None => {
                    let at = named.map_or(section.at.clone(), |name| name.at);
                    self.no_profile(name, at);
                }
            }
        }
        if let Some(number) = section.whole::<u8>("priority")
            && let Some(own) = self.permitted(&number)
        {
            match &mut profile.scheduling {
                Policy::Fifo { priority } | Policy::RoundRobin { priority } => *priority = own,
                _ => {
                    self.problem(
                        Problem::new(
                            section.key_at("priority"),
                            "a priority needs a profile with the policy fifo or rr",
                        )
                        .hint("name one with profile = \"…\""),
                    );
                }
            }
        }
        Chosen { name: name.map(Into::into), profile }
    }

    fn no_profile(&mut self, name: &str, at: Range<usize>) {
        let names: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
        let hint = if names.is_empty() {
            "write one: [profiles.name]".into()
        } else {
            format!("known are {}", names.join(", "))
        };
        let label = did_you_mean(name, names).unwrap_or_default();
        let message = format!("there is no profile \"{}\"", name.escape_debug());
        self.problem(Problem::new(at, message).label(label).hint(hint));
    }
}

/// Stands in where the document's own priority is unreadable; never part of a plan.
pub(super) fn lowest() -> Priority {
    Priority::try_from(1).expect("1 is a priority")
}

/// Who runs first: 0 for ordinary policies, 1–99 for priorities, above them for deadlines.
pub(super) const fn rank(policy: &Policy) -> u8 {
    match policy {
        Policy::Other { .. } => 0,
        Policy::Fifo { priority } | Policy::RoundRobin { priority } => priority.get(),
        Policy::Deadline { .. } => 100,
    }
}

/// Whether two processes may ever want the same processor.
pub(super) fn share_a_processor(one: &Profile, other: &Profile) -> bool {
    match (&one.cpus, &other.cpus) {
        (Some(one), Some(other)) => one.iter().any(|cpu| other.contains(cpu)),
        _ => true,
    }
}
