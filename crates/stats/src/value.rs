//! The numbers that can be judged: `i64` and `f64`.

use std::cmp::Ordering;
use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
    impl Sealed for i64 {}
    impl Sealed for f64 {}
}

/// An observation: `i64` (whole nanoseconds, counts) or `f64` (means over a batch, rates). The trait is sealed.
pub trait Value: Copy + PartialOrd + Debug + sealed::Sealed {
    /// The value as `f64`; whole numbers beyond 2⁵³ (104 days in nanoseconds) are rounded.
    fn to_f64(self) -> f64;

    /// The total order, NaN after everything else.
    fn order(&self, other: &Self) -> Ordering;
}

impl Value for i64 {
    fn to_f64(self) -> f64 {
        self as f64
    }

    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }
}

impl Value for f64 {
    fn to_f64(self) -> f64 {
        self
    }

    fn order(&self, other: &Self) -> Ordering {
        self.total_cmp(other)
    }
}

/// The values in rising order, as [`quantile`](crate::quantile) requires.
pub fn sorted<V: Value>(values: &[V]) -> Vec<V> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(V::order);
    sorted
}

/// The values as `f64`; `None` without values or when one is not finite.
pub(super) fn finite<V: Value>(values: &[V]) -> Option<Vec<f64>> {
    let values: Vec<f64> = values.iter().map(|value| value.to_f64()).collect();
    (!values.is_empty() && values.iter().all(|value| value.is_finite())).then_some(values)
}
