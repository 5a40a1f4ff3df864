//! A point in time on the monotonic clock.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

use crate::Span;

/// A point in time: nanoseconds on `CLOCK_MONOTONIC` (clock_getres(2)), which starts near boot.
///
/// 64 bits of nanoseconds last 584 years, so arithmetic saturates rather than wraps: a saturated instant is visibly
/// wrong, a wrapped one looks plausible.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);
    /// Later than every other instant: "wait without limit".
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the clock's origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's origin.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Returns the length of time from `earlier` to `self`; negative if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        let wide = self.0 as i128 - earlier.0 as i128;
        if wide > i64::MAX as i128 {
            Span::MAX
        } else if wide < i64::MIN as i128 {
            Span::MIN
        } else {
            Span::from_nanos(wide as i64)
        }
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add_signed(span.nanos()))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Instant {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub_signed(span.nanos()))
    }
}

impl Sub for Instant {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instant({} ns)", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn difference_is_signed_and_saturates() {
        assert_eq!(Instant::ZERO - Instant::from_nanos(5), Span::from_nanos(-5));
        assert_eq!(Instant::MAX - Instant::ZERO, Span::MAX);
        assert_eq!(Instant::ZERO - Instant::MAX, Span::MIN);
        assert_eq!(Instant::ZERO - Span::from_nanos(1), Instant::ZERO);
    }

    proptest! {
        #[test]
        fn adding_a_difference_gives_the_later_instant(a in 0u64..1 << 62, b in 0u64..1 << 62) {
            let (a, b) = (Instant::from_nanos(a), Instant::from_nanos(b));
            prop_assert_eq!(b + (a - b), a);
        }
    }
}
