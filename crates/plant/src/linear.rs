//! The dynamics near upright as a linear system, computed numerically.

use serde::{Deserialize, Serialize};

use crate::Parameters;

/// `ẋ = a·x + b·u` with `x` in the order of [`State::to_array`](crate::State::to_array) and `u` in V.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// The state matrix, by rows.
    pub a: [[f64; 4]; 4],
    /// The input column.
    pub b: [f64; 4],
}

/// Half the distance of the central differences; their error is of its square.
const NUDGE: f64 = 1e-5;

impl Linear {
    /// The published linear model of the SEI/UIUC rig, to which [`Parameters::sei_fit`] was fitted.
    pub const PUBLISHED: Self = Self {
        a: [
            [0.0, 1.0, 0.0, 0.0],
            [0.0, -10.95, -2.75, 0.0043],
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 24.92, 28.58, -0.044],
        ],
        b: [0.0, 1.94, 0.0, -4.44],
    };

    /// Returns the derivative of this state with `volts` at the input.
    #[must_use]
    pub fn derivative(&self, x: &[f64; 4], volts: f64) -> [f64; 4] {
        std::array::from_fn(|i| {
            let row: f64 = self.a[i].iter().zip(x).map(|(a, x)| a * x).sum();
            row + self.b[i] * volts
        })
    }

    /// Returns the longest integrator step for it in s: half a time constant of its fastest motion, by the largest sum
    /// of a row.
    #[must_use]
    pub fn step_max(&self) -> f64 {
        let rows = self.a.iter().map(|row| row.iter().map(|value| value.abs()).sum::<f64>());
        0.5 / rows.fold(f64::MIN_POSITIVE, f64::max)
    }

    /// Computes central differences of [`Parameters::derivative`] about upright and at rest.
    ///
    /// Stiction is left out: its slope at zero speed is a smoothing, not a property of the plant.
    #[must_use]
    pub fn about_upright(parameters: &Parameters) -> Self {
        let smooth = Parameters { stiction: 0.0, ..*parameters };
        let slope = |state: [f64; 4], volts: f64| -> [f64; 4] {
            let up = smooth.derivative(state, volts);
            let down = smooth.derivative(state.map(|x| -x), -volts);
            std::array::from_fn(|row| (up[row] - down[row]) / (2.0 * NUDGE))
        };
        let mut a = [[0.0; 4]; 4];
        for column in 0..4 {
            let mut state = [0.0; 4];
            state[column] = NUDGE;
            for (row, value) in slope(state, 0.0).into_iter().enumerate() {
                a[row][column] = value;
            }
        }
        Self { a, b: slope([0.0; 4], NUDGE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitted_parameters_give_the_published_model_within_one_percent() {
        let linear = Linear::about_upright(&Parameters::sei_fit());
        let Linear { a, b } = Linear::PUBLISHED;
        let near = |found: f64, wanted: f64| (found - wanted).abs() <= 0.01 * wanted.abs() + 1e-9;
        for (row, wanted) in a.iter().enumerate() {
            assert!(near(linear.b[row], b[row]), "b{row} {}", linear.b[row]);
            for (found, wanted) in linear.a[row].into_iter().zip(*wanted) {
                // The hinge's friction was published with two significant digits.
                assert!(near(found, wanted) || (found - wanted).abs() < 5e-4, "{found} {wanted}");
            }
        }
    }
}
