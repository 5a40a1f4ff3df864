//! The recoverable region: states from which the safety controller provably saves the plant.

use hemiola_units::Span;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::latency;
use crate::matrix::{
    Matrix, Vector, backward, cholesky, congruence, dot, lyapunov, outer, quadratic, scaled, solve,
    sum,
};
use crate::{CLIP_VOLTS, Gain, Model};

/// An ellipsoid `{ x : xᵀ·P·x ≤ 1 }` about the operating point, for the pendulum upright at mid-track.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Region {
    p: Matrix,
}

/// Why a region does not fit a controller.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RegionError {
    /// The matrix is not symmetric, positive definite and finite.
    #[error("the matrix of the region is not symmetric and positive definite")]
    NotAnEllipsoid,
    /// The sampled loop may leave the region.
    #[error("the region is not invariant under the controller: some state in it leads further out")]
    NotInvariant,
    /// The controller would request more than the output can give.
    #[error("in the region the controller requests up to {volts:.3} V, beyond {limit} V")]
    Saturates {
        /// The largest command in the region, V.
        volts: f64,
        /// The usable command, V.
        limit: f64,
    },
    /// It extends beyond what the apparatus allows.
    #[error("the region reaches {reach:.4} in {name}, beyond {limit}")]
    TooLarge {
        /// The name of the state.
        name: String,
        /// How far it extends, in the unit of the state.
        reach: f64,
        /// The limit.
        limit: f64,
    },
    /// Commands that are accepted and written late may lead out of it before the controller turns the plant back.
    #[error(
        "a command that is accepted at V = {accept_below} and written {latency} after its sample may lead out of the region"
    )]
    Late {
        /// The highest predicted V of an accepted command.
        accept_below: f64,
        /// Time from the sample to the voltage.
        latency: Span,
        /// The highest V that is sound with this latency; 0 if none is.
        most: f64,
    },
}

/// Published matrices are rounded to four places, so limits hold to about this fraction.
const ROUNDING: f64 = 1e-3;

impl Region {
    /// The region of the gain `safety`: the largest in which V decreases by 0.985² every 20 ms.
    pub const SAFETY: Self = Self {
        p: [
            [12.7506, 6.1930, 17.6181, 3.3656],
            [6.1930, 6.1006, 15.1708, 3.1613],
            [17.6181, 15.1708, 60.7582, 9.5799],
            [3.3656, 3.1613, 9.5799, 2.0028],
        ],
    };
    /// The region of the gain `lqr`.
    pub const LQR: Self = Self {
        p: [
            [8.2735, 4.3574, 13.1657, 2.5317],
            [4.3574, 9.5430, 26.8877, 5.3669],
            [13.1657, 26.8877, 99.6010, 16.9439],
            [2.5317, 5.3669, 16.9439, 3.3787],
        ],
    };

    /// Creates the ellipsoid of this matrix, by rows, in the order of the plant's states.
    ///
    /// # Errors
    /// If the matrix is not symmetric and positive definite.
    pub fn new(p: Matrix) -> Result<Self, RegionError> {
        let symmetric = (0..4).all(|i| (0..i).all(|j| p[i][j] == p[j][i]));
        if symmetric && cholesky(&p).is_some() {
            Ok(Self { p })
        } else {
            Err(RegionError::NotAnEllipsoid)
        }
    }

    /// Returns the region for this gain: for the pendulum its own if one is known, otherwise that of `safety`, which
    /// must then pass [`Region::check`]; for another plant [`Region::computed`].
    ///
    /// # Errors
    /// If there is no such region.
    pub fn of(model: &Model, gain: &Gain) -> Result<Self, RegionError> {
        if !model.plant.is_pendulum() {
            return Self::computed(model, gain);
        }
        Ok(if Some(*gain) == Gain::named("lqr") { Self::LQR } else { Self::SAFETY })
    }

