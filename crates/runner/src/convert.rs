//! From what a scenario says to what the cores take: the names are checked by then, so only lookups.

use hemiola_plant::{Model as PlantParameters, Settings, State};
use hemiola_scenario::{DecisionSettings, Gain as ScenarioGain, PlantModel, PlantSettings};
use hemiola_simplex::performance::{Remedy, Settings as PerformanceRule};
use hemiola_simplex::{Gain, Model, Settings as Rule, StateFeedback};
use hemiola_units::Span;

/// The apparatus of a scenario, with the noise of this seed.
pub(crate) fn apparatus(settings: &PlantSettings, seed: u64) -> Settings {
    Settings {
        model: match settings.model {
            PlantModel::SeiFit => PlantParameters::SeiFit,
            PlantModel::Ip01 => PlantParameters::Ip01,
        },
        step: settings.step,
        start: State {
            position: settings.start_position_m,
            angle: settings.start_angle_deg.to_radians(),
            ..State::default()
        },
        noise_v_rms: settings.noise_v_rms,
        filter_corner_hz: settings.filter_corner_hz,
        stiction: settings.stiction_n,
        seed,
        ..Settings::default()
    }
}

/// The law a scenario means.
pub(crate) fn gain(gain: &ScenarioGain) -> Result<Gain, String> {
    match gain {
        ScenarioGain::Named(name) => {
            Gain::named(name).ok_or_else(|| format!("no gain is called \"{name}\""))
        }
        ScenarioGain::Custom(gain) => Ok(Gain(*gain)),
    }
}

/// The controller that every program of the ladder runs.
pub(crate) fn state_feedback(law: &ScenarioGain, period: Span) -> Result<StateFeedback, String> {
    let model = Model::new(period).map_err(|e| e.to_string())?;
    Ok(StateFeedback::new(model, gain(law)?))
}

/// The decision rule of a scenario.
pub(crate) fn rule(settings: &DecisionSettings) -> Result<Rule, String> {
    Ok(Rule {
        safety: gain(&settings.safety)?,
        accept_below: settings.accept_below,
        return_below: settings.return_below,
        return_after: settings.return_after,
        strikes: settings.strikes,
        performance: settings.performance.map(|performance| PerformanceRule {
            window: performance.window,
            limit: performance.limit,
            remedy: match performance.remedy {
                hemiola_scenario::Remedy::Report => Remedy::Report,
                hemiola_scenario::Remedy::Switch => Remedy::Switch,
            },
        }),
        region: None,
        forgive_after: settings.forgive_after,
        give_up_after: settings.give_up_after,
        promote_after: settings.promote_after,
    })
}
