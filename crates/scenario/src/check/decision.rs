//! The decision rule: what is stated once, and how it fits the period of each variant.

use std::ops::Range;

use hemiola_simplex::Settings;
use hemiola_simplex::performance::{Remedy, Settings as PerformanceSettings};
use hemiola_units::Span;

use super::Checker;
use crate::section::{At, Section};
use hemiola_diagnostic::Problem;

/// The rule as stated, before it meets a period.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    settings: Settings,
    /// Where `answer_within` is stated.
    answer_at: Option<Range<usize>>,
}

impl Checker<'_> {
    /// Reads [decision].
    pub(super) fn rule(&mut self, section: Option<Section<'_>>) -> Rule {
        let mut rule = Rule::default();
        let settings = &mut rule.settings;
        let Some(section) = section else { return rule };
        if let Some(gain) = section.gain("safety") {
            settings.safety = self.gain(gain);
        }
        if let Some(number) = section.number("accept_below") {
            settings.accept_below = number.value;
        }
        if let Some(number) = section.number("return_below") {
            settings.return_below = number.value;
        }
        for (key, count) in [
            ("return_after", &mut settings.return_after),
            ("strikes", &mut settings.strikes),
            ("forgive_after", &mut settings.forgive_after),
            ("give_up_after", &mut settings.give_up_after),
            ("promote_after", &mut settings.promote_after),
        ] {
            if let Some(stated) = section.whole(key) {
                *count = stated.value;
            }
        }
        if let Some(At { value, at }) = section.parsed("answer_within") {
            settings.answer_within = value;
            rule.answer_at = Some(at);
        }
        if let Some(section) = section.section("performance") {
            settings.performance =
                settings.performance.and_then(|default| performance(&section, default));
        }
        if settings.return_below > settings.accept_below {
            self.problem(
                Problem::new(
                    section.key_at("return_below"),
                    format!(
                        "control would return at {}, above the {} at which it is taken away",
                        settings.return_below, settings.accept_below
                    ),
                )
                .hint("keep return_below at or under accept_below"),
            );
        }
        rule
    }

    /// The rule for cycles of `period`; `name` is whose.
    pub(super) fn settings_for(&mut self, period: Span, name: &str) -> Settings {
        let mut settings = self.rule.settings.clone();
        let stated = settings.answer_within;
        if stated >= period {
            let shorter = period / 2;
            match self.rule.answer_at.clone() {
                // Nothing was promised, so nothing is broken by a default that fits.
                None => settings.answer_within = shorter,
                Some(_) if self.overrides.rate.is_some() => {
                    settings.answer_within = shorter;
                    self.notes.push(format!(
                        "{name}: answer_within shortened from {stated} to {shorter} to fit the period of {period}"
                    ));
                }
                Some(stated_at) => {
                    let message =
                        format!("answers may take {stated}, but the period of {name} is {period}");
                    self.problem(
                        Problem::new(stated_at, message).hint(format!(
                            "keep answer_within under the period, such as {shorter}"
                        )),
                    );
                }
            }
        }
        settings
    }
}

/// The performance monitor as stated; `None` when it is off.
fn performance(section: &Section<'_>, default: PerformanceSettings) -> Option<PerformanceSettings> {
    let remedy = match section.text("remedy").map(|remedy| remedy.value) {
        Some("off") => return None,
        Some("switch") => Remedy::Switch,
        _ => default.remedy,
    };
    Some(PerformanceSettings {
        window: section.parsed("window").map_or(default.window, |window| window.value),
        limit: section.number("limit").map_or(default.limit, |limit| limit.value),
        remedy,
    })
}
