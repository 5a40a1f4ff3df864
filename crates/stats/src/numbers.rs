//! Numbers one by one in a few bytes each.

use crate::growth::make_room;

/// Whole numbers in order, each in groups of seven bits, the low ones first; all but its last group have the top bit.
///
/// ```
/// use hemiola_stats::Numbers;
/// let mut numbers = Numbers::default();
/// [3, 1 << 40, 0].into_iter().for_each(|value| numbers.push(value));
/// assert!(numbers.iter().eq([3, 1 << 40, 0]) && numbers.bytes().len() == 8);
/// assert!(Numbers::unpack(numbers.bytes()).eq(numbers.iter()));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers {
    bytes: Vec<u8>,
    count: usize,
}

/// The most bytes of one number.
const LONGEST: usize = 10;

impl Numbers {
    /// Adds a number.
    #[inline]
    pub fn push(&mut self, mut value: u64) {
        make_room(&mut self.bytes, LONGEST, LONGEST);
        while value >= 1 << 7 {
            self.bytes.push(value as u8 | 1 << 7);
            value >>= 7;
        }
        self.bytes.push(value as u8);
        self.count += 1;
    }

    /// How many numbers there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Drops all numbers, and keeps room for at most that many bytes.
    pub fn clear(&mut self, room_max: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(room_max);
        self.count = 0;
    }

    /// Gives unused room back.
    pub fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// The numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        Self::unpack(&self.bytes)
    }

    /// The numbers in the form described above.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The numbers in such bytes. A number that is cut off is left out.
    pub fn unpack(bytes: &[u8]) -> impl Iterator<Item = u64> + Clone + '_ {
        let mut bytes = bytes.iter();
        std::iter::from_fn(move || {
            let (mut value, mut shift) = (0_u64, 0);
            loop {
                let byte = u64::from(*bytes.next()?);
                value |= (byte & 0x7f).unbounded_shl(shift);
                if byte < 1 << 7 {
                    return Some(value);
                }
                shift += 7;
            }
        })
    }
}
