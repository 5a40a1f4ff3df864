//! The results of a survey of a machine.

use hemiola_model::machine::{FORMAT, Figure, Machine};
use hemiola_probe::Load;
use hemiola_report::text::percent;
use hemiola_trace::result::Conditions;

use crate::activity::Meanwhile;
use crate::derive;
use crate::instruments::instruments;
use crate::kernel::identity;
use crate::series::{Series, notes};
use crate::staircase::{self, KernelCache, Level};
use crate::summary::{self, LinkSummary, Missing, Summary};

/// A measured machine.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The machine with its figures, derived ones last.
    pub machine: Machine,
    /// The conditions of the measurement.
    pub conditions: Conditions,
    /// Our own load during the measurement.
    pub load: Load,
    /// The work of others meanwhile.
    pub meanwhile: Meanwhile,
    /// Figures that could not be measured.
    pub missing: Vec<Missing>,
    /// The storage levels found in the latencies.
    pub levels: Vec<Level>,
    /// The caches that the kernel reports.
    pub kernel: Vec<KernelCache>,
    /// Warnings about the figures, without repetition.
    pub notes: Vec<String>,
    /// The measured link, if it is one between two hosts.
    pub link: Option<LinkSummary>,
}

impl Survey {
    /// The results of `series`. Under a load, all names have a suffix: `clock.read@busy_neighbour`.
    pub fn of(
        series: &[Series],
        started_unix_s: u64,
        conditions: Conditions,
        load: Load,
        meanwhile: Meanwhile,
        kernel: Vec<KernelCache>,
    ) -> Self {
        let mut figures: Vec<Figure> = series.iter().filter_map(Series::figure).collect();
        let levels =
            staircase::levels(&derive::points(&figures), kernel.last().map(|cache| cache.size));
        let measured = figures.len();
        figures.extend(derive::figures(&levels, &figures));
        let suffix = suffix(load);
        for figure in &mut figures {
            figure.name += suffix;
        }
        let missing = series.iter().filter(|series| series.figure().is_none());
        let missing = missing.map(|series| Missing {
            name: format!("{}{suffix}", series.name),
            reason: series.failed.clone().unwrap_or_else(|| {
                "too few readings for an interval: only one block was read".into()
            }),
        });
        let mut notes = notes(series.iter());
        let disturbance = meanwhile.disturbance();
        notes.extend(disturbance.iter().map(|words| {
            format!(
                "{words}. A quiet machine has other figures; repeat the measurement when it is idle"
            )
        }));
        notes.extend(rough(&figures[..measured]));
        // A figure whose probe failed later keeps its earlier readings.
        for series in series.iter().filter(|series| series.figure().is_some()) {
            if let Some(reason) = &series.failed {
                notes.push(format!("{} was measured in part: {reason}", series.name));
            }
        }
        Self {
            missing: missing.collect(),
            machine: Machine {
                format: FORMAT,
                measured_unix_s: started_unix_s,
                identity: identity(&conditions),
                disturbance,
                meanwhile: meanwhile.mean(),
                figures,
            },
            conditions,
            load,
            meanwhile,
            levels,
            kernel,
            notes,
            link: None,
        }
    }

    /// The results of a link to another host, of which the figures are `series`.
    pub fn of_link(
        series: &[Series],
        started_unix_s: u64,
        conditions: Conditions,
        meanwhile: Meanwhile,
        link: LinkSummary,
    ) -> Self {
        let survey =
            Self::of(series, started_unix_s, conditions, Load::Idle, meanwhile, Vec::new());
        Self { link: Some(link), ..survey }
    }

    /// Disagreements between staircase and kernel, a sentence each; empty if no staircase was measured.
    #[must_use]
    pub fn disagreements(&self) -> Vec<String> {
        if self.levels.is_empty() {
            return Vec::new();
        }
        staircase::disagreements(&self.levels, &self.kernel)
    }

    /// The survey as data for other programs.
    pub fn summary(&self) -> Summary {
        Summary {
            format: summary::FORMAT,
            kind: "measure".into(),
            started_unix_s: self.machine.measured_unix_s,
            conditions: self.conditions.clone(),
            load: self.load,
            meanwhile: self.meanwhile.clone(),
            figures: self.machine.figures.iter().map(Into::into).collect(),
            instruments: instruments(&self.machine.figures),
            missing: self.missing.clone(),
            steps: self.levels.clone(),
            kernel_caches: self.kernel.clone(),
            disagreements: self.disagreements(),
            notes: self.notes.clone(),
            link: self.link.clone(),
        }
    }
}

/// A figure is rough if a repeat may differ by more than this share.
const ROUGH: f64 = 0.25;

