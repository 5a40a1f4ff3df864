//! A federation: federates, who tells whom, and one variant for each of its modes.

use std::net::{Ipv4Addr, SocketAddr};

use hemiola_trace::result::{PriorityMode, Synchronization};
use hemiola_units::{Bytes, CpuSet, Overrun, Policy, Priority, Profile, Rate, Span};

use super::Checker;
use crate::plan::{
    Ellipse, Exchange, FederateSettings, Federation, Model, OrbitSettings, Process, Release, Task,
    Transport, Variant,
};
use crate::section::{At, Section};
use hemiola_diagnostic::{Problem, did_you_mean};

/// The process of the RTI; no federate may have its name.
const RTI: &str = "rti";
/// The largest message: what an RTI's connection takes at once.
const MESSAGE_MAX: Bytes = Bytes(64 << 10);
/// Stack touched before the first release, where memory is locked.
const STACK: Bytes = Bytes(64 << 10);

/// What a mode is made of, beside what all modes share.
type Mode = (Synchronization, PriorityMode, bool);

/// Where a process runs, in the modes that say so.
struct Placement {
    priority: Priority,
    cpus: Option<CpuSet>,
}

impl Placement {
    /// What it asks for in a mode.
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
    /// One variant for each mode of the federation.
    pub(super) fn federation(
        &mut self,
        section: &Section<'_>,
        root: &Section<'_>,
    ) -> Vec<At<Variant>> {
        self.alone(section, root);
        self.period_fits(self.rate.period());
        let share = section.number("compute").map_or(25.0, |share| share.value);
        let members: Vec<Member> = section
            .named("federates")
            .iter()
            .filter_map(|(name, section)| self.member(name, section, share))
            .collect();
        let known = members.len() == section.named("federates").len();
        if known {
            self.master(section, &members);
        }
        let exchanges = if known { self.exchanges(section, &members) } else { Vec::new() };
        let transport = self.transport(section);
        let rti = self.placement(section, "rti_priority", "rti_cpus", 50);
        let rti_namespace = section.text("rti_namespace").map(|name| name.value.to_owned());
        let bare = section.parsed("bare").map_or(self.duration / 4, |bare| bare.value);
        let orbit = orbit(section.section("orbit").as_ref());
        let master = section.text("master").map_or("", |master| master.value);
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
        let at = section.at.clone();
        modes(section).into_iter().map(|mode| At { value: variant(mode), at: at.clone() }).collect()
    }

    /// A federation is all there is in its scenario.
    fn alone(&mut self, section: &Section<'_>, root: &Section<'_>) {
        for other in ["variant", "campaign", "plant"] {
            if root.has(other) {
                self.problem(
                    Problem::new(root.key_at(other), format!("a federation beside \"{other}\""))
                        .hint("a federation brings its own processes; write another scenario"),
                );
            }
        }
        if section.named("federates").is_empty() && section.has("federates") {
            self.problem(
                Problem::new(section.key_at("federates"), "this federation has no federate")
                    .hint("write one: [federation.federates.name]"),
            );
        }
    }

    fn member(&mut self, name: &At<&str>, section: &Section<'_>, share: f64) -> Option<Member> {
        let word = section.text("model")?.value;
        let satellite = section.whole::<usize>("satellite");
        let stated = satellite.as_ref().map_or(0, |satellite| satellite.value.saturating_sub(1));
        let model = match word {
            "board" => Model::Board { satellite: stated },
            "dynamics" => Model::Dynamics { satellite: stated },
            "payload" => Model::Payload,
            _ => return None,
        };
        match (model, &satellite) {
            (Model::Payload, Some(satellite)) => self.problem(
                Problem::new(satellite.at.clone(), "satellite means nothing to a payload")
                    .hint("it belongs to the models board and dynamics"),
            ),
            (Model::Board { .. } | Model::Dynamics { .. }, None) if !section.has("satellite") => {
                self.missing(section, name.value, "satellite", "1 or 2");
            }
            _ => {}
        }
        if name.value == RTI {
            self.problem(
                Problem::new(name.at.clone(), "\"rti\" is the name of the RTI's own process")
                    .hint("choose another name"),
            );
        }
        let every = section.whole::<u32>("every").map_or(1, |every| every.value);
        let period = self.rate.period() * i64::from(every);
        if Rate::from_period(period).is_none() {
            let message = format!("\"{}\" has a cycle of {period}", name.value.escape_debug());
            self.problem(Problem::new(section.key_at("every"), message).hint("1000 s at most"));
        }
        let share = section.number("compute").map_or(share, |share| share.value);
        Some(Member {
            name: name.value.into(),
            settings: FederateSettings {
                model,
                every,
                compute: Span::from_secs_f64(period.secs_f64() * share / 100.0),
                namespace: section.text("namespace").map(|name| name.value.to_owned()),
            },
            period,
            placement: self.placement(section, "priority", "cpus", 40),
        })
    }

