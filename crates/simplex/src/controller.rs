//! Controllers, which answer sensors with a voltage: the named gains, and state feedback with its observer.

use std::borrow::Cow;

use hemiola_plant::STATES_MAX;
use serde::{Deserialize, Serialize};

use crate::matrix::dot;
use crate::{Model, Observer, Sensors};

/// The largest usable command in V, just inside the output's ±5 V.
pub const CLIP_VOLTS: f64 = 4.95;

/// A controller that answers sensors with a motor voltage.
pub trait Controller {
    /// Returns the command in V for this sample. The caller checks it.
    fn step(&mut self, sensors: &Sensors) -> f64;
}

/// Volts per unit of each state, for the pendulum per m, m/s, rad and rad/s: `u = k·x`. Serialized as its
/// name in [`GAINS`] if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Gain(pub [f64; 4]);

/// A gain in a file: a name or four numbers.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Name(Cow<'static, str>),
    Numbers([f64; 4]),
}

impl TryFrom<Written> for Gain {
    type Error = String;
    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Name(name) => {
                Self::named(&name).ok_or_else(|| format!("no gain is called \"{name}\""))
            }
            Written::Numbers(numbers) => Ok(Self(numbers)),
        }
    }
}

impl From<Gain> for Written {
    fn from(gain: Gain) -> Self {
        match GAINS.iter().find(|(_, known)| *known == gain) {
            Some((name, _)) => Self::Name(Cow::Borrowed(name)),
            None => Self::Numbers(gain.0),
        }
    }
}

/// The named gains. The `real-system` gains were published for another plant; with this one, `real-system-baseline`
/// and `real-system-experimental` do not balance: plausible but wrong.
pub const GAINS: &[(&str, Gain)] = &[
    ("safety", Gain([3.9763, 10.3728, 25.7617, 5.3688])),
    ("lqr", Gain([5.0335, 14.1606, 45.4646, 9.0095])),
    ("published-safety", Gain([7.6, 13.54, 42.85, 8.25])),
    ("baseline", Gain([3.16, 19.85, 69.92, 14.38])),
    ("experimental", Gain([10.0, 27.72, 103.36, 23.04])),
    ("lmi", Gain([0.4072, 7.2373, 18.6269, 3.6725])),
    ("real-system-safety", Gain([6.0, 20.0, 60.0, 16.0])),
    ("real-system-baseline", Gain([8.0, 32.0, 120.0, 12.0])),
    ("real-system-experimental", Gain([10.0, 36.0, 140.0, 14.0])),
];

impl Gain {
    /// Returns the gain of this name in [`GAINS`].
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        GAINS.iter().find(|(known, _)| *known == name).map(|(_, gain)| *gain)
    }

    /// Reads a gain as a user writes it: a number for each state, separated by commas, or for the pendulum a name.
    /// `states` is the number of states of another plant.
    ///
    /// # Errors
    /// If there is no such gain for the plant, as a sentence.
    pub fn written(text: &str, states: Option<usize>) -> Result<Self, String> {
        let mut gain = Self([0.0; STATES_MAX]);
        let count = states.unwrap_or(STATES_MAX);
        let numbers: Result<Vec<f64>, _> =
            text.split(',').map(|part| part.trim().parse()).collect();
        match numbers {
            Ok(numbers)
                if numbers.len() == count && numbers.iter().all(|k: &f64| k.is_finite()) =>
            {
                gain.0[..count].copy_from_slice(&numbers);
                Ok(gain)
            }
            Err(_) if states.is_none() => {
                Self::named(text).ok_or_else(|| format!("no gain is called \"{text}\""))
            }
            _ => Err(format!(
                "a gain for this plant has {count} finite numbers, separated by commas"
            )),
        }
    }

    /// Returns the command in V in this state, clipped to ±[`CLIP_VOLTS`]; not-a-number becomes 0 V.
    #[must_use]
    pub fn command(&self, x: &[f64; 4]) -> f64 {
        clipped(dot(&self.0, x))
    }
}

/// Clips the voltage to ±[`CLIP_VOLTS`]; not-a-number becomes 0 V.
#[must_use]
pub fn clipped(volts: f64) -> f64 {
    if volts.is_nan() { 0.0 } else { volts.clamp(-CLIP_VOLTS, CLIP_VOLTS) }
}

/// A linear controller with its own observer, which every named unit runs.
#[derive(Clone, Debug)]
pub struct StateFeedback {
    observer: Observer,
    gain: Gain,
}

impl StateFeedback {
    /// Applies this gain to the estimate of this model.
    #[must_use]
    pub const fn new(model: Model, gain: Gain) -> Self {
        Self { observer: Observer::new(model), gain }
    }
}

impl Controller for StateFeedback {
    fn step(&mut self, sensors: &Sensors) -> f64 {
        let x = self.observer.update(sensors);
        self.gain.command(&x)
    }
}

impl<C: Controller + ?Sized> Controller for Box<C> {
    fn step(&mut self, sensors: &Sensors) -> f64 {
        (**self).step(sensors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_gain_fits_the_plant_or_is_refused() {
        assert_eq!(Gain::written("lqr", None), Ok(Gain::named("lqr").unwrap()));
        assert_eq!(Gain::written("1, -2,3,4e0", None), Ok(Gain([1.0, -2.0, 3.0, 4.0])));
        assert_eq!(Gain::written("-0.5,2", Some(2)), Ok(Gain([-0.5, 2.0, 0.0, 0.0])));
        let wrong =
            [("lqi", None), ("1,2", None), ("lqr", Some(2)), ("1", Some(2)), ("1,NaN", Some(2))];
        for (text, states) in wrong {
            let refused = Gain::written(text, states).unwrap_err();
            assert!(refused.contains("gain"), "{text}: {refused}");
        }
    }
}