/// The rough figures in a sentence, the roughest first.
fn rough(figures: &[Figure]) -> Option<String> {
    let share = |figure: &Figure| (figure.high - figure.low) / 2.0 / figure.value.abs();
    let mut rough: Vec<&Figure> = figures.iter().filter(|figure| share(figure) > ROUGH).collect();
    rough.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let first = rough.first()?;
    let others = match rough.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more by over {}", percent(ROUGH)),
    };
    Some(format!(
        "a repeat may differ by {} in {}{others}: such figures are good for orders of magnitude only",
        percent(share(first)),
        first.name
    ))
}

/// The suffix of figure names under this load.
pub(crate) const fn suffix(load: Load) -> &'static str {
    match load {
        Load::Idle => "",
        Load::BusyNeighbour => "@busy_neighbour",
        Load::CachePolluter => "@cache_polluter",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::activity::Activity;
    use crate::link::{Counts, Losses};
    use crate::set::Budget;
    use crate::synthetic::{self, Silent, Synthetic, conditions, undocumented};
    use crate::{measure, report};
    use hemiola_model::machine::OtherWork;
    use hemiola_units::Span;

    /// A machine with a cache of 32 KiB and one figure that cannot be measured.
    fn survey(load: Load) -> Survey {
        let mut source = Synthetic::new(&[
            ("clock.read", 22.0, 0.01),
            ("communication.pipe.latency.same_core.64B", 2500.0, 0.02),
            ("communication.tcp.latency.same_core.64B", 6000.0, 0.02),
            ("context_switch.yield.same_core.walked_4MiB", 2100.0, 0.02),
            ("context_switch.yield.same_core.warm", 1150.0, 0.02),
            ("creation.thread", 0.0, 0.0),
            ("memory.latency.128KiB", 70.0, 0.001),
            ("memory.latency.16KiB", 1.0, 0.001),
            ("memory.latency.256KiB", 79.0, 0.001),
            ("memory.latency.32KiB", 1.02, 0.001),
            ("memory.latency.512KiB", 80.0, 0.001),
            ("memory.latency.64KiB", 30.0, 0.001),
        ]);
        let (catalogue, clock) = (source.catalogue(), source.clock.clone());
        let budget = Budget { time: Span::from_millis(100), blocks: 10, pilot: 8 };
        let stop = AtomicBool::new(false);
        let series = measure(&catalogue, &mut source, budget, &clock, &mut Silent, &stop).unwrap();
        let kernel = vec![KernelCache { level: 1, size: 128 << 10 }];
        let meanwhile = Meanwhile::of(&[Activity { others: 0.5, stolen: 0.0 }], 2, Load::Idle);
        Survey::of(&series, 1_700_000_000, conditions(), load, meanwhile, kernel)
    }

    #[test]
    fn measured_derived_and_missing_figures_are_complete() {
        let survey = survey(Load::Idle);
        let machine = &survey.machine;
        assert_eq!(machine.figures.len(), 11 + 3);
        assert!((machine.figure("memory.latency.l1").unwrap().value - 1.0).abs() < 0.1);
        assert_eq!(machine.figure("memory.size.l1").unwrap().value, 32768.0);
        assert_eq!(survey.missing[0].name, "creation.thread");
        // The figure that cannot be measured has no notes.
        assert_eq!(survey.notes[0], "clock.read and 10 more: from a rule");
        // A busy machine is named in the notes, in machine.toml and beside our own load.
        let busy = "busy in 1 of 1 blocks: others used 1.00 of 2 processors";
        assert!(survey.notes[1].starts_with(busy), "{:?}", survey.notes);
        assert!(machine.disturbance.as_ref().unwrap().starts_with(busy));
        assert_eq!(machine.meanwhile, Some(OtherWork { others: 1.0, stolen: 0.0 }));
        let conditions = report::conditions(&survey);
        assert!(
            conditions
                .iter()
                .any(|(name, of)| name == "Others meanwhile" && of.contains("1.00 of 2"))
        );
        assert_eq!(Machine::read(&machine.write()).unwrap(), *machine);
    }

    #[test]
    fn figures_that_a_repeat_would_not_confirm_are_named() {
        let figure = |name: &str, half: f64| synthetic::figure(name, 100.0, half);
        assert_eq!(rough(&[figure("a", 25.0), figure("b", 0.0)]), None);
        let one = "a repeat may differ by 60.0 % in c: such figures are good for orders of magnitude only";
        assert_eq!(rough(&[figure("a", 25.0), figure("c", 60.0)]).unwrap(), one);
        let more = rough(&[figure("a", 26.0), figure("c", 60.0), figure("d", 30.0)]).unwrap();
        assert!(more.contains("60.0 % in c, and 2 more by over 25.0 %"), "{more}");
    }

    #[test]
    fn a_link_has_a_table_of_its_losses_and_documented_keys() {
        let block = Counts { sent: 500, arrived: 490, returned: 490, late: 3, repeated: 1 };
        let link = LinkSummary {
            with: "10.0.0.2".into(),
            distance_m: Some(30_000.0),
            losses: Losses::of(&[block; 6]),
            cut: None,
        };
        let survey = Survey { link: Some(link), ..survey(Load::Idle) };
        let tables = report::tables(&survey);
        let losses = tables.iter().find(|table| table.title.starts_with("Losses")).unwrap();
        assert_eq!(losses.rows[0][..3], ["to 10.0.0.2", "60 of 3\u{a0}000", "2.0 %"]);
        let note = "18 came back late. 6 came back as copies that the network made.";
        assert!(losses.note.contains(note), "{}", losses.note);
        // No figure of a link is in this survey, but the distance is known: light takes 100.07 µs.
        let merit = tables.iter().find(|table| table.title.starts_with("Latency, freq")).unwrap();
        assert_eq!(merit.rows[0], ["10.0.0.2", "–", "–", "30.0 km", "100 µs", "–"]);
        // Without datagrams there is no share.
        let mut other = survey.clone();
        let mut with = |counts: Counts| {
            other.link.as_mut().unwrap().losses = Losses::of(&[counts]);
            let tables = report::tables(&other);
            let losses = tables.iter().find(|table| table.title.starts_with("Losses"));
            losses.map(|losses| losses.rows[1][1..].to_vec())
        };
        assert_eq!(with(Counts::default()), None);
        let none_arrived = Counts { sent: 500, ..Counts::default() };
        assert_eq!(with(none_arrived).unwrap(), ["0 of 0", "not known", "–"]);
        // Nor in the file: 0 would be a link that loses nothing.
        let link = |other: &Survey| serde_json::to_value(other.summary()).unwrap()["link"].clone();
        let mut other = survey.clone();
        other.link.as_mut().unwrap().losses = Losses::of(&[none_arrived]);
        assert!(
            link(&other)["losses"]["from"].is_null() && link(&other)["losses"]["to"].is_object()
        );
        other.link.as_mut().unwrap().losses = Losses::of(&[]);
        assert_eq!(link(&other).get("losses"), None);
        // The share of a link that failed is not known.
        let mut cut = survey;
        cut.link.as_mut().unwrap().cut = Some("nothing came back".into());
        let tables = report::tables(&cut);
        let losses = tables.iter().find(|table| table.title.starts_with("Losses")).unwrap();
        assert_eq!(
            losses.rows[0][1..],
            ["60 of 3\u{a0}000 before the link failed", "not known", "–"]
        );
        let summary = serde_json::to_value(cut.summary()).unwrap();
        assert_eq!(undocumented(&summary), Vec::<String>::new());
    }

    #[test]
    fn names_contain_the_load() {
        let survey = survey(Load::BusyNeighbour);
        let all = survey.machine.figures.iter().all(|f| f.name.ends_with("@busy_neighbour"));
        assert!(all && survey.missing[0].name == "creation.thread@busy_neighbour");
        assert!(!survey.levels.is_empty());
    }

    #[test]
    fn tables_show_switches_storage_messages_and_missing_figures() {
        for load in [Load::Idle, Load::CachePolluter] {
            let survey = survey(load);
            let tables = report::tables(&survey);
            let titled = |start: &str| {
                let found = tables.iter().find(|table| table.title.starts_with(start));
                found.unwrap_or_else(|| panic!("no table {start}"))
            };
            let switches = titled("Context switch");
            assert_eq!(switches.rows[0][0], "yield, same core");
            let heads: Vec<&str> = switches.columns.iter().map(|c| c.0.as_str()).collect();
            assert_eq!(heads, ["Context switch", "walked 4MiB", "warm"]);
            assert!(
                titled("Storage")
                    .note
                    .contains("L1 holds 32 KiB to 64 KiB by measurement and 128 KiB")
            );
            assert_eq!(titled("Communication: one way").rows.len(), 2);
            assert_eq!(titled("Not measured").title, "Not measured: 1 of 15 figures");
            assert!(titled("Other figures").rows[0][0].starts_with("clock.read"));
        }
    }

    #[test]
    fn the_page_is_self_contained_and_has_the_staircase() {
        let page = report::page(&survey(Load::Idle));
        assert!(page.contains("L1 according to the kernel") && page.matches("<svg").count() == 1);
        for outside in ["http://", "https://", "src=", "@import"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn the_reference_documents_every_key() {
        let survey = survey(Load::Idle);
        let summary = serde_json::to_value(survey.summary()).unwrap();
        let machine: toml::Value = toml::from_str(&survey.machine.write()).unwrap();
        for value in [summary, serde_json::to_value(machine).unwrap()] {
            assert_eq!(undocumented(&value), Vec::<String>::new());
        }
    }
}
