//! Satellites in formation: relative motion about a circular orbit, and its closed form.
//!
//! Positions are in the Hill frame of a reference point on the orbit: x radially outwards, y along the track, z along
//! the orbit's normal, all in m and m/s. Close to that point gravity is linear (Clohessy and Wiltshire, "Terminal
//! Guidance System for Satellite Rendezvous", 1960), with n the mean motion and u the acceleration by the thrusters:
//!
//! ```text
//! ẍ = 3n²x + 2nẏ + ux      ÿ = −2nẋ + uy      z̈ = −n²z + uz
//! ```
//!
//! Motion under a constant u therefore has a closed form ([`Orbit::after`]), with which integrated and transmitted
//! trajectories can be compared. The difference of two satellites' states obeys the same equations.
//!
//! ```
//! use hemiola_plant::satellite::{Motion, Orbit};
//!
//! let orbit = Orbit::at_altitude(700e3).unwrap();
//! let start = orbit.ellipse(100.0, 50.0, 0.3);
//! let integrated = (0..1000).fold(start, |motion, _| orbit.step(motion, [0.0; 3], 0.01));
//! assert!(integrated.distance(&orbit.after(start, [0.0; 3], 10.0)) < 1e-9);
//! ```

mod guidance;
mod message;

pub use guidance::Guidance;
pub use message::{Command, MessageError, Report};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::rk4;

/// Gravitational parameter of the Earth, m³/s² (IERS Conventions 2010, table 1.1).
const EARTH_GM: f64 = 3.986_004_418e14;
/// Equatorial radius of the Earth, m (the same).
const EARTH_RADIUS: f64 = 6_378_136.6;

/// Altitudes at which a satellite can stay in a circular orbit around the Earth for long, m.
pub const ALTITUDES: std::ops::RangeInclusive<f64> = 150e3..=1e8;

/// An altitude outside [`ALTITUDES`].
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error(
    "the altitude of {0} m must be from 150 km to 100 000 km, for example 700 km for an observation satellite"
)]
pub struct AltitudeError(pub f64);

/// The circular orbit of the reference point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Orbit {
    /// Radians a second, above zero.
    mean_motion: f64,
}

/// Position and motion of a satellite in the Hill frame of the reference point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Motion {
    /// Radial, along the track, along the normal: m.
    pub position: [f64; 3],
    /// The same, m/s.
    pub velocity: [f64; 3],
}

impl Motion {
    /// Returns position, then velocity.
    #[must_use]
    pub const fn to_array(self) -> [f64; 6] {
        let ([x, y, z], [vx, vy, vz]) = (self.position, self.velocity);
        [x, y, z, vx, vy, vz]
    }

    /// The inverse of [`Motion::to_array`].
    #[must_use]
    pub const fn from_array([x, y, z, vx, vy, vz]: [f64; 6]) -> Self {
        Self { position: [x, y, z], velocity: [vx, vy, vz] }
    }

    /// Returns this motion relative to `other`.
    #[must_use]
    pub fn relative_to(&self, other: &Self) -> Self {
        let [a, b] = [self, other].map(|motion| motion.to_array());
        Self::from_array(std::array::from_fn(|i| a[i] - b[i]))
    }

    /// Returns the distance between the two positions, m.
    #[must_use]
    pub fn distance(&self, other: &Self) -> f64 {
        let [x, y, z] = self.relative_to(other).position;
        (x * x + y * y + z * z).sqrt()
    }
}

impl Orbit {
    /// Returns the orbit at this altitude in m above the Earth's equator.
    ///
    /// # Errors
    /// [`AltitudeError`] outside [`ALTITUDES`] (also for not-a-number).
    pub fn at_altitude(metres: f64) -> Result<Self, AltitudeError> {
        if !ALTITUDES.contains(&metres) {
            return Err(AltitudeError(metres));
        }
        let radius = EARTH_RADIUS + metres;
        Ok(Self { mean_motion: (EARTH_GM / (radius * radius * radius)).sqrt() })
    }

    /// Returns the angular rate of the reference point, rad/s.
    #[must_use]
    pub const fn mean_motion(&self) -> f64 {
        self.mean_motion
    }

    /// Returns the time of one revolution, s.
    #[must_use]
    pub fn period(&self) -> f64 {
        std::f64::consts::TAU / self.mean_motion
    }

    /// Returns a motion that repeats with every orbit: an ellipse around the reference point, `radial` m high and
    /// twice as long along the track, which crosses the orbit's plane with the amplitude `normal` m; `phase` rad from
    /// its highest point. Its condition is ẏ = −2nx.
    #[must_use]
    pub fn ellipse(&self, radial: f64, normal: f64, phase: f64) -> Motion {
        let n = self.mean_motion;
        let (sin, cos) = phase.sin_cos();
        Motion {
            position: [radial * cos, -2.0 * radial * sin, normal * sin],
            velocity: [-radial * n * sin, -2.0 * radial * n * cos, normal * n * cos],
        }
    }

    /// Returns the time derivative of position and velocity under `thrust` m/s².
    #[must_use]
    pub fn derivative(&self, [x, _, z, vx, vy, vz]: [f64; 6], thrust: [f64; 3]) -> [f64; 6] {
        let n = self.mean_motion;
        let [ux, uy, uz] = thrust;
        [vx, vy, vz, 3.0 * n * n * x + 2.0 * n * vy + ux, -2.0 * n * vx + uy, -n * n * z + uz]
    }

    /// Returns the motion `step` seconds later under a constant `thrust` m/s², integrated by one step of [`rk4`].
    #[must_use]
    pub fn step(&self, motion: Motion, thrust: [f64; 3], step: f64) -> Motion {
        Motion::from_array(rk4(motion.to_array(), step, |x| self.derivative(x, thrust)))
    }

    /// Returns the motion `seconds` later under a constant `thrust` m/s², in closed form.
    #[must_use]
    pub fn after(&self, motion: Motion, thrust: [f64; 3], seconds: f64) -> Motion {
        let n = self.mean_motion;
        let theta = n * seconds;
        let (s, c) = theta.sin_cos();
        // 1 − cos θ without cancellation at small angles.
        let versed = 2.0 * (0.5 * theta).sin().powi(2);
        let [x, y, z] = motion.position;
        let [vx, vy, vz] = motion.velocity;
        let [ux, uy, uz] = thrust.map(|u| u / (n * n));
        Motion {
            position: [
                (1.0 + 3.0 * versed) * x
                    + s / n * vx
                    + 2.0 * versed / n * vy
                    + versed * ux
                    + 2.0 * (theta - s) * uy,
                6.0 * (s - theta) * x + y - 2.0 * versed / n * vx
                    + (4.0 * s - 3.0 * theta) / n * vy
                    - 2.0 * (theta - s) * ux
                    + (4.0 * versed - 1.5 * theta * theta) * uy,
                c * z + s / n * vz + versed * uz,
            ],
            velocity: [
                3.0 * n * s * x + c * vx + 2.0 * s * vy + n * s * ux + 2.0 * n * versed * uy,
                -6.0 * n * versed * x - 2.0 * s * vx + (1.0 - 4.0 * versed) * vy
                    - 2.0 * n * versed * ux
                    + n * (4.0 * s - 3.0 * theta) * uy,
                -n * s * z + c * vz + n * s * uz,
            ],
        }
    }
}

#[cfg(test)]
mod tests;
