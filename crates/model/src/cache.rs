//! A cache before something slow: how often it hits, and what a request then costs.
//!
//! * [`Cache`]: algorithm, size, chunk, format and costs, as a model file states them.
//! * [`Popularity`]: which objects are asked for how often.
//! * [`theory`]: hit ratios by formula; [`simulate`]: by playing requests through an [`Algorithm`].
//! * [`robustness`]: both again after another choice, and after the requests have changed.
//!
//! ```
//! use hemiola_model::cache::{Algorithm, Popularity, simulate, theory};
//!
//! let pictures = Popularity::zipf(1_000, 0.8);
//! let formula = theory::hit_ratio(Algorithm::Lru, &pictures, 100).unwrap();
//! let played = simulate::simulate(Algorithm::Lru, &pictures, 100, 50_000, 1);
//! assert!((formula - played.hit_ratio).abs() < 0.02);
//! ```

use std::ops::Range;

use hemiola_units::Random;
use serde::{Deserialize, Serialize};

use crate::file::Formula;

mod lists;
mod policy;
mod popularity;
pub mod robustness;
pub mod simulate;
pub mod theory;

pub use policy::{Algorithm, Policy};
pub use popularity::Popularity;

/// The most objects of a cache: a formula for a million takes a good part of a second, and there are a dozen
/// variations.
pub const OBJECTS_MAX: usize = 1_000_000;

/// A cache of a model.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Its name; a request to it is the operation `name.request`.
    pub name: String,
    /// What it is, in words; may be empty.
    pub title: String,
    /// What goes when it is full.
    pub algorithm: Algorithm,
    /// Bytes it holds.
    pub size: f64,
    /// Bytes of one object.
    pub object: f64,
    /// Bytes fetched and kept at once.
    pub chunk: f64,
    /// How objects are kept.
    pub format: Format,
    /// Time to process one object.
    pub processing: Option<Formula>,
    /// Time to get a chunk that is there.
    pub hit: Formula,
    /// Time to get a chunk that is not.
    pub miss: Formula,
    /// What is asked for how often.
    pub requests: Requests,
    /// Requests counted in a simulation.
    pub simulated: u64,
    /// Where it is written.
    pub(crate) at: Range<usize>,
}

/// How objects are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// As they come: processed at every request.
    Raw,
    /// Ready for use: processed at a miss only.
    Processed,
}

impl Format {
    /// Its name in a model file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Processed => "processed",
        }
    }

    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Raw => Self::Processed,
            Self::Processed => Self::Raw,
        }
    }
}

/// What is asked for how often; requests are independent of each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Requests {
    /// By Zipf's law; exponent 0 is uniform.
    Zipf {
        /// Its exponent.
        exponent: f64,
        /// How many objects.
        objects: usize,
    },
    /// In proportion to these.
    Weights(Vec<f64>),
}

impl Requests {
    /// As shares.
    #[must_use]
    pub fn popularity(&self) -> Popularity {
        match self {
            Self::Zipf { exponent, objects } => Popularity::zipf(*objects, *exponent),
            Self::Weights(weights) => Popularity::weighted(weights.clone()),
        }
    }
}

/// How objects lie in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// What the cache keeps and gives up as one: chunks, or whole objects where one has several chunks.
    pub slots: usize,
    /// Objects in a chunk; 1 where an object has several chunks.
    pub objects_per_chunk: usize,
    /// Chunks of an object; 1 where a chunk has several objects.
    pub chunks_per_request: u32,
}

impl Cache {
    /// How its objects lie in its chunks.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        Geometry::of(self.size, self.chunk, self.object)
    }
}

impl Geometry {
    /// Of a cache of so many bytes. What does not fill a chunk is lost: the rest of the last chunk of an
    /// object, or of a chunk behind its last whole object.
    #[must_use]
    pub fn of(size: f64, chunk: f64, object: f64) -> Self {
        let (objects_per_chunk, chunks_per_request) = if object <= chunk {
            ((chunk / object).floor(), 1.0)
        } else {
            (1.0, (object / chunk).ceil())
        };
        Self {
            slots: (size / (chunk * chunks_per_request)).floor() as usize,
            objects_per_chunk: objects_per_chunk as usize,
            chunks_per_request: chunks_per_request as u32,
        }
    }

    /// The popularity of what fills a slot.
    #[must_use]
    pub fn popularity(&self, requests: &Requests, seed: u64) -> Popularity {
        requests.popularity().in_chunks_of(self.objects_per_chunk, &mut Random::from_seed(seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_lie_in_chunks_without_being_cut_over_two() {
        let of = |size, chunk, object| {
            let geometry = Geometry::of(size, chunk, object);
            (geometry.slots, geometry.objects_per_chunk, geometry.chunks_per_request)
        };
        assert_eq!(of(1000.0, 10.0, 10.0), (100, 1, 1));
        assert_eq!(of(1000.0, 64.0, 30.0), (15, 2, 1));
        assert_eq!(of(1000.0, 4.0, 30.0), (31, 1, 8));
    }
}
