//! The performance monitor: whether the controller in use costs much more than the safety controller would.
//!
//! Under the safety gain, a quadratic cost `c(x, u) = xᵀQx + R·u²` has a future cost of `xᵀSx`, where S solves a
//! Lyapunov equation. So `c(x, u) + x'ᵀSx' − xᵀSx` is the cost of a command beyond that of the safety controller in
//! the same state: Bellman's equation, as a measurement. Its mean does not depend on the initial state, and its value
//! under noise alone is known from the observer's design. The monitor averages it exponentially and compares it with
//! a multiple of that value. It is independent of safety: an offset of 2 V keeps V small for ever.

use hemiola_plant::Nominal;
use hemiola_units::Span;
use serde::{Deserialize, Serialize};

use crate::matrix::{
    Matrix, Vector, dot, lyapunov, outer, quadratic, scaled, sum, times, transposed,
};
use crate::{Gain, Model};

/// The reaction to poor performance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Report it, once each time it becomes poor.
    Report,
    /// Treat it as a fault of the unit: switch to the safety controller and count a strike.
    Switch,
}

/// How performance is judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Time constant of the average, above zero.
    pub window: Span,
    /// Performance is poor if its cost is this many times what the noise of the observer's design costs the safety
    /// controller. That noise is above the apparatus's own: healthy controllers stay below 0.55, and an offset of 2 V
    /// or a ripple of 4 V reaches 1.2.
    pub limit: f64,
    /// The reaction.
    pub remedy: Remedy,
}

impl Default for Settings {
    fn default() -> Self {
        Self { window: Span::from_millis(2000), limit: 0.8, remedy: Remedy::Report }
    }
}

/// A running average of the excess cost of one controller.
#[derive(Clone, Debug)]
pub struct Monitor {
    settings: Settings,
    weight: f64,
    state_cost: Vector,
    volts_cost: f64,
    to_come: Matrix,
    floor: f64,
    mean: f64,
    before: Option<(Vector, f64)>,
    poor: bool,
}

impl Monitor {
    /// Creates a monitor that compares with `safety` on this model.
    #[must_use]
    pub fn new(settings: Settings, model: &Model, safety: &Gain) -> Self {
        let closed = sum(&model.ad, &outer(&model.bd, &safety.0), 1.0);
        let Nominal { state_cost, volts_cost, .. } = model.plant;
        let mut stage = scaled(&outer(&safety.0, &safety.0), volts_cost);
        for (i, cost) in state_cost.into_iter().enumerate() {
            stage[i][i] += cost;
        }
        let to_come = lyapunov(&closed, &stage);
        let period = model.period.secs_f64();
        Self {
            settings,
            state_cost,
            volts_cost,
            weight: (period / settings.window.secs_f64().max(period)).min(1.0),
            to_come,
            floor: noise_cost(model, &to_come),
            mean: 0.0,
            before: None,
            poor: false,
        }
    }

    /// Records that `volts` is used in state `x`; returns true if performance has just become poor.
    pub fn observe(&mut self, x: &Vector, volts: f64) -> bool {
        if let Some((x_before, volts_before)) = self.before.replace((*x, volts)) {
            let stage: f64 = self.volts_cost * volts_before * volts_before
                + (0..4).map(|i| self.state_cost[i] * x_before[i] * x_before[i]).sum::<f64>();
            let excess = stage + quadratic(&self.to_come, x) - quadratic(&self.to_come, &x_before);
            self.mean += self.weight * (excess - self.mean);
        }
        let poor = self.mean > self.settings.limit * self.floor;
        let became = poor && !self.poor;
        // Poor until well below the limit again, so that one long period is reported once.
        self.poor = poor || (self.poor && self.mean > 0.5 * self.settings.limit * self.floor);
        became
    }

    /// Resets the average, because another controller is in use.
    pub fn reset(&mut self) {
        self.mean = 0.0;
        self.before = None;
        self.poor = false;
    }

    /// Returns the averaged cost relative to what the noise of the observer's design costs the safety controller.
    #[must_use]
    pub fn relative_cost(&self) -> f64 {
        self.mean / self.floor
    }

    /// Returns what to do about poor performance.
    #[must_use]
    pub const fn remedy(&self) -> Remedy {
        self.settings.remedy
    }
}

/// Returns the mean excess cost per cycle caused by noise: in each cycle the estimate moves by the correction times a
/// difference of known covariance.
fn noise_cost(model: &Model, to_come: &Matrix) -> f64 {
    let columns = transposed(&std::array::from_fn(|i| {
        [model.correction[i][0], model.correction[i][1], 0.0, 0.0]
    }));
    (0..2)
        .map(|i| {
            (0..2)
                .map(|j| {
                    let moved = times(to_come, &columns[j]);
                    model.difference[i][j] * dot(&columns[i], &moved)
                })
                .sum::<f64>()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_cost(gain: &Gain, offset: f64) -> f64 {
        let model = Model::new(Span::from_millis(20)).unwrap();
        let safety = Gain::named("safety").unwrap();
        let mut monitor = Monitor::new(Settings::default(), &model, &safety);
        let mut x = [0.1, 0.0, 0.05, 0.0];
        for _ in 0..1000 {
            let volts = gain.command(&x) + offset;
            monitor.observe(&x, volts);
            x = model.predict(&x, volts);
        }
        monitor.relative_cost()
    }

    #[test]
    fn the_safety_controller_without_noise_costs_nothing_beyond_itself() {
        let cost = mean_cost(&Gain::named("safety").unwrap(), 0.0);
        assert!(cost.abs() < 1e-9, "{cost}");
    }

    #[test]
    fn an_offset_costs_more_than_the_limit() {
        assert!(mean_cost(&Gain::named("baseline").unwrap(), 2.0) > 0.8);
        assert!(mean_cost(&Gain::named("baseline").unwrap(), 0.0) < 0.01);
    }
}
