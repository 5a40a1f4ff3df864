//! A cache in front of a slow store: its hit ratio and the cost of a request.
//!
//! * [`Cache`]: algorithm, size, chunk, format and costs, as stated in a model file.
//! * [`Requests`], [`Popularity`]: how often each object is requested.
//! * [`Geometry`]: how objects fill chunks and slots.
//! * [`theory`]: hit ratios by formula; [`simulate`]: by running requests through an [`Algorithm`].
//! * [`simulate::stack`]: a cache behind others, which take the popular requests away.
//! * [`robustness`]: both again with other design choices and with other requests.
//!
//! ```
//! use hemiola_model::cache::{Algorithm, Popularity, simulate, theory};
//!
//! let pictures = Popularity::zipf(1_000, 0.8);
//! let formula = theory::hit_ratio(Algorithm::Lru, &pictures, 100).unwrap();
//! let simulated = simulate::simulate(Algorithm::Lru, &pictures, 100, 50_000, 1);
//! assert!((formula - simulated.hit_ratio).abs() < 0.02);
//! ```

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::file::{Formula, Resources};

mod geometry;
mod lists;
mod policy;
mod popularity;
pub mod robustness;
pub mod simulate;
pub mod theory;

pub use geometry::Geometry;
pub use policy::{Algorithm, Policy};
pub use popularity::{Popularity, Requests};

/// The most objects of a cache. The formula takes a large part of a second for a million objects, and there are a
/// dozen variations.
pub const OBJECTS_MAX: usize = 1_000_000;

/// A cache of a model.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Its name; a request to it is the operation `name.request`.
    pub name: String,
    /// Its description; may be empty.
    pub title: String,
    /// The replacement algorithm.
    pub algorithm: Algorithm,
    /// Its size in bytes.
    pub size: f64,
    /// The size of one object in bytes.
    pub object: f64,
    /// The size of a chunk, the unit of fetching and keeping, in bytes.
    pub chunk: f64,
    /// The form in which objects are kept.
    pub format: Format,
    /// Time to process one object.
    pub processing: Option<Formula>,
    /// Time to get a chunk from the cache.
    pub hit: Formula,
    /// Time to get a chunk that is not in the cache.
    pub miss: Formula,
    /// The costs of one request besides time, and the capacity.
    pub resources: Resources,
    /// How often each object is requested, of a cache behind others at the first of them.
    pub requests: Requests,
    /// The caches before this one, the first one first: only what misses in all of them is requested here.
    pub before: Vec<simulate::Level>,
    /// The geometry of the first of these caches, or of this one if there is none: of the chunks that are requested.
    pub first: Geometry,
    /// Requests counted in a simulation.
    pub simulated: u64,
    /// Its place in the file.
    pub(crate) at: Range<usize>,
}

/// The form in which objects are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// As fetched: processed at every request.
    Raw,
    /// Processed: the work is done at a miss only.
    Processed,
}

impl Format {
    /// The other format.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Raw => Self::Processed,
            Self::Processed => Self::Raw,
        }
    }
}

impl Cache {
    /// The caches before this one, and this one: what a cache behind it has before it.
    #[must_use]
    pub fn levels(&self) -> Vec<simulate::Level> {
        let mut levels = self.before.clone();
        levels.push(self.level(self.algorithm, self.geometry()));
        levels
    }

    /// This cache with another algorithm or geometry, as a level behind those before it.
    fn level(&self, algorithm: Algorithm, geometry: Geometry) -> simulate::Level {
        // The popularity at the first cache is that of its chunks.
        let objects_per_chunk = if self.before.is_empty() { 1 } else { geometry.objects_per_chunk };
        simulate::Level { algorithm, slots: geometry.slots, objects_per_chunk }
    }

    /// How its objects fill its chunks.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        Geometry::of(self.size, self.chunk, self.object)
    }
}
