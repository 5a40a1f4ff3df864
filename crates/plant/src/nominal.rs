//! A plant as its controllers know it, and custom linear plants.

use serde::{Deserialize, Serialize};

use crate::apparatus::{ANGLE_LOST, POSITION_STOP};
use crate::{Channel, Linear, Range, Wiring};

/// The voltage at which a channel of the card with gain 1 is at full scale.
pub const FULL_SCALE_VOLTS: f64 = 5.0;
/// The most states of a plant.
pub const STATES_MAX: usize = 4;
/// The time for which [`Nominal::process_noise`] is stated, in s.
pub const PROCESS_NOISE_PERIOD: f64 = 0.02;
/// A custom plant is assumed to get this voltage beyond the commanded one, in V rms,
const INPUT_NOISE_VOLTS: f64 = 0.5;
/// and to move by this part of its limits for reasons that the model does not know.
const UNKNOWN_MOTION: f64 = 1e-4;
/// Noise of a measurement, as a part of full scale: 5 mV.
const MEASUREMENT_NOISE: f64 = 1e-3;
/// A measurement this far from its prediction, as a part of the limit, is implausible.
const JUMP: f64 = 0.125;
/// A state that has moved by this many steps of its converter should be seen to move.
const STUCK_STEPS: f64 = 4.0;

/// A linear plant about its operating point. A plant with fewer than four states has further ones that stay 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearPlant {
    /// The names of its 1 to 4 states.
    pub states: Vec<String>,
    /// Its dynamics, with each state in its own unit from the operating point.
    pub dynamics: Linear,
    /// How far each state can go from the operating point, above zero. It stops there, and the plant is lost.
    pub limits: [f64; STATES_MAX],
    /// The states that the two A/D channels measure; the same one twice if only one is measured.
    pub measured: [usize; 2],
    /// The value of each measured state at [`FULL_SCALE_VOLTS`], above zero.
    pub full_scale: [f64; 2],
}

impl LinearPlant {
    /// Creates a plant from matrices of its own size. The states that fill up to four decay and move nothing.
    ///
    /// # Panics
    /// If there are more than four states, or a row or column has another length than `states`.
    #[must_use]
    pub fn new(states: Vec<String>, a: &[Vec<f64>], b: &[f64], limits: &[f64]) -> Self {
        let count = states.len();
        assert!(count <= STATES_MAX && [a.len(), b.len(), limits.len()] == [count; 3]);
        let mut plant = Self {
            states,
            dynamics: Linear { a: [[0.0; STATES_MAX]; STATES_MAX], b: [0.0; STATES_MAX] },
            limits: [1.0; STATES_MAX],
            measured: [0; 2],
            full_scale: [1.0; 2],
        };
        for (i, row) in a.iter().enumerate() {
            plant.dynamics.a[i][..count].copy_from_slice(row);
        }
        for i in count..STATES_MAX {
            plant.dynamics.a[i][i] = -1.0;
        }
        plant.dynamics.b[..count].copy_from_slice(b);
        plant.limits[..count].copy_from_slice(limits);
        plant
    }

    /// Returns the card for it: ±5 V on each channel.
    #[must_use]
    pub fn wiring(&self) -> Wiring {
        let channel = Channel { range: Range::Bipolar5, gain: 1 };
        let [first, second] = self.full_scale.map(|value| value / FULL_SCALE_VOLTS);
        Wiring {
            position: channel,
            angle: channel,
            output: channel,
            metres_per_volt: first,
            radians_per_volt: second,
        }
    }
}

/// A plant as its controllers and the decision module know it.
#[derive(Clone, Debug, PartialEq)]
pub struct Nominal {
    /// Its dynamics.
    pub linear: Linear,
    /// The names of its states, at most four. Vectors are filled up to four with states that stay 0.
    pub names: Vec<String>,
    /// The states that are measured.
    pub measured: [usize; 2],
    /// How far the recoverable region may reach in each state.
    pub limits: [f64; STATES_MAX],
    /// The plant is lost when a measured state is this far out.
    pub lost: [f64; 2],
    /// Variance of what the model does not explain in 20 ms; it grows with the period.
    pub process_noise: [f64; STATES_MAX],
    /// Standard deviation of each measurement.
    pub measurement_noise: [f64; 2],
    /// A measurement this far from its prediction is rejected.
    pub jump: [f64; 2],
    /// A channel that does not change is stuck if its state should have moved by this much.
    pub moved: [f64; 2],
    /// Cost rates of the states squared, for the performance monitor.
    pub state_cost: [f64; STATES_MAX],
    /// Cost rate of the voltage squared.
    pub volts_cost: f64,
}

impl Nominal {
    /// The pendulum: [`Linear::PUBLISHED`].
    #[must_use]
    pub fn pendulum() -> Self {
        Self {
            linear: Linear::PUBLISHED,
            names: ["position", "speed", "angle", "rate"].map(String::from).to_vec(),
            measured: [0, 2],
            // 0.40 m of the ±0.407 m of track, 1 m/s, 15°.
            limits: [0.40, 1.0, 15f64.to_radians(), f64::INFINITY],
            lost: [POSITION_STOP, ANGLE_LOST],
            process_noise: [1e-9, 2e-4, 1e-9, 2e-3],
            measurement_noise: [0.4e-3, 0.8e-3],
            // Half the cart's greatest speed in the recoverable region explains 20 mm in 20 ms, and 2 rad/s explain
            // 40 mrad.
            jump: [0.05, 0.12],
            moved: [STUCK_STEPS * 0.2273e-3, STUCK_STEPS * 0.303e-3],
            // Those of the LQR design.
            state_cost: [10.0, 5.0, 50.0, 0.1],
            volts_cost: 0.3,
        }
    }

    /// A custom plant. Noise, thresholds and costs follow from its limits and its card.
    #[must_use]
    pub fn of(plant: &LinearPlant) -> Self {
        let wiring = plant.wiring();
        let steps = [
            wiring.position.lsb() * wiring.metres_per_volt,
            wiring.angle.lsb() * wiring.radians_per_volt,
        ];
        let lost = plant.measured.map(|state| plant.limits[state]);
        Self {
            linear: plant.dynamics,
            names: plant.states.clone(),
            measured: plant.measured,
            limits: plant.limits,
            lost,
            process_noise: std::array::from_fn(|i| {
                let pushed = plant.dynamics.b[i] * PROCESS_NOISE_PERIOD * INPUT_NOISE_VOLTS;
                pushed.powi(2) + (UNKNOWN_MOTION * plant.limits[i]).powi(2)
            }),
            measurement_noise: plant.full_scale.map(|value| MEASUREMENT_NOISE * value),
            jump: lost.map(|limit| JUMP * limit),
            moved: steps.map(|step| STUCK_STEPS * step),
            state_cost: plant.limits.map(|limit| limit.powi(-2)),
            volts_cost: FULL_SCALE_VOLTS.powi(-2),
        }
    }

    /// Returns whether this is [`Self::pendulum`], for which regions are known.
    #[must_use]
    pub fn is_pendulum(&self) -> bool {
        *self == Self::pendulum()
    }

    /// Returns whether a measured state is beyond what the plant survives.
    #[must_use]
    pub fn is_lost(&self, state: &[f64; STATES_MAX]) -> bool {
        let mut measured = self.measured.iter().zip(self.lost);
        measured.any(|(i, lost)| state[*i].abs() >= lost)
    }
}
