//! Vectors that grow slowly, where most of the memory of an analysis is in many of them.

/// When it is full, a vector grows by this part of its length.
const GROWS_BY: usize = 4;

/// Makes room for `needed` more elements. If there is none yet, the vector gets room for a quarter of its length and
/// `least` more; `least` must not be below `needed`.
#[inline]
pub fn make_room<T>(vector: &mut Vec<T>, needed: usize, least: usize) {
    debug_assert!(needed <= least, "{least} elements have no room for {needed}");
    if vector.capacity() - vector.len() < needed {
        vector.reserve_exact(vector.len() / GROWS_BY + least);
    }
}

/// Adds to a vector that grows slowly.
#[inline]
pub fn push_slowly<T>(vector: &mut Vec<T>, value: T) {
    make_room(vector, 1, 4);
    vector.push(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_has_no_more_unused_room_than_a_quarter_and_the_least() {
        let mut vector = Vec::new();
        for value in 0..10_000_u32 {
            push_slowly(&mut vector, value);
            assert!(vector.capacity() <= vector.len() + vector.len() / 4 + 3, "{value}");
        }
        assert!((0..10_000).eq(vector));
    }

    #[test]
    fn the_room_that_is_needed_is_there_at_any_length() {
        let mut bytes: Vec<u8> = Vec::new();
        for length in 0..3_000 {
            make_room(&mut bytes, 10, 10);
            assert!(bytes.capacity() >= length + 10);
            bytes.push(0);
        }
    }
}
