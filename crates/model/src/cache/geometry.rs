//! How objects fill the chunks and slots of a cache.

use hemiola_units::Random;

use super::{Popularity, Requests};

/// The arrangement of objects in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of units that are kept and evicted together: chunks, or whole objects of several chunks.
    pub slots: usize,
    /// Objects in a chunk; 1 if an object has several chunks.
    pub objects_per_chunk: usize,
    /// Chunks of an object; 1 if a chunk has several objects.
    pub chunks_per_request: u32,
}

impl Geometry {
    /// The geometry of a cache of `size` bytes. An object never spans a partial chunk, so the rest of an object's last
    /// chunk, or of a chunk after its last whole object, is wasted.
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

    /// The popularity of the content of a slot.
    #[must_use]
    pub fn popularity(&self, requests: &Requests, seed: u64) -> Popularity {
        requests.popularity().in_chunks_of(self.objects_per_chunk, &mut Random::from_seed(seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_object_lies_in_one_chunk_and_a_large_one_in_whole_chunks() {
        let of = |size, chunk, object| {
            let geometry = Geometry::of(size, chunk, object);
            (geometry.slots, geometry.objects_per_chunk, geometry.chunks_per_request)
        };
        assert_eq!(of(1000.0, 10.0, 10.0), (100, 1, 1));
        assert_eq!(of(1000.0, 64.0, 30.0), (15, 2, 1));
        assert_eq!(of(1000.0, 4.0, 30.0), (31, 1, 8));
    }
}
