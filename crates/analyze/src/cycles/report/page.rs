//! The report of a run as a page: which cards, figures and tables it has.

use std::collections::BTreeMap;

use super::figures::figures;
use super::tables::{conditions, problems, tables};
use crate::cycles::analysis::Analysis;
use crate::cycles::metrics::CycleTime;
use crate::cycles::summary::{FaultEffect, FaultSummary, Summary};
use hemiola_report::page::{Card, Page, Tone};
use hemiola_report::table::Detail;
use hemiola_report::text::{NONE, count, date, duration, ratio};

/// The whole page. `feature_tests` names the test behind each feature of Table 1.
#[must_use]
pub fn render(analysis: &Analysis, feature_tests: &BTreeMap<String, String>) -> String {
    let summary = &analysis.summary;
    Page {
        title: summary.title.clone(),
        started: date(summary.started_unix_s),
        subtitle: summary.conditions.command_line.clone(),
        cards: cards(summary),
        problems: problems(summary),
        figures: figures(analysis),
        tables: tables(summary, feature_tests, Detail::Full),
        conditions: conditions(summary),
    }
    .render()
}

fn cards(summary: &Summary) -> Vec<Card> {
    let mut cards = super::mixed::cards(summary);
    cards.extend(super::federation::cards(summary));
    let loops = || summary.variants.iter().filter(|variant| summary.is_loop(variant));
    let combined = || loops().map(|variant| &variant.combined);
    if let (Some(first), Some(last)) = (loops().next(), loops().next_back()) {
        let median = |cycle: Option<CycleTime>| {
            cycle.map_or(NONE.into(), |cycle| duration(cycle.spread.p50 as f64))
        };
        cards.push(Card {
            name: "Median cycle".into(),
            value: median(last.combined.cycle_ns),
            note: format!("{}; {} {}", last.name, first.name, median(first.combined.cycle_ns)),
            tone: Tone::Plain,
        });
        cards.push(Card {
            name: "Last program to first".into(),
            value: last.ratio_to_first.map_or(NONE.into(), ratio),
            note: last.ratio_to_floor.map_or(String::new(), |value| {
                format!("{} the floor of its hand-overs", ratio(value))
            }),
            tone: Tone::Plain,
        });
        let missed: u64 = combined().map(|figures| figures.deadlines_missed).sum();
        let ours: u64 = combined().map(|figures| figures.misses_ours).sum();
        let cycles: u64 = combined().map(|figures| figures.observations).sum();
        cards.push(Card {
            name: "Deadlines missed".into(),
            value: count(missed),
            note: format!("{} ours, in {} cycles", count(ours), count(cycles)),
            tone: if missed == 0 {
                Tone::Good
            } else if ours > 0 {
                Tone::Bad
            } else {
                Tone::Plain
            },
        });
        let fallen: u64 = combined().map(|figures| figures.fallen).sum();
        let runs: usize = loops().map(|variant| variant.runs.len()).sum();
        if combined().any(|figures| figures.peak_v.is_some()) {
            cards.push(Card {
                name: "Plant lost".into(),
                value: count(fallen),
                note: format!("of {} runs", count(runs as u64)),
                tone: if fallen == 0 { Tone::Good } else { Tone::Bad },
            });
        }
    }
    if !summary.faults.is_empty() {
        let counts = |effect: &FaultEffect| (effect.figures.lost, effect.figures.runs);
        let lost = |pick: &dyn Fn(&FaultSummary) -> Option<(u64, u64)>| {
            summary.faults.iter().filter_map(pick).fold((0, 0), |sum, f| (sum.0 + f.0, sum.1 + f.1))
        };
        let with = lost(&|fault| fault.with.as_ref().map(counts));
        let without = lost(&|fault| fault.without.as_ref().map(counts));
        cards.push(Card {
            name: "Lost under faults".into(),
            value: format!("{} of {}", count(with.0), count(with.1)),
            note: format!(
                "without the decision module {} of {}",
                count(without.0),
                count(without.1)
            ),
            tone: if with.0 == 0 { Tone::Good } else { Tone::Bad },
        });
    }
    if let Some(cost) = summary.marks.cost_ns {
        cards.push(Card {
            name: "One mark".into(),
            value: duration(cost),
            note: summary
                .marks
                .ratio_to_clock_read
                .map_or(String::new(), |value| format!("{} a bare clock read", ratio(value))),
            tone: Tone::Plain,
        });
    }
    cards
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::synthetic::{analysis, ladder_analysis};

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
        analysis.summary.variants[0].name = "<img onerror=x>".into();
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
        analysis.summary.variants.clear();
        analysis.observed.clear();
        let page = render(&analysis, &BTreeMap::new());
        assert!(page.contains("Lost under faults") && !page.contains("<svg"));
    }
}
