//! Checks of the decision rule, on its own and against the period of each variant.

use std::ops::Range;

use hemiola_simplex::performance::{Remedy, Settings as PerformanceSettings};
use hemiola_simplex::{Decision, Settings};
use hemiola_units::Span;

use super::Checker;
use crate::document::At;
use crate::keys::{DecisionKeys, PerformanceKeys, RemedyWord};
use hemiola_diagnostic::Problem;

/// The rule as stated, not yet adapted to a period.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    settings: Settings,
    /// Where `answer_within` is stated.
    answer_at: Option<Range<usize>>,
    /// Where the safety controller is stated, until it is found wrong: once is enough for all variants.
    safety_at: Option<Range<usize>>,
}

impl Checker<'_> {
    /// Reads [decision].
    pub(super) fn rule(&mut self, keys: &DecisionKeys<'_>) -> Rule {
        let settings = Settings {
            safety: self.gain(&At { value: keys.safety.value(), at: keys.safety.at().clone() }),
            accept_below: keys.accept_below.value(),
            return_below: keys.return_below.value(),
            return_after: keys.return_after.value(),
            strikes: keys.strikes.value(),
            forgive_after: keys.forgive_after.value(),
            give_up_after: keys.give_up_after.value(),
            promote_after: keys.promote_after.value(),
            answer_within: keys.answer_within.value(),
            performance: performance(&keys.performance.or_empty()),
            ..Settings::default()
        };
        if settings.return_below > settings.accept_below {
            self.wrong(
                &keys.return_below.key_at,
                format!(
                    "return_below is {}, above accept_below, which is {}",
                    settings.return_below, settings.accept_below
                ),
                "keep return_below at or below accept_below",
            );
        }
        Rule {
            settings,
            safety_at: Some(keys.safety.at().clone()),
            answer_at: keys.answer_within.stated.as_ref().map(|stated| stated.at.clone()),
        }
    }

    /// Returns the rule for cycles of `period`; `name` appears in messages.
    pub(super) fn settings_for(&mut self, period: Span, name: &str) -> Settings {
        let mut settings = self.rule.settings.clone();
        let stated = settings.answer_within;
        if stated >= period {
            let shorter = period / 2;
            match self.rule.answer_at.clone() {
                // The scenario states no value, so the default may shrink without a note.
                None => settings.answer_within = shorter,
                Some(_) if self.overrides.rate.is_some() => {
                    settings.answer_within = shorter;
                    self.notes.push(format!(
                        "{name}: answer_within shortened from {stated} to {shorter} to fit the period of {period}"
                    ));
                }
                Some(stated_at) => {
                    let message =
                        format!("answer_within is {stated}, but the period of {name} is {period}");
                    self.problem(
                        Problem::new(stated_at, message).hint(format!(
                            "keep answer_within below the period, such as {shorter}"
                        )),
                    );
                }
            }
        }
        self.recovers(&settings, period, name);
        settings
    }

    /// Checks that the safety controller recovers from its whole region in cycles of `period`.
    fn recovers(&mut self, settings: &Settings, period: Span, name: &str) {
        let Err(error) = Decision::new(settings.clone(), period) else { return };
        let Some(at) = self.rule.safety_at.take() else { return };
        self.wrong(
            &at,
            format!("{name} cannot be supervised in cycles of {period}: {error}"),
            "choose a gain that recovers from its whole region at this rate; safety is the default",
        );
    }
}

/// The performance monitor as stated; `None` when it is off.
fn performance(keys: &PerformanceKeys<'_>) -> Option<PerformanceSettings> {
    let remedy = match keys.remedy.value() {
        RemedyWord::Off => return None,
        RemedyWord::Switch => Remedy::Switch,
        RemedyWord::Report => Remedy::Report,
    };
    Some(PerformanceSettings { window: keys.window.value(), limit: keys.limit.value(), remedy })
}
