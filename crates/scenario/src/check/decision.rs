//! Checks of the decision rule, on its own and against the period of each variant.

use std::ops::Range;

use hemiola_simplex::performance::{Remedy, Settings as PerformanceSettings};
use hemiola_simplex::{
    Decision, Gain, Region, RegionError, SafetyController, Settings, SettingsError,
};
use hemiola_units::Span;

use super::process::Written;
use super::{Checker, READ_CONVERSIONS};
use crate::document::At;
use crate::keys::{DecisionKeys, PerformanceKeys, RemedyWord};
use crate::plan::{Order, Task};
use hemiola_diagnostic::Problem;

/// The rule as stated, not yet adapted to a period.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    settings: Settings,
    /// Where `answer_within` is stated.
    answer_at: Option<Range<usize>>,
    /// Where the safety controller or its region is stated, until it is found wrong: once is enough for all variants.
    safety_at: Option<Range<usize>>,
    /// Where `accept_below` is stated, until it is found wrong.
    accept_at: Option<Range<usize>>,
    /// Whether the plant needs a safety controller that is not stated.
    lacks_safety: bool,
}

impl Checker<'_> {
    /// Reads [decision].
    pub(super) fn rule(&mut self, keys: &DecisionKeys<'_>) -> Rule {
        let lacks_safety = self.is_linear() && !keys.safety.is_present;
        let settings = Settings {
            plant: self.plant.as_ref().map_or_else(Default::default, |plant| plant.model.clone()),
            safety: match lacks_safety {
                true => Gain([0.0; 4]),
                false => {
                    self.gain(&At { value: keys.safety.value(), at: keys.safety.at().clone() })
                }
            },
            region: self.region(keys),
            accept_below: keys.accept_below.value(),
            return_below: keys.return_below.value(),
            return_after: keys.return_after.value(),
            strikes: keys.strikes.value(),
            forgive_after: keys.forgive_after.value(),
            give_up_after: keys.give_up_after.value(),
            promote_after: keys.promote_after.value(),
            answer_within: keys.answer_within.value(),
            performance: match self.is_linear() && !keys.performance.is_present {
                true => None,
                false => performance(&keys.performance.or_empty()),
            },
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
            safety_at: Some(
                keys.region.stated.as_ref().map_or(keys.safety.at(), |stated| &stated.at).clone(),
            ),
            accept_at: Some(keys.accept_below.at().clone()),
            lacks_safety,
            answer_at: keys.answer_within.stated.as_ref().map(|stated| stated.at.clone()),
        }
    }

    /// The region as stated. The states that the plant does not have stay within their limit of 1.
    fn region(&mut self, keys: &DecisionKeys<'_>) -> Option<Region> {
        if !self.plant_is_known() {
            return None;
        }
        let rows = self.square("region", &keys.region, self.states())?;
        let mut p = [[0.0; 4]; 4];
        for (i, row) in p.iter_mut().enumerate() {
            match rows.get(i) {
                Some(stated) => row[..stated.len()].copy_from_slice(stated),
                None => row[i] = 1.0,
            }
        }
        match Region::new(p) {
            Ok(region) => Some(region),
            Err(error) => {
                let hint = "write P of V = xᵀ·P·x by rows, each entry above the diagonal equal to its mirror image";
                self.wrong(keys.region.at(), error.to_string(), hint);
                None
            }
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
        if self.plant_is_known() {
            self.recovers(&settings, period, name);
        }
        settings
    }

    /// Checks that the safety controller recovers from its whole region in cycles of `period`.
    fn recovers(&mut self, settings: &Settings, period: Span, name: &str) {
        let error = if self.rule.lacks_safety {
            "a linear plant needs a safety controller".to_owned()
        } else {
            match Decision::new(settings.clone(), period) {
                Ok(_) => return,
                // Reported with the plant, or with the rate.
                Err(SettingsError::Model(_)) => return,
                Err(error) => error.to_string(),
            }
        };
        let Some(at) = self.rule.safety_at.take() else { return };
        let hint = match (self.rule.lacks_safety, self.is_linear()) {
            (true, _) => {
                "write safety = [ … ] in [decision]: volts per unit of each state, u = safety·x"
            }
            (_, true) => {
                "choose a gain that stabilizes the plant at this rate, or another region; without the key region, one \
                 is computed"
            }
            _ => {
                "choose a gain that recovers from its whole region at this rate; safety is the default"
            }
        };
        self.wrong(
            &at,
            format!("{name} cannot be supervised in cycles of {period}: {error}"),
            hint,
        );
    }

    /// Checks that the safety controller recovers although each voltage is written as late as the I/O process may.
    pub(super) fn recovers_in_time(
        &mut self,
        settings: &Settings,
        period: Span,
        written: &[Written<'_>],
        name: &str,
    ) {
        let order = written.iter().find_map(|written| match written.process.task {
            Task::Io { order } => Some(order),
            _ => None,
        });
        // A plant that is not read, and an answer that may take a whole period, are problems of their own.
        if !self.plant_is_known() || settings.answer_within >= period {
            return;
        }
        // The sample is taken when the A/D conversions begin, and the voltage leaves when the D/A conversion ends. With
        // write-first, the D/A conversion stands before both.
        let conversion = self.card.conversion_time;
        let latency = match order {
            Some(Order::ReadFirst { command_within }) => {
                command_within.max(conversion * READ_CONVERSIONS) + conversion
            }
            Some(Order::WriteFirst) => period,
            None => return,
        };
        let Ok(model) = settings.model(period) else { return };
        let Ok(safety) = SafetyController::of(settings, &model) else { return };
        let checked =
            safety.region().check_latency(&model, safety.gain(), settings.accept_below, latency);
        let Err(error) = checked else { return };
        let Some(at) = self.rule.accept_at.take() else { return };
        let and = if conversion.is_positive() { ", and a shorter conversion_time" } else { "" };
        let sooner = format!("let io write sooner: order = \"read-first\" and command_within{and}");
        let hint = match error {
            RegionError::Late { most, .. } if most >= 0.01 => {
                // Rounded down, because what is above may be unsound.
                let most = (most * 100.0).floor() / 100.0;
                let too = if settings.return_below > most { ", and return_below too" } else { "" };
                format!("keep accept_below at or below {most}{too}, or {sooner}")
            }
            _ => format!("{sooner}; or choose a gain that moves the plant less"),
        };
        self.wrong(
            &at,
            format!("{name} cannot be supervised in cycles of {period}: {error}"),
            hint,
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
