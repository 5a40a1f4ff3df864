//! Vectors that grow slowly, because most of the memory of an analysis is in many of them.

/// When it is full, a vector grows by this part of its length.
const GROWS_BY: usize = 4;

/// Adds to a vector that grows slowly.
#[inline]
pub(crate) fn push_slowly<T>(vector: &mut Vec<T>, value: T) {
    if vector.len() == vector.capacity() {
        vector.reserve_exact(vector.len() / GROWS_BY + 4);
    }
    vector.push(value);
}
