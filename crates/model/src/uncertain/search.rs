//! The systematic offsets at which the quantiles of a value are least and greatest, and at which its mean is greatest.
//!
//! An offset that moves the value in one direction has its worst value at an end, for every quantile and for the mean.
//! Over the others, a few samples are computed at the points of a grid, and then around the best points. The search
//! uses samples and not the nominal values, because an offset may matter in some samples only, as that of the
//! shorter one of two parallel calls. So few samples can mistake one point for a worse one. The least and the greatest
//! sample of each rank over all points are therefore kept: they tell what may be true at the points that were not
//! chosen.

use hemiola_units::Random;

use super::direction::{Direction, Effect};
use super::offsets::Point;
use super::predicted::Samples;

/// The shares of the samples below the quantiles that are searched for.
const SHARES: [f64; 11] = [0.001, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975];
/// The most points of the grid.
const GRID_MAX: usize = 343;
/// The most points of the grid along one offset.
const LEVELS_MAX: usize = 33;
/// Halvings of the step around the best points.
const HALVINGS: usize = 4;

/// The points that were found.
pub(super) struct Found {
    /// Where a quantile is least.
    pub(super) least: Vec<Point>,
    /// Where a quantile or the mean is greatest.
    pub(super) greatest: Vec<Point>,
    /// The points that were tried to find them; 0 if no search was needed.
    pub(super) tried: usize,
    /// The most by which a sample at another point may lie beyond the same sample at the nearest of these.
    pub(super) slack: f64,
    /// The same beyond the sample in the middle of the searched offsets.
    pub(super) reach: f64,
    /// What the few samples showed, if a search was needed.
    pub(super) seen: Option<Seen>,
}

/// The few samples at all points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    /// For each rank the least and the greatest sample.
    pub(super) ends: [Samples; 2],
    /// The greatest mean that the samples at one of the points allow.
    pub(super) mean_most: f64,
}

/// Searches; `samples` returns the few samples at a point.
pub(super) fn search(effects: &[Effect], samples: &dyn Fn(&[f64]) -> Samples) -> Found {
    let free: Vec<usize> =
        (0..effects.len()).filter(|at| effects[*at].direction == Direction::Either).collect();
    let end = |is_greatest: bool| -> Point {
        let end = |effect: &Effect| match (effect.direction, is_greatest) {
            (Direction::Up, true) | (Direction::Down, false) => 1.0,
            (Direction::Up, false) | (Direction::Down, true) => -1.0,
            (Direction::Either, _) => 0.0,
        };
        effects.iter().map(end).collect()
    };
    if free.is_empty() {
        let [least, greatest] = [false, true].map(|is_greatest| vec![end(is_greatest)]);
        return Found { least, greatest, tried: 0, slack: 0.0, reach: 0.0, seen: None };
    }
    let (grid, step) = grid(free.len());
    let mut tried = 0;
    let [(least, of_least), (greatest, of_greatest)] = [false, true].map(|is_greatest| {
        let start = end(is_greatest);
        let (end, mean_most) = (samples(&start), f64::NEG_INFINITY);
        let mut best = Best { start, free: &free, is_greatest, found: Vec::new(), end, mean_most };
        for values in &grid {
            best.offer(values, samples);
        }
        tried += grid.len() + best.refine(step, samples);
        let mut points = best.points();
        points.push(best.start);
        (points, (best.end, best.mean_most))
    });
    // No point of the box is farther from one of the grid than half a step along each unknown. Offsets that one unknown
    // moves together can be different ones, each at most as far from the middle as the ends.
    let reach: f64 = free.iter().map(|at| effects[*at].most).sum();
    let far = |at: &usize| if effects[*at].is_mixed { 1.0 } else { step / 2.0 };
    let slack = free.iter().map(|at| effects[*at].most * far(at)).sum();
    let seen = Seen { ends: [of_least.0, of_greatest.0], mean_most: of_greatest.1 };
    Found { least, greatest, tried, slack, reach, seen: Some(seen) }
}