    /// Computes a region for this gain: a level set of a solution of the Lyapunov equation of the sampled loop, as
    /// large as the usable command and the limits of the states allow. It weighs each state by its limit and the
    /// command by the usable one; a larger region may exist.
    ///
    /// # Errors
    /// If the loop with this gain is not stable.
    pub fn computed(model: &Model, gain: &Gain) -> Result<Self, RegionError> {
        let mut weight = scaled(&outer(&gain.0, &gain.0), CLIP_VOLTS.powi(-2));
        for (i, limit) in model.plant.limits.iter().enumerate() {
            weight[i][i] += limit.powi(-2);
        }
        let unscaled = lyapunov(&closed(model, gain), &weight);
        let triangle = cholesky(&unscaled).ok_or(RegionError::NotInvariant)?;
        let count = model.plant.names.len();
        let bounds = bounds(&triangle, model, gain);
        let of_plant = bounds[..=count].iter();
        let shrink = of_plant.fold(0.0, |most: f64, (reach, limit)| most.max(reach / limit));
        let mut p = scaled(&unscaled, shrink.powi(2));
        // States that the plant does not have depend on nothing. They must not make the region smaller.
        for (i, limit) in model.plant.limits.iter().enumerate().skip(count) {
            p[i][i] = limit.powi(-2);
        }
        Self::new(p).map_err(|_| RegionError::NotInvariant)
    }

    /// Returns the measure of V for a plant without a safety controller: the region of the gain `safety` for the
    /// pendulum, and for another plant the ellipsoid whose half axes are the limits of its states.
    #[must_use]
    pub fn without_law(model: &Model) -> Self {
        if model.plant.is_pendulum() {
            return Self::SAFETY;
        }
        let mut p = [[0.0; 4]; 4];
        for (i, limit) in model.plant.limits.iter().enumerate() {
            p[i][i] = limit.powi(-2);
        }
        Self { p }
    }

    /// Returns its matrix.
    #[must_use]
    pub const fn matrix(&self) -> &Matrix {
        &self.p
    }

    /// Returns the Lyapunov value V: 0 upright at rest, 1 on the boundary.
    #[must_use]
    pub fn value(&self, x: &Vector) -> f64 {
        quadratic(&self.p, x)
    }

    /// Checks that `gain` recovers from every state in the ellipsoid: it is invariant in the sampled loop, needs no
    /// more than `limit_volts`, and is within the limits of track, speed and angle. The comparison with limits allows
    /// for a matrix rounded to four places; that of invariance does not.
    ///
    /// # Errors
    /// The first property that fails.
    pub fn check(&self, model: &Model, gain: &Gain, limit_volts: f64) -> Result<(), RegionError> {
        let triangle = cholesky(&self.p).ok_or(RegionError::NotAnEllipsoid)?;
        let closed = closed(model, gain);
        if cholesky(&sum(&self.p, &congruence(&closed, &self.p), -1.0)).is_none() {
            return Err(RegionError::NotInvariant);
        }
        let [volts, states @ ..] = bounds(&triangle, model, gain);
        if volts.0 > limit_volts * (1.0 + ROUNDING) {
            return Err(RegionError::Saturates { volts: volts.0, limit: limit_volts });
        }
        for ((reach, limit), name) in states.into_iter().zip(&model.plant.names) {
            if reach > limit * (1.0 + ROUNDING) {
                return Err(RegionError::TooLarge { name: name.clone(), reach, limit });
            }
        }
        Ok(())
    }

    /// Checks that no commands of a unit, each predicted to end at `V ≤ accept_below` and written `latency` after its
    /// sample, lead out of the region before the controller, as late, turns the plant back for good. The voltage in
    /// force before them is any. Assumes [`Region::check`], the exact state and no noise.
    ///
    /// # Errors
    /// [`RegionError::Late`], with the highest value that is sound.
    pub fn check_latency(
        &self,
        model: &Model,
        gain: &Gain,
        accept_below: f64,
        latency: Span,
    ) -> Result<(), RegionError> {
        let most = latency::accept_max(&self.p, model, gain, accept_below, latency);
        if accept_below <= most {
            return Ok(());
        }
        Err(RegionError::Late { accept_below, latency, most })
    }

