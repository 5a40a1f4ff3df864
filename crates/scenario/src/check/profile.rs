//! Checks of profiles: the scheduling, processors and memory that processes request, and whether the
//! machine can grant them.

use hemiola_units::{CpuSet, Policy, Priority, Profile, Span};

use super::Checker;
use crate::document::{At, Entry};
use crate::keys::{PolicyWord, ProfileKeys, Scenario};

/// A profile of the document.
#[derive(Clone, Debug)]
pub(super) struct NamedProfile {
    profile: Profile,
}

/// The profile of a process, with its name.
pub(super) struct Chosen {
    pub(super) name: Option<String>,
    pub(super) profile: Profile,
}

impl Checker<'_> {
    /// Reads all of [profiles].
    pub(super) fn profiles(&mut self, root: &Scenario<'_>) {
        for (name, keys) in root.profiles.items() {
            let profile = Profile {
                scheduling: self.policy(keys),
                cpus: self.cpus(&keys.cpus),
                lock_memory: keys.lock_memory.value(),
                prefault_stack: keys.prefault_stack.value(),
            };
            if let (Policy::Deadline { .. }, Some(cpus)) = (profile.scheduling, &profile.cpus)
                && !self.facts.cpus_online.iter().all(|cpu| cpus.contains(cpu))
            {
                self.wrong(
                    &keys.cpus.key_at,
                    "a deadline profile cannot be pinned to a subset of the processors",
                    "the kernel admits SCHED_DEADLINE only on all processors; leave out cpus",
                );
            }
            self.profiles.insert(name.value.into(), NamedProfile { profile });
        }
    }

    fn policy(&mut self, keys: &ProfileKeys<'_>) -> Policy {
        // The check of the shape has reported an unreadable policy.
        let Some(policy) = keys.policy.get() else {
            self.priorities_are_known = false;
            return Policy::Other { nice: 0 };
        };
        match policy {
            PolicyWord::Other => Policy::Other { nice: keys.nice.value() },
            PolicyWord::Fifo => Policy::Fifo { priority: self.priority(keys) },
            PolicyWord::RoundRobin => Policy::RoundRobin { priority: self.priority(keys) },
            PolicyWord::Deadline => self.deadline_policy(keys),
        }
    }

    fn priority(&mut self, keys: &ProfileKeys<'_>) -> Priority {
        let stated = keys.priority.stated.as_ref();
        let priority = stated.and_then(|number| self.permitted(number));
        self.priorities_are_known &= priority.is_some();
        priority.unwrap_or_else(lowest)
    }

    /// Returns the priority. Reports one above this user's limit unless the scenario allows less.
    pub(super) fn permitted(&mut self, number: &At<u8>) -> Option<Priority> {
        let priority = Priority::try_from(number.value).ok()?;
        let asked = number.value;
        if asked <= self.facts.priority_max {
            return Some(priority);
        }
        if self.allow_less {
            self.priority_beyond = self.priority_beyond.max(Some(asked));
        } else {
            let message = format!("priority {asked} is requested, but {}", self.priority_limit());
            let hint = format!(
                "raise it for this shell: sudo prlimit --pid $$ --rtprio={asked}; \
                 or accept less: allow_less = true"
            );
            self.wrong(&number.at, message, hint);
        }
        Some(priority)
    }

    fn priority_limit(&self) -> String {
        match self.facts.priority_max {
            0 => "this user may not use real-time priorities".into(),
            limit => format!("this user's limit is {limit}"),
        }
    }

    /// Notes once which priorities `allow_less` let through, and that "first" and "last" are one processor.
    pub(super) fn note_profiles(&mut self) {
        if let Some(asked) = self.priority_beyond {
            let limit = self.priority_limit();
            self.notes.push(format!("priorities up to {asked} are requested, but {limit}"));
        }
        if self.words_for_cpus.len() == 2 && self.facts.cpus_online.iter().count() == 1 {
            self.notes.push("\"first\" and \"last\" are the same processor on this machine".into());
        }
    }

    fn deadline_policy(&mut self, keys: &ProfileKeys<'_>) -> Policy {
        let (runtime, period) = (keys.runtime.get().copied(), keys.period.get().copied());
        let deadline = keys.deadline.get().copied().or(period);
        if let (Some(runtime), Some(deadline), Some(period)) = (runtime, deadline, period)
            && !(runtime <= deadline && deadline <= period)
        {
            self.wrong(
                &keys.runtime.key_at,
                format!(
                    "{runtime} of processor time within {deadline} every {period} is impossible"
                ),
                "keep runtime ≤ deadline ≤ period",
            );
        }
        let or_zero = |length: Option<Span>| length.unwrap_or(Span::ZERO);
        Policy::Deadline {
            runtime: or_zero(runtime),
            deadline: or_zero(deadline),
            period: or_zero(period),
        }
    }

    /// Returns the stated processors. Reports those that are not online.
    pub(super) fn cpus(&mut self, entry: &Entry<&str>) -> Option<CpuSet> {
        let text = entry.stated.as_ref()?;
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
            self.wrong(
                &text.at,
                format!("processor {missing} is not online; the online processors are {online}"),
                "\"first\" and \"last\" work on every machine",
            );
        }
        Some(chosen)
    }

    /// Returns the profile that a process or unit names, or else `default`, with its own priority if stated.
    pub(super) fn chosen(
        &mut self,
        named: &Entry<&str>,
        priority: Option<&Entry<u8>>,
        default: Option<&str>,
    ) -> Chosen {
        let default = default.filter(|name| self.profiles.contains_key(*name));
        let name = named.get().copied().or(default);
        let mut profile = Profile::ordinary();
        if let Some(name) = name {
            match self.profiles.get(name) {
                Some(found) => profile = found.profile.clone(),
                None => {
                    let names: Vec<String> = self.profiles.keys().cloned().collect();
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    let absent = "add one: [profiles.name]";
                    self.unknown(name, named.at(), "there is no profile", &names, absent);
                    self.priorities_are_known = false;
                }
            }
        }
        if let Some(entry) = priority.filter(|entry| entry.is_present) {
            let own = entry.stated.as_ref().and_then(|number| self.permitted(number));
            self.priorities_are_known &= own.is_some();
            match (own, &mut profile.scheduling) {
                (Some(own), Policy::Fifo { priority } | Policy::RoundRobin { priority }) => {
                    *priority = own;
                }
                (Some(_), _) if self.priorities_are_known => {
                    self.wrong(
                        &entry.key_at,
                        "a priority needs a profile with the policy fifo or rr",
                        "name one with profile = \"…\"",
                    );
                }
                _ => {}
            }
        }
        Chosen { name: name.map(Into::into), profile }
    }
}

/// The priority used by the checks when the document's own is unreadable; never part of a plan.
pub(super) fn lowest() -> Priority {
    Priority::try_from(1).expect("1 is a priority")
}

/// The rank of a policy, higher first: 0 for ordinary policies, 1–99 for priorities, 100 for deadlines.
pub(super) const fn rank(policy: &Policy) -> u8 {
    match policy {
        Policy::Other { .. } => 0,
        Policy::Fifo { priority } | Policy::RoundRobin { priority } => priority.get(),
        Policy::Deadline { .. } => 100,
    }
}

/// Whether two processes can run on the same processor.
pub(super) fn share_a_processor(one: &Profile, other: &Profile) -> bool {
    match (&one.cpus, &other.cpus) {
        (Some(one), Some(other)) => one.iter().any(|cpu| other.contains(cpu)),
        _ => true,
    }
}
