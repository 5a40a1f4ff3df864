//! Sequence numbers of frames: 31 bits that wrap to 0.

use std::fmt;

/// The sequence number of a frame. Each direction of a session counts from 0 and wraps after 2³¹ − 1.
///
/// Sequence numbers are not `Ord`: only while two numbers are less than 2³⁰ apart is one of them newer;
/// [`is_after`](Self::is_after) compares them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sequence(u32);

impl Sequence {
    /// The first sequence number of a session.
    pub const FIRST: Self = Self(0);

    /// The bits of a sequence number.
    const MASK: u32 = 0x7FFF_FFFF;

    /// The value on the wire for "no number".
    const NONE: u32 = 0x8000_0000;

    /// Returns the sequence number with this value, or `None` if the top bit is set.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        if number <= Self::MASK { Some(Self(number)) } else { None }
    }

    /// Returns the number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Returns the number that follows.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1) & Self::MASK)
    }

    /// Whether this number is newer than `other`.
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        let ahead = self.0.wrapping_sub(other.0) & Self::MASK;
        0 < ahead && ahead < 1 << 30
    }

    /// Returns the distance from `earlier`, which is not newer than this number.
    pub(crate) const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0) & Self::MASK
    }

    pub(crate) const fn to_wire(sequence: Option<Self>) -> u32 {
        match sequence {
            Some(Self(number)) => number,
            None => Self::NONE,
        }
    }

    /// Returns `Err` for a value that is neither a number nor [`NONE`](Self::NONE).
    pub(crate) const fn from_wire(number: u32) -> Result<Option<Self>, u32> {
        match Self::new(number) {
            None if number != Self::NONE => Err(number),
            sequence => Ok(sequence),
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sequence({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_and_stay_in_order() {
        let last = Sequence::new(0x7FFF_FFFF).unwrap();
        assert_eq!(last.next(), Sequence::FIRST);
        assert!(Sequence::FIRST.is_after(last) && !last.is_after(Sequence::FIRST));
        assert!(!last.is_after(last));
        let far = Sequence::new((1 << 30) - 1).unwrap();
        assert!(far.is_after(Sequence::FIRST) && !Sequence::FIRST.is_after(far));
        assert_eq!(Sequence::new(3).unwrap().since(last), 4);
    }

    #[test]
    fn numbers_with_the_top_bit_are_rejected() {
        assert_eq!(Sequence::new(0x8000_0000), None);
        assert_eq!(Sequence::from_wire(0x8000_0000), Ok(None));
        assert_eq!(Sequence::from_wire(0x8000_0001), Err(0x8000_0001));
        assert_eq!(Sequence::from_wire(7), Ok(Sequence::new(7)));
        assert_eq!(Sequence::to_wire(None), 0x8000_0000);
    }
}