    fn placement(
        &mut self,
        section: &Section<'_>,
        priority: &str,
        cpus: &str,
        default: u8,
    ) -> Placement {
        let stated = section.whole::<u8>(priority);
        let number =
            stated.unwrap_or_else(|| At { value: default, at: section.key_at("federates") });
        let high = self.runs_high;
        let permitted = if high { self.permitted(&number) } else { None };
        Placement {
            priority: permitted.unwrap_or_else(super::profile::lowest),
            cpus: self.cpus(section, cpus),
        }
    }

    fn master(&mut self, section: &Section<'_>, members: &[Member]) {
        let Some(named) = section.text("master") else { return };
        match members.iter().find(|member| member.name == named.value) {
            None => self.no_federate(&named, members),
            Some(member) if member.settings.every != 1 => self.problem(
                Problem::new(
                    named.at,
                    format!("the master has a cycle of {} of its own", member.settings.every),
                )
                .hint("the master is the fastest federate: every = 1"),
            ),
            Some(_) => {}
        }
    }

    fn no_federate(&mut self, named: &At<&str>, members: &[Member]) {
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        let hint = format!("there are {}", names.join(", "));
        let label = did_you_mean(named.value, names).unwrap_or_default();
        let message = format!("there is no federate \"{}\"", named.value.escape_debug());
        self.problem(Problem::new(named.at.clone(), message).label(label).hint(hint));
    }

    fn exchanges(&mut self, section: &Section<'_>, members: &[Member]) -> Vec<Exchange> {
        let mut exchanges: Vec<Exchange> = Vec::new();
        for section in section.sections("exchanges") {
            let (Some(from), Some(to)) = (section.text("from"), section.text("to")) else {
                continue;
            };
            let find = |name: &str| members.iter().find(|member| member.name == name);
            let (Some(sender), Some(receiver)) = (find(from.value), find(to.value)) else {
                for end in [&from, &to] {
                    if find(end.value).is_none() {
                        self.no_federate(end, members);
                    }
                }
                continue;
            };
            let pair = format!("{} to {}", from.value, to.value);
            if from.value == to.value {
                self.problem(
                    Problem::new(to.at, format!("\"{}\" would tell itself", from.value))
                        .hint("an exchange is between two federates"),
                );
                continue;
            }
            if exchanges.iter().any(|known| known.from == from.value && known.to == to.value) {
                self.problem(
                    Problem::new(section.at.clone(), format!("a second exchange from {pair}"))
                        .hint("one exchange carries all that one federate tells another"),
                );
            }
            let mid_cycle = section.boolean("mid_cycle").unwrap_or(false);
            if mid_cycle && sender.settings.every != receiver.settings.every {
                self.problem(
                    Problem::new(
                        section.key_at("mid_cycle"),
                        format!("{pair} in mid-cycle, but their cycles differ"),
                    )
                    .hint("a reception in mid-cycle is of the sender's same cycle"),
                );
            }
            let second = exchanges.iter().any(|known| known.mid_cycle && known.to == to.value);
            if mid_cycle && second {
                self.problem(
                    Problem::new(
                        section.key_at("mid_cycle"),
                        format!("a second reception of \"{}\" in mid-cycle", to.value),
                    )
                    .hint("a federate has one at most"),
                );
            }
            exchanges.push(Exchange {
                from: from.value.into(),
                to: to.value.into(),
                bytes: self.message_size(&section, sender),
                mid_cycle,
            });
        }
        self.no_circle(section, &exchanges, members);
        exchanges
    }

