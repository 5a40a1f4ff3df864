//! The observer: speeds from positions, and which measurements to believe.

use crate::matrix::Vector;
use crate::{Model, Sensors};

/// A measurement this far in m from the prediction is not believed: half the cart's greatest speed
/// in the recoverable region explains 20 mm in 20 ms.
const POSITION_DIFFERENCE_MAX: f64 = 0.05;
/// The same for the angle in rad: 2 rad/s explain 40 mrad in 20 ms.
const ANGLE_DIFFERENCE_MAX: f64 = 0.12;
/// So many samples in a row may be disbelieved; one more is believed again by a unit and makes the
/// decision module fail safe.
pub(crate) const DISBELIEVED_MAX: u32 = 3;
/// Missed cycles are bridged by prediction up to this many; after more the observer starts anew.
const GAP_MAX: u64 = 25;

/// A steady-state Kalman observer of the pendulum.
#[derive(Clone, Debug)]
pub struct Observer {
    model: Model,
    state: Option<Vector>,
    assumed: Option<Vector>,
    sequence: u64,
    disbelieved: u32,
}

impl Observer {
    /// An observer that has seen nothing yet.
    #[must_use]
    pub const fn new(model: Model) -> Self {
        Self { model, state: None, assumed: None, sequence: 0, disbelieved: 0 }
    }

    /// Takes this as the state at the first sample, where otherwise speeds are taken as zero.
    pub const fn assume(&mut self, state: Vector) {
        self.assumed = Some(state);
    }

    /// Predicts with the voltage that was applied, then corrects with what was measured; gives the
    /// new estimate.
    ///
    /// The first sample is taken with speeds zero. Missed cycles are predicted through. A measurement
    /// that is not finite or too far from its prediction only counts as disbelieved; beyond
    /// three in a row a finite one starts the observer anew.
    pub fn update(&mut self, sensors: &Sensors) -> Vector {
        let finite = sensors.position.is_finite() && sensors.angle.is_finite();
        let measured = [sensors.position, 0.0, sensors.angle, 0.0];
        let gap = sensors.sequence.wrapping_sub(self.sequence);
        let Some(previous) = self.state.filter(|_| gap <= GAP_MAX) else {
            if !finite {
                self.disbelieved = self.disbelieved.saturating_add(1);
                return self.state.unwrap_or_default();
            }
            let start = self.assumed.take().unwrap_or(measured);
            return self.restart(sensors.sequence, start);
        };
        if gap == 0 {
            return previous;
        }
        self.sequence = sensors.sequence;
        let applied = if sensors.applied.is_finite() { sensors.applied } else { 0.0 };
        let predicted = (0..gap).fold(previous, |x, _| self.model.predict(&x, applied));
        let position = sensors.position - predicted[0];
        let angle = sensors.angle - predicted[2];
        let believed = finite
            && position.abs() <= POSITION_DIFFERENCE_MAX
            && angle.abs() <= ANGLE_DIFFERENCE_MAX;
        if believed {
            self.disbelieved = 0;
            let l = &self.model.correction;
            let corrected =
                std::array::from_fn(|i| predicted[i] + l[i][0] * position + l[i][1] * angle);
            self.state = Some(corrected);
            return corrected;
        }
        self.disbelieved = self.disbelieved.saturating_add(1);
        if finite && self.disbelieved > DISBELIEVED_MAX {
            let disbelieved = self.disbelieved;
            let state = self.restart(sensors.sequence, measured);
            self.disbelieved = disbelieved;
            return state;
        }
        self.state = Some(predicted);
        predicted
    }

    fn restart(&mut self, sequence: u64, measured: Vector) -> Vector {
        self.sequence = sequence;
        self.disbelieved = 0;
        self.state = Some(measured);
        measured
    }

    /// The newest estimate, if any sample was seen.
    #[must_use]
    pub const fn state(&self) -> Option<Vector> {
        self.state
    }

    /// How many samples in a row were not believed.
    #[must_use]
    pub const fn disbelieved(&self) -> u32 {
        self.disbelieved
    }

    /// The model it predicts with.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.model
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_units::Span;

    fn observer() -> Observer {
        Observer::new(Model::new(Span::from_millis(20)).unwrap())
    }

    fn sample(sequence: u64, x: &Vector, applied: f64) -> Sensors {
        Sensors { sequence, position: x[0], angle: x[2], applied, ..Sensors::default() }
    }

    #[test]
    fn estimate_converges_on_the_true_state_also_across_a_gap() {
        let mut observer = observer();
        let model = observer.model().clone();
        let mut x = [0.05, 0.2, 0.03, -0.3];
        for k in 0..40 {
            // Cycles 20 to 22 are never seen.
            if !(20..23).contains(&k) {
                observer.update(&sample(k, &x, 0.7));
            }
            x = model.predict(&x, 0.7);
            // A falling rod leaves the range in which the model holds; the model itself does not care.
        }
        let next = observer.model().predict(&observer.state().unwrap(), 0.7);
        assert!(next.iter().zip(x).all(|(a, b)| (a - b).abs() < 1e-3 * b.abs()), "{next:?} {x:?}");
    }

    #[test]
    fn one_spike_is_not_believed_and_a_lasting_jump_is() {
        let mut observer = observer();
        for k in 0..5 {
            observer.update(&sample(k, &[0.0; 4], 0.0));
        }
        let spike = [0.0, 0.0, 0.4, 0.0];
        assert_eq!(observer.update(&sample(5, &spike, 0.0)), [0.0; 4]);
        assert_eq!(observer.disbelieved(), 1);
        observer.update(&sample(6, &[0.0; 4], 0.0));
        assert_eq!(observer.disbelieved(), 0);
        for k in 7..7 + u64::from(DISBELIEVED_MAX) {
            assert_eq!(observer.update(&sample(k, &spike, 0.0)), [0.0; 4]);
        }
        assert_eq!(observer.update(&sample(10, &spike, 0.0)), spike);
        assert_eq!(observer.disbelieved(), DISBELIEVED_MAX + 1);
    }

    #[test]
    fn not_a_number_never_enters_the_estimate() {
        let mut observer = observer();
        for k in 0..20 {
            let x = observer.update(&sample(k, &[f64::NAN; 4], f64::INFINITY));
            assert!(x.iter().all(|x| x.is_finite()));
        }
    }
}