    /// Returns the state on the surface `V = level` in the direction given by `sphere` (any length but zero).
    /// Normally distributed vectors give states spread evenly over the ellipsoid's image of the sphere.
    #[must_use]
    pub fn state_at(&self, level: f64, sphere: &Vector) -> Vector {
        let triangle = cholesky(&self.p).expect("every region was checked when it was made");
        let length = dot(sphere, sphere).sqrt();
        backward(&triangle, &sphere.map(|s| s * level.sqrt() / length))
    }
}

/// The sampled loop with this gain.
fn closed(model: &Model, gain: &Gain) -> Matrix {
    sum(&model.ad, &outer(&model.bd, &gain.0), 1.0)
}

/// The largest command, and how far each state reaches, in the ellipsoid of this triangle, each with its limit.
fn bounds(triangle: &Matrix, model: &Model, gain: &Gain) -> [(f64, f64); 5] {
    let volts = dot(&gain.0, &solve(triangle, &gain.0)).sqrt();
    let mut bounds = [(volts, CLIP_VOLTS); 5];
    for (i, limit) in model.plant.limits.iter().enumerate() {
        let mut axis = [0.0; 4];
        axis[i] = 1.0;
        bounds[i + 1] = (solve(triangle, &axis)[i].sqrt(), *limit);
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use hemiola_units::{Random, Span};

    fn model(millis: i64) -> Model {
        Model::new(Span::from_millis(millis)).unwrap()
    }

    #[test]
    fn both_regions_hold_for_their_gains_from_one_to_twenty_milliseconds() {
        for millis in [1, 2, 5, 10, 20] {
            for (name, region) in [("safety", Region::SAFETY), ("lqr", Region::LQR)] {
                let gain = Gain::named(name).unwrap();
                region.check(&model(millis), &gain, CLIP_VOLTS).unwrap();
                assert_eq!(Region::of(&model(millis), &gain), Ok(region));
            }
        }
    }

    #[test]
    fn the_published_region_is_refused_because_of_its_rounding() {
        // Published in the order position, angle, speed, rate.
        let printed = [
            [1.0520, 1.2082, 0.2580, 0.1988],
            [1.2082, 33.9334, 4.6631, 4.0269],
            [0.2580, 4.6631, 2.2108, 1.0090],
            [0.1988, 4.0269, 1.0090, 0.8424],
        ];
        let order = [0, 2, 1, 3];
        let p = order.map(|i| order.map(|j| printed[i][j]));
        let gain = Gain::named("published-safety").unwrap();
        let refused = Region::new(p).unwrap().check(&model(20), &gain, CLIP_VOLTS);
        assert!(refused.is_err(), "{refused:?}");
    }

    #[test]
    fn each_property_is_checked() {
        let (safety, lqr) = (Gain::named("safety").unwrap(), Gain::named("lqr").unwrap());
        let check = |region: Region, gain: &Gain, limit| region.check(&model(20), gain, limit);
        let scaled =
            |by: f64| Region::new(Region::SAFETY.p.map(|row| row.map(|x| x * by))).unwrap();
        assert_eq!(
            check(Region::SAFETY, &Gain([0.0; 4]), CLIP_VOLTS),
            Err(RegionError::NotInvariant)
        );
        assert!(matches!(
            check(scaled(0.5), &safety, CLIP_VOLTS),
            Err(RegionError::Saturates { .. })
        ));
        assert!(matches!(check(scaled(0.5), &safety, 9.0), Err(RegionError::TooLarge { .. })));
        assert!(check(Region::SAFETY, &lqr, CLIP_VOLTS).is_err());
        assert_eq!(Region::new([[1.0; 4]; 4]), Err(RegionError::NotAnEllipsoid));
        assert_eq!(Region::new([[f64::NAN; 4]; 4]), Err(RegionError::NotAnEllipsoid));
    }

    #[test]
    fn boundary_states_lie_on_the_boundary() {
        let mut random = Random::from_seed(3);
        for _ in 0..100 {
            let x = Region::SAFETY.state_at(1.2, &[(); 4].map(|()| random.normal()));
            assert!((Region::SAFETY.value(&x) - 1.2).abs() < 1e-9);
        }
    }
}
