//! The observer: estimates speeds from positions, and rejects implausible measurements.

use hemiola_units::Span;

use crate::matrix::Vector;
use crate::{Model, Sensors};

/// The most consecutive samples that are rejected. With one more, a unit believes the measurement again, and the
/// decision module enters the fail-safe.
pub(crate) const DISBELIEVED_MAX: u32 = 3;
/// Missed cycles are bridged by prediction, up to this many,
const GAP_MAX: u64 = 25;
/// and for this long at most; after more, the observer restarts. The voltage of a gap is known only as the mean of its
/// last period: over 400 ms, a prediction with that is so wrong that good measurements would be disbelieved.
const GAP_LENGTH_MAX: Span = Span::from_millis(100);

/// A steady-state Kalman observer of the plant.
#[derive(Clone, Debug)]
pub struct Observer {
    model: Model,
    state: Option<Vector>,
    assumed: Option<Vector>,
    sequence: u64,
    disbelieved: u32,
}

impl Observer {
    /// Creates an observer without samples.
    #[must_use]
    pub const fn new(model: Model) -> Self {
        Self { model, state: None, assumed: None, sequence: 0, disbelieved: 0 }
    }

    /// Sets the state at the first sample; without it, speeds start at zero.
    pub const fn assume(&mut self, state: Vector) {
        self.assumed = Some(state);
    }

    /// Predicts with the applied voltage, then corrects with the measurement; returns the new estimate.
    ///
    /// At the first sample, speeds are taken as zero. Missed cycles are bridged by prediction. A measurement that is
    /// not finite or too far from its prediction only counts as disbelieved; after three in a row, the next finite
    /// one restarts the observer.
    pub fn update(&mut self, sensors: &Sensors) -> Vector {
        let finite = sensors.position.is_finite() && sensors.angle.is_finite();
        let [first, second] = self.model.plant.measured;
        let mut measured = [0.0; 4];
        (measured[first], measured[second]) = (sensors.position, sensors.angle);
        let gap = sensors.sequence.wrapping_sub(self.sequence);
        let Some(previous) = self.state.filter(|_| self.bridges(gap)) else {
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
        let position = sensors.position - predicted[first];
        let angle = sensors.angle - predicted[second];
        let [position_max, angle_max] = self.model.plant.jump;
        let believed = finite && position.abs() <= position_max && angle.abs() <= angle_max;
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

    fn bridges(&self, gap: u64) -> bool {
        gap <= GAP_MAX && self.model.period * gap as i64 <= GAP_LENGTH_MAX
    }

    fn restart(&mut self, sequence: u64, measured: Vector) -> Vector {
        self.sequence = sequence;
        self.disbelieved = 0;
        self.state = Some(measured);
        measured
    }

    /// Returns the newest estimate, if there was a sample.
    #[must_use]
    pub const fn state(&self) -> Option<Vector> {
        self.state
    }

    /// Returns how many consecutive samples were disbelieved.
    #[must_use]
    pub const fn disbelieved(&self) -> u32 {
        self.disbelieved
    }

    /// Returns its model.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.model
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observer() -> Observer {
        Observer::new(Model::new(Span::from_millis(20)).unwrap())
    }

    fn sample(sequence: u64, x: &Vector, applied: f64) -> Sensors {
        Sensors { sequence, position: x[0], angle: x[2], applied, ..Sensors::default() }
    }

    #[test]
    fn the_estimate_converges_even_across_a_gap() {
        let mut observer = observer();
        let model = observer.model().clone();
        let mut x = [0.05, 0.2, 0.03, -0.3];
        for k in 0..40 {
            // Cycles 20 to 22 are never seen.
            if !(20..23).contains(&k) {
                observer.update(&sample(k, &x, 0.7));
            }
            x = model.predict(&x, 0.7);
            // A falling rod leaves the range in which the model is valid, but the test only compares with the model.
        }
        let next = observer.model().predict(&observer.state().unwrap(), 0.7);
        assert!(next.iter().zip(x).all(|(a, b)| (a - b).abs() < 1e-3 * b.abs()), "{next:?} {x:?}");
    }

    #[test]
    fn one_spike_is_rejected_and_a_lasting_jump_is_believed() {
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