    fn message_size(&mut self, section: &Section<'_>, sender: &Member) -> Bytes {
        let least = sender.settings.model.message_min();
        let size = section.parsed::<Bytes>("size");
        let Some(size) = size else { return Bytes(least.0.max(64)) };
        if size.value < least || size.value > MESSAGE_MAX {
            self.problem(
                Problem::new(
                    size.at,
                    format!("a message of {} from \"{}\"", size.value, sender.name),
                )
                .hint(format!("what it says takes {least}; {MESSAGE_MAX} at most")),
            );
        }
        size.value
    }

    /// Nobody waits in mid-cycle for one who waits for it: as many steps as federates end every chain.
    fn no_circle(&mut self, section: &Section<'_>, exchanges: &[Exchange], members: &[Member]) {
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
            self.problem(
                Problem::new(
                    section.key_at("exchanges"),
                    format!("\"{}\" would wait in mid-cycle for ever", member.name),
                )
                .hint("receptions in mid-cycle must not form a circle"),
            );
        }
    }

    fn transport(&mut self, section: &Section<'_>) -> Transport {
        let Some(text) = section.text("rti") else { return Transport::Shm };
        match (text.value, text.value.strip_prefix("tcp:")) {
            ("shm", _) => Transport::Shm,
            ("tcp", _) => Transport::Tcp((Ipv4Addr::LOCALHOST, 0).into()),
            (_, Some(address)) if address.parse::<SocketAddr>().is_ok() => {
                Transport::Tcp(address.parse().expect("parsed just now"))
            }
            _ => {
                let text = At { value: text.value.escape_debug().to_string(), at: text.at };
                self.problem(
                    Problem::new(
                        text.at,
                        format!("the RTI cannot be reached by \"{}\"", text.value),
                    )
                    .hint("write \"shm\", \"tcp\", or where it listens: \"tcp:10.0.0.1:15164\""),
                );
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
            // A simulation does not skip time: what is late is made up for.
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

/// Whether any mode is of high priority.
pub(super) fn runs_high(root: &Section<'_>) -> bool {
    root.section("federation").is_none_or(|section| {
        let words = section.words("priority");
        words.is_empty() || words.contains(&"high")
    })
}

/// Every combination of what is listed, so that neighbours differ as little as possible.
fn modes(section: &Section<'_>) -> Vec<Mode> {
    let or_both = |key: &str, both: [&'static str; 2]| {
        let words = section.words(key);
        both.into_iter().filter(|word| words.is_empty() || words.contains(word)).collect::<Vec<_>>()
    };
    let mut modes = Vec::new();
    for affinity in or_both("affinity", ["free", "pinned"]) {
        for priority in or_both("priority", ["low", "high"]) {
            for sync in or_both("sync", ["interaction", "time-management"]) {
                let sync = match sync {
                    "interaction" => Synchronization::Interaction,
                    _ => Synchronization::TimeManagement,
                };
                let priority =
                    if priority == "low" { PriorityMode::Low } else { PriorityMode::High };
                modes.push((sync, priority, affinity == "pinned"));
            }
        }
    }
    modes
}

fn orbit(section: Option<&Section<'_>>) -> OrbitSettings {
    let number = |section: &Section<'_>, key: &str, default: f64| {
        section.number(key).map_or(default, |number| number.value)
    };
    let mut satellites =
        [0.0, 180.0].map(|phase_deg| Ellipse { radial_m: 100.0, normal_m: 50.0, phase_deg });
    let stated = section.map_or_else(Vec::new, |section| section.sections("satellites"));
    for (ellipse, section) in satellites.iter_mut().zip(&stated) {
        *ellipse = Ellipse {
            radial_m: number(section, "radial", ellipse.radial_m),
            normal_m: number(section, "normal", ellipse.normal_m),
            phase_deg: number(section, "phase_deg", ellipse.phase_deg),
        };
    }
    let altitude_km = section.map_or(700.0, |section| number(section, "altitude_km", 700.0));
    OrbitSettings { altitude_m: altitude_km * 1e3, satellites }
}
