//! Simulated plants: an inverted-pendulum test apparatus or a custom linear plant, down to converter codes, and
//! satellites in formation.
//!
//! In reading order:
//!
//! * [`Parameters`] and [`State`]: the nonlinear rod-on-cart dynamics.
//! * [`rk4`]: the fixed-step integrator, and [`Linear`]: the dynamics linearized about upright.
//! * [`Channel`] and [`Wiring`]: metres and radians ↔ volts ↔ 12-bit codes.
//! * [`Noise`] and [`LowPass`]: noise and filtering of a sensor's voltage before conversion.
//! * [`Nominal`]: a plant as its controllers know it, and [`LinearPlant`]: a custom plant.
//! * [`Apparatus`]: all of these together, advanced one integrator step at a time.
//! * [`satellite`]: relative motion about an orbit, its closed form, and the messages of a formation's federates.
//!
//! ```
//! use hemiola_plant::{Apparatus, Settings, Wiring};
//!
//! let wiring = Wiring::default();
//! let mut apparatus = Apparatus::new(&Settings::default()).unwrap();
//! for _ in 0..100 {
//!     apparatus.step(wiring.output.code(4.95)); // 100 steps of 1 ms at almost full voltage
//! }
//! let [position, angle] = apparatus.codes();
//! assert!(wiring.position(position) > 0.03 && wiring.angle(angle) < -0.07);
//! ```
//!
//! The same settings and commands give the same states, bit for bit. Nothing here reads a clock: time is the number
//! of steps taken. There is no controller and no notion of safety in this crate.

#![forbid(unsafe_code)]

mod apparatus;
mod converter;
mod disturbance;
mod integrator;
mod linear;
mod nominal;
mod pendulum;
pub mod satellite;

pub use apparatus::{
    ANGLE_LOST, Apparatus, ApparatusFault, Fall, FaultKind, Model, POSITION_STOP, Settings,
    SettingsError,
};
pub use converter::{Channel, Code, Range, Wiring};
pub use disturbance::{LowPass, Noise};
pub use integrator::rk4;
pub use linear::Linear;
pub use nominal::{FULL_SCALE_VOLTS, LinearPlant, Nominal, PROCESS_NOISE_PERIOD, STATES_MAX};
pub use pendulum::{Parameters, State};
