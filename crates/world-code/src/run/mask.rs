//! Which rows of a block something holds for.

use super::BLOCK_ROWS;

/// Rows of a block, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowMask([u64; BLOCK_ROWS / 64]);

impl RowMask {
    /// The first rows of a block.
    pub(super) fn first(count: usize) -> Self {
        Self(std::array::from_fn(|word| match count.saturating_sub(word * 64) {
            rows @ 0..64 => (1 << rows) - 1,
            _ => u64::MAX,
        }))
    }

    /// The rows whose truth value holds.
    pub(super) fn of(truths: &[bool]) -> Self {
        let mut mask = Self::default();
        for (word, truths) in mask.0.iter_mut().zip(truths.chunks(64)) {
            let (eights, rest) = truths.as_chunks::<8>();
            for (at, eight) in eights.iter().enumerate() {
                // The product has bit `i` of the byte at place `56 + i`, and no carry reaches that byte.
                let bytes = u64::from_le_bytes(eight.map(u8::from));
                *word |= bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * at);
            }
            for (at, truth) in (8 * eights.len()..).zip(rest) {
                *word |= u64::from(*truth) << at;
            }
        }
        mask
    }

    pub(super) const fn remove(&mut self, row: usize) {
        self.0[row / 64] &= !(1 << (row % 64));
    }

    /// How many rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Appends the rows in their order, counted from `start`.
    pub fn append(&self, start: u32, rows: &mut Vec<u32>) {
        rows.reserve(self.count());
        rows.extend(self.rows(start));
    }

    /// The rows in their order, counted from `start`.
    pub fn rows(self, start: u32) -> impl Iterator<Item = u32> {
        let mut words = (start..).step_by(64).zip(self.0);
        let (mut base, mut left) = (start, 0_u64);
        std::iter::from_fn(move || {
            while left == 0 {
                (base, left) = words.next()?;
            }
            let row = base + left.trailing_zeros();
            left &= left - 1;
            Some(row)
        })
    }
}

#[cfg(test)]
mod tests {
    use hemiola_units::Random;

    use super::*;

    #[test]
    fn a_mask_has_the_rows_that_hold() {
        let mut random = Random::from_seed(1);
        for case in 0..400 {
            let count = random.below(BLOCK_ROWS as u64 + 1) as usize;
            let odds = [2, 9, 1_000, 1][case % 4];
            let truths: Vec<bool> = (0..count).map(|_| random.below(odds) == 0).collect();
            let mut mask = RowMask::of(&truths);
            let mut rows = vec![7];
            mask.append(10, &mut rows);
            let holding = (10..).zip(&truths).filter(|(_, truth)| **truth);
            let mut expected: Vec<u32> = holding.map(|(row, _)| row).collect();
            assert_eq!((rows[0], &rows[1..]), (7, &*expected), "case {case}");
            assert_eq!(mask.count(), expected.len());
            if odds == 1 {
                assert_eq!(mask, RowMask::first(count));
            }
            if let Some(last) = expected.pop() {
                mask.remove(last as usize - 10);
                rows.clear();
                mask.append(10, &mut rows);
                assert_eq!(rows, expected, "case {case}");
            }
        }
    }
}
