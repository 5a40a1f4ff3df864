//! The systematic offsets at which a value is least and greatest.
//!
//! Offsets are unknown constants within ± a bound, so a range must hold for each of them. A value may be least or
//! greatest at a corner of their box or between, as x² is least at 0. All corners are tried if there are few, then a
//! descent along one offset at a time finds extremes between the ends.

use hemiola_units::Random;

use super::first_order::slopes;
use super::network::Network;
use super::program::Program;

/// Up to this number of unknowns every corner is tried; beyond it, [`CORNERS`] random ones.
const UNKNOWNS_MAX: usize = 8;
const CORNERS: usize = 64;
/// Points along one offset, besides its ends.
const POINTS: u32 = 9;
/// Refinements around the best of these points: each divides the step by 2.
const HALVINGS: u32 = 40;
/// The best of these points from which the search starts.
const STARTS: usize = 8;
/// Rounds over all offsets.
const ROUNDS: u32 = 8;

/// The offset of each input of the network.
pub(super) type Offsets = Vec<f64>;

/// The offsets at which the program's first value is least and greatest, and its values there, all other parts at
/// their nominal values; `None` if no systematic part has an effect.
pub(super) fn extremes(network: &Network, program: &Program) -> Option<[(Offsets, f64); 2]> {
    let inputs = network.inputs();
    let known = program.inputs.iter().map(|(index, _)| *index);
    let systematic: Vec<usize> = known.filter(|index| inputs[*index].systematic > 0.0).collect();
    if systematic.is_empty() {
        return None;
    }
    let groups = network.correlated().linked(&systematic);
    let offsets = |point: &[f64]| {
        let mut offsets = vec![0.0; inputs.len()];
        for (group, at) in groups.iter().zip(point) {
            for (index, sign) in group {
                offsets[*index] = sign * at * inputs[*index].systematic;
            }
        }
        offsets
    };
    let value = |point: &[f64]| {
        let offsets = offsets(point);
        program.value(|index| inputs[index].offset(inputs[index].nominal.value, offsets[index]))
    };
    let slopes = slopes(network, program);
    let uphill: Vec<f64> = groups
        .iter()
        .map(|group| {
            let slope = |index: usize| {
                slopes.iter().find(|(of, _)| *of == index).map_or(0.0, |(_, slope)| *slope)
            };
            let sum: f64 = group
                .iter()
                .map(|(index, sign)| sign * inputs[*index].systematic * slope(*index))
                .sum();
            if sum < 0.0 { -1.0 } else { 1.0 }
        })
        .collect();
    Some([-1.0, 1.0].map(|sign| {
        let start = uphill.iter().map(|at| sign * at).collect();
        let point = climb(start, &|point: &[f64]| sign * value(point));
        (offsets(&point), value(&point))
    }))
}

/// The point of the box from −1 to 1 with the greatest value that the search finds, from several starts.
fn climb(start: Vec<f64>, value: &dyn Fn(&[f64]) -> f64) -> Vec<f64> {
    let mut starts = vec![start.clone(), vec![0.0; start.len()]];
    starts.extend(corners(start.len()));
    let mut starts: Vec<Best> =
        starts.into_iter().map(|point| Best { value: value(&point), point }).collect();
    starts.sort_by(|one, other| other.order().total_cmp(&one.order()));
    starts.dedup_by(|one, other| one.point == other.point);
    starts.truncate(STARTS);
    starts.iter_mut().for_each(|best| best.climb(value));
    let found = starts.into_iter().max_by(|one, other| one.order().total_cmp(&other.order()));
    found.map_or(start, |best| best.point)
}

/// Every corner of a small box, some of a large one.
fn corners(unknowns: usize) -> Vec<Vec<f64>> {
    let end = |up: bool| if up { 1.0 } else { -1.0 };
    if unknowns <= UNKNOWNS_MAX {
        let corner = |number: usize| (0..unknowns).map(|at| end(number >> at & 1 == 1)).collect();
        return (0..1 << unknowns).map(corner).collect();
    }
    let mut random = Random::from_seed(1);
    (0..CORNERS).map(|_| (0..unknowns).map(|_| end(random.bits() & 1 == 1)).collect()).collect()
}

struct Best {
    value: f64,
    point: Vec<f64>,
}

impl Best {
    /// Its value for comparisons: a point without a finite value is the worst.
    fn order(&self) -> f64 {
        if self.value.is_finite() { self.value } else { f64::NEG_INFINITY }
    }

    /// Searches along each coordinate in turn until nothing improves.
    fn climb(&mut self, value: &dyn Fn(&[f64]) -> f64) {
        for _ in 0..ROUNDS {
            let before = self.order();
            for along in 0..self.point.len() {
                self.search(along, value);
            }
            if self.order() <= before {
                break;
            }
        }
    }

    fn offer(&mut self, point: Vec<f64>, value: &dyn Fn(&[f64]) -> f64) {
        let found = value(&point);
        if found.is_finite() && found > self.order() {
            (self.value, self.point) = (found, point);
        }
    }

    /// Improves one coordinate: its ends, points between, then ever smaller steps around the best.
    fn search(&mut self, along: usize, value: &dyn Fn(&[f64]) -> f64) {
        let offer = |best: &mut Self, at: f64| {
            let mut point = best.point.clone();
            point[along] = at.clamp(-1.0, 1.0);
            best.offer(point, value);
        };
        let mut step = 2.0 / f64::from(POINTS + 1);
        for number in 0..=POINTS + 1 {
            offer(self, f64::from(number) * step - 1.0);
        }
        if self.point[along].abs() == 1.0 {
            // The ends of a monotone value need no refinement.
            step *= 0.5;
            let inner = self.point[along] * (1.0 - step);
            let before = self.order();
            offer(self, inner);
            if self.order() <= before {
                return;
            }
        }
        for _ in 0..HALVINGS {
            step *= 0.5;
            let middle = self.point[along];
            offer(self, middle - step);
            offer(self, middle + step);
        }
    }
}
