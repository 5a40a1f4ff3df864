//! Tests that intervals contain the true value as often as they claim, on series whose true value is known.

use hemiola_units::Random;

use crate::{Covers, Estimate, median_of_blocks};

/// Enough that chance moves a share by half a percent only.
const REPEATS: usize = 2000;

/// Generates the readings of a machine, block after block and measurement after measurement.
struct Machine {
    name: &'static str,
    random: Random,
    /// How much of a reading's deviation the next one keeps.
    within: f64,
    /// How much of a block's mood the next one keeps, and how strong moods are.
    between: (f64, f64),
    /// Logarithms are normal, and some readings are far out.
    skewed: bool,
    state: f64,
    mood: f64,
}

impl Machine {
    fn new(name: &'static str, within: f64, between: (f64, f64), skewed: bool) -> Self {
        let random = Random::from_seed(20_261_121);
        Self { name, random, within, between, skewed, state: 0.0, mood: 0.0 }
    }

    fn block(&mut self, length: usize) -> Vec<f64> {
        let (keeps, strength) = self.between;
        self.mood = keeps * self.mood + (1.0 - keeps * keeps).sqrt() * self.random.normal();
        let mood = strength * self.mood;
        (0..length).map(|_| mood + self.reading()).collect()
    }

    fn reading(&mut self) -> f64 {
        self.state = self.within * self.state
            + (1.0 - self.within * self.within).sqrt() * self.random.normal();
        if !self.skewed {
            return 100.0 + self.state;
        }
        let outlier = if self.random.uniform() < 0.02 { 1000.0 } else { 0.0 };
        100.0 * (0.5 * self.state).exp() + outlier
    }
}

fn machines() -> [Machine; 5] {
    [
        Machine::new("independent, normal", 0.0, (0.0, 0.0), false),
        Machine::new("independent, skewed, with outliers", 0.0, (0.0, 0.0), true),
        Machine::new("first-order, 0.8", 0.8, (0.0, 0.0), false),
        Machine::new("moods of a block", 0.0, (0.0, 1.0), false),
        Machine::new("moods that drift", 0.0, (0.5, 1.0), false),
    ]
}

/// The shares of intervals that held.
#[derive(Default)]
struct Shares(Vec<(String, f64)>);

impl Shares {
    fn add(&mut self, what: &str, name: &str, held: usize) {
        let share = held as f64 / REPEATS as f64;
        println!("{what:<24} {name:<36} {:.1} %", share * 100.0);
        self.0.push((format!("{what}, {name}"), share));
    }

    fn assert(&self, most: f64) {
        for (what, share) in &self.0 {
            assert!((0.90..=most).contains(share), "{what}: {share}");
        }
    }
}

#[test]
fn intervals_of_repeats_hold_the_next_measurement() {
    let mut shares = Shares::default();
    for blocks in [5, 10, 20] {
        for mut machine in machines() {
            let mut measure = || {
                let blocks: Vec<Vec<f64>> = (0..blocks).map(|_| machine.block(40)).collect();
                median_of_blocks(&blocks, Covers::Repeat).unwrap()
            };
            let mut before = measure();
            let mut held = 0;
            for _ in 0..REPEATS {
                let next = measure();
                held += usize::from(before.contains(next.value));
                before = next;
            }
            shares.add(&format!("next median, {blocks} blocks"), machine.name, held);
        }
    }
    // Two intervals with 95 % each, of the blocks and of the order statistics, contain more together.
    shares.assert(0.99);
}

#[test]
fn intervals_of_means_and_medians_hold_the_truth() {
    let mut shares = Shares::default();
    // Means: exp(0.5² / 2) × 100 + 2 % of 1000 for the skewed readings.
    let truths = [(100.0, 100.0), (100.0 * 0.125f64.exp() + 20.0, 0.0), (100.0, 100.0)];
    for (mut machine, (mean, median)) in machines().into_iter().zip(truths) {
        let (mut means, mut medians) = (0, 0);
        // Outliers lie above the median: it is the 0.5 / 0.98 quantile of the others.
        let median = if median > 0.0 { median } else { 100.0 * (0.5f64 * 0.025_58).exp() };
        for _ in 0..REPEATS {
            let readings = machine.block(400);
            means += usize::from(Estimate::of_mean(&readings).unwrap().contains(mean));
            medians += usize::from(Estimate::of_median(&readings).unwrap().contains(median));
        }
        shares.add("mean of 400", machine.name, means);
        shares.add("median of 400", machine.name, medians);
    }
    shares.assert(0.98);
}
