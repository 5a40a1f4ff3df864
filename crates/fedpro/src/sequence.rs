//! Numbers of frames: 31 bits that start again from 0.

use std::fmt;

/// The number of a frame. Each direction of a session counts its own, from 0; after 2³¹ − 1 comes 0 again.
///
/// Not ordered: which of two is newer can be said only while they are less than 2³⁰ apart, and is by
/// [`is_after`](Self::is_after).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sequence(u32);

impl Sequence {
    /// The first of a session.
    pub const FIRST: Self = Self(0);

    /// The bits that a number has.
    const MASK: u32 = 0x7FFF_FFFF;

    /// What stands on the wire where there is no number.
    const NONE: u32 = 0x8000_0000;

    /// The one of this number; `None` for numbers with the top bit.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        if number <= Self::MASK { Some(Self(number)) } else { None }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The one that follows.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1) & Self::MASK)
    }

    /// Is it newer than another?
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        let ahead = self.0.wrapping_sub(other.0) & Self::MASK;
        0 < ahead && ahead < 1 << 30
    }

    /// How far it is from one that is not newer.
    pub(crate) const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0) & Self::MASK
    }

    pub(crate) const fn to_wire(sequence: Option<Self>) -> u32 {
        match sequence {
            Some(Self(number)) => number,
            None => Self::NONE,
        }
    }

    /// `Err` for what is neither a number nor the absence of one.
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
    fn numbers_start_again_and_stay_in_order() {
        let last = Sequence::new(0x7FFF_FFFF).unwrap();
        assert_eq!(last.next(), Sequence::FIRST);
        assert!(Sequence::FIRST.is_after(last) && !last.is_after(Sequence::FIRST));
        assert!(!last.is_after(last));
        let far = Sequence::new((1 << 30) - 1).unwrap();
        assert!(far.is_after(Sequence::FIRST) && !Sequence::FIRST.is_after(far));
        assert_eq!(Sequence::new(3).unwrap().since(last), 4);
    }

    #[test]
    fn the_top_bit_is_no_number() {
        assert_eq!(Sequence::new(0x8000_0000), None);
        assert_eq!(Sequence::from_wire(0x8000_0000), Ok(None));
        assert_eq!(Sequence::from_wire(0x8000_0001), Err(0x8000_0001));
        assert_eq!(Sequence::from_wire(7), Ok(Sequence::new(7)));
        assert_eq!(Sequence::to_wire(None), 0x8000_0000);
    }
}
