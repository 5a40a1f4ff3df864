//! The guidance law of a board computer, which keeps its satellite at its place in the formation.

use super::{Motion, Orbit};

/// Natural frequency of the controlled error, rad/s: a few minutes, slow compared with the sampling and fast compared
/// with an orbit.
const FREQUENCY: f64 = 0.05;
/// Damping as a fraction of critical damping.
const DAMPING: f64 = 0.8;
/// Errors below this many metres, and below [`FREQUENCY`] times that in m/s, use no propellant.
const DEAD_BAND: f64 = 0.01;
/// The acceleration of a 100 kg satellite by a small thruster, along each axis: m/s².
const THRUST_MAX: f64 = 0.01;

/// The place of a satellite in its formation, a free motion about the orbit, and the law that keeps it there.
///
/// At its place a satellite drifts without thrust, so an undisturbed formation follows [`Orbit::after`] exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guidance {
    orbit: Orbit,
    start: Motion,
}

impl Guidance {
    /// Creates the guidance of a satellite that should be at `start` at time 0 and move freely from there.
    #[must_use]
    pub const fn new(orbit: Orbit, start: Motion) -> Self {
        Self { orbit, start }
    }

    /// Returns where the satellite should be `seconds` after the start.
    #[must_use]
    pub fn place(&self, seconds: f64) -> Motion {
        self.orbit.after(self.start, [0.0; 3], seconds)
    }

    /// Returns the thrust, m/s² along each axis, for a satellite observed at `motion`, `seconds` after the start: that
    /// of a damped spring to its place, zero within the dead band of 1 cm, and at most 0.01 m/s² along each axis.
    #[must_use]
    pub fn thrust(&self, motion: &Motion, seconds: f64) -> [f64; 3] {
        let error = motion.relative_to(&self.place(seconds));
        let is_small = |axis: &usize| {
            error.position[*axis].abs() < DEAD_BAND
                && error.velocity[*axis].abs() < FREQUENCY * DEAD_BAND
        };
        if (0..3).all(|axis| is_small(&axis)) {
            return [0.0; 3];
        }
        std::array::from_fn(|axis| {
            let spring = FREQUENCY * FREQUENCY * error.position[axis];
            let damper = 2.0 * DAMPING * FREQUENCY * error.velocity[axis];
            (-spring - damper).clamp(-THRUST_MAX, THRUST_MAX)
        })
    }
}
