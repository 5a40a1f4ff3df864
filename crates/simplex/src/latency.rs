//! What late commands can do: how far a unit and the safety controller after it can carry the plant if every voltage
//! is written some time after its sample.
//!
//! Let `w0` be the voltage in force, and let a unit's command `w1` be accepted, because with `w1` for the whole period
//! the predicted state `p` has `V(p) ≤ accept_below`. It is written `latency` after its sample, so the next state is
//! `p + B₁·(w0 − w1)`, where `B₁` is the part of the input column up to the latency. From there the safety controller
//! commands, as late: `x' = Ad·x + B₁·w + B₀·k·x` with `w' = k·x`. Each later state is `F·p + G₀·w0 + G₁·w1`, so with
//! `‖·‖ = √V` and voltages up to the usable command U its norm is at most `‖F‖·√accept_below + U·(‖G₀‖ + ‖G₁‖)`.
//! That must not exceed 1. Once it is back at `√accept_below`, the same argument starts again, so the rest of time
//! needs no further check. Inside the region the controller does not saturate, so the loop is linear there.

use hemiola_units::Span;

use crate::matrix::{
    IDENTITY, Matrix, Vector, dot, norm, outer, product, quadratic, sum, times, transposed,
};
use crate::{CLIP_VOLTS, Gain, Model};

/// The most cycles until the plant is back; at 10 kHz ten seconds.
const CYCLES_MAX: u32 = 100_000;

/// The loop under the safety controller, as linear functions of the predicted state and both voltages of the unit.
struct Loop {
    /// How the state depends on the prediction.
    state: Matrix,
    /// How it depends on the voltage before, and on that of the unit.
    by_volts: [Vector; 2],
    /// The voltage in force: its row for the prediction, and its factors of both voltages.
    in_force: (Vector, [f64; 2]),
}

/// Returns the highest predicted V of an accepted command with which no state leaves the region, at least
/// `accept_below` if that is sound; 0 if none is, or if the latency is longer than a period.
pub(crate) fn accept_max(
    p: &Matrix,
    model: &Model,
    gain: &Gain,
    accept_below: f64,
    latency: Span,
) -> f64 {
    if latency > model.period {
        return 0.0;
    }
    let [early, late] = model.split(latency);
    let length = |x: &Vector| quadratic(p, x).sqrt();
    let mut now = Loop {
        state: existing(model),
        by_volts: [early, early.map(|b| -b)],
        in_force: ([0.0; 4], [0.0, 1.0]),
    };
    let (mut most, level) = (f64::INFINITY, accept_below.sqrt());
    for cycle in 0..CYCLES_MAX {
        let grown = norm(p, &now.state);
        let pushed = CLIP_VOLTS * now.by_volts.iter().map(length).sum::<f64>();
        most = most.min((1.0 - pushed) / grown);
        if most <= 0.0 || most.is_nan() {
            return 0.0;
        }
        if cycle > 0 && grown * most.min(level) + pushed <= most.min(level) {
            return most * most;
        }
        now = now.next(model, gain, &[early, late]);
    }
    0.0
}

/// The prediction itself, without the states that the plant does not have: they are 0.
fn existing(model: &Model) -> Matrix {
    let mut existing = IDENTITY;
    existing[model.plant.names.len()..].fill([0.0; 4]);
    existing
}

impl Loop {
    /// One cycle of the safety controller later.
    fn next(&self, model: &Model, gain: &Gain, [early, late]: &[Vector; 2]) -> Self {
        let row = times(&transposed(&self.state), &gain.0);
        let factors = self.by_volts.map(|column| dot(&gain.0, &column));
        let (old_row, old_factors) = &self.in_force;
        let moved = product(&model.ad, &self.state);
        let moved = sum(&moved, &outer(early, old_row), 1.0);
        Self {
            state: sum(&moved, &outer(late, &row), 1.0),
            by_volts: std::array::from_fn(|i| {
                let free = times(&model.ad, &self.by_volts[i]);
                std::array::from_fn(|j| free[j] + early[j] * old_factors[i] + late[j] * factors[i])
            }),
            in_force: (row, factors),
        }
    }
}
