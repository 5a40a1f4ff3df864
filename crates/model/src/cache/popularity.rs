//! How often each object is requested.

use hemiola_units::Random;

/// The relative frequency of requests; requests are independent of each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Requests {
    /// Zipf's law; exponent 0 is uniform.
    Zipf {
        /// The exponent.
        exponent: f64,
        /// The number of objects.
        objects: usize,
    },
    /// In proportion to these weights.
    Weights(Vec<f64>),
}

impl Requests {
    /// The share of each object.
    #[must_use]
    pub fn popularity(&self) -> Popularity {
        match self {
            Self::Zipf { exponent, objects } => Popularity::zipf(*objects, *exponent),
            Self::Weights(weights) => Popularity::weighted(weights.clone()),
        }
    }
}

/// Each object's share of the requests, which are independent of each other (the independent reference model).
#[derive(Clone, Debug, PartialEq)]
pub struct Popularity {
    shares: Vec<f64>,
}

impl Popularity {
    /// Zipf's law: the object of rank k has a share in proportion to k^−`exponent`; exponent 0 is uniform.
    #[must_use]
    pub fn zipf(objects: usize, exponent: f64) -> Self {
        Self::weighted((1..=objects).map(|rank| (rank as f64).powf(-exponent)).collect())
    }

    /// Shares in proportion to these weights, which must be non-negative and not all zero.
    ///
    /// # Panics
    /// When the sum of the weights is not positive and finite.
    #[must_use]
    pub fn weighted(mut weights: Vec<f64>) -> Self {
        let sum: f64 = weights.iter().sum();
        assert!(sum > 0.0 && sum.is_finite(), "the sum of the weights must be positive and finite");
        weights.iter_mut().for_each(|weight| *weight /= sum);
        Self { shares: weights }
    }

    /// The number of objects.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.shares.len()
    }

    /// The share of each object; the sum is 1.
    #[must_use]
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// The popularity of chunks of `objects` objects each, with the objects in random order.
    #[must_use]
    pub fn in_chunks_of(&self, objects: usize, random: &mut Random) -> Self {
        if objects <= 1 {
            return self.clone();
        }
        let mut shares = self.shares.clone();
        random.shuffle(&mut shares);
        Self { shares: shares.chunks(objects).map(|chunk| chunk.iter().sum()).collect() }
    }

    /// A sampler that draws in constant time.
    pub(super) fn sampler(&self) -> Sampler {
        Sampler::new(&self.shares)
    }
}

/// Draws objects by the alias method (Walker 1977, in the form of Vose 1991).
pub(super) struct Sampler {
    /// Each column belongs to its own object up to this height, and to the other object above it.
    columns: Vec<(f64, u32)>,
}

impl Sampler {
    fn new(shares: &[f64]) -> Self {
        let objects = shares.len();
        let mut heights: Vec<f64> = shares.iter().map(|share| share * objects as f64).collect();
        let mut columns: Vec<(f64, u32)> =
            (0..objects as u32).map(|object| (1.0, object)).collect();
        let (mut low, mut high): (Vec<usize>, Vec<usize>) =
            (0..objects).partition(|object| heights[*object] < 1.0);
        while let (Some(small), Some(large)) = (low.pop(), high.last().copied()) {
            columns[small] = (heights[small], large as u32);
            heights[large] -= 1.0 - heights[small];
            if heights[large] < 1.0 {
                high.pop();
                low.push(large);
            }
        }
        Self { columns }
    }

    pub(super) fn draw(&self, random: &mut Random) -> u32 {
        let column = random.below(self.columns.len() as u64) as usize;
        let (height, other) = self.columns[column];
        if random.uniform() < height { column as u32 } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn columns_add_up_to_each_objects_share(
            weights in prop::collection::vec(0.0f64..10.0, 1..50),
        ) {
            prop_assume!(weights.iter().sum::<f64>() > 0.1);
            let popularity = Popularity::weighted(weights);
            let count = popularity.objects() as f64;
            let mut held = vec![0.0; popularity.objects()];
            for (object, (height, other)) in popularity.sampler().columns.into_iter().enumerate() {
                held[object] += height / count;
                held[other as usize] += (1.0 - height) / count;
            }
            for (held, share) in held.iter().zip(popularity.shares()) {
                prop_assert!((held - share).abs() < 1e-9, "{} {}", held, share);
            }
        }
    }

    #[test]
    fn a_chunk_has_the_share_of_its_objects() {
        let objects = Popularity::zipf(10, 1.0);
        let chunks = objects.in_chunks_of(4, &mut Random::from_seed(1));
        assert_eq!(chunks.objects(), 3);
        assert!((chunks.shares().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(objects.in_chunks_of(1, &mut Random::from_seed(1)), objects);
    }
}
