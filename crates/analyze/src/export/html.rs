//! `report.html`: one file with everything in it, readable offline, light or dark, and printed.

use std::collections::BTreeMap;

use minijinja::Environment;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::figures::{Figure, figures};
use crate::summary::{Analysis, Summary};
use crate::tables::{Detail, Table, conditions, tables};
use crate::text::{count, date, duration, ratio};

const TEMPLATE: &str = include_str!("report.html");

/// The whole page. `feature_tests` names the test behind each feature of Table 1.
///
/// # Panics
/// Never: the template is part of the program, and a test renders it.
#[must_use]
pub fn render(analysis: &Analysis, feature_tests: &BTreeMap<String, String>) -> String {
    let summary = &analysis.summary;
    // The name's ending turns on the escaping of all values.
    const NAME: &str = "report.html";
    let mut environment = Environment::new();
    environment.add_template(NAME, TEMPLATE).expect("the template is part of the program");
    let page = environment.get_template(NAME).expect("it was added above");
    page.render(Value::from(Serde(Page {
        title: &summary.title,
        started: date(summary.started_unix_s),
        subtitle: &summary.conditions.command_line,
        cards: cards(summary),
        problems: &summary.problems,
        figures: figures(analysis),
        tables: tables(summary, feature_tests, Detail::Full),
        conditions: conditions(summary),
    })))
    .expect("every value the template names is given")
}

/// What the template names.
#[derive(Serialize)]
struct Page<'s> {
    title: &'s str,
    started: String,
    subtitle: &'s str,
    cards: Vec<Card>,
    problems: &'s [String],
    figures: Vec<Figure>,
    tables: Vec<Table>,
    conditions: Vec<(String, String)>,
}

/// One of the figures at the top.
#[derive(Serialize)]
struct Card {
    name: &'static str,
    value: String,
    note: String,
    /// `"good"`, `"bad"` or nothing.
    class: &'static str,
}

fn cards(summary: &Summary) -> Vec<Card> {
    let mut cards = Vec::new();
    let combined = || summary.rungs.iter().map(|rung| &rung.combined);
    if let (Some(first), Some(last)) = (summary.rungs.first(), summary.rungs.last()) {
        let median = |cycle: Option<crate::metrics::CycleTime>| {
            cycle.map_or("–".into(), |cycle| duration(cycle.spread.p50 as f64))
        };
        cards.push(Card {
            name: "Median cycle",
            value: median(last.combined.cycle_ns),
            note: format!("{}; {} {}", last.name, first.name, median(first.combined.cycle_ns)),
            class: "",
        });
        cards.push(Card {
            name: "Last program to first",
            value: last.ratio_to_first.map_or("–".into(), ratio),
            note: last.ratio_to_floor.map_or(String::new(), |value| {
                format!("{} the floor of its hand-overs", ratio(value))
            }),
            class: "",
        });
        let missed: u64 = combined().map(|figures| figures.deadlines_missed).sum();
        let ours: u64 = combined().map(|figures| figures.misses_ours).sum();
        let cycles: u64 = combined().map(|figures| figures.observations).sum();
        cards.push(Card {
            name: "Deadlines missed",
            value: count(missed),
            note: format!("{} ours, in {} cycles", count(ours), count(cycles)),
            class: if missed == 0 {
                "good"
            } else if ours > 0 {
                "bad"
            } else {
                ""
            },
        });
        let fallen: u64 = combined().map(|figures| figures.fallen).sum();
        let runs: usize = summary.rungs.iter().map(|rung| rung.runs.len()).sum();
        cards.push(Card {
            name: "Pendulum fell",
            value: count(fallen),
            note: format!("of {} runs", count(runs as u64)),
            class: if fallen == 0 { "good" } else { "bad" },
        });
    }
    if !summary.faults.is_empty() {
        let lost = |pick: fn(&crate::summary::FaultSummary) -> Option<(u64, u64)>| {
            summary.faults.iter().filter_map(pick).fold((0, 0), |sum, f| (sum.0 + f.0, sum.1 + f.1))
        };
        let with = lost(|fault| fault.with.as_ref().map(|f| (f.lost, f.runs)));
        let without = lost(|fault| fault.without.as_ref().map(|f| (f.lost, f.runs)));
        cards.push(Card {
            name: "Lost under faults",
            value: format!("{} of {}", count(with.0), count(with.1)),
            note: format!(
                "without the decision module {} of {}",
                count(without.0),
                count(without.1)
            ),
            class: if with.0 == 0 { "good" } else { "bad" },
        });
    }
    if let Some(cost) = summary.marks.cost_ns {
        cards.push(Card {
            name: "One mark",
            value: duration(cost),
            note: summary
                .marks
                .ratio_to_clock_read
                .map_or(String::new(), |value| format!("{} a bare clock read", ratio(value))),
            class: "",
        });
    }
    cards
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{analysis, ladder_analysis};

    #[test]
    fn the_page_stands_alone() {
        let page = render(&analysis(2, 400), &BTreeMap::new());
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
        assert!(page.matches("<svg").count() >= 8);
    }

    #[test]
    fn names_of_a_scenario_cannot_break_out_of_the_page() {
        let mut analysis = ladder_analysis();
        analysis.summary.title = "<script>alert(1)</script>".into();
        analysis.summary.rungs[0].name = "<img onerror=x>".into();
        let page = render(&analysis, &BTreeMap::new());
        assert!(!page.contains("<script>") && !page.contains("<img"));
    }

    #[test]
    fn every_tick_names_the_test_behind_it() {
        let tests = BTreeMap::from([("Safety checking".to_string(), "a_test_name".to_string())]);
        let page = render(&ladder_analysis(), &tests);
        assert!(page.contains("Shown by the test") && page.contains("a_test_name"));
    }

    #[test]
    fn a_campaign_without_programs_is_a_page_too() {
        let mut analysis = ladder_analysis();
        analysis.summary.rungs.clear();
        analysis.observed.clear();
        let page = render(&analysis, &BTreeMap::new());
        assert!(page.contains("Lost under faults") && !page.contains("<svg"));
    }
}
