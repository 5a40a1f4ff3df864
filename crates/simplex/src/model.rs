//! The plant near its operating point as a sampled model, with the gain of its observer.

use hemiola_plant::{Linear, Nominal, PROCESS_NOISE_PERIOD};
use hemiola_units::Span;
use thiserror::Error;

use crate::matrix::{
    IDENTITY, Matrix, Vector, congruence, largest, outer, product, scaled, sum, times, transposed,
};

/// The sampled model: `x' = ad·x + bd·u` over one period with `u` held.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The time from one sample to the next.
    pub period: Span,
    /// The state matrix of one period.
    pub ad: Matrix,
    /// The input column of one period.
    pub bd: Vector,
    /// The observer's steady gain: how much of the difference between both measured and predicted states is added to
    /// each state.
    pub correction: [[f64; 2]; 4],
    /// The covariance of that difference without faults; for the pendulum in m², m·rad and rad².
    pub difference: [[f64; 2]; 2],
    /// The plant.
    pub plant: Nominal,
}

/// Why a model cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Outside 100 µs to 100 ms; no controller here is designed for such a period.
    #[error("the period {0} is not between 100us and 100ms")]
    Period(Span),
    /// The measurements do not determine every state: measure another one.
    #[error(
        "an estimate of its states does not settle: what is measured does not show all of them"
    )]
    Hidden,
}

/// The shortest and longest period.
const PERIODS: [Span; 2] = [Span::from_micros(100), Span::from_millis(100)];
/// The most steps of the iteration to the steady gain; at 100 µs it needs some ten thousand.
const RICCATI_STEPS_MAX: u32 = 200_000;
/// The iteration has settled for good at this relative change,
const RICCATI_SETTLED: f64 = 1e-14;
/// and has failed if after all steps it still changes by this much.
const RICCATI_UNSETTLED: f64 = 1e-7;

impl Model {
    /// Returns the pendulum's model, which every unit and the decision module of a pendulum use.
    ///
    /// # Errors
    /// If the period is out of range.
    pub fn new(period: Span) -> Result<Self, ModelError> {
        Self::of(Nominal::pendulum(), period)
    }

    /// Returns the model of a plant.
    ///
    /// # Errors
    /// If the period is out of range, or the measurements do not determine the state.
    pub fn of(plant: Nominal, period: Span) -> Result<Self, ModelError> {
        if period < PERIODS[0] || period > PERIODS[1] {
            return Err(ModelError::Period(period));
        }
        let (ad, bd) = held(&plant.linear, period.secs_f64());
        let (correction, difference) =
            steady_gain(&plant, &ad, period.secs_f64()).ok_or(ModelError::Hidden)?;
        Ok(Self { period, ad, bd, correction, difference, plant })
    }

    /// Splits [`Model::bd`] for a voltage that is written `latency` after the sample, at most a period: the parts of
    /// the voltage before, and of the new one.
    #[must_use]
    pub fn split(&self, latency: Span) -> [Vector; 2] {
        let rest = (self.period - latency).max(Span::ZERO);
        let (_, new) = held(&self.plant.linear, rest.secs_f64());
        [std::array::from_fn(|i| self.bd[i] - new[i]), new]
    }

    /// Returns the state one period later with `volts` held.
    #[must_use]
    pub fn predict(&self, x: &Vector, volts: f64) -> Vector {
        let free = times(&self.ad, x);
        std::array::from_fn(|i| free[i] + self.bd[i] * volts)
    }
}

/// Zero-order hold: computes `ad = exp(A·T)` and `bd = ∫exp(A·t)dt·B` by a Taylor series over a short time and
/// doubling up to `T`. With `‖A‖` times the short time at most ½, the terms left out are below 10⁻¹³ of the sum.
fn held(linear: &Linear, period: f64) -> (Matrix, Vector) {
    const DOUBLINGS_MIN: f64 = 6.0;
    const TERMS: i32 = 12;
    let row_sum = |row: &Vector| row.iter().map(|a| a.abs()).sum::<f64>();
    let norm = linear.a.iter().map(row_sum).fold(0.0, f64::max);
    // Any rate that is not a number, or infinite, gives a model that no check accepts.
    let doublings = ((norm * period).log2().ceil() + 1.0).clamp(DOUBLINGS_MIN, 1000.0) as i32;
    let short = period / 2f64.powi(doublings);
    let mut integral = scaled(&IDENTITY, short);
    let mut term = integral;
    for k in 2..=TERMS {
        term = scaled(&product(&linear.a, &term), short / f64::from(k));
        integral = sum(&integral, &term, 1.0);
    }
    let mut ad = sum(&IDENTITY, &product(&linear.a, &integral), 1.0);
    for _ in 0..doublings {
        integral = product(&sum(&IDENTITY, &ad, 1.0), &integral);
        ad = product(&ad, &ad);
    }
    (ad, times(&integral, &linear.b))
}

/// The observer's gain, and the covariance of its differences.
type Steady = ([[f64; 2]; 4], [[f64; 2]; 2]);