/// The points of a grid over so many unknowns, its middle included, and the distance of neighbours: all corners if
/// there are few enough, else random ones.
fn grid(unknowns: usize) -> (Vec<Point>, f64) {
    let fits = |levels: &usize| levels.checked_pow(unknowns as u32).is_some_and(|n| n <= GRID_MAX);
    // An odd number of levels has the middle among them; two are the corners.
    let Some(levels) = (2..=LEVELS_MAX).rev().filter(|n| n % 2 == 1 || *n == 2).find(fits) else {
        let mut random = Random::from_seed(1);
        let mut end = |_| if random.bits() & 1 == 1 { 1.0 } else { -1.0 };
        let corners = (1..GRID_MAX).map(|_| (0..unknowns).map(&mut end).collect());
        return (corners.chain([vec![0.0; unknowns]]).collect(), 2.0);
    };
    let step = 2.0 / (levels - 1) as f64;
    let point = |number: usize| {
        let level = |at: usize| number / levels.pow(at as u32) % levels;
        (0..unknowns).map(|at| level(at) as f64 * step - 1.0).collect()
    };
    let mut points: Vec<Point> = (0..levels.pow(unknowns as u32)).map(point).collect();
    if levels == 2 {
        points.push(vec![0.0; unknowns]);
    }
    (points, step)
}

/// The best points so far.
struct Best<'s> {
    /// The point whose free unknowns are varied.
    start: Point,
    free: &'s [usize],
    is_greatest: bool,
    /// For each of [`SHARES`] its best quantile and the free unknowns there; of the greatest values, also the mean.
    found: Vec<(f64, Point)>,
    /// The least or the greatest sample of each rank.
    end: Samples,
    /// The greatest mean that the samples at one of the points allow.
    mean_most: f64,
}

impl Best<'_> {
    fn whole(&self, free: &[f64]) -> Point {
        let mut point = self.start.clone();
        for (at, value) in self.free.iter().zip(free) {
            point[*at] = *value;
        }
        point
    }

    fn offer(&mut self, free: &[f64], samples: &dyn Fn(&[f64]) -> Samples) {
        let found = samples(&self.whole(free));
        let mean = found.mean();
        self.mean_most = self.mean_most.max(mean.most());
        self.end.choose(&found, if self.is_greatest { f64::max } else { f64::min });
        let quantile = |share: f64| {
            // The upper quantiles of the greatest are the mirror images of the lower ones of the least.
            let share = if self.is_greatest { 1.0 - share } else { share };
            let rank = ((share * found.count() as f64) as usize).min(found.count() - 1);
            found.sorted().get(rank).copied().unwrap_or(f64::INFINITY)
        };
        let figures: Vec<f64> = SHARES
            .map(quantile)
            .into_iter()
            .chain(self.is_greatest.then_some(mean.value))
            .collect();
        if self.found.is_empty() {
            self.found = figures.iter().map(|value| (*value, free.to_vec())).collect();
        }
        for (best, value) in self.found.iter_mut().zip(figures) {
            let is_better = if self.is_greatest { value > best.0 } else { value < best.0 };
            if is_better {
                *best = (value, free.to_vec());
            }
        }
    }

    /// Tries ever smaller steps along each unknown around every best point. Returns the number of points.
    fn refine(&mut self, mut step: f64, samples: &dyn Fn(&[f64]) -> Samples) -> usize {
        let mut tried = 0;
        for _ in 0..HALVINGS {
            step /= 2.0;
            for start in self.free_points() {
                for along in 0..start.len() {
                    for by in [-step, step] {
                        let mut point = start.clone();
                        point[along] = (point[along] + by).clamp(-1.0, 1.0);
                        self.offer(&point, samples);
                        tried += 1;
                    }
                }
            }
        }
        tried
    }

    /// The different points among the best.
    fn free_points(&self) -> Vec<Point> {
        let mut points: Vec<Point> = self.found.iter().map(|(_, point)| point.clone()).collect();
        points.sort_by(|a, b| a.iter().partial_cmp(b.iter()).expect("no point is NaN"));
        points.dedup();
        points
    }

    fn points(&self) -> Vec<Point> {
        self.free_points().iter().map(|free| self.whole(free)).collect()
    }
}
