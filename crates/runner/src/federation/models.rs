//! The models of federates: the dynamics of a satellite, its board computer, and a payload that only computes.
//!
//! A message is a number and the model's output, then zeros up to the size the scenario gives it:
//!
//! ```text
//! 0 u64 number of the sender's cycle, big-endian    8 Report, Command or nothing    … zeros
//! ```

use hemiola_plant::satellite::{Command, Guidance, Motion, Orbit, Report};
use hemiola_scenario::{Model as Settings, OrbitSettings};
use hemiola_trace::result::Trajectory;

/// Bytes of the number.
pub(super) const NUMBER: usize = 8;

/// A message's number; `None` for a message that is too short.
pub(super) fn number(message: &[u8]) -> Option<u64> {
    message.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

fn body<const N: usize>(message: &[u8]) -> Option<&[u8]> {
    message.get(NUMBER..NUMBER + N)
}

/// A model, between its inputs and its outputs.
pub(super) enum Model {
    Board { guidance: Guidance, command: Command },
    Dynamics(Box<Dynamics>),
    Payload,
}

/// A satellite under its thrusters, and the trajectory of the other as received.
pub(super) struct Dynamics {
    orbit: Orbit,
    /// Where each satellite should be.
    places: [Guidance; 2],
    satellite: usize,
    /// Length of a cycle, s.
    step: f64,
    thrust: [f64; 3],
    report: Report,
    trajectory: Option<Trajectory>,
}

impl Model {
    /// The model of a federate whose cycle lasts `step` seconds.
    pub(super) fn new(
        settings: Settings,
        orbit: &OrbitSettings,
        step: f64,
    ) -> Result<Self, String> {
        let around = Orbit::at_altitude(orbit.altitude_m).map_err(|error| error.to_string())?;
        let start = |satellite: usize| {
            let ellipse = orbit.satellites[satellite];
            around.ellipse(ellipse.radial_m, ellipse.normal_m, ellipse.phase_deg.to_radians())
        };
        let place = |satellite| Guidance::new(around, start(satellite));
        Ok(match settings {
            Settings::Board { satellite } => {
                Self::Board { guidance: place(satellite), command: Command::default() }
            }
            Settings::Dynamics { satellite } => Self::Dynamics(Box::new(Dynamics {
                orbit: around,
                places: [place(0), place(1)],
                satellite,
                step,
                thrust: [0.0; 3],
                report: Report { time: 0.0, motion: start(satellite) },
                trajectory: None,
            })),
            Settings::Payload => Self::Payload,
        })
    }

    /// Handles a message of a federate with this model. An invalid message changes nothing.
    pub(super) fn take(&mut self, from: Settings, message: &[u8]) {
        match (self, from) {
            (Self::Board { guidance, command }, Settings::Dynamics { .. }) => {
                let report = body::<{ Report::SIZE }>(message).map(Report::from_bytes);
                if let Some(Ok(Report { time, motion })) = report {
                    *command = Command { time, thrust: guidance.thrust(&motion, time) };
                }
            }
            (Self::Dynamics(dynamics), Settings::Board { .. }) => {
                let command = body::<{ Command::SIZE }>(message).map(Command::from_bytes);
                if let Some(Ok(Command { thrust, .. })) = command {
                    dynamics.thrust = thrust;
                }
            }
            _ => {}
        }
    }

    /// Advances the model from the beginning of cycle `number` to its end.
    pub(super) fn step(&mut self, number: u64) {
        if let Self::Dynamics(dynamics) = self {
            let motion =
                dynamics.orbit.step(dynamics.report.motion, dynamics.thrust, dynamics.step);
            let time = (number + 1) as f64 * dynamics.step;
            dynamics.report = Report { time, motion };
        }
    }

    /// Compares the received state of the other satellite, relative to its own, with the closed form of both. Returns
    /// the deviation, m; `None` for other models and for an invalid message.
    pub(super) fn compare(&mut self, from: Settings, message: &[u8]) -> Option<f64> {
        let (Self::Dynamics(own), Settings::Dynamics { satellite }) = (self, from) else {
            return None;
        };
        let other = Report::from_bytes(body::<{ Report::SIZE }>(message)?).ok()?;
        let expected = own.places[satellite]
            .place(other.time)
            .relative_to(&own.places[own.satellite].place(own.report.time));
        let relative = other.motion.relative_to(&own.report.motion);
        let deviation = relative.distance(&expected);
        let distance = relative.distance(&Motion::default());
        let seen = own.trajectory.get_or_insert(Trajectory {
            states: 0,
            deviation_m_max: 0.0,
            distance_m: [distance; 2],
        });
        seen.states += 1;
        seen.deviation_m_max = seen.deviation_m_max.max(deviation);
        seen.distance_m = [seen.distance_m[0].min(distance), seen.distance_m[1].max(distance)];
        Some(deviation)
    }

    /// Writes the model's output behind the number of a message.
    pub(super) fn write(&self, message: &mut [u8]) {
        match self {
            Self::Board { command, .. } => fill(message, &command.to_bytes()),
            Self::Dynamics(dynamics) => fill(message, &dynamics.report.to_bytes()),
            Self::Payload => {}
        }
    }

    /// The trajectory as this federate received it.
    pub(super) fn trajectory(&self) -> Option<Trajectory> {
        match self {
            Self::Dynamics(dynamics) => dynamics.trajectory,
            Self::Board { .. } | Self::Payload => None,
        }
    }
}

fn fill(message: &mut [u8], body: &[u8]) {
    message[NUMBER..NUMBER + body.len()].copy_from_slice(body);
}

#[cfg(test)]
mod tests {
    use hemiola_scenario::Ellipse;

    use super::*;

    const STEP: f64 = 0.01;

    fn orbit(radial_m: f64) -> OrbitSettings {
        let ellipse = |phase_deg| Ellipse { radial_m, normal_m: 50.0, phase_deg };
        OrbitSettings { altitude_m: 700e3, satellites: [ellipse(0.0), ellipse(180.0)] }
    }

    /// Flies two satellites for so many cycles; the message of satellite 2 goes through `spoil`.
    fn fly(cycles: u64, spoil: impl Fn(&mut [u8])) -> Trajectory {
        let dynamics = [0, 1].map(|satellite| Settings::Dynamics { satellite });
        let mut flown = dynamics.map(|settings| Model::new(settings, &orbit(100.0), STEP).unwrap());
        for number in 0..cycles {
            flown.iter_mut().for_each(|model| model.step(number));
            let mut message = [0; 64];
            flown[1].write(&mut message);
            spoil(&mut message);
            flown[0].compare(dynamics[1], &message).expect("a valid state");
        }
        flown[0].trajectory().unwrap()
    }

    #[test]
    fn a_trajectory_that_arrives_unchanged_matches_the_closed_form() {
        let seen = fly(1_000, |_| {});
        assert_eq!(seen.states, 1_000);
        assert!(seen.deviation_m_max < 1e-6, "{seen:?}");
        // Opposite to each other on ellipses 200 m high and 400 m long.
        assert!(seen.distance_m[0] > 190.0 && seen.distance_m[1] < 410.0, "{seen:?}");
    }

    #[test]
    fn a_changed_state_shows_as_a_deviation() {
        let moved = |message: &mut [u8]| {
            let body = &mut message[NUMBER..NUMBER + Report::SIZE];
            let mut report = Report::from_bytes(body).unwrap();
            report.motion.position[1] += 1.0;
            body.copy_from_slice(&report.to_bytes());
        };
        assert!((fly(10, moved).deviation_m_max - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_satellite_follows_the_commands_of_its_board_computer() {
        let (board, dynamics) =
            (Settings::Board { satellite: 0 }, Settings::Dynamics { satellite: 0 });
        let mut computer = Model::new(board, &orbit(100.0), STEP).unwrap();
        // A satellite that flies 10 m higher than its board computer assumes.
        let mut satellite = Model::new(dynamics, &orbit(110.0), STEP).unwrap();
        let mut message = [0; 64];
        satellite.write(&mut message);
        computer.take(dynamics, &message);
        computer.write(&mut message);
        satellite.take(board, &message);
        let Model::Dynamics(satellite) = satellite else { unreachable!() };
        assert!(satellite.thrust[0] < 0.0, "it is pulled back: {:?}", satellite.thrust);
        // An invalid message changes nothing.
        let mut other = Model::Dynamics(satellite);
        other.take(board, &message[..20]);
        other.take(Settings::Payload, &message);
        let Model::Dynamics(satellite) = other else { unreachable!() };
        assert!(satellite.thrust[0] < 0.0);
    }
}
