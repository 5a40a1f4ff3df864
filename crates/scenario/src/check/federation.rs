//! Checks of a federation: its federates and exchanges, and one variant for each of its modes.

use std::net::Ipv4Addr;

use hemiola_trace::result::{PriorityMode, Synchronization};
use hemiola_units::{Bytes, CpuSet, Overrun, Policy, Priority, Profile, Rate, Span};

use super::Checker;
use crate::document::{At, Declared, Entry, OneOrMany, Word};
use crate::keys::Scenario;
use crate::keys::federation::{
    Affinity, ExchangeKeys, FederateKeys, FederateWord, FederationKeys, OrbitKeys, SatelliteKeys,
};
use crate::plan::{
    Ellipse, Exchange, FederateSettings, Federation, Model, OrbitSettings, Process, Release, Task,
    Transport, Variant,
};
use hemiola_diagnostic::Problem;

/// The process of the RTI; no federate may have its name.
const RTI: &str = "rti";
/// The largest message that a connection to the RTI accepts.
const MESSAGE_MAX: Bytes = Bytes(64 << 10);
/// Stack touched before the first release, where memory is locked.
const STACK: Bytes = Bytes(64 << 10);

/// Synchronization, priority, and whether processes are pinned to processors.
type Mode = (Synchronization, PriorityMode, bool);

/// The priority and processors of a process, in modes that use them.
struct Placement {
    priority: Priority,
    cpus: Option<CpuSet>,
}

impl Placement {
    /// The profile in a mode.
    fn profile(&self, (_, priority, pinned): Mode) -> Profile {
        Profile {
            scheduling: match priority {
                PriorityMode::Low => Policy::Other { nice: 0 },
                PriorityMode::High => Policy::Fifo { priority: self.priority },
            },
            cpus: self.cpus.clone().filter(|_| pinned),
            lock_memory: pinned,
            prefault_stack: if pinned { STACK } else { Bytes(0) },
        }
    }
}

/// A federate as written.
struct Member {
    name: String,
    settings: FederateSettings,
    period: Span,
    placement: Placement,
}

