//! The least and the greatest value over the systematic offsets, all other parts at their nominal values.
//!
//! A value may be least or greatest at a corner of their box or between, as x² is least at 0. All corners are tried if
//! there are few, then a descent along one offset at a time finds extremes between the ends. Verdicts do not come from
//! these values, because an offset may matter only away from the nominal ones: `search.rs` looks for the offsets at
//! which the quantiles of the samples are least and greatest.

use hemiola_units::Random;

use super::first_order::slopes;
use super::network::Network;
use super::offsets::{Point, Unknowns};
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

/// The least and the greatest value, each with its point; a greatest value is infinite if there is none at some
/// offsets, as in an overloaded queue.
pub(super) fn extremes(
    network: &Network,
    program: &Program,
    unknowns: &Unknowns<'_>,
) -> [(Point, f64); 2] {
    let inputs = network.inputs();
    let value = |point: &[f64]| {
        let offsets = unknowns.offsets(point);
        program.value(|index| inputs[index].nominal_at(offsets[index]))
    };
    let slopes = slopes(network, program);
    let uphill = |unknown: usize| {
        let slope = |index: usize| {
            slopes.iter().find(|(of, _)| *of == index).map_or(0.0, |(_, slope)| *slope)
        };
        let inputs = unknowns.inputs(unknown).iter();
        let sum: f64 = inputs
            .map(|(index, sign)| sign * network.inputs()[*index].offset_most() * slope(*index))
            .sum();
        if sum < 0.0 { -1.0 } else { 1.0 }
    };
    let uphill: Vec<f64> = (0..unknowns.count()).map(uphill).collect();
    let defined = |value: f64| if value.is_finite() { value } else { f64::INFINITY };
    [-1.0, 1.0].map(|sign| {
        let start = uphill.iter().map(|at| sign * at).collect();
        let point = climb(start, &|point: &[f64]| sign * defined(value(point)));
        let value = defined(value(&point));
        (point, value)
    })
}

/// The point of the box from −1 to 1 with the greatest value that the search finds, from several starts.
fn climb(start: Vec<f64>, value: &dyn Fn(&[f64]) -> f64) -> Vec<f64> {
    let mut starts = vec![start.clone(), vec![0.0; start.len()]];
    starts.extend(corners(start.len()));
    let mut starts: Vec<Best> =
        starts.into_iter().map(|point| Best { value: value(&point), point }).collect();
    starts.sort_by(|one, other| other.value.total_cmp(&one.value));
    starts.dedup_by(|one, other| one.point == other.point);
    starts.truncate(STARTS);
    starts.iter_mut().for_each(|best| best.climb(value));
    let found = starts.into_iter().max_by(|one, other| one.value.total_cmp(&other.value));
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
    /// Searches along each coordinate in turn until nothing improves.
    fn climb(&mut self, value: &dyn Fn(&[f64]) -> f64) {
        for _ in 0..ROUNDS {
            let before = self.value;
            for along in 0..self.point.len() {
                self.search(along, value);
            }
            if self.value <= before {
                break;
            }
        }
    }

    fn offer(&mut self, point: Vec<f64>, value: &dyn Fn(&[f64]) -> f64) {
        let found = value(&point);
        if found > self.value {
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
            let before = self.value;
            offer(self, inner);
            if self.value <= before {
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