/// Returns the Kalman filter's gain in the steady state of the Riccati equation (Kalman 1960); `None` if there is none.
fn steady_gain(plant: &Nominal, ad: &Matrix, period: f64) -> Option<Steady> {
    let noise: Matrix = std::array::from_fn(|i| {
        IDENTITY[i].map(|one| one * plant.process_noise[i] * period / PROCESS_NOISE_PERIOD)
    });
    let ([first, second], [r0, r1]) = (plant.measured, plant.measurement_noise);
    let across = transposed(ad);
    let mut covariance = noise;
    let (mut gain, mut difference) = ([[0.0; 2]; 4], [[0.0; 2]; 2]);
    let mut change = f64::INFINITY;
    for _ in 0..RICCATI_STEPS_MAX {
        let p = sum(&congruence(&across, &covariance), &noise, 1.0);
        let (s00, s01, s11) =
            (p[first][first] + r0.powi(2), p[first][second], p[second][second] + r1.powi(2));
        let determinant = s00 * s11 - s01 * s01;
        gain = p.map(|row| {
            [
                (row[first] * s11 - row[second] * s01) / determinant,
                (row[second] * s00 - row[first] * s01) / determinant,
            ]
        });
        difference = [[s00, s01], [s01, s11]];
        let of_first = outer(&gain.map(|g| g[0]), &p[first]);
        let of_second = outer(&gain.map(|g| g[1]), &p[second]);
        let next = sum(&p, &sum(&of_first, &of_second, 1.0), -1.0);
        change = largest(&sum(&next, &covariance, -1.0)) / largest(&next);
        covariance = next;
        if change <= RICCATI_SETTLED || change.is_nan() {
            break;
        }
    }
    (change < RICCATI_UNSETTLED).then_some((gain, difference))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables computed independently for 20 ms.
    const AD: Matrix = [
        [1.0, 0.0179612, -0.0005123, -0.00000267],
        [0.0, 0.80325825, -0.04946973, -0.00043495],
        [0.0, 0.00464238, 1.00563313, 0.02002901],
        [0.0, 0.44828889, 0.55966261, 1.00477181],
    ];
    const BD: Vector = [0.00036121, 0.0348566, -0.00082748, -0.07992259];
    const L: [[f64; 2]; 4] =
        [[0.63815, 0.01027], [14.1254, 0.25596], [0.04106, 0.79146], [7.51415, 26.06771]];

    #[test]
    fn model_at_20_ms_matches_the_tables() {
        let model = Model::new(Span::from_millis(20)).unwrap();
        let near = |found: &[f64], wanted: &[f64], tolerance: f64| {
            for (found, wanted) in found.iter().zip(wanted) {
                let allowed = tolerance * wanted.abs().max(1.0);
                assert!((found - wanted).abs() < allowed, "{found} {wanted}");
            }
        };
        near(&model.bd, &BD, 1e-7);
        near(model.ad.as_flattened(), AD.as_flattened(), 1e-7);
        near(model.correction.as_flattened(), L.as_flattened(), 2e-5);
    }

    #[test]
    fn twenty_short_periods_make_a_long_one() {
        let (one, twenty) =
            (Model::new(Span::from_millis(1)).unwrap(), Model::new(Span::from_millis(20)).unwrap());
        let start = [0.1, -0.2, 0.05, 0.3];
        let end = (0..20).fold(start, |x, _| one.predict(&x, 1.5));
        let wanted = twenty.predict(&start, 1.5);
        assert!(end.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    /// A fast oscillation that grows, and a fast decay. Both have closed forms; too few doublings turn the first into a
    /// decay.
    #[test]
    fn a_stiff_plant_is_sampled_as_it_is() {
        let mut linear = Linear { a: [[0.0; 4]; 4], b: [0.0; 4] };
        (linear.a[0][..2]).copy_from_slice(&[0.05, 2000.0]);
        (linear.a[1][..2]).copy_from_slice(&[-2000.0, 0.05]);
        (linear.a[2][2], linear.b[2]) = (-4000.0, 3.0);
        let (ad, bd) = held(&linear, 0.1);
        let (growth, angle) = (0.005f64.exp(), 200.0f64);
        let wanted = [
            (ad[0][0], growth * angle.cos()),
            (ad[0][1], growth * angle.sin()),
            (ad[1][0], -growth * angle.sin()),
            (ad[2][2], 0.0),
            (ad[3][3], 1.0),
            (bd[2], 3.0 / 4000.0),
        ];
        for (found, wanted) in wanted {
            assert!((found - wanted).abs() < 1e-10, "{found} {wanted}");
        }
    }

    #[test]
    fn a_period_out_of_range_is_refused() {
        for period in [Span::ZERO, Span::from_millis(-20), Span::from_millis(101)] {
            assert_eq!(Model::new(period), Err(ModelError::Period(period)));
        }
        assert!(Model::new(Span::from_micros(100)).is_ok());
    }
}
