//! The nonlinear equations of a rod hinged on a motor-driven cart.

use serde::{Deserialize, Serialize};

/// Position and motion of the pendulum; in a custom plant, its first to fourth state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct State {
    /// Cart position in m, 0 at mid-track.
    pub position: f64,
    /// Cart speed in m/s.
    pub speed: f64,
    /// Rod angle from upright in rad, positive when leaning towards positive positions.
    pub angle: f64,
    /// Angular rate of the rod in rad/s.
    pub rate: f64,
}

impl State {
    /// Returns the state in the order of every vector and matrix: position, speed, angle, rate.
    #[must_use]
    pub const fn to_array(self) -> [f64; 4] {
        [self.position, self.speed, self.angle, self.rate]
    }

    /// The inverse of [`State::to_array`].
    #[must_use]
    pub const fn from_array([position, speed, angle, rate]: [f64; 4]) -> Self {
        Self { position, speed, angle, rate }
    }
}

/// The physical parameters of the apparatus. Any positive values are valid; friction may be zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Mass m of the uniform rod in kg.
    pub rod_mass: f64,
    /// Effective full length l of the rod in m.
    pub rod_length: f64,
    /// Rod, cart and rotor inertia M̄ seen at the rail, in kg.
    pub total_mass: f64,
    /// Force per motor voltage Bl in N/V.
    pub motor_gain: f64,
    /// Viscous friction and back-EMF Bb seen at the rail, in N·s/m.
    pub cart_damping: f64,
    /// Viscous friction Bθ of the hinge in N·m·s/rad.
    pub hinge_damping: f64,
    /// Acceleration of free fall in m/s².
    pub gravity: f64,
    /// Stiction amplitude Ax in N.
    pub stiction: f64,
    /// How fast stiction decreases with speed, Cx, in s/m.
    pub stiction_fade: f64,
}

/// Below about this speed in m/s the sign of the stiction force is smoothed, so that a fixed step can integrate it.
const STICTION_SMOOTHING: f64 = 0.002;

impl Parameters {
    /// The parameters fitted to the published linear model of the SEI/UIUC rig: every entry agrees within 0.8 %.
    #[must_use]
    pub const fn sei_fit() -> Self {
        Self {
            rod_mass: 0.230,
            rod_length: 0.6577,
            total_mass: 0.7872,
            motor_gain: 1.193,
            cart_damping: 6.731,
            hinge_damping: 0.00115,
            gravity: 9.80,
            stiction: 0.0,
            stiction_fade: 5.0,
        }
    }

    /// The maker's data-sheet values (Quanser IP01): a deliberately different plant for tests of robustness.
    #[must_use]
    pub const fn ip01() -> Self {
        Self {
            rod_mass: 0.230,
            rod_length: 0.6603,
            total_mass: 0.8831,
            motor_gain: 1.7235,
            cart_damping: 8.62,
            hinge_damping: 0.0024,
            gravity: 9.81,
            stiction: 0.0,
            stiction_fade: 5.0,
        }
    }

    /// Returns the time derivative of `[position, speed, angle, rate]` at `volts` on the motor. Friction has the form
    /// of the SEI model, with a smoothed sign.
    #[must_use]
    pub fn derivative(&self, [_, speed, angle, rate]: [f64; 4], volts: f64) -> [f64; 4] {
        let (m, l) = (self.rod_mass, self.rod_length);
        let (sin, cos) = angle.sin_cos();
        let stiction = if self.stiction == 0.0 {
            0.0
        } else {
            (speed / STICTION_SMOOTHING).tanh()
                * self.stiction
                * (-self.stiction_fade * speed.abs()).exp()
        };
        let force = self.motor_gain * volts - self.cart_damping * speed - stiction
            + 0.5 * m * l * rate * rate * sin;
        let torque = 0.5 * m * self.gravity * l * sin - self.hinge_damping * rate;
        let inertia = m * l * l / 3.0;
        let coupling = 0.5 * m * l * cos;
        let determinant = self.total_mass * inertia - coupling * coupling;
        [
            speed,
            (inertia * force - coupling * torque) / determinant,
            rate,
            (self.total_mass * torque - coupling * force) / determinant,
        ]
    }

    /// Returns kinetic plus potential energy in J, relative to the rod at rest upright. It is constant without
    /// voltage and friction.
    #[must_use]
    pub fn energy(&self, state: &State) -> f64 {
        let (m, l) = (self.rod_mass, self.rod_length);
        0.5 * self.total_mass * state.speed * state.speed
            + 0.5 * m * l * state.speed * state.rate * state.angle.cos()
            + m * l * l / 6.0 * state.rate * state.rate
            + 0.5 * m * self.gravity * l * (state.angle.cos() - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rk4;
    use proptest::prelude::*;

    fn after(seconds: f64, start: State, volts: f64) -> State {
        let parameters = Parameters::sei_fit();
        let steps = (seconds / 0.001_f64).round() as u32;
        let end = (0..steps)
            .fold(start.to_array(), |x, _| rk4(x, 0.001, |x| parameters.derivative(x, volts)));
        State::from_array(end)
    }

    #[test]
    fn released_at_two_degrees_it_falls_as_computed() {
        let start = State { angle: 2f64.to_radians(), ..State::default() };
        for (seconds, degrees) in [(0.1, 2.27), (0.2, 3.12), (0.4, 7.50)] {
            let angle = after(seconds, start, 0.0).angle.to_degrees();
            assert!((angle - degrees).abs() < 0.006, "{angle}° after {seconds} s");
        }
    }

    #[test]
    fn full_voltage_from_rest_moves_cart_and_rod_as_computed() {
        let end = after(0.1, State::default(), 4.95);
        assert!((end.position - 0.035).abs() < 0.0005, "{end:?}");
        assert!((end.angle.to_degrees() + 4.61).abs() < 0.006, "{end:?}");
    }

    proptest! {
        #[test]
        fn energy_is_kept_without_friction_and_voltage(
            speed in -1.0..1.0f64, angle in -3.0..3.0f64, rate in -3.0..3.0f64,
        ) {
            let parameters =
                Parameters { cart_damping: 0.0, hinge_damping: 0.0, ..Parameters::sei_fit() };
            let start = State { position: 0.0, speed, angle, rate };
            let end = (0..1000).fold(start.to_array(), |x, _| {
                rk4(x, 0.001, |x| parameters.derivative(x, 0.0))
            });
            let change = parameters.energy(&State::from_array(end)) - parameters.energy(&start);
            prop_assert!(change.abs() < 1e-6, "{}", change);
        }
    }
}