impl Checker<'_> {
    /// Returns one variant for each mode of the federation.
    pub(super) fn federation(
        &mut self,
        keys: &FederationKeys<'_>,
        root: &Scenario<'_>,
    ) -> Vec<At<Variant>> {
        self.has_nothing_beside(keys, root);
        self.period_fits(self.rate.period());
        let federates = keys.federates.items();
        let share = keys.compute.value();
        let members: Vec<Member> =
            federates.iter().filter_map(|(name, keys)| self.member(name, keys, share)).collect();
        let known = members.len() == federates.len();
        if known {
            self.master(keys, &members);
        }
        let exchanges = if known { self.exchanges(keys, &members) } else { Vec::new() };
        let transport = self.transport(&keys.rti);
        let rti = self.placement(&keys.rti_priority, &keys.rti_cpus);
        let rti_namespace = keys.rti_namespace.get().map(|name| (*name).to_owned());
        let bare = keys.bare.get().copied().unwrap_or(self.duration / 4);
        let orbit = orbit(&keys.orbit.or_empty());
        let master = keys.master.get().copied().unwrap_or_default();
        let variant = |mode: Mode| {
            let (sync, priority, affinity) = mode;
            let pinned = if affinity { "pinned" } else { "free" };
            let description = match sync {
                Synchronization::Interaction => "Step is kept by the master's interaction.",
                Synchronization::TimeManagement => "Step is kept by time management.",
            };
            let mut processes = vec![self.rti_process(rti.profile(mode), rti_namespace.clone())];
            processes.extend(members.iter().map(|member| member.process(mode, master, self.rate)));
            Variant {
                name: format!("{}-{}-{pinned}", sync.word(), priority.word()),
                description: description.into(),
                rate: self.rate,
                channels: Vec::new(),
                processes,
                units: Vec::new(),
                decision: None,
                series: None,
                federation: Some(Federation {
                    sync,
                    priority,
                    affinity,
                    transport,
                    master: master.into(),
                    exchanges: exchanges.clone(),
                    orbit,
                    bare,
                }),
            }
        };
        let at = keys.section.at.clone();
        modes(keys).into_iter().map(|mode| At { value: variant(mode), at: at.clone() }).collect()
    }

    /// Checks that the scenario has nothing beside its federation.
    fn has_nothing_beside(&mut self, keys: &FederationKeys<'_>, root: &Scenario<'_>) {
        let others = [
            ("variant", root.variant.is_present, &root.variant.key_at),
            ("campaign", root.campaign.is_present, &root.campaign.key_at),
            ("plant", root.plant.is_present, &root.plant.key_at),
        ];
        for (other, is_present, at) in others {
            if is_present {
                self.wrong(
                    at,
                    format!("a federation cannot be combined with \"{other}\""),
                    "a federation defines its own processes; write a separate scenario",
                );
            }
        }
        if keys.federates.items().is_empty() && keys.federates.is_present {
            self.wrong(
                &keys.federates.key_at,
                "this federation has no federate",
                "add one: [federation.federates.name]",
            );
        }
    }

    fn member(&mut self, name: &At<&str>, keys: &FederateKeys<'_>, share: f64) -> Option<Member> {
        let satellite = keys.satellite.get().map_or(0, |number| number.saturating_sub(1));
        let model = match keys.model.get()? {
            FederateWord::Board => Model::Board { satellite },
            FederateWord::Dynamics => Model::Dynamics { satellite },
            FederateWord::Payload => Model::Payload,
        };
        if name.value == RTI {
            self.wrong(
                &name.at,
                "\"rti\" is reserved for the RTI's process",
                "choose another name",
            );
        }
        let every = keys.every.value();
        let period = self.rate.period() * i64::from(every);
        if Rate::from_period(period).is_none() {
            let message = format!(
                "the cycle of \"{}\" is {period}; it must be at most 1000s",
                name.value.escape_debug()
            );
            self.problem(Problem::new(keys.every.key_at.clone(), message));
        }
        let share = keys.compute.get().copied().unwrap_or(share);
        Some(Member {
            name: name.value.into(),
            settings: FederateSettings {
                model,
                every,
                compute: Span::from_secs_f64(period.secs_f64() * share / 100.0),
                namespace: keys.namespace.get().map(|name| (*name).to_owned()),
            },
            period,
            placement: self.placement(&keys.priority, &keys.cpus),
        })
    }

    fn placement(&mut self, priority: &Entry<u8, u8>, cpus: &Entry<&str>) -> Placement {
        let number = At { value: priority.value(), at: priority.at().clone() };
        let high = self.runs_high;
        let permitted = if high { self.permitted(&number) } else { None };
        Placement {
            priority: permitted.unwrap_or_else(super::profile::lowest),
            cpus: self.cpus(cpus),
        }
    }

    fn master(&mut self, keys: &FederationKeys<'_>, members: &[Member]) {
        let Some(named) = &keys.master.stated else { return };
        match members.iter().find(|member| member.name == named.value) {
            None => self.no_federate(named, members),
            Some(member) if member.settings.every != 1 => self.wrong(
                &named.at,
                format!("the master has every = {}; it must be 1", member.settings.every),
                "the other federates count their cycles in cycles of the master",
            ),
            Some(_) => {}
        }
    }

    fn no_federate(&mut self, named: &At<&str>, members: &[Member]) {
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        self.unknown(named.value, &named.at, "there is no federate", &names, "");
    }

    fn exchanges(&mut self, federation: &FederationKeys<'_>, members: &[Member]) -> Vec<Exchange> {
        let mut exchanges: Vec<Exchange> = Vec::new();
        for keys in federation.exchanges.items() {
            let (Some(from), Some(to)) = (&keys.from.stated, &keys.to.stated) else {
                continue;
            };
            let find = |name: &str| members.iter().find(|member| member.name == name);
            let (Some(sender), Some(receiver)) = (find(from.value), find(to.value)) else {
                for end in [from, to] {
                    if find(end.value).is_none() {
                        self.no_federate(end, members);
                    }
                }
                continue;
            };
            let pair = format!("{} to {}", from.value, to.value);
            if from.value == to.value {
                self.wrong(
                    &to.at,
                    format!("\"{}\" would send to itself", from.value),
                    "an exchange is between two federates",
                );
                continue;
            }
            if exchanges.iter().any(|known| known.from == from.value && known.to == to.value) {
                self.wrong(
                    &keys.section.at,
                    format!("a second exchange from {pair}"),
                    "one exchange carries all data from one federate to another",
                );
            }
            let mid_cycle = keys.mid_cycle.value();
            if mid_cycle && sender.settings.every != receiver.settings.every {
                self.wrong(
                    &keys.mid_cycle.key_at,
                    format!("{pair} is in mid-cycle, but their cycles differ"),
                    "a mid-cycle reception needs a sender with the same cycle",
                );
            }
            let second = exchanges.iter().any(|known| known.mid_cycle && known.to == to.value);
            if mid_cycle && second {
                self.wrong(
                    &keys.mid_cycle.key_at,
                    format!("\"{}\" would receive in mid-cycle twice", to.value),
                    "a federate has at most one mid-cycle reception",
                );
            }
            exchanges.push(Exchange {
                from: from.value.into(),
                to: to.value.into(),
                bytes: self.message_size(keys, sender),
                mid_cycle,
            });
        }
        self.no_mid_cycle_circle(federation, &exchanges, members);
        exchanges
    }

    fn message_size(&mut self, keys: &ExchangeKeys<'_>, sender: &Member) -> Bytes {
        let (size, least) = (keys.size.value(), sender.settings.model.message_min());
        if size < least || size > MESSAGE_MAX {
            let name = &sender.name;
            let message = format!(
                "size is {size}; a message of \"{name}\" has from {least} to {MESSAGE_MAX}"
            );
            self.problem(Problem::new(keys.size.at().clone(), message));
        }
        size
    }

    /// Checks that mid-cycle receptions form no circle. A chain without one is shorter than the number of
    /// federates.
    fn no_mid_cycle_circle(
        &mut self,
        keys: &FederationKeys<'_>,
        exchanges: &[Exchange],
        members: &[Member],
    ) {
        let waits_for = |name: &str| {
            let exchange = exchanges.iter().find(|known| known.mid_cycle && known.to == name)?;
            Some(exchange.from.as_str())
        };
        let is_endless = |member: &&Member| {
            let mut at = Some(member.name.as_str());
            (0..=members.len()).all(|_| {
                at = at.and_then(waits_for);
                at.is_some()
            })
        };
        if let Some(member) = members.iter().find(is_endless) {
            self.wrong(
                &keys.exchanges.key_at,
                format!("\"{}\" would wait forever in mid-cycle", member.name),
                "mid-cycle receptions must not form a circle",
            );
        }
    }

    fn transport(&mut self, rti: &Entry<&str, &str>) -> Transport {
        match (rti.value(), rti.value().strip_prefix("tcp:").map(str::parse)) {
            ("shm", _) => Transport::Shm,
            ("tcp", _) => Transport::Tcp((Ipv4Addr::LOCALHOST, 0).into()),
            (_, Some(Ok(address))) => Transport::Tcp(address),
            (text, _) => {
                let message = format!("rti cannot be \"{}\"", text.escape_debug());
                let hint = "write \"shm\", \"tcp\" or the listen address: \"tcp:10.0.0.1:15164\"";
                self.wrong(rti.at(), message, hint);
                Transport::Shm
            }
        }
    }

    fn rti_process(&self, profile: Profile, namespace: Option<String>) -> Process {
        Process {
            name: RTI.into(),
            task: Task::Rti { namespace },
            release: Release::Own,
            period: self.rate.period(),
            deadline: self.rate.period(),
            profile,
            profile_name: None,
            sends: Vec::new(),
            receives: Vec::new(),
        }
    }
}

impl Member {
    fn process(&self, mode: Mode, master: &str, rate: Rate) -> Process {
        let release = if self.name == master {
            // A simulation must not skip time, so it catches up on late cycles.
            Release::Every { rate, overrun: Overrun::CatchUp, lead: Span::ZERO }
        } else {
            Release::Federation
        };
        Process {
            name: self.name.clone(),
            task: Task::Federate(self.settings.clone()),
            release,
            period: self.period,
            deadline: self.period,
            profile: self.placement.profile(mode),
            profile_name: None,
            sends: Vec::new(),
            receives: Vec::new(),
        }
    }
}

/// Whether any mode runs at high priority.
pub(super) fn runs_high(root: &Scenario<'_>) -> bool {
    let federation = root.federation.get();
    federation.is_none_or(|keys| chosen(&keys.priority).contains(&PriorityMode::High))
}

/// The words of a list, in the order in which modes run; all words if the list is absent.
fn chosen<W: Word + PartialEq>(entry: &Entry<OneOrMany<W>>) -> Vec<W> {
    let stated = match entry.get() {
        Some(OneOrMany::One(word)) => vec![*word],
        Some(OneOrMany::Many(words)) => words.iter().map(|word| word.value).collect(),
        None => Vec::new(),
    };
    let is_chosen = |word: &&W| stated.is_empty() || stated.contains(word);
    W::ALL.iter().filter(is_chosen).copied().collect()
}

/// All combinations of the listed words, ordered so that adjacent modes differ little.
fn modes(keys: &FederationKeys<'_>) -> Vec<Mode> {
    let mut modes = Vec::new();
    for affinity in chosen(&keys.affinity) {
        for priority in chosen(&keys.priority) {
            for sync in chosen(&keys.sync) {
                modes.push((sync, priority, affinity == Affinity::Pinned));
            }
        }
    }
    modes
}

fn orbit(keys: &OrbitKeys<'_>) -> OrbitSettings {
    OrbitSettings {
        altitude_m: keys.altitude_km.value() * 1e3,
        satellites: [(0, 0.0), (1, 180.0)].map(|(number, opposite)| {
            let stated = keys.satellites.items().get(number);
            let keys = stated.cloned().unwrap_or_else(SatelliteKeys::empty);
            Ellipse {
                radial_m: keys.radial.value(),
                normal_m: keys.normal.value(),
                phase_deg: keys.phase_deg.get().copied().unwrap_or(opposite),
            }
        }),
    }
}
